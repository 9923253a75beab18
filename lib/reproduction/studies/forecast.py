"""What MACAL will gain over Random, by the true surfaces: an allocation part and a placement part.

The allocation part is that of :func:`.allocation.gain_of`, from Random's share of treated to that of MACAL's plan, by
learning curves of the estimator's own two models. The placement part is the rule of :mod:`.placement`, fitted on the
first half of the dial's replications, one per estimator.
"""

import numpy as np
import pandas as pd

from macal.comparison import student
from reproduction.studies.dial import BLOCKS
from reproduction.theory import allocation, placement
from reproduction.theory.allocation import LearningCurve
from reproduction.theory.pairing import value_share
from reproduction.theory.shapes import Coefficients

TRAITS = ["natural", "reached", "spread", "correlation", "separation"]
LABELS = {  # at which a gain is told, and averaged
    "dial": (100.0,),
    "ihdp": (50.0, 90.0, 130.0),
    "ihdp-exchanged": (50.0, 90.0, 130.0),
    "ibm": (250.0, 450.0),
    "cmnist": (700.0,),
}
PAIRS = {  # name -> method, baseline
    "gain": ("macal", "random"),
    "allocation": ("random-balanced", "random"),
    "placement": ("macal", "random-balanced"),
}


def cases(table: pd.DataFrame) -> list[str]:
    """Columns by which a table of these studies tells its cases apart: of the dial, or of one data set."""
    knobs = [name for name in ("r", "rho", "share", "slope") if name in table]
    return ["estimator", *(knobs or ["dataset"])]


def measured(table: pd.DataFrame) -> pd.DataFrame:
    """Log ratios of PEHE by case and replication, averaged over sizes: columns of ``PAIRS``; below 0 is a gain."""
    keys = [*cases(table), "replication"]
    logs = np.log(table.pivot(index=[*keys, "labelled"], columns="method", values="pehe"))
    return pd.DataFrame({k: logs[one] - logs[other] for k, (one, other) in PAIRS.items()}).groupby(keys).mean()


def fit_curves(rows: pd.DataFrame) -> tuple[LearningCurve, LearningCurve]:
    """Power laws of the treated and of the control surface's squared error, averaged over replications first."""
    means = rows.groupby("n")[["treated", "control"]].mean()
    return allocation.fit_curve(means.index, means["treated"]), allocation.fit_curve(means.index, means["control"])


def _about(rows: pd.DataFrame) -> dict[str, float]:
    """What is known of one case, from its rows of learning curves."""
    curves, told = fit_curves(rows), rows[TRAITS].mean()
    parts: dict[str, list[float]] = {"ratio": [], "allocation": []}
    for n in LABELS[rows["dataset"].iloc[0]]:
        treated, control = (curve.scale * (n / 2) ** (-curve.power / 2) for curve in curves)
        parts["ratio"].append(treated / control)
        parts["allocation"].append(allocation.gain_of(told["reached"], told["natural"], *curves, n))
    saving = value_share(told["correlation"], told["spread"])
    return {**told, "saving": saving, **{name: float(np.mean(values)) for name, values in parts.items()}}


def known(curves: pd.DataFrame) -> pd.DataFrame:
    """What can be said of each case without a campaign.

    Args:
        curves: ``dial_curves``, or those of another data set.

    Returns:
        By case: ``TRAITS`` averaged over replications, and ``saving`` (:func:`.pairing.value_share`); ``ratio`` of the
        arms' root errors with half of the labels each, and ``allocation`` part of the gain, both averaged over
        ``LABELS``.
    """
    keys = cases(curves)
    found = {key: _about(rows) for key, rows in curves.groupby(keys)}
    return pd.DataFrame.from_dict(found, "index").rename_axis(keys)


def halves(campaigns: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of the replications that make the rules, and of those that judge them; see ``BLOCKS``."""
    first = (campaigns["replication"] % 100).isin(BLOCKS[0])
    return campaigns[first], campaigns[~first]


def rules(curves: pd.DataFrame, campaigns: pd.DataFrame) -> dict[str, Coefficients]:
    """Estimator -> placement rule, fitted to the means of the dial's worlds over the first half of replications."""
    means = measured(halves(campaigns)[0])["placement"].groupby(cases(campaigns)).mean()
    both = known(curves)[["saving", "separation"]].join(means)
    return {str(name): placement.fit_rule(*own.to_numpy().T) for name, own in both.groupby("estimator")}


def forecast(about: pd.DataFrame, fitted: dict[str, Coefficients]) -> pd.DataFrame:
    """Add ``placement`` and ``gain``, the sum of both parts, to what :func:`known` says."""
    own = [
        rows.assign(placement=placement.predicted(fitted[str(name)], rows["saving"], rows["separation"]))
        for name, rows in about.groupby("estimator")
    ]
    return pd.concat(own).assign(gain=lambda rows: rows["allocation"] + rows["placement"])


def benchmark(curves: pd.DataFrame, campaigns: pd.DataFrame, fitted: dict[str, Coefficients]) -> pd.Series:
    """Predicted and measured gain on a data set whose campaigns are recorded elsewhere, under Gaussian processes.

    Args:
        curves: say ``ihdp_curves``.
        campaigns: say ``ihdp_gp``; of its rows those from the first to the last number of ``LABELS``.
        fitted: the rules.

    Returns:
        The row of :func:`forecast`, its gain as ``predicted``; as measured, ``gain``, ``low``, ``high`` and the means
        ``allocation_measured`` and ``placement_measured``.
    """
    estimator, name = "exact GP per arm", curves["dataset"].iloc[0]
    own = curves[curves["estimator"] == estimator]
    said = forecast(known(own), fitted).iloc[0].rename({"gain": "predicted"})
    between = campaigns["labelled"].between(min(LABELS[name]), max(LABELS[name]))
    found = measured(campaigns[between].assign(estimator=estimator, dataset=name)).dropna()
    bounds, parts = student(found["gain"]), found[["allocation", "placement"]].mean().add_suffix("_measured")
    gain = pd.Series({"gain": found["gain"].mean(), "low": bounds["low"], "high": bounds["high"]})
    return pd.concat([said, gain, parts])
