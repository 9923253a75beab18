"""How a plan was made, as text for a protocol."""

import numpy as np

from macal.acquisition import CRITERIA
from macal.planner.campaign import CampaignState
from macal.planner.notes import excluded, still_counted
from macal.planner.policy import Policy
from macal.planner.report.page import number
from macal.planner.weights import WHOM


def protocol(campaign: CampaignState) -> str:
    """Describe how a plan was made, for a protocol.

    Args:
        campaign: with a plan.
    """
    policy, people, columns = campaign.policy, campaign.people, campaign.columns
    plan = campaign.planned
    given = f" with {', '.join(f'{k} = {v}' for k, v in policy.parameters.items())}" * bool(policy.parameters)
    rule = f" by {ruled(policy)}{given}" * follows(policy)
    asked = (
        f"{len(plan):,} of {people.population:,} people were selected for follow-up before any of their outcomes was"
        " known"
    )
    if (among := campaign.searched if people.phase is None else len(people)) is not None:
        asked += f", among a sample of {among:,} drawn by a hash of their names"
    per_round = [
        f"{policy.batch_size} people{_or_cluster(campaign)}" if policy.batch_size else "",
        "" if policy.batch_cost is None else f"{money(policy.batch_cost)} in money",
    ]
    most = f" of at most {' and '.join(filter(None, per_round))}." * any(per_round)
    told = [
        f"{asked}, from {len(people.roles.kinds)} baseline covariates and the treatment {columns.treatment!r}.",
        f"Numbers were winsorised and standardised, categories coded as indicators; people were selected{rule},"
        f" as implemented in macal, {how(campaign)}, in {plan['round'].nunique()} rounds{most}",
        f"The budget was {policy.budget:,.10g}, and the plan costs {campaign.rounds['so far'].iloc[-1]:,.10g}"
        f"{if_all(campaign)}.",
    ]
    meant = " (lower bounds and shares in expectation)" * campaign.is_uncertain
    told += [f"Quotas: {'; '.join(policy.quotas)}{meant}."] * bool(policy.quotas)
    again = ", and another only after a refusal" * (policy.draw is None)
    told += [_CLUSTERS[policy.cluster_rule].format(columns.cluster, again)] * bool(columns.cluster)
    told += _excluded(campaign)
    told += [f"{len(people.included):,} people were selected beforehand."] * bool(len(people.included))
    told += _responding(campaign)
    if campaign.audit is not None:
        told += campaign.audit.told()
    mended = len(campaign.journal)
    told += [f"{mended:,} answer{'s were' if mended != 1 else ' was'} corrected afterwards."] * bool(mended)
    if policy.draw is not None:
        told.append(_DRAWN.format("un" * is_uneven(campaign)))
    else:
        told.append(f"{_AT_RANDOM if is_random(policy) else _CHOSEN} {_BY_MODEL}")
    told += [_ALIKE] * bool(policy.draw and columns.cluster)
    return " ".join(told)


def _excluded(campaign: CampaignState) -> list[str]:
    """Who could not be asked."""
    (marked, more, _), cluster = excluded(campaign), campaign.columns.cluster
    others = f", and with them {more:,} who share a value of {cluster!r} with one of them" * bool(more)
    return [f"{marked:,} people were excluded{others}."] * bool(marked) + still_counted(campaign)


def _or_cluster(campaign: CampaignState) -> str:
    """Why a round may be larger than was demanded: it is one whole cluster, or has people who were left out before."""
    size, sizes = campaign.policy.batch_size or np.inf, campaign.sizes
    late = ", and whoever was left out of an earlier one" * bool(sizes.sum() < len(campaign.planned))
    return ", or of one whole cluster that is larger" * bool((sizes > size).any()) + late


def ruled(policy: Policy) -> str:
    """Name of the rule, and who proposed it."""
    entry = CRITERIA[policy.criterion]
    return entry.label + f" ({entry.source})" * (entry.source != "–")


