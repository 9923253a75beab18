"""The text of a report: who is surveyed, cost, overlap, privacy, and methods."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from macal.acquisition import CRITERIA
from macal.datasets.encoding import WINSOR_LIMIT
from macal.shapes import Indices
from macal.survey import record
from macal.survey.campaign import CampaignState
from macal.survey.estimates import Findings, estimate_effects, exclusion_notes, meant
from macal.survey.facts import count_phrase
from macal.survey.forecast import expected_responses, forecast
from macal.survey.notes import assumed, notes
from macal.survey.report import data_warnings, drawings, overlap, page
from macal.survey.report.page import number
from macal.survey.report.protocol import follows, how, if_all, is_unsure, money, settings
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.tables import frames

_PEOPLE = 12  # shown of the next round
_COVARIATES = 15  # shown, by largest difference
_CAPTION = "Distances are relative to the typical distance between two people in the table."


class Report:
    """A report on a campaign's plan.

    Args:
        campaign: with a plan.
        found: findings of each arm (default: estimated from the answers).

    Raises:
        ValueError: nothing is planned yet.
    """

    def __init__(self, campaign: CampaignState, found: Sequence[Findings] = ()) -> None:
        self.campaign, self.plan, self.people = campaign, campaign.planned, campaign.people
        self.rounds = campaign.rounds
        self.places = self.people.positions(self.plan.index, "the plan")
        numbers = campaign.round_of
        self.asked, self.numbers = self.people.positions(numbers, "the plan"), np.array(list(numbers.values()))
        self.told = np.flatnonzero(np.isfinite(campaign.outcomes))  # known before or answered
        self.open = self.places[~self.plan.index.isin(list(campaign.answers))]
        self.labelled = np.concatenate([self.told, self.open])
        every = ((seen.outcome, arm) for seen in campaign.views for arm in seen.estimable_arms)
        self.found = found or [estimate_effects(campaign, arm=arm, outcome=outcome) for outcome, arm in every]
        self.arms = overlap.names_of(self.people)
        self.is_over = campaign.asked >= self.plan["round"].max()  # all rounds are fielded

    def parts(self) -> list[str]:
        """Return the sections."""
        first = (self.answer, self.estimate, self.money, self.selection, self.overlap, self.coverage)
        sections = (*first, self.privacy, self.methods, self.columns, self.origin)
        return [part for section in sections for part in section()]

    def answer(self) -> list[str]:
        """Return the summary."""
        asked, spent, policy = len(self.plan), self.rounds["so far"].iloc[-1], self.campaign.policy
        each = np.bincount(self.people.problem.pool.t[self.places], minlength=len(self.arms))
        counts = [f"{n:,} {name}" for n, name in zip(each, self.arms, strict=True)]
        beside = f" Surveyed in addition: {self.campaign.extra_contacts}." * bool(self.campaign.extra_contacts)
        which = "were" if self.is_over else "are" if self.campaign.asked else "will be"
        told = [
            f"{asked:,} of {self.people.population:,} people {which} surveyed in"
            f" {count_phrase(len(self.rounds), 'round')}:"
            f" {', '.join(counts[2:] + counts[1:2])} and {counts[0]}{'s' * (self.arms[0] == 'control')}."
            f"{beside} That cost{'s' * (not self.is_over)} {spent:,.10g} of"
            f" {policy.budget:,.10g}{if_all(self.campaign)}."
        ]
        if self.campaign.asked or self.campaign.answers:
            came = sum(outcome is not None for outcome in self.campaign.answers.values())
            out = len(self.campaign.answers) - came
            told.append(
                f"{count_phrase(self.campaign.asked, 'round')} fielded: {count_phrase(came, 'answer')}"
                f"{self.campaign.came} and {count_phrase(out, 'refusal')}."
            )
        if self.campaign.overspent:
            told.insert(0, f"{_sentence(self.campaign.overspent)}")
        if is_unsure(self.campaign):
            told.append(f"About {self.rounds['answers'].sum():,.0f} answers are expected in all.")
        told += [*notes(self.campaign), *assumed(self.campaign)]
        warned = [page.text(_sentence(words), "warning") for words in data_warnings.warnings(self.campaign)]
        return [page.text(" ".join(told), "answer"), *warned]

    def _headed(self, words: str, which: str) -> str:
        return page.heading(f"{words}: {which}" if which else words)

    def estimate(self) -> list[str]:
        """Return estimates of each arm so far, and what the next round is expected to add."""
        views = [self.campaign.seen(outcome) for outcome in dict.fromkeys(one.outcome for one in self.found)]
        told = " ".join(dict.fromkeys(words for seen in views for words in exclusion_notes(seen)))
        return [part for found in self.found for part in self._estimate(found)] + [page.text(told)] * bool(told)

    def _estimate(self, found: Findings) -> list[str]:
        rows = {by: [number(v) for v in (one.value, one.low, one.high)] for by, one in found.averages.items()}
        average = pd.DataFrame.from_dict(rows, "index", columns=["average effect", "from", "to"]).rename_axis("by")
        shown = page.text(found.without_intervals)
        if found.shown and not found.no_interval_reason:
            caption = "Individual effects by the model, with 95% intervals."
            shown = page.figures({caption: drawings.effects(frames.as_pandas(found.people))})
        ahead = found.projection.map(number).assign(cost=found.projection["cost"].map(money)).rename_axis("when")
        ahead = ahead if found.shown else ahead.drop(columns="width")
        which = [f"{found.arm} against {self.arms[0]}"] * (len(self.arms) > 2)
        which += [f"{found.outcome}"] * bool(self.campaign.by_outcome)
        return [
            self._headed("Estimates", ", on ".join(which)),
            page.text(meant(self.campaign.seen(found.outcome), [found.arm])),
            page.table(average, f"Average effect and its {100 * found.level:.4g}% interval, {self._answers(found)}."),
            *([page.text(found.at_once)] if found.at_once else []),
            *self._weighed(found),
            shown,
            *([page.text(_sentence(found.variation.describe()))] if found.variation else []),
            page.table(ahead, _OUTLOOK + ", mean width of individual intervals" * found.shown + "."),
            page.text(f"{_sentence(found.verdict)} {_CAVEAT if found.drawn else found.caveat}".strip()),
        ]

    def _answers(self, found: Findings) -> str:
        """Return the number of outcomes, and of those known before."""
        number, arms = found.projection.answers["now"], (0, self.campaign.arm_index(found.arm))
        known = np.isin(self.people.problem.pool.t[self.people.problem.start], arms).sum()
        return f"{number:,} outcomes, {known:,} of them known before" if known else f"{number:,} answers"

    def _weighed(self, found: Findings) -> list[str]:
        """Return weighted estimates of groups, facts on nonresponse and missing intervals."""
        weighed = found.design_based
        rows = {
            str(group): [number(v) for v in (one.value, one.low, one.high)] for group, one in weighed.groups.items()
        }
        table = pd.DataFrame.from_dict(rows, "index", columns=["effect (weighted)", "from", "to"])
        shown = [page.table(table.rename_axis("group"), "Effects of groups, with simultaneous intervals.")]
        return shown * bool(rows) + [page.text(" ".join(weighed.facts))] * bool(weighed.facts)

    def money(self) -> list[str]:
        """Return the cost by round."""
        shown = self.rounds.assign(
            answers=[number(v, "{:,.1f}") for v in self.rounds["answers"]],
            **{c: [money(v) for v in self.rounds[c]] for c in ("cost", "so far")},
        )
        by_chance = ", pending ones by response probability" * is_unsure(self.campaign)
        caption = (
            "People, cost and answers of each round."
            if self.is_over and not len(self.open)
            else f"People and cost{if_all(self.campaign)} of each round, and observed or expected answers{by_chance}."
        )
        figure = {"Cost of each round, and cumulative cost.": drawings.costs(self.rounds)}
        return [page.heading("Cost by round"), *_long(shown, caption), *self._expected(), page.figures(figure)]

    def _expected(self) -> list[str]:
        """Return expected answers by arm, group and cluster, and the expected width."""
        if not self.campaign.policy.is_drawn:
            return []
        found = forecast(self.campaign)
        table = expected_responses(self.campaign).map(number)
        return [*_long(table, _ANSWERS), *([] if found is None else [page.text(found.describe())])]

    def selection(self) -> list[str]:
        """Return who is surveyed next, and why."""
        new = dict(zip(self.open.tolist(), overlap.distance_to_labels(self.people, self.told, self.open), strict=True))
        later = self.places[self.plan["round"] > self.campaign.asked]
        units = later[np.isin(later, self.open)][:_PEOPLE]  # some may have answered early
        told = [page.heading("Who was surveyed, and why" if self.is_over else "Who is surveyed, and why")]
        told += [page.text(" ".join(self._rule()))]
        if self.campaign.audit is not None:
            told += [page.text(" ".join(self.campaign.audit.facts()))]
        if len(units):
            shown = pd.DataFrame([self._why(unit, new[unit]) for unit in units.tolist()])
            caption = f"The next {count_phrase(len(units), 'unit')}. {_CAPTION}"
            told += [page.table(shown.set_index(str(self.plan.index.name)), caption)]
        return told

    def _rule(self) -> list[str]:
        """Return how people are selected."""
        policy = self.campaign.policy
        return [f"Selected by {how(policy)}.", CRITERIA[policy.rule].factory.reason * follows(policy)]

    def _why(self, unit: int, new: float) -> dict[str, object]:
        people, names = self.people, self.people.table.index
        other = overlap.nearest_counterpart(people, unit, self.labelled)
        near = np.nan if other is None else overlap.counterparts(people, np.array([unit]), np.array([other]))[0]
        included = {"": "mandatory"} if unit in people.included else {}
        return {
            str(names.name): str(names[unit]),
            "arm": self.arms[people.problem.pool.t[unit]],
            "cost": money(people.cost[unit]),
            "to labels of the arm": number(new, "{:.2f}") if np.isfinite(new) else "first",
            "nearest label of the other arm, planned ones included": "–" if other is None else str(names[other]),
            "to that label": number(near, "{:.2f}"),
            **included,
        }

    def overlap(self) -> list[str]:
        """Return counterparts, propensities and standardised differences of each contrast, before and after."""
        every = overlap.contrasts(self.people).items()
        return [part for which, (people, rows) in every for part in self._overlap(which, people, rows)]

    def _overlap(self, which: str, people: SamplingFrame, rows: Indices) -> list[str]:
        all_units, place = np.arange(len(people)), np.full(len(self.people), -1)
        place[rows] = all_units
        labelled = place[self.labelled][place[self.labelled] >= 0]
        names = overlap.column_names(people)
        gaps = overlap.differences(people, labelled, names)
        most = gaps.abs().max(axis=1).sort_values(ascending=False, kind="stable").index[:_COVARIATES]
        some, t, score = overlap.some_of(people), people.problem.pool.t, overlap.propensity(people)
        before = {"all": overlap.counterparts(people, some, all_units)}
        every = all_units if people.first_phase is None else some
        drawn = {
            "Before: propensity scores of all people.": drawings.propensities(score[every], t[every], "all people")
        }
        looked = {"people compared": number(len(np.unique(some)), "{:,}")}
        table = {"all": _spread(before["all"], gaps["all"]) | looked}
        if len(np.unique(t[labelled])) == 2:
            before["labelled"] = overlap.counterparts(people, labelled, labelled)
            after = drawings.propensities(score[labelled], t[labelled], "labelled")
            drawn["After: propensity scores of labelled people."] = after
            table["labelled"] = _spread(before["labelled"], gaps["labelled"])
            drawn["Distance of each person to the nearest one in the other arm."] = drawings.distances(before)
        caption = f"Standardised differences, treated minus control; {len(most)} of {len(gaps)} covariates."
        drawn[caption] = drawings.balance(gaps.loc[most])
        everyone = "the whole table" if self.people.first_phase is None else self._sample()
        words = (
            f"All people: {everyone}. Labelled: people with an outcome, reserves included, and pending ones. If a"
            " propensity is near 0 or 1, or the nearest counterpart is far, comparable people are missing. Numbers"
            f" further than {WINSOR_LIMIT:g} median distances from the median are winsorised here; warnings of poor"
            " overlap, for eligible people, also use the original values."
        )
        return [
            self._headed("Overlap before and after", which),
            page.text(words),
            page.table(pd.DataFrame(table).rename_axis("", axis=0), _CAPTION),
            page.figures(drawn),
        ]

    def _sample(self) -> str:
        many, of = len(self.people), self.people.population
        return f"a sample of {many:,} of the {of:,} people in the table, weighted"

    def coverage(self) -> list[str]:
        """Return mean distances to labels, by round."""
        is_label = np.isin(self.asked, self.labelled)
        rounds = [self.asked[is_label & (self.numbers == k)] for k in self.rounds.index]
        table = overlap.coverage(self.people, [self.people.problem.start, *rounds])
        last = [f"{number(distance)} for {name}" for name, distance in table.iloc[-1].items()]
        all_of_them = ", if all pending people answer," * bool(len(self.open) and self.campaign.is_uncertain)
        looked = f" (of {overlap.SAMPLE:,} compared)" * (len(self.people) > overlap.SAMPLE)
        words = (
            f"A model predicts a person's effect from nearby labels. At the end of the plan{all_of_them} the mean"
            f" distance from a person{looked} to the nearest label of the same arm is {', '.join(last[:-1])}"
            f" and {last[-1]}. {_CAPTION}"
        )
        figure = {"Mean distance from a person to the nearest label of the same arm.": drawings.covered(table)}
        return [page.heading("Coverage"), page.text(words), page.figures(figure)]

    def privacy(self) -> list[str]:
        """Return how many people share a row."""
        words = (
            "People who share all covariates with no one can be recognised by them. The plan may point to such people,"
            " as most rules favour those far from others: keep it confidential, and coarsen identifying columns."
        )
        if self.people.first_phase is not None:
            words += (
                " Shared covariates are not counted here, because people look rarer in a sample than in the table:"
                " count them there."
            )
            return [page.heading("Privacy"), page.text(words)]
        table = overlap.shared_rows(self.people, self.asked).map(lambda share: number(share, "{:.1%}"))
        table.columns = [f"{who}, {alike}" for alike, who in table.columns]
        caption = (
            "Share of people by number of others with the same covariates: exactly, and with numbers in four groups of"
            " about equal size."
        )
        return [page.heading("Privacy"), page.text(words), page.table(table, caption)]

    def methods(self) -> list[str]:
        """Return the methods for a protocol."""
        shown = pd.Series(settings(self.campaign)).to_frame("how").rename_axis("what")
        return [page.heading("Methods, for a protocol"), page.table(shown, "How the plan was made.")]

    def columns(self) -> list[str]:
        """Return the columns' roles."""
        words = "Role of each column, and number of winsorised values."
        return [page.heading("Columns of the table"), *_long(data_warnings.columns(self.campaign), words)]

    def origin(self) -> list[str]:
        """Return versions, seed and fingerprints."""
        content = record.content_of(self.campaign)
        made = {name: str(value) for name, value in content["made by"].items() if value is not None}
        told = {"table": record.checksum(content["table"]), "seed": str(self.campaign.policy.seed), **made}
        shown = pd.Series(told).to_frame("value").rename_axis("what")
        return [
            page.heading("Versions and seed"),
            page.table(shown, "Provenance of this plan; the table by a hash of used columns."),
        ]


