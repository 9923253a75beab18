"""Overlap, coverage and privacy before and after a plan.

Distances are relative to the root mean squared distance between two people; samples are weighted.

References:
    P. C. Austin, "Balance Diagnostics for Comparing the Distribution of Baseline Covariates Between Treatment Groups in
    Propensity-Score Matched Samples", Statistics in Medicine 28(25), 2009 (standardised differences).
    J. C. van Houwelingen and S. le Cessie, "Predictive Value of Statistical Models", Statistics in Medicine 9(11), 1990
    (shrinkage of a model's scores).
    L. Sweeney, "k-Anonymity: A Model for Protecting Privacy", International Journal of Uncertainty, Fuzziness and
    Knowledge-Based Systems 10(5), 2002 (people who share a row).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int
from pandas.api.types import is_numeric_dtype
from scipy.special import chdtri, expit, logit

from macal.datasets.encoding import categories, numbers, standardised
from macal.logistic import logistic_propensity
from macal.metrics import nearest_distance, rms_distance
from macal.search.rows import profiles
from macal.shapes import Arms, Centres, Covariates, Distances, Indices, Outcomes, Rows
from macal.survey import plan_words
from macal.survey.facts import Fact
from macal.survey.report.overlap_violations import EXTREME, OverlapViolation, ViolationSearch
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.tables.roles import prepared

SAMPLE = 2000  # largest number of people whose distances are computed
POOR_OVERLAP_SHARE = 0.05  # share of people with an extreme propensity above which overlap is poor
MAX_SHOWN = 3  # violations that are named
SHARED = {"none": (1, 1), "1": (2, 2), "2 to 3": (3, 4), "4 to 9": (5, 10), "10 or more": (11, np.inf)}


def sample(n: int) -> Indices:
    """Return reproducible places of at most :data:`SAMPLE` of n people, (k,)."""
    return np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])


def some_of(people: SamplingFrame) -> Indices:
    """Return places of at most :data:`SAMPLE` people, (k,), repeated by weight in a sample."""
    if people.first_phase is None:
        return sample(len(people))
    ends = np.cumsum(people.weights)
    return np.searchsorted(ends, (np.arange(SAMPLE) + 0.5) / SAMPLE * ends[-1])


def propensity(people: SamplingFrame, x: Covariates | None = None) -> Outcomes:
    """Return propensity scores for two arms, (n,), by the pool's covariates or others."""
    weights = None if people.first_phase is None else people.weights
    x = people.problem.pool.x.astype(np.float64) if x is None else x
    return logistic_propensity(x, people.problem.pool.t, weights)


def contrasts(people: SamplingFrame) -> dict[str, tuple[SamplingFrame, Indices]]:
    """Return contrast -> people of both arms and their places; the name is empty for two arms."""
    numbers = range(1, len(people.arms))
    if len(numbers) == 1:
        return {"": (people, np.arange(len(people)))}
    return {f"{people.arms[k]} against {people.arms[0]}": people.contrast(k) for k in numbers}


def warnings(people: SamplingFrame) -> list[Fact]:
    """Return warnings of poor overlap in each contrast, by propensity scores and by overlap violations.

    Scores are the worse of two models, on winsorised and on original scales.
    """
    said, every = [], contrasts(people)
    for name, (view, _) in every.items():
        if not len(view):
            continue  # no eligible people in the two arms
        x, t, weights = view.scaled(standardised), view.problem.pool.t, view.weights
        scores = [shrunk_scores(score, t, x.shape[1], weights) for score in (propensity(view), propensity(view, x))]
        worst = max(scores, key=lambda score: _poor(score, weights)[0])
        said.append(warning(worst, weights, overlap_violations(view, len(every)), name))
    return [one for one in said if one]


def shrunk_scores(score: Outcomes, t: Arms, d: int, weights: Outcomes) -> Outcomes:
    """Shrink propensity scores by the spread that d irrelevant covariates would cause, (n,).

    They are constant if an arm has at most d people, which d covariates always separate.
    """
    share = np.average(t, weights=weights)
    if share in (0, 1):
        return score
    score, weights = np.clip(score, 1e-9, 1 - 1e-9), weights / weights.mean()
    gain = 2 * weights @ (np.log(np.where(t, score, 1 - score)) - np.log(np.where(t, share, 1 - share)))
    noise = chdtri(d, 0.05)  # gain by irrelevant covariates, exceeded with probability 5%
    kept = 1 - noise / gain if noise < gain and d < np.bincount(t).min() else 0.0
    return expit(logit(share) + kept * (logit(score) - logit(share)))


def _poor(score: Outcomes, weights: Outcomes | None) -> tuple[float, float, float]:
    """Return the share of extreme propensity scores, and the limits."""
    share = float(np.average(score, weights=weights))
    low, high = min(EXTREME, share / 5), 1 - min(EXTREME, (1 - share) / 5)
    return float(np.average((score <= low) | (score >= high), weights=weights)), low, high


