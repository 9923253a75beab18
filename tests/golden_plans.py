"""Golden plans: of random pools and tables, over all paths to a plan, and when another plan is as good.

``python tests/golden_plans.py`` says how many plans are as they were recorded, ``--record`` records them anew. An entry
is a case (the kind of path, the seed of the pool, the criterion, the settings) and what came of it: the rounds of each
plan as places in the pool, the gain of each purchase, reserves, weights, or the error that refused it.

Rounding may decide between two purchases of equal gain, and decides otherwise on another processor, or in another order
of additions. So the first pick that is another one must be worth as much as the recorded one; what comes after it is
another plan's. Where units are alike in everything, or gains are infinite, there is nothing to round, and the order of
the pool decides.
"""

import argparse
import gzip
import json
import sys
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from golden_gains import GAINS, Gain, Judge
from threadpoolctl import threadpool_limits

import macal
from macal.planner import Conflict

FILE = Path(__file__).parent / "golden" / "plans.json.gz"
EQUAL, TIE = "equal", "tie"
COVARIATES = ["age", "income", "region"]
PARAMETERS = {  # values beside the default, of whatever criterion has such a parameter
    "alpha": (0.0, 0.5, 1.0),
    "metric": ("sqeuclidean",),
    "share": (0.2, 0.7),
    "temperature": (0.5,),
    "lengthscale": (0.5, 2.0),
    "noise": (0.01, 0.5),
    "targets": (5, 40),
    "radii": ([0.2, 0.2, 0.3, 0.25],),
    "rho": (0.0, 0.9),
    "alphas": ([0.0, 1.0, 5.0],),
    "block": (2,),
}


# pools and tables; sums of uniform numbers in the place of normal ones, which need logarithms: the same on any machine


