"""More than two arms: pairs by turns, contrasts of independent surfaces, and what is refused."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from macal import acquisition
from macal.acquisition import plan_batches
from macal.metrics import nearest_distance
from macal.models import Task
from macal.problem import Split

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(60, 3)), np.arange(60) % 3
SEVERAL = ["random", "random-balanced", "coreset", "qhte", "symmetry", "macal", "alc-fixed"]


def by_hand(x, t, labelled, size, alpha, novelty=1.0):
    """MACAL's pairs by comparing all, the arm with the fewest labels in turn."""
    picks = list(labelled)
    while len(picks) < len(labelled) + size:
        free = np.setdiff1d(np.arange(len(t)), picks)
        counts = [np.sum(t[picks] == arm) for arm in (1, 2)]
        arm = 1 + int(np.argmin(counts))
        one, zero = free[t[free] == arm], free[t[free] == 0]
        m = [nearest_distance(x[u], x[[p for p in picks if t[p] == a]]) for u, a in ((one, arm), (zero, 0))]
        m = [np.where(np.isinf(v), 0.0, v) * novelty for v in m]
        score = m[0][:, None] + m[1] - alpha * cdist(x[one], x[zero])
        i, j = np.unravel_index(score.argmax(), score.shape)
        picks += [one[i], zero[j]]
    return picks[len(labelled) :]


@pytest.mark.parametrize("labelled", [[], [0, 1, 2, 4], [0, 3]])
@pytest.mark.parametrize(("name", "alpha", "novelty"), [("macal", 2.5, 1.0), ("symmetry", 1.0, 0.0)])
def test_pairs_with_the_reference_arm_by_turns(labelled, name, alpha, novelty):
    found = plan_batches(acquisition.get(name), X, T, labelled, 4, 6)
    expected = by_hand(X, T, labelled, 24, alpha, novelty)
    assert np.concatenate(found).tolist() == expected
    again = plan_batches(acquisition.get(name), X, T, [*labelled, *expected[:12]], 2, 6)
    assert np.concatenate(again).tolist() == expected[12:]  # a plan that is resumed goes on


@pytest.mark.parametrize("name", SEVERAL)
def test_every_arm_is_asked_and_nobody_twice(name):
    picks = np.concatenate(plan_batches(acquisition.get(name), X, T, [], 6, 10))
    assert sorted(picks.tolist()) == list(range(60))
    assert np.bincount(T[picks[:24]], minlength=3).min() >= 4


def test_balanced_labels_alternate_and_the_reference_is_last():
    picks = np.concatenate(plan_batches(acquisition.get("random-balanced"), X, T, [], 2, 9))
    assert T[picks].tolist() == [1, 2, 0] * 6


def test_alc_takes_the_largest_fall_of_the_sum_of_the_contrasts_variances():
    criterion = acquisition.get("alc-fixed", targets=60)
    labelled = np.array([0, 1, 2])
    state = acquisition.PoolState(X, T, labelled)
    prior = criterion.prior(state)
    assert len(prior.variance) == 3

    def variances(units):
        total = 0.0
        for arm in range(3):
            own = units[T[units] == arm]
            gram = prior.covariance(X[own], arm, X[own], arm) + 0.1 * np.eye(len(own))
            cross = prior.covariance(X[own], arm, X, arm)
            left = 60 - np.einsum("mn,mn->", cross, np.linalg.solve(gram, cross))
            total += left * (2 if arm == 0 else 1)  # the reference is in both contrasts
        return total

    free = np.setdiff1d(np.arange(60), labelled)
    best = min(free, key=lambda unit: variances(np.append(labelled, unit)))
    assert plan_batches(criterion, X, T, labelled, 1, 1)[0].tolist() == [best]


@pytest.mark.parametrize("name", ["fccm", "abc3", "random-share", "random-rare", "random-pairs", "macal-rolling"])
def test_rules_of_two_arms_say_so(name):
    with pytest.raises(ValueError, match="compares two arms, and t has 3; take one of .*'macal'"):
        plan_batches(acquisition.get(name), X, T, [], 2, 4)


def test_arms_without_a_gap():
    with pytest.raises(ValueError, match=r"number 3 arms without a gap, got \[0, 2\]"):
        plan_batches(acquisition.get("qhte"), X, 2 * (T > 0), [], 1, 4)


def test_models_learn_from_one_contrast_at_a_time():
    units = Split(X, T, RNG.normal(size=60))
    parts = units.contrasts()
    assert [len(part) for part in parts] == [40, 40]
    for arm, part in enumerate(parts, 1):
        np.testing.assert_array_equal(part.x[part.t == 1], X[arm == T])
        np.testing.assert_array_equal(part.y[part.t == 0], units.y[T == 0])
    with pytest.raises(ValueError, match="a model compares two arms, and labelled units are in up to 3"):
        Task(units)
    assert [len(Task(part).labelled) for part in parts] == [40, 40]
