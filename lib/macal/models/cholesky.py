"""Cholesky factors of many covariances at once, with jitter for those that rounding has left without one."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float

from macal.models.compiled import recording

JITTER = 1e-4  # gpytorch's for float32
_JITTERS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4)


class NotPositiveDefinite(ValueError):
    """Some covariances have no Cholesky factor, whatever the jitter; ``rows`` says which of the batch."""

    def __init__(self, rows: Sequence[int]) -> None:
        super().__init__(f"no Cholesky factor for rows {list(rows)} of the batch")
        self.rows = list(rows)


def _factorised(k: Float[torch.Tensor, "*_ n n"]) -> tuple[Float[torch.Tensor, "*_ n n"], Bool[torch.Tensor, "*_"]]:
    """Lower factors, and which matrices have none: of NaN in a matrix MKL says so, OpenBLAS returns a factor of NaN."""
    factor, failed = torch.linalg.cholesky_ex(k)
    return factor, (failed > 0) | factor.diagonal(dim1=-2, dim2=-1).isnan().any(-1)


def exact(k: Float[torch.Tensor, "b n n"]) -> Float[torch.Tensor, "b n n"]:
    """Factorise each matrix with the least jitter that does, of 0 and 1e-8 to 1e-4; else raise NotPositiveDefinite."""
    factor, failed = _factorised(k)
    for jitter in _JITTERS:
        rows = torch.nonzero(failed)[:, 0]
        if not len(rows):
            return factor
        eye = torch.eye(k.shape[1], dtype=k.dtype)
        factor[rows], failed[rows] = _factorised(k[rows] + jitter * eye)
    if failed.any():
        raise NotPositiveDefinite(torch.nonzero(failed)[:, 0].tolist())
    return factor


def jittered(k: Float[torch.Tensor, "b a m m"]) -> Float[torch.Tensor, "b a m m"]:
    """Factorise each matrix with the least jitter that does, of 1e-4 to 1e-1; else raise NotPositiveDefinite.

    A compiled or recorded graph has the first jitter alone, and NaN shows a failure.
    """
    # (b, a)
    jitter = torch.full(k.shape[:2], JITTER, dtype=k.dtype, device=k.device)
    for _ in range(4):
        factor, failed = _factorised(k + torch.diag_embed(jitter[:, :, None].expand(k.shape[:3])))
        if torch.compiler.is_compiling() or recording(k):
            return torch.where(failed[:, :, None, None], torch.nan, factor)
        if not failed.any():
            return factor
        jitter = torch.where(failed, 10 * jitter, jitter)
    raise NotPositiveDefinite(torch.nonzero(failed.any(dim=1))[:, 0].tolist())
