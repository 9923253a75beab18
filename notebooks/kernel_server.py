"""Fork kernels, one for each line of JSON on stdin, from a process that has imported what nearly every page imports."""

import json
import os
import signal
import sys

import matplotlib.pyplot  # noqa: F401
import myst_nb  # noqa: F401
import ot  # noqa: F401
import pandas
import scipy.stats  # noqa: F401
from ipykernel import kernelapp

import macal
import reproduction.book
import reproduction.claims
import reproduction.figures.tables  # noqa: F401

for _name in macal.__all__:
    getattr(macal, _name)  # imported when it is asked for
macal.models.get("due")  # PyTorch


def run(arguments, cwd, env):
    """Become a kernel, in a session of its own, without the server's streams; it ends when the server does."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    print(os.getpid(), flush=True)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env | {"JPY_PARENT_PID": str(os.getppid())})
    del sys.path[0]  # the folder of this file: a kernel adds the one that it runs in
    sys.argv = arguments
    kernelapp.launch_new_instance()


pandas.options.display.max_columns = 20  # as in a kernel; at import it took this process for a terminal
signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, os.WNOHANG))
for line in sys.stdin:
    if not os.fork():
        run(**json.loads(line))
        break
