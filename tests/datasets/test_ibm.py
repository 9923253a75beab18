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


FIRST, *OTHERS = ibm.instances()


@pytest.mark.parametrize("instance", [FIRST, *map(exhaustive, OTHERS)])
def test_every_public_instance(instance):
    if not all(map(files.find, ibm._sources(instance))):  # a clone has the default one, and no test downloads any
        pytest.skip(f"instance {instance} is not on this machine")
    problem = macal.load("ibm", 0, instance=instance)
    assert len(problem.test) == 6250 and len(problem.pool) + len(problem.valid) <= 18_750
    effects = np.concatenate([problem.pool.tau, problem.test.tau])
    assert np.ptp(effects) < 1e-9 and abs(effects[0]) > 0.1  # constant in every one of them
    assert np.array_equal(np.where(problem.pool.t == 1, problem.pool.mu1, problem.pool.mu0), problem.pool.y)
    assert list(problem.sources) == list(ibm._sources(instance))


def test_provenance():
    problem = macal.load("ibm", 4, "code")
    for name, sha256 in problem.sources.items():
        assert hashlib.sha256(files.read(name)).hexdigest() == sha256
    assert (problem.seed, problem.protocol) == (4, "code") and repr(problem).endswith("raw files: 3)")


@pytest.mark.parametrize("parameters", [{"instance": ibm.INSTANCE[:-1]}, {"instances": 1}])
def test_unknown_instances_and_parameters(parameters):
    with pytest.raises(ValueError, match=f"{ibm.INSTANCE}|'instance'"):
        macal.load("ibm", **parameters)
