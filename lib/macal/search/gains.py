"""What a label of each unit is worth now, and whom that puts first: gain per cost among those who may be bought."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from macal.compat import override
from macal.search.nearest import Arm
from macal.shapes import Indices, Outcomes, Rows

_ROUNDING = 1e-9  # of a gain per cost, relatively

Gain = Float[np.ndarray, "*shape"]


class Gains(ABC):
    """Gains of all units, which follow every purchase; two are equal within the share ``rounding``."""

    rounding: ClassVar[float] = 0.0

    @abstractmethod
    def now(self) -> tuple[Indices, Outcomes]:
        """Tier and gain of each unit, (n,) each: whoever is in a higher tier comes first, whatever their gain."""

    @abstractmethod
    def add(self, units: Indices) -> None:
        """Count units as labelled."""


class Nearest(Gains):
    """Distance from each of n units to the nearest label of its own arm; in the arms every unit is a row."""

    def __init__(self, arms: Sequence[Arm], n: int) -> None:
        self._arms, self._arm = arms, np.empty(n, np.int64)
        for k, arm in enumerate(arms):
            self._arm[arm.units] = k

    @override
    def now(self) -> tuple[Indices, Outcomes]:
        """Infinite in an arm without labels."""
        gain = np.empty(len(self._arm))
        for arm in self._arms:
            gain[arm.units] = arm.short.m
        return np.zeros(len(gain), np.int64), gain

    @override
    def add(self, units: Indices) -> None:
        for unit in units.tolist():
            self._arms[self._arm[unit]].label(unit)


def gain_per_cost(gain: Gain, price: Gain) -> Gain:
    """Gain per price; of a gain that is not above 0 the product, so that of equal gains the cheaper comes first."""
    return np.where(gain > 0, gain / price, gain * price)


def above(value: Gain, other: Gain | float) -> np.ndarray:
    """Whether values are larger than another by more than rounding."""
    return value > other + _ROUNDING * np.abs(other)


def least_of_ties(top: float, rounding: float) -> float:
    """The least value that equals the largest within rounding."""
    return top - rounding * abs(top) if np.isfinite(top) else top


def best_unit(may: np.ndarray, tier: Indices, gain: Outcomes, price: Outcomes, rounding: float = 0.0) -> int | None:
    """The unit that is worth most in the highest tier of those that may be bought, (n,); of equal ones the cheapest."""
    units = np.flatnonzero(may)
    for values, within in ((tier, 0.0), (gain_per_cost(gain, price), rounding), (-price, 0.0)):
        if units.size:
            units = units[values[units] >= least_of_ties(float(values[units].max()), within)]
    return int(units[0]) if units.size else None


def better(may: np.ndarray, unit: int, tier: Indices, gain: Outcomes, price: Outcomes) -> Rows:
    """Units of those that may be bought whom :func:`best_unit` would rather name than this one, beyond rounding."""
    value = gain_per_cost(gain, price)
    return np.flatnonzero(may & ((tier > tier[unit]) | ((tier == tier[unit]) & above(value, value[unit]))))
