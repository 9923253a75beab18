"""Forecasts of the interval's width, of answers by arm and group, and the budget for a width; see book/average.md.

Without proxies the variance of a contrast is the sum over units of both arms of (s h_i / (e_i sum h))^2 / (p_i r_i),
p_i being the inclusion and r_i the response probability and s the residual s.d. (book/enough.md, sec-drawn), plus what
the interval adds for a rare large residual; proxies put (1 - R^2) / (p_i r_i) + R^2 in place of 1 / (p_i r_i). An arm's
part of the error is multiplied by 1.06 + 0.2 d / (d + n), for models with d columns fitted to n answers (study
``widths``). Left out, as unknown in advance: the spread of effects, correlation within clusters. Known outcomes have
p = r = 1; s and R^2 are estimated from them or guessed (``sd``, ``r2``), else s = 1 and R^2 = 0.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from macal.shapes import Arms, Indices, Mask, Money, Outcomes, PerArm, PerArmChance
from macal.survey import plan_words, words
from macal.survey.campaign import CampaignState
from macal.survey.facts import Fact
from macal.survey.inference.targets import crowded, size_measure, uncalibrated_arms
from macal.survey.inference.weighted import FOLDS, MIN_ANSWERS, crossed_with_proxies, too_few
from macal.survey.policy import Policy
from macal.survey.sampling_design import (
    SamplingDesign,
    SamplingUnits,
    groups_of,
    propensities,
    sampling_units,
    strata_of,
)
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.weighted_estimates import calibration_warnings, too_many

_LARGE = 2.33  # s.d. that 2% of normal residuals exceed in size
_FIRST = 1024  # the search for a budget starts at this fraction of the total cost
_ROUNDING = 1e-9
_MORE, _LEARNT = 0.06, 0.2  # what fitted models add to the error; see the module
_MAX_EXPENSIVE_SHARE = 0.05  # largest share of people whose cost counts as exceptional
_ALL_UNITS, _CLUSTERS = "all", "clusters"


@dataclass(frozen=True)
class Forecast:
    """Expected widths of the average effect's 95% interval; of several arms, the widest contrast.

    Attributes:
        width: with the plan's sample.
        without: without proxies; None if there are none, or their R^2 is unknown.
        simple: with a simple random sample for the same money; None if an arm would have too few answers.
        equal: with equal allocation to the arms for the same money; None likewise, and with clusters.
        in_sd: whether widths are in residual s.d., because these are unknown.
        clustered: whether people are in clusters, whose correlation is ignored.
        uncounted: whether there are proxies of unknown R^2.
    """

    width: float
    without: float | None
    simple: float | None
    equal: float | None
    in_sd: bool
    clustered: bool
    uncounted: bool

    def describe(self) -> Fact:
        """Return the forecast as a sentence with its values."""
        return Fact(plan_words.expected_width, **asdict(self))


@dataclass(frozen=True, eq=False)
class _TargetPopulation:
    """Units in the average, (n,) each.

    Attributes:
        arms: number of arms.
        t: arm.
        free: whether a unit may be surveyed; the outcomes of the others are known.
        cost: of surveying it.
        response: response probability.
        weight: people in the table that a unit represents.
        times: units of this population that it represents.
        factor: s h / (e sum h).
        cluster: cluster number; None without clusters.
        columns: number of covariate columns.
        explained: R^2 of proxies in each arm, (arms,).
    """

    arms: int
    t: Arms
    free: Mask
    cost: Money
    response: Money
    weight: Outcomes
    times: Outcomes
    factor: Outcomes
    cluster: Arms | None
    columns: int
    explained: PerArm

    def width(self, chances: Outcomes) -> float:
        """Return the interval's width under inclusion probabilities, (n,); infinite if one is 0."""
        found = self._found(chances)
        if not (found > 0).all():
            return np.inf
        answers = self._by_arm(found)
        left = self._by_arm(self.factor**2 / found) + (_LARGE * self._by_arm(self.factor) / answers) ** 2
        left = (1 - self.explained) * left + self.explained * self._by_arm(self.factor**2)
        left *= (1 + _MORE + _learnt(self.columns, answers)) ** 2
        alike = answers.sum() if self.cluster is None else self._clusters(found, found > 0)
        return float(2 * stdtrit(max(alike - 1, 1), 0.975) * np.sqrt(left[0] + left[1:].max()))

    def has_too_few(self, chances: Outcomes, errors: float = 2.0) -> bool:
        """Return whether an arm has too few clusters, or answers ``errors`` s.d. below their mean."""
        found = self._found(chances)
        least = self._by_arm(found) - errors * np.sqrt(self._by_arm(found * (1 - found)))
        few = [self.cluster is not None and self._clusters(found, self.t == arm) < FOLDS for arm in range(self.arms)]
        return any(few) or bool(least.min() < MIN_ANSWERS)

    def _by_arm(self, values: Outcomes) -> PerArm:
        return np.bincount(self.t, self.times * values, self.arms)

    def _found(self, chances: Outcomes) -> Outcomes:
        return np.where(self.free, chances, 1.0) * self.response

    def _clusters(self, found: Outcomes, inside: Mask) -> float:
        """Return the expected number of clusters with an answer."""
        return float(pd.Series((self.times * found)[inside]).groupby(self.cluster[inside]).max().sum())

    def simple(self, money: float) -> Outcomes:
        """Return inclusion probabilities of a simple random sample, (n,)."""
        return np.minimum(1.0, self.weight * (money / self._by_arm(self.weight * self.free * self.cost).sum()))

    def equal(self, money: float) -> Outcomes:
        """Return inclusion probabilities of equal allocation, (n,); 1 in an arm that is too small."""
        number, cost = self._by_arm(self.weight * self.free), self._by_arm(self.weight * self.free * self.cost)
        share, rest = np.zeros(len(number)), cost / np.maximum(number, 1)
        for arm in number.argsort():
            asked = min(number[arm], money / max(rest.sum(), 1e-300))
            share[arm] = asked / max(number[arm], 1)
            money, rest[arm] = money - asked * rest[arm], 0.0
        return np.minimum(1.0, self.weight * share[self.t])


