"""Whether a model's intervals hold what they promise on IHDP, and how often stopping rules stop too early."""

import numpy as np
import pandas as pd
from scipy.special import ndtri

from macal.acquisition import CRITERIA
from macal.comparison import student
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word
from reproduction.claims.weighted import OFF, PROMISED, combined_verdict, exact_interval
from reproduction.studies import tables
from reproduction.studies.enough import WIDTHS

TOO_EARLY = 0.05  # of the campaigns that a rule stops
KEYS = ["model", "method"]


def calibration(table: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """Share of true effects within their intervals, mean over looks.

    Returns:
        By model and method: ``effects``, the share of units whose interval holds their effect, with Student's interval
        over replications, ``low`` to ``high`` (all rows together); ``average``, the share of looks whose interval holds
        the mean effect; ``verdict``: "holds" where ``effects`` is within a point of 95%, "fails" where its
        whole interval is beyond that, else "open".
    """
    own = table.groupby([*KEYS, "replication"], sort=False)[["held", "held_average"]].mean()
    rows = {}
    for key, part in own.groupby(level=KEYS, sort=False):
        bounds = student(part["held"], 1 - rules.level / (own.index.droplevel("replication").nunique()))
        about = {"effects": part["held"].mean(), "low": bounds["low"], "high": bounds["high"]}
        rows[key] = about | {"average": part["held_average"].mean()}
    found = pd.DataFrame.from_dict(rows, "index").rename_axis(KEYS)
    near = (found["effects"] - PROMISED).abs() <= OFF
    far = (found["low"] > PROMISED + OFF) | (found["high"] < PROMISED - OFF)
    return found.assign(verdict=np.select([near, far], ["holds", "fails"], "open"))


def forecasts(table: pd.DataFrame) -> pd.DataFrame:
    """Forecast of the next round over what the model then says, by model, method and labels: means of the ratios.

    Returns:
        ``effects``, of people's mean s.d., and ``average``, of the mean effect's; 1 where forecasts come true.
    """
    ordered = table.sort_values("labelled")
    groups = ordered.groupby([*KEYS, "replication"], sort=False)
    came = groups[["deviation", "error"]].shift(-1)
    ratio = pd.DataFrame(
        {"effects": ordered["ahead"] / came["deviation"], "average": ordered["ahead_average"] / came["error"]}
    )
    return ratio.groupby([ordered["model"], ordered["method"], ordered["labelled"]], sort=False).mean().dropna()


def stops(table: pd.DataFrame) -> pd.DataFrame:
    """Where each rule by width stops each campaign, and whether that is too early; see the study of that name.

    Returns:
        A row per ``width``, model, method and replication: ``labelled``, NaN where the rule has not stopped, and
        ``early``, False there.
    """
    rows = []
    for (model, method, replication), own in table.groupby([*KEYS, "replication"], sort=False):
        looks = {name: column.to_numpy() for name, column in own.sort_values("labelled").items()}
        off = np.abs(looks["average"] - looks["truth"])
        for width in WIDTHS:
            met = 2 * float(ndtri((1 + PROMISED) / 2)) * looks["error"] <= width
            at = int(met.argmax())
            stopped = {"labelled": looks["labelled"][at], "early": bool(off[at] > width / 2)}
            about = {"width": width, "model": model, "method": method, "replication": replication}
            rows.append(about | (stopped if met.any() else {"labelled": np.nan, "early": False}))
    return pd.DataFrame(rows)


def too_early(found: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """How often each rule stops, and stops too early.

    ``found``: see :func:`stops`.

    Returns:
        By width, model and method: ``stopped`` campaigns, at how many labels (``median``), ``early`` ones and their
        ``share`` of those stopped with its exact interval, ``low`` to ``high`` (all rows together).
    """
    groups = found.groupby(["width", *KEYS], sort=False)
    told = groups.agg(stopped=("labelled", "count"), median=("labelled", "median"), early=("early", "sum"))
    told["share"] = told["early"] / told["stopped"]
    told["low"], told["high"] = exact_interval(told["early"], told["stopped"], rules.level / len(told))
    return told


def judge_calibration(rules: Rules) -> Verdict:
    """Do the models' 95% intervals hold 95% of IHDP's effects, to a point?"""
    found = calibration(tables.load("enough_ihdp"), rules)
    told = ", ".join(
        f"{model}, labels by {CRITERIA[method].label} {row.effects:.1%}" for (model, method), row in found.iterrows()
    )
    return Verdict(
        combined_verdict(found["verdict"]),
        f"share of people whose interval holds their effect, mean over looks: {told}",
    )


def judge_stopping(rules: Rules) -> Verdict:
    """Is stopping at a width too early in at most 5% of the campaigns?

    A rule on which that is not so for sure, and not refuted, is open. Rules that stop fewer campaigns than the
    minimum do not count.
    """
    found = too_early(stops(tables.load("enough_ihdp")), rules)
    found = found[found["stopped"] >= rules.minimum]
    words: list[Word] = [
        "fails" if row.low > TOO_EARLY else "holds" if row.share <= TOO_EARLY else "open" for row in found.itertuples()
    ]
    worst = found["share"].idxmax()
    return Verdict(
        combined_verdict(words),
        f"of {len(words)} rules by width that stop at least {rules.minimum} campaigns, {words.count('holds')} stop too"
        f" early in at most {TOO_EARLY:.0%}, {words.count('fails')} surely in more, {words.count('open')}"
        f" are open; worst {found['share'].max():.0%}, at width {worst[0]:g}, {worst[1]}, labels by"
        f" {CRITERIA[worst[2]].label}",
    )
