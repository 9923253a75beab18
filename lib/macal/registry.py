"""Named things of one kind, and errors that name the nearest known one."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any


def nearest(name: object, known: Iterable[str]) -> str:
    """Say an unknown name, the nearest known one and all known ones."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{name!r}{hint}; known: {', '.join(known) or 'none'}"


class UnknownName(ValueError):
    """A name that no dataset, criterion, model or parameter has."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        """Say which ``kind`` of thing ``name`` is not, and which ``known`` name is nearest."""
        super().__init__(f"unknown {kind} {nearest(name, known)}")


class Registry(dict[str, Any]):
    """A dictionary of names of one ``kind`` whose missing keys raise :class:`UnknownName`."""

    def __init__(self, kind: str, entries: dict[str, Any]) -> None:
        """Hold ``entries``; ``kind`` is the word for one of them in an error."""
        super().__init__(entries)
        self.kind = kind

    def __missing__(self, name: object) -> Any:
        raise UnknownName(self.kind, name, self)

    def make(self, name: str, parameters: Mapping[str, Any]) -> Any:
        """Make an instance of the dataclass of that name, and refuse parameters that it does not have."""
        cls = self[name]
        known = [f.name for f in fields(cls)]
        for parameter in parameters:
            if parameter not in known:
                raise UnknownName(f"parameter of {name!r}", parameter, known)
        return cls(**parameters)
