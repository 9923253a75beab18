"""Training steps on a GPU, recorded once and replayed.

Reference: NVIDIA, "CUDA Programming Guide", chapter "CUDA Graphs".
"""

import gc
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int, Shaped

from macal.models.network import DeepKernel
from macal.models.shapes import Marks, Order, PerModel
from macal.models.spectral import SpectralConv2d, SpectralLinear

WARM_UP = 3  # steps before recording, in which libraries choose algorithms and take memory

EpochMasks = Sequence[Float[torch.Tensor, "b steps batch ..."]]
# of a minibatch (b, batch), what dropout keeps of it, and the step's number from 1, (b,): the models' bounds, (b,)
TrainingStep = Callable[[Int[torch.Tensor, "b batch"], list[torch.Tensor], Marks], PerModel]


def record(call: Callable[[], None]) -> Callable[[], None]:
    """Record what a call launches on the GPU, and return what launches it again."""
    graph = torch.cuda.CUDAGraph()
    collects = gc.isenabled()
    gc.disable()  # freeing an older recording would break this one
    try:
        with torch.cuda.graph(graph):
            call()
    finally:
        if collects:
            gc.enable()
    return graph.replay


def apart(call: Callable[[], None]) -> None:
    """Make a call on a stream of its own, as a recording needs its first steps to be."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)


class Replayed:
    """Epochs of models whose number and units stay the same; network and moments are moved in place.

    Args:
        network: of the models.
        moments: running means of the optimiser.
        step: trains all models by one minibatch each.
        order: of the first epoch.
        kept: of the first epoch.
    """

    def __init__(
        self, network: DeepKernel, moments: Sequence[torch.Tensor], step: TrainingStep, order: Order, kept: EpochMasks
    ) -> None:
        self._step, self._order, self._kept = step, order.clone(), [mask.clone() for mask in kept]
        self._state: list[Shaped[torch.Tensor, "b ..."]] = [*network.per_model().values(), *moments]
        self._maps = [m for m in network.modules() if isinstance(m, SpectralLinear | SpectralConv2d)]
        b = len(order)
        self._k = torch.zeros(1, dtype=torch.int64, device=order.device)
        self._done = torch.zeros(b, dtype=torch.int64, device=order.device)
        self._failed = torch.zeros(b, dtype=torch.bool, device=order.device)
        before = self._copy()
        apart(lambda: [self._one() for _ in range(min(WARM_UP, order.shape[1]))])
        self._restore(before)
        self._replay = record(self._one)

    def _copy(self) -> list[torch.Tensor]:
        return [tensor.clone() for tensor in self._state]

    def _restore(self, copy: Sequence[torch.Tensor]) -> None:
        for tensor, old in zip(self._state, copy, strict=True):
            tensor.copy_(old)

    def _one(self) -> None:
        # (b, steps, batch, ...) -> (b, batch, ...)
        at, *kept = (rows.index_select(1, self._k)[:, 0] for rows in (self._order, *self._kept))
        vectors = [(m, m.left, m.right) for m in self._maps]
        bound = self._step(at, kept, self._done + self._k + 1)
        for m, left, right in vectors:  # a replay reads where this step has read
            m.left, m.right = left.copy_(m.left), right.copy_(m.right)
        self._failed |= ~bound.isfinite()
        self._k += 1

    def epoch(self, order: Order, kept: EpochMasks, done: Marks) -> bool:
        """Train for one epoch after ``done`` steps; where a bound is not finite, change nothing and return False."""
        before = self._copy()
        for mine, given in zip((self._order, *self._kept, self._done), (order, *kept, done), strict=True):
            mine.copy_(given)
        self._k.zero_()
        self._failed.zero_()
        for _ in range(order.shape[1]):
            self._replay()
        if self._failed.any():
            self._restore(before)
            return False
        return True
