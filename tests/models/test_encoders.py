"""The batched encoders against plain single-model networks of torch.nn."""

import pytest
import torch
from torch import nn

from macal.models import spectral
from macal.models.encoders import ImageNet28, ResidualNet
from macal.models.spectral import SpectralConv2d, SpectralLinear
from macal.models.streams import Streams

F = nn.functional


def fill(plain, batched, model):
    """Give a torch layer one model's weights, divided by the factor."""
    factor = batched.factor(iterate=False)[model]
    plain.weight.data = batched.weight[model].detach() / factor.detach()
    plain.bias.data = batched.bias[model].detach().flatten()
    return plain


def plain_table_net(net, model):
    def forward(x):
        z = fill(nn.Linear(x.shape[1], net.width), net.stem, model)(x)
        for block in net.blocks:
            z = z + fill(nn.Linear(net.width, net.width), block, model)(F.elu(z))
        return F.elu(z)

    return forward


def plain_image_net(net, model):
    def conv(layer):
        c_out, c_in, kernel = layer.weight.shape[1:4]
        return fill(nn.Conv2d(c_in, c_out, kernel, layer.stride, layer.padding), layer, model)

    def forward(x):
        z = conv(net.stem)(x.view(-1, 1, 28, 28))
        for block in net.blocks:
            out = conv(block.second)(F.elu(conv(block.first)(F.elu(z))))
            z = out + (z if block.shortcut is None else conv(block.shortcut)(z))
        return F.elu(z.mean((2, 3)))

    return forward


CASES = [
    (lambda s: ResidualNet(s, 6, 12, 3, 0.1, 0.95), 6, plain_table_net),
    (lambda s: ImageNet28(s, (3, 6), 0.05, 0.5), 784, plain_image_net),
]


@pytest.mark.parametrize(("make", "d", "plain"), CASES)
def test_equals_a_plain_network(make, d, plain):
    net = make(Streams.of([1, 2]))
    x = torch.randn(2, 5, d, generator=torch.Generator().manual_seed(0))
    for model in range(2):
        torch.testing.assert_close(net(x)[model], plain(net, model)(x[model]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("make", "d", "plain"), CASES)
def test_gradient_by_finite_differences(make, d, plain):
    net = make(Streams.of([3, 4])).double()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 2, d, dtype=torch.float64, generator=generator)
    parameters = list(net.parameters())
    steps = [torch.randn(p.shape, dtype=torch.float64, generator=generator) for p in parameters]
    value = lambda: net(x).square().sum()  # noqa: E731
    slope = sum((g * s).sum() for g, s in zip(torch.autograd.grad(value(), parameters), steps, strict=True))
    ends = []
    with torch.no_grad():
        for h in (1e-6, -2e-6):  # there and back again beyond
            for p, s in zip(parameters, steps, strict=True):
                p += h * s
            ends.append(value())
    assert ((ends[0] - ends[1]) / 2e-6).item() == pytest.approx(slope.item(), rel=1e-5)


@pytest.mark.parametrize(("make", "d", "plain"), CASES)
def test_dropout_follows_the_model_and_not_its_place(make, d, plain):
    x = torch.randn(1, 5, d, generator=torch.Generator().manual_seed(0)).expand(2, -1, -1)

    def trained(*seeds):
        streams = Streams.of(seeds)
        net = make(streams)
        kept = [streams.kept(*shape, rate=net.dropout) / (1 - net.dropout) for shape in net.decisions(5)]
        return net(x, kept)

    a, b = trained(1, 2), trained(2, 1)
    torch.testing.assert_close(a, b.flip(0), rtol=1e-5, atol=1e-6)
    assert not torch.allclose(a, make(Streams.of([1, 2]))(x))


def test_the_images_network_has_the_published_shape():
    net = ImageNet28(Streams.of([0]), (25, 50), 0.05, 3.0)
    convolutions = [m for m in net.modules() if isinstance(m, SpectralConv2d)]
    shapes = [tuple(c.weight.shape[1:]) for c in convolutions if c.weight.shape[-1] > 1]
    assert shapes == [(25, 1, 5, 5), *[(25, 25, 3, 3)] * 4, (50, 25, 3, 3), *[(50, 50, 3, 3)] * 3]
    assert [c.stride for c in convolutions].count(2) == 2  # the second stage's first convolution, and its shortcut
    assert net(torch.zeros(1, 2, 784)).shape == (1, 2, 50)


@pytest.mark.exhaustive
def test_in_bfloat16_features_and_gradients_are_those_of_single_precision_but_for_rounding(monkeypatch):
    x = torch.rand(2, 16, 784, generator=torch.Generator().manual_seed(0))
    features, gradients = {}, {}
    for way in ("exact", "by its own convolutions", "in float32, rounded"):
        monkeypatch.setattr(spectral, "BFLOAT16_IS_FAST", way == "by its own convolutions")
        streams = Streams.of([1, 2])
        net = ImageNet28(streams, (25, 50), 0.05, 3.0, None if way == "exact" else torch.bfloat16)
        # dropout draws for 14 channels without a weight, beside 50
        assert net.decisions(16)[-1] == (16, 50 if way == "exact" else 64, 1, 1)
        masks = [torch.ones(2, *shape) for shape in net.decisions(16)]
        out = net(x, masks)
        assert out.dtype == torch.float32 and out.shape == (2, 16, 50)
        features[way], loss = out.detach(), out.square().sum()
        gradients[way] = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(net.parameters()))])
    for found in (features, gradients):
        exact = found["exact"]
        away = {way: float((rounded - exact).norm() / exact.norm()) for way, rounded in found.items()}
        # eight bits of a mantissa, over ten convolutions
        assert away.pop("exact") == 0 and all(1e-5 < share < 0.03 for share in away.values()), away
    exact, own, wide = features.values()
    assert (own - wide).norm() < 0.2 * (own - exact).norm()  # of one rounding, but for sums' order


def test_every_map_is_bounded():
    net = ResidualNet(Streams.of([1]), 6, 12, 3, 0.1, 0.5)
    with torch.no_grad():
        for layer in net.modules():
            if isinstance(layer, SpectralLinear):
                for _ in range(200):
                    layer.factor(iterate=True)
                assert torch.linalg.matrix_norm(layer.weight / layer.factor(False), 2).item() <= 0.5 * 1.001
