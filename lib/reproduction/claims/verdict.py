"""What a claim is, and what the numbers may say of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from reproduction.claims.readings import Reading
from reproduction.claims.rules import Rules

Word = Literal["holds", "holds in part", "does not hold", "undecided", "not tested"]


@dataclass(frozen=True)
class Verdict:
    """What the numbers say of a claim.

    "undecided" was run, and the numbers allow both; "not tested" was not run. The evidence says what it would take.
    """

    verdict: Word
    evidence: str


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes:
        key: its name in the ledger.
        source: where the paper makes it.
        text: what it says, in our words.
        judge: gives the verdict by the rules, and in the readings where there are any.
        chapter: of the book, where the numbers are shown.
        readings: of the paper, in which it is judged apart: first as written.
    """

    key: str
    source: str
    text: str
    judge: Callable[..., Verdict]
    chapter: str
    readings: tuple[Reading, ...] = ()

    def verdicts(self, rules: Rules) -> list[Verdict]:
        """Judge it: one verdict per reading, one in all where it has none."""
        return [self.judge(rules, reading) for reading in self.readings] or [self.judge(rules)]


def regardless(judge: Callable[[], Verdict]) -> Callable[[Rules], Verdict]:
    """Make a judge of something that no comparison of methods decides: the rules do not matter to it."""
    return lambda rules: judge()


def together(words: Iterable[Word]) -> Word:
    """Verdict on a claim about several cases from those on each: what was not run does not count."""
    words = {word for word in words if word != "not tested"}
    if not words:
        return "not tested"
    if len(words) == 1:
        return words.pop()
    supported = words & {"holds", "holds in part"}
    if supported and words & {"does not hold", "holds in part"}:
        return "holds in part"
    return "undecided"
