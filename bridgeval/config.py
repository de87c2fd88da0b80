"""Request: one evaluation of files, as flags, a config file or a manifest ask for it."""

# ruff: noqa: RUF009 (_setting makes a field of a dataclass)

from __future__ import annotations

import difflib
import json
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bridgeval.errors import BridgevalWarning, ConfigError, InputError
from bridgeval.io.columns import GAIN, RANK, SCORE
from bridgeval.io.places import DUCKDB, hide_secrets, is_place, open_place
from bridgeval.progress import announce

if TYPE_CHECKING:
    from bridgeval.inspection import Inspection
    from bridgeval.report import Report
    from bridgeval.report.example_lists import Examples

STDIN = "-"
PATHS = ("history", "catalogue", "item_groups", "user_groups", "item_features", "prev_scores", "baseline", "users")
OUTPUTS = ("out", "report", "per_user", "state")
LISTS = ("metrics", "by", "log", "tags", "recs_columns", "truth_columns", "history_columns")
# The names of files that hold relevant items.
TRUTH_NAMES = (
    "truth",
    "ground_truth",
    "groundtruth",
    "gt",
    "qrels",
    "relevance",
    "relevant",
    "labels",
    "test",
    "holdout",
)
Format = Literal["table", "json", "csv", "md", "latex"]


def _setting(description: str, default: Any = MISSING, **more: Any) -> Any:
    """A field of Request; pydantic finds the rest in its metadata."""
    if isinstance(default, dict):
        return field(default_factory=dict, metadata={"description": description, **more})
    return field(default=default, metadata={"description": description, **more})


