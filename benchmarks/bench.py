"""bridgeval and its peers on the same data, in one run of about a quarter of an hour.

    python benchmarks/bench.py                measures everything, writes results.json, results.png, docs/benchmarks.md
    python benchmarks/bench.py --quick        10,000 users only
    python benchmarks/bench.py --only files   only cases whose name, library or data contains this
    python benchmarks/bench.py --render       writes picture and page from results.json, measures nothing

Every library gets the same frames and computes six metrics at four cutoffs, in a process of its own, after one
warm-up. Partial runs are written to benchmarks/data/ and leave the published results alone.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from goals import goals
from machine import machine
from measuring import DATA, HERE, OURS, PEERS, Library, Row, World, agreement, measure, measure_script
from page import cells, line, page, picture

DOCUMENT = HERE.parent / "docs" / "benchmarks.md"
# Seconds that one evaluation may take.
LIMIT = 300.0
# Our own cases take a fraction of a second, and the machine changes from minute to minute: each is measured in several
# processes, in turn with the others, nine times in each, and the median process counts.
TURNS = 3
OWN_REPEAT = 9


@dataclass(frozen=True)
class Case:
    """One measurement.

    Attributes:
        name: the kind of case, e.g. "frames".
        library: the library to measure.
        world: the data it gets; None for scripts that make their own.
        repeat: evaluations in the process, of which the median counts.
    """

    name: str
    library: Library
    world: World | None
    repeat: int = 3


@dataclass
class Bench:
    """The rows measured so far.

    Attributes:
        repeat: evaluations of a peer in one process.
        rows: one row for each case: the median of its turns.
        turns: all rows of each case.
        expected: our own numbers by number of users and convention.
    """

    repeat: int = 3
    rows: list[Row] = field(default_factory=list)
    turns: dict[tuple[str, ...], list[Row]] = field(default_factory=dict)
    expected: dict[tuple[int, str], dict[str, float] | None] = field(default_factory=dict)

    def cases(self, quick: bool) -> Iterator[Case]:
        """All cases, small before large."""
        ours, polars = Library("bridgeval", OURS), Library("bridgeval polars", OURS, "polars")
        base, large = (10_000, 10_000) if quick else (100_000, 1_000_000)
        small = World(10_000)
        yield Case("frames", ours, small, OWN_REPEAT)
        for peer in PEERS:
            yield Case("frames", peer, small, 1 if peer.slow else self.repeat)
        plain, *others = [World(base, *kind) for kind in (("int", "sorted"), ("int", "shuffled"), ("string", "sorted"))]
        for _ in range(TURNS):
            for world in (plain, *others, World(base, "string", "shuffled")):
                yield Case("frames", ours, world, OWN_REPEAT)
            yield Case("every metric", replace(ours, options=("task=every",)), plain, OWN_REPEAT)
        yield Case("frames", polars, plain, OWN_REPEAT)
        for world in (plain, *others):
            for peer in PEERS:
                if not peer.slow:
                    yield Case("frames", peer, world, self.repeat)
        yield Case("frames", ours, World(large), self.repeat)
        for _ in range(TURNS):
            yield Case("latency", ours, World(100, shown=10), 200)
        yield Case("command", Library("bridgeval evaluate", "command"), None)
        page_users = ("--users", str(base))
        yield Case("report page", Library("bridgeval page", "report_page", options=page_users), None)
        yield Case("spark", Library("bridgeval on Spark", "spark", options=("--json",)), None)
        for _ in range(TURNS):
            yield Case("files", read_files("1.5GB"), World(large), 1)
            for users in (base,) if quick else (200_000, 2_000_000):
                yield Case("unsorted", read_files("1GB"), World(users, order="shuffled"), 1)

    def run(self, case: Case) -> Row:
        """Measures one case and compares its numbers with ours under the same definitions."""
        if case.world is None:
            row = measure_script(case.library)
        else:
            row = measure(case.library, case.world, case.repeat, LIMIT)
        row["case"] = case.name
        if row.get("values") and case.name == "frames" and case.world is not None:
            row["agreement"] = agreement(case.library, row, self.expected_values(case.library.convention, case.world))
        self.keep(row)
        return row

    def keep(self, row: Row) -> None:
        """Adds a row; of several turns of one case `rows` holds the median."""
        turns = self.turns.setdefault((row["case"], row["library"], row["world"]), [])
        turns.append(row)
        median = sorted(turns, key=lambda one: one.get("wall", LIMIT))[len(turns) // 2]
        median["turns"] = [one["wall"] for one in turns if "wall" in one]
        self.rows[:] = [one for one in self.rows if not any(one is other for other in turns)] + [median]

    def expected_values(self, convention: str, world: World) -> dict[str, float] | None:
        """Our numbers under a convention; id type and order of rows do not change them."""
        key = (world.users, convention)
        if key not in self.expected:
            ours = Library("", OURS, options=(f"convention={convention}",))
            plain = World(world.users, shown=world.shown, relevant=world.relevant)
            self.expected[key] = measure(ours, plain, 1, LIMIT).get("values")
        return self.expected[key]


def read_files(memory: str) -> Library:
    """Our own library on Parquet files, within a memory budget."""
    return Library(f"bridgeval, memory={memory}", OURS, "file", (f"memory={memory}",))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10,000 users only")
    parser.add_argument("--only", default="", metavar="CASE", help="cases whose name, library or data contains this")
    parser.add_argument(
        "--repeat", type=int, default=3, help="evaluations of a peer in a process, of which the median counts"
    )
    parser.add_argument("--render", action="store_true", help="write picture and page from results.json")
    arguments = parser.parse_args()
    whole = arguments.render or not (arguments.quick or arguments.only)
    out = HERE if whole else DATA
    if not arguments.render:
        # The process that is being measured ends too when this one is terminated.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        run_all(arguments, out)
    results = json.loads((out / "results.json").read_text())
    document = DOCUMENT if whole else out / "benchmarks.md"
    picture(results, out / "results.png")
    document.write_text(page(results, out / "results.png", document))
    print(f"\n{goals_text(results)}\n\nwrote {out / 'results.json'}, {out / 'results.png'}, {document}")
    unequal = [row for row in results["rows"] if row.get("agreement", {}).get("unequal")]
    return 1 if unequal else 0


def run_all(arguments: argparse.Namespace, out: Path) -> None:
    """Runs the cases and writes results.json after each, so that an interrupted run keeps its results."""
    bench = Bench(arguments.repeat)
    out.mkdir(parents=True, exist_ok=True)
    results = {"machine": machine(), "rows": bench.rows}
    print(line())
    for case in bench.cases(arguments.quick):
        if arguments.only in f"{case.name}: {case.library.name}, {case.world}":
            row = bench.run(case)
            print(line(cells(row, bench.rows)), flush=True)
            (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def goals_text(results: dict) -> str:
    return "\n".join(f"{goal.mark:9} {goal.case}: {goal.asked}: {goal.found}" for goal in goals(results["rows"]))


if __name__ == "__main__":
    sys.exit(main())
