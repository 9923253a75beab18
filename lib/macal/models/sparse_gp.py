"""Sparse variational Gaussian processes, many models at once: gpytorch's parameters, constraints and batch shapes.

Notation: inducing points z (m of them), whitened inducing values with the variational posterior N(m, S S'), prior
covariances K_zz and K_zx, L L' = K_zz, and A = L^-1 K_zx. Then at x

    mean(x) = c + A' m,    cov(x, x') = k(x, x') - A' A + (S' A)' (S' A),

and the bound of the evidence is sum_x E_q[log p(y | f(x))] - KL(N(m, S S') || N(0, I)).

References:
    J. Hensman, A. Matthews and Z. Ghahramani, "Scalable Variational Gaussian Process Classification", AISTATS, 2015.
    J. van Amersfoort, L. Smith, A. Jesson, O. Key and Y. Gal, "On Feature Collapse and Deep Kernel Learning for Single
    Forward Pass Uncertainty", arXiv:2102.11409, 2021 (its use on deep features).
"""

import math
from functools import partial

import gpytorch
import torch
from gpytorch.kernels import MaternKernel, RBFKernel, RQKernel, ScaleKernel
from jaxtyping import Float
from torch import nn

from macal import kernels
from macal.models import tensor_kernels
from macal.models.cholesky import JITTER, jittered
from macal.models.shapes import BatchedFeatures, PerModel, PerUnit, PerUnitArms, Points
from macal.models.streams import Streams
from macal.registry import Registry

KERNELS: Registry = Registry(
    "kernel",
    {
        "rbf": RBFKernel,
        "matern-1/2": partial(MaternKernel, nu=0.5),
        "matern-3/2": partial(MaternKernel, nu=1.5),
        "matern-5/2": partial(MaternKernel, nu=2.5),
        "rq": RQKernel,
    },
)
SPREAD = 0.01  # of repeated inducing points
LLOYD = 20  # iterations

# of squared distances over the squared length scale, (b, a, m, n), given gpytorch's kernel
SHAPES = {
    RBFKernel: lambda squared, _: kernels.rbf_of(squared),
    MaternKernel: lambda squared, kernel: tensor_kernels.matern_of(squared, kernel.nu),
    RQKernel: lambda squared, kernel: tensor_kernels.rational_quadratic_of(squared, kernel.alpha[..., None]),
}


