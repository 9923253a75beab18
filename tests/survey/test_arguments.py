"""One check at the door: every public call of the planner and of inference refuses what its hints do not say."""

import inspect
import json
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pytest
from cases import each
from test_planner import make_people

import macal
from macal import Planner, models
from macal.posterior import Prior
from macal.problem import Split
from macal.survey import inference
from macal.survey.inference import Estimate

N = 20
ONES, ARMS, RNG = np.ones(N), np.arange(N) % 2, np.random.default_rng(0)
SURVEY = inference.Survey(RNG.normal(size=(N, 2)), ARMS, RNG.normal(size=N), ONES)
PRIOR, ESTIMATE = Prior(*[(1.0, 1.0)] * 3), Estimate(0.0, -1.0, 1.0, 0.5)
CALLS = {  # with arguments that do
    Planner: {"treatment": "free", "budget": 300},
    Planner.plan: {"table": make_people()},
    Planner.observe: {"answers": {}},
    Planner.correct: {"name": "p0001", "change": "outcome", "by": "ann", "outcome": 1.0},
    Planner.recount: {"rounds": 1, "by": "ann"},
    Planner.replan: {},
    Planner.sample: {"path": "people.csv"},
    Planner.estimate: {},
    Planner.report: {"path": "report.html"},
    Planner.save: {"path": "c.json"},
    Planner.load: {"path": "c.json"},
    macal.plan: {"x": SURVEY.x, "t": ARMS, "labelled": []},
    inference.Survey: {"x": SURVEY.x, "t": ARMS, "y": SURVEY.y, "inclusion_probability": ONES},
    inference.StoppingRule: {"width": 1.0},
    inference.group_sequential_interval: {"estimate": ESTIMATE, "answers": 30, "shares": [0.5, 1.0]},
    inference.anytime_valid_interval: {"estimate": ESTIMATE, "share": 0.5},
    inference.average_effect: {"survey": SURVEY},
    inference.crossfit_propensity: {"x": SURVEY.x, "t": ARMS},
    inference.draw_sample: {"chances": ONES / 2, "rng": RNG},
    inference.draw_balanced: {"chances": ONES / 2, "strata": ARMS, "cost": ONES, "rng": RNG},
    inference.heterogeneity_test: {"model": models.get("exact-gp"), "units": Split(SURVEY.x, ARMS, SURVEY.y)},
    inference.group_effects: {"survey": SURVEY, "groups": ARMS},
    inference.inclusion_probabilities: {"size_measure": ONES, "size": 4},
    inference.critical_values: {"shares": [0.5, 1.0]},
    inference.posterior_sd: {"prior": PRIOR, "x": SURVEY.x, "t": ARMS, "labelled": ARMS[:1]},
    inference.rank_bounds: {"ahead": [0, 3], "m": 10},
    inference.nonresponse_sensitivity: {"survey": SURVEY, "estimate": ESTIMATE},
    inference.alpha_spent: {"level": 0.05, "share": 0.5},
    inference.size_measure: {"target": "all", "propensity": ONES / 2, "t": ARMS},
    inference.ate_size_measure: {"propensity": ONES / 2, "t": ARMS},
}


def refused(call, argument, value):
    own = isinstance(vars(Planner).get(call.__name__), classmethod) or "self" not in inspect.signature(call).parameters
    with pytest.raises(ValueError, match=rf"\b{argument}\b"):
        call(*[] if own else [Planner("free", 300)], **CALLS[call] | {argument: value})


def test_no_public_call_is_left_out():
    public = [one for name in inference.__all__ if inspect.isfunction(one := getattr(inference, name))]
    public += [one for name, one in vars(Planner).items() if inspect.isfunction(one) and name[0] != "_"]
    without = [call for call in public if not set(inspect.signature(call).parameters) <= {"self"}]
    assert {call.__qualname__ for call in without} <= {call.__qualname__ for call in CALLS}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__qualname__)
def test_every_argument_of_a_wrong_kind_is_named(call, unchecked):
    hints = get_type_hints(call if inspect.isroutine(call) else call.__init__)
    for argument, about in inspect.signature(call).parameters.items():
        if hints.get(argument, about.annotation) not in (Any, inspect.Parameter.empty):
            refused(call, argument, {1.0})


