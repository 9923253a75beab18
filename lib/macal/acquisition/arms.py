"""How far the units of one arm are from its labels: upper bounds for all of them, exact values for a short list.

*Profiles.* Units of an arm with the same covariates are one *profile*, however many they are: the search is over
profiles ("rows"), and a pick takes the lowest free unit of its profile. A profile with a label is at distance 0 from
the labels until its last unit is taken.

*Bounds.* Distances between many rows come from float32 matrix products, d2(a, b) = |a|^2 + |b|^2 - 2 a.b, which are
fast and inexact. They are therefore never trusted, only bounded. With unit roundoff u, a product of d + 2 terms errs by
at most (d + 3) u times the sum of their magnitudes, whatever the order of summation, and rounding the (centred)
covariates to float32 adds less than 5 u: together less than eta (|a|^2 + |b|^2), eta = 2 u (d + 8). Shrinking the two
squared norms by eta yields lower bounds, stretching them upper bounds, at no cost.

*Exact values.* What decides a pick is computed from float64 covariates by direct differences, whose squares are added
in an order that depends on their number alone (:func:`folded`). So the same two rows have the same distance whatever
the processor, the number of threads, or the moment of the campaign, and equal scores are equal to the last bit: of
equally good picks the one with the lowest unit is taken, and a campaign that is resumed goes on as if it had not been
stopped.

Covariates are first divided by a power of two so that the largest is about 1: exact, harmless to every comparison of
scores, and safe from overflow.
"""

from hashlib import blake2b
from typing import Any

import numpy as np
import torch

from macal.shapes import Arms, Covariates, Indices, Rows

SHORT = 256  # rows on a short list
TINY = 1e-30  # of a squared distance, where the largest covariate is about 1: more than float32 underflow can hide
_ELEMENTS = 2**22  # of the largest intermediate array
_NONE = np.iinfo(np.int64).max  # in the place of a unit where there is none


def power_of_two(x: np.ndarray) -> float:
    """The power of two that brings the largest magnitude of ``x`` to about 1."""
    return float(np.ldexp(1.0, -np.frexp(max(x.max(initial=0.0), -x.min(initial=0.0)))[1].clip(-1000, 1000)))


def matmul_dtype() -> torch.dtype:
    """Float32, or float64 where PyTorch has been told to cut corners in float32 products (TF32, bfloat16)."""
    return torch.float32 if torch.get_float32_matmul_precision() == "highest" else torch.float64


def profiles(x: Covariates) -> tuple[Rows, Arms]:
    """The rows of ``x`` (n, d) that equal none before them, (p,), and which of those each row equals, (n,)."""
    x = np.ascontiguousarray(x + 0.0)  # -0 is 0
    seen: dict[bytes, int] = {}
    names = (blake2b(row, digest_size=16).digest() for row in x)
    which = np.fromiter((seen.setdefault(name, len(seen)) for name in names), np.int64, len(x))
    return np.unique(which, return_index=True)[1], which


def folded(squares: Any) -> Any:
    """Sum over the last axis, (..., d) -> (...), in an order that depends on d alone; ``squares`` are overwritten.

    Libraries sum in the order that suits a processor, and sums of the same numbers then differ in the last bit. Here
    halves are added element by element, in NumPy and PyTorch alike.
    """
    width = squares.shape[-1]
    while width > 1:
        half = width // 2
        squares[..., :half] += squares[..., width - half : width]
        width -= half
    return squares[..., 0]


