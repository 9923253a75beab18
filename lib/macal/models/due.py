"""Deterministic uncertainty estimation for treatment effects: the paper's deep kernel, many trainings as one batch.

Sparse Gaussian processes of both surfaces on the features of a network of bounded spectral norms, trained by Adam on
the bound of the evidence, with early stopping: see labels ``sec-backbones`` and ``sec-many-models`` of the book.

Sources: van Amersfoort et al. 2021 (the model), Jesson et al. 2021 (its use for effects). The defaults are the paper's
words; ``CODE`` holds what its public code does instead, ``CNN`` what changes for images.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float

from macal.arguments import Whole, as_hinted
from macal.models import training
from macal.models.base import Task, check_labelled
from macal.models.gradients import sketch
from macal.models.network import Units
from macal.models.settings import Settings
from macal.posterior import Posterior
from macal.shapes import Arms, Covariates

CODE = {"treatment": "input", "kernel": "matern-3/2", "validation": "minibatches"}
CNN = {"encoder": "cnn", "kernel": "matern-3/2", "width": 50, "dropout": 0.05, "bound": 3.0, "batch": 64, "chunk": 128}


@dataclass(frozen=True)
class Due(Settings):
    """Deep kernel models for both potential outcomes, trained as one batch with early stopping."""

    provides: ClassVar[tuple[str, ...]] = ("posterior", "features")

    def fit(self, tasks: Sequence[Task]) -> list["FittedDue"]:
        """Train one model per task, all as one batch.

        Raises:
            ValueError: a task without labelled or validation units, or covariates of different numbers.
            NotFitted: a training failed; the message says of which task, and why.
        """
        tasks = list(tasks)
        device = torch.device(self.runs_on)
        check_labelled(tasks)
        for i, task in enumerate(tasks):
            self._check(i, task, tasks[0].labelled.x.shape[1])
        shared = {(id(task.valid), task.y_scale): Units.of(task.valid, device, task.y_scale) for task in tasks}
        jobs = [
            training.TrainingJob(
                i, Units.of(task.labelled, device, task.y_scale), shared[id(task.valid), task.y_scale], task.seed
            )
            for i, task in enumerate(tasks)
        ]
        trained = sorted(training.train(self, jobs), key=lambda model: model.place)
        return [FittedDue(self, model, tasks[model.place].y_scale) for model in trained]

    def _check(self, i: int, task: Task, d: int) -> None:
        if task.valid is None or not len(task.valid):
            raise ValueError(
                f"this model stops early and needs validation units, got none in tasks[{i}]; give valid=, or a problem"
                " that has them"
            )
        widths = {task.labelled.x.shape[1], task.valid.x.shape[1]}
        if widths != {d}:
            raise ValueError(f"tasks trained together must have the same {d} covariates, got {widths} in tasks[{i}]")
        if self.encoder == "cnn" and d != 784:
            raise ValueError(f"encoder 'cnn' needs 784 = 28 x 28 pixels, got {d} covariates; use encoder 'dnn'")
        for units in (task.labelled, task.valid):
            _check_precision(units.x)
        as_hinted({f"seed in tasks[{i}]": task.seed}, {f"seed in tasks[{i}]": Whole})


def _check_precision(x: Covariates) -> None:
    """Refuse covariates (n, d) that the single precision of this model would blur or overflow."""
    if x.dtype == np.float32:
        return
    blur = np.abs(x).max(axis=0) * np.finfo(np.float32).eps > 1e-3 * x.std(axis=0)
    lost = np.flatnonzero((blur & (np.ptp(x, axis=0) > 0)) | (np.abs(x).max(axis=0) > np.finfo(np.float32).max))
    if lost.size:
        raise ValueError(
            f"this model computes in single precision, which loses what column {lost[0]} of the covariates tells"
            " apart; standardise it, or take another model"
        )


class FittedDue:
    """One trained model, in the state that validated best.

    Attributes:
        network: the module, of one model.
        info: ``epochs`` run and best ``valid_loss``, the mean of -E_q[log p(y | f)] over standardised outcomes.
    """

    def __init__(self, settings: Settings, trained: training.Trained, y_scale: tuple[float, float]) -> None:
        self.settings, self.network, self._y_scale = settings, trained.network, y_scale
        self.info = {"epochs": trained.epochs, "valid_loss": trained.valid_loss}

    def _chunks(self, x: Any) -> tuple[torch.Tensor, ...]:
        device = self.network.gp.inducing.device
        return torch.from_numpy(np.array(x, dtype=np.float32)).to(device).split(self.settings.chunk)

    @torch.no_grad()
    def features(self, x: Covariates) -> Float[np.ndarray, "n k"]:
        """Return the encoder's features at ``x``, (n, d)."""
        return np.concatenate([self.network.features(part[None])[0].cpu().numpy() for part in self._chunks(x)])

    @torch.no_grad()
    def predict(self, x: Covariates) -> Posterior:
        """Return the posterior of both noiseless outcomes at ``x``, (n, d)."""
        parts = [self.network.gp.pair(self.network.features(part[None])) for part in self._chunks(x)]
        mean, cov = (torch.cat(arrays, dim=1)[0].double().cpu().numpy() for arrays in zip(*parts, strict=True))
        center, sd = self._y_scale
        return Posterior(mean * sd + center, cov * sd**2)

    def gradients(self, x: Covariates, t: Arms, dimensions: int = 1024, seed: int = 0) -> Float[np.ndarray, "n p"]:
        """Return each unit's gradient of its own-arm mean by the encoder's weights, standardised, projected at random.

        Inner products of the rows estimate those of the gradients (Holzmueller et al. 2023).

        Args:
            x: covariates, (n, d).
            t: treatment, (n,).
            dimensions: numbers per unit.
            seed: of the projection.
        """
        units = torch.cat(self._chunks(x))
        arms = torch.from_numpy(np.array(t)).to(units.device)
        return sketch(self.network, units, arms, dimensions, seed).cpu().numpy()
