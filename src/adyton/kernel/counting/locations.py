"""Where tables come from: files, frames, and addresses, ``postgresql://host/clinic`` and ``sc://host`` (Spark Connect).

Claim.  Nothing that says who may read the data is shown: no user, password, token, host or parameter.
Proof.  What is shown of an address is made here, from its kind, the last part of its path and the table's name. What
drivers say when they fail is never repeated.  ∎
"""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote

from adyton.errors import BadInput, SchemaError
from adyton.kernel.reading.files import ADVICE, exists, file_reader
from adyton.kernel.reading.frames import frame_reader
from adyton.kernel.reading.readers import Reader
from adyton.messages import shorten
from adyton.schema import FileFormat
from adyton.schema.file_format import PLAIN

_POSTGRES, _SPARK = ("postgresql://", "postgres://"), ("sc://",)
_KINDS = "postgresql:// (PostgreSQL) and sc:// (Spark Connect)"
_LIKE_ADDRESSES = re.compile(
    r"\b(host|hostaddr|server|dbname|database|user|user id|uid|password|passwd|pwd|token|service)\s*=|:[^/\\]*@"
    r"|^(postgres|postgresql|sc|spark|jdbc|odbc|mysql|mssql|oracle):",
    re.IGNORECASE,
)
"""What connections are described with elsewhere, or an address with a slip in it."""


def reader_for(data: Any, *, multiline: bool = False, file: FileFormat = PLAIN) -> Reader:
    """The reader of any kind of table that can be opened.

    *multiline* allows line ends inside the quotes of CSV, *file* says how its files are written. Several files of one
    kind make one table: given as a list, as a folder, or by a pattern such as ``week-*.csv`` or ``book.xlsx#*``.
    """
    several = data if isinstance(data, list | tuple) and data else [data]
    if all(isinstance(one, str | os.PathLike) for one in several):
        given = [os.fsdecode(one) for one in several]
        if len(given) == 1 and is_address(given[0]):
            return reader_at(given[0])
        for text in given:
            if not exists(text):
                check_path(text)
        return file_reader(given, multiline=multiline, file=file)
    if type(data).__name__ == "DataFrame" and type(data).__module__.startswith("pyspark.sql."):
        from adyton.kernel.engines.spark import SparkReader

        return SparkReader(data)
    reader = frame_reader(data)
    if reader is None:
        raise SchemaError(f"a {type(data).__name__} cannot be opened as a table. {ADVICE}.")
    return reader


def is_address(data: Any) -> bool:
    """Whether the data are at an address, and not in a file."""
    return isinstance(data, str) and "://" in data


def check_path(text: str) -> None:
    """An error if what should be the path of a file, and is none, looks like an address: it is not repeated."""
    if _LIKE_ADDRESSES.search(text):
        raise SchemaError(
            "there is no such file. It looks like a way to a database, and may hold a password: it is not repeated. "
            "Write postgresql://user@host/database, or sc://host for Spark Connect, and the table beside it."
        )


def table_at(data: Any, table: str | None) -> Any:
    """The data with the name of the table in them, where one was said.

    >>> table_at("postgresql://localhost/clinic", "visits")
    'postgresql://localhost/clinic#visits'
    """
    if table is None:
        return data
    if not isinstance(data, str | os.PathLike) or not isinstance(table, str):
        raise BadInput("table is the name of a table in a database, whose address or file is given beside it as text.")
    if "#" in os.fspath(data):
        raise BadInput(f"the data name a table already, and table = {shorten(table)} names one. Say it once.")
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
            f"addresses that begin with {shorten(kind)} cannot be opened, {_KINDS} can. Write the table of another "
            "database to a Parquet file."
        )
    if not table:
        raise SchemaError("the address names no table. Say which one with table='…' (--table on the command line).")
    base = kind + base.partition("://")[2]
    if kind in _SPARK:
        from adyton.kernel.engines.spark import spark_reader

        return spark_reader(base, table)
    from adyton.kernel.engines.postgres import postgres_reader

    return postgres_reader(base, table)


def _parts(address: str) -> tuple[str, str]:
    """The address of a database, and the table. (A password may have the sign between them.)"""
    base, sign, table = address.rpartition("#")
    return (base, table) if sign else (address, "")
