"""The laws of loaders."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from torch import Tensor

from bridgeval import plugins
from bridgeval.batch.ranking import Ranking
from bridgeval.batch.scores import Scores
from bridgeval.engine.blocks import Blocks, ItemColumn
from bridgeval.engine.metric import Metric, TopKMetric
from bridgeval.engine.needs import Needs, answered_needs
from bridgeval.engine.plan import Execution, Plan
from bridgeval.engine.source import Source, Sources, make_source
from bridgeval.engine.summary import Result
from bridgeval.errors import BridgevalWarning
from bridgeval.evaluation import evaluate
from bridgeval.hookspecs import Loader
from bridgeval.metrics import MAE, MRR, NumRetrieved, Precision, Recall, nDCG
from bridgeval.spec import parse
from bridgeval.testing.law import Law, describe_error, keep_laws, law, refuse, require
from bridgeval.testing.process import find_changes, look_at_process, other_process
from bridgeval.testing.results import difference
from bridgeval.testing.world import World, world as small_world

# Between them they read lists, order, cutoffs, gains, scores and who is there.
METRICS: tuple[Metric, ...] = (
    nDCG(5),
    Recall(3, users="any", over="per_user"),
    Precision(2, users="shown", over="per_user"),
    MRR(9, over="per_user"),
    MAE(over="per_user"),
)
# The rows that are not masked, of each user.
ROWS: Metric = NumRetrieved(10**6, ranking=Ranking(duplicates="all"), users="any", over="per_user")
# Metrics that read extras; those whose needs a source offers are compared.
OF_EXTRAS = (
    "ARP@5",
    "EPC@5",
    "ItemCoverage@5",
    "Gini@5",
    "ItemMADRating@5",
    "UserMADRating@5",
    "SRecall@5",
    "NCISPrecision@5",
    "Unexpectedness@5",
    'Recall(users="given")@5',
)


@dataclass(frozen=True)
class LoaderTrial:
    """A loader, the world in a form that it reads, and the world itself."""

    loader: Loader
    recommendations: Any
    relevance: Any
    world: World
    extras: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def source(self) -> Source:
        self.inputs_before  # noqa: B018  (as they are before they are read for the first time)
        source = self.loader.load(self.recommendations, self.relevance, **self.extras)
        require(not isinstance(source, Sources), "it gives several sources; try it on something that holds one")
        return cast(Source, source)

    @cached_property
    def inputs_before(self) -> dict[str, bytes]:
        return self.copy_inputs()

    def copy_inputs(self) -> dict[str, bytes]:
        """What the caller gave, as bytes; of what pickles."""
        given: dict[str, Any] = {"recommendations": self.recommendations, "relevance": self.relevance}
        # Of a dataclass the fields: what it caches beside them is no change.
        parts = {
            f"{name}.{one.name}": getattr(value, one.name)
            for name, value in given.items()
            if is_dataclass(value)
            for one in fields(value)
        }
        plain = {name: value for name, value in given.items() if not is_dataclass(value)}
        given = {**parts, **plain, "extras": dict(self.extras)}
        copies = {}
        for name, one in given.items():
            with suppress(Exception):
                # The pickle of a tensor has more in it than its numbers.
                copies[name] = pickle.dumps(one.numpy().copy() if isinstance(one, Tensor) else deepcopy(one))
        return copies

    @cached_property
    def expected(self) -> dict[Metric, Result]:
        return run(make_source(self.world.recommendations, self.world.relevance), METRICS)


def check_loader(
    loader: Loader, recommendations: Any, relevance: Any, *, world: World | None = None, **extras: Any
) -> None:
    """Tests the laws of docs/laws.md on a loader.

    Args:
        loader: the loader to test.
        recommendations: those of the world, in a form that this loader reads.
        relevance: the relevance of the world, in such a form.
        world: the data they were made of; `world()` by default.
        extras: further arguments of `evaluate`, made of those of the world.

    Raises:
        AssertionError: names the first law that is broken, what was found, the likely cause and what to do.
    """
    data = world if world is not None else small_world()
    trial = LoaderTrial(loader, recommendations, relevance, data, extras)
    keep_laws(f"loader {getattr(loader, 'name', '')!r}", LOADER_LAWS, trial)


def run(source: Source, metrics: tuple[Metric, ...], batch_size: int | None = None) -> dict[Metric, Result]:
    plan = Plan(metrics)
    return plan.compute(source.run(plan, Execution(torch.device("cpu"), batch_size)))


@law(
    "it has a name",
    cause="no class attribute name",
    remedy='write name = "..." in the class',
)
def it_has_a_name(trial: LoaderTrial) -> None:
    """`name` is a text, by which `loader=` chooses it."""
    name = trial.loader.name
    require(isinstance(name, str) and bool(name), f"name is {name!r}")


@law(
    "it recognizes its own and nothing else",
    cause="recognizes gives something else than True and False, or asks too little",
    remedy="give True for the types that it reads, and False for everything else; TypedLoader does it by a table",
)
def it_recognizes_its_own(trial: LoaderTrial) -> None:
    """`recognizes` gives True for its own, and False for objects that are none of its business."""
    loader = trial.loader
    require(loader.recognizes(trial.recommendations, trial.relevance) is True, "its own is not recognized")
    for other in (None, object(), 7, [], ()):
        require(loader.recognizes(other, other) is False, f"{other!r} is recognized")


@law(
    "it leaves to others what is theirs",
    cause="recognizes takes every mapping, frame or path, so that two loaders fit and evaluate refuses",
    remedy="recognize a type of your own that wraps the path or the mapping",
)
def it_leaves_others_alone(trial: LoaderTrial) -> None:
    """What a built-in loader reads is not recognized: mappings, frames, tables, paths, score matrices."""
    if trial.loader.name in plugins.load_plugins(entry_points=()).loaders:
        return
    for one in _foreign_objects():
        found = trial.loader.recognizes(one, one)
        require(found is False, f"a {type(one).__name__} that a built-in loader reads is recognized ({found!r})")


def _foreign_objects() -> list[Any]:
    columns = {"user_id": [1], "item_id": [2], "score": [0.5]}
    return [
        {1: [(2, 0.5)]},
        {1: {2: 0.5}},
        {},
        pd.DataFrame(columns),
        pa.table(columns),
        "recommendations.csv",
        "recommendations.parquet",
        Scores(np.ones((1, 2))),
    ]


@law(
    "recognizing imports nothing",
    cause="an import inside recognizes",
    remedy='ask sys.modules.get("package") whether it is there already',
)
def recognizing_imports_nothing(trial: LoaderTrial) -> None:
    """Recognizing is asked of every loader at every evaluation: it imports nothing."""
    before = set(sys.modules)
    trial.loader.recognizes(trial.recommendations, trial.relevance)
    require(set(sys.modules) == before, f"it imports {sorted(set(sys.modules) - before)}")


@law(
    "its source offers what it was given",
    cause="extras that are dropped",
    remedy="pass **extras on to make_source, or to list_offers",
)
def it_offers_what_it_was_given(trial: LoaderTrial) -> None:
    """Its source offers scores and what the extras give, before anything is read."""
    missing = ({"score"} | answered_needs(frozenset(trial.extras))) - trial.source.offers
    require(not missing, f"{', '.join(sorted(missing))} are not offered")


@law(
    "it gives what the data give",
    cause="rows that are lost, another order, or ids, scores and gains that are rounded or converted",
    remedy="keep every row in its order, ids as integers or texts, numbers in float64",
)
def it_gives_what_the_data_give(trial: LoaderTrial) -> None:
    """Lists, order, gains, scores and ids are those of the world: the results are equal to 1e-12, user by user."""
    _compare(trial.expected, run(trial.source, METRICS))


@law(
    "it adds no rows",
    cause="rows that are read or joined twice, or a score of -inf, which masks an item, that becomes another",
    remedy="give each row once, and its score as it is",
)
def it_adds_no_rows(trial: LoaderTrial) -> None:
    """No list has more rows than in the world, counting those that are repeated; fewer are no fault."""
    expected, found = (
        run(source, (ROWS,))[ROWS].per_user
        for source in (make_source(trial.world.recommendations, trial.world.relevance), trial.source)
    )
    assert expected is not None
    assert found is not None
    counts = expected.to_dict()
    for user, rows in found.to_dict().items():
        require(
            rows <= counts.get(user, 0),
            f"user {user!r} has {rows:g} rows that are not masked, and {counts.get(user, 0):g} are given",
        )


@law(
    "it gives the same in batches",
    cause="a source with a run of its own",
    remedy="use LocalSource",
)
def batches_change_nothing(trial: LoaderTrial) -> None:
    """Batches of one user give the same."""
    _compare(trial.expected, run(trial.source, METRICS, 1))


@law(
    "it can be run again",
    cause="an iterator or an open file that is used up",
    remedy="open the data anew in each run, as DeferredSource does",
)
def it_can_be_run_again(trial: LoaderTrial) -> None:
    """A source gives the same whenever it is run."""
    _compare(trial.expected, run(trial.source, METRICS))


@law(
    "context tables are handed on",
    cause="load names the arguments that it takes, and drops or refuses others",
    remedy="let load take **extras, and pass them on to make_source",
)
def context_is_handed_on(trial: LoaderTrial) -> None:
    """A table of `context=` is offered, and a metric that asks for it by name gives the same as on the world itself."""
    data = trial.world
    items = {item for gains in data.relevance.values() for item in gains}
    extras = {"context": {"weight": {item: float(at) for at, item in enumerate(sorted(items))}}}
    source: Any = trial.loader.load(trial.recommendations, trial.relevance, **{**trial.extras, **extras})
    require("item weight" in source.offers, "the table 'weight' of the items is not offered")
    expected = make_source(data.recommendations, data.relevance, **extras)
    _compare(run(expected, (_Weight(5),)), run(source, (_Weight(5),)))


@dataclass(frozen=True)
class _Weight(TopKMetric):
    """The sum of a table of the caller's over the first k items."""

    name = "Weight"

    def needs(self) -> Needs:
        return super().needs() | Needs(items={"weight"})

    def values(self, blocks: Blocks) -> Tensor:
        return blocks[ItemColumn("weight", self.ranking)][:, : self.k].nansum(1)


