"""Models by name: each maps labelled units to a posterior over both potential outcomes."""

from dataclasses import fields
from typing import Any

from macal.models.exact_gp import ExactGP
from macal.registry import Registry, UnknownName

MODELS = Registry("model", {"exact-gp": ExactGP})


def names() -> list[str]:
    """Names of the models that :func:`get` knows."""
    return list(MODELS)


def get(name: str, **parameters: Any) -> Any:
    """Return a model by name, e.g. ``get("exact-gp", optimiser="lbfgs")``.

    Raises:
        UnknownName: no such model, or it has no such parameter.
    """
    cls = MODELS[name]
    known = [f.name for f in fields(cls)]
    for parameter in parameters:
        if parameter not in known:
            raise UnknownName(f"parameter of {name!r}", parameter, known)
    return cls(**parameters)
