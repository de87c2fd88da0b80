"""Kinds of things that plugins offer: the name of each, and what is wrong with one that cannot be used."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass
from typing import Any

from bridgeval.hookspecs import LazyCommand


@dataclass(frozen=True)
class Kind:
    """The offers of one hook.

    Attributes:
        hook: its name.
        word: for one of these things in messages.
        find_name: the name of one.
        find_faults: sentences that say why one cannot be used; none if it can.
    """

    hook: str
    word: str
    find_name: Callable[[Any], Any]
    find_faults: Callable[[Any], Iterable[str]]


def find_metric_faults(metric: Any) -> Iterable[str]:
    """The faults of a metric class."""
    from bridgeval.engine.metric import Metric, find_undeclared

    if isinstance(metric, Metric):
        yield f"{metric!r} is a metric object: offer its class"
    elif not (isinstance(metric, type) and issubclass(metric, Metric)):
        yield f"{metric!r} is no metric class: inherit from a base of bridgeval.plugin, or offer ported(Class)"
    elif not isinstance(metric.name, str) or not metric.name.isidentifier():
        wish = re.sub(r"\W+", "_", str(metric.name)) or metric.__name__
        yield f"the name {metric.name!r} of {metric.__name__} cannot be typed: call it e.g. {wish!r}"
    elif undeclared := find_undeclared(metric):  # type: ignore[arg-type]
        yield f"{metric.__name__} declares {undeclared!r} without @dataclass(frozen=True), so it is no parameter"


def find_convention_faults(table: Any) -> Iterable[str]:
    """The faults of a convention, line by line."""
    from bridgeval.convention import Convention

    if not isinstance(table, Convention):
        yield f"{table!r} is no Convention"
    elif not re.fullmatch(r"[\w.-]+", table.toolkit):
        yield f"the name {table.toolkit!r} of a convention cannot be typed: take letters, digits, _ and -"
    else:
        for name, line in table.metrics.items():
            if not str(name).isidentifier():
                yield f"the name {name!r} in {table.toolkit!r} cannot be typed: take letters, digits and _"
            elif fault := _find_line_fault(line):
                yield f"{table.toolkit}:{name} {fault}"


def _find_line_fault(line: Any) -> str:
    """The first fault of the parameters of an entry; a function is not called."""
    from bridgeval.convention import Entry
    from bridgeval.engine.metric import Metric

    if not callable(line):
        return f"is {line!r}, and neither an entry nor a function"
    metric = getattr(line, "metric", None)
    if not isinstance(line, Entry) or not (isinstance(metric, type) and issubclass(metric, Metric)):
        return ""
    accepted = metric.default_parameters()
    if unknown := [one for one in line.parameters if one not in accepted]:
        return f"sets {unknown[0]!r}, which {metric.name} does not have"
    if unknown := [one for one in line.names.values() if one is not None and one not in accepted]:
        return f"calls a parameter {unknown[0]!r}, which {metric.name} does not have"
    missing = [one for one, default in accepted.items() if default is MISSING and one not in line.parameters]
    if missing in ([], ["k"]):
        try:
            line(**dict.fromkeys(missing, 10))
        except Exception as error:
            return f"cannot be made: {error}"
    return ""


def _check_object(word: str, *methods: str) -> Callable[[Any], Iterable[str]]:
    """The faults of an object that must have a name and these methods."""

    def find_faults(offer: Any) -> Iterable[str]:
        if isinstance(offer, type):
            yield f"{offer.__name__} is a class: offer an instance, {offer.__name__}()"
            return
        if not isinstance(getattr(offer, "name", None), str) or not offer.name:
            yield f"{offer!r} has no name"
        for method in methods:
            if not callable(getattr(offer, method, None)):
                yield f"{offer!r} has no method {method!r}, which a {word} must have"

    return find_faults


def _find_reader_faults(reader: Any) -> Iterable[str]:
    yield from _check_object("reader", "read")(reader)
    suffixes = getattr(reader, "suffixes", None)
    if isinstance(suffixes, str) or not suffixes or not all(str(one).startswith(".") for one in suffixes):
        yield f'{reader!r} has suffixes {suffixes!r}: give endings of file names, e.g. (".inter",)'


def _find_command_faults(command: Any) -> Iterable[str]:
    import click

    if not isinstance(command, click.Command | LazyCommand):
        yield f"{command!r} is no click command: decorate the function with @click.command()"
    elif not command.name:
        yield f"{command!r} has no name"


def _find_function_faults(function: Any) -> Iterable[str]:
    if isinstance(function, type) or not callable(function) or not getattr(function, "__name__", ""):
        yield f"{function!r} is no function with a name"
        return
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        yield f"{function.__name__} must take one argument"


def _get_name(offer: Any) -> Any:
    return offer.name


def _get_function_name(offer: Any) -> Any:
    return offer.__name__


KINDS = {
    "metrics": Kind("bridgeval_metrics", "metric", _get_name, find_metric_faults),
    "loaders": Kind("bridgeval_loaders", "loader", _get_name, _check_object("loader", "recognizes", "load")),
    "conventions": Kind("bridgeval_conventions", "convention", lambda one: one.toolkit, find_convention_faults),
    "readers": Kind("bridgeval_readers", "reader", _get_name, _find_reader_faults),
    "sinks": Kind("bridgeval_sinks", "sink", _get_name, _check_object("sink", "write")),
    "commands": Kind("bridgeval_commands", "command", _get_name, _find_command_faults),
    "report_sections": Kind("bridgeval_report_sections", "report section", _get_function_name, _find_function_faults),
    "checks": Kind("bridgeval_checks", "check", _get_function_name, _find_function_faults),
}
