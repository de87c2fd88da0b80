"""merge: what it refuses, and its rules for users who come again."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bridgeval
from bridgeval.engine.state_files import StateFile
from bridgeval.errors import BadParameterError, MisalignedError, StateFileError

ITEMS = list("abcdefghi")


def lists_of(users: range, seed: int = 0) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Lists of five of nine items; the first item shown is relevant, and another one."""
    draw = random.Random(seed)
    shown = {user: draw.sample(ITEMS, 5) for user in users}
    return shown, {user: [shown[user][0], draw.choice(ITEMS)] for user in users}


@pytest.fixture
def save(tmp_path, monkeypatch):
    """Evaluates some users, and returns the name of the state file."""
    monkeypatch.chdir(tmp_path)

    def evaluate(
        name: str, users: range = range(6), seed: int = 0, metrics: Any = ("nDCG@3", "Gini@3"), **more: Any
    ) -> str:
        shown, relevant = lists_of(users, seed)
        bridgeval.evaluate(shown, relevant, metrics, catalogue=more.pop("catalogue", ITEMS), state=name, **more)
        return name

    return evaluate


def test_users_in_two_files_are_refused_and_shown(save):
    files = [save("a.state", range(0, 6)), save("b.state", range(4, 9))]
    with pytest.raises(StateFileError) as caught:
        bridgeval.merge(files)
    assert caught.value.wrong == "2 users are in several files"
    assert caught.value.found == "4 in 'a.state' and 'b.state', 5 in 'a.state' and 'b.state'"
    assert caught.value.hint.endswith("count each time: users='events'")


def test_the_relevance_of_all_users_beside_the_lists_of_some_is_refused(save):
    """Each shard would count the users of the others as users who were shown nothing."""
    relevant = {user: ["a"] for user in range(6)}
    for name, users in (("a.state", range(3)), ("b.state", range(3, 6))):
        bridgeval.evaluate({u: ["a"] for u in users}, relevant, "Recall@3", state=name)
    with pytest.raises(StateFileError, match="6 users are in several files"):
        bridgeval.merge(["a.state", "b.state"])


def test_days_count_each_time_that_a_user_comes(save):
    """The report of users who are other ones on each day; Tuesday's 4 is not Monday's 4."""
    days = [lists_of(range(0, 6), seed=1), lists_of(range(4, 9), seed=2)]
    for name, (shown, relevant) in zip(("mon.state", "tue.state"), days, strict=True):
        bridgeval.evaluate(shown, relevant, ["nDCG@3", "Coverage@3"], catalogue=ITEMS, per_user=True, state=name)
    renamed = [
        {100 * day + user: one for day, sides in enumerate(days) for user, one in sides[at].items()} for at in (0, 1)
    ]
    expected = bridgeval.evaluate(*renamed, ["nDCG@3", "Coverage@3"], catalogue=ITEMS)
    found = bridgeval.merge(["mon.state", "tue.state"], users="events")
    assert dict(found) == pytest.approx(dict(expected), rel=1e-12)
    assert found.population == expected.population
    assert found.per_user("nDCG@3")["user"].tolist() == [0, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8]
    with pytest.raises(MisalignedError, match="several values of nDCG@3"):
        bridgeval.compare({"a": found, "b": found})


def test_merged_days_hold_no_ids_and_cannot_be_merged_as_distinct(save):
    files = [save("a.state", range(0, 6)), save("b.state", range(4, 9))]
    bridgeval.merge(files, users="events", state="week.state")
    other = save("c.state", range(20, 22))
    with pytest.raises(StateFileError, match=r"the users of 'week.state' are not known.*merge with users='events'"):
        bridgeval.merge(["week.state", other])
    assert bridgeval.merge(["week.state", other], users="events").population.users == 13


def test_slices_need_distinct_users(save):
    labels = {user: ("new", "old")[user % 2] for user in range(9)}
    files = [save("a.state", range(0, 6), by=labels), save("b.state", range(4, 9), by=labels)]
    with pytest.raises(StateFileError, match="slices need each user once"):
        bridgeval.merge(files, users="events")


