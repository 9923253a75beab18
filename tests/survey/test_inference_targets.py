"""Effects on whom one asks about, by weights, where some refuse: the equation, its variance, bounds, and coverage."""

from dataclasses import replace

import numpy as np
import pytest
from cases import part_and_whole
from scipy.special import expit
from scipy.stats import binom
from scipy.stats import t as student

from macal.logistic import propensity_scores
from macal.survey.inference import (
    Estimate,
    Survey,
    ate_size_measure,
    average_effect,
    crossfit_propensity,
    draw_sample,
    group_effects,
    inclusion_probabilities,
    nonresponse_sensitivity,
    size_measure,
)
from macal.survey.inference.ridge import Ridge
from macal.survey.inference.targets import (
    NO_RESPONSES,
    TARGETS,
    _both,
    _estimated,
    _guard,
    _logistic_part,
    _ridge_slope,
    crossfit_responses,
)
from macal.survey.inference.weighted import fitted_propensity, folds, unpredicted


def world(seed, n=800, curved=0.0):
    """People whose effect, 1 + x1, is larger for those who are more often treated."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    e = expit(0.8 * x[:, 0])
    t = (rng.uniform(size=n) < e).astype(int)
    y = x[:, 1] / 2 + curved * np.abs(x[:, 2]) + t * (1 + x[:, 0]) + rng.normal(size=n)
    return x, t, y, e, rng


def survey(seed, answers=lambda x, t: 1.2 + x[:, 1] - t / 2, size=200, target="all", rated=False, **options):
    """Drawn people, of whom those with these log odds answer; of all of them a rating of the outcome may be known."""
    x, t, y, _, rng = world(seed, **options)
    proxies = (y + 0.75 * rng.normal(size=len(t)))[:, None] if rated else None
    chances = inclusion_probabilities(size_measure(target, crossfit_propensity(x, t, seed), t), size, 0.3)
    asked = np.isin(np.arange(len(t)), draw_sample(chances, rng))
    told = asked & (rng.uniform(size=len(t)) < expit(answers(x, t)))
    return Survey(x, t, np.where(told, y, np.nan), chances, asked, seed=seed, proxies=proxies)


def certain(x, t):
    """Log odds at which everybody answers."""
    return np.full(len(t), 50.0)


def curved_odds(x, t):
    """Log odds to answer that no logistic regression has."""
    return 2 - 1.6 * np.abs(x[:, 0]) - t / 2


def truths():
    """Effects of the three populations, by integration over the first covariate."""
    at, share = np.polynomial.hermite_e.hermegauss(80)
    e = expit(0.8 * at)
    weights = {"all": np.ones(80), "treated": e, "overlap": e * (1 - e)}
    return {name: float(share * h @ (1 + at) / (share @ h)) for name, h in weights.items()}


@pytest.mark.parametrize("rated", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_the_estimate_is_the_root_of_its_equation(target, rated):
    found = survey(0, rated=rated)
    seen = found._outcomes[1]
    t, e, m, r = found.t, found.propensities[:, 1], found.outcome_predictions, found.responses
    h = {"all": lambda e: np.ones_like(e), "treated": lambda e: e, "overlap": lambda e: e * (1 - e)}[target]
    step = 1e-6
    b = h(e) + (h(e + step) - h(e - step)) / (2 * step) * (t - e)
    assert rated or (seen == m).all()
    side, own = h(e) * (t / e - (1 - t) / (1 - e)), np.arange(800)
    num = b * (m[:, 1] - m[:, 0]) + side * (seen - m)[own, t]
    for i in np.flatnonzero(np.isfinite(found.y)):
        num[i] += side[i] * (found.y[i] - seen[i, t[i]]) / (found.inclusion_probability[i] * r[i, t[i]])
    assert average_effect(found, target).value == pytest.approx(num.sum() / b.sum(), rel=1e-7)


def test_three_arms_are_each_compared_with_the_reference():
    x, t, y, _, rng = world(2)
    t = np.where(rng.uniform(size=800) < 0.3, 2, t)
    y = np.where(t == 2, x[:, 1] / 2 + 3 + rng.normal(size=800), y)
    full = Survey(x, t, y, np.ones(800), seed=3)
    assert (full.responses == 1).all() and not full.refused.any()
    e, m = full.propensities, full.outcome_predictions
    for arm in (1, 2):
        weight = (t == arm) / e[:, arm] - (t == 0) / e[:, 0]
        score = m[:, arm] - m[:, 0] + weight * (y - m[np.arange(800), t])
        found = average_effect(full, arm=arm)
        assert found.value == pytest.approx(score.mean())
        assert found.error == pytest.approx(score.std() / np.sqrt(800), rel=0.1)
    with pytest.raises(ValueError, match="'treated'"):
        average_effect(full, "treated")


def test_chances_to_answer_come_from_others_who_were_asked():
    found = survey(4)
    before = found.responses
    someone = int(np.flatnonzero(found.refused)[0])
    # the outcomes of people whom nobody asked, and answers themselves, say nothing of who answers
    changed = replace(found, y=np.where(np.isfinite(found.y), found.y + 5, np.nan))
    np.testing.assert_array_equal(changed.responses, before)
    told = replace(found, y=np.where(np.arange(800) == someone, 0.0, found.y))
    assert told.responses.mean() > before.mean()
    assert np.corrcoef(before[:, 0], expit(1.2 + found.x[:, 1]))[0, 1] > 0.9
    assert before[:, 1].mean() < before[:, 0].mean()


@pytest.mark.parametrize("refusing", [1, 2])
def test_one_or_two_refusals_still_leave_an_interval(refusing):
    x, t, y, _, _ = world(5)
    y[:refusing] = np.nan
    found = average_effect(Survey(x, t, y, np.ones(800), np.ones(800, bool)))
    assert np.isfinite([found.low, found.high]).all() and found.low < 1 < found.high
    assert crossfit_responses(x, t, np.ones(800, bool), np.isnan(y)).min() > 0.9


def test_trials_may_say_their_chances():
    found = survey(6)
    known = replace(found, propensity=np.full(800, 0.5))
    assert (known.propensities == 0.5).all() and average_effect(known).value != average_effect(found).value


@part_and_whole("n", 10, 120)
def test_the_error_counts_what_is_estimated(n):
    """Chances to answer are wrong, outcome models right: without the terms of the models the error would be off."""
    values, errors = [], []
    for seed in range(n):
        found = average_effect(survey(seed, curved_odds))
        values.append(found.value)
        errors.append(found.error)
    # the s.d. of n values is within 4 / sqrt(2 n) of the truth
    assert np.mean(errors) / np.std(values, ddof=1) == pytest.approx(1.05, abs=0.05 + 4 / np.sqrt(2 * n))


@pytest.mark.parametrize("rated", [False, True])
@part_and_whole("times", 60, 200)
def test_the_error_is_that_of_a_bootstrap_that_repeats_every_model(times, rated):
    found = survey(8, size=300, rated=rated)
    rng, values = np.random.default_rng(0), []
    for k in range(times):
        rows = rng.integers(0, 800, 800)
        part = {
            name: getattr(found, name)[rows] for name in ("x", "t", "y", "inclusion_probability", "asked", "proxies")
        }
        values.append(average_effect(Survey(**part, seed=k), "all").value)
    assert average_effect(found).error == pytest.approx(np.std(values), rel=0.1 + 2 / np.sqrt(2 * times))


@pytest.mark.parametrize("arms", [2, 3])
def test_the_term_of_a_logistic_regression_is_what_a_unit_s_weight_moves(arms):
    rng = np.random.default_rng(arms)
    n, step = 200, 0.8
    z = rng.normal(size=(n, 2))
    t = np.argmax(z @ rng.normal(size=(2, arms)) + rng.gumbel(size=(n, arms)), axis=1)
    slopes = rng.normal(size=(n, arms)) + z[:, :1]

    def at(weights):
        return (slopes * propensity_scores(z, t, z, weights)).sum() / n

    found = _logistic_part(z, propensity_scores(z, t, z), t, slopes, np.ones(n))
    units = np.flatnonzero(np.abs(found) > np.quantile(np.abs(found), 0.8))
    moved = [n * (at(1 + step * (np.arange(n) == i)) - at(1 - step * (np.arange(n) == i))) / 2 / step for i in units]
    np.testing.assert_allclose(found[units], moved, rtol=0.1)
    # who was not asked says nothing
    assert not _logistic_part(z, propensity_scores(z, t, z), t, slopes, (np.arange(n) > 50) * 1.0)[:51].any()


def test_the_term_of_a_ridge_regression_is_what_a_unit_s_weight_moves():
    rng = np.random.default_rng(0)
    n, step = 120, 1e-5
    z, own, slope = rng.normal(size=(n, 2)), rng.uniform(size=n) < 0.6, rng.normal(size=n) + 1
    y = z[:, 0] + rng.normal(size=n)
    design, penalty = np.column_stack([np.ones(n), z]), np.diag([0.0, 1, 1]) * Ridge().fit(z[own], y[own]).penalty

    def predicted(weights):
        return design @ np.linalg.solve((design.T * weights) @ design + penalty, design.T @ (weights * y))

    found = np.where(own, y - predicted(own * 1.0), 0.0) * _ridge_slope(z, y, own, slope)
    for i in (3, 40, 77):
        up, down = (predicted(own * 1.0 + own[i] * sign * step * (np.arange(n) == i)) for sign in (1, -1))
        assert found[i] == pytest.approx(slope @ (up - down) / 2 / step, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_an_answer_moves_the_estimate_as_the_regressions_on_proxies_say(target):
    """By itself, by the model that has learnt from it, and by the model that has learnt from that one."""
    found, step = survey(1, size=400, answers=certain, rated=True), 1e-4
    terms = _both(found, target, 1)[1]
    scale = np.full(800, 800 / terms.b.sum())
    for i in np.flatnonzero(np.isfinite(found.y))[:4]:
        changed = [replace(found, y=found.y + sign * step * (np.arange(800) == i)) for sign in (1, -1)]
        up, down = (_both(one, target, 1)[1].num.sum() / terms.b.sum() for one in changed)
        learnt = np.subtract(*(_estimated(one, terms, scale, 0.0)[2][i] for one in changed))
        assert 800 * (up - down) == pytest.approx(2 * step * scale[i] * terms.weight[i] + learnt, rel=1e-4)


@part_and_whole("n", 6, 60)
def test_a_rating_saves_answers_and_noise_costs_none(n):
    ratios = []
    for seed in range(n):
        rated = survey(seed, rated=True)
        noise = np.random.default_rng(seed).normal(size=(800, 1))
        plain, *others = (average_effect(replace(rated, proxies=p)).width for p in (None, rated.proxies, noise))
        ratios.append(np.array(others) / plain)
    saving, costing = np.median(ratios, axis=0)
    # R^2 is 0.64; about 130 of 800 answer
    assert saving == pytest.approx(np.sqrt(1 - 0.64 * (1 - 130 / 800)), rel=0.1) and costing < 1.04


def test_rare_columns_do_not_blow_up_the_error():
    """In the covariates a few people carry an indicator each that says nothing."""
    ratios = []
    for seed in range(5):
        plain = survey(seed, n=1000, answers=certain, size=500, curved=2.0)
        rng, columns = np.random.default_rng([seed, 1]), np.zeros((1000, 4))
        for k, number in enumerate((3, 6, 10, 20)):
            columns[rng.choice(1000, number, replace=False), k] = 1
        rare = replace(plain, x=np.hstack([plain.x, columns]))
        ratios.append(average_effect(rare).error / average_effect(plain).error)
    assert max(ratios) < 1.5 and 0.9 < np.median(ratios) < 1.2


def held(n, target="all", **options):
    """How many of n intervals hold the effect, and bounds of that number if 95 % do, at one in ten thousand."""
    truth, hits = truths()[target], 0
    for seed in range(n):
        found = average_effect(survey(seed, target=target, **options), target)
        hits += found.low <= truth <= found.high
    return hits, binom.ppf([5e-5, 1 - 5e-5], n, 0.95)


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"answers": certain},
        {"answers": curved_odds},
        {"curved": 2.0},
        {"rated": True},
        {"rated": True, "answers": curved_odds, "target": "treated"},
        *({"target": target} for target in TARGETS[1:]),
    ],
    ids=["right", "nobody refuses", "responses wrong", "outcomes wrong", "rated", "rated, treated", *TARGETS[1:]],
)
@part_and_whole("n", 3, 60)
def test_intervals_hold(n, case):
    hits, (low, _) = held(n, **case)
    assert hits >= low


def test_groups_add_up_and_their_intervals_hold_at_once():
    found = survey(10, size=500)
    region = np.where(found.x[:, 2] > 0, "north", "south")
    parts = group_effects(found, region)
    assert list(parts) == ["north", "south"]
    share = {name: np.mean(region == name) for name in parts}
    whole = sum(share[name] * one.value for name, one in parts.items())
    assert average_effect(found).value == pytest.approx(whole)
    for name, one in parts.items():
        told = (np.isfinite(found.y) & (region == name)).sum()
        assert one.width == pytest.approx(2 * one.error * student.ppf(1 - 0.05 / 4, told - 1))
    errors = sum((share[name] * one.error) ** 2 for name, one in parts.items())
    assert average_effect(found).error ** 2 == pytest.approx(errors, rel=0.1)
    few = np.flatnonzero(np.isfinite(found.y))[:5]
    others = group_effects(found, np.where(np.isin(np.arange(len(region)), few), "a few", region))
    for name in parts:  # the group without an interval takes nothing from theirs
        told = (np.isfinite(found.y) & (region == name)).sum() - (region[few] == name).sum()
        assert others[name].width == pytest.approx(2 * others[name].error * student.ppf(1 - 0.05 / 4, told - 1))
    silent = group_effects(found, np.where(np.isfinite(found.y), region, "silent"))["silent"]
    assert isinstance(others["a few"], str) and silent == NO_RESPONSES


def test_worth_is_the_share_of_the_variance():
    e, t = np.array([0.2, 0.2, 0.5, 0.9]), np.array([0, 1, 1, 0])
    np.testing.assert_allclose(size_measure("all", e, t, (2, 3)), ate_size_measure(e, t, (2, 3)))
    np.testing.assert_allclose(size_measure("treated", e, t), [0.25, 1, 1, 9])
    np.testing.assert_allclose(size_measure("overlap", e, t), [0.2, 0.8, 0.5, 0.9])
    np.testing.assert_allclose(size_measure("all", e, t, groups=["a", "b", "b", "b"]), [5, 20 / 3, 8 / 3, 40 / 3])


def partly_known(seed, n=1000, size=250):
    """Outcomes are known beforehand of many treated people in the middle of a covariate; half of those asked answer."""
    x, t, y, _, rng = world(seed, n)
    y = y + 2 * t * np.abs(x[:, 2])
    sure = rng.uniform(size=n) < np.where(np.abs(x[:, 2]) < 0.8, 0.7, 0.1) * np.where(t == 1, 1.0, 0.6)
    chances = np.ones(n)
    chances[~sure] = inclusion_probabilities(ate_size_measure(np.full(n, 0.5), t)[~sure], size, 0.3)
    asked = np.zeros(n, bool)
    asked[np.flatnonzero(~sure)[draw_sample(chances[~sure], rng)]] = True
    told = sure | asked & (rng.uniform(size=n) < 0.5)
    return Survey(x, t, np.where(told, y, np.nan), chances, asked, seed=seed, known_outcome=sure)


def test_whoever_was_known_was_not_asked_and_cannot_refuse():
    found = partly_known(0)
    others = ~found.known_outcome
    assert (found.responses[found.known_outcome] == 1).all() and (
        found.full_sample_fits.responses[found.known_outcome] == 1
    ).all()
    plain = crossfit_responses(found.x, found.t, found.asked, found.refused)
    np.testing.assert_array_equal(found.responses[others], plain[others])
    assert abs(found.responses[others].mean() - 0.5) < 0.1
    assert found.asked.sum() == 250 and replace(found, asked=found.asked | found.known_outcome).asked.sum() == 250
    doubt = nonresponse_sensitivity(found, average_effect(found))
    assert (doubt.asked, doubt.refused) == (250, found.refused.sum())
    # of an arm, the share who were not known, and half of them
    for arm, q in enumerate((doubt.q_control, doubt.q_treated)):
        assert q == pytest.approx((others & (found.t == arm)).sum() / (found.t == arm).sum() / 2, abs=0.06)


def test_where_all_of_an_arm_were_known_nobody_of_it_can_refuse():
    x, t, y, _, rng = world(20)
    y[(t == 0) & (rng.uniform(size=800) < 0.4)] = np.nan
    found = Survey(x, t, y, np.ones(800), t == 0, known_outcome=t == 1)
    doubt = nonresponse_sensitivity(found, average_effect(found))
    assert doubt.q_treated == 0 and doubt.q_control == pytest.approx(found.refused[t == 0].mean(), abs=0.02)


@part_and_whole("n", 8, 120)
def test_known_outcomes_leave_no_bias_and_the_error_counts_the_model_of_those_asked(n):
    found = [average_effect(partly_known(seed)) for seed in range(n)]
    off = np.array([one.value for one in found]) - 1 - 2 * np.sqrt(2 / np.pi)
    assert abs(off.mean()) < 3 * off.std(ddof=1) / np.sqrt(n) + 0.02
    ratio = np.mean([one.error for one in found]) / off.std(ddof=1)
    assert abs(ratio - 1) < 4 / np.sqrt(2 * n)


def test_bounds_are_the_worst_that_refusals_could_be():
    found = survey(12, size=300)
    estimate = average_effect(found)
    told = found.y[np.isfinite(found.y)]
    doubt = nonresponse_sensitivity(found, estimate)
    assert doubt.range == (told.min(), told.max()) and doubt.asked == 300 and doubt.refused == found.refused.sum()
    assert doubt.low < estimate.low and doubt.high > estimate.high
    assert doubt.effect_shift(-2, 1) == pytest.approx(-2 * doubt.q_treated - doubt.q_control)
    wide = nonresponse_sensitivity(found, estimate, (told.min() - 5, told.max() + 5))
    assert wide.low < doubt.low and wide.high > doubt.high
    # no answers that refusals might have given, within the range, lead out of the bounds
    rng = np.random.default_rng(0)
    for high in (0, 1, 2):
        given = rng.choice([told.min(), told.max()], 800) if high == 2 else np.full(800, [told.min(), told.max()][high])
        other = average_effect(replace(found, y=np.where(found.refused, given, found.y)))
        assert doubt.low <= other.low and other.high <= doubt.high


def test_the_tipping_point_takes_the_interval_to_nothing():
    found = survey(13, size=400)
    estimate = average_effect(found)
    doubt = nonresponse_sensitivity(found, estimate)
    assert estimate.low > 0 and estimate.low + doubt.effect_shift(
        -doubt.tipping_point, doubt.tipping_point
    ) == pytest.approx(0, abs=1e-12)
    none = replace(estimate, low=-0.1)
    assert nonresponse_sensitivity(found, none).tipping_point == 0
    below = replace(estimate, low=-2.0, high=-0.5)
    tipped = nonresponse_sensitivity(found, below)
    assert below.high + tipped.effect_shift(tipped.tipping_point, -tipped.tipping_point) == pytest.approx(0, abs=1e-12)


OTHER = np.arange(800) < 20


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"inclusion_probability": np.zeros(800)}, "inclusion_probability"),
        ({"inclusion_probability": np.full(800, 1e-320)}, "inclusion_probability"),
        ({"asked": np.ones(3, bool)}, "asked"),
        ({"known_outcome": np.ones(3, bool)}, "known_outcome"),
        ({"known_outcome": OTHER, "y": np.where(OTHER, np.nan, 0.0)}, "known_outcome"),
        ({"known_outcome": OTHER, "y": np.zeros(800), "inclusion_probability": np.full(800, 0.5)}, "known_outcome"),
        ({"propensity": np.ones(800)}, "propensity"),
        ({"propensity": np.full(800, 1e-320)}, "propensity"),
        ({"clusters": np.arange(5)}, "clusters"),
        ({"clusters": np.arange(800), "strata": np.arange(800) % 2}, "clusters"),
        ({"clusters": np.arange(800) % 4}, "arm 0 .*4 clusters"),
        ({"y": np.full(800, np.nan)}, "arm 0 .*0 answers"),
        ({"clusters": np.arange(800) % 4, "names": ["no", "yes"]}, "arm no "),
        ({"y": np.ones(800)}, "all 1"),
        ({"t": np.zeros(800, int)}, "arm 1 .*0 answers"),
    ],
)
def test_what_cannot_be_estimated_is_said(unchecked, change, named):
    with pytest.raises(ValueError, match=named):
        average_effect(replace(survey(15), **change))


def test_what_cannot_be_told_is_said():
    found = survey(11)
    for call in (
        lambda: average_effect(found, "treted"),
        lambda: nonresponse_sensitivity(found, average_effect(found), (1, 1)),
    ):
        with pytest.raises(ValueError, match="treted|smallest and the largest"):
            call()
    for bounds in ((0.0, 1e9), (-1e9, 0.1)):
        with pytest.raises(ValueError, match="bounds"):
            nonresponse_sensitivity(found, average_effect(found), bounds)
    rare = np.where(OTHER, "rare", "other")
    with pytest.raises(ValueError, match="800"):
        group_effects(found, rare[:5])
    assert "answers" in group_effects(found, rare)["rare"]
    known = partly_known(1)
    silent = replace(known, y=np.where(known.known_outcome, known.y, np.nan))
    with pytest.raises(ValueError, match="no one"):
        average_effect(silent)
    one = np.flatnonzero(known.asked)[0]  # whose fold has nobody else to learn from who answered
    average_effect(replace(silent, y=np.where(np.arange(1000) == one, 0.0, silent.y)))
    found = clustered(2)
    everybody = replace(
        found, y=np.where(np.isfinite(found.y), found.y, 0.0), inclusion_probability=np.ones(len(found.t))
    )
    groups = np.repeat(["a", "b"], [36, 684])
    told = group_effects(replace(everybody, clusters=np.maximum(found.clusters, 2)), groups)
    assert "two clusters" in told["a"] and isinstance(told["b"], Estimate)


def test_another_regressor_has_no_terms_of_its_own():
    found = survey(16)
    assert average_effect(replace(found, regressor=Ridge())).value == pytest.approx(average_effect(found).value)


def clustered(seed, drawn=25, size=12):
    """A survey of whole clusters, whose people share a part of the outcome, the effect and the first covariate."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(60), size)
    x = rng.normal(size=(60, 3))[cluster] / 2 + rng.normal(size=(60 * size, 3))
    t = (rng.uniform(size=len(x)) < expit(x[:, 0] / 2)).astype(int)
    y = x[:, 1] + rng.normal(size=60)[cluster] + t * (1 + rng.normal(size=60)[cluster]) + rng.normal(size=len(x))
    asked = np.isin(cluster, rng.choice(60, drawn, replace=False))
    told = asked & (rng.uniform(size=len(x)) < expit(2 + x[:, 1]))
    chances = np.full(len(x), drawn / 60)
    return Survey(x, t, np.where(told, y, np.nan), chances, asked, seed=seed, clusters=cluster)


