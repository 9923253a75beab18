PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed
# yes: every file but torch's must have the hash that is recorded; no: versions alone count
HASHES ?= yes

.DEFAULT_GOAL := help
.PHONY: help book execute html pdf pull test test-all paths run bench launch lab serve clean

help:              ## list these targets
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / {printf "%-10s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

# told in one line before anything is installed, in words that any Python understands
define CHECK
import platform, shutil, sys
name, version = sys.executable, sys.version_info[:2]
if not (3, 11) <= version < (3, 15):
    sys.exit("Python 3.11 to 3.14 is needed and %s is %d.%d: say which to take, make PYTHON=python3.11" % ((name,) + version))
import importlib.util, sysconfig
if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
    sys.exit("%s cannot make environments: install its venv (Debian, Ubuntu: apt install python%d.%d-venv)" % ((name,) + version))
compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
if platform.system() == "Linux" and platform.machine() != "x86_64" and not shutil.which(compiler):
    sys.exit("econml has no wheel for Linux on %s and there is no %s to compile it (apt install gcc python3-dev)" % (platform.machine(), compiler))
endef

$(READY): export CHECK := $(value CHECK)
$(READY): requirements.txt requirements.lock requirements-hashed.lock pyproject.toml
	@$(PYTHON) -c "$$CHECK"
	$(PYTHON) -m venv .venv
	$(if $(HASHES:no=),$(BIN)/python -m pip install -q --no-deps --require-hashes -r requirements-hashed.lock)
	$(BIN)/python -m pip install -q -r requirements.txt -c requirements.lock
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	touch $@

book: $(READY)     ## the whole book: run every chapter, then render; outputs that agree stay as they are
	$(BIN)/python -m reproduction.book --keep
	$(MAKE) html

execute: $(READY)  ## run book/*.md into notebooks/*.ipynb; one chapter: NAME=ihdp_small
	$(BIN)/python -m reproduction.book $(NAME)

html: $(READY)     ## render the stored notebooks, without running any
	$(BIN)/jupyter-book build . --all -W -n --keep-going

pdf: $(READY)      ## the stored book as one PDF, _build/macal-checked.pdf; needs Chromium
	$(BIN)/python -m reproduction.pdf

pull: $(READY)     ## carry edits made in Jupyter back to the text: NAME=ihdp_small
	$(BIN)/python -m reproduction.book --pull '$(NAME)'

# options stand in pyproject.toml; tests/conftest.py puts the longest files first
TEST = $(BIN)/python -m pytest --nbval
test: $(READY)     ## style, unit tests, the site, and every stored output, in minutes
	$(BIN)/ruff check
	$(TEST)

test-all: $(READY) ## the same and the exhaustive part: every page in the browser, thousands of random problems
	$(BIN)/ruff check
	$(TEST) -m ""

paths: $(READY)    ## the tests that compute, as other processors would, and what moves; one: PATHS=baseline
	$(BIN)/python -m reproduction.paths $(PATHS)

run: $(READY)      ## one chapter with other parameters, into runs/: NAME=ihdp_small ARGS="-p n_replications 20"
	$(BIN)/python -m reproduction.book --run '$(NAME)' $(ARGS)

bench: $(READY)    ## speed and memory: every file of benchmarks/, one after the other
	set -e; for file in benchmarks/*.py; do $(BIN)/python $$file; done

# nothing of this folder's environment is used; what was built stays where something fails
launch: export PYTHONPATH =
launch: export CHECK := $(value CHECK)
launch:            ## try what a launch button does: clone the last commit, install the pins, run and compare a chapter
	$(if $(and $(wildcard .git),$(shell command -v git)),,$(error launch clones the last commit: it needs git, and this folder to be a clone))
	@$(PYTHON) -c "$$CHECK"
	set -ex; folder=$$(mktemp -d); git clone -q . "$$folder/book"; $(PYTHON) -m venv "$$folder/env"; cd "$$folder/book"; \
	"$$folder/env/bin/pip" install -q -r binder/requirements.txt; \
	"$$folder/env/bin/pytest" --nbval -n 0 notebooks/$(or $(NAME),problem).ipynb; rm -rf "$$folder"

LAB := .venv/.lab
$(LAB): $(READY) requirements-lab.txt
	$(BIN)/python -m pip install -q -r requirements-lab.txt -c requirements.lock
	touch $@

lab: $(LAB)        ## the walk in JupyterLab; another page: NAME=toy
	$(BIN)/jupyter trust notebooks/*.ipynb >/dev/null # else figures to step through are not drawn
	$(BIN)/jupyter lab notebooks/$(or $(NAME),theory).ipynb

PORT ?= 8000
serve:             ## read the book at http://127.0.0.1:8000; another port: PORT=8001
	$(if $(wildcard _build/html/index.html),,$(error nothing is built yet: make book, or make html))
	@$(PYTHON) -c "import socket; socket.create_server(('127.0.0.1', $(PORT)))" 2>/dev/null || \
	{ echo "port $(PORT) cannot be had; take another one: make serve PORT=8001" >&2; exit 1; }
	$(PYTHON) -m http.server -b 127.0.0.1 -d _build/html $(PORT)

clean:             ## remove what was built; chapters' outputs, records in runs/ and .venv stay
	rm -rf _build runs/*.ipynb .pytest_cache .ruff_cache .hypothesis
