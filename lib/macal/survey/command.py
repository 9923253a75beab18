"""The commands of the planner: roles, plan, observe, correct, recount, replan, estimate."""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pandas as pd

from macal.datasets.encoding import is_like_number_or_date
from macal.registry import check_known
from macal.storage import atomic
from macal.survey import record, steps
from macal.survey.answers import by_name, check_arms, outcome_of
from macal.survey.campaign import NEVER, name_phrase
from macal.survey.columns import Columns
from macal.survey.estimates import Findings, estimate_effects, exclusion_notes, meant
from macal.survey.facts import count_phrase
from macal.survey.forecast import expected_responses
from macal.survey.inference import StoppingRule
from macal.survey.inference.sequential import LOOKS
from macal.survey.inference.targets import TARGETS
from macal.survey.notes import assumed
from macal.survey.options import add_to as add_to_parser
from macal.survey.options import number
from macal.survey.planner import MEMORY, Planner, doubted
from macal.survey.policy import Policy
from macal.survey.report import data_warnings, document, drawings
from macal.survey.tables import frames, suspects
from macal.survey.tables.blocks import PartedTable
from macal.survey.tables.roles import ColumnHints, read_as
from macal.survey.tables.sample import Sample
from macal.survey.tables.summary import summarised, typed

PLAN = "plan whose outcomes to collect under a budget: from a table to a table"
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNNAMED_COLUMN = re.compile(r"Unnamed: \d+")  # columns that a file has no name for
_GROUPS = 24  # shown in the table of answers
_COPIES = 3  # of a table in memory that a plan needs


def bytes_of(text: str) -> float:
    """Read an amount of memory, as ``8GB``.

    Raises:
        ArgumentTypeError: it is none.

    >>> bytes_of("1.5 GB")
    1500000000.0
    """
    found = _MEMORY.fullmatch(text.strip())
    if not found or not float(found[1]):
        raise argparse.ArgumentTypeError(f"memory must be a number of bytes, as 8GB or 500MB, got {text!r}")
    return float(found[1]) * 1000 ** " kmgt".index(found[2].lower() or " ")


def _bounds(text: str) -> tuple[float, float]:
    low, _, high = text.partition(",")
    try:
        return float(low), float(high)
    except ValueError:
        raise argparse.ArgumentTypeError(f"bounds are two numbers, as 0,10, got {text!r}") from None


def add_to(commands: Any) -> None:
    """Add the planner's commands to a parser's."""
    _add_plan(commands.add_parser("plan", help=PLAN, description=PLAN))
    text = "show what the columns of a table are taken for"
    command = commands.add_parser("roles", help=text, description=text)
    command.add_argument("table", type=Path, help="CSV or Parquet file, or Zarr group, one row per unit")
    add_to_parser(command, Columns, only=("identifier", "kinds"))
    text = "take answers into a campaign: a table of names and outcomes, missing for who will not answer"
    command = commands.add_parser("observe", help=text, description=text)
    _files(command)
    command.add_argument("answers", type=Path, help="CSV or Parquet: the identifier, and the outcome, or several")
    text = "columns of outcomes, A,B: one plan serves several, as its inclusion probabilities are the same for all, and"
    text = f"{text} others may be added later (default: those of the answers before or of the plan, or the new one)"
    command.add_argument("--outcome", help=text)
    add_to_parser(command, Columns, only=("kinds",))
    text = "number of rounds fielded (default: those before, and on to the first without an answer here)"
    command.add_argument("--through-round", dest="through", metavar="ROUND", type=int, help=text)
    _add_correct(commands)
    text = "say how many rounds were asked, if they were counted wrong; the campaign keeps what it was, and who says so"
    command = commands.add_parser("recount", help=text, description=text)
    _files(command)
    command.add_argument("rounds", type=int, help="that were asked; in later ones answers count for themselves alone")
    _add_author_option(command)
    _add_estimate(commands)
    text = "keep the rounds that were asked, plan the others anew by the answers"
    command = commands.add_parser("replan", help=text, description=text)
    _files(command)
    _into(command)
    _reported(command)
    command.add_argument("--budget", type=number, help="for a whole plan without draw, in place of the one before")
    command.add_argument("--quota", dest="quotas", action="append", help="in the place of those before; repeatable")
    command.add_argument("--no-quotas", action="store_true", help="drop all quotas")


