"""StudyReport: the numbers of a whole study, by experiment and fold, beside those that LibRec logged."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import bridgeval
from bridgeval import spec
from bridgeval.errors import BadParameterError, BridgevalWarning, InputError, NeedError, UnknownMetricError
from bridgeval.plugin import Ids, Metric, Report, Result, UserTable
from bridgeval.toolkits.librec.bases import Compat, CustomBase
from bridgeval.toolkits.librec.conventions import java_metric, logged_name, protecting, script_metric
from bridgeval.toolkits.librec.custom import custom, script_class
from bridgeval.toolkits.librec.fold import FoldSource
from bridgeval.toolkits.librec.java import JavaValues, java_values
from bridgeval.toolkits.librec.study_config import LIST_SIZE, Feature

if TYPE_CHECKING:
    import pandas as pd

    from bridgeval.plugin import Comparison
    from bridgeval.toolkits.librec.study import Study

DEFAULT_RANKING = ("librec:ndcg_binary@{k}", "librec:precision@{k}", "librec:recall@{k}")
DEFAULT_RATING = ("librec:rmse", "librec:mae")


class StudyWarning(BridgevalWarning):
    """Something about a study that its numbers do not show."""


@dataclass(frozen=True)
class StudyReport:
    """The reports of a study's experiments and folds.

    Attributes:
        reports: experiment -> fold -> Report.
        parameters: experiment -> what was varied.
        java: experiment -> fold -> name in the log -> the value that LibRec computed.
        left_out: metrics of the configuration that were not computed, and why.
        reranked: whether lists were re-ranked, so that Java values describe other lists than those in the files.
        list_size: the cutoff of the Java values.
    """

    reports: Mapping[str, Mapping[int, Report]]
    parameters: Mapping[str, Mapping[str, str]]
    java: Mapping[str, JavaValues] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    reranked: bool = False
    list_size: int = LIST_SIZE

    @property
    def metrics(self) -> list[str]:
        """Names of the values, in the order they were asked for."""
        return list(self._any)

    @property
    def _any(self) -> Report:
        return next(iter(next(iter(self.reports.values())).values()))

    def __getitem__(self, experiment: str) -> Mapping[int, Report]:
        if experiment not in self.reports:
            raise InputError(
                f"the report has no {experiment!r}", f"experiments {', '.join(self.reports)}", "choose one"
            )
        return self.reports[experiment]

    def by_fold(self) -> pd.DataFrame:
        """A row for each experiment and fold: experiment, fold, the varied parameters, the metrics."""
        import pandas as pd

        rows = [
            {"experiment": name, "fold": fold, **self.parameters[name], **report} for name, fold, report in self._each()
        ]
        return pd.DataFrame(rows, columns=["experiment", "fold", *self._varied, *self.metrics])

    def by_experiment(self) -> pd.DataFrame:
        """A row for each experiment: its parameters, and each metric's mean and standard deviation over folds."""
        folds = self.by_fold().drop(columns=["fold"])
        grouped = folds.groupby("experiment", sort=False)
        table = grouped[self._varied].first()
        for metric in self.metrics:
            table[metric] = grouped[metric].mean()
            table[f"{metric} std"] = grouped[metric].std()
        return table.reset_index()

    def per_user(self, metric: str) -> pd.DataFrame:
        """All users' values of one metric, pooled: experiment, fold, user, value."""
        import pandas as pd

        parts = [report.per_user(metric).assign(experiment=name, fold=fold) for name, fold, report in self._each()]
        return pd.concat(parts, ignore_index=True)[["experiment", "fold", "user", "value"]]

    def compare(self, metric: str | None = None, **options: Any) -> Comparison:
        """Every two experiments on the same users: how far apart, and whether that may be chance.

        Users are paired within folds; a user of three folds is three pairs. Pooled rating errors are no means over
        users: ask for e.g. `librec:rmse(average="users")` to compare them.

        Args:
            metric: one of the report's; all that are means over users by default.
            options: of `bridgeval.compare`, e.g. test="wilcoxon" or baseline="exp00001"; all pairs by default.
        """
        pooled = {name: self._pooled(name, metric) for name in self.reports}
        return bridgeval.compare(pooled, **{"pairs": "all", **options})

    def _pooled(self, experiment: str, metric: str | None) -> Report:
        """One report of all folds, with a user of a fold as a user of its own."""
        folds = self.reports[experiment]
        any_fold = next(iter(folds.values()))
        if not any_fold.collected:
            raise UnknownMetricError("the report has no per-user values", hint="evaluate with per_user=True")
        means = [name for name in any_fold.metrics if is_mean(any_fold, name)]
        names = means if metric is None else [metric]
        if not names or not set(names) <= set(means):
            raise UnknownMetricError(
                f"{metric or 'no metric of the report'} is not the mean of users' values",
                hint=f"the report has {', '.join(means) or 'no such mean; evaluate e.g. nDCG@10'}",
            )
        tables = {}
        for name in names:
            values = {fold: report.per_user(name) for fold, report in folds.items()}
            users = [f"{fold} {user}" for fold, frame in values.items() for user in frame["user"]]
            tables[name] = UserTable(Ids.of(users), np.concatenate([frame["value"] for frame in values.values()]))
        return replace(
            any_fold,
            results={name: Result(float(np.nanmean(table.values)), users=len(table)) for name, table in tables.items()},
            metrics={name: any_fold.metrics[name] for name in names},
            collected=tables,
        )

    def java_values(self) -> pd.DataFrame:
        """What LibRec computed beside what was computed here: experiment, fold, metric, java, here, difference.

        `here` is missing for metrics that were not asked for with the list size of the study.
        """
        import pandas as pd

        rows = []
        for name, fold, report in self._each():
            ours = {
                logged: value
                for own, value in report.items()
                if (logged := logged_name(own)) and getattr(report.metrics[own], "k", self.list_size) == self.list_size
            }
            for metric, theirs in self.java.get(name, {}).get(fold, {}).items():
                here = ours.get(metric, float("nan"))
                rows.append((name, fold, metric, theirs, here, here - theirs))
        return pd.DataFrame(rows, columns=["experiment", "fold", "metric", "java", "here", "difference"])

    def to_csv(self, kind: Literal["summary", "full"] = "summary", path: str | Path | None = None) -> str:
        """CSV as librec-auto's post-processing writes it; returned, and written to `path` if that is given.

        "summary" has a row for each experiment with means over folds; "full" one for each experiment and fold, where
        Split counts from 0. Metrics go by their names here, so that the cutoff is in the name.
        """
        if kind not in ("summary", "full"):
            raise BadParameterError(f"there is no CSV of kind {kind!r}", hint='choose "summary" or "full"')
        table = self.by_fold()
        table["fold"] = table.groupby("experiment", sort=False).cumcount()
        if kind == "summary":
            means = table.groupby("experiment", sort=False)[self.metrics].mean()
            first = table.groupby("experiment", sort=False)[self._varied].first()
            table = first.join(means).reset_index()
        table = table.rename(columns={"experiment": "Experiment", "fold": "Split"})
        text = table.rename(columns=lambda name: name.removeprefix("librec:")).to_csv(index=False, lineterminator="\n")
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def pictures(self, folder: str | Path) -> list[Path]:
        """Writes a bar picture (mean over folds) and a box picture (over folds) of each metric; gives the files."""
        from bridgeval.toolkits.librec.pictures import draw

        return draw(self.by_fold(), self.metrics, Path(folder))

    def __str__(self) -> str:
        from tabulate import tabulate

        lines = [tabulate(self.by_experiment().to_dict("list"), headers="keys", floatfmt=".4f")]
        lines += [f"{name} was left out: {why}" for name, why in self.left_out.items()]
        beside = self.java_values()["difference"].dropna().abs()
        if len(beside):
            lines.append(f"{len(beside)} values that LibRec computed differ by {beside.max():.2g} at most")
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def _varied(self) -> list[str]:
        return list(dict.fromkeys(name for varied in self.parameters.values() for name in varied))

    def _each(self) -> Iterator[tuple[str, int, Report]]:
        for name, folds in self.reports.items():
            for fold, report in folds.items():
                yield name, fold, report


