"""What every registered model owes its caller, and what the exact GP does where an arm is missing."""

from dataclasses import fields

import numpy as np
import pytest

import macal
from macal.models import Fitted, Model, Task, get
from macal.models.exact_gp import ExactGP
from macal.posterior import Posterior
from macal.problem import Split


def split(seed, n, d=2, arms=(0, 1)):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    t = np.resize(arms, n)
    return Split(x, t, np.sin(2 * x[:, 0]) + t + 0.1 * rng.normal(size=n))


def test_an_empty_arm_keeps_its_prior():
    labelled = split(3, 12, arms=(0,))
    posterior = ExactGP("lbfgs", 20).fit([Task(labelled)])[0].predict(labelled.x)
    np.testing.assert_allclose(posterior.mean[:, 1], labelled.y.mean())
    np.testing.assert_allclose(posterior.cov[:, 1, 1], labelled.y.var())


@pytest.mark.parametrize("n", [1, 2])
def test_single_units_are_enough(n):
    posterior = ExactGP("lbfgs", 20).fit([Task(split(4, n))])[0].predict(split(5, 3).x)
    assert np.isfinite(posterior.mean).all() and (posterior.cov[:, [0, 1], [0, 1]] >= 0).all()


def test_identical_units_and_outcomes():
    same = Split(np.ones((8, 2)), np.arange(8) % 2, np.full(8, 3.0))
    assert np.isfinite(ExactGP("lbfgs", 20).fit([Task(same)])[0].predict(same.x).mean).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: get("exactgp"), "'exactgp' .*'exact-gp'"),
        (lambda: get("exact-gp", step=5), "'step' .*'steps'"),
        (lambda: get("exact-gp", optimiser="sgd"), "'sgd'"),
        (lambda: ExactGP().fit([Task(split(0, 4)[[]])])[0].predict(split(0, 4).x), "labelled"),
        (lambda: macal.evaluate(macal.load("toy"), [[0, 9999]]), "0..2249"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


NAMES = macal.models.names()
CHEAP = {
    "exact-gp": {"steps": 20},
    "due": {"width": 8, "inducing": 4, "batch": 8, "steps": 4, "epochs": 3, "slots": 2, "device": "cpu"},
}
TASKS = [Task(split(k, n), split(50 + k, 12), seed=k) for k, n in enumerate((24, 9, 40))]
NEW = split(8, 7)
COMPANY = {"rtol": 1e-3, "atol": 1e-3}  # what a task's neighbours may change: in single precision, rounding


def cheap(name):
    return get(name, **CHEAP.get(name, {}))


def told(fitted):
    """All that a fitted model says of the new units, in columns."""
    found = fitted.predict(NEW.x)
    return np.c_[found.mean, found.cov.reshape(-1, 4)] if isinstance(found, Posterior) else found.tau[:, None]


@pytest.mark.parametrize("name", NAMES)
class TestContract:
    def test_a_model_says_what_it_provides(self, name):
        assert isinstance(cheap(name), Model)
        known = {"posterior", "features", "prior"}
        assert isinstance(cheap(name).provides, tuple) and {*cheap(name).provides} <= known
        assert "provides" not in [field.name for field in fields(cheap(name))]  # it is no setting

    def test_each_task_is_fitted_in_its_place_and_with_any_batch_neighbours_alike(self, name):
        whole = [told(fitted) for fitted in cheap(name).fit(TASKS)]
        turned = [told(fitted) for fitted in cheap(name).fit(TASKS[::-1])][::-1]
        alone = [told(cheap(name).fit([task])[0]) for task in TASKS]
        assert len(whole) == len(TASKS) and cheap(name).fit([]) == []
        for others in (turned, alone):
            for mine, other in zip(whole, others, strict=True):
                np.testing.assert_allclose(mine, other, **COMPANY)
        assert not any(np.allclose(alone[i], alone[k], **COMPANY) for i, k in ((0, 1), (1, 2), (0, 2)))

    def test_the_same_tasks_give_the_same_bits(self, name):
        first, second = ([told(fitted) for fitted in cheap(name).fit(TASKS)] for _ in range(2))
        assert all((a == b).all() for a, b in zip(first, second, strict=True))

    @pytest.mark.parametrize("precision", [np.float32, np.float64])
    def test_a_fitted_model_estimates_every_effect(self, name, precision):
        task = TASKS[0]
        labelled = Split(task.labelled.x.astype(precision), task.labelled.t, task.labelled.y)
        (fitted,) = cheap(name).fit([Task(labelled, task.valid)])
        assert isinstance(fitted, Fitted)
        for n in (1, len(NEW)):
            tau = fitted.predict(NEW.x[:n].astype(precision)).tau
            assert tau.shape == (n,) and np.isfinite(tau).all()

    def test_a_posterior_where_it_is_provided_alone(self, name):
        found = cheap(name).fit(TASKS[:1])[0].predict(NEW.x)
        assert isinstance(found, Posterior) == ("posterior" in cheap(name).provides)
        if isinstance(found, Posterior):
            assert found.mean.shape == (7, 2) and found.cov.shape == (7, 2, 2)
            np.testing.assert_array_equal(found.cov, found.cov.transpose(0, 2, 1))
            assert np.isfinite(found.mean).all() and np.linalg.eigvalsh(found.cov).min() > -1e-6

    def test_gradients_where_features_are_provided_alone(self, name):
        (fitted,) = cheap(name).fit(TASKS[:1])
        assert hasattr(fitted, "gradients") == ("features" in cheap(name).provides)
        assert hasattr(fitted, "prior") == ("prior" in cheap(name).provides)
        if hasattr(fitted, "gradients"):
            rows = fitted.gradients(NEW.x, NEW.t)
            assert rows.ndim == 2 and len(rows) == 7 and np.isfinite(rows).all() and rows.any(axis=1).all()

    @pytest.mark.parametrize("arms", [(0,), (1,), ()])
    def test_an_empty_arm_is_survived_or_its_task_named(self, name, arms):
        odd = Task(split(3, 12, arms=arms) if arms else split(3, 12)[[]], split(4, 12))
        try:
            fitted = cheap(name).fit([TASKS[0], odd])[1]
        except ValueError as error:
            assert "tasks[1]" in str(error)
        else:
            assert np.isfinite(told(fitted)).all()

    def test_what_training_reports_is_finite_numbers_under_the_same_names(self, name):
        reports = [fitted.info for fitted in cheap(name).fit(TASKS)]
        assert len({tuple(info) for info in reports}) == 1
        for info in reports:
            assert all(isinstance(column, str) for column in info) and np.isfinite(list(info.values())).all()


@pytest.mark.parametrize("of", ["labelled", "valid"])
@pytest.mark.parametrize("missing", [1, 12])
def test_a_task_without_all_outcomes_is_refused(of, missing):
    units = split(3, 12)
    y = np.where(np.arange(12) < missing, np.nan, units.y) if missing < 12 else None
    odd = {"labelled": units, "valid": units} | {of: Split(units.x, units.t, y)}
    with pytest.raises(ValueError, match=f"{of} .*{missing} of 12"):
        Task(**odd)


def test_a_criterion_that_needs_more_than_the_model_provides_is_refused():
    problem = macal.load("ihdp", 0)
    with pytest.raises(ValueError, match="Badge .*features .*due"):
        macal.run(problem, "badge", "exact-gp", n_queries=1)
    with pytest.raises(ValueError, match="MuBald .*posterior .*MetaLearner"):
        macal.run(problem, "mu-bald", "meta-learner", n_queries=1)


@pytest.mark.parametrize("model", [3, ExactGP, type("Mine", (), {"fit": ExactGP.fit})()])
def test_what_is_no_model_is_refused(unchecked, model):
    for call in (macal.run, lambda problem, _, model: macal.evaluate(problem, [[0, 1]], model)):
        with pytest.raises(ValueError, match="model"):
            call(macal.load("toy"), "random", model)
