"""Long work shows that it is alive, and ends when it is told to."""

import io
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import macal
from macal import progress as bars

LONG = """
import numpy as np, macal
rng = np.random.default_rng(0)
x, t = rng.standard_normal((120_000, 30)), rng.integers(0, 2, 120_000)
macal.plan(x[:40], t[:40], [0, 1], 1, 2, "macal")  # imports what a plan needs: libraries may swallow an interrupt there
print("planning", flush=True)
macal.plan(x, t, [0, 1], 40, 10, "macal")
"""


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


@pytest.mark.exhaustive
def test_a_long_plan_ends_when_it_is_interrupted():
    with subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.readline()
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        error = child.communicate(timeout=20)[1].decode()  # the whole plan takes longer
    assert child.returncode == -signal.SIGINT and error.rstrip().endswith("KeyboardInterrupt")
