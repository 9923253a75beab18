"""How a plan is made: money, rounds, quotas, the criterion; every setting checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from macal import acquisition
from macal.acquisition.catalogue import names_where, needs_no_model
from macal.arguments import Count, Positive, Share, Whole
from macal.registry import check_known
from macal.survey.constraints import Quota
from macal.survey.inference.targets import TARGETS
from macal.survey.sampling_frame import CLUSTER_RULES

SAMPLE = 50_000  # people of a sample of a table that is larger than memory; see the page *Exact and fast*
PAY = ("asked", "answered")
DRAWS = ("criterion", "effect")
UNIFORM = 0.2  # within about 1 % of the narrowest intervals on real tables; no weight above 5 times a uniform one


@dataclass(frozen=True)
class Policy:
    """How a plan is made.

    Its attributes are arguments of :class:`~macal.survey.planner.Planner`. Where no criterion is named, ``draw``
    becomes "effect" unless it is given, and ``criterion`` :data:`macal.acquisition.DEFAULT`.

    Raises:
        UnknownName: no such criterion, parameter, cluster rule, way to pay or to draw, or target.
        ValueError: a number out of range, neither budget nor width, a criterion that needs a model, or text that is no
            quota; a target, groups, a width or an s.d. without a draw for effects; parameters of no criterion.
    """

    budget: Positive | None
    criterion: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    batch_size: Count | None = None
    batch_cost: Positive | None = None
    quotas: Sequence[str] = ()
    cluster_rule: str = "whole"
    pay: str = "asked"
    seed: Whole = 0
    draw: str | None = None
    uniform: Share = UNIFORM
    sample: Count | str | None = None
    target: str = "all"
    by: str | None = None
    width: Positive | None = None
    r2: Share | None = None

    def __post_init__(self) -> None:
        if self.budget is None and self.width is None:
            raise ValueError("budget is missing, and there is no width to find it by")
        if isinstance(self.sample, str):
            check_known("sample", ["all"], self.sample)
        check_known("cluster rule", CLUSTER_RULES, self.cluster_rule)
        check_known("way to pay", PAY, self.pay)
        self._settle_draw()
        _ = self.parsed  # a quota that cannot be read is refused here
        if acquisition.get(self.criterion, **self.parameters).needs:
            raise ValueError(
                f"{self.criterion!r} needs a model of the answers so far, and a plan is made before them; take one of"
                f" {names_where(needs_no_model)}"
            )

    def _settle_draw(self) -> None:
        if self.criterion is None:
            draw = "effect" if self.draw is None else self.draw
            if draw == "effect" and self.parameters:
                raise ValueError(f"parameters {dict(self.parameters)} are of a criterion, and none is named")
            self.__dict__.update(draw=draw, criterion=acquisition.DEFAULT)
        if self.draw is not None:
            check_known("way to draw", DRAWS, self.draw)
        check_known("target", TARGETS, self.target)
        given = {"target": self.target if self.target != "all" else None, "by": self.by}
        given |= {"width": self.width, "r2": self.r2}
        used = [name for name, value in given.items() if value is not None]
        if self.draw != "effect" and used:
            raise ValueError(f"{' and '.join(used)} is for a draw for effects; name no criterion, or draw='effect'")

    @property
    def searched(self) -> float:
        """People of a table in memory among whom a plan is made at most."""
        if self.draw is not None or self.sample == "all":
            return np.inf
        return float(
            acquisition.CRITERIA[self.criterion].factory.max_candidates if self.sample is None else self.sample
        )

    @property
    def sampled(self) -> int:
        """People of a sample of a table that is larger than memory."""
        return SAMPLE if self.sample in (None, "all") else int(self.sample)

    @cached_property
    def parsed(self) -> list[Quota]:
        """The quotas, read."""
        return [Quota.parse(quota) for quota in self.quotas]
