"""Study: a librec-auto study folder on disk, with experiments, each with the folds of the split."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bridgeval.errors import InputError
from bridgeval.plugin import is_inside, is_path
from bridgeval.toolkits.librec.fold import Fold
from bridgeval.toolkits.librec.study_config import Config, read_config, read_xml

if TYPE_CHECKING:
    from bridgeval.plugin import Metric
    from bridgeval.toolkits.librec.study_report import StudyReport

EXPERIMENT = re.compile(r"exp\d+")
FOLD = re.compile(r"cv_(\d+)")
CONFIG = "conf/config.xml"


def is_study(path: Any) -> bool:
    """Whether it is the path of a study: a folder with a configuration and an experiment."""
    if not is_path(path):
        return False
    folder = Path(path)
    return (folder / CONFIG).is_file() and any(folder.glob("exp*/"))


class Experiment(Mapping[int, Fold]):
    """One combination of parameters: fold number -> Fold.

    Attributes:
        name: `exp00000`.
        folder: its path.
        config: its own configuration, or the study's if it has none.
        parameters: the varied parameters, name -> value as text.
    """

    def __init__(self, folder: Path, config: Config, folds: Mapping[int, Fold]) -> None:
        self.name = folder.name
        self.folder = folder
        self.config = config
        self._folds = folds

    @cached_property
    def parameters(self) -> dict[str, str]:
        if self.config.varied or not (self.folder / "output.xml").is_file():
            return dict(self.config.varied)
        found = read_xml(self.folder / "output.xml").iterfind("meta/param")
        return {(p.findtext("name") or "").strip(): (p.findtext("value") or "").strip() for p in found}

    def __getitem__(self, fold: int) -> Fold:
        if fold not in self._folds:
            raise InputError(f"{self.name} has no fold {fold}", f"folds {list(self._folds)}", "see the folders cv_N")
        return self._folds[fold]

    def __iter__(self) -> Iterator[int]:
        return iter(self._folds)

    def __len__(self) -> int:
        return len(self._folds)


class Study(Mapping[str, Experiment]):
    """A study folder: experiment name -> Experiment -> Fold.

    `study["exp00000"][1].evaluate(metrics)` and `bridgeval.evaluate(study["exp00000"][1], metrics=metrics)` return the
    Report of one experiment and fold. `study.evaluate(metrics)` returns a StudyReport of all, and so does
    `bridgeval.evaluate` of the study or of its folder.

    Args:
        path: the folder with `conf/config.xml` and `exp00000`, `exp00001`, ...
        config: another configuration file, relative to the folder.
        order: "given" ranks by the order of the result files; "score" sorts each user's rows, stably.
        strict: predicted ratings must be of exactly the pairs of the test files.
        allow_outside: whether files that the configuration names may be outside of the folder.

    >>> Study("no/such/study")
    Traceback (most recent call last):
    bridgeval.errors.InputError: no/such/study is not a study folder; ...
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        config: str = CONFIG,
        order: Literal["given", "score"] = "given",
        strict: bool = False,
        allow_outside: bool = False,
    ) -> None:
        self.folder = Path(path)
        self._allow_outside = allow_outside
        self.config_file = self.folder / config
        if not self.config_file.is_file():
            raise InputError(
                f"{self.folder} is not a study folder",
                f"no file {config} in it",
                "give the folder above conf/",
            )
        self.config = read_config(self.config_file)
        self.order = order
        self.strict = strict
        self._experiments = {
            folder.name: Experiment(folder, own, self._list_folds(folder, own))
            for folder in self._list_experiments()
            for own in [self._read_config(folder)]
        }

    def evaluate(
        self,
        metrics: str | Metric | Iterable[str | Metric] | None = None,
        *,
        trust_scripts: bool = False,
        compat: Literal["librec-auto"] | None = None,
        **options: Any,
    ) -> StudyReport:
        """Evaluates every experiment and fold.

        Args:
            metrics: names or metric objects; names without a prefix are looked up among librec's first. None takes the
                metrics of the study's configuration.
            trust_scripts: whether to run metric scripts that come with the study. They are code: read them first.
            compat: "librec-auto" passes rows to scripts as that package does: result before test.
            options: of `bridgeval.evaluate`, e.g. `batch_size`.
        """
        from bridgeval.toolkits.librec.study_report import evaluate_study

        return evaluate_study(self, metrics, trust_scripts, compat, options)

    def __getitem__(self, name: str) -> Experiment:
        if name not in self._experiments:
            raise InputError(
                f"the study has no experiment {name!r}",
                f"experiments {', '.join(self)}",
                "e.g. study['exp00000']",
            )
        return self._experiments[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._experiments)

    def __len__(self) -> int:
        return len(self._experiments)

    def __repr__(self) -> str:
        folds = len(next(iter(self.values())))
        return f"Study({str(self.folder)!r}: {len(self)} experiment(s), {folds} fold(s))"

    def _list_experiments(self) -> list[Path]:
        found = sorted(x for x in self.folder.iterdir() if x.is_dir() and EXPERIMENT.fullmatch(x.name))
        if not found:
            raise InputError(f"{self.folder} has no experiments", "no folder exp00000", "run the study first")
        return found

    def _read_config(self, folder: Path) -> Config:
        own = folder / CONFIG
        return read_config(own) if own.is_file() else self.config

    def _list_folds(self, experiment: Path, config: Config) -> dict[int, Fold]:
        data = self._check_inside(self.folder / self.config.data)
        splits = {
            int(match[1]): folder
            for folder in (data / "split").glob("cv_*")
            if (match := FOLD.fullmatch(folder.name)) and folder.is_dir()
        }
        if not splits:
            raise InputError(f"{data / 'split'} has no folds", "no folder cv_1", "was the split saved?")
        return {number: self._make_fold(experiment, config, number, splits[number]) for number in sorted(splits)}

    def _check_inside(self, path: Path) -> Path:
        if not self._allow_outside and not is_inside(path, self.folder):
            raise InputError(
                f"{self.config_file} names a file outside of the study",
                f"{path}",
                "if you trust the study, allow it: Study(..., allow_outside=True), --allow-outside as a command",
            )
        return path

    def _make_fold(self, experiment: Path, config: Config, number: int, split: Path) -> Fold:
        result = experiment / "result" / f"out-{number}.txt"
        if not result.is_file():
            raise InputError(
                f"{result} is missing", f"the split has a folder {split.name}", "was the experiment finished?"
            )
        data = split.parent.parent
        ratings = [self._check_inside(data / name) for name in self.config.ratings]
        return Fold(
            result,
            split / "test.txt",
            _if_exists(split / "train.txt"),
            _if_exists(experiment / "original" / result.name),
            tuple(ratings) if ratings and all(path.is_file() for path in ratings) else (),
            _if_exists(self._check_inside(data / self.config.item_features)) if self.config.item_features else None,
            _if_exists(self._check_inside(data / self.config.user_features)) if self.config.user_features else None,
            config.ranking,
            self.order,
            strict=self.strict,
            protected=self.config.protected,
        )


def _if_exists(path: Path) -> Path | None:
    return path if path.is_file() else None
