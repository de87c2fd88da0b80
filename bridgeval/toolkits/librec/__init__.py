"""librec-auto and LibRec: study folders and their files, custom metric classes, metrics.

>>> from bridgeval.toolkits.librec import Study
>>> report = Study("movies").evaluate()                                   # doctest: +SKIP
>>> report.by_experiment()                                                # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.plugin import Convention, Loader, Metric, hookimpl
from bridgeval.toolkits.librec.bases import ListBasedMetric, RowBasedMetric
from bridgeval.toolkits.librec.conventions import LIBREC, METRICS
from bridgeval.toolkits.librec.custom import custom
from bridgeval.toolkits.librec.fold import Fold
from bridgeval.toolkits.librec.list_accuracy import TestOrderNDCG
from bridgeval.toolkits.librec.loader import LibrecLoader
from bridgeval.toolkits.librec.ported import ported
from bridgeval.toolkits.librec.scripts import ConfigCmd, read_config_file, single_xpath
from bridgeval.toolkits.librec.study import Experiment, Study
from bridgeval.toolkits.librec.study_report import StudyReport

__all__ = [
    "ConfigCmd",
    "Experiment",
    "Fold",
    "ListBasedMetric",
    "RowBasedMetric",
    "Study",
    "StudyReport",
    "TestOrderNDCG",
    "custom",
    "ported",
    "read_config_file",
    "single_xpath",
]


@hookimpl
def bridgeval_metrics() -> Iterable[type[Metric]]:
    return METRICS


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [LibrecLoader()]


@hookimpl
def bridgeval_conventions() -> Iterable[Convention]:
    return [LIBREC]
