"""How a Gaussian process's posterior variance falls while units of a pool are labelled (Lemmas 2 and 4 of the paper).

Hyperparameters are fixed, and variance is averaged over a pool that stays the same, labelled units included.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve

from macal.kernels import posterior_variance, rbf
from macal.metrics import nearest_distance
from macal.shapes import Covariates, Distances, UnitIndices, Variances
from reproduction.theory.shapes import PerStep, Places, PoolGram

Rule = Callable[[Variances, UnitIndices, int], UnitIndices]

_KNOWN = 1e-12  # share of the prior variance below which a noiseless label can teach nothing but rounding errors


class Belief:
    """A Gaussian process over a pool, conditioned label by label: v(x) falls by c(x, z)^2 / (v(z) + noise)."""

    def __init__(self, kernel: PoolGram, noise: float = 0.0) -> None:
        self.kernel, self.noise = kernel, noise
        self.variance = kernel.diagonal().copy()
        self._factor = np.empty((len(kernel), 0))

    def label(self, unit: int) -> None:
        """Condition on one more noisy label of a unit, which may have labels already."""
        left = self.variance[unit]
        if self.noise > 0 or left > _KNOWN * self.kernel[unit, unit]:
            column = self.kernel[:, unit] - self._factor @ self._factor[unit]
            column /= np.sqrt(left + self.noise)
            self._factor = np.column_stack([self._factor, column])
            self.variance = np.maximum(self.variance - column**2, 0.0)
        if self.noise == 0:
            self.variance[unit] = 0.0


def most_uncertain(variance: Variances, free: UnitIndices, batch: int) -> UnitIndices:
    """The free units of largest variance, all judged before any of them is labelled: Lemma 2's rule."""
    return free[np.argsort(-variance[free], kind="stable")[:batch]]


def at_random(rng: np.random.Generator) -> Rule:
    """Return the rule that draws free units."""
    return lambda variance, free, batch: rng.choice(free, batch, replace=False)


def farthest_first(x: Covariates) -> Rule:
    """Return the rule that takes the free unit farthest from all labels, one after the other (Eq. 5)."""

    def rule(variance: Variances, free: UnitIndices, batch: int) -> UnitIndices:
        m, picks = nearest_distance(x, np.delete(x, free, axis=0)), []
        for _ in range(batch):
            picks.append(free[m[free].argmax()])
            m = np.minimum(m, nearest_distance(x, x[picks[-1:]]))
        return np.array(picks)

    return rule


@dataclass(frozen=True)
class VarianceCampaign:
    """A campaign of labels, and the variance that it leaves.

    Attributes:
        picks: units of every step; the start comes first.
        variances: posterior variance of every unit after the start and after every step, (steps + 1, n).
    """

    picks: list[UnitIndices]
    variances: Float[np.ndarray, "steps n"]

    @property
    def mean(self) -> PerStep:
        """Variance averaged over the whole pool, (steps + 1,)."""
        return self.variances.mean(axis=1)


def campaign(
    kernel: PoolGram, start: UnitIndices, batch: int, steps: int, noise: float = 0.0, rule: Rule = most_uncertain
) -> VarianceCampaign:
    """Label units of a pool in batches, none of them twice.

    Args:
        kernel: prior covariance of the pool, (n, n).
        start: units labelled before the first step; may be empty.
        batch: labels per step.
        steps: number of steps.
        noise: variance of a label's noise.
        rule: called with the variances, the free units and the batch size, returns the picks.

    Raises:
        ValueError: more labels than the pool has free units.
    """
    if len(start) + steps * batch > len(kernel):
        raise ValueError(f"{steps} steps of {batch} need more than the {len(kernel) - len(start)} free units")
    belief, picks, path = Belief(kernel, noise), [np.asarray(start, np.int64)], []
    for step in range(steps + 1):
        if step:
            free = np.setdiff1d(np.arange(len(kernel)), np.concatenate(picks))
            picks.append(rule(belief.variance, free, batch))
        for unit in picks[-1]:
            belief.label(int(unit))
        path.append(belief.variance.copy())
    return VarianceCampaign(picks, np.array(path))


