"""explain: why two definitions of a metric give different numbers on the same data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from bridgeval import spec
from bridgeval.engine.metric import Metric, literal
from bridgeval.errors import BadParameterError
from bridgeval.evaluation import evaluate_one

# Parameter -> what it decides, in words.
AXES = {
    "k": "the cutoff",
    "gain": "what a relevant item is worth",
    "ideal": "the ideal list",
    "discount": "how fast the weight of ranks falls",
    "divide_by": "the denominator",
    "users": "the users averaged over",
    "order": "whether lists are ranked by score or as given",
    "ties": "the order of equal scores",
    "duplicates": "whether a repeated item counts again",
    "truth_duplicates": "whether a repeated relevant row counts again",
    "masked": "whether items scored -inf are part of the list",
    "cut": "how many rows are kept before repeated items are removed",
    "gaps": "whether places that ranks leave out stay empty",
    "above": "the gain above which an item is relevant",
    "over": "how the users' values are summarized",
    "confidence": "the confidence of the interval",
    "lone": "the interval if only one user has a value",
    "repeated": "whether a repeated item is a hit again",
    "count": "whether hits are counted or only one is needed",
    "average": "whether the mean is over pairs or users",
    "weight": "how users are weighted",
}


@dataclass(frozen=True)
class Step:
    """One parameter switched on the way from the first metric to the second.

    Attributes:
        parameter: its name.
        before, after: its two values.
        effect: the change of the value at this step.
        alone: the change of the value if only this parameter is switched.
    """

    parameter: str
    before: Any
    after: Any
    effect: float
    alone: float

    @property
    def words(self) -> str:
        return AXES.get(self.parameter, self.parameter)


@dataclass(frozen=True)
class Explanation:
    """Two values and the steps between them; the effects of the steps add up to the difference.

    Attributes:
        first, second: the names asked for.
        values: their values.
        steps: the largest effect first.
    """

    first: str
    second: str
    values: tuple[float, float]
    steps: tuple[Step, ...]

    @property
    def difference(self) -> float:
        return self.values[1] - self.values[0]

    def __str__(self) -> str:
        width = max(map(len, (self.first, self.second, "difference")))
        lines = [
            f"{self.first:{width}}  {self.values[0]: .6f}",
            f"{self.second:{width}}  {self.values[1]: .6f}",
            f"{'difference':{width}}  {self.difference:+.6f}",
        ]
        if not self.steps:
            return "\n".join([*lines, "They are the same metric under two names."])
        lines.append("because")
        for step in self.steps:
            switch = f"{step.parameter}: {literal(step.before)} -> {literal(step.after)}"
            lines.append(f"  {step.effect:+.6f}  {step.words} ({switch})")
        return "\n".join(lines)


def explain(
    recommendations: Any, relevance: Any, first: str | Metric, second: str | Metric, **given: Any
) -> Explanation:
    """Explains the difference of two metrics: switches one parameter at a time from the first to the second.

    Parameters that alone move the value most towards the second come first; those that change nothing on this data
    come last, with an effect of 0.

    Args:
        recommendations, relevance: as for `evaluate`.
        first, second: two names, or metric objects, of one native metric, e.g. "rectools:NDCG@10" and "ranx:ndcg@10".
        given: the other arguments of `evaluate`.

    >>> shown, relevant = {1: ["a", "b"], 2: ["c", "d"]}, {1: ["b"], 2: ["c", "x"]}
    >>> print(explain(shown, relevant, "irspack:map@2", "MAP(divide_by='k')@2"))
    irspack:map@2          0.500000
    MAP(divide_by="k")@2   0.375000
    difference            -0.125000
    because
      -0.125000  the denominator (divide_by: "relevant" -> "k")
      +0.000000  the order of equal scores (ties: "item_ascending" -> "item_descending")
    """
    start, end = (_parse_one(one, given.get("convention")) for one in (first, second))
    if type(start) is not type(end):
        raise BadParameterError(
            f"{first} and {second} are different metrics, not two definitions of one",
            f"{start.name} and {end.name}",
            "compare names of one metric, e.g. rectools:NDCG@10 and ranx:ndcg@10",
        )
    before, after = start.parameters, end.parameters
    switched = [name for name in before if before[name] != after[name]]
    plain = replace(start, label=None)
    alone = {name: plain.with_parameters(**{name: after[name]}) for name in switched}
    effects = _compute_values(recommendations, relevance, [start, end, *alone.values()], given)
    towards = effects[1] - effects[0]
    moves = dict(zip(switched, (value - effects[0] for value in effects[2:]), strict=True))
    order = sorted(switched, key=lambda name: (-moves[name] if towards >= 0 else moves[name], switched.index(name)))
    path = accumulate(order, lambda metric, name: metric.with_parameters(**{name: after[name]}), initial=plain)
    values = _compute_values(recommendations, relevance, list(path), given)
    steps = [
        Step(name, before[name], after[name], next_value - value, moves[name])
        for name, value, next_value in zip(order, values, values[1:], strict=False)
    ]
    steps.sort(key=lambda step: -abs(step.effect))
    return Explanation(str(start), str(end), (effects[0], effects[1]), tuple(steps))


def _parse_one(metric: str | Metric, convention: str | None) -> Metric:
    found = spec.parse_all(metric, convention)
    if len(found) > 1:
        raise BadParameterError(f"{metric} asks for several metrics", hint="give one cutoff")
    return found[0]


def _compute_values(recommendations: Any, relevance: Any, metrics: list[Metric], given: dict[str, Any]) -> list[float]:
    report = evaluate_one(recommendations, relevance, metrics, **given)
    return [report[str(metric)] for metric in metrics]
