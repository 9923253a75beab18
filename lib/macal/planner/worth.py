"""What a purchase is worth: gain per cost; and what all that buy have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from macal.planner.demands import Money
from macal.planner.ledger import Ledger
from macal.shapes import Indices, Outcomes

_ROUNDING = 1e-9  # of a worth, relatively

Worths = Float[np.ndarray, "*shape"]


@dataclass(frozen=True, eq=False)
class Purchase:
    """Units that were bought at once: one or a pair, and all that came with them; and the criterion's gain."""

    units: Indices
    gain: float


class Buyer(ABC):
    """A criterion under way, which buys from a ledger."""

    @abstractmethod
    def buy(self, ledger: Ledger, room: int) -> Purchase | None:
        """Buy the best that the ledger allows, one unit or a pair; None if nothing can be bought any more.

        Args:
            ledger: says who may be bought, and is told.
            room: labels that the present round still has room for.
        """

    @abstractmethod
    def add(self, units: Indices) -> None:
        """Count units as labelled that others have bought."""

    @abstractmethod
    def ahead(self, ledger: Ledger, units: Indices) -> Indices:
        """Units that may be bought and are worth more than what was bought at once, or one of a pair in its place.

        Args:
            ledger: says who may be bought.
            units: not bought in the ledger yet; whom the rule chose first, then who came with them.
        """

    @abstractmethod
    def ceiling(self, ledger: Ledger) -> float:
        """An upper bound of the gain of any single purchase."""

    def single(self, ledger: Ledger, tier: Indices, gain: Outcomes, price: Money) -> Purchase | None:
        """Buy one unit, the one that :func:`best_unit` names among those whom the ledger allows."""
        while (unit := best_unit(ledger, tier, gain, price)) is not None:
            if len(bought := ledger.buy(np.array([unit]))):
                worth_of_unit = float(gain[unit])  # the array may follow what is added
                self.add(bought)
                return Purchase(bought, worth_of_unit)
        return None


def better(ledger: Ledger, unit: int, tier: Indices, gain: Outcomes, price: Money) -> Indices:
    """Open units that :func:`best_unit` would rather name than this one, by more than rounding."""
    value = worth(gain, price)
    higher = (tier > tier[unit]) | ((tier == tier[unit]) & above(value, value[unit]))
    return np.flatnonzero(ledger.open & higher)


def above(value: Worths, other: Worths | float) -> np.ndarray:
    """Whether values are larger than another by more than rounding."""
    return value > other + _ROUNDING * np.abs(other)


def worth(gain: Worths, price: Worths) -> Worths:
    """Gain per price; of a gain that is not above 0 the product, so that of equal gains the cheaper comes first."""
    return np.where(gain > 0, gain / price, gain * price)


def best_unit(ledger: Ledger, tier: Indices, gain: Outcomes, price: Money) -> int | None:
    """The open unit in the highest tier that is worth most; of equal ones the cheapest, then the first."""
    units = np.flatnonzero(ledger.open)
    for values in (tier, worth(gain, price), -price):
        if units.size:
            units = units[values[units] == values[units].max()]
    return int(units[0]) if units.size else None
