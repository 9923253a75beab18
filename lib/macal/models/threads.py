"""One thread for matrices of a few hundred rows: more gain little, and lose tenfold where cores are shared."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Run what is within, or a decorated function, on one thread, in torch each Python thread's own setting."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
