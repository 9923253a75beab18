"""How a plan is made: money, rounds, quotas, the criterion; every setting checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from macal import acquisition
from macal.acquisition.catalogue import names_where, needs_no_model
from macal.arguments import Count, Positive, Share, Whole
from macal.registry import check_known
from macal.survey.columns import CLUSTER_RULES
from macal.survey.constraints import Quota
from macal.survey.inference.targets import TARGETS
from macal.survey.options import number, option, pair
from macal.survey.options import sample as read_sample

SAMPLE = 50_000  # people of a sample of a table that is larger than memory; see the page *Exact and fast*
PAY = ("asked", "answered")
DRAWS = ("criterion", "effect")
_MONEY, _SELECTION, _LARGE = "money and rounds", "selection", "large tables"
_QUOTA = (
    "'region>=10' (of each), 'sex=f<=40%', 'region=north|south>=10', 'age=65..>=10', 'age=18..64>=10'; a value that"
    ' holds one of <>=|" stands in quotes: \'size="5|6">=10\'; repeatable'
)
UNIFORM = 0.2  # within about 1 % of the narrowest intervals on real tables; no weight above 5 times a uniform one


@dataclass(frozen=True)
class Policy:
    """How a plan is made: arguments of :class:`~macal.survey.planner.Planner`.

    Without a criterion, ``draw`` means "effect".

    Raises:
        UnknownName: no such criterion, parameter, cluster rule, way to pay or to draw, or target.
        ValueError: a number out of range, neither budget nor width, a criterion that needs a model, or text that is no
            quota; a target, groups, a width or an s.d. without a draw for effects; parameters of no criterion.
    """

    budget: Positive | None = option(
        "money for the whole plan, in the unit of the costs", None, type=number, one_of="money", group=_MONEY
    )
    width: Positive | None = option(
        "target width of the average effect's 95% interval; finds the smallest budget expected to reach it",
        None,
        type=number,
        one_of="money",
        group=_MONEY,
    )
    pay: str = option(
        "what the budget pays for: everyone asked (default), or answers only", "asked", choices=PAY, group=_MONEY
    )
    batch_size: Count | None = option(
        "people per round, to replan, look or stop between rounds (default: all in one round)",
        None,
        type=int,
        group=_MONEY,
    )
    batch_cost: Positive | None = option(
        "money per round, instead of a number of people", None, type=number, group=_MONEY
    )
    quotas: Sequence[str] = option(
        "stratum constraints, in expected answers", (), action="append", flag="quota", written=_QUOTA, group=_SELECTION
    )
    cluster_rule: str = option(
        "whole: survey entire clusters (default); one: at most one person per cluster, where answers are alike",
        "whole",
        choices=CLUSTER_RULES,
        group=_SELECTION,
    )
    criterion: str | None = option(
        "select people for individual effects by this rule, instead of sampling for the average effect:"
        f" {names_where(needs_no_model)}".replace("'", ""),
        None,
        group=_SELECTION,
    )
    parameters: Mapping[str, Any] = option(
        "parameters of the criterion, such as alpha, MACAL's similarity weight",
        dict,
        type=pair,
        action="append",
        flag="parameter",
        written="alpha=1.0, repeatable",
        group=_SELECTION,
    )
    draw: str | None = option(
        "probability sample, with weights: effect, for the average effect (default without a criterion); criterion, by"
        " its plan mixed with a uniform sample",
        None,
        choices=DRAWS,
        group=_SELECTION,
    )
    uniform: Share = option(
        "share of the sample allocated uniformly; raise it if the data will serve other questions, 1 for equal"
        f" probabilities (default: {UNIFORM}, on real tables within about 1% of the narrowest intervals)",
        UNIFORM,
        type=number,
        flag="uniform-share",
        group=_SELECTION,
    )
    target: str = option(
        "population of the average effect: all, treated, or overlap, those who could be in either arm (default: all)",
        "all",
        choices=TARGETS,
        group=_SELECTION,
    )
    by: str | None = option(
        "column: an effect for each of its values, with simultaneous intervals", None, group=_SELECTION
    )
    r2: Share | None = option(
        "share of the residual variance that the proxies explain within an arm (default: from known outcomes)",
        None,
        type=number,
        group=_SELECTION,
    )
    seed: Whole = option("seed of the random numbers", 0, type=int, group=_SELECTION)
    sample: Count | str | None = option(
        "number of people to plan among, or all (default: by rule and table; more if quotas make many groups)",
        None,
        type=read_sample,
        group=_LARGE,
    )

    def __post_init__(self) -> None:
        if self.budget is None and self.width is None:
            raise ValueError("a plan is made for a budget, or for the width of an interval; got neither")
        if isinstance(self.sample, str):
            check_known("sample", ["all"], self.sample)
        check_known("cluster rule", CLUSTER_RULES, self.cluster_rule)
        check_known("way to pay", PAY, self.pay)
        self._check_design()
        _ = self.parsed  # a quota that cannot be read is refused here
        if acquisition.get(self.rule, **self.parameters).needs:
            raise ValueError(
                f"{self.rule!r} needs a model of the answers so far, and a plan is made before them; take one of"
                f" {names_where(needs_no_model)}"
            )

    def _check_design(self) -> None:
        if self.draw is not None:
            check_known("way to draw", DRAWS, self.draw)
        if self.criterion is None and self.is_for_effect and self.parameters:
            raise ValueError(f"parameters {dict(self.parameters)} are of a criterion, and none is named")
        check_known("target", TARGETS, self.target)
        given = {"target": self.target if self.target != "all" else None, "by": self.by}
        given |= {"width": self.width, "r2": self.r2}
        used = [name for name, value in given.items() if value is not None]
        if used and not self.is_for_effect:
            raise ValueError(
                f"{' and '.join(used)} is for a probability sample for effects; name no criterion, or draw='effect'"
            )

    @property
    def is_drawn(self) -> bool:
        """Whether people are a probability sample, not selected greedily."""
        return self.draw is not None or self.criterion is None

    @property
    def is_for_effect(self) -> bool:
        """Whether they are sampled for the average effect, without a criterion's plan."""
        return self.is_drawn and self.draw != "criterion"

    @property
    def rule(self) -> str:
        """Name of the criterion; of samples for the average effect, of the plan without sample."""
        return self.criterion or acquisition.DEFAULT

    @property
    def searched(self) -> float:
        """Largest number of people of a table in memory to plan among."""
        if self.is_drawn or self.sample == "all":
            return np.inf
        return float(acquisition.CRITERIA[self.rule].factory.max_candidates if self.sample is None else self.sample)

    @property
    def sampled(self) -> int:
        """People of a sample of a table that is larger than memory."""
        return SAMPLE if self.sample in (None, "all") else int(self.sample)

    @cached_property
    def parsed(self) -> list[Quota]:
        """The quotas, read."""
        return [Quota.parse(quota) for quota in self.quotas]
