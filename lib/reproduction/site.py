"""What the rendered site needs: a Sphinx extension that repairs its scripts, drops unused ones, and asks no host."""

import importlib.metadata
import json
import re
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Sequence
from datetime import date
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx import addnodes

from reproduction import twins
from reproduction.book import PHONE, ROOT, walk

MATHJAX = "tex-svg-full.js"
LEDGER = "notebooks/ledger"
INDEX = "book/paper_index"
GLOSSARY = "book/notation"
MOVED = {  # pages that are gone, and where their matter is
    "notebooks/exercises": "notebooks/theory.html#sec-theory-one-page",
    "book/appendix": "notebooks/theory.html#sec-theory-one-page",
    "notebooks/larger": "notebooks/ibm.html#sec-larger",
    "book/glossary": "book/notation.html#sec-glossary",
    "book/references": "book/cite.html#sec-references",
    "notebooks/ten_minutes": "notebooks/algorithm.html#sec-ten-minutes",
    "notebooks/budget": "notebooks/toy.html#sec-budget",
    "notebooks/weight": "notebooks/alpha.html#sec-alpha",
    "book/plan_my_survey": "notebooks/plan_my_survey.html#sec-plan-my-survey",
    "book/pairs_pay": "notebooks/pairing.html#sec-pairs-pay",
    "book/label_it_yourself": "notebooks/algorithm.html#sec-label-it-yourself",
}
FILES = "_static/data"  # recorded tables, as readers get them
READ = {".parquet": "read_parquet", ".csv": "read_csv"}  # functions of pandas
CLAIM = re.compile(r"(?:^|(?<=[Cc]laim )|(?<=Verdict ))([A-Z][1-9][a-d]?)(?=[,:)])")  # where a page judges it
KEY = re.compile(r"\b([A-Z][1-9][a-d]?)\b")  # where the index of the paper names it
HOST = re.compile(r"(?:https://(?:[^@/]+@)?|(?:ssh://)?git@)(github|gitlab)\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?\s*")
TABLE = re.compile(r"<table.*?</table>", re.DOTALL)  # made by pandas, its style before it
INDEX_NAME = re.compile(r'(?<=<th class="index_name )(level\d" *>)([^<]*)(?=</th>)')  # of a table made by pandas
# the theme loads all icons twice, as fonts and as a script, of the fonts uses one, and calls a list what has no items
UNUSED = re.compile(
    r'<script src="[^"]*fontawesome[^"]*"></script>|<link rel="preload"[^>]*fa-(?:brands|regular)[^>]*>'
    r'|(?<=<div )role="list" (?=class="citation-list")'
)
FOLD = re.compile(r'(>([^<"]*)</a><details(?: open="open")?><summary)>')  # the sidebar's arrow beside a chapter
LEADING = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>{title}</title>
    <link rel="icon" href="../_static/favicon.svg" type="image/svg+xml">
    <meta http-equiv="refresh" content="0; url={place}">
  </head>
  <body><p>This page has moved: <a href="{place}">read on</a>.</p></body>
</html>
"""


def setup(app: Any) -> dict[str, bool]:
    """Make this module a Sphinx extension: pages that raise no script error and take MathJax from the site itself."""
    app.connect("config-inited", lambda _, config: setattr(config, "mathjax_path", MATHJAX))
    app.connect("config-inited", offer_binder)
    described: dict[str, str] = {}  # file of an image -> its alternative text
    app.connect("doctree-read", _fill_descriptions, priority=90)
    app.connect("doctree-read", _add_phone_drawings, priority=100)  # before images are collected
    app.connect("doctree-read", lambda _, doctree: described.update(_descriptions(doctree)))
    app.connect("doctree-resolved", lambda _, doctree, page: _describe_again(doctree, described))
    app.connect("doctree-read", _name_rows)
    app.connect("doctree-read", _name_folds)
    app.connect("doctree-read", _lead_to_commands)
    app.connect("doctree-resolved", _link_claims)
    app.connect("doctree-resolved", _expand_short_names)
    app.connect("html-page-context", _drop_scripts, priority=900)
    app.connect("build-finished", _copy_mathjax)
    app.connect("build-finished", _drop_unused)
    app.connect("build-finished", _write_results)
    app.connect("build-finished", _lead_on)
    app.add_role("recorded", _recorded)
    app.add_role("computed", _computed)
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _as_written, priority=100)  # before napoleon reads the sections
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _as_written(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let a docstring's norms, |x|, be no substitutions, and formulas, indented after an empty line, be verbatim."""
    found: list[str] = []
    last, is_formula = "", False
    for before, line in zip(["-", *lines], lines, strict=False):
        if line.strip() and not line.startswith(" "):
            is_formula = False
        elif line.strip() and not before.strip() and last and not last.startswith(" "):
            is_formula = True
            found += ["::", ""]
        outside = re.split(r"(``.*?``)", line)
        outside[::2] = [part.replace("|", r"\|") for part in outside[::2]]
        found.append(line if is_formula else "".join(outside))
        last = line if line.strip() else last
    lines[:] = found


