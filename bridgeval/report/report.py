"""Report: values, per-user values, who counted and who did not, and what was odd about the data."""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bridgeval.engine.metric import Metric
from bridgeval.engine.summary import Result, UserTable
from bridgeval.errors import DuplicateRowsWarning, InputError, UnknownMetricError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Population:
    """Who and what was there, by the native decisions about meaning.

    Attributes:
        users: users that either side names.
        counted: those with at least one relevant item.
        left_out: reason -> users.
        shown_nothing: users that count but were shown nothing; they score 0.
        short_lists: users that count and were shown fewer items than the largest cutoff.
        repeated_shown: recommendation rows whose (user, item) came before; the best one counts.
        repeated_relevant: the same for the relevance.
        masked: rows scored -inf, which are not shown.
        seen: cells of a score matrix that are masked because the user has the item in the history.
        unknown_shown: shown items that the catalogue (or the history) does not have; None when it is not known.
        unknown_relevant: relevant rows whose item the catalogue does not have.
    """

    users: int
    counted: int
    left_out: Mapping[str, int]
    shown_nothing: int
    short_lists: int
    repeated_shown: int
    repeated_relevant: int
    masked: int
    unknown_shown: int | None = None
    unknown_relevant: int | None = None
    seen: int = 0

    @staticmethod
    def of(notes: Mapping[str, Any]) -> Population:
        """From the counts of the Census."""
        reasons = ("no relevance given", "no relevant item")
        return Population(
            notes.get("users", 0),
            notes.get("counted", 0),
            {reason: notes[reason] for reason in reasons if notes.get(reason)},
            notes.get("shown nothing", 0),
            notes.get("short lists", 0),
            notes.get("repeated shown rows", 0),
            notes.get("repeated relevant rows", 0),
            notes.get("masked rows", 0),
            notes.get("shown items not in the catalogue"),
            notes.get("relevant items not in the catalogue"),
            notes.get("seen rows", 0),
        )

    def sentences(self) -> list[str]:
        """In words, the ordinary first; oddities only where there are any."""
        left = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items())
        lines = [f"{self.counted:,} of {self.users:,} users counted" + (f"; left out: {left}" if left else "")]
        odd = {
            "users that count were shown nothing and score 0": self.shown_nothing,
            "users were shown fewer items than the largest cutoff": self.short_lists,
            "repeated (user, item) rows in the recommendations; the best one counts": self.repeated_shown,
            "repeated (user, item) rows in the relevance; the highest gain counts": self.repeated_relevant,
            "rows scored -inf are masked": self.masked,
            "scores are masked because the user has the item in the history": self.seen,
            "shown items are not in the catalogue": self.unknown_shown or 0,
            "relevant rows have an item that is not in the catalogue": self.unknown_relevant or 0,
        }
        return lines + [f"{count:,} {what}" for what, count in odd.items() if count]


