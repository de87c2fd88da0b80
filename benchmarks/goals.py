"""What the benchmark is to show, and whether it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from measuring import Row


@dataclass(frozen=True)
class Goal:
    """A goal beside what was found; `met` is None where it was not measured."""

    case: str
    asked: str
    found: str
    met: bool | None

    @property
    def mark(self) -> str:
        return {True: "met", False: "missed", None: "not run"}[self.met]


class Results:
    """Rows by what they are."""

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
    """Every goal, in the order of the issue of speed: frames, ids, metrics, files, one call."""
    results = Results(rows)
    base = next(iter(results.users("read")), 100_000)
    plain = results.of("frames", base, "int64 ids, sorted")
    strings = results.of("frames", base, "string ids, sorted")
    case = f"frames, {base:,} users x 50, int64"
    yield _ratio(
        case,
        "at least 25x faster than the fastest peer",
        results.fastest_peer(base, "int64 ids, sorted"),
        plain,
        lambda times: times >= 25,
    )
    read = results.of("read", base, library="pandas.read_parquet")
    yield _ratio(case, "at most 1.5x pandas.read_parquet", plain, read, lambda times: times <= 1.5)
    shuffled = results.of("frames", base, "int64 ids, shuffled")
    yield _ratio("shuffled rows", "at most 2x sorted rows", shuffled, plain, lambda times: times <= 2)
    yield _ratio("string ids", "at most 3x int64", strings, plain, lambda times: times <= 3)
    yield _ratio(
        "string ids",
        "at least 10x faster than any peer",
        results.fastest_peer(base, "string ids, sorted"),
        strings,
        lambda times: times >= 10,
    )
    every = results.of("every metric", base)
    names = len({name.split("@")[0].split("[")[0] for name in every["values"]}) if every else 0
    yield _ratio(
        f"all {names or ''} native metrics of lists", "at most 2.5x the six", every, plain, lambda times: times <= 2.5
    )
    yield from _files(results)
    yield from _unsorted(results)
    latency = results.of("latency", 100)
    found = f"{1000 * latency['wall']:.2f} ms" if latency else ""
    yield Goal("100 users x 10", "under 5 ms per call", found, latency["wall"] < 0.005 if latency else None)


def _files(results: Results) -> Iterator[Goal]:
    small, *more = results.users("files") or [0]
    few = results.of("files", small, library="bridgeval, memory=1.5GB")
    many = results.of("files", more[-1], library="bridgeval, memory=1.5GB") if more else None
    case = f"{more[-1] if more else 1_000_000:,} users x 50 from Parquet"
    yield _ratio(case, f"under 12x {small:,} users", many, few, lambda times: times < 12)
    yield _peak(case, many, 2000)


def _unsorted(results: Results) -> Iterator[Goal]:
    small, *more = results.users("unsorted") or [0]
    few = results.of("unsorted", small, library="bridgeval, memory=1GB")
    many = results.of("unsorted", more[-1], library="bridgeval, memory=1GB") if more else None
    case = f'{50 * (more[-1] if more else 2_000_000):,} rows, unsorted, memory="1GB"'
    yield _peak(case, many, 1500)
    times = more[-1] / small if more else 10
    yield _ratio(
        case,
        f"linear: at most 1.2 x {times:g} times {50 * small:,} rows",
        many,
        few,
        lambda found: found <= 1.2 * times,
    )


def _ratio(case: str, asked: str, one: Row | None, other: Row | None, good: Callable[[float], bool]) -> Goal:
    if one is None or other is None:
        return Goal(case, asked, "", None)
    times = one["wall"] / other["wall"]
    return Goal(case, asked, f"{times:.2f}x ({one['wall']:.3g} s against {other['wall']:.3g} s)", good(times))


def _peak(case: str, row: Row | None, limit: int) -> Goal:
    found = f"{row['peak_mb']:,.0f} MB" if row else ""
    return Goal(case, f"peak under {limit / 1000:g} GB", found, row["peak_mb"] < limit if row else None)
