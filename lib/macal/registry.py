"""Named things of one kind, and errors that name the nearest known one."""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, Generic, NoReturn, TypeVar

from macal.compat import override
from macal.optional import needed

T = TypeVar("T")
RETIRED = "retired"  # attribute of a class: settings that are none any more, with the value that records still name


def nearest(name: object, known: Iterable[object], guess: bool = True) -> str:
    """Say an unknown name, the nearest known one, where that may be guessed, and all known ones."""
    known = list(map(str, known))
    near = difflib.get_close_matches(str(name), known, 1) if guess else []
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{name!r}{hint}; known: {', '.join(known) or 'none'}"


class UnknownName(ValueError):
    """A name that no dataset, criterion, model or parameter has."""

    def __init__(self, kind: str, name: object, known: Iterable[object], guess: bool = True) -> None:
        super().__init__(f"unknown {kind} {nearest(name, known, guess)}")


def check_known(kind: str, known: Collection[Any], *names: object) -> None:
    """Raise :class:`UnknownName` for the first of some names that is not known."""
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known)


class Registry(dict[str, T], Generic[T]):
    """A dictionary of names of one ``kind`` whose missing keys raise :class:`UnknownName`."""

    def __init__(self, kind: str, entries: Mapping[str, T]) -> None:
        super().__init__(entries)
        self.kind = kind

    def __missing__(self, name: object) -> NoReturn:
        raise UnknownName(self.kind, name, self)


@dataclass(frozen=True)
class Entry:
    """What makes a thing that goes by a name, and what tables, figures and notices say of it.

    Attributes:
        maker: what makes one from its parameters, or where it stands, ``"module:name"``, to be imported when asked for.
        label: its name in tables and figures.
        source: who proposed it, author and year.
        style: colour and line in figures; the colour is the next free one where it is None.
    """

    maker: Callable[..., Any] | str
    label: str
    source: str
    style: tuple[str | None, str] = (None, "-")

    @property
    def factory(self) -> Callable[..., Any]:
        """What makes one."""
        if not isinstance(self.maker, str):
            return self.maker
        module, name = self.maker.split(":")
        return getattr(import_module(module), name)


@dataclass(frozen=True)
class DataEntry(Entry):
    """A data set.

    Attributes:
        files: groups of raw files that it is made from, see :mod:`macal.datasets.files`.
        queries: batches of a campaign, whatever the replication.
    """

    files: tuple[str, ...] = ()
    queries: int | None = None


@dataclass(frozen=True)
class ModelEntry(Entry):
    """A model.

    Attributes:
        provides: what criteria may use of a fitted one.
        packages: for pip, that it needs in addition to those that come with this one.
    """

    provides: tuple[str, ...] = ()
    packages: str = ""

    @property
    @override
    def factory(self) -> Callable[..., Any]:
        """What makes one; ImportError, which says what to install, where it needs a package that is not there."""
        with needed(self.packages, f"models such as {self.label!r}"):
            return super().factory


E = TypeVar("E", bound=Entry)


class Catalogue(Registry[E]):
    """A registry of things that can be made."""

    def make(self, name: str, parameters: Mapping[str, Any], *first: Any) -> Any:
        """Make the thing of that name from ``first`` and its own ``parameters``; UnknownName for either."""
        factory = self[name].factory
        retired = getattr(factory, RETIRED, {}).items()
        parameters = {key: value for key, value in parameters.items() if (key, value) not in retired}
        known = _parameters(factory)[len(first) :]
        check_known(f"parameter of {name!r}", known, *parameters)
        return factory(*first, **parameters)


@cache  # a catalogue of records makes tens of thousands
def _parameters(factory: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(signature(factory).parameters)