def covariates(rng, n, kind):
    d = int(rng.integers(1, 5))
    if kind == "integers":
        return rng.integers(0, 4, (n, d))
    if kind == "alike":
        return np.ones((n, d))
    x = rng.random((n, d)) + rng.random((n, d)) - 1
    if kind == "duplicates":
        return x[rng.integers(0, 1 + n // 2, n)]
    if kind == "mixed":
        x[:, ::2] = rng.integers(0, 3, x[:, ::2].shape)
    return x


def pool(seed, n, kind, arms):
    """Covariates and arms; treatment is likelier where the first covariate is high."""
    rng = np.random.default_rng(seed)
    x = covariates(rng, n, kind)
    high = x[:, 0] > np.sort(x[:, 0])[n // 2]
    t = np.where(rng.random(n) < 0.3 + 0.4 * high, rng.integers(1, max(arms, 2), n), 0)
    t[:arms] = np.arange(arms)
    return x, t * (arms > 1)


def table(seed, n, kind, arms):
    """People with a fee, a clinic, a chance to answer; on a coarse table many are alike, on a steep one few dear."""
    rng = np.random.default_rng(seed)
    if kind == "coarse":
        age, income, fee = 10 * rng.integers(2, 6, n), 1000.0 * rng.integers(1, 4, n), rng.integers(1, 6, n)
    else:
        age, income, fee = rng.integers(18, 80, n), 20_000 * (rng.random(n) + rng.random(n)), 5 * rng.integers(1, 6, n)
    if kind == "steep":
        far = np.append(rng.random(n - 1) < 0.02, True)  # and worth the most
        age, income = np.where(far, 20 * age, age), np.where(far, 50 * income, income)
        fee = np.where(far, np.array([175, 370, 590])[rng.integers(0, 3, n)], fee)
    arm = np.where(rng.random(n) < 0.3 + 0.4 * (age > 45), rng.integers(1, arms, n), 0)
    arm[:arms] = np.arange(arms)
    return pd.DataFrame(
        {
            "person": [f"p{k}" for k in range(n)],
            "age": age,
            "income": income,
            "region": np.array(["south", "west", "north"])[np.searchsorted([50, 85], rng.integers(0, 100, n), "right")],
            "sex": rng.integers(0, 2, n),
            "arm": arm,
            "treatment": np.array(["none", "call", "sms"])[arm],
            "fee": fee,
            "clinic": rng.integers(0, 1 + n // 3, n),
            "chance": rng.integers(40, 101, n) / 100,
            "no": rng.random(n) < 0.15,
            "yes": rng.random(n) < 2 / n,
            "visits": np.where((rng.random(n) < min(0.3, 8 / n)) & (fee < 100), 1.0, np.nan),
        }
    )


# plans


@dataclass
class Found:
    """A plan.

    Attributes:
        rounds: places of the units in the pool, round by round.
        judge: says what a purchase is worth; None where people are drawn.
        known: units that are labelled before.
        past: units at the beginning that were asked before; who of them has a label is among the known.
        given: units at the beginning that no gain has chosen, these included.
        price: of each unit; None where they cost the same.
        clusters: number of the cluster that each unit is bought with, -1 where alone.
        alike: number of the group of each unit whose members differ in nothing.
        x: covariates, (n, d), by which reserves are found.
        more: a list of values of all units asked, by the name of a column.
    """

    rounds: list
    judge: Judge | None
    known: list
    alike: np.ndarray
    past: int = 0
    given: int = 0
    price: np.ndarray | None = None
    clusters: np.ndarray | None = None
    x: np.ndarray | None = None
    more: dict = field(default_factory=dict)

    @property
    def picks(self):
        return [unit for batch in self.rounds for unit in batch]

    def heads(self):
        """Units that were bought for their gain, by the place of the first of them among the picks."""
        found, place = {}, 0
        for batch in self.rounds:
            k = 0
            while k < len(batch):
                if place + k < self.given:
                    k += 1
                    continue
                heads = found[place + k] = self._heads(batch, k)
                k += len(heads)
                while k < len(batch) and self._came_with(batch[k], heads):
                    k += 1
            place += len(batch)
        return found

    def _heads(self, batch, k):
        if self.judge.whole:
            return batch
        t, (one, *others) = self.judge.t, batch[k : k + 2]
        is_pair = self.judge.paired and others and t[one] > 0 == t[others[0]]
        return [one, *others] if is_pair and not self._came_with(others[0], [one]) else [one]

    def _came_with(self, unit, heads):
        return self.clusters is not None and self.clusters[unit] in set(self.clusters[heads].tolist()) - {-1}

    def gain(self, place, heads):
        return self.judge.gain(self.known + self.picks[self.past : place], heads)

    def worth(self, place, heads):
        gain = self.gain(place, heads)
        return gain if self.price is None else gain / float(self.price[heads].sum())

    def recorded(self):
        """The plan as it is kept in the file."""
        gains = [None] * len(self.picks)
        for place, heads in self.heads().items() if self.judge else ():
            gain = self.gain(place, heads)
            value = float(f"{gain.value:.12g}")
            gains[place] = [gain.tier, value] if self.judge.name == "fccm" else value
        return {"rounds": self.rounds} | ({"gains": gains} if self.judge else {}) | self.more


def judge_of(case, x, t):
    name = case["criterion"]
    return Judge(name, case["settings"]["parameters"], x, t) if name in GAINS else None


def groups(*columns):
    """Numbers of the groups that share the values of all columns."""
    rows = np.column_stack([np.asarray(column, object) for column in columns])
    numbers = {}
    return np.array([numbers.setdefault(tuple(row), len(numbers)) for row in rows])


def of_arrays(case):
    """``macal.plan`` of a pool, and the rest of it anew from its first rounds."""
    given = case["settings"]
    x, t = pool(case["seed"], **given["pool"])
    judge, alike = judge_of(case, x, t), groups(*x.T, t)

    def found(done, queries):
        batches = macal.plan(x, t, done, queries, given["batch_size"], case["criterion"], **given["parameters"])
        return Found([batch.tolist() for batch in batches], judge, done, alike)

    first, half = found(given["start"], given["n_queries"]), given["resumed"]
    yield first
    if 0 < half < len(first.rounds):
        yield found([*given["start"], *sum(first.rounds[:half], [])], given["n_queries"] - half)


def of_schedules(case):
    """``macal.schedule`` of a problem from a table."""
    given = case["settings"]
    people = table(case["seed"], **given["pool"]).set_index("person")
    problem = macal.datasets.from_table(people, **given["problem"])
    criterion = macal.get(case["criterion"], **given["parameters"])
    plan = macal.schedule(problem, criterion, **given["options"])
    names, pooled = problem.pool.index, problem.pool
    assert plan.treated.tolist() == pooled.t[names.get_indexer(plan.index)].tolist()
    rounds, alike = by_round(plan, names, first=0), groups(*pooled.x.T, pooled.t)
    yield Found(rounds, judge_of(case, pooled.x, pooled.t), [], alike, given=len(rounds[0]))


def by_round(plan, names, first=1):
    places = names.get_indexer(plan.index)
    assert (places >= 0).all()
    return [places[plan["round"] == number].tolist() for number in range(first, plan["round"].max() + 1)]


def of_planners(case):
    """``macal.Planner`` of a table, and its plan once some have answered and some refused."""
    given = case["settings"]
    people, draw = table(case["seed"], **given["pool"]), given["options"].get("draw")
    named = people.set_index("person").sort_index()
    people = people.drop(columns="person").rename(lambda k: k + 1) if given["numbered"] else named
    options = given["options"] | {"criterion": case["criterion"], "parameters": given["parameters"]}
    if draw == "criterion":  # those drawn depend on the plan that the criterion makes
        plan = macal.Planner(**options | {"draw": None}).plan(_as_given(people))
        yield _planned(case, people, plan)
    planner = macal.Planner(**options)
    plan = planner.plan(_as_given(people))
    yield _planned(case, people, plan, draw=draw)
    if not given["answered"]:
        return
    asked = 1 + int(plan["round"].max()) // 3
    answers = _answers(case["seed"], plan[plan["round"] <= asked], people.index)
    planner.observe(answers, asked)
    yield _planned(case, people, planner.replan(), answers, asked, draw)


def _as_given(people):
    return people.reset_index(drop=people.index.name is None)


def _answers(seed, plan, names):
    """Outcomes of some who were asked, None of others, nothing of the rest; and of those asked in their place."""
    fate, answers = np.random.default_rng([seed, 1]).random(len(names)), {}
    reserves = plan["reserve"] if "reserve" in plan else pd.Series(None, plan.index, dtype=object)
    for name, reserve in reserves.items():
        kind = fate[names.get_loc(name)]
        if kind < 0.85:
            answers[name] = float(kind) if kind < 0.6 else None
        if 0.6 <= kind < 0.8 and pd.notna(reserve):
            kind = fate[names.get_loc(reserve)]
            answers[reserve] = float(kind) if kind < 0.7 else None
    return answers


def _planned(case, people, plan, answers=(), asked=0, draw=None):
    """A planner's plan, with what its units were worth by the options and the answers."""
    options, names = case["settings"]["options"], people.index
    arm = options["treatment"]
    assert plan[arm].tolist() == people[arm][plan.index].tolist()
    past, refused = plan.index[plan["round"] <= asked], [name for name in answers if answers[name] is None]
    known = people[options["outcome"]].notna() if "outcome" in options else pd.Series(False, names)
    start = known.copy()
    known[[*past, *answers]] = True
    known[refused] = False
    out = known.copy()
    out[refused] = True
    first = people[options["include"]] & ~out if "include" in options else pd.Series(False, names)
    clusters, price = pd.Series(-1, names), _of_each(people, options.get("cost", 1.0))
    if "cluster" in options and options.get("cluster_rule", "whole") == "whole":
        clusters = people[options["cluster"]].mask(out, -1)
        shared = price.groupby(clusters).transform("mean")
        price = price.mask(clusters >= 0, shared)
        first |= (clusters >= 0) & clusters.isin(clusters[first])
    x, t = _prepared(people, options)
    used = [
        options[role] for role in ("treatment", "cost", "response", "cluster", "exclude", "include") if role in options
    ]
    found = Found(
        rounds=by_round(plan, names),
        judge=None if draw else judge_of(case, x, t),
        known=np.flatnonzero(known).tolist(),
        alike=groups(*(people[column] for column in [*COVARIATES, "sex", *used] if column in people), start),
        past=len(past),
        given=len(past) + int(first.sum()),
        price=(price / _of_each(people, options.get("response", 1.0))).to_numpy(),
        clusters=clusters.to_numpy(),
        x=x,
    )
    if "reserve" in plan:
        found.more["reserves"] = [names.get_loc(name) if pd.notna(name) else None for name in plan.reserve]
    if "weight" in plan:
        found.more["weights"] = [float(f"{weight:.9g}") for weight in plan.weight]
    return found


def _of_each(people, given):
    return people[given].astype(float) if isinstance(given, str) else pd.Series(float(given), people.index)


def _prepared(people, options):
    """Covariates and arms, as the planner compares people."""
    reference = options.get("reference")
    split = macal.datasets.from_table(people, COVARIATES, options["treatment"], reference=reference, start=[]).pool
    return split.x, split.t


KINDS = {"plan": of_arrays, "schedule": of_schedules, "planner": of_planners}


def plans(case):
    """All plans of a case, the last of which may be the name of the error that refused it."""
    found = []
    try:
        for plan in KINDS[case["kind"]](case):
            found.append(plan)
    except Conflict as conflict:
        found.append(f"Conflict of {len(conflict.names)}")
    except ValueError as error:
        found.append(type(error).__name__)
    return found


# cases


LABEL_FREE = [name for name, entry in macal.acquisition.CRITERIA.items() if not entry.factory.needs]


def one_of(rng, *values):
    return values[int(rng.integers(len(values)))]


def _parameters(rng, name, chance=0.5):
    known = macal.acquisition.CRITERIA[name].factory.__dataclass_fields__
    return {p: one_of(rng, *values) for p, values in PARAMETERS.items() if p in known and rng.random() < chance}


def _arms(rng, name):
    """Two arms, or more where the criterion allows it; now and then more than it allows, or one."""
    multi_arm = macal.acquisition.CRITERIA[name].factory.multi_arm
    if rng.random() < (0.4 if multi_arm else 0.06):
        return one_of(rng, 3, 4)
    return 1 if rng.random() < 0.03 else 2


def _array_case(rng, name, n):
    kind, arms = one_of(rng, "integers", "integers", "duplicates", "mixed", "plain", "plain", "alike"), _arms(rng, name)
    size = one_of(rng, 1, 2, 3, 5, 8, 10)
    some = int(rng.integers(1, 1 + n // 3))
    start = rng.permutation(n)[: one_of(rng, 0, some, some, min(n, arms))]
    queries = 1 + int(rng.integers(3, one_of(rng, 40, 120))) // size
    resumed = one_of(rng, 0, queries // 2, queries // 3)
    return {
        "pool": {"n": n, "kind": kind, "arms": arms},
        "start": start.tolist(),
        "n_queries": queries,
        "batch_size": size,
        "parameters": _parameters(rng, name),
        "resumed": resumed,
    }


def _schedule_case(rng, name, n):
    multi_arm = macal.acquisition.CRITERIA[name].factory.multi_arm
    arms = one_of(rng, 2, 3) if multi_arm else 2
    named = arms == 3 or rng.random() < 0.3
    problem = {"covariates": COVARIATES[: one_of(rng, 2, 3)], "treatment": "treatment" if named else "arm"}
    problem |= {"reference": "none"} if named else {}
    problem |= one_of(rng, {"outcome": "visits"}, {"start": []}, {"start": one_of(rng, 1, 4, 10)}, {})
    if "outcome" not in problem and rng.random() < 0.3:
        problem |= {"test_size": 0.2, "seed": int(rng.integers(9))}
    size = one_of(rng, 2, 5, 9, 10)
    return {
        "pool": {"n": n, "kind": one_of(rng, "coarse", "fine"), "arms": arms},
        "problem": problem,
        "options": {"n_queries": one_of(rng, 1, 3, 1 + 30 // size), "batch_size": size, "seed": int(rng.integers(9))},
        "parameters": _parameters(rng, name, 0.3),
    }


def _dear_case(rng, name, seed):
    """Somebody can be asked who is dear and worth the most, or others."""
    made = {"n": 24, "kind": "steep", "arms": 2}
    options = {"treatment": "arm", "budget": float(table(seed, **made).fee.max()) + one_of(rng, 0, 9), "cost": "fee"}
    options |= {"covariates": COVARIATES, "outcome": "visits"}
    return {"pool": made, "numbered": False, "options": options, "answered": True, "parameters": _parameters(rng, name)}


def _planner_case(rng, name, n):
    multi_arm = macal.acquisition.CRITERIA[name].factory.multi_arm
    arms, kind = 3 if multi_arm and rng.random() < 0.4 else 2, one_of(rng, "coarse", "fine")
    named = arms == 3 or rng.random() < 0.3
    cost, mean = one_of(rng, ("fee", 3.0), ("fee", 3.0), ("fee", 3.0), (7.0, 7.0), (1.0, 1.0))
    mean *= 5 if cost == "fee" and kind == "fine" else 1
    options = {"treatment": "treatment" if named else "arm", "budget": mean * one_of(rng, 4, 12, 25, 40, 80)}
    options |= {"covariates": COVARIATES, "cost": cost, "seed": int(rng.integers(9))}
    options |= {"reference": "none"} if named else {}
    options |= {"outcome": "visits"} if rng.random() < 0.3 else {}
    options |= one_of(rng, {"batch_size": 2}, {"batch_size": 5}, {"batch_size": 7}, {}, {"batch_size": None})
    if name in GAINS and not GAINS[name] and rng.random() < 0.7:  # worth is not known of single units
        options["cost"] = 1.0
    else:
        options |= _drawn(rng) if rng.random() < 0.2 else _demanded(rng, mean)
    return {
        "pool": {"n": n, "kind": kind, "arms": arms},
        "numbered": bool(rng.random() < 0.3),
        "options": options,
        "answered": bool(rng.random() < 0.8),
        "parameters": _parameters(rng, name, 0.2),
    }


def _clustered_case(rng, name, seed):
    """Whole clusters are drawn, or one person of each."""
    options = {"treatment": "arm", "covariates": COVARIATES, "budget": 1.0 * one_of(rng, 40, 80), "cluster": "clinic"}
    options |= {"draw": one_of(rng, "criterion", "effect"), "uniform": one_of(rng, 0.5, 0.2, 1.0)}
    options |= {"cluster_rule": one_of(rng, "whole", "whole", "one"), "batch_size": one_of(rng, 5, 20, None)}
    options |= {"cost": "fee", "budget": 5 * options["budget"]} if rng.random() < 0.5 else {}
    options |= {"exclude": "no"} if rng.random() < 0.3 else {}
    options |= {"response": "chance"} if rng.random() < 0.4 else {}
    made = {"n": one_of(rng, 150, 300), "kind": one_of(rng, "coarse", "fine"), "arms": 2}
    more = {"numbered": bool(rng.random() < 0.3), "answered": True, "parameters": _parameters(rng, name)}
    return {"pool": made, "options": options} | more


def _drawn(rng):
    options = {"draw": one_of(rng, "criterion", "effect"), "uniform": one_of(rng, 0.5, 0.2, 1.0)}
    options |= {"quotas": [one_of(rng, "region>=2", "sex=1>=40%")]} if rng.random() < 0.5 else {}
    options |= {"exclude": "no"} if rng.random() < 0.5 else {}
    return options | ({"cluster": "clinic"} if rng.random() < 0.1 else {})


def _demanded(rng, mean):
    every = ["region>=2", "region=south<=40%", "sex=1>=30%", "sex<=12", "region=north>=4", "sex=0>=3", "region<=60%"]
    some = rng.permutation(len(every))[: one_of(rng, 0, 0, 1, 2, 3)]
    options = {"quotas": [every[k] for k in some]} if len(some) else {}
    options |= {"batch_cost": round(mean * one_of(rng, 3, 6), 2)} if rng.random() < 0.25 else {}
    options |= (
        {"cluster": "clinic", "cluster_rule": one_of(rng, "whole", "whole", "one")} if rng.random() < 0.45 else {}
    )
    options |= {"exclude": "no"} if rng.random() < 0.3 else {}
    options |= {"include": "yes"} if rng.random() < 0.3 else {}
    options |= {"response": one_of(rng, "chance", "chance", 0.5)} if rng.random() < 0.4 else {}
    return options | ({"pay": "answered"} if rng.random() < 0.3 else {})


SIZES = {"plan": (6, 9, 20, 45, 100, 200, 400), "schedule": (12, 40, 120, 300), "planner": (24, 40, 80, 150, 300, 600)}
COUNTS = {"plan": 120, "schedule": 56, "planner": 136}
LARGE = {  # the largest has so many pairs that each treated unit is compared with some controls
    "plan": {23: 2000, 40: 2000, 48: 2000, 66: 2000, 81: 2000},
    "planner": {23: 2000, 54: 2000, 121: 4400},
}
CLUSTERED = range(124, 136)  # of planners
DEAR = {19, 20, 37, 47, 48, 65, 75, 76, 93}  # of planners
MAKE = {"plan": _array_case, "schedule": _schedule_case, "planner": _planner_case}


def cases():
    """All cases, every criterion that needs no model in its turn."""
    for number, (kind, count) in enumerate(COUNTS.items()):
        for k in range(count):
            rng, name, seed = np.random.default_rng([number, k]), LABEL_FREE[k % len(LABEL_FREE)], 1000 * number + k
            n = LARGE.get(kind, {}).get(k) or one_of(rng, *SIZES[kind])
            is_dear = kind == "planner" and k in DEAR
            settings = _dear_case(rng, name, seed) if is_dear else MAKE[kind](rng, name, n)
            if kind == "planner" and k in CLUSTERED:
                settings = _clustered_case(np.random.default_rng([number, k]), name, seed)
            yield {"kind": kind, "seed": seed, "criterion": name, "settings": settings}


# the file


def fingerprint(case):
    """Of a pool or table, so that other random numbers are not taken for another plan."""
    made = (pool if case["kind"] == "plan" else table)(case["seed"], **case["settings"]["pool"])
    content = b"".join(a.astype(float).tobytes() for a in made) if case["kind"] == "plan" else made.to_csv().encode()
    return f"{zlib.crc32(content):08x}"


def entry_of(case):
    found = [plan if isinstance(plan, str) else plan.recorded() for plan in plans(case)]
    return case | {"made": fingerprint(case), "plans": found}


def packed(entries):
    text = "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries)
    return gzip.compress(text.encode(), 9, mtime=0)


def recorded():
    return [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).decode().splitlines()]


# comparison


def compare(old, found):
    """``EQUAL``, ``TIE``, or in what a plan differs from the recorded one."""
    if not (isinstance(old, dict) and isinstance(found, Found)):
        said = ["a plan" if isinstance(plan, (dict, Found)) else plan or "no plan" for plan in (old, found)]
        return EQUAL if said[0] == said[1] else f"{said[0]} was recorded, and there is {said[1]}"
    if old["rounds"] == found.rounds:
        return _compare_more(old, found)
    then = Found(**vars(found) | {"rounds": old["rounds"]})
    place = next((k for k, (a, b) in enumerate(zip(then.picks, found.picks, strict=False)) if a != b), None)
    if place is None or _numbers(then)[:place] != _numbers(found)[:place]:
        return f"other rounds: {[*map(len, then.rounds)]} were recorded, and there are {[*map(len, found.rounds)]}"
    if found.judge is None or place < found.given:
        return f"pick {place} is {found.picks[place]}, recorded is {then.picks[place]}"
    return _compare_purchases(old, then, found, place)


def _numbers(plan):
    return [k for k, batch in enumerate(plan.rounds) for _ in batch]


def _compare_purchases(old, then, found, place):
    begins = [max(k for k in plan.heads() if k <= place) for plan in (then, found)]
    heads = [plan.heads()[k] for plan, k in zip((then, found), begins, strict=True)]
    worths = [plan.worth(k, units) for plan, k, units in zip((then, found), begins, heads, strict=True)]
    said = f"purchase {begins} is {heads[1]}, worth {worths[1]}, recorded is {heads[0]}, worth {worths[0]}"
    if begins[0] != begins[1] or not worths[0].is_close(worths[1]):
        return said
    if found.judge.exact and len({tuple(found.alike[units]) for units in heads}) == 1:
        return f"{said}; they are alike, and the first should be taken"
    kept, gain = np.ravel(old["gains"][begins[0]])[-1], then.gain(begins[0], heads[0])
    if not gain.is_close(Gain(gain.tier, kept, gain.size)):
        return f"{said}; its gain was {kept}, and is {gain}"
    return TIE


def _compare_more(old, found):
    kept, now = old.get("weights", []), found.more.get("weights", [])
    if len(kept) != len(now) or not np.allclose(kept, now, rtol=1e-6, atol=0):
        return "other weights"
    kept, now = old.get("reserves", []), found.more.get("reserves", [])
    return EQUAL if kept == now else _compare_reserves(kept, found, now)


def _compare_reserves(kept, found, now):
    pairs = zip(found.picks, kept, now, strict=False)
    unit, *two = next((three for three in pairs if three[1] != three[2]), (None, None, None))
    if None not in (unit, *two) and found.alike[two[0]] != found.alike[two[1]]:
        one, other = np.linalg.norm(found.x[two] - found.x[unit], axis=1).tolist()
        if Gain(0, one, one).is_close(Gain(0, other, other)):
            return TIE
    return f"the reserve of {unit} is {two[1]}, recorded is {two[0]}"


def verdict(entry):
    """``EQUAL``, ``TIE``, or what is other than recorded; once rounding has decided, what follows is not compared."""
    where = f"{entry['kind']} of seed {entry['seed']} by {entry['criterion']}"
    if fingerprint(entry) != entry["made"]:
        return f"{where}: another pool"
    found = plans(entry)
    for k, (old, new) in enumerate(zip_longest(entry["plans"], found)):
        said = compare(old, new)
        if said != EQUAL:
            return said if said == TIE else f"{where}, plan {k + 1}: {said}"
    return EQUAL


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="record the plans that are made now")
    record = parser.parse_args().record
    torch.set_num_threads(1)
    begun = time.process_time()
    with threadpool_limits(1, "blas"):
        if record:
            FILE.write_bytes(packed(map(entry_of, cases())))
        entries = recorded()
        if record:
            print(pd.crosstab(*(pd.Series([e[k] for e in entries], name=k) for k in ("criterion", "kind"))))
            print(Counter(plan for e in entries for plan in e["plans"] if isinstance(plan, str)))
            print(f"{len(entries)} entries, {FILE.stat().st_size:,} bytes, {time.process_time() - begun:.0f} s")
            return 0
        said = [verdict(entry) for entry in entries]
    ties = Counter((entry["kind"], entry["criterion"]) for entry, one in zip(entries, said, strict=True) if one == TIE)
    others = [one for one in said if one not in (EQUAL, TIE)]
    print(*others, *(f"{count} of {kind} by {name} ended in a tie" for (kind, name), count in ties.items()), sep="\n")
    print(f"{said.count(EQUAL)} equal, {said.count(TIE)} ties, {len(others)} others")
    print(f"{time.process_time() - begun:.0f} s")
    return int(bool(others))


if __name__ == "__main__":
    sys.exit(main())
