"""identify: which definitions of a metric give this number on this data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import Any

from bridgeval import spec
from bridgeval.arguments import checked
from bridgeval.batch.ranking import Ranking
from bridgeval.choices import list_choices
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.metric import Metric, RankingMetric, literal
from bridgeval.engine.needs import Needs, answered_needs
from bridgeval.engine.state import Numbers
from bridgeval.engine.summary import Result
from bridgeval.errors import BadParameterError, InputError, NeedError, UnknownMetricError
from bridgeval.evaluation import evaluate_one
from bridgeval.explanation import Switch, compare_metrics

# The cutoffs that are tried if none is named.
CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
# Values of two definitions closer than this are one number: the same sum in another order.
SAME = 1e-11
# Needs that nearly every source answers; where one does not, the evaluation says so.
MOSTLY_ANSWERED = frozenset({"score", "all users"})
# How many definitions of one number are printed.
FEW = 6


@dataclass(frozen=True)
class Candidate:
    """A definition of a metric that was tried.

    Attributes:
        name: as it is asked for, e.g. "ranx:ndcg@10".
        metric: the native metric behind it.
        switches: the parameters in which it differs from the metric that was named.
        varies: the metric whose population or order of ties was changed; None for an installed name.
    """

    name: str
    metric: Metric
    switches: tuple[Switch, ...]
    varies: Metric | None = None


@dataclass(frozen=True)
class Match:
    """Definitions that give one number on this data, the plainest first.

    Attributes:
        value: the number.
        off: how far it is from the number to be identified.
        definitions: installed names first, then those with another population or order of ties.
        effective: the differences of the first one from the metric named that matter on this data.
    """

    value: float
    off: float
    definitions: tuple[Candidate, ...]
    effective: tuple[Switch, ...] = ()

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.definitions]


@dataclass(frozen=True)
class Identification:
    """The definitions of a metric that give a number, and the nearest of those that do not.

    Attributes:
        value: the number to be identified.
        tolerance: how far a number may be from it and still be the same.
        asked: the metric that was named.
        matches: what gives the number, the plainest first.
        nearest: what comes closest to it otherwise.
        tried: how many definitions were evaluated.
        failed: definitions that could not be evaluated on this data.
    """

    value: float
    tolerance: float
    asked: str
    matches: tuple[Match, ...]
    nearest: tuple[Match, ...]
    tried: int
    failed: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of all definitions that give the number, the plainest first."""
        return [name for match in self.matches for name in match.names]

    @property
    def headline(self) -> str:
        found = len(self.names)
        told = f"{self.value:g} is given by {found}" if found else f"{self.value:g} is given by none"
        return f"{told} of {self.tried:,} definitions of {self.asked} (to within {self.tolerance:.1g})"

    def __str__(self) -> str:
        lines = [self.headline]
        for match in self.matches:
            lines += ["", *_tell(match, "")]
        if not self.matches:
            lines.append("Nothing matches: the cutoff, the data or the metric may be another. The nearest:")
        elif self.nearest:
            lines += ["", "The nearest others:"]
        for match in self.nearest:
            lines += ["", *_tell(match, f" ({match.off:+.6f})")]
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "value": self.value,
            "tolerance": self.tolerance,
            "asked": self.asked,
            "tried": self.tried,
            "failed": list(self.failed),
            "matches": [_to_dict(match) for match in self.matches],
            "nearest": [_to_dict(match) for match in self.nearest],
        }

    def to_markdown(self) -> str:
        """A sentence and a table."""
        head = [f"| value | off by | definition | the same on this data | other than {self.asked} in |"]
        rows = [
            f"| {match.value:.6f} | {match.off:+.6f} | `{match.names[0]}` | {_few(match.names[1:], '`{}`')} | "
            f"{'; '.join(f'{one.words} (`{one.text}`)' for one in match.effective)} |"
            for match in (*self.matches, *self.nearest)
        ]
        return "\n".join([f"{self.headline}.", "", *head, "|---:|---:|---|---|---|", *rows, ""])

    def to_html(self) -> str:
        """A page of its own."""
        from bridgeval.report.page.rendering import render

        return str(render("alone.html", title=f"{self.value:g} as {self.asked}", body=self._render()))

    def _repr_html_(self) -> str:
        return str(self._render())

    def _render(self) -> Any:
        from bridgeval.report.page.rendering import render

        return render("identification.html", found=self, few=_few)


def _tell(match: Match, off: str) -> list[str]:
    first, *others = match.definitions
    lines = [f"{match.value:.6f}{off}  {first.name}"]
    lines += [f"    {one.words} ({one.text})" for one in match.effective]
    if others:
        lines.append(f"    the same on this data: {_few([one.name for one in others])}")
    return lines


