"""The book on paper: whole, its links lead somewhere, nothing is cut."""

import re

import pytest

from reproduction import pdf

BROKEN = """<article><h1>A page</h1><p id="here">Text</p><a href="#here">well</a><a href="#gone">lost</a>
<a href="other.html">out</a><div style="width: 100px; overflow: hidden"><div style="width: 200px">a frame</div></div>
<img alt="a picture" style="width: 3000px; height: 1px" src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></article>"""
pytestmark = pytest.mark.exhaustive
COUNTED = re.compile(rb"/Type\s*/Page\b(?!s)")


def test_what_is_wrong_on_paper_is_said(browser, tmp_path):
    page, target = tmp_path / "book.html", tmp_path / "book.pdf"
    page.write_text(BROKEN, encoding="utf-8")
    links, out, cut, wide = pdf.write(browser, page, target)
    assert links == '#gone of "lost"' and out.endswith("other.html leads out")
    assert cut == "cut: a frame" and wide == "too wide: a picture"
    assert len(COUNTED.findall(target.read_bytes())) == 1


def test_the_book_is_whole_on_paper(browser, tmp_path):
    target = tmp_path / "book.pdf"
    assert pdf.write(browser, pdf.one_page(tmp_path), target) == []
    assert len(COUNTED.findall(target.read_bytes())) > 250
