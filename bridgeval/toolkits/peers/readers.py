"""Readers of what does not say what it is: text without a header, data sets with codes in place of ids."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa

from bridgeval.errors import InputError
from bridgeval.plugin import find_files, is_path, read_table

Number = Literal["score", "rating"]


def read_elliot(path: str, number: Number = "score") -> Any:
    r"""Reads a file of Elliot: recommendations of its folder `recs`, or a part of a split such as `test.tsv`.

    Both are tab-separated and have no header: user, item, a number, and in splits perhaps a time.

    Args:
        path: the file.
        number: what the third column is: the score of a recommendation, or the rating of a split.

    >>> import tempfile, pathlib
    >>> recs = pathlib.Path(tempfile.mkdtemp()) / "ItemKNN_nn$40_sim$cosine.tsv"
    >>> _ = recs.write_text("7\t30\t0.5\n7\t10\t0.25\n")
    >>> read_elliot(str(recs)).to_pydict()
    {'user_id': [7, 7], 'item_id': [30, 10], 'score': [0.5, 0.25]}
    """
    return _read_triples(path, number, "Elliot")


def read_cornac(source: Any) -> Any:
    """Reads ratings of Cornac.

    Args:
        source: a data set, such as `eval_method.test_set`, which is read with the ids that it was made from; or a
            file in the format UIR or UIRT: user, item, rating, perhaps a time, with tabs between them and no header.
    """
    if is_path(source):
        return _read_triples(source, "rating", "Cornac")
    if not hasattr(source, "uir_tuple"):
        raise InputError(
            "this is no data set of Cornac", f"an object of type {type(source).__name__}", "give a Dataset or a path"
        )
    users, items, ratings = source.uir_tuple
    ids = [pa.array(sorted(known, key=known.__getitem__)) for known in (source.uid_map, source.iid_map)]
    return pa.table(
        {"user_id": ids[0].take(pa.array(users)), "item_id": ids[1].take(pa.array(items)), "rating": ratings}
    )


def _read_triples(path: str, number: Number, toolkit: str) -> Any:
    with open(find_files(path)[0], encoding="utf-8-sig") as opened:
        cells = opened.readline().rstrip("\r\n").split("\t")
    if len(cells) not in (3, 4) or not _is_number(cells[2]):
        raise InputError(
            f"{path!r} is no file of {toolkit}: user, item, {number} and perhaps a time, separated by tabs, no header",
            f"its first line is {chr(9).join(cells)[:80]!r}",
            "a table with a header is read by its path alone",
        )
    return read_table(path, ("user_id", "item_id", number, "_")[: len(cells)])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