def test_whoever_is_a_cluster_by_herself_changes_nothing():
    found = survey(12)
    alone = replace(found, clusters=np.arange(800))
    ours, plain = average_effect(alone), average_effect(found)
    assert (ours.value, ours.error, ours.low) == pytest.approx((plain.value, plain.error, plain.low))
    assert alone.answers() == found.answers() == np.isfinite(found.y).sum()


@pytest.mark.parametrize("target", TARGETS)
def test_the_variance_is_that_of_the_sums_over_clusters(target):
    found = clustered(0)
    one = average_effect(found, target)
    terms, at_once = _both(found, target, 1)
    n, mean = len(found.t), terms.b.mean()
    phi = (terms.num - one.value * terms.b) / mean + sum(_estimated(found, at_once, np.ones(n) / mean, one.value))
    totals = np.array([phi[found.clusters == c].sum() for c in range(60)])
    guard = _guard(found, terms, np.ones(n, bool))
    assert one.error == pytest.approx(np.hypot(np.sqrt(60 * totals.var(ddof=1)) / n, guard))
    clusters = len(np.unique(found.clusters[np.isfinite(found.y)]))
    assert found.answers() == clusters == 25
    assert one.high - one.value == pytest.approx(student(24).ppf(0.975) * one.error)
    people = average_effect(replace(found, clusters=None), target)
    assert one.width > 1.15 * people.width  # what people of a cluster share counts once