def forecast(campaign: CampaignState) -> Forecast | None:
    """Return the forecast of a sample given answers so far; None if there will be no interval."""
    people, policy, chosen, answers = campaign.people, campaign.policy, campaign.design, expected_responses(campaign)
    if chosen is None or _too_few(answers) or _too_many(people, answers) or _too_unequal(campaign):
        return None
    try:
        crowd, in_sd = _crowd(people, policy, chosen.units)
    except ValueError:  # propensity scores cannot be estimated, or miss the total
        return None
    rows, clustered = _counted(chosen.units), crowd.cluster is not None
    crowd, chances = replace(crowd, response=_heard(campaign)[rows]), chosen.inclusion_of(rows)
    money = float((crowd.times * crowd.cost * crowd.free) @ chances)
    others = crowd.simple(money), crowd.equal(money)
    simple, equal = (None if crowd.has_too_few(other, 0.0) else crowd.width(other) for other in others)
    alone = replace(crowd, explained=np.zeros(crowd.arms))
    without = alone.width(chances) if crowd.explained.any() else None
    uncounted = bool(people.roles.proxies) and policy.r2 is None and without is None
    return Forecast(crowd.width(chances), without, simple, None if clustered else equal, in_sd, clustered, uncounted)


def without_dear(
    campaign: CampaignState, design_of: Callable[[SamplingUnits], SamplingDesign]
) -> tuple[int, float, float] | None:
    """Return the gain from leaving out a few expensive people in a sample for effects.

    Args:
        campaign: with a plan.
        design_of: designs under the same budget.

    Returns:
        Their number, at most 5%; their smallest cost; the interval's width without them over that with them. None if at
        most a tenth of the budget is held back for them.
    """
    people, policy, chosen = campaign.people, campaign.policy, campaign.design
    if chosen is None or chosen.units.propensity is None:
        return None
    own, cost = chosen.strata >= 0, chosen.units.people.cost
    dear = np.flatnonzero(own & (cost > np.quantile(cost[own], 1 - _MAX_EXPENSIVE_SHARE)))
    ranges = pd.Series(cost[own]).groupby(chosen.strata[own]).agg(np.ptp)
    if not dear.size or ranges.max() <= 0.1 * float(policy.budget):
        return None
    units = chosen.units.members(dear)
    out = np.union1d(chosen.units.people.excluded, units)
    others = replace(chosen.units, people=replace(chosen.units.people, excluded=out))
    try:
        one, other = (
            _crowd(people, policy, drawn.units)[0].width(drawn.inclusion_of(_counted(drawn.units)))
            for drawn in (chosen, design_of(others))
        )
    except ValueError:  # no feasible plan, or no width, without them
        return None
    return len(units), float(cost[dear].min()), other / one


