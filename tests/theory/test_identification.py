"""Proposition 1: sufficiency on drawn populations, necessity refuted exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction import claims
from reproduction.theory import identification as idn

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 5), st.integers(1, 4))
def test_adjustment_finds_the_effect_where_the_assumptions_hold(seed, n_x, n_values):
    p, values = idn.unconfounded_population(np.random.default_rng(seed), n_x, n_values)
    assert p.sum() == pytest.approx(1)
    np.testing.assert_allclose(idn.adjusted_contrast(p, values), idn.effect(p, values), atol=1e-12)


def test_without_overlap_adjustment_has_nothing_to_say():
    p, values = idn.unconfounded_population(np.random.default_rng(0))
    p[0, :, :, 1] = 0
    assert np.isnan(idn.adjusted_contrast(p, values)).tolist() == [True, False, False, False]


def test_counterexamples():
    p, values = idn.spread_by_treatment()
    np.testing.assert_allclose([idn.effect(p, values), idn.adjusted_contrast(p, values)], 1)
    found = idn.front_door()
    assert [found[k] for k in ("truth", "front_door", "unadjusted")] == pytest.approx([0.6, 0.6, 1.8], abs=1e-12)
    assert idn.no_overlap() < 1e-12


def test_the_verdict_follows_its_numbers(monkeypatch):
    assert claims.problem.judge_identifiability().verdict == "holds in part"
    assert claims.problem.judge_identifiability(tolerance=0.0).verdict == "fails"
    monkeypatch.setattr(idn, "adjusted_contrast", lambda p, v, plain=idn.effect: plain(p, v) + 1e-13)
    monkeypatch.setattr(idn, "spread_by_treatment", lambda: idn.unconfounded_population(np.random.default_rng(0)))
    monkeypatch.setattr(idn, "front_door", lambda: {"truth": 0.0, "front_door": 1.0})
    monkeypatch.setattr(idn, "no_overlap", lambda: 1.0)
    assert "1 cases" in claims.problem.judge_identifiability().evidence
