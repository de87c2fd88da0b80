"""Records: lists of named tuples, such as the predictions of Surprise and the scored documents of ir_measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bridgeval.errors import BadValueError

# Rows that tell the type of a field.
SAMPLE = 100


def is_records(value: Any) -> bool:
    """Whether it is a list whose first entry is a named tuple."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], tuple) and hasattr(value[0], "_fields")


@dataclass(frozen=True)
class RecordsFrame:
    """A list of named tuples; their fields are its columns.

    >>> from collections import namedtuple
    >>> Prediction = namedtuple("Prediction", "uid iid r_ui est details")
    >>> frame = RecordsFrame([Prediction("ann", "tea", 4.0, 3.5, {}), Prediction("bob", "rum", 1.0, 2.5, {})])
    >>> frame.read(["est"])["est"].to_pylist()
    [3.5, 2.5]
    """

    value: Sequence[Any]

    @property
    def names(self) -> list[str]:
        return list(self.value[0]._fields)

    def type_at(self, place: int) -> pa.DataType:
        return self._column(self.names[place], self.value[:SAMPLE]).type

    def read(self, names: Sequence[str]) -> dict[str, pa.Array]:
        return {name: self._column(name, self.value) for name in names}

    def _column(self, name: str, rows: Sequence[Any]) -> pa.Array:
        try:
            return pa.array([getattr(row, name) for row in rows], from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, AttributeError) as error:
            raise BadValueError(
                f"the field {name!r} of the records must hold integers, strings or numbers, all of one type",
                str(error).splitlines()[0],
                "convert it, or give a data frame",
            ) from error
