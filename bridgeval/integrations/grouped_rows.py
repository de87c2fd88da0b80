"""Rows in groups: what boosters and scikit-learn hand over, a label and a score for each row and the row's group.

A group stands for a user, a row for an item. Only the rows are known: a relevant item without a row is lost, as it is
to these libraries. Weights of rows and groups are not read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import bridgeval
from bridgeval.errors import BadParameterError, MisalignedError
from bridgeval.integrations.metric_names import decode_name, encode_name


def evaluate_groups(labels: Any, scores: Any, groups: Any, metrics: Any, **options: Any) -> bridgeval.Report:
    """Evaluates rows that are ranked within groups.

    Args:
        labels: `[n]`, the gain of each row.
        scores: `[n]`.
        groups: `[n]`, the id of each row's group, in any order.
        metrics: as in `evaluate`.
        **options: more arguments of `evaluate`.

    Rows are numbered, and the numbers are the items' ids: of equal scores the later row comes first, unless the metric
    says otherwise (`ties="given"`).

    >>> report = evaluate_groups([1, 0, 0, 2], [0.9, 0.3, 0.8, 0.7], ["a", "a", "b", "b"], ["MRR", "Precision@1"])
    >>> dict(report)
    {'MRR': 0.75, 'Precision@1': 0.5}
    """
    import numpy as np
    import pyarrow as pa

    columns = {"labels": np.asarray(labels), "scores": np.asarray(scores), "groups": np.asarray(groups)}
    shapes = {name: column.shape for name, column in columns.items()}
    if len(set(shapes.values())) > 1 or columns["labels"].ndim != 1:
        raise MisalignedError(
            "labels, scores and groups must have one value for each row",
            ", ".join(f"{name} of shape {shape}" for name, shape in shapes.items()),
            "give three arrays of one length",
        )
    keys = {"user_id": pa.array(columns["groups"]), "item_id": pa.array(np.arange(len(columns["labels"])))}
    shown = pa.table({**keys, "score": pa.array(columns["scores"])})
    relevant = pa.table({**keys, "gain": pa.array(columns["labels"])})
    return bridgeval.evaluate(shown, relevant, metrics, **{"progress": False, **options})


def number_groups(sizes: Any, rows: int) -> Any:
    """The number of each row's group, from the sizes of groups that follow one another.

    >>> number_groups([2, 3], 5).tolist()
    [0, 0, 1, 1, 1]
    """
    import numpy as np

    counts = np.asarray([] if sizes is None else sizes, dtype=np.int64)
    if int(counts.sum()) != rows:
        raise MisalignedError(
            "the groups do not cover the rows",
            f"{len(counts):,} groups of {int(counts.sum()):,} rows together, {rows:,} rows",
            "give the data set its groups (group= or qid=)",
        )
    return np.repeat(np.arange(len(counts)), counts)


@dataclass(frozen=True)
class Value:
    """A number as training libraries take it.

    Attributes:
        name: in letters, digits and underscores; see `encode_name`.
        value: the number.
        higher_is_better: which direction is an improvement.
    """

    name: str
    value: float
    higher_is_better: bool


@dataclass(frozen=True)
class GroupMetrics:
    """Metrics of grouped rows, with a direction for each.

    Attributes:
        metrics: metric objects.
        higher_is_better: the direction of metrics for which neither is better.
    """

    metrics: tuple[bridgeval.Metric, ...]
    higher_is_better: bool | None = None

    @staticmethod
    def of(metrics: Any, higher_is_better: bool | None = None) -> GroupMetrics:
        """From names and metric objects. Training may take hours, so names and directions are checked here."""
        asked = [metrics] if isinstance(metrics, str | bridgeval.Metric) else metrics
        found = [metric for one in asked for metric in (bridgeval.parse(one) if isinstance(one, str) else [one])]
        made = GroupMetrics(tuple(found), higher_is_better)
        for metric in made.metrics:
            made.direction(metric)
        return made

    def measure(self, labels: Any, scores: Any, groups: Any) -> list[Value]:
        """The numbers of a data set; a metric with named parts gives one for each."""
        report = evaluate_groups(labels, scores, groups, self.metrics)
        return [
            Value(encode_name(name), value, self.direction(report.metrics[whole]))
            for whole, result in report.results.items()
            for name, value in result.numbers(whole).items()
        ]

    def direction(self, metric: bridgeval.Metric) -> bool:
        """Whether higher values of a metric are better; an error where nobody has said."""
        direction = metric.higher_is_better if metric.higher_is_better is not None else self.higher_is_better
        if direction is None:
            raise BadParameterError(
                f"neither higher nor lower values of {metric} are better, but training libraries ask which",
                hint="give {argument}",
                argument="higher_is_better",
                value=True,
            )
        return direction

    @property
    def only(self) -> bridgeval.Metric:
        """The metric, where a library takes no more than one."""
        if len(self.metrics) != 1:
            raise BadParameterError(
                "only one metric can be given here", ", ".join(map(str, self.metrics)), "give the one that decides"
            )
        return self.metrics[0]

    def measure_only(self, labels: Any, scores: Any, groups: Any) -> float:
        """The number of the only metric."""
        values = self.measure(labels, scores, groups)
        if len(values) != 1:
            raise BadParameterError(
                f"{self.only} has several numbers, but only one can be used here",
                ", ".join(decode_name(one.name) for one in values),
                "give a metric with one number",
            )
        return values[0].value


@dataclass(frozen=True)
class KnownGroups:
    """The groups of data sets whose library hands over labels and scores alone. A set is found by its labels.

    Attributes:
        sets: (labels, groups) of each data set.
    """

    sets: tuple[tuple[Any, Any], ...]

    @staticmethod
    def of(sets: Iterable[tuple[Any, Any]]) -> KnownGroups:
        """From pairs of arrays; an error if two sets with equal labels have other groups."""
        import numpy as np

        known = tuple((np.asarray(labels, dtype=np.float32), np.asarray(groups)) for labels, groups in sets)
        for number, (labels, groups) in enumerate(known):
            if len(labels) != len(groups):
                raise MisalignedError(
                    "labels and groups must have one value for each row",
                    f"{len(labels):,} labels, {len(groups):,} groups in data set {number}",
                    "give both of the same data set",
                )
            for others, theirs in known[:number]:
                if np.array_equal(labels, others) and not np.array_equal(groups, theirs):
                    raise MisalignedError(
                        "two data sets have the same labels and other groups, so that they cannot be told apart",
                        f"data set {number}, {len(labels):,} rows",
                        "leave one of them out",
                    )
        return KnownGroups(known)

    def find(self, labels: Any) -> Any:
        """The groups of the set with these labels."""
        import numpy as np

        wanted = np.asarray(labels, dtype=np.float32)
        for known, groups in self.sets:
            if np.array_equal(known, wanted):
                return groups
        raise MisalignedError(
            "the groups of a data set are not known",
            f"{len(wanted):,} labels; the data sets given have {', '.join(f'{len(known):,}' for known, _ in self.sets)}"
            " and other labels or another order",
            "give every data set that is trained or evaluated on, in its own order of rows",
        )
