"""bridgeval side by side with its peers, in one run.

    python benchmarks/bench.py                measures everything, writes results.json, results.png, docs/benchmarks.md
    python benchmarks/bench.py --quick        10,000 users only
    python benchmarks/bench.py --skip-large   not the sizes that take files instead of frames
    python benchmarks/bench.py --only read    only cases whose name has this in it
    python benchmarks/bench.py --render       writes picture and page from results.json, measures nothing

Every library is given the same frames and asked for six metrics at four cutoffs, in a process of its own, after one
warm-up; what takes a fraction of a second, in nine processes in turn, files in three. Partial runs are written to
benchmarks/data/ and leave the published results alone.
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
from measuring import DATA, HERE, OURS, PEERS, SLOW, Library, Row, World, agreement, measured
from page import cells, line, page, picture

DOCUMENT = HERE.parent / "docs" / "benchmarks.md"
# Seconds that one evaluation may take.
LIMIT = 300.0
# How often what takes a fraction of a second is measured, each time in a process of its own: the middle one counts.
TURNS = 9
# The same for files, which take seconds.
TURNS_OF_FILES = 3
# Peers are measured on one kind of data from this many users on.
MANY_USERS = 1_000_000


@dataclass(frozen=True)
class Case:
    """Something to measure: its name, what, on which data, how often."""

    name: str
    library: Library
    world: World
    repeat: int = 3


@dataclass
class Bench:
    """The rows measured so far.

    Attributes:
        scale: what users and budgets of memory are multiplied by.
        turns: all rows of a case, of which `rows` has the middle one.
    """

    scale: float = 1.0
    repeat: int = 3
    rows: list[Row] = field(default_factory=list)
    turns: dict[tuple[str, ...], list[Row]] = field(default_factory=dict)
    expected: dict[tuple[int, str], dict[str, float] | None] = field(default_factory=dict)

    def cases(self, quick: bool, large: bool) -> Iterator[Case]:
        """All that is measured, small before large: what a peer takes says whether the next size can be finished."""
        base = 10_000 if quick else 100_000
        sizes = [10_000] if quick else [10_000, 100_000, *([MANY_USERS] if large else [])]
        ours, read = Library("bridgeval", OURS), Library("pandas.read_parquet", OURS, "file", ("task=read",))
        for users in sizes:
            kinds = (("int", "sorted"), ("int", "shuffled"), ("string", "sorted"), ("string", "shuffled"))
            worlds = [self.world(users, *kind) for kind in kinds]
            quick_ones = [Case("frames", ours, world, self.repeat) for world in worlds]
            if users == base:
                quick_ones += [
                    Case("every metric", replace(ours, options=("task=every",)), worlds[0], self.repeat),
                    Case("read", read, worlds[0], self.repeat),
                ]
            # What is divided by one another is measured in turn: a machine changes from minute to minute.
            for _ in range(TURNS if users <= base else 1):
                yield from quick_ones
            for world in worlds:
                yield Case("frames", Library("bridgeval polars", OURS, "polars"), world, self.repeat)
                for peer in PEERS:
                    if world == worlds[0] or (users < MANY_USERS and not peer.patient):
                        yield Case("frames", peer, world, self.repeat)
        for _ in range(TURNS):
            yield Case("latency", ours, World(100, shown=10), 200)
        for _ in range(TURNS_OF_FILES):
            for users in (base, MANY_USERS) if large and not quick else (base,):
                yield Case("files", self.from_files("1.5GB"), self.world(users), self.repeat)
        for _ in range(TURNS_OF_FILES):
            for users in (200_000, 2_000_000) if large and not quick else (base,):
                yield Case("unsorted", self.from_files("1GB"), self.world(users, order="shuffled"), self.repeat)

    def world(self, users: int, ids: str = "int", order: str = "sorted") -> World:
        return World(round(users * self.scale), ids, order)

    def from_files(self, memory: str) -> Library:
        budget = round(float(memory.removesuffix("GB")) * 1e9 * self.scale)
        return Library(f"bridgeval, memory={memory}", OURS, "file", (f"memory={budget}",))

    def run(self, case: Case) -> Row:
        """One case, its numbers compared with ours under the same definitions."""
        before = self.before(case)
        reason = too_much(before, case.world.users) if before else None
        slow = before is not None and seconds_for(before, case.world.users) > SLOW
        row = (
            measured(case.library, case.world, 1 if slow else case.repeat, LIMIT)
            if reason is None
            else self.left_out(case, reason)
        )
        row["case"] = case.name
        if row.get("values") and case.name != "every metric":
            expected = self.values_of(case.library.convention, case.world)
            row["agreement"] = agreement(case.library, row, expected)
        self.keep(row)
        return row

    def keep(self, row: Row) -> None:
        """Notes a row, in place of one of the same case that is not the middle one any more."""
        turns = self.turns.setdefault((row["case"], row["library"], row["world"]), [])
        turns.append(row)
        middle = sorted(turns, key=lambda one: one.get("wall", LIMIT))[len(turns) // 2]
        middle["turns"] = [one["wall"] for one in turns if "wall" in one]
        self.rows[:] = [one for one in self.rows if not any(one is other for other in turns)] + [middle]

    def before(self, case: Case) -> Row | None:
        """What the same peer did last, on as many users or on a tenth of them."""
        if case.library not in PEERS:
            return None
        same = (row for row in reversed(self.rows) if (row["library"], row["case"]) == (case.library.name, case.name))
        return next(same, None)

    def left_out(self, case: Case, reason: str) -> Row:
        world = case.world
        return {"library": case.library.name, "world": str(world), "users": world.users, "failure": reason}

    def values_of(self, convention: str, world: World) -> dict[str, float] | None:
        """Our numbers under a convention. Ids and order of rows do not change what the data is, so nor the numbers."""
        key = (world.users, convention)
        if key not in self.expected:
            ours = Library("", OURS, options=(f"convention={convention}",))
            plain = World(world.users, shown=world.shown, relevant=world.relevant)
            self.expected[key] = measured(ours, plain, 1, LIMIT).get("values")
        return self.expected[key]


def seconds_for(row: Row, users: int) -> float:
    """What an evaluation may take by what it took before."""
    return float(row.get("wall", LIMIT)) * users / row["users"]


def too_much(row: Row, users: int) -> str | None:
    """Why so many users are too many for a peer that did this; None where it may finish."""
    if "failure" in row:
        return row["failure"] if row["failure"].startswith("not tried") else f"not tried: {row['failure']} before"
    if seconds_for(row, users) > LIMIT:
        return f"not tried: {row['wall']:.0f} s for {row['users']:,} users"
    if row.get("frame") == "spark":
        # A JVM takes what it was given, whatever the data.
        return None
    needed, there = row["peak_mb"] * users / row["users"] / 1000, machine()["memory_gb"]
    return f"not tried: would need {needed:.0f} GB" if needed > 0.8 * there else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10,000 users only")
    parser.add_argument("--skip-large", action="store_true", help="nothing larger than 100,000 users")
    parser.add_argument("--only", default="", metavar="CASE", help="cases whose name, library or data has this in it")
    parser.add_argument("--repeat", type=int, default=3, help="measurements, of which the median counts")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies users and memory, to try things out")
    parser.add_argument("--render", action="store_true", help="write picture and page from results.json")
    parser.add_argument("--out", type=Path, help="folder for results.json, results.png and benchmarks.md")
    arguments = parser.parse_args()
    whole = not (arguments.quick or arguments.skip_large or arguments.only or arguments.scale != 1)
    out = arguments.out or (HERE if whole or arguments.render else DATA)
    if not arguments.render:
        # So that the process being measured is ended too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        measure(arguments, out)
    results = json.loads((out / "results.json").read_text())
    document = DOCUMENT if out == HERE else out / "benchmarks.md"
    picture(results, out / "results.png")
    document.write_text(page(results, out / "results.png", document))
    print(f"\n{goals_text(results)}\n\nwrote {out / 'results.json'}, {out / 'results.png'}, {document}")
    unequal = [row for row in results["rows"] if row.get("agreement", {}).get("unequal")]
    return 1 if unequal else 0


def measure(arguments: argparse.Namespace, out: Path) -> None:
    """Runs the cases and writes results.json after each, so that an interrupted run leaves what it has."""
    bench = Bench(arguments.scale, arguments.repeat)
    out.mkdir(parents=True, exist_ok=True)
    results = {"machine": machine(), "scale": arguments.scale, "rows": bench.rows}
    print(line())
    for case in bench.cases(arguments.quick, not arguments.skip_large):
        if arguments.only in f"{case.name}: {case.library.name}, {case.world}":
            row = bench.run(case)
            print(line(cells(row, bench.rows)), flush=True)
            (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def goals_text(results: dict) -> str:
    return "\n".join(f"{goal.mark:9} {goal.case}: {goal.asked}: {goal.found}" for goal in goals(results["rows"]))


if __name__ == "__main__":
    sys.exit(main())
