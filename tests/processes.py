"""Processes of their own, forked from one that has imported the package and done nothing else: an import is slow."""

import multiprocessing
import os
import signal
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from macal.__main__ import ROOMS

# by default tqdm's lock is one that a killed process leaves to the system
COMMAND = """
import os, signal, threading, tqdm
from macal import __main__ as command
from macal.storage import terminal
tqdm.tqdm.set_lock(threading.RLock())
os.setsid()
os.chdir(folder)
os.dup2(os.open("stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
signal.signal(signal.SIGINT, signal.default_int_handler)
terminal.start(lambda: command.main(arguments))
"""


def forked(code, **names):
    """Start Python code in a process of its own that knows these names."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*ROOMS, "macal.models.due"])
    process = context.Process(target=exec, args=(code, names))
    process.start()
    return process


def command(folder, *arguments):
    """Start a command of the package in a folder, as the leader of a session; the file ``stderr`` has what it says."""
    return forked(COMMAND, folder=str(folder), arguments=list(map(str, arguments)))


def deadly(job):
    """Call a function with a job; where a file is named that is not there, make it and kill this process instead."""
    call, arguments, mark = job
    if mark is not None and not os.path.exists(mark):
        open(mark, "x").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return call(arguments)


class Silent(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """Serve a folder on this machine only, and say at which address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=folder)) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
