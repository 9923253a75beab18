"""Balls that cover a block of rows: farthest-first, exactly, to the same bits on every machine.

A ball is a centre, which is a row, and a radius within which all its members lie. Farthest-first takes the first row as
a centre, then, time after time, the row that is farthest from all centres, of equally far ones the first; every row
belongs to its nearest centre, of equally near ones the first. A float32 product tells which distances may fall
(:mod:`macal.acquisition.arms` says why it is safe); these are computed in float64 by differences.

References:
    T. F. Gonzalez, "Clustering to Minimize the Maximum Intercluster Distance", Theoretical Computer Science 38, 1985.
    G. Malkomes, M. J. Kusner, W. Chen, K. Q. Weinberger and B. Moseley, "Fast Distributed k-Center Clustering with
    Outliers on Massive Data", Advances in Neural Information Processing Systems 28, 2015 (blocks by themselves, then
    together).
    M. Ceccarello, A. Pietracaprina and G. Pucci, "Solving k-center Clustering (with Outliers) in MapReduce and
    Streaming, almost as Accurately as Sequentially", Proceedings of the VLDB Endowment 12(7), 2019 (more centres for a
    better cover).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt16

from macal.acquisition.rows import folded
from macal.shapes import Arms, Covariates, Outcomes, Rows

TINY = 1e-30  # of a squared distance: more than float32 underflow can hide
Radii = Float[np.ndarray, "p"]
BallOfEach = UInt16[np.ndarray, "n"]
NO_BALL = 2**16 - 1  # of a row that is in none


@dataclass(frozen=True, eq=False)
class Balls:
    """Balls that hold some rows.

    Attributes:
        rows: place of each centre among the rows, (p,), in the order in which they were chosen.
        radius: distance of the farthest member from its centre, (p,).
        which: ball of each row, (n,).
    """

    rows: Rows
    radius: Radii
    which: Arms


def cover(x: Covariates, most: int, reach: float = 0.0) -> Balls:
    """Cover rows by balls, farthest-first.

    Args:
        x: covariates, (n, d), n at least 1; finite, and of squares that neither over- nor underflow.
        most: balls, at least 1.
        reach: a radius that is small enough: no further ball is begun once all are at most so large.

    >>> cover(np.array([[0.0], [1.0], [4.0], [5.0], [9.0]]), 3).rows
    array([0, 4, 2])
    """
    below = _Below(x)
    d2, which = np.full(len(x), np.inf), np.zeros(len(x), np.int64)
    centres = [0]
    while True:
        row = centres[-1]
        near = np.flatnonzero(below.squares(row) <= d2)
        new = folded(np.square(x[near] - x[row]))
        closer = new < d2[near]
        d2[near[closer]], which[near[closer]] = new[closer], len(centres) - 1
        far = int(d2.argmax())
        if len(centres) == most or d2[far] <= reach**2:
            break
        centres.append(far)
    radius = np.zeros(len(centres))
    np.maximum.at(radius, which, np.sqrt(d2))
    return Balls(np.array(centres), radius, which)


class _Below:
    """Squared distances between the rows of x (n, d), bounded from below by float32 products."""

    def __init__(self, x: Covariates) -> None:
        centred = x - x.mean(axis=0)
        norm = np.einsum("nd,nd->n", centred, centred)
        eta = np.finfo(np.float32).eps * (x.shape[1] + 8)
        # (n, d + 2), rows (z, 1, low), low = |z|^2 (1 - eta) - TINY
        self._right = np.ones((len(x), x.shape[1] + 2), np.float32)
        self._right[:, :-2], self._right[:, -1] = centred, norm * (1 - eta) - TINY

    def squares(self, row: int) -> Outcomes:
        """low_i + low_j - 2 z_i.z_j for row i and all j, (n,)."""
        z = self._right[row]
        return self._right @ np.concatenate([-2 * z[:-2], z[-1:], z[-2:-1]])


@dataclass(frozen=True, eq=False)
class BlockCover:
    """Balls of one block of a table, arm by arm.

    Attributes:
        start: row of the table with which the block begins.
        which: ball of each of its rows, counted through all arms, (n,); ``NO_BALL`` for one that is in none.
        arms: arm of each ball, (p,).
        rows: of the table, the centre of each ball, (p,).
        x: covariates of the centres, (p, d).
        radius: of each ball, (p,).
        count: members of each ball, its centre among them, (p,).
    """

    start: int
    which: BallOfEach
    arms: Rows
    rows: Rows
    x: Float[np.ndarray, "p d"]
    radius: Radii
    count: Rows

    def members(self, ball: int) -> Rows:
        """Rows of the table in a ball, ascending, without its centre."""
        rows = self.start + np.flatnonzero(self.which == ball)
        return rows[rows != self.rows[ball]]


def cover_block(x: Covariates, t: Arms, start: int, most: int) -> BlockCover:
    """Cover each arm of a block by at most so many balls.

    Args:
        x: covariates of its rows, (n, d).
        t: arm of each, (n,), negative for a row that belongs to none.
        start: row of the table with which the block begins.
        most: balls of an arm.
    """
    which = np.full(len(t), NO_BALL, np.uint16)
    parts: list[tuple[int, Rows, np.ndarray]] = []
    for arm in np.unique(t[t >= 0]).tolist():
        rows = np.flatnonzero(t == arm)
        balls = cover(x[rows], most)
        which[rows] = sum(len(part[1]) for part in parts) + balls.which
        parts.append((arm, rows[balls.rows], balls.radius))
    arms = np.concatenate([np.full(len(rows), arm) for arm, rows, _ in parts] or [np.empty(0, np.int64)])
    rows = np.concatenate([rows for _, rows, _ in parts] or [np.empty(0, np.int64)])
    radius = np.concatenate([radius for *_, radius in parts] or [np.empty(0)])
    count = np.bincount(which, minlength=NO_BALL + 1)[: len(rows)]
    return BlockCover(start, which, arms, start + rows, x[rows], radius, count)
