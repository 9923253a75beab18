"""Eighteen real tables with their own outcomes: are individual effects nearer the truth than one average effect?

**Tables.** All of :mod:`macal.datasets.real`, their people with an outcome. In each of ``SPLITS`` splits, half of them
(at most ``HALF``) are the pool and as many others are left out, to judge. Where people came in clusters, whole clusters
are on either side, and in one fold of whatever is fitted crosswise: people of a class or a village are alike, and what
they share would else pass for an effect. Split k of the table in place j is drawn by the seed (65, j, k).

**Labels.** 75, 150, 300, 600 and 1,200 of the pool at random, the smaller sets within the larger, and all of it
("half"). 150 and 600 also by the other rules of ``DESIGNS``: "equal", as many of each arm, at random within it, or all
where it has fewer; "macal", "alc-fixed" and "qhte" by :mod:`macal.acquisition`, ten at random first, then ten a query;
"draw", by worth for the average effect, a fifth uniformly, whose weights all estimators use but the process. A set with
fewer than ten labels of an arm is recorded and not learnt from.

**Estimators.** "average", a constant effect, the constant c of the smallest R-loss. Ridge regressions whose
penalty leaves one out, on c's nuisances: "R" (its penalties reach c), "T", "X", "DR" (chances from a tenth on). The
causal forest of EconML on the same residuals. "process", the joint Gaussian process of ``macal estimate``, up to 600
labels. Each has a cross-validated R-loss (five folds) on its own labels: taken only where that is below c's, it has "c
among its candidates". "choice", as a user would choose: the estimator with the smallest of all, c among them.

**Judge.** On the people left out, m(x) = E[y | x] and the chance of treatment e(x) are fitted crosswise, by ridge and
logistic regression ("linear"), by boosted trees ("trees"), and each by whichever errs less there ("best", which
decides). With l = y - m and a = t - e, an estimate's level is

    (mean of (l - a tau)^2 - mean of (l - a c*)^2) / mean of a^2, in per cent of the mean of l^2,

c* the best constant on these people; its excess is its level less that of "average" from the same labels.

**End points.**

- (a) By table and size, random labels: the mean excess of "choice" over splits, with Student's 95% interval over the
  splits, simultaneous over the tables of the size (Bonferroni). Below 0 it is "useful", above it "harmful", else
  "level". Splits share people: intervals speak of the table's people, not of others.
- (b) Each rule's level of "choice" less that of random selection, at 150 and at 600: the mean over tables, the table as
  unit, Student's interval, simultaneous over five rules.
- (c) With the half, by table: the estimator of least mean excess over the splits, and its interval, simultaneous over
  tables and estimators.
- (d) What ``macal estimate`` says, the process against c by the cross-validated R-loss: the share of sets on which it
  shows individual effects, at 150 and 600 random labels, the share of these whose excess is below 0, and their mean
  excess; where the loss is smaller, and where it is significantly smaller (one-sided, 5%).

Tables of which fewer than half of the sets can be learnt from have no mean at that size.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri

from macal import models
from macal.campaigns import begin
from macal.campaigns.evaluation import Row
from macal.comparison import student
from macal.datasets import real
from macal.logistic import propensity_scores
from macal.problem import Problem, Split
from macal.shapes import Arms, Covariates, Indices, Outcomes, Rows
from macal.survey.inference import ate_size_measure, crossfit_propensity, draw_sample, inclusion_probabilities
from macal.survey.inference.heterogeneity import r_losses
from macal.survey.inference.weighted import MIN_ANSWERS, folds, propensity_floor, standardised
from reproduction.studies.jobs import Job, on_table
from reproduction.studies.tables import Table

SPLITS, HALF, SEED, START, BATCH, UNIFORM = 20, 6000, 65, 10, 10, 0.2
LEVEL = 0.05
SIZES, COMPARED = (75, 150, 300, 600, 1200), (150, 600)
RULES = ("macal", "alc-fixed", "qhte")
DESIGNS = ("random", "equal", *RULES, "draw")
ESTIMATORS = ("average", "R", "T", "X", "DR", "forest", "process")
PROCESS_UP_TO, TRIMMED, TREES = 600, 0.1, 100
PENALTIES = 10.0 ** np.arange(-1, 4)
TO_CONSTANT = 10.0 ** np.arange(-1, 8)  # the last leave hardly more than a constant
BOOSTED = {"max_iter": 100, "learning_rate": 0.05, "max_leaf_nodes": 8, "early_stopping": False, "random_state": 0}
EVALUATORS = ("best", "linear", "trees")

Effects = Callable[[Covariates], Outcomes]


@dataclass(frozen=True, eq=False)
class Labelled:
    """People with an outcome: covariates (n, d); arms, outcomes, weights and clusters, (n,) each."""

    x: Covariates
    t: Arms
    y: Outcomes
    w: Outcomes
    clusters: Arms | None

    def __getitem__(self, rows: Rows) -> "Labelled":
        clusters = None if self.clusters is None else self.clusters[rows]
        return Labelled(self.x[rows], self.t[rows], self.y[rows], self.w[rows], clusters)

    def folds(self, seed: int) -> Iterator[tuple[Indices, Indices]]:
        """Folds for what is fitted crosswise; see :func:`macal.survey.inference.weighted.folds`."""
        return folds(self.t, seed, self.clusters)

    def can_be_learnt(self, seed: int) -> bool:
        """Whether both arms have ten labels, and some in whatever a fold leaves."""
        least = [np.bincount(self.t[rest], minlength=2).min() for rest, _ in self.folds(seed)]
        return min(np.bincount(self.t, minlength=2)) >= MIN_ANSWERS and min(least) >= 2


class FittedEffects:
    """Effects by every estimator from some labels.

    Attributes:
        outcome: m(x), of covariates (k, d).
        chance: e(x), likewise.
        effects: by estimator.
    """

    def __init__(self, some: Labelled, seed: int) -> None:
        x, t, y, w = some.x, some.t, some.y, some.w
        self.outcome, self.chance = _ridge(x, y, w), _chance(x, t, w)
        m, e, mu = np.empty(len(t)), np.empty(len(t)), np.empty((len(t), 2))
        for rest, fold in some.folds(seed):
            m[fold], e[fold] = _ridge(x[rest], y[rest], w[rest])(x[fold]), _chance(x[rest], t[rest], w[rest])(x[fold])
            for arm in (0, 1):
                own = rest[t[rest] == arm]
                mu[fold, arm] = _ridge(x[own], y[own], w[own])(x[fold])
        left, arm = y - m, t - e
        one = best_constant(left, arm, w)
        self.effects: dict[str, Effects] = {"average": lambda new: np.full(len(new), one)}
        self.effects["R"] = _ridge(x, left / arm, w * arm**2, TO_CONSTANT)
        of_arm = [_ridge(x[t == k], y[t == k], w[t == k]) for k in (0, 1)]
        self.effects["T"] = lambda new: of_arm[1](new) - of_arm[0](new)
        # what each person's own outcome adds to the other arm's model
        imputed = np.where(t == 1, y - of_arm[0](x), of_arm[1](x) - y)
        by_arm = [_ridge(x[t == k], imputed[t == k], w[t == k]) for k in (0, 1)]
        self.effects["X"] = lambda new: self.chance(new) * by_arm[0](new) + (1 - self.chance(new)) * by_arm[1](new)
        clipped = e.clip(TRIMMED, 1 - TRIMMED)
        # mu_1 - mu_0 + t (y - mu_1) / e - (1 - t) (y - mu_0) / (1 - e)
        score = mu[:, 1] - mu[:, 0] + t * (y - mu[:, 1]) / clipped - (1 - t) * (y - mu[:, 0]) / (1 - clipped)
        self.effects["DR"] = _ridge(x, score, w, TO_CONSTANT)
        self.effects["forest"] = _forest(x, left, arm, w, seed)
        if len(t) <= PROCESS_UP_TO:
            units = Split(x.astype(np.float32), t, y)
            (fitted,) = models.get("joint-gp").fit([models.Task(units, seed=seed)])
            self.effects["process"] = lambda new: fitted.predict(new.astype(np.float32)).tau


def best_constant(left: Outcomes, arm: Outcomes, w: Outcomes | float = 1.0) -> float:
    """The constant effect of the smallest R-loss, of y - m(x) and t - e(x), (n,) each."""
    return float(np.sum(w * left * arm) / np.sum(w * arm**2))


def _ridge(x: Covariates, y: Outcomes, w: Outcomes, penalties: np.ndarray = PENALTIES) -> Effects:
    from sklearn.linear_model import RidgeCV

    return RidgeCV(alphas=penalties).fit(x, y, sample_weight=w / w.mean()).predict


def _chance(x: Covariates, t: Arms, w: Outcomes) -> Effects:
    control, treated = propensity_floor(t, w)
    return lambda new: propensity_scores(x, t, new, w / w.mean())[:, 1].clip(treated, 1 - control)


def _forest(x: Covariates, left: Outcomes, arm: Outcomes, w: Outcomes, seed: int) -> Effects:
    from econml.grf import CausalForest

    grown = CausalForest(n_estimators=TREES, n_jobs=1, random_state=seed).fit(x, arm, left, sample_weight=w)
    return lambda new: grown.predict(new).ravel()


def scored(some: Labelled, seed: int) -> tuple[dict[str, Effects], dict[str, dict[str, float]]]:
    """Effects by each estimator, and how it does on held-out labels.

    ``held_out`` is its R-loss less that of the average, in per cent of that, ``z`` the difference over its standard
    error.
    """
    parts: dict[str, list[Outcomes]] = {}
    for rest, fold in some.folds(seed + 1):
        found, out = FittedEffects(some[rest], seed), some[fold]
        left, arm = out.y - found.outcome(out.x), out.t - found.chance(out.x)
        for name, effects in found.effects.items():
            parts.setdefault(name, []).append(out.w * r_losses(left, arm, effects(out.x)))
    loss, found = {name: np.concatenate(one) for name, one in parts.items()}, {}
    effects = FittedEffects(some, seed).effects
    for name in effects:
        over = loss[name] - loss["average"]
        error = over.std(ddof=1) / np.sqrt(len(over))
        z = float(over.mean() / error) if error else 0.0
        found[name] = {"held_out": float(100 * over.sum() / loss["average"].sum()), "z": z}
    return effects, found


def nuisances(some: Labelled, seed: int) -> dict[str, tuple[Outcomes, Outcomes]]:
    """What judges make of people: y - m(x) and t - e(x), (n,) each, by judge."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    t, m, e = some.t, np.empty((2, len(some.t))), np.empty((2, len(some.t)))
    for rest, fold in some.folds(seed):
        known, new = some[rest], some.x[fold]
        m[0, fold], e[0, fold] = _ridge(known.x, known.y, known.w)(new), _chance(known.x, known.t, known.w)(new)
        m[1, fold] = HistGradientBoostingRegressor(**BOOSTED).fit(known.x, known.y).predict(new)
        e[1, fold] = HistGradientBoostingClassifier(**BOOSTED).fit(known.x, known.t).predict_proba(new)[:, 1]
    control, treated = propensity_floor(t)
    e[1] = e[1].clip(treated, 1 - control)
    best_m = np.square(some.y - m).mean(axis=1).argmin()
    best_e = -np.log(np.where(t == 1, e, 1 - e)).mean(axis=1).argmin()
    pairs = {"best": (best_m, best_e), "linear": (0, 0), "trees": (1, 1)}
    return {judge: (some.y - m[one], t - e[other]) for judge, (one, other) in pairs.items()}


