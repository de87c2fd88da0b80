"""Request: one evaluation of files, as flags, a config file or a manifest ask for it."""

from __future__ import annotations

import difflib
import json
import os
import sys
import tomllib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from bridgeval.errors import BridgevalWarning, ConfigError, InputError
from bridgeval.progress import waiting_for

if TYPE_CHECKING:
    from bridgeval.inspection import Inspection
    from bridgeval.report import Report

STDIN = "-"
PATHS = ("history", "catalogue", "item_groups", "user_groups", "item_features", "prev_scores", "baseline", "users")
Format = Literal["table", "json", "csv", "md", "latex"]


class Request(BaseModel):
    """What to evaluate and how. Paths may be globs or folders of Parquet files; `-` is standard input."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="bridgeval config")

    recommendations: dict[str, str] = Field(description="System name -> file. A file or a list of files also does.")
    relevance: str = Field(description="The file of what proved relevant.")
    metrics: tuple[str, ...] = Field(("nDCG@10", "Recall@10"), description='Names, e.g. "nDCG@5,10".')
    convention: str | None = Field(None, description="The toolkit whose definitions names without a prefix mean.")
    history: str | None = Field(None, description="The file of training interactions.")
    catalogue: str | None = Field(None, description="The file of all items that could have been shown.")
    item_groups: str | None = Field(None, description="A file: item and its group.")
    user_groups: str | None = Field(None, description="A file: user and their group.")
    item_features: str | None = Field(None, description="A file: item and one feature a row.")
    prev_scores: str | None = Field(None, description="The file of the logging policy's scores.")
    baseline: str | None = Field(None, description="The file of another system's recommendations.")
    users: str | None = Field(None, description='The file of users that count under users="given".')
    by: tuple[str, ...] = Field((), description="Files of slices: the id of users or items, and columns of labels.")
    columns: dict[str, str] = Field({}, description="Part (user, item, score, rank, gain) -> column name.")
    recs_columns: tuple[str, ...] = Field((), description="Columns in order, for recommendations without a header.")
    truth_columns: tuple[str, ...] = Field((), description="Columns in order, for relevance without a header.")
    history_columns: tuple[str, ...] = Field((), description="Columns in order, for a history without a header.")
    text_ids: bool = Field(False, description="Read ids as text even where they look like numbers.")
    loader: str | None = Field(None, description="The loader, where several fit.")
    device: str = Field("auto", description="auto, cpu, cuda, ...")
    batch_size: int | None = Field(None, ge=1, description="Users in a batch.")
    memory: str | None = Field(None, description='What may be held at once, e.g. "2GB"; larger files are streamed.')
    inspect: bool = Field(True, description="Look for oddities in the data and print the alarming ones.")
    format: Format = Field("table", description="How the numbers are written.")
    out: str | None = Field(None, description="Where the numbers are written; the terminal if left out.")
    report: str | None = Field(None, description="Where the HTML page is written.")
    per_user: str | None = Field(None, description="Where every user's values are written, as Parquet.")

    @field_validator("recommendations", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if not isinstance(value, str | list | tuple):
            return value
        return name_systems(map(parse_system, [value] if isinstance(value, str) else value))

    @field_validator("metrics", "by", "recs_columns", "truth_columns", "history_columns", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @cached_property
    def files(self) -> dict[str, str]:
        """Every file that is read: role -> path; systems are called `recommendations[name]`."""
        roles = {f"recommendations[{name}]": path for name, path in self.recommendations.items()}
        others = {name: getattr(self, name) for name in PATHS}
        slices = {f"by[{path}]": path for path in self.by}
        return roles | {"relevance": self.relevance} | {name: path for name, path in others.items() if path} | slices

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The tables behind `files`, read once."""
        asked = [role for role, path in self.files.items() if path == STDIN]
        if len(asked) > 1:
            raise ConfigError("standard input can be read once", f"- for {' and '.join(asked)}", "put one in a file")
        return {role: self._open(role, path) for role, path in self.files.items()}

    @cached_property
    def streamed(self) -> bool:
        """Whether lists or relevance are larger than memory, so that their paths are handed on and not their tables."""
        from bridgeval.io.datasets import estimate_memory, open_dataset, parse_bytes

        paths = [*self.recommendations.values(), self.relevance]
        if STDIN in paths or self.recs_columns or self.truth_columns or self.text_ids:
            return False
        budget = parse_bytes(self.memory)
        try:
            found = [(path, open_dataset(path)) for path in paths]
            return any(dataset is not None and estimate_memory(path, dataset) > budget for path, dataset in found)
        except (ValueError, OSError):
            # Whoever reads the file will say what is wrong with it.
            return False

    def extras(self) -> dict[str, Any]:
        """The arguments that `evaluate` and `inspect` share, beside the metrics."""
        given = {name: self.tables[name] for name in PATHS if name in self.tables}
        return given | {"columns": self.columns or None, "loader": self.loader}

    def slices(self) -> list[Any] | None:
        """The tables of slices."""
        return [self.tables[f"by[{path}]"] for path in self.by] or None

    def _open(self, role: str, path: str) -> Any:
        kind = role.partition("[")[0]
        names = {
            "recommendations": self.recs_columns,
            "baseline": self.recs_columns,
            "relevance": self.truth_columns,
            "history": self.history_columns,
        }.get(kind, ())
        if self.streamed and kind in ("recommendations", "relevance"):
            return path
        with waiting_for(f"reading {path}"):
            return read_input(path, names, self.text_ids)


