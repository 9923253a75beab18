"""One exact Gaussian process per arm: the model of the paper's toy study, and a cheap second opinion elsewhere."""

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from typing import ClassVar

import numpy as np
import torch

from macal.arguments import as_count
from macal.models import dense_gp
from macal.models.base import LATER, NotFitted, Task, centre_and_scale, check_labelled
from macal.models.cholesky import NotPositiveDefinite
from macal.models.dense_gp import DenseGP, Problems, Raw
from macal.models.shapes import Points, Values
from macal.posterior import Posterior, Prior
from macal.problem import Split
from macal.registry import check_known
from macal.shapes import Covariates
from macal.threads import one_torch_thread

OPTIMISERS = ("adam", "lbfgs")
_SHORTEST = 1e-3  # initial length scale where most labelled units coincide
_ARMS = ("control", "treated")
_HINT = (
    "the covariance is not positive definite at any jitter up to 1e-4; look for huge outcomes or covariates, or lower"
    " the learning rate"
)


@dataclass(frozen=True, eq=False)
class ArmTask:
    """One arm of one task: ``x``, (n, d), and ``y``, centred and scaled, (n,); ``place`` is the task's."""

    place: int
    arm: int
    x: Points
    y: Values

    @property
    def width(self) -> int:
        """Size after padding."""
        return dense_gp.width(len(self.y))


@dataclass(frozen=True)
class FittedGP:
    """Both arms after a fit; an arm without labelled units is None and keeps its prior.

    Attributes:
        gps: control, treated.
        centre: what was subtracted from the outcomes.
        scale: what they were divided by.
        info: nothing to report.
    """

    gps: Sequence[DenseGP | None]
    centre: float
    scale: float
    info: Mapping[str, float] = field(default_factory=dict)

    @property
    def prior(self) -> Prior:
        """Fitted hyperparameters, in the outcome's unit; an arm without labelled units has those of the other one."""
        found = [gp if gp is not None else other for gp, other in zip(self.gps, self.gps[::-1], strict=True)]
        # (2,) each, control first
        _, variance, length, noise = (v.numpy() for v in dense_gp.natural(torch.stack([gp.raw for gp in found])))
        return Prior(self.scale**2 * variance, length, self.scale**2 * noise)

    @torch.no_grad()
    def predict(self, x: Covariates) -> Posterior:
        """Return the posterior of both noiseless outcomes at ``x``, (n, d)."""
        # (n, 2) each; an arm without labels keeps mean 0 and variance 1
        mean, var = np.zeros((len(x), 2)), np.ones((len(x), 2))
        new = torch.as_tensor(np.array(x), dtype=torch.float64)
        with one_torch_thread():
            for arm, gp in enumerate(self.gps):
                if gp is not None:
                    mean[:, arm], var[:, arm] = (a.numpy() for a in gp.predict(new))
        # (n, 2) and (n, 2, 2): the arms are independent
        return Posterior(self.centre + self.scale * mean, self.scale**2 * var[:, :, None] * np.eye(2))


@dataclass(frozen=True)
class ExactGP:
    """One exact GP per arm, hyperparameters by maximum marginal likelihood.

    A fit gives the same bits whatever else is fitted. An arm without labelled units keeps its prior: the labelled
    outcomes' mean, and their variance.

    Attributes:
        provides: of a fitted model to criteria, "posterior" and "prior".
        optimiser: "adam" for the public code's fixed number of steps, "lbfgs" to convergence.
        steps: Adam steps, or L-BFGS iterations at most.
        lr: Adam's learning rate.
        standardise: scale outcomes, and start at the median distance; else gpytorch's initial values (toy study).
        starts: climbs from so many length scales, each a third of the one before; the best evidence is kept.

    Raises:
        UnknownName: no such optimiser.
        ValueError: fewer starts than 1.
    """

    provides: ClassVar[tuple[str, ...]] = ("posterior", "prior")

    optimiser: str = "adam"
    steps: int = 500
    lr: float = 0.01
    standardise: bool = True
    starts: int = field(default=1, metadata=LATER)

    def __post_init__(self) -> None:
        check_known("optimiser", OPTIMISERS, self.optimiser)
        as_count(self.starts, "starts")

    def fit(self, tasks: Sequence[Task]) -> list[FittedGP]:
        """Fit both arms to the labelled units of each task; validation units and seeds are not used.

        Raises:
            ValueError: a task without labelled units.
            NotFitted: a covariance without Cholesky factor; the message says of which task and arm.
        """
        check_labelled(tasks)
        scales = [centre_and_scale(task.labelled.y) if self.standardise else (0.0, 1.0) for task in tasks]
        arm_tasks = [one for k, task in enumerate(tasks) for one in _arm_tasks(k, task.labelled, *scales[k])]
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            fits = pool.map(one_torch_thread()(self._fit), self._batches(arm_tasks))
            found = {key: gp for batch in fits for key, gp in batch.items()}
        return [FittedGP([found.get((k, arm)) for arm in (0, 1)], *scale) for k, scale in enumerate(scales)]

    def _batches(self, arm_tasks: Sequence[ArmTask]) -> list[list[ArmTask]]:
        """Problems of equal width together, the largest first, for they take longest."""
        ordered = sorted(arm_tasks, key=lambda one: -one.width)
        found = []
        for size, group in groupby(ordered, lambda one: one.width):
            same, step = list(group), dense_gp.together(size) if self.optimiser == "adam" else 1
            found += [same[k : k + step] for k in range(0, len(same), step)]
        return found

    @torch.no_grad()
    def _fit(self, batch: Sequence[ArmTask]) -> dict[tuple[int, int], DenseGP]:
        x = [one.x for one in batch]
        problems = Problems(x, [one.y for one in batch])
        try:
            starts = (torch.stack([self._start(points, k) for points in x]) for k in range(self.starts))
            tries = [dense_gp.fitted(problems, self._climb(problems, raw), x) for raw in starts]
        except NotPositiveDefinite as error:
            bad = batch[error.rows[0]]
            raise NotFitted(bad.place, f"{_ARMS[bad.arm]} arm, {len(bad.y)} labelled units: {_HINT}") from error
        best = (max(gps, key=lambda gp: gp.evidence) for gps in zip(*tries, strict=True))
        return {(one.place, one.arm): gp for one, gp in zip(batch, best, strict=True)}

    def _climb(self, problems: Problems, raw: Raw) -> Raw:
        if self.optimiser == "adam":
            return dense_gp.adam(problems, raw, self.steps, self.lr)
        return dense_gp.lbfgs(problems, raw, self.steps)

    def _start(self, x: Points, shorter: int) -> torch.Tensor:
        raw = torch.zeros(4, dtype=torch.float64)
        if self.standardise and len(x) > 1:
            raw[2] = dense_gp.inverse_softplus(max(torch.pdist(x).median().item() / 3**shorter, _SHORTEST))
        elif shorter:
            raw[2] = dense_gp.inverse_softplus(math.log(2) / 3**shorter)
        return raw


def _arm_tasks(place: int, labelled: Split, centre: float, scale: float) -> Iterator[ArmTask]:
    x = torch.as_tensor(np.array(labelled.x), dtype=torch.float64)
    y = torch.as_tensor((labelled.y - centre) / scale)
    for arm in (0, 1):
        own = torch.as_tensor(labelled.t == arm)
        if own.any():
            yield ArmTask(place, arm, x[own], y[own])