def budget_for(
    people: SamplingFrame, policy: Policy, design_of: Callable[[Policy, SamplingUnits], SamplingDesign]
) -> float:
    """Return the smallest budget, in steps of the smallest cost, expected to give an interval of the policy's width.

    Raises:
        Conflict: no plan meets all constraints.
        ValueError: the residual s.d. is unknown, propensity scores miss the total, or no budget suffices.
    """
    units, wanted = sampling_units(people, policy), float(policy.width)
    crowd, in_sd = _crowd(people, policy, units)
    if in_sd:
        raise ValueError(
            "a width needs the residual s.d. of the outcome: guess it (sd, --residual-sd), or name a column of outcomes"
            f" (outcome, --outcome) known for at least {MIN_ANSWERS} people in each arm"
        )
    _check("all answers together", crowd, np.ones(len(crowd.t)), wanted)
    rows, price = _counted(units), units.people.cost[strata_of(units.people, policy, units.others) >= 0]
    if not price.size:
        raise ValueError("no one is left to survey; exclude fewer")
    step, top = float(price.min()), int(np.ceil(price.sum() / price.min()))

    def chances(steps: int) -> Outcomes:
        return design_of(replace(policy, budget=steps * step), units).inclusion_of(rows)

    def suffices(steps: int) -> bool:
        try:
            found = chances(steps)
        except ValueError:  # the budget is too small for the constraints
            return False
        return not crowd.has_too_few(found) and crowd.width(found) <= wanted

    few, many = 0, -(-top // _FIRST)
    while many < top and not suffices(many):
        few, many = many, min(2 * many, top)
    if many == top:
        _check("the answers that the constraints allow", crowd, chances(top), wanted)
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if suffices(middle) else (middle, many)
    return many * step


def _check(whose: str, crowd: _TargetPopulation, chances: Outcomes, wanted: float) -> None:
    """Refuse a width that the maximum number of answers would not give."""
    if crowd.has_too_few(chances):
        clusters = "" if crowd.cluster is None else f", from {FOLDS} clusters,"
        raise ValueError(f"an interval needs {MIN_ANSWERS} answers{clusters} in each arm, and {whose} are fewer")
    if (least := crowd.width(chances)) > wanted:
        raise ValueError(
            f"{whose} are expected to give an interval of width {least:.4g}, not {wanted:g}; raise --width"
        )


def _counted(units: SamplingUnits) -> Indices:
    """Return units in the average that are, or represent, a sampling unit, (k,)."""
    rows = np.delete(np.arange(len(units.people)), units.people.excluded)
    return rows[units.representative[rows] >= 0]


def _crowd(people: SamplingFrame, policy: Policy, units: SamplingUnits) -> tuple[_TargetPopulation, bool]:
    """Return the units in the average, and whether their residual s.d. is unknown and set to 1."""
    rows, t = _counted(units), people.problem.pool.t
    e = propensities(people, policy) if units.propensity is None else units.propensity
    guess, explained = _residual_sd(people, policy)
    sd = people.sd if guess is None else guess[t]
    if told := _unfit(people, policy, e):
        raise ValueError(" ".join(told))
    h = {"all": np.ones(len(t)), "treated": e[:, 1], "overlap": e[:, 0] * e[:, 1]}[policy.target]
    factor = (1.0 if sd is None else sd) * h * people.weights / e[np.arange(len(t)), t]
    times = 1 / units.within_cluster_probability[rows]
    crowd = _TargetPopulation(
        e.shape[1],
        t[rows],
        ~np.isin(rows, people.problem.start),
        people.cost[rows],
        people.modelled_response[rows],
        people.weights[rows],
        times,
        factor[rows] / (times @ (people.weights * h)[rows]),
        people.cluster_labels()[rows] if (people.clusters >= 0).any() else None,
        people.confounders.shape[1],
        explained,
    )
    return crowd, sd is None


def _learnt(columns: int, answers: PerArm) -> PerArm:
    """Return the share that fitted models add to the residual s.d., (arms,): 0.2 d / (d + n)."""
    return _LEARNT * columns / (columns + answers)


def _unfit(people: SamplingFrame, policy: Policy, e: PerArmChance) -> list[Fact]:
    """Return arms whose inverse propensity weights, e (n, arms), miss the population total."""
    t, clusters = people.problem.pool.t, people.cluster_labels() if (people.clusters >= 0).any() else None
    strata = np.zeros(len(t), np.int64)
    found = (
        {}
        if policy.target == "overlap"
        else uncalibrated_arms(t, e, people.weights, strata, clusters, range(e.shape[1]))
    )
    return calibration_warnings(people, found)


def _residual_sd(people: SamplingFrame, policy: Policy) -> tuple[PerArm | None, PerArm]:
    """Return the residual s.d. by known outcomes, and the proxies' R^2 of it, (arms,) each.

    The s.d. is None if it is guessed, or too few outcomes are known; R^2 is then the guess, or 0.
    """
    pool, start, arms = people.problem.pool, people.problem.start, len(people.arms)
    explained = np.full(arms, 0.0 if policy.r2 is None else float(policy.r2))
    y = np.full(len(people), np.nan)
    if pool.y is not None:
        y[start] = pool.y[start]
    clusters = people.cluster_labels() if (people.clusters >= 0).any() else None
    is_guessed = people.sd is not None and (policy.r2 is not None or not people.roles.proxies)
    if is_guessed or too_few(pool.t, y, range(arms), clusters):
        return None, explained
    both = crossed_with_proxies(people.confounders, people.proxies, pool.t, y, None, policy.seed, clusters)
    # (2, arms): residual variance with covariates, and with covariates and proxies
    left = np.square([y - m[np.arange(len(y)), pool.t] for m in both])
    left = np.array([np.nanmean(left[:, pool.t == arm], axis=1) for arm in range(arms)]).T
    if policy.r2 is None:
        explained = 1 - np.divide(left[1], left[0], out=np.ones(arms), where=left[0] > 0).clip(max=1)
    if people.sd is not None:
        return None, explained
    sd = np.sqrt(left[0])
    sd /= 1 + _learnt(people.confounders.shape[1], np.bincount(pool.t[np.isfinite(y)], minlength=len(sd)).astype(float))
    return sd if (sd > 0).all() else None, explained


def _heard(campaign: CampaignState) -> Outcomes:
    """Return response probabilities, (n,), scaled by arm to answers that came or may come, of those once expected."""
    people, rows, t = campaign.people, campaign.eligible, campaign.people.problem.pool.t
    planned, start = people.positions(campaign.planned.index, "the plan"), people.problem.start
    once, now, response = np.zeros(len(people)), _answering(campaign), people.modelled_response.copy()
    once[planned], now[start] = people.response[planned], 0.0
    hoped, left = (np.bincount(t[rows], chances[rows], len(people.arms)) for chances in (once, now))
    response *= np.divide(left, hoped, out=np.ones_like(left), where=hoped > 0)[t]
    response[start] = 1.0
    return np.minimum(response, 1.0)


def _answering(campaign: CampaignState) -> Outcomes:
    """Return the probability of an answer from each unit, (n,), without pending reserves."""
    people, found = campaign.people, np.zeros(len(campaign.people))
    units = people.positions(campaign.planned.index, "the plan")
    found[units] = people.response[units]
    found[campaign.refused] = 0.0
    found[np.isfinite(campaign.outcomes)] = 1.0
    return found


def expected_responses(campaign: CampaignState) -> pd.DataFrame:
    """Return observed and expected answers without those of reserves, a column per arm.

    Rows: all units; each group of ``by``; the number of clusters with answers, if there are clusters.
    """
    people, by, rows = campaign.people, campaign.policy.by, campaign.eligible
    t, found = people.problem.pool.t[rows], _answering(campaign)[rows]
    arms = [f"{campaign.columns.treatment} = {arm}" for arm in people.arms]
    parts = {_ALL_UNITS: np.ones(len(rows), bool)}
    if by is not None:
        groups = groups_of(people, by)[rows]
        parts |= {f"{by} = {group}": groups == group for group in sorted(set(groups), key=str)}
    table = {which: np.bincount(t[inside], found[inside], len(arms)) for which, inside in parts.items()}
    if (people.clusters >= 0).any():
        cluster = pd.Series(people.cluster_labels()[rows])
        each = pd.DataFrame({"none": np.log1p(-np.minimum(found, 1 - 1e-12)), "arm": t}).groupby([cluster, "arm"])
        table[_CLUSTERS] = (1 - np.exp(each["none"].sum())).groupby("arm").sum().reindex(range(len(arms)), fill_value=0)
    return pd.DataFrame.from_dict(table, "index", columns=arms).rename_axis("answers expected")


def missing_interval_notes(campaign: CampaignState) -> list[Fact]:
    """Return intervals that will be missing from a sample, and why."""
    table = expected_responses(campaign)
    e = None if campaign.design is None else campaign.design.units.propensity
    said = _too_few(table) or _too_many(campaign.people, table) or _too_unequal(campaign)
    said += [] if e is None else _unfit(campaign.people, campaign.policy, e)
    least = table.drop(index=[_ALL_UNITS, _CLUSTERS], errors="ignore").min(axis=1)
    if groups := least[least < MIN_ANSWERS - _ROUNDING].index.tolist():
        said.append(Fact(words.groups_too_small, groups=groups, least=MIN_ANSWERS))
    return said


def _too_unequal(campaign: CampaignState) -> list[Fact]:
    """Return arms whose expected effective sample size (Kish) is too small for an interval."""
    people, policy, chosen, plan = campaign.people, campaign.policy, campaign.design, campaign.planned
    if chosen is None or chosen.units.propensity is None:
        return []
    t, e, units = people.problem.pool.t, chosen.units.propensity, people.positions(plan.index, "the plan")
    weight, known, found = np.zeros(len(people)), people.problem.start, _answering(campaign)
    weight[units], weight[known] = plan["weight"].to_numpy(), people.weights[known]
    if stood := list(campaign.reserves_used):
        instead = plan.dropna(subset="reserve").set_index("reserve")["reserve_weight"]
        weight[people.positions(stood, "the plan")] = instead.loc[stood].to_numpy()
    weight[campaign.ineligible] = 0.0
    # weight of an answer: weight h / e over its response probability
    weight *= size_measure(policy.target, e, t) / people.modelled_response
    arms = len(people.arms)
    total, square = (np.bincount(t, found * weight**power, arms) for power in (1, 2))
    count = np.divide(total**2, square, out=np.zeros(arms), where=square > 0)
    few = {people.arms[arm]: count[arm] for arm in np.flatnonzero(count < MIN_ANSWERS - _ROUNDING)}
    return [Fact(words.too_unequal_weights, least=MIN_ANSWERS, effective=few)] if few else []


def _too_many(people: SamplingFrame, table: pd.DataFrame) -> list[Fact]:
    """Return arms with too few people and answers for the covariates, if propensity is estimated."""
    if people.propensity is not None:
        return []
    arms = range(len(people.arms))
    number = np.bincount(people.problem.pool.t, minlength=len(people.arms)).astype(float)
    return too_many(people, crowded(people.confounders, number, table.loc[_ALL_UNITS].to_numpy(float), arms))


def _too_few(table: pd.DataFrame) -> list[Fact]:
    """Return why the average effect will have no interval."""
    said = []
    for which, least, what in ((_ALL_UNITS, MIN_ANSWERS, "answers"), (_CLUSTERS, FOLDS, "clusters with answers")):
        arms = table.loc[which] if which in table.index else pd.Series(dtype=float)
        few = arms[arms < least - _ROUNDING]
        if len(few):
            some = [*few.index] if len(arms) > 2 and arms.index[0] not in few else []
            said.append(Fact(words.too_few_answers, least=least, what=what, promised=few.to_dict(), arms=some))
    return said
