"""What only the pages need: run a chapter, check its parameters, store its numbers.

``python -m reproduction.book [NAME ...]`` runs chapters, ``--run NAME -p PARAMETER VALUE`` one of them aside, with
other parameters; ``check`` stands in the cell after a chapter's parameters. Each imports its tools where it uses them,
so that importing this module is cheap.
"""

import argparse
import ast
import base64
import hashlib
import inspect
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any

from reproduction import twins

ROOT = Path(__file__).resolve().parents[2]
KERNEL = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "SOURCE_DATE_EPOCH": "0",  # no dates in SVG
    "OMP_NUM_THREADS": "1",  # two chapters run at a time, whose threads would wait for each other; and sums keep order
}

PASSED = "# Parameters\n"  # how papermill heads the cell of what it passes in
PICTURES = {"fig-front": "book/_static/overview.png"}  # figures that README shows, by name


def chapters(root: Path = ROOT) -> list[str]:
    """Names of the pages in ``book/`` that are notebooks: those with a Jupytext header."""
    return sorted(p.stem for p in (root / "book").glob("*.md") if "\njupytext:" in p.read_text(encoding="utf-8")[:500])


def walk(root: Path = ROOT) -> list[str]:
    """Names of the pages of the walk, from theory to experiments: the parts before the verdicts."""
    import yaml

    parts = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    ours = itertools.takewhile(lambda part: part["caption"] != "Verdicts", parts)
    pages = [page for part in ours for chapter in part["chapters"] for page in (chapter, *chapter.get("sections", ()))]
    return [page["file"].partition("/")[2] for page in pages]


def run(chapter: str, root: Path = ROOT, keep: bool = False) -> str:
    """Execute ``book/<chapter>.md`` into ``notebooks/<chapter>.ipynb``.

    Two runs give the same bytes, if the chapter itself is deterministic; a failing one leaves the old notebook alone.

    Args:
        chapter: Name of the page, without folder and ending.
        root: The project's folder.
        keep: Leave the notebook that is there, where neither its text has changed nor an output differs by more than
            its tolerance: see :func:`.outputs.changed`.

    Returns:
        Why the notebook was written, or "" where it was left.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed; the message holds the cell and its traceback.
    """
    import jupytext
    import nbformat
    from nbclient import NotebookClient

    from reproduction import outputs

    target = root / "notebooks" / f"{chapter}.ipynb"
    notebook = jupytext.read(root / "book" / f"{chapter}.md")
    notebook.metadata.pop("jupytext", None)
    stored = twins.undress(nbformat.read(target, 4)) if target.exists() else nbformat.v4.new_notebook()
    _name_cells(notebook.cells, stored.cells)

    client = NotebookClient(notebook, timeout=1800, kernel_name="python3", record_timing=False, coalesce_streams=True)
    client.execute(cwd=str(target.parent), env=os.environ | KERNEL)
    notebook.metadata.language_info.pop("version", None)
    for cell in notebook.cells:
        # warnings and progress bars carry process ids and times
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                for texts, key in ((output, "text"), (output.get("data", {}), "text/plain")):
                    if key in texts:
                        texts[key] = re.sub(r"\b0x[0-9a-f]{6,}", "0x" + 12 * "0", texts[key])  # addresses of objects

    change = outputs.changed(stored, notebook) if keep else "as asked for"
    if change:
        twins.write(notebook, target)
        for name, drawn in pictures(notebook).items():
            (root / PICTURES[name]).write_bytes(drawn)
    return change


def pictures(notebook: Any) -> dict[str, bytes]:
    """Figures of a notebook that README shows, by name: PNG."""
    named = {c.metadata.get("mystnb", {}).get("figure", {}).get("name"): c for c in notebook.cells}
    return {name: base64.b64decode(named[name].outputs[-1].data["image/png"]) for name in PICTURES if name in named}


def _name_cells(cells: Sequence[Any], old: Sequence[Any]) -> None:
    """Give each cell the id of the old cell of the same text, or else one made from its place and text."""
    spare = defaultdict(list)
    for cell in old:
        spare[cell.cell_type, cell.source].append(cell.id)
    for place, cell in enumerate(cells):
        same = spare[cell.cell_type, cell.source]
        made = hashlib.sha256(f"{place} {cell.source}".encode()).hexdigest()[:8]
        cell["id"] = same.pop(0) if same else made