def study_report(study: Study, reports: Mapping[tuple[str, int], Report]) -> StudyReport:
    """The report of a study, of (experiment, fold) -> Report."""
    nested: dict[str, dict[int, Report]] = {}
    for (name, fold), report in reports.items():
        nested.setdefault(name, {})[fold] = report
    java = {name: java_values(experiment.folder) for name, experiment in study.items()}
    if study.config.reranked and any(java.values()):
        warnings.warn(
            "lists were re-ranked: the values that LibRec logged do not describe the re-ranked files",
            StudyWarning,
            stacklevel=3,
        )
    parameters = {name: experiment.parameters for name, experiment in study.items()}
    return StudyReport(nested, parameters, java, reranked=study.config.reranked, list_size=study.config.list_size)


def evaluated(
    study: Study,
    metrics: str | Metric | Iterable[str | Metric] | None,
    trust_scripts: bool,
    compat: Compat,
    options: Mapping[str, Any],
) -> StudyReport:
    """Evaluates all folds of all experiments; behind `Study.evaluate`."""
    left_out: dict[str, str] = {}
    asked = (
        _parsed(metrics, study.config.protected)
        if metrics is not None
        else _configured(study, trust_scripts, compat, left_out)
    )
    report: Any = bridgeval.evaluate(study, None, asked, **{"per_user": True, **options})
    if left_out:
        said = "; ".join(f"{name} was left out: {why}" for name, why in left_out.items())
        warnings.warn(said, StudyWarning, stacklevel=3)
    return replace(report, left_out=left_out)


