"""The classes that librec-auto's custom metrics extend. A metric written for it runs here with one line changed:

    from bridgeval.toolkits.librec import ListBasedMetric, RowBasedMetric

Three dialects are in use, and all are understood by their signatures: constructors `(params, test_data, result_data)`,
the same with `output_file`, and list metrics with `conf` in second place; `post_row_processing(values)`, or without an
argument over `self._scores`. Rows are joined by (user, item), never by position, and users are visited once.

Data are arrays `[n, 3]` of user, item and number. Ids are text; arrays are of Python objects for that reason.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bridgeval.errors import BadParameterError, InputError, MetricFailedError
from bridgeval.toolkits.librec.study_files import Triples, read_result, read_split

Array = npt.NDArray[Any]
Compat = Literal["librec-auto"] | None
Visited = Literal["test", "results", "both", "any"]

# How many arguments a constructor takes -> which they are.
DIALECTS = {
    3: ("params", "test_data", "result_data"),
    4: ("params", "test_data", "result_data", "output_file"),
    5: ("params", "conf", "test_data", "result_data", "output_file"),
}


class CustomBase:
    """What both kinds have: parameters, data and the name."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        names = DIALECTS.get(len(arguments) + len(named))
        if names is None or not set(named) <= set(names):
            raise BadParameterError(
                f"{type(self).__name__} cannot be made of {len(arguments) + len(named)} arguments",
                ", ".join(named),
                "call super().__init__(params, test_data, result_data)",
            )
        unnamed = [name for name in names if name not in named]
        given = dict(zip(unnamed, arguments, strict=True)) | named
        self._params: Mapping[str, Any] = given["params"] or {}
        self._test_data = given["test_data"]
        self._result_data = given["result_data"]
        self._conf = given.get("conf")
        self._output_file = given.get("output_file")
        self._name = type(self).__name__

    def get_params(self) -> Mapping[str, Any]:
        return self._params

    @staticmethod
    def read_data_from_file(path: str, delimiter: str = "\t") -> Array:
        """The rows of a file as an array of objects: text ids and a float."""
        return rows_array(read_split(path) if delimiter == "\t" else read_result(path, ranking=False))


class RowBasedMetric(CustomBase):
    """A metric of single predictions: `evaluate_row(test, result)`, then `post_row_processing(values)`.

    >>> class Rmse(RowBasedMetric):
    ...     def evaluate_row(self, test, result):
    ...         return (test[2] - result[2]) ** 2
    ...     def post_row_processing(self, values):
    ...         return (sum(values) / len(values)) ** 0.5
    >>> test, result = np.array([[1, 10, 4.0], [1, 11, 2.0]]), np.array([[1, 11, 2.0], [1, 10, 1.0]])
    >>> print(round(Rmse({}, test, result).evaluate(), 4))
    2.1213
    """

    def pre_row_processing(self) -> Any:
        """Before the first row."""

    def evaluate_row(self, test: Array, result: Array) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define evaluate_row(test, result)")

    def post_row_processing(self, values: list[Any]) -> Any:
        """The value of all rows; by default their mean."""
        return sum(values) / len(values) if values else math.nan

    def evaluate(self, compat: Compat = None) -> Any:
        """The value. compat="librec-auto" calls `evaluate_row(result, test)`, as that package does."""
        test, result = checked(self._test_data, "test"), checked(self._result_data, "result")
        self.pre_row_processing()
        swapped = compat == "librec-auto"
        self._scores: list[Any] = []
        for known, predicted in paired(test, result):
            try:
                self._scores.append(
                    self.evaluate_row(predicted, known) if swapped else self.evaluate_row(known, predicted)
                )
            except Exception as error:
                raise _failed(self, f"for user {known[0]!r} and item {known[1]!r}", error) from error
        try:
            return self.post_row_processing(*[self._scores][: _taken(self.post_row_processing)])
        except Exception as error:
            raise _failed(self, f"after {len(self._scores)} rows", error) from error


