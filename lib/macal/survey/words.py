"""Sentences for facts of estimates: a function for each kind, of its values alone."""

from collections.abc import Mapping, Sequence
from typing import Any

_MAX_SHOWN_GROUPS = 5  # groups that are named
MIN_CLUSTERS = 20  # clusters, below which their variance is poorly known
TARGET_PHRASES = {
    "all": "the whole population",
    "treated": "the treated",
    "overlap": "the overlap population (people who could have been in either arm)",
}


def _first(names: Sequence[Any]) -> str:
    return ", ".join(
        [
            *map(str, names[:_MAX_SHOWN_GROUPS]),
            *[f"{len(names) - _MAX_SHOWN_GROUPS:,} more"] * (len(names) > _MAX_SHOWN_GROUPS),
        ]
    )


def _arms(arms: Sequence[Any]) -> str:
    return f"arm{'s' * (len(arms) > 1)} {' and '.join(map(str, arms))}"


def _of_each(numbers: Mapping[Any, float]) -> str:
    return " and ".join(f"{number:.3g} of {which}" for which, number in numbers.items())


# ---------------------------------------------------------------- missing intervals


def too_few_answers(least: int, what: str, promised: Mapping[str, float], arms: Sequence[str]) -> str:
    """Too few answers, or clusters with answers, for an interval; ``arms`` are named if others have enough."""
    some = f" for {' and '.join(arms)}" * bool(arms)
    return (
        f"No interval is expected{some}: it needs {least} {what} in each arm, and the plan is expected to bring"
        f" {_of_each(promised)}."
    )


def too_unequal_weights(least: int, effective: Mapping[Any, float]) -> str:
    """Effective sample sizes (Kish) too small for an interval."""
    return (
        f"No interval is expected: it needs {least} answers in each arm, and the weights reduce the effective sample"
        f" size to {_of_each(effective)}."
    )


def groups_too_small(groups: Sequence[str], least: int) -> str:
    """Groups with too few expected answers in an arm."""
    others = f" and {len(groups) - _MAX_SHOWN_GROUPS:,} more" * (len(groups) > _MAX_SHOWN_GROUPS)
    names = f"{', '.join(groups[:_MAX_SHOWN_GROUPS])}{others}"
    return f"No interval is expected for {names}: fewer than {least} answers of an arm are expected there."


def too_many_covariates(arms: Sequence[Any], covariates: int) -> str:
    """Arms with too few people and answers for the number of covariates."""
    return (
        f"No interval: too few people and answers in {_arms(arms)} for {covariates} covariate columns. Name fewer"
        " (--covariates), survey more people, or give the known treatment probability (--propensity)."
    )


def unfit_chances(arm: Any, total: float) -> str:
    """Inverse propensity weights of an arm miss the population total: they add up to a share ``total``."""
    return (
        f"No interval: the inverse propensity weights of arm {arm} add up to {total:.0%} of the population, so"
        " propensity scores are wrong, or overlap fails. --target overlap estimates the effect where arms overlap."
    )


def curved_confounding(arms: Sequence[Any]) -> str:
    """Both models lack squares or products of covariates that both need."""
    return (
        "No interval: squares or products of covariates predict both the treatment and the outcomes of"
        f" {_arms(arms)}, and neither model has them. Add them as columns and estimate again."
    )


# ---------------------------------------------------------------- weighted estimates


def nobody_drawn(unused: Sequence[str]) -> str:
    """Arguments of a weighted estimate, without a probability sample."""
    return f"This plan is not a probability sample, so there is no weighted estimate; leave out {', '.join(unused)}."


def nothing_asked() -> str:
    """No answers yet."""
    return "No weighted estimate: no round has been fielded yet."


def no_estimate(why: str) -> str:
    """No interval from the answers."""
    return f"No weighted estimate: {why}."


def of_target(target: str) -> str:
    """The target population."""
    return f"The weighted estimate is for {TARGET_PHRASES[target]}."


def by_clusters(clusters: int) -> str:
    """An interval that allows for correlation within clusters."""
    few = f"; with fewer than about {MIN_CLUSTERS} it is rough" * (clusters < MIN_CLUSTERS)
    return f"The weighted interval rests on {clusters} clusters{few}."


def raised_chances(people: Mapping[Any, int]) -> str:
    """Numbers of people whose estimated propensity was truncated, by arm."""
    counts = ", ".join(f"{n:,} for {arm}" for arm, n in people.items())
    return f"Estimated propensity scores were raised to the minimum: {counts}."


def answers_ahead(people: int) -> str:
    """Answers from outside the fielded rounds."""
    return f"The weighted estimate leaves out {people:,} answers from outside the fielded rounds."


def saved_by_proxies(width: float, share: float) -> str:
    """The share of answers that proxies saved, and the width without them."""
    worth = f"save {share:.0%} of the answers" if share > 0 else "make it wider" if share < 0 else "save no answers"
    return f"Without the proxies the weighted interval would have width {width:,.4g}: they {worth}."


def too_early() -> str:
    """An infinite interval at an early look."""
    return "It is too early to look: an interval that is valid at all looks is still infinite."


