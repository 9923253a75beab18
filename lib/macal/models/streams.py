"""Random numbers for many models at once: each model draws from its own generators, whatever its neighbours do."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int

_LEVELS = 2**16  # dropout compares 16 random bits with the rate, which costs a quarter of drawing a float


@dataclass(frozen=True, eq=False)
class Streams:
    """Generators of b models: on the CPU for initial values and minibatches, on the device for dropout."""

    host: tuple[torch.Generator, ...]
    device: tuple[torch.Generator, ...]

    @classmethod
    def of(cls, seeds: Iterable[int], device: torch.device | str = "cpu") -> "Streams":
        """Return the streams of models with these seeds; models of one seed draw the same numbers."""
        seeds = list(seeds)
        return cls(
            tuple(torch.Generator().manual_seed(2 * seed) for seed in seeds),
            tuple(torch.Generator(device).manual_seed(2 * seed + 1) for seed in seeds),
        )

    def __len__(self) -> int:
        return len(self.host)

    def take(self, rows: Iterable[int]) -> "Streams":
        """Return the streams of some of the models; generators are shared, not copied."""
        rows = list(rows)
        return Streams(tuple(self.host[i] for i in rows), tuple(self.device[i] for i in rows))

    def join(self, other: "Streams") -> "Streams":
        """Return these streams followed by the others."""
        return Streams(self.host + other.host, self.device + other.device)

    def uniform(self, *shape: int, half_width: float) -> Float[torch.Tensor, "b ..."]:
        """Draw from U(-half_width, half_width), ``shape`` numbers for each model."""
        return torch.stack([(2 * torch.rand(shape, generator=g) - 1) * half_width for g in self.host])

    def normal(self, *shape: int) -> Float[torch.Tensor, "b ..."]:
        """Draw from N(0, 1), ``shape`` numbers for each model."""
        return torch.stack([torch.randn(shape, generator=g) for g in self.host])

    def kept(self, *shape: int, rate: float) -> Bool[torch.Tensor, "b ..."]:
        """Say which entries survive dropout; each is dropped with probability ``rate``, to 2^-17."""
        size = torch.Size(shape).numel()
        bits = torch.empty(len(self), -(-size // 4), dtype=torch.int64, device=self.device[0].device)
        for row, generator in zip(bits, self.device, strict=True):
            row.random_(-(2**63), None, generator=generator)
        # (b, words) of 64 bits -> (b, 4 words) of 16, of which the first ``size`` are used
        levels = bits.view(torch.int16)[:, :size].reshape(-1, *shape)
        return levels >= round(rate * _LEVELS) - _LEVELS // 2

    def minibatches(self, sizes: Iterable[int], steps: int, batch: int) -> Int[torch.Tensor, "b steps batch"]:
        """Draw an epoch: each model cycles over its own units, in random order, until ``steps`` batches are full."""
        total, rows = steps * batch, []
        for n, generator in zip(sizes, self.host, strict=True):
            # a random order of a whole number of copies of 0, ..., n - 1, cut to length
            rows.append(torch.randperm(total + -total % n, generator=generator)[:total] % n)
        return torch.stack(rows).view(-1, steps, batch)
