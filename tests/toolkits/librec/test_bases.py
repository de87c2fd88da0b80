"""Custom metric classes: the examples of librec-auto's documentation, dialects, joining, failures."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import bridgeval
from bridgeval.errors import BadParameterError, InputError, MetricFailedError, PluginFailedError
from bridgeval.toolkits.librec import Fold, ListBasedMetric, RowBasedMetric, custom
from bridgeval.toolkits.librec.scripts import import_script
from tests.toolkits.librec.studies import random_fold, write


class RmseMetric(RowBasedMetric):
    """The row metric of the documentation."""

    def __init__(self, params: dict, test_data: np.ndarray, result_data: np.ndarray) -> None:
        super().__init__(params, test_data, result_data)
        self._name = "RMSE"

    def evaluate_row(self, test: np.ndarray, result: np.ndarray):
        test_ranking = test[2]
        result_ranking = result[2]
        return (test_ranking - result_ranking) ** 2

    def post_row_processing(self, values):
        T = len(values)
        return (sum(values) / T) ** 0.5


class NdcgMetric(ListBasedMetric):
    """The list metric of the documentation: binary NDCG over the first `list_size` results."""

    def __init__(self, params: dict, test_data: np.ndarray, result_data: np.ndarray) -> None:
        super().__init__(params, test_data, result_data)
        self._name = "NDCG"

    def preprocessing(self):
        self._list_size = int(self.get_params()["list_size"])

    def evaluate_user(self, test_user_data: np.ndarray, result_user_data: np.ndarray):
        wanted = set(test_user_data[:, 1])
        shown = result_user_data[: self._list_size, 1]
        found = sum(1 / math.log2(place + 2) for place, item in enumerate(shown) if item in wanted)
        return found / sum(1 / math.log2(place + 2) for place in range(min(self._list_size, len(wanted))))

    def postprocessing(self):
        return np.average(self._values)


TEST = np.array([[1, 10, 4.0], [1, 11, 2.0], [2, 10, 5.0]])
RESULT = np.array([[2, 10, 4.0], [1, 11, 2.5], [1, 10, 3.0], [1, 99, 1.0]])


def test_the_documented_rmse_joins_rows_by_user_and_item():
    # Errors 1, 0.5 and 1 for the three pairs; the fourth result has no test row.
    assert RmseMetric({}, TEST, RESULT).evaluate() == pytest.approx(math.sqrt((1 + 0.25 + 1) / 3))


def test_the_documented_ndcg_visits_each_user_once():
    # User 1 finds 11 and 10 at places 1 and 2, user 2 finds 10 at place 1: both are ideal.
    assert NdcgMetric({"list_size": "2"}, TEST, RESULT).evaluate() == pytest.approx(1.0)


def test_documented_metrics_agree_with_native_ones(tmp_path):
    fold = random_fold(tmp_path)
    ndcg = custom(NdcgMetric, {"list_size": "5"})
    rmse = custom(RmseMetric)
    report = fold.evaluate([ndcg, rmse, "librec:ndcg_binary@5", "librec:rmse"], per_user=True)
    assert report[str(ndcg)] == pytest.approx(report["librec:ndcg_binary@5"], rel=1e-12)
    assert report[str(rmse)] == pytest.approx(report["librec:rmse"], rel=1e-12)
    ours, theirs = report.per_user(str(ndcg)), report.per_user("librec:ndcg_binary@5")
    assert ours["user"].tolist() == theirs["user"].tolist()
    assert ours["value"].tolist() == pytest.approx(theirs["value"].tolist(), rel=1e-12)


@pytest.mark.parametrize("batch_size", [1, 4, None])
def test_custom_metrics_do_not_depend_on_batches(tmp_path, batch_size):
    fold = random_fold(tmp_path)
    metrics = [custom(NdcgMetric, {"list_size": "5"}), custom(RmseMetric)]
    whole, cut = (list(fold.evaluate(metrics, batch_size=size).values()) for size in (None, batch_size))
    assert cut == pytest.approx(whole, rel=1e-12)


def test_custom_metrics_evaluate_mappings_too():
    metric = custom(NdcgMetric, {"list_size": 2})
    assert dict(bridgeval.evaluate({7: [("a", 1.0)]}, {7: {"a": 1}}, metric)) == {"NdcgMetric(list_size=2)": 1.0}


@pytest.mark.parametrize("extra", [(), (None,)])
def test_row_metrics_finish_with_or_without_an_argument(extra):
    class Mean(RowBasedMetric):
        def evaluate_row(self, test, result):
            return result[2]

        def post_row_processing(self):
            return max(self._scores)

    assert Mean({}, TEST, RESULT, *extra).evaluate() == 4.0


def test_compat_hands_rows_over_in_the_order_of_librec_auto():
    class Bias(RowBasedMetric):
        def evaluate_row(self, test, result):
            return result[2] - test[2]

    assert Bias({}, TEST, RESULT).evaluate() == pytest.approx(-1.5 / 3)
    assert Bias({}, TEST, RESULT).evaluate(compat="librec-auto") == pytest.approx(1.5 / 3)


def test_compat_gives_numeric_ids_as_floats_and_others_as_text(tmp_path):
    seen = []

    class Look(ListBasedMetric):
        def evaluate_user(self, test_user_data, result_user_data):
            seen.append((test_user_data.dtype, test_user_data[0, 1]))
            return 0.0

    for item in ("10", "x"):
        result = write(tmp_path / item / "out-1.txt", f"1,{item},0.5")
        test = write(tmp_path / item / "test.txt", f"1\t{item}\t4.0")
        Fold(result, test).evaluate(custom(Look, compat="librec-auto"))
    assert seen == [(np.dtype("float64"), 10.0), (np.dtype("object"), "x")]


@pytest.mark.parametrize(
    ("users", "visited"), [("test", ["a", "b"]), ("results", ["b", "c"]), ("both", ["b"]), ("any", ["a", "b", "c"])]
)
def test_who_is_visited_can_be_chosen_and_a_missing_side_is_empty(users, visited):
    class Sizes(ListBasedMetric):
        def evaluate_user(self, test_user_data, result_user_data):
            return len(test_user_data) + 10 * len(result_user_data)

    test = np.array([["a", "x", 1.0], ["b", "x", 1.0]], dtype=object)
    result = np.array([["c", "x", 1.0], ["b", "x", 1.0]], dtype=object)
    metric = Sizes({}, test, result)
    metric.evaluate(users=users)
    assert metric._users == visited
    assert metric._values == [{"a": 1, "b": 11, "c": 10}[user] for user in visited]


def test_a_metric_that_raises_is_named_with_the_user():
    class Broken(ListBasedMetric):
        def evaluate_user(self, test_user_data, result_user_data):
            return 1 / 0

    with pytest.raises(MetricFailedError, match=r"Broken failed for user 'u'; found: ZeroDivisionError"):
        bridgeval.evaluate({"u": ["a"]}, {"u": ["a"]}, custom(Broken))


def test_a_metric_that_gives_no_number_is_an_error():
    class Pair(ListBasedMetric):
        def evaluate_user(self, test_user_data, result_user_data):
            return 1.0

        def postprocessing(self):
            return 1.0, 2.0

    with pytest.raises(MetricFailedError, match="must return a number"):
        bridgeval.evaluate({"u": ["a"]}, {"u": ["a"]}, custom(Pair))


def test_constructors_of_another_shape_are_refused():
    class Odd(RowBasedMetric):
        def __init__(self, only):
            super().__init__(only, [], [])

    with pytest.raises(BadParameterError, match="takes 1 arguments"):
        bridgeval.evaluate({"u": {"a": 1.0}}, {"u": {"a": 1.0}}, custom(Odd))
    with pytest.raises(BadParameterError, match="cannot be built from 2 arguments"):
        RowBasedMetric({}, TEST)
    with pytest.raises(BadParameterError, match="must extend"):
        custom(dict)
    with pytest.raises(InputError, match=r"array of rows \(user, item, number\)"):
        RmseMetric({}, [1, 2], RESULT).evaluate()


def test_read_data_from_file_gives_text_ids_and_numbers(tmp_path):
    rows = RowBasedMetric.read_data_from_file(write(tmp_path / "out-1.txt", "u,007,0.5"), delimiter=",")
    assert rows.tolist() == [["u", "007", 0.5]]


SCRIPT = """
from librec_auto.core.eval import ListBasedMetric
import helper_of_the_script

