"""What recorded tables must satisfy whatever they say: shared starts, shared ends, one row per training."""

import pytest
from needs import needs_data

import macal
from macal import campaigns
from reproduction.claims import gain
from reproduction.claims.versions import CODE, EXACT, LEARNERS, TEXT, load
from reproduction.studies import tables

RECORDED = [(version, name) for version in (TEXT, CODE, EXACT, *LEARNERS) for name in version.tables]
each_table = pytest.mark.parametrize(("version", "name"), RECORDED, ids=[f"{r.name}, {n}" for r, n in RECORDED])


def same_labels(table, size):
    """Trainings at a size where all methods have labelled the same units, by replication."""
    return table[table.labelled == size].groupby("replication")


@each_table
def test_all_methods_start_from_the_same_labels(version, name):
    if (table := version.load(name)) is None:
        pytest.skip("not recorded")
    start = same_labels(table, table.labelled.min())
    assert (start.treated.nunique() == 1).all()
    # in another batch rounding differs, and training amplifies it
    assert (start.pehe.max() / start.pehe.min() < 1.5).all()


def test_methods_that_exhaust_the_pool_end_alike():
    end = same_labels(TEXT.load("ihdp"), 470)
    assert (end.treated.nunique() == 1).all() and (end.pehe.max() / end.pehe.min() < 1.5).all()


def test_the_errors_of_the_surfaces_bound_that_of_the_effect():
    gp = macal.models.get("exact-gp", optimiser="lbfgs")
    live = macal.run(macal.load("ihdp", 0), "macal", gp, every=12, n_queries=12, measures=campaigns.SURFACES)
    assert (live.pehe <= live["control surface"] + live["treated surface"] + 1e-9).all()


def assert_runs_again(table, dataset, n_queries):
    gp = macal.models.get("exact-gp", optimiser="lbfgs")
    live = macal.run(macal.load(dataset, 0), macal.get("macal", alpha=2.5), gp, every=4, n_queries=n_queries)
    keys = ["replication", "method", "labelled"]
    both = live.assign(method="macal").merge(table, on=keys, suffixes=("", "_recorded"))
    assert len(both) >= 3
    assert (both.pehe / both.pehe_recorded - 1).abs().max() < 1e-3


@pytest.mark.parametrize("surface", gain.SURFACES)
def test_a_recorded_campaign_on_ihdp_runs_again(surface):
    assert_runs_again(load(tables.by_dataset(tables.EXACT)[surface]), surface, 12)


@needs_data("ibm")
def test_a_recorded_campaign_on_ibm_runs_again():
    assert_runs_again(EXACT.load("ibm"), "ibm", 8)
