"""Saved states: what an evaluation writes beside its states, so that only those that belong together are merged."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from bridgeval.engine.metric import Metric
from bridgeval.engine.plan import Plan, States
from bridgeval.engine.roster import Roster
from bridgeval.engine.source import Sources
from bridgeval.engine.state_codec import BUILT_IN, fingerprint
from bridgeval.engine.state_files import Encoded, check_place, write_state_file
from bridgeval.errors import StateFileError
from bridgeval.report import Report
from bridgeval.report.manifest import versions
from bridgeval.tables.slice_labels import Labels

# The classes of `by=`.
SLICES = {**BUILT_IN, "Labels": Labels}
# Parts of rows whose column changes what numbers mean; another name of the user column does not.
NUMBERS = ("score", "rank", "gain")


@dataclass(frozen=True)
class Terms:
    """The terms of an evaluation, apart from its data. States are merged if these are equal.

    Attributes:
        metrics: name -> metric, as asked for.
        per_user: whether every user's value is kept.
        labels: the slices.
        mask_seen, columns: as in `evaluate`.
        label: of the report.
    """

    metrics: Mapping[str, Metric]
    per_user: bool
    labels: tuple[Labels, ...]
    mask_seen: bool | None
    columns: Mapping[str, str | None]
    label: str

    def describe(self) -> dict[str, Any]:
        """Plain values, for the header of a state file."""
        return {
            "metrics": {name: define(metric) for name, metric in self.metrics.items()},
            "per_user": self.per_user,
            "slices": {one.kind: fingerprint(one, SLICES) for one in self.labels},
            "mask_seen": self.mask_seen,
            "columns": {part: column for part, column in sorted(self.columns.items()) if part in NUMBERS},
            "label": self.label,
        }


def define(value: Any) -> str:
    """A metric with every parameter, whatever name it was asked for by.

    >>> from bridgeval.metrics import RMSE
    >>> define(RMSE())
    "RMSE(users='relevant', ranking=Ranking(order='score', ..."
    """
    if isinstance(value, Metric):
        given = [(one.name, getattr(value, one.name)) for one in fields(value) if one.compare]
        return f"{type(value).__qualname__}({', '.join(f'{name}={define(one)}' for name, one in given)})"
    if isinstance(value, tuple):
        return f"({', '.join(map(define, value))})"
    # A class or a function, which has an address in its repr.
    return str(getattr(value, "__qualname__", None) or repr(value))


def prepare_states(
    path: str | os.PathLike[str], plan: Plan, sources: Sources, with_users: bool, inputs: Iterable[Any] = ()
) -> Plan:
    """The plan of an evaluation whose states will be saved; raises if they cannot be.

    Args:
        inputs: of the evaluation, which the file may not replace.
        with_users: whether the ids of users are kept, so that merging can refuse those who come twice.
    """
    check_place(path, inputs)
    if len(sources.members) > 1:
        raise StateFileError(
            "a state file holds one evaluation, but these recommendations hold several",
            f"{len(sources.members)}: {', '.join(map(str, list(sources.members)[:3]))}, ...",
            "evaluate them one by one, or leave out {argument}",
            argument="state",
        )
    return add_roster(plan, with_users)


def add_roster(plan: Plan, with_users: bool) -> Plan:
    """The same plan, and at its end the Roster."""
    needs = plan.needs
    return Plan.of(
        [*plan.metrics, Roster(needs.context | needs.named_tables | needs.optional | needs.users, with_users)]
    )


def save_states(
    path: str | os.PathLike[str],
    terms: Terms,
    plan: Plan,
    states: States,
    report: Report,
    parts: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Writes a state file.

    Args:
        report: made of these states.
        parts: the evaluations that were merged; none if this is one.
    """
    counts = {"users": report.population.users, "counted": report.population.counted}
    own = {"id": uuid.uuid4().hex, "loader": report.loader, "versions": versions(), **counts}
    header = {
        "terms": terms.describe(),
        "counts": counts,
        "parts": list(parts) or [own],
        "slices": Encoded(terms.labels, SLICES),
    }
    write_state_file(path, plan, states, header)
