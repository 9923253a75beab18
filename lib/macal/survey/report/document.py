"""What a report says: whom a plan asks, at what cost, what that does to overlap and privacy, and how it was made."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from macal.acquisition import CRITERIA
from macal.datasets.encoding import WINSOR_LIMIT
from macal.shapes import Indices
from macal.survey import record
from macal.survey.campaign import CampaignState, count_phrase
from macal.survey.estimates import MODEL_CAVEAT, Findings, estimate_effects, exclusion_notes, meant
from macal.survey.forecast import expected_responses, forecast
from macal.survey.notes import assumed, notes
from macal.survey.report import data_warnings, drawings, overlap, page
from macal.survey.report.page import number
from macal.survey.report.protocol import follows, how, if_all, is_unsure, money, settings
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.tables import frames

_PEOPLE = 12  # shown of the round that comes next
_COVARIATES = 15  # shown, those that differ most
_CAPTION = "Distances are in units of a typical one: 1 is how far two people of the table are from each other."


class Report:
    """A campaign's plan, looked at.

    Args:
        campaign: with a plan.
        found: what the answers say of each arm; estimated by default, of those that have some.

    Raises:
        ValueError: nothing is planned yet.
    """

    def __init__(self, campaign: CampaignState, found: Sequence[Findings] = ()) -> None:
        self.campaign, self.plan, self.people = campaign, campaign.planned, campaign.people
        self.rounds = campaign.rounds
        self.places = self.people.positions(self.plan.index, "the plan")
        numbers = campaign.round_of
        self.asked, self.numbers = self.people.positions(numbers, "the plan"), np.array(list(numbers.values()))
        self.told = np.flatnonzero(np.isfinite(campaign.outcomes))  # known before, or from any answer
        self.open = self.places[~self.plan.index.isin(list(campaign.answers))]
        self.labelled = np.concatenate([self.told, self.open])
        every = ((seen.outcome, arm) for seen in campaign.views for arm in seen.estimable_arms)
        self.found = found or [estimate_effects(campaign, arm=arm, outcome=outcome) for outcome, arm in every]
        self.arms = overlap.names_of(self.people)
        self.is_over = campaign.asked >= self.plan["round"].max()  # whoever is to be asked has been

    def parts(self) -> list[str]:
        """The sections, one after the other."""
        first = (self.answer, self.estimate, self.money, self.selection, self.overlap, self.coverage)
        sections = (*first, self.privacy, self.methods, self.columns, self.origin)
        return [part for section in sections for part in section()]

    def answer(self) -> list[str]:
        """What a reader in a hurry wants."""
        asked, spent, policy = len(self.plan), self.rounds["so far"].iloc[-1], self.campaign.policy
        each = np.bincount(self.people.problem.pool.t[self.places], minlength=len(self.arms))
        counts = [f"{n:,} {name}" for n, name in zip(each, self.arms, strict=True)]
        beside = f" Asked beside them: {self.campaign.extra_contacts}." * bool(self.campaign.extra_contacts)
        which = "were" if self.is_over else "are" if self.campaign.asked else "are to be"
        told = [
            f"{asked:,} of {self.people.population:,} people {which} asked in"
            f" {count_phrase(len(self.rounds), 'round')}:"
            f" {', '.join(counts[2:] + counts[1:2])} and {counts[0]}{'s' * (self.arms[0] == 'control')}."
            f"{beside} That cost{'s' * (not self.is_over)} {spent:,.10g} of"
            f" {policy.budget:,.10g}{if_all(self.campaign)}."
        ]
        if self.campaign.asked or self.campaign.answers:
            came = sum(outcome is not None for outcome in self.campaign.answers.values())
            out = len(self.campaign.answers) - came
            told.append(
                f"{self.campaign.asked} round{'s have' if self.campaign.asked != 1 else ' has'} been asked:"
                f" {came} answer{'s' * (came != 1)} came{self.campaign.came}, and"
                f" {out} {'person' if out == 1 else 'people'} will not answer."
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
        """What the answers say so far of each arm, and what is expected of the next round."""
        views = [self.campaign.seen(outcome) for outcome in dict.fromkeys(one.outcome for one in self.found)]
        told = " ".join(dict.fromkeys(words for seen in views for words in exclusion_notes(seen)))
        return [part for found in self.found for part in self._estimate(found)] + [page.text(told)] * bool(told)

    def _estimate(self, found: Findings) -> list[str]:
        rows = {by: [number(v) for v in (one.value, one.low, one.high)] for by, one in found.averages.items()}
        average = pd.DataFrame.from_dict(rows, "index", columns=["average effect", "from", "to"]).rename_axis("by")
        shown = page.text(
            f"People's effects have no intervals: {found.no_interval_reason}." if found.no_interval_reason else ""
        )
        if found.shown and not found.no_interval_reason:
            caption = "Everybody's effect as the model believes, with 95 % intervals."
            shown = page.figures({caption: drawings.effects(frames.as_pandas(found.people))})
        ahead = found.projection.map(number).assign(cost=found.projection["cost"].map(money)).rename_axis("when")
        ahead = ahead if found.shown else ahead.drop(columns="width")
        which = [f"{found.arm} against {self.arms[0]}"] * (len(self.arms) > 2)
        which += [f"{found.outcome}"] * bool(self.campaign.by_outcome)
        return [
            self._headed("What the answers say", ", on ".join(which)),
            page.text(meant(self.campaign.seen(found.outcome), [found.arm])),
            page.table(average, f"Average effect and its {100 * found.level:.4g} % interval, {self._answers(found)}."),
            *([page.text(found.at_once)] if found.at_once else []),
            *self._weighed(found),
            shown,
            *([page.text(_sentence(found.variation.describe()))] if found.variation else []),
            page.table(ahead, _OUTLOOK + ", mean width of people's intervals" * found.shown + "."),
            page.text(
                f"{_sentence(found.verdict)} {_CAVEAT if found.drawn else MODEL_CAVEAT * bool(found.averages)}".strip()
            ),
        ]

    def _answers(self, found: Findings) -> str:
        """How many outcomes the model has learnt from, and how many of them no answer brought."""
        number, arms = found.projection.answers["now"], (0, self.campaign.arm_index(found.arm))
        known = np.isin(self.people.problem.pool.t[self.people.problem.start], arms).sum()
        return f"{number:,} outcomes, {known:,} of them known before" if known else f"{number:,} answers"

    def _weighed(self, found: Findings) -> list[str]:
        """What the weights say of groups, of refusals, and of any interval that is not given."""
        weighed = found.design_based
        rows = {
            str(group): [number(v) for v in (one.value, one.low, one.high)] for group, one in weighed.groups.items()
        }
        table = pd.DataFrame.from_dict(rows, "index", columns=["effect by the weights", "from", "to"])
        shown = [page.table(table.rename_axis("group"), "Effects of groups, with intervals that hold at once.")]
        return shown * bool(rows) + [page.text(" ".join(weighed.facts))] * bool(weighed.facts)

    def money(self) -> list[str]:
        """Cost by round."""
        shown = self.rounds.assign(
            answers=[number(v, "{:,.1f}") for v in self.rounds["answers"]],
            **{c: [money(v) for v in self.rounds[c]] for c in ("cost", "so far")},
        )
        by_chance = ", each person who has not answered yet by her chance" * is_unsure(self.campaign)
        caption = (
            "Whom each round asked, what it cost, and the answers that came."
            if self.is_over and not len(self.open)
            else f"What each round asks, what it costs{if_all(self.campaign)}, and the answers that came or are"
            f" expected{by_chance}."
        )
        figure = {"Cost of each round, and so far.": drawings.costs(self.rounds)}
        return [page.heading("Cost by round"), *_long(shown, caption), *self._expected(), page.figures(figure)]

    def _expected(self) -> list[str]:
        """Answers of arms, groups and clusters, and the interval's width, that are expected of a draw."""
        if self.campaign.policy.draw is None:
            return []
        found = forecast(self.campaign)
        table = expected_responses(self.campaign).map(number)
        return [*_long(table, _ANSWERS), *([] if found is None else [page.text(found.describe())])]

    def selection(self) -> list[str]:
        """Who is asked next, and why."""
        new = dict(zip(self.open.tolist(), overlap.distance_to_labels(self.people, self.told, self.open), strict=True))
        later = self.places[self.plan["round"] > self.campaign.asked]
        units = later[np.isin(later, self.open)][:_PEOPLE]  # some may have answered ahead
        told = [page.heading("Who was asked, and why" if self.is_over else "Who is asked, and why")]
        told += [page.text(" ".join(self._rule()))]
        if self.campaign.audit is not None:
            told += [page.text(" ".join(self.campaign.audit.sentences()))]
        if len(units):
            shown = pd.DataFrame([self._why(unit, new[unit]) for unit in units.tolist()])
            caption = f"The first {len(units)} of those who come next. {_CAPTION}"
            told += [page.table(shown.set_index(str(self.plan.index.name)), caption)]
        return told

    def _rule(self) -> list[str]:
        """By what people are chosen."""
        policy = self.campaign.policy
        return [f"Chosen by {how(policy)}.", CRITERIA[policy.criterion].factory.reason * follows(policy)]

    def _why(self, unit: int, new: float) -> dict[str, object]:
        people, names = self.people, self.people.table.index
        other = overlap.nearest_counterpart(people, unit, self.labelled)
        near = np.nan if other is None else overlap.counterparts(people, np.array([unit]), np.array([other]))[0]
        included = {"": "must be asked"} if unit in people.included else {}
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
        """Counterparts, propensity and standardised differences, before and after, of each contrast."""
        every = overlap.contrasts(self.people).items()
        return [part for which, (people, rows) in every for part in self._overlap(which, people, rows)]

    def _overlap(self, which: str, people: SamplingFrame, rows: Indices) -> list[str]:
        everybody, place = np.arange(len(people)), np.full(len(self.people), -1)
        place[rows] = everybody
        labelled = place[self.labelled][place[self.labelled] >= 0]
        names = overlap.column_names(people)
        gaps = overlap.differences(people, labelled, names)
        most = gaps.abs().max(axis=1).sort_values(ascending=False, kind="stable").index[:_COVARIATES]
        some, t, score = overlap.some_of(people), people.problem.pool.t, overlap.propensity(people)
        before = {"everybody": overlap.counterparts(people, some, everybody)}
        every = everybody if people.first_phase is None else some
        drawn = {"Before: propensity scores of everybody.": drawings.propensities(score[every], t[every], "everybody")}
        looked = {"people looked at": number(len(np.unique(some)), "{:,}")}
        table = {"everybody": _spread(before["everybody"], gaps["everybody"]) | looked}
        if len(np.unique(t[labelled])) == 2:
            before["labelled"] = overlap.counterparts(people, labelled, labelled)
            after = drawings.propensities(score[labelled], t[labelled], "labelled")
            drawn["After: propensity scores of those labelled."] = after
            table["labelled"] = _spread(before["labelled"], gaps["labelled"])
            drawn["How far each person is from the nearest of the other arm."] = drawings.distances(before)
        caption = f"Standardised differences, treated minus control; {len(most)} of {len(gaps)} covariates."
        drawn[caption] = drawings.balance(gaps.loc[most])
        everyone = "whoever stands in the table" if self.people.first_phase is None else self._sample()
        words = (
            f"Everybody is {everyone}; labelled are all whose outcome is known, reserves too, and those who are still"
            " to answer. Where a propensity is near 0 or 1, or the nearest counterpart far, the table has nobody to"
            f" compare with. Numbers further than {WINSOR_LIMIT:g} median distances from the median count here as the"
            " last one that is not. Warnings of poor overlap go by the values as they are, too, of those who may be"
            " asked."
        )
        return [
            self._headed("Overlap before and after", which),
            page.text(words),
            page.table(pd.DataFrame(table).rename_axis("", axis=0), _CAPTION),
            page.figures(drawn),
        ]

    def _sample(self) -> str:
        many, of = len(self.people), self.people.population
        return f"a sample of {many:,} of the {of:,} people of the table, each as often as she stands for others of it"

    def coverage(self) -> list[str]:
        """How near everybody is to the labels, by round."""
        is_label = np.isin(self.asked, self.labelled)
        rounds = [self.asked[is_label & (self.numbers == k)] for k in self.rounds.index]
        table = overlap.coverage(self.people, [self.people.problem.start, *rounds])
        last = [f"{number(distance)} for {name}" for name, distance in table.iloc[-1].items()]
        all_of_them = ", if all answer who are still to," * bool(len(self.open) and self.campaign.is_uncertain)
        looked = f", of {overlap.SAMPLE:,} looked at," * (len(self.people) > overlap.SAMPLE)
        words = (
            f"A model speaks of a person by the labels nearby. At the end of the plan{all_of_them} the mean distance"
            f" from a person{looked} to the nearest label of the same arm is {', '.join(last[:-1])} and {last[-1]}."
            f" {_CAPTION}"
        )
        figure = {"Mean distance from a person to the nearest label of the same arm.": drawings.covered(table)}
        return [page.heading("Coverage"), page.text(words), page.figures(figure)]

    def privacy(self) -> list[str]:
        """How many people share a row."""
        words = (
            "Whoever shares all covariates with nobody can be recognised by them. The plan may point at such people, as"
            " most rules look for whoever is far from others: keep it confidential, and coarsen what identifies."
        )
        if self.people.first_phase is not None:
            words += (
                " How many share all covariates is not counted here: in a sample people look rarer than they are in the"
                " table. Count it there."
            )
            return [page.heading("Privacy"), page.text(words)]
        table = overlap.shared_rows(self.people, self.asked).map(lambda share: number(share, "{:.1%}"))
        table.columns = [f"{who}, {alike}" for alike, who in table.columns]
        caption = (
            "Share of people by how many others have the same covariates: exactly, and with numbers in four groups of"
            " about the same size."
        )
        return [page.heading("Privacy"), page.text(words), page.table(table, caption)]

    def methods(self) -> list[str]:
        """What a protocol asks for."""
        shown = pd.Series(settings(self.campaign)).to_frame("how").rename_axis("what")
        return [page.heading("Methods, for a protocol"), page.table(shown, "How the plan was made.")]

    def columns(self) -> list[str]:
        """What the columns were taken for."""
        words = "What each column was taken for, and how many values lie so far off that they count as another one."
        return [page.heading("Columns of the table"), *_long(data_warnings.columns(self.campaign), words)]

    def origin(self) -> list[str]:
        """Versions, seed, fingerprints."""
        content = record.content_of(self.campaign)
        made = {name: str(value) for name, value in content["made by"].items() if value is not None}
        told = {"table": record.checksum(content["table"]), "seed": str(self.campaign.policy.seed), **made}
        shown = pd.Series(told).to_frame("value").rename_axis("what")
        return [
            page.heading("Versions and seed"),
            page.table(shown, "What made this plan; the table by a hash of what the plan uses."),
        ]


