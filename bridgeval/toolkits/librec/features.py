"""Feature files: `id,feature,value`, one row per feature of an item or a user; a missing row means the value 0."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bridgeval.errors import BadValueError, InputError
from bridgeval.plugin import Ids, Table, encode_ids

SEPARATOR = re.compile(r"[ \t,]+")


@dataclass(frozen=True)
class Features:
    """The rows of a feature file.

    Attributes:
        values: by id, `[n, F]`; columns in the order in which features first appear, as LibRec numbers them.
        rows: by id, `[n, F]`: 1 where the file has a row, whatever its value.
    """

    values: Table
    rows: Table

    @property
    def groups(self) -> Table:
        """By id, the last feature with the value 1: its column counted from 1, 0 for none."""
        columns = np.arange(1, len(self.values.labels) + 1)
        last = ((self.values.values == 1) * columns).max(axis=1, initial=0)
        return Table(self.values.ids, last, self.values.labels)

    def select(self, known: Ids) -> Features:
        """Drops unknown ids, and features that only those have, as LibRec reads the file."""
        kept = np.flatnonzero(self.values.ids.positions_in(known) >= 0)
        used = np.flatnonzero(self.rows.values[kept].any(axis=0))
        labels = tuple(self.values.labels[column] for column in used)
        values, rows = (
            Table(table.ids.take(kept), table.values[kept][:, used], labels) for table in (self.values, self.rows)
        )
        return Features(values, rows)


def read_features(path: str | os.PathLike[str]) -> Features:
    """Reads a feature file. A missing value is 1; columns are separated by blanks, tabs or commas."""
    name = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name} cannot be read", str(error), "check the path and that it is UTF-8") from error
    rows = [_parse_row(name, number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not rows:
        raise InputError(f"{name} is empty", "no rows", "leave the file out of the configuration")
    ids, labels, numbers = zip(*rows, strict=True)
    vocabulary, (codes,) = encode_ids([Ids.of(list(ids), "ids")])
    column_of = {label: column for column, label in enumerate(dict.fromkeys(labels))}
    columns = [column_of[label] for label in labels]
    values = np.zeros((len(vocabulary), len(column_of)))
    values[codes, columns] = numbers
    present = np.zeros_like(values)
    present[codes, columns] = 1
    return Features(Table(vocabulary, values, tuple(column_of)), Table(vocabulary, present, tuple(column_of)))


def _parse_row(path: str, number: int, line: str) -> tuple[str, str, float]:
    fields = SEPARATOR.split(line.strip())
    if len(fields) < 2:
        raise BadValueError(
            f"{path}, line {number}: an id and a feature are needed", repr(line), "write id,feature,value"
        )
    try:
        value = float(fields[2]) if len(fields) > 2 else 1.0
    except ValueError:
        raise BadValueError(
            f"{path}, line {number}: the value is not a number", repr(line), "write 1, or leave it out"
        ) from None
    return fields[0], fields[1], value
