"""The classes that librec-auto's custom metrics extend. A metric written for it runs here with one line changed:

    from bridgeval.toolkits.librec import ListBasedMetric, RowBasedMetric

Three dialects are in use, told apart by their signatures: constructors `(params, test_data, result_data)`, the same
with `output_file`, and list metrics with `conf` as second argument; `post_row_processing(values)`, or without an
argument over `self._scores`. A constructor that takes `original_data` gets the lists before re-ranking in place of the
test rows. Rows are joined by (user, item), never by position, and every user is visited once.

Data are arrays `[n, 3]` of user, item and number: float64 if all ids are numbers, as in librec-auto, else objects.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bridgeval.errors import BadParameterError, BridgevalError, InputError, MetricFailedError, MisalignedError
from bridgeval.toolkits.librec.study_files import Triples, read_result, read_split

Array = npt.NDArray[Any]
Compat = Literal["librec-auto"] | None
Visited = Literal["test", "results", "both", "any"]

# Number of arguments of a constructor -> their names.
DIALECTS = {
    3: ("params", "test_data", "result_data"),
    4: ("params", "test_data", "result_data", "output_file"),
    5: ("params", "conf", "test_data", "result_data", "output_file"),
}
# librec-auto's name of an argument -> what it is given. Metrics of re-ranking compare with the original lists.
ARGUMENTS = {**{name: name for name in DIALECTS[5]}, "original_data": "test_data", "reranked_data": "result_data"}
# Integers up to this one are exact as float64.
EXACT = 2**53


class CustomBase:
    """Base of both kinds of custom metrics: parameters, data and the name."""

    # Defaults of `evaluate`, which a metric may override without taking arguments.
    _compat: Compat = None
    _visited: Visited = "test"

    def __init__(self, *arguments: Any, **named: Any) -> None:
        names = DIALECTS.get(len(arguments) + len(named))
        if names is None or not set(named) <= set(names):
            raise BadParameterError(
                f"{type(self).__name__} cannot be built from {len(arguments) + len(named)} arguments",
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
        self._result: Any = None

    def get_params(self) -> Mapping[str, Any]:
        return self._params

    def _save_custom_results(self, result: Any) -> None:
        """Keeps the result; librec-auto pickles it for its parent process."""
        self._result = result

    def evaluate(self) -> Any:
        """Returns the value."""
        raise NotImplementedError(f"{type(self).__name__} must extend RowBasedMetric or ListBasedMetric")

    @staticmethod
    def read_data_from_file(path: str, delimiter: str = "\t") -> Array:
        """Reads the rows of a file; ids are numbers where they are numbers."""
        rows = to_array(read_split(path) if delimiter == "\t" else read_result(path, ranking=False))
        return number_ids(rows, rows[:0])[0]


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

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._scores: list[Any] = []

    def pre_row_processing(self) -> Any:
        """Called before the first row."""

    def evaluate_row(self, test: Array, result: Array) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define evaluate_row(test, result)")

    def post_row_processing(self, values: list[Any]) -> Any:
        """Returns the value of all rows; by default their mean."""
        return sum(values) / len(values) if values else math.nan

    def evaluate(self, compat: Compat = None) -> Any:
        """Returns the value. compat="librec-auto" calls `evaluate_row(result, test)`, as that package does."""
        test, result = check_sides(self._test_data, self._result_data)
        self.pre_row_processing()
        swapped = (compat or self._compat) == "librec-auto"
        self._scores = []
        for known, predicted in pair_rows(test, result):
            try:
                self._scores.append(
                    self.evaluate_row(predicted, known) if swapped else self.evaluate_row(known, predicted)
                )
            except Exception as error:
                where = f"for user {_write_id(known[0])} and item {_write_id(known[1])}"
                raise _failure(type(self), where, error) from error
        try:
            return self.post_row_processing(*[self._scores][: _count_arguments(self.post_row_processing)])
        except Exception as error:
            raise _failure(type(self), f"after {len(self._scores)} rows", error) from error


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

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._values: list[Any] = []
        self._users: list[Any] = []

    def preprocessing(self) -> Any:
        """Called before the first user."""

    def evaluate_user(self, test_user_data: Array, result_user_data: Array) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define evaluate_user(test_user_data, result_user_data)")

    def postprocessing(self) -> Any:
        """Returns the value of all users; by default the mean of `self._values`."""
        return sum(self._values) / len(self._values) if self._values else math.nan

    def evaluate(self, users: Visited | None = None) -> Any:
        """Returns the value.

        Args:
            users: visits users with "test" rows (the default), with "results", with "both", or with "any" of them. The
                side that a user lacks is an empty array.
        """
        test, result = check_sides(self._test_data, self._result_data)
        self.preprocessing()
        self._values, self._users = [], []
        for user, known, shown in visit_users(test, result, users or self._visited):
            try:
                self._values.append(self.evaluate_user(known, shown))
            except Exception as error:
                raise _failure(type(self), f"for user {_write_id(user)}", error) from error
            self._users.append(user)
        try:
            return self.postprocessing()
        except Exception as error:
            raise _failure(type(self), f"after {len(self._users)} users", error) from error


def build(metric: type[CustomBase], params: Mapping[str, Any], test: Array, result: Array, conf: Any = None) -> Any:
    """Builds a custom metric, by the dialect of its constructor."""
    given = {"params": params, "conf": conf, "test_data": test, "result_data": result, "output_file": None}
    arguments = {own: given[ARGUMENTS[known]] for own, known in match_arguments(metric).items()}
    try:
        return metric(**arguments)
    except BridgevalError:
        raise
    except Exception as error:
        raise _failure(metric, f"in its constructor, with params {dict(params)}", error) from error


def evaluate_custom(metric: CustomBase) -> Any:
    """Calls `evaluate`, which may be the metric's own; that may save its result instead of returning it."""
    try:
        value = metric.evaluate()
        return metric._result if value is None else value
    except BridgevalError:
        raise
    except Exception as error:
        hint = "the main block of a script is not run: read self._test_data, self._result_data and self.get_params()"
        raise _failure(type(metric), "in its evaluate()", error, hint) from error


