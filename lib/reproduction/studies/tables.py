"""The catalogue of recorded tables: what each is for, which sweeps or which study make it, which claims rest on it.

``python -m reproduction record`` lists it with its progress, ``python -m reproduction record NAME`` makes a table.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pandas as pd

from macal.campaigns import results, sweeps
from macal.campaigns.records import Record
from macal.registry import UnknownName
from reproduction.studies.jobs import Job

SPECS = results.FOLDER / "specs"


@dataclass(frozen=True)
class Table:
    """A recorded table and its origin: sweeps, or a study.

    Attributes:
        name: under which it is published.
        about: what it is for.
        claims: keys of the claims that are judged by it; "" where it is shown and decides none.
        line: of evidence, the same for tables that differ in the data set alone; "" where there is but one.
        specs: names of its sweeps in ``results/specs``, finished before the plan of evidence was made.
        planned: names of its sweeps in the plan of evidence.
        study: module of this package that makes it instead; see :func:`jobs`.
    """

    name: str
    about: str
    claims: str = ""
    line: str = ""
    specs: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()
    study: str = ""

    @property
    def dataset(self) -> str:
        """Data set of a table of sweeps, by which its name begins."""
        return self.name.partition("_")[0]

    def sweeps(self) -> dict[str, sweeps.Spec]:
        """Its sweeps, by name."""
        return {name: sweeps.read_spec(SPECS / f"{name}.json") for name in (*self.specs, *self.planned)}

    def jobs(self, replications: int | None = None, store: Path | None = None) -> Iterable[Job]:
        """Jobs of its study.

        Args:
            replications: how many; those of the book by default.
            store: folder of the records, where a study keeps what it needs to go on.
        """
        return import_module(f"reproduction.studies.{self.study}").jobs(self.name, replications, store)

    def asked(self) -> set[str] | None:
        """Keys of all records that it is to hold; None where the study finds out as it goes."""
        if not self.study:
            every = self.sweeps().values()
            configs = [spec.config(r, m) for spec in every for r in spec.replications for m in spec.methods]
        elif self.study == "tuning":
            return None
        else:
            configs = [config for job in self.jobs() for config in job.configs]
        return {Record(config, [], []).key for config in configs}


AS_WRITTEN, AS_CODE, EXACT = "deep kernel, as written", "deep kernel, as the code runs", "exact Gaussian processes"
CAMPAIGNS = "E4 E5 E6 E7 E8 E9 A1 B1"  # claims judged on every data set
LEARNERS = ("S-learner", "T-learner", "X-learner")
LABELS = "other estimators on the same labels"
EARLY = "IHDP up to 130 labels"
SWAPPED = "IHDP with its surfaces exchanged"
TABLES = {
    table.name: table
    for table in (
        Table("toy", "Figure 1: six criteria on the paper's toy data", "F1a F1b F1c F1d", study="toy"),
        Table("toy_lbfgs", "the same, with an optimiser that converges", study="toy"),
        Table("toy_far", "the same, with the arms twice as far apart", study="toy"),
        Table("toy_code", "the same, on the public code's split", study="toy"),
        Table("toy_macal", "MACAL's other weights and its squared distance on the toy data", study="toy"),
        Table(
            "ihdp_due",
            "Figure 3, IHDP",
            f"E1 {CAMPAIGNS} W2",
            AS_WRITTEN,
            ("ihdp_due-free-first", "ihdp_due-weights", "ihdp_due-based-first"),
            (
                "ihdp_due-balance",
                "ihdp_due-between",
                "ihdp_due-rest",
                "ihdp_due-qhte",
                "ihdp_due-free",
                "ihdp_due-based",
            ),
        ),
        Table(
            "ibm_due",
            "Figure 3, IBM",
            f"E2 {CAMPAIGNS} W2",
            AS_WRITTEN,
            ("ibm_due-free", "ibm_due-bald-first", "ibm_due-general-first"),
            ("ibm_due-general", "ibm_due-bald"),
        ),
        Table(
            "cmnist_due",
            "Figure 3, CMNIST",
            f"E3 {CAMPAIGNS} W2",
            AS_WRITTEN,
            ("cmnist_due-first",),
            ("cmnist_due-more",),
        ),
        Table(
            "ihdp_code",
            "Figure 3, IHDP, by the code's reading",
            f"E1 {CAMPAIGNS}",
            AS_CODE,
            ("ihdp_code-free-first",),
            ("ihdp_code-between", "ihdp_code-free", "ihdp_code-based", "ihdp_code-based-more", "ihdp_code-weights"),
        ),
        Table(
            "ibm_code",
            "Figure 3, IBM, by the code's reading",
            f"E2 {CAMPAIGNS}",
            AS_CODE,
            planned=("ibm_code", "ibm_code-based"),
        ),
        Table(
            "cmnist_code",
            "Figure 3, CMNIST, by the code's reading",
            f"E3 {CAMPAIGNS}",
            AS_CODE,
            planned=("cmnist_code",),
        ),
        Table(
            "ihdp_gp",
            "a second line of evidence, IHDP",
            "E1 E4 A1 B1 M1 W1 W2",
            EXACT,
            ("ihdp_gp-free", "ihdp_gp-bald"),
        ),
        Table(
            "ibm_gp",
            "a second line of evidence, IBM",
            "E2 E4 A1 B1 M1 W2",
            EXACT,
            ("ibm_gp-free", "ibm_gp-weights-first"),
            ("ibm_gp-weights", "ibm_gp-squared"),
        ),
        Table(
            "cmnist_gp",
            "a second line of evidence, CMNIST",
            "E3 E4 A1 B1 M1 W2",
            EXACT,
            ("cmnist_gp-first",),
            ("cmnist_gp-more", "cmnist_gp-bald"),
        ),
        Table(
            "cmnist_controls",
            "the rare arm without pairs, and pairs without coverage",
            "W2",
            planned=("cmnist_controls",),
        ),
        Table("ihdp_s", LABELS, "B1 M1", LEARNERS[0], ("ihdp_s",), ("ihdp_s-squared",)),
        Table("ihdp_t", LABELS, "B1 M1", LEARNERS[1], ("ihdp_t",), ("ihdp_t-squared",)),
        Table("ihdp_x", LABELS, "B1 M1", LEARNERS[2], ("ihdp_x",), ("ihdp_x-squared",)),
        Table("ihdp-early_s", f"{EARLY}, S-learner", "W1", planned=("ihdp-early_s",)),
        Table("ihdp-early_t", f"{EARLY}, T-learner", "W1", planned=("ihdp-early_t",)),
        Table("ihdp-early_x", f"{EARLY}, X-learner", "W1", planned=("ihdp-early_x",)),
        Table("ihdp-early_due", f"{EARLY}, {AS_WRITTEN}", planned=("ihdp-early_due",)),
        Table("ihdp-early_code", f"{EARLY}, {AS_CODE}", planned=("ihdp-early_code",)),
        Table("ihdp-exchanged_gp", f"{SWAPPED}, exact processes", "W1", planned=("ihdp-exchanged_gp",)),
        Table("ihdp-exchanged_s", f"{SWAPPED}, S-learner", "W1", planned=("ihdp-exchanged_s",)),
        Table("ihdp-exchanged_t", f"{SWAPPED}, T-learner", "W1", planned=("ihdp-exchanged_t",)),
        Table("ihdp-exchanged_x", f"{SWAPPED}, X-learner", "W1", planned=("ihdp-exchanged_x",)),
        Table("ihdp_dr", LABELS, "W1", planned=("ihdp_dr",)),
        Table("ihdp_forest", LABELS, "W1", planned=("ihdp_forest",)),
        Table("ihdp-exchanged_dr", f"{SWAPPED}, DR-learner", "W1", planned=("ihdp-exchanged_dr",)),
        Table("ihdp-exchanged_forest", f"{SWAPPED}, causal forest", "W1", planned=("ihdp-exchanged_forest",)),
        Table("ihdp-exchanged_due", f"{SWAPPED}, {AS_WRITTEN}", planned=("ihdp-exchanged_due",)),
        Table("ihdp-exchanged_code", f"{SWAPPED}, {AS_CODE}", planned=("ihdp-exchanged_code",)),
        Table("ihdp_shares", "random labels at given shares of treated", planned=("ihdp_shares",)),
        Table("ihdp-exchanged_shares", f"the same, {SWAPPED}", planned=("ihdp-exchanged_shares",)),
        Table("ihdp_input-1", "the code's model, the treatment as it is", "W3", planned=("ihdp_input-1",)),
        Table("ihdp_input-10", "the code's model, the treatment times 10", "W3", planned=("ihdp_input-10",)),
        Table("ihdp_quick", "the small sweep that the page Run it yourself runs live", specs=("ihdp_quick",)),
        Table("acquired_ihdp", "what IHDP's labelled sets look like", "V1", study="labelled_sets"),
        Table("acquired_ibm", "what IBM's labelled sets look like", "V1", study="labelled_sets"),
        Table("acquired_cmnist", "what CMNIST's labelled sets look like", "V1", study="labelled_sets"),
        *(
            Table(f"acquired-code_{data}", f"the same, {AS_CODE}", "V1", study="labelled_sets")
            for data in ("ihdp", "ibm", "cmnist")
        ),
        *(
            Table(f"replications_{data}", f"sizes and surfaces of {data}'s replications", "D1 W2", study="replications")
            for data in ("ihdp", "ibm", "cmnist")
        ),
        Table("backbones", "what the public code does otherwise than the paper's words", study="backbones"),
        Table("backbones_batching", "the same trainings in one batch, in another order, alone", study="backbones"),
        Table("cmnist_falling", "the image network on growing random sets", study="backbones"),
        Table("dial_curves", "what is known of each world of the dial before any label is bought", study="dial"),
        Table("dial", "campaigns in worlds whose gain can be dialled", study="dial"),
        Table("acic_curves", "what the predictions for ACIC 2016 are made of", study="dial"),
        Table("acic_forecast", "MACAL's gain on ACIC 2016, said before any campaign", "W4", study="forecast"),
        Table("acic", "campaigns on ACIC 2016", "W4", study="dial"),
        Table("ihdp_curves", "IHDP's place on the dial", study="dial"),
        Table("ihdp-exchanged_curves", "the place of IHDP with its arms exchanged", study="dial"),
        Table("ibm_curves", "IBM's place on the dial", study="dial"),
        Table("cmnist_curves", "CMNIST's place on the dial", study="dial"),
        *(
            Table(f"bench_{data}", f"every criterion under every estimator, {data}", "S1 S2 S3", study="bench")
            for data in ("ihdp", "ihdp-exchanged", "ihdp-a", "toy", "acic", "ibm", "cmnist")
        ),
        Table("weighted_ate", "labels drawn with known chances: coverage, and labels saved", study="weighted"),
        Table("weighted_quotas", "the same under quotas and costs: coverage", study="quotas"),
        Table("enough_ihdp", "intervals, forecasts and stopping rules on IHDP", study="enough"),
        Table("bench_toy-starts", "the toy's rows, its processes fitted from several starts", study="bench"),
        Table("tuning", "Table 2's search for hyperparameters", "H1", study="tuning"),
    )
}
INTERIM = {  # a planned sweep may stand in a table of its own, until it is merged into the one that it is for
    name: Table(name, f"a planned sweep of {table.name}", planned=(name,))
    for table in TABLES.values()
    for name in table.planned
    if name != table.name
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
    return results.load(get(name).name)


def by_dataset(line: str) -> dict[str, str]:
    """Names of the tables of one line of evidence, by data set."""
    return {table.dataset: table.name for table in TABLES.values() if table.line == line}


def progress() -> pd.DataFrame:
    """List the catalogue, and planned sweeps that stand in tables of their own.

    Returns:
        One row per table: ``asked`` and ``recorded`` campaigns, ``commits`` that made them (their first digits, "+"
        where code differed from its commit, "unknown" where records do not say), ``claims``, ``about``.
    """
    own = {name: table for name, table in INTERIM.items() if (results.FOLDER / f"{name}.parquet").is_file()}
    rows = {name: (*_progress(table), table.claims, table.about) for name, table in (TABLES | own).items()}
    columns = ["asked", "recorded", "commits", "claims", "about"]
    return pd.DataFrame.from_dict(rows, "index", columns=columns).rename_axis("table")


def _progress(table: Table) -> tuple[str, int, str]:
    asked = table.asked()
    wanted = "as it goes" if asked is None else str(len(asked))
    try:
        found = results.load(table.name)
    except FileNotFoundError:
        return wanted, 0, ""
    keys = {Record(r["config"], [], []).key for r in found.attrs["records"]}
    commits = [f"{commit[:7]}{'+' * (dirty == 'yes')}" for commit, dirty in results.origins(found).index]
    return wanted, len(keys if asked is None else keys & asked), " ".join(commits)