def holds_at_looks(looks: str, times: float, rounds: int) -> str:
    """An interval that is valid simultaneously at all looks, and how many times as wide that makes it."""
    if looks == "rounds" and rounds == 1:
        return "The weighted interval is valid at its one look, after the only round."
    which = f"all looks, one after each of {rounds} rounds" if looks == "rounds" else "any number of looks"
    return f"The weighted interval is valid simultaneously at {which}; that makes it {times:.2f} times as wide."


def groups_at_once(groups: int, by: str, level: float, alone: str) -> str:
    """Simultaneous intervals of groups."""
    held = f"{100 * level:.4g}% interval"
    if groups == 1:
        return f"The interval by {by} is a {held}{alone}."
    return f"The {groups} intervals by {by} are simultaneous {held}s (Bonferroni){alone}."


def groups_unasked(by: str, groups: Sequence[Any], why: str) -> str:
    """Groups without an answer."""
    return f"No interval for {by} {_first(groups)}: {why}."


def groups_without(by: str, groups: Sequence[Any]) -> str:
    """Many groups without an interval."""
    return f"{len(groups):,} groups by {by} have no interval, because answers are too few or equal: {_first(groups)}."


def group_without(by: str, group: Any, why: str) -> str:
    """A group without an interval."""
    return f"{by} {group} has no interval: {why}."


def modelled_refusals(silent: int, asked: int, waited: int) -> str:
    """Nonresponse, part of it pending, and a modelled response probability."""
    still = f" ({waited} pending)" if waited > 0 else ""
    return (
        f"{silent} of {asked} people surveyed {'has' if silent == 1 else 'have'} not answered{still}. The response"
        " probability was modelled by covariates and arm. The interval is valid if nonrespondents would have answered"
        " like similar respondents, and if either the models of response and treatment or the outcome models are right."
    )


def all_answered() -> str:
    """Bounds without nonresponse."""
    return "Everyone surveyed has answered, so bounds are not needed."


def bounds_of_target() -> str:
    """Bounds for another target than all."""
    return "Bounds under nonresponse are available only for --target all."


def refusals_at_worst(outcomes: Sequence[float], stated: bool, low: float, high: float, alone: str) -> str:
    """Worst-case bounds: nonrespondents' outcomes anywhere within a range."""
    seen = "the stated range" if stated else "the range of the answers"
    return (
        f"Wherever nonrespondents' outcomes lie within {seen} ({outcomes[0]:.4g} to {outcomes[1]:.4g}), the 95%"
        f" interval of the effect lies within {low:.4g} to {high:.4g}{alone}."
    )


def refusals_by_one(treated: float, control: float) -> str:
    """The effect of a difference of 1 between nonrespondents and similar respondents."""
    return (
        "If nonrespondents' outcomes were 1 higher than those of similar respondents, the effect would be"
        f" {treated:.3g} higher (if only the treated differ) or {control:.3g} lower (if only the reference arm does)."
    )


def refusals_tipping(difference: float) -> str:
    """The difference at which the interval would reach 0."""
    return (
        f"The interval would reach 0 if nonrespondents differed from similar respondents by {difference:.3g}, in"
        " opposite directions in the two arms."
    )


# ---------------------------------------------------------------- all estimates


def arm_without_answers(arm: Any) -> str:
    """An arm without answers."""
    return f"{arm} has no answers yet, so its effects are not estimated."


def averages_leave_out(people: int, of: int, sample: bool) -> str:
    """Ineligible people."""
    return f"Averages leave out ineligible people: {people:,} of {of:,}{' in the first-phase sample' * sample}."


def excluded_count(people: int) -> str:
    """Excluded people whose outcomes were known before."""
    return f"{people:,} excluded people already had an outcome and count in averages."


def silent_group(column: str, value: Any, asked: int) -> str:
    """A group in which no one answered."""
    return (
        f"No one of {column} {value} answered, of {asked:,} surveyed: effects are assumed to be those of similar people"
        " in other groups; no data can check this."
    )


# ---------------------------------------------------------------- verdicts on effects


def verdict(width: float, target: float, more: bool) -> str:
    """Whether to stop; ``more``: whether the plan has more people to survey."""
    head = "stop" if width <= target else "continue" if more else "continue with a new plan"
    if not width < float("inf"):
        return f"{head}: the average effect has no interval to stop by"
    return f"{head}: the average effect's interval is {width:.3g} wide; target {target:g}"


def no_verdict() -> str:
    """Answers of an arm are all equal, so nothing has an interval."""
    return "continue: there are no intervals"


def varying_effects(gain: float, answers: int, shown: bool) -> str:
    """Individual effects against a constant one on held-out answers."""
    by = f"{abs(gain):.1%} {'lower' if gain > 0 else 'higher'}"
    found = f"on {answers:,} held-out answers, error is {by} than with a constant effect"
    if shown:
        return f"effects vary: {found}"
    return f"no clear evidence that effects vary: {found}" + ", which chance may explain" * (gain > 0)


def wrong_model() -> str:
    """The caveat of an interval by an outcome model."""
    return (
        "This interval assumes that the outcome model is right: on surfaces learnt from real outcomes, many such"
        " intervals missed the truth."
    )


def at_once(level: float) -> str:
    """Intervals simultaneous over outcomes."""
    each = f"The {100 * level:.4g}% intervals of a contrast are simultaneous 95% intervals over all outcomes"
    return f"{each} (Bonferroni)."


def equal_answers(why: str) -> str:
    """Individual effects without intervals."""
    return f"Individual effects have no intervals: {why}."
