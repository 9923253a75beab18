"""What the draw for the average effect saves on eighteen real tables, and what is left for any other design to save.

The people of each table of :mod:`macal.datasets.real` who have an outcome are a whole population, and what is aimed at
is the estimate from all answers. Covariates are those that the planner's models have; chances of the arms are
estimated once, from all units. Of each table 200 and 500 answers are drawn 200 times, draw k of the table in place j by
the seed (64, j, k), in three ways:

- "simple": a simple random sample;
- "equal": as many people of each arm, at random within it, or all where it has fewer;
- "draw": by worth for the average effect, a fifth uniformly, which is what ``macal plan`` does;
- "regression": the answers of "equal" by ordinary least squares of the outcome on treatment and covariates, with robust
  errors (HC1), which needs that model to be right.

"bound" is no draw: the outcome models of all answers are taken as known, and the chances are those that would
be best if the s.d. of what these models leave of each outcome were known, too (a ridge regression of its size on the
covariates, crosswise, at least a fifth of the arm's mean). The width is that of the variance
var(m_1 - m_0) / N + sum of (r_i / e_i)^2 / p_i / N^2, which :func:`known` gives of any design.

End points: mean width of the 95% intervals, over those that are given; the share given; the share of these that hold
the estimate from all answers. Answers saved are 1 - (width /
width of a simple random sample)^2. The draw is ahead on a table where its mean width is below by more than two
standard errors of the difference. Where fewer than half of the simple random samples give an interval, there is no such
number.
"""

import warnings
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import stdtrit
from statsmodels.tools.sm_exceptions import SingularMatrixWarning

from macal.campaigns.evaluation import Row
from macal.datasets import real
from macal.datasets.encoding import encoded, with_excess
from macal.datasets.real import Layout
from macal.shapes import Arms, Covariates, Outcomes, Proxies
from macal.survey.inference import (
    Estimate,
    Survey,
    ate_size_measure,
    average_effect,
    crossfit_propensity,
    draw_sample,
    inclusion_probabilities,
)
from macal.survey.inference.ridge import Ridge
from macal.survey.inference.sampling import proportional
from macal.survey.inference.weighted import crossfit_outcomes, folds, of_each_arm, standardised
from reproduction.studies.jobs import Job, on_table
from reproduction.studies.tables import Table

DRAWS, SIZES, SEED, UNIFORM = 200, (200, 500), 64, 0.2
DESIGNS = ("simple", "equal", "draw", "regression")
MIN_RESIDUAL_SHARE = 0.2  # of an arm's mean size of what outcome models leave


@cache
def population(about: str | Layout) -> tuple[Covariates, Arms, Outcomes, Outcomes, Proxies | None]:
    """Describe the people of a table, or of a layout of one's own, who have an outcome.

    Returns:
        Covariates (n, d); arms, outcomes and chances of treatment, (n,) each; proxies, (n, k), or None.
    """
    rows = real.people(about)
    told = np.isfinite(rows.y)

    def columns(named: dict[str, Outcomes | pd.Series]) -> Covariates:
        found = encoded(named, np.arange(len(rows.t)), with_excess)[told]
        return found[:, np.ptp(found, axis=0) > 0].astype(np.float64)

    x, t, proxies = columns(rows.columns), rows.t[told], columns(rows.proxies) if rows.proxies else None
    return x, t, rows.y[told].astype(np.float64), crossfit_propensity(x, t), proxies


@cache
def full_population_estimate(about: str | Layout) -> Estimate:
    """The effect from all answers."""
    x, t, y, e, proxies = population(about)
    return average_effect(Survey(x, t, y, np.ones(len(t)), propensity=e, proxies=proxies))