def _few(names: list[str], form: str = "{}") -> str:
    """The first of several names.

    >>> _few([f"n{at}" for at in range(9)])
    'n0, n1, n2, n3, n4, n5 and 3 more'
    """
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(form.format(name) for name in names[:FEW]) + more


def _to_dict(match: Match) -> dict[str, Any]:
    definitions = [
        {"name": one.name, "native": str(one.metric), "differs": [switch.text for switch in one.switches]}
        for one in match.definitions
    ]
    effective = [one.text for one in match.effective]
    return {"value": match.value, "off": match.off, "definitions": definitions, "effective": effective}


@checked
def identify(
    recommendations: Any,
    relevance: Any,
    value: float | str | Decimal,
    metric: str | Metric,
    *,
    tolerance: float | None = None,
    digits: int | None = None,
    cutoffs: Iterable[int] = (),
    nearest: int = 3,
    **given: Any,
) -> Identification:
    """Finds the definitions of a metric that give a number on this data, and those that come nearest.

    All names of the metric are tried, native and of every installed convention, at the cutoff named and at those next
    to it; at the one named also each with every other population, and the native metric with every order of ties. One
    pass over the data computes them all, and a second one, of a few metrics, tells which of their differences matter.

    Args:
        recommendations, relevance: as for `evaluate`.
        value: the number; 0.3421, or "0.3421", means to four decimals, "34.21%" is the same.
        metric: its name: "ndcg@10", a synonym ("hr@10"), a library's name ("ranx:ndcg@10"), or a metric object. Without
            a cutoff the usual ones are tried.
        tolerance: how far a definition may be off; None is half of the last digit.
        digits: the decimals of the value, if they are not those that it is written with, as in 0.3 for 0.3000.
        cutoffs: others to try beside the one named.
        nearest: how many numbers that do not match are listed.
        given: the other arguments of `evaluate`.

    >>> shown, relevant = {1: ["a", "b"], 2: ["c", "d"]}, {1: ["b"], 2: ["c", "x"]}
    >>> found = identify(shown, relevant, 0.375, "map@2", nearest=1)
    >>> found.names
    ['replay-experimental:MAP@2']
    >>> [switch.text for switch in found.matches[0].effective]
    ['divide_by: "reachable" -> "k"']
    >>> identify(shown, relevant, 0.9, "map@2").names
    []
    """
    number, allowed = _read_value(value, digits, tolerance)
    asked = _read_metric(metric, given.pop("convention", None), cutoffs)
    answered = answered_needs(frozenset(name for name, one in given.items() if one is not None))
    tried = _list_definitions(asked, answered)
    if not tried:
        asked.metric.needs().check(asked.name, answered)
    try:
        values = _compute_values(recommendations, relevance, [one.metric for one in tried], given)
    except NeedError:
        # Lists without scores: only what was asked for may insist on them.
        tried = [one for one in tried if one.metric == asked.metric or one.metric.needs().required <= answered]
        values = _compute_values(recommendations, relevance, [one.metric for one in tried], given)
    if not any(map(math.isfinite, values.values())):
        raise InputError(
            f"no definition of {asked.name} gives a number on this data",
            hint="evaluate it first, which says why",
        )
    groups = _group([one for one in tried if math.isfinite(values[one.metric])], values)
    found = [Match(level, level - number, tuple(group)) for level, group in groups.items()]
    matches = [match for match in found if abs(match.off) <= allowed]
    others = sorted((match for match in found if abs(match.off) > allowed), key=lambda match: abs(match.off))[:nearest]
    told = _find_effective(recommendations, relevance, [*matches, *others], given)
    failed = tuple(one.name for one in tried if one.varies is None and math.isnan(values[one.metric]))
    return Identification(number, allowed, asked.name, told[: len(matches)], told[len(matches) :], len(values), failed)


def _read_value(value: Any, digits: int | None, tolerance: float | None) -> tuple[float, float]:
    """The number and how far a definition may be off.

    >>> _read_value("34.2%", None, 0.001), _read_value(".5", 3, None)[1] < 0.00051
    ((0.342, 0.001), True)
    """
    text = str(value).strip()
    percent = text.endswith("%")
    try:
        number = Decimal(text.removesuffix("%")).scaleb(-2 if percent else 0)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise BadParameterError(f"{value!r} is not a number", hint="give one as it was printed, e.g. 0.3421 or 34.21%")
    written = max(0, -int(number.as_tuple().exponent))
    allowed = 0.5 * 10.0 ** -(written if digits is None else digits) + SAME if tolerance is None else tolerance
    return float(number), allowed


