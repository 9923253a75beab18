"""What a claim is, and what the numbers may say of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

from reproduction.claims.rules import Rules
from reproduction.claims.scale import Compared, Scale
from reproduction.claims.versions import Version

Word = Literal["holds", "holds in part", "fails", "open"]
WORDS: tuple[Word, ...] = get_args(Word)


@dataclass(frozen=True)
class Verdict:
    """What the numbers say of a claim.

    Attributes:
        verdict: the word; "open" where the numbers allow both answers, or where too little was run.
        evidence: the numbers, in words.
        comparisons: the same as values, where methods are compared: one dictionary per comparison, see
            :meth:`reproduction.claims.comparison.Case.values`.
    """

    verdict: Word
    evidence: str
    comparisons: tuple[dict[str, Any], ...] = field(default=(), hash=False)


class Rule(NamedTuple):
    """How a claim about errors is judged, in words, for a second judge by the tables.

    Attributes:
        compared: what is set against what, and in which cases.
        family: number of comparisons that are adjusted for together.
        verdict: what makes it hold, and what refutes it.
    """

    compared: str
    family: str
    verdict: str


@dataclass(frozen=True)
class Claim:
    """One claim, declared once: the ledger, ``claims.json`` and the rules in words come from it.

    Attributes:
        key: its name in the ledger.
        source: where the paper makes it; else whose it is.
        text: what it says, in our words.
        judge: gives the verdict by the rules, and in the versions where there are any.
        chapter: of the book, where the numbers are shown.
        rule: how it is judged; None where no comparison of errors decides.
        versions: of the paper, in which it is judged apart: first the code's.
        compares: the paper's methods and data sets that it is about; None where it compares none of them.
        on_errors: whether means of errors decide it, which are then judged on the paper's scale, too.
        origin: whose claim it is: the paper's, this book's, or another paper's.
        tables: that decide it, names, or names per version; by default those of the data sets that it compares.
    """

    key: str
    source: str
    text: str
    judge: Callable[..., Verdict]
    chapter: str
    rule: Rule | None = None
    versions: tuple[Version, ...] = ()
    compares: Compared | None = None
    on_errors: bool = True
    origin: Literal["paper", "ours", "others"] = "paper"
    tables: tuple[str, ...] | tuple[tuple[str, ...], ...] = ()

    @property
    def parts(self) -> tuple[Version | None, ...]:
        """The versions in which it is judged apart; None alone where it has none."""
        return self.versions or (None,)

    def decided_by(self) -> list[tuple[str, ...]]:
        """Names of the tables that decide each of its parts."""
        if self.tables or not self.compares:
            return [*self.tables] if self.versions else [self.tables]
        names = [one.name for one in self.compares.datasets]
        return [tuple(version.tables[name] if version else name for name in names) for version in self.parts]

    def verdicts(self, rules: Rules) -> list[Verdict]:
        """Judge each of its parts."""
        return [self.judge(rules, version) if version else self.judge(rules) for version in self.parts]

    def on_means(self, rules: Rules) -> Sequence[Verdict | None]:
        """Judge it by arithmetic means of errors, as the paper plots them; None where no mean of errors decides it."""
        decided = self.rule and self.on_errors
        return self.verdicts(replace(rules, mean="arithmetic")) if decided else [None] * len(self.parts)

    def scales(self) -> list[tuple[Scale, ...]]:
        """What is recorded for each of its parts, of how much in the paper, by data set."""
        return [self.compares.scales(version) if self.compares else () for version in self.parts]


def regardless(judge: Callable[[], Verdict]) -> Callable[[Rules], Verdict]:
    """Make a judge of something that no comparison of methods decides: the rules do not matter to it."""
    return lambda rules: judge()


def together(words: Iterable[Word], cases: int = 0) -> Word:
    """Verdict on a claim about several cases from those on each; open where there is none.

    Args:
        words: of the cases that were run.
        cases: that the claim is about; where fewer were run, it holds in part at best.
    """
    every = list(words)
    found = {*every}
    if len(found) == 1:
        return "holds in part" if found == {"holds"} and len(every) < cases else every[0]
    supported = found & {"holds", "holds in part"}
    return "holds in part" if supported and found & {"fails", "holds in part"} else "open"
