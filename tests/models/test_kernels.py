"""Kernels against those of scikit-learn and gpytorch."""

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.kernels import MaternKernel, RBFKernel, RQKernel
from sklearn.gaussian_process.kernels import RBF, Matern

from macal import kernels
from macal.models import tensor_kernels

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(7, 3)), RNG.normal(size=(5, 3))
A[0] = B[0]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(kernels.rbf, RBF(0.7)), (kernels.matern12, Matern(0.7, nu=0.5)), (kernels.matern32, Matern(0.7, nu=1.5))],
)
def test_kernels_of_points(ours, theirs):
    np.testing.assert_allclose(ours(A, B, 0.7), theirs(A, B), rtol=1e-13)


def test_scales_are_variances():
    for kernel in (kernels.rbf, kernels.matern12):
        np.testing.assert_allclose(kernel(A, B, 0.7, 3.0), 3 * kernel(A, B, 0.7), rtol=1e-15)


@pytest.mark.parametrize("theirs", [RBFKernel(), RQKernel(), *(MaternKernel(nu) for nu in (0.5, 1.5, 2.5))], ids=str)
def test_kernels_of_distances(theirs):
    theirs.double().lengthscale = 0.7
    if isinstance(theirs, RQKernel):
        theirs.alpha = 1.3
    a, b = torch.from_numpy(A), torch.from_numpy(B)
    squared = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist").square() / 0.49
    ours = {
        RBFKernel: lambda: kernels.rbf_of(squared),
        RQKernel: lambda: tensor_kernels.rational_quadratic_of(squared, theirs.alpha),
        MaternKernel: lambda: tensor_kernels.matern_of(squared, theirs.nu),
    }[type(theirs)]()
    with gpytorch.settings.lazily_evaluate_kernels(False):
        torch.testing.assert_close(ours, theirs(a, b).to_dense().detach(), rtol=1e-6, atol=1e-7)  # a root of 1e-15


def test_equal_points_have_gradients():
    for nu in (0.5, 1.5, 2.5):
        squared = torch.zeros(2, requires_grad=True)
        tensor_kernels.matern_of(squared, nu).sum().backward()
        assert squared.grad.isfinite().all()


def test_one_pass_writes_where_it_is_told():
    squared, length = torch.from_numpy(A[:, :2] ** 2), torch.tensor(0.7, dtype=torch.float64)
    out = torch.empty_like(squared)
    assert tensor_kernels.rbf_into(squared, length, out) is out
    torch.testing.assert_close(out, kernels.rbf_of(squared / length**2), rtol=1e-14, atol=0)
