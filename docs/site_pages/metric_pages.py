"""The pages of metrics and of other libraries' names for them."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, replace
from functools import cache
from pathlib import Path

import bridgeval
from bridgeval import errors, plugins, spec
from bridgeval.cli.listing import FAMILIES
from bridgeval.engine.needs import NEEDS, in_words
from bridgeval.plugin import Metric
from bridgeval.report.definitions import COMMON, describe_parameters, name_direction, read_summary
from site_pages import five_users, special_users
from site_pages.markdown import escape, first_paragraph, write_table

HERE = Path(__file__).parent
PACKAGE = "bridgeval."


@dataclass(frozen=True)
class Formula:
    """The formula of a metric.

    Attributes:
        formula: LaTeX.
        sources: keys of `references.bib`.
        where: what its letters mean, beside those of the page of all metrics.
    """

    formula: str
    sources: tuple[str, ...]
    where: str = ""


@cache
def read_formulas() -> Mapping[str, Formula]:
    """Metric -> its formula, from `formulas.toml`."""
    with open(HERE / "formulas.toml", "rb") as file:
        return {name: Formula(**one | {"sources": tuple(one["sources"])}) for name, one in tomllib.load(file).items()}


@cache
def list_metrics() -> Mapping[str, type[Metric]]:
    """The metrics that come with the package, by name."""
    return {
        name: metric for name, metric in plugins.installed().metrics.items() if metric.__module__.startswith(PACKAGE)
    }


@cache
def list_conventions() -> Mapping[str, tuple[tuple[str, Metric], ...]]:
    """Native metric -> the names that conventions give it, each with what it means at a cutoff of 10."""
    found: dict[str, list[tuple[str, Metric]]] = {}
    for toolkit, table in sorted(plugins.installed().conventions.items()):
        for own in table.metrics:
            metric = parse_any(f"{toolkit}:{own}")
            if metric is not None:
                found.setdefault(metric.name, []).append((f"{toolkit}:{own}", metric))
    return {name: tuple(pairs) for name, pairs in found.items()}


def parse_any(name: str, k: int = 10) -> Metric | None:
    """The metric of that name, with a cutoff where it takes one; None if it has required parameters."""
    for spelling in (f"{name}@{k}", name):
        try:
            return spec.parse(spelling)[0]
        except (errors.BridgevalError, TypeError):
            continue
    return None


def make_pages() -> Iterator[tuple[str, str]]:
    """Pairs of a file's name and its text."""
    for name, metric in list_metrics().items():
        yield f"metrics/{name}.md", describe_metric(name, metric)
    yield "metrics.md", list_all_metrics()
    yield "parameters.md", describe_shared_parameters()
    yield "conventions.md", list_all_conventions()
    for toolkit in plugins.installed().conventions:
        yield f"conventions/{toolkit}.md", describe_convention(toolkit)


def describe_metric(name: str, metric: type[Metric]) -> str:
    """The page of one metric."""
    formula = read_formulas()[name]
    lines = [f"# {name}", "", read_summary(metric), "", "```{math}", formula.formula, "```", ""]
    if formula.where:
        lines += [formula.where, ""]
    lines += ["Letters are explained on the [page of all metrics](../metrics.md).", ""]
    lines += [*(f"- **{fact}**: {text}" for fact, text in _facts(metric)), ""]
    own = {one: text for one, text in describe_parameters(metric).items() if one not in COMMON}
    if own:
        defaults = metric.default_parameters()
        rows = [(f"`{one}`", _default(defaults[one]), _by_value(text)) for one, text in own.items()]
        lines += ["## Its own parameters", "", *write_table(["parameter", "default", "meaning"], rows), ""]
    lines += ["It also takes the [parameters that most metrics share](../parameters.md).", ""]
    lines += _describe_special_users(name)
    if example := _example(metric):
        lines += ["## Example", "", "```python", *example, "```", ""]
    lines += _describe_agreement(name)
    if formula.sources:
        cited = ", ".join(f"{{cite:t}}`{key}`" for key in formula.sources)
        lines += ["## Sources", "", f"{cited}.", ""]
    return "\n".join(lines)


