"""Selection by the geometry of features, e.g. the gradients of a fitted model, in PyTorch.

BADGE, LCMD, BAIT, Core-Set and maximum determinant, as Holzmueller et al. define them, for the linear kernel k(a, b) =
a.b on the features as they come. Selection starts from the training units if ``with_train``, else from the pool alone;
what starts from nothing starts with the unit of the largest norm (BADGE: with a random one). Once MaxDet and BAIT have
nothing left to explain, the rest of the batch is filled by norm.

References:
    D. Holzmueller, V. Zaverkin, J. Kaestner and I. Steinwart, "A Framework and Benchmark for Deep Batch Active Learning
    for Regression", Journal of Machine Learning Research 24(164), 2023 (LCMD, MaxDet, and all in one frame).
    J. T. Ash, C. Zhang, A. Krishnamurthy, J. Langford and A. Agarwal, "Deep Batch Active Learning by Diverse, Uncertain
    Gradient Lower Bounds", ICLR, 2020 (BADGE).
    J. T. Ash, S. Goel, A. Krishnamurthy and S. Kakade, "Gone Fishing: Neural Active Learning with Fisher Embeddings",
    NeurIPS, 2021 (BAIT).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from macal.arguments import NotNegative, as_count, as_covariates, as_hinted
from macal.compat import override
from macal.registry import Registry
from macal.search.scores import Scores
from macal.shapes import Indices, Outcomes

_EPS = 1e-8  # BAIT's guard against a division by zero
_TIE = 1e-9  # relative difference of squared norms that is rounding: all are 1 under a stationary kernel


@dataclass(frozen=True, eq=False)
class _Task:
    """What to select from.

    Attributes:
        pool: features of the units that may be picked, (n, p).
        train: features of the training units, (m, p).
        start: features of the units from which selection starts, (k, p).
        size: units to be picked.
        rng: source of randomness.
        noise: standard deviation of the label noise, in the unit of the kernel's root.
    """

    pool: torch.Tensor
    train: torch.Tensor
    start: torch.Tensor
    size: int
    rng: np.random.Generator
    noise: float = 0.0


class MaxDist(Scores):
    """Farthest-first: squared distance from every pool unit to its nearest centre, which each pick becomes."""

    def __init__(self, task: _Task) -> None:
        super().__init__(np.ones(len(task.pool), bool))
        self._task, self._n = task, 0
        self._d2 = torch.full((len(task.pool),), torch.inf, dtype=torch.float64)
        # which centre is the nearest, the first of equals
        self._centre = torch.zeros(len(task.pool), dtype=torch.long)
        for row in task.start:
            self._add_centre(row)

    def _add_centre(self, row: torch.Tensor) -> None:
        d2 = (self._task.pool - row).double().square().sum(1)
        self._centre[d2 < self._d2] = self._n
        self._d2 = torch.minimum(self._d2, d2)
        self._n += 1

    def score(self) -> torch.Tensor:
        """Score of each unit, where there is a centre, (n,)."""
        return self._d2

    @override
    def now(self) -> Outcomes:
        if self._n:
            return self.score().numpy()
        squared = self._task.pool.double().square().sum(1)
        return (squared >= (1 - _TIE) * squared.max()).double().numpy()

    @override
    def add(self, units: Indices) -> None:
        super().add(units)
        for k in units.tolist():
            self._add_centre(self._task.pool[k])


class LargestCluster(MaxDist):
    """LCMD: the farthest unit of the cluster with the largest sum of squared distances."""

    @override
    def score(self) -> torch.Tensor:
        mass = torch.bincount(self._centre, self._d2, self._n)
        live = torch.isin(self._centre, (mass == mass.max()).nonzero()[:, 0])
        # -1 is below any distance: a cluster of copies may have no unit left
        return torch.where(live, self._d2, -1.0)


class KMeansDraw(MaxDist):
    """BADGE, k-means++: a unit drawn in proportion to the squared distance to its nearest centre."""

    @override
    def best(self, may: np.ndarray, price: Outcomes | None = None) -> tuple[int, float]:
        weight = (self._d2.numpy() if self._n else 1.0) * may
        weight = weight if weight.sum() > 0 else may * 1.0  # copies of the centres are all that is left
        unit = int(self._task.rng.choice(len(weight), p=weight / weight.sum()))
        return unit, float(weight[unit])


class _Elimination(Scores):
    """Scores of pool and start, (n + m,), while units are removed, the start first; norms once nothing is left.

    ``left``, (n + m,), is what the picks leave unexplained of pool and start; ``remove`` updates it.
    """

    def __init__(
        self, task: _Task, left: torch.Tensor, score: Callable[[], torch.Tensor], remove: Callable[[int], None]
    ) -> None:
        n = len(task.pool)
        super().__init__(np.ones(n, bool))
        self._score, self._remove, self._is_spent = score, remove, False
        self._norm, self._left = (task.pool**2).sum(-1).numpy(), left[:n].numpy()
        for k in range(n, len(left)):
            if left[k] > 0:
                remove(k)

    @override
    def now(self) -> Outcomes:
        score = self._score()[: len(self.free)].numpy()
        k = np.where(self.free, score, -np.inf).argmax()
        self._is_spent |= not (score[k] > 0 and self._left[k] > 0)
        return self._norm if self._is_spent else score

    @override
    def add(self, units: Indices) -> None:
        super().add(units)
        for k in () if self._is_spent else units.tolist():
            self._remove(k)


def maxdet(task: _Task) -> Scores:
    """Greedy maximum determinant of the picks' kernel matrix: Cholesky pivoting on the largest residual.

    With k the n-th pick, column n of the factor is L[:, n] = (K[:, k] - L[:, :n] L[k, :n]') / sqrt(left_k), K = X X' +
    noise^2 I, and left = diag(K) - sum_n L[:, n]^2.
    """
    # (n + m, p)
    x = torch.cat([task.pool, task.start])
    left = (x**2).sum(-1) + task.noise**2
    factor, columns = torch.zeros(len(x), task.size + len(task.start), dtype=x.dtype), iter(range(len(x)))

    def remove(k: int) -> None:
        n, column = next(columns), x @ x[k]
        column[k] += task.noise**2
        factor[:, n] = (1 / left[k].sqrt()) * (column - factor[:, :n] @ factor[k, :n])
        left.sub_(factor[:, n] ** 2)

    return _Elimination(task, left, lambda: left, remove)


def bait(task: _Task) -> Scores:
    """Greedy reduction of the trace of the posterior covariance, summed over pool and training units.

    x holds features of the posterior kernel given the picks so far, f = sum_i x_i x_i' their second moment over all
    units, left_i = |x_i|^2 the posterior variances, and gain_i = x_i' f x_i. Picking k lowers the trace by gain_k /
    total, total = left_k + noise^2, and maps x to x (I - shrink r r'), r = x_k, shrink = 1 / (total + noise
    sqrt(total)):

        f    <- f - shrink (f r r' + r r' f) + shrink^2 (r' f r) r r'
        gain <- gain - 2 (x f r) (x r) / total + (r' f r) (x r)^2 / total^2
        left <- left - (x r)^2 / total
    """
    # (n + m, p), (p, p)
    x, f = torch.cat([task.pool, task.start]), task.pool.T @ task.pool + task.train.T @ task.train
    # (n + m,) each
    left, gain = (x**2).sum(-1), torch.einsum("ij,ji->i", x, f @ x.T)

    def remove(k: int) -> None:
        total = left[k] + task.noise**2
        share, root, row, own = 1 / total, total.sqrt(), x[k].clone(), gain[k].clone()
        shrink = 1 / (root * (root + task.noise))
        # (n + m,): x r; (p,): f r
        along, pull = x @ row, f @ row
        gain.sub_(2 * share * (x @ pull) * along).add_(share**2 * own * along**2)
        cross = torch.outer(pull, row)
        f.sub_(shrink * (cross + cross.T)).add_(shrink**2 * own * torch.outer(row, row))
        x.sub_(along[:, None] * (shrink * row))
        left.sub_(along**2 / total)

    return _Elimination(task, left, lambda: gain / (left + task.noise**2 + _EPS), remove)


METHODS = Registry(
    "feature method", {"badge": KMeansDraw, "lcmd": LargestCluster, "bait": bait, "coreset": MaxDist, "maxdet": maxdet}
)


def from_features(
    name: str,
    x_train: Any,
    x_pool: Any,
    batch_size: int,
    with_train: bool = False,
    seed: int | np.random.Generator = 0,
    noise: float = 0.0,
) -> Indices:
    """Select a batch from given features: indices into the pool in pick order, ``batch_size`` of them or all n.

    Args:
        name: "badge", "lcmd", "bait", "coreset" or "maxdet".
        x_train: features of the training units, (m, p), m may be 0; used in the precision in which they come.
        x_pool: features of the pool, (n, p).
        batch_size: units to be picked.
        with_train: start from the training units; else they matter to "bait" alone, whose aim they are part of.
        seed: of the draws of "badge", or a generator.
        noise: standard deviation of the label noise that "bait" and "maxdet" assume, at least 0.

    Raises:
        UnknownName: no such method.
        ValueError: features that are not finite, of different columns, a batch size below 1, or a negative noise.
    """
    method = METHODS[name]
    train, pool = as_covariates(x_train, "x_train"), as_covariates(x_pool, "x_pool")
    if train.shape[1] != pool.shape[1]:
        raise ValueError(
            f"x_train and x_pool must have the same features, got {train.shape[1]} and {pool.shape[1]} columns"
        )
    as_hinted({"noise": noise}, {"noise": NotNegative})
    dtype = np.result_type(train, pool, np.float32)
    train, pool = (torch.from_numpy(a.astype(dtype)) for a in (train, pool))
    size = min(as_count(batch_size, "batch_size"), len(pool))
    task = _Task(pool, train, train if with_train else train[:0], size, np.random.default_rng(seed), noise)
    return method(task).batch(size)[0]
