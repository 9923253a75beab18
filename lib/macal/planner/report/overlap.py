"""What a plan does to overlap, coverage and privacy: numbers before and after.

Distances are given in units of the typical one, the root mean squared distance between two people of the table. Where
people are a sample of a table, each counts as often as she stands for others of it.

References:
    P. C. Austin, "Balance Diagnostics for Comparing the Distribution of Baseline Covariates Between Treatment Groups in
    Propensity-Score Matched Samples", Statistics in Medicine 28(25), 2009 (standardised differences).
    L. Sweeney, "k-Anonymity: A Model for Protecting Privacy", International Journal of Uncertainty, Fuzziness and
    Knowledge-Based Systems 10(5), 2002 (how many people share a row).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int

from macal.acquisition.bald import logistic_propensity
from macal.acquisition.rolling import rms_distance
from macal.metrics import nearest_distance
from macal.planner.people import People
from macal.search.rows import profiles
from macal.shapes import Arms, Centres, Covariates, Distances, Indices, Outcomes, Rows
from macal.tables.encoding import Scaling, categories, encoded, numbers, standardised
from macal.tables.roles import prepared

Round = Int[np.ndarray, "_"]

SAMPLE = 2000  # people whose distances are computed, where there are more
EXTREME, MANY = 0.05, 0.05  # chance of an arm that is near 0; share of people with one from which overlap is poor
SHARED = {"nobody": (1, 1), "1": (2, 2), "2 to 3": (3, 4), "4 to 9": (5, 10), "10 or more": (11, np.inf)}


def sample(n: int) -> Indices:
    """Places of at most :data:`SAMPLE` of n people, (k,), the same ones every time."""
    return np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])


def some_of(people: People) -> Indices:
    """Places of at most :data:`SAMPLE` people, (k,), of a sample as often as they stand for its table."""
    if people.phase is None:
        return sample(len(people))
    ends = np.cumsum(people.weights)
    return np.searchsorted(ends, (np.arange(SAMPLE) + 0.5) / SAMPLE * ends[-1])


def propensity(people: People, x: Covariates | None = None) -> Outcomes:
    """Chance of treatment of each unit, (n,), of two arms; by the model's covariates if no others are given."""
    weights = None if people.phase is None else people.weights
    x = people.problem.pool.x.astype(np.float64) if x is None else x
    return logistic_propensity(x, people.problem.pool.t, weights)


def contrasts(people: People) -> dict[str, tuple[People, Indices]]:
    """The people of each arm and of the reference arm, and their places; by what is compared, "" where it is plain."""
    numbers = range(1, len(people.arms))
    if len(numbers) == 1:
        return {"": (people, np.arange(len(people)))}
    return {f"{people.arms[k]} against {people.arms[0]}": people.contrast(k) for k in numbers}


def warnings(people: People) -> list[str]:
    """What :func:`warning` says of each contrast; of two scales, winsorised and the table's own, by the worse one."""
    said = {}
    for name, (view, _) in contrasts(people).items():
        if not len(view):
            continue  # nobody of the two arms may be asked
        scores = propensity(view), propensity(view, _encoded(view, standardised))
        said[name] = warning(max(scores, key=lambda score: _extreme(score, view.weights)), view.weights)
    return [f"{name}: {words}" if name else words for name, words in said.items() if words]


def _extreme(score: Outcomes, weights: Outcomes | None = None) -> float:
    return float(np.average((score < EXTREME) | (score > 1 - EXTREME), weights=weights))


def warning(score: Outcomes, weights: Outcomes | None = None) -> str:
    """What to say of poor overlap, and what to do; empty where it is not poor.

    Args:
        score: chance of treatment of each unit, (n,).
        weights: people whom each unit stands for, (n,); 1 by default.
    """
    if (share := _extreme(score, weights)) <= MANY:
        return ""
    return (
        f"overlap is poor: {share:.0%} of people could hardly have been in the other arm (an estimated chance of"
        f" treatment below {EXTREME:.0%} or above {1 - EXTREME:.0%}; up to {MANY:.0%} of people is harmless), so that"
        " estimates for them rest on the model alone, and intervals may miss the truth too often; ask the question for"
        " those who could have been in either arm, exclude the others before planning, and say so"
    )


def column_names(people: People, said: Mapping[str, str]) -> list[str]:
    """Names of the d encoded covariates, as :func:`macal.datasets.from_table` makes them: numbers, then categories.

    Args:
        people: the table.
        said: kinds of columns that the caller gave.
    """
    plain, dummies = [], []
    for name, column in prepared(people.table, people.roles, said).items():
        values = numbers(column, str(name))
        if isinstance(values, np.ndarray):
            plain.append(str(name))
            continue
        known = categories(values, str(name))
        dummies += [f"{name} = {value}" for value in known[int(len(known) == 2) :]]
    return plain + dummies


