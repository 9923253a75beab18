"""What a causal active-learning problem is: a pool, a test set, a start; validated once, frozen after."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from macal.arguments import Count, arms_of, as_arms, as_covariates, as_hinted, as_indices, as_outcomes
from macal.shapes import Arms, Covariates, Images, Indices, Levels, Outcomes


def _as_images(x: Any) -> Images:
    x = np.asarray(x)
    if x.ndim != 2 or x.dtype != np.uint8:
        raise ValueError(f"x must be (n, d) uint8 where levels are given, got shape {x.shape} and dtype {x.dtype}")
    return x


def _freeze(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


class _Covariates:
    """The field ``Split.x``: keeps what it is given, hands out floats."""

    def __set__(self, split: "Split", x: Any) -> None:
        split.__dict__["stored"] = x

    def __get__(self, split: "Split | None", owner: type | None = None) -> Covariates:
        if split is None:
            raise AttributeError("x has no default")  # how a dataclass learns that a field must be given
        if split.levels is None:
            return split.stored
        x = split.levels[split.stored]
        x.flags.writeable = False
        return x


@dataclass(frozen=True, eq=False)
class Split:
    """Some units of a problem.

    Images are given as bytes together with ``levels`` and stay bytes, in ``stored``: ``x`` makes the floats of all
    units anew, ``split[rows].x`` those of the rows alone.

    Attributes:
        x: covariates, (n, d) float32 or float64, as they were given; (n, d) uint8 where there are levels.
        t: treatment, (n,), 0 control and 1 treated; 2 and so on where there are more arms, each compared with 0.
        y: observed outcome, (n,), in the outcome's unit, NaN for a unit without one; None where none has been observed.
        mu0: outcome without treatment, (n,), where known; noiseless, or with noise that both arms share.
        mu1: outcome under treatment, likewise.
        levels: the covariate that each byte stands for, (256,), where ``x`` is given as uint8.
        index: what the caller calls the units, a pandas Index of n; None where they are known by their positions.

    Raises:
        ValueError: any array is of the wrong shape, type or range.
    """

    x: Covariates | Images = _Covariates()
    t: Arms
    y: Outcomes | None = None
    mu0: Outcomes | None = None
    mu1: Outcomes | None = None
    levels: Levels | None = None
    index: Any = None

    def __post_init__(self) -> None:
        if self.levels is None:
            x = as_covariates(self.stored)
        else:
            x = _as_images(self.stored)
            object.__setattr__(self, "levels", _freeze(as_outcomes(self.levels, 256, "levels").astype(np.float32)))
        n = len(x)
        object.__setattr__(self, "x", _freeze(x))
        object.__setattr__(self, "t", _freeze(as_arms(self.t, n, multi_arm=True)))
        for name in ("y", "mu0", "mu1"):
            if getattr(self, name) is not None:
                outcomes = as_outcomes(getattr(self, name), n, name, missing=name == "y")
                object.__setattr__(self, name, _freeze(outcomes))
        if self.index is not None and len(self.index) != n:
            raise ValueError(f"index must name each of the {n} units, got {len(self.index)} names")

    def __len__(self) -> int:
        return len(self.t)

    @property
    def tau(self) -> Outcomes:
        """The true effect of each unit, mu1 - mu0, (n,); ValueError where the surfaces are not known."""
        if self.mu0 is None or self.mu1 is None:
            raise ValueError("tau needs both mu0 and mu1, which are known for simulated outcomes alone")
        return self.mu1 - self.mu0

    def contrasts(self) -> "list[Split]":
        """The units of each arm together with those of the reference arm, as treatment 1 and 0.

        >>> [part.t.tolist() for part in Split(np.zeros((4, 1)), np.array([0, 2, 1, 2])).contrasts()]
        [[0, 1], [0, 1, 1]]
        """
        parts = [(self[np.isin(self.t, (0, arm))], arm) for arm in range(1, arms_of(self.t))]
        return [replace(part, x=part.stored, t=(part.t == arm).astype(np.int64)) for part, arm in parts]

    def __getitem__(self, rows: Any) -> "Split":
        rest = {name: getattr(self, name) for name in ("t", "y", "mu0", "mu1")}
        rest = {name: None if a is None else a[rows] for name, a in rest.items()}
        index = None if self.index is None else self.index[rows]
        return Split(self.stored[rows], **rest, levels=self.levels, index=index)


@dataclass(frozen=True, eq=False)
class Problem:
    """A pool to be labelled under a budget, and the test set that judges the result.

    Attributes:
        name: data set.
        pool: units that may be labelled; their outcomes are revealed when they are.
        test: units on which the PEHE is computed, or None where nothing is to be judged.
        start: indices into the pool, labelled before the first query.
        valid: units for early stopping, or None where the model needs none.
        batch_size: labels per query in the paper's campaign.
        n_queries: queries in the paper's campaign.
        seed: replication.
        protocol: "paper" or "code", where the two disagree.
        sources: raw files that the problem was made from, each with the SHA-256 of its content.
        y_scale: mean and s.d. that outcomes are standardised with before training; (0, 1) leaves them alone.

    Raises:
        ValueError: splits with different numbers of covariates, a start outside the pool, or an s.d. not above 0.
    """

    name: str
    pool: Split
    test: Split | None
    start: Indices
    valid: Split | None = None
    batch_size: int = 10
    n_queries: int = 46
    seed: int = 0
    protocol: str = "paper"
    sources: dict[str, str] = field(default_factory=dict)
    y_scale: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        widths = {s.stored.shape[1] for s in (self.pool, self.valid, self.test) if s is not None}
        if len(widths) > 1:
            raise ValueError(f"pool, valid and test must have the same covariates, got {sorted(widths)} of them")
        object.__setattr__(self, "start", _freeze(as_indices(self.start, len(self.pool), "start")))
        as_hinted(vars(self), {"batch_size": Count, "n_queries": Count})
        if not (np.isfinite(self.y_scale).all() and self.y_scale[1] > 0):
            raise ValueError(f"y_scale must be a finite mean and an s.d. above 0, got {self.y_scale}")

    def labelled(self, batches: Iterable[Any]) -> Indices:
        """Return the indices that are labelled once ``batches`` are bought, the start first."""
        return np.concatenate([self.start, *batches]).astype(np.int64)

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{k} {len(s)}"
            for k, s in (("pool", self.pool), ("valid", self.valid), ("test", self.test))
            if s is not None
        )
        arms = self.pool.t
        treated = f"{arms.sum()} treated in the pool, {arms[self.start].sum()} of {len(self.start)} at the start"
        shown = [sizes, f"{self.pool.stored.shape[1]} covariates", treated, _apart(self.pool)]
        shown += [f"raw files: {len(self.sources)}"] if self.sources else []
        return f"Problem({self.name!r}, seed={self.seed}, protocol={self.protocol!r}: {'; '.join(shown)})"


def _apart(split: Split) -> str:
    """How far the arms' means are apart in the worst covariate, on at most 2,000 evenly spread units."""
    some = split[np.linspace(0, len(split) - 1, min(len(split), 2000)).astype(int)]
    arms = [some.x[some.t == arm].astype(np.float64) for arm in (0, 1)]
    if not all(map(len, arms)):
        return "one arm alone"
    gap = np.abs(arms[1].mean(axis=0) - arms[0].mean(axis=0))
    sd = np.sqrt((arms[1].var(axis=0) + arms[0].var(axis=0)) / 2)
    gap = np.divide(gap, sd, out=np.where(gap > 0, np.inf, 0.0), where=sd > 0)
    return f"arms' means at most {gap.max(initial=0.0):.2f} s.d. apart"
