"""What is to be said of a table before money is spent on it: values that lie far off, and poor overlap."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from macal.datasets.encoding import limits, outliers, with_excess
from macal.shapes import Covariates, Outcomes
from macal.survey.campaign import CampaignState, name_phrase
from macal.survey.constraints import Members
from macal.survey.inference.weighted import crossfit_outcomes
from macal.survey.report import overlap
from macal.survey.sampling_design import eligible
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.tables import suspects
from macal.survey.tables.roles import prepared

_ENOUGH, _HALF = 20, 0.5  # answers of an arm, and share of their variance, from which on a covariate may tell them
_MISTAKE = "if that is a mistake, or stands for a missing value"


def warnings(campaign: CampaignState) -> list[str]:
    """What is to be said of a table and of answers, and what to do about it; nothing where all is well.

    Overlap is that of whoever may be asked.
    """
    people = campaign.people
    poor = overlap.warnings(people.restricted_to(eligible(people, campaign.policy)))
    suspect = suspects.told(people.table, people.roles)
    said = [words for seen in campaign.views for words in telling(seen)]
    return [*suspect, *covariate_outliers(people), *outcome_outliers(campaign), *poor, *dict.fromkeys(said)]


def covariate_outliers(people: SamplingFrame) -> list[str]:
    """Of each covariate with values that lie far off: the values, the people, and how they count."""
    said = (_far(people.table[c], values) for c, values in _measured(people))
    return [
        f"{words}, and counts as {counts} in distances; {_MISTAKE}, mend the table before people are asked"
        for words, counts in said
        if words
    ]


def outcome_outliers(campaign: CampaignState) -> list[str]:
    """Outcomes that lie far off, by the same rule: the values and the people."""
    every = (pd.Series(seen.outcomes, seen.people.table.index, name=seen.outcome) for seen in campaign.views)
    told = [values.rename(values.name or "outcome") for one in every if len(values := one.dropna())]
    said = [words for values in told if (words := _far(values, values.to_numpy())[0])]
    return [f"{words}; {_MISTAKE}, set it right by macal correct before effects are estimated" for words in said]


def telling(campaign: CampaignState) -> list[str]:
    """Covariates that predict answers of every arm better than all others together, and more than half of them.

    By errors on answers left out, of a regression on the covariate alone and of one on all others.
    """
    people, y, kinds = campaign.people, campaign.outcomes, list(campaign.people.roles.kinds)
    t = people.problem.pool.t
    every = [np.isfinite(y) & (t == arm) for arm in range(len(people.arms))]
    arms = [own for own in every if own.sum() >= _ENOUGH and np.ptp(y[own])]

    def others(name: str, own: Members) -> float:
        rest = people.scaled(with_excess, [other for other in kinds if other != name])
        m = crossfit_outcomes(rest, t, np.where(own, y, np.nan), None, 0)
        return float(1 - np.square(y - m[:, t[own][0]])[own].mean() / y[own].var())

    found = []
    for name in kinds if arms and len(kinds) > 1 else ():
        x = people.scaled(with_excess, [name])
        shares = [_explained(x[own], y[own]) for own in arms]
        is_one = min(shares) > _HALF and all(share > others(name, own) for share, own in zip(shares, arms, strict=True))
        found += [str(name)] * is_one
    what = "predicts" if len(found) == 1 else "predict"
    if not found:
        return []
    return [
        f"{' and '.join(map(repr, found))} {what} the answers better than all other covariates together; if measured"
        f" after treatment, plan with it as a proxy (--proxy {found[0]}): as a covariate it hides a part of the effect"
    ]


def _explained(x: Covariates, y: Outcomes) -> float:
    """Share of the variance of outcomes that a regression on covariates explains in whoever is left out of it."""
    design = np.column_stack([np.ones(len(y)), x])
    inverse = np.linalg.pinv(design)
    rest = np.maximum(1 - (design * inverse.T).sum(axis=1), 1e-9)  # 1 - leverage
    return float(1 - np.square((y - design @ (inverse @ y)) / rest).mean() / y.var())


def columns(campaign: CampaignState) -> pd.DataFrame:
    """One row per column: its role, what is to be said of it, and how many values count as the farthest within."""
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
    """Covariates that are numbers, or dates as days, each (n,)."""
    kinds = people.roles.kinds
    for column, values in prepared(people.table, people.roles.kinds).items():
        if kinds[column] != "category":
            yield column, values.to_numpy(np.float64)


def _limits(values: Outcomes) -> tuple[float, float]:
    with np.errstate(over="ignore"):  # of numbers near the largest
        return limits(values)


def _far(column: pd.Series, values: Outcomes) -> tuple[str, str]:
    """What to say of values of a column that lie far off, by the units' names, and what they count as; or nothing."""
    is_far, written = outliers(values), partial(overlap.written, column, values)
    if not is_far.any():
        return "", ""
    far, others = pd.Series(values, column.index)[is_far], values[~is_far]
    low, high = np.clip([far.min(), far.max()], *_limits(values))
    told = [written(value) for value in far.unique()]
    counts = " or ".join(written(value) for value in dict.fromkeys((low, high)))
    who, lie = f"{column.index.name or 'unit'} {name_phrase(far.index)}", "lies" if len(told) == 1 else "lie"
    around = f"{written(others.min())} to {written(others.max())}"
    return f"column {str(column.name)!r}: {name_phrase(told)} of {who} {lie} far from everybody else ({around})", counts
