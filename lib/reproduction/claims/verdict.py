"""What a claim is, and what the numbers may say of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from reproduction.claims.readings import Reading
from reproduction.claims.rules import Rules
from reproduction.claims.scale import Compared, Scale

Word = Literal["holds", "holds in part", "does not hold", "undecided", "tested in part", "not tested"]
WORDS: tuple[Word, ...] = get_args(Word)
UNJUDGED = {"tested in part", "not tested"}


@dataclass(frozen=True)
class Verdict:
    """What the numbers say of a claim.

    "undecided" was run, and the numbers allow both; "tested in part" was run against fewer than half of the methods
    that the claim is about, none of which refutes it, or, where it needs two data sets, on one; "not tested" was not
    run. The evidence says what it would take.

    Attributes:
        verdict: the word.
        evidence: the numbers, in words.
        comparisons: the same as values, where methods are compared: one dictionary per comparison, see
            :func:`reproduction.claims.comparison.values`.
    """

    verdict: Word
    evidence: str
    comparisons: tuple[dict[str, Any], ...] = field(default=(), hash=False)


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
        compares: the paper's methods and data sets that it is about; None where it compares none of them.
    """

    key: str
    source: str
    text: str
    judge: Callable[..., Verdict]
    chapter: str
    readings: tuple[Reading, ...] = ()
    compares: Compared | None = None

    def verdicts(self, rules: Rules) -> list[Verdict]:
        """Judge it: one verdict per reading, one in all where it has none."""
        return [self.judge(rules, reading) for reading in self.readings] or [self.judge(rules)]

    def scales(self) -> list[tuple[Scale, ...]]:
        """What is recorded for it, of how much in the paper: by data set, in the order of its verdicts."""
        if self.compares is None:
            return [() for _ in self.readings or (None,)]
        return [self.compares.scales(reading) for reading in self.readings or (None,)]


def regardless(judge: Callable[[], Verdict]) -> Callable[[Rules], Verdict]:
    """Make a judge of something that no comparison of methods decides: the rules do not matter to it."""
    return lambda rules: judge()


def together(words: Iterable[Word], cases: int = 0) -> Word:
    """Verdict on a claim about several cases from those on each: what was not run, or in part alone, does not count.

    Args:
        words: of the cases.
        cases: that the claim is about; where fewer are judged, it holds in part at best.
    """
    every = list(words)
    judged = [word for word in every if word not in UNJUDGED]
    if not judged:
        return "tested in part" if "tested in part" in every else "not tested"
    words = {*judged}
    if len(words) == 1:
        return "holds in part" if words == {"holds"} and len(judged) < cases else judged[0]
    supported = words & {"holds", "holds in part"}
    if supported and words & {"does not hold", "holds in part"}:
        return "holds in part"
    return "undecided"
