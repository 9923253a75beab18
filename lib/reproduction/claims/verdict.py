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
    """One claim.

    Attributes:
        key: its name in the ledger.
        source: where the paper makes it.
        text: what it says, in our words.
        judge: gives the verdict.
        chapter: of the book, where the numbers are shown.
    """

    key: str
    source: str
    text: str
    judge: Callable[[], Verdict]
    chapter: str
