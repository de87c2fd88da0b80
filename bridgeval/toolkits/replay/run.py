"""One pass of the engine for all that a drop-in class asks."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bridgeval.errors import DuplicateRowsWarning, InputError
from bridgeval.plugin import (
    Blocks,
    Execution,
    Inputs,
    LocalSource,
    Metric,
    Needs,
    Plan,
    Result,
    Rows,
    Sums,
    encode_ids,
    sort_unique,
)
from bridgeval.toolkits.replay.engines import Engine
from bridgeval.toolkits.replay.modes import CalculationDescriptor


class MetricDuplicatesWarning(DuplicateRowsWarning):
    """The recommendations, or base recommendations, hold a (user, item) pair more than once."""


@dataclass(frozen=True)
class Question:
    """One entry of a result: its key, the metric that answers it, and what becomes of the metric's result."""

    key: str
    metric: Metric
    mode: CalculationDescriptor


def answers(questions: Iterable[Question], inputs: Inputs, engine: Engine) -> dict[str, Any]:
    """The result of all questions, in their order."""
    asked = list(questions)
    results = results_of([question.metric for question in asked], inputs)
    return {question.key: question.mode.value(results[question.metric], engine) for question in asked}


def results_of(metrics: Iterable[Metric], inputs: Inputs) -> dict[Metric, Result]:
    """The results of all metrics; warns once of repeated recommendations, refuses to report on nobody."""
    plan = Plan.of([Repeats(), *metrics])
    source = LocalSource(inputs.slates, inputs.context, inputs.offers)
    plan.check(source.offers)
    results = plan.compute(source.run(plan, Execution(torch.device("cpu"))))
    repeated = {"recommendations": int(results[Repeats()].notes["repeated"])}
    repeated["base recommendations"] = sum(map(repeated_rows, inputs.baselines.values()))
    if any(repeated.values()):
        counts = " and ".join(
            f"{count} repeated (user, item) rows in the {w}" for w, count in repeated.items() if count
        )
        warnings.warn(
            f"{counts}; values may exceed 1, or depend on the largest k: drop them",
            MetricDuplicatesWarning,
            stacklevel=5,
        )
    for metric, result in results.items():
        if result.users == 0 and not result.undefined:
            raise InputError(
                f"there is no user to evaluate {metric.name} for",
                "no rows in the data set whose users it counts",
                "check the ground truth, the train data or the recommendations",
            )
    return results


def repeated_rows(rows: Rows) -> int:
    """How many rows repeat an earlier (user, item)."""
    _, (users,) = encode_ids([rows.owners])
    items, (codes,) = encode_ids([rows.items])
    return len(rows) - len(sort_unique(users.astype(np.int64) * max(len(items), 1) + codes))


@dataclass(frozen=True)
class Repeats(Metric):
    """How many recommendation rows repeat an earlier (user, item)."""

    name = "Repeats"

    def needs(self) -> Needs:
        return Needs(depth=0)

    def start(self) -> Sums:
        return Sums()

    def update(self, blocks: Blocks) -> Sums:
        return Sums({"repeated": blocks.batch.shown.repeated})

    def compute(self, state: Any) -> Result:
        return Result(None, notes={"repeated": state["repeated"]})
