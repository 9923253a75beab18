"""Gradients of a deep kernel's mean by its encoder's weights, one per unit, projected to a few hundred numbers.

Reference: D. Holzmueller, V. Zaverkin, J. Kaestner and I. Steinwart, "A Framework and Benchmark for Deep Batch Active
Learning for Regression", Journal of Machine Learning Research 24(164), 2023.
"""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float

from macal.models.encoders import ResidualNet
from macal.models.network import DeepKernel
from macal.models.shapes import Matrix, Treatments
from macal.models.spectral import SpectralLinear

CHUNK = 64  # units whose gradients are held at a time


def gradients(network: DeepKernel, x: Matrix, t: Treatments) -> Iterator[tuple[str, Matrix]]:
    """Yield, for each weight of one encoder by name, d mean(own arm) / d weight of each unit, (n, numbers in it).

    Every unit gets an encoder of its own, a copy of the one: the batch of models then returns the gradients apart.
    """
    n = len(x)
    copies = network.copy_of(
        {
            name: tensor.expand(n, *tensor.shape[1:]) if name.startswith("encoder") else tensor
            for name, tensor in network.per_model().items()
        }
    )
    names, weights = zip(*copies.encoder.named_parameters(), strict=True)
    # n models of one unit each, (n, 1, d) -> (n, 1, k), become one model of n units, (1, n, k)
    features = copies.encoder(x[:, None]).transpose(0, 1)
    mean, _ = copies.gp.marginals(features, t[None])
    for name, gradient in zip(names, torch.autograd.grad(mean.sum(), weights), strict=True):
        yield name, gradient.flatten(1)


def sketch(network: DeepKernel, x: Matrix, t: Treatments, dimensions: int, seed: int) -> Float[torch.Tensor, "n k"]:
    """Project gradients onto random directions that keep inner products on average, (n, dimensions), on the device."""
    generator = torch.Generator().manual_seed(seed)

    def directions(tensor: torch.Tensor) -> torch.Tensor:
        signs = torch.randint(0, 2, (tensor.numel(), dimensions), generator=generator)
        return (2 * signs - 1).float().to(x.device)

    if isinstance(network.encoder, ResidualNet):
        rows = _by_factors(network, x, t, directions)
    else:
        by_weight = {name: directions(weight[0]) for name, weight in network.encoder.named_parameters()}
        parts = zip(x.split(CHUNK), t.split(CHUNK), strict=True)
        rows = torch.cat([sum(g @ by_weight[name] for name, g in gradients(network, *part)) for part in parts])
    return rows / dimensions**0.5


def _by_factors(
    network: DeepKernel, x: Matrix, t: Treatments, directions: Callable[[torch.Tensor], torch.Tensor]
) -> Float[torch.Tensor, "n k"]:
    """Project the gradients of linear maps without forming them (Holzmueller et al., the section on sketching).

    A map a -> b + W a / c, with c = max(1, left' W right / bound), where d mean / d output = e, has

        d mean / d W = e a' / c - [c > 1] (e' W a / c^2) left right' / bound,

    and P, Q at random project u v' to (P u) * (Q v), by element.
    """
    maps = [module for module in network.encoder.modules() if isinstance(module, SpectralLinear)]
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    hooks = [one.register_forward_hook(lambda _, given, out: seen.append((given[0], out))) for one in maps]
    try:
        mean, _ = network.gp.marginals(network.encoder(x[None]), t[None])
    finally:
        for hook in hooks:
            hook.remove()
    rows = 0
    pulls = torch.autograd.grad(mean.sum(), [out for _, out in seen])
    for one, (given, out), (pull,) in zip(maps, seen, pulls, strict=True):
        factor = one.factor(iterate=False).detach()
        given, image = given[0].detach() / factor, (out - one.bias)[0].detach()
        # (d_out, k), (d_in, k)
        left, right = directions(one.weight[0, :, 0]), directions(one.weight[0, 0])
        rows = rows + pull @ directions(one.bias) + (pull @ left) * (given @ right)
        if factor > 1:
            along = (pull * image).sum(1, keepdim=True) / (factor * one.bound)
            rows = rows - along * (one.left[0].mT @ left) * (one.right[0].mT @ right)
    return rows