class SparseGP(nn.Module):
    """b sparse GPs on (features, treatment), or b pairs of them, one per arm, on features.

    Constant mean, scaled isotropic kernel, Gaussian noise, whitened variational posterior N(m, S S').

    Args:
        streams: of the b models.
        inducing: initial inducing points; the axis a holds one GP for both arms, or one per arm, control first.
        lengthscale: initial length scale of each.
        kernel: a name of ``KERNELS``.
        treatment_scale: what the treatment is multiplied by where it is an input.
    """

    def __init__(
        self,
        streams: Streams,
        inducing: Float[torch.Tensor, "b a m k"],
        lengthscale: Float[torch.Tensor, "b a"],
        kernel: str,
        treatment_scale: float = 1.0,
    ) -> None:
        super().__init__()
        b, arms, m, _ = inducing.shape
        shape = torch.Size([b, arms])
        self.separate, self.treatment_scale = arms == 2, treatment_scale
        self.inducing = nn.Parameter(inducing)
        self.variational = gpytorch.variational.CholeskyVariationalDistribution(m, batch_shape=shape)
        self.mean = gpytorch.means.ConstantMean(batch_shape=shape)
        self.kernel = ScaleKernel(KERNELS[kernel](batch_shape=shape), batch_shape=shape)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood(batch_shape=shape[:1])
        self.kernel.base_kernel.lengthscale = lengthscale[:, :, None, None]
        self.variational.variational_mean.data.copy_(1e-3 * streams.normal(arms, m))

    @property
    def _scale(self) -> Float[torch.Tensor, "b a m m"]:
        return self.variational.chol_variational_covar.tril()

    def inputs(self, features: BatchedFeatures, t: PerUnitArms) -> Float[torch.Tensor, "b a n k2"]:
        """Return what the GPs see of units: features with the treatment appended, or features alone, twice."""
        if self.separate:
            # (b, n, k) -> (b, 2, n, k)
            return features[:, None].expand(-1, 2, -1, -1)
        # (b, n, k) -> (b, 1, n, k + 1)
        return torch.cat([features, self.treatment_scale * t[:, :, None].to(features.dtype)], dim=2)[:, None]

    def _covariance(self, squared: Float[torch.Tensor, "b a m n"]) -> Float[torch.Tensor, "b a m n"]:
        """Return the prior covariance of points at these squared distances."""
        kernel = self.kernel.base_kernel
        shape = SHAPES[type(kernel)](squared / kernel.lengthscale**2, kernel)
        return self.kernel.outputscale[:, :, None, None] * shape

    def _covariances(
        self, x: Float[torch.Tensor, "b a n k"]
    ) -> tuple[Float[torch.Tensor, "b a m m"], Float[torch.Tensor, "b a m n"]]:
        """Return K_zz, whose diagonal is set, and K_zx, by |z - x|^2 = |z|^2 + |x|^2 - 2 z.x."""
        # distances are exacter near the origin
        centre = self.inducing.detach().mean(dim=2, keepdim=True)
        z, x = self.inducing - centre, x - centre
        # (b, a, m), (b, a, n)
        zz, xx = z.square().sum(3), x.square().sum(3)
        k_zz = self._covariance(torch.add(zz[..., None] + zz[..., None, :], z @ z.mT, alpha=-2))
        diagonal = torch.eye(k_zz.shape[-1], dtype=torch.bool, device=k_zz.device)
        k_zz = torch.where(diagonal, self.kernel.outputscale[:, :, None, None], k_zz)
        return k_zz, self._covariance(torch.add(zz[..., None] + xx[..., None, :], z @ x.mT, alpha=-2))

    def _projections(
        self, x: Float[torch.Tensor, "b a n k"]
    ) -> tuple[Float[torch.Tensor, "b a n"], Float[torch.Tensor, "b a m n"], Float[torch.Tensor, "b a m n"]]:
        """Return the mean at ``x``, c + A' m, and A and S' A, of which covariances are made."""
        k_zz, k_zx = self._covariances(x)
        # (b, a, m, n)
        a = torch.linalg.solve_triangular(jittered(k_zz), k_zx, upper=False)
        mean = self.mean(x) + (a.mT @ self.variational.variational_mean[..., None])[..., 0]
        return mean, a, self._scale.mT @ a

    def marginals(self, features: BatchedFeatures, t: PerUnitArms) -> tuple[PerUnit, PerUnit]:
        """Return mean and variance of each unit's noiseless outcome under its own treatment."""
        mean, a, sa = self._projections(self.inputs(features, t))
        # var(x) = k(x, x) - |A|^2 + |S' A|^2, by columns: (b, a, m, n) -> (b, a, n)
        prior = self.kernel.outputscale[:, :, None]  # (b, a, 1)
        var = (prior + JITTER - a.square().sum(2) + sa.square().sum(2)).clamp_min(JITTER)
        if not self.separate:
            return mean[:, 0], var[:, 0]
        treated = t > 0
        return torch.where(treated, mean[:, 1], mean[:, 0]), torch.where(treated, var[:, 1], var[:, 0])

    def pair(self, features: BatchedFeatures) -> tuple[Float[torch.Tensor, "b n 2"], Float[torch.Tensor, "b n 2 2"]]:
        """Return mean and covariance of each unit's two noiseless outcomes, control first.

        Two GPs are independent. One GP sees each unit twice, as x0 = (features, 0) and x1 = (features, 1), so that

            cov(x0, x1) = k(x0, x1) - A0' A1 + (S' A0)' (S' A1)    with |x0 - x1| = treatment_scale.
        """
        n = features.shape[1]
        arms = torch.zeros(features.shape[:2], dtype=torch.int64, device=features.device)
        if self.separate:
            x = self.inputs(features, arms)
        else:
            # (b, 1, 2 n, k + 1): all controls, then all treated
            x = torch.cat([self.inputs(features, arms), self.inputs(features, arms + 1)], dim=2)
        mean, a, sa = self._projections(x)
        prior = self.kernel.outputscale[:, :, None]
        var = (prior - a.square().sum(2) + sa.square().sum(2)).clamp_min(0)
        if self.separate:
            # (b, 2, n) -> (b, n, 2), (b, n, 2, 2)
            return mean.mT, torch.diag_embed(var.mT)
        # k(x0, x1), (b, 1)
        cross = self._covariance(x.new_full((len(x), 1, 1, 1), self.treatment_scale**2))[:, 0, 0]
        # (b, n)
        cross = cross - (a[..., :n] * a[..., n:]).sum(2)[:, 0] + (sa[..., :n] * sa[..., n:]).sum(2)[:, 0]
        # (b, 1, 2 n) -> (b, 2, n)
        var = var[:, 0].unflatten(1, (2, n))
        # rounding may carry a covariance past what the variances allow
        limit = var.prod(dim=1).sqrt()
        cross = torch.clamp(cross, -limit, limit)
        # (b, n, 4) -> (b, n, 2, 2)
        cov = torch.stack([var[:, 0], cross, cross, var[:, 1]], dim=2).unflatten(2, (2, 2))
        return mean[:, 0].unflatten(1, (2, n)).mT, cov

    def log_density(self, mean: PerUnit, var: PerUnit, y: PerUnit) -> PerUnit:
        """Return E_q[log p(y | f)] of each unit, -((y - mean)^2 + var) / (2 noise) - log(2 pi noise) / 2."""
        noise = self.likelihood.noise
        return -0.5 * (((y - mean) ** 2 + var) / noise + noise.log() + math.log(2 * math.pi))

    def divergence(self) -> PerModel:
        """Return KL(q || p) of the whitened inducing values, (|S|^2 + |m|^2 - m) / 2 - log det S, summed over arms."""
        s, m = self._scale, self.variational.variational_mean
        log_det = s.diagonal(dim1=2, dim2=3).abs().clamp_min(1e-20).log().sum(2)
        return (0.5 * (s.square().sum((2, 3)) + m.square().sum(2) - m.shape[2]) - log_det).sum(1)

    def elbo(self, features: BatchedFeatures, t: PerUnitArms, y: PerUnit, n: PerModel) -> PerModel:
        """Return the evidence bound per unit: mean expected log density, less the divergence over ``n`` units."""
        return self.log_density(*self.marginals(features, t), y).mean(1) - self.divergence() / n


