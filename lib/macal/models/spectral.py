"""Linear maps whose spectral norm is softly bounded, for many models at once.

Each map is divided by max(1, sigma / bound), where sigma is its spectral norm as one step of power iteration per
training step tracks it: right <- W' left / |W' left|, left <- W right / |W right|, sigma = left' W right. The first
axis is always the model's.

References:
    H. Gouk, E. Frank, B. Pfahringer and M. J. Cree, "Regularisation of Neural Networks by Enforcing Lipschitz
    Continuity", Machine Learning 110, 2021 (the soft bound).
    J. Behrmann, W. Grathwohl, R. T. Q. Chen, D. Duvenaud and J.-H. Jacobsen, "Invertible Residual Networks", ICML, 2019
    (iterating through the convolution).
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import nn
from torch.nn import functional

from macal.models.shapes import FeatureMaps, PerModel
from macal.models.streams import Streams

Map = Callable[[FeatureMaps], FeatureMaps]


def padded(channels: int, dtype: torch.dtype | None) -> int:
    """Return the channels of an image in ``dtype``: in bfloat16 1 or a multiple of 32, to fill vectors and tiles."""
    return channels if channels == 1 or dtype != torch.bfloat16 else -(-channels // 32) * 32


# elsewhere PyTorch's own convolution takes 13 times float32's time
BFLOAT16_IS_FAST = torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _convolution(
    x: FeatureMaps, weight: torch.Tensor, bias: torch.Tensor | None, stride: int, padding: int
) -> FeatureMaps:
    """Convolve; in bfloat16 sums are in float32 and rounded at the end, on every processor."""
    if x.dtype != torch.bfloat16 or x.device.type != "cpu" or BFLOAT16_IS_FAST:
        return functional.conv2d(x, weight, bias, stride, padding)
    wide = functional.conv2d(x.float(), weight.float(), None if bias is None else bias.float(), stride, padding)
    return wide.to(x.dtype)


def _unit(x: Float[torch.Tensor, "b ..."]) -> Float[torch.Tensor, "b ..."]:
    """Scale each model's array to Euclidean norm 1."""
    return functional.normalize(x.flatten(1), dim=1, eps=1e-12).view_as(x)


class SpectralLinear(nn.Module):
    """b affine maps from ``d_in`` to ``d_out`` numbers, drawn as ``torch.nn.Linear`` draws its own."""

    def __init__(self, streams: Streams, d_in: int, d_out: int, bound: float | None) -> None:
        super().__init__()
        half_width = 1 / math.sqrt(d_in)
        self.bound = bound
        self.weight = nn.Parameter(streams.uniform(d_out, d_in, half_width=half_width))
        self.bias = nn.Parameter(streams.uniform(1, d_out, half_width=half_width))
        self.register_buffer("left", _unit(streams.normal(d_out, 1)))
        self.register_buffer("right", _unit(streams.normal(d_in, 1)))

    def factor(self, iterate: bool) -> PerModel:
        """Return max(1, sigma / bound) per model; ``iterate`` first moves the singular vectors by one step."""
        if self.bound is None:
            return self.weight.new_ones(len(self.weight))
        if iterate:
            with torch.no_grad():
                # (b, d_in, d_out) @ (b, d_out, 1) -> (b, d_in, 1)
                self.right = _unit(self.weight.mT @ self.left)
        # (b, d_out, 1)
        image = self.weight @ self.right
        if iterate:
            self.left = _unit(image.detach())
        return ((self.left * image).sum((1, 2)) / self.bound).clamp_min(1.0)

    def forward(self, x: Float[torch.Tensor, "b n d_in"], iterate: bool = False) -> Float[torch.Tensor, "b n d_out"]:
        """Apply the bounded maps; the smaller input is divided by the factor rather than the weights."""
        return torch.baddbmm(self.bias, x / self.factor(iterate)[:, None, None], self.weight.mT)


class SpectralConv2d(nn.Module):
    """b convolutions whose norm as maps between images is bounded.

    Args:
        streams: of the b models.
        channels: channels in and out.
        size: height and width of the images in.
        kernel: height and width of the kernel; odd, padded to keep the size.
        stride: 1 or 2.
        bound: of the spectral norm, or None for none.
    """

    def __init__(
        self, streams: Streams, channels: tuple[int, int], size: int, kernel: int, stride: int, bound: float | None
    ) -> None:
        super().__init__()
        c_in, c_out = channels
        self.bound, self.stride, self.padding = bound, stride, kernel // 2
        self.size_out = (size - 1) // stride + 1
        # rows that a strided convolution leaves unread
        self._surplus = (size - 1) % stride
        half_width = 1 / math.sqrt(c_in * kernel**2)
        self.weight = nn.Parameter(streams.uniform(c_out, c_in, kernel, kernel, half_width=half_width))
        self.bias = nn.Parameter(streams.uniform(c_out, half_width=half_width))
        self.register_buffer("left", _unit(streams.normal(1, c_out, self.size_out, self.size_out)))
        self.register_buffer("right", _unit(streams.normal(1, c_in, size, size)))

    def _map(self, x: FeatureMaps, weight: torch.Tensor, bias: torch.Tensor | None) -> FeatureMaps:
        stride = self.stride
        if weight.shape[-1] == 1 and stride > 1:
            # the same to the bit; oneDNN's code for AVX2 writes beyond its memory where channels are few
            x, stride = x[..., ::stride, ::stride], 1
        return _convolution(x, weight, bias, stride, self.padding)

    def _transposed(self, x: Float[torch.Tensor, "b n c2 h2 w2"]) -> Float[torch.Tensor, "b n c h w"]:
        pairs = zip(x, self.weight, strict=True)
        settings = (None, self.stride, self.padding, self._surplus)
        return torch.stack([functional.conv_transpose2d(one, w, *settings) for one, w in pairs])

    def factor(self, iterate: bool) -> PerModel:
        """Return max(1, sigma / bound) per model; ``iterate`` first moves the singular vectors by one step."""
        if self.bound is None:
            return self.weight.new_ones(len(self.weight))
        if iterate:
            with torch.no_grad():
                # one image per model: (b, 1, c2, h2, w2) -> (b, 1, c, h, w)
                self.right = _unit(self._transposed(self.left))
        # (b, 1, c2, h2, w2)
        image = torch.stack([self._map(one, w, None) for one, w in zip(self.right, self.weight, strict=True)])
        if iterate:
            self.left = _unit(image.detach())
        return ((self.left * image).flatten(1).sum(1) / self.bound).clamp_min(1.0)

    def maps(self, iterate: bool = False, dtype: torch.dtype | None = None) -> list[Map]:
        """Return the bounded maps, one per model, of images in ``dtype``; None for that of the weights."""
        weight, bias = self.weight / self.factor(iterate)[:, None, None, None, None], self.bias
        more_out, more_in = (padded(n, dtype) - n for n in weight.shape[1:3])
        if (BFLOAT16_IS_FAST or weight.is_cuda) and (more_out or more_in):
            bias = functional.pad(bias, (0, more_out))
            weight = functional.pad(weight, (0, 0, 0, 0, 0, more_in, 0, more_out))
        pairs = zip(weight.to(dtype or weight.dtype), bias.to(dtype or bias.dtype), strict=True)
        return [partial(self._map, weight=w.contiguous(memory_format=torch.channels_last), bias=b) for w, b in pairs]
