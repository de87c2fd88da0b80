"""The text files of a study: `user,item,score` results and `user<TAB>item<TAB>rating` splits.

Regular files are parsed by Arrow in one go. An irregular file (a blank line, a short row, an invalid number) is read
again line by line, which either warns that it is harmless, or raises an error with the file, the line and the text.
Ids are text and are not changed: `000010` is not `10`.
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from bridgeval.errors import BadValueError, BridgevalWarning, DuplicateRowsWarning, InputError
from bridgeval.plugin import Ids, Rows

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SEPARATORS = {"\t": "a tab", ",": "a comma", ";": "a semicolon", " ": "a blank"}
COLUMNS = ("user", "item", "number")
Repeats = Literal["drop", "keep"]


class FileWarning(BridgevalWarning):
    """A file is irregular in a way that does not change the numbers."""


@dataclass(frozen=True)
class Triples:
    """The rows of one file, in file order.

    Attributes:
        path: of the file.
        users, items: `[n]` codes of the distinct ids, which are in the order of their first appearance.
        numbers: `[n]` float64: scores or ratings.
        lines: `[n]` line numbers from 1; None if row i is line i + 1.
        repeated: how many repeated (user, item) rows were dropped.
    """

    path: str
    users: pa.DictionaryArray
    items: pa.DictionaryArray
    numbers: npt.NDArray[np.float64]
    lines: npt.NDArray[np.int64] | None = None
    repeated: int = 0

    def __len__(self) -> int:
        return len(self.numbers)

    def line(self, row: int) -> int:
        return row + 1 if self.lines is None else int(self.lines[row])

    def take(self, rows: npt.NDArray[np.int64]) -> Triples:
        lines = rows + 1 if self.lines is None else self.lines[rows]
        return replace(
            self, users=self.users.take(rows), items=self.items.take(rows), numbers=self.numbers[rows], lines=lines
        )

    def as_rows(self, column: Literal["score", "gain"]) -> Rows:
        """Converts to Rows. Scored rows are pre-ranked: the order of the file is the ranking."""
        finite = bool(np.isfinite(self.numbers).all())
        return Rows(Ids.of(self.users), Ids.of(self.items), {column: self.numbers} if finite else {}, column == "score")

    def count_unsorted(self) -> int:
        """Counts the users who have a score above the previous one."""
        users = self.users.indices.to_numpy()
        order = np.argsort(users, kind="stable")
        users, scores = users[order], self.numbers[order]
        rises = (scores[1:] > scores[:-1]) & (users[1:] == users[:-1])
        return len(np.unique(users[1:][rises]))

    def sort_by_score(self) -> Triples:
        """Sorts each user's rows by score, descending; ties keep the order of the file."""
        return self.take(np.lexsort((-self.numbers, self.users.indices.to_numpy())))


def read_result(
    path: str | os.PathLike[str],
    *,
    ranking: bool = True,
    order: Literal["given", "score"] = "given",
    header: bool = False,
    finite: bool = True,
    repeats: Repeats = "drop",
) -> Triples:
    """Reads recommendations or predictions, `user,item,score`.

    Args:
        path: an `out-N.txt`.
        ranking: whether rows are lists; predictions have no order to check.
        order: "given" keeps the order of the file; "score" sorts each user's rows, stably.
        header: whether to skip the first line.
        finite: False accepts NaN and Infinity as scores, which then are not used.
        repeats: "drop" keeps the first row of a repeated (user, item), with a warning; "keep" keeps all rows.
    """
    triples = _read(path, ",", header, finite, repeats)
    if ranking and order == "score":
        return triples.sort_by_score()
    unsorted = triples.count_unsorted() if ranking else 0
    if unsorted:
        warnings.warn(
            f"{triples.path}: {unsorted} user(s) have unsorted lists; the order of the file counts, "
            'order="score" sorts',
            FileWarning,
            stacklevel=2,
        )
    return triples


def read_split(path: str | os.PathLike[str], *, header: bool = False, repeats: Repeats = "drop") -> Triples:
    """Reads ratings of `train.txt` or `test.txt`, `user<TAB>item<TAB>rating`; ignores further columns."""
    return _read(path, "\t", header, repeats=repeats)


def read_ratings(path: str | os.PathLike[str]) -> Triples:
    """Reads the original ratings of a study; columns are separated by tab, comma, semicolon or blank."""
    first = _first_line(_read_bytes(path)).decode("utf-8", "replace")
    return _read(path, next((sign for sign in "\t;, " if sign in first), ","))


def _read(
    path: str | os.PathLike[str],
    separator: str,
    header: bool = False,
    finite: bool = True,
    repeats: Repeats = "drop",
) -> Triples:
    name, data = os.fspath(path), _read_bytes(path)
    triples = None if header else _parse_with_arrow(name, data, separator, finite)
    if triples is None:
        triples = _parse_by_line(name, data, separator, header, finite)
    return triples if repeats == "keep" else _drop_repeats(triples)


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{os.fspath(path)} cannot be read", str(error), "check the path") from error
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if not data or data.isspace():
        raise InputError(f"{os.fspath(path)} is empty", "no rows", "was the run finished?")
    return data


def _first_line(data: bytes) -> bytes:
    end = data.find(b"\n")
    return data if end < 0 else data[:end]


