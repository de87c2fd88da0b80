"""From a class written for WarpRec to a metric of ours."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

import torch
from torch import Tensor

from bridgeval.errors import BadParameterError, BridgevalError, MetricFailedError
from bridgeval.plugin import Blocks, Metric, Needs, Result, UserMetric, check_cutoff, literal, tensor_of
from bridgeval.toolkits.warprec.bases import (
    BaseMetric,
    RatingMetric,
    UserAverageTopKMetric,
    metric_registry,
)
from bridgeval.toolkits.warprec.states import AuthorState, Axis, Part
from bridgeval.toolkits.warprec.tensors import Rows, item_space, rows_of

# What a constructor may ask for -> what has to be given for it, and what it has a row for.
FROM_CONTEXT: dict[str, tuple[str, Axis]] = {
    "item_interactions": ("item popularity", "items"),
    "item_cluster": ("item groups", "items"),
    "feature_lookup": ("item features", "items"),
    "user_cluster": ("user groups", "users"),
}
SIZES = ("num_users", "num_items")
DENSE = ("binary_relevance", "discounted_relevance", "ground")


def metric(which: type[BaseMetric] | str, k: int | None = None, **parameters: Any) -> Metric:
    """A metric of ours made of a class written for WarpRec, to be given to `evaluate(metrics=[...])`.

    A class on `UserAverageTopKMetric` or `RatingMetric` gives every user a value, so that it can be summarised, kept by
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
    wanted = _constructor(author)
    unknown = [name for name in parameters if name not in wanted and "**" not in wanted]
    if unknown:
        raise BadParameterError(
            f"{author.__name__} has no parameter {unknown[0]!r}", hint=f"it has {', '.join(wanted)}"
        )
    if ("k" in wanted) != (k is not None):
        raise BadParameterError(
            f"{author.__name__} {'needs a' if k is None else 'takes no'} cutoff",
            hint=f"metric({author.__name__}, k=10)",
        )
    missing = [
        name
        for name, needed in wanted.items()
        if needed and name not in parameters and name not in (*SIZES, *FROM_CONTEXT, "k", "**")
    ]
    if missing:
        raise BadParameterError(
            f"{author.__name__} needs {missing[0]!r}", hint=f"metric({author.__name__}, {missing[0]}=...)"
        )
    given = ", ".join(f"{name}={literal(value)}" for name, value in parameters.items())
    label = f"custom:{author.__name__}" + (f"({given})" if given else "")
    kind = ByUser if _gives_user_values(author) else ByState
    return kind(author, tuple(parameters.items()), k, label=label)


def _gives_user_values(author: type[BaseMetric]) -> bool:
    own = {UserAverageTopKMetric.compute, RatingMetric.compute}
    return author.compute in own


def _constructor(author: type[BaseMetric]) -> dict[str, bool]:
    """The constructor's arguments -> whether they must be given; `**` where it takes any."""
    arguments: dict[str, bool] = {}
    for parent in author.__mro__:
        if parent is BaseMetric:
            break
        if "__init__" not in parent.__dict__:
            continue
        found = list(inspect.signature(vars(parent)["__init__"]).parameters.values())[1:]
        for argument in found:
            if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
                continue
            arguments.setdefault(argument.name, argument.default is argument.empty)
        if not any(argument.kind is argument.VAR_KEYWORD for argument in found):
            return {name: needed for name, needed in arguments.items() if name != "dist_sync_on_step"}
    return {name: needed for name, needed in arguments.items() if name != "dist_sync_on_step"} | {"**": False}


def _dense(author: type[BaseMetric]) -> frozenset[str]:
    """The tensors over all items to make: those declared, and those that the author's code names."""
    declared = {which.value for which in author._REQUIRED_COMPONENTS}
    named: set[str] = set()
    for parent in author.__mro__:
        if parent is BaseMetric:
            break
        for function in vars(parent).values():
            if inspect.isfunction(function):
                named |= _strings(function.__code__) | set(inspect.signature(function).parameters)
    asked = {name for name in DENSE if name in declared or name in named}
    # The others are made of the ratings, so that these cost nothing more.
    return frozenset(asked | {"ground"} if asked else asked)