def match_arguments(metric: type[CustomBase]) -> dict[str, str]:
    """Maps the arguments of a constructor to those of `ARGUMENTS`: by name, and by position if the names are others.

    If the data have librec-auto's names, an argument in the place of `output_file` counts as such only if its name has
    "out" in it; authors add arguments there. Arguments with a default are left out if they are none of librec-auto's.

    >>> class Mine(ListBasedMetric):
    ...     def __init__(self, params, config, test_data, result_data, out, log=None):
    ...         super().__init__(params, config, test_data, result_data, out)
    >>> match_arguments(Mine)
    {'params': 'params', 'test_data': 'test_data', 'result_data': 'result_data', 'config': 'conf', 'out': 'output_file'}
    """
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    _, *taken = inspect.signature(metric.__init__).parameters.values()
    defaults = {one.name: one.default for one in taken if one.kind in named}
    if not defaults:
        return {name: name for name in DIALECTS[3]}
    required = [name for name, default in defaults.items() if default is inspect.Parameter.empty]
    matched = {name: name for name in defaults if name in ARGUMENTS}
    given = {ARGUMENTS[name] for name in matched}
    for own, place in zip(required, DIALECTS.get(len(required), ()), strict=False):
        foreign = place == "output_file" and "test_data" in given and "out" not in own
        if own not in matched and place not in given and not foreign:
            matched[own] = place
    unknown = [name for name in required if name not in matched]
    if unknown:
        raise BadParameterError(
            f"the constructor of {metric.__name__} takes arguments that are not known here",
            ", ".join(unknown),
            "derive a class that takes (params, test_data, result_data) and passes the others on",
        )
    return matched


def to_array(triples: Triples) -> Array:
    """Converts the rows of a file to `[n, 3]` objects: user, item, number."""
    users, items = (column.to_numpy(zero_copy_only=False) for column in (triples.users, triples.items))
    return stack_columns(users, items, triples.numbers)


