"""Long work shows that it is alive, and ends when it is told to."""

import io
import sys
import time

import numpy as np

import macal
from macal.storage import progress as bars


class Terminal(io.StringIO):
    def isatty(self):
        return True


def a_terminal(monkeypatch):
    """Stand in for the standard error; within the test, since pytest puts in its own between set-up and call."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def test_short_work_shows_nothing(monkeypatch):
    terminal = a_terminal(monkeypatch)
    macal.plan(np.arange(12.0)[:, None], np.arange(12) % 2, [0, 1], 2, 4, "macal")
    assert terminal.getvalue() == ""


def test_long_work_shows_a_clock_even_while_nothing_is_counted(monkeypatch):
    terminal = a_terminal(monkeypatch)
    monkeypatch.setattr(bars, "DELAY", 0.05)
    monkeypatch.setattr(bars, "BEAT", 0.01)
    with bars.progress(40, "planning", "label") as bar:
        bar.update(10)
        end = time.monotonic() + 10
        while terminal.getvalue().count("planning") < 3 and time.monotonic() < end:
            time.sleep(0.01)
    assert terminal.getvalue().count("10/40") >= 3


def test_without_a_terminal_nothing_is_shown(monkeypatch, capsys):
    monkeypatch.setattr(bars, "DELAY", 0.0)
    with bars.progress(1, "planning", "label") as bar:
        bar.update()
    assert capsys.readouterr().err == ""
