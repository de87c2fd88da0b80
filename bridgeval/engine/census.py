"""Census: the users and rows of an evaluation, counted in the same pass as the metrics, and merged as they are.

Some of its counts give away data that was misread: `find_alarms` says so in words, for `evaluate` and `inspect` alike.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval import errors
from bridgeval.batch.batch import look_up
from bridgeval.batch.kernels import find_constant
from bridgeval.engine.blocks import Blocks, Counted, GainRange, HitIndex, Ranked, ShownCount, by_item
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Numbers, State, Sums
from bridgeval.engine.summary import Result

# Above this share of users or rows a finding is an alarm.
LARGE_SHARE = 0.05
# Fewer steps than these do not show a direction.
FEW_STEPS = 10
Flags = npt.NDArray[np.bool_]
Lengths = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Counts(Numbers):
    """The state of the Census: counts that add up, and the range of the gains."""

    sums: Sums = field(default_factory=Sums)
    lowest: float = math.inf
    highest: float = -math.inf

    def merge(self, other: Counts) -> Counts:
        return Counts(self.sums.merge(other.sums), min(self.lowest, other.lowest), max(self.highest, other.highest))


@dataclass(frozen=True)
class Census(Metric):
    """Counts of users, rows and oddities, by the native decisions about meaning; `Population` describes each.

    Attributes:
        depth: how deep the metrics beside it read ranked lists, see `Needs`; lists shorter than this are called short.
        watch_seen: whether recommended items that the user has in the history are counted.
    """

    name = "Census"
    depth: int | None = 0
    watch_seen: bool = True

    def needs(self) -> Needs:
        return Needs(depth=0, if_local=frozenset({"seen"}))

    def start(self) -> Counts:
        return Counts()

    def update(self, blocks: Blocks) -> State:
        shown, truth = blocks.batch.shown, blocks.batch.relevant
        n_shown, n_truth = shown.host_lengths, truth.host_lengths
        in_shown, in_truth = n_shown > 0, n_truth > 0
        sums: dict[str, Any] = {
            "users": np.count_nonzero(in_shown | in_truth),
            "no relevance given": np.count_nonzero(in_shown & ~in_truth),
            "in both": np.count_nonzero(in_shown & in_truth),
            f"by {shown.order}": np.count_nonzero(in_shown),
            "shown_rows": n_shown.sum(),
            "relevant_rows": n_truth.sum(),
            "repeated_shown": shown.repeated,
            "repeated_relevant": truth.repeated,
        }
        seen = shown.seen_count if shown.has("score") else 0
        if shown.has("score"):
            sums |= {"masked": shown.masked_count, "seen": seen}
        if blocks.batch.has_user_column("hidden_count"):
            sums["seen"] = blocks.batch.user_columns["hidden_count"].sum()
        if blocks.lookup.context.catalogue is not None:
            sums["unknown_shown"] = _count_unknown(blocks, blocks[Ranked()].items)
            sums["unknown_relevant"] = _count_unknown(blocks, truth.items)
        constant = None
        if self.depth != 0 and shown.order == "score" and shown.width > 1:
            sums |= _count_steps(blocks, n_shown)
            constant = find_constant(shown.column("score"), None if shown.uniform else shown.valid)
        if blocks.needs.named_tables:
            sums |= _count_gaps(blocks)
        if "seen" in shown.pairs:
            sums["relevant_in_history"] = look_up(shown.pairs["seen"], truth.items, shown.cargo).sum()
            # From a score matrix the caller has them masked, or not.
            if self.watch_seen and not shown.complete:
                sums["shown_in_history"] = shown.column("seen").sum()
        sums["meetings"] = 1 if len(blocks[HitIndex()].rows) else shown.count_held(truth.items)
        gains = truth.lists.columns["gain"]
        # Grades and ratings are whole numbers or halves; scores rarely are.
        sums["odd gains"] = np.count_nonzero(gains * 2 % 1)
        lowest, highest = blocks[GainRange()]
        counted = blocks[Counted()]
        constant = torch.zeros_like(counted) if constant is None else constant
        pending = {name: one for name, one in sums.items() if isinstance(one, Tensor)}

        def add_up(counted: Flags, listed: Lengths, constant: Flags, *numbers: Any) -> Counts:
            counts = {
                **sums,
                **dict(zip(pending, numbers, strict=True)),
                "counted": np.count_nonzero(counted),
                "shown_nothing": np.count_nonzero(counted & (listed == 0)),
                "no relevant item": np.count_nonzero(in_truth & ~counted),
                "short_lists": np.count_nonzero(counted & (listed < (self.depth or 0))),
                "constant": np.count_nonzero(constant & (n_shown > 1)),
            }
            if "masked" in counts:
                counts["masked"] -= seen
            return Counts(Sums({name: int(count) for name, count in counts.items()}), float(lowest), float(highest))

        return blocks.finish(add_up, counted, blocks[ShownCount()], constant, *pending.values())

    def compute(self, state: Any) -> Result:
        gains = {"lowest_gain": state.lowest, "highest_gain": state.highest} if state.lowest <= state.highest else {}
        return Result(None, notes={**state.sums.values, **gains})


def _count_unknown(blocks: Blocks, items: Tensor) -> Tensor | int:
    """Counts the cells that hold an item that the catalogue lacks."""
    # Usually the catalogue has them all: then no cell is looked at.
    if blocks.lookup.catalogue_has_all:
        return 0
    return by_item(blocks.lookup.outside_catalogue, items).sum()


def _count_gaps(blocks: Blocks) -> dict[str, Any]:
    """For each table of the context that a metric reads: shown items, or users, and those of them without a value."""
    counts: dict[str, Any] = {}
    ranked = blocks[Ranked()]
    for name in blocks.needs.items:
        lacking = by_item(blocks.lookup.lacks_item(name), ranked.items)
        counts |= {f"read item {name}": ranked.valid.sum(), f"lacks item {name}": lacking.sum()}
    start, stop = blocks.batch.start, blocks.batch.stop
    for name in blocks.needs.by_user:
        lacking = blocks.lookup.lacks_user(name)[start:stop]
        counts |= {f"read user {name}": len(blocks), f"lacks user {name}": lacking.sum()}
    return counts


def _count_steps(blocks: Blocks, lengths: Lengths) -> dict[str, Any]:
    """Steps along the lists `[B]` as they came, and how many of them rise."""
    shown = blocks.batch.shown
    counts: dict[str, Any] = {
        "long lists": np.count_nonzero(lengths > 1),
        "steps": np.maximum(lengths - 1, 0).sum(),
    }
    # Lists that are in order have no step that rises. The cells of a score matrix have no order.
    if not shown.complete and blocks[Ranked()].index is not None:
        scores, valid = shown.column("score"), shown.valid
        counts["rises"] = ((scores[:, 1:] > scores[:, :-1]) & valid[:, 1:]).sum()
    return counts


# What ranked the lists -> how it is said.
ORDERS = {"score": "lists ranked by score", "rank": "lists ranked by rank", "given": "lists ranked as given"}


def describe_reading(
    lists: Mapping[str, int], lowest: float | None, highest: float | None, metrics: Iterable[Metric] = ()
) -> str:
    """What ranked the lists, which gains were read, and how metrics count them; empty if there is nothing to say.

    Args:
        lists: what ranked them ("score", "rank", "given") -> how many lists.
        lowest, highest: gain of the relevance; None if it has no rows.
        metrics: the metrics in question.

    >>> describe_reading({"score": 7}, 1, 5)
    'lists ranked by score; gains 1 to 5'
    """
    told = [f"{count:,} {ORDERS[order]}" if len(lists) > 1 else ORDERS[order] for order, count in lists.items()]
    if lowest is not None and (lowest, highest) != (1, 1):
        told.append(f"gains {lowest:g} to {highest:g}" + _describe_gains(metrics))
    return "; ".join(told)


def _describe_gains(metrics: Iterable[Metric]) -> str:
    """How metrics count gains: those with a parameter `gain` by it, the others as relevant or not."""
    kinds: dict[str, list[str]] = {}
    for metric in metrics:
        kinds.setdefault(metric.parameters.get("gain", "binary"), []).append(str(metric))
    graded = {kind: names for kind, names in kinds.items() if kind != "binary"}
    if len(graded) == 1:
        return f", {next(iter(graded))}"
    if graded:
        return ", " + ", ".join(f"{kind} in {' and '.join(names)}" for kind, names in graded.items())
    return ", counted as relevant or not" if kinds else ""


@dataclass(frozen=True)
class Alarm:
    """A sign that data was misread.

    Attributes:
        key: a short name that does not change.
        category: of the warning.
        what: the finding, a sentence.
        effect: its effect on the numbers, and what to do.
        count: the number of users or rows concerned.
    """

    key: str
    category: type[errors.DataWarning]
    what: str
    effect: str
    count: int = 0


def find_alarms(notes: Mapping[str, Any]) -> Iterator[Alarm]:
    """The alarms in the counts of a Census.

    >>> [alarm.key for alarm in find_alarms({"steps": 40, "rises": 40})]
    ['rising scores']
    """
    counts: dict[str, int] = defaultdict(int, notes)
    if not counts["in both"]:
        if counts["counted"] and counts["no relevance given"]:
            yield Alarm(
                "users in common",
                errors.NoUserInCommonWarning,
                f"none of the {counts['counted']:,} users with relevant items was shown anything, while "
                f"{counts['no relevance given']:,} others were",
                "accuracy is 0; check that the user ids of both sides match",
                counts["counted"],
            )
    elif not counts["meetings"]:
        yield Alarm(
            "items in common",
            errors.NoItemInCommonWarning,
            "no relevant item is in any list",
            "accuracy is 0; check that the item ids of both sides match",
            counts["relevant_rows"],
        )
    if counts["rises"] >= FEW_STEPS and counts["rises"] > 0.99 * counts["steps"]:
        yield Alarm(
            "rising scores",
            errors.RisingScoresWarning,
            "scores rise along nearly every list",
            "the highest score counts as the best; if these are ranks or distances, the lists are reversed: call the "
            "column 'rank', or give negative distances",
            counts["rises"],
        )
    if counts["constant"] > counts["long lists"] / 2:
        yield Alarm(
            "constant scores",
            errors.ConstantScoresWarning,
            f"in {counts['constant']:,} of {counts['long lists']:,} lists all scores are equal",
            "the item id decides their order; give the scores of the model, or leave them out if the rows are ranked",
            counts["constant"],
        )
    if not counts["by score"] and 4 * counts["odd gains"] > counts["relevant_rows"] > counts["shown_rows"]:
        yield Alarm(
            "exchanged arguments",
            errors.ExchangedArgumentsWarning,
            f"the relevance has numbers that look like scores ({notes['lowest_gain']:g} to {notes['highest_gain']:g}), "
            "and the recommendations have none",
            "the recommendations come first: evaluate(recommendations, relevance)",
            counts["odd gains"],
        )
    if counts["shown_in_history"]:
        yield Alarm(
            "seen items",
            errors.SeenItemsWarning,
            f"{counts['shown_in_history']:,} recommended items are in the user's own history",
            "each takes a place; mask_seen=True (--mask-seen) drops these rows, mask_seen=False says that they are "
            "meant (by itself, a history masks score matrices only, not lists)",
            counts["shown_in_history"],
        )
    leaked, rows = counts["relevant_in_history"], counts["relevant_rows"]
    if leaked > LARGE_SHARE * rows:
        what = f"{leaked:,} of {rows:,} relevant rows ({leaked / rows:.0%}) are in the user's own history"
        yield Alarm(
            "leakage",
            errors.LeakageWarning,
            what if leaked < rows else f"all {rows:,} relevant rows are in the user's own history",
            "the model was trained on what it is tested on; check the split, or whether the truth is the training data",
            leaked,
        )
