"""The loader of studies, of their folds and of single result files."""

from __future__ import annotations

from functools import partial
from types import NoneType
from typing import Any

from bridgeval.errors import LoaderError
from bridgeval.plugin import DeferredSource, Sources, TypedLoader, is_path
from bridgeval.toolkits.librec.fold import Fold, open_fold
from bridgeval.toolkits.librec.study import Study, is_study
from bridgeval.toolkits.librec.study_report import combine_reports


class LibrecLoader(TypedLoader):
    """Loads a Fold; a Study or the path of its folder, which give a StudyReport; or, asked for by name, two paths."""

    name = "librec"
    reads = ((Fold, NoneType), (Study, NoneType), (is_study, NoneType))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> DeferredSource | Sources:
        given = {name: value for name, value in extras.items() if value is not None}
        if isinstance(recommendations, Fold):
            return open_fold(recommendations, given)
        if relevance is None:
            study = recommendations if isinstance(recommendations, Study) else Study(recommendations)
            folds = {(name, number): fold for name, folds in study.items() for number, fold in folds.items()}
            sources = {key: open_fold(fold, given) for key, fold in folds.items()}
            return Sources(sources, partial(combine_reports, study))
        if not is_path(relevance):
            raise LoaderError(
                "the loader librec reads paths",
                f"a relevance of type {type(relevance).__name__}",
                "give the path of test.txt",
            )
        # Other forms of history and baseline stay among the arguments that add to the files.
        files = {
            file: given.pop(argument)
            for file, argument in (("train", "history"), ("original", "baseline"))
            if is_path(given.get(argument))
        }
        return open_fold(Fold(recommendations, relevance, **files), given)
