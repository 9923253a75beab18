"""Criteria that can be planned over balls, and their campaigns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from macal.acquisition import Criterion
from macal.acquisition.distances import QHTE, CoreSet, Macal, Symmetry
from macal.scale.arm import BallArm, Fetch, gathered, merged
from macal.scale.campaign import BallCampaign
from macal.scale.cover import BlockCover
from macal.shapes import Arms, Covariates


@dataclass(frozen=True)
class BallRule:
    """What a criterion asks of balls.

    Attributes:
        weights: alpha and novelty; None where units are picked one by one.
        squared: whether distances are squared.
        by_arm: whether distances count within arms alone.
    """

    weights: tuple[float, float] | None
    squared: bool
    by_arm: bool

    @classmethod
    def of(cls, criterion: Criterion) -> "BallRule":
        """Read a criterion.

        Raises:
            ValueError: one that balls do not bound.
        """
        if isinstance(criterion, (Macal, Symmetry)):
            return cls(criterion.weights(), criterion.metric == "sqeuclidean", True)
        if isinstance(criterion, (QHTE, CoreSet)):
            return cls(None, False, isinstance(criterion, QHTE))
        raise ValueError(
            f"{type(criterion).__name__} cannot be planned out of memory; take 'macal', 'symmetry', 'qhte' or 'coreset'"
        )

    def groups(self, t: Arms) -> Arms:
        """The groups within which distances count, (n,); negative numbers stay."""
        return t if self.by_arm else np.minimum(t, 0)


def ball_campaign(
    rule: BallRule,
    blocks: Sequence[BlockCover],
    labelled: Sequence[Covariates],
    n_labels: int,
    fetch: Fetch,
    tolerance: float = 0.0,
    most: float = np.inf,
    first: int = 2**62,
) -> BallCampaign:
    """Begin a campaign.

    Args:
        rule: the criterion's.
        blocks: covers of everybody who may be picked, in the order of the table.
        labelled: covariates of the people with a label at the beginning, (k, d), of each group.
        n_labels: that will be planned.
        fetch: covariates of rows of the table.
        tolerance: balls are opened until a pick is so close to the best; infinite for never.
        most: balls, beyond which none is opened but for want of a pick.
        first: balls of a group at the beginning: of more, those near each other are merged.
    """
    parts = [gathered(blocks, group, n_labels) for group in range(len(labelled))]
    pairs = zip(parts, labelled, strict=True)
    arms = [BallArm(merged(balls, first), x, n, rule.squared) for (balls, n), x in pairs]
    return BallCampaign(arms, rule.weights, fetch, tolerance, most)