def follows(policy: Policy) -> bool:
    """Whether the rule decides on anybody."""
    return policy.draw is None or (policy.draw == "criterion" and policy.uniform < 1)


def is_uneven(campaign: CampaignState) -> bool:
    """Whether drawn people have different weights."""
    weight = campaign.planned["weight"]
    return bool(weight.max() > weight.min() * (1 + 1e-9))


def is_random(policy: Policy) -> bool:
    """Whether the rule draws by itself, so that neither gains nor costs count."""
    return CRITERIA[policy.criterion].factory.stochastic


def is_unsure(campaign: CampaignState) -> bool:
    """Whether anybody of the plan who has not answered yet may refuse."""
    people, plan = campaign.people, campaign.planned
    open_ = people.places(plan.index[~plan.index.isin(list(campaign.answers))], "the plan")
    return bool((people.response[open_] < 1).any())


def if_all(campaign: CampaignState) -> str:
    """What a cost supposes where refusals would cost nothing."""
    return " if all answer" * (campaign.policy.pay == "answered" and is_unsure(campaign))


def _responding(campaign: CampaignState) -> list[str]:
    """What chances to answer were taken into account by."""
    policy, plan = campaign.policy, campaign.planned
    if not (campaign.people.response < 1).any():
        return []
    counts = "Quotas" if policy.draw == "effect" or is_random(policy) else "Selection"
    told = [f"{counts} took chances to answer into account."] * (counts == "Selection" or bool(policy.parsed))
    if plan.get("reserve", plan["round"] * np.nan).notna().any():
        told.append(
            f"Reserves for those who do not answer were {'drawn with them' if policy.draw else 'named beforehand'}."
        )
    return told


def how(campaign: CampaignState) -> str:
    """How people were chosen."""
    policy, people = campaign.policy, campaign.people
    if policy.draw is None:
        return "at random, whatever people cost" if is_random(policy) else "greedily by gain per cost"
    whose = "" if policy.target == "all" else f" of {WHOM[policy.target]}"
    whose += "" if policy.by is None else f", in each group of {policy.by} and overall"
    price = people.of_clusters(people.bought_with(policy.cluster_rule, people.problem.start, _NOBODY), people.cost)
    per_root = ", over the root of the cost" * bool((price != price[0]).any())
    worth = f"by what people are worth for the average effect{whose}{per_root}"
    of = "" if campaign.columns.cluster is None else _OF_CLUSTERS[policy.cluster_rule]
    within = " within the quotas' groups" * bool(policy.parsed)
    rest = {"criterion": "to those whom the rule chose", "effect": worth}
    share = "all" if policy.uniform == 1 else f"{policy.uniform:.0%} of the"
    others = f", and the others went {rest[policy.draw]}" * (policy.uniform < 1)
    return (
        f"by a draw{of} with known chances (seed {policy.seed}): {share} labels were spread uniformly{within}{others}"
    )


_NOBODY = np.empty(0, np.int64)
_CHOSEN = "As the labelled set was chosen by its covariates, its means are not those of the population:"
_AT_RANDOM = "As people were taken at random but with no recorded chances, nobody has a weight:"
_BY_MODEL = (
    "effects are to be estimated by a model of the outcome given covariates and treatment, averaged over everybody."
)
_DRAWN = (
    "As people were drawn with {}equal chances, each counts by its weight, 1 over the chance to be drawn; the average"
    " effect is estimated with these weights."
)


_ALIKE = (
    "The variance is that between clusters, and the quantile of its interval has one degree of freedom less than there"
    " are clusters with answers."
)
_OF_CLUSTERS = {"whole": " of whole clusters", "one": " of clusters, and of one person of each,"}
_CLUSTERS = {
    "whole": "Of each cluster ({}) all were selected or nobody.",
    "one": "Of each cluster ({}) at most one person was selected{}.",
}


def money(value: float) -> str:
    """A sum, with hundredths where there are any."""
    return number(value, "{:,.0f}" if float(value).is_integer() else "{:,.2f}")
