"""Facts of a plan for command and report: clusters, unspent or missing money, unmet quotas."""

from functools import partial

import numpy as np
import pandas as pd

from macal.shapes import Arms, Rows
from macal.survey import plan_words
from macal.survey.campaign import CampaignState
from macal.survey.designs import design_under
from macal.survey.facts import Fact
from macal.survey.forecast import missing_interval_notes, without_dear
from macal.survey.inference.weighted import unpredicted

_WORTH_IT = 0.95  # of the width, above which a narrower interval is not worth a sentence


def notes(campaign: CampaignState) -> list[Fact]:
    """Return the facts of a plan."""
    rounds, (others, price), is_drawn = campaign.rounds, _others(campaign), campaign.policy.is_drawn
    return [
        *([*missing_interval_notes(campaign), *_drawn(campaign)] if is_drawn else [Fact(plan_words.not_drawn)]),
        *_searched(campaign),
        *_excluded_neighbours(campaign),
        *_refusing(campaign),
        *_no_reserves(campaign),
        *_large_rounds(campaign),
        *(_small_rounds(campaign, rounds) if is_drawn else []),
        *_unaffordable(campaign, others, price),
        *(_unspent_by_draw if is_drawn else _unspent)(campaign, rounds, price),
        *_dear(campaign),
        *(_money_ends if is_drawn else _reserve_costs)(campaign, rounds),
        *_unmet(campaign),
        *_unneeded_reserves(campaign),
    ]


def assumed(campaign: CampaignState) -> list[Fact]:
    """Return untestable assumptions; none if the treatment probability is known."""
    return [] if campaign.columns.propensity is not None else [Fact(plan_words.unseen_causes), *_unpredicted(campaign)]


def _unpredicted(campaign: CampaignState) -> list[Fact]:
    """Return a question whether treatment was randomised, if covariates do not predict it."""
    chosen = campaign.design
    if chosen is None or chosen.units.propensity is None or len(campaign.people.arms) > 2:
        return []
    if not unpredicted(chosen.units.propensity, campaign.people.problem.pool.t):
        return []
    share = float(chosen.units.propensity[:, 1].mean())
    return [Fact(plan_words.unpredicted_treatment, treatment=campaign.columns.treatment, share=share)]


def _drawn(campaign: CampaignState) -> list[Fact]:
    """Return how clusters were sampled."""
    people, policy, plan = campaign.people, campaign.policy, campaign.planned
    if campaign.columns.cluster is None:
        return []
    mine, chances = people.positions(plan.index, "the plan"), 1 / plan["weight"]
    free = np.setdiff1d(campaign.eligible, people.problem.start, assume_unique=True)
    (drawn, alone), (every, single) = (_count_clusters(people.clusters[units]) for units in (mine, free))
    arms = pd.Series(people.problem.pool.t).groupby(people.clusters).nunique().drop(-1, errors="ignore")
    of_one = bool(single + every < len(free) and arms.max() == 1)
    how = {"whole": policy.cluster_rule == "whole", "one_arm": of_one, "seed": policy.seed}
    how |= {"drawn": (drawn, alone), "of": (every, single), "chances": (chances.min(), chances.max())}
    return [Fact(plan_words.drawn_clusters, column=campaign.columns.cluster, **how)]


def _count_clusters(clusters: Arms) -> tuple[int, int]:
    """Return the numbers of clusters, and of people in none."""
    return len(np.unique(clusters[clusters >= 0])), int((clusters < 0).sum())


def _searched(campaign: CampaignState) -> list[Fact]:
    """Return the size of the first-phase sample, or that --sample has no effect."""
    people, policy, is_whole = campaign.people, campaign.policy, campaign.people.first_phase is None
    among, wanted = (campaign.searched, policy.searched) if is_whole else (len(people), policy.sampled)
    if among is None:
        unused = policy.is_drawn and isinstance(policy.sample, int)
        return [Fact(plan_words.sample_unused, size=policy.sample)] if unused else []
    size = {"people": among, "population": people.population, "wanted": round(wanted), "in_memory": is_whole}
    return [Fact(plan_words.looked_among, **size), *([] if is_whole else [Fact(plan_words.other_ties)])]


def _excluded_neighbours(campaign: CampaignState) -> list[Fact]:
    """Return people who are ineligible because a member of their whole cluster is excluded."""
    _, more, _ = excluded(campaign)
    return [Fact(plan_words.out_with_others, people=more, cluster=campaign.columns.cluster)] if more else []


