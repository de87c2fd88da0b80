"""Report: the numbers of an evaluation, per-user values, the population, and warnings about the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bridgeval.arguments import checked
from bridgeval.engine.census import LARGE_SHARE, ORDERS, describe_reading, find_alarms
from bridgeval.engine.metric import Metric, RankingMetric
from bridgeval.engine.state import UserTable
from bridgeval.engine.summary import Result
from bridgeval.errors import DuplicateRowsWarning, InputError, MissingContextWarning, UnknownMetricError, warn_caller
from bridgeval.io.origin import Origin
from bridgeval.report.exports import Exports
from bridgeval.report.plain_text import show_hidden
from bridgeval.report.table_view import format_note
from bridgeval.tables.slice_labels import Labels, read_slice_labels

if TYPE_CHECKING:
    from bridgeval.stats.item_slice_metric import ItemSlice
    from bridgeval.stats.slice_results import Slices


# Why users are left out.
REASONS = ("no relevance given", "no relevant item")
# The treatment of repeated rows, by the metrics' parameters `duplicates` and `truth_duplicates`.
REPEATED_SHOWN = {"best": "the best one counts", "all": "each keeps its place"}
REPEATED_RELEVANT = {
    "best": "the highest gain counts",
    "first": "the first one counts",
    "all": "each one counts",
    "each": "each one counts, and is found",
}


@dataclass(frozen=True)
class Population:
    """Counts of users and rows, by the native definitions.

    Attributes:
        users: users that either side names.
        counted: those with at least one relevant item.
        left_out: reason -> users.
        shown_nothing: users that count but were shown nothing; they score 0.
        short_lists: users that count and were shown fewer items than the largest cutoff.
        repeated_shown: recommendation rows whose (user, item) came before.
        repeated_relevant: the same for the relevance.
        masked: rows scored -inf, which are not shown.
        seen: recommendations that are masked because the user has the item in the history.
        unknown_shown: shown items that the catalogue (or the history) does not have; None when it is not known.
        unknown_relevant: relevant rows whose item the catalogue does not have.
        shown_in_history: recommended items that the user has in the history; None when that is not known.
        relevant_in_history: relevant rows whose item the user has in the history.
        lists: what ranked them ("score", "rank", "given") -> how many lists.
        lowest_gain, highest_gain: of the rows of the relevance; None when there are none.
        without: table of the context that a metric reads, e.g. "item price" -> shown items, or users, without a value
            in it, and the number of all.
    """

    users: int = 0
    counted: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    shown_nothing: int = 0
    short_lists: int = 0
    repeated_shown: int = 0
    repeated_relevant: int = 0
    masked: int = 0
    unknown_shown: int | None = None
    unknown_relevant: int | None = None
    seen: int = 0
    shown_in_history: int | None = None
    relevant_in_history: int | None = None
    lists: Mapping[str, int] = field(default_factory=dict)
    lowest_gain: float | None = None
    highest_gain: float | None = None
    without: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @staticmethod
    def of(notes: Mapping[str, Any]) -> Population:
        """From the counts of the Census, which have the names of the attributes and of the reasons.

        >>> Population.of({"users": 4, "read item price": 9, "lacks item price": 2, "lacks user age": 0}).without
        {'item price': (2, 9)}
        """
        known: dict[str, Any] = {}
        without: dict[str, tuple[int, int]] = {}
        for name, count in notes.items():
            kind, _, table = name.partition(" ")
            if name in Population.__dataclass_fields__:
                known[name] = count
            elif kind == "lacks" and count:
                without[table] = count, notes[f"read {table}"]
        left_out = {reason: notes[reason] for reason in REASONS if notes.get(reason)}
        lists = {order: notes[f"by {order}"] for order in ORDERS if notes.get(f"by {order}")}
        return Population(**known, left_out=left_out, lists=lists, without=without)

    def sentences(self, metrics: Iterable[Metric] = ()) -> list[str]:
        """Sentences: who was counted; then each oddity that occurred, and how these metrics treat it."""
        metrics = list(metrics)
        left = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items())
        lines = [f"{self.counted:,} of {self.users:,} users counted" + (f"; left out: {left}" if left else "")]
        if reading := self.describe_reading(metrics):
            lines.append(reading)
        odd = {
            "users that count were shown nothing and score 0": self.shown_nothing,
            "users were shown fewer items than the largest cutoff": self.short_lists,
            f"repeated (user, item) rows in the recommendations; {_fate_shown(metrics)}": self.repeated_shown,
            f"repeated (user, item) rows in the relevance; {_fate_relevant(metrics)}": self.repeated_relevant,
            "rows scored -inf are masked": self.masked,
            "recommendations are masked because the user has the item in the history": self.seen,
            "recommended items are in the user's own history": self.shown_in_history or 0,
            "relevant rows are in the user's own history": self.relevant_in_history or 0,
            "shown items are not in the catalogue": self.unknown_shown or 0,
            "relevant rows have an item that is not in the catalogue": self.unknown_relevant or 0,
        }
        lines += [f"{count:,} {what}" for what, count in odd.items() if count]
        return lines + [_describe_gap(table, *counts) for table, counts in self.without.items()]

    def describe_reading(self, metrics: Iterable[Metric] = ()) -> str:
        """Sentences about the order of the lists, the gains that were read, and how these metrics count them."""
        return describe_reading(self.lists, self.lowest_gain, self.highest_gain, metrics)


@dataclass(frozen=True)
class Report(Exports, Mapping[str, float]):
    """The numbers of one evaluation, a Mapping of name to number, with export methods (`to_csv`, `to_html`, ...).

    Attributes:
        results: name -> Result, with users, deviation, parts and notes.
        metrics: name -> the Metric behind it.
        population: who counted, who was left out, and why.
        loader: the loader that read the data.
        label: a mark of every number that is printed or exported, e.g. "sampled n=99".
        manifest: the record of what made it, if known: inputs and their hashes, parameters.
        by: the kinds of slices that were asked for.
        item_slices: per-user values in slices of items.
        origin: the kind of frame that the lists came in.
        device: where it ran, e.g. "cpu" or "cuda:0".
    """

    results: Mapping[str, Result]
    metrics: Mapping[str, Metric]
    population: Population
    loader: str = ""
    collected: Mapping[str, UserTable] = field(default_factory=dict)
    label: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    by: tuple[Labels, ...] = ()
    item_slices: tuple[ItemSlice, ...] = ()
    origin: Origin = field(default_factory=Origin)
    device: str = field(default="cpu", compare=False)

    @property
    def systems(self) -> Mapping[str, Report]:
        return {"": self}

    @cached_property
    def slices(self) -> Slices | None:
        """The same by slices, if `by=` asked for them."""
        return sliced(self) if self.by else None

    def is_mean_of_users(self, name: str) -> bool:
        """Whether a number is the mean of the per-user values; a median, or a pooled RMSE, is not."""
        table, value = self.collected.get(name), self.results[name].value
        if table is None or value is None:
            return False
        defined = table.values[~np.isnan(table.values)]
        return not len(defined) or is_same_mean(float(defined.mean()), value)

    def marked(self, name: str) -> str:
        """A metric's name with the report's label."""
        return f"{name} ({self.label})" if self.label else name

    @cached_property
    def _numbers(self) -> dict[str, float]:
        """Name -> number; metrics with named parts give one entry for each."""
        return {name: value for own, result in self.results.items() for name, value in result.numbers(own).items()}

    def __getitem__(self, name: str) -> float:
        numbers = self._numbers
        return numbers[name] if name in numbers else numbers[self._find_name(name)]

    def __iter__(self) -> Any:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def per_user(self, name: str | None = None, *, wide: bool = False) -> Any:
        """Every user's value of one metric or of all; needs `evaluate(..., per_user=True)`.

        Args:
            name: a metric; None for all.
            wide: a row for each user and a column for each metric, in place of rows (user, metric, k, value).

        Returns:
            A frame of the kind that the recommendations came in, with its column for the user: pandas, polars, Arrow,
            duckdb, narwhals or Hugging Face. pandas and "user" for other objects. Where the evaluation ran in Spark, a
            Spark frame, of which nothing has been collected.
        """
        own = [self._find_name(name)] if name is not None else list(self.collected)
        if not own:
            raise UnknownMetricError("the report has no per-user values", hint="evaluate with per_user=True")
        missing = [one for one in own if one not in self.collected]
        if missing:
            hint = (
                "evaluate with per_user=True"
                if self.metrics[missing[0]].per_user() is not None
                else "this metric has one value for all users"
            )
            raise UnknownMetricError(f"the report has no per-user values of {missing[0]}", hint=hint)
        tables = {(one, self.metrics[one].cutoff): self.collected[one] for one in own}
        elsewhere = [table for table in tables.values() if not isinstance(table, UserTable)]
        if elsewhere:
            return elsewhere[0].side_by_side(tables) if wide else elsewhere[0].together(tables)
        return self.origin.restore(UserTable.side_by_side(tables) if wide else UserTable.together(tables))

    def __str__(self) -> str:
        slices = [show_hidden(line) for line in self.slices.headlines()] if self.slices else []
        sentences = self.population.sentences(self.metrics.values())
        return "\n".join([str(self.wide()), "", *sentences, *self.notes(), *slices])

    def notes(self) -> list[str]:
        """Counts that help to judge a number, for each metric that has any: joined pairs, sample sizes, clipping."""
        return [
            f"{name}: " + ", ".join(f"{what} {format_note(value)}" for what, value in result.notes.items())
            for name, result in self.results.items()
            if result.notes
        ]

    __repr__ = __str__

    def _find_name(self, name: str) -> str:
        """The report's own spelling of a name; a toolkit's prefix may be left out if the rest is unique."""
        lower = name.lower()
        for spelled in self.results:
            if spelled.lower() == lower:
                return spelled
        bare = [spelled for spelled in self.results if spelled.lower().partition(":")[2] == lower]
        if len(bare) == 1:
            return bare[0]
        raise UnknownMetricError(f"the report has no {name!r}", hint=f"it has {', '.join(self.results)}")


def is_same_mean(mean: float, value: float) -> bool:
    """Whether a number is this mean of per-user values, but for rounding."""
    return bool(np.isclose(mean, value, rtol=1e-9, atol=1e-12))


@checked
def sliced(report: Report, by: Any = None, *, alpha: float = 0.05, resamples: int = 2_000, seed: int = 0) -> Slices:
    """The metrics of a report that are means over users, by slices.

    Args:
        report: made with per_user=True; for slices of items with by=.
        by: a mapping user -> label, or a frame with the id of users or items and columns of labels, or several; None
            takes the slices that the report was made with.
        alpha: intervals (BCa bootstrap) have confidence 1 - alpha.
        resamples: of the bootstrap, which slices of fewer than 1,000 users need.
        seed: of the bootstrap.
    """
    from bridgeval.stats.differences import Settings
    from bridgeval.stats.paired_values import Panel
    from bridgeval.stats.slice_analysis import slice_values

    if not report.collected:
        raise InputError(
            "the report has no per-user values to slice",
            f"metrics {', '.join(report.metrics)}",
            "evaluate with per_user=True",
            argument="report",
        )
    tables = {name: table for name, table in report.collected.items() if report.is_mean_of_users(name)}
    how = Settings(alpha=alpha, resamples=resamples, seed=seed)
    labels = report.by if by is None else read_slice_labels(by)
    return slice_values(labels, Panel.of({"": tables}), {"": report.item_slices}, [], report.metrics, how)


def build_report(
    named: Mapping[str, Metric],
    results: Mapping[Metric, Result],
    loader: str = "",
    label: str = "",
    is_part: bool = False,
    device: str = "cpu",
) -> Report:
    """Builds a Report; warns of oddities that the numbers do not show; an error if no user could be scored.

    Args:
        is_part: whether others will be merged with it, so that it may have no user.
        device: where it ran.
    """
    notes = next(iter(results.values())).notes
    population = Population.of(notes)
    if not population.users and not is_part:
        raise InputError(
            "there is no user to evaluate",
            "no rows in the recommendations and the relevance",
            "check both inputs",
        )
    _warn(notes, population, named.values())
    tables = {metric: result.per_user for metric, result in results.items() if result.per_user is not None}
    companions = {name: metric.per_user() for name, metric in named.items()} if tables else {}
    collected = {name: tables[metric] for name, metric in companions.items() if metric in tables}
    found = {name: results[metric] for name, metric in named.items()}
    if not is_part:
        _refuse_nobody(found, population)
    return Report(found, named, population, loader, collected, label, device=device)


def _warn(notes: Mapping[str, Any], population: Population, asked: Iterable[Metric]) -> None:
    for alarm in find_alarms(notes):
        warn_caller(f"{alarm.what}: {alarm.effect}", alarm.category)
    if repeated := population.repeated_shown:
        told = f"{repeated} repeated (user, item) rows in the recommendations; {_fate_shown(asked)}"
        warn_caller(told, DuplicateRowsWarning)
    for table, (lacking, whole) in population.without.items():
        if lacking > LARGE_SHARE * whole:
            told = f"{_describe_gap(table, lacking, whole)}; metrics may leave these out: check that the ids match"
            warn_caller(told, MissingContextWarning)


def _describe_gap(table: str, lacking: int, whole: int) -> str:
    """Says how many lack a value.

    >>> _describe_gap("item price", 2, 1900)
    "2 of 1,900 shown items have no 'price'"
    """
    side, _, name = table.partition(" ")
    return f"{lacking:,} of {whole:,} {'shown items' if side == 'item' else 'users'} have no {name!r}"


def _fate_shown(metrics: Iterable[Metric]) -> str:
    return _fate(REPEATED_SHOWN, [one.ranking.duplicates for one in metrics if isinstance(one, RankingMetric)])


def _fate_relevant(metrics: Iterable[Metric]) -> str:
    return _fate(REPEATED_RELEVANT, [one.relevance.duplicates for one in metrics if isinstance(one, RankingMetric)])


def _fate(words: Mapping[str, str], policies: Sequence[str]) -> str:
    """The treatment of repeated rows in words; metrics without such a policy keep the best.

    >>> _fate(REPEATED_SHOWN, ["all", "best", "all"])
    'by metric, each keeps its place or the best one counts'
    """
    told = list(dict.fromkeys(words[policy] for policy in policies or ["best"]))
    return told[0] if len(told) == 1 else f"by metric, {' or '.join(told)}"


def _refuse_nobody(results: Mapping[str, Result], population: Population) -> None:
    empty = [name for name, result in results.items() if result.users == 0 and not result.undefined]
    if empty and len(empty) == len(results):
        raise InputError(
            f"no user could be scored for {', '.join(empty)}",
            "; ".join(population.sentences()),
            "check that the relevance has rows with a gain above 0 and that user ids agree on both sides",
        )
