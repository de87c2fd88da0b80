"""find_examples: the users and items behind a number, looked up after the evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from bridgeval import loading, plugins, spec
from bridgeval.arguments import checked
from bridgeval.engine.metric import Metric, UserMetric
from bridgeval.engine.plan import Execution, Plan
from bridgeval.engine.source import Source
from bridgeval.engine.state import ItemSums, UserTable
from bridgeval.errors import BadParameterError, InputError
from bridgeval.report.example_lists import ExampleItem, Examples, ExampleUser
from bridgeval.stats.item_slice_metric import RelevantItems
from bridgeval.stats.list_lookup import ItemHits, NamedLists, UserLists, order_lists
from bridgeval.stats.paired_values import Panel
from bridgeval.systems import NOT_LOADED, name_systems
from bridgeval.tables.encoding import encode_ids

# Bounds of what is looked up and shown.
MOST_USERS = 40
MOST_SYSTEMS = 6
MOST_PLACES = 20
USUAL_PLACES = 10
# Columns of ItemHits.
SHOWN, HITS, RELEVANT = range(3)

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]


@checked
def find_examples(
    systems: Mapping[str, Any] | Sequence[Any],
    relevance: Any = None,
    metric: str | Metric = "nDCG@10",
    *,
    baseline: str | None = None,
    count: int = 5,
    **evaluation: Any,
) -> Examples:
    """Finds the users with the worst and the best values, and the items most found and missed, with their lists.

    Of several systems also the users and items that gain and lose most against the baseline. Of equal values, users
    with more relevant items come first, then those with lower ids. The data is read twice: for the values, and for the
    lists of the users chosen.

    Args:
        systems: name -> recommendations as `evaluate` takes them; those of a list are called "1", "2", ... One does.
            At most six are looked at.
        relevance: the relevant items.
        metric: with a value for each user.
        baseline: the system that the others are compared with; the first one by default.
        count: how many users, and items, of each kind; at most 40 users in all.
        **evaluation: further arguments of `evaluate`: history, columns, mask_seen, ...

    Returns:
        Examples, to be shown in a notebook or given to `to_html(examples=...)`.

    >>> truth = {"ann": ["tea"], "bob": ["rum"]}
    >>> found = find_examples({"als": {"ann": ["tea", "rum"], "bob": ["gin", "tea"]}}, truth, "MRR@2", count=1)
    >>> [(one.user, one.why, one.values, one.lists[0].hits) for one in found.users]
    [('bob', ('worst',), (0.0,), (False, False)), ('ann', ('best',), (1.0,), (True, False))]
    """
    named = name_systems(systems)
    asked = _read_metric(metric, evaluation.get("convention"))
    names = tuple(named) if baseline is None else (baseline, *(name for name in named if name != baseline))
    if baseline is not None and baseline not in named:
        raise BadParameterError(
            f"there is no system {baseline!r} to compare with", f"systems {', '.join(named)}", argument="baseline"
        )
    names = names[:MOST_SYSTEMS]
    k = min(asked.cutoff or USUAL_PLACES, MOST_PLACES)
    how = Execution(torch.device("cpu"), evaluation.get("batch_size"), evaluation.get("memory"))
    sources = {name: _load(named[name], relevance, evaluation) for name in names}
    items, tables = {}, {}
    for name, source in sources.items():
        tables[name], items[name] = _measure(source, asked, k, how)
    panel = Panel.of(tables)
    groups = list(_choose_users(panel, asked.higher_is_better is not False, count))
    # A user may be an example of several things.
    why: dict[int, list[str]] = {}
    for reason, chosen in groups:
        for user in chosen.tolist():
            if user in why or len(why) < MOST_USERS:
                why.setdefault(user, []).append(reason)
    ids = panel.users.take(np.array(list(why), dtype=np.int64)).tolist()
    found = {name: _look_up(source, asked, k, ids, how) for name, source in sources.items()}
    users = tuple(
        ExampleUser(
            user,
            tuple(reasons),
            tuple(panel.values[:, at, 0].tolist()),
            tuple(found[name].get(user) for name in names),
        )
        for user, (at, reasons) in zip(ids, why.items(), strict=True)
    )
    return Examples(str(asked), k, names, users, tuple(_choose_items(names, items, count)))


def _read_metric(metric: str | Metric, convention: str | None) -> UserMetric:
    """The one metric, which must have values of users."""
    asked = list(spec.name_all(metric, convention).values())
    if len(asked) != 1 or not isinstance(asked[0], UserMetric):
        raise BadParameterError(
            "examples need one metric with a value for each user",
            ", ".join(map(str, asked)),
            "give e.g. nDCG@10",
            argument="metric",
        )
    return asked[0]


def _load(recommendations: Any, relevance: Any, evaluation: Mapping[str, Any]) -> Source:
    given = {name: one for name, one in evaluation.items() if one is not None and name not in NOT_LOADED}
    return loading.load(plugins.installed(), recommendations, relevance, evaluation.get("loader"), **given).source


def _measure(source: Source, metric: UserMetric, k: int, how: Execution) -> tuple[dict[str, UserTable], ItemSums]:
    """Every user's value and number of relevant items; the counts of items."""
    values = metric.per_user()
    wanted = RelevantItems(over="per_user", **metric.policies)
    plan = Plan.of([values, wanted, ItemHits(metric, k)])
    plan.check(source.offers)
    states = source.run(plan, how)
    results = plan.compute(states)
    tables = {"value": results[values].per_user, "relevant": results[wanted].per_user}
    if not all(isinstance(table, UserTable) for table in tables.values()):
        raise InputError(
            "examples are looked up in this process, and the users' values are in Spark",
            hint="give a sample of the users as a frame of pandas or polars",
        )
    return tables, states[-1]  # type: ignore[return-value]