def _facts(metric: type[Metric]) -> Iterator[tuple[str, str]]:
    yield "Family", metric.family
    yield "Direction", name_direction(metric)
    one = parse_any(metric.name)
    if one is not None:
        low, high = one.bounds
        if (low, high) != (float("-inf"), float("inf")):
            yield "Values", f"{low:g} to {'no limit' if high == float('inf') else format(high, 'g')}"
        needed = [
            f"{in_words(need)} (`{NEEDS[need].argument}=`)" if need in NEEDS else in_words(need)
            for need in sorted(one.needs().required)
        ]
        yield "Needs", "; ".join(needed) or "lists and relevance"
    yield "Source code", f"`{metric.__module__}`"


def _describe_special_users(name: str) -> list[str]:
    """The section about users without a list, without relevant items and the like."""
    head = ["## Users for whom it is undefined", ""]
    metric = parse_any(name)
    try:
        values = special_users.measure(metric) if metric is not None else None
    except errors.BridgevalError:
        # It needs complete rankings or a parameter: its docstring, above, says for whom it is undefined.
        return []
    if values is None:
        return [*head, "It is computed from all lists together: a single user has no value.", ""]
    return [
        *head,
        f"Measured with `{replace(metric, label=None)}` when this page was made. `users=` chooses who counts.",
        "",
        *write_table(["a user who", "gets"], special_users.describe(values)),
        "",
    ]


def _describe_agreement(name: str) -> list[str]:
    """The section about other libraries: names by the value that they give, and the definition behind each."""
    pairs = list_conventions().get(name, ())
    if not pairs:
        return []
    by_meaning: dict[str, list[str]] = {}
    for own, metric in pairs:
        by_meaning.setdefault(str(replace(metric, label=None)), []).append(f"`{own}`")
    default = parse_any(name)
    rows = sorted(by_meaning.items(), key=lambda one: (one[0] != str(default), -len(one[1]), one[0]))
    definitions = write_table(
        ["definition, at a cutoff of 10 where there is one", "names"],
        [(f"`{meaning}`", ", ".join(owns)) for meaning, owns in rows],
    )
    lines = ["## In other libraries", ""]
    values = list(_group_by_value(name))
    if len(rows) > 1 and values:
        lines += [
            f"On the five users of [Eight nDCGs](../../../eight-ndcgs.md), at a cutoff of {five_users.K}:",
            "",
            *write_table(["value", "names"], values),
            "",
            "<details><summary>The definition behind each name</summary>",
            "",
        ]
    lines += ["Names in one row give the same number on all data.", "", *definitions, ""]
    lines += ["</details>", ""] if len(rows) > 1 and values else []
    return [*lines, "[Conventions](../../../conventions.md) says how far each is verified.", ""]


def _group_by_value(name: str) -> Iterator[tuple[str, str]]:
    """Pairs of a value on the five users and the names that give it, ours first; none if the metric needs more."""
    spellings = [name, *(own for own, _ in list_conventions().get(name, ()))]
    metrics = {one: parse_any(one, five_users.K) for one in spellings}
    asked = {one: metric for one, metric in metrics.items() if metric is not None and not metric.needs().required}
    if name not in asked:
        return
    groups: dict[str, list[str]] = {}
    for one, metric in asked.items():
        try:
            report = bridgeval.evaluate(five_users.SHOWN, five_users.RELEVANT, metric, progress=False)
            value = f"{next(iter(report.values())):.4f}"
        except errors.InputError:
            value = "none"
        groups.setdefault(value, []).append(f"`{one}`")
    ours, *others = groups
    for value in (ours, *sorted(others, reverse=True)):
        yield value, ", ".join(groups[value])


