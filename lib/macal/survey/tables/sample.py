"""First-phase sampling by one pass over a table, independent of blocks, workers and order: bottom-k by hashes of names.

In each cell (arm, quotas' columns, known or excluded) the k units with the smallest hashes are a simple random sample
(Cohen and Kaplan 2007), so each has probability k / N; k is proportional to N, and at least a tenth of the size.
Clusters are sampled by their own hashes; an audit sample uses another key.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from macal import hashing
from macal.datasets.encoding import check_complete, is_lacking
from macal.datasets.table import row_name
from macal.hashing import Hashes
from macal.registry import check_known
from macal.shapes import Indices, Outcomes, Rows
from macal.storage.workers import Executor, processors
from macal.survey.tables.blocks import PartedTable
from macal.survey.tables.roles import (
    ColumnHints,
    Roles,
    ambiguous_ids,
    check_doubtful,
    check_names,
    identifiers,
    roles_of,
)
from macal.survey.tables.summary import NUMBERS, Summary, alike, refined, summarised, typed

FLOOR = 0.1  # smallest share of the sample size in each cell
CELLS = 1000  # largest number of cells
_RANGES = 256  # of hashes, compared one by one
_LIKELY = 2.0  # times the expected largest hash of a sample; rows beyond are dropped
_OWN = _ROW, _CELL, _UNIT, _HASH, _RIVAL = "\0row", "\0cell", "\0unit", "\0hash", "\0rival"
_CERTAINTY = "sure"  # the cell of mandatory units
_OUT = ("known", "excluded")  # first words of ineligible cells
SAMPLE, RIVALS, CLUSTERS = 1, 2, 3  # uses of keys


@dataclass(frozen=True)
class SampleRequest:
    """A request for a first-phase sample.

    Attributes:
        size: sample size before the cells' floors.
        audit_size: size of the audit sample.
        seed: seed of the keys.
        by: columns of the cells: treatment and quotas.
        known: column of known outcomes, missing for eligible units.
        excluded: column that is true for excluded units.
        included: column that is true for mandatory units.
        cluster: column of clusters that are sampled whole.
        largest_quota: largest number that a quota requires in a cell.
        ranges: quota ranges, as column, lowest and highest number, which also define cells.
    """

    size: int
    audit_size: int
    seed: int = 0
    by: tuple[str, ...] = ()
    known: str | None = None
    excluded: str | None = None
    included: str | None = None
    cluster: str | None = None
    largest_quota: int = 0
    ranges: tuple[tuple[str, float, float], ...] = ()

    @property
    def floor(self) -> int:
        """Smallest number of units in each cell."""
        return max(int(np.ceil(FLOOR * self.size)), self.largest_quota)


@dataclass(frozen=True, eq=False)
class FirstPhase:
    """A first-phase design: inclusion probabilities, (n,), cells, (n,), -1 if mandatory, and the table's rows."""

    chances: Outcomes
    cells: Indices
    rows: int

    @property
    def weights(self) -> Outcomes:
        """People in the table that each unit represents, (n,)."""
        return 1 / self.chances


@dataclass(frozen=True, eq=False)
class Sample:
    """A first-phase sample, sorted by hashes.

    Attributes:
        table: one row per unit, by name.
        rivals: the audit sample, likewise.
        phase: design of the sample.
        roles: roles of the table's columns.
        columns: summaries of the whole table's columns; empty if the sample is from a campaign's file.
    """

    table: pd.DataFrame
    rivals: pd.DataFrame
    phase: FirstPhase
    roles: Roles
    columns: Mapping[str, Summary] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _PartSummary:
    """A summary of some parts of a table.

    Attributes:
        columns: summary of each column.
        same: for each column, the position of the first equal one.
        kept: rows that may be sampled.
        counts: units in each cell.
        hashes: sorted hashes, by part, of each candidate identifier; None if a value repeats.
        clusters: sorted hashes of clusters.
        whole: hashes of mandatory clusters.
    """

    columns: dict[str, Summary]
    same: list[int]
    kept: pd.DataFrame
    counts: pd.Series
    hashes: dict[str, list[np.ndarray] | None]
    clusters: np.ndarray
    whole: frozenset[int]


