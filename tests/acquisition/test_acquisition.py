"""Whole campaigns, and brute force for the criteria made of distances."""

import numpy as np
import pandas as pd
import pytest
import torch
from cases import each

import macal
from macal import acquisition
from macal.acquisition import CRITERIA, get, names, plan_batches


def pool(seed, n1=8, n0=15, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n1 + n0, d)), rng.permutation(np.repeat([1, 0], [n1, n0]))


each_criterion = each("name", [name for name in names() if not CRITERIA[name].factory.needs])


class TestCampaigns:
    @each_criterion
    def test_a_short_plan_begins_a_long_one(self, name):
        x, t = pool(3)
        short, long = plan_batches(get(name), x, t, [0], 2, 4), plan_batches(get(name), x, t, [0], 5, 4)
        assert np.array_equal(np.concatenate(short), np.concatenate(long[:2]))


def test_the_default_is_one_that_needs_no_model():
    x, t = pool(8)
    default = [batch.tolist() for batch in macal.plan(x, t, [0], 3, 5)]
    assert default == [batch.tolist() for batch in plan_batches(get(acquisition.DEFAULT), x, t, [0], 3, 5)]
    assert not get(acquisition.DEFAULT).is_adaptive


@pytest.mark.parametrize("form", [torch.as_tensor, pd.DataFrame, np.ndarray.tolist])
def test_plan_takes_covariates_in_every_usual_form(form):
    x, t = pool(8)
    assert np.array_equal(macal.plan(form(x), t, [0], 2, 4, "macal"), macal.plan(x, t, [0], 2, 4, "macal"))


X, T = pool(9)


@each(
    "arguments, named",
    [
        ({"x": X[:, 0]}, "x must"),
        ({"t": T * 2}, "t must be binary"),
        ({"t": np.ones(23), "criterion": "macal"}, "two arms"),
        ({"labelled": [23]}, "labelled .*23"),
        ({"batch_size": 0}, "batch_size"),
        ({"criterion": "macal", "batch_size": 1}, "batch_size .*'qhte'"),
        ({"n_queries": 0}, "n_queries"),
        ({"criterion": "macal", "alpha": -1.0}, "alpha .*-1.0"),
        ({"criterion": "macal", "alpha": np.nan}, "alpha .*nan"),
        ({"criterion": "macal", "metric": "euclid"}, "'euclid' .*'euclidean'"),
        ({"criterion": "macal", "alhpa": 1.0}, "'alhpa' .*'alpha'"),
        ({"criterion": "macal", "device": "cuda:0"}, "'device'.* alpha"),
        ({"criterion": "maca"}, "'maca' .*'macal'"),
        ({"alpha": 1.0}, "'alc-fixed' 'alpha'"),
        ({"criterion": "alc"}, "ALC .*prior"),
    ],
)
def test_plan_refuses(arguments, named):
    with pytest.raises(ValueError, match=named):
        macal.plan(**{"x": X, "t": T, "labelled": [0]} | arguments)