@dataclass(frozen=True)
class _Asked:
    """The metric that a number was said to be.

    Attributes:
        name: as it was written.
        metric: with the first of the cutoffs.
        cutoffs: to be tried; None is the whole list.
        near: others, which are tried with installed names alone.
        open: whether none was named.
    """

    name: str
    metric: Metric
    cutoffs: tuple[int | None, ...]
    near: tuple[int, ...] = ()
    open: bool = False

    def compare(self, other: Metric) -> tuple[Switch, ...]:
        """The parameters in which another metric differs."""
        switches = compare_metrics(self.metric, other)
        return tuple(one for one in switches if not (self.open and one.parameter == "k"))

    def place(self, other: Metric) -> int:
        """Which of the cutoffs another metric has; the last for one that knows none of them."""
        k, known = other.parameters.get("k"), (*self.cutoffs, *self.near)
        return known.index(k) if k in known else len(known)


def _read_metric(metric: str | Metric, convention: str | None, more: Iterable[int]) -> _Asked:
    if isinstance(metric, Metric):
        return _Asked(str(metric), metric, tuple(dict.fromkeys([metric.parameters.get("k"), *more])))
    head, at, tail = metric.rpartition("@") if "@" in metric else (metric, "", "")
    usual = tuple(more) or CUTOFFS
    try:
        found = spec.parse(metric, convention)
    except UnknownMetricError:
        meant = _find_meant(head)
        if meant is None:
            raise
        return replace(_read_metric(f"{meant}{at}{tail}", None, more), name=metric)
    except BadParameterError:
        if at:
            raise
        return _Asked(metric, spec.parse(f"{head}@{usual[0]}", convention)[0], usual, open=True)
    if not at and "k" in found[0].parameters:
        return _Asked(metric, found[0], (None, *usual), open=True)
    named = [one.parameters.get("k") for one in found]
    tried = tuple(dict.fromkeys([*named, *more]))
    return _Asked(metric, found[0], tried, _find_near(tried[0]) if len(tried) == 1 and tried[0] is not None else ())


def _find_near(k: int) -> tuple[int, ...]:
    """The next usual cutoffs, and those that are off by one.

    >>> _find_near(10), _find_near(1)
    ((5, 20, 9, 11), (3, 2))
    """
    usual = [*[one for one in CUTOFFS if one < k][-1:], *[one for one in CUTOFFS if one > k][:1]]
    return tuple(dict.fromkeys([*usual, *[one for one in (k - 1, k + 1) if one > 0]]))


def _find_meant(name: str) -> str | None:
    """The installed name that a synonym or another spelling stands for; native ones first."""
    plain = _plain(name)
    if plain in spec.SYNONYMS:
        return spec.SYNONYMS[plain]
    return next((one for one in spec.names() if plain in (_plain(one), _plain(one.partition(":")[2]))), None)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _list_definitions(asked: _Asked, answered: frozenset[str]) -> list[Candidate]:
    """The definitions to try, the plainest first: the metric named, all names of its kind, then variants of these."""
    names = {str(one): one for one in [asked.metric, *_list_names(asked)]}
    known = [Candidate(name, replace(one, label=None), asked.compare(one)) for name, one in names.items()]
    known = [one for one in known if one.metric.needs().required <= answered | MOSTLY_ANSWERED]
    known.sort(key=lambda one: (asked.place(one.metric), len(one.switches)))
    seen = {one.metric for one in known}
    variants = []
    for one in known:
        if one.metric.parameters.get("k") in asked.near:
            continue
        if _find_kind(type(one.metric)) is _find_kind(type(asked.metric)):
            for varied, parameters in _vary(one.metric, ties=not one.switches):
                if varied not in seen and varied.needs().required <= answered:
                    seen.add(varied)
                    name = _name_variant(one.name, parameters)
                    variants.append(Candidate(name, varied, asked.compare(varied), one.metric))
    return known + sorted(variants, key=lambda one: (asked.place(one.metric), len(one.switches)))


def _list_names(asked: _Asked) -> Iterator[Metric]:
    """The metrics of every installed name that is one of the same kind, with every cutoff."""
    kind = _find_kind(type(asked.metric))
    for name in spec.names():
        own = _plain(name.rpartition(":")[2])
        same_word = own.startswith(_plain(kind.name)) or spec.SYNONYMS.get(own) == kind.name
        for k in (*asked.cutoffs, *asked.near):
            metric = (_parse(f"{name}@{k}") if k is not None else None) or _parse(name, uncut=k is not None)
            if metric is not None and (same_word or _find_kind(type(metric)) is kind):
                yield metric


def _parse(text: str, uncut: bool = False) -> Metric | None:
    """The metric of an installed name; None if it cannot be made so.

    Args:
        text: the name.
        uncut: only a metric that knows no cutoff.
    """
    try:
        (metric,) = spec.parse(text)
    except Exception:
        # It needs a cutoff or takes none; or the maker of a plugin fails, which is not the question here.
        return None
    return None if uncut and "k" in metric.parameters else metric


