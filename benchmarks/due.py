"""Deep kernels trained as one batch against one at a time: milliseconds per step and model, and memory, in one run.

The batched figures are whole calls of ``fit`` for two epochs of 100 steps, with initial values, validation and
bookkeeping, after a warm-up; 150 labelled IHDP units, the public code's settings. On a CPU also with compiled steps,
compiled before, and there the image model in both of its precisions (CMNIST, whole epochs of 100 steps).
Arguments: threads (2), then numbers of models (1 4 16 64; on CUDA also 256 and 1024).
"""

import dataclasses
import os
import resource
import shutil
import sys
import time

import gpytorch
import numpy as np
import torch
from torch import nn

import macal
from macal.models import Task
from macal.models.due import CNN, CODE, Due
from macal.models.network import Units

LABELLED = 150
EPOCHS = 2
SHORT = 10  # steps of the warm-up


class PlainGP(gpytorch.models.ApproximateGP):
    """One sparse variational GP as gpytorch's manual writes it."""

    def __init__(self, inducing):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(len(inducing))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, distribution))
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5))
        self.kernel.base_kernel.lengthscale = torch.pdist(inducing).mean()

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


class PlainEncoder(nn.Module):
    """One residual network with torch's own modules; the bound as the batched one has it."""

    def __init__(self, s, d):
        super().__init__()
        widths = [(d, s.width)] + [(s.width, s.width)] * (s.depth - 1)
        self.layers = nn.ModuleList(nn.Linear(*w) for w in widths)
        self.dropout, self.bound = nn.Dropout(s.dropout), s.bound
        self.vectors = [torch.randn(s.width) for _ in widths]

    def linear(self, k, x):
        layer = self.layers[k]
        with torch.no_grad():
            right = nn.functional.normalize(layer.weight.T @ self.vectors[k], dim=0)
            left = nn.functional.normalize(layer.weight @ right, dim=0)
            if self.training:
                self.vectors[k] = left
        sigma = left @ layer.weight @ right
        return nn.functional.linear(x, layer.weight / torch.clamp(sigma / self.bound, min=1), layer.bias)

    def forward(self, x):
        z = self.linear(0, x)
        for k in range(1, len(self.layers)):
            z = z + self.linear(k, self.dropout(nn.functional.elu(z)))
        return nn.functional.elu(z)


def plain_epoch(s, units, valid, steps):
    """Return a function that runs one epoch of one model."""
    encoder = PlainEncoder(s, units.x.shape[1])
    inputs = lambda u, rows: torch.cat([encoder(u.x[rows]), u.t[rows, None]], dim=1)  # noqa: E731
    with torch.no_grad():
        gp = PlainGP(inputs(units, torch.arange(s.inducing)))
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    bound = gpytorch.mlls.VariationalELBO(likelihood, gp, num_data=len(units))
    rest = [*gp.parameters(), *likelihood.parameters()]
    optimiser = torch.optim.Adam(
        [{"params": encoder.parameters(), "lr": s.lr}, {"params": rest, "lr": s.lr_gp}],
        weight_decay=0.5 * (1 - s.dropout) / len(units),
    )

    def epoch():
        encoder.train()
        gp.train()
        for rows in (torch.randperm(steps * s.batch) % len(units)).view(steps, s.batch):
            optimiser.zero_grad()
            (-bound(gp(inputs(units, rows)), units.y[rows])).backward()
            optimiser.step()
        encoder.eval()
        gp.eval()
        with torch.no_grad():
            return -likelihood.expected_log_prob(valid.y, gp(inputs(valid, torch.arange(len(valid))))).mean()

    return epoch


def timed(call, model_steps):
    start = time.perf_counter()
    call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start) / model_steps


def batched(settings, problem, models):
    """Milliseconds per step and model of so many trainings at once, start to end."""
    tasks = []
    for k in range(models):
        labelled = np.random.RandomState(k).permutation(len(problem.pool))[:LABELLED]
        tasks.append(Task(problem.pool[labelled], problem.valid, k))
    settings = dataclasses.replace(settings, slots=models, epochs=EPOCHS)
    return timed(lambda: settings.fit(tasks), models * settings.steps * EPOCHS)


def compiled(settings, problem, models):
    """The same with compiled steps, which are compiled before."""
    os.environ["MACAL_COMPILE"] = "1"
    batched(dataclasses.replace(settings, steps=SHORT), problem, models)
    fused = batched(settings, problem, models)
    del os.environ["MACAL_COMPILE"]
    return fused


def peak():
    """The most memory used so far, MiB."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main():
    arguments = [int(a) for a in sys.argv[1:]]
    torch.set_num_threads(arguments[0] if arguments else 2)
    cuda = torch.cuda.is_available()
    sizes = arguments[1:] or ((1, 4, 16, 64, 256, 1024) if cuda else (1, 4, 16, 64))
    problem, settings = macal.load("ihdp", 0, protocol="code"), Due(**CODE)
    where = torch.cuda.get_device_name() if cuda else f"CPU, {torch.get_num_threads()} threads"
    compiles = not cuda and (shutil.which("g++") or shutil.which("clang++"))
    cpu = torch.device("cpu")
    units = Units.of(problem.pool[:LABELLED], cpu), Units.of(problem.valid, cpu)
    plain_epoch(settings, *units, SHORT)()
    batched(dataclasses.replace(settings, steps=SHORT), problem, 2)
    single = timed(plain_epoch(settings, *units, settings.steps), settings.steps)
    print(f"one at a time, gpytorch, {torch.get_num_threads()} threads: {single:.2f} ms per step", flush=True)
    for models in sizes:
        ms = batched(settings, problem, models)
        print(
            f"{models} at once, {where}: {ms:.2f} ms per step and model, {single / ms:.1f} times as fast;"
            f" peak {peak():.0f} MiB",
            flush=True,
        )
        if compiles:
            fused = compiled(settings, problem, models)
            print(f"    compiled: {fused:.2f} ms, {ms / fused:.2f} times as fast as without", flush=True)
    if compiles:
        images, ms = macal.load("cmnist", 0), {}
        for precision in ("float32", "bfloat16"):
            ms[precision] = compiled(Due(**CNN, precision=precision), images, 1)
            ratio = ms["float32"] / ms[precision]
            print(f"image model, {precision}: {ms[precision]:.0f} ms, {ratio:.2f} times as fast as float32", flush=True)


if __name__ == "__main__":
    main()
