"""Chapters run, refuse wrong parameters, and are re-checked with a tolerance."""

import hashlib
import inspect
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import ANY

import nbformat
import numpy as np
import pytest
from cases import exhaustive
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook, new_output
from papermill import inspect_notebook

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


# ---------------------------------------------------------------- run


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
    first = run("6 * 7")
    assert b"42" in first and b"NOISE" not in first
    assert run("6 * 7") == first
    assert run("object()") == run("object()")

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
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        source = files.Source(
            hashlib.sha256(b"42").hexdigest(), (f"http://127.0.0.1:{server.server_port}/remote/number.txt",)
        )
        monkeypatch.setitem(files.FILES, "tiny/number.txt", source)
        monkeypatch.setitem(files.GROUPS, "tiny", ("tiny/number.txt",))
        yield files.cache() / "tiny" / "number.txt"
        server.shutdown()


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
    assert out == "tiny: kept as it is, without tiny/number.txt\n" and not remote.exists()
    assert "could not be downloaded" in err and "keep their stored outputs" in err
    assert (root / "notebooks" / "tiny.ipynb").read_bytes() == old


def test_a_chapter_whose_raw_files_cannot_be_looked_for_fails_alone(project, capsys, monkeypatch):
    # not capfd: a kernel that is shut down may log to the process's own stream
    root, run = project
    run("1")
    text = CHAPTER.format(expression='__import__("macal").files.require("mnist")')
    (root / "book" / "needy.md").write_text(text)
    monkeypatch.setenv("MACAL_DATA", str(root / "absent"))
    assert book.main([], root) == 1
    out, err = capsys.readouterr()
    assert "tiny: " in out and "needy: failed" in out and re.fullmatch(r"ValueError: MACAL_DATA=.*\n", err)


def test_without_a_clone_there_is_nothing_to_run(tmp_path, capfd):
    with pytest.raises(SystemExit) as stopped:
        book.main([], tmp_path)
    said = capfd.readouterr().err
    assert stopped.value.code == 1 and re.fullmatch("pages are run from a clone .*\n", said)


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
    root, run = project
    run("1")
    (root / "book" / "broken.md").write_text(CHAPTER.format(expression="1 / 0"))
    assert book.main([], root) == 1
    out, err = capfd.readouterr()
    assert "tiny: " in out and "broken: failed after" in out and "ZeroDivisionError" in err
    with pytest.raises(SystemExit):
        book.main(["tony"], root)
    assert "unknown chapter 'tony' (did you mean 'tiny'?); known: broken, tiny" in capfd.readouterr().err


# ---------------------------------------------------------------- check

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


def papermill(folder, *arguments):
    """Run a tiny chapter under plain papermill: its exit status and what it said."""
    write_notebook(folder)
    command = [sys.executable, "-m", "papermill", "tiny.ipynb", "out.ipynb", "--no-progress-bar", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-p n_seed 5", "unknown parameter 'n_seed' (did you mean 'n_seeds'?); known: n_seeds, lr, optimiser, sizes"),
        ("-p n_seeds twelve", "n_seeds='twelve': must be int"),
        ("-p n_seeds 0", "n_seeds=0: needs 1 <= n_seeds <= 100"),
    ],
)
def test_papermill_stops_at_a_wrong_parameter(tmp_path, arguments, message):
    status, said = papermill(tmp_path, *arguments.split())
    assert status == 1
    assert message in said


@pytest.mark.exhaustive
def test_papermill_accepts_right_parameters(tmp_path):
    status, said = papermill(tmp_path, "-p", "n_seeds", "20", "-p", "lr", "1", "-y", "sizes: [3]")
    assert status == 0, said


def history(injected):
    """The globals of a chapter that papermill gave these values."""
    namespace = {"In": ["", "import macal", PARAMETERS, f"# Parameters\n{injected}\n", RULES]}
    for cell in namespace["In"][2:4]:
        exec(cell, namespace)
    return namespace


