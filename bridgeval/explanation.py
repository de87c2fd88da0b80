"""explain: why two definitions of a metric give different numbers on the same data."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bridgeval import spec
from bridgeval.arguments import checked
from bridgeval.axes import AXES, METRIC, describe_axis
from bridgeval.engine.metric import FLAT, Metric, literal
from bridgeval.errors import BadParameterError
from bridgeval.evaluation import evaluate_one

if TYPE_CHECKING:
    from bridgeval.report.page.drawing import Drawing
    from bridgeval.report.page.section import Section

# Native metrics made of the same parts, so that one can be turned into the other -> what the last step changes.
KIN = {
    frozenset({"Precision", "RPrecision"}): "the cutoff and the denominator, k or the user's number of relevant items",
    frozenset({"Recall", "RPrecision"}): "the cutoff, k or the user's number of relevant items",
    frozenset({"Precision", "Recall"}): "the denominator, places or relevant items",
    frozenset({"HitRate", "Precision"}): "whether hits are a share of the places, or counted or noticed",
    frozenset({"HitRate", "Recall"}): "whether hits are a share of the relevant items, or counted or noticed",
    frozenset({"MAP", "MAR"}): "whether precision or recall is summed at the hits",
    frozenset({"MAP", "MRR"}): "whether every hit counts or the first alone",
    frozenset({"ERR", "MRR"}): "whether a hit stops the user with a probability or for certain",
    frozenset({"DCG", "nDCG"}): "whether the gain is divided by that of the ideal list",
}


@dataclass(frozen=True)
class Switch:
    """One parameter in which two metrics differ.

    Attributes:
        parameter: its name; "metric" if the formulas differ.
        before, after: its two values.
    """

    parameter: str
    before: Any
    after: Any

    @property
    def words(self) -> str:
        if self.parameter == METRIC:
            return KIN.get(frozenset({self.before, self.after}), AXES[METRIC])
        return describe_axis(self.parameter)

    @property
    def text(self) -> str:
        """The two values as they are typed.

        >>> Switch("ideal", "reachable", "k").text
        'ideal: "reachable" -> "k"'
        """
        return f"{self.parameter}: {self._spell(self.before)} -> {self._spell(self.after)}"

    def _spell(self, value: Any) -> str:
        # A cutoff beyond the end of every list.
        return "the whole list" if self.parameter == "k" and value == sys.maxsize else literal(value)


@dataclass(frozen=True)
class Step(Switch):
    """One parameter switched on the way from the first metric to the second.

    Attributes:
        effect: the change of the value at this step.
        alone: the change of the value if only this parameter is switched.
    """

    effect: float
    alone: float


@dataclass(frozen=True)
class Explanation:
    """Two values and the steps between them; the effects of the steps add up to the difference.

    Attributes:
        first, second: the names asked for.
        values: their values.
        steps: the largest effect first.
        natives: the two as native metrics, with all their parameters.
    """

    first: str
    second: str
    values: tuple[float, float]
    steps: tuple[Step, ...]
    natives: tuple[str, str]

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
            lines.append(f"  {step.effect:+.6f}  {step.words} ({step.text})")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "natives": list(self.natives),
            "values": list(self.values),
            "difference": self.difference,
            "steps": [
                asdict(step) | {"before": literal(step.before), "after": literal(step.after), "words": step.words}
                for step in self.steps
            ],
        }

    def to_markdown(self) -> str:
        """A paragraph for the appendix of a paper.

        >>> shown, relevant = {1: ["a", "b"], 2: ["c", "d"]}, {1: ["b"], 2: ["c", "x"]}
        >>> found = explain(shown, relevant, "MAP@2", "MAP(divide_by='k', users='both')@2")
        >>> print(found.to_markdown())
        On the same data `MAP@2` is 0.5000 and `MAP(users="both", divide_by="k")@2` is 0.3750, a difference of -0.1250.
        Of the difference, -0.1250 is due to the denominator (`divide_by: "reachable" -> "k"`). Without effect on this
        data: the users averaged over (`users: "relevant" -> "both"`). The parameters were switched one after another,
        and their effects add up to the difference.
        """
        first, second = self.values
        told = (
            f"On the same data `{self.first}` is {first:.4f} and `{self.second}` is {second:.4f}, "
            f"a difference of {self.difference:+.4f}."
        )
        natives = [
            f"`{name}` is `{native}`"
            for name, native in zip((self.first, self.second), self.natives, strict=True)
            if name != native
        ]
        sentences = [told, f"In the terms of bridgeval {_join(natives)}." if natives else ""]
        effective = [
            f"{one.effect:+.4f} is due to {one.words} (`{one.text}`)" for one in self.steps if _has_effect(one)
        ]
        idle = [f"{one.words} (`{one.text}`)" for one in self.steps if not _has_effect(one)]
        if effective:
            sentences.append(f"Of the difference, {_join(effective)}.")
        if idle:
            sentences.append(f"Without effect on this data: {_join(idle)}.")
        sentences.append(
            "The parameters were switched one after another, and their effects add up to the difference."
            if self.steps
            else "They are the same metric under two names."
        )
        return " ".join(filter(None, sentences))

    def to_html(self) -> str:
        """A page of its own: the waterfall, the steps, and the paragraph for a paper."""
        from bridgeval.report.page.rendering import render

        return str(render("alone.html", title=f"{self.first} and {self.second}", body=self._render()))

    def _repr_html_(self) -> str:
        return str(self._render())

    def to_section(self) -> Section:
        """A section of the report page with the waterfall: `report.to_html(path, more=[explanation.to_section()])`."""
        from bridgeval.report.page.page_data import PageData
        from bridgeval.report.page.section import Chart, Section, render_charts

        title = f"{self.first} and {self.second}"
        chart = Chart(title, self._draw(), "what each parameter adds to the first number or takes from it", wide=True)
        body = render_charts(PageData({}, {}, {}), [chart])
        return Section(re.sub(r"\W+", "-", title), title, body, self.to_markdown().replace("`", ""))

    def _render(self) -> Any:
        from bridgeval.report.page.rendering import render

        return render("explanation.html", found=self, chart=self._draw())

    def _draw(self) -> Drawing:
        from bridgeval.report.page.charts import draw_waterfall

        bars = [(step.text, step.effect) for step in self.steps if _has_effect(step)]
        return draw_waterfall((self.first, self.values[0]), bars, (self.second, self.values[1]))


def _has_effect(step: Step) -> bool:
    return abs(step.effect) > 1e-12


def _join(parts: list[str]) -> str:
    """Parts of a sentence.

    >>> _join(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


@checked
def explain(
    recommendations: Any, relevance: Any, first: str | Metric, second: str | Metric, **given: Any
) -> Explanation:
    """Explains the difference of two metrics: switches one parameter at a time from the first to the second.

    Parameters that alone move the value most towards the second come first; those that change nothing on this data
    come last, with an effect of 0. Two native metrics made of the same parts (`KIN`), such as Precision and RPrecision,
    are explained too: the step "metric" is what remains when all that they share agrees.

    Args:
        recommendations, relevance: as for `evaluate`.
        first, second: two names, or metric objects, e.g. "rectools:NDCG@10" and "ranx:ndcg@10".
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
    if not is_kin(type(start), type(end)):
        raise _refuse_kinship(start, end)
    changes = {change.parameter: change for change in compare_metrics(start, end)}
    alone = {name: metric for name in changes if (metric := _switch(start, end, [name], changes)) is not None}
    effects = _compute_values(recommendations, relevance, [start, end, *alone.values()], given)
    towards = math.copysign(1, effects[1] - effects[0])
    moves = {name: value - effects[0] for name, value in zip(alone, effects[2:], strict=True)}
    order = sorted(changes, key=lambda name: -towards * moves.get(name, -math.inf * towards))
    path = _find_path(start, end, order)
    values = _compute_values(recommendations, relevance, [replace(start, label=None), *path.values()], given)
    steps = [
        Step(name, changes[name].before, changes[name].after, after - before, moves.get(name, math.nan))
        for name, (before, after) in zip(path, pairwise(values), strict=True)
    ]
    steps.sort(key=lambda step: -abs(step.effect))
    natives = (str(replace(start, label=None)), str(replace(end, label=None)))
    return Explanation(str(start), str(end), (effects[0], effects[1]), tuple(steps), natives)


def is_kin(first: type[Metric], second: type[Metric]) -> bool:
    """Whether two metrics are one, or made of the same parts."""
    named = frozenset({first.name, second.name})
    return issubclass(first, second) or issubclass(second, first) or named in KIN


def compare_metrics(first: Metric, second: Metric) -> list[Switch]:
    """The parameters that two metrics share and in which they differ; then their formulas, if these are two."""
    before, after = first.parameters, second.parameters
    shared = _list_shared(type(first), type(second))
    changes = [
        Switch(name, before[name], after[name]) for name in before if name in shared and before[name] != after[name]
    ]
    formulas = [] if type(first) is type(second) else [Switch(METRIC, first.name, second.name)]
    return changes + formulas


def _list_shared(first: type[Metric], second: type[Metric]) -> set[str]:
    """The parameters of the nearest class that both come from: what others of the same name mean may differ."""
    common = next(one for one in first.__mro__ if issubclass(second, one))
    own = {one.name for one in fields(common) if one.name != "label"}
    return {name for name in first.default_parameters() if name in own or FLAT.get(name, ("",))[0] in own}


def _switch(start: Metric, end: Metric, names: Collection[str], changes: Iterable[str]) -> Metric | None:
    """The metric on the way from start to end after these parameters were switched; None if there is no such metric."""
    base, other = (end, start) if METRIC in names else (start, end)
    moved = [name for name in changes if name != METRIC and (name in names) is (base is start)]
    try:
        return replace(base.with_parameters(**{name: other.parameters[name] for name in moved}), label=None)
    except BadParameterError:
        return None


def _find_path(start: Metric, end: Metric, order: Sequence[str]) -> dict[str, Metric]:
    """Parameter -> the metric after it was switched, in this order as far as the metrics between exist."""
    path: dict[str, Metric] = {}
    while len(path) < len(order):
        found = (
            (name, metric)
            for name in order
            if name not in path and (metric := _switch(start, end, [*path, name], order)) is not None
        )
        step = next(found, None)
        if step is None:
            left = ", ".join(name for name in order if name not in path)
            raise BadParameterError(
                f"there is no way from {start} to {end}",
                f"no metric in between when one of {left} is switched",
                "explain a metric that is nearer first",
            )
        path[step[0]] = step[1]
    return path


def _refuse_kinship(start: Metric, end: Metric) -> BadParameterError:
    near = sorted(name for pair in KIN if start.name in pair for name in pair if name != start.name)
    others = f"; {start.name} can also be turned into {_join(near)}" if near else ""
    return BadParameterError(
        f"{start} and {end} are different metrics, not two definitions of one",
        f"{start.name} and {end.name}, whose formulas have no parts to switch one by one",
        f"compare names of one metric, e.g. rectools:NDCG@10 and ranx:ndcg@10{others}",
    )


def _parse_one(metric: str | Metric, convention: str | None) -> Metric:
    found = spec.parse_all(metric, convention)
    if len(found) > 1:
        raise BadParameterError(f"{metric} asks for several metrics", hint="give one cutoff")
    return found[0]


def _compute_values(recommendations: Any, relevance: Any, metrics: list[Metric], given: dict[str, Any]) -> list[float]:
    report = evaluate_one(recommendations, relevance, metrics, **given)
    return [report[str(metric)] for metric in metrics]
