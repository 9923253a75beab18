"""Models by name.

A model has ``fit(tasks)``, which returns one fitted model per :class:`Task`; a fitted model has ``predict(x)``, the
posterior over both potential outcomes, ``info``, what its training reports, and, where criteria can use it,
``gradients(x, t)``. ``provides`` says which of it criteria may use, in the words of their ``needs``: "posterior" where
``predict`` returns one, "features" where there are gradients.
"""

from typing import Any

from macal.models.due import Due
from macal.models.exact_gp import ExactGP
from macal.models.meta import MetaLearner
from macal.models.task import NotFitted, Task
from macal.registry import Registry

MODELS = Registry("model", {"exact-gp": ExactGP, "due": Due, "meta-learner": MetaLearner})


__all__ = ["MODELS", "NotFitted", "Task", "get", "names"]


def names() -> list[str]:
    """Names of the models that :func:`get` knows."""
    return list(MODELS)


def get(name: str, **parameters: Any) -> Any:
    """Return a model by name, e.g. ``get("exact-gp", optimiser="lbfgs")``.

    Raises:
        UnknownName: no such model, or it has no such parameter.
    """
    return MODELS.make(name, parameters)