def design_probabilities(about: str | Layout, design: str, size: int) -> Outcomes:
    """Chance of each person to be among ``size`` who are asked, (n,)."""
    _, t, _, e, _ = population(about)
    if design == "simple":
        return np.full(len(t), size / len(t))
    if design == "draw":
        return inclusion_probabilities(ate_size_measure(e, t), size, UNIFORM)
    number = np.bincount(t)
    few = min(size // 2, number.min())
    asked = np.where(np.arange(2) == number.argmin(), few, size - few)
    return (asked / number)[t]


def estimate_from_sample(about: str | Layout, design: str, size: int, seed: int) -> Estimate | None:
    """What one draw tells; None where its answers give no interval."""
    x, t, y, e, proxies = population(about)
    files = real.TABLES[about].files if isinstance(about, str) else about.files
    place = [one.files for one in real.TABLES.values()].index(files)
    rng, p = np.random.default_rng([SEED, place, seed]), design_probabilities(about, design, size)
    # equal arms are drawn one after the other
    parts = [np.arange(len(t))] if design in ("simple", "draw") else [np.flatnonzero(t == arm) for arm in (0, 1)]
    asked = np.isin(np.arange(len(t)), np.concatenate([part[draw_sample(p[part], rng)] for part in parts]))
    if design == "regression":
        return regression(x[asked], t[asked], y[asked])
    try:
        return average_effect(Survey(x, t, np.where(asked, y, np.nan), p, propensity=e, proxies=proxies))
    except ValueError:
        return None


def regression(x: Covariates, t: Arms, y: Outcomes) -> Estimate:
    """The coefficient of the treatment in a linear regression, with its interval."""
    x = x[:, np.ptp(x, axis=0) > 0]
    with warnings.catch_warnings():  # of dependent columns, which leave the treatment's coefficient as it is
        warnings.simplefilter("ignore", SingularMatrixWarning)
        found = sm.OLS(y, np.column_stack([t, np.ones(len(t)), x])).fit(cov_type="HC1", use_t=True)
    low, high = found.conf_int()[0]
    return Estimate(float(found.params[0]), float(low), float(high), float(found.bse[0]))


@cache
def _left(name: str) -> tuple[Outcomes, Outcomes, float]:
    """What known outcome models leave of each outcome, over the chance of its arm; the best chances; var(m_1 - m_0)."""
    x, t, y, e, _ = population(name)
    m, z, own = crossfit_outcomes(x, t, y, None, 0), standardised(x), of_each_arm(e)[np.arange(len(t)), t]
    left = np.abs(y - m[np.arange(len(t)), t])
    sd = np.empty(len(t))
    for rest, fold in folds(t, 0):
        for arm in (0, 1):
            known, at = rest[t[rest] == arm], fold[t[fold] == arm]
            sd[at] = np.maximum(
                Ridge().fit(z[known], left[known]).predict(z[at]), MIN_RESIDUAL_SHARE * left[known].mean()
            )
    return left / own, sd / own, float(np.var(m[:, 1] - m[:, 0]))


def known(name: str, design: str, size: int) -> float:
    """Width of a design's interval if everything but who is asked were known; "bound" is the best; see the module."""
    left, best, spread = _left(name)
    p = proportional(best, size) if design == "bound" else design_probabilities(name, design, size)
    variance = spread / len(left) + np.sum(left**2 / p) / len(left) ** 2
    return float(2 * stdtrit(size - 1, 0.975) * np.sqrt(variance))


def row(name: str, design: str, size: int) -> Row:
    """The end points of a design."""
    found = [estimate_from_sample(name, design, size, k) for k in range(DRAWS)]
    return {"design": design, "labelled": size} | ends(found, full_population_estimate(name))


def ends(draws: Sequence[Estimate | None], whole: Estimate) -> Row:
    """End points of what draws tell, against the estimate from all answers."""
    found = [one for one in draws if one is not None]
    width = np.array([one.width for one in found])
    return {
        "given": len(found) / len(draws),
        "held": float(np.mean([one.low <= whole.value <= one.high for one in found])) if found else np.nan,
        "width": float(width.mean()) if found else np.nan,
        "width_sd": float(width.std(ddof=1)) if len(found) > 1 else np.nan,
        "width_most": float(width.max()) if found else np.nan,
    }


def responses_saved(found: pd.DataFrame) -> pd.DataFrame:
    """Share of a simple random sample's answers that each design saves, by table and number of answers.

    Tables of which fewer than half of the simple random samples give an interval are left out.

    Args:
        found: rows of :func:`row`, with their ``table``.
    """
    wide = found.pivot(index=["table", "labelled"], columns="design", values=["width", "given"])
    wide = wide[wide["given", "simple"] > 0.5]["width"]
    share = 1 - wide[["equal", "draw", "regression", "bound"]].div(wide["simple"], axis=0) ** 2
    order = share["draw"].groupby(level="table").mean().sort_values(ascending=False).index
    return share.loc[order]


def gaps(found: pd.DataFrame, one: str, other: str) -> pd.Series:
    """Mean width of one design's intervals less another's, in standard errors of the difference.

    Args:
        found: rows of :func:`row`, with their ``table``.
        one: a design that is drawn.
        other: likewise.

    Returns:
        By ``table`` and ``labelled``; NaN where a design gives no two intervals.
    """
    error = found["width_sd"] ** 2 / (DRAWS * found["given"])
    wide = found.assign(error=error).pivot(index=["table", "labelled"], columns="design", values=["width", "error"])
    return (wide["width", one] - wide["width", other]) / np.sqrt(wide["error", one] + wide["error", other])


def rows(name: str, size: int) -> list[Row]:
    """The end points of all designs, of the bound, and of asking everybody."""
    found = [row(name, design, size) for design in DESIGNS]
    other = {"labelled": size, "given": 1.0, "held": np.nan, "width_sd": np.nan, "width_most": np.nan}
    found.append({"design": "bound", "width": known(name, "bound", size)} | other)
    found.append({"design": "everybody", "width": full_population_estimate(name).width} | other)
    return [one | {"table": name, "people": len(population(name)[1])} for one in found]


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``average_tables``."""
    names = list(real.TABLES)[:replications]
    return [on_table("average", name, partial(rows, name, size), size=size) for name in names for size in SIZES]
