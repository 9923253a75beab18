"""Chapters run, refuse wrong parameters, and are re-checked with a tolerance."""

import hashlib
import inspect
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from unittest.mock import ANY

import nbformat
import numpy as np
import pytest
from cases import exhaustive
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook, new_output
from papermill import inspect_notebook
from processes import served

from macal import files
from reproduction import book

CHAPTER = """---
jupytext:
  text_representation: {{extension: .md, format_name: myst}}
kernelspec: {{display_name: Python 3, language: python, name: python3}}
---
# Tiny

```{{code-cell}} ipython3
import sys
print("noise".upper(), file=sys.stderr)
print({expression})
```
"""


@pytest.fixture
def project(tmp_path):
    """A project of one chapter, and a function that writes the chapter and runs it."""
    (tmp_path / "book").mkdir()
    (tmp_path / "notebooks").mkdir()

    def run(expression):
        (tmp_path / "book" / "tiny.md").write_text(CHAPTER.format(expression=expression))
        assert book.run("tiny", tmp_path)
        return (tmp_path / "notebooks" / "tiny.ipynb").read_bytes()

    return tmp_path, run


def test_run_is_deterministic_and_keeps_the_ids_of_cells(project):
    root, run = project
    first = run("6 * 7, object()")
    assert b"42" in first and b"NOISE" not in first
    assert run("6 * 7, object()") == first
    path = root / "notebooks" / "tiny.ipynb"
    notebook = nbformat.read(path, 4)
    notebook.cells[0]["id"] = "mine"
    nbformat.write(notebook, path)
    run("6 * 8")
    assert nbformat.read(path, 4).cells[0].id == "mine"


def test_cells_of_the_same_text_keep_an_id_each():
    old, new = ([new_code_cell("look()"), new_code_cell("look()")] for _ in range(2))
    book._name_cells(new, old)
    assert [cell.id for cell in new] == [cell.id for cell in old]


@pytest.mark.exhaustive
def test_a_notebook_whose_outputs_agree_is_left(project, capfd):
    root, run = project
    path = root / "notebooks" / "tiny.ipynb"
    run("0.5")
    notebook = nbformat.read(path, 4)
    notebook.cells[-1].outputs[0].text = "0.500000001\n"  # as another processor might have printed it
    nbformat.write(notebook, path)
    stored = path.read_bytes()
    assert book.main(["--keep"], root) == 0 and path.read_bytes() == stored
    assert re.fullmatch(r"tiny: [\d.]+ s\n", capfd.readouterr().out)
    path.write_bytes(stored.replace(b"0.500000001", b"0.6"))
    assert book.main(["--keep"], root) == 0 and b"0.5\\n" in path.read_bytes()
    assert re.fullmatch(r"tiny: [\d.]+ s, written: cell 0 differs by 0.2, more than 0.0001\n", capfd.readouterr().out)
    path.write_bytes(stored)
    assert book.main([], root) == 0 and path.read_bytes() != stored


@pytest.mark.exhaustive
def test_a_failing_chapter_leaves_the_old_notebook(project):
    root, run = project
    old = run("1")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        run("1 / 0")
    assert [path.name for path in (root / "notebooks").iterdir()] == ["tiny.ipynb"]
    assert (root / "notebooks" / "tiny.ipynb").read_bytes() == old


@pytest.fixture
def remote(tmp_path, monkeypatch):
    """A raw file that is on a server and not on this machine, and where it goes when it is downloaded."""
    (tmp_path / "remote").mkdir()
    (tmp_path / "remote" / "number.txt").write_text("42")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    with served(tmp_path) as address:
        source = files.Source(hashlib.sha256(b"42").hexdigest(), (f"{address}/remote/number.txt",))
        monkeypatch.setitem(files.FILES, "tiny/number.txt", source)
        monkeypatch.setitem(files.GROUPS, "tiny", ("tiny/number.txt",))
        yield files.cache() / "tiny" / "number.txt"


@pytest.mark.exhaustive
def test_missing_raw_files_are_downloaded_before_the_chapters_run(project, remote, capfd):
    root, run = project
    old = run("1")
    (root / "book" / "tiny.md").write_text(CHAPTER.format(expression="""'files.require("tiny")'"""))
    assert book.main([], root) == 0
    out, err = capfd.readouterr()
    assert remote.read_text() == "42" and "100%" in err
    assert re.fullmatch(r"tiny: [\d.]+ s\n", out) and (root / "notebooks" / "tiny.ipynb").read_bytes() != old


