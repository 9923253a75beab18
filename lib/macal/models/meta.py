"""Meta-learners over gradient-boosted trees, by EconML: estimators that share nothing with the paper's model.

For label-free criteria and given labelled sets only: a meta-learner estimates effects and is not a belief about them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from macal.models.base import Effects, NotFitted, Task
from macal.optional import needed
from macal.registry import UnknownName
from macal.shapes import Covariates

LEARNERS = ("s", "t", "x")


@dataclass(frozen=True, eq=False)
class FittedMetaLearner:
    """A fitted meta-learner; None where an arm had no label, and every effect is then estimated as 0."""

    learner: Any
    info: dict[str, float] = field(default_factory=dict)

    def predict(self, x: Covariates) -> Effects:
        """Return the estimated effects at ``x``, (n, d)."""
        return Effects(np.zeros(len(x)) if self.learner is None else np.ravel(self.learner.effect(x)))


@dataclass(frozen=True)
class MetaLearner:
    """S-, T- or X-learner (Kuenzel et al. 2019) with gradient-boosted regression trees of scikit-learn's defaults.

    Attributes:
        provides: of a fitted model to criteria, nothing: there is no posterior over outcomes.
        learner: "s", one regression on covariates and treatment; "t", one per arm; "x", two-stage imputed effects.

    Raises:
        UnknownName: no such learner.
    """

    provides: ClassVar[tuple[str, ...]] = ()

    learner: str = "t"

    def __post_init__(self) -> None:
        if self.learner not in LEARNERS:
            raise UnknownName("learner", self.learner, LEARNERS)

    def fit(self, tasks: Sequence[Task]) -> list[FittedMetaLearner]:
        """Fit one learner per task, to its labelled units alone.

        Raises:
            ImportError: EconML is not installed.
            NotFitted: scikit-learn or EconML refuses a task, say for covariates beyond its trees' single precision.
        """
        return [self._fit(place, task) for place, task in enumerate(tasks)]

    def _fit(self, place: int, task: Task) -> FittedMetaLearner:
        x, t, y = task.labelled.x.astype(np.float64), task.labelled.t, task.labelled.y
        if len(np.unique(t)) < 2:
            return FittedMetaLearner(None)
        learner = self._learner(task.seed)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # in the checks that then refuse
                return FittedMetaLearner(learner.fit(y, t, X=x))
        except ValueError as error:  # what both packages raise for data that they cannot take
            raise NotFitted(place, f"{len(y)} labelled units: {error}") from error

    def _learner(self, seed: int) -> Any:
        with needed("econml", "meta-learners"):
            from econml.metalearners import SLearner, TLearner, XLearner
        from sklearn.ensemble import GradientBoostingRegressor
        from sklearn.linear_model import LogisticRegression

        trees = GradientBoostingRegressor(random_state=seed % 2**32)
        return {
            "s": lambda: SLearner(overall_model=trees),
            "t": lambda: TLearner(models=trees),
            "x": lambda: XLearner(models=trees, propensity_model=LogisticRegression(max_iter=1000)),
        }[self.learner]()
