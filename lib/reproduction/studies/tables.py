"""The catalogue of recorded tables: each says what it is, what makes it, what is planned of it, and what rests on it.

Nothing is told by a table's name: its data set, its sweeps and the tables that are read as one stand in its
declaration, and a file of ``results`` that is not declared is not read.

``python -m reproduction record`` lists it with its progress, ``python -m reproduction record NAME`` makes a table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import pandas as pd

from macal.campaigns import results
from macal.campaigns.records import Record
from macal.campaigns.spec import Spec, read_spec
from macal.registry import UnknownName
from reproduction.studies.jobs import Job

SPECS = results.FOLDER / "specs"
UNDERWAY = results.FOLDER / "underway"  # sweeps that were saved before their end, which no verdict reads


@dataclass(frozen=True)
class Plan:
    """Replications planned of some methods, and those at which they were looked at, as on *The plan of evidence*.

    Whoever publishes a table before it is complete adds a look.
    """

    replications: int
    looks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Table:
    """A recorded table and its origin: sweeps, or a study.

    Attributes:
        name: under which it is published.
        dataset: of all its records.
        about: what it is for.
        claims: keys of the claims that are judged by it; "" where it is shown and decides none.
        line: of evidence, the same for tables that differ in the data set alone; "" where there is but one.
        before: names of its sweeps in ``results/specs``, finished before the plan of evidence was made.
        sweeps: names of its sweeps in the plan of evidence, there too.
        planned: replications and looks by kind of method, see :func:`reproduction.claims.readings.kind`, or by a
            method's name where it has a plan of its own; what is not named is complete as it stands.
        study: module of this package that makes it instead; see :meth:`jobs`.
    """

    name: str
    dataset: str
    about: str
    claims: str = ""
    line: str = ""
    before: tuple[str, ...] = ()
    sweeps: tuple[str, ...] = ()
    planned: Mapping[str, Plan] = field(default_factory=dict, hash=False)
    study: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the tables that are read as one: its own, and those of planned sweeps until they are merged."""
        return self.name, *sorted({*self.sweeps} - {self.name})

    @property
    def recorded(self) -> list[str]:
        """Those of its parts that are recorded."""
        return [name for name in self.parts if (results.FOLDER / f"{name}.parquet").is_file()]

    def specs(self) -> dict[str, Spec]:
        """Its sweeps, by name.

        Raises:
            FileNotFoundError: a sweep has no file in ``results/specs``.
        """
        return {name: read_spec(SPECS / f"{name}.json") for name in (*self.before, *self.sweeps)}

    def jobs(self, replications: int | None = None, store: Path | None = None) -> Iterable[Job]:
        """Jobs of its study.

        Args:
            replications: how many; those of the book by default.
            store: folder of the records, where a study keeps what it needs to go on.
        """
        return import_module(f"reproduction.studies.{self.study}").jobs(self, replications, store)

    def asked(self) -> set[str] | None:
        """Keys of all records that it is to hold; None where the study finds out as it goes."""
        if not self.study:
            every = self.specs().values()
            configs = [spec.config(r, m) for spec in every for r in spec.replications for m in spec.methods]
        elif self.study == "tuning":
            return None
        else:
            configs = [config for job in self.jobs() for config in job.configs]
        return {Record(config, [], []).key for config in configs}


def _free(replications: int, *looks: int) -> dict[str, Plan]:
    """What is planned where no method needs a model."""
    return {"free": Plan(replications, looks)}


def _swept(
    name: str, dataset: str, about: str, claims: str = "", line: str = "", *, planned: Mapping[str, Plan]
) -> Table:
    """A table of one planned sweep, which has its name."""
    return Table(name, dataset, about, claims, line, sweeps=(name,), planned=planned)


