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
from macal.registry import Registry
from macal.shapes import Indices

_EPS = 1e-8  # BAIT's guard against a division by zero
_TIE = 1e-9  # relative difference of squared norms that is rounding: all are 1 under a stationary kernel


@dataclass(frozen=True, eq=False)
class _Task:
    """What to select from.

    Attributes:
        pool: features of the units that may be picked, (n, p).
        train: features of the training units, (m, p).
        with_train: whether selection starts from the training units.
        size: units to be picked.
        rng: source of randomness.
        noise: standard deviation of the label noise, in the unit of the kernel's root.
    """

    pool: torch.Tensor
    train: torch.Tensor
    with_train: bool
    size: int
    rng: np.random.Generator
    noise: float = 0.0

    def __post_init__(self) -> None:
        as_hinted({"noise": self.noise}, {"noise": NotNegative})

    @property
    def start(self) -> torch.Tensor:
        """Units from which selection starts."""
        return self.train if self.with_train else self.train[:0]


class _Clusters:
    """Squared distance from every pool unit to its nearest centre, and which centre that is; the first of equals."""

    def __init__(self, task: _Task) -> None:
        self.pool, self.n = task.pool, 0
        self.d2 = torch.full((len(task.pool),), torch.inf, dtype=torch.float64)
        self.centre = torch.zeros(len(task.pool), dtype=torch.long)
        for row in task.start:
            self.add(row)

    def add(self, row: torch.Tensor) -> None:
        """Make ``row`` (p,) a centre."""
        d2 = (self.pool - row).double().square().sum(1)
        self.centre[d2 < self.d2] = self.n
        self.d2 = torch.minimum(self.d2, d2)
        self.n += 1


def _one_by_one(task: _Task, score: Callable[[_Clusters], torch.Tensor]) -> list[int]:
    """Pick the unit of highest score, make it a centre, and so on."""
    clusters, picks = _Clusters(task), []
    while len(picks) < task.size:
        s = score(clusters) if clusters.n else _largest(task.pool)
        s = s.index_fill(0, torch.tensor(picks, dtype=torch.long), -torch.inf)
        picks.append(int(s.argmax()))
        clusters.add(task.pool[picks[-1]])
    return picks


def _largest(x: torch.Tensor) -> torch.Tensor:
    """Mark the rows of ``x`` (n, p) of the largest norm, (n,): the first of them begins."""
    squared = x.double().square().sum(1)
    return (squared >= (1 - _TIE) * squared.max()).double()


def coreset(task: _Task) -> list[int]:
    """Farthest-first: the unit farthest from its nearest centre ('MaxDist')."""
    return _one_by_one(task, lambda clusters: clusters.d2)


def lcmd(task: _Task) -> list[int]:
    """Largest-cluster maximum distance: the farthest unit of the cluster with the largest sum of squared distances."""

    def score(clusters: _Clusters) -> torch.Tensor:
        mass = torch.bincount(clusters.centre, clusters.d2, clusters.n)
        live = torch.isin(clusters.centre, (mass == mass.max()).nonzero()[:, 0])
        # -1 is below any distance: a cluster of copies may have no unit left
        return torch.where(live, clusters.d2, -1.0)

    return _one_by_one(task, score)


def badge(task: _Task) -> list[int]:
    """k-means++: a unit drawn in proportion to the squared distance to its nearest centre."""
    clusters, picks = _Clusters(task), []
    while len(picks) < task.size:
        free = np.ones(len(task.pool))
        free[picks] = 0.0
        weight = clusters.d2.numpy() * free if clusters.n else free
        weight = weight if weight.sum() > 0 else free  # copies of the centres are all that is left
        picks.append(int(task.rng.choice(len(weight), p=weight / weight.sum())))
        clusters.add(task.pool[picks[-1]])
    return picks


def _eliminate(
    task: _Task, left: torch.Tensor, score: Callable[[], torch.Tensor], remove: Callable[[int], None]
) -> list[int]:
    """Remove the start, then pick the unit of highest score and remove it, and so on, while something is left.

    ``left``, (n + m,), is what the picks leave unexplained of pool and start; ``remove`` updates it.
    """
    n, picks = len(task.pool), []
    for k in range(n, len(left)):
        if left[k] > 0:
            remove(k)
    while len(picks) < task.size:
        s = score()[:n].index_fill(0, torch.tensor(picks, dtype=torch.long), -torch.inf)
        k = int(s.argmax())
        if not (s[k] > 0 and left[k] > 0):
            break
        remove(k)
        picks.append(k)
    by_norm = (-(task.pool**2).sum(-1)).argsort(stable=True).tolist()
    return picks + [k for k in by_norm if k not in picks][: task.size - len(picks)]


def maxdet(task: _Task) -> list[int]:
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

    return _eliminate(task, left, lambda: left, remove)


def bait(task: _Task) -> list[int]:
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

    return _eliminate(task, left, lambda: gain / (left + task.noise**2 + _EPS), remove)


METHODS = Registry("feature method", {"badge": badge, "lcmd": lcmd, "bait": bait, "coreset": coreset, "maxdet": maxdet})


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
    dtype = np.result_type(train, pool, np.float32)
    train, pool = (torch.from_numpy(a.astype(dtype)) for a in (train, pool))
    size = min(as_count(batch_size, "batch_size"), len(pool))
    task = _Task(pool, train, bool(with_train), size, np.random.default_rng(seed), noise)
    return np.array(method(task), np.int64)
