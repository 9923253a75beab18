"""Facts of plans and estimates: values with sentences."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any


class Fact(str):
    """A fact in a sentence.

    Attributes:
        kind: name of the function in :mod:`macal.survey.words` or :mod:`macal.survey.plan_words` that words it.
        values: arguments of that function, by name.

    >>> from macal.survey import words
    >>> fact = Fact(words.answers_ahead, people=3)
    >>> print(fact.kind, fact.values["people"], fact, sep=" | ")
    answers_ahead | 3 | The weighted estimate leaves out 3 answers from outside the fielded rounds.
    """

    __slots__ = ("kind", "values")
    kind: str
    values: Mapping[str, Any]

    def __new__(cls, sentence: Callable[..., str], **values: Any) -> "Fact":
        """Create a fact from a function of its values."""
        self = super().__new__(cls, sentence(**values))
        self.kind, self.values = sentence.__name__, MappingProxyType(values)
        return self


def count_phrase(count: int, what: str, plural: str = "") -> str:
    """Return "1 answer" or "2 answers"."""
    return f"{count:,} {what if count == 1 else plural or f'{what}s'}"