@law(
    "its inputs are left as they were",
    cause="lists that are sorted, cut or emptied in place",
    remedy="work on a copy: sorted(...), frame.sort_values(...), dict(...)",
)
def inputs_are_not_written(trial: LoaderTrial) -> None:
    """What the caller gave is the same after it was read; told of what pickles."""
    run(trial.source, METRICS)
    after = trial.copy_inputs()
    changed = [name for name, before in trial.inputs_before.items() if before != after.get(name, before)]
    require(not changed, f"{', '.join(changed)} changed")


@law(
    "it leaves the process as it was",
    cause="it sets a seed, a folder, a filter or an option for the whole process",
    remedy="pass paths, dtypes and generators as arguments",
)
def it_leaves_the_process_alone(trial: LoaderTrial) -> None:
    """Neither random generators, settings of torch and numpy, warnings, the folder nor the environment are changed."""
    run(trial.source, METRICS)
    with other_process():
        before = look_at_process()
        source: Any = trial.loader.load(trial.recommendations, trial.relevance, **trial.extras)
        run(source, METRICS)
        changed = find_changes(before)
    require(not changed, f"it changes {', '.join(changed)}")


@law(
    "what it offers by itself can be read",
    cause="offers that name what was not given",
    remedy="offer what list_offers(recommendations, **extras) gives, and what the data itself holds",
)
def offers_can_be_read(trial: LoaderTrial) -> None:
    """Without any extras, metrics whose needs the source offers have a result."""
    source: Any = trial.loader.load(trial.recommendations, trial.relevance)
    for metric in (parse(name)[0] for name in OF_EXTRAS):
        if metric.needs().required <= source.offers:
            try:
                run(source, (metric,))
            except Exception as error:
                needed = ", ".join(sorted(metric.needs().required))
                refuse(f"{needed} is offered, and {metric} {describe_error(error)}")


