"""Benchmark data: what many users were shown, and what proved relevant, as two Parquet files.

    python benchmarks/peers/generate.py --users 100000 --out DIR   writes recs.parquet, truth.parquet

Items are drawn by a Zipf-like popularity, distinct for each user; scores fall strictly, and keep apart in
float32; relevant items are found among those shown more often near the top, and by some users far more often
than by others. One seed gives one world: integer or string ids, sorted or shuffled rows, graded or binary
relevance change how it is written, not what is in it.

Users are made a chunk at a time and each chunk is a row group, so that memory does not grow with their
number.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Array = npt.NDArray[np.int64]

USERS_PER_CHUNK = 20_000
POPULARITY_EXPONENT = 0.8
HIT_RATE = (1.0, 4.0)
"""Beta parameters of the chance, different for each user, that a relevant item was shown: 0.2 in the mean."""
GRADE_SHARES = (0.05, 0.10, 0.25, 0.35, 0.25)
"""Of the grades 1 to 5."""
SHUFFLING = 1
"""Set the random numbers of the shuffle apart from those of the chunks."""


@dataclass(frozen=True)
class World:
    """The size and the shape of the data."""

    users: int
    items: int
    shown: int
    relevant: int
    binary: bool
    seed: int

    def __post_init__(self) -> None:
        if min(self.users, self.shown, self.relevant) < 1:
            raise ValueError("users, shown and relevant must be at least 1")
        if self.items < self.shown + self.relevant:
            raise ValueError(f"{self.items} items are too few: each user takes {self.shown + self.relevant} of them")


@dataclass(frozen=True)
class Chunk:
    """Some users' rows, ids as codes: recommendations with a score, truth with a relevance."""

    recommendations: pa.Table
    truth: pa.Table


def chunks(world: World) -> Iterator[Chunk]:
    """The world, some users at a time; every chunk has its own random numbers."""
    cumulative = popularity(world)
    for number, first in enumerate(range(0, world.users, USERS_PER_CHUNK)):
        users = np.arange(first, min(first + USERS_PER_CHUNK, world.users))
        yield chunk(world, users, cumulative, np.random.default_rng([world.seed, 0, number]))


def chunk(world: World, users: Array, cumulative: npt.NDArray[np.float64], rng: np.random.Generator) -> Chunk:
    """The rows of the given users."""
    pool = distinct_items(len(users), world.shown + world.relevant, cumulative, rng)
    shown, others = pool[:, : world.shown], pool[:, world.shown :]
    relevant = relevant_items(shown, others, rng)
    grades = rng.choice(np.arange(1, 6), size=relevant.shape, p=GRADE_SHARES)
    if world.binary:
        grades = np.ones_like(grades)
    return Chunk(
        long_table(users, shown, "score", falling_scores(shown.shape, rng)),
        long_table(users, relevant, "relevance", grades),
    )


def popularity(world: World) -> npt.NDArray[np.float64]:
    """Cumulative share of each item [N], most popular somewhere: ids say nothing about popularity."""
    shares = np.arange(1, world.items + 1) ** -POPULARITY_EXPONENT
    return np.cumsum(np.random.default_rng(world.seed).permutation(shares / shares.sum()))


def distinct_items(rows: int, count: int, cumulative: npt.NDArray[np.float64], rng: np.random.Generator) -> Array:
    """Items [rows, count] drawn one after the other by popularity, those drawn before left out.

    Draws more than needed with repetition and keeps first occurrences; rows that still lack some draw anew,
    twice as many.
    """
    result = np.empty((rows, count), dtype=np.int64)
    lacking = np.arange(rows)
    draws = 2 * count
    while lacking.size:
        uniform = rng.random((lacking.size, draws)) * cumulative[-1]
        drawn = np.minimum(np.searchsorted(cumulative, uniform, side="right"), len(cumulative) - 1)
        is_first = first_occurrences(drawn)
        enough = is_first.sum(axis=1) >= count
        kept = is_first[enough] & (np.cumsum(is_first[enough], axis=1) <= count)
        result[lacking[enough]] = drawn[enough][kept].reshape(-1, count)
        lacking = lacking[~enough]
        draws *= 2
    return result


def first_occurrences(drawn: Array) -> npt.NDArray[np.bool_]:
    """Which entries of each row [B, D] do not stand further left in it."""
    order = np.argsort(drawn, axis=1, kind="stable")
    ordered = np.take_along_axis(drawn, order, axis=1)
    is_new = np.ones(drawn.shape, dtype=bool)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_first = np.empty_like(is_new)
    np.put_along_axis(is_first, order, is_new, axis=1)
    return is_first


