"""Opening a table: where it is, and whether its columns have the right names and types, before any row is read.

Tables come from files, frames, and addresses: ``postgresql://host/clinic`` and ``sc://host`` (Spark Connect).

Claim.  Nothing that gives access to the data is shown: no user, password, token, host or parameter.
Proof.  The public name of an address is made here, from its kind, the last part of its path and the table's name. The
error messages of drivers are never repeated.  ∎
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Hashable
from typing import Any
from urllib.parse import unquote

from adyton.errors import BadInput, SchemaError
from adyton.kernel.counting.rows import Rows, StoredRows, UnitRows
from adyton.kernel.counting.table import PrivateTable
from adyton.kernel.reading.files import ADVICE, exists, file_reader
from adyton.kernel.reading.readers import (
    NUMBERS,
    Column,
    Reader,
    file_identity,
    frame_reader,
    schema_for,
    unit_column,
    wanted_columns,
)
from adyton.kernel.reading.texts import has_levels, is_boolean
from adyton.kernel.reading.values import ValueReader
from adyton.messages import shorten
from adyton.schema import Attribute, Duration, FileFormat, Identifier, Schema
from adyton.schema.files import PLAIN
from adyton.schema.times import Times

_POSTGRES, _SPARK = ("postgresql://", "postgres://"), ("sc://",)
_SINGLE = ("date", "timestamp", "time", "interval", "uuid", "binary", "null")
_KINDS = "postgresql:// (PostgreSQL) and sc:// (Spark Connect)"
_LIKE_ADDRESSES = re.compile(
    r"\b(host|hostaddr|server|dbname|database|user|user id|uid|password|passwd|pwd|token|service)\s*=|:[^/\\:@]*@"
    r"|^(postgres|postgresql|sc|spark|jdbc|odbc|mysql|mssql|oracle):",
    re.IGNORECASE,
)
"""Connection strings of other systems, or a mistyped address."""


def open_table(data: Any, schema: Schema, unit: str | None = None) -> PrivateTable:
    """Open a table for counting: a path, an address, a data frame, an Arrow table or an Ibis table.

    Where the schema names a unit, or *unit* names a column, the rows of each unit are limited as the schema says.

    >>> import pyarrow
    >>> from adyton.schema import Integer
    >>> open_table(pyarrow.table({"age": [34, 51]}), Schema({"age": Integer(0, 119)}))
    <private table: age>
    """
    reader = checked_reader(data, schema)
    schema = schema_for(reader, schema, unit)
    check_columns(reader, schema)
    schema, whose = unit_column(reader, schema, unit)
    name = None if whose is None else reader.columns[whose].name
    rows: Rows | None = reader.elsewhere(schema, name)
    if rows is None:
        reader.declare(schema.columns, name)
        readers = {own: ValueReader(attribute) for own, attribute in schema.attributes.items()}  # look-ups, too
        stored = StoredRows(schema, readers, reader.batches, _identity(reader), name)
        rows = stored if name is None else UnitRows(stored, schema.rows_per_unit)
    return PrivateTable(rows, schema, from_text=reader.is_text)


def checked_reader(data: Any, schema: Schema) -> Reader:
    """The reader of a table with this schema."""
    if not isinstance(schema, Schema):
        raise SchemaError(f"a table is opened with a Schema, given a {type(schema).__name__}.")
    reader = reader_for(data, multiline=schema.multiline, file=schema.file)
    schema.check_files(reader.files)
    return reader


def check_columns(reader: Reader, schema: Schema) -> None:
    """Raise an error if a column of the schema does not exist, or cannot be read as its attribute says."""
    wanted = wanted_columns(reader, schema.columns)
    for name, attribute in schema.attributes.items():
        check_type(reader.columns[wanted[schema.columns.index(schema.column_of(name))]], attribute)


def check_type(column: Column, attribute: Attribute) -> None:
    """Raise an error unless values of the column's type can be read as the attribute says.

    Types are public, even where a library inferred them. A frame's column may have any type of single values: if a
    library turns a column of numbers into one of texts, its values are read as before.
    """
    reading, plain = attribute.reading, (*NUMBERS, "boolean", "string")
    families: tuple[str, ...]
    if column.inferred:
        families, need = (*plain, *_SINGLE), "a column of texts, numbers or dates"
    elif isinstance(attribute, Times):
        digits = NUMBERS if attribute.format is not None or attribute.is_part else ()
        families, need = ("date", "timestamp", "string", *digits), "dates, times or texts"
    elif isinstance(attribute, Duration):
        families, need = ("interval", "string", *NUMBERS), "durations, numbers or texts"
    elif isinstance(attribute, Identifier) or reading.lookup is not None or reading.first is not None:
        families, need = (*plain, "uuid"), "texts or numbers"
    elif is_boolean(attribute):
        families, need = plain, "a boolean column, or one of 0 and 1"
    elif has_levels(attribute, str):
        families, need = plain, "a text column"
    else:
        families, need = (*NUMBERS, "string"), "a column of numbers"
    if column.type in families:
        return
    advice = "Change the type in the schema, or convert the column."
    if column.type in ("date", "timestamp"):
        advice = 'Declare it as type = "date" or type = "datetime", or convert the column.'
    raise SchemaError(
        f"column {column.name!r} has the type {column.engine_type}, but the schema says {attribute.kind}, "
        f"which needs {need}. {advice}"
    )


def _identity(reader: Reader) -> Callable[[], Hashable] | None:
    """A function that returns the identities of the files; None where others may change the rows."""
    return (lambda: tuple(map(file_identity, reader.files))) if reader.ours else None


# ---- where tables are ------------------------------------------------------------------------------------------------


def reader_for(data: Any, *, multiline: bool = False, file: FileFormat = PLAIN) -> Reader:
    """The reader of any kind of table that can be opened.

    *multiline* allows line ends inside the quotes of CSV, *file* says how CSV files are written. Several files of one
    kind make one table: given as a list, as a folder, or by a pattern such as ``week-*.csv`` or ``book.xlsx#*``.
    """
    several = data if isinstance(data, list | tuple) and data else [data]
    if all(isinstance(path, str | os.PathLike) for path in several):
        given = [os.fsdecode(path) for path in several]
        if len(given) == 1 and is_address(given[0]):
            return reader_at(given[0])
        for text in given:
            if not exists(text):
                check_path(text)
        return file_reader(given, multiline=multiline, file=file)
    if type(data).__name__ == "DataFrame" and type(data).__module__.startswith("pyspark.sql."):
        from adyton.kernel.engines.spark import SparkReader  # loaded for frames of Spark

        return SparkReader(data)
    ibis = sys.modules.get("ibis")
    if ibis is not None and isinstance(data, ibis.Table):
        from ibis.expr import operations

        table = data.op()
        if not isinstance(table, operations.InMemoryTable):
            from adyton.kernel.engines.ibis_tables import ibis_reader  # loaded for tables of Ibis

            return ibis_reader(data)
        data = table.data.obj  # its types are those that Ibis inferred from the rows
    reader = frame_reader(data)
    if reader is None:
        raise SchemaError(f"a {type(data).__name__} cannot be opened as a table. {ADVICE}.")
    return reader


def is_address(data: Any) -> bool:
    """Whether the data are at an address, and not in a file."""
    return isinstance(data, str) and "://" in data


def check_path(text: str) -> None:
    """Raise an error for a missing file whose path looks like an address, without repeating it."""
    if _LIKE_ADDRESSES.search(text):
        raise SchemaError(
            "there is no such file. It looks like the address of a database and may contain a password: it is not "
            "repeated. Write postgresql://user@host/database, or sc://host for Spark Connect, and name the table."
        )


def table_at(data: Any, table: str | None) -> Any:
    """The path or address with the name of the table appended, if one is given.

    >>> table_at("postgresql://localhost/clinic", "visits")
    'postgresql://localhost/clinic#visits'
    """
    if table is None:
        return data
    if not isinstance(data, str | os.PathLike) or not isinstance(table, str):
        raise BadInput("table is the name of a table in a database whose address or file is given as text.")
    if "#" in os.fspath(data):
        raise BadInput(f"the data already name a table, and so does table = {shorten(table)}. Name it only once.")
    return f"{os.fspath(data)}#{table}"


def address_name(address: str) -> str:
    """A public name for a table at an address.

    >>> address_name("postgresql://ann:secret@db.example.org:5432/clinic?sslmode=require#visits")
    'clinic.visits'
    """
    base, table = _parts(address)
    place = base.partition("://")[2].partition("?")[0].partition(";")[0].partition("/")[2].strip("/")
    return ".".join(part for part in (unquote(place.rpartition("/")[2]), table) if part) or "table"


def reader_at(address: str) -> Reader:
    """The reader of a table at an address."""
    base, table = _parts(address)
    kind = base.partition("://")[0].lower() + "://"
    if kind not in (*_POSTGRES, *_SPARK):
        raise SchemaError(
            f"addresses that begin with {shorten(kind)} cannot be opened, only {_KINDS}. Write the table of another "
            "database to a Parquet file."
        )
    if not table:
        raise SchemaError("the address names no table. Say which one with table='…' (--table on the command line).")
    base = kind + base.partition("://")[2]
    if kind in _SPARK:
        from adyton.kernel.engines.spark import spark_reader  # loaded only for its addresses

        return spark_reader(base, table)
    from adyton.kernel.engines.postgres import postgres_reader  # loaded only for its addresses

    return postgres_reader(base, table)


def _parts(address: str) -> tuple[str, str]:
    """The address of a database, and the table after the last #. (A password may contain a # as well.)"""
    base, hash_sign, table = address.rpartition("#")
    return (base, table) if hash_sign else (address, "")
