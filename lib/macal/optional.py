"""Imports when they are asked for (PEP 562), so that planning waits for no model; what a plain installation lacks."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Make a package's ``__getattr__``: names, by the module that has them, and own modules, imported when asked for.

    >>> attributes("macal", {"get": "macal.acquisition"})("get")("random")
    Random()
    """

    def attribute(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        if not name.startswith("_") and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute


@contextmanager
def needed(package: str, purpose: str) -> Iterator[None]:
    """Say, where an import within fails, what to install by pip and what for: ImportError."""
    try:
        yield
    except ImportError as error:
        noun = "packages" if " " in package else "package"
        raise ImportError(f"{purpose} need the {noun} {package}: pip install {package} ({error})") from error
