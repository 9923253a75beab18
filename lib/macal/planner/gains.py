"""What a label of each unit is worth now, by the criteria that choose one unit at a time.

A criterion that is to plan under costs registers here how its gains are computed; :func:`gains_of` finds it. One that
draws at random has none.
"""

from abc import ABC, abstractmethod
from functools import singledispatch

import numpy as np

from macal.acquisition import Criterion, PoolState
from macal.acquisition.coverage import FCCM, Cover
from macal.acquisition.design import ABC3, FixedALC
from macal.acquisition.distances import QHTE, CoreSet
from macal.acquisition.rows import folded, power_of_two
from macal.shapes import Arms, Covariates, Indices, Outcomes

_ELEMENTS = 2**22  # of the largest intermediate array


class Gains(ABC):
    """Gains of all units, which follow every purchase."""

    @abstractmethod
    def now(self) -> tuple[Indices, Outcomes]:
        """Tier and gain of each unit, (n,) each: whoever is in a higher tier comes first, whatever her gain."""

    @abstractmethod
    def add(self, units: Indices) -> None:
        """Count units as labelled."""


@singledispatch
def gains_of(criterion: Criterion, state: PoolState) -> Gains:
    """Begin to keep a criterion's gains.

    Raises:
        ValueError: the criterion says only whom it would choose, not what each unit is worth.
    """
    raise ValueError(
        f"{type(criterion).__name__} does not say what each unit is worth, so it cannot plan under these demands; take"
        " 'macal', 'symmetry', 'qhte', 'coreset', 'fccm', 'abc3' or 'alc-fixed', or one that draws, such as"
        " 'random-balanced'"
    )


class Nearest(Gains):
    """Distance from each unit to the nearest label of its own group.

    Exact to the last bit, as in :mod:`macal.acquisition.arms`; a product of matrices tells which distances may fall.

    Attributes:
        x: scaled covariates, (n, d).
        z: the same, centred, for products.
        is_squared: whether distances are squared.

    Args:
        x: covariates, (n, d).
        groups: of the units, (n,).
        labelled: indices of the labels.
        squared: whether distances are squared.
    """

    def __init__(self, x: Covariates, groups: Arms, labelled: Indices, squared: bool = False) -> None:
        self.x = x * power_of_two(x)
        self.z = self.x - self.x.mean(axis=0)
        self._blurred = 4 * np.finfo(float).eps * (x.shape[1] + 8)  # of the two squared lengths
        self._groups, self.is_squared, self._own = groups, squared, {}
        for group in np.unique(groups):  # units, their rows of z, and the squared lengths of these
            units = np.flatnonzero(groups == group)
            z = self.z[units]
            self._own[group] = units, z, np.einsum("nd,nd->n", z, z)
        self._d2 = np.full(len(x), np.inf)
        self.add(labelled)

    def metric(self, d2: np.ndarray) -> np.ndarray:
        """Distances of squared ones, of any shape."""
        return d2 if self.is_squared else np.sqrt(d2)

    def exactly(self, units: np.ndarray | int, others: np.ndarray) -> np.ndarray:
        """Squared distances by differences between units and others, of the shape to which the two broadcast."""
        a, b = np.broadcast_arrays(units, others)
        count = 1 + a.size * self.x.shape[1] // _ELEMENTS
        parts = zip(np.array_split(a.ravel(), count), np.array_split(b.ravel(), count), strict=True)
        # copied: what folded returns keeps all the differences in memory
        return np.concatenate([folded(np.square(self.x[v] - self.x[u])).copy() for u, v in parts]).reshape(a.shape)

    def now(self) -> tuple[Indices, Outcomes]:
        """See :meth:`Gains.now`; infinite in a group without labels."""
        return np.zeros(len(self._d2), np.int64), self.metric(self._d2)

    def add(self, units: Indices) -> None:
        """See :meth:`Gains.add`."""
        for unit in units.tolist():
            own, z, norm = self._own[self._groups[unit]]
            # |a|^2 + |b|^2 - 2 a.b, less what it may be off: (1 - blurred) (|a|^2 + |b|^2) - 2 a.b
            low = (1 - self._blurred) * (norm + self.z[unit] @ self.z[unit]) - 2 * (z @ self.z[unit])
            near = own[low <= self._d2[own]]
            self._d2[near] = np.minimum(self._d2[near], self.exactly(unit, near))


@gains_of.register
def _(criterion: QHTE, state: PoolState) -> Gains:
    return Nearest(state.x, state.t, state.labelled)


@gains_of.register
def _(criterion: CoreSet, state: PoolState) -> Gains:
    return Nearest(state.x, np.zeros_like(state.t), state.labelled)


class _Covered(Gains):
    def __init__(self, criterion: FCCM, state: PoolState) -> None:
        self._criterion, self._every = criterion, np.arange(len(state.t))
        self._cover = Cover(state.x, state.t, criterion.radii)
        self._cover.add(state.labelled)

    def now(self) -> tuple[Indices, Outcomes]:
        return self._criterion.gain(self._cover, self._every)

    def add(self, units: Indices) -> None:
        self._cover.add(units)


gains_of.register(FCCM)(_Covered)


class _Designed(Gains):
    def __init__(self, criterion: ABC3 | FixedALC, state: PoolState) -> None:
        self._criterion, self._knowledge, self._n = criterion, criterion.knowledge(state), len(state.t)

    def now(self) -> tuple[Indices, Outcomes]:
        gain = np.zeros(self._n)
        for arm in range(len(self._knowledge.units)):
            gain[self._knowledge.units[arm]] = self._criterion.gain(self._knowledge, arm)
        return np.zeros(self._n, np.int64), gain

    def add(self, units: Indices) -> None:
        for unit in units.tolist():
            self._knowledge.label(unit)


for _design in (ABC3, FixedALC):
    gains_of.register(_design)(_Designed)
