"""Feature extractors of the deep kernel, many models at once: a residual network for tables, another for images."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from jaxtyping import Float
from torch import nn
from torch.nn import functional

from macal.models.shapes import FeatureMaps
from macal.models.spectral import Map, SpectralConv2d, SpectralLinear, padded
from macal.models.streams import Streams

SIZE = 28  # pixels, height and width of CMNIST's images

Kept = Sequence[Float[torch.Tensor, "..."]]
Masks = Iterator[Float[torch.Tensor, "..."]]
Block = Callable[[FeatureMaps, Masks | None], FeatureMaps]


def _drop(z: torch.Tensor, kept: Masks | None, rate: float) -> torch.Tensor:
    """Multiply ``z`` by dropout's next mask, 0 or 1 / (1 - rate), of all channels; by none outside of training."""
    return z if kept is None or rate == 0 else z * next(kept)[:, : z.shape[1]].to(z.dtype)


class ResidualNet(nn.Module):
    """b residual networks: a linear map, then depth - 1 blocks z + W drop(ELU(z)), then ELU."""

    def __init__(self, streams: Streams, d: int, width: int, depth: int, dropout: float, bound: float | None) -> None:
        super().__init__()
        self.width, self.dropout = width, dropout
        self.stem = SpectralLinear(streams, d, width, bound)
        self.blocks = nn.ModuleList(SpectralLinear(streams, width, width, bound) for _ in range(depth - 1))

    def decisions(self, n: int) -> list[tuple[int, ...]]:
        """Return the shapes of what dropout decides for ``n`` units of a model, in order."""
        return [(n, self.width)] * len(self.blocks)

    def forward(self, x: Float[torch.Tensor, "b n d"], kept: Kept | None = None) -> Float[torch.Tensor, "b n k"]:
        """Return the features; with ``kept`` as in training: dropout by it, and a step of power iteration."""
        training, masks = kept is not None, None if kept is None else iter(kept)
        z = self.stem(x, training)
        for block in self.blocks:
            z = z + block(_drop(functional.elu(z), masks, self.dropout), training)
        return functional.elu(z)


class _ResidualBlock(nn.Module):
    """Two convolutions 3 x 3, each after ELU and dropout of channels, around a shortcut."""

    def __init__(
        self, streams: Streams, channels: tuple[int, int], size: int, stride: int, dropout: float, bound: float | None
    ) -> None:
        super().__init__()
        c_out = channels[1]
        self.dropout = dropout
        self.first = SpectralConv2d(streams, channels, size, 3, stride, bound)
        self.second = SpectralConv2d(streams, (c_out, c_out), self.first.size_out, 3, 1, bound)
        changes = stride > 1 or channels[0] != c_out
        self.shortcut = SpectralConv2d(streams, channels, size, 1, stride, bound) if changes else None

    def maps(self, training: bool, dtype: torch.dtype | None) -> list[Block]:
        """Return the block of each model, of images in ``dtype`` and what dropout keeps."""
        first, second = (conv.maps(training, dtype) for conv in (self.first, self.second))
        shortcuts = [None] * len(first) if self.shortcut is None else self.shortcut.maps(training, dtype)
        return [partial(self._one, *maps) for maps in zip(first, second, shortcuts, strict=True)]

    def _one(self, first: Map, second: Map, shortcut: Map | None, z: FeatureMaps, kept: Masks | None) -> FeatureMaps:
        out = z
        for conv in (first, second):
            out = conv(_drop(functional.elu(out), kept, self.dropout))
        return out + (z if shortcut is None else shortcut(z))


class ImageNet28(nn.Module):
    """b residual networks for images of 1 x 28 x 28: a 5 x 5 stem, two stages of two blocks, global average, ELU.

    Args:
        streams: of the b models.
        widths: channels of the two stages; the second begins with stride 2, and its width is the number of features.
        dropout: rate, of whole channels.
        bound: of each convolution's spectral norm, or None.
        dtype: of images and weights in convolutions, or None for that of the parameters.
    """

    def __init__(
        self,
        streams: Streams,
        widths: tuple[int, int],
        dropout: float,
        bound: float | None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.width, self.dropout, self.dtype = widths[1], dropout, dtype
        self.stem = SpectralConv2d(streams, (1, widths[0]), SIZE, 5, 1, bound)
        shapes = [(widths[0], widths[0], SIZE, 1)] * 2 + [(*widths, SIZE, 2), (widths[1], widths[1], SIZE // 2, 1)]
        self.blocks = nn.ModuleList(
            _ResidualBlock(streams, (c_in, c_out), size, stride, dropout, bound) for c_in, c_out, size, stride in shapes
        )

    def decisions(self, n: int) -> list[tuple[int, ...]]:
        """Return the shapes of what dropout decides for ``n`` units of a model, in order."""
        convolutions = [conv for block in self.blocks for conv in (block.first, block.second)]
        return [(n, padded(conv.weight.shape[2], self.dtype), 1, 1) for conv in convolutions]

    def forward(self, x: Float[torch.Tensor, "b n 784"], kept: Kept | None = None) -> Float[torch.Tensor, "b n k"]:
        """Return the features; with ``kept`` as in training: dropout by it, and a step of power iteration."""
        training, decisions = kept is not None, kept or []
        stems = self.stem.maps(training, self.dtype)
        blocks = zip(*(block.maps(training, self.dtype) for block in self.blocks), strict=True)
        features = []
        for i, (images, stem, own) in enumerate(zip(x.to(self.dtype or x.dtype), stems, blocks, strict=True)):
            z = stem(images.unflatten(1, (1, SIZE, SIZE)))
            masks = iter([mask[i] for mask in decisions]) if training else None
            for block in own:
                z = block(z, masks)
            # (n, c, h, w) -> (n, c)
            features.append(z.mean((2, 3), dtype=x.dtype)[:, : self.width])
        return functional.elu(torch.stack(features))