@law(
    "extras that are offered are read",
    cause="an extra that is offered and then dropped, cut or taken for another",
    remedy="pass **extras on to make_source where the data is read",
)
def extras_are_read(trial: LoaderTrial) -> None:
    """What a source offers is what the extras say: metrics that read them give the same as on the world itself."""
    given = {name: trial.world.extras[name] for name in trial.extras if name in trial.world.extras}
    asked = tuple(parse(name)[0] for name in OF_EXTRAS)
    expected = make_source(trial.world.recommendations, trial.world.relevance, **given)
    metrics = tuple(one for one in asked if one.needs().required <= trial.source.offers & expected.offers)
    if metrics:
        _compare(run(expected, metrics), run(trial.source, metrics))


def _compare(expected: Mapping[Metric, Result], found: Mapping[Metric, Result]) -> None:
    for metric, result in expected.items():
        differs = difference(result, found[metric])
        require(not differs, f"{metric}: {differs}")


@law(
    "nothing is read in load",
    cause="load opens files, so that they are read though a need is not met, or only the offers are asked for",
    remedy="return DeferredSource(offers, open) and read in open",
)
def loading_reads_nothing(trial: LoaderTrial) -> None:
    """Files are opened when the source is run, after needs have been checked: moved away after `load`, they are missed.

    It moves the files of the recommendations and the relevance, and moves them back.
    """
    for path in [*_list_paths(trial.recommendations), *_list_paths(trial.relevance)]:
        source: Any = trial.loader.load(trial.recommendations, trial.relevance, **trial.extras)
        try:
            with _move_away(path):
                found = run(source, METRICS)
        except Exception:
            continue
        missed = any(difference(result, found[metric]) for metric, result in trial.expected.items())
        require(missed, f"{path.name} was moved away after load, and the source still gives what was in it")


