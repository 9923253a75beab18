"""One arm of a campaign over balls: what its people score, at most, ball by ball.

A ball is *opened* where its bounds do not decide: its centre is then alone, and the others become smaller balls. People
whose covariates all equal a centre's are its *twins*: in a ball of radius 0 they wait behind it, the lowest row first.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from macal.acquisition.rows import folded
from macal.scale.cover import BlockCover, Radii, cover
from macal.shapes import Covariates, Indices, Outcomes, Rows

SPLIT = 64  # balls that take the place of one
SMALL = 128  # members whose ball is opened in one go

Fetch = Callable[[Sequence[Rows]], list[np.ndarray]]  # lists of rows of the table -> covariates of each


@dataclass(frozen=True, eq=False)
class Inside:
    """Who is inside a ball beside its centre: given, or as the cover of a block has it, or smaller balls.

    Attributes:
        block: the block's cover; None where the rows or the balls are given.
        ball: number of the ball in its block.
        given: rows of the table, ascending.
        balls: smaller balls, the first of which has the same centre.
    """

    block: BlockCover | None
    ball: int = 0
    given: Rows | None = None
    balls: "SomeBalls | None" = None

    @property
    def rows(self) -> Rows:
        """Rows of the table, ascending."""
        return self.given if self.block is None else self.block.members(self.ball)


@dataclass(frozen=True, eq=False)
class SomeBalls:
    """Balls of one arm.

    Attributes:
        x: covariates of the centres, (p, d).
        rows: of the table, (p,); the lowest of its profile where the radius is 0.
        radius: of the balls, (p,).
        members: beside each centre; None where there are none.
    """

    x: Float[np.ndarray, "p d"]
    rows: Rows
    radius: Radii
    members: list[Inside | None]


class BallArm(ABC):
    """Balls of one arm of a campaign under way.

    Attributes:
        balls: that hold the people of the arm.
        free: whether a centre may be picked, (p,).
        more: whether a ball has members beside its centre, (p,).
        n_labels: labels so far.
        n_free: people without one.

    Args:
        balls: that hold all people of the arm who may be picked.
        n_labels: at the beginning.
        n_free: people in the balls.
    """

    def __init__(self, balls: SomeBalls, n_labels: int, n_free: int) -> None:
        self.balls, self.n_labels, self.n_free = balls, n_labels, n_free
        self.free, self.more = np.ones(len(balls.rows), bool), _more(balls)

    def __len__(self) -> int:
        return len(self.free)

    @property
    @abstractmethod
    def alone(self) -> Outcomes:
        """Score of each centre that is picked by itself, (p,); of one that is taken, anything."""

    @property
    @abstractmethod
    def bound(self) -> Outcomes:
        """At least the score of each person in a ball, (p,); minus infinity where there is none."""

    @abstractmethod
    def _labelled(self, k: int) -> None:
        """Take note of the label of a centre."""

    @abstractmethod
    def _added(self, x: Covariates) -> None:
        """Take note of further centres, (k, d)."""

    @property
    def open(self) -> np.ndarray:
        """Balls whose members may score otherwise than a centre that may be picked, (p,) bool."""
        return self.more & (self.balls.radius > 0)

    def best(self) -> tuple[float, int]:
        """The centre with the highest score, of equal ones the lowest row: its score, and its place."""
        score = np.where(self.free, self.alone, -np.inf)
        ties = np.flatnonzero(score == score.max())
        return float(score[ties[0]]), int(ties[self.balls.rows[ties].argmin()])

    def take(self, k: int) -> int:
        """Label a centre and return its row; a twin, where there is one, takes its place."""
        row = int(self.balls.rows[k])
        self._labelled(k)
        self.n_labels += 1
        self.n_free -= 1
        if self.balls.radius[k] == 0 and self.more[k]:
            self._advance(k)
        else:
            self.free[k] = False
        return row

    def split(self, places: Indices, fetch: Fetch) -> Indices:
        """Open some balls that are open, (k,); return, for each new ball, the place of the one that it comes from."""
        old = self.balls
        self.more[places], old.radius[places] = False, 0.0
        parts = self._parts(places, fetch)
        new = joined([old, *parts])
        added = slice(len(self), None)
        self.balls = new
        self.free = np.append(self.free, np.ones(len(new.rows) - len(self), bool))
        self.more = np.append(self.more, _more(new)[added])
        self._added(new.x[added])
        return np.repeat(places, [len(part.rows) for part in parts])

    def _parts(self, places: Indices, fetch: Fetch) -> list[SomeBalls]:
        """What takes the place of some balls, (k,), beside their centres."""
        inside = [self.balls.members[k] for k in places]
        rows = [one.rows for one in inside if one.balls is None]
        smaller = iter(_smaller(*one) for one in zip(rows, fetch(rows) if rows else [], strict=True))
        for k, one in zip(places.tolist(), inside, strict=True):
            if one.balls is not None:
                self._shrink(k, one.balls)
        return [
            next(smaller) if one.balls is None else some(one.balls, np.arange(1, len(one.balls.rows))) for one in inside
        ]

    def _shrink(self, k: int, parts: SomeBalls) -> None:
        """Let a ball become the first of its parts, which has the same centre."""
        balls, own = self.balls, parts.members[0]
        balls.radius[k], balls.members[k], self.more[k] = parts.radius[0], own, own is not None
        if own is not None and parts.radius[0] == 0 and not self.free[k]:
            self._advance(k)

    def _advance(self, k: int) -> None:
        """Put the next twin into the place of a centre."""
        balls, twins = self.balls, self.balls.members[k].rows
        balls.rows[k], self.free[k], self.more[k] = twins[0], True, len(twins) > 1
        balls.members[k] = Inside(None, given=twins[1:])


def _more(balls: SomeBalls) -> np.ndarray:
    return np.array([members is not None for members in balls.members], bool)


def _smaller(rows: Rows, x: Covariates) -> SomeBalls:
    """Cover people by smaller balls, each profile by one where they are few."""
    found = cover(x, SPLIT if len(rows) > SMALL else len(rows))
    members = [rows[found.which == k] for k in range(len(found.rows))]
    centres = rows[found.rows]
    others = [given[given != row] for given, row in zip(members, centres, strict=True)]
    return SomeBalls(
        x[found.rows], centres, found.radius, [Inside(None, given=one) if len(one) else None for one in others]
    )


def joined(parts: Sequence[SomeBalls]) -> SomeBalls:
    """Balls of several lists as one list."""
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "rows", "radius"))
    return SomeBalls(*columns, [one for part in parts for one in part.members])


def some(balls: SomeBalls, places: Indices) -> SomeBalls:
    """Some of some balls, (k,)."""
    return SomeBalls(
        balls.x[places], balls.rows[places], balls.radius[places], [balls.members[k] for k in places.tolist()]
    )


def merged(balls: SomeBalls, most: int) -> SomeBalls:
    """Cover the centres of balls by larger balls, at most so many, which hold what the smaller ones hold.

    A member of a ball of radius r around c is at most d(p, c) + r from the larger ball's centre p.
    """
    if len(balls.rows) <= most:
        return balls
    found = cover(balls.x, most)
    reach = np.sqrt(folded(np.square(balls.x - balls.x[found.rows[found.which]]))) + balls.radius
    radius = np.zeros(len(found.rows))
    np.maximum.at(radius, found.which, reach)
    # the centre first, the others as they come
    order = np.lexsort([found.rows[found.which] != np.arange(len(reach)), found.which])
    groups = np.split(order, np.cumsum(np.bincount(found.which))[:-1])
    alone = [balls.members[group[0]] if len(group) == 1 else Inside(None, balls=some(balls, group)) for group in groups]
    return SomeBalls(balls.x[found.rows], balls.rows[found.rows], radius, alone)


def gathered(blocks: Sequence[BlockCover], arm: int, labels: int) -> tuple[SomeBalls, int]:
    """The balls of one arm from all blocks, and how many people they hold.

    People in balls of radius 0 who are twins become one ball, wherever they are.

    Args:
        blocks: covers, in the order of the table.
        arm: the arm.
        labels: that will be planned: no more twins than these are kept.
    """
    twins: dict[bytes, int] = {}
    chosen: list[tuple[BlockCover, int]] = []
    rows: list[list[Rows]] = []
    people = 0
    for block in blocks:
        for ball in np.flatnonzero(block.arms == arm).tolist():
            people += int(block.count[ball])
            place = len(chosen)
            if block.radius[ball] == 0:
                place = twins.setdefault((block.x[ball] + 0.0).tobytes(), place)  # -0 is 0
            if place < len(chosen):
                rows[place] += [block.rows[[ball]], block.members(ball)] if sum(map(len, rows[place])) < labels else []
            else:
                chosen.append((block, ball))
                rows.append([])
    members = [_members(*one, more, labels) for one, more in zip(chosen, rows, strict=True)]
    width = blocks[0].x.shape[1]
    x = np.array([block.x[ball] for block, ball in chosen]).reshape(-1, width)
    radius = np.array([block.radius[ball] for block, ball in chosen])
    return SomeBalls(x, np.array([block.rows[ball] for block, ball in chosen], np.int64), radius, members), people


def _members(block: BlockCover, ball: int, more: list[Rows], labels: int) -> Inside | None:
    """Inside of a ball of a block, and its twins in later ones."""
    if more:
        return Inside(None, given=np.concatenate([block.members(ball), *more])[:labels])
    return Inside(block, ball) if block.count[ball] > 1 else None
