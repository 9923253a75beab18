"""Later rounds of a draw, drawn anew with chances that follow the answers so far; see :mod:`macal.inference.waves`.

A draw's rounds are waves. Whoever was drawn at first is in the wave of her round; the others are split among the waves
by lot, in the same proportions. Since the first draw and the split are independent, each person was drawn with her
first chance, whichever her wave is; and the waves are a split of all by lot, made before anybody answered. A wave that
has not been asked may thus be drawn anew, among its own people, with other chances. A weight is 1 over the chance in
one's own wave, as that of the first draw is.

Nobody changes her wave; whoever was left out of her round is asked in a later one, with the chance that she had. A plan
depends on the answers of the rounds that have been asked alone, not on how often it was made. Where the answers do not
say more, a wave is as it was drawn at first.

Only plain draws for the average effect learn: no quotas, one cost, no clusters, nobody who must be asked, no sample,
everybody answers if asked, no other target and no groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from macal.inference import crossed_propensity, draw, split_waves, wave_chances
from macal.inference.balanced import Few
from macal.planner.campaign import CampaignState
from macal.planner.drawn import Lottery, drawn, lottery
from macal.planner.greedy import GreedyPlan
from macal.planner.learned import LearnedChances
from macal.shapes import Arms


@dataclass(frozen=True, eq=False)
class Redrawn:
    """Rounds that have not been asked, as they are drawn now.

    Attributes:
        batches: units of each round.
        chosen: who was drawn with which chance; None where the draw stands.
        learned: what the chances follow; None where they never followed anything.
    """

    batches: Sequence[Few]
    chosen: Lottery | None = None
    learned: LearnedChances | None = None


def learns(campaign: CampaignState) -> bool:
    """Whether a campaign's draw may learn; see the module."""
    people, policy = campaign.people, campaign.policy
    plain = policy.draw == "effect" and policy.target == "all" and policy.by is None and not policy.parsed
    alike = bool((people.cost == people.cost[0]).all()) and not campaign.is_uncertain
    return plain and alike and people.phase is None and not len(people.included) and not (people.clusters >= 0).any()


def waves_of(campaign: CampaignState, chosen: Lottery, batches: Sequence[Few]) -> Arms:
    """Number of each unit's wave, from 0, (n,); -1 for whoever could not be drawn.

    Args:
        campaign: of a draw that learns.
        chosen: chances of the first draw.
        batches: units of its rounds.
    """
    free, wave = np.flatnonzero(chosen.chances), np.full(len(campaign.people), -1)
    for k, batch in enumerate(batches):
        wave[batch] = k
    rest = np.setdiff1d(free, np.flatnonzero(wave >= 0))
    rng = np.random.default_rng([campaign.policy.seed, free.size, 2])
    wave[rest] = split_waves(len(rest), [len(batch) for batch in batches], rng)
    return wave


def redrawn(campaign: CampaignState, task: GreedyPlan) -> Redrawn:
    """Draw the rounds that have not been asked anew; it stands where it does not learn, or nobody is left to draw.

    Args:
        campaign: with a plan.
        task: what is to be planned.
    """
    people, policy, asked, plan = campaign.people, campaign.policy, campaign.asked, campaign.planned
    later = plan[plan["round"] > asked]
    stand = Redrawn([people.places(part.index, "the plan") for _, part in later.groupby("round")])
    if not learns(campaign) or not asked:
        return stand
    chosen = lottery(people, policy, task)
    first = drawn(people, policy, chosen)
    wave, y, chances = waves_of(campaign, chosen, first), campaign.outcomes, chosen.chances.copy()
    ahead = people.places(list(campaign.answers), "the plan")
    given, units = np.ones(len(people)), people.places(plan.index, "the plan")
    given[units] = 1 / plan["weight"].to_numpy()
    u = float(policy.uniform)
    followed = (np.unique(wave[units[~np.isclose(given[units], chances[units], rtol=1e-9)]]) + 1).tolist()
    if len(first) <= asked or (wave[ahead] >= asked).any():
        told = LearnedChances(len(ahead), 0, 0, u, u, u, 1.0, followed=followed)
        return replace(stand, learned=told) if followed else stand
    late = units[(plan["round"] > asked).to_numpy() & (wave[units] < asked)]  # left out of their rounds
    chances[late] = given[late]
    x, t = people.problem.pool.x.astype(np.float64), people.problem.pool.t
    e, batches, found = crossed_propensity(x, t, policy.seed), [], []
    for k, batch in enumerate(first[asked:], asked):
        units = np.flatnonzero(wave == k)
        now = wave_chances(x, t, y, given, units, len(batch), e, policy.uniform, policy.seed)
        found.append(now)
        if now.learnt:
            chances[units] = now.chances
            rng = np.random.default_rng([policy.seed, len(people), asked, k, 3])
            batches.append(units[draw(now.chances, rng)])
        else:
            batches.append(batch)
    batches[0] = np.concatenate([late, batches[0]])
    low, high = (float(end(one.uniform for one in found)) for end in (min, max))
    ratio = float(np.mean([one.ratio for one in found]))
    told = LearnedChances(found[0].answers, len(found), sum(one.learnt for one in found), low, high, u, ratio)
    told = replace(told, followed=[k for k in followed if k <= asked])
    return Redrawn(batches, replace(chosen, chances=chances), told)
