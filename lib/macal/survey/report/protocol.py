"""How a plan was made, as a table for a protocol."""

from macal.acquisition import CRITERIA
from macal.survey.campaign import CampaignState
from macal.survey.notes import excluded
from macal.survey.policy import Policy
from macal.survey.report.page import number
from macal.survey.words import TARGET_PHRASES


def settings(campaign: CampaignState) -> dict[str, str]:
    """How a plan was made, by what a protocol asks; settings that were not used are left out."""
    policy, people, columns, plan = campaign.policy, campaign.people, campaign.columns, campaign.planned
    among = campaign.searched if people.first_phase is None else len(people)
    marked, more, known = excluded(campaign)
    size, reserves = int(plan["round"].value_counts().max()), plan["reserve"].count() if "reserve" in plan else 0
    mended = sum(one.name is not None for one in campaign.journal)
    recounted = len(campaign.journal) - mended
    counts = {"marked": marked, "with them, of the same cluster": more, "more had an outcome, and count": known}
    told = {
        "people selected": f"{len(plan):,} of {people.population:,}",
        "looked among": f"a sample of {among:,}, drawn by a hash of the names" if among else "",
        "treatment": columns.treatment,
        "covariates": f"{len(people.roles.kinds)}; numbers winsorised and standardised, categories as indicators",
        "proxies, known of everybody": ", ".join(map(str, people.roles.proxies)),
        "chosen": how(policy),
        "rounds": f"{plan['round'].nunique()}",
        "people a round, at most": f"{policy.batch_size:,}" if policy.batch_size else "",
        "people of the largest round": f"{size:,}" if policy.batch_size and size > policy.batch_size else "",
        "money a round, at most": money(float(policy.batch_cost)) if policy.batch_cost else "",
        "budget": f"{money(float(policy.budget))}; the plan costs {money(campaign.rounds['so far'].iloc[-1])}"
        + if_all(campaign),
        "budget found for an interval of the width": f"{policy.width:g}" if policy.width else "",
        "s.d. that covariates leave open, as guessed": f"{columns.sd}" if columns.sd else "",
        "share of it that proxies explain, as guessed": f"{policy.r2:g}" if policy.r2 else "",
        "quotas": "; ".join(policy.quotas) + " (in expected answers)" * bool(policy.quotas and campaign.is_uncertain),
        "clusters": f"{columns.cluster}: {_CLUSTERS[policy.cluster_rule]}" if columns.cluster else "",
        "excluded": "; ".join(f"{n:,} {who}" for who, n in counts.items() if n),
        "selected beforehand": f"{len(people.included):,}" if len(people.included) else "",
        "chance to answer": f"{columns.response}" if campaign.is_uncertain else "",
        "reserves": f"{reserves:,}" if reserves else "",
        "answers corrected": f"{mended:,}" if mended else "",
        "rounds recounted": f"{recounted:,}" if recounted else "",
        "effects to be estimated by": "weights (1 / chance to be drawn)" if policy.draw else "a model of outcomes",
    }
    return {what: words for what, words in told.items() if words}


_CLUSTERS = {"whole": "all of each or nobody", "one": "at most one person of each"}


def ruled(policy: Policy) -> str:
    """Name of the rule, and who proposed it."""
    entry = CRITERIA[policy.criterion]
    return entry.label + f" ({entry.source})" * (entry.source != "–")


def follows(policy: Policy) -> bool:
    """Whether the rule decides on anybody."""
    return policy.draw is None or (policy.draw == "criterion" and policy.uniform < 1)


def how(policy: Policy) -> str:
    """How people were chosen."""
    given = f" with {', '.join(f'{k} = {v}' for k, v in policy.parameters.items())}" * bool(policy.parameters)
    rule = f"{ruled(policy)}{given}"
    if policy.draw is None:
        is_random = CRITERIA[policy.criterion].factory.stochastic
        return f"{rule}, seed {policy.seed}" if is_random else f"{rule}, greedily by gain per cost"
    whom = f" of {TARGET_PHRASES[policy.target]}" + f" and in each group of {policy.by}" * (policy.by is not None)
    rest = rule if policy.draw == "criterion" else f"worth for the average effect{whom}"
    return f"a draw with known chances, seed {policy.seed}: {policy.uniform:.0%} spread uniformly" + (
        f", the rest by {rest}" * (policy.uniform < 1)
    )


def is_unsure(campaign: CampaignState) -> bool:
    """Whether anybody of the plan who has not answered yet may refuse."""
    people, plan = campaign.people, campaign.planned
    open_ = people.positions(plan.index[~plan.index.isin(list(campaign.answers))], "the plan")
    return bool((people.response[open_] < 1).any())


def if_all(campaign: CampaignState) -> str:
    """What a cost supposes where refusals would cost nothing."""
    return " if all answer" * (campaign.policy.pay == "answered" and is_unsure(campaign))


def money(value: float) -> str:
    """A sum, with hundredths where there are any."""
    return number(value, "{:,.0f}" if float(value).is_integer() else "{:,.2f}")
