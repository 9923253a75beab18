"""How far the units of one arm are from its labels: upper bounds for all of them, exact values for a short list.

Distances between many units come from float32 matrix products, d2(a, b) = |a|^2 + |b|^2 - 2 a.b, which are fast and
inexact. They are therefore never trusted, only bounded. With unit roundoff u, a product of d + 2 terms errs by at most
(d + 3) u times the sum of their magnitudes, whatever the order of summation, and rounding the (centred) covariates to
float32 adds less than 5 u: together less than eta (|a|^2 + |b|^2), eta = 2 u (d + 8). Shrinking the two squared norms
by eta yields lower bounds, stretching them upper bounds, at no cost. What decides a pick is computed from float64
covariates by direct differences.

Covariates are first divided by a power of two so that the largest is about 1: exact, harmless to every comparison of
scores, and safe from overflow. Units of an arm go by their position in it ("rows") until a pick leaves the engine.
"""

import numpy as np
import torch

from macal.shapes import Arms, Covariates, Indices

SHORT = 256  # rows on a short list
TINY = 1e-30  # of a squared distance, where the largest covariate is about 1: more than float32 underflow can hide
_ELEMENTS = 2**22  # of the largest intermediate array


def power_of_two(x: np.ndarray) -> float:
    """The power of two that brings the largest magnitude of ``x`` to about 1."""
    return float(np.ldexp(1.0, -np.frexp(max(x.max(initial=0.0), -x.min(initial=0.0)))[1].clip(-1000, 1000)))


def matmul_dtype() -> torch.dtype:
    """Float32, or float64 where PyTorch has been told to cut corners in float32 products (TF32, bfloat16)."""
    return torch.float32 if torch.get_float32_matmul_precision() == "highest" else torch.float64


class Arm:
    """One arm of a campaign under way.

    Attributes:
        units: what the rows are called outside, (n,).
        x: scaled covariates, (n, d) float64, on the device.
        free: which rows may still be picked, (n,) bool, on the device.
        bound: upper bound of the distance to the nearest label, (n,) float64, on the device; infinite without labels.
        labelled: rows that carry a label, in the order in which they came.
        watched: rows whose exact distances are kept on the host, always up to date, (k,) ascending.
        m: those distances, (k,) float64; minus infinity once a row is labelled.
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
        self.units, self.squared = np.flatnonzero(members), squared
        self.x = torch.as_tensor(x[self.units], dtype=torch.float64, device=device).mul_(scale)
        z = (self.x - torch.as_tensor(centre * scale, device=device)).to(matmul_dtype())
        self.eta = torch.finfo(z.dtype).eps * (z.shape[1] + 8)
        self.norm = torch.linalg.vector_norm(z, dim=1, dtype=torch.float64).square_()
        low = (self.norm * (1 - self.eta) - TINY).to(z.dtype)[:, None]
        self.right = torch.cat([z, torch.ones_like(low), low], 1)  # (n, d + 2)
        self.bound = torch.full((len(self.units),), torch.inf, dtype=torch.float64, device=device)
        self.labelled = np.flatnonzero(np.isin(self.units, labelled)).tolist()
        self.free = torch.ones(len(self.units), dtype=torch.bool, device=device)
        self.free[self.labelled] = False
        self.n_free = len(self.units) - len(self.labelled)
        self._absorbed, self._labels = 0, self.left(torch.empty(0, dtype=torch.long, device=device))
        self.watch(torch.empty(0, dtype=torch.long, device=device))

    def left(self, rows: torch.Tensor) -> torch.Tensor:
        """Factor (k, d + 2) such that ``left(rows) @ other.right.T`` bounds squared distances from below."""
        right = self.right[rows]
        return torch.cat([-2 * right[:, :-2], right[:, -1:], right[:, -2:-1]], 1)

    def distance(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Distances in the campaign's metric from float64 differences, (k,)."""
        d2 = (a - b).square_().sum(-1)
        return d2 if self.squared else d2.sqrt_()

    def take(self, k: int) -> int:
        """Label the k-th watched row and return its unit; watched distances follow now, bounds when asked for."""
        row = int(self.watched[k])
        near = np.flatnonzero(
            self._right @ self._left[k] <= self._d2
        )  # for the others float32 suffices: nothing changes
        gap = self._watched_x[near] - self._watched_x[k]
        self._d2[near] = np.minimum(self._d2[near], np.vecdot(gap, gap))
        self.m[near] = self._d2[near] if self.squared else np.sqrt(self._d2[near])
        self.m[k] = self._d2[k] = -np.inf
        self.labelled.append(row)
        self.free[row] = False
        self.n_free -= 1
        return int(self.units[row])

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

    def exact(self, rows: torch.Tensor) -> torch.Tensor:
        """Float64 distance from each row to its nearest label, (k,); infinite without labels."""
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
            nearest = low <= (low.amin(1) + slack[part])[:, None]  # no other label can be the nearest
            near, label = nearest.nonzero(as_tuple=True)
            for k, j in zip(near.split(step), label.split(step), strict=True):
                out[part].scatter_reduce_(0, k, self.distance(self.x[rows[part][k]], self.x[labels[j]]), "amin")
        return out

    def watch(self, rows: torch.Tensor) -> None:
        """Keep the exact distances of these free rows (ascending), and of no others."""
        m = self.exact(rows)
        self.bound[rows] = torch.minimum(self.bound[rows], m)
        self.watched, self.m, self._watched_x = rows.cpu().numpy(), m.cpu().numpy(), self.x[rows].cpu().numpy()
        self._left, self._right = self.left(rows).cpu().numpy(), self.right[rows].cpu().numpy()
        self._d2 = self.m.copy() if self.squared else np.square(self.m)
        self._cut = np.inf

    def farthest(self) -> tuple[float, int]:
        """Find the free row that is farthest from the labels: how far it is, and its place among the watched.

        There must be a free row. No row outside the short list is farther than ``_cut``, so whoever on it is at least
        that far is the farthest of all.
        """
        while True:
            if len(self.m):
                k = int(self.m.argmax())
                if self.m[k] >= self._cut:
                    return float(self.m[k]), k
            self.absorb()
            rows, cut = highest(torch.where(self.free, self.bound, -torch.inf), min(SHORT, self.n_free))
            self.watch(rows)
            self._cut = cut


def highest(bound: torch.Tensor, k: int) -> tuple[torch.Tensor, float]:
    """Return the places of the k highest bounds, ascending, and the highest of the others (or minus infinity)."""
    top = torch.topk(bound, min(k + 1, len(bound)))
    return top.indices[:k].sort().values, float(top.values[k]) if len(bound) > k else -np.inf


def split_arms(x: Covariates, groups: Arms, labelled: Indices, metric: str, device: str) -> list[Arm]:
    """One arm for each value of ``groups``, ascending."""
    scale, centre = power_of_two(x), x.mean(axis=0)
    return [
        Arm(x, groups == group, labelled, scale, centre, metric == "sqeuclidean", device) for group in np.unique(groups)
    ]


def farthest_first(arms: list[Arm], size: int) -> list[int]:
    """Units picked one by one, each the farthest from the labels of its own arm (Eq. 5 of the paper, over all arms)."""
    picks: list[int] = []
    while len(picks) < size and any(arm.n_free for arm in arms):
        found = [(*arm.farthest(), arm) for arm in arms if arm.n_free]
        _, k, arm = max(found, key=lambda f: f[0])
        picks.append(arm.take(k))
    return picks
