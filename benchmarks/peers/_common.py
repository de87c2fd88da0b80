"""What the peers' scripts share: arguments, timing, memory, and the one JSON object they print.

A script describes its library as a `Peer` and calls `main(peer)`. It is run by the interpreter of that
library's own environment, so this module uses the standard library and pandas only.

The scripts carry the names of the libraries that they run, and Python puts a script's folder first on the
import path: `import ranx` inside `ranx.py` would find the script. Importing this module takes the folder off
the path again; the scripts import it at the top and their library inside functions.
"""

import argparse
import contextlib
import gc
import importlib.metadata
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]

METRICS = ("Precision", "Recall", "nDCG", "MAP", "MRR", "HitRate")
BINARY_DEFINITIONS = {
    "users": "users with truth; one without recommendations scores 0",
    "Precision": "hits / k",
    "Recall": "hits / relevant",
    "nDCG": "binary gain, log2(rank + 1), ideal list of min(k, relevant) hits",
    "MAP": "sum of precision at hits / min(k, relevant)",
    "MRR": "1 / rank of the first hit within k, else 0",
    "HitRate": "1 if there is a hit within k, else 0",
}
"""What most of the literature means by `METRICS`, where an item is relevant or not."""

Frame = Any
"""A pandas, polars or Spark data frame: each peer reads its own."""
Option = bool | int | float | str
Values = dict[str, float]
"""Metric name with its cutoff, such as "nDCG@10" -> the mean over users."""
PerUser = dict[str, dict[str, float]]
"""Metric name with its cutoff -> user id as a string -> value."""


@dataclass(frozen=True)
class Question:
    """What is asked of a peer: metrics by their names in `METRICS`, at cutoffs, under options."""

    metrics: tuple[str, ...]
    ks: tuple[int, ...]
    options: Mapping[str, Option]

    def pairs(self) -> list[tuple[str, int]]:
        """Every metric at every cutoff, in the order asked for."""
        return [(metric, k) for metric in self.metrics for k in self.ks]


@dataclass(frozen=True)
class Peer:
    """One library: how it reads, evaluates and defines.

    Attributes:
        library: the name to report.
        distribution: the name that its version is looked up by.
        evaluate: (recommendations, truth, question) -> values; all of it is measured.
        per_user: the same for per-user values; never measured.
        definitions: options -> metric -> what the library divides by, in words; "users" says who counts.
        readers: name of a kind of frame -> how it reads a Parquet file; the first is the default.
        options: the options of the library that can be changed, with its defaults.
    """

    library: str
    distribution: str
    evaluate: Callable[[Frame, Frame, Question], Values]
    per_user: Callable[[Frame, Frame, Question], PerUser]
    definitions: Callable[[Mapping[str, Option]], dict[str, str]]
    readers: Mapping[str, Callable[[Path], Frame]] = field(default_factory=lambda: {"pandas": pd.read_parquet})
    options: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """Seconds that one call took: on the clock, and on the processors by this process and its children."""

    wall: float
    cpu: float


def main(peer: Peer) -> None:
    """Answer the command line's question with `peer` and print one JSON object."""
    arguments = _arguments(peer)
    question = Question(arguments.metrics, arguments.ks, arguments.options)
    # Libraries may print; standard output is kept for the answer alone.
    with contextlib.redirect_stdout(sys.stderr):
        answer = _answer(peer, question, arguments)
    print(json.dumps(answer, allow_nan=False))


def nested_dicts(frame: pd.DataFrame, value: str) -> dict[str, dict[str, Any]]:
    """The form that TREC tools take: {user: {item: value}} with string ids, in the order of the rows."""
    nested: dict[str, dict[str, Any]] = {}
    users, items = strings(frame["user_id"]), strings(frame["item_id"])
    for user, item, number in zip(users, items, frame[value].tolist(), strict=True):
        nested.setdefault(user, {})[item] = number
    return nested


def strings(ids: pd.Series) -> list[str]:
    """Ids as Python strings; those that are strings already are not converted again."""
    values = ids.tolist()
    return values if not pd.api.types.is_numeric_dtype(ids) else list(map(str, values))


def _answer(peer: Peer, question: Question, arguments: argparse.Namespace) -> dict[str, Any]:
    read = peer.readers[arguments.frame]
    _warm_up(peer, question, arguments)

    started = time.perf_counter()
    recommendations, truth = read(arguments.recommendations), read(arguments.truth)
    read_wall = time.perf_counter() - started

    values: Values = {}
    usages = []
    for _ in range(arguments.repeat):
        gc.collect()
        values, usage = _measured(lambda: peer.evaluate(recommendations, truth, question))
        usages.append(usage)
    answer = {
        "library": peer.library,
        "version": importlib.metadata.version(peer.distribution),
        "frame": arguments.frame,
        "options": dict(question.options),
        "values": _finite(values),
        "definition": _relevant_definitions(peer, question),
        "wall": [usage.wall for usage in usages],
        "cpu": [usage.cpu for usage in usages],
        "peak_mb": _peak_mb(),
        "read_wall": read_wall,
    }
    if arguments.per_user:
        per_user = peer.per_user(recommendations, truth, question)
        answer["per_user"] = {name: _finite(of_user) for name, of_user in per_user.items()}
    return answer


