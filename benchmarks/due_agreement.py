"""Deep kernels against the paper's public code on nine fixed sets of IHDP labels: test PEHE, epochs, validation loss.

A row per set: the public code's single training, and the mean of ours over initialisations. Arguments: threads (2),
initialisations (5). The last line is the mean over sets of log(ours / theirs).
"""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import macal
from macal.models import Task, get
from macal.models.due import CODE

PUBLIC = Path(__file__).parents[1] / "tests" / "golden" / "due_public_code.csv"
COLUMNS = {"pehe_test75": "pehe_public", "epochs": "epochs_public", "val_nll": "valid_loss_public"}


def main():
    threads, inits = ([int(a) for a in sys.argv[1:]] + [2, 5][len(sys.argv) - 1 :])[:2]
    torch.set_num_threads(threads)
    public = pd.read_csv(PUBLIC)
    tasks, rows = [], []
    for row in public.itertuples():
        problem = macal.load("ihdp", row.seed, protocol="code")
        labelled = problem.pool[np.random.RandomState(1000 + row.seed).permutation(470)[: row.n]]
        for k in range(inits):
            tasks.append(Task(labelled, problem.valid, 100 * row.seed + k))
            rows.append((row.seed, row.n, problem.test))
    start = time.perf_counter()
    models = get("due", **CODE).fit(tasks)
    seconds = time.perf_counter() - start
    ours = pd.DataFrame(
        {"seed": seed, "n": n, "pehe": macal.metrics.pehe(m.predict(test.x).tau, test.tau), **m.info}
        for (seed, n, test), m in zip(rows, models, strict=True)
    )
    model_steps = 100 * ours.epochs.sum()
    print(f"{len(tasks)} trainings, {threads} threads: {seconds:.0f} s, {1e3 * seconds / model_steps:.2f} ms per step")
    ours["log_ratio"] = np.log(ours.pehe) - np.log(ours.merge(public, on=["seed", "n"]).pehe_test75)
    table = ours.groupby(["seed", "n"], as_index=False).mean().merge(public.rename(columns=COLUMNS), on=["seed", "n"])
    print(table.round(3).to_string(index=False))
    print(f"mean of log(ours / theirs): {table.log_ratio.mean():+.4f}, standard error {table.log_ratio.sem():.4f}")


if __name__ == "__main__":
    main()
