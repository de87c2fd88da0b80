"""`bridgeval metrics` and `bridgeval plugins`."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bridgeval.cli.options import MetricName
from bridgeval.errors import BadParameterError, BridgevalError, PluginWarning, SpecError

if TYPE_CHECKING:
    from bridgeval.engine.metric import Metric

FAMILIES = (
    "accuracy", "auc", "retrieval", "rating", "coverage", "novelty", "diversity", "bias", "fairness",
    "multiobjective", "counterfactual",
)  # fmt: skip
ARROWS = {None: "", True: "↑", False: "↓"}
# The width of paragraphs, unless the terminal is narrower.
READABLE = 100


@click.command(
    short_help="List the metrics, or explain one.",
    epilog="""
\b
Examples:
  bridgeval metrics
  bridgeval metrics nDCG
  bridgeval metrics replay:NDCG
  bridgeval metrics --convention ranx
  bridgeval metrics --conventions
""",
)
@click.argument("name", required=False, type=MetricName())
@click.option("--convention", metavar="TOOLKIT", help="List a toolkit's names and their native definitions.")
@click.option("--conventions", is_flag=True, help="List the conventions, their versions, and how far each is verified.")
def metrics(name: str | None, convention: str | None, conventions: bool) -> None:
    """List the metrics, or explain one: formula, needs, direction, parameters."""
    if name is not None:
        _explain(name)
    elif convention is not None:
        _list_convention(convention)
    elif conventions:
        _list_conventions()
    else:
        _list_metrics()


@click.command(short_help="List plugins, what each offers, and its problems.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: what each offers, every problem.")
def plugins(as_json: bool) -> None:
    """List plugins, the package of each, what it offers, and every problem with it."""
    from bridgeval import plugins as installed_plugins
    from bridgeval.plugin_info import DISABLE

    # The table below has the same information.
    with warnings.catch_warnings(action="ignore", category=PluginWarning):
        known = installed_plugins.installed()
        known.look_up_all()
    if as_json:
        click.echo(json.dumps([info.to_dict() for info in known.infos], indent=2, ensure_ascii=False))
        return
    _print_table(
        ["plugin", "comes with", "state", "offers"],
        [(info.name, info.distribution, info.state, _count_offers(info.offers)) for info in known.infos],
    )
    for info in known.infos:
        if not info.is_builtin:
            for kind, names in info.offers.items():
                click.echo(wrap(f"{info.name}: {kind.replace('_', ' ')} {', '.join(names)}"))
        for problem in info.problems:
            click.echo(wrap(f"- problem of {info.name}: {problem}"))
        for hook in info.ignored:
            click.echo(wrap(f"- {info.name}: {hook} is ignored, this version of bridgeval has no such hook"))
    click.echo(f"disable some with {DISABLE}=name,name (or =all); --json lists every name")


def _count_offers(offers: Mapping[str, list[str]]) -> str:
    from bridgeval.offers import KINDS

    words = {kind: KINDS[kind].word if len(names) == 1 else kind.replace("_", " ") for kind, names in offers.items()}
    return ", ".join(f"{len(names)} {words[kind]}" for kind, names in offers.items()) or "-"


def _list_metrics() -> None:
    from bridgeval import plugins as installed_plugins
    from bridgeval.report.definitions import read_summary

    known = installed_plugins.installed()
    order = {family: at for at, family in enumerate(FAMILIES)}
    listed = sorted(known.metrics.items(), key=lambda one: (order.get(one[1].family, len(order)), one[1].family))
    rows = [
        (name, metric.family, ARROWS[metric.higher_is_better], _first_sentence(read_summary(metric)))
        for name, metric in listed
    ]
    _print_table(["metric", "family", "", "is"], rows)
    click.echo("↑ higher is better, ↓ lower is better; `bridgeval metrics NAME` explains one")
    names = ", ".join(f"{table.toolkit} ({len(table.metrics)})" for table in known.conventions.values())
    lists_one = f"`bridgeval metrics --convention {next(iter(known.conventions))}` lists one"
    click.echo(wrap(f"conventions: {names}; {lists_one}, --conventions says how far each is verified"))


def _list_convention(toolkit: str) -> None:
    from bridgeval import plugins as installed_plugins, spec

    table = spec.find_convention(toolkit, installed_plugins.installed())
    click.echo(wrap(table.description))
    if table.caveat:
        click.echo(wrap(f"mind: {table.caveat}"))
    _print_table(["name", "is natively"], [(f"{toolkit}:{own}", _native(f"{toolkit}:{own}")) for own in table.metrics])


def _list_conventions() -> None:
    from bridgeval import plugins as installed_plugins

    tables = sorted(installed_plugins.installed().conventions.values(), key=lambda table: table.toolkit)
    rows = [(table.toolkit, table.version or "-", table.verified, len(table.metrics)) for table in tables]
    _print_table(["convention", "version", "verified by", "names"], rows)
    for table in tables:
        if table.caveat:
            click.echo(wrap(f"- {table.toolkit}: {table.caveat}"))
    click.echo(wrap("goldens: numbers that the library itself gave; source: its source; arithmetic: its formulas"))


def _explain(name: str) -> None:
    from bridgeval.cli import spell_flag
    from bridgeval.engine.metric import literal
    from bridgeval.engine.needs import NEEDS, in_words
    from bridgeval.report.definitions import COMMON, define, describe_parameters

    try:
        metric = _parse_metric(name)
    except (BadParameterError, TypeError):
        _explain_class(name)
        return
    definition = define(metric)
    click.echo(f"{definition.name}  ({definition.family}; {definition.direction})\n")
    _echo_paragraphs(definition.summary)
    if definition.native != definition.name:
        click.echo(f"natively: {definition.native}\n")
    _echo_owner(metric)
    click.echo("as asked for:")
    for rule in definition.rules:
        click.echo(wrap(f"- {rule}", "  "))
    arguments = {
        in_words(need): f": {spell_flag(NEEDS[need].argument)}" if need in NEEDS else ""
        for need in sorted(metric.needs().required)
    }
    needed = "; ".join(need + argument for need, argument in arguments.items())
    click.echo(wrap(f"needs: {needed or 'lists and relevance'}"))
    said = {
        one: (f"{one} = {literal(metric.parameters[one])}", text)
        for one, text in describe_parameters(type(metric)).items()
    }
    for head, shared in (("its own parameters:", False), ("parameters that most metrics share:", True)):
        listed = dict(line for one, line in said.items() if (one in COMMON) is shared)
        if listed:
            click.echo(head)
            _echo_parameters(listed)


def _echo_owner(metric: Metric) -> None:
    """Prints the plugin that offers a metric, or its convention, if it is not built in."""
    from bridgeval import plugins as installed_plugins

    known, (toolkit, colon, _) = installed_plugins.installed(), (metric.label or "").partition(":")
    owner = known.find_owner("conventions", toolkit) if colon else known.find_owner("metrics", metric.name)
    if owner is not None and not owner.is_builtin:
        click.echo(f"comes with: {owner}\n")


def _explain_class(name: str) -> None:
    """Describes a metric that has required parameters."""
    from bridgeval import plugins as installed_plugins
    from bridgeval.report.definitions import describe_parameters, name_direction, read_summary

    known = {own.lower(): metric for own, metric in installed_plugins.installed().metrics.items()}
    metric = known.get(name.partition("(")[0].partition("@")[0].lower())
    if metric is None:
        _parse_metric(name)
        return
    click.echo(f"{metric.name}  ({metric.family}; {name_direction(metric)})\n")
    _echo_paragraphs(read_summary(metric))
    click.echo("parameters, some of them required:")
    _echo_parameters(describe_parameters(metric))


def _echo_paragraphs(text: str) -> None:
    for paragraph in text.split("\n\n"):
        click.echo(wrap(paragraph) + "\n")


def _echo_parameters(said: Mapping[str, str]) -> None:
    """Prints each parameter with its meaning below, one line per value."""
    for parameter, meaning in said.items():
        click.echo(f"  {parameter}")
        for line in re.split(r'; (?=")', meaning) if meaning else ():
            click.echo(wrap(line, "      "))


def wrap(text: str, indent: str = "") -> str:
    """Wraps a paragraph, or a point of a list, at the edge of the terminal."""
    width = min(shutil.get_terminal_size((READABLE, 24)).columns, READABLE)
    after = indent + "  " if text.startswith("- ") else indent
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=after, break_on_hyphens=False, break_long_words=False
    )


def _parse_metric(name: str) -> Metric:
    """A metric by name, with a cutoff of 10 if it needs one and none was given."""
    from bridgeval import spec

    try:
        return spec.parse(name)[0]
    except (BadParameterError, TypeError) as error:
        try:
            return spec.parse(f"{name}@10")[0]
        except (SpecError, TypeError):
            raise error from None


def _native(name: str) -> str:
    """The native definition of a toolkit's metric, or why there is none without parameters."""
    try:
        return str(replace(_parse_metric(name), label=None))
    except (BridgevalError, TypeError) as error:
        return str(error)


def _first_sentence(text: str) -> str:
    first = text.split("\n\n")[0]
    return first if len(first) < 120 else first[:117].rsplit(" ", 1)[0] + " ..."


def _print_table(head: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
    from bridgeval.cli.output import format_table

    click.echo("\n".join([*format_table(head, [list(map(str, row)) for row in rows]), ""]))
