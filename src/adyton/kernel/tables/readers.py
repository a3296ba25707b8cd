"""Readers: what a table can be opened with.

A reader lists the columns with their types (public), and turns the wanted ones into an Ibis table with columns ``c0``,
``c1``, … in the order asked for. Messages come from the path, the header and the types; never from a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from adyton.errors import SchemaError
from adyton.kernel.engines import Engine
from adyton.kernel.engines.duckdb import DuckDb
from adyton.kernel.engines.own import take
from adyton.messages import listing, shorten, suggestion


@dataclass(frozen=True)
class Column:
    """What is public about a column: its name, the engine's type and Ibis's; and where the type comes from.

    Values of any kind may stand in it *from_text*; its type may have been *inferred* from rows.
    """

    name: str
    engine_type: str
    type: Any
    from_text: bool = False
    inferred: bool = False

    @property
    def kind(self) -> str:
        """The kind of attribute that suits the type, for a draft."""
        if self.from_text:
            return "text"
        for kind, test in (
            ("boolean", self.type.is_boolean()),
            ("integer", self.type.is_integer()),
            ("numeric", self.type.is_floating() or self.type.is_decimal()),
            ("categorical", self.type.is_string()),
            ("date", self.type.is_date()),
            ("datetime", self.type.is_timestamp()),
            ("duration", self.type.is_interval()),
        ):
            if test:
                return kind
        return "unusable"


class Reader(ABC):
    """A table that can be looked at and then read."""

    columns: Sequence[Column]
    is_text: ClassVar[bool] = False
    """Whether all values are texts that were written by anybody, as those of a CSV file are."""
    doubtful: bool = False
    """Whether the names of the columns look like values: then they are not shown."""
    engine: type[Engine] = DuckDb
    """What will hold the rows."""
    files: Sequence[str] = ()
    """What an engine of our own reads the rows from, whenever they are counted."""
    ours: ClassVar[bool] = True
    """Whether that is an engine of our own, and not one that the caller works with."""

    @abstractmethod
    def read(self, wanted: Sequence[int], exact: Collection[str] = (), *, unit: bool = False) -> Any:
        """An Ibis table of the wanted columns, named c0, c1, …; decimals keep all their digits in *exact* ones.

        A column may be wanted twice. With *unit*, the last of the wanted ones says whose row it is.
        """


class TableReader(Reader):
    """An Ibis table whose types are known."""

    def __init__(self, table: Any, *, inferred: bool = False) -> None:
        self.table = table
        self.columns = [
            Column(name, _type_name(kind), kind, inferred=inferred) for name, kind in table.schema().items()
        ]

    def read(self, wanted: Sequence[int], exact: Collection[str] = (), *, unit: bool = False) -> Any:
        """A projection."""
        return take(self.table, [self.columns[index].name for index in wanted])


def wanted_columns(reader: Reader, names: Sequence[str]) -> list[int]:
    """Where the named columns are; an error that lists the columns there are if one is missing or there twice.

    Names that look like values are not listed, nor those of a CSV file that has none of the schema's: its first line
    may be a row.
    """
    present = [column.name for column in reader.columns]
    headed = all(column.engine_type == "text" for column in reader.columns)
    names = list(names)
    missing = [name for name in dict.fromkeys(names) if name not in present]
    none = not set(names) & set(present)
    if headed and (none or (missing and reader.doubtful)):
        which = f"none of the schema's attributes ({listing(names)})" if none else f"no attribute {listing(missing)}"
        looks = " It looks like a row of data." if reader.doubtful else ""
        raise SchemaError(
            f"the first line of the file names {which}.{looks} Check the names, the delimiter and the encoding, and "
            "that the first line of the CSV file names the columns; if it does not, write header = false and "
            "columns = […] under [file] in the schema."
        )
    for name in names:
        times = present.count(name)
        if times == 0:
            raise SchemaError(
                f"the table has no column {name!r}. It has {listing(present)}.{suggestion(name, present)} "
                "Correct the name in the schema, or leave the attribute out."
            )
        if times > 1:
            raise SchemaError(f"the table has {times} columns called {shorten(name)}. Rename all but one.")
    return [present.index(name) for name in names]


def _type_name(kind: Any) -> str:
    """What people call a type; of one that Ibis does not know, what the engine calls it."""
    raw = getattr(kind, "raw_type", None)
    return str(raw.sql()).lower() if raw is not None and hasattr(raw, "sql") else str(kind)
