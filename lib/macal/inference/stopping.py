"""Is it enough? A rule that ends a campaign, by what is known and by what the next round is expected to bring."""

from dataclasses import dataclass

import numpy as np

from macal.arguments import hinted
from macal.inference.beliefs import EffectBelief, PosteriorSd
from macal.shapes import Outcomes


@dataclass(frozen=True)
class StoppingRule:
    """When to stop asking; with two demands both must be met.

    Attributes:
        width: stop once the interval of the average effect is at most so wide, in the outcome's unit: the one by the
            weights where people were drawn with known chances, since it is the one that may be published.
        gain: stop once the next round, if whoever it asks answers, narrows people's intervals by less than this share
            of their mean width per unit of money.

    Raises:
        ValueError: neither is given, or a number that is not above 0.

    >>> rule = StoppingRule(gain=0.001)
    >>> now, ahead = PosteriorSd(np.array([1.0, 3.0]), 0.5), PosteriorSd(np.array([0.99, 2.97]), 0.4)
    >>> rule.says(EffectBelief(np.zeros(2), now), ahead, cost=20.0)
    'enough: the next round, if all answer, narrows intervals by 0.05% per unit of money, less than 0.1%'
    """

    width: float | int | None = None
    gain: float | int | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        if not given:
            raise ValueError("a stopping rule needs a width or a gain")
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < np.inf:
                raise ValueError(f"{name} must be a number above 0, got {value!r}")

    def enough(
        self,
        now: EffectBelief,
        ahead: PosteriorSd,
        cost: float,
        weighted_width: float | None = None,
        since: PosteriorSd | None = None,
    ) -> bool:
        """Whether to stop.

        Args:
            now: the belief.
            ahead: what the next round will leave open.
            cost: of the next round, without whoever is asked already; 0 where the plan asks nobody else.
            weighted_width: width of the average effect's interval by the weights of a draw, infinite where there is
                none that one may stop by; None for the model's.
            since: what whoever is asked already will leave open, from which the next round's gain counts; by default
                what is open now.
        """
        return all(met for met, _ in self._demands(now, ahead, cost, weighted_width, since))

    def says(
        self,
        now: EffectBelief,
        ahead: PosteriorSd,
        cost: float,
        weighted_width: float | None = None,
        since: PosteriorSd | None = None,
    ) -> str:
        """Say whether to stop, and why; see :meth:`enough`."""
        demands = self._demands(now, ahead, cost, weighted_width, since)
        if all(met for met, _ in demands):
            return f"enough: {' and '.join(said for _, said in demands)}"
        head = "go on" if cost else "not enough, though the plan asks nobody else"
        return f"{head}: {' and '.join(said for met, said in demands if not met)}"

    def _demands(
        self,
        now: EffectBelief,
        ahead: PosteriorSd,
        cost: float,
        weighted_width: float | None,
        since: PosteriorSd | None,
    ) -> list[tuple[bool, str]]:
        found = []
        if self.width is not None:
            by, width = ("", now.average.width) if weighted_width is None else (" by the weights", weighted_width)
            met = width <= self.width
            told = f"the average effect's interval{by} is {width:.3g} wide, {'at most' if met else 'more than'}"
            none = "the average effect has no interval that one may stop by"
            found.append((met, f"{told} {self.width:g}" if np.isfinite(width) else none))
        if self.gain is not None and not cost:
            found.append((True, "the plan asks nobody else"))
        elif self.gain is not None:
            gain = gain_of(now.sd if since is None else since, ahead, now.weights) / cost
            met = gain < self.gain
            told = f"the next round, if all answer, narrows intervals by {100 * gain:.2g}% per unit of money"
            found.append((met, f"{told}, {'less' if met else 'not less'} than {100 * self.gain:.2g}%"))
        return found


@hinted
def gain_of(now: PosteriorSd, ahead: PosteriorSd, weights: Outcomes | None = None) -> float:
    """Share by which people's intervals become narrower, on average over people, or those they stand for, (n,)."""
    before, after = (float(np.average(sd.effects, weights=weights)) for sd in (now, ahead))
    return 1 - after / before if before else 0.0
