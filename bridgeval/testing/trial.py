"""Trial: a metric, the data that it is tested on, and the evaluations that several laws share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.batch import Batch, lay_out
from bridgeval.engine.blocks import Block, Blocks
from bridgeval.engine.lookup import Lookup
from bridgeval.engine.metric import Metric, TopKMetric, UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Execution, Plan, fold
from bridgeval.engine.state import State
from bridgeval.engine.summary import Result
from bridgeval.errors import NeedError
from bridgeval.tables.context import Context, Table
from bridgeval.tables.ids import Ids
from bridgeval.tables.slates import Slates
from bridgeval.testing.law import require
from bridgeval.testing.process import find_changes, look_at_settings
from bridgeval.testing.results import difference
from bridgeval.testing.world import World, world as small_world

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Trial:
    """A metric and the data that it is tested on."""

    metric: Metric
    world: World

    @cached_property
    def plan(self) -> Plan:
        return Plan((self.metric,))

    @cached_property
    def slates(self) -> Slates:
        (slates,) = self.world.inputs.slates(self.plan.needs)
        return slates

    @cached_property
    def context(self) -> Context:
        """The context of the world, and numbers for tables that the metric asks for by name and the world lacks."""
        context, needs = self.world.inputs.context, self.plan.needs
        items, users = (make_numbers(ids) for ids in (self.slates.items, self.slates.users))
        return replace(
            context,
            items={**dict.fromkeys(needs.items, items), **context.items},
            users={**dict.fromkeys(needs.by_user, users), **context.users},
        )

    @cached_property
    def reads_no_scores(self) -> bool:
        """Whether it declares no scores, so that nothing but their order can matter to it."""
        ranking, needs = getattr(self.metric, "ranking", None), self.metric.needs()
        by_score = ranking is not None and (ranking.score_above is not None or ranking.order in ("sigmoid", "softmax"))
        return not by_score and not needs.reads("score") and not needs.lists and "prev_score" not in needs.pairs

    @cached_property
    def has_values(self) -> bool:
        """Whether its class, or a parent other than the bases, defines `values(blocks)` or `at_cutoffs(blocks)`."""
        kind: Any = type(self.metric)
        if not issubclass(kind, UserMetric):
            return False
        if kind.values is not TopKMetric.values:
            return kind.values is not UserMetric.values
        return kind.at_cutoffs is not TopKMetric.at_cutoffs

    @cached_property
    def state(self) -> Any:
        """The state of all users in one batch."""
        return self.fold([self.slates])

    @cached_property
    def expected(self) -> Result:
        """The result of all users in one batch."""
        before = look_at_settings()
        result = self.metric.compute(self.state)
        self.changed.extend(find_changes(before))
        return result

    @cached_property
    def changed(self) -> list[str]:
        """Settings of the process that the first evaluation changed."""
        return []

    def fold(
        self, chunks: Iterable[Slates], batch_size: int | None = None, *, plan: Plan | None = None, **more: Any
    ) -> State:
        """The state of these chunks; of the last metric of a plan."""
        context, device = more.get("context", self.context), more.get("device", CPU)
        return fold(plan or self.plan, chunks, context, Execution(device, batch_size))[-1]

    def result(self, chunks: Iterable[Slates] | None = None, batch_size: int | None = None, **more: Any) -> Result:
        return self.metric.compute(self.fold([self.slates] if chunks is None else chunks, batch_size, **more))

    def expect(self, result: Result, when: str) -> None:
        """Raises if a result is not the expected one."""
        differs = difference(self.expected, result)
        require(not differs, f"{when}: {differs}")

    def of(self, **parameters: Any) -> Trial:
        """The same with other flat parameters."""
        return Trial(self.metric.with_parameters(**parameters), self.world)

    def on(self, world: World) -> Trial:
        """The same metric on other data."""
        return Trial(self.metric, world)

    def without(self, need: str) -> tuple[Slates, Context]:
        """The slates and the context without a table, a pair column or the lists of a need."""
        context, needs = self.context, self.plan.needs
        if need == "catalogue":
            return self.slates, replace(context, catalogue=None)
        if need in needs.context | needs.named_tables:
            items, users = (
                {name: one for name, one in tables.items() if f"{side} {name}" != need}
                for side, tables in (("item", context.items), ("user", context.users))
            )
            return self.slates, replace(context, items=items, users=users)
        fewer = replace(
            needs,
            pairs=needs.pairs - {need},
            lists=needs.lists - {need},
            optional=needs.optional - {need},
            if_local=needs.if_local - {need},
            baselines=frozenset() if need.startswith("baseline_rank") else needs.baselines,
        )
        (slates,) = self.world.inputs.slates(fewer)
        return slates, context

    def lay_out(self, slates: Slates | None = None, device: torch.device = CPU, needs: Needs | None = None) -> Watched:
        """The blocks of all users, which note what is written to."""
        slates, needs = self.slates if slates is None else slates, needs or self.plan.needs
        depth = needs.depth if needs.depth is None else max(needs.depth, 1)
        batch = lay_out(slates, 0, len(slates), device)
        return Watched(batch, Lookup(self.context, slates, device), depth, needs)


def make_trial(metric: Metric, world: World | None = None) -> Trial:
    """The metric on a world that it can be evaluated on."""
    if world is not None:
        return Trial(metric, world)
    trial = Trial(metric, small_world())
    try:
        trial.expected  # noqa: B018  (asks whether there is one)
    except NeedError:
        whole = Trial(metric, small_world(whole=True))
        try:
            whole.expected  # noqa: B018
        except Exception:
            return trial
        return whole
    except Exception:
        return trial
    return trial


def name_metric(metric: Metric) -> str:
    try:
        return str(metric)
    except Exception:
        return type(metric).__name__


def make_numbers(ids: Ids) -> Table:
    """A number for most of these ids; every fifth has none."""
    kept = np.flatnonzero(np.arange(len(ids)) % 5 != 3)
    return Table(ids.take(kept), 0.5 + kept % 4, default=np.nan)


class Watched(Blocks):
    """Blocks that know their tensors as they were made."""

    def __init__(self, batch: Batch, lookup: Lookup, depth: int | None, needs: Needs) -> None:
        super().__init__(batch, lookup, depth, needs)
        self.copies: dict[Block[Any], list[tuple[Any, Any]]] = {}

    def __getitem__(self, block: Block[Any]) -> Any:
        made = super().__getitem__(block)
        if block not in self.copies:
            self.copies[block] = copy_arrays(made)
        return made


def copy_arrays(value: Any) -> list[tuple[Any, Any]]:
    """The tensors and arrays within a value, each with a copy."""
    return [(one, one.clone() if isinstance(one, Tensor) else one.copy()) for one in _walk_arrays(value, 4)]


def _walk_arrays(value: Any, depth: int) -> Iterator[Any]:
    if isinstance(value, Tensor | np.ndarray):
        yield value
    elif depth and isinstance(value, tuple | list):
        for one in value:
            yield from _walk_arrays(one, depth - 1)
    elif depth and isinstance(value, Mapping):
        yield from _walk_arrays(list(value.values()), depth)
    elif depth and is_dataclass(value):
        for one in fields(value):
            yield from _walk_arrays(getattr(value, one.name), depth - 1)


def was_written(copies: Iterable[tuple[Any, Any]]) -> bool:
    """Whether one of the arrays is no longer as it was copied."""
    return any(not np.array_equal(np.asarray(one), np.asarray(copy), equal_nan=_has_nan(one)) for one, copy in copies)


def _has_nan(array: Any) -> bool:
    return np.asarray(array).dtype.kind == "f"


def take_users(slates: Slates, users: Sequence[int]) -> Slates:
    """Some users, in this order, with a vocabulary of their own."""
    where = np.asarray(users, dtype=np.int64)
    given = {"shown": slates.shown, "relevant": slates.relevant, "history": slates.history}
    cut = {name: lists.take(where) for name, lists in given.items() if lists is not None}
    used = np.unique(np.concatenate([lists.items for lists in cut.values()]))
    coded: dict[str, Any] = {
        name: replace(lists, items=np.searchsorted(used, lists.items).astype(np.int32)) for name, lists in cut.items()
    }
    return replace(
        slates,
        **coded,
        users=slates.users.take(where),
        items=slates.items.take(used),
        user_columns={name: column[where] for name, column in slates.user_columns.items()},
    )


def repeat_users(slates: Slates, times: int) -> Slates:
    """As many users with the same lists, each under a name of its own."""
    many = take_users(slates, list(range(len(slates))) * times)
    count = len(slates)
    names = [
        f"{at // count} {user}" if isinstance(user, str) else user + 1000 * (at // count)
        for at, user in enumerate(many.users.tolist())
    ]
    return replace(many, users=Ids.of(names))