def warning(
    score: Outcomes, weights: Outcomes | None = None, named: Sequence[str] = (), contrast: str = ""
) -> Fact | None:
    """Return a warning of poor overlap; else None.

    Args:
        score: propensity scores, (n,); extreme ones are below 5% and a fifth of the arm's share.
        weights: people that each unit represents, (n,) (default: 1).
        named: result of :func:`overlap_violations`.
        contrast: of several, its name.
    """
    share, low, high = _poor(score, weights)
    if share <= POOR_OVERLAP_SHARE and not named:
        return None
    groups = {"groups": named[:MAX_SHOWN], "more": max(0, len(named) - MAX_SHOWN), "contrast": contrast}
    return Fact(plan_words.poor_overlap, share=share, low=low, high=high, harmless=POOR_OVERLAP_SHARE, **groups)


def overlap_violations(people: SamplingFrame, looks: int = 1) -> list[str]:
    """Return regions in which an arm is nearly empty, by column and range, the largest first.

    Args:
        people: people of two arms.
        looks: number of contrasts tested.
    """
    columns = prepared(people.table, people.roles.kinds)
    given = {str(c): numbers(columns[c], str(c)) for c in columns}
    known = {c: categories(values, c) for c, values in given.items() if not isinstance(values, np.ndarray)}
    codes = {c: pd.Categorical(given[c].astype(object), names).codes.astype(np.float64) for c, names in known.items()}
    t, clusters = people.problem.pool.t, people.cluster_labels()
    lots = len(np.unique(clusters))
    drawn = lots / len(people) if len(np.unique(2 * clusters + t)) == lots else 1.0  # arms by cluster or person
    search = ViolationSearch(given | codes, frozenset(known), t, people.weights, drawn, looks)
    return [_named(people, search, hole, known) for hole in search.found()]


def _named(
    people: SamplingFrame, search: ViolationSearch, hole: OverlapViolation, known: Mapping[str, Sequence[Any]]
) -> str:
    inside, other = search.inside(hole), 1 - hole.missing_arm
    where = [
        f"{c} = {known[c][int(low)]}" if c in known else _range(people.table[c], search.values[c], low, high)
        for c, (low, high) in hole.bounds.items()
    ]
    every = people.weights[inside].sum()
    those = people.weights[inside & (people.problem.pool.t == other)].sum()
    about = "about " * (people.first_phase is not None)
    who = f"all {about}{every:,.0f}" if those == every else f"{those:,.0f} of {about}{every:,.0f}"
    is_plain = list(people.arms) == [0, 1]
    arm = ("controls", "treated")[other] if is_plain else f"in arm {people.arms[other]}"
    return f"{' and '.join(where)}: {who} are {arm}"


def _range(column: pd.Series, values: Outcomes, low: float, high: float) -> str:
    """Return a range of a column in words, with as few digits as needed."""
    below, above = values[values < low], values[values > high]
    first = _told(column, values, low, below.max() if below.size else -np.inf)
    last = _told(column, values, high, above.min() if above.size else np.inf)
    if low == high:
        return f"{column.name} = {written(column, values, low)}"
    if not below.size:
        return f"{column.name} up to {last}"
    return f"{column.name} from {first} {f'to {last}' if above.size else 'on'}"


def _told(column: pd.Series, values: Outcomes, value: float, other: float) -> str:
    """Return a short number between a value and another, or the value; dates unchanged."""
    short = (float(f"{value:.{digits}g}") for digits in range(2, 10))
    is_plain = is_numeric_dtype(column.dtype)
    fit = (v for v in short if is_plain and (value <= v < other or other < v <= value))
    return written(column, values, next(fit, value))


def written(column: pd.Series, values: Outcomes, value: float) -> str:
    """Return a value of a column in words: a number, or a date as written."""
    if is_numeric_dtype(column.dtype):
        return f"{value:.10g}"
    return str(column.iloc[int((values == value).argmax())]).removesuffix(" 00:00:00")


def column_names(people: SamplingFrame) -> list[str]:
    """Return names of the d encoded covariates of :func:`macal.datasets.from_table`: numbers, then categories."""
    plain, dummies = [], []
    for name, column in prepared(people.table, people.roles.kinds).items():
        values = numbers(column, str(name))
        if isinstance(values, np.ndarray):
            plain.append(str(name))
            continue
        known = categories(values, str(name))
        dummies += [f"{name} = {value}" for value in known[int(len(known) == 2) :]]
    return plain + dummies


