"""Custom metric classes: the examples of librec-auto's documentation, dialects, joining, failures."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pytest

import bridgeval
from bridgeval.errors import (
    BadParameterError,
    InputError,
    MetricFailedError,
    MisalignedError,
    NeedError,
    UnknownMetricError,
)
from bridgeval.toolkits.librec import Fold, ListBasedMetric, RowBasedMetric, Study, custom
from bridgeval.toolkits.librec.bases import match_arguments
from tests.toolkits.librec.studies import GOLDENS, random_fold, read_golden, write


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

    class Types(ListBasedMetric):
        def evaluate_user(self, test_user_data, result_user_data):
            seen.append((test_user_data.dtype, test_user_data[0, 1]))
            return 0.0

    for item in ("10", "x"):
        result = write(tmp_path / item / "out-1.txt", f"1,{item},0.5")
        test = write(tmp_path / item / "test.txt", f"1\t{item}\t4.0")
        Fold(result, test).evaluate(custom(Types, compat="librec-auto"))
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

    with pytest.raises(BadParameterError, match=r"the constructor of Odd takes .* not known here; found: only; hint"):
        custom(Odd)
    with pytest.raises(BadParameterError, match="cannot be built from 2 arguments"):
        RowBasedMetric({}, TEST)
    with pytest.raises(BadParameterError, match="must extend"):
        custom(dict)
    with pytest.raises(InputError, match=r"array of rows \(user, item, number\)"):
        RmseMetric({}, [1, 2], RESULT).evaluate()


def test_read_data_from_file_gives_numbers_where_ids_are_numbers(tmp_path):
    # genfromtxt, which librec-auto reads with, gives 7.0 for 007.
    rows = RowBasedMetric.read_data_from_file(write(tmp_path / "out-1.txt", "u,007,0.5"), delimiter=",")
    assert rows.tolist() == [["u", 7.0, 0.5]]
    rows = ListBasedMetric.read_data_from_file(write(tmp_path / "test.txt", "1\t007\t4.0"))
    assert rows.dtype == np.float64
    assert rows.tolist() == [[1.0, 7.0, 4.0]]


class Look(ListBasedMetric):
    """Keeps the rows that it is given."""

    seen: ClassVar[list] = []

    def evaluate_user(self, test_user_data, result_user_data):
        self.seen.append((test_user_data.tolist(), result_user_data.tolist()))
        return 1.0


@pytest.fixture(name="seen")
def _seen():
    Look.seen.clear()
    return Look.seen


@pytest.mark.filterwarnings("ignore::bridgeval.errors.NoItemInCommonWarning")
def test_ids_that_are_numbers_are_numbers_in_a_metric(seen):
    """Metrics for librec-auto compute with ids: `int(item) in items` was false for every item of a file."""
    bridgeval.evaluate({"1": {"10": 0.5}}, {"1": {"9": 4.0}}, custom(Look))
    bridgeval.evaluate({1: {10: 0.5}}, {1: {9: 4.0}}, custom(Look))
    assert seen == [([[1.0, 9.0, 4.0]], [[1.0, 10.0, 0.5]])] * 2


@pytest.mark.filterwarnings("ignore::bridgeval.errors.NoItemInCommonWarning")
def test_users_and_items_are_numbers_each_on_their_own(seen):
    bridgeval.evaluate({"u": {"10": 0.5}}, {"u": {"9": 4.0}}, custom(Look))
    bridgeval.evaluate({"1": {"a": 0.5}}, {"1": {"9": 4.0}}, custom(Look))
    assert seen == [([["u", 9.0, 4.0]], [["u", 10.0, 0.5]]), ([[1.0, "9", 4.0]], [[1.0, "a", 0.5]])]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("7", "007"),
        ("7", "nan"),
        ("7", "inf"),
        ("9007199254740992", "9007199254740993"),
        ("7", "12345678901234567890"),
    ],
)
@pytest.mark.filterwarnings("ignore::bridgeval.errors.NoItemInCommonWarning")
def test_ids_remain_text_if_numbers_would_merge_or_change_them(seen, one, other):
    bridgeval.evaluate({"u": {one: 0.5}}, {"u": {other: 4.0}}, custom(Look))
    assert seen == [([["u", other, 4.0]], [["u", one, 0.5]])]


@pytest.mark.parametrize("ids", [("9", "010"), (9, 10)])
@pytest.mark.parametrize("compat", [None, "librec-auto"])
def test_users_keep_their_ids_in_reports(ids, compat):
    class User(ListBasedMetric):
        def evaluate_user(self, test_user_data, result_user_data):
            return test_user_data[0, 0]

    lists = {user: {5: 1.0} for user in ids}
    table = bridgeval.evaluate(lists, lists, custom(User, compat=compat), per_user=True).per_user("User")
    assert dict(zip(table["user"], table["value"], strict=True)) == {ids[0]: 9.0, ids[1]: 10.0}


def test_ids_of_two_kinds_are_an_error():
    numbers, text = np.array([[1, 10, 4.0]]), np.array([[1, "10", 0.5]], dtype=object)
    with pytest.raises(
        MisalignedError, match=r"item ids .* text on one side and numbers on the other; found: 10 and '10'"
    ):
        Look({}, numbers, text).evaluate()


def test_further_arguments_with_a_default_are_left_alone():
    """The NDCG that librec-auto ships takes `user_file=None` as the last argument."""

    class Hits(ListBasedMetric):
        def __init__(self, params, conf, test_data, result_data, output_file, user_file=None, *, weight=2.0):
            super().__init__(params, conf, test_data, result_data, output_file)
            self._given = conf, output_file, user_file, weight

        def evaluate_user(self, test_user_data, result_user_data):
            assert self._given == ("a configuration", None, None, 2.0)
            return float(test_user_data[0, 1] == result_user_data[0, 1])

    assert dict(bridgeval.evaluate({1: [5]}, {1: [5]}, custom(Hits, conf="a configuration"))) == {"Hits": 1.0}


def test_arguments_with_other_names_are_given_by_position():
    class Hits(ListBasedMetric):
        def __init__(self, options, truth, lists, k=1):
            super().__init__(options, truth, lists)
            self._k = k

        def evaluate_user(self, truth, lists):
            return float(truth[0, 1] in lists[: self._k, 1])

    assert dict(bridgeval.evaluate({1: [5, 6]}, {1: [6]}, custom(Hits))) == {"Hits": 0.0}


THREE = {"params": "params", "test_data": "test_data", "result_data": "result_data"}


@pytest.mark.parametrize(
    ("constructor", "matched"),
    [
        ("params, test_data, result_data", THREE),
        ("*, params, result_data, test_data, k=10", THREE),
        ("*arguments, **named", THREE),
        ("params, conf, test_data, result_data", {**THREE, "conf": "conf"}),
        ("params, config, test_data, result_data, output", {**THREE, "config": "conf", "output": "output_file"}),
        ("a, b, c", {"a": "params", "b": "test_data", "c": "result_data"}),
        ("a, b, c, d", {"a": "params", "b": "test_data", "c": "result_data", "d": "output_file"}),
        ("params, test_data, result_data, weight", "weight"),
        ("params, weight, test_data, result_data", "weight"),
        ("params, conf, original_data, reranked_data, output_file, features", "features"),
        ("a, b", "a, b"),
    ],
)
def test_arguments_are_given_by_name_then_by_position_and_never_to_another(constructor, matched):
    scope = {"ListBasedMetric": ListBasedMetric}
    exec(f"class Made(ListBasedMetric):\n    def __init__(self, {constructor}): pass", scope)
    if isinstance(matched, dict):
        assert match_arguments(scope["Made"]) == matched
    else:
        with pytest.raises(BadParameterError, match=f"found: {matched};"):
            custom(scope["Made"])


def test_required_arguments_that_only_an_author_knows_are_given_by_a_derived_class():
    """librec-auto's `psp.py` takes the item features, the item ids and the protected feature from its main block."""

    class Share(ListBasedMetric):
        def __init__(self, params, conf, test_data, result_data, output_file, protected):
            super().__init__(params, conf, test_data, result_data, output_file)
            self._protected = protected

        def evaluate_user(self, test_user_data, result_user_data):
            return sum(int(item) in self._protected for item in result_user_data[:, 1]) / len(result_user_data)

    class ShareOfNew(Share):
        def __init__(self, params, test_data, result_data):
            super().__init__(params, None, test_data, result_data, None, {5, 7})

    with pytest.raises(
        BadParameterError, match=r"found: protected; hint: derive a class that takes \(params, test_data"
    ):
        custom(Share)
    assert dict(bridgeval.evaluate({"1": ["5", "6"]}, {"1": ["5"]}, custom(ShareOfNew))) == {"ShareOfNew": 0.5}


