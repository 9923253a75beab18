"""MACAL's campaign against the published procedure: same picks, how many times faster, how much memory.

    python benchmarks/acquisition.py                      # the sizes of IBM and CMNIST, about two minutes
    python benchmarks/acquisition.py lbidd million        # 100,000 x 177 and 1,000,000 x 25, ours alone
    python benchmarks/acquisition.py ibm --pool pool.npz  # a pool of your own: arrays x (n, d) and t (n,)
    python benchmarks/acquisition.py --normal             # standard normal covariates, where the data are not at hand

The published procedure recomputes every distance for every pair, so
it is timed on a few pairs, from the beginning to the end of our own campaign, and its total is extrapolated; at each of
them it must pick what we picked.
"""

import argparse
import os
import time
from dataclasses import dataclass

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait must not steal the core of those that work

import numpy as np
import torch

import macal


@dataclass(frozen=True)
class Size:
    """A campaign: units per arm, covariates, labels at the start, queries, labels per query."""

    treated: int
    control: int
    d: int
    start: int
    n_queries: int
    batch_size: int
    literal: bool


SIZES = {
    "ibm": Size(3_179, 6_311, 177, 50, 50, 50, True),
    "cmnist": Size(15_814, 15_636, 784, 50, 50, 50, True),
    "lbidd": Size(25_000, 75_000, 177, 50, 50, 50, False),
    "million": Size(200_000, 800_000, 25, 10, 46, 10, False),
}


def make_pool(name, path, normal):
    """Covariates, treatment and start of a campaign."""
    size, rng = SIZES[name], np.random.default_rng(0)
    if path:
        with np.load(path, allow_pickle=False) as file:
            x, t = file["x"], file["t"]
    elif name in macal.datasets.names() and not normal:
        pool = macal.load(name).pool
        x, t = pool.x, pool.t
    else:
        x = rng.standard_normal((size.treated + size.control + size.start, size.d), dtype=np.float32)
        t = (np.arange(len(x)) < size.treated + size.start // 2).astype(int)
    return x, t, rng.choice(len(x), size.start, replace=False)


def literal_pair(x, t, labelled, alpha, metric):
    """One pair as published: all distances anew, in float32; returns the pair and by how much its score leads the given
    one."""
    power = 2 if metric == "sqeuclidean" else 1
    free = np.setdiff1d(np.arange(len(t)), labelled)
    own = {
        arm: (torch.from_numpy(labelled[t[labelled] == arm]), torch.from_numpy(free[t[free] == arm])) for arm in (0, 1)
    }
    similarity = torch.cdist(x[own[0][1]], x[own[1][1]]).pow(power)
    m0, m1 = (torch.cdist(x[own[arm][0]], x[own[arm][1]]).pow(power).min(dim=0).values for arm in (0, 1))
    criterion = -alpha * similarity + (m0.view(-1, 1) + m1)
    row, column = (int(k[0]) for k in torch.where(criterion == criterion.max()))
    return int(own[1][1][column]), int(own[0][1][row])


def float64_score(x, t, labelled, pair, alpha, metric):
    """Score of a pair by direct differences."""
    power = 2 if metric == "sqeuclidean" else 1
    near = [np.linalg.norm(x[labelled[t[labelled] == t[k]]] - x[k], axis=1).min() ** power for k in pair]
    return sum(near) - alpha * np.linalg.norm(x[pair[0]] - x[pair[1]]) ** power


def compare(x, t, start, picks, alpha, metric, n=4):
    """Seconds of a published pair, averaged over ``n`` moments of our campaign, where it must agree with our pick, and
    the most memory that it takes, MiB."""
    seconds, x32, x64 = [], torch.from_numpy(np.array(x)), x.astype(np.float64)
    before = peak_mib(reset=True)
    for k in np.linspace(0, len(picks) // 2 - 1, n).astype(int):
        labelled = np.concatenate([start, picks[: 2 * k]])
        begin = time.perf_counter()
        theirs = literal_pair(x32, t, labelled, alpha, metric)
        seconds.append(time.perf_counter() - begin)
        ours = tuple(picks[2 * k : 2 * k + 2].tolist())
        if theirs != ours:  # right only if float32 blurred it
            lead = float64_score(x64, t, labelled, ours, alpha, metric) - float64_score(
                x64, t, labelled, theirs, alpha, metric
            )
            assert lead >= 0, f"pair {k}: the published procedure found {theirs}, better by {-lead} than {ours}"
    return float(np.mean(seconds)), peak_mib() - before


def peak_mib(reset=False):
    """Highest memory of this process since the last reset, MiB (Linux; NaN elsewhere)."""
    try:
        if reset:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))
    except OSError:
        return float("nan")


def run(name, metric, arguments):
    """Time one size and print a line."""
    size, seconds, extra = SIZES[name], [], []
    x, t, start = make_pool(name, arguments.pool, arguments.normal)
    for _ in range(arguments.repeats):
        before, begin = peak_mib(reset=True), time.perf_counter()
        batches = macal.plan(
            x, t, start, size.n_queries, size.batch_size, "macal", alpha=arguments.alpha, metric=metric
        )
        seconds.append(time.perf_counter() - begin)
        extra.append(peak_mib() - before)
    picks = np.concatenate(batches)
    n, ours = len(picks) // 2, min(seconds)
    print(f"{name:8} {metric:12} {t.sum():7} x {(1 - t).sum():6} x {x.shape[1]:3}, {n:4} pairs:", end=" ")
    print(f"{ours:8.2f} s, {max(extra):5.0f} MiB", end="", flush=True)
    if size.literal:
        pair, memory = compare(x, t, start, picks, arguments.alpha, metric)
        print(f"; as published {n * pair:8.0f} s, {memory:5.0f} MiB", end="")
        print(f"; {n * pair / ours:6.0f} times faster, {memory / max(1, *extra):5.1f} times less memory", end="")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sizes", nargs="*", default=["ibm", "cmnist"], help=f"of {', '.join(SIZES)}")
    parser.add_argument("--pool", help="npz file with x and t, instead of normal covariates")
    parser.add_argument("--normal", action="store_true", help="standard normal covariates, even where data are at hand")
    parser.add_argument("--metric", nargs="*", default=["euclidean", "sqeuclidean"])
    parser.add_argument("--alpha", type=float, default=2.5)
    parser.add_argument("--repeats", type=int, default=1, help="of ours; the fastest counts")
    arguments = parser.parse_args()
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}, alpha {arguments.alpha:g}")
    for name in arguments.sizes:
        for metric in arguments.metric:
            run(name, metric, arguments)


if __name__ == "__main__":
    main()
