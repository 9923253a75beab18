"""The spectral bound against singular value decompositions of the maps written out as matrices."""

import pytest
import torch
from torch.nn import functional

from macal.models.spectral import SpectralConv2d, SpectralLinear
from macal.models.streams import Streams

BOUND = 0.3


def written_out(conv, model, size):
    """One model's convolution, without bias and factor, as a matrix (pixels in, pixels out)."""
    c_in = conv.weight.shape[2]
    basis = torch.eye(c_in * size**2).view(-1, c_in, size, size)
    return functional.conv2d(basis, conv.weight[model], None, conv.stride, conv.padding).flatten(1)


def settle(layer, steps=300):
    with torch.no_grad():
        for _ in range(steps):
            factor = layer.factor(iterate=True)
    return factor


def test_linear_factor_is_the_largest_singular_value_over_the_bound():
    layer = SpectralLinear(Streams.of(range(3)), 7, 11, BOUND)
    factor, norm = settle(layer), torch.linalg.matrix_norm(layer.weight, 2)
    torch.testing.assert_close(factor, norm / BOUND, rtol=1e-4, atol=0)
    assert (torch.linalg.matrix_norm(layer.weight / factor[:, None, None], 2) <= BOUND * 1.001).all()


@pytest.mark.parametrize(("kernel", "stride", "size"), [(3, 1, 6), (3, 2, 6), (3, 2, 7), (1, 2, 6), (5, 1, 8)])
def test_convolution_factor_is_that_of_the_map(kernel, stride, size):
    layer = SpectralConv2d(Streams.of(range(2)), (2, 3), size, kernel, stride, BOUND)
    factor = settle(layer)
    for model in range(2):
        norm = torch.linalg.matrix_norm(written_out(layer, model, size), 2)
        assert factor[model].item() == pytest.approx(norm.item() / BOUND, rel=1e-3)


def test_convolution_within_its_bound_is_the_plain_one():
    layer = SpectralConv2d(Streams.of(range(2)), (2, 3), 6, 3, 2, 100.0)
    x = torch.randn(2, 4, 2, 6, 6, generator=torch.Generator().manual_seed(0))
    for model, bounded in enumerate(layer.maps()):
        plain = functional.conv2d(x[model], layer.weight[model], layer.bias[model], 2, 1)
        torch.testing.assert_close(bounded(x[model]), plain, rtol=1e-5, atol=1e-6)


def test_a_small_map_is_left_alone_and_none_means_no_bound():
    for bound in (100.0, None):
        layer = SpectralLinear(Streams.of([4]), 5, 5, bound)
        x = torch.randn(1, 9, 5, generator=torch.Generator().manual_seed(0))
        plain = functional.linear(x, layer.weight[0], layer.bias[0])
        torch.testing.assert_close(layer(x, iterate=True), plain, rtol=1e-5, atol=1e-6)


def test_training_keeps_the_bound():
    streams = Streams.of(range(2))
    layer = SpectralLinear(streams, 10, 10, 0.95)
    optimiser = torch.optim.Adam(layer.parameters(), lr=1e-3)
    x = torch.randn(2, 50, 10, generator=torch.Generator().manual_seed(1))
    settle(layer, 10)
    for _ in range(300):
        optimiser.zero_grad()
        (-layer(x, iterate=True).square().mean()).backward()  # pushes every singular value up
        optimiser.step()
    bounded = layer.weight / layer.factor(iterate=False)[:, None, None]
    assert (torch.linalg.matrix_norm(layer.weight, 2) > 0.95).all()
    # one iteration a step lags where singular values are close, as this loss makes them
    assert (torch.linalg.matrix_norm(bounded, 2) <= 0.95 * 1.1).all()


def test_gradient_of_the_bounded_map():
    layer = SpectralLinear(Streams.of(range(2)), 4, 5, BOUND).double()
    x = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weight = layer.weight.detach().clone().requires_grad_()
    call = lambda w: torch.func.functional_call(layer, {"weight": w}, (x,))  # noqa: E731
    assert torch.autograd.gradcheck(call, (weight,))


@pytest.mark.parametrize(
    "make", [lambda s: SpectralLinear(s, 4, 5, BOUND), lambda s: SpectralConv2d(s, (2, 3), 5, 3, 1, BOUND)]
)
def test_a_model_is_the_same_alone_and_with_batch_neighbours(make):
    alone, batch = make(Streams.of([7])), make(Streams.of([3, 7, 5]))
    for name, tensor in alone.state_dict().items():
        assert torch.equal(tensor[0], batch.state_dict()[name][1])
    torch.testing.assert_close(settle(alone, 5)[0], settle(batch, 5)[1], rtol=1e-6, atol=0)


def test_dropout_rate_and_independence():
    kept = Streams.of([1, 2]).kept(100, 200, rate=0.1)
    assert kept.shape == (2, 100, 200) and not torch.equal(kept[0], kept[1])
    assert (~kept).float().mean().item() == pytest.approx(0.1, abs=5 * (0.09 / 40000) ** 0.5)
    assert torch.equal(Streams.of([9, 2]).kept(100, 200, rate=0.1)[1], kept[1])


def test_minibatches_use_every_unit_equally_often():
    order = Streams.of([1, 2]).minibatches([5, 3], steps=4, batch=5)
    assert order.shape == (2, 4, 5)
    assert torch.bincount(order[0].flatten()).tolist() == [4] * 5
    assert sorted(torch.bincount(order[1].flatten()).tolist()) in ([6, 7, 7],)
