"""One training among many: what a model that trains several labelled sets at once is given."""

from dataclasses import dataclass

import numpy as np

from macal.problem import Split


@dataclass(frozen=True, eq=False)
class Task:
    """One labelled set to fit.

    Attributes:
        labelled: units with revealed outcomes, (m, d).
        valid: units for early stopping, where the model needs them.
        seed: of the model's own draws, a non-negative integer; nothing else moves them.
        y_scale: mean and s.d. that a model standardises outcomes with, unless it takes those of the labelled units.

    Raises:
        ValueError: labelled or validation units whose outcome is not known.
    """

    labelled: Split
    valid: Split | None = None
    seed: int = 0
    y_scale: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        for name, units in (("labelled", self.labelled), ("valid", self.valid)):
            if units is not None and (units.y is None or np.isnan(units.y).any()):
                missing = len(units) if units.y is None else int(np.isnan(units.y).sum())
                raise ValueError(
                    f"{name} units need an outcome to learn from, and {missing} of {len(units)} have none;"
                    " leave them out until they have answered"
                )


class NotFitted(ValueError):
    """A task could not be fitted; ``place`` says which of the tasks."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(f"training failed for tasks[{place}] ({reason})")
        self.place, self.reason = place, reason
