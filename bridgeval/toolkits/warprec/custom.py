"""A class written for WarpRec as a metric of the engine."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from bridgeval.errors import BadParameterError, BridgevalError, MetricFailedError
from bridgeval.plugin import Blocks, Metric, Needs, Result, UserGroups, UserMetric, check_cutoff
from bridgeval.toolkits.warprec.author_state import AuthorState, Axis, Part
from bridgeval.toolkits.warprec.bases import BaseMetric, RatingMetric, UserAverageTopKMetric, metric_registry
from bridgeval.toolkits.warprec.dense_rows import DenseRows, split_rows

# An argument of a constructor -> the context that fills it in. It has a row for each item, or for each user.
FROM_CONTEXT = {
    "item_interactions": "item popularity",
    "item_cluster": "item groups",
    "feature_lookup": "item features",
    "user_cluster": "user groups",
}
SIZES = ("num_users", "num_items")
# Marks a constructor that takes any keyword.
ANY = "**"


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
    _check_arguments(author, k, parameters)
    given = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    label = f"custom:{author.__name__}" + (f"({given})" if given else "")
    gives_user_values = author.compute in (UserAverageTopKMetric.compute, RatingMetric.compute)
    kind = AuthorUserMetric if gives_user_values else AuthorStateMetric
    return kind(author, tuple(parameters.items()), k, label=label)


def _check_arguments(author: type[BaseMetric], k: int | None, parameters: Mapping[str, Any]) -> None:
    """Raises where the constructor would, before any data is read."""
    name, wanted = author.__name__, read_constructor(author)
    unknown = [given for given in parameters if given not in wanted and ANY not in wanted]
    if unknown:
        raise BadParameterError(f"{name} has no parameter {unknown[0]!r}", hint=f"it has {', '.join(wanted)}")
    if ("k" in wanted) != (k is not None):
        raise BadParameterError(f"{name} {'needs a' if k is None else 'takes no'} cutoff", hint=f"metric({name}, k=10)")
    filled = {*parameters, *SIZES, *FROM_CONTEXT, "k"}
    missing = [one for one, required in wanted.items() if required and one not in filled]
    if missing:
        raise BadParameterError(f"{name} needs {missing[0]!r}", hint=f"metric({name}, {missing[0]}=...)")


def read_constructor(author: type[BaseMetric]) -> dict[str, bool]:
    """The constructor's arguments -> whether they are required; with `ANY` where it takes any keyword.

    A constructor with `**kwargs` hands them to its parent, whose arguments therefore belong to it too.
    """
    arguments: dict[str, bool] = {}
    # The class and its parents up to BaseMetric, which is left out.
    for parent in author.__mro__[: author.__mro__.index(BaseMetric)]:
        if "__init__" not in vars(parent):
            continue
        found = list(inspect.signature(vars(parent)["__init__"]).parameters.values())[1:]
        for argument in found:
            if argument.kind in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
                arguments.setdefault(argument.name, argument.default is argument.empty)
        if not any(argument.kind is argument.VAR_KEYWORD for argument in found):
            break
    else:
        arguments[ANY] = False
    arguments.pop("dist_sync_on_step", None)
    return arguments


@contextmanager
def _blame(author: type[BaseMetric], method: str) -> Iterator[None]:
    """Names the author's class in whatever its code raises."""
    try:
        yield
    except BridgevalError:
        raise
    except Exception as error:
        raise MetricFailedError(f"{author.__name__}.{method} failed", f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class AuthorMetric(Metric):
    """The base of both kinds below: makes an instance of the author's class and gives it rows.

    Attributes:
        author: the class.
        arguments: those of its constructor that the user gave.
        k: the cutoff, for classes that take one.
    """

    author: type[BaseMetric]
    arguments: tuple[tuple[str, Any], ...] = ()
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is not None:
            check_cutoff(self.author.__name__, self.k)

    def needs(self) -> Needs:
        context = frozenset(FROM_CONTEXT[name] for name in self._from_context)
        return replace(super().needs(), depth=0) | Needs(depth=self.k or 0, context=context)

    @property
    def _from_context(self) -> list[str]:
        """The arguments that the context fills in."""
        asked, given = read_constructor(self.author), dict(self.arguments)
        return [name for name in FROM_CONTEXT if name in asked and name not in given]

    def _read_context(self, rows: DenseRows) -> dict[str, Tensor]:
        """The tensors that the constructor asks for, with a row for each user, or each item, at hand."""
        blocks, found = rows.blocks, {}
        for name in self._from_context:
            if _axis(name) == "users":
                found[name] = blocks[UserGroups()][rows.rows]
            else:
                table = blocks.context.items[FROM_CONTEXT[name].removeprefix("item ")]
                found[name] = torch.tensor(table.aligned(rows.space.ids), device=blocks.device)
        return found

    def _make(self, users: int, items: int, context: Mapping[str, Tensor]) -> BaseMetric:
        asked = read_constructor(self.author)
        sizes = {name: size for name, size in zip(SIZES, (users, items), strict=True) if name in asked}
        cutoff = {} if self.k is None else {"k": self.k}
        padded = {
            # A last row for "no item", as in WarpRec's lookups; popularity has none there. A copy: authors may write.
            name: value.clone()
            if name in ("item_interactions", "user_cluster")
            else torch.cat([value, torch.zeros_like(value[:1])])
            for name, value in context.items()
        }
        with _blame(self.author, "__init__"):
            return self.author(**{**sizes, **padded, **cutoff, **dict(self.arguments)})

    def _feed(self, rows: DenseRows, context: Mapping[str, Tensor]) -> BaseMetric:
        """An instance that has seen the rows and nothing else."""
        instance = self._make(len(rows), len(rows.space), context).to(rows.blocks.device)
        for name, default in instance.state_defaults.items():
            if isinstance(default, Tensor):
                setattr(instance, name, default.to(rows.blocks.device, copy=True))
        with _blame(self.author, "update"), torch.no_grad():
            instance.update(rows.preds, **rows.keywords(instance))
        return instance


def _axis(name: str) -> Axis:
    return "users" if FROM_CONTEXT[name].startswith("user ") else "items"


@dataclass(frozen=True)
class AuthorUserMetric(AuthorMetric, UserMetric):
    """A class whose `compute` gives each user a value: every batch is an evaluation of its own."""

    def values(self, blocks: Blocks) -> Tensor:
        found = [torch.zeros(0, dtype=torch.float64, device=blocks.device)]
        for rows in split_rows(blocks):
            instance = self._feed(rows, self._read_context(rows))
            with _blame(self.author, "compute"):
                (values,) = instance.compute().values()
            found.append(values.double())
        return torch.cat(found)


@dataclass(frozen=True)
class AuthorStateMetric(AuthorMetric):
    """A class with states of its own."""

    def start(self) -> AuthorState:
        return AuthorState()

    def update(self, blocks: Blocks) -> AuthorState:
        state = self.start()
        for rows in split_rows(blocks):
            state = state.merge(self._read_state(rows))
        return state

    def _read_state(self, rows: DenseRows) -> AuthorState:
        context = self._read_context(rows)
        axes = self._find_axes(len(rows), len(rows.space), context)
        instance = self._feed(rows, context)
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
        # "max": items that both sides have hold the same value in both.
        given = {
            name: Part(name, _axis(name), "max", torch.zeros(1), value.cpu(), len(rows))
            for name, value in context.items()
        }
        return AuthorState((rows.users,), rows.space.ids, parts, given)

    def _find_axes(self, users: int, items: int, context: Mapping[str, Tensor]) -> dict[str, Axis]:
        """The states with a row for each user or item: those that grow when an instance is made for more of them."""
        more = {
            name: torch.cat([value, *[value[-1:]] * (1 if _axis(name) == "users" else 2)])
            for name, value in context.items()
        }
        small, large = self._make(users, items, context), self._make(users + 1, items + 2, more)
        axes: dict[str, Axis] = {}
        for name, default in small.state_defaults.items():
            shape = list(getattr(default, "shape", ()))
            grown = [b - a for a, b in zip(shape, getattr(large.state_defaults[name], "shape", ()), strict=True)]
            if any(grown[1:]):
                raise BadParameterError(
                    f"the state {name!r} of {self.author.__name__} counts users or items beyond its first dimension",
                    f"shape {shape}",
                    "put users or items in the first dimension",
                )
            kinds: dict[int, Axis] = {0: None, 1: "users", 2: "items"}
            axes[name] = kinds[grown[0]] if grown else None
        return axes

    def compute(self, state: AuthorState) -> Result:
        if state.items is None:
            return Result(float("nan"))
        ids, order = state.sort_users()
        context = {name: part.finish(order, None) for name, part in state.given.items()}
        instance = self._make(len(ids), len(state.items), context)
        for name, part in state.parts.items():
            setattr(instance, name, part.finish(order, instance.state_defaults[name]))
        with _blame(self.author, "compute"), torch.no_grad():
            found = instance.compute()
        numbers = found if isinstance(found, Mapping) else {instance.name: found}
        parts = {name: _to_number(value) for name, value in numbers.items()}
        headline = parts.pop(instance.name, None)
        if headline is None and len(parts) == 1:
            _, headline = parts.popitem()
        return Result(headline, parts, users=_count_users(numbers.get(instance.name), len(ids)))


def _to_number(value: Any) -> float:
    """A number as it is; of a tensor the mean of its cells without NaN."""
    return float(value.double().nanmean()) if isinstance(value, Tensor) else float(value)


def _count_users(value: Any, users: int) -> int | None:
    """The number of users that a per-user tensor has values for."""
    by_user = isinstance(value, Tensor) and value.ndim == 1 and len(value) == users
    return int((~value.isnan()).sum()) if by_user else None
