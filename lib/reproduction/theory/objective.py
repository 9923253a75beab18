"""The paper's batch objective (Eq. 4) with every term given a meaning, on pools small enough to try all batches.

The entropy of a set is what its labels would tell a Gaussian process, H(S) = log det(I + K_S / noise) / 2. Variance is
the posterior variance of one process per arm, averaged over the pool; the distance between the arms is the exact
1-Wasserstein distance between sets of equal size.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from macal.kernels import posterior_variance, rbf
from macal.shapes import Arms, Covariates, Distances, Indices


@dataclass(frozen=True)
class Objective:
    """Eq. 4 at one query.

    Attributes:
        x: covariates of the pool, (n, d).
        t: treatment, (n,).
        labelled: as many treated as control units.
        c: constant of the distance between the arms.
        length: length scale of the processes.
        noise: variance of a label's noise.
    """

    x: Covariates
    t: Arms
    labelled: Indices
    c: float = 1.0
    length: float = 1.0
    noise: float = 0.1

    def batches(self, arm: int, size: int) -> list[tuple[int, ...]]:
        """All batches of ``size`` free units of an arm."""
        return list(combinations(np.setdiff1d(np.flatnonzero(self.t == arm), self.labelled).tolist(), size))

    def values(self, one: list[tuple[int, ...]], zero: list[tuple[int, ...]], diversity: bool = True) -> np.ndarray:
        """Value of every treated with every control batch; without diversity, the plain shrinkage of the bound."""
        gain = [np.array([self._gain(arm, b) for b in batches]) for arm, batches in ((1, one), (0, zero))]
        entropy = [np.array([self._entropy(b) if diversity else 1.0 for b in batches]) for batches in (one, zero)]
        closer = self.distance() - np.array([[self.distance(a, b) for b in zero] for a in one])
        h1, h0 = entropy[0][:, None], entropy[1][None, :]
        return h1 * gain[0][:, None] + h0 * gain[1][None, :] + self.c * closer * h1 * h0

    def variance(self, arm: int, extra: tuple[int, ...] = ()) -> Distances:
        """Posterior variance of an arm's process at every unit of the pool, (n,)."""
        done = [*self.labelled[self.t[self.labelled] == arm], *extra]
        cross, gram = rbf(self.x, self.x[done], self.length), rbf(self.x[done], self.x[done], self.length)
        return posterior_variance(cross, gram, np.ones(len(self.x)), self.noise)

    def distance(self, one: tuple[int, ...] = (), zero: tuple[int, ...] = ()) -> float:
        """1-Wasserstein distance between the labelled arms, with more units labelled."""
        treated, control = (
            self.x[[*self.labelled[self.t[self.labelled] == arm], *extra]] for arm, extra in ((1, one), (0, zero))
        )
        cost = cdist(treated, control)
        return float(cost[linear_sum_assignment(cost)].mean())

    def _gain(self, arm: int, batch: tuple[int, ...]) -> float:
        return float((self.variance(arm) - self.variance(arm, batch)).mean())

    def _entropy(self, batch: tuple[int, ...]) -> float:
        x = self.x[list(batch)]
        return float(np.linalg.slogdet(np.eye(len(x)) + rbf(x, x, self.length) / self.noise)[1] / 2)


def greedy_batch(objective: Objective, pairs: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Grow a batch pair by pair, each the one that raises the objective most."""
    one: tuple[int, ...] = ()
    zero: tuple[int, ...] = ()
    for _ in range(pairs):
        more1, more0 = ([(*have, *u) for u in objective.batches(arm, 1) if u[0] not in have]
                        for arm, have in ((1, one), (0, zero)))  # fmt: skip
        values = objective.values(more1, more0)
        i, j = np.unravel_index(values.argmax(), values.shape)
        one, zero = more1[i], more0[j]
    return one, zero


def most_uncertain(objective: Objective, pairs: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """In each arm the unit of largest posterior variance, one after the other: what Eq. 5 stands in for."""
    chosen: list[tuple[int, ...]] = []
    for arm in (1, 0):
        have: tuple[int, ...] = ()
        for _ in range(pairs):
            variance = objective.variance(arm, have)
            have = max(
                ((*have, *u) for u in objective.batches(arm, 1) if u[0] not in have), key=lambda h: variance[h[-1]]
            )
        chosen.append(have)
    return chosen[0], chosen[1]


def share_beaten(values: np.ndarray, value: float) -> float:
    """Share of the other batches that a batch of this value beats, rounding aside: 1 for the optimum."""
    return float(np.sum(values < value - 1e-9 * np.abs(values).max()) / (values.size - 1))
