PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed
CHAPTERS = $(basename $(notdir $(wildcard notebooks/*.ipynb)))

.DEFAULT_GOAL := help
.PHONY: help book execute html pdf pull test test-all run bench launch serve clean

help:              ## list these targets
	@sed -nE 's/^([a-z-]+):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

$(READY): requirements.txt requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -r requirements.txt -c requirements.lock -e .
	touch $@

book: execute      ## the whole book: run every chapter, then render
	$(MAKE) html

execute: $(READY)  ## run book/*.md into notebooks/*.ipynb; one chapter: NAME=ihdp_small
	$(BIN)/python -m reproduction.book $(NAME)

html: $(READY)     ## render the stored notebooks, without running any
	$(BIN)/jupyter-book build . --all -W -n --keep-going

pdf: $(READY)      ## the stored book as one PDF, _build/macal-checked.pdf; needs Chromium
	$(BIN)/python -m reproduction.pdf

pull: $(READY)     ## carry edits made in Jupyter back to the text: NAME=ihdp_small
	$(if $(wildcard notebooks/$(NAME).ipynb),,$(error unknown chapter NAME='$(NAME)'; known: $(CHAPTERS)))
	touch notebooks/$(NAME).ipynb
	$(BIN)/jupytext --sync notebooks/$(NAME).ipynb

# as many processes run as there are cores: more threads would wait for each other; conftest.py puts the longest files first
TEST = $(BIN)/pytest --nbval -n auto --dist loadfile --no-loadscope-reorder
test test-all: export OMP_NUM_THREADS = 1
test: $(READY)     ## style, unit tests, the site, and every stored output, in minutes
	$(BIN)/ruff check
	$(TEST)

test-all: $(READY) ## the same and the exhaustive part: every page in the browser, thousands of random problems
	$(BIN)/ruff check
	$(TEST) -m ""

run: $(READY)      ## one chapter with other parameters, into runs/: NAME=ihdp_small ARGS="-p n_replications 20"
	$(BIN)/python -m reproduction.book --run '$(NAME)' $(ARGS)

bench: $(READY)    ## speed and memory: every file of benchmarks/, one after the other
	set -e; for file in benchmarks/*.py; do $(BIN)/python $$file; done

# nothing of this folder's environment is used; what was built stays where something fails
launch: export PYTHONPATH =
launch:            ## try what a launch button does: clone the last commit, install the pins, run and compare a chapter
	set -ex; folder=$$(mktemp -d); git clone -q . $$folder/book; $(PYTHON) -m venv $$folder/env; cd $$folder/book; \
	$$folder/env/bin/pip install -q -r binder/requirements.txt; \
	$$folder/env/bin/pytest --nbval -n 0 notebooks/$(or $(NAME),problem).ipynb; rm -rf $$folder

serve:             ## read the book at http://127.0.0.1:8000
	$(if $(wildcard _build/html/index.html),,$(error nothing is built yet: make book, or make html))
	$(PYTHON) -m http.server -b 127.0.0.1 -d _build/html 8000

clean:             ## remove what was built; chapters' outputs, records in runs/ and .venv stay
	rm -rf _build runs/*.ipynb .pytest_cache .ruff_cache .hypothesis
