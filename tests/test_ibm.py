"""IBM (LBIDD) against Table 1, the raw files and a second implementation with pandas and scikit-learn."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from cases import exhaustive, part_and_whole
from needs import needs_data
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import macal
from macal import files
from macal.datasets import ibm

pytestmark = needs_data("ibm")


def here():
    """Instances whose files are on this machine: a clone has the default one, and nothing is downloaded by a test."""
    return [instance for instance in ibm.instances() if all(map(files.find, ibm._sources(instance)))]


def raw(instance=ibm.INSTANCE):
    births, factual, both = map(files.find, ibm._sources(instance))
    births, factual, both = pd.read_parquet(births), pd.read_csv(factual), pd.read_csv(both)
    merged = factual.merge(both, on="sample_id", validate="1:1").merge(births, on="sample_id", validate="1:1")
    return merged.set_index("sample_id").loc[factual["sample_id"]]


def by_hand(seed):
    """The protocol, step by step, on whole tables."""
    table = raw().iloc[np.random.default_rng(seed).choice(50_000, 25_000, replace=False)]
    rest, test = train_test_split(table, test_size=0.25, random_state=seed)
    age = StandardScaler().fit_transform(rest[["mager9"]].to_numpy(float))[:, 0]
    rest = rest[~((rest["z"] == 1) & (age <= 0) & (age >= -3))]
    pool, valid = train_test_split(rest, test_size=0.25, random_state=seed)
    scaler = StandardScaler().fit(pool.iloc[:, 4:].to_numpy(float))
    return scaler, pool, valid, test


@part_and_whole("n", 2, 10)
def test_sizes_of_table_1(n):
    for problem in (macal.load("ibm", seed) for seed in range(n)):
        assert len(problem.pool) == pytest.approx(9540, rel=0.01), problem.seed
        assert len(problem.valid) == pytest.approx(3180, rel=0.01), problem.seed
        assert len(problem.test) == 6250 and problem.pool.x.shape[1] == 177
        assert (len(problem.start), problem.batch_size, problem.n_queries) == (50, 50, 50)


@pytest.mark.parametrize("seed", [0, 7])
def test_equals_a_second_implementation(seed):
    problem = macal.load("ibm", seed)
    scaler, *tables = by_hand(seed)
    for split, table in zip((problem.pool, problem.valid, problem.test), tables, strict=True):
        np.testing.assert_allclose(split.x, scaler.transform(table.iloc[:, 4:].to_numpy(float)), atol=1e-5)
        for name, column in (("t", "z"), ("y", "y"), ("mu0", "y0"), ("mu1", "y1")):
            assert np.array_equal(getattr(split, name), table[column]), name
    assert problem.y_scale == pytest.approx((tables[0]["y"].mean(), tables[0]["y"].std(ddof=0)))


def test_splits_are_disjoint():
    problem = macal.load("ibm", 3)
    outcomes = np.concatenate([problem.pool.y, problem.valid.y, problem.test.y])
    assert len(np.unique(outcomes)) == len(outcomes)  # outcomes tell units apart: all 50,000 differ
    assert len(np.unique(raw()["y"])) == 50_000


def test_the_bias_step_drops_treated_units_of_young_mothers_from_the_training_part_alone():
    problem = macal.load("ibm", 0)
    table = raw().reset_index().set_index("y")
    pool, valid, test = (table.loc[s.y] for s in (problem.pool, problem.valid, problem.test))
    for part in (pool, valid):
        assert part.loc[part["z"] == 1, "mager9"].min() == 5 and part.loc[part["z"] == 0, "mager9"].min() <= 2
    assert test.loc[test["z"] == 1, "mager9"].min() <= 2


@pytest.mark.parametrize("rows", [slice(None), slice(0, 25_000), slice(100, 400)])
def test_the_bias_step_does_not_depend_on_what_it_is_standardised_with(rows):
    x, t, *_ = ibm.table()
    age = x[rows, ibm.AGE]
    assert np.array_equal(ibm.dropped(age, t[rows]), (t[rows] == 1) & (age <= 4))


def test_the_pool_alone_is_standardised():
    problem = macal.load("ibm", 1)
    x = problem.pool.x.astype(float)
    varies = x.std(axis=0) > 0
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(x.std(axis=0)[varies], 1, atol=1e-5)
    assert not np.allclose(problem.test.x.mean(axis=0), 0, atol=1e-3)


FIRST, *OTHERS = ibm.instances()


@pytest.mark.parametrize("instance", [FIRST, *map(exhaustive, OTHERS)])
def test_every_public_instance(instance):
    if instance not in here():
        pytest.skip(f"instance {instance} is not on this machine")
    problem = macal.load("ibm", 0, instance=instance)
    assert len(problem.test) == 6250 and len(problem.pool) + len(problem.valid) <= 18_750
    effects = np.concatenate([problem.pool.tau, problem.test.tau])
    assert np.ptp(effects) < 1e-9 and abs(effects[0]) > 0.1  # constant in every one of them
    assert np.array_equal(np.where(problem.pool.t == 1, problem.pool.mu1, problem.pool.mu0), problem.pool.y)
    assert list(problem.sources) == list(ibm._sources(instance))


@pytest.mark.exhaustive
def test_the_default_instance_comes_first_and_is_the_only_one_of_these_sizes():
    assert ibm.instances()[0] == ibm.INSTANCE and len(set(ibm.instances())) == 10
    near = [i for i in here() if abs(len(macal.load("ibm", 0, instance=i).pool) / 9540 - 1) < 0.01]
    assert near == [ibm.INSTANCE]


def test_provenance():
    problem = macal.load("ibm", 4, "code")
    for name, sha256 in problem.sources.items():
        assert hashlib.sha256(files.read(name)).hexdigest() == sha256
    assert (problem.seed, problem.protocol) == (4, "code") and repr(problem).endswith("raw files: 3)")


def test_the_data_use_notice_is_where_readers_look():
    assert "NCHS" in ibm.NOTICE and "NOTICE" in ibm.load.__doc__ and "NOTICE" in ibm.__doc__


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"instance": ibm.INSTANCE[:-1]}, rf"unknown instance .* \(did you mean '{ibm.INSTANCE}'\?\)"),
        ({"instances": 1}, r"unknown parameter of 'ibm' 'instances' \(did you mean 'instance'\?\)"),
    ],
)
def test_unknown_instances_and_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        macal.load("ibm", **parameters)


def test_data_sets_without_parameters_refuse_them():
    with pytest.raises(ValueError, match="unknown parameter of 'acic' 'instance'; known: none"):
        macal.load("acic", instance="a")
