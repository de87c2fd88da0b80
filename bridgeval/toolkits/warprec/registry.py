"""The registry of metric classes, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridgeval.errors import DuplicateNameError, UnknownMetricError
from bridgeval.toolkits.warprec.bases import BaseMetric


class MetricRegistry:
    """Classes by name; upper and lower case are the same.

    >>> from bridgeval.toolkits.warprec import UserAverageTopKMetric
    >>> registry = MetricRegistry()
    >>> @registry.register("FirstHit")
    ... class FirstHit(UserAverageTopKMetric):
    ...     def compute_scores(self, preds, target, top_k_rel, **kwargs):
    ...         return top_k_rel[:, 0]
    >>> registry.get("firsthit", k=5, num_users=2).k
    5
    """

    def __init__(self) -> None:
        self._classes: dict[str, type[BaseMetric]] = {}

    def register(self, name: str | None = None) -> Callable[[type[BaseMetric]], type[BaseMetric]]:
        """A decorator that registers a class under a name; its own by default."""

        def keep(metric: type[BaseMetric]) -> type[BaseMetric]:
            key = (name or metric.__name__).upper()
            taken = self._classes.get(key)
            if taken is not None and (taken.__module__, taken.__qualname__) != (metric.__module__, metric.__qualname__):
                raise DuplicateNameError(
                    f"a metric {name or metric.__name__!r} is registered already",
                    f"{taken.__module__}",
                    "choose another name",
                )
            self._classes[key] = metric
            return metric

        return keep

    def __contains__(self, name: str) -> bool:
        return name.upper() in self._classes

    def get_class(self, name: str) -> type[BaseMetric]:
        if name not in self:
            raise UnknownMetricError(f"no metric {name!r} is registered", hint=f"registered: {self.list_registered()}")
        return self._classes[name.upper()]

    def get(self, name: str, *args: Any, **kwargs: Any) -> BaseMetric:
        """An instance."""
        return self.get_class(name)(*args, **kwargs)

    def list_registered(self) -> list[str]:
        return sorted(metric.__name__ for metric in self._classes.values())


metric_registry = MetricRegistry()
