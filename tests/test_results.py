"""Comparisons between methods: pairing and intervals."""

import numpy as np
import pandas as pd
import pytest

from macal.results import interval, log_ratio

TABLE = pd.DataFrame(
    {
        "method": ["random"] * 3 + ["macal"] * 3,
        "replication": [0, 1, 2, 2, 0, 1],
        "labelled": 10,
        "pehe": [1.0, 2, 4, 2, 3, 2],
    }
)


def test_log_ratio_is_paired_by_replication():
    found = log_ratio(TABLE).set_index("replication").log_ratio
    np.testing.assert_allclose(found[[0, 1, 2]], np.log([3, 1, 0.5]))


@pytest.mark.parametrize(
    ("table", "baseline", "message"),
    [
        (TABLE, "qhte", "no rows of method 'qhte'; the table has: macal, random"),
        (TABLE.iloc[1:], "random", "lacks replications or sizes"),
    ],
)
def test_log_ratio_refuses(table, baseline, message):
    with pytest.raises(ValueError, match=message):
        log_ratio(table, baseline)


def test_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = [low <= 0 <= high for low, high in (interval(rng.normal(size=40), n_resamples=300) for _ in range(300))]
    assert 0.90 < np.mean(hits) < 0.98


def test_interval_needs_two():
    with pytest.raises(ValueError, match="at least two replications"):
        interval([1.0])
