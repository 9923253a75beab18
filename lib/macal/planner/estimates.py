"""Is it enough? What the answers of a campaign say so far, and what its next round is expected to add."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from macal import models
from macal.inference import EffectBelief, Estimate, Spread, StoppingRule, average_effect, spread
from macal.inference.weighted import LEAST
from macal.planner.answers import chance
from macal.planner.drawn import Lottery, drawn, lottery
from macal.planner.greedy import GreedyPlan
from macal.planner.people import Columns, People
from macal.planner.policy import Policy
from macal.problem import Split
from macal.registry import UnknownName
from macal.shapes import Indices, Outcomes
from macal.tables import frames


@dataclass(frozen=True, eq=False)
class Findings:
    """What the answers say, in the outcome's unit.

    Attributes:
        arm: value of the treatment whose effect it is, against the reference arm.
        people: a row per unit, by name, in the kind of the planner's table: ``effect``, and its interval ``low`` to
            ``high``, as the model believes.
        average: their mean effect and its interval, as the model believes.
        weighted: the average effect of those who may be asked, from drawn labels and their weights, and from outcomes
            that were known before, for whoever has one whatever it is; None where the plan was not drawn, somebody who
            was asked has not answered, or an arm has fewer than 10 answers.
        outlook: ``now``, after the ``next`` round and at the ``end`` of the plan: ``answers``, ``cost`` still to come,
            mean ``width`` of people's intervals, and that of the ``average``.
        verdict: what the stopping rule says; empty without one.
    """

    arm: Any
    people: Any
    average: Estimate
    weighted: Estimate | None
    outlook: pd.DataFrame
    verdict: str


class Estimates:
    """The part of a :class:`~macal.planner.Planner` that draws with known chances, and estimates.

    Attributes:
        columns: what the columns of the table are.
        rules: how a plan is made.
        answers: outcome of each unit who has answered, by name; None for one who will not.
        asked: rounds that have been asked.
        people: the units of the table.
    """

    columns: Columns
    rules: Policy
    answers: dict[Any, float | None]
    asked: int
    people: People
    _plan: pd.DataFrame | None
    _table: Any
    planned: pd.DataFrame
    _lottery: Lottery

    def estimate(
        self, model: models.Model | str = "joint-gp", rule: StoppingRule | None = None, arm: Any = None
    ) -> Findings:
        """Estimate every effect from the answers so far, with 95 % intervals, and forecast what is to come.

        Intervals are those of the model, its hyperparameters taken as known; the page *Is it enough?* says how often
        they hold.

        Args:
            model: a name of :func:`macal.models.names`, or a model; a Gaussian process of the covariates.
            rule: when to stop.
            arm: value of the treatment whose effect is estimated, against the reference arm, by a model of these two
                arms; must be given where there are several.

        Raises:
            UnknownName: no such model, or no such arm.
            ValueError: nothing is planned, the model has no posterior, an arm has no answer, or must be named.
        """
        people, plan, k = self.people, self._asked_and_to_come(), self._number(arm)
        pool, y = people.problem.pool, self._outcomes()
        t, mine, told = (pool.t == k).astype(np.int64), np.isin(pool.t, (0, k)), np.isfinite(y)
        known = np.flatnonzero(told & mine)
        model = models.as_model(model)
        if "prior" not in model.provides:
            raise ValueError(f"{type(model).__name__} has no posterior with a forecast; take 'joint-gp' or 'exact-gp'")
        if not 0 < t[known].sum() < len(known):
            n = int(t[known].sum())
            raise ValueError(f"both arms need answers, got {n} treated and {len(known) - n} control ones so far")
        (fitted,) = model.fit([models.Task(Split(pool.x[known], t[known], y[known]), seed=self.rules.seed)])
        labels = {stage: np.union1d(known, units[mine[units]]) for stage, units in plan.items()}
        weights = None if people.phase is None else people.phase.weights
        spreads = {stage: spread(fitted.prior, pool.x, t, units, weights) for stage, units in labels.items()}
        belief = EffectBelief(fitted.predict(pool.x).tau, spreads["now"], weights=weights)
        costs = {stage: float(people.cost[units[~told[units]]].sum()) for stage, units in plan.items()}
        outlook = pd.DataFrame([_looks(spreads[s], len(labels[s]), costs[s]) for s in labels], list(labels))
        effects = pd.DataFrame({"effect": belief.effects}, people.table.index)
        effects = effects.assign(low=belief.effects - belief.reach, high=belief.effects + belief.reach)
        verdict = "" if rule is None else _verdict(rule, belief, spreads["next"], costs["next"])
        weighted, effects = self._weighted(y, k), frames.like(effects, self._table)
        return Findings(people.arms[k], effects, belief.average, weighted, outlook, verdict)

    @property
    def arms_told(self) -> list[Any]:
        """Arms, by the treatment's value, that can be compared with the reference arm: both have an outcome."""
        told = np.unique(self.people.problem.pool.t[np.isfinite(self._outcomes())])
        return [self.people.arms[k] for k in told if k and 0 in told]

    def _number(self, arm: Any) -> int:
        """Number of an arm that is compared with the reference arm."""
        known = list(map(str, self.people.arms[1:]))
        if arm is None and len(known) > 1:
            raise ValueError(f"there are several arms, so arm must be one of {', '.join(known)}")
        if arm is not None and str(arm) not in known:
            raise UnknownName("arm", arm, known)
        return 1 if arm is None else 1 + known.index(str(arm))

    def rounds(self) -> pd.DataFrame:
        """What each round asks, spends and is expected to bring.

        Returns:
            One row per round: ``asked``, ``treated`` (of several arms, how many of each), ``cost`` (no more of
            refusals, where only answers are paid), ``answers`` (expected, or those that came), and the cost ``so far``.
        """
        plan, people = self.planned, self.people
        units = people.places(plan.index, "the plan")
        chances = zip(plan.index, people.response[units], strict=True)
        answers = [chance(self.answers.get(name, np.nan), float(response)) for name, response in chances]
        free = [self.rules.pay == "answered" and self.answers.get(name, 0.0) is None for name in plan.index]
        cost = np.where(free, 0.0, people.cost[units])
        t = people.problem.pool.t[units]
        each = {f"{self.columns.treatment} = {name}": t == arm for arm, name in enumerate(people.arms)}
        told = {"asked": 1, **({"treated": t} if self.columns.reference is None else each)}
        told |= {"cost": cost, "answers": answers}
        table = pd.DataFrame(told).groupby(plan["round"].to_numpy()).sum().rename_axis("round")
        return table.assign(**{"so far": table["cost"].cumsum()})

    def _asked_and_to_come(self) -> dict[str, Indices]:
        """Units who are expected to have answered: now, after the next round, at the end."""
        plan = self.planned
        last = {"now": -1, "next": self.asked + 1, "end": int(plan["round"].max())}
        open_ = ~plan.index.isin(list(self.answers))
        return {s: self.people.places(plan.index[open_ & (plan["round"] <= k)], "the plan") for s, k in last.items()}

    def _outcomes(self) -> Outcomes:
        """Outcome of each unit, (n,), NaN where it is not known."""
        people, y = self.people, np.full(len(self.people), np.nan)
        if people.problem.pool.y is not None:
            y[people.problem.start] = people.problem.pool.y[people.problem.start]
        told = {name: outcome for name, outcome in self.answers.items() if outcome is not None}
        y[people.places(told, "the answers")] = list(told.values())
        return y

    def _weighted(self, y: Outcomes, arm: int) -> Estimate | None:
        """The average effect of an arm by weights, from the rounds that have been asked."""
        if self.rules.draw is None or not self.asked:
            return None
        people, plan = self.people, self.planned
        out = plan[plan["round"] <= self.asked]
        units = people.places(out.index, "the plan")
        seen = np.isin(np.arange(len(people)), [*units, *people.problem.start])
        pool, told = people.problem.pool, np.bincount(people.problem.pool.t[seen], minlength=len(people.arms))
        if np.isnan(y[units]).any() or told.min() < LEAST:
            return None
        chances = np.ones(len(people))
        # the rounds are in random order: of the draw, those asked are a random part
        chances[units] = len(out) / len(plan) / out["weight"].to_numpy()
        rows = np.setdiff1d(np.arange(len(people)), np.setdiff1d(people.excluded, people.problem.start))
        y, phase = np.where(seen, y, np.nan), people.phase
        if phase is None:
            return average_effect(pool.x[rows], pool.t[rows], y[rows], chances[rows], arm=arm)
        chances[units] /= phase.chances[units]
        drawn = {"weights": phase.weights[rows], "strata": phase.cells[rows]}
        return average_effect(pool.x[rows], pool.t[rows], y[rows], chances[rows], arm=arm, **drawn)

    def _batches(self, task: GreedyPlan) -> list[Indices]:
        """Rounds of a plan that are to come: a draw is made once."""
        people, rules, plan = self.people, self.rules, self._plan
        if rules.draw is None:
            return task.rounds().filled
        if plan is not None:
            later = plan[plan["round"] > self.asked]
            return [people.places(rows.index, "the plan") for _, rows in later.groupby("round")]
        self._lottery = lottery(people, rules, task)
        return drawn(people, rules, self._lottery)

    def _weights(self, units: Indices) -> dict[str, Outcomes]:
        """The column ``weight`` of drawn units, 1 over their chance."""
        if self.rules.draw is None:
            return {}
        if self._plan is None:
            phase = self.people.phase
            return {"weight": (1 if phase is None else phase.weights[units]) / self._lottery.chances[units]}
        return {"weight": self._plan["weight"].loc[self.people.table.index[units]].to_numpy()}


def _looks(found: Spread, answers: int, cost: float) -> dict[str, float | int]:
    belief = EffectBelief(found.effects, found)
    return {"answers": answers, "cost": cost, "width": 2 * float(belief.reach.mean()), "average": belief.average.width}


def _verdict(rule: StoppingRule, belief: EffectBelief, ahead: Spread, cost: float) -> str:
    return rule.says(belief, ahead, cost) if cost else "enough: nobody is left to be asked"
