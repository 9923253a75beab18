"""What a draw is expected to give, before a cent is spent: the interval's width, answers by arm and group, the budget.

*Width.* Let person i be drawn with the chance p_i, answer with the chance r_i, by what covariates tell of it, and be in
their arm with the chance e_i. With s the s.d. of their outcome that covariates leave open, and h that of the target
(:mod:`macal.survey.inference.targets`), the effect of an arm against the reference has the variance

    sum over people of the two arms of (s h_i / (e_i sum h))^2 / (p_i r_i),

and what the interval adds for a rare large residual; its width is twice the root times the t-quantile. Models fitted to
n answers of an arm leave more than s: with d columns of covariates the arm's part of the error is multiplied by

    1.06 + 0.2 d / (d + n),

which the study ``widths`` judges. Of the part R^2 of s^2 that proxies explain, known of everybody, no answers are
needed: then (1 - R^2) / (p_i r_i) + R^2 stands for 1 / (p_i r_i). The spread of effects between people, which adds its
own variance over N, and how alike people of a cluster are, are not known beforehand, and left out. Where one person of
each cluster may be drawn, those who represent theirs speak for all, weighted by 1 over the chance to.

*For the same money*: a simple random sample, and as many people of each arm, as far as there are so many.

*Known outcomes*, a pilot say, have p = r = 1, and tell s where there are 10 of each arm, by what cross-fitted models
leave, over 1 + 0.2 d / (d + n) with their n, and R^2 by what is left with proxies. Else both are guesses (``sd``,
``r2``); without one, widths are in units of s, and proxies count for nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy.special import stdtrit

from macal.logistic import PerArmChance
from macal.shapes import Arms, Indices, Outcomes
from macal.survey import words
from macal.survey.campaign import CampaignState
from macal.survey.constraints import Money
from macal.survey.facts import Fact
from macal.survey.inference.targets import crowded, size_measure, uncalibrated_arms
from macal.survey.inference.weighted import FOLDS, MIN_ANSWERS, crossed_with_proxies, too_few
from macal.survey.policy import Policy
from macal.survey.sampling_design import (
    SamplingDesign,
    SamplingUnits,
    eligible,
    groups_of,
    propensities,
    sampling_units,
    strata_of,
)
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.weighted_estimates import calibration_warnings, too_many

PerArm = Float[np.ndarray, "arms"]
Mask = Bool[np.ndarray, "n"]
_LARGE = 2.33  # s.d. that 2 % of normal residuals exceed in size
_FIRST = 1024  # part of everybody's cost that is tried first as a budget
_ROUNDING = 1e-9
_MORE, _LEARNT = 0.06, 0.2  # what models fitted to few answers add to the error; see the module
_MAX_EXPENSIVE_SHARE = 0.05  # share of the people, at most, whose cost is thought an exception
_EVERYBODY, _CLUSTERS = "everybody", "clusters"


@dataclass(frozen=True)
class Forecast:
    """Widths of the 95 % interval of the average effect that are expected; of several arms, of the widest contrast.

    Attributes:
        width: by the draw.
        without: the same without proxies; None where there are none, or what they explain is not known.
        simple: by a simple random sample for the same money; None where that would bring too few answers of an arm.
        equal: by as many people of each arm for the same money; None likewise, and where people are in clusters.
        in_sd: whether widths are in s.d. of the outcomes that covariates leave open, for these are not known.
        clustered: whether people are in clusters, and taken as if these were not alike.
    """

    width: float
    without: float | None
    simple: float | None
    equal: float | None
    in_sd: bool
    clustered: bool

    def describe(self) -> str:
        """Say it in a sentence."""
        others = {"a simple random sample": self.simple}
        others |= {} if self.clustered else {"as many people of each arm": self.equal}
        other = [f"{'no interval' if width is None else f'{width:,.4g}'} with {how}" for how, width in others.items()]
        alike = ", if people of a cluster are not alike" * self.clustered
        without = "" if self.without is None else f" ({self.without:,.4g} without the proxies)"
        unit = " Widths are in s.d. of the outcomes that the covariates leave open; --sd says how large one is."
        return (
            f"The average effect's 95% interval is expected to be {self.width:,.4g} wide{alike}{without}; for the same"
            f" money {' and '.join(other)}.{unit * self.in_sd}"
        )


@dataclass(frozen=True, eq=False)
class _TargetPopulation:
    """Those in the average, (n,) each.

    Attributes:
        arms: number of arms.
        t: arm.
        free: who may be asked; of the others outcomes are known.
        cost: of asking each.
        response: chance to answer.
        weight: people of the table whom each stands for.
        times: people of the crowd whom each stands for.
        factor: s h / (e sum h).
        cluster: number of each one's; None where there are none.
        columns: of covariates.
        explained: share of the variance in each arm that proxies explain, (arms,).
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
        """Of the interval, where people are asked by these chances, (n,); without end where somebody has none."""
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
        """Whether an arm has too few answers for an interval, when so many s.d. below their mean, or clusters."""
        found = self._found(chances)
        least = self._by_arm(found) - errors * np.sqrt(self._by_arm(found * (1 - found)))
        few = [self.cluster is not None and self._clusters(found, self.t == arm) < FOLDS for arm in range(self.arms)]
        return any(few) or bool(least.min() < MIN_ANSWERS)

    def _by_arm(self, values: Outcomes) -> PerArm:
        return np.bincount(self.t, self.times * values, self.arms)

    def _found(self, chances: Outcomes) -> Outcomes:
        return np.where(self.free, chances, 1.0) * self.response

    def _clusters(self, found: Outcomes, inside: Mask) -> float:
        """Clusters with an answer of those inside."""
        return float(pd.Series((self.times * found)[inside]).groupby(self.cluster[inside]).max().sum())

    def simple(self, money: float) -> Outcomes:
        """Chances of a simple random sample, (n,)."""
        return np.minimum(1.0, self.weight * (money / self._by_arm(self.weight * self.free * self.cost).sum()))

    def equal(self, money: float) -> Outcomes:
        """Chances where as many of each arm are asked, (n,); of an arm that has too few, all."""
        number, cost = self._by_arm(self.weight * self.free), self._by_arm(self.weight * self.free * self.cost)
        share, rest = np.zeros(len(number)), cost / np.maximum(number, 1)
        for arm in number.argsort():
            asked = min(number[arm], money / max(rest.sum(), 1e-300))
            share[arm] = asked / max(number[arm], 1)
            money, rest[arm] = money - asked * rest[arm], 0.0
        return np.minimum(1.0, self.weight * share[self.t])


