"""Whole campaigns of criteria that need no model, planned in one call."""

from typing import Any

import numpy as np
import pandas as pd

from macal.acquisition.base import Criterion, PoolState
from macal.acquisition.catalogue import DEFAULT, get, names_where, needs_no_model
from macal.arguments import arms_of, as_arms, as_count, as_covariates, as_indices, hinted
from macal.shapes import Arms, Indices, Outcomes
from macal.storage.progress import progress
from macal.threads import one_thread

Batches = list[Indices] | tuple[list[Indices], list[Outcomes]]


def check_arms(criterion: Criterion, t: Arms) -> None:
    """Refuse more arms than a criterion knows, and an empty arm in between: ValueError."""
    count, present = arms_of(t), np.unique(t)
    if count > 2 and len(present) < count:
        raise ValueError(
            f"t must be binary (0 control, 1 treated), or number {count} arms without a gap, got {present.tolist()};"
            " recode the treatment"
        )
    if count > 2 and not criterion.multi_arm:
        raise ValueError(
            f"{type(criterion).__name__} compares two arms, and t has {count}; take one of"
            f" {names_where(lambda rule: rule.multi_arm)}, or plan for two arms at a time"
        )


def as_batch_size(batch_size: Any, criterion: Criterion) -> int:
    """Return ``batch_size`` as an int that the criterion can make use of; else ValueError."""
    batch_size = as_count(batch_size, "batch_size")
    if batch_size < criterion.min_batch_size:
        raise ValueError(
            f"{type(criterion).__name__} buys pairs, so batch_size must be at least {criterion.min_batch_size},"
            f" got {batch_size}; one at a time choose"
            f" {names_where(lambda rule: rule.min_batch_size == 1 and needs_no_model(rule))}"
        )
    return batch_size


def plan_batches(
    criterion: Criterion,
    x: Any,
    t: Any,
    labelled: Any,
    n_queries: int = 46,
    batch_size: int = 10,
    seed: int = 0,
    return_utilities: bool = False,
) -> Batches:
    """Plan a whole campaign of a label-free criterion; its own draws go by ``seed``. See :func:`plan`."""
    x = as_covariates(x).astype(np.float64)
    t = as_arms(t, len(x), multi_arm=True)
    check_arms(criterion, t)
    done = as_indices(labelled, len(x))
    n_queries, batch_size = as_count(n_queries, "n_queries"), as_batch_size(batch_size, criterion)
    state, sizes, found = PoolState(x, t, done, np.random.default_rng(seed)), [batch_size] * n_queries, []
    chosen = criterion.plan_with_scores(state, sizes) if return_utilities else criterion.plan(state, sizes)
    total = min(n_queries * batch_size, len(t) - len(done))
    with one_thread(len(t)), progress(total, "planning", "label") as bar:
        for batch in chosen:
            found.append(batch)
            bar.update(len(batch[0] if return_utilities else batch))
    return ([batch for batch, _ in found], [scores for _, scores in found]) if return_utilities else found


@hinted
def plan(
    x: Any,
    t: Any,
    labelled: Any,
    n_queries: int = 46,
    batch_size: int = 10,
    criterion: Criterion | str = DEFAULT,
    return_utilities: bool = False,
    **parameters: Any,
) -> Batches:
    """Plan a whole campaign in advance; it needs no outcome.

    Args:
        x: covariates of the pool, (n, d): array, tensor on any device, or DataFrame; distances are taken as they come.
        t: treatment, (n,): 0 or 1, or 0, 1, 2, ... where the criterion knows more than two arms.
        labelled: indices labelled before the first query; may be empty, or lack an arm.
        n_queries: number of batches.
        batch_size: labels per batch; of a criterion of pairs, an odd batch ends with one one-sided pick.
        criterion: a name of :func:`names`, or a criterion; one that needs no model.
        return_utilities: return the scores of the picks, too.
        parameters: of the criterion of that name, say ``"macal", alpha=1.0``.

    Returns:
        One integer array per query, in pick order (of MACAL: treated, control, ...), until the pool is exhausted. With
        ``return_utilities`` a tuple: these, and one float array per query, of the same shape: the score of each pick
        when it was picked. Both units of a pair have the pair's score, log scores include the noise of a draw, and a
        distance is infinite in an arm without labels.

    Raises:
        UnknownName: no such criterion, or it has no such parameter.
        ValueError: an argument is of the wrong shape, type or range; the criterion needs a model, or chooses whole
            batches, so that there are no utilities.
    """
    if isinstance(x, pd.DataFrame) and isinstance(t, pd.Series) and not x.index.equals(t.index):
        raise ValueError("x and t must have the same index, in the same order; t.loc[x.index] brings t into that of x")
    chosen = get(criterion, **parameters) if isinstance(criterion, str) else criterion
    return plan_batches(chosen, x, t, labelled, n_queries, batch_size, return_utilities=return_utilities)
