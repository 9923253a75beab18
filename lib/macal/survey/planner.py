"""The planner: a campaign under way, in money, from a table to a plan, to answers, to estimates."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from macal import models
from macal.arguments import Count, Positive, fits, hinted
from macal.storage import atomic
from macal.storage.workers import executor, processors
from macal.survey import record, steps
from macal.survey.audit import Audit
from macal.survey.campaign import CampaignState
from macal.survey.columns import Columns
from macal.survey.designs import redrawn
from macal.survey.estimates import Findings, estimate_effects
from macal.survey.facts import Fact
from macal.survey.forecast import Forecast, forecast
from macal.survey.inference import StoppingRule
from macal.survey.notes import assumed, notes
from macal.survey.options import described, parted, signature_of
from macal.survey.policy import UNIFORM, Policy
from macal.survey.report import document
from macal.survey.report.data_warnings import warnings as doubts_of
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.tables import frames
from macal.survey.tables.sample import Sample, sampled

MEMORY = 8e9  # bytes that a plan may take
PROCESS = 5e8  # bytes of a process that has done nothing yet
JOBS = 4  # of each worker
_KINDS = Columns, Policy


class Doubt(UserWarning):
    """What is doubtful of a table, of a plan or of answers: values that lie far off, poor overlap, too much spent."""


class Planner:
    """Plans whose outcomes to collect under a budget and constraints, takes the answers, replans, and estimates.

    Where a step fails, nothing has changed: the planner holds a :class:`~macal.survey.campaign.CampaignState`, and
    takes the next one when it is whole.

    Args:
        {settings}

    Attributes:
        campaign: as it stands.

    Raises:
        UnknownName: an unknown criterion, parameter, rule or way.
        ValueError: two roles for one column; a number out of range; text that is no quota; both budget and width, or
            neither.

    >>> people = pd.DataFrame({"age": [30, 31, 50, 52, 70, 71], "free": [0, 1] * 3, "fee": [9, 9, 5, 5, 7, 7]})
    >>> planner = Planner("free", budget=26, cost="fee", batch_size=2, criterion="macal")
    >>> planner.plan(people).reset_index()
       row  round  free  cost
    0    6      1     1   7.0
    1    5      1     0   7.0
    2    4      2     1   5.0
    3    3      2     0   5.0
    >>> planner.observe({6: 0.5, 5: None})
    >>> planner.replan().index.tolist()
    [6, 5, 4, 3]
    """

    def __init__(self, treatment: str, budget: Positive | None = None, **settings: Any) -> None:
        given = {"treatment": treatment, "budget": budget, **settings}
        columns, policy = parted({k: v for k, v in given.items() if k != "parameters" or v is not None}, *_KINDS)
        if budget is not None and policy.width is not None:
            raise ValueError("a plan is made for a budget, or for the width of an interval; got both")
        if not policy.is_drawn and policy.uniform != UNIFORM:
            raise ValueError("uniform is for a probability sample; leave it out, or set draw='criterion'")
        if columns.proxies and not policy.is_drawn:
            raise ValueError(
                "proxies are for weighted estimates from a probability sample; leave them out, or set draw=..."
            )
        if columns.sd is not None and not policy.is_for_effect:
            raise ValueError("sd is for a probability sample for effects; name no criterion, or draw='effect'")
        if policy.r2 is not None and not columns.proxies:
            raise ValueError("r2 is a share that proxies explain, and none is named (proxies, --proxy)")
        self.campaign = CampaignState(columns, policy)

    @hinted
    def plan(self, table: Any) -> Any:
        """Plan whose outcomes to collect.

        Args:
            table: one row per unit: a DataFrame of pandas, polars or Arrow, or a sample of a larger table
                (:meth:`sample`). Where units have names, the order of the rows does not matter.

        Returns:
            One row per unit, in the order in which they are to be asked, in the kind of ``table``: its name (the index
            of a pandas table), ``round`` from 1, the treatment, ``cost``; and, where some may not answer,
            ``response``, the probability of an answer, and ``reserve``, a substitute; where people are sampled,
            ``weight``, 1 over the chance to be, and with reserves ``reserve_weight``, theirs if they were asked at
            first, 0 where there is none.

        Warns:
            Doubt: values of the table lie far off, or overlap is poor.

        Raises:
            Conflict: no plan meets all demands; it names the smallest set that conflicts.
            UnknownName: a column that the table does not have.
            ValueError: a column that cannot be what it is said to be; money for no unit.
        """
        self.campaign = steps.start_campaign(self.campaign, table)
        return self._plan()

    @hinted
    def observe(self, answers: Mapping[Any, Any] | pd.Series | pd.DataFrame, through: int | None = None) -> None:
        """Take answers, in any order and number; who has none yet is waited for.

        One plan serves several outcomes, as its inclusion probabilities are the same for all. Others may be added
        later, as an endline after a midline: units without a row there are waited for, and a missing value is a refusal
        of that outcome. Rounds, money and reserves go by whether any outcome came; units without any have refused.

        Args:
            answers: name of a unit -> outcome, missing where a unit will not answer: a mapping or a pandas Series; or a
                pandas DataFrame, whose columns are the outcomes. A Series by the name of one of several is of that.
            through: rounds that have been asked; by default those before, and each one after them with a new
                answer, up to the first without one. Of a round after that an answer counts for those who
                gave it alone.

        Raises:
            ValueError: nothing is planned; a unit who was not to be asked, or whose outcome was another one before; an
                outcome that is no finite number, or cannot be told apart from another, or from a column of the table.
        """
        if isinstance(answers, pd.Series) and answers.name in self.campaign.by_outcome:
            answers = answers.to_frame()
        given: dict[Any, Any] = dict(answers.items()) if isinstance(answers, pd.DataFrame) else {None: answers}
        if isinstance(answers, pd.DataFrame) and (
            [*given] != [*answers] or not given or not fits([*given], Sequence[str])
        ):
            raise ValueError(f"answers must have columns with the names of outcomes, each once, got {[*answers]}")
        self.campaign = steps.observed(self.campaign, given, through)

    @hinted
    def correct(
        self, name: Hashable, change: str, by: str, outcome: bool | float | int | None = None, of: str | None = None
    ) -> None:
        """Correct what is known of a unit; see :func:`macal.survey.steps.corrected`."""
        (own,) = self.people.table.index[self.people.positions([name], "the table")].tolist()
        self.campaign = steps.corrected(self.campaign, own, change, by, outcome, of)

    @hinted
    def recount(self, rounds: int, by: str) -> None:
        """Say how many rounds have been asked; see :func:`macal.survey.steps.recounted`."""
        self.campaign = steps.recounted(self.campaign, rounds, by)

    @hinted
    def replan(self, *, budget: Positive | None = None, quotas: Sequence[str] | None = None) -> Any:
        """Keep the rounds that have been asked, and plan the others anew with the money that is left.

        Units that were asked and have not answered are pending: they count by their response
        probability, answers as one.
        A reserve for a unit that has refused keeps that place, and is not planned again.
        A draw keeps its later rounds as they were drawn.

        Args:
            budget: for the whole plan, in the place of the one before.
            quotas: in the place of those before; none are left by an empty list.

        Returns:
            See :meth:`plan`: the rounds that have been asked, and after them the new ones.

        Warns:
            Doubt: see :meth:`plan`; too much was spent, or outcomes lie far off.

        Raises:
            Conflict: no plan meets all demands any more.
            ValueError: nothing is planned yet, or all the money is spent.
        """
        self.campaign = steps.replanned(self.campaign, budget, quotas)
        return self._plan()

    def _plan(self) -> Any:
        for words in doubted(self.campaign):
            warnings.warn(words, Doubt, stacklevel=4)
        return frames.like(self.planned, self.campaign.table)

    @hinted
    def sample(
        self, path: Path | str, memory: float = MEMORY, scheduler: str | None = None, workers: Count | None = None
    ) -> Sample:
        """Draw the sample that a plan of a table needs which is larger than memory, by one pass over it.

        Args:
            path: of a CSV or Parquet file, of a folder of Parquet files, or of a Zarr group.
            memory: of this process and all that it starts, bytes.
            scheduler: None for processes of this machine, "local" for a Dask cluster started here, or one's address.
            workers: processes that are started here; one for each processor by default.

        Raises:
            OSError: there is no such file.
            UnknownName: a column that the table does not have.
            ValueError: a column that cannot be what it is said to be; a part that is damaged, or too large.
        """
        campaign = self.campaign
        campaign.columns.check()
        table, workers = frames.opened(Path(path)), workers or processors()
        share = memory / (1 + (workers if workers > 1 or scheduler == "local" else 0))
        if share < PROCESS:
            least = PROCESS * memory / share
            raise ValueError(f"memory must be at least {least / 1e9:g}GB here, got {memory / 1e9:g}GB")
        table.check_memory(share - PROCESS)
        with executor(scheduler, workers, share) as calls:
            wanted = campaign.sample_request(campaign.policy.sampled, steps.AUDIT_SIZE)
            found = sampled(table, campaign.columns.hints(), wanted, calls, JOBS * workers)
        campaign.columns.check_ranges(found.columns)
        return found

    def forecast(self) -> Forecast | None:
        """What the draw is expected to give, by the answers so far; see :func:`macal.survey.forecast.forecast`."""
        self.campaign = redrawn(self.campaign)
        return forecast(self.campaign)

    def facts(self) -> list[Fact]:
        """What is to be known of the plan as it stands: each a sentence with its ``kind`` and its ``values``.

        Raises:
            ValueError: nothing is planned yet.
        """
        self.campaign = redrawn(self.campaign)
        return [*notes(self.campaign), *assumed(self.campaign)]

    def audit(self) -> Audit:
        """Audit the plan that was made last, among a sample; see :mod:`macal.survey.audit`.

        Raises:
            ValueError: nothing was planned among a sample here, or by a rule that does not say what units are worth.
        """
        self.campaign = steps.audit_of(self.campaign)
        return self.campaign.audit

    @hinted
    def estimate(
        self,
        model: models.Model | str = "joint-gp",
        rule: StoppingRule | None = None,
        arm: Any = None,
        target: str | None = None,
        by: str | None = None,
        bounds: tuple[float | int, float | int] | None = None,
        looks: str | None = None,
        reference: Any = None,
        individual: bool = False,
        outcome: str | None = None,
        simultaneous: bool = False,
    ) -> Findings:
        """Estimate every effect from the answers so far; see :func:`macal.survey.estimates.estimate_effects`."""
        of_whom = target, by, bounds, looks, reference
        return estimate_effects(self.campaign, model, rule, arm, *of_whom, individual, outcome, simultaneous)

    @hinted
    def report(self, path: Path | str, found: Sequence[Findings] = ()) -> None:
        """Write a report of the plan, and of the answers: one HTML file that asks nothing of any other machine.

        Args:
            path: of the file.
            found: what :meth:`estimate` has found, of one arm or several; by default it is asked anew of every arm,
                once that and the reference arm have an answer.

        Raises:
            ImportError: matplotlib is missing.
            NotFitted: the model of the answers cannot be fitted.
            OSError: the file cannot be written.
            ValueError: nothing is planned yet.
        """
        atomic.write_step({Path(path): document(self.campaign, found).encode()})

    @hinted
    def save(self, path: Path | str) -> None:
        """Write the campaign to a JSON file: its settings, the plan, the answers; of the table a fingerprint.

        Raises:
            OSError: the file cannot be written.
            Stale: the file was written by another process since this campaign was read from it.
            ValueError: nothing is planned yet, or a unit's name is neither text nor a whole number.
        """
        self.campaign = record.saved(self.campaign, Path(path))

    @classmethod
    @hinted
    def load(cls, path: Path | str, table: Any = None) -> "Planner":
        """Take up a campaign from its file, here or on another machine.

        Args:
            path: of the file.
            table: that it was planned on; orders of rows and columns do not matter, nor columns that the plan does not
                use. A campaign that was planned on a sample holds that sample, and needs no table.

        Raises:
            OSError: the file cannot be read.
            Damaged: the file is no campaign, or not as it was written.
            ValueError: another table.
        """
        return cls.of(record.campaign_of(record.read(Path(path)), table))

    @classmethod
    def of(cls, campaign: CampaignState) -> "Planner":
        """Take up a campaign."""
        planner = cls.__new__(cls)
        planner.campaign = campaign
        return planner

    @property
    def people(self) -> SamplingFrame:
        """The units of the table."""
        return self.campaign.people

    @property
    def planned(self) -> pd.DataFrame:
        """The plan as it stands, by the units' names."""
        return self.campaign.planned.copy()

    @property
    def answers(self) -> Mapping[Any, float | None]:
        """Outcome of each unit who has answered, by name, of several the first that came; None for one who will not."""
        return self.campaign.answers

    @property
    def asked(self) -> int:
        """Rounds that have been asked."""
        return self.campaign.asked

    def rounds(self) -> pd.DataFrame:
        """What each round asks, spends and is expected to bring.

        See :attr:`macal.survey.campaign.CampaignState.rounds`.
        """
        return self.campaign.rounds.copy()

    def spent(self) -> float:
        """Money for the units asked; not for refusals, where only answers are paid."""
        return self.campaign.spent


Planner.__doc__ = str(Planner.__doc__).replace("        {settings}", described(*_KINDS))
Planner.__signature__ = signature_of(*_KINDS, positional=("treatment", "budget"))  # type: ignore[attr-defined]


def doubted(campaign: CampaignState) -> list[str]:
    """What is doubtful of a campaign's money, table and answers; nothing where all is well."""
    return [campaign.overspent] * bool(campaign.overspent) + doubts_of(campaign)
