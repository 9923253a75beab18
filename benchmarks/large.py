"""Plans out of memory: processor time, peak memory, certificate, from ten thousand rows up.

    python benchmarks/large.py 1e4 1e5                          # write, plan, tell
    python benchmarks/large.py 1e7 --tolerance inf --folder /tmp/large --append results/large_plans.csv

A registry of ten columns: eight numbers that three factors drive, with noise, and two flags. Treatment depends on the
first number, ten outcomes are known, 100 labels are bought. Each plan is a process
of its own, without helpers, so that its processor time and its peak memory are its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

GROUP = 2**17  # rows of a row group
LABELS = 100


def write(n, path):
    """Write a table of n rows, a row group at a time."""
    loadings = np.random.default_rng(0).standard_normal((3, 8))
    writer = None
    for k in range(0, n, GROUP):
        rng, rows = np.random.default_rng([1, k]), min(GROUP, n - k)
        x = rng.standard_normal((rows, 3)) @ loadings + 0.1 * rng.standard_normal((rows, 8))
        flags = rng.random((rows, 2)) < (0.1, 0.4)
        columns = {f"number_{j}": x[:, j].astype(np.float32) for j in range(8)}
        columns |= {f"flag_{j}": flags[:, j] for j in range(2)}
        columns["free"] = (rng.random(rows) < 0.5 / (1 + np.exp(-x[:, 0]))).astype(np.int8)
        known = (k + np.arange(rows)) % max(n // 10, 1) == 0
        columns["outcome"] = pa.array(np.where(known, 1.0, np.nan).astype(np.float32), from_pandas=True)
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(path, table.schema, write_page_checksum=True)
        writer.write_table(table)
    writer.close()


def measure(path, tolerance):
    """Plan in this process; print what it cost."""
    from macal.planner.large import plan_large
    from macal.planner.people import Columns
    from macal.planner.policy import Policy

    base, wall = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    found = plan_large(path, Columns("free", outcome="outcome"), Policy(LABELS), tolerance=tolerance)
    end, within = resource.getrusage(resource.RUSAGE_SELF), found.people["within"]
    row = {
        "rows": parquet.ParquetFile(path).metadata.num_rows,
        "tolerance": tolerance,
        "processor seconds": round(end.ru_utime + end.ru_stime - base.ru_utime - base.ru_stime, 2),
        "peak MB": round(end.ru_maxrss / 1e3),
        "before MB": round(base.ru_maxrss / 1e3),
        "balls": found.balls,
        "within, first pair": round(float(within.iloc[0]), 4),
        "within, median": round(float(within.median()), 4),
        "within, largest": round(float(within.max()), 4),
        "seconds": round(time.monotonic() - wall, 1),
    }
    print(json.dumps(row))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", type=float)
    parser.add_argument("--tolerance", type=float, default=np.inf)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/large"))
    parser.add_argument("--append", type=Path, help="CSV file to add the results to")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for n in map(int, options.rows):
        path = options.folder / f"{n}.parquet"
        if options.here:
            measure(path, options.tolerance)
            continue
        if not path.exists():
            write(n, path)
        again = [sys.executable, __file__, str(n), "--here", "--folder", str(options.folder)]
        told = subprocess.run(
            [*again, "--tolerance", str(options.tolerance)], check=True, capture_output=True, text=True
        )
        row = pd.DataFrame([json.loads(told.stdout)])
        print(row.T.to_string(header=False), end="\n\n", flush=True)
        if options.append:
            row.to_csv(options.append, mode="a", index=False, header=not options.append.exists())


if __name__ == "__main__":
    main()