@dataclass(frozen=True)
class _Pass:
    """One pass over some parts.

    Attributes:
        table: the parts.
        wanted: the request.
        columns: columns to read.
        identifier: column that names the units.
        naming: candidate identifiers.
        limit: hash up to which all rows are kept.
        whole: hashes of mandatory clusters.
    """

    table: PartedTable
    wanted: SampleRequest
    columns: tuple[str, ...]
    identifier: str | None
    naming: tuple[str, ...]
    limit: int
    whole: frozenset[int] = frozenset()


def seen(task: _Pass) -> _PartSummary:
    """Return the summary of some parts."""
    parts = (_part(task, start, part) for start, part in task.table.parts(task.columns))
    return reduce(lambda one, other: _joined(one, other, task), parts)


def _part(task: _Pass, start: int, part: pd.DataFrame) -> _PartSummary:
    rows = np.arange(start, start + len(part))
    marks, whole = _marks(part, rows + 1 if task.identifier is None else part[task.identifier], task.wanted, task.whole)
    own, key = marks[_UNIT].to_numpy(), hashing.key(task.wanted.seed, SAMPLE)
    of_names = {c: np.sort(own if c == task.identifier else hashing.of_names(part[c], key)) for c in task.naming}
    lists = {c: [hashes] if _is_once(hashes) else None for c, hashes in of_names.items()}
    kept = _kept(marks.assign(**{_ROW: rows}), task)
    held = part.iloc[kept].assign(**{_ROW: rows[kept]} | {c: marks[c].array[kept] for c in marks})
    clusters = np.unique(marks[_HASH].to_numpy()) if task.wanted.cluster is not None else np.empty(0, np.uint64)
    columns = {c: summarised(part[c]) for c in part}
    return _PartSummary(columns, alike(part), held, _counts(marks), lists, clusters, whole)


def _marks(
    part: pd.DataFrame, names: Any, wanted: SampleRequest, whole: frozenset[int] = frozenset()
) -> tuple[pd.DataFrame, frozenset[int]]:
    """Return cell and hashes of each unit, and hashes of mandatory clusters."""
    hashes = own = hashing.of_names(names, hashing.key(wanted.seed, SAMPLE))
    cells, sure = _cells(part, wanted)
    mine: frozenset[int] = frozenset()
    if wanted.cluster is not None:
        found = hashing.of_names(part[wanted.cluster], hashing.key(wanted.seed, CLUSTERS))
        hashes = np.where(part[wanted.cluster].isna().to_numpy(), own, found)
        mine = frozenset(np.unique(hashes[sure]).tolist())
        sure |= np.isin(hashes, np.array(sorted(whole), np.uint64))
    rival = hashing.mixed(hashes ^ np.uint64(hashing.key(wanted.seed, RIVALS)))
    codes = np.where(sure, len(cells.categories) - 1, cells.codes)
    cells = pd.Categorical.from_codes(codes, cells.categories)
    return pd.DataFrame({_CELL: cells, _UNIT: own, _HASH: hashes, _RIVAL: rival}, copy=False), mine


def sample_in_memory(table: pd.DataFrame, wanted: SampleRequest, needed: Rows) -> tuple[Indices, FirstPhase]:
    """Return the sorted positions of a sample of a table in memory, ``needed`` ones included, and its design."""
    names = table.index.to_series()
    marks, whole = _marks(table, names, wanted)
    if whole:
        marks, _ = _marks(table, names, wanted, whole)
    marks[_ROW] = np.arange(len(marks))
    ordered = marks.iloc[np.lexsort((marks[_UNIT], marks[_HASH]))]
    clusters = len(np.unique(marks[_HASH])) - len(whole)
    mine, chances, cells = _selected(ordered, _counts(marks), clusters, wanted)
    rows = ordered[_ROW].to_numpy()[mine]
    extra = np.setdiff1d(needed, rows)
    order = np.argsort(rows := np.concatenate([rows, extra]))
    chances, cells = np.append(chances, np.ones(len(extra))), np.append(cells, np.full(len(extra), -1))
    return rows[order], FirstPhase(chances[order], cells[order], len(table))


def audit_sample(table: pd.DataFrame, wanted: SampleRequest) -> pd.DataFrame:
    """Return the audit sample of a table in memory, one row per unit, by name."""
    marks, _ = _marks(table, table.index.to_series(), wanted)
    return table[_is_rival(marks, wanted)]


