"""Tasks are answered in order by the caller and the team, whoever is busy, whatever fails."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
import torch

import bridgeval
from bridgeval.batch.workers import map_ordered
from bridgeval.parallel import ROWS_FOR_THREADS, run_all, team
from tests.spark.worlds import installed_metrics, whole_world

MANY = ROWS_FOR_THREADS


def test_answers_come_in_the_order_of_tasks_whoever_is_faster():
    def slow_at_first(n: int) -> int:
        time.sleep(0.02 if n == 0 else 0)
        return n

    assert list(map_ordered(slow_at_first, range(20), workers=4)) == list(range(20))


def test_the_caller_and_the_team_share_the_tasks():
    both_at_work = threading.Barrier(2, timeout=10)

    def waits_for_the_other(_: int) -> str:
        both_at_work.wait()
        return threading.current_thread().name

    assert len(set(map_ordered(waits_for_the_other, range(2), workers=2))) == 2


@pytest.mark.parametrize("failing", [0, 1, 7])
def test_a_failure_is_raised_at_its_place_and_ends_the_rest(failing):
    def action(n: int) -> int:
        if n == failing:
            raise KeyError(n)
        return n

    answers = map_ordered(action, range(1000), workers=3)
    assert [next(answers) for _ in range(failing)] == list(range(failing))
    with pytest.raises(KeyError, match=str(failing)):
        next(answers)


def test_who_stops_listening_stops_the_work():
    done = []
    answers = map_ordered(done.append, range(10_000), workers=2)
    next(answers)
    answers.close()
    after = len(done)
    time.sleep(0.02)
    assert len(done) == after < 10_000


def test_tasks_are_asked_for_by_the_caller_with_all_of_torch():
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


def test_torch_has_its_threads_back():
    before = torch.get_num_threads()
    inside = list(map_ordered(lambda _: torch.get_num_threads(), range(4), workers=2))
    assert (inside, torch.get_num_threads()) == ([1] * 4, before)


@pytest.fixture
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_every_metric_has_the_same_digits_on_several_threads(request):
    given = whole_world() | {"metrics": installed_metrics(), "batch_size": 20}
    alone = bridgeval.evaluate(**given)
    request.getfixturevalue("three_threads")
    for _ in range(3):
        np.testing.assert_equal(dict(bridgeval.evaluate(**given)), dict(alone))


@pytest.mark.usefixtures("three_threads")
def test_no_helper_waits_on_where_the_caller_fails():
    def fail(_: int) -> None:
        raise KeyError("here")

    users = 20_000
    shown = {"user_id": np.arange(users), "item_id": np.arange(users), "score": np.ones(users)}
    relevant = pa.table({"user_id": np.arange(users), "item_id": np.arange(users)})
    with pytest.raises(KeyError, match="here") as caught:
        bridgeval.evaluate(pa.table(shown), relevant, "Recall@1", progress=fail, batch_size=100)
    # The frames of the failure are alive still.
    assert caught.tb is not None
    assert team().submit(int).result(timeout=10) == 0


def test_actions_within_actions_do_not_wait_for_each_other():
    def nested(depth: int) -> int:
        return 1 if not depth else sum(run_all([lambda: nested(depth - 1)] * 3, MANY))

    assert nested(4) == 3**4
    assert sum(map_ordered(lambda _: nested(2), range(8), workers=4)) == 8 * 9


def test_the_caller_does_what_nobody_has_begun():
    helpers = max((os.cpu_count() or 1) - 1, 1)
    all_have_begun, the_last_is_done = threading.Barrier(helpers + 1), threading.Event()

    def wait() -> bool:
        all_have_begun.wait(10)
        return the_last_is_done.wait(3)

    # Every helper is waiting for the last action by the time that the caller is free to do it.
    actions = [lambda: all_have_begun.wait(10) >= 0, *[wait] * helpers, the_last_is_done.set]
    assert run_all(actions, MANY) == [True] * (helpers + 1) + [None]


def test_a_failing_action_is_raised():
    def fail() -> None:
        raise KeyError("here")

    for actions in ([fail, lambda: 1], [lambda: 1, fail]):
        with pytest.raises(KeyError, match="here"):
            run_all(actions, MANY)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_a_fork_has_a_team_of_its_own():
    team().submit(int).result()
    child = os.fork()
    if not child:
        os._exit(0 if team().submit(lambda: 7).result(timeout=10) == 7 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
