"""What is to be said of a plan that its rounds alone do not show: clusters, money left or too little, quotas not met.

The command prints these sentences, and the report has them.
"""

from functools import partial

import numpy as np
import pandas as pd

from macal.shapes import Arms, Rows
from macal.survey.campaign import CampaignState
from macal.survey.drawn import allowed, barred
from macal.survey.forecast import lacking, without_dear
from macal.survey.inference.weighted import unpredicted
from macal.survey.steps import lottery_under
from macal.survey.weights import FEW

UNSEEN = (
    "The effect is right only if no cause of both treatment and outcome is missing from the columns (unconfoundedness);"
    " data cannot show that."
)
_WORTH_IT = 0.95  # of the width, above which a narrower interval is not worth a sentence


def notes(campaign: CampaignState) -> list[str]:
    """Sentences on a plan; none where there is nothing to say."""
    rounds, others, price = campaign.rounds, *_others(campaign)
    about_others = [*_too_dear(campaign, others, price), *_left(campaign, rounds, price)]
    return [
        *_not_drawn(campaign),
        *lacking(campaign),
        *_drawn(campaign),
        *_searched(campaign),
        *_out_with(campaign),
        *_refusing(campaign),
        *_no_reserves(campaign),
        *_large_rounds(campaign),
        *_small_rounds(campaign, rounds),
        *about_others,
        *_dear(campaign),
        *_short(campaign, rounds),
        *_unmet(campaign),
        *_beside(campaign),
    ]


def _not_drawn(campaign: CampaignState) -> list[str]:
    """What is known of the use of a criterion's plan."""
    return [
        "On real tables individual effects were hardly ever nearer the truth than one average effect; and a plan"
        " without draw gives no interval that needs no model."
    ] * (campaign.policy.draw is None)


def assumed(campaign: CampaignState) -> list[str]:
    """What effects rest on and data cannot show; nothing where the chance of treatment is known."""
    return [] if campaign.columns.propensity is not None else [UNSEEN, *_unpredicted(campaign)]


def _unpredicted(campaign: CampaignState) -> list[str]:
    """Ask whether treatment was randomised, where covariates do not predict it."""
    chosen = campaign.chosen
    if chosen is None or chosen.lots.e is None or len(campaign.people.arms) > 2:
        return []
    if not unpredicted(chosen.lots.e, campaign.people.problem.pool.t):
        return []
    return [
        f"The covariates do not predict {campaign.columns.treatment!r}. If it was randomised, say so: --propensity"
        f" {chosen.lots.e[:, 1].mean():.2g}, or the probability by design."
    ]


def _drawn(campaign: CampaignState) -> list[str]:
    """How clusters were drawn, and whether they are few."""
    people, policy, plan = campaign.people, campaign.policy, campaign.planned
    if policy.draw is None or campaign.columns.cluster is None:
        return []
    mine, chances = people.places(plan.index, "the plan"), 1 / plan["weight"]
    free = np.setdiff1d(allowed(people, policy), people.problem.start)
    (drawn, alone), (every, single) = (_lots(people.clusters[units]) for units in (mine, free))
    beside = f" and {alone:,} of {single:,} people in none" * bool(single)
    arms = pd.Series(people.problem.pool.t).groupby(people.clusters).nunique().drop(-1, errors="ignore")
    of_one = ", each of one arm," * bool(single + every < len(free) and arms.max() == 1)
    few = f"; fewer than about {FEW} make an interval rough" * (drawn + alone < FEW)
    return [
        f"{drawn:,} of {every:,} clusters by {campaign.columns.cluster!r}{of_one}{beside} were drawn,"
        f" {'whole' if policy.cluster_rule == 'whole' else 'one person of each'}; the chances of those drawn were"
        f" {chances.min():.3g} to {chances.max():.3g} (seed {policy.seed}){few}."
    ]


def _lots(clusters: Arms) -> tuple[int, int]:
    """Clusters, by the numbers of some people's, and people in none."""
    return len(np.unique(clusters[clusters >= 0])), int((clusters < 0).sum())


def _searched(campaign: CampaignState) -> list[str]:
    """How large a sample of the table was looked at, or that a draw looks at none."""
    people, policy, is_whole = campaign.people, campaign.policy, campaign.people.phase is None
    among, wanted = (campaign.searched, policy.searched) if is_whole else (len(people), policy.sampled)
    if among is None:
        unused = policy.draw is not None and isinstance(policy.sample, int)
        return [f"Everybody could be drawn: --sample {policy.sample} limits a draw with --memory alone."] * unused
    more = (
        f", more than the {wanted:,.0f} wanted, so that it has small groups of arm and quotas, and whoever has answered"
    )
    return [
        f"The plan was made among a sample of {among:,} of {people.population:,} people{more * (among > 1.1 * wanted)}"
        f"{'; --sample all takes everybody' * is_whole}.",
        *["Ties, and whatever is drawn, may come out otherwise than for a table in memory."] * (not is_whole),
    ]