def repaired_bound(run: VarianceCampaign, noise: float = 0.0, prior: float = 1.0) -> PerStep:
    """Upper bound of the mean variance under Lemma 2's rule, and of its expectation where labels are drawn at random.

    (S + T (1 - i b / U) + i b q) / n: S and T are the sums over units labelled and free at the start, U the number of
    the latter, b the batch size and q = s noise / (s + noise) what one label leaves of the prior variance s.

    Args:
        run: where S, T and U come from, and the number of steps.
        noise: variance of a label's noise; with 0 the bound is linear in i, and ends at 0 with the last unit.
        prior: s, the prior variance of every unit, or an upper bound of it.
    """
    first, start = run.variances[0], run.picks[0]
    labels = np.cumsum([0, *map(len, run.picks[1:])])
    known, free = first[start].sum(), np.delete(first, start).sum()
    left = prior * noise / (prior + noise)
    return (known + free * (1 - labels / (len(first) - len(start))) + labels * left) / len(first)


def geometric_bound(run: VarianceCampaign) -> PerStep:
    """Lemma 2's own bound: the start's mean variance times (1 - b / n)^i."""
    batch = len(run.picks[1])
    return run.mean[0] * (1 - batch / run.variances.shape[1]) ** np.arange(len(run.mean))


def claimed_drop(run: VarianceCampaign, prior: float = 1.0) -> float:
    """What Lemma 2's proof says that every step takes off the mean variance: b / n times the signal variance."""
    return prior * len(run.picks[1]) / run.variances.shape[1]


def one_neighbour_bound(
    distance: Distances, lengthscale: float = 1.0, noise: float = 0.0, prior: float = 1.0
) -> Variances:
    """Largest variance that an RBF process of this signal variance can have so far from its nearest label, (n,)."""
    return prior - prior**2 * np.exp(-((distance / lengthscale) ** 2)) / (prior + noise)


def floor_of_any_design(kernel: PoolGram, noise: float, labels: np.ndarray) -> np.ndarray:
    """No design of so many labels, repeated or not, has a smaller mean variance: n / (tr K^-1 + labels / noise)."""
    inverse = cho_solve(cho_factor(kernel), np.eye(len(kernel)))
    return len(kernel) / (np.trace(inverse) + np.asarray(labels) / noise)


def relabelled(kernel: PoolGram, labels: int, noise: float) -> PerStep:
    """Mean variance after each of so many labels, the most uncertain unit every time, as often as it takes.

    Ties, to 12 decimals, go to the first unit.
    """
    belief, mean = Belief(kernel, noise), []
    for _ in range(labels):
        belief.label(int(belief.variance.round(12).argmax()))
        mean.append(belief.variance.mean())
    return np.array(mean)


def gap_variance(gap: np.ndarray) -> np.ndarray:
    """Mean variance of an exponential kernel between two neighbouring noiseless labels: coth(gap) - 1 / gap.

    Args:
        gap: distance between the labels over the length scale, above 0.
    """
    gap = np.asarray(gap, float)
    return np.where(gap < 1e-3, gap / 3 - gap**3 / 45, 1 / np.tanh(gap) - 1 / gap)


def line_variance(places: Places, length: float) -> float:
    """Variance of an exponential kernel of length scale 1, averaged over [0, length], given noiseless labels.

    Args:
        places: of the labels, in [0, length], at least one, (m,).
        length: of the line.
    """
    places = np.sort(places)
    gaps, ends = np.diff(places), np.array([places[0], length - places[-1]])
    inner = gaps[gaps > 0] @ gap_variance(gaps[gaps > 0])
    return float((inner + np.sum(ends + np.expm1(-2 * ends) / 2)) / length)


def least_line_variance(labels: np.ndarray, length: float) -> np.ndarray:
    """No design of so many labels has a smaller :func:`line_variance`: labels at both ends for free, all gaps equal."""
    return gap_variance(length / (np.asarray(labels) + 1))


def fitted_lengthscale(x: Places, y: Places, grid: Places, noise: float) -> float:
    """Length scale of largest marginal likelihood among those of a grid; RBF kernel, signal variance 1."""

    def cost(lengthscale: float) -> float:
        gram = rbf(x[:, None], x[:, None], lengthscale) + noise * np.eye(len(x))
        lower, _ = factor = cho_factor(gram, lower=True)
        return float(y @ cho_solve(factor, y) / 2 + np.log(lower.diagonal()).sum())

    return float(min(grid, key=cost))


def line_posterior(x: Places, targets: Places, lengthscale: float, noise: float) -> Places:
    """Posterior variance of an RBF process of signal variance 1 on a line, at the targets."""
    x, targets = x[:, None], targets[:, None]
    return posterior_variance(rbf(targets, x, lengthscale), rbf(x, x, lengthscale), np.ones(len(targets)), noise)