def test_a_cluster_is_in_one_fold_and_clusters_that_were_asked_are_in_all_of_them():
    found = clustered(1)
    group, scored = found.t + 2 * found.asked, np.zeros(len(found.t), int)
    for rest, fold in folds(group, 0, found.clusters):
        scored[fold] += 1
        assert not set(found.clusters[rest]) & set(found.clusters[fold])
        assert len(np.unique(found.clusters[fold][found.asked[fold]])) == 5
        assert len(np.unique(found.clusters[fold])) == 12
    assert (scored == 1).all()


@part_and_whole("n", 30, 300)
def test_a_rare_arm_keeps_its_interval(n):
    held = 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        x, t = rng.normal(size=(4000, 4)), (rng.uniform(size=4000) < 0.01).astype(int)
        found = average_effect(Survey(x, t, x[:, 0] + t + 2 * rng.normal(size=4000), np.ones(4000), seed=seed))
        held += found.low <= 1 <= found.high
    assert held >= binom.ppf(1e-4, n, 0.93)


def test_people_whose_chances_do_not_stand_for_everybody_are_told():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2))
    split, fair = (x[:, 0] > 0).astype(int), rng.integers(0, 2, 2000)
    y = 5.0 * (x[:, 0] > 0) + rng.normal(size=2000)
    assert set(Survey(x, split, y, np.ones(2000)).uncalibrated_arms(1)) == {0, 1}
    assert sum(Survey(x, split, y, np.ones(2000)).clipped) > 500
    even = Survey(x, fair, y, np.ones(2000))
    assert not even.uncalibrated_arms(1) and even.clipped == [0, 0]