def test_an_evaluation_is_not_counted_twice(save):
    files = [save("a.state", range(3)), save("b.state", range(3, 6))]
    bridgeval.merge(files, state="all.state")
    for users in ("distinct", "events"):
        with pytest.raises(StateFileError, match=r"counted twice; found: it is in 'a.state' and in 'all.state'"):
            bridgeval.merge(["a.state", "all.state"], users=users)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"metrics": ["nDCG@3"]}, r"different metrics; found: {'Gini@3': .*} against {}"),
        ({"metrics": ["nDCG@3", "Gini(total='cells')@3"]}, r"different metrics; found: {'Gini@3'.*total='cells'"),
        ({"per_user": True}, r"different per_user=; found: False against True"),
        ({"by": {3: "new"}}, r"different slices; found: {} against {'slice'"),
        ({"mask_seen": False}, r"different mask_seen=; found: None against False"),
        ({"columns": {"gain": None}}, r"different columns=; found: {} against {'gain': None}"),
        ({"catalogue": list("abcdefghij")}, r"different data: the catalogue.*give every evaluation the whole of it"),
    ],
)
def test_other_terms_are_refused_with_the_difference(save, more, words):
    first = save("a.state", range(3))
    with pytest.raises(StateFileError, match=words):
        bridgeval.merge([first, save("b.state", range(3, 6), **more)])


def test_popularity_of_another_history_is_refused_if_a_metric_reads_it(save):
    one, two = {1: ["a", "b"], 2: ["a"]}, {1: ["a", "b"], 2: ["b"]}
    for metrics in ("nDCG@3", "ARP@3"):
        files = [
            save("a.state", range(3), metrics=metrics, history=one, mask_seen=False),
            save("b.state", range(3, 6), metrics=metrics, history=two, mask_seen=False),
        ]
        if metrics == "nDCG@3":
            bridgeval.merge(files)
        else:
            with pytest.raises(StateFileError, match=r"different data: item popularity.*the same history="):
                bridgeval.merge(files)


def test_other_groups_of_users_are_refused_by_their_labels_alone(save):
    metric = "UserMADRanking@3"
    files = [
        save("a.state", range(4), metrics=metric, user_groups={0: "x", 1: "y", 2: "x", 3: "y"}),
        save("b.state", range(4, 8), metrics=metric, user_groups={4: "x", 5: "y"}),
    ]
    assert bridgeval.merge(files).population.users == 8
    other = save("c.state", range(8, 12), metrics=metric, user_groups={8: "x", 9: "z"})
    with pytest.raises(StateFileError, match="different data: user groups"):
        bridgeval.merge([*files, other])


@dataclass(frozen=True)
class FirstPlace(bridgeval.ListMetric):
    name = "FirstPlace"
    bonus: float = 0.0

    def value(self, slate: bridgeval.Slate) -> float:
        return float(slate.items[0] in slate.relevant) + self.bonus


def test_a_metric_that_is_not_installed_is_given_as_an_object(save):
    files = [save("a.state", range(3), metrics=FirstPlace()), save("b.state", range(3, 5), metrics=FirstPlace())]
    with pytest.raises(
        StateFileError, match=r"'FirstPlace' of 'a.state' cannot be made.*give the metric object as metrics="
    ):
        bridgeval.merge(files)
    assert bridgeval.merge(files, metrics=FirstPlace())["FirstPlace"] == 1.0


def test_a_name_that_means_something_else_by_now_is_refused(save):
    @dataclass(frozen=True)
    class Other(bridgeval.ListMetric):
        name = "FirstPlace"

        def value(self, slate: bridgeval.Slate) -> float:
            return 0.5

    path = save("a.state", range(3), metrics=FirstPlace())
    with pytest.raises(
        StateFileError, match=r"'FirstPlace' means something else here.*Other\(.*here, FirstPlace\(.*there"
    ):
        bridgeval.merge(path, metrics=Other())


def test_a_shard_may_have_nobody_who_counts_or_no_rows_at_all(save):
    columns = {"user_id": "int64", "item_id": "object", "score": "float64"}
    nobody = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in columns.items()})
    empty = bridgeval.evaluate(
        nobody, nobody[["user_id", "item_id"]], ["nDCG@3", "Gini@3"], catalogue=ITEMS, state="0.state"
    )
    assert empty.population.users == 0
    bridgeval.evaluate({50: ["a"]}, {}, ["nDCG@3", "Gini@3"], catalogue=ITEMS, state="1.state")
    shown, relevant = lists_of(range(6))
    expected = bridgeval.evaluate({**shown, 50: ["a"]}, relevant, ["nDCG@3", "Gini@3"], catalogue=ITEMS)
    found = bridgeval.merge(["0.state", "1.state", save("2.state", range(6))])
    assert dict(found) == pytest.approx(dict(expected), rel=1e-12)
    assert found.population == expected.population


