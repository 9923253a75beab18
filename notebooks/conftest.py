"""Under `pytest --nbval`, run cells as Jupyter does and compare what they put out as `reproduction.outputs` does."""

import json
import os
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

from reproduction import outputs
from reproduction.book import KERNEL, missing_data

os.environ.setdefault("OMP_NUM_THREADS", KERNEL["OMP_NUM_THREADS"])
os.environ.pop("MPLBACKEND", None)  # the kernels draw inline, whatever the tests around them want

MOVED = os.environ.get("MACAL_MOVED")  # a file that is told how far each cell's numbers are from the stored ones


class Text(str):
    """A text that equals another if the words are the same and the numbers agree to ``rtol``."""

    rtol = outputs.RTOL
    cell = ""

    def __eq__(self, other):
        worst = outputs.deviation(str(self), str(other))
        if MOVED and worst:
            with open(MOVED, "a") as file:  # a short line, which the system appends whole
                file.write(json.dumps({"cell": self.cell, "moved": worst, "rtol": self.rtol}) + "\n")
        return worst <= self.rtol

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
        kind = type("Text", (Text,), {"rtol": outputs.tolerance(item.cell), "cell": item.nodeid})
        item.parent.skip_compare += outputs.SKIPPED
        plain = item.sanitize
        item.sanitize = lambda output: kind(plain(output)) if isinstance(output, str) else output