@pytest.mark.parametrize(
    ("injected", "message"),
    [
        ("n_seeds = True", "n_seeds=True: must be int"),
        ("n_seeds = 2.0", r"n_seeds=2\.0: must be int"),
        ("lr = '1'", "lr='1': must be float"),
        ("sizes = [1, 'a']", r"sizes=\[1, 'a'\]: must be list\[int\]"),
        ("sizes = 3", r"sizes=3: must be list\[int\]"),
        ("optimiser = 'sgd'", r"optimiser='sgd': needs optimiser in \('adam', 'lbfgs'\)"),
        ("sizes = [0] * 11", r"n_seeds=10, sizes=\[.*\]: needs n_seeds >= len\(sizes\)"),
        ("n_seeds = 'x'\noptimiser = 'sgd'\nm = 1", "(?s)unknown parameter 'm'.*n_seeds='x': .*optimiser='sgd': "),
    ],
)
def test_check_lists_what_is_wrong(injected, message):
    namespace = history(injected)
    with pytest.raises(ValueError, match=message):
        book.check(namespace, "1 <= n_seeds <= 100", "optimiser in ('adam', 'lbfgs')", "n_seeds >= len(sizes)")


def test_check_accepts_right_values_and_other_histories():
    book.check(history("n_seeds = 3\nlr = 1\nsizes = []"), "1 <= n_seeds <= 100")
    cells = ["1 +", PARAMETERS, "c: int +", "# Parameters\nn_seeds = 3", "# Parameters of a fit\nb = 3"]
    book.check(history("n_seeds = 3") | {"In": cells})
    book.check({"In": [""], "n_seeds": 3}, "1 <= n_seeds <= 100")
    book.check({"n_seeds": 3}, "1 <= n_seeds <= 100")


@pytest.mark.parametrize(
    ("value", "kind", "fits"),
    [
        (None, int | None, True),
        ("a", int | None, False),
        ((1, 2), tuple[int, ...], True),
        ((1, "a"), tuple[int, str], True),
        ((1, 2, 3), tuple[int, int], False),
        ([[1.0], [2]], list[list[float]], True),
        ([True], list[int], False),
        (True, bool, True),
        (1, bool, False),
    ],
)
def test_types(value, kind, fits):
    namespace = {"In": [f"value: {inspect.formatannotation(kind)}"], "value": value}
    if fits:
        book.check(namespace)
    else:
        with pytest.raises(ValueError, match=f"must be {re.escape(inspect.formatannotation(kind))}"):
            book.check(namespace)


# ---------------------------------------------------------------- run aside, with other parameters


@pytest.fixture
def aside(project, capsys):
    """A function that runs a tiny chapter aside: status, what it said, and what is in runs/ then."""
    root, run = project
    run("1")
    write_notebook(root / "notebooks")

    def call(*arguments):
        try:
            status = book.main(["--run", *arguments], root)
        except SystemExit as stopped:
            status = stopped.code
        return status, capsys.readouterr().err, {p: p.read_text() for p in (root / "runs").rglob("*") if p.is_file()}

    return call


@pytest.mark.exhaustive
def test_a_run_aside_takes_literals_and_is_replaced_by_success_alone(aside):
    status, _, first = aside("tiny", "-p", "n_seeds", "20", "-p", "sizes", "[3, 4]", "-p", "optimiser", "lbfgs")
    ((path, text),) = first.items()
    assert status == 0 and path.parts[-2:] == ("runs", "tiny.ipynb") and "20 0.14" in text
    assert aside("tiny", "-p", "n_seeds", "0") == (1, ANY, first)
    status, said, kept = aside("tiny", "-p", "n_seeds", "13")
    assert status == 1 and "ZeroDivisionError" in said and kept == first
    status, _, second = aside("tiny")
    assert status == 0 and list(second) == [path] and "10 -0.33" in second[path]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("tony", 2, "unknown chapter 'tony' (did you mean 'tiny'?); known: tiny"),
        ("tony -p n_seeds 3", 2, "unknown chapter 'tony' (did you mean 'tiny'?)"),
        ("tiny -p n_seed 5", 1, "unknown parameter of 'tiny' 'n_seed' (did you mean 'n_seeds'?); known: n_seeds, lr"),
        ("", 2, "unknown chapter ''; known: tiny"),
    ],
)
def test_a_run_aside_refuses_a_wrong_name_in_one_line_before_anything_runs(aside, arguments, status, message):
    found, said, written = aside(*(arguments.split() or [""]))
    assert (found, said.count("\n"), written) == (status, 1, {}) and message in said


def test_parameters_belong_to_one_run_aside(capfd):
    for arguments in (["-p", "n_seeds", "3"], ["tiny", "--run", "tiny"]):
        with pytest.raises(SystemExit):
            book.main(arguments)
        assert "-p goes with --run, and --run takes one chapter" in capfd.readouterr().err


