"""A campaign on a small real problem: what its history holds, and that it can be rebuilt from its picks."""

import numpy as np
import pandas as pd
import pytest

import macal
from macal import models
from macal.campaigns import begin, evaluation, loop
from macal.models import get

GP = get("exact-gp", optimiser="lbfgs", steps=15)


@pytest.fixture(scope="module")
def problem():
    return macal.load("ihdp", 0)


def test_history_is_tidy_and_can_be_rebuilt(problem):
    history = macal.run(problem, "macal", GP, n_queries=4, every=2)
    assert history.step.tolist() == [0, 2, 4] and history.labelled.tolist() == [10, 30, 50]
    assert set(history.method) == {"macal"} and set(history.replication) == {0} and set(history.dataset) == {"ihdp"}
    batches = history.attrs["picks"]
    sets = [np.concatenate([problem.start, *batches[:k]]) for k in history.step]
    again = macal.evaluate(problem, sets, GP)
    pd.testing.assert_frame_equal(again, history[again.columns.tolist()].reset_index(drop=True), check_names=False)
    assert [int(problem.pool.t[s].sum()) for s in sets] == history.treated.tolist()
    last = problem.pool[sets[-1]]
    assert history.w1.iloc[-1] == pytest.approx(macal.metrics.wasserstein(last.x, last.t))


def test_the_order_of_a_set_does_not_matter_and_its_size_seeds_the_training(problem):
    some = np.random.default_rng(0).choice(470, 40, replace=False)
    errors = [macal.evaluate(problem, [units], GP).pehe.item() for units in (some, some[::-1], np.sort(some))]
    assert len(set(errors)) == 1
    assert len({evaluation.training_seed(replication, n) for replication in (0, 1) for n in (10, 20)}) == 4


def test_campaigns_share_their_start_and_end_on_the_whole_pool(problem):
    ends = [macal.run(problem, name, GP, every=46) for name in ("random", "macal")]
    for history in ends:
        assert history.labelled.tolist() == [10, 470] and history.radius.iloc[-1] == 0
    assert ends[0].pehe.iloc[0] == ends[1].pehe.iloc[0]
    assert ends[0].pehe.iloc[1] == pytest.approx(ends[1].pehe.iloc[1], rel=1e-3)


def test_a_campaign_stops_where_the_pool_does(problem):
    history = macal.run(problem, "qhte", GP, n_queries=100, batch_size=230)
    assert history.labelled.tolist() == [10, 240, 470]


def test_an_empty_arm_has_no_distance(problem):
    controls = np.flatnonzero(problem.pool.t == 0)[:5]
    row = macal.evaluate(problem, [controls], GP).iloc[0]
    assert row.treated == 0 and np.isnan(row.w1) and np.isnan(row.counterpart) and row.radius == np.inf and row.pehe > 0


def test_errors_of_the_surfaces(problem):
    class Shifted:
        provides = ()

        def fit(self, tasks):
            return [self for _ in tasks]

        info = {}

        def predict(self, x):
            truth = problem.test if len(x) == len(problem.test) else problem.valid
            mean = np.column_stack([truth.mu0 + 3, truth.mu1 - 4])
            return macal.posterior.Posterior(mean, np.zeros((len(x), 2, 2)))

    history = macal.run_all([problem], {"random": "random"}, Shifted(), n_queries=1, measures=macal.campaigns.SURFACES)
    np.testing.assert_allclose(history[["control surface", "treated surface", "pehe"]], [[3, 4, 7]] * 2)


def test_a_chooser_chooses_and_the_model_judges():
    problem = macal.load("ihdp", 0)
    chosen = macal.run(problem, "alc", "meta-learner", every=2, acquisition_model="joint-gp", n_queries=3)
    own = macal.run(problem, "alc", "joint-gp", n_queries=3)
    assert chosen.attrs["picks"] == own.attrs["picks"] and chosen.step.tolist() == [0, 2, 3]
    sets = [problem.labelled(own.attrs["picks"][:k]) for k in (0, 2, 3)]
    assert chosen.pehe.tolist() == macal.evaluate(problem, sets, "meta-learner").pehe.tolist()


def test_designs_go_by_the_joint_process_unless_told_otherwise(problem):
    asked = {"alc": "alc", "random": "random", "epig-tau": "epig-tau", "mu-bald": "mu-bald", "alc-fixed": "alc-fixed"}
    table = macal.run_all([problem], asked, GP, every=2, n_queries=3)
    picks = dict(zip(asked, table.attrs["picks"], strict=True))
    joint, own = ({n: macal.run(problem, n, GP, acquisition_model=c, n_queries=3).attrs["picks"] for n in asked}
                  for c in ("joint-gp", GP))  # fmt: skip
    assert all(picks[name] == joint[name] for name in ("alc", "epig-tau", "random", "alc-fixed"))
    assert picks["mu-bald"] == own["mu-bald"]  # the model that judges
    assert picks["alc"] != own["alc"]
    steps = table.groupby("method").step.agg(list)
    assert steps["alc"] == steps["random"] == [0, 2, 3] and steps["mu-bald"] == [0, 1, 2, 3]


def test_a_joint_process_that_judges_chooses_itself(problem):
    settings = get("joint-gp", starts=2)
    own = loop.acquisition_model_of(macal.get("alc"), settings, None)
    assert own is None and loop.acquisition_model_of(macal.get("alc"), GP, settings) is settings
    assert loop.acquisition_model_of(macal.get("alc-fixed"), GP, None) is None


def test_a_sweep_keeps_the_model_that_it_names(problem, tmp_path):
    model = {"name": "exact-gp", "optimiser": "lbfgs", "steps": 15}
    spec = macal.Spec("ihdp", {"alc": {}}, (0,), model, n_queries=3)
    own, joint = (macal.run(problem, "alc", GP, acquisition_model=chooser, n_queries=3) for chooser in (GP, None))
    swept = macal.sweep(spec, tmp_path)
    assert swept.treated.tolist() == own.treated.tolist() and swept.step.tolist() == own.step.tolist()
    np.testing.assert_allclose(swept.pehe, own.pehe, rtol=1e-6)
    assert not np.allclose(swept.pehe, joint.pehe, rtol=1e-3)
    assert "chooser" not in spec.config(0, "alc")


def test_a_chooser_must_provide_what_the_criterion_needs():
    with pytest.raises(ValueError, match="ALC .*prior .*MetaLearner.*exact-gp"):
        macal.run(macal.load("ihdp", 0), "alc", "exact-gp", acquisition_model="meta-learner", n_queries=1)


def test_batches_that_are_chosen_ahead_come_from_one_fit():
    problem, fits = macal.load("ihdp", 0), []

    class Counting(type(models.get("joint-gp"))):
        def fit(self, tasks):
            fits.append(len(tasks[0].labelled))
            return super().fit(tasks)

    played = begin(problem, "alc", n_queries=5)
    played.choose_remaining(Counting(), ahead=2)
    assert fits == [10, 30, 50] and [len(b) for b in played.batches] == [10] * 5
    (fitted,) = models.get("joint-gp").fit([models.Task(problem.pool[np.sort(problem.start)])])
    step = begin(problem, "alc", n_queries=2)
    step.advance(fitted)
    step.advance(fitted)
    assert [b.tolist() for b in step.batches] == [b.tolist() for b in played.batches[:2]]


def test_a_campaign_trains_after_every_so_many_queries(problem):
    with pytest.raises(ValueError, match="every"):
        macal.run(problem, every=0)
