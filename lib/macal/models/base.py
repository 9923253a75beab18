"""What a model owes those who use it; ``tests/models/test_models.py`` holds every registered one to it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from macal.arguments import arms_of
from macal.posterior import Posterior
from macal.problem import Split
from macal.registry import RETIRED
from macal.shapes import Covariates, Outcomes

LATER = {"later": True}  # metadata of a setting that came after campaigns were recorded


def settings_of(thing: Any) -> dict[str, Any]:
    """Settings of a model or criterion, a dataclass, by which records name it: without later ones at their default."""
    left = {f.name for f in fields(thing) if f.metadata == LATER and getattr(thing, f.name) == f.default}
    kept = {name: value for name, value in asdict(thing).items() if name not in left}
    return {**getattr(thing, RETIRED, {}), **kept}


@dataclass(frozen=True, eq=False)
class Task:
    """One labelled set to fit.

    Attributes:
        labelled: units with revealed outcomes, (m, d).
        valid: units for early stopping, where the model needs them.
        seed: of the model's own draws, a non-negative integer.
        y_scale: mean and s.d. that a model standardises outcomes with, unless it takes those of the labelled units.

    Raises:
        ValueError: an outcome that is not known, or units of more than two arms.
    """

    labelled: Split
    valid: Split | None = None
    seed: int = 0
    y_scale: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        for name, units in (("labelled", self.labelled), ("valid", self.valid)):
            if units is not None and (units.y is None or np.isnan(units.y).any()):
                missing = len(units) if units.y is None else int(np.isnan(units.y).sum())
                raise ValueError(
                    f"{name} units need an outcome to learn from, and {missing} of {len(units)} have none;"
                    " leave them out until they have answered"
                )
            if units is not None and (arms := arms_of(units.t)) > 2:
                raise ValueError(
                    f"a model compares two arms, and {name} units are in up to {arms}; fit one task for each of"
                    " Split.contrasts()"
                )


def check_labelled(tasks: Sequence[Task]) -> None:
    """Raise ValueError where a task has no labelled unit."""
    for place, task in enumerate(tasks):
        if not len(task.labelled):
            raise ValueError(f"a model needs at least one labelled unit, got none in tasks[{place}]")


def centre_and_scale(y: Outcomes) -> tuple[float, float]:
    """Mean and standard deviation of outcomes, 1 where all are equal."""
    return float(y.mean()), float(y.std()) or 1.0


class NotFitted(ValueError):
    """A task could not be fitted; ``place`` says which of the tasks."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(f"training failed for tasks[{place}] ({reason})")
        self.place, self.reason = place, reason


@dataclass(frozen=True, eq=False)
class Effects:
    """Estimated effects ``tau``, (n,), in the outcome's unit, without a belief about the two outcomes."""

    tau: Outcomes


@runtime_checkable
class Fitted(Protocol):
    """A fitted model; ``info`` holds numbers of its training, each a column of a campaign's history.

    Where it provides "features" it has ``gradients(x, t)``, (n, p); where "prior", ``prior``, a
    :class:`macal.posterior.Prior`.
    """

    info: Mapping[str, float]

    def predict(self, x: Covariates) -> Posterior | Effects:
        """Estimate the effects ``tau`` at ``x``, (n, d): a posterior where the model provides one."""
        ...


@runtime_checkable
class Model(Protocol):
    """Settings of a model, from which any number of labelled sets are fitted.

    Attributes:
        provides: "posterior" where ``predict`` returns one, "features" where there are gradients, "prior" of a Gaussian
            process; what a criterion's ``needs`` names.
    """

    provides: ClassVar[tuple[str, ...]]

    def fit(self, tasks: Sequence[Task]) -> Sequence[Fitted]:
        """Fit each task; return the fitted models in the order of the tasks.

        The same tasks give the same bits, and a task's neighbours move its fit by rounding at most.

        Raises:
            ValueError: a task that this model cannot learn from.
            NotFitted: a training that failed; ``place`` says of which task.
        """
        ...
