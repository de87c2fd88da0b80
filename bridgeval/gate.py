"""A gate for pipelines: may this system take the place of the old one?

Non-inferiority on paired users. For each metric a margin is given, the largest drop that would be borne. The gate
holds when the one-sided paired t test shows, for every metric, that the true drop is smaller than its margin; with
several metrics all must pass, so that nothing has to be corrected (intersection-union test).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

from scipy import stats

from bridgeval import spec
from bridgeval.engine.metric import Metric
from bridgeval.engine.state import UserTable
from bridgeval.errors import BadParameterError, InputError, MisalignedError
from bridgeval.evaluate import one_report
from bridgeval.report import Report
from bridgeval.report import statistics as st
from bridgeval.report.exports import written
from bridgeval.report.panel import Panel, is_mean_of_users, is_user_values, read_user_values, write_user_values
from bridgeval.report.wide import number


@dataclass(frozen=True)
class Limit:
    """The largest drop of a metric that would be borne: absolute, or a share of the baseline's value.

    >>> Limit.of("nDCG@10=1%"), Limit.of("MRR@5=0.002").drop
    (Limit(metric='nDCG@10', drop=0.01, relative=True), 0.002)
    """

    metric: str
    drop: float
    relative: bool

    @staticmethod
    def of(text: str, convention: str | None = None) -> Limit:
        """A limit as it is typed."""
        name, equals, limit = text.rpartition("=")
        try:
            drop = float(limit.strip().removesuffix("%"))
        except ValueError:
            drop = math.nan
        if not equals or not math.isfinite(drop) or drop < 0:
            raise BadParameterError(
                "a limit is a metric, = and a drop from 0 up",
                f"{text!r}",
                "e.g. nDCG@10=1% or nDCG@10=0.002",
            )
        relative = limit.strip().endswith("%")
        metric = spec.parse(name.strip(), convention)[0]
        return Limit(str(metric), drop / 100 if relative else drop, relative)

    def margin(self, baseline: float) -> float:
        return self.drop * abs(baseline) if self.relative else self.drop

    def __str__(self) -> str:
        return f"{100 * self.drop:g}%" if self.relative else f"{self.drop:g}"


@dataclass(frozen=True)
class Check:
    """What became of one metric.

    Attributes:
        gain: how much better the new system is; below 0 it is worse, whichever way the metric points.
        bound: the one-sided lower bound of the gain at confidence 1 - alpha.
        margin: the drop that would be borne.
        p: of the test that the gain is above -margin.
        verdict: "holds"; "worse" where the drop itself exceeds the margin; "unsure" where it does not but could.
    """

    metric: str
    baseline: float
    value: float
    users: int
    gain: float
    bound: float
    limit: str
    margin: float
    p: float
    verdict: Literal["holds", "worse", "unsure"]

    def sentence(self) -> str:
        moved = f"{self.metric} {number(self.baseline)} -> {number(self.value)} over {self.users:,} users"
        if self.verdict == "holds":
            return f"{moved}: holds, a drop of {self.limit} is ruled out (p = {self.p:.3g})"
        if self.verdict == "worse":
            return f"{moved}: worse, it drops by {number(-self.gain)} where {number(self.margin)} would be borne"
        return (
            f"{moved}: unsure, the drop could be {number(-self.bound)} where {number(self.margin)} would be borne; "
            "more users or a wider limit would tell"
        )


@dataclass(frozen=True)
class Gate:
    """All checks, and what was odd about the data."""

    checks: tuple[Check, ...]
    alpha: float
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return all(check.verdict == "holds" for check in self.checks)

    def __str__(self) -> str:
        return "\n".join([*(check.sentence() for check in self.checks), *self.notes])

    def to_dict(self) -> dict[str, Any]:
        checks = [asdict(check) for check in self.checks]
        return {"holds": self.holds, "alpha": self.alpha, "checks": checks, "notes": list(self.notes)}

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """A table for a merge request."""
        from tabulate import tabulate

        rows = [
            [c.metric, number(c.baseline), number(c.value), f"{c.gain:+.4f}", f"{c.bound:+.4f}", f"-{number(c.margin)}",
             f"{c.users:,}", c.verdict]
            for c in self.checks
        ]  # fmt: skip
        head = ["metric", "baseline", "now", "gain", f"{1 - self.alpha:.0%} bound", "limit", "users", "verdict"]
        title = f"**{'Holds' if self.holds else 'Does not hold'}**: no metric may drop below its limit."
        table = tabulate(rows, head, "github", disable_numparse=True)
        return written("\n\n".join([title, table, *self.notes]) + "\n", path)

    def to_junit(self, path: str | os.PathLike[str] | None = None) -> str:
        """JUnit XML: a test case for each metric."""
        failed = str(sum(check.verdict != "holds" for check in self.checks))
        suite = ElementTree.Element(
            "testsuite", name="bridgeval check", tests=str(len(self.checks)), failures=failed, errors="0"
        )
        for check in self.checks:
            case = ElementTree.SubElement(suite, "testcase", classname="bridgeval.check", name=check.metric)
            if check.verdict != "holds":
                failure = ElementTree.SubElement(case, "failure", type=check.verdict, message=check.sentence())
                failure.text = check.sentence()
        return written(ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n", path)


def check(
    recommendations: Any,
    relevance: Any,
    baseline: Any,
    max_drop: str | Iterable[str | Limit],
    *,
    alpha: float = 0.05,
    **evaluation: Any,
) -> Gate:
    """Checks that recommendations are not worse than a baseline by more than is borne.

    Args:
        recommendations: as `evaluate` takes them, or a Report made with per_user=True.
        relevance: what proved relevant.
        baseline: a Report made with per_user=True, a Parquet file of per-user values, or a JSON file that
            `save_baseline` or `bridgeval evaluate --format json` wrote, with its per-user values beside it.
        max_drop: limits such as "nDCG@10=1%" (of the baseline's value) or "nDCG@10=0.002".
        alpha: how often a drop of just the margin may pass.
        **evaluation: any further argument of `evaluate`.

    >>> truth = {user: ["x"] for user in range(40)}
    >>> old = {user: ["x", "y"] if user % 4 else ["y", "x"] for user in range(40)}
    >>> from bridgeval import evaluate
    >>> report = evaluate(old, truth, "MRR@2", per_user=True)
    >>> print(check(old, truth, report, "MRR@2=1%"))
    MRR@2 0.8750 -> 0.8750 over 40 users: holds, a drop of 1% is ruled out (p = 0)
    >>> check({**old, **{user: ["y", "x"] for user in range(9)}}, truth, report, "MRR@2=1%").holds
    False
    """
    given = [max_drop] if isinstance(max_drop, str) else max_drop
    limits = [Limit.of(one, evaluation.get("convention")) if isinstance(one, str) else one for one in given]
    if not limits:
        raise BadParameterError("no limit was given", hint="give e.g. nDCG@10=1%")
    if not 0 < alpha < 0.5:
        raise BadParameterError("alpha must be between 0 and 0.5", f"{alpha}", "0.05 is usual")
    old = _baseline_values(baseline)
    names = [limit.metric for limit in limits]
    report = recommendations
    if not isinstance(report, Report):
        report = one_report(recommendations, relevance, names, **{**evaluation, "per_user": True})
    missing = [name for name in names if name not in old or name not in report.collected]
    if missing:
        raise InputError(
            f"there are no per-user values of {', '.join(missing)} to pair",
            f"the baseline has {', '.join(old)}; now there are {', '.join(report.collected)}",
            "evaluate both with these metrics and per_user=True",
        )
    pooled = [name for name in names if not is_mean_of_users(report, name)]
    if pooled:
        raise InputError(
            f"{', '.join(pooled)} is not a mean over users, so that pairs of users cannot test it",
            hint='choose a metric that is; a rating error is with average="users"',
        )
    panel = Panel.of({"baseline": {n: old[n] for n in names}, "now": {n: report.collected[n] for n in names}})
    checks = tuple(_checked(panel, limit, report.metrics[limit.metric], alpha) for limit in limits)
    return Gate(checks, alpha, tuple(panel.notes()))


def _checked(panel: Panel, limit: Limit, metric: Metric, alpha: float) -> Check:
    column = panel.metrics.index(limit.metric)
    users = panel.complete[:, column]
    old, new = panel.values[:, users, column]
    count = len(old)
    if count < 2:
        raise MisalignedError(
            f"{count} user(s) have a value of {limit.metric} in the baseline and now; that is too few to test",
            f"{len(panel.users)} users on both sides together",
            "check that both were evaluated on the same users, and that ids are written the same way",
        )
    gain = st.differences(new, old)[:, None] * (-1 if metric.higher_is_better is False else 1)
    mean, margin = float(gain.mean()), limit.margin(float(old.mean()))
    spread = float(st.deviations(gain)[0])
    bound = mean - float(stats.t.ppf(1 - alpha, count - 1)) * spread / math.sqrt(count)
    if spread > 0:
        p = float(st.t_test(gain, -margin, "greater")[1][0])
        holds = p < alpha
    else:
        # Every user moved by the same amount: there is nothing to be unsure about.
        holds = mean >= -margin
        p = 0.0 if holds else 1.0
    verdict: Literal["holds", "worse", "unsure"] = "holds" if holds else "worse" if -mean > margin else "unsure"
    return Check(limit.metric, float(old.mean()), float(new.mean()), count, mean, bound, str(limit), margin, p, verdict)


def save_baseline(report: Report, path: str | os.PathLike[str]) -> None:
    """Writes a report as JSON, and beside it its per-user values as Parquet, for later checks."""
    beside = Path(path).with_suffix(".parquet")
    write_user_values({"": report.collected}, beside)
    named = replace(report, manifest={**report.manifest, "per_user": beside.name})
    named.to_json(path)


def _baseline_values(baseline: Any) -> Mapping[str, UserTable]:
    if isinstance(baseline, Report):
        if not baseline.collected:
            raise InputError("the baseline has no per-user values", hint="evaluate it with per_user=True")
        return baseline.collected
    if not isinstance(baseline, str | os.PathLike):
        raise InputError(
            "the baseline cannot be read", f"an object of type {type(baseline).__name__}", "give a Report or a file"
        )
    if not os.path.isfile(baseline):
        raise InputError("there is no baseline", f"{os.fspath(baseline)!r}", "check the path")
    path = baseline if is_user_values(baseline) else _beside(Path(baseline))
    systems = read_user_values(path)
    if len(systems) != 1:
        raise InputError(
            f"{os.fspath(path)!r} holds several systems", ", ".join(systems), "save the one that is the baseline"
        )
    return next(iter(systems.values()))


def _beside(path: Path) -> Path:
    """The file of per-user values that belongs to a report: the one its manifest names, or the one of its own name."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        named = document["manifest"].get("per_user")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"the baseline {os.fspath(path)!r} is neither a report nor per-user values",
            str(error),
            "give what `bridgeval check --save` or `bridgeval evaluate --format json` wrote",
        ) from error
    found = path.parent / named if isinstance(named, str) else path.with_suffix(".parquet")
    if not is_user_values(found):
        raise InputError(
            f"the baseline {os.fspath(path)!r} has means but no per-user values, so that users cannot be paired",
            f"no {os.fspath(found)!r}",
            "make it with `bridgeval check --save`, or with `bridgeval evaluate --format json --per-user` beside it",
        )
    return found
