"""What columns that are known of all units save: the average effect with proxies, on twelve real tables.

Of the eighteen tables of :mod:`macal.datasets.real` these hold a *proxy*: a column that a register could hold of
all units before outcomes are asked for, and that is no covariate, no treatment, no outcome, and no function of these.
They were chosen by what they mean, before any draw of this study; a trial of 40 draws by other code, on "star",
"k401ksubs", "nmes1988", "rotterdam" and "bwght2", was known. Proxies are:

- "rhc": survival, by the prognosis of the first day, which alone comes from before the treatment;
- "college": wage, by years of schooling;
- "star": next year's mathematics, by this year's two scores;
- "jobs": depression, by how sure of themselves they seek work, and whether they work;
- "colon" and "rotterdam": death, by relapse;
- "k401ksubs": wealth, by whether they take part in the plan;
- "catholic": mathematics, by reading in the same year;
- "recid": time to relapse, by supervision, months served, and rules that they broke in prison;
- "nmes1988": visits to a doctor's office, by those elsewhere, emergencies and stays in hospital;
- "bwght2": birth weight, by prenatal care (when it began, how many visits) and two Apgar scores;
- "hi": wives' hours of work, by whether their own employer insures them.

People, covariates, chances, the draw and its seeds are those of :mod:`reproduction.studies.average`, where "star" has
another outcome. Of each table ``SIZES`` answers are drawn ``DRAWS`` times and estimated in three ways:

- "without" the proxies;
- "proxy": the same draws, the proxies as such;
- "covariate": the proxies among the covariates, of the chances of treatment, of the draw and of outcomes alike. That is
  wrong where treatment has moved them, and right for "rhc".

What is aimed at is always the estimate from all answers without the proxies.

End points, by table and size, as :func:`judged` finds them:

- answers saved, 1 - (mean width with proxies / mean width without)^2. Proxies *help* where the width of the same draws
  falls by more than two standard errors of the mean difference; they *harm* where it grows by more than that, and by
  over 1% (``HARM``).
- coverage of each way, among the intervals that are given; it is *too low* where its exact 99% interval lies below
  95%. Proxies keep the interval's word if they are too low nowhere but where the way without them is, too.
- whether treatment *moved* the proxies: the largest coefficient of the treatment, in its robust standard errors (HC1),
  in the regressions of the proxies on treatment and covariates among all units; 5%, shared between a table's proxies
  (Bonferroni). Where it did not, the third way shows no bias.
- the width that the planner forecasts from ``sd`` and ``r2`` over the mean realised one, with proxies and without. Both
  are what cross-fitted models of all outcomes leave, over both arms; it is *right* within 10% (``NEAR``).
"""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import binom

from macal.campaigns.evaluation import Row
from macal.datasets import real
from macal.datasets.real import Layout
from macal.survey.inference import Survey
from macal.survey.inference.weighted import crossed_with_proxies
from macal.survey.planner import Planner
from reproduction.studies import average, widths
from reproduction.studies.jobs import Job, on_table
from reproduction.studies.tables import Table

DRAWS, SIZES = average.DRAWS, average.SIZES
WAYS = ("without", "proxy", "covariate")
HARM, NEAR, LEVEL = 0.01, 0.1, 0.05
PROMISED, MISSED = 0.95, 0.01  # coverage, and the level at which it is too low
PROXIES = {  # of each table the title by its proxies, and what else its layout holds
    "rhc": ("prognosis", {"proxies": "surv2md1"}),
    "college": ("schooling", {"proxies": "educ"}),
    "star": ("this year's scores", {"title": "Small class, next maths", "outcome": "math1", "proxies": "readk mathk"}),
    "jobs": ("search, work", {"proxies": "job_seek", "proxy_categories": "work1"}),
    "colon": ("relapse", {"proxies": "relapse"}),
    "k401ksubs": ("participation", {"proxies": "p401k"}),
    "catholic": ("reading", {"proxies": "read12"}),
    "recid": ("prison record", {"proxies": "super rules tserved"}),
    "nmes1988": ("other visits", {"proxies": "nvisits ovisits novisits emergency hospital"}),
    "rotterdam": ("relapse", {"proxies": "recur"}),
    "bwght2": ("care, Apgar", {"proxies": "monpre npvis omaps fmaps"}),
    "hi": ("own insurance", {"proxy_categories": "whi"}),
}
LAYOUTS: dict[str, Layout] = {name: replace(real.TABLES[name], **more) for name, (_, more) in PROXIES.items()}


def layout(name: str, way: str) -> Layout:
    """A table with its proxies as such, without them, or with them among the covariates."""
    full = LAYOUTS[name]
    if way == "proxy":
        return full
    bare = replace(full, proxies="", proxy_categories="")
    if way == "without":
        return bare
    numbers, categories = f"{full.numbers} {full.proxies}", f"{full.categories} {full.proxy_categories}"
    return replace(bare, numbers=numbers, categories=categories)


