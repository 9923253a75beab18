"""The exact GP's two optimisers on the same labelled units: time and evidence reached, in one run."""

import time

import gpytorch
import torch

import macal
from macal.models.exact_gp import _GP, ExactGP

SIZES = (50, 150, 300)


def fit(optimiser, x, y):
    """Seconds taken, and log evidence per unit reached."""
    gp = _GP(x, y)
    with gpytorch.settings.fast_computations(False, False, False):
        start = time.perf_counter()
        ExactGP(optimiser, standardise=False)._maximise(gp, x, y)
        seconds = time.perf_counter() - start
        with torch.no_grad():
            return seconds, gpytorch.mlls.ExactMarginalLogLikelihood(gp.likelihood, gp)(gp(x), y).item()


def main():
    torch.set_num_threads(1)
    pool = macal.load("ihdp", 0).pool
    control = pool[pool.t == 0]
    fit("adam", *(torch.ones(2, *shape, dtype=torch.float64) for shape in ((1,), ())))  # warm up
    for n in SIZES:
        x, y = torch.tensor(control.x[:n], dtype=torch.float64), torch.tensor(control.y[:n])
        y = (y - y.mean()) / y.std()
        (slow, low), (fast, high) = fit("adam", x, y), fit("lbfgs", x, y)
        print(f"{n} units: L-BFGS {slow / fast:.1f} times as fast as Adam; evidence {high:.4f} against {low:.4f}")


if __name__ == "__main__":
    main()
