"""ScoredInputs: a model's scores and the other arguments of an evaluation, from which Slates are built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bridgeval.batch.batch import ShownRows
from bridgeval.batch.candidates import Candidates
from bridgeval.batch.score_rows import CandidateRows, DenseRows, SparseRows
from bridgeval.batch.scores import Scores
from bridgeval.engine.inputs import Inputs
from bridgeval.engine.needs import Needs
from bridgeval.errors import IdsOutOfRangeWarning, MisalignedError, warn_caller
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids
from bridgeval.tables.pair_column import Positions
from bridgeval.tables.rows import Rows
from bridgeval.tables.slates import Lists, Slates

NO_COLUMNS = {name: np.zeros(0) for name in ("score", "seen", "prev_score", "baseline_rank")}


@dataclass(frozen=True)
class ScoredInputs:
    """Scores and the other inputs; yields Slates whose shown side is read batch by batch."""

    scores: Scores
    inputs: Inputs

    @staticmethod
    def of(scores: Scores, relevance: Any, **extras: Any) -> ScoredInputs:
        empty = Ids(np.zeros(0, dtype=np.int64))
        inputs = Inputs.of(Rows(empty, empty, {"score": np.zeros(0)}), relevance, **extras)
        _check_positions(scores, inputs)
        users = scores.row_users(inputs.relevance)
        items = scores.columns if scores.per_user is None else scores.per_user.vocabulary
        catalogue = inputs.catalogue
        # A sample of the catalogue is not the catalogue: where there is a history, that knows more items.
        if catalogue is None and (scores.per_user is None or inputs.history is None):
            catalogue = encode_ids([items])[0]
        return ScoredInputs(scores, replace(inputs, catalogue=catalogue, more_users=(users,), more_items=(items,)))

    @property
    def offers(self) -> frozenset[str]:
        return self.inputs.offers | {"score"}

    @property
    def label(self) -> str:
        """The mark of numbers from these candidates, e.g. "sampled n=99"."""
        chosen = self.scores.per_user or self.scores.candidates
        return chosen.label if chosen is not None else ""

    def slates(self, needs: Needs) -> Iterator[Slates]:
        """The users that have scores, then those that have none."""
        (everyone,) = self.inputs.slates(needs)
        row_of = np.full(len(everyone), -1, dtype=np.int64)
        ids = self.inputs.more_users[0]
        row_of[ids.positions_in(everyone.users)] = np.arange(len(ids))
        scored, others = np.flatnonzero(row_of >= 0), np.flatnonzero(row_of < 0)
        users = everyone.users.take(scored)
        yield everyone.of_users(scored, self._lay_out_shown(users, everyone.items, row_of[scored], needs))
        if len(others):
            nothing = Lists(np.zeros(len(others) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), NO_COLUMNS)
            yield everyone.of_users(others, nothing)

    def _lay_out_shown(self, users: Ids, items: Ids, rows: Positions, needs: Needs) -> ShownRows:
        scores = self.scores
        seen = self.inputs.seen(users, items) if scores.mask_history else None
        baselines = self.inputs.ranked_baselines(users, needs)
        columns = self.inputs.pair_columns(users, items, needs, baselines)
        common = (scores, users, items, rows, seen, columns)
        if scores.per_user is not None:
            return CandidateRows(*common, scores.per_user)
        codes = scores.columns.positions_in(items).astype(np.int32)
        if scores.candidates is not None:
            return CandidateRows(*common, scores.candidates, codes)
        return SparseRows(*common, codes) if scores.is_sparse else DenseRows(*common, codes)


def _check_positions(scores: Scores, inputs: Inputs) -> None:
    """Checks that ids are rows and columns of scores without ids, which are numbered from 0."""
    if scores.is_function:
        return
    tables = [inputs.relevance] if inputs.history is None else [inputs.relevance, inputs.history]
    rows, columns = scores.values.shape
    if scores.users is None and not isinstance(scores.items, Candidates):
        _check_range([table.owners for table in tables], rows, "user", "row")
    if scores.items is None:
        _check_range([table.items for table in tables], columns, "item", "column")


def _check_range(ids: Sequence[Ids], count: int, side: str, line: str) -> None:
    """Warns of ids outside 0 .. count - 1; raises if they are strings."""
    given = [one for one in ids if len(one)]
    text = next((one for one in given if not one.is_integer), None)
    if text is not None:
        raise MisalignedError(
            f"{side} ids are strings, but the {line}s of the scores have no ids and are numbered from 0",
            f"{text.slice(0, 3).tolist()}",
            f"say what the {line}s are: Scores(values, {side}s=[...])",
        )
    outside = [one.values[(one.values < 0) | (one.values >= count)] for one in given]
    unknown = np.unique(np.concatenate(outside)) if outside else np.zeros(0)
    if len(unknown):
        warn_caller(
            f"{len(unknown):,} {side} id(s) of the relevance or the history have no {line} in the scores, e.g. "
            f"{', '.join(map(str, unknown[:3]))}: {line}s without ids are numbered from 0 to {count - 1}; if ids count "
            f"from 1, give Scores(values, {side}s=range(1, {count + 1})), and if they are positions, "
            f"{side}s=range({count})",
            IdsOutOfRangeWarning,
        )