AS_WRITTEN, AS_CODE, EXACT = "deep kernel, as written", "deep kernel, as the code runs", "exact GP per arm"
LEARNERS = S, T, X = "S-learner", "T-learner", "X-learner"
DR, FOREST = "DR-learner", "causal forest"
BENCH, CURVES, SHARES = "every criterion under every estimator", "place on the dial", "random labels at given shares"
SETS, SETS_AS_CODE = "labelled sets", f"labelled sets, {AS_CODE}"
REPLICATIONS = "sizes and surfaces of the replications"
CAMPAIGNS = "E4 E5 E6 E7 E8 E9 A1 B1"  # claims judged on every data set
LABELS = "other estimators on the same labels"
EARLY = "IHDP up to 130 labels"
SWAPPED = "IHDP with its surfaces exchanged"
SWAP = "ihdp-exchanged"
_DECLARED = (
    Table("toy", "toy", "Figure 1: six criteria on the paper's toy data", "F1a F1b F1c F1d", study="toy"),
    Table("toy_lbfgs", "toy", "the same, with an optimiser that converges", study="toy"),
    Table("toy_far", "toy", "the same, with the arms twice as far apart", study="toy"),
    Table("toy_code", "toy", "the same, on the public code's split", study="toy"),
    Table("toy_macal", "toy", "MACAL's other weights and its squared distance on the toy data", study="toy"),
    Table(
        "ihdp_due",
        "ihdp",
        "Figure 3, IHDP",
        f"E1 {CAMPAIGNS} W2",
        AS_WRITTEN,
        before=("ihdp_due-free-first", "ihdp_due-weights", "ihdp_due-based-first"),
        sweeps=(
            "ihdp_due-balance",
            "ihdp_due-between",
            "ihdp_due-rest",
            "ihdp_due-qhte",
            "ihdp_due-free",
            "ihdp_due-based",
        ),
        planned=_free(20, 7, 12) | dict.fromkeys(("bald", "general", "weight"), Plan(20, (5,))),
    ),
    Table(
        "ibm_due",
        "ibm",
        "Figure 3, IBM",
        f"E2 {CAMPAIGNS} W2",
        AS_WRITTEN,
        before=("ibm_due-free", "ibm_due-bald-first", "ibm_due-general-first"),
        sweeps=("ibm_due-general", "ibm_due-bald"),
        planned=_free(10) | {"bald": Plan(9, (6,)), "general": Plan(9, (3,)), "weight": Plan(10)},
    ),
    Table(
        "cmnist_due",
        "cmnist",
        "Figure 3, CMNIST",
        f"E3 {CAMPAIGNS} W2",
        AS_WRITTEN,
        before=("cmnist_due-first",),
        sweeps=("cmnist_due-more",),
        planned=_free(5, 1),
    ),
    Table(
        "ihdp_code",
        "ihdp",
        "Figure 3, IHDP, by the code's reading",
        f"E1 {CAMPAIGNS} W2",
        AS_CODE,
        before=("ihdp_code-free-first",),
        sweeps=("ihdp_code-between", "ihdp_code-free", "ihdp_code-based", "ihdp_code-based-more", "ihdp_code-weights"),
        planned=_free(20, 6, 12) | dict.fromkeys(("bald", "general"), Plan(20, (12,))) | {"weight": Plan(20)},
    ),
    Table(
        "ibm_code",
        "ibm",
        "Figure 3, IBM, by the code's reading",
        f"E2 {CAMPAIGNS} W2",
        AS_CODE,
        sweeps=("ibm_code", "ibm_code-bald", "ibm_code-general"),
        planned=_free(10, 3) | {"bald": Plan(6), "general": Plan(9), "weight": Plan(10, (3,))},
    ),
    Table(
        "cmnist_code",
        "cmnist",
        "Figure 3, CMNIST, by the code's reading",
        f"E3 {CAMPAIGNS} W2",
        AS_CODE,
        sweeps=("cmnist_code", "cmnist_code-bald"),
        planned=_free(5) | {"bald": Plan(5)},
    ),
    Table(
        "ihdp_gp",
        "ihdp",
        "a second line of evidence, IHDP",
        "E1 E4 A1 B1 M1 W1 W2",
        EXACT,
        before=("ihdp_gp-free", "ihdp_gp-bald"),
    ),
    Table(
        "ibm_gp",
        "ibm",
        "a second line of evidence, IBM",
        "E2 E4 A1 B1 M1 W2",
        EXACT,
        before=("ibm_gp-free", "ibm_gp-weights-first"),
        sweeps=("ibm_gp-weights", "ibm_gp-squared"),
        planned=_free(10) | {"weight": Plan(10, (4,)), "macal-squared": Plan(10, (4,))},
    ),
    Table(
        "cmnist_gp",
        "cmnist",
        "a second line of evidence, CMNIST",
        "E3 E4 A1 B1 M1 W2",
        EXACT,
        before=("cmnist_gp-first",),
        sweeps=("cmnist_gp-more", "cmnist_gp-bald"),
        planned=_free(10, 5) | {"bald": Plan(3), "weight": Plan(10, (5,))},
    ),
    _swept(
        "cmnist_controls", "cmnist", "the rare arm without pairs, and pairs without coverage", "W2", planned=_free(5, 3)
    ),
    *(
        Table(
            f"ihdp_{end}",
            "ihdp",
            LABELS,
            "B1 M1",
            line,
            before=(f"ihdp_{end}",),
            sweeps=(f"ihdp_{end}-squared",),
            planned=_free(20),
        )
        for end, line in zip("stx", LEARNERS, strict=True)
    ),
    *(  # looked at before in ihdp_s, ihdp_t, ihdp_x
        _swept(f"ihdp-early_{end}", "ihdp", f"{EARLY}, {line}", "W1", planned=_free(100, 20))
        for end, line in zip("stx", LEARNERS, strict=True)
    ),
    _swept("ihdp-early_due", "ihdp", f"{EARLY}, {AS_WRITTEN}", planned=_free(8)),
    _swept("ihdp-early_code", "ihdp", f"{EARLY}, {AS_CODE}", planned=_free(8)),
    _swept("ihdp-exchanged_gp", SWAP, f"{SWAPPED}, exact processes", "W1", EXACT, planned=_free(100)),
    _swept("ihdp-exchanged_s", SWAP, f"{SWAPPED}, {S}", "W1", S, planned=_free(100)),
    _swept("ihdp-exchanged_t", SWAP, f"{SWAPPED}, {T}", "W1", T, planned=_free(100, 20)),
    _swept("ihdp-exchanged_x", SWAP, f"{SWAPPED}, {X}", "W1", X, planned=_free(100)),
    _swept("ihdp_dr", "ihdp", LABELS, "W1", DR, planned=_free(100, 10, 20)),
    _swept("ihdp_forest", "ihdp", LABELS, "W1", FOREST, planned=_free(100, 10, 20)),
    _swept("ihdp-exchanged_dr", SWAP, f"{SWAPPED}, {DR}", "W1", DR, planned=_free(100, 10, 20)),
    _swept("ihdp-exchanged_forest", SWAP, f"{SWAPPED}, {FOREST}", "W1", FOREST, planned=_free(100, 10, 20)),
    _swept("ihdp-exchanged_due", SWAP, f"{SWAPPED}, {AS_WRITTEN}", "", AS_WRITTEN, planned=_free(20)),
    _swept("ihdp-exchanged_code", SWAP, f"{SWAPPED}, {AS_CODE}", "", AS_CODE, planned=_free(20)),
    _swept("ihdp_shares", "ihdp", "random labels at given shares of treated", "", SHARES, planned=_free(100)),
    _swept("ihdp-exchanged_shares", SWAP, f"the same, {SWAPPED}", "", SHARES, planned=_free(100)),
    _swept("ihdp_input-1", "ihdp", "the code's model, the treatment as it is", "W3", planned=_free(6, 3)),
    _swept("ihdp_input-10", "ihdp", "the code's model, the treatment times 10", "W3", planned=_free(6, 3)),
    _swept("cmnist_code-cpu", "cmnist", "the code's image model on a CPU, where a GPU's is recorded", planned=_free(3)),
    _swept("cmnist_due-gpu", "cmnist", "the written image model on a GPU, where a CPU's is recorded", planned=_free(5)),
    Table("ihdp_quick", "ihdp", "the small sweep that the page Run it yourself runs live", before=("ihdp_quick",)),
    *(
        Table(f"acquired_{data}", data, f"what {said}'s labelled sets look like", "V1", SETS, study="labelled_sets")
        for data, said in (("ihdp", "IHDP"), ("ibm", "IBM"), ("cmnist", "CMNIST"))
    ),
    *(
        Table(f"acquired-code_{data}", data, f"the same, {AS_CODE}", "V1", SETS_AS_CODE, study="labelled_sets")
        for data in ("ihdp", "ibm", "cmnist")
    ),
    *(
        Table(
            f"replications_{data}",
            data,
            f"sizes and surfaces of {data}'s replications",
            "D1 W2",
            REPLICATIONS,
            study="replications",
        )
        for data in ("ihdp", "ibm", "cmnist")
    ),
    Table("backbones", "ihdp", "what the public code does otherwise than the paper's words", study="backbones"),
    Table("backbones_batching", "ihdp", "the same trainings in one batch, in another order, alone", study="backbones"),
    Table("cmnist_falling", "cmnist", "the image network on growing random sets", study="backbones"),
    Table("dial_curves", "dial", "what is known of each world of the dial before any label is bought", study="dial"),
    Table("dial", "dial", "campaigns in worlds whose gain can be dialled", study="dial"),
    Table("ihdp_curves", "ihdp", "IHDP's place on the dial", "", CURVES, study="dial"),
    Table("ihdp-exchanged_curves", SWAP, "the place of IHDP with its surfaces exchanged", "", CURVES, study="dial"),
    Table("ibm_curves", "ibm", "IBM's place on the dial", "", CURVES, study="dial"),
    Table("cmnist_curves", "cmnist", "CMNIST's place on the dial", "", CURVES, study="dial"),
    *(
        Table(f"bench_{data}", data, f"every criterion under every estimator, {data}", "S1 S2 S3", BENCH, study="bench")
        for data in ("ihdp", SWAP, "ihdp-a", "toy", "acic", "ibm", "cmnist")
    ),
    Table("average_tables", "tables", "what the draw for the average effect saves on real tables", study="average"),
    Table("individual", "tables", "individual effects against one average effect on real tables", study="individual"),
    Table("coverage", "population", "coverage and width of what the planner draws, case by case", study="coverage"),
    Table("weighted_villages", "tables", "villages of a real table, against all of them", study="villages"),
    Table("enough_ihdp", "ihdp", "intervals, forecasts and stopping rules on IHDP", study="enough"),
    Table("bench_toy-starts", "toy", "the toy's rows, its processes fitted from several starts", study="bench"),
    Table("tuning", "ihdp", "Table 2's search for hyperparameters", "H1", study="tuning"),
)
TABLES = {table.name: table for table in _DECLARED}
INTERIM = {  # a planned sweep may stand in a table of its own, until it is merged into the one that it is for
    name: Table(name, table.dataset, f"a planned sweep of {table.name}", sweeps=(name,))
    for table in TABLES.values()
    for name in table.parts[1:]
}
FILES = {  # CSV files, which are no records
    "sample_plans": "what plans from a sample leave open, and their seconds, by benchmarks/sample.py",
    "paper_fig1": "Figure 1, read off the vector graphics that the authors published",
    "public_code_toy": "Figure 1 by the public code, five seeds",
    "published_curves": "mean errors on IHDP and CMNIST, read off pictures in result notebooks that the public code's"
    " history holds (drafts of May 2024, half a year before the paper)",
    "public_code_campaigns": "the public code's IHDP program, run with seven seeds; trained at four sizes alone",
}


