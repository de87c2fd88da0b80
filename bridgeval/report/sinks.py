"""Sinks: places that results are written to, by name. The built-in one appends to a file of JSON lines."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from bridgeval import plugins
from bridgeval.errors import BadParameterError, ConfigError
from bridgeval.hookspecs import Sink, hookimpl
from bridgeval.plugin_info import blame
from bridgeval.report.exports import Exports, make_plain


class JsonLinesSink:
    """Appends a line to a file for each system: time, system, metrics, users; of a comparison also the differences.

    >>> import bridgeval, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "runs.jsonl"
    >>> report = bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "Recall@1")
    >>> report.log("jsonl", path=file, run="nightly")
    >>> [line["run"], line["metrics"]] if (line := json.loads(file.read_text())) else None
    ['nightly', {'Recall@1': 1.0}]
    """

    name = "jsonl"

    def write(self, results: Exports, /, path: str | os.PathLike[str] = "bridgeval.jsonl", **tags: Any) -> None:
        """Appends to the file `path`; tags stand in every line."""
        about = {"time": datetime.now(UTC).isoformat(timespec="seconds"), **tags}
        lines = [
            {**about, "system": system, "metrics": dict(report), "users": report.population.counted}
            for system, report in results.systems.items()
        ]
        differences = getattr(results, "differences", ())
        lines += [{**about, **vars(one)} for one in differences]
        written = "".join(json.dumps(make_plain(line), ensure_ascii=False, default=str) + "\n" for line in lines)
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write(written)
        except OSError as error:
            raise ConfigError(f"{os.fspath(path)!r} cannot be written", str(error), "choose another path") from error


@hookimpl
def bridgeval_sinks() -> Iterable[Sink]:
    return [JsonLinesSink()]


def find_sink(name: str) -> Sink:
    """The sink of that name; an error lists those that are there."""
    known = plugins.installed()
    if name not in known.sinks:
        hint = known.explain_absence() or "a plugin may offer it, see docs/plugins.md"
        raise BadParameterError(f"there is no sink {name!r}", f"sinks {', '.join(known.sinks)}", hint)
    return known.sinks[name]


def log_results(results: Exports, name: str, options: dict[str, Any]) -> None:
    """Writes results to the sink of that name."""
    sink = find_sink(name)
    try:
        inspect.signature(sink.write).bind(results, **options)
    except TypeError as error:
        accepted = ", ".join(list(inspect.signature(sink.write).parameters)[1:])
        raise BadParameterError(
            f"the sink {name!r} cannot be given these options", str(error), f"it takes {accepted}"
        ) from None
    with blame(plugins.installed().find_owner("sinks", name), f"sink {name!r}"):
        sink.write(results, **options)


def parse_log(text: str) -> tuple[str, dict[str, str]]:
    """The name and the options of a sink as they are typed.

    >>> parse_log("jsonl:path=runs.jsonl,run=nightly"), parse_log("mlflow")
    (('jsonl', {'path': 'runs.jsonl', 'run': 'nightly'}), ('mlflow', {}))
    """
    name, _, given = text.partition(":")
    pairs = [pair.partition("=") for pair in given.split(",")] if given else []
    if not name or not all(equals and key for key, equals, _ in pairs):
        raise BadParameterError(f"{text!r} names no sink", hint="write NAME or NAME:key=value,key=value")
    return name, {key.strip(): value for key, _, value in pairs}
