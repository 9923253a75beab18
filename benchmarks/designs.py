"""What one query of each criterion costs, the fit of the joint process apart, in units of MACAL's query.

python benchmarks/designs.py                # IBM's pool, 250 labels, 50 more to choose; about a minute
python benchmarks/designs.py --data ihdp    # another data set
"""

import argparse
import time
from functools import partial

import numpy as np

import macal
from macal.campaigns import begin
from macal.models import Task
from reproduction.studies.bench import CHOOSER, METHODS


def seconds(work, repeats=3):
    """Shortest time of a few."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def once(problem, method, fitted):
    """Choose one batch after four random ones."""
    campaign = begin(problem, METHODS[method].make(), method)
    campaign.batches = [np.setdiff1d(np.arange(300), problem.start)[: 4 * problem.batch_size]]
    return campaign.advance(fitted)


def main():
    """Print a line per criterion."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ibm", choices=macal.datasets.names())
    problem = macal.load(parser.parse_args().data, 0)
    labelled = np.concatenate([problem.start, np.setdiff1d(np.arange(300), problem.start)[: 4 * problem.batch_size]])
    task = Task(problem.pool[np.sort(labelled)])
    (fitted,) = CHOOSER.fit([task])
    methods = [name for name, method in METHODS.items() if method.lookahead == 1]
    took = {method: seconds(partial(once, problem, method, fitted)) for method in methods}
    took["fit of the joint process"] = seconds(partial(CHOOSER.fit, [task]))
    print(f"{problem.name}, {len(problem.pool)} units, {len(labelled)} labels, a batch of {problem.batch_size}")
    for name, spent in sorted(took.items(), key=lambda item: item[1]):
        print(f"{name:26s}{spent / took['macal']:8.2f} x MACAL's")


if __name__ == "__main__":
    main()
