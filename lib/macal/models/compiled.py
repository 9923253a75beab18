"""Training steps as fused kernels of ``torch.compile``: where MACAL_COMPILE is 1, with a C++ compiler or on a GPU.

Each number of models in training is compiled once; the order of rounding differs from that of plain steps.
"""

import os
from collections.abc import Callable
from functools import cache
from typing import Any

SIZES = 256  # numbers of models that may be compiled, a graph each


def wanted() -> bool:
    """Whether the environment asks for it."""
    return os.environ.get("MACAL_COMPILE") == "1"


def recording(like: Any) -> bool:
    """Whether what is computed of a tensor is recorded, to be replayed on its GPU; see :mod:`macal.models.replayed`."""
    import torch

    return like.is_cuda and torch.cuda.is_current_stream_capturing()


@cache
def fused(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function compiled as one graph per number of models."""
    import torch

    # bfloat16 is rounded between fused operations too
    rounded = {"emulate_precision_casts": True}
    compiled = torch.compile(function, dynamic=False, fullgraph=True, options=rounded)

    def call(*args: Any) -> Any:
        with torch._dynamo.config.patch(recompile_limit=SIZES):  # the setting is each thread's own
            return compiled(*args)

    return call
