"""The stepper: every frame once, ids unique, the same bytes twice (its controls: test_site.py)."""

import re

import matplotlib.pyplot as plt
import pytest

from reproduction.figures.stepper import stepper


def draw(ax, choice, step):
    ax.plot([0, 1], [0, step * choice], "o-")
    ax.scatter([0.2, 0.4], [0, choice])


def said(choice, step):
    return f'alpha "{choice}" & pair {step}'


@pytest.fixture
def page():
    return stepper(draw, [1, 2.5], 3, said, "alpha", "pair").data


def test_frames_and_controls(page):
    assert page.count('class="frame') == 6 and page.count('class="frame on"') == 1
    assert page.count('type="radio"') == 2 and page.count('type="range"') == 1 and page.count("<button") == 2
    assert 'max="2"' in page and "alpha &quot;2.5&quot; &amp; pair 2" in page
    assert not plt.get_fignums()


def test_asks_no_host_and_keeps_ids_apart(page):
    hosts = re.sub(r'xmlns(:xlink)?="[^"]*"', "", page)
    assert "http" not in hosts and "src=" not in hosts
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids)) > 6
    assert set(re.findall(r'(?:url\(#|href="#)([^)"]+)', page)) <= set(ids)


def test_same_bytes_twice_and_another_id_for_another_figure(page):
    assert stepper(draw, [1, 2.5], 3, said, "alpha", "pair").data == page
    other = stepper(draw, [1, 3.5], 3, said, "alpha", "pair").data
    assert re.search('id="(stepper-[^"]*)"', other)[1] != re.search('id="(stepper-[^"]*)"', page)[1]


def test_too_heavy(monkeypatch):
    monkeypatch.setattr("reproduction.figures.stepper._MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="2 frames weigh .* more than 1,000"):
        stepper(draw, [1], 2, said)
