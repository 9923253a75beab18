"""Sentences for facts of tables, samples and forecasts: a function for each kind, of its values alone."""

from collections.abc import Sequence

_MISTAKE = "if that is a mistake or a code for a missing value"


def expected_width(
    width: float,
    without: float | None,
    simple: float | None,
    equal: float | None,
    in_sd: bool,
    clustered: bool,
    uncounted: bool,
) -> str:
    """How wide the average effect's interval is expected to be, by the design and by others for the same money."""
    others = {"a simple random sample": simple} | ({} if clustered else {"equal allocation to the arms": equal})
    other = [f"{'no interval' if one is None else f'{one:,.4g}'} with {how}" for how, one in others.items()]
    alike = ", ignoring correlation within clusters" * clustered
    proxies = "" if without is None else f" ({without:,.4g} without the proxies)"
    unit = " Widths are in residual standard deviations of the outcome; set their size with --residual-sd."
    more = " Proxies are not counted, because the share of the residual variance that they explain is unknown (--r2)."
    return (
        f"Expected width of the average effect's 95% interval: {width:,.4g}{alike}{proxies}. For the same"
        f" money: {', '.join(other)}.{unit * in_sd}{more * uncounted}"
    )


def made_from_sample() -> str:
    """Where an audit compares."""
    return "The plan was made from a first-phase sample."


def compared_with_others(units: int, who: str, pairs: bool, best: float) -> str:
    """How many picks were the best among people outside the sample."""
    what = "pairs, each with one person replaced," if pairs else "picks"
    return (
        f"Its {what} were compared with {units:,} independently sampled {who}: for {best:.0%} of them, none has a"
        " larger gain."
    )


def at_most_better(level: float, who: str, any_pick: float, half: float) -> str:
    """How many of all could be better than the picks."""
    return (
        f"With {level:.0%} confidence, simultaneously, at most {any_pick:.2%} of all {who} have a larger gain than any"
        f" of them, and at most {half:.2%} than half of them."
    )


def no_audit_sample() -> str:
    """There was nobody to compare with."""
    return "There was no audit sample to compare it with."


def better_pair_possible() -> str:
    """What an audit of pairs does not cover."""
    return "A better pair of two other people may exist."


def variance_left(share: float, halves: Sequence[float]) -> str:
    """What plans leave of the effects' variance."""
    one, other = halves
    return (
        f"The posterior variance of the effects is {share:.1%} of the prior's; with plans from the two halves of the"
        f" sample it is {one:.1%} and {other:.1%}."
    )


def covariate_outliers(far: str, counts: str) -> str:
    """Values of a covariate that lie far from all others."""
    return f"{far}, and counts as {counts} in distances; {_MISTAKE}, correct the table before the survey"


def outcome_outliers(far: str) -> str:
    """Outcomes that lie far from all others."""
    return f"{far}; {_MISTAKE}, use macal correct before estimating effects"


def telling_covariates(columns: Sequence[str]) -> str:
    """Covariates that predict answers suspiciously well."""
    one = len(columns) == 1
    return (
        f"{' and '.join(map(repr, columns))} predict{'s' * one} the answers better than all other covariates together;"
        f" if measured after treatment, {'it hides' if one else 'they hide'} part of the effect: plan with"
        f" {'it as a proxy' if one else 'them as proxies'} (--proxy {','.join(columns)})"
    )


def poor_overlap(
    share: float, low: float, high: float, harmless: float, groups: Sequence[str], more: int, contrast: str
) -> str:
    """Extreme propensity scores, and groups nearly without an arm."""
    told = [
        f"{share:.0%} of people have extreme propensity scores (below {100 * low:.2g}% or above {100 * high:.4g}%;"
        f" up to {harmless:.0%} is harmless)"
    ] * (share > harmless)
    others = f"; and {more:,} more such groups" * (more > 0)
    remedy = (
        "exclude the groups named here before planning (--target overlap, the overlap population, helps only as far as"
        " a smooth propensity model finds them)"
        if groups
        else "estimate the effect in the overlap population (--target overlap)"
    )
    return (
        f"{f'{contrast}: ' * bool(contrast)}overlap is poor: {'; '.join([*told, *groups])}{others}. Estimates for such"
        f" people rest on the model alone, and intervals may have low coverage: {remedy}, and report it"
    )


def measured_later(columns: Sequence[str]) -> str:
    """Covariates whose names suggest measurement after treatment."""
    one = len(columns) == 1
    which, rest = ("it as a proxy if it predicts", "it") if one else ("as proxies those that predict", "the others")
    return (
        f"by name, {', '.join(map(repr, columns))} may have been measured after treatment and would then hide part of"
        f" its effect; name {which} the outcome (--proxy {','.join(columns)}), and leave out {rest}"
        f" (--kind {columns[0] if one else 'COLUMN'}=ignore)"
    )


def survey_weights(columns: Sequence[str]) -> str:
    """Covariates whose names suggest survey weights."""
    return (
        f"by name, {', '.join(map(repr, columns))} may be survey weights; each row counts as one person, so estimates"
        f" are for the people in the table; ignore the column (--kind {columns[0]}=ignore)"
    )


def spelt_differently(column: str, texts: Sequence[str]) -> str:
    """Values that differ only in spaces or capitals."""
    return (
        f"column {column!r} holds {', '.join(map(repr, texts))}, which differ only in spaces or capitals but count as"
        " different; unify them"
    )