def address(remote: str) -> str:
    """The public address of a repository at GitHub or GitLab, in whatever form git names it; "" of any other."""
    found = HOST.fullmatch(remote)
    return f"https://{found[1]}.com/{found[2]}" if found else ""


def offer_binder(app: Any, config: Any) -> None:
    """Give notebooks Binder's button where the repository's address is known: the one configured, or the origin's."""
    command = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    cloned = shutil.which("git") and (ROOT / ".git").exists()
    origin = subprocess.run(command, capture_output=True, text=True).stdout if cloned else ""
    options = config.html_theme_options
    if url := options.get("repository_url") or address(origin):
        options["repository_url"] = url
        options["repository_branch"] = options.get("repository_branch") or "HEAD"
        options["launch_buttons"] = {"binderhub_url": "https://mybinder.org", "notebook_interface": "jupyterlab"}


def _add_phone_drawings(app: Any, doctree: nodes.document) -> None:
    """Put a figure's drawing for phones, where its cell put one out, beside the other one; the style shows either."""
    page = Path(app.env.doc2path(app.env.docname))
    if page.suffix != ".ipynb":
        return
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    outputs = [one for cell in cells for one in cell.get("outputs", []) if PHONE in one.get("metadata", {})]
    drawn = {sha256(b64decode(o["data"]["image/png"])).hexdigest(): b64decode(o["metadata"][PHONE]) for o in outputs}
    for image in list(doctree.findall(nodes.image)):
        if phone := drawn.get(Path(image["uri"]).stem):
            uri = Path(image["uri"]).with_name(f"{sha256(phone).hexdigest()}.png")
            Path(app.env.relfn2path(str(uri), app.env.docname)[1]).write_bytes(phone)
            image["classes"].append("page-drawing")
            other = nodes.image(uri=str(uri), alt=image.get("alt", ""), classes=["phone-drawing"])
            image.parent.insert(image.parent.index(image) + 1, other)


def _fill_descriptions(app: Any, doctree: nodes.document) -> None:
    """Fill the page's glued numbers into alternative texts."""
    page = Path(app.env.doc2path(app.env.docname))
    for image in doctree.findall(nodes.image):
        if page.suffix == ".ipynb" and twins.ROLE.search(image.get("alt", "")):
            image["alt"] = twins.filled(image["alt"], page.name, twins.stored(page.parent))


def _descriptions(doctree: nodes.document) -> dict[str, str]:
    return {Path(image["uri"]).name: image["alt"] for image in doctree.findall(nodes.image) if image.get("alt")}


def _describe_again(doctree: nodes.document, described: dict[str, str]) -> None:
    """A figure that a page takes from another one has no place for an alternative text: it has the other one's."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt") and (text := described.get(Path(image["uri"]).name)):
            image["alt"] = text


def _link_claims(app: Any, doctree: nodes.document, page: str) -> None:
    """Let the name of a claim, on the page that judges it and in the paper's index, lead to its row of the ledger."""
    if page == LEDGER:
        return
    named = KEY if page == INDEX else CLAIM
    row = f"{app.builder.get_relative_uri(page, LEDGER)}#claim-"
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.paragraph):
            parts = [nodes.Text(part) for part in named.split(text)]  # every second one is a claim
            parts[1::2] = [nodes.reference("", key, internal=True, refuri=row + key) for key in parts[1::2]]
            text.parent.replace(text, parts)