def _parsed(metrics: Any, protected: Feature | None) -> list[Metric]:
    """Names, metric objects and custom metric classes; the study's protected feature where a metric names none."""
    given = [metrics] if isinstance(metrics, str | Metric | type) else list(metrics)
    made: list[Any] = [custom(one) if isinstance(one, type) and issubclass(one, CustomBase) else one for one in given]
    return [protecting(metric, protected) for metric in spec.parse_all(made, "librec")]


def _configured(study: Study, trust_scripts: bool, compat: Compat, left_out: dict[str, str]) -> list[Metric]:
    """The metrics that a configuration names; what cannot be had is noted in `left_out`."""
    config = study.config
    named: list[str | Metric] = []
    for name in config.java:
        try:
            named.append(java_metric(name, config))
        except UnknownMetricError as error:
            left_out[name] = error.wrong
    for script in config.scripts:
        known = script_metric(script) if script.folder is None else None
        path = study.folder / (script.folder or "") / script.name
        if known is not None:
            named.append(known)
        elif script.folder is None:
            left_out[script.name] = "librec-auto ships no such metric, or none that works"
        elif not trust_scripts:
            left_out[script.name] = "it is code of the study; look at it, then use trust_scripts=True (--trust-scripts)"
        else:
            label = f"{script.name}({', '.join(f'{k}={v}' for k, v in script.parameters.items())})"
            named.append(custom(script_class(path), script.parameters, compat=compat, label=label.removesuffix("()")))
    if not named:
        named = [name.format(k=config.list_size) for name in (DEFAULT_RANKING if config.ranking else DEFAULT_RATING)]
    metrics = [protecting(metric, config.protected) for metric in spec.parse_all(named, "librec")]
    return [metric for metric in metrics if _can_be_had(metric, study, left_out)]


def _can_be_had(metric: Metric, study: Study, left_out: dict[str, str]) -> bool:
    """Whether the study answers what a metric needs; noted in `left_out` where it does not."""
    if getattr(metric, "protected", "") is None:
        left_out[str(metric)] = "the configuration does not say which feature is protected"
        return False
    try:
        for experiment in study.values():
            for fold in experiment.values():
                metric.needs().check(str(metric), FoldSource(fold).offers)
    except NeedError as error:
        left_out[str(metric)] = error.wrong.removeprefix(f"{metric} ")
        return False
    return True


def is_mean(report: Report, name: str) -> bool:
    """Whether a number of the report is the mean of its users' values."""
    table, result = report.collected.get(name), report.results.get(name)
    if table is None or result is None or result.value is None:
        return False
    return bool(np.isclose(np.nanmean(table.values), result.value, rtol=1e-9, atol=1e-12))
