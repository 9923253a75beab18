"""Verdicts on calibration and stopping, on made-up campaigns, and one look of the study against the model."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims import RULES, enough
from reproduction.studies import enough as study
from reproduction.studies import tables

LABELS = [30, 50, 70]


def made(held=0.95, off=0.1, errors=(0.6, 0.3, 0.1)):
    """Campaigns that all look alike, but for a little noise in the share held."""
    rng, rows = np.random.default_rng(0), []
    for model in study.MODELS:
        for method in study.METHODS:
            for replication in range(study.REPLICATIONS):
                for k, labelled in enumerate(LABELS):
                    wrong = off[replication] if np.ndim(off) else off
                    told = {"average": 4 + wrong, "truth": 4.0, "error": errors[k]}
                    told |= {"held": held + 0.02 * rng.normal(), "held_average": True, "deviation": 3.0 - k}
                    told |= {"ahead": 1.1 * (2.0 - k), "ahead_average": errors[min(k + 1, 2)]}
                    about = {"model": model, "method": method, "replication": replication, "labelled": labelled}
                    rows.append(about | told)
    return pd.DataFrame(rows)


@pytest.fixture
def given(monkeypatch):
    return lambda table: monkeypatch.setattr(tables, "load", lambda name: table)


@pytest.mark.parametrize(("held", "word"), [(0.95, "holds"), (0.9, "fails"), (0.99, "fails")])
def test_calibration(given, held, word):
    given(made(held))
    assert enough.judge_calibration(RULES).verdict == word


def test_calibration_of_one_model_alone(given):
    table = made(0.95)
    table.loc[table.model == "joint GP", "held"] -= 0.2
    given(table)
    assert enough.judge_calibration(RULES).verdict == "holds in part"
    told = enough.calibration(table, RULES).verdict
    assert told["exact GP", "macal"] == "holds" and told["joint GP", "random"] == "fails"


@pytest.mark.parametrize(("share", "word"), [(0.02, "holds"), (0.3, "fails"), (0.07, "open")])
def test_stopping(given, share, word):
    off = np.where(np.arange(study.REPLICATIONS) < share * study.REPLICATIONS, 1.5, 0.1)
    given(made(off=off))
    assert enough.judge_stopping(RULES).verdict == word


def test_a_rule_stops_at_the_first_look_that_meets_it():
    found = enough.stops(made()).set_index(["width", "model", "method", "replication"]).sort_index()
    at = lambda width: found.loc[(width, "exact GP", "macal", 3)]  # noqa: E731
    # 2 x 1.96 x 0.3 = 1.18: under 2 at 50 labels; under 1 at 70
    assert at(2.0).labelled == 50 and at(1.0).labelled == at(0.5).labelled == 70 and not at(0.5).early


def test_a_rule_that_never_stops_is_never_too_early(given):
    table = made(errors=(0.9, 0.8, 0.7))
    found = enough.too_early(enough.stops(table), RULES)
    assert (found.stopped == 0).all() and (found.early == 0).all()


def test_forecasts_over_what_came():
    found = enough.forecasts(made())
    assert found.loc[("exact GP", "macal", 30), "effects"] == pytest.approx(1.1)
    assert found.loc[("exact GP", "macal", 30), "average"] == pytest.approx(1.0)
    assert found.index.get_level_values("labelled").max() == 50


def test_a_campaign_is_looked_at_by_both_models():
    (answer,) = study.campaign(3, "random").work()
    rows = pd.DataFrame(answer.rows)
    assert rows.groupby("model").labelled.agg(list).tolist() == [list(range(30, 211, 20))] * 2
    assert len(answer.picks) == 22 and rows.held.between(0, 1).all() and (rows.gain > 0).all()
    np.testing.assert_allclose(rows.gain, 1 - rows.ahead / rows.deviation)
    assert ((rows.average - rows.truth).abs() <= 1.959963984540054 * rows.error).eq(rows.held_average).all()