def differences(people: People, labelled: Indices, names: Sequence[str]) -> pd.DataFrame:
    """Standardised difference of the arms' means, one row per encoded covariate: of everybody, of the labelled.

    (mean treated - mean control) / root of the mean of the two variances, both of everybody, so that the two columns
    have one unit; missing where an arm is empty, 0 where a covariate does not vary.
    """
    x, t, weights = people.problem.pool.x.astype(np.float64), people.problem.pool.t, people.weights
    means = {"everybody": _means(x, t, weights), "labelled": _means(x[labelled], t[labelled], np.ones(len(labelled)))}
    spread = np.sqrt(_means(np.square(x - means["everybody"][t]), t, weights).mean(axis=0))
    gaps = {who: (mean[1] - mean[0]) / np.where(spread > 0, spread, np.inf) for who, mean in means.items()}
    return pd.DataFrame(gaps, pd.Index(names, name="covariate"))


def _means(x: Covariates, t: Arms, weights: Outcomes) -> Centres:
    """Mean of each arm, (2, d), missing where it is empty."""
    arms = ((x[t == arm], weights[t == arm]) for arm in (0, 1))
    return np.stack([np.average(own, 0, w) if len(own) else np.full(x.shape[1], np.nan) for own, w in arms])


def counterparts(people: People, units: Indices, among: Rows) -> Distances:
    """Typical distances from some units (k,) to the nearest of the other arm among others, (k,).

    Of several arms, the other one of the reference is any, and that of any is the reference.
    """
    x, treated = people.problem.pool.x.astype(np.float64), people.problem.pool.t > 0
    out = np.empty(len(units))
    for arm in (False, True):
        out[treated[units] == arm] = nearest_distance(x[units[treated[units] == arm]], x[among[treated[among] != arm]])
    return out / _typical(people)


def _typical(people: People) -> float:
    x = people.problem.pool.x.astype(np.float64)
    return rms_distance(x if people.phase is None else x[some_of(people)])


def coverage(people: People, rounds: Sequence[Round]) -> pd.DataFrame:
    """Mean typical distance from the people of each arm to the nearest label of their own, after each round.

    Args:
        people: the table.
        rounds: labels that each round adds, those known at the beginning first.

    Returns:
        One row per round from 0, ``control`` and ``treated``, or the arms by name; missing while an arm has no label.
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


def names_of(people: People) -> list[str]:
    """What the arms are called, the reference first."""
    return ["control", "treated"] if list(people.arms) == [0, 1] else [str(arm) for arm in people.arms]


def novelty(people: People, known: Indices, asked: Rows) -> Distances:
    """Typical distance from each unit asked to the nearest earlier label of her arm, (k,); infinite for the first."""
    x, t = people.problem.pool.x.astype(np.float64), people.problem.pool.t
    order = np.concatenate([known, asked])
    places = range(len(known), len(order))
    earlier = [order[:k][t[order[:k]] == t[order[k]]] for k in places]
    return np.array([nearest_distance(x[[order[k]]], x[e])[0] for k, e in zip(places, earlier, strict=True)]) / (
        _typical(people)
    )


def nearest_counterpart(people: People, unit: int, among: Indices) -> int | None:
    """The unit of the other arm that is nearest, of some; None where there is none."""
    x, t = people.problem.pool.x.astype(np.float64), people.problem.pool.t
    others = among[(t[among] == 0) != (t[unit] == 0)]
    return int(others[nearest_distance(x[others], x[[unit]]).argmin()]) if len(others) else None


def alike(people: People, asked: Indices) -> pd.DataFrame:
    """Shares of people whose row as many others share: of the table and of those asked; exact, and in four groups.

    Returns:
        One row per class of :data:`SHARED`; columns of two levels.
    """
    # as the table has them: winsorised, the farthest values, which point at people, would be alike
    x, found = _encoded(people, lambda values, _: values), {}
    for how, rows in {"exactly": x, "in quarters": _quarters(x)}.items():
        which = profiles(rows)[1]
        size = np.bincount(which)[which]
        for who, units in {"everybody": np.arange(len(x)), "asked": asked}.items():
            found[how, who] = [np.mean((size[units] >= a) & (size[units] <= b)) for a, b in SHARED.values()]
    return pd.DataFrame(found, pd.Index(SHARED, name="others alike"))


def _encoded(people: People, scaled: Scaling) -> Covariates:
    """The covariates with numbers scaled in another way than the model's, (n, d)."""
    columns = prepared(people.table, people.roles, people.roles.kinds)
    return encoded({str(c): numbers(columns[c], str(c)) for c in columns}, np.arange(len(people)), scaled)


def _quarters(x: Covariates) -> Covariates:
    """Covariates with more than four values, each in four groups of about the same size."""
    columns = [_quarter(column) if len(np.unique(column)) > 4 else column for column in x.T]
    return np.stack(columns, axis=1)


def _quarter(values: Outcomes) -> Outcomes:
    return np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values).astype(np.float64)
