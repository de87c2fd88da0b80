"""Values that LibRec itself computed: from the logs, and from `output.xml` if there is no log.

The log comes first, because librec-auto 0.2.13 loses exponents when it copies values to `output.xml`. Values of Python
metrics in `output.xml` are not read: they may be listed under the wrong fold.
"""

from __future__ import annotations

import re
from pathlib import Path

from bridgeval.errors import BadValueError
from bridgeval.toolkits.librec.study_config import read_xml

TEST_SET = re.compile(r"Dataset: \[.*?cv_(\d+)[\\/]test\.txt\]")
VALUE = re.compile(r"Evaluator info:\s*(\w+) is (\S+)")

JavaValues = dict[int, dict[str, float]]


def read_java_values(experiment: Path) -> JavaValues:
    """Reads one experiment's folder: fold -> name in the log -> value. Empty if there is neither log nor output."""
    logs = sorted((experiment / "log").glob("librec-*.log"))
    logged = read_log(logs[-1]) if logs else {}
    output = experiment / "output.xml"
    return logged or (read_output(output) if output.is_file() else {})


def read_log(log: Path) -> JavaValues:
    """Reads the values of one log; for a fold that was evaluated twice, the later ones."""
    values: JavaValues = {}
    fold = 1
    for number, line in enumerate(log.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if (found := TEST_SET.search(line)) is not None:
            fold = int(found[1])
        elif (found := VALUE.search(line)) is not None:
            values.setdefault(fold, {})[found[1]] = _parse_number(found[2], f"{log}, line {number}")
    return values


def read_output(output: Path) -> JavaValues:
    """Reads the Java values of an experiment's `output.xml`."""
    return {
        int(fold.get("id", "1")): {
            name: _parse_number((metric.text or "").strip(), f"{output}, {name}")
            for metric in fold.iterfind("metric")
            if not (name := metric.get("name", "")).endswith(".py")
        }
        for fold in read_xml(output).iterfind("results/folds/cv")
    }


def _parse_number(text: str, where: str) -> float:
    """Parses a Java double, including exponents, NaN and Infinity."""
    try:
        return float(text)
    except ValueError:
        raise BadValueError(f"{where}: not a number", repr(text), "was the file edited?") from None