@cache
def moved(name: str) -> tuple[float, int]:
    """Largest effect of the treatment on a proxy, in standard errors, and the number of proxies."""
    x, t, _, _, proxies = average.population(LAYOUTS[name])
    found = [average.regression(x, t, one) for one in proxies.T]
    return max(abs(one.value) / one.error for one in found), len(found)


@cache
def left(name: str) -> tuple[float, float]:
    """S.d. of what covariates leave of all outcomes, and the share of its square that proxies explain."""
    x, t, y, _, proxies = average.population(LAYOUTS[name])
    both = crossed_with_proxies(x, proxies, t, y, None, 0)
    by_covariates, by_both = (np.square(y - m[np.arange(len(t)), t]).mean() for m in both)
    return float(np.sqrt(by_covariates)), max(float(1 - by_both / by_covariates), 0.0)


def forecasts(name: str, size: int) -> dict[str, float]:
    """Widths that the planner expects without the proxies and with them; none where it expects no interval."""
    (people, _, kinds), (sd, r2) = widths.table(LAYOUTS[name]), left(name)
    every = people.columns.intersection([*real.people(LAYOUTS[name]).proxies])
    proxies = [*people[every].T.drop_duplicates().index]  # two columns may lack the same people
    people = people.drop(columns=every.difference(proxies))
    kinds = {c: kind for c, kind in kinds.items() if c in people}
    planner = Planner("treated", size, kinds=kinds, proxies=proxies, sd=sd, r2=r2 or None)
    planner.plan(people)
    if (ahead := planner.forecast()) is None:
        return {}
    return {"proxy": ahead.width, "without": ahead.width if ahead.without is None else ahead.without}


def rows(name: str, size: int, draws: int = DRAWS) -> list[Row]:
    """A row of end points for each way."""
    whole, expected = average.full_population_estimate(layout(name, "without")), forecasts(name, size)
    (z, columns), (_, r2) = moved(name), left(name)
    told = {
        way: [average.estimate_from_sample(layout(name, way), "draw", size, k) for k in range(draws)] for way in WAYS
    }
    pairs = [pair for pair in zip(told["without"], told["proxy"], strict=True) if None not in pair]
    gap = np.array([with_proxies.width - alone.width for alone, with_proxies in pairs])
    found = []
    for way in WAYS:
        x, t, y, e, _ = average.population(layout(name, way))
        about = {"table": name, "people": len(t), "labelled": size, "way": way, "draws": draws}
        about |= {"misfits": bool(Survey(x, t, y, np.ones(len(t)), propensity=e).uncalibrated_arms(1))}
        about |= {"forecast": expected.get(way, np.nan), "moved": z, "proxies": columns, "r2": r2}
        differs = way == "proxy" and len(gap) > 1
        about |= {"gap": float(gap.mean()) if differs else np.nan}
        about |= {"gap_error": float(gap.std(ddof=1) / np.sqrt(len(gap))) if differs else np.nan}
        found.append(about | average.ends(told[way], whole))
    return found


def judged(found: pd.DataFrame) -> pd.DataFrame:
    """End points by table and size; see the module.

    Args:
        found: rows of :func:`rows`.

    Returns:
        ``saved``, a share; whether proxies ``help`` or ``harm``; of each way ``held``, and whether it is ``low``, as
        "held without" and so on; whether proxies were ``moved``; forecast over realised width ``ahead``, and whether it
        is ``right``, with the proxies and without, as "ahead proxy" and so on.
    """
    given = (found["given"] * found["draws"]).round()
    # an upper limit at 99% lies below 95% where half a per cent of samples would hold as few
    low = binom.cdf((found["held"] * given).round(), given, PROMISED) < MISSED / 2
    found = found.assign(low=low, ahead=found["forecast"] / found["width"])
    found["right"] = (found["ahead"] - 1).abs() <= NEAR
    by = found.set_index(["table", "labelled", "way"]).unstack("way")
    ratio, z = by["width", "proxy"] / by["width", "without"], by["gap", "proxy"] / by["gap_error", "proxy"]
    ends = {"saved": 1 - ratio**2, "help": z < -2, "harm": (z > 2) & (ratio > 1 + HARM)}
    ends["moved"] = by["moved", "proxy"] > -ndtri(LEVEL / 2 / by["proxies", "proxy"])
    ends |= {f"{end} {way}": by[end, way] for end in ("held", "low", "given", "misfits") for way in WAYS}
    ends |= {f"{end} {way}": by[end, way] for end in ("ahead", "right") for way in WAYS[:2]}
    return pd.DataFrame(ends)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``proxied``, on so many tables."""
    names = list(PROXIES)[:replications]
    return [on_table("proxied", name, partial(rows, name, size), size=size) for name in names for size in SIZES]
