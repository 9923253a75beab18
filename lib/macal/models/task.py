"""One training among many: what a model that trains several labelled sets at once is given."""

from dataclasses import dataclass

from macal.problem import Split


@dataclass(frozen=True, eq=False)
class Task:
    """One labelled set to fit.

    Attributes:
        labelled: units with revealed outcomes, (m, d).
        valid: units for early stopping, where the model needs them.
        seed: of the model's own draws, a non-negative integer; nothing else moves them.
        y_scale: mean and s.d. that a model standardises outcomes with, unless it takes those of the labelled units.
    """

    labelled: Split
    valid: Split | None = None
    seed: int = 0
    y_scale: tuple[float, float] = (0.0, 1.0)


class NotFitted(ValueError):
    """A task could not be fitted; ``place`` says which of the tasks."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(f"training failed for tasks[{place}] ({reason})")
        self.place, self.reason = place, reason
