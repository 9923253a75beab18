"""Models by name, and what the exact GP does where an arm is missing; its numbers: test_exact_gp.py."""

import numpy as np
import pytest

import macal
from macal.models import Task, get
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
        (lambda: get("exactgp"), r"unknown model 'exactgp' \(did you mean 'exact-gp'\?\)"),
        (lambda: get("exact-gp", step=5), r"unknown parameter of 'exact-gp' 'step' \(did you mean 'steps'\?\)"),
        (lambda: get("exact-gp", optimiser="sgd"), "unknown optimiser 'sgd'; known: adam, lbfgs"),
        (lambda: ExactGP().fit([Task(split(0, 4)[[]])])[0].predict(split(0, 4).x), "at least one labelled unit"),
        (lambda: macal.evaluate(macal.load("toy"), [[0, 9999]]), "labelled must lie in 0..2249"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("name", macal.models.names())
def test_models_provide_what_they_say(name):
    quick = {"due": {"width": 8, "inducing": 4, "batch": 8, "steps": 2, "epochs": 2, "device": "cpu"}}
    model = get(name, **quick.get(name, {}))
    (fitted,) = model.fit([Task(split(6, 24), split(7, 12))])
    found = fitted.predict(split(8, 5).x)
    assert isinstance(found, Posterior) == ("posterior" in model.provides)
    assert hasattr(fitted, "gradients") == ("features" in model.provides)


def test_a_criterion_that_needs_more_than_the_model_provides_is_refused():
    problem = macal.load("ihdp", 0)
    with pytest.raises(ValueError, match="Badge needs the features .* ExactGP does not provide; use the model due"):
        macal.run(problem, "badge", "exact-gp", n_queries=1)
    with pytest.raises(ValueError, match="MuBald needs the posterior .* MetaLearner does not"):
        macal.run(problem, "mu-bald", "meta-learner", n_queries=1)


def test_a_model_that_does_not_say_what_it_provides_is_taken_at_its_word():
    class Mine:
        fit = ExactGP("lbfgs", 4).fit

    table = macal.run(macal.load("ihdp", 0), "mu-bald", Mine(), n_queries=1)
    assert table.step.tolist() == [0, 1]