def _strings(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    found = {constant for constant in code.co_consts if isinstance(constant, str)}
    return found.union(*(_strings(one) for one in inner))


@contextmanager
def _named(author: type[BaseMetric], what: str) -> Iterator[None]:
    """Puts the author's class into whatever its code raises."""
    try:
        yield
    except BridgevalError:
        raise
    except Exception as error:
        raise MetricFailedError(f"{author.__name__}.{what} failed", f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Adapted(Metric):
    """What both kinds share: building an instance and feeding it rows."""

    author: type[BaseMetric]
    arguments: tuple[tuple[str, Any], ...] = ()
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is not None:
            check_cutoff(self.author.__name__, self.k)

    def needs(self) -> Needs:
        context = frozenset(need for need, _ in self._wanted.values())
        return replace(super().needs(), depth=0) | Needs(depth=self.k or 0, context=context)

    @property
    def _wanted(self) -> dict[str, tuple[str, Axis]]:
        asked = _constructor(self.author)
        return {n: source for n, source in FROM_CONTEXT.items() if n in asked and n not in dict(self.arguments)}

    def _given(self, rows: Rows) -> dict[str, Tensor]:
        """The tensors that the constructor asks for, laid against the rows and the items at hand."""
        blocks, given = rows.blocks, {}
        for name, (need, axis) in self._wanted.items():
            table = need.split(" ")[1]
            if axis == "users":
                whole = blocks.lookup.users(table)[blocks.batch.start : blocks.batch.stop]
                given[name] = whole[rows.rows]
            else:
                values = blocks.context.items[table]
                given[name] = tensor_of(values.aligned(rows.space.ids)).to(blocks.device)
        return given

    def _instance(self, users: int, items: int, given: Mapping[str, Tensor]) -> BaseMetric:
        asked = _constructor(self.author)
        sizes = {name: size for name, size in zip(SIZES, (users, items), strict=True) if name in asked}
        cutoff = {} if self.k is None else {"k": self.k}
        padded = {
            # An extra row for "no item", as in WarpRec's lookups; popularity has none there. Authors may write to both.
            name: value.clone()
            if name in ("item_interactions", "user_cluster")
            else torch.cat([value, torch.zeros_like(value[:1])])
            for name, value in given.items()
        }
        with _named(self.author, "__init__"):
            return self.author(**{**sizes, **padded, **cutoff, **dict(self.arguments)})

    def _updated(self, rows: Rows, given: Mapping[str, Tensor]) -> BaseMetric:
        """An instance that has seen the rows and nothing else."""
        instance = self._instance(len(rows), len(rows.space), given).to(rows.blocks.device)
        for name, default in instance.state_defaults.items():
            if isinstance(default, Tensor):
                setattr(instance, name, default.to(rows.blocks.device, copy=True))
        with _named(self.author, "update"), torch.no_grad():
            instance.update(rows.preds, **rows.keywords(instance, _dense(self.author)))
        return instance


@dataclass(frozen=True)
class ByUser(Adapted, UserMetric):
    """A class whose `compute` gives each user a value: every batch is an evaluation of its own."""

    def values(self, blocks: Blocks) -> Tensor:
        found = [self._of(rows) for rows in rows_of(blocks)]
        return torch.cat(found) if found else torch.zeros(0, dtype=torch.float64, device=blocks.device)

    def _of(self, rows: Rows) -> Tensor:
        instance = self._updated(rows, self._given(rows))
        with _named(self.author, "compute"):
            (values,) = instance.compute().values()
        return values.double()


@dataclass(frozen=True)
class ByState(Adapted):
    """A class with states of its own."""

    def start(self) -> AuthorState:
        return AuthorState()

    def update(self, blocks: Blocks) -> AuthorState:
        state = AuthorState()
        for rows in rows_of(blocks):
            state = state.merge(self._of(rows))
        return state

    def _of(self, rows: Rows) -> AuthorState:
        blocks, given = rows.blocks, self._given(rows)
        axes = blocks.lookup.once((ByState, self), lambda: self._axes(len(rows), len(rows.space), given))
        instance = self._updated(rows, given)
        start = blocks.batch.start + rows.rows.start
        parts = {
            name: Part.of(
                f"{name!r} of {self.author.__name__}",
                axes[name],
                reduction,
                instance.state_defaults[name],
                getattr(instance, name),
                len(rows),
            )
            for name, reduction in instance.state_reductions.items()
        }
        kept = {
            name: Part(name, self._wanted[name][1], "max", torch.zeros(1), value.cpu(), len(rows))
            for name, value in given.items()
        }
        return AuthorState(
            (blocks.batch.slates.users.slice(start, start + len(rows)),), item_space(blocks).ids, parts, kept
        )

    def _axes(self, users: int, items: int, given: Mapping[str, Tensor]) -> dict[str, Axis]:
        """Which states have a row for each user or item: those that grow when an instance is made for more of them."""
        more = {
            name: torch.cat([value, *[value[-1:]] * (1 if self._wanted[name][1] == "users" else 2)])
            for name, value in given.items()
        }
        small, large = self._instance(users, items, given), self._instance(users + 1, items + 2, more)
        axes: dict[str, Axis] = {}
        for name, default in small.state_defaults.items():
            shape = list(getattr(default, "shape", ()))
            grown = [b - a for a, b in zip(shape, getattr(large.state_defaults[name], "shape", ()), strict=True)]
            if any(grown[1:]):
                raise BadParameterError(
                    f"the state {name!r} of {self.author.__name__} counts users or items beyond its first dimension",
                    f"shape {shape}",
                    "put users or items first, or keep what is needed of them",
                )
            kinds: dict[int, Axis] = {0: None, 1: "users", 2: "items"}
            axes[name] = kinds[grown[0]] if grown else None
        return axes

    def compute(self, state: Any) -> Result:
        if state.items is None:
            return Result(float("nan"))
        ids, order = state.sorted_users()
        given = {name: part.final(order, None) for name, part in state.given.items()}
        instance = self._instance(len(ids), len(state.items), given)
        for name, part in state.parts.items():
            setattr(instance, name, part.final(order, instance.state_defaults[name]))
        with _named(self.author, "compute"), torch.no_grad():
            found = instance.compute()
        numbers = found if isinstance(found, Mapping) else {instance.name: found}
        parts = {name: _number(value) for name, value in numbers.items()}
        headline = parts.pop(instance.name, None) if instance.name in parts else None
        if headline is None and len(parts) == 1:
            _, headline = parts.popitem()
        return Result(headline, parts, users=_users(numbers.get(instance.name), len(ids)))


def _number(value: Any) -> float:
    """A number as it is; of a tensor the mean of what is not NaN."""
    return float(value.double().nanmean()) if isinstance(value, Tensor) else float(value)


def _users(value: Any, users: int) -> int | None:
    """How many users a per-user tensor has values for."""
    by_user = isinstance(value, Tensor) and value.ndim == 1 and len(value) == users
    return int((~value.isnan()).sum()) if by_user else None