def get(name: str) -> Table:
    """Return a table of the catalogue, or one of a planned sweep alone.

    Raises:
        UnknownName: no such table.
    """
    every = TABLES | INTERIM
    if name not in every:
        raise UnknownName("table", name, every)
    return every[name]


def load(name: str) -> pd.DataFrame:
    """Load a table of the catalogue, as :func:`macal.results.load` does.

    Raises:
        UnknownName: no such table.
        FileNotFoundError: it is not recorded.
        DamagedRecord: it is not the table that its manifest describes.
    """
    try:
        return results.load(get(name).name)
    except FileNotFoundError as error:
        advice = f"python -m reproduction record {name}"
        raise FileNotFoundError(f"table {name!r} is declared but not recorded; make it by {advice}") from error


def by_dataset(line: str) -> dict[str, str]:
    """Names of the tables of one line of evidence, by data set."""
    return {table.dataset: table.name for table in TABLES.values() if table.line == line}


def files() -> dict[str, Path]:
    """Recorded files, by the name under which they are declared."""
    declared = dict.fromkeys(TABLES | INTERIM, ".parquet") | dict.fromkeys(FILES, ".csv")
    places = {name: results.FOLDER / f"{name}{kind}" for name, kind in declared.items()}
    return {name: place for name, place in places.items() if place.is_file()}


