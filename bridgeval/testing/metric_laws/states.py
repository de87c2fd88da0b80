"""Laws about states: merging, batches, chunks, travel, size."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import reduce
from typing import Any

from bridgeval.engine.plan import Plan
from bridgeval.engine.state_files import StateFile, pack_states
from bridgeval.engine.summary import Result
from bridgeval.testing.law import Law, law, require
from bridgeval.testing.process import other_hashes
from bridgeval.testing.results import difference
from bridgeval.testing.trial import Trial, repeat_users, take_users
from bridgeval.testing.world import world as small_world

COPIES = 40

# Users of the small world with all kinds of lists; one batch for each of all users would take twice as long.
FEW_USERS = range(8)


@law(
    "an empty state is neutral",
    cause="start() holds more than the state of no data, or merge does not know an empty state",
    remedy="let start() be zeros or nothing, and compute of it NaN or 0",
)
def an_empty_state_is_neutral(trial: Trial) -> None:
    """`start()` changes nothing in a merge, on either side, and has a result of no data."""
    metric, state = trial.metric, trial.state
    trial.expect(metric.compute(_merge(metric.start(), state)), "start() merged with the state")
    trial.expect(metric.compute(_merge(state, metric.start())), "the state merged with start()")
    nothing = metric.compute(metric.start())
    require(nothing.value is None or nothing.value == 0 or math.isnan(nothing.value), f"of no data {nothing.value}")


@law(
    "states are values",
    cause="an operation in place on what a state holds",
    remedy="build a new state in merge, and read only in compute",
)
def states_are_values(trial: Trial) -> None:
    """Neither `compute` nor `merge` changes a state."""
    metric = trial.metric
    halves = [trial.fold([take_users(trial.slates, users)]) for users in (FEW_USERS, range(8, len(trial.slates)))]
    first: list[Result] = [metric.compute(half) for half in halves]
    for half, result in zip(halves, first, strict=True):
        differs = difference(result, metric.compute(half))
        require(not differs, f"computed twice: {differs}", "compute writes to the state")
    _merge(*halves)
    for half, result in zip(halves, first, strict=True):
        differs = difference(result, metric.compute(half))
        require(not differs, f"computed after a merge: {differs}", "merge writes to one of its states")


@law(
    "batches change nothing",
    cause="an answer for the whole batch (a count of batches, a maximum over users, padding read as items)",
    remedy="answer for each user alone, mask with .valid, and leave adding up to the state",
)
def batches_change_nothing(trial: Trial) -> None:
    """The size of batches does not change the result beyond 1e-12."""
    few = take_users(trial.slates, FEW_USERS)
    differs = difference(trial.result([few]), trial.result([few], batch_size=1))
    require(not differs, f"in batches of 1: {differs}")
    trial.expect(trial.result(batch_size=7), "in batches of 7")


@law(
    "chunks and their order change nothing",
    cause="codes of items or places of users, which differ from chunk to chunk, are kept in a state or taken for ids; "
    "the size of a chunk is read; or a merge depends on the order",
    remedy="keep item ids (ItemSums), and merge by operations that may be regrouped: sums, minima, unions",
)
def chunks_change_nothing(trial: Trial) -> None:
    """Chunks of users with vocabularies of their own, in any order and merged in any order, change nothing."""
    users = list(range(len(trial.slates)))
    halves = ([at for at in users if at % 4 < 2], [at for at in users if at % 4 >= 2])
    both = [trial.fold([take_users(trial.slates, half)]) for half in halves]
    trial.expect(trial.metric.compute(_merge(*both)), "two chunks that share no item")
    random.Random(3).shuffle(users)
    states = [trial.fold([take_users(trial.slates, users[at::5])]) for at in range(5)]
    paired = [reduce(_merge, states[at : at + 2]) for at in range(0, 5, 2)]
    trial.expect(trial.metric.compute(reduce(_merge, states)), "5 chunks of users in another order")
    trial.expect(trial.metric.compute(reduce(_merge, reversed(paired))), "5 chunks merged in pairs")


def _merge(first: Any, second: Any) -> Any:
    return first.merge(second)


@law(
    "string ids change nothing",
    cause="ids that are taken for numbers",
    remedy="treat ids as names: look them up, compare them, do not calculate with them",
)
def string_ids_change_nothing(trial: Trial) -> None:
    """String ids work as integers do: merged chunks give the result of one, also where `hash` gives other numbers."""
    if trial.world not in (small_world(), small_world(whole=True)):
        return
    texts = trial.on(small_world("string", whole=trial.world is small_world(whole=True)))
    chunks_change_nothing.keep(texts)
    with other_hashes():
        differs = difference(texts.expected, texts.result(plan=Plan((trial.metric,))))
    require(
        not differs,
        f"with other numbers of hash(), as in another process, {differs}",
        "hash() of a text, which differs from process to process",
        "use no hash, or one of hashlib",
    )


@law(
    "states travel",
    cause="a state that holds objects other than numbers, texts, arrays and states",
    remedy="make the state a frozen dataclass of plain data",
)
def states_travel(trial: Trial) -> None:
    """A state comes back from a pickle, and from a file of plain data, as it was."""
    copy = pickle.loads(pickle.dumps(trial.state))
    trial.expect(trial.metric.compute(copy), "after a pickle")
    trial.expect(trial.metric.compute(_merge(trial.metric.start(), copy)), "a pickle merged with start()")
    packed = pack_states(trial.plan, (trial.state,), {})
    (read,) = StateFile.of(packed, "in memory").read_states(trial.plan)
    trial.expect(trial.metric.compute(read), "after a state file")


@law(
    "states stay small",
    cause="a state that keeps something for every user, batch or merge",
    remedy="keep sums (Sums, Moments, ItemSums); where every value is needed, a Collected or a class with grows = True",
)
def states_stay_small(trial: Trial) -> None:
    """40 times the users of the same items do not make a state larger, unless it says that it `grows`."""
    few = take_users(trial.slates, FEW_USERS)
    one = trial.fold([few])
    size = _measure(one)
    if _may_grow(one):
        return
    many = _measure(trial.fold([repeat_users(few, COPIES)]))
    require(many <= 1.5 * size + 64, f"{size} bytes of {len(few)} users became {many} of {COPIES} times as many")
    merged = _measure(reduce(_merge, [one] * COPIES))
    require(merged <= 1.5 * size + 64, f"{size} bytes became {merged} when {COPIES} states were merged")


def _may_grow(state: Any) -> bool:
    """Whether a state, or one in a field or a list of it, says that it grows."""
    if is_dataclass(state):
        inner: Any = [getattr(state, one.name) for one in fields(state)]
    else:
        inner = state.values() if isinstance(state, Mapping) else state if isinstance(state, tuple | list) else ()
    return getattr(state, "grows", False) is True or any(map(_may_grow, inner))


def _measure(state: Any) -> int:
    return len(pickle.dumps(state))


STATES: tuple[Law, ...] = (
    states_are_values,
    an_empty_state_is_neutral,
    batches_change_nothing,
    chunks_change_nothing,
    string_ids_change_nothing,
    states_travel,
    states_stay_small,
)
