"""The catalogue of recorded tables: each says what it is, and what makes it.

Nothing is told by a table's name: its data set, its sweeps and the tables that are read as one stand in its
declaration, and a file of ``results`` that is not declared is not read.

``python -m reproduction record`` lists it with its progress, ``python -m reproduction record NAME`` makes a table.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pandas as pd

from macal.campaigns import results
from macal.campaigns.records import Record
from macal.campaigns.spec import Spec, read_spec
from macal.registry import UnknownName
from reproduction.studies.jobs import Job

SPECS = results.FOLDER / "specs"


@dataclass(frozen=True)
class Table:
    """A recorded table and its origin: sweeps, or a study.

    Attributes:
        name: under which it is published.
        dataset: of all its records.
        about: what it is for.
        line: of evidence, the same for tables that differ in the data set alone; "" where there is but one.
        sweeps: names of its sweeps in ``results/specs``; one that has its own name by default.
        study: module of this package that makes it instead; see :meth:`jobs`.
    """

    name: str
    dataset: str
    about: str
    line: str = ""
    sweeps: tuple[str, ...] = ()
    study: str = ""

    def __post_init__(self) -> None:
        """Without sweeps and study it is one sweep of its own name."""
        if not self.sweeps and not self.study:
            object.__setattr__(self, "sweeps", (self.name,))

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the tables that are read as one: its own, and those of its sweeps until they are merged."""
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
        return {name: read_spec(SPECS / f"{name}.json") for name in self.sweeps}

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


