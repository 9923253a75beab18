"""Labels drawn with known chances, and the interval of the average effect that they allow."""

import numpy as np
import pytest
from cases import part_and_whole
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV

from macal.survey.inference import Survey, average_effect, draw_balanced, draw_sample, inclusion_probabilities
from macal.survey.inference.ridge import PENALTIES, Ridge
from macal.survey.inference.weighted import clip_propensity, crossfit_outcomes, folds, standardised, stratified


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=40), st.floats(0.01, 1), st.data())
def test_chances_add_up_and_leave_nobody_out(worth, uniform, data):
    size = data.draw(st.integers(1, len(worth)))
    worth = np.array(worth)
    found = inclusion_probabilities(worth, size, uniform)
    assert found.sum() == pytest.approx(size) and found.max() <= 1 + 1e-12
    assert found.min() >= uniform * size / len(worth) * (1 - 1e-12)
    assert (np.diff(found[np.argsort(worth, kind="stable")]) >= -1e-12).all()
    assert len(set(draw_sample(found, np.random.default_rng(0)).tolist())) == size


def test_a_plan_as_worth_is_the_plan_mixed_with_a_uniform_sample():
    plan = np.isin(np.arange(10), [2, 5])
    np.testing.assert_allclose(inclusion_probabilities(plan.astype(float), 2, 0.5), np.where(plan, 0.6, 0.1))
    assert inclusion_probabilities(np.zeros(10), 2, 1.0).tolist() == [0.2] * 10


def test_every_unit_is_drawn_as_often_as_its_chance_says():
    rng, times = np.random.default_rng(1), 20_000
    chances = inclusion_probabilities(rng.exponential(size=25), 8, 0.3)
    counts = np.bincount(np.concatenate([draw_sample(chances, rng) for _ in range(times)]), minlength=25)
    z = (counts / times - chances) / np.sqrt(chances * (1 - chances) / times)
    assert np.abs(z).max() < 4 and z.std() < 1.5


@given(st.integers(0, 10**6))
def test_balanced_draws_keep_numbers_and_cost(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, rng.integers(1, 5))
    strata, n = np.repeat(np.arange(len(sizes)), sizes), sizes.sum()
    cost = rng.choice([rng.uniform(1, 9, n), rng.integers(1, 4, n).astype(float)])
    numbers = [int(rng.integers(1, size + 1)) for size in sizes]
    chances = np.concatenate(
        [inclusion_probabilities(rng.uniform(0.1, 1, s), k, 0.2) for s, k in zip(sizes, numbers, strict=True)]
    )
    units = draw_balanced(chances, strata, cost, rng)
    assert np.bincount(strata[units], minlength=len(sizes)).tolist() == numbers and len(set(units)) == len(units)
    play = max(np.ptp(cost[strata == k]) for k in range(len(sizes)))
    assert abs(cost[units].sum() - chances @ cost) <= play * (1 + 1e-6) + 1e-9


@part_and_whole("n", 400, 4000)
def test_balanced_draws_have_their_chances(n):
    rng = np.random.default_rng(1)
    strata, cost = np.repeat([0, 1, 2], [9, 6, 5]), rng.uniform(1, 9, 20)
    sizes = zip((9, 6, 5), (4, 2, 3), strict=True)
    chances = np.concatenate([inclusion_probabilities(rng.uniform(0.1, 1, size), k, 0.2) for size, k in sizes])
    seen = sum(np.bincount(draw_balanced(chances, strata, cost, rng), minlength=20) for _ in range(n))
    spread = np.sqrt(chances * (1 - chances) / n)
    assert (np.abs(seen / n - chances) <= 4 * spread + 1e-9).all()


def test_balanced_draws_refuse_a_stratum_without_a_whole_number():
    with pytest.raises(ValueError, match=r"a whole number of labels, got 1\.5"):
        draw_balanced(np.full(6, 0.5), np.repeat([0, 1], 3), np.ones(6), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((np.ones(3), 4), "at most 3,"),
        ((np.ones(3), 0), "size"),
        ((np.ones(3), 2, 0.0), "uniform must be a share above 0"),
        ((np.array([1.0, -1.0]), 1), "at least 0"),
        ((np.array([1.0, 0.0, 0.0]), 2), "only 1 units"),
    ],
)
def test_chances_that_cannot_be(arguments, said):
    with pytest.raises(ValueError, match=said):
        inclusion_probabilities(*arguments)


