"""Is it enough? What the answers of a campaign say so far, and what its next round is expected to add."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from macal import models
from macal.inference import EffectBelief, Estimate, Spread, StoppingRule, average_effect, spread
from macal.inference.weighted import LEAST
from macal.planner import frames
from macal.planner.drawn import Lottery, drawn, lottery
from macal.planner.greedy import GreedyPlan
from macal.planner.people import Columns, People
from macal.planner.policy import Policy
from macal.problem import Split
from macal.shapes import Indices, Outcomes


@dataclass(frozen=True, eq=False)
class Findings:
    """What the answers say, in the outcome's unit.

    Attributes:
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
    _lottery: Lottery

    def estimate(self, model: models.Model | str = "joint-gp", rule: StoppingRule | None = None) -> Findings:
        """Estimate every effect from the answers so far, with 95 % intervals, and forecast what is to come.

        Intervals are those of the model, its hyperparameters taken as known; the page *Is it enough?* says how often
        they hold.

        Args:
            model: a name of :func:`macal.models.names`, or a model; a Gaussian process of the covariates.
            rule: when to stop.

        Raises:
            UnknownName: no such model.
            ValueError: nothing is planned, the model has no posterior, or an arm has no answer.
        """
        people, plan = self.people, self._asked_and_to_come()
        pool, y = people.problem.pool, self._outcomes()
        known = np.flatnonzero(np.isfinite(y))
        model = models.as_model(model)
        if "prior" not in model.provides:
            raise ValueError(f"{type(model).__name__} has no posterior with a forecast; take 'joint-gp' or 'exact-gp'")
        if not self.both_arms_told:
            told = int((pool.t[known] == 1).sum())
            raise ValueError(f"both arms need answers, got {told} treated and {len(known) - told} control ones so far")
        (fitted,) = model.fit([models.Task(Split(pool.x[known], pool.t[known], y[known]), seed=self.rules.seed)])
        labels = {stage: np.union1d(known, units) for stage, units in plan.items()}
        spreads = {stage: spread(fitted.prior, pool.x, pool.t, units) for stage, units in labels.items()}
        belief = EffectBelief(fitted.predict(pool.x).tau, spreads["now"])
        costs = {stage: float(people.cost[np.setdiff1d(units, known)].sum()) for stage, units in labels.items()}
        outlook = pd.DataFrame([_looks(spreads[s], len(labels[s]), costs[s]) for s in labels], list(labels))
        told = pd.DataFrame({"effect": belief.effects, "reach": belief.reach}, people.table.index)
        told = told.assign(low=told.effect - told.reach, high=told.effect + told.reach).drop(columns="reach")
        verdict = "" if rule is None else _verdict(rule, belief, spreads["next"], costs["next"])
        return Findings(frames.like(told, self._table), belief.average, self._weighted(y), outlook, verdict)

    @property
    def both_arms_told(self) -> bool:
        """Whether both arms have an outcome, from which effects can be estimated."""
        return len(np.unique(self.people.problem.pool.t[np.isfinite(self._outcomes())])) == 2

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

    def _weighted(self, y: Outcomes) -> Estimate | None:
        """The average effect by weights, from the rounds that have been asked."""
        if self.rules.draw is None or not self.asked:
            return None
        people, plan = self.people, self.planned
        out = plan[plan["round"] <= self.asked]
        units = people.places(out.index, "the plan")
        seen = np.isin(np.arange(len(people)), [*units, *people.problem.start])
        pool, told = people.problem.pool, np.bincount(people.problem.pool.t[seen], minlength=2)
        if np.isnan(y[units]).any() or told.min() < LEAST:
            return None
        chances = np.ones(len(people))
        # the rounds are in random order: of the draw, those asked are a random part
        chances[units] = len(out) / len(plan) / out["weight"].to_numpy()
        rows = np.setdiff1d(np.arange(len(people)), np.setdiff1d(people.excluded, people.problem.start))
        return average_effect(pool.x[rows], pool.t[rows], np.where(seen, y, np.nan)[rows], chances[rows])

    def _batches(self, task: GreedyPlan) -> list[Indices]:
        """Rounds of a plan that are to come: a draw is made once."""
        people, rules, plan = self.people, self.rules, self._plan
        if rules.draw is None:
            return task.batches()
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
            return {"weight": 1 / self._lottery.chances[units]}
        return {"weight": self._plan["weight"].loc[self.people.table.index[units]].to_numpy()}


def _looks(found: Spread, answers: int, cost: float) -> dict[str, float | int]:
    belief = EffectBelief(found.effects, found)
    return {"answers": answers, "cost": cost, "width": 2 * float(belief.reach.mean()), "average": belief.average.width}


def _verdict(rule: StoppingRule, belief: EffectBelief, ahead: Spread, cost: float) -> str:
    return rule.says(belief, ahead, cost) if cost else "enough: nobody is left to be asked"
