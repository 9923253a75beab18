"""Stored outputs of a page against fresh ones: words to the letter, numbers within a tolerance, pictures by pixels.

Another processor adds in another order. What is computed from recorded tables moves by some 1e-15 and is compared to
:data:`RTOL`. A cell that shows what a training ended in states a wider ``rtol`` in its metadata, the spread that was
measured between processors' paths; its page says so. Whole numbers are compared exactly, whatever the tolerance.
"""

import math
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

RTOL, ATOL = 1e-4, 1e-7
PIXELS = 1e-3  # mean difference of two pictures' brightness that smoothing of edges explains
SKIPPED = ("stderr", "image/svg+xml")
PNG = "iVBORw0KGgo"  # as every PNG begins in base 64
# 12  -0.5  1,234.5  .5  1e-3; neither the 2 of "x2" nor the minus of "3-4"
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+|(?=\.\d))(?:\.\d*)?(?:[eE][-+]?\d+)?")
MASKED = (  # addresses of objects, drawings within HTML, names that are made of them
    (re.compile(r"0x[0-9a-fA-F]{6,}"), "an address"),
    (re.compile(r"<svg.*?</svg>", re.S), "a drawing"),
    (re.compile(r"stepper-[0-9a-f]{8}"), "a stepper"),
)

Cell = Mapping[str, Any]


def tolerance(cell: Cell) -> float:
    """Relative tolerance of the numbers that a cell shows."""
    return float(cell["metadata"].get("rtol", RTOL))


def deviation(stored: str, fresh: str) -> float:
    """Largest relative difference of the numbers of two texts, however their words are padded.

    Returns:
        0 where they say the same; infinity where words differ, or whole numbers, or how many numbers there are. Decimal
        numbers nearer than :data:`ATOL` are equal, and so are two PNGs in base 64 nearer than :data:`PIXELS`.
    """
    if stored.startswith(PNG) and fresh.startswith(PNG):
        return 0.0 if _pixels(stored, fresh) <= PIXELS else math.inf
    (words, numbers), (others, expected) = _split(stored), _split(fresh)
    if words != others or len(numbers) != len(expected):
        return math.inf
    return max(map(_difference, numbers, expected), default=0.0)


def _pixels(stored: str, fresh: str) -> float:
    """Mean difference of two pictures' brightness, from 0 to 1; infinity where they are not of one size."""
    import numpy as np
    from PIL import Image

    one, other = (np.asarray(Image.open(BytesIO(b64decode(png))).convert("L"), float) for png in (stored, fresh))
    return float(np.abs(one - other).mean() / 255) if one.shape == other.shape else math.inf


def _split(text: str) -> tuple[list[str], list[str]]:
    for pattern, word in MASKED:
        text = pattern.sub(word, text)
    words = re.sub(r"\s*#\s*", "#", NUMBER.sub("#", text))
    return words.split(), NUMBER.findall(text)


def _difference(a: str, b: str) -> float:
    x, y = (float(number.replace(",", "")) for number in (a, b))
    whole = not re.search("[.eE]", a + b)
    if x == y or not whole and abs(x - y) <= ATOL:
        return 0.0
    return math.inf if whole else abs(x - y) / max(abs(x), abs(y))


def deviations(stored: Cell, fresh: Cell) -> Iterator[float]:
    """Yield the :func:`deviation` of each text that two runs of a cell put out."""
    texts = [list(_texts(cell)) for cell in (stored, fresh)]
    if [kind for kind, _ in texts[0]] != [kind for kind, _ in texts[1]]:
        yield math.inf
        return
    yield from (deviation(one, other) for (_, one), (_, other) in zip(*texts, strict=True))


def _texts(cell: Cell) -> Iterator[tuple[str, str]]:
    for output in cell.get("outputs", []):
        by_kind = output["data"] if "data" in output else {output.get("name", output["output_type"]): output}
        for kind, content in sorted(by_kind.items()):
            if kind not in SKIPPED:
                yield kind, content if isinstance(content, str) else str(content.get("text", content))


def changed(stored: Mapping[str, Any], fresh: Mapping[str, Any]) -> str:
    """Say in what a page's notebook differs from the stored one.

    Returns:
        "" where the text is the same and each output agrees, see :func:`deviation`, within its cell's tolerance.
        Outputs tagged ``nbval-ignore-output`` are not looked at.
    """
    if _text(stored) != _text(fresh):
        return "its text has changed"
    pairs = zip(stored["cells"], fresh["cells"], strict=True)
    code = [pair for pair in pairs if pair[0]["cell_type"] == "code"]
    for k, (old, new) in enumerate(code):
        if "nbval-ignore-output" in old["metadata"].get("tags", []):
            continue
        worst, limit = max(deviations(old, new), default=0.0), tolerance(new)
        if worst > limit:
            return f"cell {k} " + (f"differs by {worst:.1g}, more than {limit:g}" if worst < math.inf else "differs")
    return ""


def _text(notebook: Mapping[str, Any]) -> tuple[Any, ...]:
    """What is not output: of each cell kind, id, source and metadata, and the metadata of the whole."""
    cells = notebook["cells"]
    return notebook["metadata"], [(c["cell_type"], c["id"], c["source"], c["metadata"]) for c in cells]