CODE, TEXT, EXACT = "code version", "text version", "exact GP per arm"
LEARNERS = S, T, X = "S-learner", "T-learner", "X-learner"
DR, FOREST = "DR-learner", "causal forest"
BENCH, CURVES = "every criterion under every estimator", "place on the dial"
SHARES = "randomly selected labels at given shares"
SETS_CODE, SETS = f"labelled sets, {CODE}", f"labelled sets, {TEXT}"
REPLICATIONS = "sizes and surfaces of the replications"
LABELS = "other estimators on the same labels"
EARLY = "IHDP up to 130 labels"
SWAPPED = "IHDP with its surfaces swapped"
SWAP = "ihdp-exchanged"
_DATASETS = {"ihdp": "IHDP", "ibm": "IBM", "cmnist": "CMNIST"}
_DECLARED = (
    Table("toy", "toy", "Figure 1: six criteria on the paper's toy data", study="toy"),
    Table("toy_lbfgs", "toy", "the same, with an optimiser that converges", study="toy"),
    Table("toy_far", "toy", "the same, with the arms twice as far apart", study="toy"),
    Table("toy_code", "toy", "the same, on the public code's split", study="toy"),
    Table("toy_macal", "toy", "MACAL's other weights and its squared distance on the toy data", study="toy"),
    Table(
        "ihdp_code",
        "ihdp",
        f"Figure 3, IHDP, {CODE}",
        CODE,
        ("ihdp_code-free-first", "ihdp_code-between", "ihdp_code-free", "ihdp_code-based", "ihdp_code-based-more"),
    ),
    Table(
        "ibm_code",
        "ibm",
        f"Figure 3, IBM, {CODE}",
        CODE,
        ("ibm_code", "ibm_code-bald", "ibm_code-bald-more", "ibm_code-general"),
    ),
    Table("cmnist_code", "cmnist", f"Figure 3, CMNIST, {CODE}", CODE, ("cmnist_code", "cmnist_code-bald")),
    Table(
        "ihdp_due",
        "ihdp",
        f"Figure 3, IHDP, {TEXT}",
        TEXT,
        ("ihdp_due-free-first", "ihdp_due-weights", "ihdp_due-based-first", "ihdp_due-balance"),
    ),
    Table(
        "ibm_due",
        "ibm",
        f"Figure 3, IBM, {TEXT}",
        TEXT,
        ("ibm_due-free", "ibm_due-bald-first", "ibm_due-general-first"),
    ),
    Table("cmnist_due", "cmnist", f"Figure 3, CMNIST, {TEXT}", TEXT, ("cmnist_due-first", "cmnist_due-more")),
    Table("ihdp_gp", "ihdp", "a second line of evidence, IHDP", EXACT, ("ihdp_gp-free", "ihdp_gp-bald")),
    Table(
        "ibm_gp",
        "ibm",
        "a second line of evidence, IBM",
        EXACT,
        ("ibm_gp-free", "ibm_gp-weights-first", "ibm_gp-squared"),
    ),
    Table("cmnist_gp", "cmnist", "a second line of evidence, CMNIST", EXACT, ("cmnist_gp-first",)),
    Table("cmnist_controls", "cmnist", "the rare arm without pairs, and pairs without coverage"),
    *(
        Table(f"ihdp_{end}", "ihdp", LABELS, line, (f"ihdp_{end}", f"ihdp_{end}-squared"))
        for end, line in zip("stx", LEARNERS, strict=True)
    ),
    *(
        Table(f"ihdp-early_{end}", "ihdp", f"{EARLY}, {line}")
        for end, line in zip(("s", "t", "x", "due", "code"), (*LEARNERS, TEXT, CODE), strict=True)
    ),
    *(
        Table(f"ihdp-exchanged_{end}", SWAP, f"{SWAPPED}, {line}", line)
        for end, line in zip(
            ("gp", "s", "t", "x", "dr", "forest", "due", "code"),
            (EXACT, *LEARNERS, DR, FOREST, TEXT, CODE),
            strict=True,
        )
    ),
    Table("ihdp_dr", "ihdp", LABELS, DR),
    Table("ihdp_forest", "ihdp", LABELS, FOREST),
    Table("ihdp_shares", "ihdp", "randomly selected labels at given shares of treated", SHARES),
    Table("ihdp-exchanged_shares", SWAP, f"the same, {SWAPPED}", SHARES),
    Table("ihdp_input-1", "ihdp", "the code's model, the treatment as it is"),
    Table("ihdp_input-10", "ihdp", "the code's model, the treatment times 10"),
    Table("cmnist_code-cpu", "cmnist", "the code version's image model on a CPU, where a GPU's is recorded"),
    Table("cmnist_due-gpu", "cmnist", "the text version's image model on a GPU, where a CPU's is recorded"),
    Table("ihdp_quick", "ihdp", "the small sweep that the page Sweeps, records and machines runs live"),
    *(
        Table(
            f"{name}_{data}",
            data,
            f"what {said}'s labelled sets look like, {line.split(', ')[1]}",
            line,
            study="labelled_sets",
        )
        for name, line in (("acquired-code", SETS_CODE), ("acquired", SETS))
        for data, said in _DATASETS.items()
    ),
    *(
        Table(
            f"replications_{data}",
            data,
            f"sizes and surfaces of {said}'s replications",
            REPLICATIONS,
            study="replications",
        )
        for data, said in _DATASETS.items()
    ),
    Table("backbones", "ihdp", "what the public code does otherwise than the paper's words", study="backbones"),
    Table("backbones_batching", "ihdp", "the same trainings in one batch, in another order, alone", study="backbones"),
    Table("cmnist_falling", "cmnist", "the image network on growing random sets", study="backbones"),
    Table("dial_curves", "dial", "what is known of each world of the dial before any label is bought", study="dial"),
    Table("dial", "dial", "campaigns in worlds whose gain can be dialled", study="dial"),
    Table("ihdp_curves", "ihdp", "IHDP's place on the dial", CURVES, study="dial"),
    Table("ihdp-exchanged_curves", SWAP, "the place of IHDP with its surfaces swapped", CURVES, study="dial"),
    Table("ibm_curves", "ibm", "IBM's place on the dial", CURVES, study="dial"),
    Table("cmnist_curves", "cmnist", "CMNIST's place on the dial", CURVES, study="dial"),
    *(
        Table(f"bench_{data}", data, f"every criterion under every estimator, {data}", BENCH, study="bench")
        for data in ("ihdp", SWAP, "ihdp-a", "toy", "acic", "ibm", "cmnist")
    ),
    Table("average_tables", "tables", "what the draw for the average effect saves on real tables", study="average"),
    Table("proxied", "tables", "what columns that predict the outcome save on real tables", study="proxied"),
    Table("individual", "tables", "individual effects against one average effect on real tables", study="individual"),
    Table("coverage", "population", "coverage and width of what the planner draws, case by case", study="coverage"),
    Table("widths", "tables", "intervals against the width that was asked for, on real tables", study="widths"),
    Table("weighted_villages", "tables", "villages of a real table, against all of them", study="villages"),
    Table("enough_ihdp", "ihdp", "intervals, forecasts and stopping rules on IHDP", study="enough"),
    Table("bench_toy-starts", "toy", "the toy's rows, its processes fitted from several starts", study="bench"),
    Table("tuning", "ihdp", "Table 2's search for hyperparameters", study="tuning"),
)
TABLES = {table.name: table for table in _DECLARED}
INTERIM = {  # a sweep may stand in a table of its own, until it is merged into the one that it is for
    name: Table(name, table.dataset, f"a sweep of {table.name}")
    for table in TABLES.values()
    for name in table.parts[1:]
}
FILES = {  # CSV files, which are no records
    "sample_plans": "what plans from a sample leave open, and their seconds, by benchmarks/sample.py",
    "paper_fig1": "Figure 1, read off the vector graphics that the authors published",
    "public_code_toy": "Figure 1 by the public code, five seeds",
    "published_curves": "mean errors, read off pictures in text_results/plots.ipynb of the authors' repository, IHDP at"
    " commit 49fc23b, CMNIST at acae57c, both of 23 May 2024, half a year before the paper",
    "public_code_campaigns": "the public code's IHDP program, run with seven seeds; trained at four sizes alone",
}


def get(name: str) -> Table:
    """Return a table of the catalogue, or one of a sweep alone.

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
    """List the catalogue, and sweeps that stand in tables of their own.

    Returns:
        One row per table: ``asked`` and ``recorded`` campaigns, ``commits`` that made them (their first digits, "+"
        where code differed from its commit, "unknown" where records do not say), ``about``.
    """
    own = {name: INTERIM[name] for name in files() if name in INTERIM}
    rows = {name: (*_progress(table), table.about) for name, table in (TABLES | own).items()}
    columns = ["asked", "recorded", "commits", "about"]
    return pd.DataFrame.from_dict(rows, "index", columns=columns).rename_axis("table")


def _progress(table: Table) -> tuple[str, int, str]:
    asked = table.asked()
    wanted = "as it goes" if asked is None else str(len(asked))
    try:
        found = load(table.name)
    except FileNotFoundError:
        return wanted, 0, ""
    keys = {Record(record["config"], [], []).key for record in found.attrs["records"]}
    commits = [f"{commit[:7]}{'+' * (dirty == 'yes')}" for commit, dirty in results.origins(found).index]
    return wanted, len(keys if asked is None else keys & asked), " ".join(commits)
