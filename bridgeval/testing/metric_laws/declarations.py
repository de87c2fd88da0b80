"""Laws about what a metric says of itself: parameters, name, needs."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar, get_origin

from bridgeval import plugins
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import NEEDS, Needs
from bridgeval.engine.plan import Execution, Plan
from bridgeval.errors import NeedError
from bridgeval.evaluation import evaluate
from bridgeval.hookspecs import hookimpl
from bridgeval.spec import parse
from bridgeval.testing.law import Law, law, refuse, require
from bridgeval.testing.trial import Trial


@law(
    "its parameters are fields",
    cause="a parameter that is no field is in neither its name, its equality nor its pickle",
    remedy="write @dataclass(frozen=True) above the class and declare each parameter as a field",
)
def its_parameters_are_fields(trial: Trial) -> None:
    """A metric is a frozen dataclass, and so is each of its blocks: what tells two of them apart is a field."""
    require_fields(trial.metric, "the metric")


def require_fields(thing: Any, what: str) -> None:
    kind = type(thing)
    decorate = f"write @dataclass(frozen=True) above class {kind.__name__} and declare each parameter as a field"
    require(is_dataclass(kind), f"{what} {kind.__name__} is no dataclass", "@dataclass was forgotten", decorate)
    params = kind.__dataclass_params__
    require(params.frozen, f"{what} {kind.__name__} is not frozen", "a plain @dataclass", decorate)
    known = {one.name for one in fields(kind)}
    for base in kind.__mro__:
        hints = inspect.get_annotations(base)
        loose = [name for name, hint in hints.items() if name not in known and not _is_class_variable(hint)]
        require(
            not loose,
            f"{what} {kind.__name__} has the parameter {loose[:1]} that is no field",
            "no @dataclass",
            decorate,
        )
    cached = {name for base in kind.__mro__ for name, one in vars(base).items() if isinstance(one, cached_property)}
    loose = [name for name in getattr(thing, "__dict__", {}) if name not in known | cached]
    require(not loose, f"{what} {kind.__name__} keeps {loose[:1]} that is no field", "it is set in __init__", decorate)


def _is_class_variable(hint: Any) -> bool:
    return get_origin(hint) is ClassVar or hint is ClassVar or str(hint).startswith(("ClassVar", "typing.ClassVar"))


@law(
    "it describes itself",
    cause="a class attribute of another type",
    remedy="higher_is_better is True, False or None, family a text, bounds a pair (low, high)",
)
def it_is_described(trial: Trial) -> None:
    """Its direction, family and bounds are of the types that lists, gates and intervals read."""
    metric = trial.metric
    require(metric.higher_is_better in (True, False, None), f"higher_is_better is {metric.higher_is_better!r}")
    require(isinstance(metric.family, str) and bool(metric.family), f"family is {metric.family!r}")
    low, high = metric.bounds
    require(low < high, f"bounds are ({low!r}, {high!r})")


@law(
    "its name gives it back",
    cause="a name that is no identifier, or a parameter whose value cannot be typed",
    remedy="give it a name of letters and digits, and parameters that are numbers, texts, None or lists of these",
)
def its_name_gives_it_back(trial: Trial) -> None:
    """`parse(str(metric))` gives the metric back."""
    metric = trial.metric
    found = parse(str(metric), plugins=_install(type(metric)))
    require(found == [metric], f"{str(metric)!r} gives {found!r}")
    require(str(found[0]) == str(metric), f"{str(metric)!r} gives one called {str(found[0])!r}")


def _install(metric: type[Metric]) -> plugins.Plugins:
    """The installed plugins, and the class of the metric if it is not installed."""
    known = plugins.installed()
    if metric in known.metrics.values():
        return known
    extended = plugins.load_plugins(entry_points=())
    extended.manager.register(SimpleNamespace(bridgeval_metrics=hookimpl(lambda: [metric])), name="under test")
    return extended


@law(
    "it pickles",
    cause="a field that holds a function, a lock or a file, or an __eq__ of its own",
    remedy="keep names and numbers in fields, and leave equality to the dataclass",
)
def it_pickles(trial: Trial) -> None:
    """A pickle gives the metric back, equal and with an equal hash, as Spark's executors need it."""
    copy = pickle.loads(pickle.dumps(trial.metric))
    require(copy == trial.metric, f"{copy!r} is not {trial.metric!r}")
    require(hash(copy) == hash(trial.metric), "equal metrics have different hashes")


@law(
    "its needs can be met",
    cause="a need that is misspelled, or that no argument of evaluate answers",
    remedy="choose one of the needs that docs/plugins.md lists",
)
def its_needs_can_be_met(trial: Trial) -> None:
    """Every need that it declares is one that an argument of `evaluate` answers."""
    needs = trial.metric.needs()
    require(isinstance(needs, Needs), f"needs() gives {needs!r}")
    answered = {*NEEDS, *needs.named_tables}
    unknown = [one for one in sorted(needs.required) if one not in answered and not one.startswith("baseline_rank")]
    require(not unknown, f"it needs {unknown[:1]}")


class _Unread:
    """A loader of data that must not be read."""

    name = "unread"
    label = ""
    offers: frozenset[str] = frozenset()

    def recognizes(self, recommendations: Any, relevance: Any, /) -> bool:
        return True

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> _Unread:
        return self

    def run(self, plan: Plan, how: Execution) -> Any:
        refuse("the data was read")


@law(
    "needs are checked before data is read",
    cause="needs() depends on something else than the parameters",
    remedy="let needs() give the same Needs at each call",
)
def needs_come_first(trial: Trial) -> None:
    """What is missing is reported before data is read."""
    if not trial.metric.needs().required:
        return
    try:
        evaluate({}, {}, trial.metric, loader=_Unread())
    except NeedError:
        return
    refuse("nothing was missed")


DECLARATIONS: tuple[Law, ...] = (
    its_parameters_are_fields,
    it_is_described,
    its_name_gives_it_back,
    it_pickles,
    its_needs_can_be_met,
    needs_come_first,
)
