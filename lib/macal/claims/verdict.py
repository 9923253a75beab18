"""What a claim is, and what the numbers may say of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Verdict:
    """What the numbers say of a claim."""

    verdict: Literal["holds", "holds in part", "does not hold", "not tested"]
    evidence: str


@dataclass(frozen=True)
class Claim:
    """One claim: its key, where the paper makes it, what it says in our words, and the function that judges it."""

    key: str
    source: str
    text: str
    judge: Callable[[], Verdict]


def awaits(what: str) -> Callable[[], Verdict]:
    """Return the judge of a claim whose evidence does not exist yet."""
    return lambda: Verdict("not tested", f"awaits {what}")
