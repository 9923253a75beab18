"""Chapters run, refuse wrong parameters, and are re-checked with a tolerance."""

import importlib.util
import shutil
import subprocess
import sys

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook, new_output

from macal import book, files

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
        return book.run("tiny", tmp_path).read_bytes()

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


def test_a_failing_chapter_leaves_the_old_notebook(project):
    root, run = project
    old = run("1")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        run("1 / 0")
    assert [path.name for path in (root / "notebooks").iterdir()] == ["tiny.ipynb"]
    assert (root / "notebooks" / "tiny.ipynb").read_bytes() == old


def test_a_chapter_without_its_raw_files_is_kept_as_it_is(project, capfd, monkeypatch):
    root, run = project
    old = run("1")
    (root / "book" / "tiny.md").write_text(CHAPTER.format(expression='__import__("macal").files.require("mnist")'))
    monkeypatch.setattr(files, "find", lambda name: None)
    monkeypatch.delenv("MACAL_REQUIRE_DATA", raising=False)
    assert book.main([], root) == 0
    assert "tiny: kept as it is: needs mnist/train-images" in capfd.readouterr().out
    assert (root / "notebooks" / "tiny.ipynb").read_bytes() == old


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


def papermill(folder, *arguments):
    """Run a tiny chapter under plain papermill: its exit status and what it said."""
    cells = [
        new_code_cell("from macal import book"),
        new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
        new_code_cell(RULES),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), folder / "tiny.ipynb")
    command = [sys.executable, "-m", "papermill", "tiny.ipynb", "out.ipynb", "--no-progress-bar", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


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
    book.check(
        history("n_seeds = 3") | {"In": ["a: int = 1", "a = 2", "1 +", "# Parameters of a fit\nb = 3"], "a": 2}, "a > 0"
    )
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
    namespace = {"In": ["value: kind = 0"], "value": value, "kind": kind}
    if fits:
        book.check(namespace)
    else:
        with pytest.raises(ValueError, match="must be kind"):
            book.check(namespace)


# ---------------------------------------------------------------- the tolerant comparison

TOLERANT = book.ROOT / "notebooks" / "conftest.py"


def text():
    spec = importlib.util.spec_from_file_location("tolerant", TOLERANT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Text


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("rmse 0.5", "rmse 0.50000005", True),
        ("rmse 0.5", "rmse 0.505", False),
        ("rmse 0.5", "risk 0.5", False),
        ("1,234.5", "1,234.50001", True),
        ("1,234.5", "1,247.5", False),
        ("[100,200]", "[100,201]", False),
        ("20000 units", "20001 units", False),
        ("[-0.0 1.0]", "[ 0.0 1.0]", True),
        ("1.5", "-1.5", False),
        ("3-4", "3--4", False),
        ("[nan, 1e-3]", "[nan, 0.001]", True),
        ("nan", "0.1", False),
        ("1.0", "1.0 2.0", False),
        ("<td>.5</td>", "<td>0.5</td>", True),
        ("12.3s", "12.4s", False),
        ("<A at 0x7f00aa11>", "<A at 0x7f00bb22>", True),
        ("a b", "ab", False),
    ],
)
def test_tolerance(a, b, same):
    Text = text()
    assert (Text(a) == Text(b)) is same
    assert (Text(a) != Text(b)) is not same


def test_plain_nbval_compares_with_the_tolerance(tmp_path):
    shutil.copy(TOLERANT, tmp_path / "conftest.py")
    prints = {"0.5": "0.50000005\n", "0.25": "0.2525\n", "'a word'": "another word\n"}
    cells = [
        new_code_cell(f"print({value})", execution_count=1, outputs=[new_output("stream", name="stdout", text=stored)])
        for value, stored in prints.items()
    ]
    cells += [new_code_cell("'hidden';", execution_count=1)]
    nbformat.write(new_notebook(cells=cells), tmp_path / "tiny.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider", "-rA"]
    done = subprocess.run([*command, "tiny.ipynb"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "2 failed, 2 passed" in done.stdout, done.stdout
    assert {"PASSED tiny.ipynb::Cell 0", "PASSED tiny.ipynb::Cell 3"} <= set(done.stdout.splitlines())
