"""The verdicts of recorded campaigns a second time: from the raw tables, by a plain path of pandas and scipy.

Nothing of `macal.comparison` or of the claims is used, but the verdicts that are checked: those about errors are judged
by `second_judge.py` from `results/claims.json`.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from needs import each_dataset
from scipy.spatial.distance import cdist
from second_judge import KEYS, VERSIONS, Judge, compared, lowest, several

import macal
from macal import results
from reproduction import claims

FOLDER = Path(__file__).parents[2] / "results"
MEANS = ("geometric", "arithmetic")
JUDGES = {mean: Judge(FOLDER, mean) for mean in MEANS}
common = JUDGES["geometric"].common
LEDGER = {}


def verdicts(key, mean="geometric"):
    """Of the code version, and of the text version; judged once."""
    if (key, mean) not in LEDGER:
        claim = next(claim for claim in claims.CLAIMS if claim.key == key)
        LEDGER[key, mean] = claim.verdicts(claims.Rules(mean=mean))
    return LEDGER[key, mean]


def check(found, evidence):
    """Every number stands in the evidence, under its word."""
    for other, row in found.iterrows():
        number = f"{other} {row['mean']:+.3f} [{row.low:+.3f}, {row.high:+.3f}]"
        assert number in evidence, f"{number} is not in: {evidence}"
        before = evidence[: evidence.index(number)]
        assert re.findall("(ahead|behind|no lead|open): ", before)[-1] == row.word


@pytest.mark.parametrize(
    "version", [pytest.param(0, id="code"), pytest.param(1, marks=pytest.mark.exhaustive, id="text")]
)
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("key", KEYS)
def test_a_second_judge_agrees(key, version, mean):
    """On the verdict, and on every number that its evidence names."""
    verdict, judged = verdicts(key, mean)[version], JUDGES[mean].verdict(key, [*VERSIONS][version])
    assert verdict.verdict == judged.word
    for found in judged.found:
        check(found, verdict.evidence)
    assert all(said in verdict.evidence for said in judged.said)
    assert judged.found or judged.said or judged.word == "open"


def split_gain(name, mean):
    """Mean of MACAL, Random and balanced at 50 to 160 labels, and the three differences of logs by replication."""
    errors = common(name, ["macal", "random", "random-balanced"], 160)
    if errors is None:
        return None
    logs = JUDGES[mean].level(errors)
    pairs = {"allocation": ("random-balanced", "random"), "placement": ("macal", "random-balanced"),
             "gain": ("macal", "random")}  # fmt: skip
    return compared({part: logs[a] - logs[b] for part, (a, b) in pairs.items()}, 6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mean", MEANS)
def test_allocation_and_the_swap(mean):
    verdict, words = verdicts("W1", mean)[0], []
    for model in ("gp", "s", "t", "x", "dr", "forest"):
        first = "ihdp-early" if model in "stx" else "ihdp"
        here, there = (split_gain(f"{name}_{model}", mean) for name in (first, "ihdp-exchanged"))
        if here is None or there is None:
            continue
        for part in here.index:
            for found in (here, there):
                row = found.loc[part]
                assert f"{row['mean']:+.3f} [{row.low:+.3f}, {row.high:+.3f}]" in verdict.evidence
        told = [found.word[part] for found in (here, there) for part in ("allocation", "gain")]
        turns = told in (["ahead"] * 2 + ["behind"] * 2, ["behind"] * 2 + ["ahead"] * 2)
        open_ = {*told} - {"ahead", "behind"}
        words.append("open" if open_ else "holds" if turns else "fails")
    assert verdict.verdict == several(words) and len(words) >= 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("dataset", each_dataset("ihdp", "ibm", "cmnist"))
def test_what_similarity_is_worth(dataset, mean):
    verdict, shares = verdicts("W2", mean)[0], []
    for r in range(10):
        pool = macal.load(dataset, r).pool
        one, zero = pool.mu1 - pool.mu1.mean(), pool.mu0 - pool.mu0.mean()
        shares.append(2 * (one * zero).mean() / ((one**2).mean() + (zero**2).mean()))
    seen = set()
    for model, method in (("gp", "macal"), *VERSIONS.values()):
        name, pair = f"{dataset}_{model}", (method, f"{method}-0")
        errors = common(name, pair, 160 if dataset == "ihdp" else None)
        if errors is None:
            continue
        logs = JUDGES[mean].level(errors)
        row = compared({"": logs[pair[0]] - logs[pair[1]]}, 3).iloc[0]
        number = f"{row['mean']:+.3f} [{row.low:+.3f}, {row.high:+.3f}]"
        assert f"predicted share {np.mean(shares):+.2f}, log ratio of weight 2.5 to 0 {number}" in verdict.evidence
        if row.word in ("ahead", "behind"):
            seen.add("as predicted" if (row.word == "ahead") == (np.mean(shares) > 0) else "against the prediction")
    assert {came for came in ("as predicted", "against the prediction") if came in verdict.evidence} >= seen
    if len(seen) == 2:
        assert verdict.verdict == "holds in part"
    elif seen:
        assert verdict.verdict in ("holds in part", {"as predicted": "fails"}.get(*seen, "holds"))


@pytest.mark.parametrize("mean", MEANS)
def test_the_escape_from_collapse(mean):
    verdict, leads = verdicts("W3", mean)[0], {}
    if not all((FOLDER / f"ihdp_input-{scale}.parquet").is_file() for scale in (1, 10)):
        assert verdict.verdict == "open"
        return
    for scale in (1, 10):
        table = pd.read_parquet(FOLDER / f"ihdp_input-{scale}.parquet")
        logs = JUDGES[mean].level(table.set_index(["replication", "labelled", "method"]).pehe.unstack().dropna())
        leads[scale] = logs["macal"] - logs["random"]
        constant = {r: macal.load("ihdp", int(r)).test.tau.std() for r in table.replication.unique()}
        share = (table.pehe > table.replication.map(constant)).groupby(table.method).mean()
        for method, value in share.items():
            assert f"{method} {value:.0%}" in verdict.evidence
    gaps = {"as it is": leads[1], "times 10": leads[10], "difference": (leads[1] - leads[10]).dropna()}
    found = compared(gaps, 3)
    check(found, verdict.evidence.split("; worse than")[0])
    one, ten, difference = found.word
    word = "fails" if {one, difference} & {"behind", "no lead"} else "open"
    if one == difference == "ahead":
        word = "holds" if ten in ("behind", "no lead") else "holds in part"
    assert verdict.verdict == word


@pytest.mark.exhaustive
def test_labelled_sets_pair_up_and_spread_out():
    verdict, words = verdicts("V1")[1], {"counterpart": [], "radius": []}
    for dataset in ("ihdp", "ibm", "cmnist"):
        table = pd.read_parquet(FOLDER / f"acquired_{dataset}.parquet")
        for measure, step in ((m, s) for m in words for s in sorted(table.step.unique())):
            wide = np.log(table[table.step == step].pivot(index="replication", columns="method", values=measure))
            others = [m for m in ("random", "lcmd", "qhte", "mu-rho-bald") if m in wide and wide[m].count() >= 3]
            gaps = {m: (wide["macal"] - wide[m]).dropna() for m in others}
            found = compared(gaps, 4)
            words[measure].append(lowest(found, len(found)))
            for m, row in found.iterrows() if step == table.step.max() else ():
                low, mean, high = np.exp([row.low, row["mean"], row.high])
                assert f"{m} {mean:.2f} [{low:.2f}, {high:.2f}]" in verdict.evidence
    paired, spread = several(words["counterpart"]), several(words["radius"])
    assert f"pair up: {paired}; spread out: {spread};" in verdict.evidence
    assert verdict.verdict == several([paired, spread])


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", [0, 1])
def test_mu_rho_bald_spreads_out(version):
    verdict, words = verdicts("V2")[version], []
    for dataset in ("ihdp", "ibm", "cmnist"):
        table = pd.read_parquet(FOLDER / f"acquired{'-code' * (version == 0)}_{dataset}.parquet")
        for step in sorted(table.step.unique()):
            wide = np.log(table[table.step == step].pivot(index="replication", columns="method", values="radius"))
            if "mu-rho-bald" in wide and wide["mu-rho-bald"].count() >= 3:
                found = compared({"random": (wide["mu-rho-bald"] - wide["random"]).dropna()}, 1)
                check(found, verdict.evidence.split(f"{dataset}, step {step}: ")[1].split("]")[0] + "]")
                words.append(lowest(found, 1))
    assert len(words) >= 4 and verdict.verdict == several(words)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dataset", each_dataset("ihdp", "ibm", "cmnist"))
def test_labelled_sets_are_rebuilt_from_the_picks(dataset):
    table, small = results.load(f"acquired_{dataset}"), dataset == "ihdp"
    problems = {r: macal.load(dataset, r) for r in range(10 if small else 1)}
    rows = table.set_index(["replication", "method", "step"])
    for record in table.attrs["records"]:
        r, method = record["config"]["replication"], record["config"]["method"]
        if r not in problems or not (small or method in ("macal", "random")):  # images are slow
            continue
        problem = problems[r]
        x, t = np.asarray(problem.pool.x, float), np.asarray(problem.pool.t)
        for step in sorted(table.step.unique())[: None if small else 1]:
            own = [*problem.start, *(unit for batch in record["picks"][:step] for unit in batch)]
            assert len(set(own)) == len(own)
            between = cdist(x[own][t[own] == 1], x[own][t[own] == 0])
            nearest = np.concatenate([between.min(axis=0), between.min(axis=1)])
            radius = max(cdist(x[t == a], x[own][t[own] == a]).min(axis=1).max() for a in (0, 1))
            found = rows.loc[(r, method, step)]
            recorded = found[["counterpart", "radius", "treated"]].astype(float)
            np.testing.assert_allclose([nearest.mean(), radius, t[own].sum()], recorded, rtol=1e-5)


@pytest.mark.parametrize(("name", "last"), [("ihdp_due", 46), ("ihdp_code", 46)])
def test_recorded_campaigns_label_what_their_picks_say(name, last):
    table = results.load(name)
    treated = table.set_index(["replication", "method", "labelled"]).treated
    for record in (r for r in table.attrs["records"] if r["config"]["replication"] < 2):
        config = record["config"]
        problem = macal.load("ihdp", config["replication"], config["protocol"])
        units = [*problem.start]
        for batch in [[], *record["picks"]]:
            units += batch
            key = config["replication"], config["method"], len(units)
            assert len(set(units)) == len(units)
            assert key not in treated.index or treated[key] == problem.pool.t[units].sum()
        assert len(record["picks"]) <= last
