"""Under `pytest --nbval`, run cells as Jupyter does and compare numbers with a tolerance, but no stderr, no images."""

import json
import math
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from unittest import mock

import nbformat
import nbval.kernel
import psutil
import pytest
from jupyter_client.launcher import launch_kernel
from jupyter_client.provisioning import local_provisioner
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell

from reproduction.book import KERNEL, missing_data

os.environ.pop("MPLBACKEND", None)  # the kernels draw inline, whatever the tests around them want

RTOL = float(os.environ.get("NBVAL_RTOL", "1e-4"))
ATOL = 1e-7
# 12  -0.5  1,234.5  .5  1e-3; neither the 2 of "x2" nor the minus of "3-4"
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+|(?=\.\d))(?:\.\d*)?(?:[eE][-+]?\d+)?")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")


def split(text):
    """The words of a text, whatever the padding, and its numbers."""
    text = ADDRESS.sub("an address", text)
    words = re.sub(r"\s*#\s*", "#", NUMBER.sub("#", text))
    return words.split(), NUMBER.findall(text)


def close(a, b):
    """Whether two printed numbers agree: integers exactly, others within the tolerance."""
    x, y = (float(number.replace(",", "")) for number in (a, b))
    exact = not re.search("[.eE]", a + b)
    return x == y if exact else math.isclose(x, y, rel_tol=RTOL, abs_tol=ATOL)


class Text(str):
    """A text that equals another if the words are the same and the numbers agree."""

    def __eq__(self, other):
        (words, numbers), (others, expected) = split(str(self)), split(str(other))
        return words == others and len(numbers) == len(expected) and all(map(close, numbers, expected))

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


def execute(self, source, allow_stdin=None):
    """Run a cell with history, as Jupyter does: without, a closing semicolon hides nothing and `In` stays empty."""
    return self.kc.execute(source, allow_stdin=allow_stdin, stop_on_error=False)


RunningKernel.execute_cell_input = execute


@cache
def server():
    """A process that forks kernels: what it imports once would take each page four seconds."""
    command = [sys.executable, Path(__file__).with_name("kernel_server.py")]
    env = os.environ | {"MPLBACKEND": KERNEL["MPLBACKEND"]}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)


class Forked(psutil.Process):
    """A kernel as jupyter_client treats its own children."""

    stdin = stdout = stderr = None

    def poll(self):
        return None if self.is_running() else 0


def launch(command, *, cwd, env, **options):
    """Fork a kernel, or start a plain one where that fails."""
    arguments = command[command.index("ipykernel_launcher") :]
    try:
        server().stdin.write(json.dumps({"arguments": arguments, "cwd": str(cwd), "env": env}) + "\n")
        server().stdin.flush()
        return Forked(int(server().stdout.readline()))
    except (OSError, ValueError):
        return launch_kernel(command, cwd=cwd, env=env, **options)


def pytest_configure():
    """Let nbval fork its kernels where libraries survive a fork; who runs a page otherwise has plain ones."""
    if sys.platform == "linux":
        forked = mock.patch.object(local_provisioner, "launch_kernel", launch)
        nbval.kernel.start_new_kernel = forked(nbval.kernel.start_new_kernel)


@cache
def lacking(notebook):
    """Raw files that a notebook needs and this machine lacks."""
    cells = nbformat.read(notebook, as_version=4).cells
    try:
        return missing_data("\n".join(cell.source for cell in cells if cell.cell_type == "code"))
    except ValueError as error:
        raise pytest.UsageError(error) from error


def pytest_collection_modifyitems(items):
    """Skip chapters whose raw files are missing."""
    for item in items:
        if isinstance(item, IPyNbCell) and (names := lacking(item.path)):
            item.add_marker(pytest.mark.skip(reason=f"{item.path.name} needs {', '.join(names)}"))


def pytest_itemcollected(item):
    """Let nbval see every output through `Text`."""
    if isinstance(item, IPyNbCell):
        item.parent.skip_compare += ("stderr", "image/svg+xml")
        plain = item.sanitize
        item.sanitize = lambda output: Text(plain(output)) if isinstance(output, str) else output
