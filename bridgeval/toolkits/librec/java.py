"""Values that LibRec itself computed: from the logs, and from `output.xml` where there is no log.

The log is asked first, because librec-auto 0.2.13 loses exponents when it copies values to `output.xml`. Values of
Python metrics there are not read: they may stand under the wrong fold.
"""

from __future__ import annotations

import re
from pathlib import Path

from bridgeval.errors import BadValueError
from bridgeval.toolkits.librec.study_config import xml_at

TEST_SET = re.compile(r"Dataset: \[.*?cv_(\d+)[\\/]test\.txt\]")
VALUE = re.compile(r"Evaluator info:\s*(\w+) is (\S+)")

JavaValues = dict[int, dict[str, float]]


def java_values(experiment: Path) -> JavaValues:
    """Fold -> name in the log -> value, of one experiment's folder. Empty where there is neither log nor output."""
    logs = sorted((experiment / "log").glob("librec-*.log"))
    logged = logged_values(logs[-1]) if logs else {}
    output = experiment / "output.xml"
    return logged or (output_values(output) if output.is_file() else {})


def logged_values(log: Path) -> JavaValues:
    """The values in one log; of a fold that was evaluated twice, the later."""
    values: JavaValues = {}
    fold = 1
    for number, line in enumerate(log.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if (found := TEST_SET.search(line)) is not None:
            fold = int(found[1])
        elif (found := VALUE.search(line)) is not None:
            values.setdefault(fold, {})[found[1]] = _number(found[2], f"{log}, line {number}")
    return values


def output_values(output: Path) -> JavaValues:
    """The Java values in an experiment's `output.xml`."""
    return {
        int(fold.get("id", "1")): {
            name: _number((metric.text or "").strip(), f"{output}, {name}")
            for metric in fold.iterfind("metric")
            if not (name := metric.get("name", "")).endswith(".py")
        }
        for fold in xml_at(output).iterfind("results/folds/cv")
    }


def _number(text: str, where: str) -> float:
    """A Java double: exponents, NaN and Infinity included."""
    try:
        return float(text)
    except ValueError:
        raise BadValueError(f"{where}: not a number", repr(text), "was the file edited?") from None