def _add_correct(commands: Any) -> None:
    text = "correct what is known of a person; the campaign keeps what it was, and who says so"
    command = commands.add_parser("correct", help=text, description=text)
    _files(command)
    command.add_argument("name", help="of the person")
    change = command.add_mutually_exclusive_group(required=True)
    change.add_argument("--outcome", type=number, help="the answer was this")
    text = "the answer may not be used: count it as a refusal, but as paid"
    change.add_argument("--withdrawn", action="store_true", help=text)
    change.add_argument("--never-asked", action="store_true", help="they were left out, and may be asked later")
    command.add_argument("--of", help="which of several outcomes is meant (default: all, of a withdrawal)")
    _add_author_option(command)


def _add_estimate(commands: Any) -> None:
    text = "estimate every effect from the answers so far, and say what the next round will add"
    command = commands.add_parser("estimate", help=text, description=text)
    _files(command)
    _into(command, "of people's effects, where answers show that they differ, or with --individual", False)
    command.add_argument("--outcome", help="which of several outcomes (default: all of them, one after the other)")
    text = "widen the intervals of several outcomes so that they are simultaneous (Bonferroni)"
    command.add_argument("--simultaneous", action="store_true", help=text)
    command.add_argument("--model", default="joint-gp", help="a Gaussian process (default: joint-gp)")
    text = "value of the treatment that all others are compared with, of several arms (default: as planned)"
    command.add_argument("--reference", help=text)
    _reported(command)
    text = "whose effect is estimated, by weights: of all, of the treated, of those who could be in either arm"
    command.add_argument("--target", choices=TARGETS, help=f"{text} (default: as planned)")
    text = "column: an effect for each of its values, estimated, by weights, with intervals that hold at once"
    command.add_argument("--by", help=text)
    text = "write individual effects though a constant effect predicts held-out answers as well"
    command.add_argument("--individual", action="store_true", help=text)
    text = "smallest and largest possible outcome, to bound what refusals could do (default: of the answers)"
    command.add_argument("--outcome-bounds", dest="bounds", metavar="LOW,HIGH", type=_bounds, help=text)
    command.add_argument("--bounds", type=_bounds, help=argparse.SUPPRESS)
    text = "if you look more than once and may stop: after each round (rounds, default with --width), or at any time"
    command.add_argument("--looks", choices=LOOKS, help=f"{text} (any); the interval by weights holds at all looks")
    text = "enough once the average effect's interval is so narrow: by the weights if people were drawn"
    command.add_argument("--width", type=number, help=text)


def _files(command: argparse.ArgumentParser) -> None:
    command.add_argument("campaign", type=Path, help="JSON file that plan --campaign has written")
    command.add_argument("table", type=Path, help="the table that it was planned on")


def _add_author_option(command: argparse.ArgumentParser) -> None:
    who = command.add_mutually_exclusive_group(required=True)
    who.add_argument("--recorded-by", dest="by", metavar="WHO", help="who says so: a name or a pseudonym")
    who.add_argument("--by", help=argparse.SUPPRESS)


def _into(command: argparse.ArgumentParser, what: str = "of the plan", required: bool = True) -> None:
    command.add_argument("-o", "--output", type=Path, required=required, help=f"CSV or Parquet file {what}")
    command.add_argument("--replace", action="store_true", help="replace files that are there")


def _reported(command: argparse.ArgumentParser) -> None:
    command.add_argument("--report", type=Path, help="HTML file: who is asked and why, answers, overlap, cost, privacy")


