"""Names <-> metrics: "nDCG@10", "F1(beta=0.5)@5,10", "replay:NDCG@10". Read with Python's own parser, never run."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bridgeval import plugins as installed_plugins
from bridgeval.engine.blocks import WHOLE
from bridgeval.engine.metric import Metric, literal
from bridgeval.errors import BadParameterError, PluginFailedError, SpecError, UnknownMetricError
from bridgeval.plugin_info import blame

if TYPE_CHECKING:
    from bridgeval.convention import Convention
    from bridgeval.plugins import Plugins


# What people type, without case and underscores -> the native metric that is suggested; never taken in silence, for
# libraries differ in what these names stand for.
SYNONYMS = {
    "hr": "HitRate", "hit": "HitRate", "hits": "HitRate", "hitratio": "HitRate", "success": "HitRate",
    "p": "Precision", "prec": "Precision", "r": "Recall", "rec": "Recall",
    "ap": "MAP", "averageprecision": "MAP", "meanaverageprecision": "MAP",
    "rr": "MRR", "reciprank": "MRR", "reciprocalrank": "MRR", "meanreciprocalrank": "MRR",
    "f": "F1", "fscore": "F1", "f1score": "F1", "fmeasure": "F1", "aucroc": "RocAuc",
    "cov": "Coverage", "catalogcoverage": "Coverage", "cataloguecoverage": "Coverage",
}  # fmt: skip

ONE_BY_ONE = "give metrics one by one: ['nDCG@5', 'Recall@5'], or -m nDCG@5 -m Recall@5"
# Stands before the name of a metric that was made of an author's class, in place of a convention.
OBJECT = "custom"


def parse(text: str, convention: str | None = None, plugins: Plugins | None = None) -> list[Metric]:
    """The metrics that a name asks for, one for each cutoff.

    Args:
        text: a name, parameters in brackets, `@` and cutoffs; a toolkit and a colon before it.
        convention: the toolkit to look names without a prefix up in first.
        plugins: where metrics are looked up; None takes what is installed.

    >>> [str(metric) for metric in parse("ndcg@5,10")]
    ['nDCG@5', 'nDCG@10']
    >>> parse("nDGC@10")
    Traceback (most recent call last):
    bridgeval.errors.UnknownMetricError: there is no metric 'nDGC'; hint: did you mean nDCG...
    """
    return list(_parse(text, convention, plugins or installed_plugins.installed()))


@lru_cache(maxsize=4096)
def _parse(text: str, convention: str | None, known: Plugins) -> tuple[Metric, ...]:
    toolkit, name, parameters, cutoffs = _split(_respell(text, convention, known))
    if toolkit is None and convention is not None:
        table = find_convention(convention, known)
        toolkit = table.toolkit if table.find(name) is not None else None
    return tuple(_make(text, toolkit, name, parameters, k, known) for k in cutoffs)


def _respell(text: str, convention: str | None, known: Plugins) -> str:
    """A name in a toolkit's own spelling, such as `pytrec_eval:P_5`, as it is written here: `trec_eval:P@5`."""
    before, colon, rest = text.partition(":")
    has_prefix = bool(colon) and "(" not in before
    toolkit = before if has_prefix else convention
    table = None if toolkit is None else _find_table(toolkit, known)
    if table is None:
        return text
    own = rest if has_prefix else text
    own = own if table.respell is None else table.respell(own)
    return f"{table.toolkit}:{own}" if has_prefix else own


def _find_table(toolkit: str, known: Plugins) -> Convention | None:
    """The convention of this name, or with this alias."""
    tables = known.conventions
    return tables.get(toolkit) or next((one for one in tables.values() if one.is_called(toolkit)), None)


def parse_all(metrics: str | Metric | Iterable[str | Metric], convention: str | None = None) -> list[Metric]:
    """The metrics of a list of names and metric objects, in order, without repeats."""
    return list(name_all(metrics, convention).values())


