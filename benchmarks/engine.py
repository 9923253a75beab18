"""What a sweep costs beside choosing, training and judging: checkpoints, records, resuming.

python benchmarks/engine.py             # a deep-kernel campaign of three queries on IHDP, about two minutes
python benchmarks/engine.py --queries 46
"""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

from macal import loop, results, sweeps

STAGES = loop.stages


class Killed(BaseException):
    """What no handler of a chunk catches."""


class Clock:
    """Seconds of processor time spent in the stages of a sweep, and when the first of them began."""

    def __init__(self, stop=None):
        self.stop, self.inside, self.begin = stop, 0.0, None

    def __call__(self, *arguments, **options):
        self.begin = time.process_time()
        stages = STAGES(*arguments, **options)
        while True:
            start = time.process_time()
            stage = next(stages, None)
            self.inside += time.process_time() - start
            if stage is None:
                return
            yield stage
            if stage[0]["step"] == self.stop:
                raise Killed


def play(chunk, store, stop=None):
    """Run a chunk; return its seconds, those outside its stages, and those before its first stage."""
    clock = loop.stages = Clock(stop)
    start = time.process_time()
    with contextlib.suppress(Killed):
        sweeps.run_chunk(chunk, store)
    total = time.process_time() - start
    return total, total - clock.inside, clock.begin - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--queries", type=int, default=3)
    queries = parser.parse_args().queries
    spec = sweeps.Spec("ihdp", {"mu-bald": {}}, (0,), {"name": "due", "device": "cpu"}, n_queries=queries)
    (chunk,) = sweeps.chunks(spec)
    with tempfile.TemporaryDirectory() as folder:
        whole, broken = Path(folder, "whole"), Path(folder, "broken")
        total, outside, _ = play(chunk, whole)
        rows = len(results.table(results.read_all(whole)))
        print(
            f"{rows} trainings: {total:.1f} s, of which bookkeeping {outside:.3f} s = {outside / total:.2%}", flush=True
        )
        play(chunk, broken, stop=queries - 1)
        _, _, before = play(chunk, broken)
        print(f"resumed at the last query: {before:.3f} s before its training = {before / total:.2%} of the whole")


if __name__ == "__main__":
    main()
