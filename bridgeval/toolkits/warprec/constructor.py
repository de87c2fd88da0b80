"""The constructor of an author's class: the arguments that it takes, and those that are filled in."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from bridgeval.errors import BadParameterError
from bridgeval.toolkits.warprec.bases import BaseMetric

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


def check_arguments(author: type[BaseMetric], k: int | None, parameters: Mapping[str, Any]) -> None:
    """Raises where the constructor would, before any data is read."""
    name, wanted = author.__name__, read_constructor(author)
    unknown = [given for given in parameters if given not in wanted and ANY not in wanted]
    if unknown:
        raise BadParameterError(f"{name} has no parameter {unknown[0]!r}", hint=f"it has {', '.join(wanted)}")
    if wanted.get("k") and k is None:
        raise BadParameterError(f"{name} needs a cutoff", hint=f"metric({name}, k=10)")
    if "k" not in wanted and k is not None:
        raise BadParameterError(f"{name} takes no cutoff", f"k={k}", f"metric({name})")
    filled = {*parameters, *SIZES, *FROM_CONTEXT, "k"}
    missing = [one for one, required in wanted.items() if required and one not in filled]
    if missing:
        raise BadParameterError(f"{name} needs {missing[0]!r}", hint=f"metric({name}, {missing[0]}=...)")


def read_constructor(author: type[BaseMetric]) -> dict[str, bool]:
    """The constructor's arguments -> whether they are required; with `ANY` where it takes any keyword.

    A constructor with `**kwargs` may hand them to its parent, whose arguments can therefore be given too.
    """
    arguments: dict[str, bool] = {}
    # The class and its parents up to BaseMetric, which is left out.
    parents = [one for one in author.__mro__[: author.__mro__.index(BaseMetric)] if "__init__" in vars(one)]
    for parent in parents:
        found = list(inspect.signature(vars(parent)["__init__"]).parameters.values())[1:]
        for argument in found:
            if argument.kind in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
                required = parent is parents[0] and argument.default is argument.empty
                arguments.setdefault(argument.name, required)
        if not any(argument.kind is argument.VAR_KEYWORD for argument in found):
            break
    else:
        arguments[ANY] = False
    arguments.pop("dist_sync_on_step", None)
    return arguments
