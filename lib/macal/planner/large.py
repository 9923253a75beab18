"""A plan of a table that is never in memory as a whole: one cost, one budget, and how far from exact it may be."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from macal import acquisition
from macal.acquisition.base import Criterion, as_batch_size, check_arms
from macal.planner.people import Columns
from macal.planner.policy import Policy
from macal.planner.roles import NAMED
from macal.registry import UnknownName
from macal.scale.blocks import BlockTable
from macal.scale.campaign import BallCampaign, Pick
from macal.scale.columns import NumberColumn, TableColumns, studied
from macal.scale.parquet import ParquetTable
from macal.scale.rules import BallRule, ball_campaign
from macal.scale.source import BallSource, rows_of
from macal.scale.workers import hands, processors
from macal.scale.zarr import ZarrTable, is_zarr

BALLS = 2**16  # of a group, in all blocks
FIRST = 2**13  # of a group, before any is opened: balls near each other are merged
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_BASE = 5e8  # bytes of a process that has done nothing yet
_BALL = 1_000  # bytes of a ball, beside its covariates
PERSON = 1_000  # bytes of a person in the exact search, beside her covariates; they are held three times
_REFUSED = ("response", "cluster", "exclude", "include")
_TYPES = {"bool": "category", "string": "category", "large_string": "category"}


def bytes_of(text: str) -> float:
    """Read an amount of memory, as ``8GB``.

    Raises:
        ValueError: it is none.

    >>> bytes_of("1.5 GB")
    1500000000.0
    """
    found = _MEMORY.fullmatch(text.strip())
    if not found or not float(found[1]):
        raise ValueError(f"memory must be a number of bytes, as 8GB or 500MB, got {text!r}")
    return float(found[1]) * 1000 ** " kmgt".index(found[2].lower() or " ")


@dataclass(frozen=True)
class LargePlan:
    """A plan, and what it may have lost.

    Attributes:
        people: one row per unit, in the order in which they are to be asked: her name, ``round``, the treatment,
            ``cost`` and ``within``, by how much at most the best pick of that moment scores more.
        roles: what the columns of the table are.
        balls: in the end, of all arms; people, where the search was among these.
    """

    people: pd.DataFrame
    roles: pd.DataFrame
    balls: int


def plan_large(
    path: Path,
    columns: Columns,
    policy: Policy,
    scheduler: str | None = None,
    memory: float = 8e9,
    tolerance: float = np.inf,
) -> LargePlan:
    """Plan a table in Parquet or Zarr out of memory.

    Args:
        path: of the Parquet file, of a folder of such files, or of a Zarr group, with one array for each column.
        columns: what its columns are; covariates that are not named are all that are numbers, categories or truth
            values.
        policy: money, rounds and criterion.
        scheduler: None for this process, "local" for a Dask cluster started here, or the address of another.
        memory: of this process and all that it starts, bytes. A row group or chunk must fit in, and balls take half of
            what Python and its libraries leave, but two bytes a row of the table come on top, and four more while the
            targets of ``alc-fixed`` are drawn.
        tolerance: of a score, in standard deviations of the covariates, or of a gain, in variances of a surface: balls
            are opened until a pick is so close to the best, as far as the memory goes; infinite for none; 0 for the
            exact plan, which is sought among people where their covariates fit into memory, and else among balls.

    Raises:
        UnknownName: a column that the table does not have.
        ValueError: demands that only a table in memory can be planned under; a row group or chunk that is damaged or
            too large; a column that is not what it is said to be.
    """
    _refuse(columns, policy, tolerance)
    criterion = acquisition.get(policy.criterion, **policy.parameters)
    rule = BallRule.of(criterion)
    table = (ZarrTable if is_zarr(path) else ParquetTable).of(path)
    chosen, identifier, roles = _roles(table, columns)
    share = memory / (1 + (processors() if scheduler == "local" else 0))
    if share < _BASE:
        raise ValueError(f"memory must be at least {_BASE * memory / share / 1e9:g}GB here, got {memory / 1e9:g}GB")
    table.check_memory(share - _BASE)
    with hands(scheduler, share) as each:
        chosen, known = studied(table, chosen, each)
        source = BallSource(table, _arms(chosen, columns.reference), each)
        check_arms(criterion, np.arange(len(source.columns.arms)))
        sizes = _sizes(policy, criterion, float(columns.cost), len(table) - known)
        kept = rule.kept(len(table), sum(sizes) + known)
        if not tolerance and len(table) * (24 * source.columns.width + 8 * kept + PERSON) < share - _BASE:
            balls = len(table)
            batches = [[Pick(tuple(one.tolist()), np.nan, 0.0)] for one in criterion.plan(source.pool(), sizes)]
        else:
            campaign = _begin(source, rule, sum(sizes), tolerance, share - _BASE, kept)
            batches = [campaign.batch(size) for size in sizes]
            balls = sum(map(len, campaign.arms))
        people = _people(source, batches, identifier, columns)
    return LargePlan(people, roles, balls)


def _sizes(policy: Policy, criterion: Criterion, cost: float, free: int) -> list[int]:
    """Labels of each round: as many as the money buys."""
    labels = min(int(policy.budget / cost * (1 + 1e-9)), free)
    if not labels:
        raise ValueError(f"a budget of {policy.budget:g} buys nobody: the cheapest costs {cost:g}")
    size = as_batch_size(min(policy.batch_size or max(labels, 2), labels), criterion)
    return [min(size, labels - k) for k in range(0, labels, size)]


def _begin(source: BallSource, rule: BallRule, labels: int, tolerance: float, memory: float, kept: int) -> BallCampaign:
    """Cover the table, and begin a campaign whose balls take half of the memory at most."""
    each = 8 * (source.columns.width + kept) + _BALL
    # tables of targets and balls, and of targets among themselves
    least = 2 * each * (FIRST + kept) * len(source.columns.arms) if kept else 0
    if least > memory:
        raise ValueError(
            f"{kept} targets and labels need {(least + _BASE) / 1e9:.2g}GB of this process; take fewer targets"
            " (--parameter targets=...), or give more memory"
        )
    covers = source.covers(rule, BALLS)
    groups = np.unique(rule.groups(np.arange(len(source.columns.arms))))
    told = [np.concatenate([one.known[one.groups == group] for one in covers]) for group in groups]
    most = memory / 2 / each
    balls = [one.balls for one in covers]
    return ball_campaign(rule, balls, told, labels, source.fetch, tolerance, most, FIRST)


def _refuse(columns: Columns, policy: Policy, tolerance: float) -> None:
    plain = Policy(policy.budget)
    odd = [name for name in _REFUSED if getattr(columns, name) != getattr(Columns(""), name)]
    odd += ["cost"] if isinstance(columns.cost, str) else []
    odd += [k for k in ("batch_cost", "quotas", "pay", "draw") if getattr(policy, k) != getattr(plain, k)]
    if odd:
        raise ValueError(
            f"{odd[0]!r} needs the whole table in memory; out of memory labels cost the same, and money is all that is"
            " demanded: leave it out, or leave out scheduler, memory and tolerance"
        )
    if not 0 < float(columns.cost) < np.inf:
        raise ValueError(f"the cost must be a number above 0, got {columns.cost!r}")
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be a number of at least 0, got {tolerance!r}")


def _roles(table: BlockTable, columns: Columns) -> tuple[TableColumns, str | None, pd.DataFrame]:
    """Columns to read, the identifier, and what is to be said of each column."""
    said, named = dict(columns.kinds or {}), columns.named()
    for column in [*named.values(), *said, *(columns.covariates or [])]:
        if column not in table.types:
            raise UnknownName("column", column, table.types)
    rest = [c for c in table.types if c not in {*named.values(), *(columns.covariates or [])}]
    names = (c for c in rest if NAMED.fullmatch(c) and table.types[c].startswith(("int", "uint", "string", "large")))
    identifier = columns.identifier or next(names, None)
    asked = [c for c in rest if c != identifier] if columns.covariates is None else list(columns.covariates)
    kinds = {c: said.get(c) or _kind(table.types[c]) for c in asked}
    used = {c: kind for c, kind in kinds.items() if kind in ("number", "category")}
    if columns.covariates is not None and (wrong := [c for c in asked if c not in used]):
        raise ValueError(f"column {wrong[0]!r} cannot be a covariate out of memory: {kinds[wrong[0]]}; leave it out")
    if not used:
        raise ValueError("no column is left to compare people by; name covariates, or say what the columns are")
    numbers = tuple(NumberColumn(c) for c, kind in used.items() if kind == "number")
    others: dict[str, list[Any]] = {c: [] for c, kind in used.items() if kind == "category"}
    told = {identifier: ("identifier", "guessed")} if identifier else {}
    told |= {column: (role, "as you say") for role, column in named.items()}
    told |= {c: ("covariate", kind) if c in used else ("left out", kind) for c, kind in kinds.items()}
    roles = pd.DataFrame(told, index=["role", "what"]).T.rename_axis("column")
    return TableColumns(numbers, others, columns.treatment, outcome=columns.outcome), identifier, roles


def _kind(arrow: str) -> str:
    """What a column of an Arrow type is."""
    if arrow.startswith("dictionary"):
        return "category"
    number = arrow.startswith(("int", "uint", "float", "double", "halffloat", "decimal"))
    return "number" if number else _TYPES.get(arrow, f"{arrow}, which is neither a number nor a category")


def _arms(columns: TableColumns, reference: Any) -> TableColumns:
    """Columns with the reference arm first.

    Raises:
        ValueError: one arm, or values other than 0 and 1 and no reference.
    """
    arms = list(columns.arms)
    if reference is not None:
        first = [arm for arm in arms if str(arm) == str(reference)]
        if not first:
            raise UnknownName("reference arm", reference, map(str, arms[:20]))
        arms = first + [arm for arm in arms if arm != first[0]]
    elif len(arms) != 2 or set(arms) != {0, 1}:
        raise ValueError(
            f"{columns.treatment} must hold both 0 and 1, got {', '.join(map(str, arms[:20]))}; of other values, name"
            " the one that the others are compared with: the reference (--reference on the command line)"
        )
    return replace(columns, arms=tuple(arms))


def _people(
    source: BallSource, batches: Sequence[Sequence[Pick]], identifier: str | None, columns: Columns
) -> pd.DataFrame:
    """The plan, one row per unit."""
    rows = rows_of(batches)
    cells = source.cells(rows, [columns.treatment, *([identifier] if identifier else [])])
    arms = cells[columns.treatment].to_numpy()
    arms = arms.astype(np.int64) if columns.reference is None else arms
    sizes = [sum(len(pick.rows) for pick in batch) for batch in batches]
    within = [pick.within for batch in batches for pick in batch for _ in pick.rows]
    names = pd.Index(cells[identifier], name=identifier) if identifier else pd.Index(np.array(rows) + 1, name="row")
    rounds = np.repeat(np.arange(1, len(batches) + 1), sizes)
    return pd.DataFrame(
        {"round": rounds, columns.treatment: arms, "cost": float(columns.cost), "within": within}, index=names
    )
