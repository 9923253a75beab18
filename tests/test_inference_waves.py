"""Chances that follow the answers of earlier waves: known, bounded, blind to their own wave, and unbiased."""

import numpy as np
import pytest
from scipy.optimize import minimize

from macal.inference import average_effect, draw, inclusion, split_waves, wave_chances, worth_for_ate
from macal.inference.waves import _design, _mixed, _spread
from macal.inference.weighted import scores

LABELS = 100  # of a wave


def people(n=1000, slope=1.0, seed=0):
    """Two waves, treatment by lot, noise whose log s.d. grows with the second covariate."""
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(n, 3)), (rng.uniform(size=n) < 0.5).astype(np.int64)
    y = x[:, 0] + t * (1 + x[:, 1]) + np.exp(slope * x[:, 1]) * rng.normal(size=n)
    return x, t, y, np.full(n, 0.5), split_waves(n, [1, 1], rng)


def asked_first(x, t, y, e, wave, rng):
    """Outcomes of the first wave, chances, and who is in the second."""
    first, second = (np.flatnonzero(wave == k) for k in (0, 1))
    chances, told = np.ones(len(t)), np.full(len(t), np.nan)
    chances[first] = inclusion(worth_for_ate(e, t)[first], LABELS, 0.2)
    some = first[draw(chances[first], rng)]
    told[some] = y[some]
    return told, chances, second


def test_waves_are_a_split_by_lot_in_proportion():
    rng = np.random.default_rng(0)
    sizes = np.bincount(split_waves(1003, [50, 50, 25], rng))
    assert sizes.sum() == 1003 and np.abs(sizes - 1003 * np.array([0.4, 0.4, 0.2])).max() <= 1
    first = np.mean([split_waves(20, [3, 1], rng) == 0 for _ in range(4000)], axis=0)
    np.testing.assert_allclose(first, 0.75, atol=4 * np.sqrt(0.75 * 0.25 / 4000))
    for wrong in ([], [3, 0]):
        with pytest.raises(ValueError, match="a label each"):
            split_waves(10, wrong, rng)


@pytest.mark.parametrize("seed", range(3))
def test_chances_add_up_are_bounded_and_go_where_more_is_open(seed):
    x, t, y, e, wave = people(seed=seed)
    told, chances, second = asked_first(x, t, y, e, wave, np.random.default_rng(seed))
    found = wave_chances(x, t, told, chances, second, LABELS, e, 0.2)
    assert found.learnt and found.ratio < 1 and found.answers == LABELS
    assert found.chances.sum() == pytest.approx(LABELS) and found.chances.max() <= 1 + 1e-12
    assert 0.2 <= found.uniform <= 1 and found.worst == pytest.approx(found.uniform**-0.5)
    assert found.chances.min() >= found.uniform * LABELS / len(second) * (1 - 1e-12)
    assert np.corrcoef(x[second, 1], np.log(found.chances))[0, 1] > 0.5


def test_nothing_is_learnt_from_few_answers_or_exact_ones():
    x, t, y, e, wave = people(slope=0.0)
    told, chances, second = asked_first(x, t, y, e, wave, np.random.default_rng(0))
    fixed = inclusion(worth_for_ate(e, t)[second], LABELS, 0.3)
    few = np.where(np.arange(len(t)) == np.flatnonzero(np.isfinite(told))[0], told, np.nan)
    for answers in (few, np.full(len(t), np.nan), np.where(np.isfinite(told), 0.0, np.nan)):
        found = wave_chances(x, t, answers, chances, second, LABELS, e, 0.3)
        assert not found.learnt and found.uniform == 0.3 and found.ratio == 1
        np.testing.assert_array_equal(found.chances, fixed)


def test_a_wave_does_not_see_its_own_answers():
    x, t, y, e, wave = people()
    told, chances, second = asked_first(x, t, y, e, wave, np.random.default_rng(0))
    told[second[0]] = 1.0
    with pytest.raises(ValueError, match="its own answers"):
        wave_chances(x, t, told, chances, second, LABELS, e)


def test_the_spread_is_the_minimum_of_the_penalised_likelihood():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(90, 3)), np.arange(90) % 2
    design, squared = _design(x, t, 2), np.exp(x[:, 0]) * rng.normal(size=90) ** 2
    kept = np.r_[1e-6, 1e-6, np.full(design.shape[1] - 2, 7.0)]
    scaled = squared / squared.mean()

    def loss(b):
        return np.sum(design @ b + scaled * np.exp(-design @ b)) + kept @ b**2 / 2

    best = minimize(loss, np.zeros(design.shape[1]), tol=1e-12).x
    best[:2] += np.log(squared.mean())
    np.testing.assert_allclose(_spread(design, squared, 2, 7.0), best, atol=0.02)


def test_chances_of_a_new_unit_are_those_of_its_like():
    pool = np.random.default_rng(0).exponential(size=50) ** 3
    np.testing.assert_allclose(_mixed(pool, pool, 20, 0.3), inclusion(pool, 20, 0.3))


@pytest.mark.exhaustive
def test_the_estimate_is_unbiased_over_draws_and_splits():
    """With fixed outcome models its mean is that of everybody's scores."""
    x, t, y, e, _ = people(250, seed=3)
    m, rng, times = np.zeros((len(t), 2)), np.random.default_rng(0), 120
    whole = scores(t, y, np.ones(len(t)), e, m)
    values, learnt = [], 0
    for _ in range(times):
        wave = split_waves(len(t), [1, 1], rng)
        told, chances, second = asked_first(x, t, y, e, wave, rng)
        found = wave_chances(x, t, told, chances, second, 40, e, 0.2)
        chances[second], some = found.chances, second[draw(found.chances, rng)]
        told[some], learnt = y[some], learnt + found.learnt
        values.append(scores(t, told, chances, e, m).mean())
    assert learnt > times / 2
    assert abs(np.mean(values) - whole.mean()) < 4 * np.std(values) / np.sqrt(times)


def test_intervals_hold_and_learning_narrows_them():
    held, widths = 0, []
    for seed in range(40):
        x, t, y, e, wave = people(seed=seed)
        rng = np.random.default_rng([1, seed])
        told, chances, second = asked_first(x, t, y, e, wave, rng)
        found = wave_chances(x, t, told, chances, second, LABELS, e, 0.2)
        chances[second], some = found.chances, second[draw(found.chances, rng)]
        told[some] = y[some]
        fixed = inclusion(worth_for_ate(e, t), 2 * LABELS, 0.2)
        before = np.where(np.isin(np.arange(len(t)), draw(fixed, rng)), y, np.nan)
        one, other = average_effect(x, t, told, chances, e), average_effect(x, t, before, fixed, e)
        held += one.low <= 1 <= one.high
        widths.append((one.width, other.width))
    assert held >= 33
    assert np.mean(widths, axis=0)[0] < np.mean(widths, axis=0)[1]