def rerun(chapter: str, parameters: Mapping[str, Any], root: Path = ROOT) -> Path:
    """Execute ``notebooks/<chapter>.ipynb`` with other parameters into ``runs/<chapter>.ipynb``.

    Nothing runs where a parameter has no such name; whatever fails, the output of the last good run stays.

    Args:
        chapter: Name of the page, without folder and ending.
        parameters: Values by name; the others keep their defaults.
        root: The project's folder.

    Returns:
        The path of the output.

    Raises:
        UnknownName: The chapter has no such parameter.
        papermill.PapermillExecutionError: A cell failed; the message holds its traceback.
    """
    import nbformat
    import papermill

    from macal.registry import UnknownName

    source, target = root / "notebooks" / f"{chapter}.ipynb", root / "runs" / f"{chapter}.ipynb"
    declared = papermill.inspect_notebook(source)
    for name in parameters:
        if name not in declared:
            raise UnknownName(f"parameter of {chapter!r}", name, declared)
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as folder:
        draft = Path(folder) / target.name
        papermill.execute_notebook(source, draft, dict(parameters), cwd=source.parent)
        notebook, values = twins.undress(nbformat.read(draft, 4)), twins.stored(source.parent)
        own = twins.glued(notebook)
        twins.dress(notebook, source.name, lambda page, name: own[name] if page == source.name else values(page, name))
        twins.write(notebook, target)
    return target


def render(notebook: Path, root: Path = ROOT) -> Path:
    """Make a page of an executed notebook, in a folder of its name beside it; links to other pages lead nowhere.

    Raises:
        RuntimeError: the page cannot be made; the message is what Jupyter Book says.
    """
    name, static = notebook.stem, root / "book" / "_static"
    config = {
        "title": name,
        "execute": {"execute_notebooks": "off"},
        "parse": {"myst_enable_extensions": ["amsmath", "colon_fence", "deflist", "dollarmath", "html_image"]},
        "sphinx": {
            "extra_extensions": ["sphinx_proof"],
            "config": {"numfig": True, "html_static_path": [str(static)], "html_css_files": ["custom.css"]},
        },
    }
    with tempfile.TemporaryDirectory(prefix=".", dir=notebook.parent) as folder:
        alone, output = Path(folder) / "source", Path(folder) / "output"  # else what is built is a source, too
        alone.mkdir()
        source = shutil.copy(notebook, alone)
        settings = Path(folder) / "_config.yml"
        settings.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
        tool = Path(sys.executable).with_name("jupyter-book")
        command = [str(tool), "build", source, "--path-output", str(output), "--config"]
        done = subprocess.run([*command, str(settings), "-q"], capture_output=True, text=True)
        made = output / "_build" / "_page" / name / "html"
        if not (made / f"{name}.html").is_file():
            raise RuntimeError(done.stdout + done.stderr)
        shutil.rmtree(notebook.with_suffix(""), ignore_errors=True)
        shutil.move(made, notebook.with_suffix(""))
    return notebook.with_suffix("") / f"{name}.html"


def path(given: str) -> Path:
    """Where a path leads that a reader gives to a chapter: from the project's folder, wherever the chapter is run."""
    return ROOT / given


def parameters(root: Path = ROOT) -> list[dict[str, str]]:
    """What can be set on each page: ``chapter``, ``parameter``, ``default``, ``range`` and ``meaning``, as written."""
    found = []
    for chapter in chapters(root):
        text = _text(chapter, root)
        cell = re.search(r"tags: \[[^\]]*\bparameters\b.*?\n\n(.*?)```", text, re.DOTALL)
        rules = re.search(r"book\.check\(\s*globals\(\),?(.*?)\n?\)\n", text, re.DOTALL)
        asked = re.findall(r'"([^"]*)"', rules[1]) if rules else []
        for name, default, meaning in re.findall(r"(\w+): [^=]+= (.+?)  # (.+)", cell[1] if cell else ""):
            own = "; ".join(rule for rule in asked if re.search(rf"\b{name}\b", rule))
            found.append({"chapter": chapter, "parameter": name, "default": default, "range": own, "meaning": meaning})
    return found


def missing_data(source: str) -> list[str]:
    """Raw files that a chapter declares by ``macal.files.require("ibm", ...)`` and this machine lacks.

    Args:
        source: The chapter's text, as Markdown or as code.
    """
    from macal.datasets import files

    calls = re.findall(r"files\.require\(([^)]*)\)", source)
    return files.missing(*(group for call in calls for group in re.findall(r"\w+", call)))


def _text(chapter: str, root: Path) -> str:
    return (root / "book" / f"{chapter}.md").read_text(encoding="utf-8")


def _fetch(names: Sequence[str], root: Path) -> None:
    """Download the raw files that the chapters declare; where one cannot be had, say so and go on without."""
    from macal.datasets import files

    try:
        for name in dict.fromkeys(name for chapter in names for name in missing_data(_text(chapter, root))):
            files.read(name)
    except files.DataUnavailable as error:
        said = "chapters that need missing files keep their stored outputs; `git restore data` brings a clone's back"
        print(f"{error}\n{said}", file=sys.stderr, flush=True)
    except ValueError:
        pass  # a wrong MACAL_DATA: each chapter that looks there says so