_OUTLOOK = "Each stage of the plan, if everyone surveyed answers: answers, remaining cost (pending answers are paid)"
_ANSWERS = "Observed and expected answers of each arm, without reserves."
_CAVEAT = (
    "The weighted interval does not need a correct outcome model; unless stated above it is valid at this look alone,"
    " and estimate --looks gives wider ones. Individual intervals are the model's, with lower coverage."
)


def _spread(distances: np.ndarray, gaps: pd.Series) -> dict[str, str]:
    return {
        "people compared": number(len(distances), "{:,}"),
        "distance to nearest counterpart, median": number(float(np.median(distances))),
        "distance to nearest counterpart, 95th percentile": number(float(np.quantile(distances, 0.95))),
        "largest standardised difference": number(float(gaps.abs().max())),
        "mean absolute standardised difference": number(float(gaps.abs().mean())),
    }


def _long(frame: pd.DataFrame, caption: str, rows: int = 24) -> list[str]:
    """Return a table; of a long one its beginning and end."""
    if len(frame) <= rows:
        return [page.table(frame, caption)]
    parts = frame.head(rows - 4), frame.tail(4)
    note = f"{len(frame) - rows} rows in between are omitted."
    return [page.table(pd.concat(parts), f"{caption} {note}")]


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}{'.' * bool(words)}"


def document(campaign: CampaignState, found: Sequence[Findings] = ()) -> str:
    """Return the report of a plan as HTML.

    Args:
        campaign: with a plan.
        found: see :class:`Report`.

    Raises:
        ImportError: matplotlib is missing.
        ValueError: nothing is planned yet.
    """
    return page.page("Survey plan", Report(campaign, found).parts())