@pytest.mark.parametrize("chances", [[0.0, 1.0], [1e-320, 1.0], [0.3, 0.3], [1.5, 0.5]])
def test_draws_that_cannot_be(chances):
    with pytest.raises(ValueError, match="above 0|whole number"):
        draw_sample(np.array(chances), np.random.default_rng(0))


def world(n=800, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    e = 1 / (1 + np.exp(-x[:, 0]))
    t = (rng.uniform(size=n) < e).astype(int)
    return x, t, x[:, 0] + t * (2 + x[:, 1]) + rng.normal(size=n), e


def test_no_unit_is_scored_by_a_model_that_saw_it():
    x, t, y, _ = world(100)
    before = crossfit_outcomes(x, t, y, None, 0)
    for unit in (3, 50):
        after = crossfit_outcomes(x, t, np.where(np.arange(100) == unit, y + 100, y), None, 0)
        np.testing.assert_array_equal(after[unit], before[unit])
        assert not np.isclose(after[:, t[unit]], before[:, t[unit]]).all()
    parts = list(folds(t, 0))
    assert sorted(np.concatenate([fold for _, fold in parts])) == list(range(100))
    assert all(not set(rest) & set(fold) and t[fold].sum() >= t.sum() // 5 for rest, fold in parts)


def test_a_wider_level_and_other_regressors():
    x, t, y, e = world(300)
    wide = average_effect(Survey(x, t, y, np.ones(300)), level=0.99)
    usual = average_effect(Survey(x, t, y, np.ones(300)))
    assert wide.value == usual.value and wide.width > usual.width
    forest = average_effect(Survey(x, t, y, np.ones(300), None, e, RandomForestRegressor(20, random_state=0)))
    assert forest.value != usual.value and forest.value == pytest.approx(2, abs=4 * forest.error)


@pytest.mark.parametrize(("n", "d"), [(40, 6), (12, 25)])
def test_ridge_is_scikit_learn_s(n, d):
    rng = np.random.default_rng(n)
    for noise in (0.1, 1.0, 10.0):
        x, new = rng.normal(size=(n, d)), rng.normal(size=(7, d))
        y = 3 + x[:, 0] + noise * rng.normal(size=n)
        ours, theirs = Ridge().fit(x, y), RidgeCV(alphas=PENALTIES).fit(x, y)
        assert ours.penalty == theirs.alpha_
        np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-6)


def test_a_stratum_of_one_varies_as_the_whole_does():
    score, strata = np.array([1.0, 2.0, 3.0, 10.0]), np.array([0, 0, 0, 1])
    value, error = stratified(score, np.ones(4), strata)
    within = (3 / 4) ** 2 * 1 / 3 + (1 / 4) ** 2 * score.var(ddof=1)
    between = 3 / 4 * (2 - 4) ** 2 / 4 + 1 / 4 * (10 - 4) ** 2 / 4
    assert value == 4 and error == pytest.approx(np.sqrt(within + between))


def test_the_least_chance_of_an_arm_goes_by_its_share():
    t = np.repeat([0, 1], [990, 10])
    found = clip_propensity(np.tile([1.0, 0.0], (1000, 1)), t)
    assert found[0].tolist() == pytest.approx([0.998, 0.002])
    assert clip_propensity(np.tile([1.0, 0.0, 0.0], (300, 1)), np.arange(300) % 3)[0].tolist() == [1.0, 0.02, 0.02]


def test_a_column_of_few_people_keeps_them_near():
    x = np.zeros((1000, 3))
    x[:5, 0], x[:, 1], x[:500, 2] = 1, np.linspace(0, 1, 1000), 1
    found = standardised(x)
    assert np.ptp(found[:, 0]) == pytest.approx(1 / 0.3)
    np.testing.assert_allclose(found[:, 1:].std(axis=0), 1)