def excluded(campaign: CampaignState) -> tuple[int, int, int]:
    """Return numbers of excluded people without outcome, others in their whole clusters, and excluded with one."""
    people = campaign.people
    marked = len(np.setdiff1d(people.excluded, people.problem.start))
    return marked, len(campaign.ineligible) - marked, len(people.excluded) - marked


def _refusing(campaign: CampaignState) -> list[Fact]:
    """Return that refusals exceed the plan's expectation, by more than three s.d."""
    people, refused = campaign.people, len(campaign.refused)
    chances = people.response[people.positions(campaign.answers, "the answers")]
    more = refused - float((1 - chances).sum())
    if more <= 3 * float(np.sqrt((chances * (1 - chances)).sum())) + 1e-9:
        return []
    return [Fact(plan_words.more_refuse, refused=refused, heard_of=len(chances))]


def _no_reserves(campaign: CampaignState) -> list[Fact]:
    """Return why there are no reserves, although some may not answer."""
    people, policy, plan = campaign.people, campaign.policy, campaign.planned
    free = np.setdiff1d(campaign.eligible, people.problem.start, assume_unique=True)
    if "reserve" not in plan or plan["reserve"].notna().any() or (people.response[free] == 1).all():
        return []
    if campaign.columns.cluster is not None and policy.cluster_rule == "whole":
        why = "clusters are surveyed whole"
    elif policy.is_drawn and np.ptp(people.cost[free]):
        why = "in a probability sample, reserves need equal costs"
    else:
        why = "no similar person is left"
    return [Fact(plan_words.no_reserves, why=why)]


def _large_rounds(campaign: CampaignState) -> list[Fact]:
    """Return whole clusters larger than a round."""
    size = campaign.policy.batch_size
    sizes = campaign.round_sizes
    large = sizes[(sizes > (size or np.inf)) & (sizes.index > campaign.asked)]
    if not len(large) or campaign.columns.cluster is None or campaign.policy.cluster_rule != "whole":
        return []
    given = {"rounds": len(large), "size": size, "largest": int(large.max())}
    return [Fact(plan_words.large_rounds, cluster=campaign.columns.cluster, **given)]


def _small_rounds(campaign: CampaignState, rounds: pd.DataFrame) -> list[Fact]:
    """Return that rounds are small because the largest clusters must fit."""
    size, is_whole = campaign.policy.batch_size, campaign.policy.cluster_rule == "whole"
    if campaign.columns.cluster is None or not is_whole or size is None:
        return []
    mean = float(rounds["asked"].iloc[:-1].mean())  # the last round has the rest
    return [Fact(plan_words.small_rounds, rounds=len(rounds), size=size, mean=mean)] if 2 * mean <= size else []


def _unaffordable(campaign: CampaignState, units: Rows, price: np.ndarray) -> list[Fact]:
    """Return people who cost more, alone or with their cluster, than a round may."""
    spend = campaign.policy.batch_cost
    dear = units if spend is None else units[price > spend * (1 + 1e-9)]
    if spend is None or not len(dear):
        return []
    whole = campaign.columns.cluster is not None and campaign.policy.cluster_rule == "whole"
    return [Fact(plan_words.too_dear_for_a_round, people=len(dear), spend=spend, whole=whole)]


def _unspent_by_draw(campaign: CampaignState, rounds: pd.DataFrame, price: np.ndarray) -> list[Fact]:
    """Return money that a sample leaves unspent."""
    left = float(campaign.policy.budget) - float(rounds["so far"].iloc[-1])
    if not len(price) or left - _for_reserves(campaign, campaign.asked) < price.min():
        return []
    return [Fact(plan_words.left_by_draw, money=left, demands=_limiting(campaign), kept=bool(np.ptp(price)))]


def _unspent(campaign: CampaignState, rounds: pd.DataFrame, price: np.ndarray) -> list[Fact]:
    """Return money that greedy selection leaves unspent."""
    policy, left = campaign.policy, float(campaign.policy.budget) - float(rounds["so far"].iloc[-1])
    if not len(price) or left < price.min():
        return []
    if campaign.changed_since_plan:
        return [Fact(plan_words.left_for_replan, money=left)]
    per_round = [] if policy.batch_cost is None else [f"at most {policy.batch_cost:,.10g} a round"]
    sample = campaign.searched is not None or campaign.people.first_phase is not None
    return [Fact(plan_words.left_over, money=left, demands=_limiting(campaign) + per_round, sample=sample)]