class Arm:
    """One arm of a campaign under way, p profiles of n units.

    Attributes:
        x: scaled covariates of the profiles, (p, d) float64, on the device.
        first: lowest free unit of each profile, (p,), as the units are called outside.
        free: which profiles have a free unit, (p,) bool, on the device.
        n_free: free units.
        bound: upper bound of the distance to the nearest label, (p,) float64, on the device; infinite without labels.
        labelled: rows that carry a label, in the order in which they came.
        watched: rows whose exact distances are kept on the host, always up to date, (k,) ascending.
        m: those distances, (k,) float64; minus infinity once no unit of a row is free.
    """

    def __init__(
        self,
        x: Covariates,
        members: np.ndarray,
        labelled: Indices,
        scale: float,
        centre: np.ndarray,
        squared: bool,
        device: str,
    ) -> None:
        units, self.squared = np.flatnonzero(members), squared
        rows, which = profiles(x[units])
        self.x = torch.as_tensor(x[units[rows]], dtype=torch.float64, device=device).mul_(scale)
        z = (self.x - torch.as_tensor(centre, device=device)).to(matmul_dtype())
        self.eta = torch.finfo(z.dtype).eps * (z.shape[1] + 8)
        self.norm = torch.linalg.vector_norm(z, dim=1, dtype=torch.float64).square_()
        low = (self.norm * (1 - self.eta) - TINY).to(z.dtype)[:, None]
        self.right = torch.cat([z, torch.ones_like(low), low], 1)  # (p, d + 2)
        self.bound = torch.full((len(rows),), torch.inf, dtype=torch.float64, device=device)
        done = np.isin(units, labelled)
        self.labelled = np.unique(which[done]).tolist()
        self._carries = np.isin(np.arange(len(rows)), self.labelled)
        self._queue(units[~done], which[~done], len(rows), device)
        self._absorbed, self._labels = 0, self.left(torch.empty(0, dtype=torch.long, device=device))
        self.watch(torch.empty(0, dtype=torch.long, device=device))

    def _queue(self, units: Indices, which: Indices, p: int, device: str) -> None:
        """Line up the free units of each profile, ascending."""
        self._units = np.append(units[which.argsort(kind="stable")], _NONE)
        count = np.bincount(which, minlength=p)
        self._end = count.cumsum()
        self._next = self._end - count
        self.first = np.where(count > 0, self._units[self._next], _NONE)
        self.free = torch.as_tensor(count > 0, device=device)
        self.n_free = len(units)

    def left(self, rows: torch.Tensor) -> torch.Tensor:
        """Factor (k, d + 2) such that ``left(rows) @ other.right.T`` bounds squared distances from below."""
        right = self.right[rows]
        return torch.cat([-2 * right[:, :-2], right[:, -1:], right[:, -2:-1]], 1)

    def distance(self, a: torch.Tensor, b: torch.Tensor) -> np.ndarray:
        """Distances in the campaign's metric from float64 differences, (k,)."""
        return self._metric(folded((a - b).square_()).cpu().numpy())

    def _metric(self, d2: np.ndarray) -> np.ndarray:
        """Distances of squared ones, by NumPy's root, which is rounded right; PyTorch's may be a last bit off."""
        return d2.copy() if self.squared else np.sqrt(d2)

    def take(self, k: int) -> int:
        """Label the first unit of the k-th watched row and return it.

        Watched distances follow now, bounds when asked for.
        """
        row = int(self.watched[k])
        unit = int(self.first[row])
        if not self._carries[row]:
            self._label(row, k)
        self._next[row] += 1
        self.n_free -= 1
        if self._next[row] < self._end[row]:
            self.first[row] = self._units[self._next[row]]
        else:
            self.first[row], self.m[k], self._d2[k] = _NONE, -np.inf, -np.inf
            self.free[row] = False
        return unit

    def _label(self, row: int, k: int) -> None:
        near = np.flatnonzero(
            self._right @ self._left[k] <= self._d2
        )  # for the others float32 suffices: nothing changes
        self._d2[near] = np.minimum(self._d2[near], folded(np.square(self._watched_x[near] - self._watched_x[k])))
        self.m[near] = self._metric(self._d2[near])
        self.labelled.append(row)
        self._carries[row] = True

    def absorb(self) -> None:
        """Bring the bounds up to date with the labels."""
        new = torch.tensor(self.labelled[self._absorbed :], device=self.x.device)
        if not len(new):
            return
        self._absorbed = len(self.labelled)
        left = self.left(new)
        self._labels = torch.cat([self._labels, left])
        left[:, -2] += 2 * (self.eta * self.norm[new] + TINY).to(
            left.dtype
        )  # half of the way from a lower bound to an upper one
        step = max(1, _ELEMENTS // len(new))
        for i in range(0, len(self.x), step):
            part = slice(i, i + step)
            high = (self.right[part] @ left.T).amin(1) + 2 * (self.eta * self.norm[part] + TINY)
            high = (high if self.squared else high.clamp_(min=0).sqrt_()) * (1 + self.eta)
            self.bound[part] = torch.minimum(self.bound[part], high)

    def nearest(self, rows: torch.Tensor) -> torch.Tensor:
        """Squared float64 distance from each row to its nearest label, (k,); infinite without labels."""
        self.absorb()
        out = torch.full((len(rows),), torch.inf, dtype=torch.float64, device=self.x.device)
        if not (len(rows) and self.labelled):
            return out
        labels = torch.tensor(self.labelled, device=self.x.device)
        slack = 4 * (self.eta * (self.norm[rows] + self.norm[labels].max()) + TINY)
        step = max(1, _ELEMENTS // (len(labels) + self.x.shape[1]))
        for i in range(0, len(rows), step):
            part = slice(i, i + step)
            low = self.right[rows[part]] @ self._labels.T
            candidates = low <= (low.amin(1) + slack[part])[:, None]  # no other label can be the nearest
            near, label = candidates.nonzero(as_tuple=True)
            for k, j in zip(near.split(step), label.split(step), strict=True):
                d2 = folded((self.x[rows[part][k]] - self.x[labels[j]]).square_())
                out[part].scatter_reduce_(0, k, d2, "amin")
        return out

    def watch(self, rows: torch.Tensor) -> None:
        """Keep the exact distances of these free rows (ascending), and of no others."""
        self._d2 = self.nearest(rows).cpu().numpy()
        self.m = self._metric(self._d2)
        self.bound[rows] = torch.minimum(self.bound[rows], torch.as_tensor(self.m, device=self.bound.device))
        self.watched, self._watched_x = rows.cpu().numpy(), self.x[rows].cpu().numpy()
        self._left, self._right = self.left(rows).cpu().numpy(), self.right[rows].cpu().numpy()
        self._cut = np.inf, _NONE

    def farthest(self) -> tuple[float, int]:
        """Find the free row that is farthest from the labels: how far it is, and its place among the watched.

        Of equally far rows, the one with the lowest unit. There must be a free row. ``_cut`` says how far a row outside
        the short list may be, and which unit such a row begins with: whoever on the list comes before is the pick.
        """
        while True:
            if len(self.m):
                m = self.m.max()
                ties = np.flatnonzero(self.m == m)
                k = int(ties[self.first[self.watched[ties]].argmin()])
                if before(float(m), int(self.first[self.watched[k]]), self._cut):
                    return float(m), k
            self.absorb()
            n_rows = int(self.free.sum())
            rows, cut = highest(torch.where(self.free, self.bound, -torch.inf), min(SHORT, n_rows), self.first)
            self.watch(rows)
            self._cut = cut


def before(score: float, first: int, cut: tuple[float, int]) -> bool:
    """Whether a pick of this score and first unit comes before all that a cut stands for."""
    return score > cut[0] or (score == cut[0] and first < cut[1])


def highest(bound: torch.Tensor, k: int, first: Indices) -> tuple[torch.Tensor, tuple[float, int]]:
    """Return the places of the k highest bounds, ascending, and the cut: bound and first unit of the next one.

    Among equal bounds the lower first unit comes first. The cut is minus infinity where there is no other.
    """
    if len(bound) <= k:
        return torch.arange(len(bound), device=bound.device), (-np.inf, _NONE)
    order = torch.as_tensor(first, device=bound.device)
    values = torch.topk(bound, k + 1).values
    tied = (bound == values[k - 1]).nonzero()[:, 0]
    sure = (bound > values[k - 1]).nonzero()[:, 0]
    taken = torch.zeros(len(bound), dtype=torch.bool, device=bound.device)
    taken[sure] = taken[tied[order[tied].topk(k - len(sure), largest=False).indices]] = True
    others = order[(bound == values[k]) & ~taken]
    return taken.nonzero()[:, 0], (float(values[k]), int(others.min()))


def split_arms(x: Covariates, groups: Arms, labelled: Indices, metric: str, device: str) -> list[Arm]:
    """One arm for each value of ``groups``, ascending."""
    scale = power_of_two(x)
    centre = (x.mean(axis=0, dtype=np.longdouble) * scale).astype(np.float64)  # a sum of doubles may overflow
    return [
        Arm(x, groups == group, labelled, scale, centre, metric == "sqeuclidean", device) for group in np.unique(groups)
    ]


def farthest_first(arms: list[Arm], size: int) -> list[int]:
    """Units picked one by one, each the farthest from the labels of its own arm (Eq. 5 of the paper, over all arms).

    Of equally far units, the lowest.
    """
    picks: list[int] = []
    while len(picks) < size and any(arm.n_free for arm in arms):
        found = [(*arm.farthest(), arm) for arm in arms if arm.n_free]
        _, k, arm = max(found, key=lambda f: (f[0], -f[2].first[f[2].watched[f[1]]]))
        picks.append(arm.take(k))
    return picks
