"""Meta-learners: what they estimate, and what they do without an arm."""

import numpy as np
import pytest

import macal
from macal.models import NotFitted, Task
from macal.models.meta import LEARNERS
from macal.problem import Split
from macal.registry import UnknownName


def units(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    t = rng.integers(0, 2, n)
    mu0, mu1 = x[:, 0], x[:, 0] + 3 * (x[:, 1] > 0)
    return Split(x, t, np.where(t == 1, mu1, mu0) + rng.normal(0, 0.1, n), mu0, mu1)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_step_in_the_effect_is_found(learner):
    pool, test = units(), units(seed=1)
    (fitted,) = macal.models.get("meta-learner", learner=learner).fit([Task(pool)])
    assert macal.metrics.pehe(fitted.predict(test.x).tau, test.tau) < 0.5 < macal.metrics.pehe(0 * test.tau, test.tau)


def test_an_arm_without_labels_gives_no_effect():
    pool = units()
    (fitted,) = macal.models.get("meta-learner").fit([Task(pool[pool.t == 0])])
    assert (fitted.predict(pool.x).tau == 0).all()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("treated", [1, 2, 3])
def test_few_labels_of_an_arm_are_enough(learner, treated):
    pool = units(60)
    few = np.r_[np.flatnonzero(pool.t == 0), np.flatnonzero(pool.t == 1)[:treated]]
    (fitted,) = macal.models.get("meta-learner", learner=learner).fit([Task(pool[few])])
    assert np.isfinite(fitted.predict(pool.x).tau).all()


@pytest.mark.parametrize(("learner", "nuisances"), [("dr", "models_propensity"), ("forest", "models_t")])
@pytest.mark.parametrize(("treated", "folds"), [(1, 1), (2, 2), (20, 2)])
def test_nuisances_are_fitted_on_other_labels_than_they_serve(learner, nuisances, treated, folds):
    pool = units(60)
    few = np.r_[np.flatnonzero(pool.t == 0), np.flatnonzero(pool.t == 1)[:treated]]
    (fitted,) = macal.models.get("meta-learner", learner=learner).fit([Task(pool[few])])
    assert [len(models) for models in getattr(fitted.learner, nuisances)] == [folds]


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_same_seed_gives_the_same_effects(learner):
    pool = units(60)
    model = macal.models.get("meta-learner", learner=learner)
    one, two = (f.predict(pool.x).tau for f in model.fit([Task(pool, seed=3), Task(pool, seed=3)]))
    assert (one == two).all()


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_task_that_the_trees_refuse_is_named(learner):
    pool = units(60)
    far = Split(pool.x * [1, 1e60], pool.t, pool.y)
    with pytest.raises(NotFitted, match=r"tasks\[1\] \(60 labelled units: .*too large for dtype") as caught:
        macal.models.get("meta-learner", learner=learner).fit([Task(pool), Task(far)])
    assert caught.value.place == 1


def test_unknown_learner():
    with pytest.raises(UnknownName, match="'u'"):
        macal.models.get("meta-learner", learner="u")


@pytest.mark.parametrize("treated", [1, 2, 30])
def test_a_t_learner_is_one_regression_per_arm(treated):
    from sklearn.ensemble import GradientBoostingRegressor

    pool = units(60)
    few = pool[np.r_[np.flatnonzero(pool.t == 0), np.flatnonzero(pool.t == 1)[:treated]]]
    (fitted,) = macal.models.get("meta-learner").fit([Task(few, seed=3)])
    mu0, mu1 = (
        GradientBoostingRegressor(random_state=3).fit(few.x[few.t == arm], few.y[few.t == arm]).predict(pool.x)
        for arm in (0, 1)
    )
    assert fitted.predict(pool.x).tau == pytest.approx(mu1 - mu0)