def _limiting(campaign: CampaignState) -> list[str]:
    """Return the constraints that may leave money unspent."""
    is_one = campaign.columns.cluster is not None and campaign.policy.cluster_rule == "one"
    quotas = [f"a quota ({quota})" for quota in campaign.policy.quotas]
    return ["at most one person per cluster"] * is_one + quotas


def _dear(campaign: CampaignState) -> list[Fact]:
    """Return the precision that a few expensive people cost."""
    found = without_dear(campaign, partial(design_under, campaign.people, campaign.policy))
    if found is None or found[2] > _WORTH_IT:
        return []
    number, least, ratio = found
    return [Fact(plan_words.few_dear, people=number, cost=least, narrower=1 - ratio)]


def _money_ends(campaign: CampaignState, rounds: pd.DataFrame) -> list[Fact]:
    """Return the round of a sample after which money ends, by its plan or with reserves."""
    over = rounds.index[rounds["so far"] > campaign.policy.budget * (1 + 1e-9)]
    if len(over) and not campaign.overspent:
        return [Fact(plan_words.money_ends, round_=int(over[0]) - 1)]
    return _reserve_costs(campaign, rounds)


def _reserve_costs(campaign: CampaignState, rounds: pd.DataFrame) -> list[Fact]:
    """Return reserves expected to exceed the budget: of all rounds to come, of a greedy plan of the last."""
    budget, is_drawn = float(campaign.policy.budget), campaign.policy.is_drawn
    before = campaign.asked if is_drawn else max(campaign.asked, int(campaign.planned["round"].max()) - 1)
    more = _for_reserves(campaign, before)
    if not more or campaign.overspent or rounds["so far"].iloc[-1] + more <= budget * (1 + 1e-9):
        return []
    return [Fact(plan_words.reserves_cost, money=more, drawn=is_drawn)]


def _unmet(campaign: CampaignState) -> list[Fact]:
    """Return quotas that are unmet after all rounds."""
    people, plan = campaign.people, campaign.planned
    if campaign.asked < plan["round"].max():
        return []
    told, found = np.isfinite(campaign.outcomes), dict[str, int]()
    for quota in campaign.policy.parsed:
        for demand in quota.demands(people.table[quota.column], np.ones(len(people))):
            counted = demand.matrix.toarray()[0][told]
            if not demand.low[0] - 1e-9 <= counted.sum() <= demand.high[0] + 1e-9:
                found[demand.name] = int((counted > 0).sum())
    return [Fact(plan_words.unmet_quotas, quotas=found)] if found else []


def _unneeded_reserves(campaign: CampaignState) -> list[Fact]:
    """Return reserves who have answered in addition to the people they replace."""
    instead, answers = campaign.reserves_used, campaign.answers
    if not instead:
        return []
    pairs = campaign.planned["reserve"].items()
    both = [reserve for name, reserve in pairs if reserve in instead and answers.get(name) is not None]
    return [Fact(plan_words.reserves_beside, reserves=both)] if both else []


def _for_reserves(campaign: CampaignState, before: int) -> float:
    """Return the expected cost of reserves in rounds after ``before``, if refusals are paid."""
    plan, people = campaign.planned, campaign.people
    if campaign.policy.pay != "asked" or "reserve" not in plan:
        return 0.0
    units = people.positions(plan.index[(plan["round"] > before) & plan["reserve"].notna()], "the plan")
    return float((people.cost[units] * (1 - people.response[units])).sum())


def _others(campaign: CampaignState) -> tuple[Rows, np.ndarray]:
    """Return people who are not planned, excluded or known, (k,), and their costs, (k,)."""
    people, plan = campaign.people, campaign.planned
    bought = people.cluster_ids(campaign.policy.cluster_rule, campaign.committed, campaign.refused)
    gone = [*plan.index, *campaign.answers]
    mine = np.concatenate(
        [people.positions(pd.unique(pd.Series(gone, dtype=object)), "the plan"), people.problem.start]
    )
    units = np.delete(np.arange(len(people)), np.concatenate([mine, people.excluded]))
    return units, people.of_clusters(bought, people.cost)[units]
