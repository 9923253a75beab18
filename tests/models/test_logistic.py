"""Logistic regression and random splits against scikit-learn's, which recorded campaigns were made with."""

import numpy as np
import pytest
from cases import drawn
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from macal.datasets.splits import split
from macal.logistic import propensity_scores


@drawn(30, 300, seed=st.integers(0, 2**32 - 1), arms=st.integers(2, 5), is_weighted=st.booleans())
def test_chances_are_those_of_scikit_learn(seed, arms, is_weighted):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(arms, 300)), int(rng.integers(1, 8))
    x, t = rng.normal(size=(n, d)), rng.integers(0, arms, n)
    x[:, 0] *= rng.integers(0, 2)  # a constant column, at times
    t[:arms] = np.arange(arms)
    if seed % 2:  # the last covariate says the arm
        x[:, -1] += 5 * t
    weights = rng.exponential(size=n) + 0.01 if is_weighted else None
    new = rng.normal(size=(7, d))
    theirs = LogisticRegression(max_iter=1000).fit(x, t, weights).predict_proba(new)
    close = 1e-6 if arms == 2 and not seed % 2 else 1e-2  # where arms lie apart, rounding moves where the climb stops
    assert propensity_scores(x, t, new, weights) == pytest.approx(theirs, abs=close)


@drawn(100, 1000, seed=st.integers(0, 2**32 - 1), n=st.integers(3, 500), share=st.floats(0.01, 0.6))
def test_splits_are_those_of_scikit_learn(seed, n, share):
    units = np.random.default_rng(seed).permutation(n)
    theirs = train_test_split(units, test_size=share, random_state=seed)
    assert [part.tolist() for part in split(units, share, seed)] == [part.tolist() for part in theirs]
