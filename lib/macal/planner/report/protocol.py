"""How a plan was made, as text for a protocol."""

from typing import TYPE_CHECKING

from macal.acquisition import CRITERIA
from macal.planner.report.page import number

if TYPE_CHECKING:
    from macal.planner.planner import Planner


def protocol(planner: "Planner") -> str:
    """Describe how a plan was made, for a protocol.

    Args:
        planner: with a plan.
    """
    rules, people, columns = planner.rules, planner.people, planner.columns
    entry, plan = CRITERIA[rules.criterion], planner.planned
    asked = (
        f"{len(plan):,} of {people.population:,} people were selected for follow-up before any of their outcomes was"
        " known"
    )
    if people.phase is not None:
        asked += f", among a sample of {len(people):,} drawn by a hash of their names"
    per_round = [
        f"{rules.batch_size} people" if rules.batch_size else "",
        "" if rules.batch_cost is None else f"{money(rules.batch_cost)} in money",
    ]
    told = [
        f"{asked}, from {len(people.roles.kinds)} baseline covariates and the treatment {columns.treatment!r}.",
        f"Numbers were standardised, categories coded as indicators; selection followed {entry.label} ({entry.source})"
        + (f" with {', '.join(f'{k} = {v}' for k, v in rules.parameters.items())}" if rules.parameters else "")
        + f", as implemented in macal, greedily by gain per cost, in {plan['round'].nunique()} rounds"
        + f" of at most {' and '.join(filter(None, per_round))}." * any(per_round),
        f"The budget was {rules.budget:,.10g}, and the plan costs {planner.rounds()['so far'].iloc[-1]:,.10g}.",
    ]
    told += [f"Quotas: {'; '.join(rules.quotas)}."] * bool(rules.quotas)
    told += [_CLUSTERS[rules.cluster_rule].format(columns.cluster)] * bool(columns.cluster)
    told += [f"{len(people.excluded):,} people were excluded."] * bool(len(people.excluded))
    told += [f"{len(people.included):,} people were selected beforehand."] * bool(len(people.included))
    if (people.response < 1).any():
        told.append(
            "Selection took each person's chance to answer into account, and named a reserve where there was one."
        )
    if planner.audited is not None:
        told += planner.audited.told()
    told.append(
        "As the labelled set was chosen by its covariates, its means are not those of the population: effects are to be"
        " estimated by a model of the outcome given covariates and treatment, averaged over everybody."
    )
    return " ".join(told)


_CLUSTERS = {
    "whole": "Of each cluster ({}) all were selected or nobody.",
    "one": "Of each cluster ({}) at most one person was selected.",
}


def money(value: float) -> str:
    """A sum, with hundredths where there are any."""
    return number(value, "{:,.0f}" if float(value).is_integer() else "{:,.2f}")
