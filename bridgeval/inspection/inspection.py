"""inspect: oddities of the data, and the effect of each on the headline metric."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np
import pyarrow.compute as pc
import torch

from bridgeval import plugins, spec
from bridgeval.engine.census import LARGE_SHARE, ORDERS, Census, describe_reading, find_alarms
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Execution, Plan, fold
from bridgeval.engine.summary import Result
from bridgeval.errors import BridgevalError, MisalignedError
from bridgeval.inspection import id_mismatch as ids, variations
from bridgeval.inspection.findings import Finding, Inspection, Level
from bridgeval.inspection.time_leakage import find_early_truth
from bridgeval.io.columns import Chosen, Role, find_columns
from bridgeval.io.files import is_path, open_table, read_table
from bridgeval.io.frames import is_frame, to_table
from bridgeval.tables.slates import Slates

ORDER = {"stop": 0, "alarm": 1, "note": 2, "fine": 3}
# A relative change of the headline metric above which a finding is an alarm.
LARGE_CHANGE = 0.01


def inspect(
    recommendations: Any,
    relevance: Any,
    metrics: str | Metric | Iterable[str | Metric] = "nDCG@10",
    *,
    convention: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    loader: str | None = None,
    **extras: Any,
) -> Inspection:
    """Inspects the data before you trust a number computed from it.

    Args:
        recommendations: as for `evaluate`.
        relevance: as for `evaluate`.
        metrics: the first ranking metric is the headline metric, for which effects are computed.
        convention: as for `evaluate`.
        columns: as for `evaluate`.
        loader: as for `evaluate`.
        **extras: `history=`, `catalogue=` and the rest, as for `evaluate`.

    Returns:
        An Inspection. Data that `evaluate` rejects is a finding here, not an error.

    >>> found = inspect({1: {"a": 0.5, "b": 0.5}}, {1: ["a"], 2: ["a"]}, "MRR@1")
    >>> print(found["ties"].effect)
    MRR@1 lies between 0.0000 and 0.5000, depending on how equal scores are ordered
    """
    headline = _headline(spec.parse_all(metrics, convention))
    found: list[Finding] = []
    recommendations = drop_missing(recommendations, "recommendations", columns, found)
    relevance = drop_missing(relevance, "relevance", columns, found)
    try:
        if early := find_early_truth(relevance, open_table(extras.get("history")), columns):
            found.append(Finding(early.key, "alarm", early.what, early.effect, early.count))
        chosen = plugins.installed().loader_for(recommendations, relevance, loader)
        source: Any = chosen.load(recommendations, relevance, columns=columns, **extras)
        while hasattr(source, "open"):
            source = source.open(_list_needs(headline))
        if hasattr(source, "slates"):
            return _Look(headline, source, found).inspection()
        what = f"the lists of loader {chosen.name!r} are not in this process, so they were not inspected"
        found.append(Finding("not inspected", "note", what))
    except MisalignedError as error:
        found.append(ids.describe_other_type(error, recommendations, relevance, columns))
    except BridgevalError as error:
        told = error.wrong + (f" ({error.found})" if error.found else "")
        found.append(Finding("unreadable", "stop", told, f"no metric can be computed; {error.hint}"))
    return Inspection(str(headline), None, {}, _sort(found))


def drop_missing(value: Any, role: Role, columns: Chosen | None, found: list[Finding]) -> Any:
    """Drops rows of a frame or file that lack an id or a number, and adds a finding.

    `evaluate` rejects such data; an inspection counts the rows and continues with the others.
    """
    try:
        if is_path(value):
            value = read_table(os.fspath(value))
        if not is_frame(value):
            return value
        table = to_table(value)
        names = find_columns(role, table.column_names, columns).values()
    except BridgevalError:
        # The loader raises a better error.
        return value
    missing = {name: pc.is_null(table[name], nan_is_null=True) for name in names}
    counts = {name: pc.sum(flags).as_py() or 0 for name, flags in missing.items()}
    for name, count in counts.items():
        if count:
            what = f"{count:,} of {len(table):,} rows of the {role} have no value in {name!r} (null or NaN)"
            effect = "`evaluate` rejects them; the other rows were inspected"
            found.append(Finding("missing values", "stop", what, effect, count))
    return table.filter(pc.invert(reduce(pc.or_, missing.values()))) if any(counts.values()) else value


def _list_needs(headline: Metric) -> Needs:
    """The needs of the headline metric and of the findings."""
    return headline.needs() | Needs(depth=None, optional=frozenset({"seen"}))


class _Look:
    """One inspection: the lists, the headline metric, and the findings so far."""

    def __init__(self, headline: Metric, source: Any, found: list[Finding]) -> None:
        self.headline = headline
        self.k = headline.cutoff or 0
        self.context = source.context
        self.found = found
        self.history = "seen" in source.offers
        headline.needs().check(str(headline), source.offers)
        self.chunks: list[Slates] = list(source.slates(_list_needs(headline)))
        # A score matrix has no lists until it is ranked, so ties and seen items are not searched for.
        self.has_lists = all(hasattr(slates.shown, "offsets") for slates in self.chunks)

    def inspection(self) -> Inspection:
        results = self._results([Census(self.headline.needs().depth), self.headline])
        self.counts: Mapping[str, Any] = results[0].notes
        self.value = results[1].value
        users = {
            "recommended to": self._sum(lambda s: s.shown.lengths > 0),
            "with relevance": self._sum(lambda s: s.relevant.lengths > 0),
            "in both": self._sum(lambda s: (s.shown.lengths > 0) & (s.relevant.lengths > 0)),
        }
        self.users = users
        looks = [self._alarms, self._reading, self._alignment, self._short_lists, self._repeats, self._unknown]
        looks += [self._gains, self._masked, self._history]
        if self.has_lists:
            looks.append(self._ties)
        for look in looks:
            self.found.extend(look())
        return Inspection(str(self.headline), self.value, users, _sort(self.found))

    def _alarms(self) -> Iterator[Finding]:
        """What `evaluate` warns of, with more about its cause or effect."""
        more: dict[str, Callable[[], str]] = {"users in common": lambda: ids.compare_users(self.chunks)}
        if self.has_lists:
            more |= {"items in common": lambda: ids.compare_items(self.chunks), "seen items": self._describe_seen}
        for alarm in find_alarms(self.counts):
            told = more.get(alarm.key, str)()
            yield Finding(alarm.key, "alarm", alarm.what, "; ".join(filter(None, [told, alarm.effect])), alarm.count)

    def _describe_seen(self) -> str:
        without = self._value(variations.drop_seen)
        return "" if without is None else f"without them {self.headline} would be {without:.4f}"

    def _reading(self) -> Iterator[Finding]:
        lists = {order: count for order in ORDERS if (count := self._count(f"by {order}"))}
        gains = self.counts.get("lowest_gain"), self.counts.get("highest_gain")
        if told := describe_reading(lists, *gains, [self.headline]):
            yield Finding("reading", "note", told)

    def _alignment(self) -> Iterator[Finding]:
        both, truth, shown = (self.users[name] for name in ("in both", "with relevance", "recommended to"))
        if not both:
            return
        if lost := truth - both:
            yield Finding(
                "users without lists",
                _level(lost, truth),
                f"{lost:,} of {truth:,} users with relevant items have no recommendations",
                f"they score 0; {self._becomes('over the users of both sides', users='both')}",
                lost,
            )
        if unused := shown - both:
            what = f"{unused:,} of {shown:,} users with recommendations have no relevant items"
            yield Finding("users without relevance", "note", what, "they are not counted", unused)
        if both == truth == shown:
            yield Finding("users", "fine", f"all {both:,} users have recommendations and relevant items")

    def _short_lists(self) -> Iterator[Finding]:
        if not self.k:
            return
        counted = self._count("counted")
        short = self._count("short_lists") - self._count("shown_nothing")
        if not short:
            yield Finding("short lists", "fine", f"every list has at least {self.k} items")
            return
        what = f"{short:,} of {counted:,} lists are shorter than {self.k}"
        yield Finding("short lists", _level(short, counted), what, "missing places count as misses", short)

    def _repeats(self) -> Iterator[Finding]:
        shown, relevant = self._count("repeated_shown"), self._count("repeated_relevant")
        if shown:
            what = f"{shown:,} recommendations repeat a (user, item) pair"
            effect = f"the best rank counts; {self._becomes('if each time counted', duplicates='all')}"
            yield Finding("repeated recommendations", "alarm", what, effect, shown)
        if relevant:
            what = f"{relevant:,} rows of the relevance repeat a (user, item) pair"
            effect = f"the highest gain counts, once; {self._becomes('if each time counted', truth_duplicates='all')}"
            yield Finding("repeated relevance", "note", what, effect, relevant)
        if not shown and not relevant:
            yield Finding("repeated rows", "fine", "no (user, item) pair is repeated")

    def _ties(self) -> Iterator[Finding]:
        # Only a metric that ranks by score has ties to break.
        if not self.k or self.headline.parameters.get("order") != "score" or not self._scored:
            return
        tied = self._sum(lambda slates: variations.find_ties(slates.shown, self.k))
        low, high = (self._value(change) for change in (variations.worst_first, variations.best_first))
        what = f"{tied:,} of {self._count('counted'):,} lists have a tie at the cutoff ({self.k})"
        if low is None or high is None or self.value is None or high - low <= 1e-12:
            yield Finding("ties", "fine", "the order of ties does not change the value", count=tied)
            return
        level: Level = "alarm" if high - low > LARGE_CHANGE * max(self.value, low) else "note"
        effect = f"{self.headline} lies between {low:.4f} and {high:.4f}, depending on how equal scores are ordered"
        yield Finding("ties", level, what if tied else "there are ties above the cutoff", effect, tied)

    def _unknown(self) -> Iterator[Finding]:
        if self.context.catalogue is None:
            return
        shown = self._count("unknown_shown")
        relevant, rows = self._count("unknown_relevant"), self._count("relevant_rows")
        if shown:
            what = f"{shown:,} shown items are not in the catalogue or history"
            effect = "each takes a rank; metrics over the catalogue exclude them"
            yield Finding("unknown items shown", "alarm", what, effect, shown)
        if relevant:
            what = f"{relevant:,} of {rows:,} relevant rows have an item that is not in the catalogue or history"
            effect = "a system trained on that history cannot recommend it; recall cannot reach 1"
            yield Finding("unknown items relevant", _level(relevant, rows), what, effect, relevant)
        if not shown and not relevant:
            yield Finding("unknown items", "fine", "the catalogue has every item")

    def _history(self) -> Iterator[Finding]:
        if not self.history:
            return
        if self.has_lists and not self._count("shown_in_history"):
            yield Finding("seen items", "fine", "no recommended item is in the user's history")
        leaked, rows = self._count("relevant_in_history"), self._count("relevant_rows")
        if not leaked:
            yield Finding("leakage", "fine", "no relevant row is in the user's history")
        elif leaked <= LARGE_SHARE * rows:
            what = f"{leaked:,} of {rows:,} relevant rows are in the user's own history"
            yield Finding("leakage", "note", what, "they were part of the training", leaked)

    def _gains(self) -> Iterator[Finding]:
        above = self.headline.parameters.get("above")
        if above is None:
            return
        below = self._sum(lambda slates: slates.relevant.columns["gain"] <= above)
        if below:
            what = f"{below:,} rows of the relevance have a gain of {above:g} or less"
            effect = f"they are not relevant; {self._count('no relevant item'):,} users have no other and do not count"
            yield Finding("rows not relevant", "note", what, effect, below)

    def _masked(self) -> Iterator[Finding]:
        if masked := self._count("masked"):
            yield Finding("masked rows", "note", f"{masked:,} rows are scored -inf", "they are not shown", masked)

    def _count(self, what: str) -> int:
        """A count of the census; 0 if it has none."""
        return int(self.counts.get(what, 0))

    @property
    def _scored(self) -> bool:
        return all("score" in slates.shown.columns and not slates.shown.ranked for slates in self.chunks)

    def _sum(self, flags: Callable[[Slates], Any]) -> int:
        return sum(int(np.count_nonzero(flags(slates))) for slates in self.chunks)

    def _becomes(self, when: str, **parameters: Any) -> str:
        """The value of the headline metric with other parameters, as a sentence."""
        if not parameters.keys() <= self.headline.parameters.keys():
            return f"{self.headline} may differ {when}"
        value = self._results([self.headline.with_parameters(**parameters)])[0].value
        return f"{self.headline} is {self._number(self.value)}, and {self._number(value)} {when}"

    def _value(self, change: Callable[[Slates], Slates]) -> float | None:
        return self._results([self.headline], change)[0].value

    def _results(self, metrics: list[Metric], change: Callable[[Slates], Slates] = lambda same: same) -> list[Result]:
        plan = Plan(tuple(metrics))
        states = fold(plan, map(change, self.chunks), self.context, Execution(torch.device("cpu")))
        return [metric.compute(state) for metric, state in zip(metrics, states, strict=True)]

    @staticmethod
    def _number(value: float | None) -> str:
        return "undefined" if value is None else f"{value:.4f}"


def _headline(metrics: list[Metric]) -> Metric:
    ranking = [metric for metric in metrics if metric.family == "accuracy" and metric.cutoff]
    return (ranking or metrics)[0]


def _level(count: int, whole: int) -> Level:
    """An alarm if it affects many."""
    return "alarm" if count > LARGE_SHARE * whole else "note"


def _sort(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: ORDER[finding.level]))
