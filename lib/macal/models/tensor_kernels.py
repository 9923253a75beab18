"""Kernels of squared distances in PyTorch, beside :func:`macal.kernels.rbf_of`, for both libraries."""

import torch

from macal.models.shapes import Tensor

SMALLEST = 1e-15  # squared distance whose root is taken: that of 0 has no gradient


def matern_of(squared: Tensor, nu: float) -> Tensor:
    """Matern kernel of smoothness nu, any shape: exp(-r) times 1, 1 + r or 1 + r + r^2 / 3, with r = sqrt(2 nu s)."""
    r = (2 * nu * squared.clamp_min(SMALLEST)).sqrt()
    factor = {0.5: lambda: 1, 1.5: lambda: 1 + r, 2.5: lambda: 1 + r + r**2 / 3}[nu]()
    return factor * torch.exp(-r)


def rational_quadratic_of(squared: Tensor, alpha: Tensor) -> Tensor:
    """(1 + s / (2 alpha))^-alpha, any shape with which ``alpha`` broadcasts."""
    return (1 + squared / (2 * alpha)) ** -alpha


def rbf_into(squared: Tensor, lengthscale: Tensor, out: Tensor | None = None) -> Tensor:
    """exp(-d^2 / (2 lengthscale^2)) of squared distances in one pass: without gradients, into ``out`` where given."""
    return torch.mul(squared, -0.5 / lengthscale.square(), out=out).exp_()