def forecast(campaign: CampaignState) -> Forecast | None:
    """What is expected of a draw by the answers and refusals so far; None where there will be no interval."""
    people, policy, chosen, answers = campaign.people, campaign.policy, campaign.design, expected_responses(campaign)
    if chosen is None or _too_few(answers) or _too_many(people, answers) or _too_unequal(campaign):
        return None
    try:
        crowd, in_sd = _crowd(people, policy, chosen.units)
    except ValueError:  # chances of the arms cannot be estimated, or do not fit
        return None
    rows, clustered = _counted(people, policy, chosen.units), crowd.cluster is not None
    crowd, chances = replace(crowd, response=_heard(campaign)[rows]), chosen.inclusion_of(rows)
    money = float((crowd.times * crowd.cost * crowd.free) @ chances)
    others = crowd.simple(money), crowd.equal(money)
    simple, equal = (None if crowd.has_too_few(other, 0.0) else crowd.width(other) for other in others)
    alone = replace(crowd, explained=np.zeros(crowd.arms))
    without = alone.width(chances) if crowd.explained.any() else None
    return Forecast(crowd.width(chances), without, simple, None if clustered else equal, in_sd, clustered)


def without_dear(
    campaign: CampaignState, design_of: Callable[[SamplingUnits], SamplingDesign]
) -> tuple[int, float, float] | None:
    """How much narrower the interval would be without a few who cost far more than the others, of a draw for effects.

    Args:
        campaign: with a plan.
        design_of: chances under the same budget.

    Returns:
        How many they are, at most a twentieth; the least that one of them costs; the width without them over that with
        them. None where nobody is so dear that more than a tenth of the budget is kept back.
    """
    people, policy, chosen = campaign.people, campaign.policy, campaign.design
    if chosen is None or chosen.units.propensity is None:
        return None
    own, cost = chosen.strata >= 0, chosen.units.people.cost
    dear = np.flatnonzero(own & (cost > np.quantile(cost[own], 1 - _MAX_EXPENSIVE_SHARE)))
    ranges = pd.Series(cost[own]).groupby(chosen.strata[own]).agg(np.ptp)
    if not dear.size or ranges.max() <= 0.1 * float(policy.budget):
        return None
    out = np.union1d(chosen.units.people.excluded, dear)
    others = replace(chosen.units, people=replace(chosen.units.people, excluded=out))
    units = chosen.units.members(dear)
    rest = replace(people, excluded=np.union1d(people.excluded, units))
    try:
        one, other = (
            _crowd(who, policy, drawn.units)[0].width(drawn.inclusion_of(_counted(who, policy, drawn.units)))
            for who, drawn in ((people, chosen), (rest, design_of(others)))
        )
    except ValueError:  # demands that cannot be met without them, or no width can be told
        return None
    return len(units), float(cost[dear].min()), other / one


