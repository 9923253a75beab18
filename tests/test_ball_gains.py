"""Plans of gains on balls, held against the gains of everybody."""

import numpy as np

from reproduction.theory.ball_gains import certificates, registry


def test_what_is_lost_is_within_the_certificate_and_nothing_is_where_everybody_is_a_ball():
    x, t = registry(300, 3, 2, 0)
    np.testing.assert_allclose([x.mean(0), x.std(0)], [[0.0] * 3, [1.0] * 3], atol=1e-12)
    few, all_of_them = (certificates(x, t, 12, balls, 50) for balls in (10, 300))
    assert (few["lost"] <= few["certificate"] + 1e-9).all() and few["lost"].max() > 1e-6
    np.testing.assert_allclose(all_of_them[["certificate", "lost"]], 0, atol=1e-9)


def test_no_target_is_moved_where_everybody_is_her_own():
    x, t = registry(100, 2, 0, 1)
    moved = [certificates(x, t, 3, 10, targets)["targets"].max() for targets in (5, 50, 100)]
    assert moved[0] > moved[1] > moved[2] == 0
