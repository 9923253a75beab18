"""Reserves: substitutes for refusals, at no larger cost and in the same quota groups."""

from collections.abc import Sequence

import numpy as np

from macal.metrics import nearest_distance
from macal.shapes import Arms, Indices, Rows
from macal.survey.constraints import Quota
from macal.survey.sampling_frame import SamplingFrame

NO_RESERVE = -1


def reserves(pool: SamplingFrame, quotas: Sequence[Quota], rule: str, asked: Indices, gone: Rows) -> Indices:
    """Return for each planned unit the nearest free one in its arm and groups that costs no more, or -1, (k,).

    No unit is the reserve of two. Units in whole clusters neither have nor are reserves; under the rule "one", a
    reserve is of the same cluster or of one without planned units.

    Args:
        pool: all units.
        quotas: quotas on groups.
        rule: cluster rule, "whole" or "one".
        asked: planned units, in order, (k,).
        gone: units with an outcome or a refusal.
    """
    groups = _groups(pool, quotas)
    free = np.ones(len(pool), bool)
    free[asked] = free[gone] = free[pool.excluded] = False
    taken = np.concatenate([asked, gone])
    if rule == "whole":
        free &= pool.clusters < 0
    found = []
    for unit in asked.tolist():
        may = free & (groups == groups[unit]) & (pool.cost <= pool.cost[unit])
        if rule == "whole":
            may &= pool.clusters[unit] < 0
        else:
            own = pool.clusters == pool.clusters[unit]
            may &= own | (pool.clusters < 0) | ~np.isin(pool.clusters, pool.clusters[taken])
        found.append(_nearest(pool, unit, np.flatnonzero(may)))
        if found[-1] != NO_RESERVE:
            free[found[-1]] = False
            taken = np.append(taken, found[-1])
    return np.array(found, np.int64)


def _groups(pool: SamplingFrame, quotas: Sequence[Quota]) -> Arms:
    """Return groups by arm and quotas, (n,)."""
    by = [pool.problem.pool.t, *(cell.to_numpy() for cell in pool.cells(quotas))]
    frame = pool.table.index.to_frame(index=False).iloc[:, :0].assign(**{str(k): values for k, values in enumerate(by)})
    return frame.groupby(list(frame.columns), dropna=False).ngroup().to_numpy(np.int64)


def _nearest(pool: SamplingFrame, unit: int, others: Indices) -> int:
    if not others.size:
        return NO_RESERVE
    x = pool.problem.pool.x
    return int(others[nearest_distance(x[others], x[[unit]]).argmin()])
