"""What an installation of some packages holds: they, and what they require in turn."""

from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def name_of(requirement):
    """The name of a distribution in the form that compares: "jupyter_book>=1" and "Jupyter-Book" are the same."""
    return canonicalize_name(Requirement(requirement).name)


def installed_with(requirements):
    """What pip would have installed for these requirements, by name."""
    found, todo = set(), list(requirements)
    while todo:
        requirement = Requirement(todo.pop())
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras} - {extra for other, extra in found if other == name}:
            found.add((name, extra))
            needed = [Requirement(r) for r in metadata.requires(name) or []]
            todo += [str(r) for r in needed if not r.marker or r.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}
