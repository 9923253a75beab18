"""Verdicts T5, T6, T7 and T9: on their own numbers, and on made-up ones that would change them."""

import numpy as np
import pytest

from reproduction.claims import lemmas
from reproduction.theory.variance import VarianceCampaign


def made_up(mean):
    """A campaign of 10 units, one label a step, whose mean variance is given."""
    return VarianceCampaign([np.array([k]) for k in range(len(mean))], np.repeat(np.array(mean)[:, None], 10, axis=1))


FAST, SLOW, WRONG = made_up([1.0, 0.8, 0.6]), made_up([1.0, 0.9, 0.81]), made_up([1.0, 0.99, 0.98])


@pytest.mark.parametrize(
    ("quiet", "noisy", "verdict"),
    [
        (FAST, FAST, "holds"),
        (FAST, WRONG, "holds in part"),
        (SLOW, SLOW, "holds in part"),
        (WRONG, WRONG, "fails"),
    ],
)
def test_t5_can_go_any_way(monkeypatch, quiet, noisy, verdict):
    monkeypatch.setattr(lemmas, "pool_campaigns", lambda noise=0.0: {"made up": noisy if noise else quiet})
    monkeypatch.setattr(lemmas, "line_slope", lambda: -1.0)
    assert lemmas.judge_variance_lemma().verdict == verdict


def test_drops_are_counted_from_the_first_step():
    assert [lemmas.first_short_drop(run) for run in (FAST, SLOW, WRONG)] == [0, 2, 1]


def test_aliasing():
    edge, inside = lemmas.refit(np.array([-0.5, 0.5])), lemmas.refit(lemmas.QUARTERS)
    assert edge["lengthscale before"] == pytest.approx(2.78, abs=0.005) and edge["lengthscale after"] == 0.1
    assert edge["before"] == pytest.approx(1e-4, abs=1e-5) and edge["after"] == pytest.approx(0.98, abs=0.005)
    for example in (edge, inside):
        assert example["fixed"] <= example["before"] and example["after"] > 1000 * example["before"]
    assert 0.15 < inside["lengthscale after"] < 1  # inside the grid
    np.testing.assert_allclose(lemmas.aliased(lemmas.ALIASED), 1 + 0.3 * np.sin(lemmas.ALIASED), atol=1e-12)


@pytest.mark.parametrize(("violations", "after", "verdict"), [(0, 0.1, "holds"), (0, 0.9, "holds"), (3, 0.1, "fails")])
def test_t7_can_go_any_way(monkeypatch, violations, after, verdict):
    monkeypatch.setattr(lemmas, "monotone_violations", lambda: violations)
    monkeypatch.setattr(lemmas, "refit", lambda more: {"before": 0.2, "after": after})
    assert lemmas.judge_monotonicity().verdict == verdict


def test_t6():
    found = lemmas.judge_wasserstein_lemma(starts=10)
    assert found.verdict == "holds in part" and "2.857" in found.evidence and "10 of 10" in found.evidence
    assert lemmas.equal_arms_error() < 1e-9


@pytest.mark.parametrize(
    ("error", "path", "verdict"),
    [
        (1e-12, [1.0, 8 / 9, 8 / 10], "holds"),
        (1e-12, [1.0, 2.0, 0.5], "holds in part"),
        (0.1, [1.0, 8 / 9, 8 / 10], "holds in part"),
        (0.1, [1.0, 2.0, 0.5], "fails"),
    ],
)
def test_t6_can_go_any_way(monkeypatch, error, path, verdict):
    monkeypatch.setattr(lemmas, "equal_arms_error", lambda: error)
    monkeypatch.setattr(lemmas, "unequal_paths", lambda starts: [np.array(path)] * starts)
    assert lemmas.judge_wasserstein_lemma().verdict == verdict


@pytest.mark.parametrize(
    ("error", "b_image", "verdict"), [(0.0, 0.3, "holds"), (0.0, 0.8, "holds in part"), (0.1, 0.8, "fails")]
)
def test_t9_can_go_any_way(monkeypatch, error, b_image, verdict):
    monkeypatch.setattr(lemmas, "image_error", lambda: error)
    found = {"A": (0.5, 0.5), "B": (0.2, b_image)}
    monkeypatch.setattr(lemmas.wasserstein, "image_distances", lambda designs, phi: found)
    assert lemmas.judge_representation().verdict == verdict
