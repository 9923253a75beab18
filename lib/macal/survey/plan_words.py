"""Sentences for facts of tables, samples, forecasts and plans: a function for each kind, of its values alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from macal.survey.words import MIN_CLUSTERS

_MISTAKE = "if that is a mistake or a code for a missing value"


def expected_width(
    width: float,
    without: float | None,
    simple: float | None,
    equal: float | None,
    in_sd: bool,
    clustered: bool,
    uncounted: bool,
) -> str:
    """How wide the average effect's interval is expected to be, by the design and by others for the same money."""
    others = {"a simple random sample": simple} | ({} if clustered else {"equal allocation to the arms": equal})
    other = [f"{'no interval' if one is None else f'{one:,.4g}'} with {how}" for how, one in others.items()]
    alike = ", ignoring correlation within clusters" * clustered
    proxies = "" if without is None else f" ({without:,.4g} without the proxies)"
    unit = " Widths are in residual standard deviations of the outcome; set their size with --residual-sd."
    more = " Proxies are not counted, because the share of the residual variance that they explain is unknown (--r2)."
    return (
        f"Expected width of the average effect's 95% interval: {width:,.4g}{alike}{proxies}. For the same"
        f" money: {', '.join(other)}.{unit * in_sd}{more * uncounted}"
    )


def made_from_sample() -> str:
    """Where an audit compares."""
    return "The plan was made from a first-phase sample."


def compared_with_others(units: int, who: str, pairs: bool, best: float) -> str:
    """How many picks were the best among people outside the sample."""
    what = "pairs, each with one person replaced," if pairs else "picks"
    return (
        f"Its {what} were compared with {units:,} independently sampled {who}: for {best:.0%} of them, none has a"
        " larger gain."
    )


def at_most_better(level: float, who: str, any_pick: float, half: float) -> str:
    """How many of all could be better than the picks."""
    return (
        f"With {level:.0%} confidence, simultaneously, at most {any_pick:.2%} of all {who} have a larger gain than any"
        f" of them, and at most {half:.2%} than half of them."
    )


def no_audit_sample() -> str:
    """An audit without units to compare with."""
    return "There was no audit sample to compare it with."


def better_pair_possible() -> str:
    """What an audit of pairs does not cover."""
    return "A better pair of two other people may exist."


def variance_left(share: float, halves: Sequence[float]) -> str:
    """What plans leave of the effects' variance."""
    one, other = halves
    return (
        f"The posterior variance of the effects is {share:.1%} of the prior's; with plans from the two halves of the"
        f" sample it is {one:.1%} and {other:.1%}."
    )


def covariate_outliers(far: str, counts: str) -> str:
    """Values of a covariate that lie far from all others."""
    return f"{far}, and counts as {counts} in distances; {_MISTAKE}, correct the table before the survey"


def outcome_outliers(far: str) -> str:
    """Outcomes that lie far from all others."""
    return f"{far}; {_MISTAKE}, use macal correct before estimating effects"


def telling_covariates(columns: Sequence[str]) -> str:
    """Covariates that predict answers suspiciously well."""
    one = len(columns) == 1
    return (
        f"{' and '.join(map(repr, columns))} predict{'s' * one} the answers better than all other covariates together;"
        f" if measured after treatment, {'it hides' if one else 'they hide'} part of the effect: plan with"
        f" {'it as a proxy' if one else 'them as proxies'} (--proxy {','.join(columns)})"
    )


def poor_overlap(
    share: float, low: float, high: float, harmless: float, groups: Sequence[str], more: int, contrast: str
) -> str:
    """Extreme propensity scores, and groups nearly without an arm."""
    told = [
        f"{share:.0%} of people have extreme propensity scores (below {100 * low:.2g}% or above {100 * high:.4g}%;"
        f" up to {harmless:.0%} is harmless)"
    ] * (share > harmless)
    others = f"; and {more:,} more such groups" * (more > 0)
    remedy = (
        "exclude the groups named here before planning (--target overlap, the overlap population, helps only as far as"
        " a smooth propensity model finds them)"
        if groups
        else "estimate the effect in the overlap population (--target overlap)"
    )
    return (
        f"{f'{contrast}: ' * bool(contrast)}overlap is poor: {'; '.join([*told, *groups])}{others}. Estimates for such"
        f" people rest on the model alone, and intervals may have low coverage: {remedy}, and report it"
    )


def measured_later(columns: Sequence[str]) -> str:
    """Covariates whose names suggest measurement after treatment."""
    one = len(columns) == 1
    which, rest = ("it as a proxy if it predicts", "it") if one else ("as proxies those that predict", "the others")
    return (
        f"by name, {', '.join(map(repr, columns))} may have been measured after treatment and would then hide part of"
        f" its effect; name {which} the outcome (--proxy {','.join(columns)}), and leave out {rest}"
        f" (--kind {columns[0] if one else 'COLUMN'}=ignore)"
    )


def survey_weights(columns: Sequence[str]) -> str:
    """Covariates whose names suggest survey weights."""
    return (
        f"by name, {', '.join(map(repr, columns))} may be survey weights; each row counts as one person, so estimates"
        f" are for the people in the table; ignore the column (--kind {columns[0]}=ignore)"
    )


def spelt_differently(column: str, texts: Sequence[str]) -> str:
    """Values that differ only in spaces or capitals."""
    return (
        f"column {column!r} holds {', '.join(map(repr, texts))}, which differ only in spaces or capitals but count as"
        " different; unify them"
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
    low, high = (f"{chance:.3g}" for chance in chances)
    were = f"was {low} each" if low == high else f"was {low} to {high}"
    few = f"; with fewer than about {MIN_CLUSTERS} an interval is rough" * (sum(drawn) < MIN_CLUSTERS)
    return (
        f"{drawn[0]:,} of {of[0]:,} clusters by {column!r}{', each of one arm,' * one_arm}{beside} were sampled,"
        f" {'whole' if whole else 'one person of each'}; their inclusion probability {were} (seed {seed}){few}."
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
