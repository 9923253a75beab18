"""A sign of life for work that takes longer than a reader waits without one."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

DELAY = 2.0  # seconds before anything is shown
BEAT = 1.0  # seconds between two signs of life


@contextmanager
def progress(total: int, what: str, unit: str) -> Iterator[tqdm]:
    """Show a bar on the standard error, if that is a terminal and the work takes longer than :data:`DELAY`.

    The clock on the bar moves on even while nothing is counted.
    """
    over = threading.Event()
    with tqdm(total=total, desc=what, unit=unit, delay=DELAY, disable=None) as bar:
        if not bar.disable:
            threading.Thread(target=_beat, args=(bar, over), daemon=True).start()
        try:
            yield bar
        finally:
            over.set()


def _beat(bar: tqdm, over: threading.Event) -> None:
    begin = time.monotonic()
    while not over.wait(BEAT):
        if time.monotonic() - begin > DELAY:
            bar.refresh()