def name_all(
    metrics: str | Metric | Iterable[str | Metric],
    convention: str | None = None,
    plugins: Plugins | None = None,
) -> dict[str, Metric]:
    """The metrics of a list of names and metric objects, by name, in order."""
    alone = isinstance(metrics, str | Metric) or not isinstance(metrics, Iterable)
    asked: list[Any] = [] if metrics is None else [metrics] if alone else list(metrics)  # type: ignore[arg-type]
    if not asked:
        raise SpecError("no metric was asked for", hint="give e.g. metrics=['nDCG@10', 'Recall@10']")
    known = plugins or installed_plugins.installed()
    found: dict[str, Metric] = {}
    for one in asked:
        if not isinstance(one, str | Metric):
            raise SpecError(
                "a metric is a name or a metric object",
                f"{one!r}",
                _suggest_object(one),
            )
        for metric in _parse(one, convention, known) if isinstance(one, str) else [one]:
            found.setdefault(str(metric), metric)
    return found


def _suggest_object(asked: Any) -> str:
    """A hint for what is no metric: a class, or an object of a class that was written for a toolkit."""
    kind = asked if isinstance(asked, type) else type(asked)
    if issubclass(kind, Metric):
        return f"that is a class: give its name, or an object, e.g. {kind.__name__}(...)"
    bases = [base.__module__.split(".") for base in kind.__mro__]
    toolkit = next((".".join(parts[:3]) for parts in bases if parts[:2] == ["bridgeval", "toolkits"]), "")
    if toolkit:
        return f"a class that was written for a toolkit becomes one by `ported`: {toolkit}.ported({kind.__name__})(...)"
    if isinstance(asked, type):
        return f"let {kind.__name__} inherit from a base of bridgeval.plugin, or of one of bridgeval.toolkits"
    return "e.g. 'nDCG@10' or bridgeval.metrics.nDCG(10)"


def names(plugins: Plugins | None = None) -> list[str]:
    """All names that can be asked for, natives first."""
    known = plugins or installed_plugins.installed()
    conventions = known.conventions.values()
    return [*known.metrics, *(f"{table.toolkit}:{name}" for table in conventions for name in table.metrics)]


def _split(text: str) -> tuple[str | None, str, dict[str, Any], list[int | None]]:
    head, at, tail = text.rpartition("@")
    if not at or ")" in tail:
        head, tail = text, ""
    before, _, _ = head.partition("(")
    toolkit, colon, _ = before.partition(":")
    call = head[len(toolkit) + 1 :] if colon else head
    cutoffs: list[int | None] = _read_cutoffs(text, tail) if at and tail else [None]
    if at and not tail and text.endswith("@"):
        raise SpecError(f"{text!r} has no cutoff after @", hint="e.g. nDCG@10 or nDCG@5,10")
    name, parameters = _read_call(text, call.strip())
    return (toolkit.strip() if colon else None), name, parameters, cutoffs


def _read_cutoffs(text: str, tail: str) -> list[int | None]:
    try:
        return [int(part) for part in tail.split(",")]
    except ValueError:
        raise SpecError(
            f"{text!r} cannot be read",
            f"cutoff {tail!r}",
            ONE_BY_ONE if text.count("@") > 1 else "cutoffs are whole numbers: nDCG@10 or nDCG@5,10",
        ) from None


