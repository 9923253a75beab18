"""What the picks of a plan are worth, by plain statements: full recomputation in float64, given who is labelled."""

from dataclasses import dataclass

import numpy as np
from oracles import nearest
from scipy.spatial.distance import cdist, pdist

import macal
from macal.acquisition import PoolState
from macal.acquisition.rolling import expected_errors
from macal.metrics import rms_distance

CLOSE = 1e-9  # relative difference of gains that is rounding


@dataclass(frozen=True)
class Gain:
    """A tier, the gain within it, and the size of the numbers that the gain is made of."""

    tier: int
    value: float
    size: float

    def __truediv__(self, price):
        """Worth per price; as in the planner a product where the gain is not above 0."""
        share = 1 / price if self.value > 0 else price
        return Gain(self.tier, self.value * share, self.size * share)

    def is_close(self, other):
        """Whether rounding may decide between the two."""
        if self.tier != other.tier or not np.isfinite([self.value, other.value]).all():
            return False
        return abs(self.value - other.value) <= CLOSE * max(self.size, other.size)


class Judge:
    """Says what a purchase is worth under a criterion that has gains.

    Attributes:
        paired: whether the criterion buys pairs, one of them of the reference arm.
        whole: whether it buys whole batches.
        exact: whether units with the same covariates have the same gain to the last bit.
    """

    def __init__(self, name, parameters, x, t):
        self.name, self.x, self.t = name, np.asarray(x, np.float64), np.asarray(t)
        self.criterion = macal.get(name, **parameters)
        self.paired, self.whole = name in ("macal", "symmetry"), name == "macal-rolling"
        self.exact = name not in ("abc3", "alc-fixed")

    def gain(self, done, heads):
        """Of one unit, a pair or a batch, once ``done`` are labelled."""
        done, heads = np.asarray(done, np.int64), np.asarray(heads, np.int64)
        if self.whole:
            return self._left(np.concatenate([done, heads]))
        if self.paired and len(heads) == 2:
            return self._pair(done, *heads)
        return GAINS[self.name](self, done, heads[0])

    def _to_label(self, done, unit, groups):
        metric = getattr(self.criterion, "metric", "euclidean")
        m = float(nearest(self.x[[unit]], self.x[done[groups[done] == groups[unit]]], metric)[0])
        return Gain(0, m, m)

    def _of_arm(self, done, unit):
        return self._to_label(done, unit, self.t)

    def _of_all(self, done, unit):
        return self._to_label(done, unit, np.zeros_like(self.t))

    def _pair(self, done, one, zero):
        alpha, novelty = (self.criterion.alpha, 1.0) if self.name == "macal" else (1.0, 0.0)
        m = [gain.value for gain in (self._of_arm(done, unit) for unit in (one, zero))]
        m = [0.0 if np.isinf(value) else novelty * value for value in m]
        d = alpha * cdist(self.x[[one]], self.x[[zero]], self.criterion.metric)[0, 0]
        return Gain(0, float(sum(m) - d), float(sum(m) + d))

    def _covered(self, done, unit):
        t, radii, every = self.t, self.criterion.radii, np.arange(len(self.t))
        largest = np.float32(cdist(self.x, self.x).max()) or np.float32(1)

        def reached(source):  # of its own arm, and of the other one
            share = cdist(self.x[[source]], self.x)[0].astype(np.float32) / largest
            own, across = (radii[0], radii[2]) if t[source] else (radii[1], radii[3])
            near = share < np.where(t == t[source], np.float32(own), np.float32(across))
            return near & (every != source)

        covered = np.isin(every, done)
        for label in done[t[done] == t[unit]]:
            covered |= reached(label) & (t == t[unit])
        p, q = (reached(unit) & ~covered & (t == t[unit])).sum(), (reached(unit) & (t != t[unit])).sum()
        tier = 0 if q == 0 else 1 if p == 0 else 2
        value = float((p + self.criterion.alpha * q) * (p * q / (p + q) ** 2 if tier == 2 else 1.0))
        return Gain(tier, value, value)

    def _posterior(self, done, unit, z, targets, length):
        """Covariances of a unit's own surface with that of the targets, and its variance, given the labels."""
        own = done[self.t[done] == self.t[unit]]
        k = lambda a, b: np.exp(-cdist(z[a], z[b], "sqeuclidean") / (2 * length**2))  # noqa: E731
        told = np.linalg.solve(k(own, own) + self.criterion.noise * np.eye(len(own)), k(own, [unit, *targets]))
        left = (k([unit], [unit, *targets]) - k([unit], own) @ told)[0]
        return left[1:], left[0]

    def _alc(self, done, unit):
        sample, targets = (_drawn(self.x, most) for most in (1000, self.criterion.targets))
        apart = pdist(self.x[sample])
        unit_length = float(np.median(apart[apart > 0])) if apart.any() else 1.0
        c, v = self._posterior(done, unit, self.x, targets, self.criterion.lengthscale * unit_length)
        contrasts = 1 if self.t[unit] else max(self.t.max(), 1)
        value = float(contrasts * np.square(c).mean() / (v + self.criterion.noise))
        return Gain(0, value, value)

    def _abc3(self, done, unit):
        spread = self.x.std(axis=0)
        z, targets = self.x / np.where(spread > 0, spread, 1.0), _drawn(self.x, self.criterion.targets)
        c, v = self._posterior(done, unit, z, targets, self.criterion.lengthscale)
        value = float(np.square(c).sum() / v)
        return Gain(0, value, value)

    def _left(self, done):
        rule = self.criterion
        length = rule.lengthscale or rms_distance(self.x)
        value = expected_errors(self.x, self.t, done, [done[:0]], rule.rho, length, rule.noise)[0]
        return Gain(0, value, value)


GAINS = {
    "macal": Judge._of_arm,
    "symmetry": Judge._of_arm,
    "qhte": Judge._of_arm,
    "coreset": Judge._of_all,
    "fccm": Judge._covered,
    "alc-fixed": Judge._alc,
    "abc3": Judge._abc3,
    "macal-rolling": None,
}


def _drawn(x, most):
    """Units that stand for the pool: so many, drawn by their covariates' hashes, or all if fewer."""
    return PoolState(x, np.zeros(len(x), np.int64), np.empty(0, np.int64)).drawn(most)
