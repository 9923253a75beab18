"""FCCM: coverage of the own and of the other arm within given radii, as its public code computes it.

A candidate is judged by how many uncovered units of its own arm it would cover (p), and by how many units of the other
arm lie within another radius (q), covered already or not. Distances are in units of the largest one of the pool.

Reference: H. Wen, T. Chen, M. Gong, L. K. Chai, S. Sadiq and H. Yin, "Enhancing Treatment Effect Estimation via Active
Learning: A Counterfactual Covering Perspective", ICML, 2025, and its public code.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from macal.acquisition.base import Planned, PoolState
from macal.arguments import NotNegative, as_hinted
from macal.compat import override
from macal.search.gains import Gains
from macal.shapes import Arms, Covariates, Indices, Outcomes, Rows

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
    def gains(self, state: PoolState) -> Gains:
        return _Covered(self, state)

    @override
    def plan(self, state: PoolState, sizes: Iterable[int]) -> Iterator[Indices]:
        cover = Cover(state.x, state.t, self.radii)
        cover.add(state.labelled)
        for size in sizes:
            picks = [cover.add(unit) for _ in range(size) if (unit := self._best(cover)) is not None]
            if not picks:
                return
            yield np.concatenate(picks)

    def _best(self, cover: "Cover") -> Indices | None:
        free = np.flatnonzero(cover.free)
        if not free.size:
            return None
        tier, value = self.gain(cover, free)
        first = np.lexsort([-value, -tier])[0]  # stable: of equal values the lowest index
        return free[[first]]

    def gain(self, cover: "Cover", units: Indices) -> tuple[Indices, Outcomes]:
        """Tier of each of k units, 2 before 1 before 0, and its value within the tier, (k,) each."""
        p, q = cover.own[units], cover.other[units]
        tier = np.where(q == 0, 0, np.where(p == 0, 1, 2))
        # r first, as the public code rounds it
        return tier, (p + self.alpha * q) * np.where(tier == 2, p * q / np.maximum((p + q) ** 2, 1), 1.0)


class Cover:
    """What each unit would cover, kept up to date while units are labelled.

    Attributes:
        free: units that are not labelled, (n,).
        own: p of each unit, (n,), float.
        other: q of each unit, (n,), float.
    """

    def __init__(self, x: Covariates, t: Arms, radii: tuple[float, ...]) -> None:
        self._x, self._arms = x, [np.flatnonzero(t == arm) for arm in (0, 1)]
        self._t, self._squares = t, np.square(x).sum(axis=1)
        (one, zero, across, back) = np.float32(radii)
        self._radius = {(1, 1): one, (0, 0): zero, (1, 0): across, (0, 1): back}
        every = np.arange(len(t))
        self._largest = max(float(self._distances(part, every).max()) for part in _parts(every)) if len(t) else 0.0
        self.free, self._covered = np.ones(len(t), bool), np.zeros(len(t), bool)
        self.own, self.other = (self._count(across) for across in (0, 1))

    def _count(self, across: int) -> Outcomes:
        """Units that each unit reaches in its own arm (0) or in the other one (1), itself aside, (n,)."""
        found = np.zeros(len(self._t))
        for arm, units in enumerate(self._arms):
            for part in _parts(units):
                found[part] = self._reach(part, self._arms[arm ^ across]).sum(axis=1)
        return found

    def add(self, units: Indices) -> Indices:
        """Label units: they, and those of their own arm that they reach, are covered; return them."""
        self.free[units] = False
        for arm in (0, 1):
            mine, all_of_arm = units[self._t[units] == arm], self._arms[arm]
            if not mine.size:
                continue
            new = np.zeros(len(self._t), bool)
            new[mine] = True
            for part in _parts(mine):
                new[all_of_arm] |= self._reach(part, all_of_arm).any(axis=0)
            new &= ~self._covered
            self._covered |= new
            for part in _parts(np.flatnonzero(new)):  # a newly covered unit counts for nobody any more
                self.own[all_of_arm] -= self._reach(part, all_of_arm).sum(axis=0)
        return units

    def _reach(self, sources: Rows, targets: Indices) -> Bool[np.ndarray, "p k"]:
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


class _Covered(Gains):
    def __init__(self, criterion: FCCM, state: PoolState) -> None:
        self._criterion, self._every = criterion, np.arange(len(state.t))
        self._cover = Cover(state.x, state.t, criterion.radii)
        self._cover.add(state.labelled)

    def now(self) -> tuple[Indices, Outcomes]:
        return self._criterion.gain(self._cover, self._every)

    def add(self, units: Indices) -> None:
        self._cover.add(units)


def _parts(units: Indices) -> list[Indices]:
    return [units[k : k + _BLOCK] for k in range(0, len(units), _BLOCK)]
