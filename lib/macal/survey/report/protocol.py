"""Methods of a plan, as a table for a protocol."""

from macal.acquisition import CRITERIA
from macal.survey.campaign import CampaignState
from macal.survey.notes import excluded
from macal.survey.options import given
from macal.survey.policy import Policy
from macal.survey.report.page import number
from macal.survey.words import TARGET_PHRASES


def settings(campaign: CampaignState) -> dict[str, str]:
    """Return the settings of a plan, without unused ones."""
    policy, people, columns, plan = campaign.policy, campaign.people, campaign.columns, campaign.planned
    among = campaign.searched if people.first_phase is None else len(people)
    marked, more, known = excluded(campaign)
    size, reserves = int(plan["round"].value_counts().max()), plan["reserve"].count() if "reserve" in plan else 0
    mended = sum(one.name is not None for one in campaign.journal)
    recounted = len(campaign.journal) - mended
    counts = {"marked": marked, "others in their clusters": more, "with an outcome, which count": known}
    told = {
        "people selected": f"{len(plan):,} of {people.population:,}",
        "first-phase sample": f"{among:,}, by a hash of the names" if among else "",
        "covariate columns": f"{len(people.roles.kinds)}; numbers winsorised, standardised; categories as indicators",
        "selection": how(policy),
        "rounds": f"{plan['round'].nunique()}",
        "people in the largest round": f"{size:,}" if policy.batch_size and size > policy.batch_size else "",
        "budget": f"{money(float(policy.budget))}; the plan costs {money(campaign.rounds['so far'].iloc[-1])}"
        + if_all(campaign),
        "quotas": "; ".join(policy.quotas) + " (in expected answers)" * bool(policy.quotas and campaign.is_uncertain),
        "clusters": f"{columns.cluster}: {_CLUSTERS[policy.cluster_rule]}" if columns.cluster else "",
        "excluded": "; ".join(f"{n:,} {who}" for who, n in counts.items() if n),
        "mandatory": f"{len(people.included):,}" if len(people.included) else "",
        "reserves": f"{reserves:,}" if reserves else "",
        "answers corrected": f"{mended:,}" if mended else "",
        "rounds recounted": f"{recounted:,}" if recounted else "",
        "estimation of effects": "weights (1 / inclusion probability)" if policy.is_drawn else "outcome model",
    }
    told |= given(columns, ("cluster", "exclude", "include")) | given(policy, _TOLD)
    return {what: words for what, words in told.items() if words}


_TOLD = "budget criterion parameters draw uniform target by seed quotas cluster_rule".split()  # elsewhere
_CLUSTERS = {"whole": "whole clusters", "one": "at most one person per cluster"}


def ruled(policy: Policy) -> str:
    """Return the name and source of the rule."""
    entry = CRITERIA[policy.rule]
    return entry.label + f" ({entry.source})" * (entry.source != "–")


def follows(policy: Policy) -> bool:
    """Return whether the rule affects the selection."""
    return not policy.is_for_effect and (not policy.is_drawn or policy.uniform < 1)


def how(policy: Policy) -> str:
    """Return how people were selected."""
    if policy.is_for_effect:
        target = f" in {TARGET_PHRASES[policy.target]}" + f" and in each group of {policy.by}" * (policy.by is not None)
        return _sampled(policy, f"the variance of the average effect{target}")
    given = f" with {', '.join(f'{k} = {v}' for k, v in policy.parameters.items())}" * bool(policy.parameters)
    rule = f"{ruled(policy)}{given}"
    if policy.is_drawn:
        return _sampled(policy, rule)
    is_random = CRITERIA[policy.rule].factory.stochastic
    return f"{rule}, seed {policy.seed}" if is_random else f"{rule}, greedily by gain per cost"


def _sampled(policy: Policy, rest: str) -> str:
    return f"a probability sample, seed {policy.seed}: {policy.uniform:.0%} allocated uniformly" + (
        f", the rest by {rest}" * (policy.uniform < 1)
    )


def is_unsure(campaign: CampaignState) -> bool:
    """Return whether a pending person may refuse."""
    people, plan = campaign.people, campaign.planned
    open_ = people.positions(plan.index[~plan.index.isin(list(campaign.answers))], "the plan")
    return bool((people.response[open_] < 1).any())


def if_all(campaign: CampaignState) -> str:
    """Return the assumption of a cost if refusals are free."""
    return " if all answer" * (campaign.policy.pay == "answered" and is_unsure(campaign))


def money(value: float) -> str:
    """Return a sum, with hundredths if there are any."""
    return number(value, "{:,.0f}" if float(value).is_integer() else "{:,.2f}")
