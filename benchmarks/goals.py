"""The goals of the benchmark, and whether a run meets them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from measuring import Row


@dataclass(frozen=True)
class Goal:
    """A goal and the measured value; `met` is None where it was not measured."""

    case: str
    asked: str
    found: str
    met: bool | None

    @property
    def mark(self) -> str:
        return {True: "met", False: "missed", None: "not run"}[self.met]


class Results:
    """Rows, looked up by case and data."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = [row for row in rows if "wall" in row]

    def of(self, case: str, users: int, text: str = "", library: str = "bridgeval") -> Row | None:
        """The row of a case whose description has a text in it."""
        found = [
            row
            for row in self.rows
            if (row["case"], row["users"]) == (case, users) and text in row["world"] and row["library"] == library
        ]
        return found[0] if found else None

    def users(self, case: str) -> list[int]:
        return sorted({row["users"] for row in self.rows if row["case"] == case})

    def fastest_peer(self, users: int, text: str) -> Row | None:
        peers = [row for row in self.rows if row["case"] == "frames" and row["users"] == users and text in row["world"]]
        return min(
            (r for r in peers if not r["library"].startswith("bridgeval")), key=lambda r: r["wall"], default=None
        )


def goals(rows: Iterable[Row]) -> Iterator[Goal]:
    """Every goal: against the fastest peer, then against what a user waits for."""
    results = Results(rows)
    base = next(iter(results.users("every metric")), 100_000)
    peer = results.fastest_peer(base, "int64 ids, sorted")
    for world, times in (("int64 ids, sorted", 25), ("int64 ids, shuffled", 20), ("string ids, sorted", 15)):
        yield _speed_up(
            f"{base:,} users x 50, {world}",
            f"at least {times}x faster than the fastest peer",
            results.fastest_peer(base, world),
            results.of("frames", base, world),
            times,
        )
    every = results.of("every metric", base)
    names = len({name.split("@")[0].split("[")[0] for name in every["values"]}) if every else 0
    yield _speed_up(f"all {names} native metrics of lists", "at least 10x faster than its six metrics", peer, every, 10)
    most = max(results.users("files"), default=1_000_000)
    files = results.of("files", most, library="bridgeval, memory=1.5GB")
    yield _peak(f"{most:,} users x 50 from Parquet", files, 2000)
    yield from _unsorted(results)
    latency = results.of("latency", 100)
    found = f"{1000 * latency['wall']:.2f} ms" if latency else ""
    yield Goal("100 users x 10", "under 8 ms per call", found, latency["wall"] < 0.008 if latency else None)
    yield from _page(next((row for row in results.rows if row["case"] == "report page"), None))
    for case, library, what, times in (
        ("command", "bridgeval evaluate", "`import torch, pandas, pyarrow`", 1.4),
        ("spark", "bridgeval on Spark", "shuffling and counting the rows", 1.5),
    ):
        row = results.of(case, 0, library=library)
        yield _beside_floor(library, f"at most {times}x {what}", row, times)


def _unsorted(results: Results) -> Iterator[Goal]:
    small, *more = results.users("unsorted") or [0]
    few = results.of("unsorted", small, library="bridgeval, memory=1GB")
    many = results.of("unsorted", more[-1], library="bridgeval, memory=1GB") if more else None
    case = f'{50 * (more[-1] if more else 2_000_000):,} rows, unsorted, memory="1GB"'
    yield _peak(case, many, 1500)
    times = 1.2 * more[-1] / small if more else 12
    asked = f"linear: at most {times:g}x {50 * small:,} rows"
    if few is None or many is None:
        yield Goal(case, asked, "", None)
        return
    ratio = many["wall"] / few["wall"]
    yield Goal(case, asked, f"{ratio:.2f}x ({many['wall']:.3g} s against {few['wall']:.3g} s)", ratio <= times)


def _page(row: Row | None) -> Iterator[Goal]:
    """The page of three systems: how soon it is made, how large it is, whether it moves while it opens."""
    case = f"report page of {row['world']}" if row else "report page"
    yield Goal(case, "made in under 10 s", f"{row['wall']:.1f} s" if row else "", row["wall"] < 10 if row else None)
    size = f"{row['megabytes']:.2f} MB" if row else ""
    yield Goal(case, "under 1.5 MB", size, row["megabytes"] < 1.5 if row else None)
    opened = row is not None and "shift" in row
    found = f"layout shift {row['shift']:g}, lists of a user open in {row['lists']:.2f} s" if row and opened else ""
    yield Goal(case, "opens without a layout shift", found, row["shift"] == 0 if row and opened else None)


def _speed_up(case: str, asked: str, peer: Row | None, ours: Row | None, times: float) -> Goal:
    if peer is None or ours is None:
        return Goal(case, asked, "", None)
    ratio = peer["wall"] / ours["wall"]
    found = f"{ratio:.1f}x ({ours['wall']:.3g} s against {peer['wall']:.3g} s of {peer['library']})"
    return Goal(case, asked, found, ratio >= times)


def _beside_floor(case: str, asked: str, row: Row | None, times: float) -> Goal:
    if row is None:
        return Goal(case, asked, "", None)
    ratio = row["wall"] / row["floor"]
    return Goal(case, asked, f"{ratio:.2f}x ({row['wall']:.3g} s against {row['floor']:.3g} s)", ratio <= times)


def _peak(case: str, row: Row | None, limit: int) -> Goal:
    found = f"{row['peak_mb']:,.0f} MB" if row else ""
    return Goal(case, f"peak under {limit / 1000:g} GB", found, row["peak_mb"] < limit if row else None)
