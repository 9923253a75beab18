"""Exact Gaussian processes, many at once: gpytorch's model and starting values, its gradient written out.

Constant mean, scaled isotropic RBF kernel, Gaussian noise. Problems are padded to a width that follows from their own
size, so that a fit gives the same bits whatever else is in its batch.

Notation: s is the output scale, l the length scale, v the noise variance, E the kernel without its scale, C = s E + v I
= L L' the covariance of the outcomes, r = y - mean, and w = C^-1 r the weights.

References:
    C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*, 2006 (Eqs. 2.25, 2.26, 5.8, 5.9).
    D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", arXiv:1412.6980, 2015.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize
from torch.nn.functional import softplus

from macal.models import cholesky, tensor_kernels
from macal.models.shapes import PerModel, Points, Raw, Square, Values

SMALLEST_NOISE = 1e-4  # gpytorch's lower bound of the noise variance
BETAS, EPS = (0.9, 0.999), 1e-8  # of Adam
_FAR = 1e30  # squared distance at which every kernel here is exactly 0
_BOUNDS = (-15.0, 60.0)  # of raw parameters in a line search: keeps it from overflowing
_WIDTH = 8  # sizes are rounded up to a multiple of it
_ELEMENTS, _LARGEST = 2**17, 32  # of a batch: elements of its matrices, problems
_WIDE = 100  # covariates from which on products are many times as fast as differences

ManyPoints = Sequence[Float[torch.Tensor, "_ _"]]  # of any sizes
ManyValues = Sequence[Float[torch.Tensor, "..."]]
Solved = tuple[Square, Float[torch.Tensor, "b w"]]


def inverse_softplus(value: float) -> float:
    """The number whose softplus is ``value``, a positive number."""
    return value + math.log(-math.expm1(-value))


def width(n: int) -> int:
    """What a problem of ``n`` units is padded to: no multiple of 128, whose rows would share places in the cache."""
    rounded = _WIDTH * math.ceil(n / _WIDTH)
    return rounded if rounded % 128 else rounded + _WIDTH


def together(n: int) -> int:
    """How many problems of ``n`` units make a batch: enough to hide Python, few enough for the processor's cache."""
    return max(1, min(_LARGEST, _ELEMENTS // width(n) ** 2))


def natural(raw: Float[torch.Tensor, "*_ 4"]) -> tuple[torch.Tensor, ...]:
    """Mean, output scale, length scale and noise variance of raw parameters, as gpytorch constrains them."""
    mean, scale, length, noise = raw.unbind(-1)
    return mean, softplus(scale), softplus(length), softplus(noise) + SMALLEST_NOISE


def squared_distances(a: Float[torch.Tensor, "n d"], b: Float[torch.Tensor, "m d"]) -> Float[torch.Tensor, "n m"]:
    """Squared Euclidean distances by differences, which leave an exact 0 between equal points."""
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist").square_()


def distances_to_new(x: Float[torch.Tensor, "n d"], new: Float[torch.Tensor, "m d"]) -> Float[torch.Tensor, "n m"]:
    """Squared distances of labelled to new units; of many covariates by products, |a|^2 + |b|^2 - 2 a'b."""
    if x.shape[1] < _WIDE:
        return squared_distances(x, new)
    centre = x.mean(0)
    return torch.cdist(x - centre, new - centre, compute_mode="use_mm_for_euclid_dist").square_()


class Problems:
    """Regression problems of one padded width: inputs ``x``, (n, d), and outcomes ``y``, (n,), of each."""

    def __init__(self, x: ManyPoints, y: ManyValues) -> None:
        shape = len(x), width(max(map(len, x)))
        # (b, w, w); (b, w) each; (b, w, w) each, written over again and again
        self.squared = torch.full((*shape, shape[1]), _FAR, dtype=torch.float64)
        self.y, self.real = torch.zeros(shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.float64)
        for k, (points, values) in enumerate(zip(x, y, strict=True)):
            n = len(points)
            self.squared[k, :n, :n] = squared_distances(points, points)
            self.y[k, :n], self.real[k, :n] = values, 1.0
        self.n = self.real.sum(1)
        self._kernel, self._spare = torch.empty_like(self.squared), torch.empty_like(self.squared)

    def factor(self, raw: Raw) -> Square:
        """Cholesky factors L of C = s E + v I, (b, w, w); E is left in ``_kernel``."""
        _, scale, length, noise = natural(raw)
        tensor_kernels.rbf_into(self.squared, length[:, None, None], out=self._kernel)
        # (b, w, w)
        covariance = torch.mul(self._kernel, scale[:, None, None], out=self._spare)
        # 1 for the padding, where the kernel is 0
        covariance.diagonal(dim1=1, dim2=2).add_(torch.where(self.real > 0, noise[:, None], 1.0))
        return cholesky.exact(covariance)

    def weights(self, raw: Raw, factor: Square) -> Float[torch.Tensor, "b w"]:
        """Inverse covariance times residual, w = C^-1 r; 0 for padded units."""
        residual = (self.y - raw[:, :1]) * self.real
        return torch.cholesky_solve(residual[:, :, None], factor)[:, :, 0]

    def solve(self, raw: Raw) -> Solved:
        """Factors and weights, which evidence and gradient can share."""
        factor = self.factor(raw)
        return factor, self.weights(raw, factor)

    def evidence(self, raw: Raw, solved: Solved | None = None) -> PerModel:
        """Log marginal likelihood over n, as gpytorch has it: -(r'w + log det C) / 2n - log(2 pi) / 2 (Eq. 5.8)."""
        factor, weights = solved or self.solve(raw)
        data_fit = ((self.y - raw[:, :1]) * weights).sum(1)
        log_det = 2 * factor.diagonal(dim1=1, dim2=2).log().sum(1)
        return -0.5 * (data_fit + log_det) / self.n - 0.5 * math.log(2 * math.pi)

    def gradient(self, raw: Raw, solved: Solved | None = None) -> Raw:
        """Gradient of :meth:`evidence` in the raw parameters, with C' the derivative of C (Eq. 5.9).

            n d evidence / d theta = (w' C' w - tr[C^-1 C']) / 2

        C' is E for s, s E * d2 / l^3 for l (elementwise, d2 the squared distances), I for v; for the mean it is sum w.
        What is solved must be the latest: its kernels are used up.
        """
        _, scale, length, noise = natural(raw)
        factor, weights = solved or self.solve(raw)
        inverse = torch.cholesky_inverse(factor)
        trace = (inverse.diagonal(dim1=1, dim2=2) * self.real).sum(1)
        square = weights.square().sum(1)
        data_fit = ((self.y - raw[:, :1]) * weights).sum(1)
        # E = (C - v I) / s saves a pass over the kernels: w'C w = r'w, tr[C^-1 C] = n
        by_scale = (data_fit - noise * square - self.n + noise * trace) / (2 * scale)
        # E * d2, (b, w, w), in the place of E
        slope = self._kernel.mul_(self.squared)
        # products and sums, not matmul, whose rounding depends on how many problems there are
        fit = (torch.mul(slope, weights[:, None, :], out=self._spare).sum(2) * weights).sum(1)
        by_length = (fit - inverse.mul_(slope).sum((1, 2))) * scale / (2 * length**3)
        by_noise = (square - trace) / 2
        # derivative of the softplus
        chain = torch.cat([torch.ones_like(raw[:, :1]), torch.sigmoid(raw[:, 1:])], 1)
        return torch.stack([weights.sum(1), by_scale, by_length, by_noise], 1) * chain / self.n[:, None]


def adam(problems: Problems, raw: Raw, steps: int, lr: float) -> Raw:
    """Climb the evidence by so many Adam steps at rate ``lr`` from ``raw``.

    With g the gradient, m <- b1 m + (1 - b1) g, v <- b2 v + (1 - b2) g^2, and at step k the parameters move by -lr m /
    (1 - b1^k) / (sqrt(v / (1 - b2^k)) + eps).
    """
    first, second = torch.zeros_like(raw), torch.zeros_like(raw)
    for step in range(1, steps + 1):
        gradient = -problems.gradient(raw)
        first = torch.lerp(first, gradient, 1 - BETAS[0])
        second = BETAS[1] * second + (1 - BETAS[1]) * gradient.square()
        spread = second.sqrt() / math.sqrt(1 - BETAS[1] ** step) + EPS
        raw = raw - lr / (1 - BETAS[0] ** step) * first / spread
    return raw


def lbfgs(problems: Problems, raw: Raw, steps: int) -> Raw:
    """Climb the evidence of a single problem from ``raw`` by SciPy's bounded L-BFGS, at most so many iterations."""

    def descend(flat: np.ndarray) -> tuple[float, np.ndarray]:
        raw = torch.from_numpy(flat)[None]
        solved = problems.solve(raw)
        return -problems.evidence(raw, solved).item(), -problems.gradient(raw, solved)[0].numpy()

    bounds, options = [_BOUNDS] * raw.numel(), {"maxiter": steps}
    found = minimize(descend, raw[0].numpy(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return torch.from_numpy(found.x)[None]


@dataclass(frozen=True, eq=False)
class DenseGP:
    """One fitted process.

    Attributes:
        x: inputs, (n, d).
        raw: fitted parameters, (4,).
        factor: lower Cholesky factor of the outcomes' covariance, (n, n).
        weights: inverse covariance times residual, (n,).
        evidence: log marginal likelihood per unit.
    """

    x: Points
    raw: Float[torch.Tensor, "4"]
    factor: Float[torch.Tensor, "n n"]
    weights: Values
    evidence: float

    @property
    def noise(self) -> float:
        """Fitted noise variance."""
        return natural(self.raw)[3].item()

    def predict(self, new: Points) -> tuple[Values, Values]:
        """Mean and variance of the noiseless outcome at ``new``, mean + k'w and s - k' C^-1 k (Eqs. 2.25 and 2.26)."""
        mean, scale, length, _ = natural(self.raw)
        # (n, m)
        cross = scale * tensor_kernels.rbf_into(distances_to_new(self.x, new), length)
        explained = torch.linalg.solve_triangular(self.factor, cross, upper=False).square_().sum(0)
        # rounding leaves variances of about -1e-10 beside labelled units
        return mean + self.weights @ cross, (scale - explained).clamp_min_(0)


def fitted(problems: Problems, raw: Raw, x: ManyPoints) -> list[DenseGP]:
    """Take a batch of problems apart at its final parameters, without the padding."""
    factor, weights = solved = problems.solve(raw)
    evidence = problems.evidence(raw, solved)
    sizes = [len(points) for points in x]
    return [
        DenseGP(x[k], raw[k], factor[k, :n, :n].clone(), weights[k, :n].clone(), evidence[k].item())
        for k, n in enumerate(sizes)
    ]