def _read_call(text: str, call: str) -> tuple[str, dict[str, Any]]:
    problem = SpecError(
        f"{text!r} cannot be read as a metric",
        hint=ONE_BY_ONE
        if text.count("@") > 1 and "(" not in text
        else 'write a name, parameters by keyword, and cutoffs: F1(metric_1="nDCG", beta=0.5)@10',
    )
    # Some libraries have names with a hyphen, which Python would take for a minus.
    name, bracket, rest = call.partition("(")
    try:
        node = ast.parse(name.replace("-", "_") + bracket + rest, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise problem from None
    if isinstance(node, ast.Name):
        return node.id, {}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        raise problem
    parameters = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise problem
        try:
            parameters[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError):
            written = ast.unparse(keyword)
            raise SpecError(
                f"{text!r} cannot be read as a metric", written, f'text stands in quotes: {keyword.arg}="..."'
            ) from None
        if isinstance(parameters[keyword.arg], dict | set):
            written = ast.unparse(keyword)
            raise SpecError(f"{text!r} cannot be read as a metric", written, f"give a list: {keyword.arg}=[...]")
    return node.func.id, parameters


def _make(
    text: str, toolkit: str | None, name: str, parameters: dict[str, Any], k: int | None, known: Plugins
) -> Metric:
    label = None
    if toolkit is None:
        maker: Callable[..., Any] = _find_native(name, known, text)
        owner = known.find_owner("metrics", getattr(maker, "name", ""))
    else:
        owner = known.find_owner("conventions", toolkit)
        found = find_convention(toolkit, known).find(name)
        if found is None:
            raise _refuse_name(f"{toolkit}:{name}", known, text)
        own, maker = found
        given = [f"{key}={literal(value)}" for key, value in parameters.items()]
        label = f"{toolkit}:{own}" + (f"({', '.join(given)})" if given else "")
    target = _find_target(maker)
    with blame(owner, f"making {text!r}"):
        values = getattr(maker, "native", dict)(parameters)
    presets = {} if maker is target else getattr(maker, "parameters", {})
    for part in getattr(target, "made_of", ()):
        # A line of a convention names inner metrics too: they take the cutoff of the whole.
        if part in values or part in presets:
            values[part] = _parse_parts(values.get(part, presets.get(part)), toolkit, k, known)
    if k is not None:
        values["k"] = k
    if values.get("k") == WHOLE:
        # It would print without a cutoff, which some toolkits read as a number of their own.
        raise BadParameterError(
            f"{text!r} has a cutoff that is too large", f"{WHOLE}", f"cutoffs go up to {WHOLE - 1}; no list is longer"
        )
    values = {key: _freeze(value) for key, value in values.items()}
    _check_parameters(text, maker, target, values)
    with blame(owner, f"making {text!r}"):
        metric = getattr(maker, "from_parameters", maker)(**values)
    if not isinstance(metric, Metric):
        raise PluginFailedError(f"{owner or maker} makes no metric of {text!r}", f"{metric!r}")
    return metric if label is None else replace(metric, label=label)


def _freeze(value: Any) -> Any:
    """Lists as tuples, also within lists: parameters are hashable."""
    return tuple(map(_freeze, value)) if isinstance(value, list | tuple) else value


def _check_parameters(text: str, maker: Callable[..., Any], target: Any, values: Mapping[str, Any]) -> None:
    """Raises BadParameterError for a parameter that is not there, or one that is missing."""
    accepted = _list_parameters(target)
    if accepted is not None:
        required = [f.name for f in fields(target) if f.default is MISSING and f.default_factory is MISSING]
        given = values if maker is target else {**getattr(maker, "parameters", {}), **values}
    else:
        parameters = inspect.signature(maker).parameters
        if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
            return
        accepted = list(parameters)
        required = [name for name, one in parameters.items() if one.default is one.empty]
        given = values
    for key in values:
        if key not in accepted:
            raise _refuse_parameter(text, key, accepted)
    for key in required:
        if key not in given and key == "k":
            raise BadParameterError(f"{text!r} needs a cutoff", hint=f"write e.g. {text}@10")
        if key not in given:
            plain = set(text).isdisjoint("(@")
            hint = f"write e.g. {text}({key}=...)" if plain else f"add {key}=... to its parameters"
            raise BadParameterError(f"{text!r} needs {key!r}", hint=hint)


def _find_target(maker: Any) -> Any:
    """The metric class behind a line of a convention; a class is its own."""
    return maker if isinstance(maker, type) else getattr(maker, "metric", maker)


def _list_parameters(target: Any) -> list[str] | None:
    if isinstance(target, type) and issubclass(target, Metric):
        return list(target.default_parameters())
    return None


def _refuse_parameter(text: str, key: str, accepted: list[str]) -> BadParameterError:
    if key == "k":
        return BadParameterError(
            f"{text!r} has a cutoff, but this metric takes none", hint="leave out @ and the number"
        )
    return BadParameterError(
        f"{text!r} has no parameter {key!r}",
        hint=f"its parameters are {', '.join(a for a in accepted if a != 'k')}",
    )


def _parse_parts(value: Any, toolkit: str | None, k: int | None, known: Plugins) -> Any:
    """Metrics that a metric is made of: names take the cutoff and the toolkit of the whole."""
    if isinstance(value, list | tuple):
        return tuple(_parse_parts(one, toolkit, k, known) for one in value)
    if not isinstance(value, str):
        return value
    own_toolkit, name, parameters, cutoffs = _split(_respell(value, toolkit, known))
    if len(cutoffs) > 1:
        raise SpecError(f"{value!r} has several cutoffs inside a metric", hint="give one, or leave it to the whole")
    chosen = own_toolkit or toolkit
    if cutoffs == [None] and k is not None and _takes_cutoff(chosen, name, known):
        cutoffs = [k]
    return _make(value, chosen, name, parameters, cutoffs[0], known)


def _takes_cutoff(toolkit: str | None, name: str, known: Plugins) -> bool:
    found = None if toolkit is None else find_convention(toolkit, known).find(name)
    if toolkit is not None and found is None:
        raise _refuse_name(f"{toolkit}:{name}", known)
    maker = _find_native(name, known) if found is None else found[1]
    parameters = _list_parameters(_find_target(maker))
    return parameters is None or "k" in parameters


def _find_native(name: str, known: Plugins, text: str = "") -> type[Metric]:
    for own, metric in known.metrics.items():
        if own.lower() == name.lower():
            return metric
    raise _refuse_name(name, known, text)


def find_convention(toolkit: str, known: Plugins) -> Convention:
    """The convention of a toolkit; raises UnknownMetricError if there is none."""
    if toolkit == OBJECT:
        raise UnknownMetricError(
            f"{toolkit!r} marks a class that was given as an object, which has no name to type",
            hint="give the object again, or offer ported(Class) in a plugin, see docs/plugins.md",
        )
    table = _find_table(toolkit, known)
    if table is None:
        raise UnknownMetricError(
            f"there is no convention {toolkit!r}",
            hint=known.explain_absence() or f"the conventions are {', '.join(sorted(known.conventions))}",
        )
    return table


def _refuse_name(name: str, known: Plugins, text: str = "") -> UnknownMetricError:
    """The error for an unknown name; it suggests what the text would be under a known one."""
    meant = _find_synonyms(name, known)
    if meant:
        suggested = ", ".join((text or name).replace(name, one, 1) for one in meant)
        return UnknownMetricError(f"there is no metric {name!r}", hint=f"did you mean {suggested}?")
    everything = names(known)
    spelled = {one.lower(): one for one in everything}
    near = difflib.get_close_matches(name.lower(), spelled, n=3, cutoff=0.5)
    if not near and ":" not in name:
        near = [one for one in spelled if one.split(":")[-1] == name.lower()][:3]
    nearest = ", ".join(spelled[one] for one in near)
    hint = f"did you mean {nearest}?" if nearest else "`bridgeval metrics` lists them all"
    if absent := known.explain_absence():
        hint = f"{absent}; or {hint}"
    return UnknownMetricError(f"there is no metric {name!r}", hint=hint)


def _find_synonyms(name: str, known: Plugins) -> list[str]:
    """The known names that a common synonym stands for: a native one, or those of the toolkit before the colon."""
    toolkit, _, bare = name.rpartition(":")
    native = SYNONYMS.get(bare.lower().replace("_", ""))
    if native is None or not toolkit:
        return [] if native is None else [native]
    makers = known.conventions[toolkit].metrics.items()
    return [f"{toolkit}:{own}" for own, maker in makers if getattr(_find_target(maker), "name", "") == native]
