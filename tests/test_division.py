"""Random parts against scikit-learn's own."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from macal.datasets.division import divide


@pytest.mark.parametrize("n", [7, 100, 747, 3001])
@pytest.mark.parametrize("test_size", [0.1, 0.2, 0.25, 0.3, 0.6])
def test_parts_are_those_of_scikit_learn(n, test_size):
    units = np.arange(10, 10 + n)
    for seed in range(5):
        expected = train_test_split(units, test_size=test_size, random_state=seed)
        assert all(np.array_equal(*parts) for parts in zip(divide(units, test_size, seed), expected, strict=True))