def _find_kind(metric: type[Metric]) -> type[Metric]:
    """The most general metric with a name that a class comes from: nDCG for nDCGRendle2020."""
    return next(one for one in reversed(metric.__mro__) if issubclass(one, Metric) and (one.name or one is metric))


def _vary(metric: Metric, ties: bool) -> Iterator[tuple[Metric, dict[str, Any]]]:
    """A metric with every other population, if asked for also with every order of ties; and what was changed."""
    if not isinstance(metric, RankingMetric):
        return
    orders = list_choices(Ranking)["ties"] if ties else [metric.ranking.ties]
    for users, tied in product(list_choices(type(metric))["users"], orders):  # type: ignore[arg-type]
        own = {"users": metric.users, "ties": metric.ranking.ties}
        parameters = {name: one for name, one in (("users", users), ("ties", tied)) if one != own[name]}
        try:
            yield metric.with_parameters(**parameters), parameters
        except BadParameterError:
            # Not every formula is defined for every order of ties.
            continue


def _name_variant(name: str, parameters: dict[str, Any]) -> str:
    """A metric's name with more parameters.

    >>> _name_variant("nDCG@5", {"users": "any"}), _name_variant('MAP(divide_by="k")', {"users": "any"})
    ('nDCG(users="any")@5', 'MAP(divide_by="k", users="any")')
    """
    head, bracket, tail = name.rpartition(")")
    if not bracket:
        head, at, tail = name.partition("@")
        tail = at + tail
    given = ", ".join(f"{key}={literal(value)}" for key, value in parameters.items())
    return f"{head}{', ' if bracket else '('}{given}){tail}"


def _compute_values(
    recommendations: Any, relevance: Any, metrics: Iterable[Metric], given: dict[str, Any]
) -> dict[Metric, float]:
    attempts = [Attempt(metric) for metric in dict.fromkeys(metrics)]
    report = evaluate_one(recommendations, relevance, attempts, **given)
    return {one.metric: report[str(one)] for one in attempts}


def _find_effective(
    recommendations: Any, relevance: Any, found: list[Match], given: dict[str, Any]
) -> tuple[Match, ...]:
    """The matches with the differences that matter: without one of these the number is another."""
    undone: dict[tuple[int, Switch], Metric] = {}
    for at, match in enumerate(found):
        first = match.definitions[0]
        for switch in first.switches:
            try:
                undone[at, switch] = first.metric.with_parameters(**{switch.parameter: switch.before})
            except (BadParameterError, TypeError):
                # Another formula, or one that needs this parameter: such a difference always counts.
                continue
    values = _compute_values(recommendations, relevance, undone.values(), given) if undone else {}
    told = []
    for at, match in enumerate(found):
        switches = match.definitions[0].switches
        idle = {one for one in switches if (at, one) in undone and abs(values[undone[at, one]] - match.value) <= SAME}
        told.append(replace(match, effective=tuple(one for one in switches if one not in idle)))
    return tuple(told)


def _group(tried: list[Candidate], values: dict[Metric, float]) -> dict[float, list[Candidate]]:
    """Definitions by the number that they give; of the variants of a number only the plainest."""
    levels: dict[float, float] = {}
    level = -math.inf
    for value in sorted({values[one.metric] for one in tried}):
        level = value if value - level > SAME else level
        levels[value] = level
    groups: dict[float, list[Candidate]] = {}
    for one in tried:
        group = groups.setdefault(levels[values[one.metric]], [])
        plain = [len(other.switches) for other in group if other.varies is not None]
        # A variant that changes nothing tells nothing.
        idle = one.varies is not None and levels.get(values[one.varies]) == levels[values[one.metric]]
        if not idle and (one.varies is None or not plain or len(one.switches) <= plain[0]):
            group.append(one)
    return groups


@dataclass(frozen=True)
class Attempt(Metric):
    """A metric whose number is NaN if it fails on this data, so that the others are computed all the same."""

    metric: Metric

    def __str__(self) -> str:
        return str(self.metric)

    def needs(self) -> Needs:
        return self.metric.needs()

    def start(self) -> Tried:
        return Tried(self.metric.start())

    def update(self, blocks: Blocks) -> Tried:
        try:
            return Tried(self.metric.update(blocks))
        except Exception:
            return Tried(None)

    def compute(self, state: Tried) -> Result:
        value = None if state.state is None else self.metric.compute(state.state).value
        return Result(math.nan if value is None else value)


@dataclass(frozen=True)
class Tried(Numbers):
    """The state of a metric; None after a failure."""

    state: Any

    def merge(self, other: Tried) -> Tried:
        failed = self.state is None or other.state is None
        return Tried(None if failed else self.state.merge(other.state))
