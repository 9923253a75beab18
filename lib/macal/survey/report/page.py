"""HTML for phone and paper, with escaped content and without external resources."""

import re
from collections.abc import Iterable, Mapping
from html import escape

import pandas as pd

_NUMBER = re.compile(r"–|first|-?[\d.,]+(e[-+]\d+)?%?")
_LONG = re.compile(r"(\S{16})(?=\S{16})")
_STYLE = """
:root { color-scheme: light; --ink: #1a1a1a; --faint: #5c5c5c; --line: #d9d9d9; --box: #f3f6f8; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; color: var(--ink); background: #fff;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
p, ul { max-width: 46rem; }
.answer { background: var(--box); border-left: 4px solid #0072B2; margin: 1rem 0; padding: .6rem 1rem; }
.warning { background: #fff4e5; border-left: 4px solid #D55E00; margin: 1rem 0; padding: .6rem 1rem; }
.wide { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; text-align: left; }
thead th { vertical-align: bottom; border-bottom: 2px solid var(--ink); }
.n { text-align: right; }
td.n { white-space: nowrap; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: .5rem 0; flex: 0 1 27rem; min-width: 0; }
figure svg { width: 100%; height: auto; display: block; }
figcaption, .note { color: var(--faint); font-size: .9rem; margin-bottom: 0; }
@media (max-width: 30rem) { body { padding: .7rem; } th, td { padding: .25rem .4rem; font-size: .9rem; } }
@media print { body { max-width: none; padding: 0; font-size: 10.5pt; } .wide { overflow: visible; }
  .answer, .warning { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  table, tr, figure, .answer, .warning { break-inside: avoid; } h2, .note { break-after: avoid; } }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'  # else browsers ask for one
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def heading(text: str) -> str:
    """Return a section heading."""
    return f"<h2>{escape(text)}</h2>"


def text(words: str, role: str = "") -> str:
    """Return a paragraph; ``role`` is "answer", "warning", "note" or empty."""
    return f'<p class="{role}">{escape(words)}</p>' if role else f"<p>{escape(words)}</p>"


def table(frame: pd.DataFrame, caption: str) -> str:
    """Return a table with its index, numbers right-aligned."""
    frame = frame.reset_index()
    rows = [[_said(value) for value in row] for row in frame.to_numpy(object)]
    right = [all(_NUMBER.fullmatch(row[k]) for row in rows) for k in range(frame.shape[1])]
    head = "".join(_cell("th", str(name), n, ' scope="col"') for name, n in zip(frame.columns, right, strict=True))
    cells = ("".join(_cell("td", words, n) for words, n in zip(row, right, strict=True)) for row in rows)
    body = "".join(f"<tr>{row}</tr>\n" for row in cells)
    return (
        text(caption, "note")
        + f'\n<div class="wide"><table aria-label="{escape(caption)}">\n<thead><tr>{head}</tr></thead>\n'
        + f"<tbody>{body}</tbody></table></div>"
    )


def _cell(tag: str, words: str, right: bool, more: str = "") -> str:
    """Return a cell; long words, such as checksums, may break."""
    parts = "<wbr>".join(escape(part) for part in _LONG.split(words) if part)
    return f"<{tag}{more}{' class=n' if right else ''}>{parts}</{tag}>"


def _said(value: object) -> str:
    return number(value, "{:,.10g}") if isinstance(value, (int, float)) else "–" if value is None else str(value)


def number(value: float | int, pattern: str = "") -> str:
    """Return a number with three digits, or those before the point; a dash for NaN."""
    usual = "{:,.0f}" if 999.5 <= abs(value) < 1e15 else "{:,.3g}"
    return "–" if value != value else (pattern or usual).format(value)


def figures(drawn: Mapping[str, str]) -> str:
    """Return drawings, caption -> SVG, side by side."""
    each = (f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for caption, svg in drawn.items())
    return f'<div class="figures">{"".join(each)}</div>'
