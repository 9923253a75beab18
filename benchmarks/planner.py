"""What a plan of about 1,000 people costs, without demands and with: processor time, and the most memory so far.

python benchmarks/planner.py                # 100,000 rows x 50 columns; about a minute
python benchmarks/planner.py --rows 10000 --criterion macal
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd

from macal import Planner, acquisition

QUOTAS = ["region>=50", "region=north<=30%"]
MONEY = {"budget": 25_000, "cost": "fee"}
PLANS = {
    "one cost": {"budget": 1000},
    "costs": MONEY,
    "costs, quotas, one of each cluster": MONEY | {"quotas": QUOTAS, "cluster_rule": "one"},
    "costs, quotas, whole clusters, refusals": {
        "budget": 25_000,
        "cost": "fee",
        "quotas": QUOTAS,
        "response": "chance",
    },
}


def table(n):
    """A table of 45 covariates and five other columns."""
    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.normal(size=n) if k % 3 else rng.integers(0, 60, n) for k in range(44)}
    columns |= {"region": rng.choice(["north", "south", "west", "east"], n), "free": (rng.random(n) < 0.4).astype(int)}
    columns |= {"fee": rng.integers(5, 60, n), "household": rng.integers(0, n // 2, n)}
    return pd.DataFrame(columns | {"chance": rng.uniform(0.4, 1, n), "person": [f"p{k}" for k in range(n)]})


def main():
    """Print a line per plan."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=100_000, type=int)
    parser.add_argument("--criterion", default=acquisition.DEFAULT)
    given = parser.parse_args()
    people = table(given.rows)
    covariates = [f"x{k}" for k in range(44)] + ["region"]
    for name, options in PLANS.items():
        cluster = "household" if "cluster" in name else None
        options = {"identifier": "person", "cluster": cluster, "criterion": given.criterion} | options
        planner = Planner("free", covariates=covariates, batch_size=100, **options)
        start = time.process_time()
        asked = len(planner.plan(people))
        spent = time.process_time() - start
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name}: {asked} people, {spent:.1f} s of processor time, at most {most:.0f} MB")


if __name__ == "__main__":
    main()