def relative_r_loss(left: Outcomes, arm: Outcomes, effects: Outcomes) -> float:
    """R-loss of effects less that of the best constant, over the mean of a^2, in per cent of the mean of l^2."""
    over = r_losses(left, arm, effects) - r_losses(left, arm, best_constant(left, arm))
    return float(100 * over.mean() / np.mean(arm**2) / np.mean(left**2))


@cache
def population(name: str) -> tuple[real.RealTable, Indices]:
    """A table, and the rows of its people with an outcome."""
    table = real.people(name)
    return table, np.flatnonzero(np.isfinite(table.y))


def split(name: str, k: int) -> tuple[Labelled, Labelled]:
    """Pool and people left out of a table's split, covariates in s.d.s of both."""
    table, told = population(name)
    rng = np.random.default_rng([SEED, list(real.TABLES).index(name), k])
    rows, half = rng.permutation(told), min(len(told) // 2, HALF)
    if table.clusters is None:
        rows, clusters = rows[: 2 * half], None
    else:
        place = rng.permutation(table.clusters.max() + 1)
        rows = rows[np.argsort(place[table.clusters[rows]], kind="stable")]
        # where the cluster of the unit in the middle begins
        clusters = table.clusters[rows]
        half = int(np.argmax(clusters == clusters[half]))
    x = table.covariates(rows)[rows].astype(np.float64)
    both = Labelled(
        standardised(x[:, np.ptp(x, axis=0) > 0]), table.t[rows], table.y[rows], np.ones(len(rows)), clusters
    )
    return both[np.arange(half)], both[np.arange(half, len(rows))]


def labels(pool: Labelled, k: int) -> Iterator[tuple[str, int, Labelled]]:
    """Labelled sets of a pool: rule, size, and the people with their weights."""
    rng, n = np.random.default_rng([SEED, k]), len(pool.t)
    order = rng.permutation(n)
    yield from (("random", size, pool[order[:size]]) for size in (*(s for s in SIZES if s < n), n))
    sizes, number = [size for size in COMPARED if size < n], np.bincount(pool.t, minlength=2)
    for size in sizes:
        few = np.minimum(number, size // 2)
        asked = np.minimum(number, size - few[::-1])
        yield "equal", size, pool[np.concatenate([order[pool.t[order] == arm][: asked[arm]] for arm in (0, 1)])]
    units, start = Split(pool.x.astype(np.float32), pool.t, pool.y), rng.choice(n, START, replace=False)
    for rule in RULES if sizes else ():
        queries = (max(sizes) - START) // BATCH
        played = begin(Problem("pool", units, units, start, None, BATCH, queries, k), rule)
        played.plan()
        yield from ((rule, size, pool[played.labelled((size - START) // BATCH)]) for size in sizes)
    worth = ate_size_measure(crossfit_propensity(pool.x, pool.t, strength=1.0), pool.t)
    for size in sizes:
        p = inclusion_probabilities(worth, size, UNIFORM)
        rows = draw_sample(p, rng)
        yield "draw", size, replace(pool[rows], w=1 / p[rows])


def run_split(name: str, k: int) -> list[Row]:
    """All levels of a split, a row for each labelled set and estimator."""
    pool, out = split(name, k)
    judges, found = nuisances(out, k), []
    for design, size, some in labels(pool, k):
        about = {"design": design, "labelled": size, "half": size == len(pool.t), "treated": int(some.t.sum())}
        if not some.can_be_learnt(k):
            found.append(about | {"model": "none"} | dict.fromkeys(("held_out", "z", *EVALUATORS), np.nan))
            continue
        effects, held_out = scored(some, k)
        for estimator, tau in effects.items():
            levels = {judge: relative_r_loss(*judges[judge], tau(out.x)) for judge in EVALUATORS}
            found.append(about | {"model": estimator, **held_out[estimator], **levels})
    return found


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``individual``: one split of all tables after the other."""
    places = [(name, k) for k in range(replications or SPLITS) for name in real.TABLES]
    return [on_table("individual", name, partial(run_split, name, k), replication=k) for name, k in places]


# ---------------------------------------------------------------- end points


KEYS = ["table", "replication", "design", "labelled", "half"]


def excesses(found: pd.DataFrame, judge: str = "best") -> pd.DataFrame:
    """What each estimator errs on each labelled set more than one average effect from the same labels.

    Returns:
        A row per set and estimator: KEYS, ``model``, ``held_out``, ``z``, ``level`` and ``excess``, per cent.
    """
    told = found[found["model"] != "none"]
    average = told[told["model"] == "average"].set_index(KEYS)[judge]
    own = told.set_index(KEYS)
    values = {"model": own["model"], "held_out": own["held_out"], "z": own["z"], "level": own[judge]}
    return pd.DataFrame(values | {"excess": own[judge] - average.reindex(own.index)}).reset_index()


def chosen(found: pd.DataFrame, judge: str = "best") -> pd.DataFrame:
    """Rows of :func:`excesses` that a user would choose, one a set: c is among the candidates, at 0."""
    every = excesses(found, judge)
    return every.loc[every.groupby(KEYS, sort=False)["held_out"].idxmin()].reset_index(drop=True)


def by_table(rows: pd.DataFrame) -> pd.DataFrame:
    """End point (a): the mean excess by table and size, labels at random.

    Args:
        rows: one a set, as :func:`chosen` gives them, or of one estimator.

    Returns:
        By ``table`` and ``size``, "half" last: ``excess``, ``low`` and ``high``, simultaneous over the size's tables,
        the number of ``splits``, ``said``: "useful", "harmful" or "level".
    """
    own, half = rows[rows["design"] == "random"].copy(), rows["replication"].nunique() / 2
    own["size"] = np.where(own["half"], "half", own["labelled"].astype(str))
    groups = {key: part for key, part in own.groupby(["size", "table"], sort=False) if len(part) > half}
    family = pd.Series([size for size, _ in groups]).value_counts()
    found = {}
    place = lambda size: HALF + 1 if size == "half" else int(size)  # noqa: E731
    for size, name in sorted(groups, key=lambda key: (place(key[0]), list(real.TABLES).index(key[1]))):
        values = groups[size, name].set_index("replication")["excess"]
        bounds = student(values, 1 - LEVEL / family[size])
        said = "useful" if bounds["high"] < 0 else "harmful" if bounds["low"] > 0 else "level"
        found[name, size] = {"excess": values.mean(), "low": bounds["low"], "high": bounds["high"]}
        found[name, size] |= {"splits": len(values), "said": said}
    return pd.DataFrame.from_dict(found, "index").rename_axis(["table", "size"])


def by_rule(rows: pd.DataFrame) -> pd.DataFrame:
    """End point (b): each rule's level less that of random selection, mean over tables, simultaneous over the rules.

    Returns:
        By ``labelled`` and ``design``: ``difference``, ``low`` and ``high``, and the number of ``tables``.
    """
    own = rows[rows["labelled"].isin(COMPARED) & ~rows["half"]]
    wide = own.pivot_table("level", ["labelled", "table", "replication"], "design")
    found = {}
    for size, of_size in wide.groupby(level="labelled"):
        for rule in DESIGNS[1:]:
            gaps = (of_size[rule] - of_size["random"]).dropna().groupby(level="table")
            means = gaps.mean()[gaps.size() > rows["replication"].nunique() / 2]
            bounds = student(means, 1 - LEVEL / (len(DESIGNS) - 1))
            found[size, rule] = {"difference": means.mean(), "low": bounds["low"], "high": bounds["high"]}
            found[size, rule]["tables"] = len(means)
    return pd.DataFrame.from_dict(found, "index").rename_axis(["labelled", "design"])


def best_on_half(found: pd.DataFrame) -> pd.DataFrame:
    """End point (c): by table, the estimator of least mean excess from the half's labels, c apart.

    Returns:
        By ``table``: ``model``, ``excess``, ``low`` and ``high``, simultaneous over tables and estimators.
    """
    own = excesses(found)
    own = own[own["half"] & (own["model"] != "average")]
    family, rows = own[["table", "model"]].drop_duplicates().shape[0], {}
    for name, part in own.groupby("table", sort=False):
        best = part.groupby("model")["excess"].mean().idxmin()
        values = part[part["model"] == best].set_index("replication")["excess"]
        bounds = student(values, 1 - LEVEL / family)
        rows[name] = {"model": best, "excess": values.mean(), "low": bounds["low"], "high": bounds["high"]}
    return pd.DataFrame.from_dict(rows, "index").rename_axis("table")


def shown(found: pd.DataFrame) -> pd.DataFrame:
    """End point (d): how often the process' effects are preferred to c by their own labels, and are nearer then.

    Returns:
        By ``labelled`` and ``test``, "smaller" or "significant": ``sets``, ``shown``, the share of these, ``nearer``,
        the share of those, and their mean ``excess``.
    """
    own = excesses(found)
    own = own[(own["model"] == "process") & (own["design"] == "random") & own["labelled"].isin(COMPARED)]
    rows = {}
    for size, part in own.groupby("labelled"):
        for test, limit in (("smaller", 0.0), ("significant", -ndtri(1 - LEVEL))):
            told = part[part["z"] < limit]
            about = {"sets": len(part), "shown": len(told) / len(part), "nearer": (told["excess"] < 0).mean()}
            rows[size, test] = about | {"excess": told["excess"].mean()}
    return pd.DataFrame.from_dict(rows, "index").rename_axis(["labelled", "test"])
