"""The table of the field in docs/conventions.md: every installed evaluator's numbers on one fixture.

`python -m tests.toolkits.peers.field_table` writes it anew, after a convention was added or changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import bridgeval
from bridgeval import Metric, spec
from bridgeval.engine.metric import literal
from bridgeval.errors import BadParameterError
from bridgeval.explanation import Switch, compare_metrics
from bridgeval.identification import Attempt
from bridgeval.plugins import Plugins, load_plugins
from tests.toolkits.peers.test_conventions import RELEVANT, SHOWN

PAGE = Path(__file__).parents[3] / "docs" / "conventions.md"
BEGIN = "<!-- written by python -m tests.toolkits.peers.field_table -->\n"
END = "<!-- end -->\n"
KINDS = ("nDCG", "MAP", "MRR", "Recall", "Precision", "HitRate")
K = 5
NATIVE = "bridgeval"
# Own name -> the metric behind it, of one evaluator; by evaluator and kind.
Names = dict[str, Metric]
Field = dict[str, dict[str, Names]]


def build_table() -> str:
    """The table as Markdown, a row for each evaluator; a plugin that happens to be installed has none."""
    known = load_plugins(entry_points=())
    field = collect_names(known)
    asked = [metric for kinds in field.values() for names in kinds.values() for metric in names.values()]
    undone = [one for metric in asked for _, one in undo_switches(metric, known)]
    values = compute_values([*asked, *undone])
    head = f"| evaluator | {' | '.join(f'{kind}@{K}' for kind in KINDS)} | other than the native definition |"
    lines = [head, "|---|" + "---|" * (len(KINDS) + 1)]
    for toolkit, kinds in field.items():
        cells = [write_cell(kinds.get(kind, {}), values) for kind in KINDS]
        lines.append(f"| `{toolkit}` | {' | '.join(cells)} | {write_axes(kinds, values, known)} |")
    return "\n".join(lines) + "\n"


def collect_names(known: Plugins) -> Field:
    """The names of every evaluator that are definitions of the six metrics, native ones first."""
    field: Field = {NATIVE: {kind: {kind: known.metrics[kind](K)} for kind in KINDS}}
    for toolkit in sorted(known.conventions):
        kinds: dict[str, Names] = {}
        for own in known.conventions[toolkit].metrics:
            metric = parse_line(f"{toolkit}:{own}", known)
            kind = next((kind for kind in KINDS if isinstance(metric, known.metrics[kind])), None)
            if metric is not None and kind is not None and not metric.needs().required:
                kinds.setdefault(kind, {})[own] = metric
        if kinds:
            field[toolkit] = kinds
    return field


def parse_line(name: str, known: Plugins) -> Metric | None:
    """The metric at the cutoff; without one if it takes none."""
    for text in (f"{name}@{K}", name):
        try:
            (metric,) = spec.parse(text, plugins=known)
            return replace(metric, label=None)
        except BadParameterError:
            continue
    return None


def find_switches(metric: Metric, known: Plugins) -> list[Switch]:
    """The parameters in which a metric differs from the native default."""
    kind = next(known.metrics[kind] for kind in KINDS if isinstance(metric, known.metrics[kind]))
    return compare_metrics(kind(K), metric)


def undo_switches(metric: Metric, known: Plugins) -> Iterator[tuple[Switch, Metric]]:
    """Each of these parameters, and the metric with the native value of it."""
    for switch in find_switches(metric, known):
        try:
            yield switch, metric.with_parameters(**{switch.parameter: switch.before})
        except (BadParameterError, TypeError):
            continue


def compute_values(metrics: Sequence[Metric]) -> dict[Metric, float]:
    attempts = [Attempt(metric) for metric in dict.fromkeys(metrics)]
    report = bridgeval.evaluate(SHOWN, RELEVANT, attempts)
    return {one.metric: report[str(one)] for one in attempts}


def write_cell(names: Names, values: Mapping[Metric, float]) -> str:
    """The number; with the name if an evaluator has names that give several."""
    numbers: dict[str, list[str]] = {}
    for own, metric in names.items():
        numbers.setdefault(f"{values[metric]:.4f}", []).append(f"`{own}`")
    if len(numbers) < 2:
        return "".join(numbers)
    return "<br>".join(f"{number} {', '.join(owns)}" for number, owns in numbers.items())


def write_axes(kinds: Mapping[str, Names], values: Mapping[Metric, float], known: Plugins) -> str:
    """Parameters in which its names differ from the native metrics, bold where a number here is another for it."""
    names = {own: metric for one in kinds.values() for own, metric in one.items()}
    having: dict[str, list[str]] = {}
    effective = set()
    for own, metric in names.items():
        undone = dict(undo_switches(metric, known))
        for switch in find_switches(metric, known):
            if switch.parameter == "metric":
                continue
            text = f"{switch.parameter}={literal(switch.after)}"
            having.setdefault(text, []).append(own)
            if switch in undone and not math.isclose(values[undone[switch]], values[metric], abs_tol=1e-11):
                effective.add(text)
    groups: dict[tuple[str, ...], list[str]] = {}
    for text, owns in having.items():
        groups.setdefault(tuple(owns), []).append(f"**`{text}`**" if text in effective else f"`{text}`")
    told = [
        ", ".join(texts) if len(owns) == len(names) else f"{', '.join(owns)}: {', '.join(texts)}"
        for owns, texts in sorted(groups.items(), key=lambda one: -len(one[0]))
    ]
    return "<br>".join(told)


def replace_table(page: str, table: str) -> str:
    """The page with the table between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{PAGE.name} has no marks for the table")
    return f"{before}{begin}\n{table}\n{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(replace_table(PAGE.read_text(encoding="utf-8"), build_table()), encoding="utf-8")
