"""Packages whose modules are imported when they are asked for (PEP 562), so that planning waits for no model."""

from collections.abc import Callable, Mapping
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
