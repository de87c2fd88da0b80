"""OnlineEvaluator: metrics inside a training or validation loop, batch after batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval import plugins, spec
from bridgeval.batch.batch import lay_out
from bridgeval.batch.score_rows import DenseRows
from bridgeval.batch.scores import Scores
from bridgeval.batch.transfer import download
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.distributed import merge_over_ranks
from bridgeval.engine.inputs import Inputs
from bridgeval.engine.lookup import Lookup
from bridgeval.engine.metric import Metric
from bridgeval.engine.plan import Plan, States
from bridgeval.errors import BadValueError, InputError, MisalignedError, NeedError
from bridgeval.evaluation import make_plan
from bridgeval.report import Report, build_report
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids
from bridgeval.tables.pair_column import PairColumn
from bridgeval.tables.rows import Rows
from bridgeval.tables.slates import Lists, Slates

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

# Data that comes with each batch.
OF_BATCHES = frozenset({"score", "seen", "history lists"})


class OnlineEvaluator:
    """Collects the states of metrics over batches, and gives a report of all of them.

    Scores are read where they are: on a GPU they are ranked there and never copied to the host. Every row is a user of
    its own. Users with at least one relevant item count, unless a metric says otherwise.

    Args:
        metrics: names such as "nDCG@5,10" or "replay:NDCG@10", or metric objects, as for `evaluate`.
        items: how many items there are, or the id of each column of the scores. None takes the width of the first
            scores; items are then numbered from 0.
        convention: the toolkit whose names and definitions are meant where a name has no prefix.
        per_user: whether to keep the value of every user, see `Report.per_user`.
        data: `history`, `catalogue`, `item_groups` and `item_features`, as for `evaluate`, by item id.

    >>> evaluator = OnlineEvaluator(["Recall@1", "MRR@2"])
    >>> evaluator.update(torch.tensor([[0.9, 0.1, 0.5]]), [[2]])
    >>> evaluator.update(torch.tensor([[0.2, 0.3, 0.1]]), [[0]], seen=[[1]])
    >>> dict(evaluator.compute())
    {'Recall@1': 0.5, 'MRR@2': 0.75}
    """

    def __init__(
        self,
        metrics: str | Metric | Iterable[str | Metric] = ("nDCG@10", "Recall@10"),
        items: int | Sequence[Any] | None = None,
        *,
        convention: str | None = None,
        per_user: bool = False,
        **data: Any,
    ) -> None:
        self._asked = spec.name_all(metrics, convention, plugins.installed())
        self.plan: Plan = make_plan(list(self._asked.values()), per_user, (), watch_seen=True)
        self._items = None if items is None else _read_items(items)
        self._data = data
        self.reset()

    def reset(self) -> None:
        """Forgets all batches."""
        self.states: States = self.plan.start()
        self.rows = 0
        self._lookup: Lookup | None = None

    def update(self, recommendations: Tensor, truth: Any, seen: Any = None) -> None:
        """Adds a batch of B users.

        Args:
            recommendations: scores of all items, a floating tensor `[B, N]`, -inf for items that must not be shown; or
                the items shown, an integer tensor `[B, K]` of columns, best first, negative numbers for padding.
            truth: the relevant items: columns, an integer tensor `[B, m]` padded with negative numbers, or a list for
                each user; or a tensor `[B, N]`, boolean or floating, of flags or gains.
            seen: items that the user had before, in the same forms. They are masked in scores; a list keeps them.
        """
        if not isinstance(recommendations, Tensor) or recommendations.ndim != 2 or recommendations.is_complex():
            shape = f" of shape {list(recommendations.shape)}" if isinstance(recommendations, Tensor) else ""
            raise InputError(
                "a batch is a tensor of scores, or of the columns of the items shown",
                f"{getattr(recommendations, 'dtype', type(recommendations).__name__)}{shape}",
                "give a floating tensor [B, N], or an integer tensor [B, K]",
                argument="recommendations",
            )
        rows = len(recommendations)
        scored = recommendations.is_floating_point()
        if self._items is None and scored:
            self._items = _read_items(recommendations.shape[1])
        if self._items is None:
            raise NeedError(
                "the items are not known", "lists of items before any scores", "give OnlineEvaluator items="
            )
        self._check_needs(seen)
        users = Ids(np.arange(self.rows, self.rows + rows))
        relevant = self._read_lists(truth, rows, "truth")
        had = None if seen is None else self._read_pairs(seen, rows)
        shown: Any = (
            self._read_scores(recommendations, users, had) if scored else self._read_shown(recommendations, had)
        )
        columns = {"in_known": np.ones(rows, dtype=bool)}
        history = None if had is None else Lists(had.offsets, had.items)
        slates = Slates(users, self._vocabulary, shown, relevant, columns, history)
        device = recommendations.device
        # Constants of the context are uploaded once; only the users change.
        if self._lookup is not None and self._lookup.device == device:
            self._lookup = replace(self._lookup, slates=slates)
        else:
            self._lookup = Lookup(self._context, slates, device)
        depth = self.plan.needs.depth
        blocks = Blocks(
            lay_out(slates, 0, rows, device), self._lookup, None if depth is None else max(depth, 1), self.plan.needs
        )
        self.states = self.plan.merge(self.states, self.plan.update(blocks))
        self.rows += rows

    def merge(self, other: Self) -> None:
        """Adds the batches of another evaluator of the same metrics, e.g. of another data loader."""
        if other.plan != self.plan:
            raise MisalignedError("the evaluators have different metrics", hint="make both with the same arguments")
        self.states = self.plan.merge(self.states, other.states)
        self.rows += other.rows

    def compute(self, group: ProcessGroup | None = None) -> Report:
        """The report of all batches so far.

        Args:
            group: a `torch.distributed` group, whose ranks all call this; each gets the report of all.
        """
        states = self.states if group is None else merge_over_ranks(self.plan, self.states, group)
        device = "cpu" if self._lookup is None else str(self._lookup.device)
        return build_report(self._asked, self.plan.compute(states), "online", device=device)

    @cached_property
    def _inputs(self) -> Inputs:
        nobody = Rows(Ids(np.zeros(0, dtype=np.int64)), Ids(np.zeros(0, dtype=np.int64)))
        unknown = set(self._data) - {"history", "catalogue", "item_groups", "item_features"}
        if unknown:
            raise InputError(
                f"an OnlineEvaluator takes no {sorted(unknown)[0]}",
                "it knows items by id, and users by the rows of its batches",
                "give a history, a catalogue, item groups or item features",
            )
        return Inputs.of(nobody, nobody, **self._data)

    @cached_property
    def _context(self) -> Any:
        context = self._inputs.context
        return context if self._inputs.catalogue is not None else replace(context, catalogue=self._vocabulary)

    @cached_property
    def _encoded(self) -> tuple[Ids, npt.NDArray[np.int32]]:
        vocabulary, (codes,) = encode_ids([cast(Ids, self._items)])
        if len(vocabulary) < len(codes):
            raise InputError(
                "the items repeat", f"{len(codes) - len(vocabulary)} repeated id(s)", "give each item once"
            )
        return vocabulary, codes.astype(np.int32)

    @property
    def _vocabulary(self) -> Ids:
        return self._encoded[0]

    def _check_needs(self, seen: Any) -> None:
        offers = self._inputs.offers - {"seen", "history lists"} | {"score", "catalogue"}
        self.plan.check(offers if seen is None else offers | OF_BATCHES)

    def _read_scores(self, scores: Tensor, users: Ids, seen: PairColumn | None) -> DenseRows:
        vocabulary, codes = self._encoded
        matrix = Scores(scores, users=users.to_numpy(), items=self._items)
        pairs = {} if seen is None else {"seen": seen}
        return DenseRows(matrix, users, vocabulary, np.arange(len(users)), seen, pairs, codes)

    def _read_shown(self, items: Tensor, seen: PairColumn | None) -> Lists:
        lists = self._read_lists(items, len(items), "recommendations")
        return Lists(lists.offsets, lists.items, {}, "given", beside={} if seen is None else {"seen": seen})

    def _read_pairs(self, seen: Any, rows: int) -> PairColumn:
        lists, size = self._read_lists(seen, rows, "seen items"), len(self._vocabulary)
        keys = np.unique(np.repeat(np.arange(rows), lists.lengths) * size + lists.items)
        offsets = np.searchsorted(keys // max(size, 1), np.arange(rows + 1))
        return PairColumn(offsets, (keys % max(size, 1)).astype(np.int32), size)

    def _read_lists(self, given: Any, rows: int, what: str) -> Lists:
        """Items in any of the forms of `update` as lists of codes, with gains."""
        width = len(self._encoded[1])
        if not isinstance(given, Tensor):
            lengths = [len(one) for one in given]
            owners = np.repeat(np.arange(len(lengths)), lengths)
            columns = np.array([item for one in given for item in one], dtype=np.int64)
            gains = np.ones(len(columns))
            count = len(lengths)
        else:
            cells, count = given.detach(), len(given)
            dense = cells.is_floating_point() or cells.dtype == torch.bool
            if dense and tuple(cells.shape) != (rows, width):
                raise MisalignedError(
                    f"the {what} must have a row for each user and a column for each item",
                    f"{list(cells.shape)} for {rows} users and {width} items",
                )
            # Where the tensor is: flags of all items are not copied to the host.
            at = torch.nonzero(cells if dense else cells >= 0, as_tuple=True)
            owners, places, found = download([*at, cells[at].to(torch.float64 if dense else torch.int64)])
            columns, gains = (places, found) if dense else (found, np.ones(len(found)))
        if count != rows:
            raise MisalignedError(f"the {what} must have a row for each user", f"{count} rows for {rows} users")
        if len(columns) and (columns.max() >= width or columns.min() < 0):
            raise BadValueError(
                f"the {what} name a column that there is not",
                f"columns {columns.min()} to {columns.max()} of {width} items",
                "items are numbered from 0",
            )
        if not np.isfinite(gains).all():
            raise BadValueError(f"the {what} have NaN or infinite gains", hint="give finite gains")
        offsets = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners, minlength=rows), out=offsets[1:])
        return Lists(offsets, self._encoded[1][columns], {"gain": gains})


def _read_items(items: int | Sequence[Any]) -> Ids:
    return Ids(np.arange(items)) if isinstance(items, int) else Ids.of(items, "items")