def _recorded(
    role: str, raw: str, text: str, line: int, inliner: Inliner, options: object = None, content: Sequence[str] = ()
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """What a caption says of its data: {recorded}`ibm_gp* toy` names declared tables and links each to its file.

    With a star, those of its sweeps that stand alone, too.
    """
    from reproduction.studies import tables  # an import that takes seconds

    kept = tables.files()
    parts = {name: tables.get(name[:-1]).parts if name.endswith("*") else (name,) for name in text.split()}
    found = [[kept[part] for part in own if part in kept] for own in parts.values()]
    if not all(found):
        return [], [inliner.reporter.error(f"not recorded: some of {text}", line=line)]
    said: list[nodes.Node] = [nodes.Text("Data: ")]
    for place in (place for places in found for place in places):
        file = nodes.literal(text=place.stem)
        if inliner.document.settings.env.app.builder.name == "html":  # every page stands one folder below the root
            file = nodes.reference("", "", file, internal=True, refuri=f"../{FILES}/{place.stem}.csv", classes=["data"])
        said += [file, nodes.Text(", ")]
    return [*said[:-1], nodes.Text(".")], []


def computed(root: Path = ROOT) -> str:
    """Say when recorded tables were computed: the dates of the first and the last commit that their records name.

    Args:
        root: The project's folder, a clone with its history.

    Returns:
        "22 November 2026 to 23 November 2026", or "dates that this copy does not tell, as it has no history".
    """
    manifests = [
        record["manifest"]
        for file in (root / "results").glob("*.json")
        for record in json.loads(file.read_text(encoding="utf-8")).get("records", ())
    ]
    dates = set()
    for commit in {manifest["commit"] for manifest in manifests if manifest.get("commit")}:
        command = ["git", "-C", str(root), "show", "-s", "--format=%cs", commit]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        dates |= {told.stdout.strip()} if told.returncode == 0 else set()
    if not dates:
        return "dates that this copy does not tell, as it has no history"
    first, last = (date.fromisoformat(day) for day in (min(dates), max(dates)))
    return f"{first.day} {first:%B %Y} to {last.day} {last:%B %Y}"


def _computed(
    role: str, raw: str, text: str, line: int, inliner: Inliner, options: object = None, content: Sequence[str] = ()
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """What *Cite* says of recorded tables: {computed}`dates`."""
    return [nodes.Text(computed())], []


def _name_rows(app: Any, doctree: nodes.document) -> None:
    """Let the heading of a table's rows be a word."""
    from reproduction.figures.tables import words  # an import that takes seconds

    for table in doctree.findall(lambda node: isinstance(node, nodes.raw) and "index_name" in node.astext()):
        said = INDEX_NAME.sub(lambda found: f"{found[1]}{words(found[2])}", table.astext())
        table.replace_self(nodes.raw("", said, format="html"))


def _name_folds(app: Any, doctree: nodes.document) -> None:
    """Let a folded cell say what it holds: imports, parameters, an exercise's solution, or the code of a drawing."""
    for cell in doctree.findall(lambda node: isinstance(node, nodes.container) and "hide_mode" in node):
        if cell["prompt_show"] != app.config.nb_code_prompt_show:
            continue
        before = cell.parent[cell.parent.index(cell) - 1]
        if "tag_parameters" in cell["classes"]:
            said = "the parameters"
        elif before.astext().startswith("Solution"):
            said = "the solution in code"
        elif cell["hide_mode"] == "all" and re.match(r"(import|from) ", cell.astext()):
            said = "the imports"
        else:
            said = "the code of the drawing" if list(cell.findall(nodes.image)) else "the code"
        cell["prompt_show"], cell["prompt_hide"] = f"Show {said}", f"Hide {said}"


def _lead_to_commands(app: Any, doctree: nodes.document) -> None:
    """Let each figure of the walk lead to the command that makes it again."""
    name = app.env.docname.rpartition("/")[2]
    if app.builder.name != "html" or name not in walk():
        return
    for caption in doctree.findall(nodes.caption):
        if isinstance(caption.parent, nodes.figure):
            place = nodes.reference("", "Make it again", internal=True, refuri=f"run_it.html#make-{name}")
            caption += [nodes.Text(" "), place, nodes.Text(".")]


def _expand_short_names(app: Any, doctree: nodes.document, page: str) -> None:
    """Let the first use of each of the glossary's short names on a page say what it stands for."""
    if page == GLOSSARY:
        return
    glossary = app.env.get_doctree(GLOSSARY)
    meaning = {
        item[0].astext(): item[-1].astext()
        for entries in glossary.findall(addnodes.glossary)
        for item in entries.findall(nodes.definition_list_item)
    }
    if not meaning:
        return
    names = rf"\b({'|'.join(meaning)})\b"

    def said(text: str) -> list[tuple[str, str | None]]:
        return [(part, meaning.pop(part, None)) for part in re.split(names, text) if part]

    def marked(found: re.Match[str]) -> str:
        return "".join(f'<abbr title="{escape(why)}">{p}</abbr>' if why else p for p, why in said(found[0]))

    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.raw) and text.parent["format"] == "html" and "<script" not in text:
            new = TABLE.sub(lambda table: re.sub(r"(?<=>)[^<>]+(?=<)", marked, table[0]), text.parent.astext())
            text.parent.replace_self(nodes.raw("", new, format="html"))
            continue
        spoken = isinstance(text.parent, nodes.paragraph | nodes.emphasis | nodes.strong | nodes.caption)
        if not spoken and "pasted-text" not in text.parent.get("classes", []):  # the latter are glued
            continue
        parts = said(text)
        if any(why for _, why in parts):
            text.parent.replace(
                text, [nodes.abbreviation("", p, explanation=why) if why else nodes.Text(p) for p, why in parts]
            )


def _drop_scripts(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Drop what a page does not need: a second copy of a script, and MathJax where only pages below it have formulas.

    Sphinx >= 7.2 emits inline scripts twice; a ``const`` met twice is a SyntaxError in the reader's browser.
    """
    scripts, formulas = context["script_files"], app.env.get_domain("math").data["has_equations"]
    if app.builder.name == "html" and not formulas.get(page):  # else all pages are one
        scripts[:] = [script for script in scripts if MATHJAX not in str(script.filename)]
    scripts[:] = {script.attributes.get("body") or str(script.filename): script for script in scripts}.values()


def _copy_mathjax(app: Any, error: Exception | None) -> None:
    """Take MathJax out of an installed package: the site needs no other host, the project no copy."""
    if error is None and app.builder.format == "html":
        package = importlib.metadata.distribution("sphinx-mathjax-offline")
        source = package.locate_file(f"sphinx-mathjax-offline/static/mathjax/{MATHJAX}")
        shutil.copy(str(source), Path(app.outdir, "_static", MATHJAX))


def _drop_unused(app: Any, error: Exception | None) -> None:
    """Drop what no page uses, and name the arrows that unfold chapters, for readers who do not see them."""
    if error is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            text = FOLD.sub(r'\1 aria-label="pages below \2">', UNUSED.sub("", page.read_text(encoding="utf-8")))
            page.write_text(text, encoding="utf-8")
        for script in Path(app.outdir, "_static").rglob("fontawesome/*/js/*"):
            script.unlink()


def _write_results(app: Any, error: Exception | None) -> None:
    """What the page *The results, to explore* fetches, and the recorded tables."""
    if error is None and app.builder.format == "html":
        import pandas as pd

        from reproduction.figures import explorer  # imports that take seconds
        from reproduction.studies import tables

        Path(app.outdir, "_static", "play", "results.json").write_text(explorer.page(), encoding="utf-8")
        Path(app.outdir, FILES).mkdir(exist_ok=True)
        for place in tables.files().values():
            table = getattr(pd, READ[place.suffix])(place)
            table.to_csv(Path(app.outdir, FILES, f"{place.stem}.csv"), index=False, float_format="%.6g")


def _lead_on(app: Any, error: Exception | None) -> None:
    """Let the addresses of pages that are gone lead to where their matter is now."""
    if error is None and app.builder.name == "html":
        for page, place in MOVED.items():
            text = LEADING.format(
                title=app.config.project, place=f"../{place}"
            )  # each stands one folder below the root
            Path(app.outdir, f"{page}.html").write_text(text, encoding="utf-8")