def _look_up(
    source: Source, metric: UserMetric, k: int, users: Sequence[Any], how: Execution
) -> Mapping[Any, UserLists]:
    lookup = NamedLists(tuple(users), k, order_lists(metric), metric.relevance, "history lists" in source.offers)
    (state,) = source.run(Plan.of([lookup]), how)
    return state.users  # type: ignore[attr-defined]


def _choose_users(panel: Panel, higher_is_better: bool, count: int) -> Iterator[tuple[str, Positions]]:
    """(reason, positions in the panel) of users who stand out."""
    values = panel.values[:, :, 0] * (1 if higher_is_better else -1)
    relevant = np.nan_to_num(np.fmax.reduce(panel.values[:, :, 1]))
    for system, own in zip(panel.systems, values, strict=True):
        of = f" for {system}" if len(panel.systems) > 1 else ""
        yield f"worst{of}", _take_lowest(own, relevant, count)
        yield f"best{of}", _take_lowest(-own, relevant, count)
    for system, own in zip(panel.systems[1:], values[1:], strict=True):
        change = own - values[0]
        pair = f"{system} over {panel.systems[0]}"
        yield f"loses most: {pair}", _take_lowest(np.where(change < 0, change, np.nan), relevant, count)
        yield f"gains most: {pair}", _take_lowest(np.where(change > 0, -change, np.nan), relevant, count)


def _take_lowest(values: Floats, relevant: Floats, count: int) -> Positions:
    """The positions of the lowest values; NaN never; of equal ones those with more relevant items, then the first.

    >>> _take_lowest(np.array([0.5, 0.0, np.nan, 0.0]), np.array([1.0, 1.0, 9.0, 2.0]), 2).tolist()
    [3, 1]
    """
    order = np.lexsort((-relevant, values))
    return order[: min(count, int((~np.isnan(values)).sum()))]


def _choose_items(names: Sequence[str], counts: Mapping[str, ItemSums], count: int) -> Iterator[ExampleItem]:
    """The items that stand out: of one system the most found and missed, of several those that gain and lose hits."""
    known = [one for one in counts.values() if one.ids is not None]
    if not known:
        return
    vocabulary, codes = encode_ids([one.ids for one in known if one.ids is not None], "item ids")
    table = np.zeros((len(names), len(vocabulary), 3))
    places = iter(codes)
    for at, name in enumerate(names):
        if counts[name].ids is not None:
            table[at, next(places)] = counts[name].values
    relevant, hits, shown = table[:, :, RELEVANT].max(0), table[:, :, HITS], table[:, :, SHOWN]
    kinds: list[tuple[str, Floats]] = []
    if len(names) == 1:
        kinds = [("most missed", relevant - hits[0]), ("most found", hits[0])]
    for at, name in enumerate(names[1:], start=1):
        pair = f"{name} over {names[0]}"
        kinds += [(f"more hits: {pair}", hits[at] - hits[0]), (f"fewer hits: {pair}", hits[0] - hits[at])]
    for why, most in kinds:
        for place in _take_lowest(np.where(most > 0, -most, np.nan), relevant, count).tolist():
            whole = (tuple(map(int, one[:, place])) for one in (shown, hits))
            yield ExampleItem(vocabulary.take(np.array([place])).tolist()[0], why, int(relevant[place]), *whole)
