"""Warnings on a table before money is spent: outliers and poor overlap."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from macal.datasets.encoding import limits, outliers, with_excess
from macal.shapes import Covariates, Mask, Outcomes
from macal.survey import plan_words
from macal.survey.campaign import CampaignState, name_phrase
from macal.survey.facts import Fact
from macal.survey.inference.weighted import crossfit_outcomes
from macal.survey.report import overlap
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.tables import suspects
from macal.survey.tables.roles import prepared

_ENOUGH, _HALF = 20, 0.5  # smallest number of answers, and explained share of variance, for a suspicion


def warnings(campaign: CampaignState) -> list[Fact]:
    """Return warnings on a table and its answers; overlap is that of eligible units."""
    people = campaign.people
    poor = overlap.warnings(people.restricted_to(campaign.eligible))
    suspect = suspects.warnings(people.table, people.roles)
    said = [one for seen in campaign.views for one in telling(seen)]
    return [*suspect, *covariate_outliers(people), *outcome_outliers(campaign), *poor, *dict.fromkeys(said)]


def covariate_outliers(people: SamplingFrame) -> list[Fact]:
    """Return outliers of covariates: values, people, and how they count."""
    said = (_far(people.table[c], values) for c, values in _measured(people))
    return [Fact(plan_words.covariate_outliers, far=far, counts=counts) for far, counts in said if far]


def outcome_outliers(campaign: CampaignState) -> list[Fact]:
    """Return outliers of outcomes, by the same rule: values and people."""
    every = (pd.Series(seen.outcomes, seen.people.table.index, name=seen.outcome) for seen in campaign.views)
    told = [values.rename(values.name or "outcome") for one in every if len(values := one.dropna())]
    said = [_far(values, values.to_numpy())[0] for values in told]
    return [Fact(plan_words.outcome_outliers, far=far) for far in said if far]


def telling(campaign: CampaignState) -> list[Fact]:
    """Return covariates that predict answers of every arm better than all others together, and over half the variance.

    Predictions are cross-validated regressions. Only near copies of the outcome are named: with noise of 1.5 s.d. few
    are, although the interval then misses.
    """
    people, y, kinds = campaign.people, campaign.outcomes, list(campaign.people.roles.kinds)
    t = people.problem.pool.t
    every = [np.isfinite(y) & (t == arm) for arm in range(len(people.arms))]
    arms = [own for own in every if own.sum() >= _ENOUGH and np.ptp(y[own])]

    def others(name: str, own: Mask) -> float:
        rest = people.scaled(with_excess, [other for other in kinds if other != name])
        m = crossfit_outcomes(rest, t, np.where(own, y, np.nan), None, 0)
        return float(1 - np.square(y - m[:, t[own][0]])[own].mean() / y[own].var())

    found = []
    for name in kinds if arms and len(kinds) > 1 else ():
        x = people.scaled(with_excess, [name])
        shares = [_explained(x[own], y[own]) for own in arms]
        is_one = min(shares) > _HALF and all(share > others(name, own) for share, own in zip(shares, arms, strict=True))
        found += [str(name)] * is_one
    return [Fact(plan_words.telling_covariates, columns=found)] if found else []


def _explained(x: Covariates, y: Outcomes) -> float:
    """Return the leave-one-out R^2 of a regression of outcomes on covariates."""
    design = np.column_stack([np.ones(len(y)), x])
    inverse = np.linalg.pinv(design)
    rest = np.maximum(1 - (design * inverse.T).sum(axis=1), 1e-9)  # 1 - leverage
    return float(1 - np.square((y - design @ (inverse @ y)) / rest).mean() / y.var())


def columns(campaign: CampaignState) -> pd.DataFrame:
    """Return one row per column: role, explanation, and number of winsorised values."""
    people = campaign.people
    shown = people.roles.shown(campaign.columns.named())
    for c, values in _measured(people):
        low, high = _limits(values)
        ends = {end: int(out.sum()) for end, out in ((low, values < low), (high, values > high)) if out.any()}
        told = [
            f"{n:,} count{'s' * (n == 1)} as {overlap.written(people.table[c], values, end)}" for end, n in ends.items()
        ]
        shown.loc[c, "what"] = "; ".join([shown.loc[c, "what"], *told])
    return shown


def _measured(people: SamplingFrame) -> Iterator[tuple[Any, Outcomes]]:
    """Yield covariates that are numbers, or dates as days, each (n,)."""
    kinds = people.roles.kinds
    for column, values in prepared(people.table, people.roles.kinds).items():
        if kinds[column] != "category":
            yield column, values.to_numpy(np.float64)


def _limits(values: Outcomes) -> tuple[float, float]:
    with np.errstate(over="ignore"):  # of numbers near the largest
        return limits(values)


def _far(column: pd.Series, values: Outcomes) -> tuple[str, str]:
    """Return a sentence on a column's outliers, and what they count as; else empty."""
    is_far, written = outliers(values), partial(overlap.written, column, values)
    if not is_far.any():
        return "", ""
    far, others = pd.Series(values, column.index)[is_far], values[~is_far]
    low, high = np.clip([far.min(), far.max()], *_limits(values))
    told = [written(value) for value in far.unique()]
    counts = " or ".join(written(value) for value in dict.fromkeys((low, high)))
    who, lie = f"{column.index.name or 'unit'} {name_phrase(far.index)}", "lies" if len(told) == 1 else "lie"
    around = f"{written(others.min())} to {written(others.max())}"
    return f"column {str(column.name)!r}: {name_phrase(told)} of {who} {lie} far from all others ({around})", counts
