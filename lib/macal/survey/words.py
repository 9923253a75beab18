"""The words for facts of plans and of estimates by weights: a function for each kind, of its values alone."""

from collections.abc import Mapping, Sequence
from typing import Any

_MAX_SHOWN_GROUPS = 5  # groups that are named
_MIN_CLUSTERS = 20  # clusters, from which on their variance is known well enough
TARGET_PHRASES = {
    "all": "everybody",
    "treated": "the treated",
    "overlap": "those who could well have been in either arm",
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


# ---------------------------------------------------------------- intervals that will not be given


def too_few_answers(least: int, what: str, promised: Mapping[str, float], arms: Sequence[str]) -> str:
    """Fewer answers, or clusters with answers, than an interval needs; ``arms`` are named where others have enough."""
    some = f" for {' and '.join(arms)}" * bool(arms)
    return (
        f"No interval is expected{some}: it needs {least} {what} of each arm, and the plan promises"
        f" {_of_each(promised)}."
    )


def too_unequal_weights(least: int, effective: Mapping[Any, float]) -> str:
    """Answers count as fewer than an interval needs (Kish)."""
    return (
        f"No interval is expected: it needs {least} answers of each arm, and by unequal weights those planned count"
        f" as {_of_each(effective)}."
    )


def groups_too_small(groups: Sequence[str], least: int) -> str:
    """Groups of which the plan promises too few answers of an arm."""
    others = f" and {len(groups) - _MAX_SHOWN_GROUPS:,} more" * (len(groups) > _MAX_SHOWN_GROUPS)
    names = f"{', '.join(groups[:_MAX_SHOWN_GROUPS])}{others}"
    return f"No interval is expected for {names}: the plan promises fewer than {least} answers of an arm there."


def too_many_covariates(arms: Sequence[Any], covariates: int) -> str:
    """Arms with too few people and answers for the covariates."""
    return (
        f"No interval: {' and '.join(map(str, arms))} has too few people and answers for {covariates} covariates. Name"
        " fewer (--covariates), ask more people, or say how treatment was randomised (--propensity)."
    )


def unfit_chances(arm: Any, total: float) -> str:
    """The people of an arm, by 1 over their chance of it, do not stand for everybody, but for a share ``total``."""
    return (
        f"No interval: the people of {arm}, weighted by 1 over their chance of it, add up to {total:.0%} of everybody,"
        " so the chances are wrong, or many had none. --target overlap speaks for those who could have been in either"
        " arm."
    )


def curved_confounding(arms: Sequence[Any]) -> str:
    """Squares or products of covariates are in neither model, and would be needed in both."""
    return (
        "No interval: squares or products of covariates predict both the treatment and the outcomes of"
        f" {' and '.join(map(str, arms))}, and neither model has them. Add such columns to the table, and estimate"
        " again."
    )


# ---------------------------------------------------------------- estimates by weights


def nobody_drawn(unused: Sequence[str]) -> str:
    """Arguments of an effect by weights, where there is none."""
    return f"Nobody was drawn with known chances, so there is no effect by weights, and no use for {', '.join(unused)}."


def nothing_asked() -> str:
    """There are no answers yet."""
    return "No round has been asked yet, so the weights give no interval."


def no_estimate(why: str) -> str:
    """The answers give no interval."""
    return f"The weights give no interval: {why}."


def of_target(target: str) -> str:
    """Whose effect it is."""
    return f"The weights speak for {TARGET_PHRASES[target]}."


def by_clusters(clusters: int) -> str:
    """People of a cluster count as alike."""
    few = f"; fewer than about {_MIN_CLUSTERS} make it rough" * (clusters < _MIN_CLUSTERS)
    return f"The interval by the weights rests on {clusters} clusters, whose people count as alike{few}."


def raised_chances(people: Mapping[Any, int]) -> str:
    """Of how many people the estimated chance of an arm was raised, by arm."""
    told = ", ".join(f"{n:,} people's of {arm}" for arm, n in people.items())
    return f"Estimated chances of an arm were raised to the least one: {told}."


def answers_ahead(people: int) -> str:
    """Answers of people in no round that was asked."""
    return f"The weights leave out answers of people in no round that has been asked: {people:,} of them."


def saved_by_proxies(width: float, share: float) -> str:
    """What proxies saved of the answers: a share, against the width without them."""
    worth = f"save {share:.0%} of the answers" if share > 0 else "make it wider" if share < 0 else "save no answers"
    return f"Without the proxies the interval by the weights would be {width:,.4g} wide: they {worth}."


def too_early() -> str:
    """An interval that holds at all looks has no end."""
    return "It is too early to look: an interval that holds at all looks is without end now."


def holds_at_looks(looks: str, times: float, rounds: int) -> str:
    """An interval that holds at all looks at once, and how many times as wide that makes it."""
    each = f"all looks, one after each of the {rounds} rounds,"
    which = each if looks == "rounds" else "every look, however often one looks,"
    return f"The interval by the weights holds at {which} at once; that makes it {times:.2f} times as wide."


def groups_at_once(groups: int, by: str, alone: str) -> str:
    """Intervals of groups hold at once."""
    return f"The {groups} intervals by {by} hold at once with a chance of 95% (Bonferroni){alone}."


def groups_unasked(by: str, groups: Sequence[Any], why: str) -> str:
    """Groups of which nobody was asked, or answered."""
    return f"Of {by} {_first(groups)} {why}, so there is no interval."


def groups_without(by: str, groups: Sequence[Any]) -> str:
    """Many groups without an interval."""
    return f"{len(groups):,} groups by {by} have no interval, for too few or equal answers: {_first(groups)}."


def group_without(by: str, group: Any, why: str) -> str:
    """A group without an interval."""
    return f"{by} {group} has no interval: {why}."


def modelled_refusals(silent: int, asked: int, waited: int) -> str:
    """Of those asked some have not answered, and of these some are waited for: the chance to answer was modelled."""
    still = f" ({waited} of them are still waited for)" if waited > 0 else ""
    return (
        f"{silent} of {asked} people who were asked {'has' if silent == 1 else 'have'} not answered{still}. The chance"
        " to answer was modelled by covariates and arm: the interval holds where that model and the one of the"
        " treatment are right, or the outcome models are, and those who do not answer would have answered like similar"
        " people who do."
    )


def all_answered() -> str:
    """Bounds without a use."""
    return "Whoever was asked has answered, so there is no use for bounds."


def bounds_of_target() -> str:
    """Bounds of another target than all."""
    return "What refusals could do to the effect is told only for the target all."


def refusals_at_worst(outcomes: Sequence[float], stated: bool, low: float, high: float, alone: str) -> str:
    """Ends of the effect whatever those who did not answer would have said within a range."""
    seen = "the range that was stated" if stated else "the answers seen"
    return (
        f"Whatever those who did not answer would have said, within {seen} ({outcomes[0]:.4g} to {outcomes[1]:.4g}),"
        f" the effect lies from {low:.4g} to {high:.4g}, with a chance of 95%{alone}."
    )


def refusals_by_one(treated: float, control: float) -> str:
    """What it would do if those who did not answer differed by 1."""
    return (
        "Were their outcomes 1 higher than those of similar people who answered, among the treated alone the effect"
        f" would be {treated:.3g} higher, among the others alone {control:.3g} lower."
    )


def refusals_tipping(difference: float) -> str:
    """How much those who did not answer would have to differ for the interval to reach 0."""
    return (
        f"The interval would reach 0 if they differed from similar people who answered by {difference:.3g}, in"
        " opposite directions in the two arms."
    )


# ---------------------------------------------------------------- all estimates


def arm_without_answers(arm: Any) -> str:
    """An arm that has no effects yet."""
    return f"{arm} has no answers yet, so it has no effects here."


def averages_leave_out(people: int, of: int, sample: bool) -> str:
    """People who may not be asked."""
    return f"Averages leave out who may not be asked: {people:,} of {of:,} people{' of the sample' * sample}."


def excluded_count(people: int) -> str:
    """Excluded people whose outcomes were known before."""
    return f"{people:,} marked as excluded had an outcome before, and count in averages."


def silent_group(column: str, value: Any, asked: int) -> str:
    """A group in which everybody refused."""
    return (
        f"Nobody of {column} {value} answered, of {asked:,} who were asked: effects are taken to be as among people"
        " like them elsewhere, and no answer shows it."
    )


# ---------------------------------------------------------------- plans


def not_drawn() -> str:
    """What is known of the use of a criterion's plan."""
    return (
        "On real tables individual effects were hardly ever nearer the truth than one average effect; and a plan"
        " without draw gives no interval that needs no model."
    )


def unseen_causes() -> str:
    """What effects rest on and data cannot show."""
    return (
        "The effect is right only if no cause of both treatment and outcome is missing from the columns"
        " (unconfoundedness); data cannot show that."
    )


def unpredicted_treatment(treatment: str, share: float) -> str:
    """Covariates do not predict the treatment, which so many have."""
    return (
        f"The covariates do not predict {treatment!r}. If it was randomised, say so: --propensity {share:.2g}, or the"
        " probability by design."
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
    """How clusters were drawn, and whether they are few: numbers of clusters, and of people in none."""
    beside = f" and {drawn[1]:,} of {of[1]:,} people in none" * bool(of[1])
    few = f"; fewer than about {_MIN_CLUSTERS} make an interval rough" * (sum(drawn) < _MIN_CLUSTERS)
    return (
        f"{drawn[0]:,} of {of[0]:,} clusters by {column!r}{', each of one arm,' * one_arm}{beside} were drawn,"
        f" {'whole' if whole else 'one person of each'}; the chances of those drawn were {chances[0]:.3g} to"
        f" {chances[1]:.3g} (seed {seed}){few}."
    )


def sample_unused(size: int) -> str:
    """A size of a sample that limits nothing."""
    return f"Everybody could be drawn: --sample {size} limits a draw with --memory alone."


def looked_among(people: int, population: int, wanted: int, in_memory: bool) -> str:
    """How large a sample of the table was looked at."""
    more = f", more than the {wanted:,} wanted, so that it has small groups of arm and quotas, and whoever has answered"
    return (
        f"The plan was made among a sample of {people:,} of {population:,} people{more * (people > 1.1 * wanted)}"
        f"{'; --sample all takes everybody' * in_memory}."
    )


def other_ties() -> str:
    """A sample of a table that is larger than memory."""
    return "Ties, and whatever is drawn, may come out otherwise than for a table in memory."


def out_with_others(people: int, cluster: str) -> str:
    """People who cannot be asked because somebody of their whole cluster is excluded."""
    return (
        f"{people:,} people more cannot be asked: they share a value of {cluster!r} with somebody who is excluded, and"
        " whole clusters are asked or nobody of them. Averages leave them out, too."
    )


def more_refuse(refused: int, heard_of: int) -> str:
    """More refuse than the plan expects."""
    share = 1 - refused / heard_of
    return (
        f"{refused:,} of {heard_of:,} people who were heard of refused, more than the plan expects; a new plan with"
        f" --response{f' {share:.2g}' * (share > 0)} allows for that, and names reserves."
    )


def no_reserves(why: str) -> str:
    """Nobody has a reserve although some may not answer."""
    return f"No reserves are named: {why}."


def large_rounds(rounds: int, size: int, largest: int, cluster: str) -> str:
    """Whole clusters that are larger than a round."""
    return (
        f"{rounds} of the rounds to come ask more than {size} people, up to {largest}: whoever shares a value of"
        f" {cluster!r} is asked together; one of each at most is asked by --cluster-rule one."
    )


def small_rounds(rounds: int, size: int, mean: float) -> str:
    """Drawn clusters so unequal that rounds, which the largest must fit, hold few people."""
    return (
        f"Each round holds as many clusters as fit into {size} people if all are as large as the largest, which makes"
        f" {rounds} rounds of {mean:.1f} people on average; a larger --batch-size makes fewer."
    )


def too_dear_for_a_round(people: int, spend: float, whole: bool) -> str:
    """People who can never be asked, because they and their cluster cost more than a round may."""
    return (
        f"{people:,} people cannot be asked: {'with their cluster they cost' if whole else 'each costs'} more than"
        f" the {spend:,.10g} of a round; a larger --batch-cost lets them in."
    )


def left_by_draw(money: float, demands: Sequence[str], kept: bool) -> str:
    """Money that a draw leaves, under demands, and whether it keeps back what it may be dearer than on average."""
    under = f" under {', '.join(demands)}" if demands else ""
    kept_back = ", and keeps back what it may be dearer than on average" * kept
    return f"{money:,.10g} of the budget is left: a draw is made once{under}{kept_back}."


def left_for_replan(money: float) -> str:
    """Money that answers have left."""
    return f"{money:,.10g} of the budget is left for the next replan."


def left_over(money: float, demands: Sequence[str], sample: bool) -> str:
    """Money that would buy somebody, if the demands did not forbid it."""
    return (
        f"{money:,.10g} of the budget is left, and nobody else{' of the sample' * sample} can be asked under"
        f" {', '.join(demands or ['all that is demanded'])}."
    )


def few_dear(people: int, cost: float, narrower: float) -> str:
    """What a few who cost far more than the others take from the precision."""
    return (
        f"{people:,} people cost {cost:,.10g} or more, and money is kept back for them. Without them the interval would"
        f" be {narrower:.0%} narrower, of the effect on the others: --exclude."
    )


def money_ends(round_: int) -> str:
    """Rounds to come that cost more than is left."""
    return (
        f"The money lasts to round {round_}: a draw keeps its rounds, and people who were asked in the place of others"
        " are paid too."
    )


def reserves_cost(money: float, drawn: bool) -> str:
    """Rounds to come that are expected to cost more than is left, with their reserves."""
    last = "" if drawn else " in the last round"
    return (
        f"Reserves who are asked are paid, too:{last} about {money:,.0f} on top of the cost above; the budget does not"
        " cover both. A smaller budget leaves money for them; under --pay answered refusals cost nothing."
    )


def unmet_quotas(quotas: Mapping[str, int]) -> str:
    """Quotas that the outcomes do not meet, and how many people count for each."""
    told = "; ".join(f"{name}, of whom {people:,} have an outcome" for name, people in quotas.items())
    return f"All rounds have been asked, and quotas are not met so far: {told}."


def reserves_beside(reserves: Sequence[Any]) -> str:
    """Reserves who have answered although those in whose place they were to be asked have, too."""
    who = f"{reserves[0]}{f' and {len(reserves) - 1:,} more' * (len(reserves) > 1)}"
    return f"Reserves are asked only where somebody refuses: {who} answered beside the person to be replaced."
