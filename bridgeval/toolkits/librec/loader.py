"""The loader of studies and of their single files."""

from __future__ import annotations

import os
from typing import Any

from bridgeval.data.files import is_path
from bridgeval.errors import InputError, LoaderError
from bridgeval.toolkits.librec.fold import Fold, FoldSource
from bridgeval.toolkits.librec.study import Study, is_study


class LibrecLoader:
    """A Fold; the folder of a study that has one experiment and one fold; or, asked for by name, two file paths."""

    name = "librec"

    def recognises(self, recommendations: Any, relevance: Any, /) -> bool:
        if relevance is not None:
            return False
        return isinstance(recommendations, Fold) or (is_path(recommendations) and is_study(recommendations))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> FoldSource:
        if isinstance(recommendations, Fold):
            return FoldSource(recommendations, _given(extras))
        if relevance is None:
            return FoldSource(_only_fold(recommendations), _given(extras))
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


def _only_fold(path: str | os.PathLike[str]) -> Fold:
    folds = [fold for experiment in Study(path).values() for fold in experiment.values()]
    if len(folds) > 1:
        raise InputError(
            f"{os.fspath(path)} holds {len(folds)} experiments and folds, a Report is of one",
            hint='use Study(path).evaluate(metrics) for all, or evaluate(Study(path)["exp00000"][1], ...) for one',
        )
    return folds[0]