def test_a_constructor_that_fails_is_a_sentence():
    """The constructor of the guide's NDCG reads `params['list_size']`."""

    class Sized(ListBasedMetric):
        def __init__(self, params, test_data, result_data, output_file):
            super().__init__(params, test_data, result_data, output_file)
            self._size = params["list_size"]

    with pytest.raises(MetricFailedError, match=r"Sized failed in its constructor, with params {}; found: KeyError"):
        bridgeval.evaluate({1: [5]}, {1: [5]}, custom(Sized))


class Rows(ListBasedMetric):
    """Has an `evaluate` without arguments, as a metric of librec-auto may."""

    def evaluate(self):
        return len(self._test_data) + 10 * len(self._result_data)


class SavedRows(Rows):
    """Leaves its result where librec-auto looks for it, and returns nothing."""

    def evaluate(self):
        self._save_custom_results(super().evaluate())


class Doubled(ListBasedMetric):
    """Builds on the `evaluate` of the base."""

    def evaluate_user(self, test_user_data, result_user_data):
        return 1.0

    def postprocessing(self):
        return sum(self._values)

    def evaluate(self):
        return 2 * super().evaluate()


@pytest.mark.parametrize(("metric", "value"), [(Rows, 21.0), (SavedRows, 21.0), (Doubled, 2.0)])
def test_a_metric_may_define_evaluate_itself(metric, value):
    report = bridgeval.evaluate({1: [5, 6]}, {1: [5]}, custom(metric), per_user=True)
    assert report[metric.__name__] == value
    with pytest.raises(UnknownMetricError):
        report.per_user(metric.__name__)


