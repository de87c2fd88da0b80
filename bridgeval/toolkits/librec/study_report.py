"""StudyReport: the numbers of a whole study, by experiment and fold, beside those that LibRec logged."""

from __future__ import annotations

import html
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import bridgeval
from bridgeval.errors import BadParameterError, BridgevalWarning, InputError, NeedError, SpecError, UnknownMetricError
from bridgeval.plugin import Ids, Metric, Report, Result, UserTable, written_beside
from bridgeval.toolkits.librec.bases import Compat, CustomBase
from bridgeval.toolkits.librec.conventions import find_logged_name, name_java_metric, name_script_metric
from bridgeval.toolkits.librec.custom import custom
from bridgeval.toolkits.librec.fold import open_fold
from bridgeval.toolkits.librec.java import JavaValues, read_java_values
from bridgeval.toolkits.librec.scripts import ConfigCmd, import_script
from bridgeval.toolkits.librec.study_config import LIST_SIZE

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
        parameters: experiment -> the varied parameters.
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
        return list(next(iter(next(iter(self.reports.values())).values())))

    def __getitem__(self, experiment: str) -> Mapping[int, Report]:
        if experiment not in self.reports:
            raise InputError(
                f"the report has no experiment {experiment!r}", f"experiments {', '.join(self.reports)}", "choose one"
            )
        return self.reports[experiment]

    def by_fold(self) -> pd.DataFrame:
        """Returns a row for each experiment and fold: experiment, fold, the varied parameters, the metrics."""
        import pandas as pd

        rows = [
            {"experiment": name, "fold": fold, **self.parameters[name], **report} for name, fold, report in self._each()
        ]
        return pd.DataFrame(rows, columns=["experiment", "fold", *self._varied, *self.metrics])

    def by_experiment(self) -> pd.DataFrame:
        """Returns a row for each experiment: its parameters, each metric's mean and standard deviation over folds."""
        grouped = self.by_fold().groupby("experiment", sort=False)
        table = grouped[self._varied].first()
        for metric in self.metrics:
            table[metric] = grouped[metric].mean()
            table[f"{metric} std"] = grouped[metric].std()
        return table.reset_index()

    def per_user(self, metric: str) -> pd.DataFrame:
        """Returns all users' values of one metric, pooled over folds: experiment, fold, user, value."""
        import pandas as pd

        parts = [report.per_user(metric).assign(experiment=name, fold=fold) for name, fold, report in self._each()]
        return pd.concat(parts, ignore_index=True)[["experiment", "fold", "user", "value"]]

    def compare(self, metric: str | None = None, **options: Any) -> Comparison:
        """Compares every two experiments on the same users.

        Users are paired within folds; a user of three folds is three pairs. Pooled rating errors are not means over
        users: ask for e.g. `librec:rmse(average="users")` to compare them.

        Args:
            metric: one of the report's; all that are means over users by default.
            options: of `bridgeval.compare`, e.g. test="wilcoxon" or baseline="exp00001"; all pairs by default.
        """
        pooled = {name: self._pool_folds(name, metric) for name in self.reports}
        return bridgeval.compare(pooled, **{"pairs": "all", **options})

    def _pool_folds(self, experiment: str, metric: str | None) -> Report:
        """Makes one report of all folds, in which each user of each fold is a user of its own."""
        folds = self.reports[experiment]
        first = next(iter(folds.values()))
        if not first.collected:
            raise UnknownMetricError("the report has no per-user values", hint="evaluate with per_user=True")
        means = [name for name in first.metrics if first.is_mean_of_users(name)]
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
            first,
            results={name: Result(float(np.nanmean(table.values)), users=len(table)) for name, table in tables.items()},
            metrics={name: first.metrics[name] for name in names},
            collected=tables,
        )

    def java_values(self) -> pd.DataFrame:
        """Returns LibRec's values beside ours: experiment, fold, metric, java, here, difference.

        `here` is missing for metrics that were not asked for with the list size of the study.
        """
        import pandas as pd

        rows = []
        for name, fold, report in self._each():
            ours = {
                logged: value
                for own, value in report.items()
                if (logged := find_logged_name(own))
                and getattr(report.metrics[own], "k", self.list_size) == self.list_size
            }
            for metric, theirs in self.java.get(name, {}).get(fold, {}).items():
                here = ours.get(metric, float("nan"))
                rows.append((name, fold, metric, theirs, here, here - theirs))
        return pd.DataFrame(rows, columns=["experiment", "fold", "metric", "java", "here", "difference"])

    def to_csv(self, kind: Literal["summary", "full"] = "summary", path: str | Path | None = None) -> str:
        """Returns CSV as librec-auto's post-processing writes it, and writes it to `path` if one is given.

        "summary" has a row for each experiment with means over folds; "full" one for each experiment and fold, where
        Split counts from 0. Metrics have their names here, so that the cutoff is in the name.
        """
        if kind not in ("summary", "full"):
            raise BadParameterError(f"there is no CSV of kind {kind!r}", hint='choose "summary" or "full"')
        table = self.by_fold()
        table["fold"] = table.groupby("experiment", sort=False).cumcount()
        if kind == "summary":
            grouped = table.groupby("experiment", sort=False)
            table = grouped[self._varied].first().join(grouped[self.metrics].mean()).reset_index()
        table = table.rename(columns={"experiment": "Experiment", "fold": "Split"})
        text = table.rename(columns=lambda name: name.removeprefix("librec:")).to_csv(index=False, lineterminator="\n")
        if path is not None:
            with written_beside(path) as beside:
                Path(beside).write_text(text, encoding="utf-8")
        return text

    def pictures(self, folder: str | Path) -> list[Path]:
        """Draws a bar chart (mean over folds) and a box plot (over folds) of each metric; returns the files."""
        from bridgeval.toolkits.librec.pictures import draw

        return draw(self.by_fold(), self.metrics, Path(folder))

    def __str__(self) -> str:
        from tabulate import tabulate

        lines = [tabulate(self.by_experiment().to_dict("list"), headers="keys", floatfmt=".4f")]
        lines += [f"{name} was left out: {why}" for name, why in self.left_out.items()]
        beside = self.java_values()["difference"].dropna().abs()
        if len(beside):
            lines.append(f"{len(beside)} values that LibRec computed differ by at most {beside.max():.2g}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The experiments for a notebook, and what was left out."""
        table = self.by_experiment().to_html(index=False, float_format="{:.4f}".format, na_rep="")
        left = "".join(f"<p>{html.escape(f'{name} was left out: {why}')}</p>" for name, why in self.left_out.items())
        return table + left

    @property
    def _varied(self) -> list[str]:
        return list(dict.fromkeys(name for varied in self.parameters.values() for name in varied))

    def _each(self) -> Iterator[tuple[str, int, Report]]:
        for name, folds in self.reports.items():
            for fold, report in folds.items():
                yield name, fold, report


def combine_reports(study: Study, reports: Mapping[tuple[str, int], Report]) -> StudyReport:
    """Makes the report of a study from (experiment, fold) -> Report."""
    nested: dict[str, dict[int, Report]] = {}
    for (name, fold), report in reports.items():
        nested.setdefault(name, {})[fold] = report
    java = {name: read_java_values(experiment.folder) for name, experiment in study.items()}
    if study.config.reranked and any(java.values()):
        warnings.warn(
            "lists were re-ranked: the values that LibRec logged do not describe the re-ranked files",
            StudyWarning,
            stacklevel=3,
        )
    parameters = {name: experiment.parameters for name, experiment in study.items()}
    return StudyReport(nested, parameters, java, reranked=study.config.reranked, list_size=study.config.list_size)


def evaluate_study(
    study: Study,
    metrics: str | Metric | Iterable[str | Metric] | None,
    trust_scripts: bool,
    compat: Compat,
    options: Mapping[str, Any],
) -> StudyReport:
    """Evaluates all folds of all experiments; behind `Study.evaluate`."""
    left_out: dict[str, str] = {}
    if metrics is None:
        asked: list[Any] = _list_configured(study, trust_scripts, compat, left_out)
    else:
        given: list[Any] = [metrics] if isinstance(metrics, str | Metric | type) else list(metrics)
        asked = [custom(one) if isinstance(one, type) and issubclass(one, CustomBase) else one for one in given]
    reasons = "; ".join(f"{name} was left out: {why}" for name, why in left_out.items())
    if left_out and not asked:
        raise SpecError("no metric of the configuration can be computed", reasons, "name the metrics to evaluate")
    report: Any = bridgeval.evaluate(study, None, asked, **{"per_user": True, "convention": "librec", **options})
    if left_out:
        warnings.warn(reasons, StudyWarning, stacklevel=3)
    return replace(report, left_out=left_out)


def _list_configured(study: Study, trust_scripts: bool, compat: Compat, left_out: dict[str, str]) -> list[Metric]:
    """Lists the metrics that a configuration names; notes in `left_out` which cannot be computed, and why."""
    config = study.config
    found: list[str | Metric] = []
    for name in config.java:
        try:
            found.append(name_java_metric(name, config))
        except UnknownMetricError as error:
            left_out[name] = error.wrong
    for script in config.scripts:
        known = name_script_metric(script) if script.folder is None else None
        if known is not None:
            found.append(known)
        elif script.folder is None:
            left_out[script.name] = "librec-auto ships no such metric, or none that works"
        elif not trust_scripts:
            left_out[script.name] = "it is code of the study; read it, then use trust_scripts=True (--trust-scripts)"
        else:
            metric = import_script(study.folder / script.folder / script.name)
            label = f"{script.name}({', '.join(f'{k}={v}' for k, v in script.parameters.items())})".removesuffix("()")
            conf = ConfigCmd(study.config_file.absolute(), study.folder)
            found.append(custom(metric, script.parameters, compat=compat, conf=conf, label=label))
    if not found:
        found = [name.format(k=config.list_size) for name in (DEFAULT_RANKING if config.ranking else DEFAULT_RATING)]
    metrics = [metric for one in found for metric in (bridgeval.parse(one) if isinstance(one, str) else [one])]
    return [metric for metric in metrics if _is_possible(metric, study, left_out)]


def _is_possible(metric: Metric, study: Study, left_out: dict[str, str]) -> bool:
    """Whether every fold of the study has what a metric needs; notes in `left_out` what is missing."""
    if getattr(metric, "protected", "") is None:
        left_out[str(metric)] = "the configuration does not say which feature is protected"
        return False
    try:
        for experiment in study.values():
            for fold in experiment.values():
                metric.needs().check(str(metric), open_fold(fold, {}).offers)
    except NeedError as error:
        left_out[str(metric)] = error.wrong.removeprefix(f"{metric} ")
        return False
    return True
