"""Gradients of a deep kernel's mean by its encoder's weights, one per unit, projected to a few hundred numbers.

Reference: D. Holzmueller, V. Zaverkin, J. Kaestner and I. Steinwart, "A Framework and Benchmark for Deep Batch Active
Learning for Regression", Journal of Machine Learning Research 24(164), 2023 (sketched gradients as features).
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float

from macal.models.network import DeepKernel
from macal.models.shapes import Treatments

CHUNK = 64  # units whose gradients are held at a time

Matrix = Float[torch.Tensor, "n p"]


def gradients(network: DeepKernel, x: Matrix, t: Treatments) -> Iterator[tuple[str, Matrix]]:
    """Yield, for each weight of the encoder by name, d mean(own arm) / d weight of each unit, (n, numbers in it).

    Every unit gets an encoder of its own, a copy of the one: the batch of models then returns the gradients apart.

    Args:
        network: one model.
        x: covariates, (n, d).
        t: treatment, (n,).
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
    """Project the gradients of units onto ``dimensions`` random directions that keep inner products on average.

    Args:
        network: one model.
        x: covariates, (n, d).
        t: treatment, (n,).
        dimensions: numbers per unit.
        seed: of the directions.

    Returns:
        (n, dimensions), on the network's device.
    """
    generator = torch.Generator().manual_seed(seed)
    directions = {
        name: torch.randn(weight[0].numel(), dimensions, generator=generator).to(x.device)
        for name, weight in network.encoder.named_parameters()
    }
    rows = [
        sum(gradient @ directions[name] for name, gradient in gradients(network, units, arms))
        for units, arms in zip(x.split(CHUNK), t.split(CHUNK), strict=True)
    ]
    return torch.cat(rows) / dimensions**0.5