def test_an_own_evaluate_that_calls_the_base_visits_the_users_asked_for():
    lists, truth = {1: [5], 2: [5]}, {1: [5], 3: [5]}
    for users, count in (("test", 2), ("both", 1), ("any", 3)):
        report = bridgeval.evaluate(lists, truth, custom(Doubled, users=users))
        assert report["Doubled"] == 2.0 * count


def test_an_own_evaluate_that_fails_is_a_sentence():
    """librec-auto's expected exposure reads names that only its main block defines."""

    class Global(ListBasedMetric):
        def evaluate(self):
            return len(test_data)  # noqa: F821

    with pytest.raises(
        MetricFailedError, match=r"Global failed in its evaluate\(\); found: NameError.*self._test_data"
    ):
        bridgeval.evaluate({1: [5]}, {1: [5]}, custom(Global))


class Overlap(ListBasedMetric):
    """Average overlap with the list before re-ranking, in the shape of librec-auto's metrics of re-ranking."""

    def __init__(self, params, conf, original_data, reranked_data, output_file, user_file=None):
        super().__init__(params, conf, original_data, reranked_data, output_file)

    def evaluate_user(self, original, reranked):
        size = min(int(self.get_params()["list_size"]), len(original), len(reranked))
        before, after = original[:, 1].tolist(), reranked[:, 1].tolist()
        shares = [len(set(before[:depth]) & set(after[:depth])) / depth for depth in range(1, size + 1)]
        return sum(shares) / size


@pytest.mark.parametrize(("case", "size"), [("real_rerank_far", 10), ("rerank_small", 3)])
@pytest.mark.parametrize("batch_size", [3, None])
def test_metrics_of_reranking_are_given_the_original_lists(case, size, batch_size):
    """`rank_biased_overlap.py` of librec-auto is average overlap; expected are the values that it gave."""
    metric = custom(Overlap, {"list_size": str(size)})
    expected = read_golden(case, "head", f"rbo@{size}")
    assert len(expected) > 1
    for (experiment, fold), value in expected.items():
        lists = Study(GOLDENS / case / "study")[experiment][fold]
        assert lists.evaluate(metric, batch_size=batch_size)[str(metric)] == pytest.approx(value, rel=1e-9)


def test_metrics_of_reranking_are_refused_where_there_are_no_original_lists():
    with pytest.raises(NeedError, match="needs 'original lists'"):
        bridgeval.evaluate({1: [5]}, {1: [5]}, custom(Overlap, {"list_size": "3"}))
