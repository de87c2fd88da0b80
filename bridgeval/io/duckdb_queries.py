"""Queries of DuckDB as text: a table or a SELECT, of a database file or of files that the query names."""

from __future__ import annotations

import os
import re
from typing import Any

from bridgeval.errors import InputError, MissingDependencyError

# The first word of a query; anything else names a table.
QUERY = re.compile(r"\s*(select|from|with|values|table|\()\b|\s*\(", re.IGNORECASE)
FORMS = "write duckdb:shop.duckdb#recs, duckdb:shop.duckdb#SELECT ... or duckdb:SELECT ... FROM 'recs.parquet'"


def open_query(text: str) -> Any:
    """The relation of "FILE#TABLE", "FILE#SELECT ..." or "SELECT ..."; nothing is read of it yet.

    The database is opened for reading. Only one SELECT is run: no other statement, and none that comes after it.
    """
    try:
        import duckdb
    except ImportError as error:
        raise MissingDependencyError(
            "duckdb: needs a package that is not installed", "no duckdb", "pip install duckdb"
        ) from error

    file, marked, asked = text.partition("#")
    database = file if marked and not QUERY.match(text) else ""
    asked = (asked if database else text).strip()
    if not asked or (not database and not QUERY.match(asked)):
        raise InputError(f"'duckdb:{text}' names no table and no query", hint=FORMS)
    if database and not os.path.isfile(database):
        raise InputError("there is no database to read", f"{database!r}", "check the path")
    try:
        # No code is fetched because a query mentions something that needs it.
        connection = duckdb.connect(
            database or ":memory:", read_only=bool(database), config={"autoinstall_known_extensions": "false"}
        )
        if not QUERY.match(asked):
            return connection.table(asked)
        kinds = [statement.type for statement in connection.extract_statements(asked)]
        if kinds != [duckdb.StatementType.SELECT]:
            found = ", ".join(kind.name for kind in kinds)
            raise InputError(f"'duckdb:{text}' is not one SELECT", f"statements {found}", FORMS)
        return connection.sql(asked)
    except duckdb.Error as error:
        raise InputError(f"'duckdb:{text}' cannot be read", " ".join(str(error).split())[:200], FORMS) from error
