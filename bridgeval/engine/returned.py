"""Checks of what the methods of a metric return: the engine cannot trust an author's shapes and types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from torch import Tensor

from bridgeval.engine.summary import Result
from bridgeval.errors import MetricFailedError


def check_values(metric: object, values: Any, users: int) -> None:
    """Raises MetricFailedError unless values are a tensor `[users]` of numbers."""
    if not isinstance(values, Tensor) or tuple(values.shape) != (users,):
        found = describe_value(values)
    elif values.is_complex():
        found = f"{values.dtype}"
    else:
        return
    raise MetricFailedError(
        f"{metric} must give one number for each of {users} users, a tensor of shape [{users}]", found, "see `values`"
    )


def check_ratio(metric: object, ratio: Any, users: int) -> None:
    """Raises MetricFailedError unless a ratio is a tensor `[users]`, and another one or a single number."""
    if not isinstance(ratio, tuple) or len(ratio) != 2:
        raise MetricFailedError(
            f"ratio of {metric} must give two things, a numerator and a denominator", describe_value(ratio)
        )
    for part, which in zip(ratio, ("numerator", "denominator"), strict=True):
        shape = tuple(part.shape) if isinstance(part, Tensor) else () if isinstance(part, Real) else None
        if shape != (users,) and not (which == "denominator" and shape == ()):
            raise MetricFailedError(
                f"the {which} of {metric} must be one number for each of {users} users, a tensor of shape [{users}]",
                describe_value(part),
                "see `ratio`",
            )


def check_states(metrics: Iterable[object], states: Iterable[Any]) -> None:
    """Raises MetricFailedError unless the `update` of every metric gave something that merges."""
    for metric, state in zip(metrics, states, strict=True):
        if not hasattr(state, "merge"):
            raise MetricFailedError(
                f"update of {metric} must give a state, which has a method merge",
                describe_value(state),
                "return e.g. Sums({'users': 1})",
            )


def check_results(results: Mapping[Any, Any]) -> None:
    """Raises MetricFailedError unless the `compute` of every metric gave a Result of plain numbers."""
    for metric, result in results.items():
        if not isinstance(result, Result):
            raise MetricFailedError(
                f"compute of {metric} must give a Result", describe_value(result), "return Result(value)"
            )
        numbers: dict[str, Any] = {"its value": result.value, **result.parts}
        for name, number in numbers.items():
            if number is not None and not isinstance(number, Real):
                raise MetricFailedError(
                    f"compute of {metric} must give plain numbers: {name} is none",
                    describe_value(number),
                    "wrap it in float(...)",
                )


def describe_value(value: Any) -> str:
    """A value of the wrong kind in a few words."""
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{type(value).__name__} of shape {list(shape)}"
