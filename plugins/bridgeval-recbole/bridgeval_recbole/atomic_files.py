"""A reader of RecBole's atomic files."""

import pyarrow as pa

from bridgeval.errors import InputError
from bridgeval.plugin import read_table

TYPES = ("token", "token_seq", "float", "float_seq")


class AtomicReader:
    """Reads a file with tabs and a header in which each column has a type: `user_id:token`."""

    name = "recbole"
    suffixes = (".inter", ".item", ".user")

    def read(self, path, role, /, **options):
        table = read_table(path, **options)
        if options.get("names"):
            return table
        types = {name: name.rpartition(":")[2] for name in table.column_names}
        if untyped := [name for name, kind in types.items() if kind not in TYPES]:
            raise InputError(
                f"{path!r} is no atomic file of RecBole",
                f"a column {untyped[0]!r}",
                f"the header gives every column a type: {', '.join(f'{untyped[0]}:{kind}' for kind in TYPES)}",
            )
        if role == "item_features":
            return _read_words(path, table, [name for name, kind in types.items() if kind == "token_seq"])
        table = table.drop_columns([name for name, kind in types.items() if kind.endswith("_seq")])
        return table.rename_columns([name.rpartition(":")[0] for name in table.column_names])


def _read_words(path, table, columns):
    """A row for each item and each word of its only column of words."""
    if len(columns) != 1:
        raise InputError(
            f"{path!r} has {len(columns)} columns of the type token_seq, so its features cannot be told",
            f"columns {table.column_names}",
            "give a mapping item -> features",
        )
    ids, texts = table[0].to_pylist(), table[columns[0]].to_pylist()
    pairs = [(item, word) for item, text in zip(ids, texts, strict=True) for word in str(text or "").split()]
    return pa.table({"item_id": [item for item, _ in pairs], "feature": [word for _, word in pairs]})