def test_the_propensity_is_that_of_the_people_whom_units_stand_for():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(600, 2)), np.arange(600) % 2
    for treated, control in ((3.0, 1.0), (1.0, 3.0)):
        e = crossfit_propensity(x, t, 0, np.where(t == 1, treated, control))
        assert abs(e.mean() - treated / (treated + control)) < 0.02
    assert abs(crossfit_propensity(x, t, 0).mean() - 0.5) < 0.02


@pytest.mark.parametrize("kind", ["square", "product"])
def test_a_curve_that_both_models_miss_is_seen(kind):
    """Where only the outcome or nothing is curved the interval holds, and nothing is said."""
    seen = {"both": 0, "outcome": 0, "neither": 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(1500, 4))
        bend = x[:, 0] ** 2 - 1 if kind == "square" else x[:, 0] * x[:, 1]
        for case in seen:
            t = (rng.uniform(size=1500) < expit(1.5 * bend if case == "both" else 0.7 * x[:, 0])).astype(int)
            y = x[:, 1] + t + 1.5 * bend * (case != "neither") + rng.normal(size=1500)
            p = inclusion_probabilities(ate_size_measure(crossfit_propensity(x, t), t), 300, 0.2)
            asked = np.isin(np.arange(1500), draw_sample(p, rng))
            seen[case] += bool(Survey(x, t, np.where(asked, y, np.nan), p).curved(1))
    assert seen["both"] >= 11 and seen["outcome"] <= 2 and seen["neither"] == 0


def test_noise_does_not_pass_for_confounding_in_a_trial():
    widths = {None: [], 1.0: [], "known": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, t = rng.normal(size=(600, 40)), rng.integers(0, 2, 600)
        y = np.where(np.arange(600) < 200, x[:, 0] + t + rng.normal(size=600), np.nan)
        for strength, found in widths.items():
            e = np.full(600, 0.5) if strength == "known" else crossfit_propensity(x, t, seed, strength=strength)
            found.append(average_effect(Survey(x, t, y, np.full(600, 1 / 3), propensity=e)).width)
        e, penalty = fitted_propensity(x, t, seed)
        assert penalty >= 100 and unpredicted(e, t)
    own, fixed, known = (np.mean(found) for found in widths.values())
    assert own < 1.03 * known < fixed


def test_a_cause_of_treatment_keeps_its_penalty_light():
    for seed in range(4):
        x, t, _, e, _ = world(seed)
        found, penalty = fitted_propensity(x, t, seed)
        assert penalty <= 10 and not unpredicted(found, t)
        assert np.corrcoef(found[:, 1], e)[0, 1] > 0.95