def stack_columns(users: Array, items: Array, numbers: Array) -> Array:
    """Stacks three columns into `[n, 3]` objects."""
    rows = np.empty((len(numbers), 3), dtype=object)
    rows[:, 0], rows[:, 1], rows[:, 2] = users, items, numbers
    return rows


def to_numbers(rows: Array) -> Array:
    """Converts rows to float64, as librec-auto reads files of numeric ids; unchanged if an id is not a number."""
    try:
        return rows.astype(np.float64)
    except ValueError:
        return rows


def number_ids(test: Array, result: Array) -> tuple[Array, Array]:
    """Converts user ids and item ids to numbers, each kind if all of its ids are numbers that stay distinct and exact.

    Metrics for librec-auto compute with ids (`int(item)`). There `7` and `007` are the same item; here they are not, so
    a column that has both remains text. Rows are float64 if both kinds are numbers, else objects.

    >>> test, result = np.array([["u", "7", 4.0]], dtype=object), np.array([["u", "10", 0.5]], dtype=object)
    >>> [rows.tolist() for rows in number_ids(test, result)]
    [[['u', 7.0, 4.0]], [['u', 10.0, 0.5]]]
    """
    rows = np.concatenate([test, result])
    numbered = 0
    for column in (0, 1):
        codes, ids = pd.factorize(rows[:, column])
        try:
            numbers = np.asarray(ids).astype(np.float64)
        except ValueError:
            continue
        if (np.abs(numbers) <= EXACT).all() and len(np.unique(numbers)) == len(ids):
            rows[:, column] = numbers[codes]
            numbered += 1
    rows = rows.astype(np.float64) if numbered == 2 else rows
    return rows[: len(test)], rows[len(test) :]


def check_sides(test: Any, result: Any) -> tuple[Array, Array]:
    """Returns both sides as arrays; raises InputError unless rows are (user, item, number) with ids of one kind."""
    known, shown = check_rows(test, "test"), check_rows(result, "result")
    for column, what in enumerate(("user", "item")):
        first = [side[0, column] for side in (known, shown) if len(side)]
        if len({isinstance(one, str) for one in first}) > 1:
            raise MisalignedError(
                f"the {what} ids of a custom metric are text on one side and numbers on the other",
                " and ".join(map(_write_id, first)),
                "give both sides the same kind of ids",
            )
    return known, shown


def check_rows(data: Any, what: str) -> Array:
    """Returns the data as an array; raises InputError unless its rows are (user, item, number)."""
    array = np.asarray(data)
    if array.ndim != 2 or array.shape[1] < 3:
        raise InputError(
            f"the {what} data of a custom metric must be an array of rows (user, item, number)",
            f"shape {array.shape}",
            "read it with read_data_from_file",
        )
    return array


def pair_rows(test: Array, result: Array) -> Iterator[tuple[Array, Array]]:
    """Yields the rows of both sides with the same user and item, in the order of the result; drops unmatched rows."""
    users, _ = pd.factorize(np.concatenate([test[:, 0], result[:, 0]]))
    items, names = pd.factorize(np.concatenate([test[:, 1], result[:, 1]]))
    keys = users * (len(names) + 1) + items
    known, first = np.unique(keys[: len(test)], return_index=True)
    wanted = keys[len(test) :]
    at = np.searchsorted(known, wanted).clip(max=len(known) - 1)
    matched = np.flatnonzero(known[at] == wanted) if len(known) else np.zeros(0, np.int64)
    yield from zip(test[first[at[matched]]], result[matched], strict=True)


def visit_users(test: Array, result: Array, users: Visited) -> Iterator[tuple[Any, Array, Array]]:
    """Yields each user once, sorted by id, with the rows of both sides in the order of the file."""
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


def _count_arguments(function: Any) -> int:
    """Counts the positional arguments of a function."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in kinds for parameter in inspect.signature(function).parameters.values())


def _write_id(one: Any) -> str:
    return f"{one:.17g}" if isinstance(one, float) else repr(one)


def _failure(metric: type[CustomBase], where: str, error: Exception, hint: str = "") -> MetricFailedError:
    return MetricFailedError(f"{metric.__name__} failed {where}", f"{type(error).__name__}: {error}", hint)
