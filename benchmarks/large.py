"""Plans out of memory: processor time, peak memory, certificate, from ten thousand rows up.

    python benchmarks/large.py 1e4 1e5                          # write, plan, tell
    python benchmarks/large.py 1e7 --tolerance inf --folder /tmp/large --append results/large_plans.csv
    python benchmarks/large.py 1e6 --numbers 48 --tolerance 0 --exact    # and the plan of the table in memory

A registry of ten columns: eight numbers that three factors drive, with noise, and two flags. Treatment depends on the
first number, ten outcomes are known, 100 labels are bought. Each plan is a process of its own, of one thread and
without helpers, so that its processor time and its peak memory are its own. Jobs on blocks, which a cluster would
share, are timed apart from the merge and the search, and what they return is counted.
"""

import argparse
import json
import os
import pickle
import resource
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

GROUP = 2**17  # rows of a row group
LABELS = 100


def write(n, numbers, path):
    """Write a table of n rows, a row group at a time."""
    loadings = np.random.default_rng(0).standard_normal((3, numbers))
    writer = None
    for k in range(0, n, GROUP):
        rng, rows = np.random.default_rng([1, k]), min(GROUP, n - k)
        x = rng.standard_normal((rows, 3)) @ loadings + 0.1 * rng.standard_normal((rows, numbers))
        flags = rng.random((rows, 2)) < (0.1, 0.4)
        columns = {f"number_{j}": x[:, j].astype(np.float32) for j in range(numbers)}
        columns |= {f"flag_{j}": flags[:, j] for j in range(2)}
        columns["free"] = (rng.random(rows) < 0.5 / (1 + np.exp(-x[:, 0]))).astype(np.int8)
        known = (k + np.arange(rows)) % max(n // 10, 1) == 0
        columns["outcome"] = pa.array(np.where(known, 1.0, np.nan).astype(np.float32), from_pandas=True)
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(path, table.schema, write_page_checksum=True)
        writer.write_table(table)
    writer.close()


@contextmanager
def timed(large):
    """Yield the processor time of each part of a plan, in seconds, and the bytes that its jobs return."""
    spent = Counter()

    def done(what, call, *arguments):
        begin = time.process_time()
        result = call(*arguments)
        spent[what] += time.process_time() - begin
        return result

    @contextmanager
    def hands(scheduler, memory):
        yield lambda call, jobs, what: [returned(done(what, call, job)) for job in jobs]

    def returned(result):
        spent["bytes"] += len(pickle.dumps(result))
        return result

    merge = large.ball_campaign
    with (
        mock.patch.object(large, "hands", hands),
        mock.patch.object(large, "ball_campaign", lambda *arguments: done("merging", merge, *arguments)),
    ):
        yield spent


def usage():
    """Processor seconds and peak MB so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, round(used.ru_maxrss / 1e3)


def measure(path, tolerance, exact):
    """Plan in this process; print what it cost."""
    from macal.planner import large
    from macal.planner.people import Columns
    from macal.planner.planner import Planner
    from macal.planner.policy import Policy

    (begin, before), wall = usage(), time.monotonic()
    with timed(large) as spent:
        found = large.plan_large(path, Columns("free", outcome="outcome"), Policy(LABELS, "macal"), tolerance=tolerance)
    (end, peak), within = usage(), found.people["within"]
    jobs = {what: round(spent[what], 2) for what in ("columns", "covering", "opening", "merging")}
    row = {
        "rows": parquet.ParquetFile(path).metadata.num_rows,
        "tolerance": tolerance,
        "processor seconds": round(end - begin, 2),
        "peak MB": peak,
        "before MB": before,
        "balls": found.balls,
        "within, first pair": round(float(within.iloc[0]), 4),
        "within, median": round(float(within.median()), 4),
        "within, largest": round(float(within.max()), 4),
        "seconds": round(time.monotonic() - wall, 1),
        **{f"{what} seconds": seconds for what, seconds in jobs.items()},
        "returned MB": round(spent["bytes"] / 1e6, 2),
    }
    if exact:
        plain = Planner("free", LABELS, criterion="macal", outcome="outcome").plan(pd.read_parquet(path))
        row["same as in memory"] = found.people.index.equals(plain.index)
        row |= dict(zip(("in memory, seconds", "in memory, peak MB"), usage(), strict=True))
        row["in memory, seconds"] = round(row["in memory, seconds"] - end, 2)
    print(json.dumps(row))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", type=float)
    parser.add_argument("--tolerance", type=float, default=np.inf)
    parser.add_argument("--numbers", type=int, default=8, help="columns beside the flags")
    parser.add_argument("--exact", action="store_true", help="compare with the plan of the whole table in memory")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/large"))
    parser.add_argument("--append", type=Path, help="CSV file to add the results to")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for n in map(int, options.rows):
        path = options.folder / f"{n}x{options.numbers}.parquet"
        if options.here:
            measure(path, options.tolerance, options.exact)
            continue
        if not path.exists():
            write(n, options.numbers, path)
        again = [sys.executable, __file__, str(n), "--here", *(["--exact"] if options.exact else [])]
        again += [f"--{name}={getattr(options, name)}" for name in ("tolerance", "numbers", "folder")]
        one = os.environ | {"OMP_NUM_THREADS": "1"}
        told = subprocess.run(again, check=True, stdout=subprocess.PIPE, text=True, env=one)
        row = pd.DataFrame([json.loads(told.stdout)])
        print(row.T.to_string(header=False), end="\n\n", flush=True)
        if options.append:
            row.to_csv(options.append, mode="a", index=False, header=not options.append.exists())


if __name__ == "__main__":
    main()
