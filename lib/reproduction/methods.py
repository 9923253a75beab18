"""Methods as values; their names in records and tables are taken apart here alone."""

import re
from dataclasses import dataclass

from macal import acquisition
from macal.acquisition import CRITERIA, Criterion

LOOKAHEAD = 4  # queries chosen from one fit by a method whose name ends in "-ahead"
_NAME = re.compile(r"(?P<criterion>.+?)(?P<squared>-squared)?(?:-(?P<alpha>\d+(?:\.\d+)?))?(?P<ahead>-ahead)?")


@dataclass(frozen=True)
class Method:
    """A criterion with its settings, and how far it chooses ahead of its model.

    Attributes:
        criterion: its name in the catalogue.
        alpha: MACAL's weight of similarity; None for the paper's.
        is_squared: whether MACAL's distances are squared, as in the public code.
        lookahead: queries chosen from one fit of the model.
    """

    criterion: str
    alpha: float | None = None
    is_squared: bool = False
    lookahead: int = 1

    @classmethod
    def parse(cls, name: str) -> "Method":
        """The method of a recorded name, such as "macal-squared-5" or "epig-tau-ahead"."""
        if not (name and (found := _NAME.fullmatch(name))) or name in CRITERIA:
            return cls(name)
        alpha = found["alpha"] and float(found["alpha"])
        return cls(found["criterion"], alpha, bool(found["squared"]), LOOKAHEAD if found["ahead"] else 1)

    @property
    def label(self) -> str:
        """What pages and figures call it.

        Raises:
            KeyError: its criterion is not in the catalogue.
        """
        parts = [CRITERIA[self.criterion].label, "squared" * self.is_squared]
        parts += [f"α = {self.alpha:g}"] if self.alpha is not None else []
        parts += [f"{self.lookahead} queries ahead"] if self.lookahead > 1 else []
        return ", ".join(filter(None, parts))

    def make(self) -> Criterion:
        """The criterion with its settings.

        Raises:
            UnknownName: it is not in the catalogue, or has no such setting.
        """
        settings = {"alpha": self.alpha, "metric": "sqeuclidean" if self.is_squared else None}
        return acquisition.get(self.criterion, **{k: v for k, v in settings.items() if v is not None})


def label(name: str) -> str:
    """What pages and figures call a method by its recorded name; anything else as it is."""
    method = Method.parse(name)
    return method.label if method.criterion in CRITERIA else name
