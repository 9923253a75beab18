"""What a sample loses, and the sizes that the rules recommend."""

import numpy as np
import pandas as pd
import pytest

from reproduction.studies import samples

COLUMNS = "covariates criterion among candidates labels replication seconds variance plan bound".split()


def recorded():
    """Two kinds of covariates: in "a" 0.2 of the lead is lost by 10 people, in "b" 0.1; "c" has hardly a lead."""
    rows = []
    for kind, random, best, few in (("a", 2.0, 1.0, 1.2), ("b", 3.0, 1.0, 1.2), ("c", 1.01, 1.0, 5.0)):
        rows += [(kind, "random", "chance", 9, 5, k, 0.0, random + k - 1, 5, np.nan) for k in range(3)]
        rows += [(kind, "alc-fixed", "people", 10, 5, k, 1.0, few + (k - 0.5) / 10, 5, np.nan) for k in range(2)]
        rows.append((kind, "alc-fixed", "people", 100, 5, 0, 3.0, best + 0.02, 5, np.nan))
        rows.append((kind, "alc-fixed", "people", 1000, 5, 0, 9.0, best, 5, np.nan))
        rows.append((kind, "alc-fixed", "balls", 1000, 5, 0, 7.0, best + 0.1, 5, 2.5))
    return pd.DataFrame(rows, columns=COLUMNS)


def test_replications_are_averaged():
    found = samples.variances(recorded())
    one = found.loc[("people", "alc-fixed", 5, "a", 10)]
    assert one["replications"] == 2 and one["variance"] == pytest.approx(1.2) and one["random"] == pytest.approx(2)


def test_losses_are_shares_of_the_lead_of_the_largest_population():
    found = samples.losses(recorded())
    loss = found["loss"].unstack("candidates").droplevel(["criterion", "labels"])
    np.testing.assert_allclose(loss.loc[["a", "b"]], [[0.2, 0.02], [0.1, 0.01]])
    assert (found["most"] == 1000).all() and 1000 not in found.index.get_level_values("candidates")
    mean = samples.mean_losses(found)
    np.testing.assert_allclose(mean["loss"], [0.15, 0.015])
    np.testing.assert_allclose(mean["error"], [0.05, 0.005])
    assert (mean["kinds"] == 2).all()


def test_the_table_that_is_measured_for_its_price_is_in_no_mean():
    every = recorded()
    more = pd.concat([every, every.query("covariates == 'b'").assign(covariates=samples.APART)])
    assert samples.APART in samples.losses(more).index.get_level_values("covariates")
    pd.testing.assert_frame_equal(*(samples.mean_losses(samples.losses(rows)) for rows in (every, more)))


def test_a_size_must_do_from_there_on():
    def of(*losses):
        index = pd.MultiIndex.from_product([["x"], [5], [10, 20, 50, 100]], names=["criterion", "labels", "candidates"])
        return samples.smallest(pd.DataFrame({"loss": losses}, index)).iloc[0]

    assert of(0.2, 0.05, 0.04, 0.0) == 20 and of(0.04, 0.06, 0.01, 0.01) == 50 and of(-1.0, 0, 0, 0) == 10
    assert np.isnan(of(0.0, 0.0, 0.0, 0.06))


def test_the_recorded_plans_are_the_design():
    plans = samples.plans()
    assert plans.columns.tolist() == COLUMNS
    assert not plans.duplicated(["covariates", "criterion", "among", "candidates", "labels", "replication"]).any()
    assert plans["variance"].between(0, 2).all() and (plans["seconds"].dropna() >= 0).all()
    table = samples.compared(plans)
    assert table.notna().all(axis=None) and (table["random labels"] > table["all 200,000"]).all() and len(table) == 8


def test_what_is_compared_is_missing_where_nothing_is_recorded():
    table = samples.compared(recorded(), 5, 1000, [10, 100])
    np.testing.assert_allclose(table.loc[("alc-fixed", "a")], [1, 1.2, 1.02, 2])
    none = recorded().query("candidates != 10 or covariates != 'a'")
    assert np.isnan(samples.compared(none, 5, 1000, [10]).loc[("alc-fixed", "a"), "sample of 10"])
