"""What planning from a sample of a table costs: the plans that ``benchmarks/sample.py`` records, and its rules."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from macal.campaigns import results

PLANS = "sample_plans.csv"
MAX_LEAD_LOST = 0.05  # of the lead over random selection, on average, that a default may lose
MIN_LEAD = 0.02  # of what random selection leaves: a smaller lead is none to lose shares of
APART = "48, as benchmarks/planner.py"  # measured for its price, and in no mean
_CELL = ["criterion", "labels", "covariates"]


def plans() -> pd.DataFrame:
    """The recorded plans: one row for each plan and number of labels."""
    return pd.read_csv(results.FOLDER / PLANS)


def variances(recorded: pd.DataFrame) -> pd.DataFrame:
    """Mean over replications of what labels leave, and of the seconds.

    Returns:
        ``variance``, ``random``, what random selection leaves, ``seconds`` and ``replications``, by ``among``,
        criterion, labels, covariates and candidates.
    """
    by = recorded.groupby(["among", *_CELL, "candidates"])
    found = by[["variance", "seconds"]].mean().assign(replications=by.size())
    chance = found.loc["chance"].droplevel(["criterion", "candidates"])["variance"].rename("random")
    chance = chance.groupby(["labels", "covariates"]).mean()
    return found.drop("chance").join(chance, on=["labels", "covariates"])


def compared(
    recorded: pd.DataFrame, labels: int = 200, people: int = 200_000, sizes: Sequence[int] = (10_000, 50_000)
) -> pd.DataFrame:
    """Variances that some labels leave.

    Returns:
        One column for all people, each sample, and random labels, by criterion and covariates; missing where nothing
        is recorded.
    """
    found = variances(recorded).loc["people"].xs(labels, level="labels")
    whole = found.xs(people, level="candidates")
    columns = {f"all {people:,}": whole["variance"]}
    columns |= {f"sample of {size:,}": found["variance"].xs(size, level="candidates") for size in sizes}
    return pd.DataFrame(columns | {"random labels": whole["random"]}).loc[whole.index]


def losses(recorded: pd.DataFrame) -> pd.DataFrame:
    """What a sample loses of the lead of the largest population over random selection.

    Returns:
        ``loss``, and the ``lead`` as a share of what random selection leaves, by criterion, labels, covariates and
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
    kept = (found["lead"] >= MIN_LEAD) & (found.index.get_level_values("covariates") != APART)
    by = found[kept].groupby(["criterion", "labels", "candidates"])["loss"]
    return pd.DataFrame({"loss": by.mean(), "error": by.sem(), "kinds": by.size()})


def smallest(mean: pd.DataFrame) -> pd.Series:
    """The smallest size from which on :func:`mean_losses` are small, by criterion and labels; missing if none is."""

    def of(one: pd.Series) -> float:
        sizes, fits = one.index.get_level_values("candidates"), (one <= MAX_LEAD_LOST).to_numpy()
        kept = fits[::-1].cumprod()[::-1].astype(bool)
        return float(sizes[kept][0]) if kept.any() else np.nan

    return mean["loss"].sort_index().groupby(["criterion", "labels"]).apply(of).rename("size")


def numbers(recorded: pd.DataFrame, default: int) -> dict[str, float | str]:
    """What a page says of the study, by name: sizes in people, losses and rises in per cent, times in seconds.

    Args:
        recorded: as :func:`plans` returns them.
        default: size of the sample that is taken unless a plan says otherwise.
    """
    found, by_kind = variances(recorded), losses(recorded)
    at = mean_losses(by_kind).xs(default, level="candidates")["loss"]
    weak = by_kind[by_kind["lead"] < MIN_LEAD].loc["macal"].groupby(["labels", "covariates"])["lead"].first()
    kinds = pd.Series([f'"{kind}" ({100 * lead:+.0f}%)' for (_, kind), lead in weak.items()], weak.index)
    left_out = kinds.groupby("labels").agg(" and ".join)
    least = found.loc["people"].xs("10, mixed", level="covariates").loc["macal", 200]["variance"].min()
    million = recorded[(recorded["among"] == "people") & (recorded["candidates"] == 10**6)]
    million = million[million["labels"] == 200].set_index("criterion")
    return {
        "sample-alc": round(100 * float(at["alc-fixed"].max()), 1),
        "sample-mac": round(100 * float(at["macal"].max()), 1),
        "sample-left": "; ".join(f"{one} with {n} labels" for n, one in left_out.items()),
        "sample-lead": round(100 * MIN_LEAD),
        "sample-size": default,
        "sample-million": round(float(million["seconds"]["alc-fixed"])),
        "macal-million": round(float(million["seconds"]["macal"])),
        "macal-worse": round(100 * float(million["variance"]["macal"] / least - 1)),
    }
