"""FCCM: coverage of the own and of the other arm within given radii, as its public code computes it.

A candidate is judged by how many uncovered units of its own arm it would cover (p), and by how many units of the other
arm lie within another radius (q), covered already or not. Distances are in units of the largest one of the pool.

Reference: H. Wen, T. Chen, M. Gong, L. K. Chai, S. Sadiq and H. Yin, "Enhancing Treatment Effect Estimation via Active
Learning: A Counterfactual Covering Perspective", ICML, 2025, and its public code.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from macal.acquisition.base import Planned, PoolState
from macal.arguments import NotNegative, as_hinted
from macal.compat import override
from macal.search.scores import Scores
from macal.shapes import Indices, Outcomes, Rows

_BLOCK = 2048  # units whose distances to all others are held at a time


@dataclass(frozen=True)
class FCCM(Planned):
    """Cover both arms from both sides, one unit at a time.

    With g = p + alpha q and the balance r = p q / (p + q)^2: of the candidates with p, q > 0 the one with the largest g
    r; where there is none, of those with p = 0 < q the one with the largest q; else the one with the largest p. Ties go
    to the lowest index.

    Attributes:
        alpha: weight of a unit of the other arm, at least 0.
        radii: treated to treated, control to control, treated to control and back, over the largest distance; strict.

    Raises:
        ValueError: a parameter out of range.
    """

    alpha: float = 2.5
    radii: tuple[float, float, float, float] = (0.11, 0.11, 0.11, 0.11)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radii", tuple(map(float, self.radii)))
        as_hinted({"alpha": self.alpha}, {"alpha": NotNegative})
        if len(self.radii) != 4 or not all(0 <= radius < np.inf for radius in self.radii):
            raise ValueError(f"radii must be four finite numbers of at least 0, got {self.radii}")

    @override
    def search(self, state: PoolState, price: Outcomes | None = None) -> "Cover":
        return Cover(self, state)


class Cover(Scores):
    """What each unit would cover, kept up to date while units are labelled."""

    def __init__(self, criterion: FCCM, state: PoolState) -> None:
        super().__init__(state.free)
        x, t = state.x, state.t
        self._alpha, self._x, self._arms = criterion.alpha, x, [np.flatnonzero(t == arm) for arm in (0, 1)]
        self._t, self._squares = t, np.square(x).sum(axis=1)
        (one, zero, across, back) = np.float32(criterion.radii)
        self._radius = {(1, 1): one, (0, 0): zero, (1, 0): across, (0, 1): back}
        every = np.arange(len(t))
        self._largest = max(float(self._distances(part, every).max()) for part in _parts(every)) if len(t) else 0.0
        self._covered = np.zeros(len(t), bool)
        self._own, self._other = (self._count(across) for across in (0, 1))
        self.add(state.labelled)

    @override
    def now(self) -> Outcomes:
        p, q = self._own, self._other
        self.tier = np.where(q == 0, 0, np.where(p == 0, 1, 2))
        # r first, as the public code rounds it
        return (p + self._alpha * q) * np.where(self.tier == 2, p * q / np.maximum((p + q) ** 2, 1), 1.0)

    def _count(self, across: int) -> Outcomes:
        """Units that each unit reaches in its own arm (0) or in the other one (1), itself aside, (n,)."""
        found = np.zeros(len(self._t))
        for arm, units in enumerate(self._arms):
            for part in _parts(units):
                found[part] = self._within_radius(part, self._arms[arm ^ across]).sum(axis=1)
        return found

    @override
    def add(self, units: Indices) -> None:
        """Label units: they, and those of their own arm that they reach, are covered."""
        super().add(units)
        for arm in (0, 1):
            mine, all_of_arm = units[self._t[units] == arm], self._arms[arm]
            if not mine.size:
                continue
            new = np.zeros(len(self._t), bool)
            new[mine] = True
            for part in _parts(mine):
                new[all_of_arm] |= self._within_radius(part, all_of_arm).any(axis=0)
            new &= ~self._covered
            self._covered |= new
            for part in _parts(np.flatnonzero(new)):  # a newly covered unit no longer counts
                self._own[all_of_arm] -= self._within_radius(part, all_of_arm).sum(axis=0)

    def _within_radius(self, sources: Rows, targets: Indices) -> Bool[np.ndarray, "p k"]:
        """Whether each source, all of one arm, reaches each target, all of one arm."""
        if not len(sources) or not len(targets):
            return np.zeros((len(sources), len(targets)), bool)
        radius = self._radius[int(self._t[sources[0]]), int(self._t[targets[0]])]
        share = self._distances(sources, targets).astype(np.float32)
        share /= np.float32(self._largest) or np.float32(1)
        return (share < radius) & (sources[:, None] != targets)

    def _distances(self, sources: Rows, targets: Indices) -> Float[np.ndarray, "p k"]:
        squared = self._x[sources] @ (-2 * self._x[targets].T)
        squared += self._squares[sources, None]
        squared += self._squares[targets]
        return np.sqrt(squared.clip(min=0, out=squared), out=squared)


def _parts(units: Indices) -> list[Indices]:
    return [units[k : k + _BLOCK] for k in range(0, len(units), _BLOCK)]
