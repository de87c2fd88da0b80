"""The laws of loaders."""

from __future__ import annotations

import sys
from typing import Any, cast

import torch

from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import answered_needs
from bridgeval.engine.plan import Execution, Plan
from bridgeval.engine.source import Source, Sources, make_source
from bridgeval.engine.summary import Result
from bridgeval.hookspecs import Loader
from bridgeval.metrics import MRR, Precision, Recall, nDCG
from bridgeval.testing.results import difference, name_law, require
from bridgeval.testing.world import World, world as small_world

# Between them they read lists, order, cutoffs, gains and who is there.
METRICS: tuple[Metric, ...] = (
    nDCG(5),
    Recall(3, users="any", over="per_user"),
    Precision(2, users="shown", over="per_user"),
    MRR(9, over="per_user"),
)


def check_loader(
    loader: Loader, recommendations: Any, relevance: Any, *, world: World | None = None, **extras: Any
) -> None:
    """Tests the laws on a loader.

    - It has a name, recognizes what it is given and does not recognize things of any other kind.
    - Recognizing imports nothing.
    - Its source offers what `extras` give, before anything is read.
    - What it loads gives the same results to 1e-12 as the world itself, user ids included, in one batch and in batches
      of one; and again when it is run again.

    Args:
        loader: the loader to test.
        recommendations: those of the world, in a form that this loader reads.
        relevance: the relevance of the world, in such a form.
        world: the data they were made of; `world()` by default.
        extras: further arguments of `evaluate`, made of those of the world.
    """
    data = world if world is not None else small_world()
    who = f"loader {getattr(loader, 'name', '')!r}"
    with name_law(who, "it has a name"):
        require(isinstance(loader.name, str) and bool(loader.name), f"name is {loader.name!r}")
    with name_law(who, "it recognizes its own and nothing else"):
        require(loader.recognizes(recommendations, relevance) is True, "its own is not recognized")
        for other in (None, object(), 7):
            require(loader.recognizes(other, other) is False, f"{other!r} is recognized")
    with name_law(who, "recognizing imports nothing"):
        before = set(sys.modules)
        loader.recognizes(recommendations, relevance)
        require(set(sys.modules) == before, f"it imports {sorted(set(sys.modules) - before)}")
    with name_law(who, "its source offers what it was given"):
        source = loader.load(recommendations, relevance, **extras)
        require(not isinstance(source, Sources), "it gives several sources; try it on something that holds one")
        source = cast(Source, source)
        missing = ({"score"} | answered_needs(frozenset(extras))) - source.offers
        require(not missing, f"{', '.join(sorted(missing))} are not offered")
    expected = _results(make_source(data.recommendations, data.relevance))
    for law, batch_size in (
        ("it gives what the data give", None),
        ("it gives the same in batches", 1),
        ("it can be run again", None),
    ):
        with name_law(who, law):
            found = _results(source, batch_size)
            for metric in METRICS:
                differs = difference(expected[metric], found[metric])
                require(not differs, f"{metric}: {differs}")


def _results(source: Source, batch_size: int | None = None) -> dict[Metric, Result]:
    plan = Plan(METRICS)
    return plan.compute(source.run(plan, Execution(torch.device("cpu"), batch_size)))
