"""Settings of the deep kernel; the defaults are the paper's words."""

from dataclasses import dataclass, field

import torch

from macal.arguments import Count, Positive, as_hinted
from macal.models.base import LATER
from macal.models.sparse_gp import KERNELS
from macal.registry import UnknownName, check_known

CHOICES = {
    "encoder": ("dnn", "cnn"),
    "treatment": ("separate", "input"),
    "kernel": tuple(KERNELS),
    "validation": ("units", "minibatches"),
    "precision": ("float32", "bfloat16"),
}
COUNTS = ("width", "depth", "inducing", "batch", "steps", "epochs", "patience", "slots", "chunk")


@dataclass(frozen=True)
class Settings:
    """What is built and how it is trained.

    Attributes:
        encoder: "dnn", a residual network for tables, or "cnn", one for images of 28 x 28.
        treatment: "separate", a sparse GP per arm (the paper), or "input", one GP that sees it (the public code).
        kernel: "rbf", "matern-1/2", "matern-3/2", "matern-5/2" or "rq".
        validation: average over validation "units", or over the means of their "minibatches" (the public code).
        width: features; for images the second stage's channels, twice the first's.
        depth: linear maps of the "dnn".
        dropout: rate; the weight decay is 0.5 (1 - dropout) / (labelled units).
        bound: of every map's spectral norm, or None.
        inducing: inducing points per GP.
        lr: Adam's learning rate of the encoder.
        lr_gp: that of GP and noise.
        batch: units per minibatch.
        steps: minibatches per epoch.
        epochs: at most.
        patience: epochs without a better validation loss before a model stops.
        slots: models in training at a time; more cost memory.
        chunk: units at a time in validation and prediction.
        device: "cpu", "cuda", or "auto" for CUDA where there is one.
        treatment_scale: what the treatment is multiplied by where it is an input.
        precision: of images and weights in the "cnn"'s convolutions: "float32", or "bfloat16" (mixed precision).

    Raises:
        UnknownName: an unknown encoder, treatment, kernel, validation, precision or device.
        ValueError: a number out of range.
    """

    encoder: str = "dnn"
    treatment: str = "separate"
    kernel: str = "rbf"
    validation: str = "units"
    width: int = 200
    depth: int = 3
    dropout: float = 0.1
    bound: float | None = 0.95
    inducing: int = 100
    lr: float = 1e-3
    lr_gp: float = 2e-3
    batch: int = 100
    steps: int = 100
    epochs: int = 500
    patience: int = 5
    slots: int = 32
    chunk: int = 1024
    device: str = "auto"
    treatment_scale: float = field(default=1.0, metadata=LATER)
    precision: str = field(default="float32", metadata=LATER)

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            check_known(name, known, getattr(self, name))
        rates = dict.fromkeys(("lr", "lr_gp", "treatment_scale"), Positive)
        as_hinted(vars(self), dict.fromkeys(COUNTS, Count) | rates)
        if self.device.split(":")[0] not in ("auto", "cpu", "cuda"):
            raise UnknownName("device", self.device, ("auto", "cpu", "cuda"))
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), got {self.dropout}")
        if self.bound is not None and not self.bound > 0:
            raise ValueError(f"bound must be above 0, or None for no spectral bound, got {self.bound}")
        if self.treatment_scale != 1 and self.treatment != "input":
            raise ValueError("treatment_scale needs treatment 'input'; separate processes do not see the treatment")
        if self.precision != "float32" and self.encoder != "cnn":
            raise ValueError(f"precision {self.precision!r} needs encoder 'cnn'; the others compute in float32")

    @property
    def runs_on(self) -> str:
        """The device that "auto" stands for on this machine."""
        return ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device
