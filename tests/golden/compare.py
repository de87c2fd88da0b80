"""Compares bridgeval with numbers that the toolkits themselves produced.

    python -m tests.golden.compare [--verbose] [DIR]

runs every golden file below DIR (default: the copies in `tests/golden/data`) and prints for each toolkit how many
values were compared, how many differ, how many were skipped because the toolkit itself recorded an error there, and
how many are outside: numbers that nothing here is meant to reproduce. `--verbose` prints the reasons for those.
Where the reader says which numbers of a file are results, one that was never compared differs too.
Exit code 1 when anything differs, or is skipped for another reason, or nothing was found.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.golden.marks import MarkedFloat, MarkedInt, marked, places

DATA = Path(__file__).parent / "data"

# Toolkit -> the module that reads its files. A module has `reads(document) -> bool`, for the JSON document of a file,
# and `comparisons(path, document) -> Iterator[Comparison]`; it may have `is_output(place) -> bool`, which tells the
# toolkit's results from its inputs by their keys: each of the results must then be compared.
READERS = {
    "warprec": "tests.golden.warprec",
    "warprec-statistics": "tests.golden.warprec_stats",
    "replay": "tests.golden.replay",
    "librec": "tests.golden.librec",
    "peers": "tests.golden.peers",
}


@dataclass(frozen=True)
class Comparison:
    """One number of theirs beside ours.

    Attributes:
        where: which number, for the message.
        theirs: what the toolkit gave; None with a `skipped` reason.
        ours: what bridgeval gives.
        tolerance: relative or absolute.
        skipped: why it was not compared. "recorded error" is the only reason that is allowed.
        outside: why nothing here is meant to give this number. Every reason is pinned by a test of its reader.
        between: the lowest and the highest value that a number outside may have; one beyond them differs.
    """

    where: str
    theirs: float | None = None
    ours: float | None = None
    tolerance: float = 1e-9
    skipped: str = ""
    outside: str = ""
    between: tuple[float, ...] = ()

    @property
    def kind(self) -> str:
        """Where it is counted: "compared", "skipped" or "outside"."""
        return "skipped" if self.skipped else "outside" if self.outside else "compared"

    @property
    def differs(self) -> bool:
        if self.outside and not self.skipped:
            return bool(self.between) and not self._is_between()
        if self.skipped:
            return self.skipped != "recorded error"
        if self.theirs is None or self.ours is None:
            return self.theirs is not self.ours
        if math.isnan(self.theirs) or math.isnan(self.ours):
            return math.isnan(self.theirs) != math.isnan(self.ours)
        return not math.isclose(self.theirs, self.ours, rel_tol=self.tolerance, abs_tol=self.tolerance)

    def _is_between(self) -> bool:
        low, high = min(self.between), max(self.between)
        return self.theirs is not None and low - self.tolerance <= self.theirs <= high + self.tolerance


def number(value: Any) -> float:
    """A number as the golden files write it: null is NaN, infinities and NaN may be text."""
    if isinstance(value, MarkedFloat | MarkedInt):
        return value
    return math.nan if value is None else float(value)


def readers() -> dict[str, ModuleType]:
    """The modules of toolkits that are there."""
    here = Path(__file__).parent
    return {
        toolkit: importlib.import_module(name)
        for toolkit, name in READERS.items()
        if (here / f"{name.rpartition('.')[2]}.py").exists()
    }


def golden_files(folder: Path) -> Iterator[tuple[str, ModuleType, Path, Any]]:
    """(toolkit, reader, path, document) of every file that a reader knows."""
    known = readers()
    for path in sorted(folder.rglob("*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        for toolkit, module in known.items():
            if isinstance(document, dict) and module.reads(document):
                yield toolkit, module, path, document


def checked(module: ModuleType, path: Path, document: Any) -> Iterator[Comparison]:
    """The comparisons of a file, and one that differs for every result in it that they leave out."""
    if hasattr(module, "is_output"):
        document = marked(document, module.is_output)
    unread = places(document)
    for comparison in module.comparisons(path, document):
        unread.discard(getattr(comparison.theirs, "place", ()))
        yield comparison
    for place in sorted(unread, key=str):
        yield Comparison(f"{place} was never compared", skipped="not compared")


def main(arguments: list[str]) -> int:
    verbose = "--verbose" in arguments
    folders = [argument for argument in arguments if argument != "--verbose"]
    tallies: dict[str, Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {}
    for toolkit, module, path, document in golden_files(Path(folders[0]) if folders else DATA):
        tally, outside = tallies.setdefault(toolkit, Counter()), reasons.setdefault(toolkit, Counter())
        for comparison in checked(module, path, document):
            tally[comparison.kind] += 1
            if comparison.kind == "outside":
                outside[comparison.outside] += 1
            if comparison.differs:
                tally["differ"] += 1
                if tally["differ"] <= 20:
                    print(f"{path.name}: {comparison}", file=sys.stderr)
    for toolkit, tally in tallies.items():
        counts = " ".join(f"{kind}={tally[kind]}" for kind in ("compared", "differ", "skipped", "outside"))
        print(f"{toolkit} {counts}")
        for reason, count in reasons[toolkit].most_common() if verbose else ():
            print(f"  outside {count}: {reason}")
    failed = not tallies or any(tally["differ"] or not tally["compared"] for tally in tallies.values())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
