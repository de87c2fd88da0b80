"""The loader of studies and of their single files."""

from __future__ import annotations

from functools import partial
from typing import Any

from bridgeval.errors import LoaderError
from bridgeval.plugin import Sources, is_path
from bridgeval.toolkits.librec.fold import Fold, FoldSource
from bridgeval.toolkits.librec.study import Study, is_study
from bridgeval.toolkits.librec.study_report import study_report


class LibrecLoader:
    """A study, or the path of its folder, whose folds give a StudyReport; a Fold; or, asked for by name, two paths."""

    name = "librec"

    def recognizes(self, recommendations: Any, relevance: Any, /) -> bool:
        if relevance is not None:
            return False
        return isinstance(recommendations, Fold | Study) or (is_path(recommendations) and is_study(recommendations))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> FoldSource | Sources:
        if isinstance(recommendations, Fold):
            return FoldSource(recommendations, _given(extras))
        if relevance is None:
            study = recommendations if isinstance(recommendations, Study) else Study(recommendations)
            folds = {(name, number): fold for name, folds in study.items() for number, fold in folds.items()}
            sources = {key: FoldSource(fold, _given(extras)) for key, fold in folds.items()}
            return Sources(sources, partial(study_report, study))
        if not is_path(relevance):
            raise LoaderError(
                "librec reads paths",
                f"a relevance of type {type(relevance).__name__}",
                "give the path of test.txt",
            )
        files = {"train": "history", "original": "baseline"}
        paths = {own: extras.pop(name) for own, name in files.items() if is_path(extras.get(name))}
        return FoldSource(Fold(recommendations, relevance, **paths), _given(extras))


def _given(extras: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in extras.items() if value is not None}
