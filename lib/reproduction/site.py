"""What the rendered site needs: a Sphinx extension that repairs its scripts, drops unused ones, and asks no host."""

import importlib.metadata
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

MATHJAX = "tex-svg-full.js"
LEDGER = "notebooks/ledger"
CLAIM = re.compile(r"(?:^|(?<=[Cc]laim )|(?<=Verdict ))([A-Z][1-9][a-d]?)(?=[,:)])")  # where a page judges it
# the theme loads all icons twice, as fonts and as a script, of the fonts uses one, and calls a list what has no items
UNUSED = re.compile(
    r'<script src="[^"]*fontawesome[^"]*"></script>|<link rel="preload"[^>]*fa-(?:brands|regular)[^>]*>'
    r'|(?<=<div )role="list" (?=class="citation-list")'
)


def setup(app: Any) -> dict[str, bool]:
    """Make this module a Sphinx extension: pages that raise no script error and take MathJax from the site itself."""
    app.connect("config-inited", lambda _, config: setattr(config, "mathjax_path", MATHJAX))
    described: dict[str, str] = {}  # file of an image -> its alternative text
    app.connect("doctree-read", lambda _, doctree: described.update(_descriptions(doctree)))
    app.connect("doctree-resolved", lambda _, doctree, page: _describe_again(doctree, described))
    app.connect("doctree-resolved", _link_claims)
    app.connect("doctree-resolved", _expand_short_names)
    app.connect("html-page-context", _drop_repeated_scripts, priority=900)
    app.connect("build-finished", _copy_mathjax)
    app.connect("build-finished", _drop_unused)
    app.connect("build-finished", _write_results)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _descriptions(doctree: nodes.document) -> dict[str, str]:
    return {Path(image["uri"]).name: image["alt"] for image in doctree.findall(nodes.image) if image.get("alt")}


def _describe_again(doctree: nodes.document, described: dict[str, str]) -> None:
    """A figure that a page takes from another one has no place for an alternative text: it has the other one's."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt") and (text := described.get(Path(image["uri"]).name)):
            image["alt"] = text


def _link_claims(app: Any, doctree: nodes.document, page: str) -> None:
    """Let the name of a claim, on the page that judges it, lead to its row of the ledger."""
    if page == LEDGER:
        return
    row = f"{app.builder.get_relative_uri(page, LEDGER)}#claim-"
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.paragraph):
            parts = [nodes.Text(part) for part in CLAIM.split(text)]  # every second one is a claim
            parts[1::2] = [nodes.reference("", key, internal=True, refuri=row + key) for key in parts[1::2]]
            text.parent.replace(text, parts)


def _expand_short_names(app: Any, doctree: nodes.document, page: str) -> None:
    """Let the first use of each of the glossary's short names on a page say what it stands for."""
    if page == "book/glossary":
        return
    glossary = app.env.get_doctree("book/glossary")
    meaning = {
        item[0].astext(): item[-1].astext()
        for entries in glossary.findall(addnodes.glossary)
        for item in entries.findall(nodes.definition_list_item)
    }
    for text in list(doctree.findall(nodes.Text)):
        spoken = isinstance(text.parent, nodes.paragraph | nodes.emphasis | nodes.strong | nodes.caption)
        if not spoken and "pasted-text" not in text.parent.get("classes", []):  # the latter are glued
            continue
        parts = re.split(rf"\b({'|'.join(meaning)})\b", text) if meaning else []
        if len(parts) > 1:
            said = [(part, meaning.pop(part, None)) for part in parts if part]
            text.parent.replace(
                text, [nodes.abbreviation("", p, explanation=why) if why else nodes.Text(p) for p, why in said]
            )


def _drop_repeated_scripts(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Sphinx >= 7.2 emits inline scripts twice; a ``const`` met twice is a SyntaxError in the reader's browser."""
    scripts = context["script_files"]
    scripts[:] = {script.attributes.get("body") or str(script.filename): script for script in scripts}.values()


def _copy_mathjax(app: Any, error: Exception | None) -> None:
    """Take MathJax out of an installed package: the site needs no other host, the project no copy."""
    if error is None and app.builder.format == "html":
        package = importlib.metadata.distribution("sphinx-mathjax-offline")
        source = package.locate_file(f"sphinx-mathjax-offline/static/mathjax/{MATHJAX}")
        shutil.copy(str(source), Path(app.outdir, "_static", MATHJAX))


def _drop_unused(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            page.write_text(UNUSED.sub("", page.read_text(encoding="utf-8")), encoding="utf-8")
        for script in Path(app.outdir, "_static").rglob("fontawesome/*/js/*"):
            script.unlink()


def _write_results(app: Any, error: Exception | None) -> None:
    """What the page *The results, to explore* fetches."""
    if error is None and app.builder.format == "html":
        from reproduction.figures import explorer  # imports that take seconds

        Path(app.outdir, "_static", "play", "results.json").write_text(explorer.page(), encoding="utf-8")