def _out_with(campaign: CampaignState) -> list[str]:
    """People who cannot be asked because somebody of their whole cluster is excluded."""
    _, more, _ = excluded(campaign)
    if not more:
        return []
    return [
        f"{more:,} people more cannot be asked: they share a value of {campaign.columns.cluster!r} with somebody who is"
        " excluded, and whole clusters are asked or nobody of them. Averages leave them out, too."
    ]


def excluded(campaign: CampaignState) -> tuple[int, int, int]:
    """Numbers of the excluded without an outcome, of others of their whole clusters, of the excluded with one."""
    people = campaign.people
    marked = len(np.setdiff1d(people.excluded, people.problem.start))
    return marked, len(barred(people, campaign.policy)) - marked, len(people.excluded) - marked


def _refusing(campaign: CampaignState) -> list[str]:
    """Say that more refuse than the plan expects, by three s.d. of their number and more."""
    people, refused = campaign.people, len(campaign.refused)
    chances = people.response[people.places(campaign.answers, "the answers")]
    more = refused - float((1 - chances).sum())
    if more <= 3 * float(np.sqrt((chances * (1 - chances)).sum())) + 1e-9:
        return []
    share = 1 - refused / len(chances)
    written = f" {share:.2g}" * (share > 0)
    return [
        f"{refused:,} of {len(chances):,} people who were heard of refused, more than the plan expects; a new plan with"
        f" --response{written} allows for that, and names reserves."
    ]


def _no_reserves(campaign: CampaignState) -> list[str]:
    """Why nobody has a reserve although some may not answer."""
    people, policy, plan = campaign.people, campaign.policy, campaign.planned
    free = np.setdiff1d(allowed(people, policy), people.problem.start)
    if "reserve" not in plan or plan["reserve"].notna().any() or (people.response[free] == 1).all():
        return []
    if campaign.columns.cluster is not None and policy.cluster_rule == "whole":
        why = "whole clusters are asked"
    elif policy.draw is not None and np.ptp(people.cost[free]):
        why = "people are drawn, and costs differ"
    else:
        why = "nobody alike is left to be one"
    return [f"No reserves are named: {why}."]


def _large_rounds(campaign: CampaignState) -> list[str]:
    """Whole clusters that are larger than a round."""
    size = campaign.policy.batch_size
    sizes = campaign.sizes
    large = sizes[(sizes > (size or np.inf)) & (sizes.index > campaign.asked)]
    if not len(large) or campaign.columns.cluster is None or campaign.policy.cluster_rule != "whole":
        return []
    return [
        f"{len(large)} of the rounds to come ask more than {size} people, up to {large.max()}: whoever"
        f" shares a value of {campaign.columns.cluster!r} is asked together; one of each at most is asked by"
        " --cluster-rule one."
    ]


def _small_rounds(campaign: CampaignState, rounds: pd.DataFrame) -> list[str]:
    """Drawn clusters so unequal that rounds, which the largest must fit, hold few people."""
    size, is_whole = campaign.policy.batch_size, campaign.policy.cluster_rule == "whole"
    if campaign.policy.draw is None or campaign.columns.cluster is None or not is_whole or size is None:
        return []
    mean = float(rounds["asked"].iloc[:-1].mean())  # the last round has the rest
    if not 2 * mean <= size:
        return []
    return [
        f"Each round holds as many clusters as fit into {size} people if all are as large as the largest, which makes"
        f" {len(rounds)} rounds of {mean:.1f} people on average; a larger --batch-size makes fewer."
    ]


def _too_dear(campaign: CampaignState, units: Rows, price: np.ndarray) -> list[str]:
    """People who can never be asked, because they and their cluster cost more than a round may."""
    spend = campaign.policy.batch_cost
    dear = units if spend is None else units[price > spend * (1 + 1e-9)]
    if spend is None or not len(dear):
        return []
    whole = campaign.columns.cluster is not None and campaign.policy.cluster_rule == "whole"
    return [
        f"{len(dear):,} people cannot be asked: {'with their cluster they cost' if whole else 'each costs'} more than"
        f" the {spend:,.10g} of a round; a larger --batch-cost lets them in."
    ]


