"""Tasks are done in order, in pools that end with the call and change nothing of the process."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
import torch

import bridgeval
from bridgeval import parallel
from bridgeval.parallel import ROWS_FOR_THREADS, count_threads, map_ordered, run_all
from tests.conftest import workers
from tests.spark.worlds import installed_metrics, whole_world

MANY = ROWS_FOR_THREADS


def test_results_come_in_the_order_of_tasks_even_if_later_ones_are_faster():
    def slow_at_first(n: int) -> int:
        time.sleep(0.02 if n == 0 else 0)
        return n

    assert list(map_ordered(slow_at_first, range(20), workers=4)) == list(range(20))


@pytest.mark.parametrize("run", ["map_ordered", "run_all"])
def test_tasks_run_in_parallel(run, two_threads):
    both_at_work = threading.Barrier(2, timeout=10)

    def wait_for_the_other(_: int = 0) -> str:
        both_at_work.wait()
        return threading.current_thread().name

    if run == "run_all":
        names = run_all([wait_for_the_other] * 2, MANY)
    else:
        names = list(map_ordered(wait_for_the_other, range(2), workers=2))
    assert len(set(names)) == 2
    assert not set(names) & {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("failing", [0, 1, 7])
def test_a_failure_is_raised_in_order_and_ends_the_threads(failing):
    def action(n: int) -> int:
        if n == failing:
            raise KeyError(n)
        return n

    answers = map_ordered(action, range(1000), workers=3)
    assert [next(answers) for _ in range(failing)] == list(range(failing))
    with pytest.raises(KeyError, match=str(failing)):
        next(answers)
    assert not workers()


def test_closing_the_generator_stops_the_work_and_ends_the_threads():
    done = []
    answers = map_ordered(done.append, range(10_000), workers=2)
    next(answers)
    assert workers()
    answers.close()
    assert not workers()
    after = len(done)
    time.sleep(0.02)
    assert len(done) == after < 10_000


def test_tasks_are_asked_for_in_the_thread_of_the_caller():
    asked = []

    def tasks():
        for n in range(50):
            asked.append((threading.current_thread(), torch.get_num_threads()))
            yield n

    assert list(map_ordered(lambda n: n, tasks(), workers=2)) == list(range(50))
    assert set(asked) == {(threading.current_thread(), torch.get_num_threads())}


def test_few_tasks_wait_at_a_time():
    asked = 0

    def tasks():
        nonlocal asked
        for n in range(100):
            asked += 1
            yield n

    for n, _ in enumerate(map_ordered(lambda n: n, tasks(), workers=2)):
        assert asked <= n + 8


def test_every_metric_has_the_same_digits_on_several_threads(set_threads):
    given = whole_world() | {"metrics": installed_metrics(), "batch_size": 20}
    set_threads(1)
    alone = bridgeval.evaluate(**given)
    set_threads(3)
    np.testing.assert_equal(dict(bridgeval.evaluate(**given)), dict(alone))


def test_no_thread_is_left_where_the_caller_fails(two_threads):
    def fail(_: int) -> None:
        raise KeyError("here")

    users = 20_000
    shown = {"user_id": np.arange(users), "item_id": np.arange(users), "score": np.ones(users)}
    relevant = pa.table({"user_id": np.arange(users), "item_id": np.arange(users)})
    with pytest.raises(KeyError, match="here") as caught:
        bridgeval.evaluate(pa.table(shown), relevant, "Recall@1", progress=fail, batch_size=100)
    # The frames of the failure are still alive.
    assert caught.tb is not None
    assert not workers()


def test_nested_actions_start_no_further_threads(two_threads):
    def run_nested(depth: int) -> set[str]:
        if not depth:
            return {threading.current_thread().name}
        return set().union(*run_all([lambda: run_nested(depth - 1)] * 3, MANY))

    assert len(run_nested(4)) <= 2
    assert len(set().union(*map_ordered(lambda _: run_nested(2), range(8), workers=4))) <= 4


def test_a_failing_action_is_raised_and_leaves_no_thread(two_threads):
    def fail() -> None:
        raise KeyError("here")

    for actions in ([fail, lambda: 1], [lambda: 1, fail]):
        with pytest.raises(KeyError, match="here"):
            run_all(actions, MANY)
        assert not workers()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own(two_threads):
    run_all([int, int], MANY)
    child = os.fork()
    if not child:
        os._exit(0 if run_all([lambda: 7, lambda: 8], MANY) == [7, 8] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(("quota", "limit"), [("max 100000", None), ("300000 100000", 3), ("50000 100000", 1)])
def test_the_quota_of_a_container_limits_threads(quota, limit, tmp_path, monkeypatch):
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    monkeypatch.setattr(parallel, "CPU_QUOTA", str(tmp_path / "cpu.max"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 6)
    assert count_threads() == (limit or 6)