def progress() -> pd.DataFrame:
    """List the catalogue, and planned sweeps that stand in tables of their own.

    Returns:
        One row per table: ``asked`` and ``recorded`` campaigns, ``commits`` that made them (their first digits, "+"
        where code differed from its commit, "unknown" where records do not say), ``claims``, ``about``.
    """
    own = {name: INTERIM[name] for name in files() if name in INTERIM}
    rows = {name: (*_progress(table), table.claims, table.about) for name, table in (TABLES | own).items()}
    columns = ["asked", "recorded", "commits", "claims", "about"]
    return pd.DataFrame.from_dict(rows, "index", columns=columns).rename_axis("table")


def _progress(table: Table) -> tuple[str, int, str]:
    asked = table.asked()
    wanted = "as it goes" if asked is None else str(len(asked))
    try:
        found = load(table.name)
    except FileNotFoundError:
        return wanted, 0, ""
    keys = _keys(found)
    commits = [f"{commit[:7]}{'+' * (dirty == 'yes')}" for commit, dirty in results.origins(found).index]
    return wanted, len(keys if asked is None else keys & asked), " ".join(commits)


def _keys(found: pd.DataFrame) -> set[str]:
    return {Record(record["config"], [], []).key for record in found.attrs["records"]}


def share_recorded(sweep: str) -> float:
    """Share of a planned sweep's campaigns that are recorded: merged, in a table of its own, or saved under way."""
    (table,) = (table for table in TABLES.values() if sweep in table.sweeps)
    places = [(name, folder) for name in {sweep, table.name} for folder in (results.FOLDER, UNDERWAY)]
    kept = [results.load(name, folder) for name, folder in places if (folder / f"{name}.parquet").is_file()]
    asked = Table(sweep, table.dataset, "", sweeps=(sweep,)).asked()
    return len(asked & set().union(*map(_keys, kept))) / len(asked)