@dataclass(frozen=True)
class Request:
    """One evaluation of files. Paths may be globs or folders of Parquet files; `-` is standard input."""

    __pydantic_config__ = {"extra": "forbid", "title": "bridgeval config"}  # noqa: RUF012

    recommendations: dict[str, str] = _setting("System name -> file. A file or a list of files also does.")
    relevance: str = _setting("The file of relevant items.")
    metrics: tuple[str, ...] = _setting('Names, e.g. "nDCG@5,10".', ("nDCG@10", "Recall@10"))
    convention: str | None = _setting("The toolkit that defines names without a prefix.", None)
    history: str | None = _setting("The file of training interactions.", None)
    catalogue: str | None = _setting("The file of all items that could have been shown.", None)
    item_groups: str | None = _setting("A file: item and its group.", None)
    user_groups: str | None = _setting("A file: user and their group.", None)
    item_features: str | None = _setting("A file: item and one feature per row.", None)
    prev_scores: str | None = _setting("The file of the logging policy's scores.", None)
    baseline: str | None = _setting("The file of another system's recommendations.", None)
    users: str | None = _setting('The file of users that count under users="given".', None)
    context: dict[str, str] = _setting(
        "Name -> a file: item or user ids and a column, for metrics that ask for it.", {}
    )
    by: tuple[str, ...] = _setting("Files of slices: user or item ids, and columns of labels.", ())
    columns: dict[str, str | None] = _setting("Part (user, item, score, rank, gain) -> column; empty for none.", {})
    recs_columns: tuple[str, ...] = _setting("Columns in order, for recommendations without a header.", ())
    truth_columns: tuple[str, ...] = _setting("Columns in order, for relevance without a header.", ())
    history_columns: tuple[str, ...] = _setting("Columns in order, for a history without a header.", ())
    mask_seen: bool = _setting("Drop recommended items that the user has in the history.", False)
    text_ids: bool = _setting("Read ids as text even if they look like numbers.", False)
    loader: str | None = _setting("The loader, if several fit.", None)
    device: str = _setting("auto, cpu, cuda, ...", "auto")
    batch_size: int | None = _setting("Users in a batch.", None, ge=1)
    memory: str | None = _setting('The memory budget, e.g. "2GB"; larger files are streamed.', None)
    inspect: bool = _setting("Check the data for problems and print the serious ones.", True)
    format: Format = _setting("The output format.", "table")
    out: str | None = _setting("The file for the numbers; the terminal if left out.", None)
    report: str | None = _setting("The file for the HTML page.", None)
    log: tuple[str, ...] = _setting('Sinks for the results, e.g. "jsonl:path=runs.jsonl".', ())
    store: str | None = _setting("The folder of runs that the results are added to.", None)
    tags: tuple[str, ...] = _setting("Names for the run in `store`.", ())
    per_user: str | None = _setting("The file for per-user values, as Parquet.", None)
    state: str | None = _setting("The file for the states, for `bridgeval merge`; of one system.", None)

    def changes(self) -> dict[str, Any]:
        """The settings that are not the default."""
        nothing = Request({}, "")
        values = {name: getattr(self, name) for name in SETTINGS}
        return {name: value for name, value in values.items() if value != getattr(nothing, name)}

    @cached_property
    def files(self) -> dict[str, str]:
        """Every file that is read: role -> path; systems are called `recommendations[name]`."""
        roles = {f"recommendations[{name}]": path for name, path in self.recommendations.items()}
        others = {name: getattr(self, name) for name in ("relevance", *PATHS)}
        tables = {f"context[{name}]": path for name, path in self.context.items()}
        slices = {f"by[{path}]": path for path in self.by}
        return roles | {name: path for name, path in others.items() if path} | tables | slices

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The tables behind `files`, read once."""
        asked = [role for role, path in self.files.items() if path == STDIN]
        if len(asked) > 1:
            raise ConfigError("standard input can be read once", f"- for {' and '.join(asked)}", "put one in a file")
        _refuse_truth_by_name(self)
        tables = {role: self._open(role, path) for role, path in self.files.items()}
        _refuse_truth_by_columns(self, tables)
        return tables

    @cached_property
    def _places(self) -> dict[str, Any]:
        """URL or query -> the local file or the relation behind it."""
        return {path: open_place(path) for path in dict.fromkeys(self.files.values()) if is_place(path)}

    def locate(self, path: str) -> Any:
        """A path as it is; of a URL the local copy, of a query the relation."""
        return self._places.get(path, path)

    @cached_property
    def streamed(self) -> bool:
        """Whether lists or relevance are larger than memory, so that their paths are handed on and not their tables."""
        from bridgeval.io.datasets import estimate_memory, open_file_table, parse_bytes
        from bridgeval.io.files import is_path

        given = [*self.recommendations.values(), *filter(None, [self.relevance])]
        paths = [path for path in map(self.locate, given) if is_path(path)]
        if self._loader_gets_paths:
            return False
        if STDIN in paths or self.recs_columns or self.truth_columns or self.text_ids:
            return False
        budget = parse_bytes(self.memory)
        try:
            tables = [open_file_table(os.fspath(path)) for path in paths]
            return any(table is not None and estimate_memory(table) > budget for table in tables)
        except (ValueError, OSError):
            # The reader of the file explains what is wrong with it.
            return False

    def check_outputs(self) -> None:
        """Raises if an output cannot be written, a sink is not there or a tag is none; called before evaluating."""
        from bridgeval.io.outputs import check_outputs

        check_outputs({name: getattr(self, name) for name in OUTPUTS}, self.files.values())
        if self.tags:
            from bridgeval.report.run_files import check_tags

            check_tags(self.tags)
            if not self.store:
                raise ConfigError("a tag names a run in a folder", hint="give the folder with --store", argument="tags")
        if self.log:
            from bridgeval.report.sinks import find_sink, parse_log

            for sink, _ in map(parse_log, self.log):
                find_sink(sink)

    def extras(self) -> dict[str, Any]:
        """The arguments that `evaluate` and `inspect` share, beside the metrics."""
        given = {name: self.tables[name] for name in PATHS if name in self.tables}
        # TOML has no null: an empty name says that no column plays the part.
        columns = {part: name or None for part, name in self.columns.items()}
        masked = {"mask_seen": True} if self.mask_seen else {}
        tables = {name: self.tables[f"context[{name}]"] for name in self.context}
        named = {"context": tables} if tables else {}
        return given | {"columns": columns or None, "loader": self.loader} | named | masked

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
        found = self.locate(path)
        if self._loader_gets_paths:
            return self._hand_on(found, names)
        if not isinstance(found, str | os.PathLike) or (self.streamed and kind in ("recommendations", "relevance")):
            return found
        with announce(f"reading {path}"):
            return read_input(os.fspath(found), kind, names, self.text_ids)

    @property
    def _loader_gets_paths(self) -> bool:
        from bridgeval.loading import gets_paths

        return gets_paths(self.loader)

    def _hand_on(self, path: Any, names: tuple[str, ...]) -> Any:
        """A path that the loader reads itself."""
        if path == STDIN or names or self.text_ids:
            raise ConfigError(
                f"the loader {self.loader!r} reads files itself",
                "standard input" if path == STDIN else "names of columns, or ids as text",
                "leave these out, or leave out {argument}",
                argument="loader",
            )
        return path


def _refuse_truth_by_name(request: Request) -> None:
    """Raises if a system is the file of the truth, or, unlike that one, is called as a truth is."""
    truth = request.relevance
    for name, path in request.recommendations.items():
        named = name in TRUTH_NAMES and parse_system(truth)[0] not in TRUTH_NAMES
        if name == parse_system(path)[0] and path != STDIN and (path == truth or named):
            raise ConfigError(
                f"{path!r} is given as a system, but looks like the truth",
                f"{truth!r} as TRUTH",
                f"TRUTH comes last, or is named with --truth; if it is a system, name it: mine={path}",
            )


def _refuse_truth_by_columns(request: Request, tables: Mapping[str, Any]) -> None:
    """Raises if the truth has scores or ranks, as recommendations have, and no gains, and a system has none."""
    names: dict[str, Sequence[str]] = {role: getattr(table, "column_names", ()) for role, table in tables.items()}
    truth, columns = names.get("relevance", ()), request.columns
    scored = [name for name in truth if name.lower() in {*SCORE, *RANK} - {*GAIN}]
    if not scored or any(name.lower() in GAIN or name == columns.get("gain") for name in truth):
        return
    for system in request.recommendations:
        shown = names[f"recommendations[{system}]"]
        ranked = {columns.get("score"), columns.get("rank")}
        if shown and not any(name.lower() in (*SCORE, *RANK) or name in ranked for name in shown):
            raise ConfigError(
                f"TRUTH and RECS seem to be exchanged: {request.relevance!r} has scores and {system!r} has none",
                f"{scored[0]!r} in {request.relevance!r}; columns {', '.join(map(repr, shown))} of {system!r}",
                f"TRUTH comes last, or is named with --truth; for a gain say --columns gain={scored[0]}",
            )


SETTINGS = tuple(one.name for one in fields(Request))


@dataclass(frozen=True)
class Outcome:
    """The results of a request: a report and an inspection of each system."""

    reports: Mapping[str, Report]
    inspections: Mapping[str, Inspection]


def run(request: Request, progress: bool | None = None) -> Outcome:
    """Evaluates every system of a request."""
    import bridgeval
    from bridgeval.engine.plan import pick_device

    pick_device(request.device)
    request.check_outputs()
    reports, inspections = {}, {}
    if request.state and len(request.recommendations) > 1:
        systems = ", ".join(request.recommendations)
        raise ConfigError("a state file holds one system", f"{systems}", "evaluate them one by one", argument="state")
    if request.inspect and request.streamed:
        told = "the files are larger than memory, so they were not inspected; --memory decides what is large"
        warnings.warn(told, BridgevalWarning, stacklevel=2)
    for system in request.recommendations:
        if request.inspect and not request.streamed:
            inspections[system] = inspect_system(request, system)
        reports[system] = bridgeval.evaluate(
            request.tables[f"recommendations[{system}]"],
            request.tables["relevance"],
            request.metrics,
            convention=request.convention,
            per_user=bool(request.per_user or request.report or request.store),
            by=request.slices(),
            device=request.device,
            batch_size=request.batch_size,
            memory=request.memory,
            progress=progress,
            state=request.state,
            **request.extras(),
        )
    return Outcome(reports, inspections)


def look_up_examples(request: Request, reports: Mapping[str, Report], baseline: str | None = None) -> Examples | None:
    """The users and items to look at on the page, by its headline metric; None if there are none to look up."""
    import bridgeval
    from bridgeval.engine.metric import UserMetric
    from bridgeval.report.page.page_data import PageData

    data = PageData(reports, {}, {})
    metric = next((one for name in data.leading if isinstance(one := data.metrics[name], UserMetric)), None)
    systems = {name: request.tables[f"recommendations[{name}]"] for name in request.recommendations if name in reports}
    if metric is None or not systems or request.streamed:
        return None
    with announce("looking up users and items"):
        truth = request.tables["relevance"]
        return bridgeval.find_examples(systems, truth, metric, baseline=baseline, **request.extras())


def inspect_system(request: Request, system: str) -> Inspection:
    """Inspects one system of a request."""
    import bridgeval

    lists, truth = request.tables[f"recommendations[{system}]"], request.tables["relevance"]
    with announce(f"inspecting {system}"):
        return bridgeval.inspect(lists, truth, request.metrics, convention=request.convention, **request.extras())


def read_input(path: str, role: str, names: tuple[str, ...] = (), text_ids: bool = False) -> Any:
    """Reads a file with the reader of its kind: a table, the scores of a matrix, or what a plugin makes of it."""
    from bridgeval import loading, plugins

    options: dict[str, Any] = ({"names": names} if names else {}) | ({"text_ids": True} if text_ids else {})
    if path == STDIN:
        import pyarrow as pa

        from bridgeval.io.files import parse_table

        found: Any = parse_table(pa.BufferReader(sys.stdin.buffer.read()), "standard input", names, text_ids)
    else:
        known = plugins.installed()
        found = loading.read_with(known, loading.choose_reader(known, path), path, role, **options)
    if getattr(found, "num_rows", None) == 0:
        columns = ", ".join(map(repr, found.column_names))
        raise InputError(f"{path!r} has no rows", f"columns {columns}", "check that it was written completely")
    return found


def parse_system(text: str) -> tuple[str, str]:
    """The name and the file of a system: `bpr=runs/1.parquet`, or a file, which is its own name.

    >>> parse_system("bpr=runs/1.parquet"), parse_system("runs/als.tsv.gz")
    (('bpr', 'runs/1.parquet'), ('als', 'runs/als.tsv.gz'))
    """
    name, equals, path = text.partition("=")
    if equals and name and "/" not in name and not is_place(text) and not os.path.exists(text):
        return name, path
    bare = DUCKDB[:-1] if text.startswith(DUCKDB) else Path(hide_secrets(text)).name.partition(".")[0]
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
    from bridgeval.io.documents import read_settings

    if not os.path.isfile(path):
        raise ConfigError("there is no config file", f"{path!r}", "check the path")
    settings = read_settings(path, "TOML or YAML is expected", ConfigError)
    if not isinstance(settings, dict):
        raise ConfigError(
            f"{path!r} holds no settings", f"a {type(settings).__name__}", "write e.g. metrics: [nDCG@10]"
        )
    return {name: resolve_path(path, name, value) for name, value in settings.items()}


def build_request(settings: Mapping[str, Any], source: str = "") -> Request:
    """The Request of some settings.

    Args:
        settings: by name. One file, or a list of files, will do as `recommendations`, and one name as a list of names.
        source: the file that they come from, which is validated. The command's options are validated already; to import
            pydantic takes a tenth of the time that a small evaluation takes.
    """
    found = {name: _as_tuple(value) if name in LISTS else value for name, value in settings.items()}
    systems = found.get("recommendations")
    if isinstance(systems, str) or (isinstance(systems, list | tuple) and all(isinstance(one, str) for one in systems)):
        found["recommendations"] = name_systems(map(parse_system, _as_tuple(systems)))
    return _validate(found, source) if source else Request(**found)


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


def _validate(settings: dict[str, Any], source: str) -> Request:
    """A Request; an error names the setting, and the nearest one if the name is wrong."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(Request).validate_python(settings)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            near = difflib.get_close_matches(name, SETTINGS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the settings are {', '.join(SETTINGS)}"
            raise ConfigError(f"{source} has no setting {name!r}", hint=hint) from None
        found = "nothing" if first["type"].startswith("missing") else repr(first["input"])
        raise ConfigError(
            f"{source}: {name}: {first['msg']}", found, "docs/command-line.md lists the settings"
        ) from None


def config_schema() -> dict[str, Any]:
    """The JSON schema of a config file, which is published in docs/."""
    from pydantic import TypeAdapter

    return TypeAdapter(Request).json_schema()


def resolve_path(config: str, name: str, value: Any) -> Any:
    """A setting whose paths are taken from where the config is."""
    if name not in (*PATHS, *OUTPUTS, "recommendations", "relevance", "context", "by", "store"):
        return value
    if isinstance(value, dict):
        return {key: resolve_path(config, name, one) for key, one in value.items()}
    if isinstance(value, list):
        return [resolve_path(config, name, one) for one in value]
    if not isinstance(value, str) or value == STDIN or is_place(value):
        return value
    return os.path.join(os.path.dirname(config), value)


if __name__ == "__main__":
    print(json.dumps(config_schema(), indent=2))
