"""A campaign over balls: picks, each with its certificate, and balls opened until that is below a tolerance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from macal.scale.arm import BallArm, Fetch
from macal.scale.pairs import BallPairs

_OPENED = 64  # rows whose balls are opened together, at first


@dataclass(frozen=True)
class Pick:
    """Units that were picked together.

    Attributes:
        rows: of the table: treated and control, or one unit.
        score: of the pick.
        within: by how much, at most, the best pick of that moment in the whole pool scores more.
    """

    rows: tuple[int, ...]
    score: float
    within: float


class BallCampaign:
    """A campaign over balls; pairs by turns, as in :class:`macal.acquisition.pairs.Contrasts`.

    Args:
        arms: control and the others; or any, where there are no pairs.
        weights: alpha and novelty; None for a criterion without pairs.
        fetch: covariates of rows of the table.
        tolerance: balls are opened until a pick is so close to the best; infinite for never.
        most: balls of all arms, beyond which none is opened but for want of a pick.
    """

    def __init__(
        self,
        arms: Sequence[BallArm],
        weights: tuple[float, float] | None,
        fetch: Fetch,
        tolerance: float = 0.0,
        most: float = np.inf,
    ) -> None:
        self.arms, self._fetch, self._tolerance, self._most = arms, fetch, tolerance, most
        self.searches = [BallPairs(arms[0], arm, *weights) for arm in arms[1:]] if weights else []

    def batch(self, size: int) -> list[Pick]:
        """Pick up to ``size`` units, one-sided for an odd last unit and once an arm is exhausted."""
        picks: list[Pick] = []
        while (room := size - sum(len(pick.rows) for pick in picks)) and any(arm.n_free for arm in self.arms):
            search = self._next() if room > 1 else None
            picks.append(self._pair(search) if search else self._single())
        return picks

    def _next(self) -> BallPairs | None:
        """The search whose arm has the fewest labels, of those that have a pair."""
        able = [s for s in self.searches if all(arm.n_free for arm in s.arms)]
        return min(able, key=lambda s: s.treated.n_labels) if able else None

    def _pair(self, search: BallPairs) -> Pick:
        opened = _OPENED
        while True:
            search.begin()
            score, i, j = search.best()
            least = self._threshold(score)
            highest, rows = search.beyond(least)
            if highest < least or (score > -np.inf and not self._room()):
                break
            control, treated = search.arms
            others = np.unique([search.partner(row) for row in rows[:opened]])
            self._open(treated, rows[:opened])
            self._open(control, others)
            opened *= 2
        return Pick((search.treated.take(i), search.control.take(j)), score, max(0.0, highest - score))

    def _single(self) -> Pick:
        opened = _OPENED
        while True:
            found = [(*arm.best(), arm) for arm in self.arms if arm.n_free]
            score, k, arm = max(found, key=lambda f: (f[0], -f[2].balls.rows[f[1]]))
            least = self._threshold(score)
            bounds = [np.where(one.open & (score < np.inf), one.bound, -np.inf) for one in self.arms]
            highest = max(bound.max(initial=-np.inf) for bound in bounds)
            if highest < least or (score > -np.inf and not self._room()):
                break
            for one, bound in zip(self.arms, bounds, strict=True):
                reaching = np.flatnonzero(bound >= max(least, np.finfo(float).min))
                self._open(one, reaching[np.argsort(-bound[reaching], kind="stable")][:opened])
            opened *= 2
        return Pick((arm.take(k),), score, max(0.0, highest - score) if np.isfinite(score) else 0.0)

    def _threshold(self, score: float) -> float:
        """The bound from which on a ball is opened; where no loss is tolerated, also one that may tie."""
        if score == -np.inf or not self._tolerance:
            return score
        return float(np.nextafter(score + self._tolerance, np.inf))

    def _room(self) -> bool:
        return self._tolerance < np.inf and sum(map(len, self.arms)) < self._most

    def _open(self, arm: BallArm, places: np.ndarray) -> None:
        """Open those of some balls that are open."""
        places = places[arm.open[places]]
        if len(places):
            origin = arm.split(places, self._fetch)
            for search in self.searches:
                if arm in search.arms:
                    search.opened(arm, origin)