@pytest.mark.parametrize(
    ("call", "argument", "value"),
    [
        (Planner, "quotas", "region>=1"),
        (Planner, "covariates", "age"),
        (Planner, "covariates", ["age", 1]),
        (Planner, "seed", -1),
        (Planner, "seed", 1.5),
        (Planner, "kinds", {"age": 1}),
        (Planner, "cost", True),
        (Planner, "cost", np.ones(200)),
        (Planner, "budget", float("nan")),
        (Planner.plan, "table", make_people().set_index(["person", "age"])),
        (Planner.observe, "through", 1.5),
        (Planner.recount, "rounds", True),
        (Planner.sample, "workers", 0),
        (Planner.estimate, "bounds", [0]),
        (inference.StoppingRule, "width", 0),
        (inference.average_effect, "level", 1.5),
        (inference.average_effect, "arm", 3),
        (inference.size_measure, "groups", [1, 2]),
        (inference.size_measure, "t", ONES / 2),
        (inference.ate_size_measure, "t", ARMS[:2]),
        (inference.crossfit_propensity, "weights", ONES[:2]),
    ],
)
def test_a_wrong_argument_is_named(call, argument, value, unchecked, here):
    make_people().to_csv("people.csv")
    refused(call, argument, value)


LISTS, COMPLEX, TINY = [[0], [1]] * 100, np.arange(200) * 1j, 1e-320
SCALARS = "cost", "response", "propensity"
UNNAMED = make_people().drop(columns="person").set_index(pd.Index([None, *range(199)], dtype=object))


@each(
    "column, values, said",
    [
        *((role, LISTS, {role: "odd"}) for role in ("cluster", "exclude", "include", "outcome", "by", *SCALARS)),
        *((role, COMPLEX, {role: "odd"}) for role in ("cluster", "identifier", *SCALARS)),
        *((role, TINY, {role: "odd"}) for role in SCALARS),
        ("cost", 1e101, {"cost": "odd"}),
        ("treatment", LISTS, {"treatment": "odd"}),
        ("treatment", LISTS, {"treatment": "odd", "reference": 0}),
        ("quota", LISTS, {"quotas": ["odd>=1"]}),
        ("covariate", LISTS, {"covariates": ["age", "odd"]}),
        ("covariate", LISTS, {"covariates": None}),
    ],
)
def test_a_column_whose_cells_cannot_be_is_named(column, values, said, unchecked):
    with pytest.raises(ValueError, match="'odd'"):
        given = {"treatment": "free", "budget": 300, "covariates": ["age", "income"]} | said
        Planner(**given).plan(make_people().assign(odd=values))


@each(
    "call, named",
    [
        (lambda: Planner("free", 300).plan(None), "table"),
        (lambda: Planner("free", 300, covariates=["age"]).plan(UNNAMED), "index"),
        (lambda: Planner("free", 300, covariates=["age", "age"]).plan(make_people()), "'age'"),
        *((lambda what=what: Planner("free", 300, **{what: TINY}).plan(make_people()), what) for what in SCALARS),
        (lambda: macal.get([]), "name"),
        (lambda: models.get({}), "name"),
        (lambda: macal.run_all(3, {"random": "random"}), "problems"),
        (lambda: macal.run_all([], {"random": "random"}), "problems"),
        (lambda: macal.run_all([3], {}), "criteria"),
        (lambda: macal.run_all([3], {"random": "random"}), "problem"),
        (lambda: macal.evaluate(None, None), "problem"),
        (lambda: macal.metrics.pehe("a", [1]), "tau_hat"),
        (lambda: macal.metrics.pehe([1.0], [1j]), "tau"),
        (lambda: macal.metrics.pehe([[1], [1, 2]], [1, 1]), "tau_hat"),
    ],
)
def test_what_is_no_table_name_or_number_is_refused_by_its_name(call, named, unchecked):
    with pytest.raises(ValueError, match=rf"\b{named}\b" if named[0] != "'" else named):
        call()


@pytest.mark.parametrize("outcome", [10**30, 1j, np.complex128(1), [1.0], np.array([1.0, 2.0]), {}, "1"])
def test_an_outcome_that_is_no_number_is_refused_by_whose_it_is(outcome, unchecked):
    planner = Planner("free", 300)
    name = planner.plan(make_people()).index[0]
    with pytest.raises(ValueError, match=name):
        planner.observe({name: outcome})
    assert not planner.answers


def test_what_numpy_and_pandas_hold_is_taken_as_theirs(unchecked, tmp_path):
    people = make_people()
    budget, covariates = np.int64(300), people.columns[1:3]
    planner = Planner("free", budget, covariates=covariates, quotas=np.array(["region>=1"]), seed=np.int64(2))
    planner.plan(people)
    planner.save(tmp_path / "c.json")
    held = json.loads((tmp_path / "c.json").read_text())["content"]
    assert held["policy"]["budget"] == 300 and held["columns"]["covariates"] == ["age", "income"]
    planner.observe(pd.Series({planner.planned.index[0]: 1.0}))
    assert planner.asked == 1