def _warm_up(peer: Peer, question: Question, arguments: argparse.Namespace) -> None:
    """Import, compile and start what the library needs, on too few users to matter.

    They are users of the data because ranx compiles anew for every length of ids, those with the largest ids
    because these are the longest, and 20 because ranx stays on one thread for good once it has seen fewer
    than 10.
    """
    read = peer.readers[arguments.frame]
    few = _first_rows if arguments.frame == "file" else _rows_of_few_users
    with tempfile.TemporaryDirectory() as folder:
        frames = []
        for name, rows in zip(("recommendations", "truth"), few(arguments), strict=True):
            rows.to_parquet(Path(folder, name))
            frames.append(read(Path(folder, name)))
        peer.evaluate(*frames, question)


def _rows_of_few_users(arguments: argparse.Namespace) -> list[pd.DataFrame]:
    users = pd.read_parquet(arguments.truth, columns=["user_id"])["user_id"]
    wanted = [("user_id", "in", sorted(users.unique())[-20:])]
    return [pd.read_parquet(path, filters=wanted) for path in (arguments.recommendations, arguments.truth)]


def _first_rows(arguments: argparse.Namespace) -> list[pd.DataFrame]:
    """Of files that may be larger than the memory allowed."""
    import pyarrow.parquet as pq

    return [
        next(pq.ParquetFile(path).iter_batches(batch_size=1000)).to_pandas()
        for path in (arguments.recommendations, arguments.truth)
    ]


def _relevant_definitions(peer: Peer, question: Question) -> dict[str, str]:
    asked = {*question.metrics, "users"}
    return {name: words for name, words in peer.definitions(question.options).items() if name in asked}


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    """Numbers that JSON can hold: what is undefined becomes null."""
    return {name: float(value) if math.isfinite(value) else None for name, value in values.items()}


# --- arguments -------------------------------------------------------------------------------------------


def _arguments(peer: Peer) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"Evaluate with {peer.library} and print one JSON object.")
    parser.add_argument("recommendations", type=Path, help="Parquet file with user_id, item_id, score")
    parser.add_argument("truth", type=Path, help="Parquet file with user_id, item_id, relevance")
    parser.add_argument("--metrics", type=_metrics, default=METRICS, help=f"of {','.join(METRICS)}; all if not given")
    parser.add_argument("--ks", type=_cutoffs, default=(5, 10, 20, 50), help="cutoffs, such as 5,10")
    parser.add_argument("--repeat", type=int, default=3, help="how often to measure")
    parser.add_argument("--frame", choices=list(peer.readers), default=next(iter(peer.readers)))
    parser.add_argument("--per-user", action="store_true", help="also print per-user values (not measured)")
    shown = ", ".join(f"{name}={default}" for name, default in peer.options.items()) or "none"
    parser.add_argument("--option", action="append", default=[], help=f"name=value; defaults: {shown}")
    arguments = parser.parse_args()
    try:
        arguments.options = _options(arguments.option, peer.options)
    except ValueError as error:
        parser.error(str(error))
    return arguments


def _metrics(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown metrics {unknown}; known are {', '.join(METRICS)}")
    return names


def _cutoffs(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _options(given: Sequence[str], defaults: Mapping[str, Option]) -> dict[str, Option]:
    """The defaults, changed by the given "name=value"; a value has the type of its default."""
    options = dict(defaults)
    for text in given:
        name, separator, value = text.partition("=")
        if not separator or name not in defaults:
            raise ValueError(f"--option {text}: expected name=value with a name of {', '.join(defaults) or 'none'}")
        options[name] = _as_type_of(defaults[name], value)
    return options


def _as_type_of(default: Option, text: str) -> Option:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise ValueError(f"expected true or false, found {text!r}")
        return text.lower() == "true"
    return type(default)(text)


# --- measuring -------------------------------------------------------------------------------------------


def _measured(call: Callable[[], Values]) -> tuple[Values, Usage]:
    cpu, wall = _cpu_seconds(), time.perf_counter()
    result = call()
    wall = time.perf_counter() - wall
    return result, Usage(wall, _cpu_seconds() - cpu)


def _cpu_seconds() -> float:
    """Processor time of this process and, where the system tells, of its descendants (Spark's are Java)."""
    descendants = _process_tree()[1:]
    return time.process_time() + sum(_cpu_seconds_of(process) for process in descendants)


def _cpu_seconds_of(process: int) -> float:
    """User and system time of a process and of its ended children."""
    fields = _stat(process)
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _peak_mb() -> float:
    """Largest resident memory so far, reading and warm-up included.

    Summed over the process and its descendants; their peaks need not coincide, so that with descendants it
    is an upper bound.
    """
    peaks = [_peak_kb_of(process) for process in _process_tree()]
    if any(peaks):
        return sum(peaks) / 1024
    import resource  # not on Windows

    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _peak_kb_of(process: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def _process_tree() -> list[int]:
    """This process and all its descendants; this process alone where there is no /proc."""
    children: dict[int, list[int]] = {}
    for process in [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]:
        fields = _stat(process)
        if fields:
            children.setdefault(int(fields[1]), []).append(process)
    tree = [os.getpid()]
    for process in tree:  # grows while it is walked
        tree.extend(children.get(process, []))
    return tree


def _stat(process: int) -> list[str]:
    """The fields of /proc/<process>/stat after the command's name, from the state on; [] if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return []