def test_without_a_network_a_chapter_keeps_its_stored_outputs(project, remote, capfd, tmp_path):
    root, run = project
    old = run("1")
    (root / "book" / "tiny.md").write_text(CHAPTER.format(expression="""'files.require("tiny")'"""))
    (tmp_path / "remote" / "number.txt").unlink()
    assert book.main([], root) == 0
    out, err = capfd.readouterr()
    assert "tiny/number.txt" in out and not remote.exists() and "could not be downloaded" in err
    assert (root / "notebooks" / "tiny.ipynb").read_bytes() == old


@pytest.mark.exhaustive
def test_a_page_with_theorems_figures_and_references_is_rendered_alone(tmp_path):
    shutil.copy(book.ROOT / "notebooks" / "bias_variance.ipynb", tmp_path)
    page = book.render(tmp_path / "bias_variance.ipynb").read_text(encoding="utf-8")
    assert "Theorem 1" in page and "<figure" in page and "glue:text" not in page


@pytest.mark.exhaustive
def test_ctrl_c_ends_running_and_waiting_chapters(tmp_path):
    for folder in ("book", "notebooks", "started"):
        (tmp_path / folder).mkdir()
    for name in "abcdef":
        expression = f"open({str(tmp_path / 'started' / name)!r}, 'w').close(), __import__('time').sleep(1000)"
        (tmp_path / "book" / f"{name}.md").write_text(CHAPTER.format(expression=expression))
    code = f"from pathlib import Path; from reproduction import book; book.main([], Path({str(tmp_path)!r}))"
    running = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        while len(os.listdir(tmp_path / "started")) < 2:
            assert running.poll() is None
            time.sleep(0.1)
        os.killpg(running.pid, signal.SIGINT)  # what a terminal does
        assert running.wait(60) == 130
    finally:
        running.kill()
    assert len(os.listdir(tmp_path / "started")) == 2 and not os.listdir(tmp_path / "notebooks")


def test_command_line_reports_failures_and_names_it_does_not_know(project, capfd):
    root, _ = project
    (root / "book" / "tiny.md").write_text(CHAPTER.format(expression="1"))
    (root / "book" / "broken.md").write_text(CHAPTER.format(expression="1 / 0"))
    assert book.main([], root) == 1
    out, err = capfd.readouterr()
    assert "tiny: " in out and "broken: failed after" in out and "ZeroDivisionError" in err
    with pytest.raises(SystemExit):
        book.main(["tony"], root)
    assert "'tiny'" in capfd.readouterr().err


PARAMETERS = """n_seeds: int = 10  # trainings
lr: float = 0.1
optimiser: str = "adam"
sizes: list[int] = [1, 2]"""
RULES = 'book.check(globals(), "1 <= n_seeds <= 100", "optimiser in (\'adam\', \'lbfgs\')", "n_seeds >= len(sizes)")'


def write_notebook(folder):
    """Write a tiny chapter with parameters; it fails where 13 trainings are asked for."""
    cells = [
        new_code_cell("from reproduction import book"),
        new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
        new_code_cell(RULES),
        new_code_cell("print(n_seeds, 1 / (n_seeds - 13))"),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), folder / "tiny.ipynb")


def history(injected):
    """The globals of a chapter that papermill gave these values."""
    namespace = {"In": ["", "import macal", PARAMETERS, f"# Parameters\n{injected}\n", RULES]}
    for cell in namespace["In"][2:4]:
        exec(cell, namespace)
    return namespace


@pytest.mark.parametrize(
    ("injected", "message"),
    [
        ("n_seeds = True", "n_seeds=True"),
        ("sizes = [1, 'a']", r"sizes=\[1, 'a'\]"),
        ("sizes = [0] * 11", r"n_seeds=10, sizes="),
        ("n_seeds = 'x'\noptimiser = 'sgd'\nm = 1", "(?s)'m'.*n_seeds='x'.*optimiser='sgd'"),
    ],
)
def test_check_lists_what_is_wrong(injected, message):
    namespace = history(injected)
    with pytest.raises(ValueError, match=message):
        book.check(namespace, "1 <= n_seeds <= 100", "optimiser in ('adam', 'lbfgs')", "n_seeds >= len(sizes)")


def test_check_names_the_values_that_are_allowed():
    namespace = history("n_seeds = 300") | {"SIZES": (200, 500)}
    with pytest.raises(ValueError, match=r"n_seeds=300: needs n_seeds in \(200, 500\)"):
        book.check(namespace, "n_seeds in SIZES")


