"""Outputs of pages are compared as another processor would give them: words, numbers, pictures."""

import io
import math
from base64 import b64encode

import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from reproduction import outputs


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("rmse 0.5", "rmse 0.50000005", True),
        ("rmse 0.5", "risk 0.5", False),
        ("1,234.5", "1,234.50001", True),
        ("[100,200]", "[100,201]", False),
        ("20000 units", "20001 units", False),
        ("[-0.0 1.0]", "[ 0.0 1.0]", True),
        ("1.5", "-1.5", False),
        ("3-4", "3--4", False),
        ("[nan, 1e-3]", "[nan, 0.001]", True),
        ("1.0", "1.0 2.0", False),
        ("<td>.5</td>", "<td>0.5</td>", True),
        ("<A at 0x7f00aa11>", "<A at 0x7f00bb22>", True),
        ("a b", "ab", False),
        ('<p id="stepper-0a1b2c3d"><svg>1</svg>', '<p id="stepper-0a1b2c3e"><svg>2\n</svg>', True),
        ("<svg>1</svg><svg>1</svg>", "<svg>1</svg>", False),
    ],
)
def test_tolerance(a, b, same):
    assert (outputs.deviation(a, b) <= outputs.RTOL) is same
    assert (outputs.deviation(b, a) <= outputs.RTOL) is same


def test_a_deviation_is_the_largest_of_all_numbers():
    assert outputs.deviation("1.0 and 2.0", "1.0 and 2.5") == pytest.approx(0.2)
    assert outputs.deviation("1.0 of 7", "1.1 of 8") == math.inf


def picture(change=0.0, size=40):
    pixels = np.full((size, size), 100.0)
    pixels[:, 3] += change
    file = io.BytesIO()
    Image.fromarray(pixels.round().astype(np.uint8)).save(file, "PNG")
    return b64encode(file.getvalue()).decode()


def test_pictures_are_compared_by_their_pixels():
    assert outputs.deviation(picture(), picture(4)) == 0  # other bytes, and nobody sees it
    assert outputs.deviation(picture(), picture(50)) == math.inf
    assert outputs.deviation(picture(), picture(size=41)) == math.inf


def notebook(text="0.5", rtol=None, source="x", tags=(), kind="stdout", words="Text"):
    put_out = [new_output("stream", name=kind, text=text)]
    cell = new_code_cell(source, outputs=put_out, metadata={"tags": list(tags)} | ({"rtol": rtol} if rtol else {}))
    cells = [new_markdown_cell(words), cell]
    for k, one in enumerate(cells):
        one["id"] = str(k)
    return new_notebook(cells=cells)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({}, {"text": "0.50001"}, ""),
        ({}, {"text": "0.51"}, "cell 0 differs by 0.02, more than 0.0001"),
        ({"rtol": 0.1}, {"rtol": 0.1, "text": "0.51"}, ""),
        ({"rtol": 0.01}, {"rtol": 0.01, "text": "0.51"}, "cell 0 differs by 0.02, more than 0.01"),
        ({}, {"text": "half"}, "cell 0 differs"),
        ({}, {"rtol": 0.1}, "its text has changed"),
        ({}, {"words": "Other"}, "its text has changed"),
        ({"tags": ["nbval-ignore-output"]}, {"tags": ["nbval-ignore-output"], "text": "half"}, ""),
        ({"kind": "stderr"}, {"kind": "stderr", "text": "other"}, ""),
        ({"kind": "stderr"}, {}, "cell 0 differs"),
    ],
)
def test_what_has_changed_is_said(old, new, said):
    assert outputs.changed(notebook(**old), notebook(**new)) == said
