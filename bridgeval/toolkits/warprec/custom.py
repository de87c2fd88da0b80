"""A class written for WarpRec as a metric of the engine."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from bridgeval.errors import BadParameterError, BridgevalError, MetricFailedError
from bridgeval.plugin import Blocks, Metric, Needs, Result, UserMetric, check_cutoff
from bridgeval.toolkits.warprec.author_state import AuthorState, Axis, Part
from bridgeval.toolkits.warprec.bases import BaseMetric, RatingMetric, UserAverageTopKMetric
from bridgeval.toolkits.warprec.constructor import ANY, FROM_CONTEXT, SIZES, check_arguments, read_constructor
from bridgeval.toolkits.warprec.dense_rows import DenseRows, split_rows
from bridgeval.toolkits.warprec.held import find_changes, find_metrics
from bridgeval.toolkits.warprec.lookups import enlarge, read_lookups, try_lookups
from bridgeval.toolkits.warprec.registry import metric_registry

# A state that grows by the one has a row for each user, by the other a row for each item.
MORE_USERS, MORE_ITEMS = 3, 7
HOST = torch.device("cpu")
SHORT_LISTS = (
    "some lists have fewer than k items; their last places hold the index N, the score -inf and the relevance 0. "
    "Ask for a smaller k or give longer lists"
)


def metric(which: type[BaseMetric] | str, k: int | None = None, **parameters: Any) -> Metric:
    """Makes a class written for WarpRec a metric that `evaluate(metrics=[...])` accepts.

    A class on `UserAverageTopKMetric` or `RatingMetric` gives every user a value, so that it can be summarized, kept by
    user and combined (F1, EucDistance). Any other keeps its own states, which merge as `add_state` says.

    Args:
        which: the class, or the name it has in `metric_registry`.
        k: the cutoff, for classes that take one.
        parameters: other arguments of its constructor. `num_users`, `num_items`, `item_interactions`, `item_cluster`,
            `feature_lookup` and `user_cluster` are filled in.

    >>> class Found(UserAverageTopKMetric):
    ...     def compute_scores(self, preds, target, top_k_rel, **kwargs):
    ...         return top_k_rel.sum(dim=1) / target.sum(dim=1)
    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b", "c"]}, metric(Found, k=2))["Found@2"]
    0.5
    """
    author = metric_registry.get_class(which) if isinstance(which, str) else which
    check_arguments(author, k, parameters)
    given = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    label = f"custom:{author.__name__}" + (f"({given})" if given else "")
    gives_user_values = author.compute in (UserAverageTopKMetric.compute, RatingMetric.compute)
    kind = AuthorUserMetric if gives_user_values else AuthorStateMetric
    return kind(author, _freeze(parameters), k, parameters, label=label)


def _freeze(value: Any) -> Any:
    """A hashable form of a value: lists and dicts become tuples."""
    if isinstance(value, Mapping):
        return tuple((name, _freeze(one)) for name, one in value.items())
    return tuple(map(_freeze, value)) if isinstance(value, list | tuple) else value


@contextmanager
def _run_author(author: type[BaseMetric], method: str, device: torch.device, hint: str = "") -> Iterator[None]:
    """Names the author's class in whatever its code raises. Tensors that it makes without a device are on this one,
    whatever the caller's default is.
    """
    try:
        with device:
            yield
    except BridgevalError:
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise MetricFailedError(f"{author.__name__}.{method} failed", found, hint) from error


@dataclass(frozen=True)
class AuthorMetric(Metric):
    """The base of both kinds below: makes an instance of the author's class and gives it rows.

    Attributes:
        author: the class.
        key: the arguments of its constructor that the user gave, in a hashable form.
        k: the cutoff, for classes that take one.
        arguments: the same as `key`, as given.
    """

    author: type[BaseMetric]
    key: tuple[tuple[str, Any], ...] = ()
    k: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is not None:
            check_cutoff(self.author.__name__, self.k)

    def needs(self) -> Needs:
        context = frozenset(FROM_CONTEXT[name] for name in self._from_context)
        users = frozenset({"all users"} if self._asks_for_users else ())
        return replace(super().needs(), depth=0) | Needs(depth=self.k or 0, context=context, users=users)

    @property
    def _asks_for_users(self) -> bool:
        """Whether users who are known, but have nothing relevant, can make a difference."""
        return not {"num_users", "user_cluster", ANY}.isdisjoint(read_constructor(self.author))

    @property
    def _from_context(self) -> list[str]:
        """The arguments that the context fills in: of the constructor, and of classes that its parameters name."""
        own = read_constructor(self.author)
        asked = {name for one in (self.author, *self._named_classes()) for name in read_constructor(one)}
        takes = asked if ANY in own else asked.intersection(own)
        return [name for name in FROM_CONTEXT if name in takes and name not in self.arguments]

    def _named_classes(self) -> list[type[BaseMetric]]:
        """The registered classes that parameters name, as in `F1(metric_1="nDCG")`: the constructor makes them."""
        named = [one for _, value in self.key for one in (value if isinstance(value, tuple) else (value,))]
        return [metric_registry.get_class(one) for one in named if isinstance(one, str) and one in metric_registry]

    def _make(self, users: int, items: int, lookups: Mapping[str, Tensor], device: torch.device) -> BaseMetric:
        asked = read_constructor(self.author)
        given: dict[str, Any] = {} if self.k is None else {"k": self.k}
        given |= {name: size for name, size in zip(SIZES, (users, items), strict=True) if {name, ANY} & asked.keys()}
        # Copies: authors may write.
        given |= {name: value.clone() for name, value in lookups.items()} | copy.deepcopy(dict(self.arguments))
        hint = f"it was given {', '.join(given)}; {', '.join(FROM_CONTEXT)} are given to constructors that name them"
        with _run_author(self.author, "__init__", HOST, hint):
            instance = self.author(**given)
        for _, one in find_metrics(instance):
            one.move(device)
        return instance

    def _feed(self, rows: DenseRows, lookups: Mapping[str, Tensor]) -> BaseMetric:
        """An instance that has seen the rows and nothing else."""
        instance = self._make(rows.num_users, len(rows.space), lookups, rows.blocks.device)
        metrics = [one for _, one in find_metrics(instance)]
        for one in metrics:
            one.listed = rows.listed
        hint = SHORT_LISTS if rows.has_padding(self.k) else ""
        with _run_author(self.author, "update", rows.blocks.device, hint), torch.no_grad():
            instance.update(rows.preds, **rows.keywords(instance))
        for one in metrics:
            one.listed = None
        return instance


@dataclass(frozen=True)
class AuthorUserMetric(AuthorMetric, UserMetric):
    """A class whose `compute` gives each user a value: every batch is an evaluation of its own."""

    @property
    def _asks_for_users(self) -> bool:
        # Only a constructor of the author's own can read the number of users.
        maker = next(one for one in self.author.__mro__ if "__init__" in vars(one))
        return super()._asks_for_users and maker not in (UserAverageTopKMetric, RatingMetric)

    def values(self, blocks: Blocks) -> Tensor:
        values = torch.full((len(blocks),), torch.nan, dtype=torch.float64, device=blocks.device)
        for rows in split_rows(blocks):
            if not len(rows):
                continue
            instance = try_lookups(read_lookups(self._from_context, rows), partial(self._feed, rows))
            with _run_author(self.author, "compute", blocks.device):
                (found,) = instance.compute().values()
            values[rows.kept] = found[: len(rows.kept)].double()
        return values


@dataclass(frozen=True)
class AuthorStateMetric(AuthorMetric):
    """A class with states of its own, and of metrics that it holds."""

    def start(self) -> AuthorState:
        return AuthorState()

    def update(self, blocks: Blocks) -> AuthorState:
        state = self.start()
        for rows in split_rows(blocks):
            state = state.merge(self._read_state(rows))
        return state

    def _read_state(self, rows: DenseRows) -> AuthorState:
        lookups = read_lookups(self._from_context, rows)
        parts = try_lookups(lookups, partial(self._read_parts, rows))
        given = {
            # "max": what both sides have holds the same value in both.
            name: Part(name, "users", "max", None, value[: len(rows.kept)], len(rows))
            if name == "user_cluster"
            else Part(name, "items", "max", torch.zeros(1, device="cpu"), value, len(rows))
            for name, value in lookups.items()
        }
        return AuthorState((rows.users,), rows.space.ids, parts, given, len(rows), rows.has_padding(self.k))

    def _read_parts(self, rows: DenseRows, lookups: Mapping[str, Tensor]) -> dict[str, Part]:
        """The states after an update with these rows."""
        users, items, device = rows.num_users, len(rows.space), rows.blocks.device
        fresh = self._make(users, items, lookups, device)
        larger = self._make(users + MORE_USERS, items + MORE_ITEMS, enlarge(lookups, MORE_USERS, MORE_ITEMS), device)
        instance = self._feed(rows, lookups) if len(rows) else fresh
        changed = next(find_changes(fresh, instance), None)
        if changed is not None:
            raise BadParameterError(
                f"{self.author.__name__}.update changes self.{changed}, which is no state",
                "states alone are merged over batches",
                "declare it with add_state; for use within one call a local variable will do",
            )
        parts, sizes = {}, dict(find_metrics(larger))
        for path, one in find_metrics(instance):
            for name, reduction in one.state_reductions.items():
                words = f"{name!r} of {type(one).__name__}"
                default = one.state_defaults[name]
                axis = _find_axis(words, default, sizes[path].state_defaults[name], users)
                value = getattr(one, name)
                value = value[: len(rows.kept)] if axis == "users" else value
                parts[path + name] = Part.of(words, axis, reduction, default, value, len(rows))
        return parts

    def compute(self, state: AuthorState) -> Result:
        if state.items is None or not state.fed:
            return Result(float("nan"), users=0)
        ids, codes = state.sort_users()
        users, items, author = len(ids), len(state.items), self.author

        def run(lookups: Mapping[str, Tensor]) -> tuple[str, Mapping[str, Any]]:
            instance = self._make(users, items, lookups, HOST)
            for path, one in find_metrics(instance):
                for state_name, default in one.state_defaults.items():
                    setattr(one, state_name, state.parts[path + state_name].finish(codes, default))
            with _run_author(author, "compute", HOST), torch.no_grad():
                return instance.name, instance.compute()

        nobody = torch.zeros(users, dtype=torch.int64, device="cpu")
        lookups = {argument: part.finish(codes, nobody) for argument, part in state.given.items()}
        name, found = try_lookups(lookups, run)
        if not isinstance(found, Mapping):
            raise MetricFailedError(
                f"{author.__name__}.compute must give named numbers", f"{found!r}", "return {self.name: value}"
            )
        parts = {key: _to_number(value) for key, value in found.items()}
        headline = parts.pop(name, None)
        if headline is None and len(parts) == 1:
            _, headline = parts.popitem()
        if state.padded and headline is not None and not math.isfinite(headline):
            raise MetricFailedError(f"{author.__name__}.compute gave {headline}", hint=SHORT_LISTS)
        counted = _count_users(found.get(name), users)
        undefined = 0 if counted is None else max(state.fed - counted, 0)
        return Result(headline, parts, users=counted, undefined=undefined)


def _find_axis(name: str, default: Any, larger: Any, users: int) -> Axis:
    """Finds whether the first dimension of a state counts users or items, by how much it grows with each."""
    shape = list(getattr(default, "shape", ()))
    grown = [b - a for a, b in zip(shape, getattr(larger, "shape", ()), strict=True)]
    kinds: dict[int, Axis] = {0: None, MORE_USERS: "users", MORE_ITEMS: "items"}
    axis = kinds.get(grown[0]) if grown else None
    if any(grown[1:]) or (grown and grown[0] not in kinds) or (axis == "users" and shape[0] != users):
        raise BadParameterError(
            f"the state {name} has neither a row for each user nor a row for each item, but grows with them",
            f"shape {shape}",
            "put users or items in the first dimension, and nothing else",
        )
    return axis


def _to_number(value: Any) -> float:
    """A number as it is; of a tensor the mean of its cells without NaN."""
    return float(value.double().nanmean()) if isinstance(value, Tensor) else float(value)


def _count_users(value: Any, users: int) -> int | None:
    """The number of users that a per-user tensor has values for."""
    by_user = isinstance(value, Tensor) and value.ndim == 1 and len(value) == users
    return int((~value.isnan()).sum()) if by_user else None