@dataclass(frozen=True)
class Report(Mapping[str, float]):
    """The numbers of one evaluation, by the name of the metric.

    Attributes:
        results: name -> Result, with users, deviation, parts and notes.
        metrics: name -> the Metric behind it.
        population: who counted, who was left out, and why.
        loader: the loader that read the data.
        label: what every number is marked with where it is printed or exported, e.g. "sampled n=99".
    """

    results: Mapping[str, Result]
    metrics: Mapping[str, Metric]
    population: Population
    loader: str = ""
    collected: Mapping[str, UserTable] = field(default_factory=dict)
    label: str = ""

    @property
    def values(self) -> dict[str, float]:  # type: ignore[override]
        """Name -> number; metrics with named parts give one entry for each."""
        flat: dict[str, float] = {}
        for name, result in self.results.items():
            if result.value is not None:
                flat[name] = result.value
            flat |= {f"{name}[{part}]": value for part, value in result.parts.items()}
        return flat

    def __getitem__(self, name: str) -> float:
        values = self.values
        return values[name] if name in values else values[self._spelled(name)]

    def __iter__(self) -> Any:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def per_user(self, name: str) -> pd.DataFrame:
        """A frame (user, value) of one metric; needs `evaluate(..., per_user=True)`."""
        import pandas as pd

        own = self._spelled(name)
        if own not in self.collected:
            hint = (
                "evaluate with per_user=True"
                if self.metrics[own].per_user() is not None
                else "this metric has one value for all users"
            )
            raise UnknownMetricError(f"the report has no per-user values of {own}", hint=hint)
        table = self.collected[own]
        users = table.users.tolist() if table.users is not None else []
        return pd.DataFrame({"user": users, "value": table.values})

    def to_pandas(self) -> pd.DataFrame:
        """A frame in long form: metric (with the report's label), k, value, low, high, users; a row for each number."""
        import pandas as pd

        return pd.DataFrame(self._rows())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: numbers by name, then the population."""
        label = {"label": self.label} if self.label else {}
        return {"values": self.values, "population": self.population.__dict__, "loader": self.loader, **label}

    def __str__(self) -> str:
        from tabulate import tabulate

        rows = [
            (row["metric"], _number(row["value"]), _interval(row["low"], row["high"]), _count(row["users"]))
            for row in self._rows()
        ]
        table = tabulate(rows, headers=["metric", "value", "95% interval", "users"], disable_numparse=True,
                         colalign=("left", "right", "right", "right"))  # fmt: skip
        return "\n".join([table, "", *self.population.sentences()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{html.escape(row['metric'])}</td><td>{_number(row['value'])}</td>"
            f"<td>{_interval(row['low'], row['high'])}</td><td>{_count(row['users'])}</td></tr>"
            for row in self._rows()
        )
        notes = "<br>".join(map(html.escape, self.population.sentences()))
        head = "<tr><th>metric</th><th>value</th><th>95% interval</th><th>users</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{notes}</p>"

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        mark = f" ({self.label})" if self.label else ""
        for name, result in self.results.items():
            k = getattr(self.metrics[name], "k", None)
            common = {"k": k, "users": result.users}
            if result.value is not None:
                low, high = result.interval() or (math.nan, math.nan)
                rows.append({"metric": name + mark, "value": result.value, "low": low, "high": high, **common})
            for part, value in result.parts.items():
                spelled = f"{name}[{part}]{mark}"
                rows.append({"metric": spelled, "value": value, "low": math.nan, "high": math.nan, **common})
        return rows

    def _spelled(self, name: str) -> str:
        """The report's own spelling of a name; a toolkit's prefix may be left out where that is unique."""
        lower = name.lower()
        for spelled in self.results:
            if spelled.lower() == lower:
                return spelled
        bare = [spelled for spelled in self.results if spelled.lower().partition(":")[2] == lower]
        if len(bare) == 1:
            return bare[0]
        raise UnknownMetricError(f"the report has no {name!r}", hint=f"it has {', '.join(self.results)}")


def report_of(asked: Sequence[Metric], results: Mapping[Metric, Result], loader: str = "", label: str = "") -> Report:
    """A Report of what was asked for; warns of repeated rows; refuses to report on nobody."""
    population = Population.of(next(iter(results.values())).notes)
    if not population.users:
        raise InputError(
            "there is no user to evaluate",
            "no rows in the recommendations and the relevance",
            "check both inputs",
        )
    if population.repeated_shown:
        warnings.warn(
            f"{population.repeated_shown} repeated (user, item) rows in the recommendations; the best one counts",
            DuplicateRowsWarning,
            stacklevel=3,
        )
    named = {str(metric): metric for metric in asked}
    per_user = {name: results.get(metric.per_user()) for name, metric in named.items() if metric.per_user()}  # type: ignore[arg-type]
    collected = {
        name: result.per_user for name, result in per_user.items() if result is not None and result.per_user is not None
    }
    found = {name: results[metric] for name, metric in named.items()}
    _refuse_nobody(found, population)
    return Report(found, named, population, loader, collected, label)


def _refuse_nobody(results: Mapping[str, Result], population: Population) -> None:
    empty = [name for name, result in results.items() if result.users == 0 and not result.undefined]
    if empty and len(empty) == len(results):
        raise InputError(
            f"0 users count for {', '.join(empty)}",
            "; ".join(population.sentences()),
            "check that the relevance has rows with a gain above 0 and that user ids agree on both sides",
        )


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1e5 else f"{value:.5g}"


def _interval(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"{low:.4f} .. {high:.4f}"


def _count(users: int | None) -> str:
    return "" if users is None else f"{users:,}"
