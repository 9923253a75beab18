"""Facts of plans and estimates: values first, and the words for them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any


class Fact(str):
    """A fact in a sentence.

    Attributes:
        kind: of fact, by the name of the function in :mod:`macal.survey.words` that words it.
        values: what is said of it, by name; arguments of that function.

    >>> from macal.survey import words
    >>> fact = Fact(words.answers_ahead, people=3)
    >>> print(fact.kind, fact.values["people"], fact, sep=" | ")
    answers_ahead | 3 | The weights leave out answers of people in no round that has been asked: 3 of them.
    """

    __slots__ = ("kind", "values")
    kind: str
    values: Mapping[str, Any]

    def __new__(cls, sentence: Callable[..., str], **values: Any) -> "Fact":
        """A fact of some values, in the words of a function of them."""
        self = super().__new__(cls, sentence(**values))
        self.kind, self.values = sentence.__name__, MappingProxyType(values)
        return self
