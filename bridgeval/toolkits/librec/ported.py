"""A custom metric class of librec-auto as a metric class that a plugin offers."""

from __future__ import annotations

from functools import cache
from typing import Any

from bridgeval.plugin import Metric, port_class
from bridgeval.toolkits.librec.bases import CustomBase
from bridgeval.toolkits.librec.custom import custom


def ported(author: type[CustomBase], name: str | None = None) -> type[Metric]:
    """Makes a custom metric class a metric class, which `bridgeval_metrics` may offer.

    Its parameters are those of `custom`: `params` as pairs of name and value, `compat` and `users`.

    Args:
        author: a subclass of RowBasedMetric or ListBasedMetric.
        name: the name that users ask for; that of the class by default.

    >>> from bridgeval.toolkits.librec import RowBasedMetric
    >>> class Bias(RowBasedMetric):
    ...     def evaluate_row(self, test, result):
    ...         return result[2] - test[2]
    >>> str(ported(Bias)(params=(("size", "1"),)))
    'Bias(params=[["size", "1"]])'
    """
    return _port(author, name or author.__name__)  # type: ignore[arg-type]


@cache
def _port(author: type[CustomBase], name: str) -> type[Metric]:
    return port_class(author, name, {"params": (), "compat": None, "users": None}, _make, ported)


def _make(author: type[CustomBase], params: tuple[tuple[str, Any], ...] = (), **others: Any) -> Metric:
    return custom(author, dict(params), **others)
