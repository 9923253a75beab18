"""Six real tables: people, the arm each was in, and what came out. Effects are not known of them.

What their covariates, treatments and outcomes are:

- "rhc": right heart catheterisation in the first day of intensive care (``swang1``); ``t3d30``, days survived of 30.
- "college": a college in the county where a young man grew up (``nearc4``); ``lwage``, log wage. Schooling, which the
  college changes, is no covariate: ``age``, that is ``exper + educ + 6``, stands for experience.
- "letters": letters to legislators, black ones (``leg_black``) and others; ``responded``.
- "hiv": money for picking up one's HIV result (``any``); ``got``, picked up.
- "lalonde": a training programme (``treat``), the experiment's people and those of a survey; ``re78``, earnings.
- "insurance": intensive information about rice insurance (``intensive``); ``takeup_survey``, taken up.

No outcome is a covariate, nor is what follows from the treatment or names people, villages and dates. A number that is
missing becomes the median of those known, and a 0/1 column says for whom; a category that is missing is a category.

Sources:
    A. Connors et al., "The Effectiveness of Right Heart Catheterization in the Initial Care of Critically Ill
    Patients", JAMA 276(11), 1996.
    D. Card, "Using Geographic Variation in College Proximity to Estimate the Return to Schooling", 1995.
    D. Broockman, "Black Politicians Are More Intrinsically Motivated to Advance Blacks' Interests", AJPS 57(3), 2013.
    R. Thornton, "The Demand for, and Impact of, Learning HIV Status", American Economic Review 98(5), 2008.
    R. LaLonde, "Evaluating the Econometric Evaluations of Training Programs", American Economic Review 76(4), 1986; R.
    Dehejia and S. Wahba, Review of Economics and Statistics 84(1), 2002.
    J. Cai, A. de Janvry and E. Sadoulet, "Social Networks and the Decision to Insure", AEJ: Applied 7(2), 2015.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO

import numpy as np
import pandas as pd

from macal.datasets import files
from macal.registry import Registry
from macal.shapes import Arms, Covariates, Outcomes, Rows
from macal.tables.encoding import encoded

MISSING = "missing"  # what a category is called where there is none
_CAUSALDATA = "NickCH-K/causaldata", "94e0c05b394597b65fd7b3722b3fbd62f7a6c113"
_RHC = "THOMASELOVE/500-data", "ef5fb85f57d8fb320708a059e5ac27080169677e"
_SOURCES = {  # file -> repository and commit, path there, SHA-256
    "rhc.csv": (*_RHC, "data/rhc.csv", "9ef4ab578be4b40ad5d97d3a7e08ffdc1f9f76aeeefee51b4996e4221556f8e8"),
    "close_college.dta": (
        *_CAUSALDATA,
        "Python/causaldata/close_college/close_college.dta",
        "4fdcb18eaa95700e7eb75e769dbabc7f08d1255953597ac5c8fc55df60b2c20a",
    ),
    "black_politicians.csv": (
        *_CAUSALDATA,
        "Python/causaldata/black_politicians/black_politicians.csv",
        "3b7b71916a7f4f6a1abf4f834e1989a552bc3eea322763e9a4786077a06d7282",
    ),
    "thornton_hiv.dta": (
        *_CAUSALDATA,
        "Python/causaldata/thornton_hiv/thornton_hiv.dta",
        "add8c0410f44f0561257c0024e768c3036b1183aa58299e47a80a24d17ba4b62",
    ),
    "nsw_mixtape.dta": (
        *_CAUSALDATA,
        "Python/causaldata/nsw_mixtape/nsw_mixtape.dta",
        "e4a64e4436c2c178f47d6c82a371d20f1596b82b44862ce24bf13c71ac797339",
    ),
    "cps_mixtape.dta": (
        *_CAUSALDATA,
        "Python/causaldata/cps_mixtape/cps_mixtape.dta",
        "1345a61d4f4f6ab84abd475906a86671b969b278a8ef0e96d8e8ba8e3c3556e1",
    ),
    "Cai_2015.csv": (
        *_CAUSALDATA,
        "Python/causaldata/social_insure/Cai_2015.csv",
        "3bf0c66e5e83a399972ba35fc24bda0b93e4f5ffd1c796398067a0fdff691dbe",
    ),
}
files.declare("tables", {f"tables/{name}": files.pinned(*source) for name, source in _SOURCES.items()})


@dataclass(frozen=True)
class Layout:
    """Which columns of which files are what in a table.

    Attributes:
        files: one below the other.
        treatment: who has another value than ``control`` is treated; rows without one are left out.
        control: value of the untreated.
        outcome: a number.
        numbers: covariates that are numbers.
        categories: covariates that are not.
        zeros: of the numbers, those in which a 0 stands for a missing value.
    """

    files: tuple[str, ...]
    treatment: str
    control: str | int
    outcome: str
    numbers: tuple[str, ...]
    categories: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RealTable:
    """The n people of a table, each in an arm.

    Attributes:
        columns: their covariates, complete, as :func:`.encoding.encoded` takes them.
        t: treatment, (n,).
        y: outcome, (n,), NaN where it is missing.
        sources: raw files and the SHA-256 of their content.
    """

    columns: dict[str, Outcomes | pd.Series]
    t: Arms
    y: Outcomes
    sources: dict[str, str]

    def covariates(self, pool: Rows) -> Covariates:
        """Covariates of everybody, (n, d), numbers standardised by the people of ``pool``."""
        return encoded(self.columns, pool)


TABLES: Registry[Layout] = Registry(
    "table",
    {
        "rhc": Layout(
            ("rhc.csv",),
            "swang1",
            "No RHC",
            "t3d30",
            (
                *("cardiohx", "chfhx", "dementhx", "psychhx", "chrpulhx", "renalhx", "liverhx", "gibledhx", "malighx"),
                *("immunhx", "transhx", "amihx", "age", "edu", "das2d3pc", "aps1", "scoma1", "meanbp1", "wblc1"),
                *("hrt1", "resp1", "temp1", "pafi1", "alb1", "hema1", "bili1", "crea1", "sod1", "pot1", "paco21"),
                *("ph1", "wtkilo1", "adld3p", "urin1"),
            ),
            (
                *("cat1", "cat2", "ca", "sex", "dnr1", "ninsclas", "resp", "card", "neuro", "gastr", "renal", "meta"),
                *("hema", "seps", "trauma", "ortho", "race", "income"),
            ),
            zeros=("wtkilo1",),
        ),
        "college": Layout(
            ("close_college.dta",), "nearc4", 0, "lwage", ("age", "black", "smsa", "south"), ("married",)
        ),
        "letters": Layout(
            ("black_politicians.csv",),
            "leg_black",
            0,
            "responded",
            (
                *("treat_out", "totalpop", "medianhhincom", "black_medianhh", "white_medianhh", "blackpercent"),
                *("statessquireindex", "nonblacknonwhite", "urbanpercent", "leg_senator", "leg_democrat", "south"),
            ),
        ),
        "hiv": Layout(("thornton_hiv.dta",), "any", 0, "got", ("distvct", "age"), ("hiv2004",)),
        "lalonde": Layout(
            ("nsw_mixtape.dta", "cps_mixtape.dta"),
            "treat",
            0,
            "re78",
            ("age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75"),
        ),
        "insurance": Layout(
            ("Cai_2015.csv",),
            "intensive",
            0,
            "takeup_survey",
            (
                *("age", "agpop", "ricearea_2010", "disaster_prob", "male", "default", "risk_averse", "literacy"),
                "pre_takeup_rate",
            ),
        ),
    },
)


@cache
def people(name: str) -> RealTable:
    """Everybody in a table who was in an arm; UnknownName for no table, else raises as :func:`.files.read`."""
    about = TABLES[name]
    rows = pd.concat([_read(file) for file in about.files], ignore_index=True)
    rows = rows[rows[about.treatment].notna()].reset_index(drop=True)
    if name == "college":
        rows["age"] = rows["exper"].astype(float) + rows["educ"] + 6
    columns = {**_numbers(rows, about.numbers, about.zeros), **{c: _category(rows[c]) for c in about.categories}}
    t = (rows[about.treatment] != about.control).to_numpy(np.int64)
    sources = {f"tables/{file}": files.FILES[f"tables/{file}"].sha256 for file in about.files}
    return RealTable(columns, t, rows[about.outcome].to_numpy(np.float64), sources)


def _read(file: str) -> pd.DataFrame:
    content = BytesIO(files.read(f"tables/{file}"))
    return pd.read_stata(content) if file.endswith(".dta") else pd.read_csv(content)


def _numbers(rows: pd.DataFrame, names: Sequence[str], zeros: Sequence[str]) -> dict[str, Outcomes | pd.Series]:
    """Numbers without gaps, and truth values that say who had one."""
    found: dict[str, Outcomes | pd.Series] = {}
    for name in names:
        values = rows[name].to_numpy(np.float64)
        gaps = np.isnan(values) | ((values == 0) & (name in zeros))
        found[name] = np.where(gaps, np.median(values[~gaps]), values)
        if gaps.any():
            found[f"{name} {MISSING}"] = pd.Series(gaps)
    return found


def _category(column: pd.Series) -> pd.Series:
    return column.astype(object).where(column.notna(), MISSING).map(str).astype("category")
