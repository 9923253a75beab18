"""Small matrix products run on one thread: more of them wait for each other, tenfold longer where cores are shared."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

from threadpoolctl import ThreadpoolController

SMALL = 5000  # units of a pool whose products are small


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looks for them, which takes milliseconds


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let PyTorch, if imported, run what is within, or a decorated function, on one thread in this Python thread."""
    if (torch := sys.modules.get("torch")) is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread(n: int = 0) -> Iterator[None]:
    """Let NumPy, SciPy and PyTorch run what is within on one thread, if it is about ``n`` <= ``SMALL`` units."""
    if n > SMALL:
        yield
        return
    with _libraries().limit(limits=1, user_api="blas"), one_torch_thread():
        yield


def use_torch_threads(n: int) -> None:
    """Give PyTorch ``n`` threads in this process, where it is installed."""
    if find_spec("torch") is not None:
        import torch

        torch.set_num_threads(n)