def k_means(points: Points, m: int, generator: torch.Generator) -> Float[torch.Tensor, "m k"]:
    """Return ``m`` centres by Lloyd's algorithm from distinct units drawn at random; an empty cluster stays put."""
    centres = points[torch.randperm(len(points), generator=generator)[:m]]
    if m == len(points):
        return centres
    for _ in range(LLOYD):
        nearest = torch.cdist(points, centres).argmin(dim=1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, points)
        count = torch.bincount(nearest, minlength=m)[:, None]
        # (m, k)
        centres = torch.where(count > 0, sums / count.clamp_min(1), centres)
    return centres


def initial_inducing(points: Points, m: int, generator: torch.Generator) -> tuple[Float[torch.Tensor, "m k"], float]:
    """Return ``m`` inducing points and a length scale, the mean distance between pairs of ``points``, or 1.

    Of fewer units than ``m`` the points are repeated, with a spread of 0.01.
    """
    centres = k_means(points, min(m, len(points)), generator)
    if len(centres) < m:
        centres = centres.repeat(m // len(centres) + 1, 1)[:m]
        centres = centres + SPREAD * torch.randn(centres.shape, generator=generator)
    distance = torch.pdist(points).mean().item() if len(points) > 1 else 0.0
    return centres, distance or 1.0