def list_all_metrics() -> str:
    """The page of all metrics, by family."""
    lines = [
        "# Metrics",
        "",
        "`bridgeval metrics NAME` prints the same in a terminal. In the formulas, for one user unless users are named:",
        "",
        *write_table(
            ["letter", "is"],
            [
                ("$k$", "the cutoff"),
                ("$n$", "the number of items shown, $n_u$ to user $u$"),
                ("$P$", "the number of relevant items"),
                ("$h_j$", "1 if the item at place $j$ is relevant, else 0"),
                ("$r_j$", "the gain in the truth of the item at place $j$, 0 if it has none"),
                ("$g_j$", "what that gain is worth, $2^{r_j} - 1$ by default"),
                ("$L^k$", "the first $k$ items of the list, $L_u^k$ of user $u$"),
                ("$w_j$", "the weight of place $j$, new policy over logging policy"),
            ],
        ),
        "",
        "The value is the mean over the users who count, unless the formula runs over users itself.",
        "",
    ]
    known = list_metrics()
    families = [*FAMILIES, *sorted({metric.family for metric in known.values()} - set(FAMILIES))]
    for family in families:
        rows = [
            (f"[{name}](metrics/{name}.md)", name_direction(metric), first_paragraph(read_summary(metric)))
            for name, metric in known.items()
            if metric.family == family
        ]
        if rows:
            lines += [f"## {family.capitalize()}", "", *write_table(["metric", "direction", "is"], rows), ""]
    lines += ["```{toctree}", ":hidden:", "", "parameters", *(f"metrics/{name}" for name in known), "```", ""]
    return "\n".join(lines)


def describe_shared_parameters() -> str:
    """The page of the parameters that most metrics share."""
    (metric,) = spec.parse("nDCG@10")
    said = {one: text for one, text in describe_parameters(type(metric)).items() if one in COMMON}
    rows = [(f"`{one}`", _default(metric.default_parameters()[one]), _by_value(text)) for one, text in said.items()]
    return "\n".join(
        [
            "# Parameters that most metrics share",
            "",
            'In a name they are written flat: `nDCG(users="shown", ties="given")@10`. Defaults are those of nDCG;',
            "`bridgeval metrics NAME` tells those of another metric.",
            "",
            *write_table(["parameter", "default", "meaning"], rows),
            "",
        ]
    )


def list_all_conventions() -> str:
    """The page of all conventions, with a link to the names of each."""
    tables = sorted(plugins.installed().conventions.values(), key=lambda table: table.toolkit)
    rows = [
        (
            f"[{table.toolkit}](conventions/{table.toolkit}.md)",
            table.version or "",
            table.verified,
            str(len(table.metrics)),
        )
        for table in tables
    ]
    return "\n".join(
        [
            "# Names of other libraries",
            "",
            "Put the library before the name (`ranx:ndcg@10`), or name it once with `convention=`. Verified by",
            "goldens: numbers that the library itself gave; source: its source; arithmetic: its formulas.",
            "",
            *write_table(["convention", "version", "verified by", "names"], rows),
            "",
            "```{toctree}",
            ":hidden:",
            "",
            *(f"conventions/{table.toolkit}" for table in tables),
            "```",
            "",
        ]
    )


def describe_convention(toolkit: str) -> str:
    """The page of one convention: its names and what they mean natively."""
    table = plugins.installed().conventions[toolkit]
    rows = []
    for own in table.metrics:
        metric = parse_any(f"{toolkit}:{own}")
        link = f"[{metric.name}](../metrics/{metric.name}.md)" if metric and metric.name in list_metrics() else ""
        rows.append((f"`{toolkit}:{own}`", link, f"`{replace(metric, label=None)}`" if metric else "needs parameters"))
    lines = [f"# {toolkit}", "", escape(table.description), ""]
    if table.caveat:
        lines += [f"**Mind:** {escape(table.caveat)}", ""]
    return "\n".join(
        [*lines, *write_table(["name", "metric", "natively, at a cutoff of 10 where there is one"], rows), ""]
    )


def _example(metric: type[Metric]) -> list[str]:
    """The doctest of a docstring."""
    lines = (inspect.getdoc(metric) or "").splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith(">>>")), len(lines))
    return lines[start:]


def _by_value(text: str) -> str:
    """The meaning of a parameter, a line for each of its values."""
    return escape("<br>".join(re.split(r'; (?=")', text)))


def _default(value: object) -> str:
    return "required" if value is MISSING else f"`{value!r}`"