@dataclass(frozen=True)
class Outcome:
    """What a request came to: a report, and what the inspection found, of each system."""

    reports: Mapping[str, Report]
    inspections: Mapping[str, Inspection]


def run(request: Request, progress: bool | None = None) -> Outcome:
    """Evaluates every system of a request."""
    import bridgeval
    from bridgeval.engine.plan import pick_device

    pick_device(request.device)
    reports, inspections = {}, {}
    if request.inspect and request.streamed:
        told = "the files are larger than memory, so they were not inspected; --memory decides what is large"
        warnings.warn(told, BridgevalWarning, stacklevel=2)
    for system in request.recommendations:
        lists, truth = request.tables[f"recommendations[{system}]"], request.tables["relevance"]
        if request.inspect and not request.streamed:
            with waiting_for(f"inspecting {system}"):
                inspections[system] = bridgeval.inspect(
                    lists, truth, request.metrics, convention=request.convention, **request.extras()
                )
        reports[system] = bridgeval.evaluate(
            lists,
            truth,
            request.metrics,
            convention=request.convention,
            per_user=bool(request.per_user or request.report),
            by=request.slices(),
            device=request.device,
            batch_size=request.batch_size,
            memory=request.memory,
            progress=progress,
            **request.extras(),
        )
    return Outcome(reports, inspections)


def read_input(path: str, names: tuple[str, ...] = (), text_ids: bool = False) -> Any:
    """What is in a file: a table, or the scores of a `.npy` matrix."""
    import pyarrow as pa

    from bridgeval.io import files

    if path == STDIN:
        table = files.parse_table(pa.BufferReader(sys.stdin.buffer.read()), "standard input", names, text_ids)
    elif files.detect_kind(files.read_head(path)) == "numpy":
        return _matrix(path)
    else:
        table = files.read_table(path, names, text_ids)
    if not table.num_rows:
        columns = ", ".join(map(repr, table.column_names))
        raise InputError(f"{path!r} has no rows", f"columns {columns}", "was it written before there was anything?")
    return table


def _matrix(path: str) -> Any:
    import numpy as np

    import bridgeval

    if not hasattr(bridgeval, "Scores"):
        raise InputError(
            f"{path!r} is a score matrix, which this version cannot read", hint="write (user, item, score)"
        )
    try:
        return bridgeval.Scores(np.load(path, allow_pickle=False))
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path!r} cannot be read", str(error), "write it with numpy.save, without objects") from error


def parse_system(text: str) -> tuple[str, str]:
    """The name and the file of a system: `bpr=runs/1.parquet`, or a file, which is its own name.

    >>> parse_system("bpr=runs/1.parquet"), parse_system("runs/als.tsv.gz")
    (('bpr', 'runs/1.parquet'), ('als', 'runs/als.tsv.gz'))
    """
    name, equals, path = text.partition("=")
    if equals and name and "/" not in name and not os.path.exists(text):
        return name, path
    bare = Path(text).name.partition(".")[0]
    return ("stdin" if text == STDIN else bare or text), text


def name_systems(systems: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Name -> file; an error where two have one name."""
    named: dict[str, str] = {}
    for name, path in systems:
        if name in named:
            found = f"{named[name]!r} and {path!r}"
            raise ConfigError(f"two systems are called {name!r}", found, f"name one: other={path}")
        named[name] = path
    return named


def read_config(path: str) -> dict[str, Any]:
    """The settings in a TOML or YAML file; paths in it are taken from where the file is."""
    import yaml

    if not os.path.isfile(path):
        raise ConfigError("there is no config file", f"{path!r}", "check the path")
    text = Path(path).read_text(encoding="utf-8")
    try:
        settings = tomllib.loads(text) if path.endswith(".toml") else yaml.safe_load(text)
    except (tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        raise ConfigError(
            f"{path!r} cannot be read", " ".join(str(error).split()), "TOML or YAML is expected"
        ) from error
    if not isinstance(settings, dict):
        raise ConfigError(
            f"{path!r} holds no settings", f"a {type(settings).__name__}", "write e.g. metrics: [nDCG@10]"
        )
    return {name: resolve_path(path, name, value) for name, value in settings.items()}


def build_request(settings: Mapping[str, Any], where: str = "the command") -> Request:
    """A validated Request; an error names the setting, and the nearest one where the name is wrong."""
    try:
        return Request.model_validate(dict(settings))
    except ValidationError as error:
        first = error.errors()[0]
        own = first.get("ctx", {}).get("error")
        if isinstance(own, ConfigError):
            raise own from None
        name = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            near = difflib.get_close_matches(name, Request.model_fields, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the settings are {', '.join(Request.model_fields)}"
            raise ConfigError(f"{where} has no setting {name!r}", hint=hint) from None
        found = "nothing" if first["type"] == "missing" else repr(first["input"])
        raise ConfigError(
            f"{where}: {name}: {first['msg']}", found, "docs/command-line.md lists the settings"
        ) from None


def resolve_path(config: str, name: str, value: Any) -> Any:
    """A setting whose paths are taken from where the config is."""
    if name not in (*PATHS, "recommendations", "relevance", "by", "out", "report", "per_user"):
        return value
    if isinstance(value, dict):
        return {key: resolve_path(config, name, one) for key, one in value.items()}
    if isinstance(value, list):
        return [resolve_path(config, name, one) for one in value]
    if not isinstance(value, str) or value == STDIN:
        return value
    return os.path.join(os.path.dirname(config), value)


if __name__ == "__main__":
    # The JSON schema of a config file, which is published in docs/.
    print(json.dumps(Request.model_json_schema(), indent=2))