def test_a_wrong_value_is_said_without_a_traceback(aside):
    status, said, written = aside("tiny", "-p", "n_seeds", "twelve")
    assert (status, written) == (1, {})
    assert said.endswith("ValueError: bad parameters\n  n_seeds='twelve': must be int\n") and "Traceback" not in said


def test_what_is_glued_is_a_plain_value(capsys, monkeypatch):
    glued = {}
    monkeypatch.setattr("myst_nb.glue", lambda name, value, display: glued.update({name: (value, display)}))
    book.glue({"half": np.float32(0.5), "few": np.int64(3), "said": "so"})
    assert glued == {"half": (0.5, False), "few": (3, False), "said": ("so", False)}
    assert [type(value) for value, _ in glued.values()] == [float, int, str] and not capsys.readouterr().out


def test_a_path_is_counted_from_the_project_wherever_a_chapter_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert book.path("runs/x") == book.ROOT / "runs" / "x"
    assert book.path(str(tmp_path)) == tmp_path
    for page in (book.ROOT / "book").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert "\nstore: str" not in text or "book.path(store)" in text, page


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


# ---------------------------------------------------------------- make


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
        exhaustive("run", "unknown chapter ''; known: "),
        exhaustive("run NAME=run_itt", "unknown chapter 'run_itt' (did you mean 'run_it'?)"),
        exhaustive("run NAME=run_it ARGS='-p seed 1'", "unknown parameter of 'run_it' 'seed' (did you mean 'seeds'?)"),
        exhaustive("execute NAME=run_itt", "unknown chapter 'run_itt' (did you mean 'run_it'?)"),
        ("pull", "unknown chapter NAME=''; known: small tiny."),
        ("pull NAME=tony", "unknown chapter NAME='tony'; known: small tiny."),
        ("pull NAME='tiny small'", "unknown chapter NAME='tiny small'; known: small tiny."),
        ("serve", "nothing is built yet: make book, or make html."),
        ("launch", "launch clones the last commit: it needs git, and this folder to be a clone."),
    ],
)
def test_make_says_in_one_line_what_is_wrong_and_writes_nothing(make, arguments, message):
    _, _, before = make("help")
    status, said, after = make(*shlex.split(arguments))
    lines = [line for line in said.splitlines() if not re.match(r"make(\[\d+\])?: \*\*\* .* Error \d$", line)]
    assert status == 2 and len(lines) == 1 and message in lines[0] and after == before


MACHINES = {  # what such a machine's Python would see
    "sys.version_info = (3, 10, 4)": "Python 3.11 to 3.14 is needed and ",
    "sys.version_info = (3, 15, 0)": "Python 3.11 to 3.14 is needed and ",
    "importlib.util.find_spec = {'venv': 1}.get": "cannot make environments: install its venv (",
    "platform.machine, shutil.which = lambda: 'aarch64', {}.get": "econml has no wheel for Linux on aarch64 and ",
}


@pytest.mark.skipif(sys.platform != "linux", reason="pretends to be other machines with Linux")
@pytest.mark.parametrize(("machine", "message"), MACHINES.items())
def test_make_says_in_one_line_what_the_machine_lacks_and_writes_nothing(make, tmp_path, machine, message):
    python = tmp_path / "python"
    see = f"import importlib.util, os, platform, shutil, sys; {machine}; exec(os.environ['CHECK'])"
    python.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(see)}\n")
    python.chmod(0o755)
    (tmp_path / ".venv" / ".installed").unlink()
    _, _, before = make("help")
    status, said, after = make("book", "PYTHON=./python")
    lines = [line for line in said.splitlines() if not line.startswith("make: ***")]
    assert status == 2 and len(lines) == 1 and message in lines[0] and after == before