def differences(people: SamplingFrame, labelled: Indices, names: Sequence[str]) -> pd.DataFrame:
    """Return standardised differences of the arms' means, one row per encoded covariate: of all, of labelled people.

    Both columns are divided by the root of the mean of the arms' variances among all people; they are missing for an
    empty arm, and 0 for a constant covariate.
    """
    x, t, weights = people.problem.pool.x.astype(np.float64), people.problem.pool.t, people.weights
    means = {"all": _means(x, t, weights), "labelled": _means(x[labelled], t[labelled], np.ones(len(labelled)))}
    spread = np.sqrt(_means(np.square(x - means["all"][t]), t, weights).mean(axis=0))
    gaps = {who: (mean[1] - mean[0]) / np.where(spread > 0, spread, np.inf) for who, mean in means.items()}
    return pd.DataFrame(gaps, pd.Index(names, name="covariate"))


def _means(x: Covariates, t: Arms, weights: Outcomes) -> Centres:
    """Return the mean of each arm, (2, d), missing if empty."""
    arms = ((x[t == arm], weights[t == arm]) for arm in (0, 1))
    return np.stack([np.average(own, 0, w) if len(own) else np.full(x.shape[1], np.nan) for own, w in arms])


def counterparts(people: SamplingFrame, units: Indices, among: Rows) -> Distances:
    """Return relative distances from some units to the nearest of the other arm among others, (k,).

    With several arms, the reference is compared with any other, and any other with the reference.
    """
    x, treated = people.problem.pool.x.astype(np.float64), people.problem.pool.t > 0
    out = np.empty(len(units))
    for arm in (False, True):
        out[treated[units] == arm] = nearest_distance(x[units[treated[units] == arm]], x[among[treated[among] != arm]])
    return out / _typical(people)


def _typical(people: SamplingFrame) -> float:
    x = people.problem.pool.x.astype(np.float64)
    return rms_distance(x if people.first_phase is None else x[some_of(people)])


def coverage(people: SamplingFrame, rounds: Sequence[Int[np.ndarray, " _"]]) -> pd.DataFrame:
    """Return mean relative distances from people to the nearest label in their arm, after each round.

    Args:
        people: the table.
        rounds: labels added by each round, initial ones first.

    Returns:
        One row per round from 0, one column per arm; missing while an arm has no label.
    """
    x, t = people.problem.pool.x.astype(np.float64), people.problem.pool.t
    some, typical, told = some_of(people), _typical(people), []
    least = np.full(len(some), np.inf)
    for units in rounds:
        for arm in range(len(people.arms)):
            own = t[some] == arm
            least[own] = np.minimum(least[own], nearest_distance(x[some[own]], x[units[t[units] == arm]]))
        told.append([least[t[some] == arm].mean() / typical for arm in range(len(people.arms))])
    table = pd.DataFrame(told, columns=names_of(people)).rename_axis("round")
    return table.replace(np.inf, np.nan)


def names_of(people: SamplingFrame) -> list[str]:
    """Return names of the arms, the reference first."""
    return ["control", "treated"] if list(people.arms) == [0, 1] else [str(arm) for arm in people.arms]


def distance_to_labels(people: SamplingFrame, known: Indices, asked: Rows) -> Distances:
    """Return relative distances from planned units to the nearest earlier label in their arm, (k,), or infinity."""
    x, t = people.problem.pool.x.astype(np.float64), people.problem.pool.t
    order = np.concatenate([known, asked])
    places = range(len(known), len(order))
    earlier = [order[:k][t[order[:k]] == t[order[k]]] for k in places]
    return np.array([nearest_distance(x[[order[k]]], x[e])[0] for k, e in zip(places, earlier, strict=True)]) / (
        _typical(people)
    )


def nearest_counterpart(people: SamplingFrame, unit: int, among: Indices) -> int | None:
    """Return the nearest unit of the other arm among some; None without one."""
    x, t = people.problem.pool.x.astype(np.float64), people.problem.pool.t
    others = among[(t[among] == 0) != (t[unit] == 0)]
    return int(others[nearest_distance(x[others], x[[unit]]).argmin()]) if len(others) else None


def shared_rows(people: SamplingFrame, asked: Indices) -> pd.DataFrame:
    """Return shares of people by number of others with the same row: of all, of those surveyed; exact, in four groups.

    Returns:
        One row per class of :data:`SHARED`; columns of two levels.
    """
    # original values: winsorised ones would hide identifying extremes
    x, found = people.scaled(lambda values, _: values), {}
    for how, rows in {"exactly": x, "in quarters": _quarters(x)}.items():
        which = profiles(rows)[1]
        size = np.bincount(which)[which]
        for who, units in {"all": np.arange(len(x)), "surveyed": asked}.items():
            found[how, who] = [np.mean((size[units] >= a) & (size[units] <= b)) for a, b in SHARED.values()]
    return pd.DataFrame(found, pd.Index(SHARED, name="others with the same row"))


def _quarters(x: Covariates) -> Covariates:
    """Return covariates, those with more than four values in four groups of about equal size."""
    parted = [np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values) for values in x.T]
    columns = [part if len(np.unique(values)) > 4 else values for part, values in zip(parted, x.T, strict=True)]
    return np.stack(columns, axis=1, dtype=np.float64)
