"""Plans of random pools and tables are as they were recorded, over all paths, but where gains are equal."""

from collections import Counter
from dataclasses import replace

import golden_plans
import numpy as np
import pytest
from cases import each, part_and_whole
from golden_gains import Judge
from golden_plans import EQUAL, TIE, Found, compare

import macal

ENTRIES = golden_plans.recorded()
KINDS = list(golden_plans.KINDS)


def test_every_plan_is_as_it_was_recorded(unchecked):
    said = [golden_plans.verdict(entry) for entry in ENTRIES]
    assert not [one for one in said if one not in (EQUAL, TIE)]


def test_all_paths_are_recorded():
    kinds = Counter(entry["kind"] for entry in ENTRIES)
    assert len(ENTRIES) > 90 and min(kinds[kind] for kind in KINDS) > 10
    for kind in KINDS:
        of_kind = [entry for entry in ENTRIES if entry["kind"] == kind]
        planned = {entry["criterion"] for entry in of_kind if isinstance(entry["plans"][0], dict)}
        assert planned == {entry["criterion"] for entry in ENTRIES} <= set(macal.names())
    plans = [plan for entry in ENTRIES for plan in entry["plans"]]
    again = [entry for entry in ENTRIES if len(entry["plans"]) > 1 and entry["settings"].get("answered")]
    assert len(again) > 30 and {"ValueError", "Conflict of 1", "Conflict of 2"} <= {
        p for p in plans if isinstance(p, str)
    }
    for column, least in (("gains", 50), ("reserves", 10), ("weights", 10)):
        assert sum(column in plan for plan in plans if isinstance(plan, dict)) > least


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


class TestComparison:
    """A pool on a line, symmetric about 0, whose units 4 and 5 are alike."""

    x, t = np.array([[-2.0], [-1.0], [1.0], [2.0], [0.0], [0.0]]), np.array([0, 0, 0, 0, 1, 1])

    def found(self, name, *picks, known=(), **more):
        judge, alike = Judge(name, {}, self.x, self.t), golden_plans.groups(self.x[:, 0], self.t)
        return Found([[pick] for pick in picks], judge, list(known), alike, **more)

    def compared(self, name, old, new, **more):
        return compare(self.found(name, *old, **more).recorded(), self.found(name, *new, **more))

    def test_equal_plans(self):
        assert self.compared("qhte", [0, 4, 3], [0, 4, 3]) == EQUAL

    @each("name", ["alc-fixed", "abc3"])
    def test_another_pick_of_equal_gain(self, name):
        assert self.compared(name, [1, 2, 0], [2, 1, 0]) == TIE
        assert self.compared(name, [4, 1], [5, 2]) == TIE  # rows that are alike need not have equal bits

    def test_another_pick_of_less_gain(self):
        assert "purchase [0, 0] is [0], worth Gain" in self.compared("alc-fixed", [1, 2], [0, 2])
        assert "purchase [1, 1] is [1]" in self.compared("qhte", [0, 3], [0, 1])

    def test_where_the_order_of_the_pool_decides(self):
        assert "purchase [0, 0]" in self.compared("qhte", [0, 3], [1, 3])  # both infinite
        assert "they are alike" in self.compared("macal", [0, 4], [0, 5], known=[4, 5])

    def test_gain_per_price_decides(self):
        price = np.array([1.0, 1, 2, 1, 1, 1])
        assert "worth" in self.compared("alc-fixed", [1, 0], [2, 0], price=price)

    def test_gains_that_are_not_stated_are_refused_with_what_to_do(self):
        with pytest.raises(LookupError, match=r"gains of 'mine'.*name it in GAINS, both in tests/golden_gains\.py"):
            self.found("mine", 0)

    def test_other_rounds_and_fewer_picks(self):
        plan, other = self.found("qhte", 0, 4), self.found("qhte", 0, 4)
        other.rounds = [[0, 4]]
        assert compare(plan.recorded(), other) == "other rounds: [1, 1] were recorded, and there are [2]"
        assert (
            compare(plan.recorded(), self.found("qhte", 0)) == "other rounds: [1, 1] were recorded, and there are [1]"
        )

    def test_drawn_people_and_those_who_must_be_asked(self):
        drawn = replace(self.found("qhte", 0, 4), judge=None)
        assert compare({"rounds": [[0], [5]]}, drawn) == "pick 1 is 4, recorded is 5"
        assert "pick 0 is 2" in self.compared("alc-fixed", [1], [2], given=1)

    def test_refusals(self):
        assert compare("Conflict of 2", "Conflict of 2") == EQUAL
        assert compare("ValueError", self.found("qhte", 0)) == "ValueError was recorded, and there is a plan"
        assert compare(self.found("qhte", 0).recorded(), None) == "a plan was recorded, and there is no plan"

    def test_reserves_and_weights(self):
        plan = self.found("qhte", 4, more={"reserves": [1]})
        for other, said in (
            (1, EQUAL),
            (2, TIE),
            (3, "the reserve of 4 is 3, recorded is 1"),
            (None, "the reserve of 4"),
        ):
            assert compare(plan.recorded(), self.found("qhte", 4, x=self.x, more={"reserves": [other]})).startswith(
                said
            )
        plan = self.found("qhte", 0, more={"weights": [3.0]})
        assert compare(plan.recorded(), self.found("qhte", 0, more={"weights": [3.0 + 1e-8]})) == EQUAL
        assert compare(plan.recorded(), self.found("qhte", 0, more={"weights": [3.1]})) == "other weights"


def test_another_pool_is_not_taken_for_another_plan():
    entry = ENTRIES[0] | {"made": "00000000"}
    assert golden_plans.verdict(entry).endswith("another pool")
