"""Plans of random pools and tables are as they were recorded, over all paths, but where gains are equal."""

import golden_plans
import numpy as np
from cases import part_and_whole
from golden_gains import Judge
from golden_plans import EQUAL, TIE, Found, compare

ENTRIES = golden_plans.recorded()


def test_every_plan_is_as_it_was_recorded(unchecked):
    said = [golden_plans.verdict(entry) for entry in ENTRIES]
    assert not [one for one in said if one not in (EQUAL, TIE)]


def test_all_paths_are_recorded():
    criteria = {(entry["kind"], entry["criterion"]) for entry in ENTRIES if isinstance(entry["plans"][0], dict)}
    assert criteria == {(kind, name) for kind in golden_plans.KINDS for _, name in criteria} and len(ENTRIES) > 90
    plans = [plan for entry in ENTRIES for plan in entry["plans"]]
    assert {"ValueError", "Conflict of 1", "Conflict of 2"} <= {plan for plan in plans if isinstance(plan, str)}
    assert all(
        sum(column in plan for plan in plans if isinstance(plan, dict)) > 10 for column in ("reserves", "weights")
    )


def free_purchases(judge, free, heads):
    """What could be bought in the place of a unit, or of a pair of two arms."""
    if len(heads) == 1:
        return [[unit] for unit in free]
    one, zero = ([unit for unit in free if judge.t[unit] == judge.t[head]] for head in heads)
    return [[a, b] for a in one for b in zero]


@part_and_whole("step", 10, 1)
def test_recorded_purchases_are_the_best_by_plain_statements(unchecked, step):
    checked = 0
    small = [entry for entry in ENTRIES if entry["kind"] != "planner" and entry["settings"]["pool"]["n"] <= 45]
    for entry in small[::step]:
        for found in golden_plans.plans(entry):
            if isinstance(found, str) or found.judge is None or found.judge.whole:
                continue
            for place, heads in found.heads().items():
                done = found.known + found.picks[:place]
                free = np.setdiff1d(np.arange(len(found.judge.t)), done)
                gains = [found.gain(place, other) for other in free_purchases(found.judge, free, heads)]
                best, ours = max(gains, key=lambda gain: (gain.tier, gain.value)), found.gain(place, heads)
                assert ours == best or ours.is_close(best), (entry["kind"], entry["seed"], place)
                checked += 1
    assert checked > 100 / step


def test_less_gain_is_told_and_equal_gain_is_a_tie():
    """A pool on a line, symmetric about 0, whose units 4 and 5 are alike."""
    x, t = np.array([[-2.0], [-1.0], [1.0], [2.0], [0.0], [0.0]]), np.array([0, 0, 0, 0, 1, 1])

    def compared(name, old, new):
        alike = golden_plans.groups(x[:, 0], t)
        plans = [Found([[pick] for pick in picks], Judge(name, {}, x, t), [], alike) for picks in (old, new)]
        return compare(plans[0].recorded(), plans[1])

    assert compared("alc-fixed", [1, 2, 0], [1, 2, 0]) == EQUAL
    assert compared("alc-fixed", [1, 2, 0], [2, 1, 0]) == TIE
    assert compared("alc-fixed", [1, 2], [0, 2]) not in (EQUAL, TIE)
    assert compared("qhte", [0, 3], [1, 3]) not in (EQUAL, TIE)  # both infinite: the order of the pool decides