def _list_paths(value: Any) -> list[Path]:
    """The files and folders that a value names, or that stand in its attributes."""
    held = value if isinstance(value, str | os.PathLike | Mapping | list | tuple) else getattr(value, "__dict__", {})
    named = held.values() if isinstance(held, Mapping) else held if isinstance(held, list | tuple) else [held]
    paths = [Path(one) for one in named if isinstance(one, str | os.PathLike) and one]
    return [path for path in paths if path.exists()]


@contextmanager
def _move_away(path: Path) -> Iterator[None]:
    elsewhere = path.rename(path.with_name(f"{path.name}.moved"))
    try:
        yield
    finally:
        elsewhere.rename(path)


@law(
    "evaluate gives the same",
    cause="an argument of evaluate that load does not take or drops, or a source without offers, label and run",
    remedy="let load take **extras, and return LocalSource, DeferredSource or what make_source gives",
)
def evaluate_gives_the_same(trial: LoaderTrial) -> None:
    """`evaluate` by this loader gives what it gives by the built-in loader of mappings: numbers, users, users' values.

    `load` takes `columns=None`, as every argument of `evaluate`. If it takes a history, it is tried with a frame
    of what is shown too, with `mask_seen=True` and a column of items that `columns=` names.
    """
    given = {name: trial.world.extras[name] for name in trial.extras if name in trial.world.extras}
    try:
        trial.loader.load(trial.recommendations, trial.relevance, **{"columns": None, **trial.extras})
    except Exception as error:
        refuse(f"with columns=None {describe_error(error)}")
    _compare_evaluations(trial, given)
    if "history" in given:
        # Not the last item: a list that is masked as a whole may be an empty one, or none.
        seen = [(user, item) for user, pairs in trial.world.recommendations.items() for item, _ in pairs[:-1]]
        history = pd.DataFrame(seen, columns=["user_id", "seen before"])
        _compare_evaluations(trial, given, history=history, columns={"item": "seen before"}, mask_seen=True)


def _compare_evaluations(trial: LoaderTrial, given: Mapping[str, Any], **options: Any) -> None:
    # Of the repeated rows and strange users of the world.
    with warnings.catch_warnings(action="ignore", category=BridgevalWarning):
        expected = evaluate(
            trial.world.recommendations, trial.world.relevance, METRICS, per_user=True, **{**given, **options}
        )
        asked = {**trial.extras, **options, "loader": trial.loader}
        try:
            found = evaluate(trial.recommendations, trial.relevance, METRICS, per_user=True, **asked)
        except Exception as error:
            refuse(f"{_name_options(options)} {describe_error(error)}")
    require(isinstance(found.label, str), f"its label is {found.label!r}", "no text", 'write label = "" in the source')
    for name, result in expected.results.items():
        differs = difference(result, found.results[name])
        require(not differs, f"{_name_options(options)}, {name}: {differs}")


def _name_options(options: Mapping[str, Any]) -> str:
    return f"with {', '.join(f'{name}=' for name in options)}" if options else "as they are"


LOADER_LAWS: tuple[Law, ...] = (
    it_has_a_name,
    # The first that asks: what is imported once is not imported again.
    recognizing_imports_nothing,
    it_recognizes_its_own,
    it_leaves_others_alone,
    it_offers_what_it_was_given,
    it_gives_what_the_data_give,
    it_adds_no_rows,
    batches_change_nothing,
    it_can_be_run_again,
    extras_are_read,
    context_is_handed_on,
    offers_can_be_read,
    inputs_are_not_written,
    it_leaves_the_process_alone,
    loading_reads_nothing,
    evaluate_gives_the_same,
)