def _joined(one: _PartSummary, other: _PartSummary, task: _Pass) -> _PartSummary:
    cells = union_categoricals([one.kept[_CELL], other.kept[_CELL]])
    kept = pd.concat([one.kept.drop(columns=_CELL), other.kept.drop(columns=_CELL)], ignore_index=True)
    kept[_CELL] = cells
    kept = kept.iloc[_kept(kept, task)]
    hashes: dict[str, list[np.ndarray] | None] = {}
    for c in one.hashes:
        mine, theirs = one.hashes[c], other.hashes[c]
        hashes[c] = None if mine is None or theirs is None else mine + theirs
    return _PartSummary(
        {c: one.columns[c] + other.columns[c] for c in one.columns},
        refined(one.same, other.same),
        kept,
        one.counts.add(other.counts, fill_value=0),
        hashes,
        np.union1d(one.clusters, other.clusters),
        one.whole | other.whole,
    )


def _is_once(ordered: Hashes) -> bool:
    return not bool((ordered[1:] == ordered[:-1]).any())


def _are_once(runs: Sequence[np.ndarray]) -> bool:
    """Return whether no hash repeats across sorted runs, range by range."""
    firsts = np.arange(1, _RANGES, dtype=np.uint64) * np.uint64(2**64 // _RANGES)
    cuts = [[0, *np.searchsorted(run, firsts).tolist(), len(run)] for run in runs]

    def is_range_once(k: int) -> bool:
        part = np.concatenate([run[cut[k] : cut[k + 1]] for run, cut in zip(runs, cuts, strict=True)])
        part.sort(kind="stable")  # merges runs
        return _is_once(part)

    with ThreadPoolExecutor(processors()) as threads:
        return all(threads.map(is_range_once, range(_RANGES)))


def _cells(part: pd.DataFrame, wanted: SampleRequest) -> tuple[pd.Categorical, np.ndarray]:
    """Return the cell of each unit, and whether it is mandatory, (n,)."""
    n = len(part)
    known = part[wanted.known].notna().to_numpy() if wanted.known else np.zeros(n, bool)
    out, sure = (_marked(part, column) & ~known for column in (wanted.excluded, wanted.included))
    codes, names = np.select([known, out], [0, 1], 2), [*_OUT, "free"]
    ranged = (pd.to_numeric(part[c], errors="coerce").between(low, high) for c, low, high in wanted.ranges)
    for column in (*(part[c] for c in wanted.by), *ranged):
        own, values = pd.factorize(column, use_na_sentinel=False)
        codes = codes + len(names) * own
        names = [f"{name}\0{text}" for text in map(_value, values) for name in names]
    return pd.Categorical.from_codes(np.where(sure, len(names), codes), [*names, _CERTAINTY]), sure


def _value(value: Any) -> str:
    """Return a value of a quota's column as text, numbers in one form."""
    try:
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    except (TypeError, ValueError, OverflowError):
        return str(value)


def _marked(part: pd.DataFrame, column: str | None) -> np.ndarray:
    if column is None:
        return np.zeros(len(part), bool)
    return part[column].isin((1, True, "1", "1.0", "True", "TRUE", "true")).to_numpy()


def _is_cell(rows: pd.DataFrame, *words: str) -> np.ndarray:
    """Return whether each row's cell begins with one of these words, (rows,)."""
    return np.array([name.split("\0")[0] in words for name in rows[_CELL].cat.categories])[rows[_CELL].cat.codes]


def _counts(rows: pd.DataFrame) -> pd.Series:
    """Return the number of rows in each nonempty cell."""
    cells = rows[_CELL].cat
    counts = pd.Series(np.bincount(cells.codes, minlength=len(cells.categories)), list(cells.categories))
    return counts[counts > 0]


def _kept(rows: pd.DataFrame, task: _Pass) -> Indices:
    """Return positions of rows that may still be sampled."""
    hashes, wanted = rows[_HASH].to_numpy(), task.wanted
    keep = _is_cell(rows, _CERTAINTY) | (hashes <= np.uint64(task.limit))
    if wanted.cluster is not None:
        order = np.argsort(hashes)
        keep[order[_rank_of_clusters(hashes[order]) < wanted.size]] = True
    else:
        most = wanted.floor if task.limit else max(wanted.size, wanted.floor)
        codes = rows[_CELL].cat.codes.to_numpy()
        for cell in np.flatnonzero(np.bincount(codes)):
            own = np.flatnonzero(codes == cell)
            keep[own[_smallest(hashes[own], most)]] = True
    return np.flatnonzero(keep | _is_rival(rows, wanted))


def _smallest(hashes: Hashes, most: int) -> np.ndarray:
    """Return positions of the smallest hashes, ties included."""
    if len(hashes) <= most:
        return np.arange(len(hashes))
    few = np.flatnonzero(hashes <= np.uint64(_bound(most, len(hashes))))
    if len(few) < most:
        few = np.arange(len(hashes))
    own = hashes[few]
    return few[own <= np.partition(own, most - 1)[most - 1]]


def _rank_of_clusters(hashes: Hashes) -> Indices:
    """Return the number of rows before each row's cluster, in the order of hashes."""
    first = np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]) != 0)
    return np.repeat(first, np.diff(np.append(first, len(hashes))))