def budget_for(
    people: SamplingFrame, policy: Policy, design_of: Callable[[Policy, SamplingUnits], SamplingDesign]
) -> float:
    """The smallest budget, in steps of the least cost, whose draw is expected to give an interval of a width.

    Args:
        people: the table.
        policy: with the width.
        design_of: chances by policy with a budget.

    Raises:
        Conflict: no plan meets all demands.
        ValueError: the s.d. that covariates leave open is not known, the chances of the arms do not fit, or no budget
            suffices.
    """
    units, wanted = sampling_units(people, policy), float(policy.width)
    crowd, in_sd = _crowd(people, policy, units)
    if in_sd:
        raise ValueError(
            "a width needs the s.d. of the outcomes that covariates leave open: guess it (sd, --sd), or name a column"
            f" of outcomes (outcome, --outcome) that are known for {MIN_ANSWERS} people of each arm at least"
        )
    _check("everybody's answers", crowd, np.ones(len(crowd.t)), wanted)
    rows, price = _counted(people, policy, units), units.people.cost[strata_of(units.people, policy, units.others) >= 0]
    if not price.size:
        raise ValueError("nobody is left who may be asked")
    step, top = float(price.min()), int(np.ceil((price.sum() + np.ptp(price)) / price.min()))

    def chances(steps: int) -> Outcomes:
        return design_of(replace(policy, budget=steps * step), units).inclusion_of(rows)

    def suffices(steps: int) -> bool:
        try:
            found = chances(steps)
        except ValueError:  # demands that so little money cannot meet
            return False
        return not crowd.has_too_few(found) and crowd.width(found) <= wanted

    few, many = 0, -(-top // _FIRST)
    while many < top and not suffices(many):
        few, many = many, min(2 * many, top)
    if many == top:
        _check("the answers that the demands allow", crowd, chances(top), wanted)
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if suffices(middle) else (middle, many)
    return many * step


def _check(whose: str, crowd: _TargetPopulation, chances: Outcomes, wanted: float) -> None:
    """Refuse a width that the most answers there can be would not give."""
    if crowd.has_too_few(chances):
        clusters = "" if crowd.cluster is None else f", from {FOLDS} clusters,"
        raise ValueError(f"an interval needs {MIN_ANSWERS} answers{clusters} of each arm, and {whose} are fewer")
    if (least := crowd.width(chances)) > wanted:
        raise ValueError(f"{whose} are expected to give an interval {least:.4g} wide, not {wanted:g}")


def _counted(people: SamplingFrame, policy: Policy, units: SamplingUnits) -> Indices:
    """Units in the average, (k,), but for those who were not drawn to represent their cluster."""
    rows = eligible(people, policy)
    return rows[units.representative[rows] >= 0]


def _crowd(people: SamplingFrame, policy: Policy, units: SamplingUnits) -> tuple[_TargetPopulation, bool]:
    """Those in the average, and whether the s.d. that covariates leave open is not known, and taken as 1."""
    rows, t = _counted(people, policy, units), people.problem.pool.t
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
    """Share that models of so many columns, fitted to so many answers of each arm, add to an s.d., (arms,)."""
    return _LEARNT * columns / (columns + answers)


def _unfit(people: SamplingFrame, policy: Policy, e: PerArmChance) -> list[Fact]:
    """Arms whose people, by these chances, (n, arms), do not stand for everybody: no width can be told."""
    t, clusters = people.problem.pool.t, people.cluster_labels() if (people.clusters >= 0).any() else None
    strata = np.zeros(len(t), np.int64)
    found = (
        {}
        if policy.target == "overlap"
        else uncalibrated_arms(t, e, people.weights, strata, clusters, range(e.shape[1]))
    )
    return calibration_warnings(people, found)


def _residual_sd(people: SamplingFrame, policy: Policy) -> tuple[PerArm | None, PerArm]:
    """S.d. that covariates leave open, by known outcomes; the share of its square that proxies explain; (arms,) each.

    The s.d. is None where it is guessed, or too few outcomes are known; the share is then the guess, or 0.
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
    # (2, arms): what covariates leave, and what these and proxies do
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
    """Chance of each to answer, (n,), times how many of the arm have answered or still may, of those once expected."""
    people, rows, t = campaign.people, eligible(campaign.people, campaign.policy), campaign.people.problem.pool.t
    planned, start = people.positions(campaign.planned.index, "the plan"), people.problem.start
    once, now, response = np.zeros(len(people)), _answering(campaign), people.modelled_response.copy()
    once[planned], now[start] = people.response[planned], 0.0
    hoped, left = (np.bincount(t[rows], chances[rows], len(people.arms)) for chances in (once, now))
    response *= np.divide(left, hoped, out=np.ones_like(left), where=hoped > 0)[t]
    response[start] = 1.0
    return np.minimum(response, 1.0)


def _answering(campaign: CampaignState) -> Outcomes:
    """Chance that there is, or will be, an answer of each, by the plan, reserves who have not answered apart, (n,)."""
    people, found = campaign.people, np.zeros(len(campaign.people))
    units = people.positions(campaign.planned.index, "the plan")
    found[units] = people.response[units]
    found[campaign.refused] = 0.0
    found[np.isfinite(campaign.outcomes)] = 1.0
    return found


def expected_responses(campaign: CampaignState) -> pd.DataFrame:
    """Answers of each arm that have come or are expected of the plan, reserves apart: a column each.

    One row for everybody; one per group, where effects of groups are asked for; and where people are in clusters, one
    for the number of clusters that these answers come from.
    """
    people, by, rows = campaign.people, campaign.policy.by, eligible(campaign.people, campaign.policy)
    t, found = people.problem.pool.t[rows], _answering(campaign)[rows]
    arms = [f"{campaign.columns.treatment} = {arm}" for arm in people.arms]
    parts = {_EVERYBODY: np.ones(len(rows), bool)}
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
    """What will have no interval, and why; nothing of a plan that is not drawn."""
    if campaign.policy.draw is None:
        return []
    table = expected_responses(campaign)
    e = None if campaign.design is None else campaign.design.units.propensity
    said = _too_few(table) or _too_many(campaign.people, table) or _too_unequal(campaign)
    said += [] if e is None else _unfit(campaign.people, campaign.policy, e)
    least = table.drop(index=[_EVERYBODY, _CLUSTERS], errors="ignore").min(axis=1)
    if groups := least[least < MIN_ANSWERS - _ROUNDING].index.tolist():
        said.append(Fact(words.groups_too_small, groups=groups, least=MIN_ANSWERS))
    return said


def _too_unequal(campaign: CampaignState) -> list[Fact]:
    """Arms whose answers, by the plan's weights, will count as fewer than an interval needs (Kish).

    Refusals so far bring none; reserves who have answered count by weights of their own.
    """
    people, policy, chosen, plan = campaign.people, campaign.policy, campaign.design, campaign.planned
    if chosen is None or chosen.units.propensity is None:
        return []
    t, e, units = people.problem.pool.t, chosen.units.propensity, people.positions(plan.index, "the plan")
    weight, known, found = np.zeros(len(people)), people.problem.start, _answering(campaign)
    weight[units], weight[known] = plan["weight"].to_numpy(), people.weights[known]
    if stood := list(campaign.reserves_used):
        instead = plan.dropna(subset="reserve").set_index("reserve")["reserve_weight"]
        weight[people.positions(stood, "the plan")] = instead.loc[stood].to_numpy()
    weight[np.setdiff1d(np.arange(len(people)), eligible(people, policy))] = 0.0
    # an answer stands for weight h / e people, over the chance to answer
    weight *= size_measure(policy.target, e, t) / people.modelled_response
    arms = len(people.arms)
    total, square = (np.bincount(t, found * weight**power, arms) for power in (1, 2))
    count = np.divide(total**2, square, out=np.zeros(arms), where=square > 0)
    few = {people.arms[arm]: count[arm] for arm in np.flatnonzero(count < MIN_ANSWERS - _ROUNDING)}
    return [Fact(words.too_unequal_weights, least=MIN_ANSWERS, effective=few)] if few else []


def _too_many(people: SamplingFrame, table: pd.DataFrame) -> list[Fact]:
    """Arms with too few people and expected answers for the covariates, where chances are estimated."""
    if people.propensity is not None:
        return []
    arms = range(len(people.arms))
    number = np.bincount(people.problem.pool.t, minlength=len(people.arms)).astype(float)
    return too_many(people, crowded(people.confounders, number, table.loc[_EVERYBODY].to_numpy(float), arms))


def _too_few(table: pd.DataFrame) -> list[Fact]:
    """Why the average effect will have no interval."""
    said = []
    for which, least, what in ((_EVERYBODY, MIN_ANSWERS, "answers"), (_CLUSTERS, FOLDS, "clusters with answers")):
        arms = table.loc[which] if which in table.index else pd.Series(dtype=float)
        few = arms[arms < least - _ROUNDING]
        if len(few):
            some = [*few.index] if len(arms) > 2 and arms.index[0] not in few else []
            said.append(Fact(words.too_few_answers, least=least, what=what, promised=few.to_dict(), arms=some))
    return said