def test_check_accepts_right_values_and_other_histories():
    book.check(history("n_seeds = 3\nlr = 1\nsizes = []"), "1 <= n_seeds <= 100")
    cells = ["1 +", PARAMETERS, "c: int +", "# Parameters\nn_seeds = 3", "# Parameters of a fit\nb = 3"]
    book.check(history("n_seeds = 3") | {"In": cells})
    book.check({"In": [""], "n_seeds": 3}, "1 <= n_seeds <= 100")
    book.check({"n_seeds": 3}, "1 <= n_seeds <= 100")


FITTING = [(None, int | None), ((1, 2), tuple[int, ...]), ((1, "a"), tuple[int, str]), (True, bool)]
FITTING += [([[1.0], [2]], list[list[float]])]
OTHERS = [("a", int | None), ((1, 2, 3), tuple[int, int]), ([True], list[int]), (1, bool)]


@pytest.mark.parametrize(("value", "kind", "fits"), [(*c, True) for c in FITTING] + [(*c, False) for c in OTHERS])
def test_types(value, kind, fits):
    namespace = {"In": [f"value: {inspect.formatannotation(kind)}"], "value": value}
    if fits:
        book.check(namespace)
    else:
        with pytest.raises(ValueError, match=re.escape(inspect.formatannotation(kind))):
            book.check(namespace)


@pytest.fixture
def aside(project, capsys):
    """A function that runs a tiny chapter aside: status, what it said, and what is in runs/ then."""
    root, _ = project
    (root / "book" / "tiny.md").write_text(CHAPTER.format(expression="1"))
    write_notebook(root / "notebooks")

    def call(*arguments):
        try:
            status = book.main(["--run", *arguments], root)
        except SystemExit as stopped:
            status = stopped.code
        return status, capsys.readouterr().err, {p: p.read_text() for p in (root / "runs").glob("*.ipynb")}

    return call


@pytest.mark.exhaustive
def test_a_run_aside_takes_literals_and_is_replaced_by_success_alone(aside):
    status, _, first = aside("tiny", "-p", "n_seeds", "20", "-p", "sizes", "[3, 4]", "-p", "optimiser", "lbfgs")
    ((path, text),) = first.items()
    assert status == 0 and path.parts[-2:] == ("runs", "tiny.ipynb") and "20 0.14" in text
    assert "20 0.14" in (path.parent / "tiny" / "tiny.html").read_text()
    assert aside("tiny", "-p", "n_seeds", "0") == (1, ANY, first)
    status, said, kept = aside("tiny", "-p", "n_seeds", "13")
    assert status == 1 and "ZeroDivisionError" in said and kept == first
    status, _, second = aside("tiny")
    assert status == 0 and list(second) == [path] and "10 -0.33" in second[path]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [("tony -p n_seeds 3", 2, "'tiny'"), ("tiny -p n_seed 5", 1, "'n_seeds'"), ("", 2, "tiny")],
)
def test_a_run_aside_refuses_a_wrong_name_in_one_line_before_anything_runs(aside, arguments, status, message):
    found, said, written = aside(*(arguments.split() or [""]))
    assert (found, said.count("\n"), written) == (status, 1, {}) and message in said


def test_parameters_belong_to_one_run_aside(capfd):
    for arguments in (["-p", "n_seeds", "3"], ["tiny", "--run", "tiny"]):
        with pytest.raises(SystemExit):
            book.main(arguments)
        assert "--run" in capfd.readouterr().err


def test_what_is_glued_is_a_plain_value(capsys, monkeypatch):
    glued = {}
    monkeypatch.setattr("myst_nb.glue", lambda name, value, display: glued.update({name: (value, display)}))
    book.glue({"half": np.float32(0.5), "few": np.int64(3), "said": "so"})
    assert glued == {"half": (0.5, False), "few": (3, False), "said": ("so", False)}
    assert [type(value) for value, _ in glued.values()] == [float, int, str] and not capsys.readouterr().out


def test_a_path_is_counted_from_the_project_wherever_a_chapter_runs(here):
    assert book.path("runs/x") == book.ROOT / "runs" / "x"
    assert book.path(str(here)) == here


def printed():
    """Commands that run a chapter with other parameters, as the texts print them: chapter and arguments."""
    texts = [book.ROOT / "README.md", book.ROOT / "Makefile", *(book.ROOT / "book").glob("*.md")]
    pattern = r'NAME=(\w+) ARGS="([^"]*)"|papermill notebooks/(\w+)\.ipynb (.*)'
    return [[part for part in found if part] for text in texts for found in re.findall(pattern, text.read_text())]