def _is_rival(rows: pd.DataFrame, wanted: SampleRequest) -> np.ndarray:
    """Return whether each row is in the audit sample of eligible units or clusters."""
    rival, found = rows[_RIVAL].to_numpy(), np.zeros(len(rows), bool)
    may = np.flatnonzero(~_is_cell(rows, *_OUT))
    mine = rival[may] if wanted.cluster is None else np.unique(rival[may])
    if wanted.audit_size and len(mine):
        found[may] = rival[may] <= mine[_smallest(mine, wanted.audit_size)].max()
    return found


def sampled(table: PartedTable, said: ColumnHints, wanted: SampleRequest, executor: Executor, jobs: int = 1) -> Sample:
    """Return a first-phase sample by one pass over a table, divided into jobs for the executor.

    Raises:
        UnknownName: an unknown column.
        ValueError: a column that does not fit its role; a repeated name; a damaged part.
    """
    said.check(table.columns)
    check_known("column in a quota", table.columns, *wanted.by, *(c for c, _, _ in wanted.ranges))
    ignored = {c for c, kind in (said.kinds or {}).items() if kind == "ignore"} - said.named - {said.identifier}
    columns = tuple(c for c in table.columns if c not in ignored)
    naming = _naming(table, said, columns)
    whole, limit = frozenset[int](), _limit(table.rows, wanted)
    while True:
        identifier = next(iter(identifiers(naming, said)), None)
        task = _Pass(table, wanted, columns, identifier, naming, limit, whole)
        parts = executor(seen, [replace(task, table=part) for part in table.divided(jobs)], "reading")
        found = reduce(lambda one, other: _joined(one, other, task), parts)
        able = [c for c in said.id_candidates(found.columns) if c in naming]
        once = {c: (runs := found.hashes[c]) is not None and _are_once(runs) for c in able}
        if said.identifier is not None and (not once[said.identifier] or found.columns[said.identifier].gaps):
            roles_of(found.columns, found.same, [said.identifier], said)  # questions about columns come first
            names = (part[said.identifier] for _, part in table.parts([said.identifier]))
            check_names(pd.concat(names, ignore_index=True))
            raise ValueError(
                f"two names in column {said.identifier!r} have the same hash; unify their spelling, or use another seed"
            )
        naming = tuple(c for c in able if once[c])
        if identifier is not None and identifier not in naming and identifier != said.identifier:
            continue  # it does not name the units after all
        for column in ambiguous_ids(found.columns, naming, said):
            check_doubtful(pd.concat([part[column] for _, part in table.parts([column])], ignore_index=True))
        if wanted.cluster is None or found.whole <= whole:
            return _sample(found, naming, identifier, said, wanted)
        whole |= found.whole


def _naming(table: PartedTable, said: ColumnHints, columns: Sequence[str]) -> tuple[str, ...]:
    """Return candidate identifiers, by the first part."""
    _, part = next(table.parts(columns))
    return tuple(said.id_candidates({c: summarised(part[c]) for c in part}, whole=False))


