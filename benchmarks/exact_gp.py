"""Exact GPs of the toy study, many at once against gpytorch one at a time: time, and agreement, in one run.

The fits are those of MACAL's and Random's campaigns, 25 to 265 labels, two arms each, 500 Adam steps from gpytorch's
initial values: 56 in all. Then both optimisers on the same labels: time, and evidence reached. Last, how long all
campaigns of the study's figure take. Argument: threads (2).
"""

import sys
import time

import gpytorch
import numpy as np
import torch

import macal
from macal import acquisition
from macal.models import Task
from macal.models.dense_gp import natural
from reproduction.studies import toy as toy_study

SIZES = range(25, 266, 40)


class PlainGP(gpytorch.models.ExactGP):
    """The public code's model, as gpytorch's manual writes it."""

    def __init__(self, x, y):
        super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        self.double()

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def plain_fit(x, y):
    """Hyperparameters after 500 Adam steps."""
    gp = PlainGP(x, y)
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(gp.likelihood, gp)
    optimiser = torch.optim.Adam(gp.parameters(), lr=0.01)
    for _ in range(500):
        optimiser.zero_grad()
        (-evidence(gp(x), y)).backward()
        optimiser.step()
    found = gp.mean.constant, gp.kernel.outputscale, gp.kernel.base_kernel.lengthscale, gp.likelihood.noise
    return [float(value.detach()) for value in found]


def tasks_of(seeds):
    """Labelled sets of two campaigns per seed."""
    found = []
    for seed in seeds:
        problem = macal.load("toy", seed)
        for criterion in (toy_study.FIGURE["macal"], toy_study.FIGURE["random"]):
            batches = acquisition.plan_batches(criterion, problem.pool.x, problem.pool.t, problem.start, 24, 10, seed)
            order = np.concatenate([problem.start, *batches])
            found += [Task(problem.pool[order[:n]]) for n in SIZES]
    return found


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    tasks, model = tasks_of(range(2)), toy_study.model()
    model.fit(tasks[:1])  # whatever is loaded on first use
    batched = {}
    for n in sorted({1, threads}):
        torch.set_num_threads(n)
        batched[n], fits = timed(lambda: model.fit(tasks))
    torch.set_num_threads(1)
    gps = [gp for fitted in fits for gp in fitted.gps]
    arms = [task.labelled[task.labelled.t == arm] for task in tasks for arm in (0, 1)]
    with gpytorch.settings.fast_computations(False, False, False):
        single, found = timed(lambda: [plain_fit(gp.x, torch.tensor(a.y)) for gp, a in zip(gps, arms, strict=True)])
    own = torch.stack([torch.stack(natural(gp.raw)) for gp in gps]).numpy()
    worst = np.max(np.abs(own - found) / np.maximum(np.abs(found), 1e-3))
    print(f"{len(gps)} fits, {min(len(gp.x) for gp in gps)} to {max(len(gp.x) for gp in gps)} units each")
    print(f"one at a time, gpytorch, 1 thread: {1e3 * single / len(gps):.0f} ms per fit")
    for n, seconds in batched.items():
        ms = 1e3 * seconds / len(gps)
        print(f"batched, {n} thread{'s' * (n > 1)}: {ms:.0f} ms per fit, {single / seconds:.1f} times as fast")
    print(f"largest relative difference of a hyperparameter: {worst:.1e}")
    seconds, converged = timed(lambda: toy_study.model("lbfgs").fit(tasks))
    gain = np.mean(
        [
            b.evidence - a.evidence
            for f, g in zip(fits, converged, strict=True)
            for a, b in zip(f.gps, g.gps, strict=True)
        ]
    )
    faster = f"{batched[1] / seconds:.1f} times as fast as 500 Adam steps"
    print(f"L-BFGS to convergence, 1 thread: {faster}; evidence per unit higher by {gain:.2f} on average")
    seconds, _ = timed(lambda: toy_study.run(toy_study.Part(toy_study.FIGURE), range(2)))
    minutes = seconds * toy_study.SEEDS / 2 / 60
    print(f"the figure's campaigns, {toy_study.SEEDS} replications, from 2 of them, 1 thread: {minutes:.1f} minutes")


if __name__ == "__main__":
    main()
