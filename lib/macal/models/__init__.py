"""Models by name: settings are a :class:`Model`, what they make of each :class:`Task` is :class:`Fitted`."""

from typing import Any

from macal import optional
from macal.arguments import hinted
from macal.models.base import Fitted, Model, NotFitted, Task
from macal.models.joint_gp import JointGP
from macal.models.meta import MetaLearner
from macal.registry import Catalogue, ModelEntry

MODELS = Catalogue(
    "model",
    {
        "exact-gp": ModelEntry(
            "macal.models.exact_gp:ExactGP",
            "exact GP",
            "Rasmussen and Williams 2006",
            provides=("posterior", "prior"),
            packages="torch",
        ),
        "joint-gp": ModelEntry(JointGP, "joint GP", "Bonilla et al. 2007", provides=("posterior", "prior")),
        "due": ModelEntry(
            "macal.models.due:Due",
            "deep kernel",
            "van Amersfoort et al. 2021",
            provides=("posterior", "features"),
            packages="torch gpytorch",
        ),
        "meta-learner": ModelEntry(MetaLearner, "meta-learner", "Künzel et al. 2019"),
    },
)

__all__ = ["MODELS", "Fitted", "Model", "NotFitted", "Task", "as_model", "get", "names"]


def names() -> list[str]:
    """Names of the models that :func:`get` knows."""
    return list(MODELS)


@hinted
def get(name: str, **parameters: Any) -> Model:
    """Return a model by name, e.g. ``get("exact-gp", optimiser="lbfgs")``; UnknownName where it is unknown."""
    return MODELS.make(name, parameters)


def as_model(model: Model | str) -> Model:
    """Return the model of that name, or the model itself; ValueError for what is neither."""
    if isinstance(model, str):
        return get(model)
    if isinstance(model, type) or not isinstance(model, Model):
        raise ValueError(
            f"model must be one of the names {', '.join(MODELS)}, or an object with fit(tasks) and provides,"
            f" got {model!r}"
        )
    return model


__getattr__ = optional.attributes(
    __name__, {}
)  # its modules: those that need PyTorch are imported when they are asked for