def test_make_clean_keeps_records(make, tmp_path):
    for path in ("_build/html/index.html", "runs/tiny.ipynb", "runs/store/record.json"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert make("clean")[0] == 0
    assert not (tmp_path / "_build").exists() and os.listdir(tmp_path / "runs") == ["store"]
    assert (tmp_path / "runs" / "store" / "record.json").exists()


# ---------------------------------------------------------------- the tolerant comparison

TOLERANT, SERVER = (book.ROOT / "notebooks" / name for name in ("conftest.py", "kernel_server.py"))


def nbval(folder, *more):
    for file in (TOLERANT, *more):
        shutil.copy(file, folder)
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider", "-rA"]
    return subprocess.run([*command, "tiny.ipynb"], cwd=folder, capture_output=True, text=True, timeout=180)


@pytest.mark.exhaustive
def test_nbval_says_in_one_line_that_raw_files_cannot_be_looked_for(tmp_path, monkeypatch):
    cell = new_code_cell("macal.datasets.files.require('ibm')")
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "tiny.ipynb")
    monkeypatch.setenv("MACAL_DATA", str(tmp_path / "absent"))
    done = nbval(tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR and "INTERNALERROR" not in done.stdout + done.stderr
    assert done.stderr.startswith("ERROR: MACAL_DATA=") and len(done.stderr.strip().splitlines()) == 1


LOOK = """import os, sys, matplotlib, pandas
print(pandas.options.display.max_columns, matplotlib.get_backend(), {"", os.getcwd()} & {*sys.path})"""
SEEN = "20 module://matplotlib_inline.backend_inline {''}\n"


@pytest.mark.parametrize(("server", "forked"), [((SERVER,), sys.platform == "linux"), exhaustive((), False)])
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


# ---------------------------------------------------------------- which warnings are errors

FOREIGN = """import warnings
PATTERN = "\\d"  # no valid escape: a warning of the compiler

def noise():
    warnings.warn("mine", UserWarning)

def old():
    warnings.warn("yours", DeprecationWarning, stacklevel=2)
"""
OWN = {
    "lib/macal/__init__.py": "",
    "lib/macal/own.py": "import warnings, foreign\ndef noise(): warnings.warn('mine')\ndef use(): foreign.old()\n",
    "lib/macal/compiled.py": 'PATTERN = "\\d"\n',
    "lib/python/site-packages/foreign.py": FOREIGN,
    "tests/test_foreign.py": "def test_it():\n    import foreign; foreign.noise()\n",
    "tests/test_numbers.py": "import numpy as np\ndef test_it(): np.mean([])\n",
    "tests/test_own.py": "from macal import own\ndef test_it(): own.noise()\n",
    "tests/test_use.py": "from macal import own\ndef test_it(): own.use()\n",
    "tests/test_self.py": "import warnings\ndef test_it(): warnings.warn('mine')\n",
    "tests/test_old.py": "import foreign\ndef test_it(): foreign.old()\n",
    "tests/test_compiled.py": "def test_it(): import macal.compiled\n",
    "tests/test_pattern.py": 'def test_it(): assert "\\d"\n',
    "tests/test_value.py": "def test_it(): return 1\n",
}


@pytest.mark.exhaustive
def test_our_warnings_are_errors_and_those_of_others_are_not(tmp_path):
    for name, text in OWN.items():
        (tmp_path / "macal" / name).parent.mkdir(parents=True, exist_ok=True)  # the folder's name is no module's
        (tmp_path / "macal" / name).write_text(text)
    shutil.copy(book.ROOT / "pyproject.toml", tmp_path / "macal")
    paths = [tmp_path / "macal" / "lib", tmp_path / "macal" / "lib" / "python" / "site-packages"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "--continue-on-collection-errors"],
        cwd=tmp_path / "macal",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    passed = {Path(name).stem for name in re.findall(r"^PASSED (\S+)::", done.stdout, re.M)}
    failed = {Path(name).stem for name in re.findall(r"^(?:FAILED|ERROR) ([^\s:]+)", done.stdout, re.M)}
    assert passed == {"test_foreign"}, done.stdout
    assert failed == {Path(name).stem for name in OWN if "tests/" in name} - passed


def test_readme_shows_the_front_page_s_figure():
    front = nbformat.read(book.ROOT / "notebooks/index.ipynb", 4)
    [path], [drawn] = book.PICTURES.values(), book.pictures(front).values()
    assert (book.ROOT / path).read_bytes() == drawn and f"]({path})" in (book.ROOT / "README.md").read_text()


def test_readme_is_a_screen_of_lines_that_are_wrapped_alike():
    text = (book.ROOT / "README.md").read_text(encoding="utf-8")
    prose = [line for line in re.sub(r"```.*?```", "", text, flags=re.S).splitlines() if line[:1] not in "|!#"]
    assert max(map(len, prose)) <= 100 and len(text.split()) <= 500
    assert text.count("make book") and text.count("macal ") >= 6  # the commands
