"""The plain searches, the batch objective and the small pools that the chapters on the algorithm rest on."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import macal
from reproduction.theory import examples, objective, pair_search

POOLS = st.tuples(
    st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 1.0, 2.5]), st.sampled_from(["euclidean", "sqeuclidean"])
)


@pytest.mark.exhaustive
@given(POOLS)
def test_literal_lazy_and_library_agree_on_scores(case):
    seed, alpha, metric = case
    x, t, start = examples.two_clouds(seed, treated=9, control=12, start=1)
    x = np.round(x) if seed % 2 else x
    literal, lazy = (find(x, t, start, 6, alpha, metric) for find in (pair_search.literal, pair_search.lazy))
    assert sum(lazy.evaluated) <= sum(literal.evaluated)
    plan = np.concatenate(macal.plan(x, t, start, 1, 12, "macal", alpha=alpha, metric=metric)).reshape(-1, 2).tolist()
    for pairs in (literal.pairs, lazy.pairs, plan):
        done = start.tolist()
        for i, j in pairs:
            scores, one, zero = pair_search.pair_scores(x, t, done, alpha, metric)
            assert scores[one == i, zero == j][0] >= scores.max() - 1e-12
            done += [i, j]


def test_counts():
    x, t, start = examples.two_clouds(0, treated=7, control=9, start=2)
    literal, lazy = pair_search.literal(x, t, start, 3, 2.5), pair_search.lazy(x, t, start, 3, 2.5)
    assert literal.evaluated == [5 * 7, 4 * 6, 3 * 5]
    assert lazy.evaluated[0] == 5 * 7 and all(n % m == 0 for n, m in zip(lazy.evaluated, (7, 6, 5), strict=True))
    np.testing.assert_allclose(lazy.scores, literal.scores, atol=1e-12)


def test_best_sum_by_listing_every_sequence():
    x, t, start = examples.two_clouds(3, treated=4, control=4, start=1)
    free = [[(i, j) for i in pair_search.free(t, start, 1) for j in pair_search.free(t, start, 0)]][0]

    def total(pairs):
        done, found = start.tolist(), 0.0
        for i, j in pairs:
            scores, one, zero = pair_search.pair_scores(x, t, done, 2.5)
            found += scores[one == i, zero == j][0]
            done += [i, j]
        return found

    sequences = [p for p in permutations(free, 2) if p[0][0] != p[1][0] and p[0][1] != p[1][1]]
    assert pair_search.best_sum(x, t, start, 2, 2.5) == pytest.approx(max(map(total, sequences)), abs=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([1.01, 1.5, 2.5, 10.0]), st.booleans())
def test_twins_stay_together(seed, alpha, empty_start):
    x, t, start = examples.twins(seed, pairs=12, spare=6)
    t, x = (t[[k for k in range(len(t)) if k not in start]], np.delete(x, start, axis=0)) if empty_start else (t, x)
    start = start[:0] if empty_start else start
    order = np.concatenate(macal.plan(x, t, start, 1, 24, "macal", alpha=alpha))
    assert examples.twin_share(x, t, order, 12) == 1


@given(st.integers(0, 10_000), st.sampled_from([1.5, 2.5, 10.0]))
def test_partner_is_near(seed, alpha):
    x, t, start = examples.two_clouds(seed, treated=9, control=12, start=1)
    scores, one, zero = pair_search.pair_scores(x, t, start, alpha)
    d = np.linalg.norm(x[one][:, None] - x[zero][None], axis=2)
    partner = d[np.arange(len(one)), scores.argmax(axis=1)]
    assert (partner <= d.min(axis=1) * (alpha + 1) / (alpha - 1) + 1e-9).all()


def test_symmetry_takes_the_closest_pairs_first():
    x, t, start = examples.two_clouds(0)
    batches = macal.acquisition.plan_batches(macal.get("symmetry"), x, t, start, n_queries=5, batch_size=4)
    order = np.concatenate(batches)
    assert (np.diff(np.linalg.norm(x[order[::2]] - x[order[1::2]], axis=1)) >= 0).all()


@pytest.mark.parametrize(("metric", "twins"), [("euclidean", True), ("sqeuclidean", False)])
def test_squared_distances_part_twins_on_a_line(metric, twins):
    x = np.array([10, 0, 2, 3, 4, 5, 6, 7, 8, 2, 3, 4, 5, 6, 7, 8], float)[:, None]  # twins on 2..8, labels at 10 and 0
    i, j = macal.plan(x, np.repeat([1, 0, 1, 0], [1, 1, 7, 7]), [0, 1], 1, 2, "macal", alpha=2.5, metric=metric)[0]
    assert (x[i, 0] == x[j, 0]) == twins


def test_objective_by_hand():
    x, t = np.array([[0.0], [0.0], [1.0], [3.0], [1.0], [2.0]]), np.array([1, 0, 1, 1, 0, 0])
    task = objective.Objective(x, t, np.array([0, 1]), c=2.0, noise=0.5)
    assert task.batches(1, 1) == [(2,), (3,)] and task.batches(0, 2) == [(4, 5)]
    assert task.distance() == 0 and task.distance((2,), (4,)) == 0 and task.distance((3,), (5,)) == 0.5
    k = np.exp(-0.5 * x[:, 0] ** 2)
    np.testing.assert_allclose(task.variance(1), 1 - k**2 / 1.5)
    gain = [(task.variance(arm) - task.variance(arm, (u,))).mean() for arm, u in ((1, 3), (0, 5))]
    h = np.log(3) / 2
    assert task.values([(3,)], [(5,)])[0, 0] == pytest.approx(h * sum(gain) - 2 * 0.5 * h**2)
    assert task.values([(3,)], [(5,)], diversity=False)[0, 0] == pytest.approx(sum(gain) - 2 * 0.5)


def test_greedy_batch_starts_with_the_best_pair():
    task = objective.Objective(*examples.two_clouds(1, 6, 6, start=1))
    one, zero = task.batches(1, 1), task.batches(0, 1)
    i, j = np.unravel_index(task.values(one, zero).argmax(), (5, 5))
    grown = objective.greedy_batch(task, 2)
    assert (grown[0][:1], grown[1][:1]) == (one[i], zero[j]) and len(set(grown[0])) == len(set(grown[1])) == 2
    first = objective.most_uncertain(task, 2)
    assert task.variance(1)[first[0][0]] == task.variance(1)[np.concatenate(one)].max()


def test_share_beaten():
    values = np.array([[0.0, 1.0], [2.0, 3.0]])
    assert [objective.share_beaten(values, v) for v in (3.0, 1.0, 0.0)] == [1, 1 / 3, 0]


def test_printed_algorithm():
    x, t, start = examples.two_clouds(0, treated=8, control=14, start=1)
    run = pair_search.printed_algorithm(x, t, start, batch_size=4, q_max=3)
    assert [len(b) for b in run.batches] == [4, 4] and run.controls == [3, 5] and not run.endless
    assert [sorted(b.tolist()) for b in macal.plan(x, t, start, 2, 4, "macal")] == run.batches
    assert pair_search.printed_algorithm(x, t, start, 100, 2).endless
    mirrored = pair_search.printed_algorithm(x, 1 - t, start, 18, 2)  # treated left over: that line is right
    assert mirrored.controls == [8] and len(mirrored.batches[0]) == 18
    assert len(pair_search.printed_algorithm(x, t, start, batch_size=3, q_max=2).batches[0]) == 4  # overshoots
    assert len(macal.plan(x, t, start, n_queries=1, batch_size=3, criterion="macal")[0]) == 3
    fewer = pair_search.printed_algorithm(x, t, start, batch_size=16, q_max=2)  # controls left over: they are emptied
    assert fewer.controls == [1] and len(fewer.batches[0]) == 16
    assert sum(map(len, macal.plan(x, t, start, n_queries=2, batch_size=30, criterion="macal"))) == len(t) - len(start)


def test_small_gp_sees_the_data_it_is_given():
    x, t, start = examples.two_clouds(0)
    labelled, y = np.arange(0, 80, 2), examples.outcomes(x, t)
    posterior, features, _ = examples.small_gp(x, t, labelled, y)
    own = posterior.mean[np.arange(80), t]
    assert np.corrcoef(own, y)[0, 1] > 0.8
    variance = posterior.cov[np.arange(80), t, t]
    assert variance[labelled].mean() < variance[1::2].mean() and (np.linalg.eigvalsh(posterior.cov) > 0).all()
    np.testing.assert_allclose((features**2).sum(axis=1), 1, atol=1e-6)