def relevant_items(shown: Array, others: Array, rng: np.random.Generator) -> Array:
    """For each of the R columns of `others` [B, R]: that item, or by chance one of those shown [B, K].

    The positions of the hits are distinct, and the likelier the nearer to the top.
    """
    hits = min(shown.shape[1], others.shape[1])
    reluctance = np.sqrt(np.arange(1, shown.shape[1] + 1))
    positions = np.argsort(rng.exponential(size=shown.shape) * reluctance, axis=1)[:, :hits]
    chance = rng.beta(*HIT_RATE, size=(len(shown), 1))
    is_hit = rng.random((len(shown), hits)) < chance
    relevant = others.copy()
    relevant[:, :hits] = np.where(is_hit, np.take_along_axis(shown, positions, axis=1), others[:, :hits])
    return relevant


def falling_scores(shape: tuple[int, int], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Scores in (0, 1), strictly falling in each row, neighbors far enough apart for float32."""
    rows, columns = shape
    steps = np.arange(columns, 0, -1)
    return (steps - 0.9 * rng.random((rows, columns))) / columns


def long_table(users: Array, items: Array, name: str, values: npt.NDArray[np.generic]) -> pa.Table:
    """One row for each cell of [B, C] arrays."""
    columns = {"user_id": np.repeat(users, items.shape[1]), "item_id": items.ravel(), name: values.ravel()}
    return pa.table(columns)


# --- writing ---------------------------------------------------------------------------------------------


def shuffled(tables: Iterator[pa.Table], buckets: int, rng: np.random.Generator, scratch: Path) -> Iterator[pa.Table]:
    """The rows of all tables in random order, without holding more than a bucket of them.

    Every row goes to a random bucket, a temporary file in the folder `scratch`; then each bucket is put in
    random order.
    """
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        paths = [Path(folder, f"{number}.arrow") for number in range(buckets)]
        with ExitStack() as stack:
            writers: list[pa.RecordBatchStreamWriter] = []
            for table in tables:
                if not writers:
                    writers = [stack.enter_context(pa.ipc.new_stream(path, table.schema)) for path in paths]
                bucket = rng.integers(buckets, size=table.num_rows)
                for number, writer in enumerate(writers):
                    writer.write_table(table.filter(pa.array(bucket == number)))
        for path in paths:
            with pa.OSFile(str(path)) as file:
                rows = pa.ipc.open_stream(file).read_all()
            yield rows.take(rng.permutation(rows.num_rows))
            path.unlink()


def with_string_ids(table: pa.Table) -> pa.Table:
    """Codes as strings of one length, such as "u00000042" and "i00000007"."""
    for position, (column, prefix) in enumerate((("user_id", "u"), ("item_id", "i"))):
        digits = table[column].combine_chunks().dictionary_encode()
        names = pc.utf8_lpad(digits.dictionary.cast(pa.string()), width=8, padding="0")
        named = pc.binary_join_element_wise(prefix, names, "")
        table = table.set_column(position, column, named.take(digits.indices))
    return table


def write(path: Path, tables: Iterator[pa.Table]) -> None:
    """A Parquet file with a row group for each table."""
    writer: pq.ParquetWriter | None = None
    try:
        for table in tables:
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer:
            writer.close()


def write_world(world: World, out: Path, *, string_ids: bool, shuffle: bool) -> tuple[Path, Path]:
    """Write the two files and give their paths. The world is made twice rather than kept."""
    out.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Callable[[Chunk], pa.Table]] = {
        "recs": lambda chunk: chunk.recommendations,
        "truth": lambda chunk: chunk.truth,
    }
    paths = []
    for number, (name, part) in enumerate(parts.items()):
        tables = map(part, chunks(world))
        if shuffle:
            buckets = -(-world.users // USERS_PER_CHUNK)
            tables = shuffled(tables, buckets, np.random.default_rng([world.seed, SHUFFLING, number]), out)
        if string_ids:
            tables = map(with_string_ids, tables)
        paths.append(out / f"{name}.parquet")
        write(paths[-1], tables)
    return paths[0], paths[1]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write benchmark data: recs.parquet and truth.parquet.")
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--shown", type=int, default=50, help="items shown to each user")
    parser.add_argument("--relevant", type=int, default=10, help="relevant items of each user")
    parser.add_argument("--ids", choices=("int", "string"), default="int")
    parser.add_argument("--order", choices=("sorted", "shuffled"), default="sorted", help="by user and rank, or not")
    parser.add_argument("--binary", action="store_true", help="relevance 1 for all instead of grades 1 to 5")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    arguments = parser.parse_args()
    try:
        world = World(
            arguments.users,
            arguments.items,
            arguments.shown,
            arguments.relevant,
            arguments.binary,
            arguments.seed,
        )
    except ValueError as error:
        parser.error(str(error))
    is_string, is_shuffled = arguments.ids == "string", arguments.order == "shuffled"
    for path in write_world(world, arguments.out, string_ids=is_string, shuffle=is_shuffled):
        print(path)


if __name__ == "__main__":
    main()
