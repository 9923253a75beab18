"""Random campaigns, step by step, against what an independent book of them says: who, what answer, what money."""

import json
import multiprocessing
import os
import re
import signal
import threading
import time
from argparse import Namespace
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import part_and_whole
from tqdm import tqdm

from macal.__main__ import main
from macal.survey import Planner, command, record

RULES = ["qhte", "macal", "random-balanced", "alc-fixed", "random"]
ARMS = ["none", "call", "letter", "visit"]
STEPS = ["observe"] * 5 + ["replan"] * 3 + ["correct", "correct", "load", "wrong", "wrong", "estimate", "estimate"]
STEPS += ["early", "early", "late", "late", "recount", "second", "filed", "filed", "filed"]


def table_of(rng):
    """People of a random table, and what is demanded of a plan of them."""
    n = int(rng.integers(14, 60))
    names = [f"p{k}" for k in range(n)], [f"{k:03d}" for k in range(n)], [int(7 * k + 1) for k in rng.permutation(n)]
    people = pd.DataFrame(
        {
            "who": names[rng.integers(3)],
            "free": rng.permutation(np.arange(n) % 2),
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(10, 1, n).round(2),
            "region": rng.choice(["north", "south", "west"], n),
            "fee": rng.integers(1, 9, n).astype(float),
            "chance": rng.uniform(0.3, 1, n).round(3),
            "home": rng.integers(0, n // 2, n),
            "no": rng.random(n) < 0.1,
        }
    )
    said = {"identifier": "who", "covariates": ["age", "income", "region"], "budget": float(rng.integers(15, 90))}
    said |= {"criterion": RULES[rng.integers(5)], "seed": int(rng.integers(9)), "batch_size": int(rng.integers(2, 8))}
    some = {"cost": "fee", "response": "chance" if rng.random() < 0.7 else 0.6, "pay": "answered", "exclude": "no"}
    some |= {"cluster": "home", "quotas": quotas_of(rng)}
    said |= {name: value for name, value in some.items() if rng.random() < 0.4}
    if "cluster" in said and rng.random() < 0.5:
        said["cluster_rule"] = "one"
    if rng.random() < 0.3:
        arms = ARMS[: rng.integers(3, 5)]
        people["free"], said["reference"] = rng.permutation(np.resize(arms, n)), "none"
    if rng.random() < 0.3:
        said["draw"] = ["effect", "criterion"][rng.integers(2)]
        if rng.random() < 0.5:
            said.pop("criterion")
        if rng.random() < 0.5:
            said.pop("cluster", None), said.pop("cluster_rule", None)
        elif "cluster" in said and rng.random() < 0.8:  # else they are refused with quotas
            said.pop("quotas", None)
    if rng.random() < 0.3:
        said["sample"] = int(rng.integers(n // 3, n))
    return people, said


def quotas_of(rng):
    """Some quotas: of one region or of each, of ages at least or at most."""
    north, each, west = rng.integers(1, 4), rng.integers(1, 3), rng.integers(1, 5)
    every = [f"region=north>={north}", f"region>={each}", f"region=west<={west}"]
    return [quota for quota in every if rng.random() < 0.5] or every[:1]


def outcome_of(rng):
    """An answer; a few are a code that stands for none, which is a number like others."""
    return -99.0 if rng.random() < 0.05 else round(float(rng.normal()), 3)


class Book:
    """What an independent book says of a campaign: it asks the plan for names and rounds alone."""

    def __init__(self, people, said):
        self.people, self.said = people.set_index("who"), said
        self.told, self.asked, self.drawn, self.paid = {}, 0, None, set()

    def cost(self, name):
        return float(self.people.fee[name]) if "cost" in self.said else 1.0

    def chance(self, name):
        given = self.said.get("response", 1.0)
        return float(self.people.chance[name]) if given == "chance" else float(given)

    def told_of(self, plan, new, through=None):
        """Take answers: each round after those asked counts, up to the first of which nobody answers anew."""
        rounds = {int(plan["round"][name]) for name in new if name in plan.index and name not in self.told}
        while through is None and self.asked + 1 in rounds:
            self.asked += 1
        self.asked, self.told = max(self.asked, through or 0), self.told | new

    def called(self, plan):
        """Reserves who are being asked: somebody refused in a round that was asked."""
        pairs = plan["reserve"][plan["round"] <= self.asked].dropna().items() if "reserve" in plan else ()
        return {other for name, other in pairs if self.told.get(name, 0) is None and other not in self.told}

    def spent(self, plan):
        names = {*plan.index[plan["round"] <= self.asked], *self.told}
        free = {name for name, y in self.told.items() if y is None} if self.said.get("pay") == "answered" else set()
        return sum(self.cost(name) for name in sorted(names - (free - self.paid), key=str))

    def never_asked(self, name):
        """A draw asks her in the next round."""
        self.told.pop(name, None)
        self.paid.discard(name)
        if self.drawn is not None and name in self.drawn.index and self.drawn["round"][name] <= self.asked:
            self.drawn.loc[name, "round"] = self.asked + 1
            self.drawn = self.drawn.sort_values("round", kind="stable")

    def check(self, planner):
        """No answer lost, nobody twice, money the sum over people."""
        plan = planner.planned
        assert dict(planner.answers) == self.told and planner.asked == self.asked
        assert plan.index.is_unique and set(plan.index) <= set(self.people.index)
        assert plan["cost"].tolist() == [self.cost(name) for name in plan.index]
        assert planner.spent() == pytest.approx(self.spent(plan))
        later = plan.index[plan["round"] > self.asked]
        to_come = sum(self.cost(name) for name in later if name not in self.told)
        assert planner.rounds()["cost"].sum() == pytest.approx(self.spent(plan) + to_come)
        if "reserve" in plan:
            reserves = plan["reserve"].dropna().tolist()
            assert len(set(reserves)) == len(reserves) and not set(reserves) & set(plan.index)
        if "draw" in self.said:
            self.check_drawn(plan)
        if "exclude" in self.said:
            assert not self.people.no[plan.index].any()
        return later

    def check_drawn(self, plan):
        """Whoever was drawn keeps a round, her weight, reserve and its weight."""
        mine = plan.drop(columns="response", errors="ignore")
        if self.drawn is None:
            self.drawn = mine
            assert plan["weight"].ge(1 - 1e-9).all() and np.isfinite(plan["weight"]).all()
            if "reserve" in plan:
                assert plan["reserve_weight"].ge(1 - 1e-9).eq(plan["reserve"].notna()).all()
        pd.testing.assert_frame_equal(mine, self.drawn, check_dtype=False)

    def check_new(self, planner, called=frozenset()):
        """After a plan: whoever was asked or has answered is not asked again, money is kept to, quotas are right."""
        is_old = self.drawn is not None
        plan, later = planner.planned, self.check(planner)
        assert called == self.called(plan)
        if is_old:  # a draw is not made anew
            return
        before = {*plan.index[plan["round"] <= self.asked], *self.told}
        assert not set(later) & (before | called)
        if "reserve" in plan:
            assert not set(plan["reserve"][later].dropna()) & (before | called)
        assert self.spent(plan) + sum(map(self.cost, later)) <= max(self.said["budget"], self.spent(plan)) + 1e-6
        weigh = self.weight if self.drawn is None else self.mean_chances(planner)
        labels = {name: weigh(name) for name in [*before, *later] if self.told.get(name, 0.0) is not None}
        for quota in self.said.get("quotas", ()):
            which, sign, number = re.split("(>=|<=)", quota)
            for value in [which.partition("=")[2]] if "=" in which else ["north", "south", "west"]:
                mine = [weight for name, weight in labels.items() if self.people.region[name] == value]
                assert sum(mine) >= int(number) - 1e-6 if sign == ">=" else len(mine) <= int(number), quota
        self.check_clusters(planner, later, before)

    def weight(self, name):
        return 1.0 if self.told.get(name) is not None else self.chance(name)

    def mean_chances(self, planner):
        """What each person of a draw counts: the mean chance to answer of all who may be drawn with her."""
        there = [name for name in planner.people.table.index if not ("exclude" in self.said and self.people.no[name])]
        chances = pd.Series({name: self.chance(name) for name in there})
        means = chances.groupby(self.people.region[there]).mean()
        return lambda name: means[self.people.region[name]]

    def check_clusters(self, planner, later, before):
        if "cluster" not in self.said:
            return
        homes = Counter(self.people.home[name] for name in later)
        if self.said.get("cluster_rule") == "one":
            answered = {self.people.home[n] for n in before if self.told.get(n, 0.0) is not None}
            assert all(count == 1 for count in homes.values()) and not set(homes) & answered
        else:
            open_ = Counter(self.people.home[n] for n in self.people.index if n not in before)
            assert all(count == open_[home] for home, count in homes.items())


class Campaign:
    """A campaign that takes random steps; it is saved after each, and its file is compared after those that fail."""

    def __init__(self, seed, folder):
        self.rng = np.random.default_rng(seed)
        people, self.said = table_of(self.rng)
        self.table, self.book, self.path = people, Book(people, self.said), folder / f"{seed}.json"
        self.link = folder / f"{seed}.link"
        self.link.symlink_to(self.path.name)
        self.planner, self.steps = Planner("free", **self.said), Counter()
        self.is_passed = "sample" in self.said and self.rng.random() < 0.5

    def run(self):
        try:
            self.planner.plan(self.passed() if self.is_passed else self.table)
        except ValueError as error:
            self.steps[type(error).__name__] += 1
            assert self.planner.campaign.plan is None
            return self.steps
        kind = {"draw": "draw" in self.said, "arms": "reference" in self.said, "sample": "sample" in self.said}
        self.steps += Counter({name: 1 for name, there in kind.items() if there})
        self.saved()
        self.book.check_new(self.planner)
        for _ in range(int(self.rng.integers(3, 12))):
            name = STEPS[self.rng.integers(len(STEPS))]
            before, content = self.path.read_bytes(), record.content_of(self.planner.campaign)
            called = self.book.called(self.planner.planned)
            try:
                done = getattr(self, name)()
            except ValueError as error:
                self.steps[f"{name}: {type(error).__name__}"] += 1
                assert record.content_of(self.planner.campaign) == content and self.path.read_bytes() == before
                self.book.check(self.planner)
                continue
            self.steps[name] += 1
            self.saved()
            if done == "new":
                self.book.check_new(self.planner, called if name == "replan" else set())
            else:
                self.book.check(self.planner)
        assert self.link.is_symlink() and not self.path.is_symlink()
        again = Planner.load(self.path, None if self.is_passed else self.table)
        assert record.packed(record.content_of(again.campaign)) == self.path.read_bytes()
        return self.steps

    def passed(self):
        """The sample that one pass over the table's file draws."""
        path = self.path.with_suffix(".csv")
        self.people_in(path)
        return self.planner.sample(path, workers=1)

    def saved(self):
        self.planner.save(self.path if self.rng.random() < 0.5 else self.link)

    def one(self, names):
        names = sorted(names, key=str)
        return names[self.rng.integers(len(names))]

    def observe(self):
        plan, rng, new = self.planner.planned, self.rng, {}
        now = plan.index[(plan["round"] <= self.book.asked + 1) & ~plan.index.isin(list(self.book.told))]
        for name in rng.permutation(now.to_numpy(object)).tolist():
            if rng.random() < 0.6:
                new[name] = None if rng.random() > self.book.chance(name) else outcome_of(rng)
        if "reserve" in plan:
            for name in plan["reserve"][plan.index.isin([n for n, y in new.items() if y is None])].dropna():
                if rng.random() < 0.7 and name not in self.book.told:
                    new[name] = outcome_of(rng)
        through = None if rng.random() < 0.7 else int(rng.integers(0, self.book.asked + 2))
        self.planner.observe(new if rng.random() < 0.5 else pd.Series(new, dtype=float), through)
        self.book.told_of(plan, new, through)

    def early(self):
        """People of later rounds, and reserves of anybody, answer before they are asked."""
        plan, rng = self.planner.planned, self.rng
        ahead = [*plan.index[plan["round"] > self.book.asked], *plan.get("reserve", pd.Series()).dropna()]
        some = [name for name in ahead if name not in self.book.told and rng.random() < 0.2]
        self.answer({name: None if rng.random() < 0.3 else outcome_of(rng) for name in some})

    def late(self):
        """Reserves answer who were called before, with all answers so far once more."""
        rng, called = self.rng, sorted(self.book.called(self.planner.planned), key=str)
        new = {name: None if rng.random() < 0.3 else outcome_of(rng) for name in called}
        self.answer({**self.book.told, **new} if rng.random() < 0.5 else new)

    def filed(self):
        """The command line takes a file as spreadsheets leave it: of the plan or the whole table, with all so far."""
        plan, rng, told = self.planner.planned, self.rng, dict(self.book.told)
        now = plan.index[(plan["round"] <= self.book.asked + 1) & ~plan.index.isin(list(told))]
        new = {name: outcome_of(rng) for name in now if rng.random() < 0.6}
        people = self.table.set_index("who").assign(y=pd.Series({**told, **new}, dtype=float))
        lines = people if rng.random() < 0.5 else people[people.index.isin([*plan.index, *told])]
        lines = lines.sample(frac=1, random_state=int(rng.integers(9)))
        lines = lines.reset_index()[rng.permutation(["who", "y", *["free", "income"] * bool(rng.integers(2))])]
        lines = pd.concat([lines, lines.sample(int(rng.integers(3)), random_state=1)])  # lines that are there twice
        table, path = self.path.with_suffix(".csv"), self.path.with_suffix(".answers.csv")
        semicolons = {"sep": ";", "decimal": ","} if rng.random() < 0.5 else {"sep": ","}
        text = lines.to_csv(index=False, **semicolons)
        head, sep = text[: text.index("\n") + 1], semicolons["sep"]
        text += head * (rng.random() < 0.3) + f"{sep * (len(lines.columns) - 1)}\n" * int(rng.integers(3))
        if is_wrong := rng.random() < 0.2:
            text += sep.join({"who": "Total", "y": "30"}.get(c, "") for c in lines) + "\n"
        path.write_text(text)
        self.people_in(table)
        code = main(["observe", str(self.path if rng.random() < 0.5 else self.link), str(table), str(path)])
        assert code == is_wrong, text
        if is_wrong:
            raise ValueError("a footer")
        self.load()
        self.book.told_of(plan, new)
        self.book.told |= {n: None for n in plan.index[plan["round"] <= self.book.asked] if n not in self.book.told}

    def people_in(self, path):
        self.table.sample(frac=1, random_state=int(self.rng.integers(100))).to_csv(path, index=False)

    def answer(self, new):
        if not new:
            raise ValueError("nobody answers")
        self.planner.observe(new)
        self.book.told_of(self.planner.planned, new)

    def recount(self):
        rounds = int(self.rng.integers(0, self.planner.planned["round"].max() + 1))
        self.planner.recount(rounds, "ann")
        self.book.asked = rounds

    def second(self):
        """Somebody else plans into the same file: refused if it holds answers; else whoever had read it is refused."""
        other = Planner("free", **self.said)
        other.plan(self.table if not self.is_passed else self.passed())
        path = self.path if self.rng.random() < 0.5 else self.link
        options = Namespace(output=None, report=None, campaign=path, replace=True, discard_answers=False)
        record.saved(other.campaign, path, may=partial(command._may_be_written, options))
        assert not self.book.told
        with pytest.raises(record.Stale):
            self.saved()
        self.load()
        self.book = Book(self.table, self.said)
        return "new"

    def wrong(self):
        """Answers that cannot be taken: of nobody who is asked, no number, another one than before, of later rounds."""
        plan, told = self.planner.planned, {n: y for n, y in self.book.told.items() if y is not None}
        others = {*self.book.people.index} - {*plan.index, *plan.get("reserve", pd.Series()).dropna(), *self.book.told}
        first, answers, through = plan.index[0], {}, None
        case = self.rng.integers(5)
        if case == 0 and others:
            answers = {first: self.book.told.get(first, 1.0), self.one(others): 1.0}
        elif case == 1 and told:
            name = self.one(told)
            answers = {name: told[name] + 1}
        elif case == 2:
            answers, through = {first: self.book.told.get(first, 1.0)}, int(plan["round"].max()) + 1
            with pytest.raises(ValueError):
                self.planner.recount(through, "ann")
        elif case == 3:
            self.planner.correct("nobody", "withdrawn", "a")
        else:
            answers = {first: np.inf}
        if not answers:
            raise ValueError("nothing is wrong here")
        self.planner.observe(answers, through)
        raise AssertionError(f"taken: {answers}, {through}")

    def correct(self):
        plan, rng = self.planner.planned, self.rng
        name = self.one({*plan.index[plan["round"] <= self.book.asked], *self.book.told} or {plan.index[0]})
        change = ["outcome", "withdrawn", "never asked"][rng.integers(3)]
        journal = len(self.planner.campaign.journal)
        self.planner.correct(name, change, "ann", 0.5 if change == "outcome" else None)
        assert len(self.planner.campaign.journal) == journal + 1
        if change == "never asked":
            self.book.never_asked(name)
        else:
            self.book.paid |= {name} if self.book.told.get(name) is not None else set()
            self.book.told[name] = 0.5 if change == "outcome" else None

    def replan(self):
        rng, given = self.rng, {}
        if rng.random() < 0.3:
            given["budget"] = float(np.round(self.said["budget"] * rng.uniform(0.8, 1.4), 1))
        if rng.random() < 0.3:
            given["quotas"] = quotas_of(rng) if rng.random() < 0.7 else []
        self.planner.replan(**given)
        self.said |= given
        return "new"

    def load(self):
        self.table = self.table.sample(frac=1, random_state=int(self.rng.integers(100)))
        self.planner = Planner.load(self.path, None if self.is_passed else self.table)

    def estimate(self):
        """Everybody has a finite effect; an interval that is missing, people's or of the weights, has its reason."""
        arms, is_drawn = self.planner.people.arms, "draw" in self.said
        found = self.planner.estimate("exact-gp", arm=arms[self.rng.integers(1, len(arms))])
        assert len(found.people) == len(self.planner.people) and np.isfinite(found.people["effect"]).all()
        assert found.no_interval_reason or np.isfinite(found.people.to_numpy()).all()
        assert found.design_based.facts or found.design_based.estimate or not is_drawn


@part_and_whole("seeds", range(16), range(40))
def test_random_campaigns_keep_their_books(tmp_path, unchecked, seeds):
    steps = Counter()
    for seed in seeds:
        try:
            steps += Campaign(seed, tmp_path).run()
        except Exception as error:
            raise AssertionError(f"campaign of seed {seed}") from error
    assert min(steps[name] for name in {*STEPS, "draw", "arms", "sample"} - {"wrong"}) > len(seeds) / 20, steps
    assert steps["wrong: ValueError"] > len(seeds) / 6, steps


def written(words):
    """A process that runs one command of the line, and can be killed."""

    def work():
        tqdm.set_lock(threading.RLock())  # by default one that a killed process leaves to the others
        os.close(2)
        os.open(os.devnull, os.O_WRONLY)
        os._exit(main(words))

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    return process


def one_of_two(*plans):
    """Two plans for one new file at once: one of them is made, the other is refused, and leaves nothing."""
    processes = [written(words) for words in plans]
    for process in processes:
        process.join()
    assert sorted(process.exitcode for process in processes) == [0, 1]
    (made,), (left,) = ([w for w, p in zip(plans, processes, strict=True) if p.exitcode == k] for k in (0, 1))
    content = record.read(Path(made[made.index("--campaign") + 1]))
    there = pd.read_csv(made[-1], dtype={"who": str})
    assert there["who"].tolist() == list(map(str, content["plan"]["unit"])) and not os.path.exists(left[-1])


def contested(seed, folder):
    """A campaign with writers, one of whom may be killed: what was acknowledged is there, what was not is whole.

    One comes through a link, and one would replace the campaign: not any more once it holds answers.
    """
    rng = np.random.default_rng(seed)
    people, demands = table_of(rng)
    names = ("people.csv", ".json", "link", "plan.csv", "other.csv", "a.csv", "b.csv", "next.csv")
    files = {name: folder / f"{seed}{name}" for name in names}
    people.to_csv(files["people.csv"], index=False)
    files["link"].symlink_to(files[".json"].name)
    read, campaign, link = (str(files[name]) for name in ("people.csv", ".json", "link"))
    said = ["--treatment", "free", "--id", "who", "--budget", "12", "--batch-size", "4", "--criterion", "qhte"]
    first = ["plan", read, *said, *["--reference", "none"] * ("reference" in demands), "--campaign"]
    one_of_two([*first, campaign, "-o", str(files["plan.csv"])], [*first, link, "-o", str(files["other.csv"])])
    again = [*first, link, "--replace", "-o", str(files["plan.csv"])]
    told, killed = {}, 0
    for _ in range(3):
        planner = Planner.load(campaign, pd.read_csv(read, dtype={"who": str}))
        planner.observe({}, min(planner.asked + 1, int(planner.planned["round"].max())))
        planner.save(campaign)
        waiting = rng.permutation([n for n in planner.campaign.fielded.index if n not in planner.answers])
        parts = np.array_split(waiting, 2)
        for name, part in zip("ab", parts, strict=True):
            files[f"{name}.csv"].write_text("who,y\n" + "".join(f"{who},{k}\n" for k, who in enumerate(part)))
        observe = {
            name: ["observe", path, read, str(files[f"{name}.csv"])]
            for name, path, part in zip("ab", (campaign, link), parts, strict=True)
            if len(part)
        }
        jobs = [*observe.values(), ["replan", campaign, read, "-o", str(files["next.csv"]), "--replace"], again]
        while jobs:
            processes = [(words, written(words)) for words in jobs]
            if rng.random() < 0.7:
                time.sleep(rng.uniform(0, 0.15))
                os.kill(processes[rng.integers(len(processes))][1].pid, signal.SIGKILL)
            for _, process in processes:
                process.join()
            jobs = [words for words, process in processes if process.exitcode == -signal.SIGKILL]
            killed += len(jobs)
            ended = [(words[0], process.exitcode) for words, process in processes]
            assert all(code in (0, -signal.SIGKILL) for word, code in ended if word == "observe")
            assert ("plan", 0) not in ended or not told
            there = dict(map(tuple, record.read(files[".json"])["answers"]))
            for (_, part), words in zip(zip("ab", parts, strict=True), observe.values(), strict=False):
                found = {who for who in map(str, part) if who in map(str, there)}
                assert found in (set(), set(map(str, part))) and (found or words in jobs or not len(part))
        told |= {str(who): float(k) for part in parts for k, who in enumerate(part)}
        assert {str(name): y for name, y in record.read(files[".json"])["answers"]} == told
    content = json.loads(files[".json"].read_text())["content"]
    assert files["link"].is_symlink() and not files[".json"].is_symlink()
    assert content["revision"] >= 7 and len(set(content["plan"]["unit"])) == len(content["plan"]["unit"])
    return killed


@part_and_whole("seeds", range(1), range(4))
def test_no_answer_is_lost_between_two_writers_one_of_whom_is_killed(tmp_path, unchecked, capfd, seeds):
    killed = sum(contested(seed, tmp_path) for seed in seeds)
    assert killed >= len(seeds) / 2
    Planner.load(tmp_path / "0.json", pd.read_csv(tmp_path / "0people.csv", dtype={"who": str})).save(
        tmp_path / "0.json"
    )
    assert not list(tmp_path.glob(".*.tmp"))  # drafts of the killed are cleared by whoever writes next
