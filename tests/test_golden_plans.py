"""Plans of random pools and tables are as they were recorded, over all paths, but where gains are equal."""

import golden_plans
import numpy as np
from cases import part_and_whole
from golden_plans import EQUAL, TIE

ENTRIES = golden_plans.recorded()
KINDS = list(golden_plans.KINDS)


def test_every_plan_is_as_it_was_recorded(unchecked):
    said = [golden_plans.verdict(entry) for entry in ENTRIES]
    assert not [one for one in said if one not in (EQUAL, TIE)]


def free_purchases(judge, free, heads):
    """What could be bought in the place of a unit, or of a pair of two arms."""
    if len(heads) == 1:
        return [[unit] for unit in free]
    one, zero = ([unit for unit in free if judge.t[unit] == judge.t[head]] for head in heads)
    return [[a, b] for a in one for b in zero]


@part_and_whole("step", 5, 1)
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
