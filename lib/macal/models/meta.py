"""Meta-learners over trees, by EconML, for label-free criteria: they have no posterior.

References:
    S. Kuenzel, J. Sekhon, P. Bickel and B. Yu, "Metalearners for Estimating Heterogeneous Treatment Effects using
    Machine Learning", PNAS 116(10), 2019 (S, T, X).
    E. Kennedy, "Towards Optimal Doubly Robust Estimation of Heterogeneous Causal Effects", EJS 17(2), 2023 (DR).
    S. Athey, J. Tibshirani and S. Wager, "Generalized Random Forests", Annals of Statistics 47(2), 2019 (forest).
    R. Crump, V. J. Hotz, G. Imbens and O. Mitnik, "Dealing with Limited Overlap in Estimation of Average Treatment
    Effects", Biometrika 96(1), 2009 (propensities from 0.1 on).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from macal.models.base import Effects, NotFitted, Task
from macal.optional import needed
from macal.registry import check_known
from macal.shapes import Covariates

LEARNERS = ("s", "t", "x", "dr", "forest")
TRIMMED = 0.1  # propensities of the DR-learner are at least this much


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
    """S-, T-, X- or DR-learner or causal forest, with gradient-boosted regression trees of scikit-learn's defaults.

    Attributes:
        provides: of a fitted model to criteria, nothing.
        learner: "s", "t", "x", "dr" or "forest"; the last two fit their nuisances on halves of the labels.

    Raises:
        UnknownName: no such learner.
    """

    provides: ClassVar[tuple[str, ...]] = ()

    learner: str = "t"

    def __post_init__(self) -> None:
        check_known("learner", LEARNERS, self.learner)

    def fit(self, tasks: Sequence[Task]) -> list[FittedMetaLearner]:
        """Fit one learner per task, to its labelled units alone.

        Raises:
            ImportError: EconML is not installed.
            NotFitted: scikit-learn or EconML refuses a task.
        """
        return [self._fit(place, task) for place, task in enumerate(tasks)]

    def _fit(self, place: int, task: Task) -> FittedMetaLearner:
        x, t, y = task.labelled.x.astype(np.float64), task.labelled.t, task.labelled.y
        if len(np.unique(t)) < 2:
            return FittedMetaLearner(None)
        learner = self._learner(task.seed, np.bincount(t).tolist())
        from sklearn import config_context

        # settings are known to be sound: each of thousands of trees would check them again, a seventh of the time
        unchecked = config_context(skip_parameter_validation=True)
        try:
            with unchecked, np.errstate(over="ignore", invalid="ignore"):  # in the checks of data that then refuse
                return FittedMetaLearner(learner.fit(y, t, X=x))
        except ValueError as error:  # what both packages raise for data that they cannot take
            raise NotFitted(place, f"{len(y)} labelled units: {error}") from error

    def _learner(self, seed: int, arms: Sequence[int]) -> Any:
        """An unfitted learner, for so many labels of each arm."""
        with needed("econml", "meta-learners"):
            from econml.dml import CausalForestDML
            from econml.dr import DRLearner
            from econml.metalearners import SLearner, TLearner, XLearner
        from sklearn.ensemble import GradientBoostingRegressor
        from sklearn.linear_model import LogisticRegression

        trees, propensity = GradientBoostingRegressor(random_state=seed % 2**32), LogisticRegression(max_iter=1000)
        crossed = {"cv": min(2, *arms), "random_state": seed % 2**32}
        return {
            "s": lambda: SLearner(overall_model=trees),
            "t": lambda: TLearner(models=trees),
            "x": lambda: XLearner(models=trees, propensity_model=propensity),
            "dr": lambda: DRLearner(
                model_propensity=propensity,
                model_regression=trees,
                model_final=trees,
                min_propensity=TRIMMED,
                **crossed,
            ),
            "forest": lambda: CausalForestDML(
                model_y=trees, model_t=propensity, discrete_treatment=True, n_jobs=1, **crossed
            ),
        }[self.learner]()