class ListBasedMetric(CustomBase):
    """A metric of whole lists: `evaluate_user(test_user_data, result_user_data)`, then `postprocessing()` over
    `self._values`.

    >>> class Hits(ListBasedMetric):
    ...     def evaluate_user(self, test_user_data, result_user_data):
    ...         return len(set(test_user_data[:, 1]) & set(result_user_data[:, 1]))
    ...     def postprocessing(self):
    ...         return sum(self._values) / len(self._values)
    >>> Hits({}, np.array([[1, 10, 4.0], [2, 11, 2.0]]), np.array([[1, 10, 0.9], [1, 12, 0.5]])).evaluate()
    0.5
    """

    def preprocessing(self) -> Any:
        """Before the first user."""

    def evaluate_user(self, test_user_data: Array, result_user_data: Array) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define evaluate_user(test_user_data, result_user_data)")

    def postprocessing(self) -> Any:
        """The value of all users; by default the mean of `self._values`."""
        return sum(self._values) / len(self._values) if self._values else math.nan

    def evaluate(self, users: Visited = "test") -> Any:
        """The value.

        Args:
            users: who is visited: users with "test" rows, with "results", with "both", with "any" of them. The side
                that a user lacks is an empty array.
        """
        test, result = checked(self._test_data, "test"), checked(self._result_data, "result")
        self.preprocessing()
        self._values: list[Any] = []
        self._users: list[Any] = []
        for user, known, shown in by_user(test, result, users):
            try:
                self._values.append(self.evaluate_user(known, shown))
            except Exception as error:
                raise _failed(self, f"for user {user!r}", error) from error
            self._users.append(user)
        try:
            return self.postprocessing()
        except Exception as error:
            raise _failed(self, f"after {len(self._users)} users", error) from error


def made(metric: type[CustomBase], params: Mapping[str, Any], test: Array, result: Array, conf: Any = None) -> Any:
    """An instance of a custom metric, by the dialect of its constructor."""
    given = {"params": params, "conf": conf, "test_data": test, "result_data": result, "output_file": None}
    taken = _taken(metric.__init__) - 1 if metric.__init__ is not CustomBase.__init__ else 3
    if taken not in DIALECTS:
        raise BadParameterError(
            f"the constructor of {metric.__name__} takes {taken} arguments",
            hint="librec-auto's take (params, test_data, result_data), with output_file last and conf second if at all",
        )
    return metric(*(given[name] for name in DIALECTS[taken]))


def rows_array(triples: Triples) -> Array:
    """`[n, 3]` of objects: user, item, number."""
    users = triples.users.names.to_numpy(zero_copy_only=False)[triples.users.codes]
    items = triples.items.names.to_numpy(zero_copy_only=False)[triples.items.codes]
    return joined_columns(users, items, triples.numbers)


def joined_columns(users: Array, items: Array, numbers: Array) -> Array:
    """`[n, 3]` of objects."""
    rows = np.empty((len(numbers), 3), dtype=object)
    rows[:, 0], rows[:, 1], rows[:, 2] = users, items, numbers
    return rows


def as_numbers(rows: Array) -> Array:
    """Rows as float64, as librec-auto reads files of numeric ids; as they are where an id is not a number."""
    try:
        return rows.astype(np.float64)
    except ValueError:
        return rows


def checked(data: Any, what: str) -> Array:
    array = np.asarray(data)
    if array.ndim != 2 or array.shape[1] < 3:
        raise InputError(
            f"the {what} data of a custom metric must be an array of rows (user, item, number)",
            f"shape {array.shape}",
            "read it with read_data_from_file",
        )
    return array


def paired(test: Array, result: Array) -> Iterator[tuple[Array, Array]]:
    """Rows of both sides with the same user and item, in the order of the result; unmatched rows are left out."""
    users, _ = pd.factorize(np.concatenate([test[:, 0], result[:, 0]]))
    items, names = pd.factorize(np.concatenate([test[:, 1], result[:, 1]]))
    keys = users * (len(names) + 1) + items
    known, first = np.unique(keys[: len(test)], return_index=True)
    wanted = keys[len(test) :]
    at = np.searchsorted(known, wanted).clip(max=len(known) - 1)
    matched = np.flatnonzero(known[at] == wanted) if len(known) else np.zeros(0, np.int64)
    yield from zip(test[first[at[matched]]], result[matched], strict=True)


def by_user(test: Array, result: Array, users: Visited) -> Iterator[tuple[Any, Array, Array]]:
    """Each user once, in the order of the ids, with the rows of both sides in the order of the file."""
    codes, names = pd.factorize(np.concatenate([test[:, 0], result[:, 0]]), sort=True)
    sides = []
    for rows, own in ((test, codes[: len(test)]), (result, codes[len(test) :])):
        order = np.argsort(own, kind="stable")
        ends = np.searchsorted(own[order], np.arange(len(names) + 1))
        sides.append((rows[order], ends, np.diff(ends) > 0))
    (known, known_ends, tested), (shown, shown_ends, listed) = sides
    visited = {"test": tested, "results": listed, "both": tested & listed, "any": tested | listed}[users]
    for user in np.flatnonzero(visited):
        yield (
            names[user],
            known[known_ends[user] : known_ends[user + 1]],
            shown[shown_ends[user] : shown_ends[user + 1]],
        )


def _taken(function: Any) -> int:
    """How many positional arguments a function takes."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in kinds for parameter in inspect.signature(function).parameters.values())


def _failed(metric: CustomBase, where: str, error: Exception) -> MetricFailedError:
    return MetricFailedError(f"{type(metric).__name__} failed {where}", f"{type(error).__name__}: {error}")
