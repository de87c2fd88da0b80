"""Table views: from the long form, a row for each number, to a wide table for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bridgeval.report.plain_text import show_hidden

EVERYONE = "all"


@dataclass(frozen=True)
class Row:
    """One number.

    Attributes:
        slice: the part of the users it is about; "all" is everyone.
        low, high: the 95% interval, NaN if there is none.
        users: how many it was taken over, None if it is not taken over users.
    """

    system: str
    metric: str
    k: int | None
    slice: str
    value: float
    low: float = math.nan
    high: float = math.nan
    users: int | None = None

    @property
    def text(self) -> str:
        """The formatted number; a count, which has no interval, without decimals.

        >>> Row("", "ItemCoverage@10", 10, EVERYONE, 177.0).text, Row("", "Gini@10", 10, EVERYONE, 0.5).text
        ('177', '0.5000')
        """
        is_count = math.isnan(self.low) and float(self.value).is_integer() and self.value > 1
        return f"{self.value:,.0f}" if is_count else format_number(self.value)


@dataclass(frozen=True)
class Cell:
    """One cell of a wide table."""

    text: str
    best: bool = False

    def __post_init__(self) -> None:
        # Names of slices and systems come from data; they are shown on terminals and in tables.
        object.__setattr__(self, "text", show_hidden(self.text))


@dataclass(frozen=True)
class Wide:
    """A table for people: a title for each column, a row for each metric.

    Attributes:
        head: the titles of the columns.
        rows: the cells of each row; the first is its name.
        names: how many of the first columns are names, which are aligned on the left.
    """

    head: list[str]
    rows: list[list[Cell]]
    names: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "head", list(map(show_hidden, self.head)))

    def __str__(self) -> str:
        """The table as plain text."""
        from tabulate import tabulate

        lines = [[cell.text for cell in row] for row in self.rows]
        aligned = ["left"] * self.names + ["right"] * (len(self.head) - self.names)
        return str(tabulate(lines, self.head, disable_numparse=True, colalign=aligned))


def make_wide(rows: Sequence[Row], better: Mapping[str, bool | None]) -> Wide:
    """The wide view of a long form.

    Args:
        rows: the long form.
        better: metric -> whether higher is better; None, or no entry, marks no value as the best.
    """
    systems = list(dict.fromkeys(row.system for row in rows))
    if len(systems) < 2:
        texts = [(_title(row), row.text, format_interval(row.low, row.high), format_count(row.users)) for row in rows]
        return Wide(["metric", "value", "95% interval", "users"], [list(map(Cell, line)) for line in texts])
    by_title: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_title.setdefault(_title(row), {})[row.system] = row
    wide = [[Cell(title), *_make_cells(found, systems, better)] for title, found in by_title.items()]
    return Wide(["metric", *systems], wide)


def _make_cells(
    found: Mapping[str, Row], systems: Sequence[str], better: Mapping[str, bool | None]
) -> tuple[Cell, ...]:
    metric = next(iter(found.values())).metric
    best = find_best((row.value for row in found.values()), better.get(metric))
    return tuple(
        Cell(_format_with_half_width(found[name]), found[name].value == best) if name in found else Cell("")
        for name in systems
    )


def _format_with_half_width(row: Row) -> str:
    # The longer side: the other may be cut off at the metric's bound.
    half = max(row.high - row.value, row.value - row.low)
    return row.text + ("" if math.isnan(row.low) else f" ± {half:.4f}")


def _title(row: Row) -> str:
    return row.metric if row.slice == EVERYONE else f"{row.metric} · {row.slice}"


def find_best(values: Iterable[float], higher: bool | None) -> float | None:
    """The best of several; None where neither direction is better, or where all are the same.

    >>> find_best([1.0, 3.0], True), find_best([1.0, 3.0], False), find_best([2.0, 2.0], True)
    (3.0, 1.0, None)
    """
    finite = [value for value in values if math.isfinite(value)]
    if higher is None or len(set(finite)) < 2:
        return None
    return max(finite) if higher else min(finite)


def format_number(value: float) -> str:
    """Four decimals; large numbers, which mostly are counts, without.

    >>> format_number(0.25), format_number(1234567.0), format_number(1e20)
    ('0.2500', '1,234,567', '1e+20')
    """
    if math.isnan(value) or abs(value) < 1e5:
        return "undefined" if math.isnan(value) else f"{value:.4f}"
    return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.5g}"


def format_note(value: float) -> str:
    """A count as a whole number, a share with four digits.

    >>> format_note(15330), format_note(15330.4), format_note(0.123456)
    ('15,330', '15,330', '0.1235')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.4g}"


def format_interval(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"{low:.4f} .. {high:.4f}"


def format_count(users: int | None) -> str:
    return "" if users is None else f"{users:,}"
