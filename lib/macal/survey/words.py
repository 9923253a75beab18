"""Sentences for facts of plans and of weighted estimates: a function for each kind, of its values alone."""

from collections.abc import Mapping, Sequence
from typing import Any

_MAX_SHOWN_GROUPS = 5  # groups that are named
_MIN_CLUSTERS = 20  # clusters, below which their variance is poorly known
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


def _of_each(numbers: Mapping[Any, float]) -> str:
    return " and ".join(f"{number:.3g} of {which}" for which, number in numbers.items())


def _arms(arms: Sequence[Any]) -> str:
    return f"arm{'s' * (len(arms) > 1)} {' and '.join(map(str, arms))}"


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
    few = f"; with fewer than about {_MIN_CLUSTERS} it is rough" * (clusters < _MIN_CLUSTERS)
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


def groups_at_once(groups: int, by: str, alone: str) -> str:
    """Simultaneous intervals of groups."""
    return f"The {groups} intervals by {by} are simultaneous 95% intervals (Bonferroni){alone}."


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


# ---------------------------------------------------------------- plans


def not_drawn() -> str:
    """Evidence on plans for individual effects."""
    return (
        "On real data, individual effects were hardly ever more accurate than one average effect; and without a"
        " probability sample, intervals depend on a model."
    )


def unseen_causes() -> str:
    """Unconfoundedness."""
    return (
        "The estimate is valid only if the columns contain every common cause of treatment and outcome"
        " (unconfoundedness); data cannot show that."
    )


def unpredicted_treatment(treatment: str, share: float) -> str:
    """A treatment that covariates do not predict, and its share."""
    return (
        f"The covariates do not predict {treatment!r}. If it was randomised, give its probability by design, such as"
        f" --propensity {share:.2g}."
    )


def drawn_clusters(
    column: str,
    drawn: Sequence[int],
    of: Sequence[int],
    whole: bool,
    one_arm: bool,
    chances: Sequence[float],
    seed: int,
) -> str:
    """How clusters were sampled: numbers of clusters, and of people in none."""
    beside = f" and {drawn[1]:,} of {of[1]:,} people in none" * bool(of[1])
    few = f"; with fewer than about {_MIN_CLUSTERS} an interval is rough" * (sum(drawn) < _MIN_CLUSTERS)
    return (
        f"{drawn[0]:,} of {of[0]:,} clusters by {column!r}{', each of one arm,' * one_arm}{beside} were sampled,"
        f" {'whole' if whole else 'one person of each'}; their inclusion probabilities were {chances[0]:.3g} to"
        f" {chances[1]:.3g} (seed {seed}){few}."
    )


def sample_unused(size: int) -> str:
    """A first-phase size without effect."""
    return f"--sample {size} had no effect: it limits a probability sample only together with --memory."


def looked_among(people: int, population: int, wanted: int, in_memory: bool) -> str:
    """The size of the first-phase sample."""
    more = f", more than {wanted:,}, to include small groups of arm and quotas, and people with answers"
    return (
        f"The plan was made within a first-phase sample of {people:,} of {population:,} people"
        f"{more * (people > 1.1 * wanted)}{'; --sample all uses the whole table' * in_memory}."
    )


def other_ties() -> str:
    """A table larger than memory."""
    return "Ties and random choices may differ from those for the same table in memory."


def out_with_others(people: int, cluster: str) -> str:
    """People who are ineligible because their whole cluster has an excluded member."""
    return (
        f"{people:,} more people are ineligible, and left out of averages: they share a value of {cluster!r} with an"
        " excluded person, and clusters are surveyed whole."
    )


def more_refuse(refused: int, heard_of: int) -> str:
    """More nonresponse than the plan expects."""
    share = 1 - refused / heard_of
    return (
        f"{refused:,} of {heard_of:,} people refused, more than the plan expects; a new plan with"
        f" --response-probability{f' {share:.2g}' * (share > 0)} allows for that and names reserves."
    )


def no_reserves(why: str) -> str:
    """No reserves, although some may not answer."""
    return f"No reserves are named: {why}."


def large_rounds(rounds: int, size: int, largest: int, cluster: str) -> str:
    """Whole clusters larger than a round."""
    return (
        f"{rounds} of the rounds to come survey more than {size} people, up to {largest}, because people who share a"
        f" value of {cluster!r} are surveyed together; --cluster-rule one surveys at most one of them."
    )


def small_rounds(rounds: int, size: int, mean: float) -> str:
    """Small rounds, because the largest clusters must fit."""
    return (
        f"Rounds are planned so that the largest clusters fit into {size} people. That makes {rounds} rounds of"
        f" {mean:.1f} people on average; a larger --batch-size makes fewer."
    )


def too_dear_for_a_round(people: int, spend: float, whole: bool) -> str:
    """People who cost more, alone or with their cluster, than a round may."""
    return (
        f"{people:,} people cannot be surveyed: {'with their cluster they cost' if whole else 'each costs'} more than"
        f" {spend:,.10g}, the limit of a round; raise --batch-cost to include them."
    )


def left_by_draw(money: float, demands: Sequence[str], kept: bool) -> str:
    """Money that a sample leaves, under constraints, and whether some is held back for an expensive sample."""
    under = f" under {', '.join(demands)}" if demands else ""
    kept_back = ", and part is held back in case the sample costs more than on average" * kept
    return f"{money:,.10g} of the budget is unspent, because a sample is drawn only once{under}{kept_back}."


def left_for_replan(money: float) -> str:
    """Money left for the next replan."""
    return f"{money:,.10g} of the budget is unspent, and left for the next replan."


def left_over(money: float, demands: Sequence[str], sample: bool) -> str:
    """Money left by constraints."""
    return (
        f"{money:,.10g} of the budget is unspent: no one else{' in the first-phase sample' * sample} is eligible under"
        f" {', '.join(demands or ['all constraints'])}."
    )


def few_dear(people: int, cost: float, narrower: float) -> str:
    """The precision that a few expensive people cost."""
    return (
        f"{people:,} people cost {cost:,.10g} or more, and money is held back for them. Without them (--exclude) the"
        f" interval, of the effect on the others, would be {narrower:.0%} narrower."
    )


def money_ends(round_: int) -> str:
    """Rounds to come that exceed the budget."""
    return f"The money lasts to round {round_}, because reserves are paid too and the rounds of a sample do not change."


def reserves_cost(money: float, drawn: bool) -> str:
    """Rounds to come that, with their reserves, are expected to exceed the budget."""
    last = "" if drawn else " in the last round"
    return (
        f"The budget does not cover the reserves who will be surveyed:{last} about {money:,.0f} on top of the cost"
        " above. Plan with a smaller budget, or with --pay answered, by which refusals cost nothing."
    )


def unmet_quotas(quotas: Mapping[str, int]) -> str:
    """Unmet quotas, and how many outcomes count towards each."""
    unmet = "; ".join(f"{name} ({people:,} outcomes)" for name, people in quotas.items())
    return f"All rounds have been fielded, and quotas are not met: {unmet}."


def reserves_beside(reserves: Sequence[Any]) -> str:
    """Reserves who have answered in addition to the people they replace."""
    who = f"{reserves[0]}{f' and {len(reserves) - 1:,} more' * (len(reserves) > 1)}"
    return f"Reserves are surveyed only after a refusal, but {who} answered in addition to the person to be replaced."