def _timed_run(chapter: str, root: Path, keep: bool) -> tuple[str, str]:
    """What is said of a chapter: how long it took and what became of its notebook; and why it failed, or ""."""
    start = time.perf_counter()
    try:
        lacking = missing_data(_text(chapter, root))
        if lacking:
            return f"kept as it is, without {', '.join(lacking)}", ""
        change = run(chapter, root, keep)
    except Exception as error:  # whatever it is, the other chapters still run
        return f"failed after {time.perf_counter() - start:.1f} s", f"{type(error).__name__}: {error}\n"
    fate = f", written: {change}" if change and keep else ""
    return f"{time.perf_counter() - start:.1f} s{fate}", ""


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the named chapters, or all, two at a time, or one aside; return 1 if any of them failed, else 0."""
    about = "book/NAME.md -> notebooks/NAME.ipynb"
    parser = argparse.ArgumentParser(prog="python -m reproduction.book", description=about)
    parser.add_argument("names", nargs="*", metavar="NAME", help="chapters to run (default: all)")
    text = "write only notebooks whose text has changed, or an output beyond its tolerance"
    parser.add_argument("--keep", action="store_true", help=text)
    parser.add_argument(
        "--run", metavar="NAME", help="notebooks/NAME.ipynb -> runs/NAME.ipynb and the page runs/NAME/NAME.html"
    )
    parser.add_argument("--pull", metavar="NAME", help="carry edits made in Jupyter back: notebooks/ -> book/")
    parser.add_argument("-p", nargs=2, action="append", metavar=("PARAMETER", "VALUE"), help="one of them, for --run")
    options, known = parser.parse_args(arguments), chapters(root)
    if not known:
        parser.exit(1, f"pages are run from a clone of the repository, and {root} is none\n")
    if options.pull in known:
        return _pull(options.pull, root)
    aside = options.run is not None
    if aside and options.names or options.p and not aside:
        parser.error("-p goes with --run, and --run takes one chapter")
    names = [one for one in (options.run, options.pull) if one is not None] or options.names or known
    for name in sorted(set(names) - set(known)):
        parser.exit(2, f"{parser.prog}: unknown chapter {_nearest(name, known)}\n")
    if aside:
        return _run_aside(options.run, {name: _value(text) for name, text in options.p or []}, root)
    return _run_all(names, root, options.keep)


def _run_all(names: Sequence[str], root: Path, keep: bool) -> int:
    failed = 0
    _fetch(names, root)
    with ThreadPoolExecutor(max_workers=2) as pool:  # the work itself is done by kernels
        jobs = {pool.submit(_timed_run, name, root, keep): name for name in names}
        try:
            for job in as_completed(jobs):
                said, failure = job.result()
                failed |= bool(failure)
                print(f"{jobs[job]}: {said}", flush=True)
                print(failure, end="", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            # the pool would wait for the running chapters; their kernels end with this process
            os._exit(130)
    twins.dress_all(root / "notebooks", names)
    return int(failed)


def _pull(chapter: str, root: Path) -> int:
    import nbformat

    path, tool = root / "notebooks" / f"{chapter}.ipynb", Path(sys.executable).with_name("jupytext")
    twins.write(twins.undress(nbformat.read(path, 4)), path)  # and so newer than the text
    done = subprocess.run([str(tool), "--sync", str(path)], cwd=root)
    twins.dress_all(path.parent, [chapter])
    return done.returncode


def _run_aside(chapter: str, parameters: Mapping[str, Any], root: Path) -> int:
    from papermill import PapermillExecutionError

    try:
        print(render(rerun(chapter, parameters, root)))
    except PapermillExecutionError as error:
        refused = "book.check(" in error.source
        print(f"{error.ename}: {error.evalue}" if refused else error, file=sys.stderr)
        return 1
    except (OSError, ValueError, RuntimeError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _value(text: str) -> Any:
    """A Python literal, such as 3, 0.5, True or [1, 2]; or else the text itself."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _spelt(rule: str, namespace: Mapping[str, Any]) -> str:
    """A rule with the values of the list that it names: "answers in (200, 500)"."""
    node = ast.parse(rule, mode="eval").body
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
        allowed = eval(ast.unparse(node.comparators[0]), dict(namespace))
        return f"{ast.unparse(node.left)} in {(*allowed,)}"
    return rule