_OUTLOOK = (
    "What each stage of the plan knows, if all who are asked answer: answers, money still to be spent until then (none"
    " on whoever is waited for)"
)
_ANSWERS = "Answers of each arm that have come or are expected, those of reserves apart."
_CAVEAT = (
    "The interval by weights needs no outcome model to be right; where nothing above says more it holds at this look"
    " alone, and estimate --looks gives wider ones. Intervals of people are the model's, and hold less often."
)


def _spread(distances: np.ndarray, gaps: pd.Series) -> dict[str, str]:
    return {
        "people looked at": number(len(distances), "{:,}"),
        "distance to nearest counterpart, median": number(float(np.median(distances))),
        "distance to nearest counterpart, 95th percentile": number(float(np.quantile(distances, 0.95))),
        "largest standardised difference": number(float(gaps.abs().max())),
        "mean standardised difference, in size": number(float(gaps.abs().mean())),
    }


def _long(frame: pd.DataFrame, caption: str, rows: int = 24) -> list[str]:
    """A table; of a long one its beginning, its end, and how many rows lie between."""
    if len(frame) <= rows:
        return [page.table(frame, caption)]
    parts = frame.head(rows - 4), frame.tail(4)
    note = f"{len(frame) - rows} rows between are left out."
    return [page.table(pd.concat(parts), f"{caption} {note}")]


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}{'.' * bool(words)}"


def document(campaign: CampaignState, found: Sequence[Findings] = ()) -> str:
    """Write the report of a plan.

    Args:
        campaign: with a plan.
        found: see :class:`Report`.

    Raises:
        ImportError: matplotlib is missing.
        ValueError: nothing is planned yet.
    """
    return page.page("Survey plan", Report(campaign, found).parts())
