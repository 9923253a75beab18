"""What the scale of numbers costs and saves: errors of plans by mean and s.d., and by winsorised columns, of tables as
they come, with one wrong value, and with a code for a missing value that a twentieth of people have.

    python benchmarks/scales.py ihdp 20      # data set and replications; half a minute each
    python benchmarks/scales.py acic 10

Each replication plans 10 batches of 10 labels by alc-fixed and by MACAL on the same encoding that its exact Gaussian
process sees; errors are those of effects on the test set, against the encoding by mean and s.d. of the table as it is.
"""

import argparse

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.model_selection import train_test_split

import macal
from macal import acquisition, models
from macal.acquisition.plans import plan_batches
from macal.datasets import acic, encoding
from macal.problem import Split

N = 10  # batches, and labels in each


def reaching(reach):
    def scaled(values, rows):
        middle = np.median(values[rows])
        distances = np.abs(values[rows] - middle)
        inside = values[rows][distances <= reach * np.median(distances[distances > 0])]
        return encoding.standardised(np.clip(values, inside.min(), inside.max()), rows)

    return scaled


SCALES = {
    "mean and s.d.": encoding.standardised,
    "ranks": lambda values, rows: encoding.standardised(rankdata(values), rows),
    **{f"within {reach}": reaching(reach) for reach in (5.0, 7.0, 10.0)},
}


def columns(name, seed):
    """The problem, its numbers (pool and test set, one after the other) and its 0/1 columns."""
    problem = macal.load(name, seed)
    whole = np.vstack([problem.pool.x, problem.test.x]).astype(np.float64)
    if name == "ihdp":
        return problem, dict(enumerate(whole.T)), whole[:, :0]
    units = acic.table(seed % acic.RESPONSES + 1)
    rest, test = train_test_split(np.arange(len(units)), test_size=0.25, random_state=seed)  # as acic.load divides
    rows = np.concatenate([train_test_split(rest, test_size=0.25, random_state=seed)[0], test])
    found = {c: encoding.numbers(units[c], c) for c in units if c.startswith("x_")}
    plain = {c: values[rows] for c, values in found.items() if isinstance(values, np.ndarray)}
    return problem, plain, whole[:, len(plain) :]


def spoilt(plain, how, n, seed):
    """The numbers with something wrong in one column of the pool's n people."""
    rng, plain = np.random.default_rng(seed), {c: values.copy() for c, values in plain.items()}
    values = plain[rng.choice([c for c in plain if len(np.unique(plain[c])) > 20])]
    if how == "one value":
        values[rng.integers(n)] = 1e5 * values.std()
    if how == "codes":
        values[:n][rng.random(n) < 0.05] = -1e3 * values.std()
    return plain


def error(problem, x, criterion, model, seed):
    n = len(problem.pool)
    bought = plan_batches(acquisition.get(criterion), x[:n], problem.pool.t, problem.start, N, N, seed)
    known = problem.labelled(bought)
    (fitted,) = models.get(model).fit([models.Task(Split(x[known], problem.pool.t[known], problem.pool.y[known]))])
    return np.sqrt(np.mean((fitted.predict(x[n:]).tau - problem.test.tau) ** 2))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", choices=["ihdp", "acic"])
    parser.add_argument("replications", type=int)
    options, rows = parser.parse_args(), []
    for seed in range(options.replications):
        problem, plain, dummies = columns(options.data, seed)
        for how in ("as it is", "one value", "codes"):
            numbers = spoilt(plain, how, len(problem.pool), seed)
            for name, scaled in SCALES.items():
                x = np.column_stack([*(scaled(v, np.arange(len(v))) for v in numbers.values()), dummies])
                for criterion in ("alc-fixed", "macal"):
                    for model in ("exact-gp", "joint-gp"):
                        found = error(problem, x, criterion, model, seed)
                        rows.append((criterion, model, how, name, seed, np.log(found)))
    table = pd.DataFrame(rows, columns=["criterion", "model", "table", "scale", "seed", "error"])
    table = table.pivot(index=["criterion", "model", "table", "seed"], columns="scale", values="error")
    plain = table.xs("as it is", level="table")[[*SCALES][0]]
    change = table.sub(plain.reindex(table.index.droplevel("table")).to_numpy(), axis=0)[[*SCALES]]
    grouped = change.groupby(["criterion", "model", "table"])
    print("change of the error, per cent (in logarithms), and twice its standard error")
    print((100 * grouped.mean()).round(1).to_string())
    print((200 * grouped.sem()).round(1).to_string())


if __name__ == "__main__":
    main()