def check(namespace: Mapping[str, Any], *rules: str) -> None:
    """Refuse unknown, mistyped or forbidden parameters, in the cell after the one tagged ``parameters``.

    Papermill itself runs the whole chapter with defaults where a name is misspelt; this stops it at once.

    Args:
        namespace: The chapter's ``globals()``; what its cells annotate is a parameter.
        *rules: Conditions on the parameters as Python text, such as ``"1 <= n_seeds <= 100"``. They are the chapter's
            own words; nothing that a reader passes in is ever evaluated.

    Raises:
        ValueError: Lists everything that is wrong.
    """
    history = namespace.get("In", [])
    declared, passed = _declared(history, namespace), _passed(history)
    problems = [f"unknown parameter {_nearest(name, declared)}" for name in passed if name not in declared]
    mistyped = [name for name, kind in declared.items() if not _fits(namespace[name], kind)]
    for name in mistyped:
        problems.append(f"{name}={namespace[name]!r}: must be {inspect.formatannotation(declared[name])}")
    for rule in rules:
        names = sorted({n.id for n in ast.walk(ast.parse(rule)) if isinstance(n, ast.Name)} & declared.keys())
        if not {*mistyped} & {*names} and not eval(rule, dict(namespace)):
            found = ", ".join(f"{name}={namespace[name]!r}" for name in names)
            problems.append(f"{found}: needs {_spelt(rule, namespace)}")
    if problems:
        raise ValueError("bad parameters\n  " + "\n  ".join(problems))


def glue(values: Mapping[str, Any]) -> None:
    """Store numbers and words under their names for a chapter's prose, and show none of them.

    Args:
        values: What is stored, by name; numbers of NumPy become Python's.
    """
    # only a chapter's kernel has it loaded
    import myst_nb

    for name, value in values.items():
        myst_nb.glue(name, value.item() if hasattr(value, "item") else value, display=False)


PHONE = "phone"  # in an output's metadata: a figure's second drawing, which the site shows on narrow screens


def show(draw: Callable[[Any, bool], None], wide: tuple[float, float], narrow: tuple[float, float]) -> None:
    """Put out a figure that is drawn twice: for a page, and for a phone, whose drawing the site takes.

    Args:
        draw: draws on an empty ``matplotlib`` figure; its second argument says whether it is the phone's.
        wide: size of the figure, in inches.
        narrow: size of the phone's.
    """
    import matplotlib.pyplot as plt
    from IPython.display import display

    from macal import plots

    drawings = []
    for size, is_phone in ((wide, False), (narrow, True)):
        figure = plt.figure(figsize=size)
        draw(figure, is_phone)
        drawings.append(plots.png(figure))
        plt.close(figure)
    (page, pixels), (phone, _) = drawings
    said = f"<Figure of {wide[0]:g} x {wide[1]:g} inches>"
    display({"image/png": page, "text/plain": said}, metadata={"image/png": pixels, PHONE: phone}, raw=True)


def compare(claim: str, version: str, *others: str, mean: str = "geometric") -> None:
    """Glue MACAL's comparisons with others in a claim: the one way in which a page's prose takes them.

    Under "E2-code-qhte": MACAL's error over the other's in per cent; under "E2-code-qhte-low" and "-high" its interval.
    By arithmetic means under "E2-code-qhte-arithmetic".

    Args:
        claim: its key.
        version: "code version" or "text version".
        others: methods.
        mean: of errors over sizes; "arithmetic" is the paper's scale.

    Raises:
        KeyError: the claim has no such comparison.
    """
    # an import that takes seconds
    from reproduction.claims import ledger

    found = ledger.pairs(claim, mean=mean).xs((claim, version, version)).droplevel("dataset")
    for other in others:
        name = f"{claim}-{version.split()[0]}-{other}" + f"-{mean}" * (mean != "geometric")
        row = found.loc[other]
        glue({name: row["change"], f"{name}-low": row["low"], f"{name}-high": row["high"]})


def _nearest(name: str, known: Iterable[str]) -> str:
    # an import that takes seconds
    from macal.registry import nearest

    return nearest(name, known)


def _declared(history: Sequence[str], namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Types of what the chapter's cells annotate, by their text: from Python 3.14 on a notebook's globals lack them."""
    lines: list[ast.stmt] = []
    for source in history:
        with suppress(SyntaxError):  # a cell that failed
            lines += [] if source.startswith(PASSED) else ast.parse(source).body
    stated = [n for n in lines if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
    return {n.target.id: eval(ast.unparse(n.annotation), dict(namespace)) for n in stated}


def _passed(history: Sequence[str]) -> list[str]:
    """Names that papermill passed, in the cell that it puts after the declaration and heads so."""
    cell = next((source for source in reversed(history) if source.startswith(PASSED)), "")
    return [n.id for n in ast.walk(ast.parse(cell)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of the annotated type; an int passes for a float, a bool only for a bool."""
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
