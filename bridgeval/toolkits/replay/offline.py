"""OfflineMetrics: all metrics in one pass; Experiment: a table of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bridgeval.errors import BadParameterError, NeedError
from bridgeval.plugin import Inputs
from bridgeval.toolkits.replay.bases import Metric
from bridgeval.toolkits.replay.calls import Question, answer, compute
from bridgeval.toolkits.replay.loader import DICT, FrameRules, choose_rules, read_inputs
from bridgeval.toolkits.replay.metrics_api import SINGLE_BASE, items_as_categories
from bridgeval.toolkits.replay.system_table import SystemTable


class OfflineMetrics:
    """Evaluates several metrics at once.

    Args:
        metrics: metric objects, RePlay's or an author's.
        query_column: name of the column with users; this and the following hold for all metrics.
        item_column: name of the column with items.
        rating_column: name of the column with scores.
        category_column: name of the column with categories, for CategoricalDiversity.
        allow_caching: accepted for compatibility; nothing is cached in Spark.

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
        bases = name_bases(base_recommendations)
        rules = choose_rules(recommendations, ground_truth, train, *bases.values())
        return self.evaluate(rules, recommendations, ground_truth, train, bases)

    def evaluate(
        self, rules: FrameRules, recommendations: Any, ground_truth: Any, train: Any, bases: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The same by the rules of one kind of frame, whatever the kind of these."""
        return answer(*self.prepare(rules, recommendations, ground_truth, train, bases), rules)

    def prepare(
        self, rules: FrameRules, recommendations: Any, ground_truth: Any, train: Any, bases: Mapping[str, Any]
    ) -> tuple[list[Question], Inputs]:
        """All questions in the order of the result, and the data that they are asked of."""
        given = {"ground_truth": ground_truth, "train": train, "base_recommendations": bases or None, "": True}
        for metric in self.metrics:
            if given[metric.second] is None:
                raise NeedError(f"{metric} needs {metric.second}", hint=f"give {metric.second}=")
        reads_categories = any(not metric.second for metric in self.metrics)
        inputs = read_inputs(
            recommendations,
            ground_truth,
            columns=self._columns,
            category=self._category_column if reads_categories and rules is not DICT else None,
            history=train,
            baselines=bases,
        )
        if reads_categories and rules is DICT:
            # Mappings have no column of categories; RePlay takes the items for them.
            inputs = replace(inputs, recommendations=items_as_categories(inputs.recommendations))
        last = ["base_recommendations", ""]
        in_order = sorted(self.metrics, key=lambda metric: last.index(metric.second) if metric.second in last else -1)
        return [question for metric in in_order for question in metric.questions(rules, list(bases))], inputs


class Experiment(SystemTable):
    """Values of several systems in one table.

    Args:
        metrics: as for OfflineMetrics.
        ground_truth: the relevant items, the same for all systems.
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
        super().__init__()
        self._offline = OfflineMetrics(metrics, query_column, item_column, rating_column, category_column)
        self._ground_truth = ground_truth
        self._train = train
        self._bases = name_bases(base_recommendations)
        self._per_user = per_user

    def add_result(self, name: str, recommendations: Any) -> None:
        """Evaluates a system and adds its row; a name that is there already has its row replaced."""
        rules = choose_rules(recommendations, self._ground_truth, self._train, *self._bases.values())
        self._add_result(name, recommendations, rules)

    def _add_result(self, name: str, recommendations: Any, rules: FrameRules) -> None:
        questions, inputs = self._offline.prepare(rules, recommendations, self._ground_truth, self._train, self._bases)
        means = {one.key: one.metric for one in questions if self._per_user and one.mode.over(rules) == "mean"}
        by_user = {key: one for key, metric in means.items() if (one := metric.per_user()) is not None}
        results = compute([*(one.metric for one in questions), *by_user.values()], inputs)
        if self._per_user:
            tables = {key: results[one].per_user for key, one in by_user.items()}
            self._keep_users(name, means, {key: results[metric] for key, metric in means.items()}, tables)
        self._add_row(name, {one.key: one.mode.value(results[one.metric], rules) for one in questions})


def name_bases(base_recommendations: Any) -> dict[str, Any]:
    """Base recommendations by name; a mapping whose values are lists is one data set, as in RePlay."""
    if base_recommendations is None:
        return {}
    if isinstance(base_recommendations, Mapping):
        first = next(iter(base_recommendations.values()), None)
        if not isinstance(first, list | tuple | np.ndarray):
            return dict(base_recommendations)
    return {SINGLE_BASE: base_recommendations}
