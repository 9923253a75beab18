"""The deep kernel as one module: b encoders and their sparse GPs, which can leave and join while the rest train."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from macal.models.compiled import fused, recording, wanted
from macal.models.encoders import ImageNet28, ResidualNet
from macal.models.settings import Settings
from macal.models.shapes import BatchedFeatures, Lengths, PerModel, PerUnit, PerUnitArms, Points, Treatments, Values
from macal.models.sparse_gp import SparseGP, initial_inducing
from macal.models.spectral import SpectralConv2d, SpectralLinear
from macal.models.streams import Streams
from macal.problem import Split

INITIAL_UNITS = 1000  # labelled units whose features place the inducing points
WARM_UP = 10  # power iterations before the first features

InducingStart = tuple[Float[torch.Tensor, "a m k2"], Lengths]


@dataclass(frozen=True, eq=False)
class Units:
    """Units of one model as tensors on its device: covariates (n, d), treatment (n,), outcome (n,)."""

    x: Points
    t: Treatments
    y: Values

    @classmethod
    def of(cls, split: Split, device: torch.device, y_scale: tuple[float, float] = (0.0, 1.0)) -> "Units":
        """Copy a split to the device, its outcomes less a mean and over an s.d."""
        mean, sd = y_scale
        x, t, y = (torch.from_numpy(np.array(a)).to(device) for a in (split.x, split.t, (split.y - mean) / sd))
        return cls(x.float(), t, y.float())

    def __len__(self) -> int:
        return len(self.y)


class DeepKernel(nn.Module):
    """b independent models of equal architecture; every parameter and buffer leads with the model axis."""

    def __init__(self, encoder: nn.Module, gp: SparseGP) -> None:
        super().__init__()
        self.encoder, self.gp = encoder, gp

    def kept(self, streams: Streams, n: int) -> list[torch.Tensor]:
        """Draw what dropout multiplies the maps of ``n`` units of each model by, 0 or 1 / (1 - rate): (b, n, ...)."""
        rate = self.encoder.dropout
        return [streams.kept(*shape, rate=rate) / (1 - rate) for shape in self.encoder.decisions(n) if rate]

    def elbo(
        self, x: Float[torch.Tensor, "b n d"], t: PerUnitArms, y: PerUnit, n: PerModel, kept: Sequence[torch.Tensor]
    ) -> PerModel:
        """Return each model's training objective on a minibatch of its own ``n`` units, by what dropout keeps of it."""
        if wanted():
            bound = fused(_elbo)(self, x, t, y, n, kept)
            if recording(x) or bound.isfinite().all():
                return bound
        return _elbo(self, x, t, y, n, kept)

    def log_density(self, x: Float[torch.Tensor, "b n d"], t: PerUnitArms, y: PerUnit) -> PerUnit:
        """Return E_q[log p(y | f)] of units, without dropout."""
        return self.gp.log_density(*self.gp.marginals(self.features(x), t), y)

    def features(self, x: Float[torch.Tensor, "b n d"]) -> BatchedFeatures:
        """Return the encoder's features of units, without dropout."""
        # tables' encoders are fast: compiling one for each number of models in training would take longer than it saves
        encode = fused(_features) if wanted() and isinstance(self.encoder, ImageNet28) else _features
        return encode(self.encoder, x)

    def per_model(self) -> dict[str, torch.Tensor]:
        """Return all tensors that lead with the model axis, by name: gpytorch's bounds of parameters do not."""
        tensors = {**dict(self.named_parameters()), **dict(self.named_buffers())}
        return {name: tensor.detach() for name, tensor in tensors.items() if "_constraint" not in name}

    def set_per_model(self, tensors: Mapping[str, torch.Tensor]) -> "DeepKernel":
        """Replace all tensors of :meth:`per_model`, for as many models as these hold; return this module."""
        named = {**dict(self.named_parameters()), **dict(self.named_buffers())}
        for name, tensor in tensors.items():
            named[name].data = tensor
            named[name].grad = None
        return self

    def copy_of(self, tensors: Mapping[str, torch.Tensor]) -> "DeepKernel":
        """Return a new module of this architecture that holds ``tensors``."""
        shell = copy.deepcopy(self)
        return shell.set_per_model({name: tensor.clone() for name, tensor in tensors.items()})


def _features(encoder: nn.Module, x: Float[torch.Tensor, "b n d"]) -> Float[torch.Tensor, "b n k"]:
    return encoder(x)


def _elbo(
    network: DeepKernel,
    x: Float[torch.Tensor, "b n d"],
    t: PerUnitArms,
    y: PerUnit,
    n: PerModel,
    kept: Sequence[torch.Tensor],
) -> PerModel:
    return network.gp.elbo(network.encoder(x, kept), t, y, n)


def pad(rows: Sequence[torch.Tensor]) -> torch.Tensor:
    """Stack arrays of different lengths, (n, ...), filling up with zeros: (b, largest n, ...)."""
    return nn.utils.rnn.pad_sequence(list(rows), batch_first=True)


def build(settings: Settings, tasks: Sequence[Units], streams: Streams) -> DeepKernel:
    """Return freshly drawn models of each task's labelled units, by each model's random numbers."""
    with torch.no_grad():
        encoder = _encoder(settings, tasks[0].x.shape[1], streams).to(tasks[0].x.device)
        chosen = [torch.randperm(len(u), generator=g)[:INITIAL_UNITS] for u, g in zip(tasks, streams.host, strict=True)]
        # (b, n, d) -> (b, n, k), n the most units that any model has
        features = encoder(pad([u.x[i] for u, i in zip(tasks, chosen, strict=True)])).cpu()
        starts = []
        for units, index, own, generator in zip(tasks, chosen, features, streams.host, strict=True):
            starts.append(_start(settings, own[: len(index)], units.t.cpu()[index], generator))
        inducing, lengths = (torch.stack(part) for part in zip(*starts, strict=True))
        gp = SparseGP(streams, inducing, lengths, settings.kernel, settings.treatment_scale)
    return DeepKernel(encoder, gp).to(tasks[0].x.device)


def _encoder(settings: Settings, d: int, streams: Streams) -> nn.Module:
    if settings.encoder == "dnn":
        encoder = ResidualNet(streams, d, settings.width, settings.depth, settings.dropout, settings.bound)
    else:
        widths = settings.width // 2, settings.width
        dtype = torch.bfloat16 if settings.precision == "bfloat16" else None
        encoder = ImageNet28(streams, widths, settings.dropout, settings.bound, dtype)
    for module in encoder.modules():
        if isinstance(module, SpectralLinear | SpectralConv2d):
            for _ in range(WARM_UP):
                module.factor(iterate=True)
    return encoder


def _start(settings: Settings, features: Points, t: Treatments, generator: torch.Generator) -> InducingStart:
    """Return one model's inducing points and length scales; an arm without two units borrows the other's."""
    if settings.treatment == "input":
        arms = settings.treatment_scale * torch.rand(len(features), 1, generator=generator)
        groups = [torch.cat([features, arms], dim=1)]
    else:
        groups = [features[t == arm] if (t == arm).sum() > 1 else features for arm in (0, 1)]
    starts = [initial_inducing(group, settings.inducing, generator) for group in groups]
    return torch.stack([points for points, _ in starts]), torch.tensor([length for _, length in starts])