def _parse_with_arrow(path: str, data: bytes, separator: str, finite: bool) -> Triples | None:
    """Parses a regular file; returns None if a line is irregular."""
    stop = len(data)
    while data[stop - 1] in b"\r\n":
        stop -= 1
    width = _first_line(data).count(separator.encode()) + 1
    if width < len(COLUMNS):
        return None
    text = pa.dictionary(pa.int32(), pa.string())
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(data).slice(0, stop)),
            pa_csv.ReadOptions(column_names=[*COLUMNS, *(f"more {n}" for n in range(width - len(COLUMNS)))]),
            pa_csv.ParseOptions(delimiter=separator, quote_char=False, double_quote=False),
            pa_csv.ConvertOptions(
                column_types=dict(zip(COLUMNS, (text, text, pa.float64()), strict=True)),
                include_columns=list(COLUMNS),
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    if len(table) != data.count(b"\n", 0, stop) + 1 or table["number"].null_count:
        return None
    numbers = table["number"].to_numpy()
    users, items = (_strip_ids(table[name].unify_dictionaries().combine_chunks()) for name in ("user", "item"))
    nameless = any(pc.any(pc.equal(column.dictionary, "")).as_py() for column in (users, items))
    if nameless or (finite and not np.isfinite(numbers).all()):
        return None
    return Triples(path, users, items, numbers)


def _strip_ids(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """Strips blanks around ids; ids that differ only by blanks become one."""
    stripped = pc.utf8_trim_whitespace(column.dictionary.cast(pa.large_string())).dictionary_encode()
    return pa.DictionaryArray.from_arrays(stripped.indices.take(column.indices), stripped.dictionary)


def _parse_by_line(path: str, data: bytes, separator: str, header: bool, finite: bool) -> Triples:
    """Parses any file line by line, slowly; errors name the line."""
    lines = data.rstrip().split(b"\n")
    rows: list[tuple[str, str, float]] = []
    at: list[int] = []
    blank: list[int] = []
    for number, line in enumerate(lines, start=1):
        if header and number == 1:
            continue
        if not line.strip():
            blank.append(number)
            continue
        rows.append(_parse_row(path, number, line, separator, finite))
        at.append(number)
    if not rows:
        raise InputError(f"{path} is empty", "no rows", "was the run finished?")
    if blank:
        warnings.warn(
            f"{path}, line {blank[0]}: {len(blank)} blank line(s) skipped; LibRec itself stops reading at the first",
            FileWarning,
            stacklevel=4,
        )
    users, items, numbers = zip(*rows, strict=True)
    user_ids, item_ids = (pa.array(column, pa.large_string()).dictionary_encode() for column in (users, items))
    return Triples(path, user_ids, item_ids, np.array(numbers, dtype=np.float64), np.array(at))


def _parse_row(path: str, number: int, line: bytes, separator: str, finite: bool) -> tuple[str, str, float]:
    where = f"{path}, line {number}"
    try:
        text = line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError as error:
        raise BadValueError(f"{where}: not UTF-8", repr(line), "save the file as UTF-8") from error
    fields = [field.strip() for field in text.split(separator)]
    if len(fields) < len(COLUMNS):
        raise _too_few(where, text, separator, len(fields))
    user, item, score = fields[:3]
    if not user or not item:
        raise BadValueError(f"{where}: an id is empty", repr(text), "give every row a user and an item")
    try:
        # Python alone accepts 1_000.
        value = float(score.replace("_", "?"))
    except ValueError:
        hint = "these files have no header; header=True skips the first line" if number == 1 else "correct the row"
        raise BadValueError(f"{where}: the third column is not a number", repr(text), hint) from None
    if finite and not math.isfinite(value):
        hint = "correct the row; finite=False ranks by the order of the file"
        raise BadValueError(f"{where}: the third column is not finite", repr(text), hint)
    return user, item, value


def _too_few(where: str, text: str, separator: str, found: int) -> BadValueError:
    others = [sign for sign in SEPARATORS if sign != separator and len(text.split(sign)) >= len(COLUMNS)]
    if found == 1 and others:
        return BadValueError(
            f"{where}: columns must be separated by {SEPARATORS[separator]}",
            repr(text),
            f"the columns seem to be separated by {SEPARATORS[others[0]]}; is this the right file?",
        )
    return BadValueError(f"{where}: {found} column(s), three are needed", repr(text), "is the file complete?")


def _drop_repeats(triples: Triples) -> Triples:
    """Keeps the first row of every (user, item)."""
    users, items = (column.indices.to_numpy().astype(np.int64) for column in (triples.users, triples.items))
    keys = users * len(triples.items.dictionary) + items
    _, first = np.unique(keys, return_index=True)
    repeated = len(keys) - len(first)
    if not repeated:
        return triples
    kept = np.sort(first)
    row = int(np.setdiff1d(np.arange(len(keys)), kept, assume_unique=True)[0])
    user, item = triples.users[row].as_py(), triples.items[row].as_py()
    warnings.warn(
        f"{triples.path}, line {triples.line(row)}: user {user!r} and item {item!r} "
        f"are repeated; {repeated} repeated row(s) dropped, the first of each pair counts",
        DuplicateRowsWarning,
        stacklevel=4,
    )
    return replace(triples.take(kept), repeated=repeated)