@pytest.mark.parametrize(("name", "arguments"), printed())
def test_printed_commands_name_parameters_that_the_chapter_has(name, arguments):
    declared = inspect_notebook(book.ROOT / "notebooks" / f"{name}.ipynb")
    passed = re.findall(r"-p (\w+)", arguments)
    assert passed and {*passed} <= {*declared}


def test_a_port_that_is_taken_is_named(make, tmp_path):
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, said, _ = make("serve", f"PORT={port}")
    assert status and f"port {port}" in said and "Traceback" not in said


@pytest.fixture
def make(tmp_path):
    """A function that calls make where two pages are and nothing is built: status, what it said, what is there."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "notebooks").mkdir()
    shutil.copy(book.ROOT / "Makefile", tmp_path)
    wanted = "requirements.txt requirements.lock requirements-hashed.lock pyproject.toml"
    for name in [*wanted.split(), "notebooks/tiny.ipynb", "notebooks/small.ipynb"]:
        (tmp_path / name).touch()
    for tool in ("python", "jupytext"):
        command = tmp_path / ".venv" / "bin" / tool
        module = "-m jupytext" if tool == "jupytext" else ""
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n')
        command.chmod(0o755)
    (tmp_path / ".venv" / ".installed").touch()

    # the tests may themselves be run by make, which tells a make below it
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}

    def call(*arguments):
        command = ["make", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr, sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*"))

    return call


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        exhaustive("run NAME=sweeps ARGS='-p seed 1'", "'seeds'"),
        ("pull NAME=tony", "tony"),
        ("serve", "make book"),
        ("launch", "git"),
    ],
)
def test_make_says_in_one_line_what_is_wrong_and_writes_nothing(make, arguments, message):
    _, _, before = make("help")
    status, said, after = make(*shlex.split(arguments))
    lines = [line for line in said.splitlines() if not re.match(r"make(\[\d+\])?: \*\*\* .* Error \d$", line)]
    assert status == 2 and len(lines) == 1 and message in lines[0] and after == before


def test_make_clean_keeps_records(make, tmp_path):
    for path in ("_build/html/index.html", "runs/tiny.ipynb", "runs/store/record.json"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert make("clean")[0] == 0
    assert not (tmp_path / "_build").exists() and os.listdir(tmp_path / "runs") == ["store"]
    assert (tmp_path / "runs" / "store" / "record.json").exists()


TOLERANT, SERVER = (book.ROOT / "notebooks" / name for name in ("conftest.py", "kernel_server.py"))


def nbval(folder, *more):
    for file in (TOLERANT, *more):
        shutil.copy(file, folder)
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider", "-rA"]
    return subprocess.run([*command, "tiny.ipynb"], cwd=folder, capture_output=True, text=True, timeout=180)


LOOK = """import os, sys, matplotlib, pandas
print(pandas.options.display.max_columns, matplotlib.get_backend(), {"", os.getcwd()} & {*sys.path})"""
SEEN = "20 module://matplotlib_inline.backend_inline {''}\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize(("server", "forked"), [((SERVER,), sys.platform == "linux"), ((), False)])
def test_nbval_compares_with_the_tolerance_in_a_forked_kernel_or_a_plain_one(tmp_path, server, forked):
    prints = {"0.5": "0.50000005\n", "0.25": "0.2525\n", "'a word'": "another word\n"}
    prints |= {"'macal' in __import__('sys').modules": f"{forked}\n"}
    sources = {f"print({value})": stored for value, stored in prints.items()} | {LOOK: SEEN}
    cells = [
        new_code_cell(source, execution_count=1, outputs=[new_output("stream", name="stdout", text=stored)])
        for source, stored in sources.items()
    ]
    cells += [new_code_cell("'hidden';", execution_count=1)]
    nbformat.write(new_notebook(cells=cells), tmp_path / "tiny.ipynb")
    done = nbval(tmp_path, *server)
    assert "2 failed, 4 passed" in done.stdout, done.stdout
    assert {f"PASSED tiny.ipynb::Cell {k}" for k in (0, 3, 4, 5)} <= set(done.stdout.splitlines())


def test_readme_shows_the_front_page_s_figure():
    front = nbformat.read(book.ROOT / "notebooks/index.ipynb", 4)
    [path], [drawn] = book.PICTURES.values(), book.pictures(front).values()
    assert (book.ROOT / path).read_bytes() == drawn and f"]({path})" in (book.ROOT / "README.md").read_text()
