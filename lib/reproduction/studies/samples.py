"""What planning from a sample of a table costs: the plans that ``benchmarks/sample.py`` records, and its rules."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from macal.campaigns import results

PLANS = "sample_plans.csv"
MOST = 0.05  # of the lead over random labels, on average, that a default may lose
LEAST_LEAD = 0.02  # of what random labels leave: a smaller lead is none to lose shares of
APART = "48, as benchmarks/planner.py"  # measured for its price, and in no mean
_CELL = ["criterion", "labels", "covariates"]


def plans() -> pd.DataFrame:
    """The recorded plans: one row for each plan and number of labels."""
    return pd.read_csv(results.FOLDER / PLANS)


def variances(recorded: pd.DataFrame) -> pd.DataFrame:
    """Mean over replications of what labels leave, and of the seconds.

    Returns:
        ``variance``, ``random``, what random labels leave, ``seconds``, ``bound`` and ``replications``, by ``among``,
        criterion, labels, covariates and candidates.
    """
    by = recorded.groupby(["among", *_CELL, "candidates"])
    found = by[["variance", "seconds", "bound"]].mean().assign(replications=by.size())
    chance = found.loc["chance"].droplevel(["criterion", "candidates"])["variance"].rename("random")
    chance = chance.groupby(["labels", "covariates"]).mean()
    return found.drop("chance").join(chance, on=["labels", "covariates"])


def compared(recorded: pd.DataFrame, people: int = 200_000, sizes: Sequence[int] = (10_000, 50_000)) -> pd.DataFrame:
    """Variances that are left, with the seconds of their plans, as text.

    Returns:
        One column for all people, balls, each sample, and random labels, by labels, criterion and covariates; empty
        where nothing is recorded.
    """
    found = variances(recorded)
    told = found["variance"].map("{:.4f}".format) + found["seconds"].map(" ({:.0f} s)".format)
    columns = {f"all {people:,}": told["people"].xs(people, level="candidates"), "balls": told["balls"].droplevel(-1)}
    columns |= {f"sample of {size:,}": told["people"].xs(size, level="candidates") for size in sizes}
    whole = found.loc["people"].xs(people, level="candidates")
    columns["random labels"] = whole["random"].map("{:.4f}".format)
    table = pd.DataFrame(columns).loc[whole.index].reorder_levels(["labels", *_CELL[::2]])
    return table.loc[[labels in (200, 1000) for labels in table.index.get_level_values("labels")]].fillna("")


def losses(recorded: pd.DataFrame) -> pd.DataFrame:
    """What a sample loses of the lead of the largest population over random labels.

    Returns:
        ``loss``, and the ``lead`` as a share of what random labels leave, by criterion, labels, covariates and
        candidates; the largest population of each, in which nothing can be lost, is ``most`` people.
    """
    found = variances(recorded).loc["people"].reset_index("candidates")
    largest = found.sort_values("candidates").groupby(_CELL).tail(1)
    found = found.join(largest[["candidates", "variance"]].set_axis(["most", "best"], axis=1))
    lead = found["random"] - found["best"]
    found = found.assign(loss=(found["variance"] - found["best"]) / lead, lead=lead / found["random"])
    found = found[found["candidates"] < found["most"]].set_index("candidates", append=True)
    return found[["loss", "lead", "most", "seconds", "replications"]]


def mean_losses(found: pd.DataFrame) -> pd.DataFrame:
    """Mean loss over kinds of covariates, with its standard error, by criterion, labels and candidates.

    Args:
        found: as :func:`losses` returns it; kinds in which there is hardly a lead are left out, and ``APART`` is.
    """
    kept = (found["lead"] >= LEAST_LEAD) & (found.index.get_level_values("covariates") != APART)
    by = found[kept].groupby(["criterion", "labels", "candidates"])["loss"]
    return pd.DataFrame({"loss": by.mean(), "error": by.sem(), "kinds": by.size()})


def smallest(mean: pd.DataFrame, most: float = MOST) -> pd.Series:
    """The smallest size from which on the mean loss is at most ``most``, by criterion and labels; missing if none is.

    Args:
        mean: as :func:`mean_losses` returns it.
        most: share of the lead that may be lost.
    """

    def of(one: pd.Series) -> float:
        sizes, fits = one.index.get_level_values("candidates"), (one <= most).to_numpy()
        kept = fits[::-1].cumprod()[::-1].astype(bool)
        return float(sizes[kept][0]) if kept.any() else np.nan

    return mean["loss"].sort_index().groupby(["criterion", "labels"]).apply(of).rename("size")


def rule(sizes: pd.Series) -> tuple[int, int]:
    """A and B of max(A, B labels), of 1, 2, 5, 10, ...: A at least the smallest size, then B, so that none is above.

    Args:
        sizes: that are needed, by labels.

    Raises:
        ValueError: a size is missing.
    """
    if sizes.isna().any():
        raise ValueError(f"no recorded size will do for {sizes.index[sizes.isna()].tolist()} labels")
    steps = [k * 10**power for power in range(8) for k in (1, 2, 5)]
    a = next(step for step in steps if step >= sizes.min())
    return a, next(b for b in steps if (np.maximum(a, b * sizes.index.to_numpy()) >= sizes).all())


def ball_losses(recorded: pd.DataFrame, people: int, size: int, labels: int = 200) -> pd.DataFrame:
    """What balls and a sample lose of the lead of the plan among all people over random labels.

    Returns:
        ``balls`` and ``sample``, their losses, and ``time``, the sample's seconds over the balls', by criterion and
        covariates.
    """
    found = variances(recorded).xs(labels, level="labels")
    balls, every = found.loc["balls"].droplevel("candidates"), found.loc["people"]
    whole, sample = (every.xs(n, level="candidates").loc[balls.index] for n in (people, size))
    lead = whole["random"] - whole["variance"]
    lost = {"balls": balls, "sample": sample}
    lost = {name: (rows["variance"] - whole["variance"]) / lead for name, rows in lost.items()}
    return pd.DataFrame(lost | {"time": sample["seconds"] / balls["seconds"]})


def numbers(recorded: pd.DataFrame, default: int) -> dict[str, float | str]:
    """What a page says of the study, by name: sizes in people, losses and rises in per cent, times in seconds.

    Args:
        recorded: as :func:`plans` returns them.
        default: size of the sample that is taken unless a plan says otherwise.
    """
    found, by_kind = variances(recorded), losses(recorded)
    mean, of_rule = mean_losses(by_kind), {}
    sizes, strict = (smallest(mean, most) for most in (MOST, 0.01))
    at, balls = mean.xs(default, level="candidates"), 100 * ball_losses(recorded, 200_000, default)
    for criterion in ("alc-fixed", "macal"):
        short, own = criterion[:3], sizes[criterion]
        a, b = rule(own)
        of_rule |= {
            f"sample-{short}": round(100 * float(at["loss"][criterion].max()), 1),
            f"balls-{short}-low": round(float(balls["balls"][criterion].min()), 1),
            f"balls-{short}-high": round(float(balls["balls"][criterion].max()), 1),
            f"balls-{short}-sample": round(float(balls["sample"][criterion].max()), 1),
            f"size-{short}-a": a,
            f"size-{short}-b": b,
            f"size-{short}-low": int(own.min()),
            f"size-{short}-high": int(own.max()),
        }
    weak = by_kind[by_kind["lead"] < LEAST_LEAD].loc["macal"].groupby(["labels", "covariates"])["lead"].first()
    kinds = pd.Series([f'"{kind}" ({100 * lead:+.0f} %)' for (_, kind), lead in weak.items()], weak.index)
    left_out = kinds.groupby("labels").agg(" and ".join)
    partial = mean["kinds"] < mean.groupby(["criterion", "labels"])["kinds"].transform("max")
    large = found.loc["people", "alc-fixed", 5000, APART]
    whole, apart = large.loc[100_000], large.loc[default]
    small = by_kind["loss"].loc["macal", 200].xs(10_000, level="candidates")
    least = found.loc["people"].xs("10, mixed", level="covariates").loc["macal", 200]["variance"].min()
    million = recorded[(recorded["among"] == "people") & (recorded["candidates"] == 10**6)]
    million = million[million["labels"] == 200].set_index("criterion")
    lost = by_kind["loss"].loc["alc-fixed"]
    return of_rule | {
        "sample-left": "; ".join(f"{one} with {n} labels" for n, one in left_out.items()),
        "sample-lead": round(100 * LEAST_LEAD),
        "sample-people": 200_000,
        "sample-size": default,
        "strict-none": int(strict["alc-fixed"].isna().sum()),
        "strict-tried": len(strict["alc-fixed"]),
        "ball-low": 1 + float(recorded["bound"].min()),
        "ball-high": 1 + float(recorded["bound"].max()),
        "whole-seconds": round(float(whole["seconds"])),
        "apart-seconds": round(float(apart["seconds"])),
        "apart-rise": round(100 * float(apart["variance"] / whole["variance"] - 1), 1),
        "apart-lost": round(100 * float(lost[5000, APART, default]), 1),
        "sample-better": int((small < 0).sum()),
        "sample-kinds": len(small),
        "sample-partial": round(100 * float(mean["loss"][partial].max()), 1),
        "sample-time": round(float(balls["time"].max())),
        "most-low": int(by_kind["most"].min()),
        "most-high": int(by_kind["most"].max()),
        "sample-million": round(float(million["seconds"]["alc-fixed"])),
        "macal-million": round(float(million["seconds"]["macal"])),
        "macal-lead": 100 * float(by_kind["lead"]["macal", 200, "10, mixed"].iloc[0]),
        "macal-worse": round(100 * float(million["variance"]["macal"] / least - 1)),
        "million-lost": round(100 * float(lost[200, "10, mixed", default]), 1),
    }
