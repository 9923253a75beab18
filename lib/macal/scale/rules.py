"""Criteria that can be planned over balls, and their campaigns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from macal.acquisition import Criterion
from macal.acquisition.design import SAMPLE, FixedALC, drawn
from macal.acquisition.distances import QHTE, CoreSet, Macal, Symmetry
from macal.scale.arm import BallArm, Fetch, SomeBalls, gathered, merged
from macal.scale.campaign import BallCampaign
from macal.scale.cover import BlockCover
from macal.scale.distances import DistanceArm
from macal.scale.gains import GainArm
from macal.shapes import Arms, Covariates


@dataclass(frozen=True)
class BallRule:
    """What a criterion asks of balls.

    Attributes:
        weights: alpha and novelty; None where units are picked one by one.
        squared: whether distances are squared.
        by_arm: whether distances count within arms alone.
        design: whose gains count in the place of distances.
    """

    weights: tuple[float, float] | None
    squared: bool
    by_arm: bool
    design: FixedALC | None = None

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
        if isinstance(criterion, FixedALC):
            return cls(None, False, True, criterion)
        raise ValueError(
            f"{type(criterion).__name__} cannot be planned out of memory; take 'macal', 'symmetry', 'qhte', 'coreset'"
            " or 'alc-fixed'"
        )

    def kept(self, n: int, labels: int) -> int:
        """Numbers that are kept for each ball, among n people, beside its covariates: for each target and label one."""
        return min(self.design.targets, n) + labels if self.design else 0

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
    groups = [(merged(balls, first), x, n) for (balls, n), x in zip(parts, labelled, strict=True)]
    if rule.design is None:
        arms: list[BallArm] = [DistanceArm(*group, rule.squared) for group in groups]
    else:
        arms = _gain_arms(rule.design, groups, blocks[-1].start + len(blocks[-1].which), fetch)
    return BallCampaign(arms, rule.weights, fetch, tolerance, most)


def _gain_arms(
    design: FixedALC, groups: Sequence[tuple[SomeBalls, Covariates, int]], n: int, fetch: Fetch
) -> list[BallArm]:
    """Arms of a design, whose targets and unit of distance are those of n people in memory."""
    sample, targets = fetch([drawn(n, SAMPLE), drawn(n, design.targets)])
    prior = design.prior_among(sample, 1)
    return [GainArm(*group, targets, prior, design.contrasts(arm, len(groups))) for arm, group in enumerate(groups)]