class Mine(ListBasedMetric):
    def evaluate_user(self, test_user_data, result_user_data):
        return helper_of_the_script.VALUE

if __name__ == "__main__":
    raise SystemExit("scripts are imported, not run")
"""


def test_a_script_sees_our_classes_only_while_it_is_imported(tmp_path):
    path = write(tmp_path / "mine-metric.py", SCRIPT)
    write(tmp_path / "helper_of_the_script.py", "VALUE = 2.5")
    paths = list(sys.path)
    before = {name for name in sys.modules if name.startswith("librec_auto")}
    metric = import_script(path)
    assert issubclass(metric, ListBasedMetric)
    assert {name for name in sys.modules if name.startswith("librec_auto")} == before
    assert sys.path == paths
    assert dict(bridgeval.evaluate({"u": ["a"]}, {"u": ["a"]}, custom(metric))) == {"Mine": 2.5}
    del sys.modules["helper_of_the_script"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import librec_auto.core.util", "ModuleNotFoundError"),
        ("x = 1", r"must define one metric class; found: \[\]"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_script_that_cannot_be_used_is_an_error(tmp_path, text, found):
    with pytest.raises(PluginFailedError, match=found):
        import_script(write(tmp_path / "bad.py", text))
    assert "librec_auto" not in sys.modules
