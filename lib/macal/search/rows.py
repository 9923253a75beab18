"""Rows of covariates, told apart, scaled and summed: to the same bits on every machine."""

from hashlib import blake2b

import numpy as np

from macal.shapes import Arms, Covariates, Rows


def power_of_two(x: np.ndarray) -> float:
    """The power of two that brings the largest magnitude of ``x`` to about 1."""
    return float(np.ldexp(1.0, -np.frexp(max(x.max(initial=0.0), -x.min(initial=0.0)))[1].clip(-1000, 1000)))


def profiles(x: Covariates) -> tuple[Rows, Arms]:
    """The rows of ``x`` (n, d) that equal none before them, (p,), and which of those each row equals, (n,)."""
    x = np.ascontiguousarray(x + 0.0)  # -0 is 0
    seen: dict[bytes, int] = {}
    names = (blake2b(row, digest_size=16).digest() for row in x)
    which = np.fromiter((seen.setdefault(name, len(seen)) for name in names), np.int64, len(x))
    return np.unique(which, return_index=True)[1], which


def folded(squares: np.ndarray) -> np.ndarray:
    """Sum over the last axis, (..., d) -> (...), in an order that depends on d alone; ``squares`` are overwritten."""
    width = squares.shape[-1]
    while width > 1:
        half = width // 2
        squares[..., :half] += squares[..., width - half : width]
        width -= half
    return squares[..., 0]


def product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The product of finite arrays, a @ b, without a warning of what some processors compute behind the last row."""
    with np.errstate(invalid="ignore"):
        return np.matmul(a, b, out=out)
