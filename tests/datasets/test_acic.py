"""ACIC 2016 against the raw files and a second implementation with pandas and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from needs import needs_data
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import macal
from macal import files

pytestmark = needs_data("acic")


@pytest.mark.parametrize("seed", [0, 4, 9, 17])
def test_equals_a_second_implementation(seed):
    x, response = (pd.read_csv(files.find(f"acic2016/{name}.csv")) for name in ("x", f"zymu_{seed % 10 + 1}"))
    rest, test = train_test_split(x.index, test_size=0.25, random_state=seed)
    pool, valid = train_test_split(rest, test_size=0.25, random_state=seed)
    encoder = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(sparse_output=False).fit(x.select_dtypes(exclude="number")), ["x_2", "x_21", "x_24"]),
    )
    encoder.fit(x.loc[pool])
    encoder.named_transformers_["onehotencoder"].fit(x[["x_2", "x_21", "x_24"]])  # a letter may be missing in the pool
    problem = macal.load("acic", seed)
    for split, rows in zip((problem.pool, problem.test, problem.valid), (pool, test, valid), strict=True):
        np.testing.assert_allclose(split.x, encoder.transform(x.loc[rows]), atol=1e-5)
        own = response.loc[rows]
        assert np.array_equal(split.t, own["z"]) and np.array_equal(split.y, np.where(own["z"], own["y1"], own["y0"]))
        assert np.array_equal(split.mu0, own["mu0"]) and np.array_equal(split.mu1, own["mu1"])


def test_the_first_ten_seeds_are_the_ten_responses_two_of_them_with_one_effect_for_all():
    spread = [macal.load("acic", seed).test.tau.std() for seed in range(10)]
    assert [k + 1 for k, s in enumerate(spread) if s < 1e-9] == [2, 3]
    assert min(s for s in spread if s > 1e-9) > 1


def test_sizes():
    problem = macal.load("acic", 0)
    assert [len(s) for s in (problem.pool, problem.valid, problem.test)] == [2700, 901, 1201]
    assert (len(problem.start), problem.batch_size, problem.n_queries) == (20, 20, 25)
    assert problem.pool.x.shape[1] == 82 and problem.pool.x.dtype == np.float32
