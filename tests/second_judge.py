"""A second judge of the claims about errors, given ``results/claims.json`` and the recorded tables alone.

``python tests/second_judge.py [FOLDER]`` prints its verdict on each beside the ledger's, on both scales, and fails
where they differ.
Nothing of this project is imported: a plain path of pandas and SciPy. Which tables are read as one, where the paper's
data sets start and end and the rules in words are those of the JSON file, whose digests are checked; tests and verdicts
are typed again. Whoever wrote this had read the first judge, so that it guards against errors of code, not against a
misreading that both share.
"""

import hashlib
import json
import sys
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

BALD, GENERAL = ["mu-bald", "rho-bald", "mu-rho-bald"], ["badge", "bait", "lcmd"]
NINE = ["random", "qhte", *BALD, *GENERAL]
VERSIONS = {"code version": ("code", "macal-squared"), "text version": ("due", "macal")}
LEARNERS = ["gp", "s", "t", "x"]
LIMIT = np.log(1.1)  # a lead of the margin
KEYS = ["E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "A1", "A2", "A3", "M1", "B1"]


class Judged(NamedTuple):
    """A verdict, the comparisons that it rests on, and what else its evidence must say."""

    word: str
    found: list[pd.DataFrame]
    said: list[str] = []


class Judge:
    """Verdicts from a JSON file and the tables in its folder."""

    def __init__(self, folder, mean="geometric"):
        """Take the folder of the recorded tables, and the mean of errors over sizes."""
        self.folder, self.tables, self.mean = Path(folder), {}, mean

    @cached_property
    def book(self):
        """The ledger as data."""
        return json.loads((self.folder / "claims.json").read_text(encoding="utf-8"))

    # ------------------------------------------------------------ tables

    @cached_property
    def until(self):
        """Labels up to which each data set decides; None for the whole campaign."""
        return {name: about["until"] for name, about in self.book["datasets"].items()}

    def read(self, name):
        """All files of a table as one, without the start and IHDP's end, or None."""
        if name not in self.tables:
            self.tables[name] = self._read(name)
        return self.tables[name]

    def _read(self, name):
        about = self.book["tables"].get(name)
        if about is None:
            return None
        parts = []
        for file, said in about["files"].items():
            path = self.folder / f"{file}.parquet"
            assert hashlib.sha256(path.read_bytes()).hexdigest() == said["sha256"], path
            parts.append(pd.read_parquet(path))
        table = pd.concat(parts).drop_duplicates(["method", "replication", "labelled"])
        about = self.book["datasets"].get(about["dataset"].split("-")[0])
        return table[~table.labelled.isin([about["start"], about["exhausted"]])] if about else table

    # ------------------------------------------------------------ comparisons

    def level(self, errors):
        """Log of the mean error over sizes, by replication."""
        by = (np.log(errors) if self.mean == "geometric" else errors).groupby("replication").mean()
        return by if self.mean == "geometric" else np.log(by)

    def against(self, name, method, others, until=None, after=0, family=0):
        """One method against others, replication by replication, at the sizes that both have."""
        table = self.read(name)
        if table is None:
            return None
        table = table[table.labelled.between(after + 1, until or np.inf)]
        wide = table.set_index(["replication", "labelled", "method"]).pehe.unstack()
        gaps = {}
        for other in others:
            if method in wide and other in wide:
                both = self.level(wide[[method, other]].dropna())
                if len(both) >= 3:
                    gaps[other] = both[method] - both[other]
        return compared(gaps, family or len(others)) if gaps else None

    def common(self, name, methods, until=None):
        """PEHE where all methods have a training; None below three replications."""
        table = self.read(name)
        if table is None or not set(methods) <= set(table.method):
            return None
        table = table if until is None else table[table.labelled <= until]
        table = table[table.method.isin(methods)].set_index(["replication", "labelled", "method"])
        wide = table.pehe.unstack().dropna()
        return wide if wide.index.get_level_values(0).nunique() >= 3 else None

    def shared(self, model, methods, early=True):
        """Data set and :meth:`common` of each data set where all of these methods are recorded."""
        for dataset, until in self.until.items():
            errors = self.common(f"{dataset}_{model}", methods, until if early else None)
            if errors is not None:
                yield dataset, errors

    # ------------------------------------------------------------ verdicts

    def verdict(self, key, version):
        """Judge a claim in a version."""
        model, method = VERSIONS[version]
        if key in ("E1", "E2", "E3"):
            return self._lowest({"E1": "ihdp", "E2": "ibm", "E3": "cmnist"}[key], model, method)
        names = {"E4": "consistent", "E5": "random", "E6": "causal", "E7": "winner", "E8": "qhte", "E9": "stability",
                 "A1": "alpha", "A2": "benefit", "A3": "single", "M1": "transfer", "B1": "balance"}  # fmt: skip
        return getattr(self, f"_{names[key]}")(model, method)

    def _lowest(self, dataset, model, method):
        """Ahead of every baseline; on IHDP up to 160 labels, and then about as good as each."""
        found = self.against(f"{dataset}_{model}", method, NINE, self.until[dataset])
        word, shown = lowest(found, len(NINE)), [found]
        if dataset == "ihdp":
            late = self.against(f"{dataset}_{model}", method, NINE, after=160)
            shown.append(late)
            word = several([word, tied(late)])
        return Judged(word, [frame for frame in shown if frame is not None])

    def _consistent(self, model, method):
        found = [self.against(f"{dataset}_{model}", method, NINE, until) for dataset, until in self.until.items()]
        words = [lowest(one, len(NINE)) for one in found]
        word = min(words, key=["fails", "open", "holds in part", "holds"].index)
        return Judged(word, [], [", ".join(f"{name} {said}" for name, said in zip(self.until, words, strict=True))])

    def _random(self, model, method):
        """Random within 10 % of general active learning."""
        shown, words = [], []
        for dataset, until in self.until.items():
            found = self.against(f"{dataset}_{model}", "random", GENERAL, until)
            if found is None:
                continue
            near = (found.low > -LIMIT) & (found.high < LIMIT)
            far = found.word.isin(["ahead", "behind"]) & ~near
            word = "holds" if near.all() else "fails" if far.all() else "holds in part"
            word = word if (near | far).all() or near.any() and far.any() else "open"
            if len(found) < 3:
                word = "open" if len(found) < 2 else "holds in part" if word == "holds" else word
            words.append(word)
            shown.append(found)
        return Judged(several(words, 3), shown)

    def _causal(self, model, method):
        """Mean log PEHE of MACAL and BALD below that of BADGE, BAIT and LCMD."""
        shown, needed = [], [method, *BALD, *GENERAL]
        for _, errors in self.shared(model, needed):
            logs = self.level(errors)
            gap = logs[[method, *BALD]].mean(axis=1) - logs[GENERAL].mean(axis=1)
            shown.append(compared({"general": gap}, 1))
        return Judged(several([sign(found) for found in shown], 3), shown)

    def _place(self, errors, method):
        """First and last place that a method may have among these."""
        logs = self.level(errors)
        gaps = {m: logs[method] - logs[m] for m in logs if m != method}
        words = compared(gaps, len(gaps)).word
        return 1 + (words == "behind").sum(), 1 + (words != "ahead").sum()

    def _winner(self, model, method):
        """Each causal baseline without a lead on a general one, on some data set."""
        lost, won = {m: [] for m in NINE[1:5]}, dict.fromkeys(NINE[1:5], 0)
        for dataset, until in self.until.items():
            for m in lost:
                found = self.against(f"{dataset}_{model}", m, GENERAL, until, family=12)
                if found is not None:
                    names = found.index[found.word.isin(["behind", "no lead"])]
                    lost[m] += [f"{', '.join(names)} on {dataset}"] if len(names) else []
                    won[m] += list(found.word) == ["ahead"] * 3
        word = "holds" if all(lost.values()) else "fails" if 3 in won.values() else "open"
        return Judged(word, [], [f"{m}: without a lead on {', '.join(own) or 'none'}" for m, own in lost.items()])

    def _qhte(self, model, method):
        """QHTE surely among the last three of nine on most data sets."""
        places, said = [], []
        for dataset, errors in self.shared(model, [method, *NINE]):
            places.append(self._place(errors[[method, *NINE]], "qhte"))
            said.append("place {} to {} of 9 on {}".format(*places[-1], dataset))
        if not places:
            return Judged("open", [])
        first, last = np.array(places).T
        if (first > 6).mean() > 0.5:
            return Judged("holds", [], said)
        if (last <= 4).all():
            return Judged("fails", [], said)
        low = (first > 4).any() and (last > 6).mean() <= 0.5
        return Judged("holds in part" if low else "open", [], said)

    def _stability(self, model, method):
        """MACAL's curve smoother than those of BALD's two ratios."""
        shown, ratios = [], ["rho-bald", "mu-rho-bald"]
        for _, errors in self.shared(model, [method, *ratios]):
            rough = {}
            for r, rows in (np.log(errors) if self.mean == "geometric" else errors).groupby("replication"):
                y = rows.sort_index().to_numpy()
                rough[r] = np.log(np.abs(y[1:-1] - (y[:-2] + y[2:]) / 2).mean(axis=0))
            rough = pd.DataFrame(rough, index=errors.columns).T.dropna()
            if len(rough) >= 3:
                gaps = {m: rough[method] - rough[m] for m in ratios}
                shown.append(compared(gaps, 2))
        return Judged(several([ahead_of_all(found) for found in shown], 3), shown)

    def _alpha(self, model, method):
        """Lead of the weights 5 and 10 over 0 and 1, in the last stretch less in the first."""
        weights = [f"{method}-0", f"{method}-1", method, f"{method}-5", f"{method}-10"]
        shown = []
        for dataset, errors in self.shared(model, weights, early=False):
            size = errors.index.get_level_values("labelled")
            first, second, _ = self.book["datasets"][dataset]["stretches"]
            last = max(end for end in (first, second) if (size > end).any())
            leads = []
            for part in (size <= first, size > last):
                logs = self.level(errors[part])[weights]
                leads.append(logs.iloc[:, :2].mean(axis=1) - logs.iloc[:, 3:].mean(axis=1))
            gap = (leads[1] - leads[0]).dropna()
            if len(gap) >= 3:
                shown.append(compared({"shift": gap}, 1))
        return Judged(several([sign(found) for found in shown], 3), shown)

    def _benefit(self, model, method):
        """Some weight ahead of weight 0."""
        weights, words, shown = [f"{method}-1", method, f"{method}-5", f"{method}-10"], [], []
        for _, errors in self.shared(model, [f"{method}-0", *weights], early=False):
            logs = self.level(errors)
            found = compared({m: logs[m] - logs[f"{method}-0"] for m in weights}, 4)
            have = set(found.word)
            words.append("open" if "open" in have else "fails")
            if "ahead" in have:
                words[-1] = "holds in part" if "behind" in have else "holds"
            shown.append(found.set_axis(["1.0", "2.5", "5.0", "10.0"]))
        return Judged(several(words, 3), shown)

    def _single(self, model, method):
        """Each weight without a lead on another one in some stretch."""
        weights, words, said = [f"{method}-0", f"{method}-1", method, f"{method}-5", f"{method}-10"], [], []
        for dataset, errors in self.shared(model, weights, early=False):
            size, begin, found = errors.index.get_level_values("labelled"), 0, {m: set() for m in weights}
            parts = []
            for end in self.book["datasets"][dataset]["stretches"]:
                parts.append(errors[(size > begin) & (size <= end)])
                begin = end
            parts = [part for part in parts if len(part)]
            for logs in map(self.level, parts):
                for m in weights:
                    gaps = {o: logs[m] - logs[o] for o in weights if o != m}
                    found[m] |= set(compared(gaps, 10 * len(parts)).word)
            lost = [m for m in weights if found[m] & {"behind", "no lead"}]
            won = [m for m in weights if found[m] == {"ahead"}]
            words.append("holds" if len(lost) == len(weights) else "fails" if won else "open")
            said.append(f"{dataset} {words[-1]}")
        return Judged(several(words, 3), [], said)

    def _transfer(self, model, method):
        """Ahead of Random under every other estimator."""
        shown = []
        for name in (f"{dataset}_{other}" for other in LEARNERS for dataset in self.until):
            found = self.against(name, method, NINE, self.until[name.split("_")[0]])
            if found is not None and "random" in found.index:
                shown.append(found.loc[["random"]])
        return Judged(several([lowest(found, 1) for found in shown]), shown)

    def _balance(self, model, method):
        """Ahead of Random and of balanced random labels."""
        shown = []
        for name in (
            f"{d}_{other}" for other in ([model, *LEARNERS] if model == "due" else [model]) for d in self.until
        ):
            until = self.until[name.split("_")[0]]
            found = [self.against(name, method, family, until) for family in (NINE, ["random-balanced"])]
            if found[0] is not None:
                shown.append(pd.concat([found[0].loc[found[0].index == "random"], found[1]]))
        return Judged(several([lowest(found, 2) for found in shown]), shown)


def compared(gaps, family):
    """Mean, interval and word of each comparison: t, Holm, Bonferroni."""
    rows = {}
    for other, values in gaps.items():
        n, half = len(values), stats.t.ppf(1 - 0.05 / family / 2, len(values) - 1)
        error = values.std(ddof=1) / np.sqrt(n)
        p = 2 * stats.t.sf(abs(values.mean()) / error, n - 1)
        rows[other] = [n, values.mean(), values.mean() - half * error, values.mean() + half * error, p]
    found = pd.DataFrame(rows, index=["n", "mean", "low", "high", "p"]).T
    p = found.p.sort_values()  # Holm: the k-th smallest times those left, never below an earlier one
    found["p"] = (p * (family - np.arange(len(p)))).cummax().clip(upper=1)
    clear, better, close = found.p < 0.05, found["mean"] < 0, found.low > -LIMIT
    found["low"] = np.where(clear & ~better, np.maximum(found.low, 0), found.low)  # they end where Holm has decided
    found["high"] = np.where(clear & better, np.minimum(found.high, 0), found.high)
    found["word"] = np.where(clear, np.where(better, "ahead", "behind"), np.where(close, "no lead", "open"))
    return found


def lowest(found, family):
    """The verdict on 'ahead of all of a family'."""
    words = set(found.word) if found is not None else set()
    if not words:
        return "open"
    if "behind" in words:
        return "fails"
    if len(found) <= family / 2 and len(found) < family:
        return "open"
    if words >= {"ahead", "no lead"}:
        return "holds in part"
    if "open" in words:
        return "open"
    if words == {"no lead"}:
        return "fails"
    return "holds" if len(found) == family else "holds in part"


def tied(found):
    """The verdict on a tie with all eight."""
    if found is None:
        return "open"
    if found.word.isin(["ahead", "behind"]).any():
        return "fails"
    if not ((found.low > -LIMIT) & (found.high < LIMIT)).all():
        return "open"
    return "holds" if len(found) == len(NINE) else "holds in part"


def sign(found):
    """The verdict on a single comparison."""
    return {"ahead": "holds", "open": "open"}.get(found.word.iloc[0], "fails")


def ahead_of_all(found):
    """The verdict on 'ahead of all of these', all of which were run."""
    words = set(found.word)
    if words == {"ahead"}:
        return "holds"
    if words <= {"no lead", "behind"}:
        return "fails"
    return "holds in part" if "ahead" in words and words & {"no lead", "behind"} else "open"


def several(words, cases=0):
    """The verdict on several cases; where fewer are judged than the claim is about, it holds in part at best."""
    judged, words = list(words), set(words)
    if len(words) == 1:
        return "holds in part" if words == {"holds"} and len(judged) < cases else judged[0]
    return "holds in part" if words & {"holds", "holds in part"} and words & {"fails", "holds in part"} else "open"


def main(folder):
    """Print both verdicts on each claim; return how many differ."""
    judges, differ = {mean: Judge(folder, mean) for mean in ("geometric", "arithmetic")}, 0
    ledger = {claim["key"]: claim["versions"] for claim in judges["geometric"].book["claims"]}
    for key in KEYS:
        for version in ledger[key]:
            for mean, judge in judges.items():
                word, said = judge.verdict(key, version["version"]).word, version
                if mean == "arithmetic":
                    said = version["arithmetic"]
                differ += word != said["verdict"]
                print(f"{key}, {version['version']}, {mean} means: {word}; the ledger: {said['verdict']}")
    print(f"{differ} verdicts differ")
    return differ


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "results"), 1))
