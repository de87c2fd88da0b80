"""OfflineMetrics: all metrics in one pass; Experiment: a table of systems, and how they compare with one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bridgeval.errors import BadParameterError, NeedError
from bridgeval.toolkits.replay.bases import Metric, inputs_of
from bridgeval.toolkits.replay.engines import DICT, Engine, engine_of
from bridgeval.toolkits.replay.metrics_api import SINGLE_BASE, Unexpectedness, items_as_categories
from bridgeval.toolkits.replay.run import Question, answers, results_of
from bridgeval.toolkits.replay.significance import Systems, collecting, kept
from bridgeval.toolkits.replay.system_tables import with_row

if TYPE_CHECKING:
    from bridgeval.plugin import Inputs, Report


class OfflineMetrics:
    """Evaluates several metrics at once.

    Args:
        metrics: metric objects of this module, or of one's own.
        query_column: name of the column with users; this and the following hold for all metrics.
        item_column: name of the column with items.
        rating_column: name of the column with scores.
        category_column: name of the column with categories, for CategoricalDiversity.
        allow_caching: taken for the sake of old code; nothing is cached in Spark.

    >>> from bridgeval.toolkits.replay import MRR, Recall
    >>> OfflineMetrics([Recall([1, 2]), MRR(2)])({1: [(7, 0.9), (8, 0.4)]}, {1: [8]})
    {'Recall@1': 0.0, 'Recall@2': 1.0, 'MRR@2': 0.5}
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        query_column: str = "query_id",
        item_column: str = "item_id",
        rating_column: str = "rating",
        category_column: str = "category_id",
        allow_caching: bool = True,
    ) -> None:
        if not metrics:
            raise BadParameterError("there is no metric to evaluate", hint="give e.g. [NDCG(10), Recall(10)]")
        self.metrics = list(metrics)
        self._columns = {"user": query_column, "item": item_column, "score": rating_column}
        self._category_column = category_column

    def __call__(
        self, recommendations: Any, ground_truth: Any, train: Any = None, base_recommendations: Any = None
    ) -> dict[str, Any]:
        """Values by key: other metrics in the order given, then Unexpectedness, then CategoricalDiversity.

        Args:
            recommendations: a frame, or a mapping user -> [(item, score)].
            ground_truth: a frame of the same kind, or a mapping user -> [item].
            train: for Coverage, Novelty and Surprisal.
            base_recommendations: for Unexpectedness; one frame, or several by name.
        """
        bases = _bases(base_recommendations)
        engine = engine_of(recommendations, ground_truth, train, *bases.values())
        return self.evaluate(engine, recommendations, ground_truth, train, bases)

    def evaluate(
        self, engine: Engine, recommendations: Any, ground_truth: Any, train: Any, bases: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The same by the rules of a given engine, for frames of any kind."""
        return answers(*self.asked(engine, recommendations, ground_truth, train, bases), engine)

    def asked(
        self, engine: Engine, recommendations: Any, ground_truth: Any, train: Any, bases: Mapping[str, Any]
    ) -> tuple[list[Question], Inputs]:
        """What is asked, of which data."""
        given = {"ground_truth": ground_truth, "train": train, "base_recommendations": bases or None, "": True}
        for metric in self.metrics:
            if given[metric.second] is None:
                raise NeedError(f"{metric} needs {metric.second}", hint=f"give {metric.second}=")
        reads_categories = any(not metric.second for metric in self.metrics)
        category = self._category_column if reads_categories and engine is not DICT else None
        inputs = inputs_of(self._columns, recommendations, ground_truth, train, bases, category)
        if reads_categories and engine is DICT:
            # Mappings have no column of categories; RePlay takes the items for them.
            inputs = replace(inputs, recommendations=items_as_categories(inputs.recommendations))
        return list(self._questions(engine, list(bases))), inputs

    def _questions(self, engine: Engine, bases: Sequence[str]) -> Iterator[Question]:
        late = ("base_recommendations", "")
        for metric in self.metrics:
            if metric.second not in late:
                yield from metric.questions(engine)
        for metric in self.metrics:
            if metric.second == "base_recommendations":
                for base in bases:
                    yield from cast(Unexpectedness, metric).questions_against(base, engine)
        for metric in self.metrics:
            if not metric.second:
                yield from metric.questions(engine)


class Experiment(Systems):
    """Values of several systems in one table.

    Args:
        metrics: as for OfflineMetrics.
        ground_truth: what proved relevant; the same for all systems.
        train: for Coverage, Novelty and Surprisal.
        base_recommendations: for Unexpectedness; one frame, or several by name.
        query_column: name of the column with users; this and the following hold for all metrics.
        item_column: name of the column with items.
        rating_column: name of the column with scores.
        category_column: name of the column with categories.
        per_user: whether to keep the users' values, for `significance`; 8 bytes for each user, column and system.

    Attributes:
        results: a pandas frame, a row for each system.

    >>> from bridgeval.toolkits.replay import MRR
    >>> experiment = Experiment([MRR(2)], {1: [8]})
    >>> experiment.add_result("old", {1: [(7, 0.9), (8, 0.4)]})
    >>> experiment.add_result("new", {1: [(8, 0.9), (7, 0.4)]})
    >>> experiment.compare("old")["MRR@2"].to_dict()
    {'old': '–', 'new': '100.0%'}
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        ground_truth: Any,
        train: Any = None,
        base_recommendations: Any = None,
        query_column: str = "query_id",
        item_column: str = "item_id",
        rating_column: str = "rating",
        category_column: str = "category_id",
        *,
        per_user: bool = False,
    ) -> None:
        import pandas as pd

        self._offline = OfflineMetrics(metrics, query_column, item_column, rating_column, category_column)
        self._ground_truth = ground_truth
        self._train = train
        self._base_recommendations = base_recommendations
        self._per_user = per_user
        self._kept: dict[str, Report] = {}
        self.results = pd.DataFrame()

    def add_result(self, name: str, recommendations: Any) -> None:
        """Evaluates a system and adds its row; a name that is there already has its row replaced."""
        if self._per_user:
            values = self._with_users(name, recommendations)
        else:
            values = self._offline(recommendations, self._ground_truth, self._train, self._base_recommendations)
        self.results = with_row(self.results, name, values)

    def _with_users(self, name: str, recommendations: Any) -> dict[str, Any]:
        """The values of a system; those of its users are kept."""
        bases = _bases(self._base_recommendations)
        engine = engine_of(recommendations, self._ground_truth, self._train, *bases.values())
        questions, inputs = self._offline.asked(engine, recommendations, self._ground_truth, self._train, bases)
        means = {one.key: one.metric for one in questions if one.mode.over(engine) == "mean"}
        results = results_of([*(one.metric for one in questions), *collecting(means.values())], inputs)
        users = {key: results[one].per_user for key, metric in means.items() if (one := metric.per_user()) is not None}
        self._kept[name] = kept(means, {key: results[metric] for key, metric in means.items()}, users)
        return {one.key: one.mode.value(results[one.metric], engine) for one in questions}


def _bases(base_recommendations: Any) -> dict[str, Any]:
    """Base recommendations by name: a mapping whose values are lists is one data set, as RePlay has it."""
    if base_recommendations is None:
        return {}
    if isinstance(base_recommendations, Mapping):
        first = next(iter(base_recommendations.values()), None)
        if not isinstance(first, list | tuple | np.ndarray):
            return dict(base_recommendations)
    return {SINGLE_BASE: base_recommendations}
