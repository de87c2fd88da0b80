"""The laws of conventions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from bridgeval import plugins
from bridgeval.convention import Convention, Entry
from bridgeval.engine.metric import Metric
from bridgeval.errors import BadParameterError, BridgevalError
from bridgeval.hookspecs import hookimpl
from bridgeval.offers import find_convention_faults
from bridgeval.spec import parse
from bridgeval.testing.law import Law, describe_error, keep_laws, law, refuse, require
from bridgeval.testing.trial import make_trial

CUTOFF = 5


@dataclass(frozen=True)
class ConventionTrial:
    """A convention, and the plugins among which it is looked up."""

    table: Convention

    @cached_property
    def known(self) -> plugins.Plugins:
        """The installed plugins, and the convention if it is not among them."""
        known = plugins.installed()
        if self.table in known.conventions.values():
            return known
        extended = plugins.load_plugins(entry_points=())
        offer = SimpleNamespace(bridgeval_conventions=hookimpl(lambda: [self.table]))
        extended.manager.register(offer, name="under test")
        return extended

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """Full name -> metric of every line that asks for no more than a cutoff."""
        return dict(self._parse(name) for name, line in self.table.metrics.items() if not _asks_for_more(line))

    def _parse(self, name: str) -> tuple[str, Metric]:
        whole = f"{self.table.toolkit}:{name}"
        errors = []
        for spelled in (f"{whole}@{CUTOFF}", whole):
            try:
                (metric,) = parse(spelled, plugins=self.known)
            except BridgevalError as error:
                errors.append(f"{spelled!r}: {error}")
            else:
                return spelled, metric
        refuse("; ".join(errors))


def check_convention(table: Convention) -> None:
    """Tests the laws of docs/laws.md on a convention.

    A line that asks for other parameters than a cutoff is tested for its parameters alone.

    Raises:
        AssertionError: names the first law that is broken, what was found, the likely cause and what to do.

    >>> import bridgeval
    >>> from bridgeval.metrics import Precision
    >>> check_convention(bridgeval.Convention("house", {"P": bridgeval.entry(Precision, divide="shown")}))
    Traceback (most recent call last):
    AssertionError: convention 'house' breaks the law that its lines fit their metrics: house:P sets 'divide', ...
    """
    keep_laws(f"convention {getattr(table, 'toolkit', table)!r}", CONVENTION_LAWS, ConventionTrial(table))


@law(
    "its lines fit their metrics",
    cause="a parameter or a value that the metric does not have",
    remedy="see `bridgeval metrics NAME` for its parameters",
)
def its_lines_fit_their_metrics(trial: ConventionTrial) -> None:
    """Names can be typed, and a line sets parameters that its metric has, to values that it takes."""
    faults = list(find_convention_faults(trial.table))
    require(not faults, "; ".join(faults))


@law(
    "its names differ by more than case",
    cause="one name in two spellings",
    remedy="leave one of them out",
)
def names_differ_by_more_than_case(trial: ConventionTrial) -> None:
    """No two names differ by case alone, since users may type them in any case."""
    spelled: dict[str, str] = {}
    for name in trial.table.metrics:
        other = spelled.setdefault(name.lower(), name)
        require(other == name, f"{other!r} and {name!r}")


@law(
    "every name gives a metric",
    cause="a function that makes something else, or a metric whose class no plugin offers",
    remedy="return a metric of bridgeval.metrics or of a class that bridgeval_metrics offers",
)
def every_name_gives_a_metric(trial: ConventionTrial) -> None:
    """`toolkit:name@5`, or `toolkit:name` without a cutoff, parses to a metric, whose own name gives it back."""
    for name, metric in trial.metrics.items():
        require(isinstance(metric, Metric), f"{name} gives {metric!r}, which is no metric")
        again = parse(str(metric), plugins=trial.known)
        require(again == [metric], f"{name} is {str(metric)!r}, which gives {again!r}")


@law(
    "every name answers",
    cause="parameters that do not go together",
    remedy="evaluate the metric on two users by hand",
)
def every_name_answers(trial: ConventionTrial) -> None:
    """Each of its metrics has a result for the small world, or asks for a parameter that these data require."""
    for name, metric in trial.metrics.items():
        try:
            make_trial(metric).expected  # noqa: B018  (asks whether there is one)
        except BadParameterError:
            continue
        except Exception as error:
            refuse(f"{name}: {describe_error(error)}")


def _asks_for_more(line: Any) -> bool:
    """Whether a line needs other parameters than a cutoff."""
    return bool(set(_list_required(line)) - {"k"})


def _list_required(line: Any) -> Iterator[str]:
    if isinstance(line, Entry) and isinstance(line.metric, type) and issubclass(line.metric, Metric):
        defaults = line.metric.default_parameters()
        yield from (one for one, value in defaults.items() if value is MISSING and one not in line.parameters)
    else:
        made = line.metric if isinstance(line, Entry) else line
        set_here = line.parameters if isinstance(line, Entry) else {}
        for one in inspect.signature(made).parameters.values():
            is_required = one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
            if is_required and one.name not in set_here:
                yield one.name


CONVENTION_LAWS: tuple[Law, ...] = (
    its_lines_fit_their_metrics,
    names_differ_by_more_than_case,
    every_name_gives_a_metric,
    every_name_answers,
)
