"""The laws notice what breaks them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from bridgeval.engine.blocks import Hits, Ranked, by_item
from bridgeval.engine.metric import Metric, TopKMetric
from bridgeval.engine.source import make_source
from bridgeval.engine.state import Sums
from bridgeval.engine.summary import Result
from bridgeval.testing import check_loader, check_metric, world
from bridgeval.toolkits.mapping import MappingLoader


@dataclass(frozen=True)
class Sound(TopKMetric):
    name = "Sound"

    def values(self, blocks):
        return blocks[Hits(self.ranking, self.relevance)][:, : self.k].sum(1).double() / self.k


@dataclass(frozen=True)
class Counting(Metric):
    """Counts users; the classes below break what it keeps."""

    name = "Counting"

    def start(self):
        return Sums()

    def update(self, blocks):
        return Sums({"users": len(blocks)})

    def compute(self, state: Any) -> Result:
        return Result(float(state["users"]))


@dataclass(frozen=True)
class Nameless(Counting):
    name = "No name"


@dataclass(frozen=True)
class Unpickled(Counting):
    name = "Unpickled"
    function: Any = field(default=lambda: None, compare=False)


@dataclass(frozen=True)
class CountsBatches(Counting):
    name = "CountsBatches"

    def update(self, blocks):
        return Sums({"users": 1})


@dataclass(frozen=True)
class KeepsTheFirst(Counting):
    name = "KeepsTheFirst"

    def start(self):
        return First()

    def update(self, blocks):
        return First(blocks.batch.slates.users.tolist()[blocks.batch.start])

    def compute(self, state):
        return Result(float(state.user or 0))


@dataclass(frozen=True)
class First:
    user: int | None = None

    def merge(self, other):
        return other if self.user is None else self


@dataclass(frozen=True)
class StartsAtOne(Counting):
    name = "StartsAtOne"

    def start(self):
        return Sums({"users": 1})


@dataclass(frozen=True)
class KeepsUsers(Counting):
    name = "KeepsUsers"

    def start(self):
        return Sums({"names": ()})

    def update(self, blocks):
        batch = blocks.batch
        return Sums({"names": tuple(batch.slates.users.tolist()[batch.start : batch.stop])})

    def compute(self, state):
        return Result(float(len(state["names"])))


@dataclass(frozen=True)
class ReadsInSecret(Sound):
    name = "ReadsInSecret"

    def values(self, blocks):
        return by_item(blocks.lookup.items("popularity"), blocks[Ranked()].items).sum(1).double()


@dataclass(frozen=True)
class ReadsTooDeep(Sound):
    name = "ReadsTooDeep"

    def values(self, blocks):
        return blocks[Ranked(self.ranking)].valid.sum(1).double()


def test_a_sound_metric_keeps_all_laws_without_being_installed():
    check_metric(Sound(3))
    check_metric(Sound(3, over="median"))
    check_metric(Counting())


@pytest.mark.parametrize(
    ("metric", "law"),
    [
        (Nameless(), "its name gives it back"),
        (Unpickled(), "it pickles"),
        (CountsBatches(), "batches change nothing"),
        (KeepsTheFirst(), "chunks and their order change nothing"),
        (StartsAtOne(), "an empty state is neutral"),
        (KeepsUsers(), "states stay small"),
        (ReadsInSecret(2), "it reads only what it declares"),
        (ReadsTooDeep(2), "deeper lists change nothing"),
    ],
)
def test_a_broken_law_is_named(metric, law):
    with pytest.raises(AssertionError, match=f"breaks the law that {law}: "):
        check_metric(metric)


def test_the_error_shows_the_difference():
    with pytest.raises(AssertionError, match=r"in batches of 1: value 1\.0 became 8\.0"):
        check_metric(CountsBatches())


class Forgetful(MappingLoader):
    name = "mapping"

    def load(self, recommendations, relevance, /, **extras):
        return make_source(dict(list(recommendations.items())[:-1]), relevance)


class Covetous(MappingLoader):
    """Takes every mapping under a name of its own."""

    name = "covetous"


class Greedy(MappingLoader):
    name = "greedy"

    def recognizes(self, recommendations, relevance, /):
        return True


@pytest.mark.parametrize(
    ("loader", "law"),
    [
        (Forgetful(), "it gives what the data give"),
        (Covetous(), "it leaves to others what is theirs"),
        (Greedy(), "it recognizes its own and nothing else"),
    ],
)
def test_a_law_that_a_loader_breaks_is_named(loader, law):
    small = world()
    with pytest.raises(AssertionError, match=f"breaks the law that {law}: "):
        check_loader(loader, small.recommendations, small.relevance)


def test_extras_that_a_loader_drops_are_noticed():
    small = world()
    with pytest.raises(AssertionError, match=r"item popularity.*are not offered"):
        check_loader(Forgetful(), small.recommendations, small.relevance, history=small.extras["history"])


def test_the_world_has_all_odd_cases():
    small = world("string").inputs
    scores = small.recommendations.columns["score"]
    pairs = list(zip(small.recommendations.users.tolist(), small.recommendations.items.tolist(), strict=True))
    assert len(pairs) > len(set(pairs))
    assert torch.isinf(torch.from_numpy(scores)).any()
    assert set(small.relevance.users.tolist()) ^ set(small.recommendations.users.tolist())
    assert (small.relevance.columns["gain"] == 0).any()
    assert (world(fractions=True).inputs.relevance.columns["gain"] % 1 > 0).any()
