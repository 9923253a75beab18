"""One pass over a Parquet table: rows per second beside a plain scan, the plan after it, and the most memory.

    python benchmarks/one_pass.py                                   # 300,000 rows x 20, a few seconds
    python benchmarks/one_pass.py --rows 100000000 --folder BIG     # 8 GB of disk, kept and used again
    python benchmarks/one_pass.py --rows 10000000 --demands         # quotas, clusters, costs, five arms, a draw

The table has a name, a treatment, 14 numbers in single precision and four columns for demands; row groups of half a
million rows. The scan decodes every column of every row group by pyarrow, in as many processes as the pass has.
"""

import argparse
import os
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet

from macal import Planner
from macal.storage.workers import executor, processors
from macal.survey.tables import frames

GROUP = 500_000
PLAIN = {"budget": 200}
DEMANDS = {
    "quotas": {"budget": 200, "quotas": ["region=north>=60", "region=south<=25%"]},
    "whole clusters": {"budget": 200, "cluster": "village"},
    "costs": {"budget": 4000, "cost": "fee"},
    "five arms": {"treatment": "arm", "reference": 0, "budget": 200},
    "a draw": {"budget": 200, "draw": "effect"},
}


def write(path, rows):
    """Write a table of so many rows, unless it is there."""
    if path.exists() and parquet.read_metadata(path).num_rows == rows:
        return
    names = ["north", "south", "east", "west"]
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        writer = None
        for k, start in enumerate(range(0, rows, GROUP)):
            rng, n = np.random.default_rng([rows, k]), min(GROUP, rows - start)
            base = rng.standard_normal((n, 14), np.float32)
            columns = {"person": np.arange(start, start + n), "free": rng.integers(0, 2, n, np.int8)}
            columns |= {f"x{j}": base[:, j] for j in range(14)}
            regions = pa.DictionaryArray.from_arrays(rng.integers(0, 4, n, np.int8), names)
            columns["region"] = regions.cast(pa.string())
            columns |= {"fee": rng.integers(5, 60, n, np.int16), "village": (start + np.arange(n)) // 20}
            columns["arm"] = rng.integers(0, 5, n, np.int8)
            batch = pa.table(columns)
            writer = writer or parquet.ParquetWriter(part.name, batch.schema, compression="snappy")
            writer.write_table(batch, row_group_size=GROUP)
        writer.close()
    os.replace(part.name, path)


@contextmanager
def memory():
    """Yield a list whose only entry becomes the most memory of this process and all that it starts, bytes."""
    most, done, mine = [0], threading.Event(), psutil.Process()

    def watch():
        while not done.wait(0.1):
            now = 0
            for process in [mine, *mine.children(recursive=True)]:
                try:
                    now += process.memory_full_info().pss
                except psutil.Error:
                    pass  # it has ended
            most[0] = max(most[0], now)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def scan(table):
    """Decode all columns of a table's row groups, and count rows."""
    with parquet.ParquetFile(table.path) as file:
        return sum(file.read_row_group(group.number).num_rows for group in table.groups)


def main():
    """Print a line per step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=300_000, type=int)
    parser.add_argument("--folder", type=Path, help="where the table is kept; a temporary one by default")
    parser.add_argument("--workers", default=processors(), type=int)
    parser.add_argument("--memory", default=8.0, type=float, help="GB")
    parser.add_argument("--demands", action="store_true", help="plan under each demand, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = (given.folder or Path(folder)) / f"people_{given.rows}.parquet"
        write(path, given.rows)
        table = frames.opened(path)
        size = path.stat().st_size / 1e9
        print(f"{given.rows:,} rows x {len(table.columns)}, {size:.2f} GB, {given.workers} processes")
        start = time.perf_counter()
        with executor(None, given.workers, 0) as calls:
            assert sum(calls(scan, table.divided(4 * given.workers), "scanning")) == given.rows
        plain = time.perf_counter() - start
        print(f"plain scan: {plain:.1f} s, {given.rows / plain:,.0f} rows per second")
        for name, options in {"nothing demanded": PLAIN, **(DEMANDS if given.demands else {})}.items():
            options = {"treatment": "free", "identifier": "person", "criterion": "alc-fixed"} | options
            others = [c for c in ("region", "fee", "village", "arm", "free") if c not in str(list(options.values()))]
            options["kinds"] = dict.fromkeys(others, "ignore")
            planner = Planner(options.pop("treatment"), **options)
            with memory() as most:
                start = time.perf_counter()
                sample = planner.sample(path, given.memory * 1e9, workers=given.workers)
                passed = time.perf_counter() - start
                plan = planner.plan(sample)
                took = time.perf_counter() - start - passed
            print(
                f"{name}: pass {passed:.1f} s, {given.rows / passed:,.0f} rows per second, {passed / plain:.1f} times"
                f" the scan; plan of {len(plan)} among {len(sample.table):,} {took:.1f} s;"
                f" {most[0] / 1e9:.2f} GB at most"
            )


if __name__ == "__main__":
    main()
