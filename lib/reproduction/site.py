"""What the rendered site needs: a Sphinx extension that repairs its scripts and lets it ask no other host."""

import importlib.metadata
import shutil
from pathlib import Path
from typing import Any

MATHJAX = "tex-svg-full.js"


def setup(app: Any) -> dict[str, bool]:
    """Make this module a Sphinx extension: pages that raise no script error and take MathJax from the site itself."""
    app.set_html_assets_policy("always")  # a page without maths may still list a title that has some
    app.connect("config-inited", lambda _, config: setattr(config, "mathjax_path", MATHJAX))
    app.connect("html-page-context", _drop_repeated_scripts, priority=900)
    app.connect("build-finished", _copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


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