def _add_plan(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("table", type=Path, help="CSV or Parquet file, or Zarr group, one row per unit")
    _into(command)
    text = "let --replace replace a campaign that holds answers, as of a trial run"
    add("--discard-answers", action="store_true", help=text)
    add("--campaign", type=Path, help="JSON file to keep the campaign in, for observe, replan and estimate")
    _reported(command)
    large = add_to_parser(command, Columns, Policy)["large tables"]
    text = "if the table does not fit into memory: plan from a sample, by one pass within this much memory, as 8GB"
    large.add_argument("--memory", type=bytes_of, help=text)
    large.add_argument(
        "--scheduler", help='of that pass: "local" for a Dask cluster started here, or the address of one'
    )
    large.add_argument("--workers", type=int, help="of that pass: processes (default: one for each processor)")


def plan(options: argparse.Namespace) -> None:
    """Plan from a table; print column roles and rounds."""
    _check_distinct_paths([options.output, options.campaign, options.report], [options.table])
    _may_be_written(options)
    _check_writers(options)
    fields = [*Columns.__dataclass_fields__, *Policy.__dataclass_fields__]
    given = {k: v for k, v in vars(options).items() if k in fields and v is not None}
    given |= {k: dict(given[k]) for k in ("kinds", "parameters") if k in given}
    planner = Planner(**given)
    source = frames.opened(options.table)
    people = _people(options, planner, source)
    planner.campaign = steps.start_campaign(planner.campaign, people)
    said = [source.reading_note] * bool(source.reading_note) + [_table(data_warnings.columns(planner.campaign))]
    if isinstance(people, Sample) and planner.campaign.plan_trace is not None:
        said.append("\n".join(planner.audit().facts()))
    contents = _outputs(planner, options)
    if options.campaign:
        may = partial(_may_be_written, options)
        planner.campaign = record.saved(planner.campaign, options.campaign, contents, may)
    else:
        atomic.write_step(contents)
    print(*said, sep="\n\n", end="\n\n")  # last: the reader may be gone, and all is written
    _tell_plan(planner, options.output)
    if options.width is not None:
        budget = planner.campaign.policy.budget
        print(f"{budget:,.10g} is the smallest budget expected to give an interval of width {options.width:g}")


def _people(options: argparse.Namespace, planner: Planner, source: PartedTable) -> pd.DataFrame | Sample:
    """Return a whole table, or a first-phase sample of one that is too large or has --memory."""
    how = {name: getattr(options, name) for name in ("memory", "scheduler", "workers")}
    how = {name: value for name, value in how.items() if value is not None}
    large = options.sample != "all" and _COPIES * source.size > MEMORY
    return planner.sample(options.table, **how) if how or large else frames.read(options.table)


def roles(options: argparse.Namespace) -> None:
    """Print how the columns of a table are read."""
    said = ColumnHints(identifier=options.identifier, kinds=dict(options.kinds or ()))
    named = {"identifier": options.identifier} if options.identifier else {}
    source = frames.opened(options.table)
    print(source.reading_note, end="\n\n" * bool(source.reading_note))
    table, found = read_as(frames.read(options.table), said)
    shown = found.shown(named)
    for column in found.kinds:
        if gaps := int(table[column].isna().sum()):
            shown.loc[column, "what"] += f"; {count_phrase(gaps, 'gap')}, which plan refuses"
    print(_table(shown))
    _tell_warnings(suspects.warnings(table, found))


def _loaded(options: argparse.Namespace) -> Planner:
    """Return a campaign from its file, which holds the sample if it was planned on one."""
    content = record.read(options.campaign)
    return Planner.of(record.campaign_of(content, None if content["sample"] else frames.read(options.table)))


def _saved(
    options: argparse.Namespace,
    step: Callable[[Planner], Any],
    files: Callable[[Planner], Mapping[Path, bytes]] = lambda _: {},
    may: Callable[[], None] = lambda: None,
    planner: Planner | None = None,
) -> Planner:
    """Take a step of a campaign and write it with other files; start again if another process has written.

    ``planner``: the campaign, if it was read before.
    """
    while True:
        planner = _loaded(options) if planner is None else planner
        step(planner)
        try:
            planner.campaign = record.saved(planner.campaign, options.campaign, files(planner), may)
        except record.Stale:
            planner = None
            continue
        return planner


def observe(options: argparse.Namespace) -> None:
    """Add the answers of a file to a campaign."""
    planner = _loaded(options)
    name = planner.people.table.index.name
    answers = frames.read(options.answers)
    if name not in answers:
        raise ValueError(f"{options.answers} has no column {name!r}, the identifier of the table; add it")
    answers = answers.drop(
        columns=[c for c in answers if answers[c].isna().all() and _UNNAMED_COLUMN.fullmatch(str(c))]
    )
    outcomes: list[str] = []
    others, beside, before = 0, [], []
    first, later = pd.Series(dtype=object), pd.Series(dtype=int)

    def step(planner: Planner) -> None:
        nonlocal outcomes, others, beside, before, first, later
        outcomes = _outcome(options, planner, list(answers))
        steps.by_outcome(planner.campaign, outcomes)  # a wrong column is named rather than its values
        given, others = _outcomes(options, planner, answers, outcomes)
        first, before = _first(given), [repr(one) for one in planner.campaign.told if one and planner.campaign.answers]
        beside, later = _beside(planner, first, others), _not_asked(planner, first, options.through)
        planner.observe(given.drop([*beside, *later.index]), options.through)

    planner = _saved(options, step, planner=planner)
    if before and (new := [repr(one) for one in outcomes if repr(one) not in before]):
        what = "is another outcome" if len(new) == 1 else "are other outcomes"
        print(f"{name_phrase(new)} {what} than {name_phrase(before)}")
    if left := len(beside) + others:
        print(f"left out: {count_phrase(left, 'line')} of people outside the plan, without a new outcome")
    if len(later):
        print(
            f"{len(later)} people in {count_phrase(later.nunique(), 'round')} without any outcome count as not yet"
            f" surveyed; if they were, --through-round {later.max()} counts them as refusals"
        )
    ahead = _rounds_of(planner, first[first.notna()])
    ahead = ahead[ahead > planner.asked]
    if len(ahead):
        print(
            f"{len(ahead)} people have answered in {count_phrase(ahead.nunique(), 'round')} not yet fielded, and count"
            f" alone; if all were surveyed, --through-round {ahead.max()} counts these rounds as fielded"
        )
    print(_came(planner))
    _warn_of_money(planner)
    _tell_warnings(data_warnings.outcome_outliers(planner.campaign))


def _came(planner: Planner) -> str:
    """Return a sentence on answers, refusals and fielded rounds."""
    told = sum(outcome is not None for outcome in planner.answers.values())
    refused = count_phrase(len(planner.answers) - told, "refusal")
    came = f"{count_phrase(told, 'answer')}{planner.campaign.came} and {refused} so far"
    none = "no answers yet: "
    return f"{none * (not told)}{came}; {count_phrase(planner.asked, 'round')} fielded"


def _first(outcomes: pd.DataFrame) -> pd.Series:
    """Return the first nonmissing outcome of each line."""
    return reduce(lambda one, other: one.where(one.notna(), other), (outcomes[one] for one in outcomes))


def _rounds_of(planner: Planner, given: pd.Series) -> pd.Series:
    """Return the round of each person in the plan, by name."""
    return planner.planned["round"].reindex(given.index).dropna().astype(int)


def _outcomes(
    options: argparse.Namespace, planner: Planner, answers: pd.DataFrame, outcomes: Sequence[str]
) -> tuple[pd.DataFrame, int]:
    """Return the outcomes in a file of answers, by name, and the number of lines outside the first-phase sample."""
    people, treatment = planner.people, planner.campaign.columns.treatment
    name = people.table.index.name
    said = ColumnHints(frozenset(outcomes), kinds=dict(options.kinds or ()), numeric=frozenset(outcomes))
    said.check(answers)
    read = said.as_read({c: summarised(answers[c]) for c in answers}, [name])
    answers = answers.dropna(subset=[name, *outcomes], how="all")
    if (unnamed := _first(answers.loc[answers[name].isna(), outcomes])).size:
        raise ValueError(
            f"{options.answers} has an outcome without a name, {unnamed.iloc[0]}: column {name!r} is empty there; fill"
            " in the name or remove the line"
        )
    lines = len(answers)
    if planner.campaign.is_sample:
        answers = answers[answers[outcomes].notna().any(axis=1) | people.has(answers[name])]
    given = {
        one: by_name(people, zip(answers[name], typed(answers[one], read[one], False), strict=True)) for one in outcomes
    }
    for who, told in (item for one in outcomes for item in given[one].items()):
        if isinstance(told, str) and not is_like_number_or_date(told):
            outcome_of(who, told, None)
    said.check_read({one: read[one] for one in outcomes})
    if treatment in answers:
        check_arms(
            people, treatment, zip(answers[name], typed(answers[treatment], read[treatment], False), strict=True)
        )
    return pd.DataFrame({one: pd.Series(mine, dtype=object) for one, mine in given.items()}), lines - len(answers)


def _beside(planner: Planner, given: pd.Series, elsewhere: int) -> list[Any]:
    """Return people outside the plan listed without a new outcome, as a whole table does.

    If a file lists only plan and reserves, reserves without outcome refuse. ``elsewhere``: lines outside the sample.
    """
    plan, problem = planner.planned, planner.people.problem
    known = {} if problem.pool.y is None else dict(zip(planner.people.table.index, problem.pool.y, strict=True))
    others = given[[name not in plan.index and name not in planner.answers for name in given.index]]
    beside = [name for name, outcome in others.items() if pd.isna(outcome) or outcome == known.get(name)]
    reserves = set(plan["reserve"].dropna()) if "reserve" in plan else set()
    return beside if elsewhere or set(beside) - reserves or len(given) == len(planner.people) else []


def _not_asked(planner: Planner, given: pd.Series, through: int | None) -> pd.Series:
    """Return the rounds of people whose whole round lacks outcomes: a plan may come back with its first rounds."""
    silent, told = _rounds_of(planner, given[given.isna()]), given.index[given.notna()]
    return silent[silent > steps.rounds_fielded(planner.campaign, told, through)]


def correct(options: argparse.Namespace) -> None:
    """Correct a person's record."""
    ways = {"withdrawn": options.withdrawn, "never asked": options.never_asked}
    change = next((way for way, chosen in ways.items() if chosen), "outcome")

    def step(planner: Planner) -> None:
        planner.correct(options.name, change, options.by, options.outcome, options.of)

    campaign = _saved(options, step).campaign
    last = campaign.journal[-1]
    print(f"{last.name}: {last.was} before, {last.now} now, recorded by {last.by}")
    if last.now == NEVER and campaign.policy.is_drawn and last.name in campaign.planned.index:
        print(
            f"{last.name} stays sampled, in round {campaign.planned['round'][last.name]}; macal replan writes the plan"
        )


def recount(options: argparse.Namespace) -> None:
    """Correct the number of fielded rounds."""
    campaign = _saved(options, lambda planner: planner.recount(options.rounds, options.by)).campaign
    last = campaign.journal[-1]
    print(f"{last.was} before, {last.now} now, recorded by {last.by}; macal replan plans the others again")


def _outcome(options: argparse.Namespace, planner: Planner, columns: Sequence[str]) -> list[str]:
    """Return the outcome columns of a file of answers: those named, those seen before, or the new one."""
    if options.outcome is not None:
        chosen = [options.outcome] if options.outcome in columns else [*dict.fromkeys(options.outcome.split(","))]
        check_known("column", columns, *chosen)
        return chosen
    people, before = planner.people.table, [one for one in planner.campaign.told if one is not None]
    known = {str(people.index.name), *planner.planned.columns, *people.columns} - {planner.campaign.columns.outcome}
    new = [column for column in columns if column not in known]
    own = [column for column in [planner.campaign.columns.outcome] if column in columns]
    found = [column for column in before if column in columns] or own or new
    if not found and (taken := [column for column in columns if column != people.index.name]):
        raise ValueError(
            f"{options.answers} has no new column: the plan or the table has {', '.join(map(repr, taken))}, too; if one"
            " holds the answers, name it (--outcome) or rename it"
        )
    if found is new and len(new) != 1:
        raise ValueError(
            f"{options.answers} has {', '.join(map(repr, new)) or 'no column'} in addition to {people.index.name!r} and"
            f" those of the plan and the table; name the outcomes: --outcome {','.join(new) or 'NAME'}"
        )
    if before and found[0] not in before:
        raise ValueError(
            f"answers so far came from {name_phrase([*map(repr, before)])}, and {options.answers} has {found[0]!r};"
            f" rename the column, or name it as another outcome (--outcome {found[0]})"
        )
    return found


def replan(options: argparse.Namespace) -> None:
    """Plan the remaining rounds again; print changed constraints."""
    _check_distinct_paths([options.output, options.report], [options.campaign, options.table])
    may = partial(_check_absent, [options.output, options.report], options.replace)
    atomic.check(options.campaign)
    may()
    _check_writers(options)
    given = {"budget": options.budget, "quotas": [] if options.no_quotas else options.quotas}
    before: dict[str, Any] = {}

    def step(planner: Planner) -> None:
        before.update((name, getattr(planner.campaign.policy, name)) for name in given)
        planner.campaign = steps.replanned(planner.campaign, **given)

    planner = _saved(options, step, lambda planner: _outputs(planner, options), may)
    print(_came(planner))
    _tell_plan(planner, options.output)
    for name, old in before.items():
        if old != (new := getattr(planner.campaign.policy, name)):
            print(f"{name}: {_words(old)} before, {_words(new)} now")


def _table(frame: pd.DataFrame, number: str = "{:,.6g}", rows: int | None = None) -> str:
    """Return a table with one header line and its index as first columns, text on the left."""
    frame = frame.reset_index()
    for column in frame.select_dtypes(exclude="number"):
        texts = [str(column), *frame[column].astype(str)]
        head, *frame[column] = (text.ljust(max(map(len, texts))) for text in texts)
        frame = frame.rename(columns={column: head})
    text = frame.to_string(index=False, float_format=number.format, na_rep="none", max_rows=rows)
    return "\n".join(map(str.rstrip, text.splitlines()))


def _words(value: Any) -> str:
    return f"{value:,.10g}" if isinstance(value, (int, float)) else "; ".join(value) or "none"


def estimate(options: argparse.Namespace) -> None:
    """Write individual effects; print average effects, the outlook and the stopping verdict."""
    _check_distinct_paths([options.output, options.report], [options.campaign, options.table])
    _check_absent([options.output, options.report], options.replace)
    _check_writers(options)
    planner = _loaded(options)
    rule, campaign = None if options.width is None else StoppingRule(options.width), planner.campaign
    campaign = campaign.with_reference(options.reference)
    others = campaign.people.arms[1:]
    views = [campaign.seen(options.outcome)] if options.outcome else campaign.views
    told = [one for one in views if one.estimable_arms] or views
    of = options.target, options.by, options.bounds, options.looks
    how = {"individual": options.individual, "simultaneous": options.simultaneous}
    arms = {one.outcome: one.estimable_arms or others for one in told}
    parts = [
        [estimate_effects(campaign, options.model, rule, arm, *of, outcome=one, **how) for arm in arms[one]]
        for one in arms
    ]
    found = [one for part in parts for one in part]
    whose = [name for name, n in {"arm": len(others), "outcome": len(campaign.by_outcome)}.items() if n > 1]
    effects = [one.people.assign(**{name: getattr(one, name) for name in whose}) for one in found if one.shown]
    is_written = bool(effects and options.output)
    contents = {options.output: frames.written(pd.concat(effects), options.output)} if is_written else {}
    atomic.write_step(contents | ({options.report: document(campaign, found).encode()} if options.report else {}))
    _warn(planner)
    beside = [exclusion_notes(one) for one in told]
    of_all = [words for words in beside[0] if all(words in said for said in beside)]
    for one, part, said in zip(told, parts, beside, strict=True):
        print(meant(one, arms[one.outcome]))
        _tell(part, campaign.people.arms)
        print(*(f"{words}\n" for words in said if words not in of_all), sep="", end="\n" * (len(told) > 1))
    silent = [f"No effect on {one.outcome!r}: answers of both arms are needed." for one in views if one not in told]
    for sentence in [*silent, *of_all, *assumed(campaign)]:
        print(sentence)
    if is_written:
        print(f"{sum(map(len, effects))} effects: {options.output}")
    elif options.output:
        few = any(one.variation is None for one in found)
        why = (
            "individual effects need ten answers in each arm"
            if few
            else "individual effects do not predict better than a constant one"
        )
        _tell_warnings([f"{options.output} is not written: {why}; --individual writes it anyway"])


def _tell(found: Sequence[Findings], arms: Sequence[Any]) -> None:
    """Print the findings of each contrast, and shared ones once."""
    told: dict[str, list[str]] = {}
    for one in found:
        for words in _sentences(one):
            told.setdefault(words, []).append(str(one.arm))
    every = len(found) if len(found) > 1 or len(arms) == 2 else 0
    for words, whose in told.items():
        if len(whose) != every:
            print(f"{', '.join(whose)} against {arms[0]}: {words.strip()}")
    print(*(f"{words}\n" for words, whose in told.items() if len(whose) == every), sep="", end="")
    if len(found) > 1:
        print(
            f"Each interval is a {100 * found[0].level:.4g}% interval by itself; the {len(found)} are not simultaneous."
        )
    shown = any(one.shown for one in found)
    width = ", mean width of individual 95% intervals" * shown
    print(f"answers, remaining cost{width}, if everyone surveyed answers:")
    outlook = found[0].projection if len(found) == 1 else pd.concat({one.arm: one.projection for one in found})
    outlook = outlook if shown else outlook.drop(columns="width")
    print(_table(outlook.rename_axis(["arm", "when"][-outlook.index.nlevels :])))


def _sentences(found: Findings) -> list[str]:
    """Return sentences on average, group and individual effects, and the stopping verdict."""
    ends, held = "{0.value:.4g}, {1} {0.low:.4g} to {0.high:.4g}".format, f"{100 * found.level:.4g}% interval"
    return [
        *(
            f"average effect ({'weighted' if by == 'weights' else by}): {ends(one, held)}"
            for by, one in found.averages.items()
        ),
        *filter(None, [found.caveat]),
        *(f"  {group}: {ends(one, 'interval')}" for group, one in found.design_based.groups.items()),
        *filter(None, [found.at_once]),
        *found.design_based.facts,
        *filter(None, [found.without_intervals, found.variation and found.variation.describe(), found.verdict]),
    ]


def _warn(planner: Planner) -> None:
    """Warn of overspending, outliers and poor overlap on the standard error."""
    _tell_warnings(doubted(planner.campaign))


def _warn_of_money(planner: Planner) -> None:
    _tell_warnings([planner.campaign.overspent] * bool(planner.campaign.overspent))


def _tell_warnings(warnings: Sequence[str]) -> None:
    for warned in warnings:
        print(f"warning: {warned}", file=sys.stderr)


def _check_distinct_paths(outputs: Sequence[Path | None], inputs: Sequence[Path]) -> None:
    """Refuse to overwrite inputs, to write into a table that is a folder, or two outputs to one file."""
    seen = {atomic.real(path): "is an input" for path in inputs}
    folders = {place: path for path in inputs if (place := atomic.real(path)).is_dir()}
    for path in outputs:
        if path is None:
            continue
        if (what := seen.get(place := atomic.real(path))) is not None:
            raise ValueError(f"{path} {what} and would be overwritten; choose another name")
        if inside := [folders[folder] for folder in place.parents if folder in folders]:
            raise ValueError(f"{path} would become part of the table {inside[0]}; choose another folder")
        seen[place] = "is another output"


def _may_be_written(options: argparse.Namespace) -> None:
    """Refuse to replace files without --replace, and answers without --discard-answers."""
    _check_absent([options.output, options.campaign, options.report], options.replace)
    if options.campaign is None or not options.campaign.exists() or options.discard_answers:
        return
    if n := len(record.read(options.campaign)["answers"]):
        raise ValueError(
            f"{options.campaign} holds {n} answers, which a new plan would discard; `macal replan` keeps them,"
            " --discard-answers discards them"
        )


def _check_writers(options: argparse.Namespace) -> None:
    """Raise early if a package that the outputs need is not installed."""
    if options.output:
        frames.check_can_write(options.output)
    if options.report:
        drawings.check()


def _check_absent(paths: Sequence[Path | None], replace: bool) -> None:
    """Refuse to replace files without --replace, and what no file can replace."""
    for path in filter(None, paths):
        atomic.check(path)
        if path.exists() and not replace:
            raise ValueError(f"{path} already exists; --replace replaces it")


def _outputs(planner: Planner, options: argparse.Namespace) -> dict[Path, bytes]:
    """Return the files of a plan and of its report."""
    report = {options.report: document(planner.campaign).encode()} if options.report else {}
    return {options.output: frames.written(planner.planned, options.output)} | report


def _tell_plan(planner: Planner, output: Path) -> None:
    """Print rounds, forecast, notes and cost of a plan."""
    _warn(planner)
    rounds = planner.rounds()
    print(_table(rounds))
    if planner.campaign.policy.is_drawn:
        print(_table(expected_responses(planner.campaign), "{:,.4g}", _GROUPS))
    if (found := planner.forecast()) is not None:
        print(found.describe())
    spent, budget = rounds["so far"].iloc[-1], planner.campaign.policy.budget
    print(*(f"note: {words}\n" for words in planner.facts()), sep="", end="")
    beside = f" and {planner.campaign.extra_contacts}" * bool(planner.campaign.extra_contacts)
    print(f"{len(planner.planned)} people{beside}, cost {spent:,.10g} of {budget:,.10g}: {output}")


COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "roles": roles,
    "plan": plan,
    "observe": observe,
    "correct": correct,
    "recount": recount,
    "replan": replan,
    "estimate": estimate,
}
