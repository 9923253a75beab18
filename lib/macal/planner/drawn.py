"""A plan whose people are drawn, each with a chance that is known; see :mod:`macal.inference.sampling`."""

import numpy as np

from macal.inference import crossed_propensity, draw, inclusion, worth_for_ate
from macal.planner.greedy import GreedyPlan
from macal.planner.people import People
from macal.planner.policy import Policy
from macal.shapes import Indices, Outcomes


def chances_of(people: People, rules: Policy, ranked: GreedyPlan) -> Outcomes:
    """Chance of each unit to be drawn, (n,): 0 where she is known or excluded.

    Args:
        people: the table.
        rules: how a plan is made; the chances follow the criterion's plan or the worth for the average effect.
        ranked: the plan that the criterion makes.

    Raises:
        ValueError: demands that a draw with known chances cannot keep to.
    """
    _refuse(people, rules)
    x, t, free = people.problem.pool.x, people.problem.pool.t, np.ones(len(people), bool)
    free[people.problem.start] = free[people.excluded] = False
    size = min(int(rules.budget / people.cost[0] * (1 + 1e-9)), int(free.sum()))
    if rules.draw == "effect":
        worth = worth_for_ate(crossed_propensity(x.astype(np.float64), t, rules.seed), t)
    else:
        picks = np.concatenate([np.empty(0, np.int64), *ranked.batches()])
        worth, size = np.isin(np.arange(len(people)), picks).astype(float), len(picks)
    chances = np.zeros(len(people))
    if size:
        chances[free] = inclusion(worth[free], size, rules.uniform)
    return chances


def drawn(people: People, rules: Policy, chances: Outcomes) -> list[Indices]:
    """Draw the rounds of a plan, in random order: each is by itself a sample with chances in the same proportions."""
    free = np.flatnonzero(chances)
    if not free.size:
        return []
    units = free[draw(chances[free], np.random.default_rng([rules.seed, free.size]))]
    limits = [rules.batch_size, rules.batch_cost and int(rules.batch_cost / people.cost[0] * (1 + 1e-9))]
    size = min((int(k) for k in limits if k is not None), default=len(units))
    if not size:
        raise ValueError(f"a round of {rules.batch_cost:g} buys nobody: an answer costs {people.cost[0]:g}")
    return [units[k : k + size] for k in range(0, len(units), size)]


def _refuse(people: People, rules: Policy) -> None:
    found = {
        "quotas": len(rules.quotas) > 0,
        "clusters": bool((people.clusters >= 0).any()),
        "people who must be asked": len(people.included) > 0,
        "costs that differ": bool((people.cost != people.cost[0]).any()),
        "chances to answer below 1": bool((people.response != 1).any()),
    }
    if wrong := " and ".join(name for name, there in found.items() if there):
        raise ValueError(f"a draw with known chances cannot keep to {wrong}; leave that out, or plan without draw")
