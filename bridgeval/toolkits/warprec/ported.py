"""A class written for WarpRec as a metric class that a plugin offers."""

from __future__ import annotations

import inspect
from dataclasses import MISSING
from functools import cache
from typing import Any

from bridgeval.plugin import Metric, port_class
from bridgeval.toolkits.warprec.bases import BaseMetric
from bridgeval.toolkits.warprec.constructor import ANY, FROM_CONTEXT, SIZES, read_constructor
from bridgeval.toolkits.warprec.custom import metric


def ported(author: type[BaseMetric], name: str | None = None) -> type[Metric]:
    """Makes a class written for WarpRec a metric class, which `bridgeval_metrics` may offer.

    Its parameters are the arguments of its constructor, except those that `metric` fills in.

    Args:
        author: the class.
        name: the name that users ask for; that of the class by default.

    >>> from bridgeval.toolkits.warprec import UserAverageTopKMetric
    >>> class Found(UserAverageTopKMetric):
    ...     def compute_scores(self, preds, target, top_k_rel, **kwargs):
    ...         return top_k_rel.sum(dim=1) / target.sum(dim=1)
    >>> str(ported(Found)(k=2))
    'Found@2'
    """
    return _port(author, name or author.__name__)  # type: ignore[arg-type]


@cache
def _port(author: type[BaseMetric], name: str) -> type[Metric]:
    filled_in = {*SIZES, *FROM_CONTEXT, ANY}
    asked = {one: required for one, required in read_constructor(author).items() if one not in filled_in}
    parameters = {one: MISSING if required else _find_default(author, one) for one, required in asked.items()}
    return port_class(author, name, parameters, metric, ported)


def _find_default(author: type[BaseMetric], argument: str) -> Any:
    """The default of the nearest constructor that takes the argument; None if that requires it of a child."""
    for one in author.__mro__:
        found = inspect.signature(vars(one)["__init__"]).parameters if "__init__" in vars(one) else {}
        if argument in found:
            default = found[argument].default
            return None if default is inspect.Parameter.empty else default
    return None
