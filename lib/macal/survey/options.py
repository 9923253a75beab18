"""Settings of a plan, each declared once, as a field: its kind, default and help; signature, parser and docs derive."""

import argparse
import inspect
import textwrap
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, field, fields
from typing import Any, get_type_hints

from macal.arguments import as_hinted


def option(
    text: str,
    default: Any = MISSING,
    *,
    group: str,
    flag: str = "",
    old: str = "",
    written: str = "",
    one_of: str = "",
    **more: Any,
) -> Any:
    """Return a dataclass field that a command offers, too.

    Args:
        text: what the setting is, for Python and the command.
        default: its default; a class makes one.
        group: heading under which the command lists it.
        flag: the command's name for it, where it is another.
        old: another one, not listed.
        written: how the command takes it.
        one_of: name of a set of options of which the command needs exactly one.
        more: further arguments of :meth:`argparse.ArgumentParser.add_argument`.
    """
    about = {"text": text, "group": group, "flag": flag, "old": old, "written": written, "one_of": one_of, "more": more}
    return field(**{"default_factory" if isinstance(default, type) else "default": default}, metadata=about)


def _of(kinds: Collection[type]) -> list[Field[Any]]:
    return [one for kind in kinds for one in fields(kind)]


def signature_of(*kinds: type, positional: Collection[str]) -> inspect.Signature:
    """Return the signature of a function that takes the fields of dataclasses, all but some by keyword."""
    parameters = []
    for one in sorted(_of(kinds), key=lambda one: one.name not in positional):
        kind = "POSITIONAL_OR_KEYWORD" if one.name in positional else "KEYWORD_ONLY"
        default = one.default if one.default_factory is MISSING else one.default_factory()
        default = inspect.Parameter.empty if default is MISSING else default
        about = {"default": default, "annotation": one.type}
        parameters.append(inspect.Parameter(one.name, getattr(inspect.Parameter, kind), **about))
    return inspect.Signature(parameters)


def described(*kinds: type) -> str:
    """Return the entries of a class's ``Args``, one for each field."""
    entries = [f"{one.name}: {one.metadata['text']}." for one in _of(kinds)]
    return "\n".join(textwrap.fill(one, 120, initial_indent=" " * 8, subsequent_indent=" " * 12) for one in entries)


def given(settings: Any, but: Collection[str] = ()) -> dict[str, str]:
    """Return the settings that differ from their defaults, in words, by the command's name; ``but`` some."""
    stated = {}
    for one in _of([type(settings)]):
        value, default = getattr(settings, one.name), one.default
        default = default if one.default_factory is MISSING else one.default_factory()
        if one.name not in but and value != default and value is not None:
            stated[(one.metadata["flag"] or one.name).replace("-", " ").replace("_", " ")] = _words(value)
    return stated


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        value = [f"{name}={one}" for name, one in value.items()]
    if isinstance(value, (float, int)) and not isinstance(value, bool):
        return f"{value:,.10g}"
    return str(value) if isinstance(value, (str, bool)) else ", ".join(map(str, value))


def parted(given: Mapping[str, Any], *kinds: type) -> list[Any]:
    """Return dataclasses, made of the settings that each has.

    Raises:
        TypeError: no such setting.
        ValueError: a value of a wrong kind, or that a dataclass refuses.
    """
    known = {one.name for one in _of(kinds)}
    if unknown := [name for name in given if name not in known]:
        raise TypeError(f"there is no argument {unknown[0]!r}")
    hints = [get_type_hints(kind, include_extras=True) for kind in kinds]
    parts = [as_hinted({name: value for name, value in given.items() if name in hint}, hint) for hint in hints]
    return [kind(**part) for kind, part in zip(kinds, parts, strict=True)]


def add_to(parser: argparse.ArgumentParser, *kinds: type, only: Collection[str] = ()) -> dict[str, Any]:
    """Add an option for each field, or for some, under the heading of its group; return the groups."""
    groups: dict[str, Any] = {}
    for one in _of(kinds):
        if only and one.name not in only:
            continue
        about = one.metadata
        if about["group"] not in groups:
            groups[about["group"]] = parser.add_argument_group(about["group"])
        choice = about["one_of"]
        if choice and choice not in groups:
            groups[choice] = groups[about["group"]].add_mutually_exclusive_group(required=True)
        flag, add = about["flag"] or one.name.replace("_", "-"), groups[choice or about["group"]].add_argument
        more = {"dest": one.name, **about["more"]}
        if "choices" not in more:
            more["metavar"] = flag.rpartition("-")[2].upper()
        if one.default is MISSING and one.default_factory is MISSING:
            more["required"] = True
        text = "; ".join(filter(None, (about["text"], about["written"])))
        add(f"--{flag}", help=text.replace("%", "%%"), **more)
        if about["old"]:
            add(f"--{about['old']}", help=argparse.SUPPRESS, **more)
    return groups


def number(text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a number is written as 1234.5, got {text!r}") from None


def number_or_column(text: str) -> float | str:
    """Read a number, or the name of a column."""
    try:
        return float(text)
    except ValueError:
        return text


def names(text: str) -> list[str]:
    """Read names, A,B,C."""
    return text.split(",")


def pair(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE."""
    name, _, value = text.partition("=")
    if not (name and value):
        raise argparse.ArgumentTypeError(f"{text!r} must be written as NAME=VALUE")
    return name, int(value) if value.isdigit() else number_or_column(value)


def sample(text: str) -> int | str:
    """Read a number of people, or all."""
    if text != "all" and not text.isdigit():
        raise argparse.ArgumentTypeError(f"a sample is a number of people, or all, got {text!r}")
    return text if text == "all" else int(text)
