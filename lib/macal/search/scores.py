"""Scores of units that follow every label, and the loop of all selections: take the best, count it, and again."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from macal.compat import override
from macal.search.nearest import Arm
from macal.shapes import Indices, Outcomes, Rows, Score

_ROUNDING = 1e-9  # of a score per price, relatively


class Search(ABC):
    """A selection under way."""

    @abstractmethod
    def take(self, room: int) -> tuple[list[int], float]:
        """Label the best unit, or pair where there is room for two; return it, none if none is left, and its score."""

    def batch(self, size: int) -> tuple[Indices, Outcomes]:
        """Take ``size`` units, or all k that are left: in pick order, (k,), with the score of each pick, (k,)."""
        picks, scores = list[int](), list[float]()
        while len(picks) < size and (taken := self.take(size - len(picks)))[0]:
            picks += taken[0]
            scores += [taken[1]] * len(taken[0])
        return np.array(picks, np.int64), np.array(scores, np.float64)


class Scores(Search):
    """Scores of n units, which follow every label.

    Attributes:
        free: whether each unit may be taken, (n,).
        rounding: relative difference of two scores that are equal.
        tier: of each unit, (n,), whatever its score: those of a higher tier come first.
    """

    rounding: ClassVar[float] = 0.0

    def __init__(self, free: np.ndarray) -> None:
        self.free, self.tier = free.copy(), np.zeros(len(free), np.int64)

    @abstractmethod
    def now(self) -> Outcomes:
        """Score of each unit within its tier, given the labels so far, (n,); of labelled ones it may be anything."""

    def add(self, units: Indices) -> None:
        """Count units as labelled, and let the scores follow."""
        self.free[units] = False

    def best(self, may: np.ndarray, price: Outcomes | None = None) -> tuple[int, float] | None:
        """The unit of the highest tier and score (per price), of ties the cheapest, then the lowest; and its score."""
        units, score = np.flatnonzero(may), self.now()
        keys = [(self.tier, 0.0)] if self.tier.any() else []
        keys += [(score, self.rounding)] if price is None else [(per_price(score, price), self.rounding), (-price, 0.0)]
        for values, rounding in keys:
            if units.size:
                mine = values[units]
                top = mine.max()
                units = units[mine >= (top - rounding * abs(top) if rounding and np.isfinite(top) else top)]
        return (int(units[0]), float(score[units[0]])) if units.size else None

    def better_units(self, may: np.ndarray, unit: int, price: Outcomes) -> Rows:
        """Units that may be taken and that come before a given one, beyond rounding."""
        value, tier = per_price(self.now(), price), self.tier
        return np.flatnonzero(may & ((tier > tier[unit]) | ((tier == tier[unit]) & above(value, value[unit]))))

    @override
    def take(self, room: int) -> tuple[list[int], float]:
        if (found := self.best(self.free)) is None:
            return [], np.nan
        self.add(np.array([found[0]]))
        return [found[0]], found[1]


class Ranked(Scores):
    """Scores that no label changes, (n,), with Gumbel noise of that scale, drawn again for each batch."""

    def __init__(
        self, free: np.ndarray, scores: Outcomes, noise: float = 0.0, rng: np.random.Generator | None = None
    ) -> None:
        super().__init__(free)
        self._scores, self._noise, self._rng = scores, noise, rng

    @override
    def now(self) -> Outcomes:
        return self._scores

    @override
    def batch(self, size: int) -> tuple[Indices, Outcomes]:
        units = np.flatnonzero(self.free)
        score = self._scores[units]
        if self._noise > 0:
            score = score + self._noise * self._rng.gumbel(size=units.size)
        first = np.argsort(-score, kind="stable")[:size]
        self.add(units[first])
        return units[first], score[first]


class Nearest(Scores):
    """Distance from each unit to the nearest label of its own arm, infinite without; every unit is a row of an arm."""

    def __init__(self, arms: Sequence[Arm], free: np.ndarray) -> None:
        super().__init__(free)
        self._arms, self._arm = arms, np.empty(len(free), np.int64)
        for k, arm in enumerate(arms):
            self._arm[arm.units] = k

    @override
    def now(self) -> Outcomes:
        score = np.empty(len(self._arm))
        for arm in self._arms:
            score[arm.units] = arm.short.m
        return score

    @override
    def add(self, units: Indices) -> None:
        super().add(units)
        for unit in units.tolist():
            self._arms[self._arm[unit]].label(unit)


class FarthestFirst(Search):
    """The unit that is farthest from the labels of its own arm (Eq. 5), of ties the lowest; found by bounds."""

    def __init__(self, arms: Sequence[Arm]) -> None:
        self._arms = arms

    @override
    def take(self, room: int) -> tuple[list[int], float]:
        found = [(*arm.farthest(), arm) for arm in self._arms if arm.n_free]
        if not found:
            return [], np.nan
        m, k, arm = max(found, key=lambda f: (f[0], -f[2].first[f[2].short.rows[f[1]]]))
        return [arm.label_first(k)], m / arm.unit


def per_price(score: Score, price: Score) -> Score:
    """Score per price; of a score that is not above 0 the product, so that of equal scores the cheaper comes first."""
    return np.where(score > 0, score / price, score * price)


def above(value: Score, other: Score | float) -> np.ndarray:
    """Whether values are larger than another by more than rounding."""
    return value > other + _ROUNDING * np.abs(other)