def test_integer_ids_and_string_ids_are_not_merged(save):
    bridgeval.evaluate({"x": ["a"]}, {"x": ["a"]}, ["nDCG@3", "Gini@3"], catalogue=ITEMS, state="b.state")
    with pytest.raises(MisalignedError, match="user ids are integers on one side and strings on the other"):
        bridgeval.merge([save("a.state"), "b.state"])


def test_the_manifest_lists_the_evaluations_with_their_versions_and_counts(save):
    report = bridgeval.merge([save("a.state", range(3)), save("b.state", range(3, 7))])
    parts = report.manifest["merged"]
    assert [part["users"] for part in parts] == [3, 4]
    assert {part["versions"]["bridgeval"] for part in parts} == {bridgeval.__version__}
    assert report.loader == "mapping"
    assert '"merged"' in report.to_json()


def test_a_file_is_replaced_as_a_whole_or_not_at_all(save, monkeypatch):
    path = save("a.state", range(3))
    before = Path(path).read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(StateFileError, match=r"'a.state' cannot be written; found: No space left"):
        save("a.state", range(5))
    assert Path(path).read_bytes() == before
    assert os.listdir() == ["a.state"]


def test_a_path_that_cannot_be_written_is_told_before_the_evaluation(save):
    with pytest.raises(StateFileError, match=r"there is no folder"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "Recall@1", state="nowhere/a.state")
    with pytest.raises(StateFileError, match=r"is a folder"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "Recall@1", state=".")


def test_one_file_is_one_report(save):
    shown, relevant = lists_of(range(6))
    expected = bridgeval.evaluate(shown, relevant, ["nDCG@3", "Gini@3"], catalogue=ITEMS)
    assert dict(bridgeval.merge(save("a.state"))) == dict(expected)


def test_an_unknown_rule_no_file_and_no_path_are_errors(save):
    with pytest.raises(BadParameterError, match="users='twice'"):
        bridgeval.merge(save("a.state"), users="twice")  # type: ignore[arg-type]
    with pytest.raises(StateFileError, match="there is nothing to merge"):
        bridgeval.merge([])
    with pytest.raises(StateFileError, match=r"'b.state' cannot be read; found: No such file"):
        bridgeval.merge(["a.state", "b.state"])


def test_several_systems_have_no_single_state(save):
    with pytest.raises(BadParameterError, match="one system"):
        bridgeval.compare({"a": {1: ["x"]}, "b": {1: ["x"]}}, {1: ["x"]}, state="a.state")


def test_a_file_can_be_read_with_the_tools_at_hand(save):
    """The first line names the format, the second one is JSON."""
    import json

    first, header, _ = Path(save("a.state", range(4))).read_bytes().split(b"\n", 2)
    assert first.split()[:2] == [b"bridgeval-state", b"1"]
    assert json.loads(header)["counts"] == {"users": 4, "counted": 4}
    assert StateFile.read("a.state").header["terms"]["metrics"].keys() == {"nDCG@3", "Gini@3"}


def test_files_that_arrive_keep_a_running_report(save):
    """The recipe of docs/states.md: a day that comes again replaces its file, and is not counted twice."""

    def report_so_far() -> bridgeval.Report:
        return bridgeval.merge(sorted(Path("states").glob("*.state")), users="events")

    os.mkdir("states")
    for day, seed in (("mon", 1), ("tue", 2), ("tue", 2)):
        save(f"states/{day}.state", range(seed, seed + 5), seed)
        report = report_so_far()
    assert report.population.users == 10
    two = [lists_of(range(1, 6), 1), lists_of(range(2, 7), 2)]
    renamed = [
        {100 * day + user: one for day, sides in enumerate(two) for user, one in sides[at].items()} for at in (0, 1)
    ]
    expected = bridgeval.evaluate(*renamed, ["nDCG@3", "Gini@3"], catalogue=ITEMS)
    assert dict(report) == pytest.approx(dict(expected), rel=1e-12)