def _left(campaign: CampaignState, rounds: pd.DataFrame, price: np.ndarray) -> list[str]:
    """Money that would buy somebody, if the demands did not forbid it."""
    policy = campaign.policy
    left, is_drawn = policy.budget - float(rounds["so far"].iloc[-1]), policy.draw is not None
    if not len(price) or left - _for_reserves(campaign) * is_drawn < price.min():
        return []
    is_one = campaign.columns.cluster is not None and policy.cluster_rule == "one"
    demands = ["at most one of each cluster"] * is_one
    demands += [f"a quota ({quota})" for quota in policy.quotas]
    if is_drawn:
        under = f" under {', '.join(demands)}" if demands else ""
        kept = ", and keeps back what it may be dearer than on average" * bool(np.ptp(price))
        return [f"{left:,.10g} of the budget is left: a draw is made once{under}{kept}."]
    if campaign.told_since:
        return [f"{left:,.10g} of the budget is left for the next replan."]
    demands += [] if policy.batch_cost is None else [f"at most {policy.batch_cost:,.10g} a round"]
    demands = demands or ["all that is demanded"]
    among = " of the sample" * (campaign.searched is not None or campaign.people.phase is not None)
    return [f"{left:,.10g} of the budget is left, and nobody else{among} can be asked under {', '.join(demands)}."]


def _dear(campaign: CampaignState) -> list[str]:
    """What a few who cost far more than the others take from the precision."""
    found = without_dear(campaign, partial(lottery_under, campaign.people, campaign.policy))
    if found is None or found[2] > _WORTH_IT:
        return []
    number, least, ratio = found
    return [
        f"{number:,} people cost {least:,.10g} or more, and money is kept back for them. Without them the interval"
        f" would be {1 - ratio:.0%} narrower, of the effect on the others: --exclude."
    ]


def _short(campaign: CampaignState, rounds: pd.DataFrame) -> list[str]:
    """Rounds to come that cost more than is left, or are expected to with their reserves."""
    policy, is_drawn = campaign.policy, campaign.policy.draw is not None
    over = rounds.index[rounds["so far"] > policy.budget * (1 + 1e-9)]
    if campaign.overspent:
        return []
    if len(over) and is_drawn:
        return [
            f"The money lasts to round {over[0] - 1}: a draw keeps its rounds, and people who were asked in the place"
            " of others are paid too."
        ]
    more = _for_reserves(campaign)
    if not more or rounds["so far"].iloc[-1] + more <= policy.budget * (1 + 1e-9):
        return []
    last = "" if is_drawn else " in the last round"
    return [
        f"Reserves who are asked are paid, too:{last} about {more:,.0f} on top of the cost above; the budget does not"
        " cover both. A smaller budget leaves money for them; under --pay answered refusals cost nothing."
    ]


def _unmet(campaign: CampaignState) -> list[str]:
    """Quotas that the outcomes do not meet although all rounds have been asked."""
    people, plan = campaign.people, campaign.planned
    if campaign.asked < plan["round"].max():
        return []
    told, found = np.isfinite(campaign.outcomes), []
    for quota in campaign.policy.parsed:
        for demand in quota.demands(people.table[quota.column], np.ones(len(people))):
            counted = demand.matrix.toarray()[0][told]
            if not demand.low[0] - 1e-9 <= counted.sum() <= demand.high[0] + 1e-9:
                found.append(f"{demand.name}, of whom {(counted > 0).sum():,} have an outcome")
    return [f"All rounds have been asked, and quotas are not met so far: {'; '.join(found)}."] if found else []


def _beside(campaign: CampaignState) -> list[str]:
    """Reserves who have answered although those in whose place they were to be asked have, too."""
    instead, answers = campaign.instead, campaign.answers
    if not instead:
        return []
    pairs = campaign.planned["reserve"].items()
    both = [reserve for name, reserve in pairs if reserve in instead and answers.get(name) is not None]
    if not both:
        return []
    who = f"{both[0]}{f' and {len(both) - 1:,} more' * (len(both) > 1)}"
    return [f"Reserves are asked only where somebody refuses: {who} answered beside the person to be replaced."]


def _for_reserves(campaign: CampaignState) -> float:
    """What the reserves of the rounds to come are expected to cost, where whoever is asked is paid.

    Of a plan that is not drawn, those of the last round: those of earlier rounds are paid from the later ones.
    """
    plan, people = campaign.planned, campaign.people
    if campaign.policy.pay != "asked" or "reserve" not in plan:
        return 0.0
    before = campaign.asked if campaign.policy.draw is not None else max(campaign.asked, plan["round"].max() - 1)
    units = people.places(plan.index[(plan["round"] > before) & plan["reserve"].notna()], "the plan")
    return float((people.cost[units] * (1 - people.response[units])).sum())


def _others(campaign: CampaignState) -> tuple[Rows, np.ndarray]:
    """People who are neither planned nor excluded and have not answered, (k,), and what each costs, (k,)."""
    people, plan = campaign.people, campaign.planned
    bought = people.bought_with(campaign.policy.cluster_rule, campaign.known, campaign.refused)
    gone = [*plan.index, *campaign.answers]
    mine = np.concatenate([people.places(pd.unique(pd.Series(gone, dtype=object)), "the plan"), people.problem.start])
    units = np.setdiff1d(np.arange(len(people)), np.concatenate([mine, people.excluded]))
    return units, people.of_clusters(bought, people.cost)[units]