def _limit(rows: int | None, wanted: SampleRequest) -> int:
    """Return the hash up to which all rows are kept; 0 if the number of rows is unknown."""
    if rows is None or wanted.cluster is not None:
        return 0
    return _bound(wanted.size + 1000, rows)


def _bound(smallest: int, of: int) -> int:
    """Return a hash that the smallest ones hardly ever exceed."""
    return min(int(_LIKELY * smallest / of * 2.0**64), 2**64 - 1)


def _sample(
    found: _PartSummary, naming: tuple[str, ...], identifier: str | None, said: ColumnHints, wanted: SampleRequest
) -> Sample:
    if len(found.counts) > CELLS:
        raise ValueError(f"arms and quotas make {len(found.counts)} groups, more than {CELLS}; drop a quota")
    columns = said.as_read(found.columns, naming)
    roles = roles_of(columns, found.same, list(naming), said)
    rows = int(found.counts.sum())
    names = {c: f"covariate {c!r}" for c in roles.kinds} | {c: str(c) for c in wanted.by[:1]}
    lacking = [n for c, n in names.items() if is_lacking(found.kept[c].isna().to_numpy(), found.kept[wanted.by[0]])]
    check_complete({name: _unusable(columns[c]) for c, name in names.items()}, rows, lacking)
    kept = found.kept.iloc[np.lexsort((found.kept[_UNIT], found.kept[_HASH]))]
    mine, chances, cells = _selected(kept, found.counts, len(found.clusters) - len(found.whole), wanted)
    rivals = kept[_is_rival(kept, wanted)].sort_values([_RIVAL, _UNIT])
    table, others = (_finished(part, columns, identifier) for part in (kept[mine], rivals))
    return Sample(table, others, FirstPhase(chances, cells, rows), roles, columns)


def _unusable(found: Summary) -> int | str:
    """Return the number of gaps in a column, or "infinite"."""
    finite = found.family not in NUMBERS or bool(np.isfinite([found.low, found.high]).all())
    return found.gaps or (0 if finite else "infinite")


def _selected(
    kept: pd.DataFrame, counts: pd.Series, clusters: int, wanted: SampleRequest
) -> tuple[np.ndarray, Outcomes, Indices]:
    """Return which rows, sorted by hashes, are sampled, (rows,), and their probabilities and cells, (n,).

    ``counts`` are the table's units in each cell, ``clusters`` the number of its clusters that are not mandatory.
    """
    sure = _is_cell(kept, _CERTAINTY)
    if wanted.cluster is not None:
        hashes = kept[_HASH].to_numpy()
        mine = sure | (_rank_of_clusters(hashes) < wanted.size)
        drawn = len(np.unique(hashes[mine & ~sure]))
        return mine, np.where(sure, 1.0, min(1.0, drawn / max(clusters, 1)))[mine], np.where(sure, -1, 0)[mine]
    cells = [c for c in sorted(counts.index) if c != _CERTAINTY]
    of_cell = counts[cells].to_numpy(np.int64)
    number = pd.Index(cells).get_indexer(kept[_CELL].astype(object)).astype(np.int64)  # -1 if mandatory
    rank = kept.groupby(number).cumcount().to_numpy()
    mine = sure | (rank < np.append(allocate(of_cell, wanted), 0)[number])
    taken = np.bincount(number[mine & ~sure], minlength=len(cells))
    return mine, np.append(taken / of_cell, 1.0)[number[mine]], number[mine]


def allocate(counts: Indices, wanted: SampleRequest) -> Indices:
    """Return the allocation to cells of these sizes, (cells,)."""
    share = np.ceil(wanted.size * counts / max(counts.sum(), 1)).astype(np.int64)
    return np.minimum(counts, np.maximum(share, wanted.floor))


def _finished(part: pd.DataFrame, columns: Mapping[str, Summary], identifier: str | None) -> pd.DataFrame:
    """Return rows by name, columns typed by the whole table."""
    rows = part[_ROW].to_numpy() + 1
    part = part.drop(columns=[c for c in _OWN if c in part])
    part = pd.DataFrame({c: typed(part[c], columns[c], c == identifier) for c in part}, part.index)
    if identifier is None:
        return part.set_axis(pd.Index(rows, name=row_name(part.columns)))
    return part.set_index(identifier)
