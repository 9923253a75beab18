"""Golden plans: of random pools and tables, over all paths to a plan, and when another plan is as good.

``python tests/golden_plans.py`` says how many plans are as they were recorded, ``--record`` records them anew. Rounding
may decide between two purchases of equal gain: the first pick that is another one must be worth as much as the recorded
one, and what comes after it is another plan's. Of units that are alike, or of infinite gain, the pool's order decides.
"""

import argparse
import gzip
import json
import sys
import warnings
import zlib
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from golden_gains import GAINS, Gain, Judge
from threadpoolctl import threadpool_limits

import macal
from macal.survey import Conflict, Doubt

FILE = Path(__file__).parent / "golden" / "plans.json.gz"
EQUAL, TIE = "equal", "tie"
COVARIATES = ["age", "income", "region"]
LIKE = "qhte"  # whose cases a new criterion takes over


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
    """A plan, of places in the pool.

    Known are labels from before; past are those at its beginning who were asked before, given all that no gain chose.
    Units share a cluster that are bought together, -1 alone, and are alike that differ in nothing. Reserves are found
    by the covariates x. More is a list of values of all units asked, by the name of a column; where people are drawn
    there is no judge, and no price where all cost the same.
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
        return {"rounds": self.rounds} | self.more


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
    options = {"batch_size": 10, "criterion": case["criterion"]} | given["options"]
    options["parameters"] = given["parameters"]
    if draw == "criterion":  # those drawn depend on the plan that the criterion makes
        undrawn = {name: value for name, value in options.items() if name not in ("draw", "uniform")}
        plan = macal.Planner(**undrawn).plan(_as_given(people))
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


def cases():
    """Those of the file; a criterion that needs no model and has none takes over those of another one."""
    entries = [{k: entry[k] for k in ("kind", "seed", "criterion", "settings")} for entry in recorded()]
    free = [name for name, entry in macal.acquisition.CRITERIA.items() if not entry.factory.needs]
    new, model = set(free) - {case["criterion"] for case in entries}, [c for c in entries if c["criterion"] == LIKE]
    without = [case | {"settings": case["settings"] | {"parameters": {}}} for case in model]
    return [case for case in entries if case["criterion"] in free] + [
        case | {"criterion": name} for name in sorted(new) for case in without
    ]


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
        return EQUAL if old == found else f"{str(old)[:60]} was recorded, and there is {str(found)[:60]}"
    if old["rounds"] == found.rounds:
        return _compare_more(old, found)
    then = replace(found, rounds=old["rounds"])
    place = next((k for k, (a, b) in enumerate(zip(then.picks, found.picks, strict=False)) if a != b), None)
    if place is None or _numbers(then)[:place] != _numbers(found)[:place]:
        return f"rounds of {[*map(len, then.rounds)]} were recorded, and there are {[*map(len, found.rounds)]}"
    said = f"pick {place} is {found.picks[place]}, recorded is {then.picks[place]}"
    return said if found.judge is None or place < found.given else _compare_purchases(then, found, place, said)


def _numbers(plan):
    return [k for k, batch in enumerate(plan.rounds) for _ in batch]


def _compare_purchases(then, found, place, said):
    begins = [max(k for k in plan.heads() if k <= place) for plan in (then, found)]
    heads = [plan.heads()[k] for plan, k in zip((then, found), begins, strict=True)]
    worths = [plan.worth(k, units) for plan, k, units in zip((then, found), begins, heads, strict=True)]
    if begins[0] != begins[1] or not worths[0].is_close(worths[1]):
        return f"{said}, of {worths[1]} and {worths[0]}"
    is_exact = found.judge.exact and len({tuple(found.alike[units]) for units in heads}) == 1
    return f"{said}; they are alike, and the first should be taken" if is_exact else TIE


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
    torch.set_num_threads(1)
    with threadpool_limits(1, "blas"):
        if parser.parse_args().record:
            FILE.write_bytes(packed([entry_of(case) for case in cases()]))
        said = [verdict(entry) for entry in recorded()]
    others = [one for one in said if one not in (EQUAL, TIE)]
    print(*others, f"{said.count(EQUAL)} equal, {said.count(TIE)} ties, {len(others)} others", sep="\n")
    return int(bool(others))


if __name__ == "__main__":
    warnings.simplefilter("ignore", Doubt)
    sys.exit(main())
