"""Spark: rows stay in the cluster, reached through a classic session or through Connect.

Claim.  No value of a column makes Spark fail, whether its arithmetic is set to raise errors (ANSI) or not.
Proof.  Texts become numbers by ``try_cast``, and only if they have the shape of one. Doubles and decimals are clamped
before they become whole numbers; sums are decimals, long enough for any number of rows. Times are taken apart into
whole numbers by functions that have one for every time, without the session's time zone.  ∎
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from adyton.arrays import Array
from adyton.errors import SchemaError
from adyton.kernel.engines.engine import Counted, engine_function
from adyton.kernel.engines.server import Server
from adyton.kernel.engines.spark_plans import check_frame, is_remote
from adyton.kernel.engines.spark_traces import impatient, named, quiet
from adyton.kernel.engines.written import TEXT_END, is_number, is_special, special
from adyton.kernel.sealed import quietly

_IBIS_TYPES = {
    "ByteType": "int8",
    "ShortType": "int16",
    "IntegerType": "int32",
    "LongType": "int64",
    "FloatType": "float64",
    "DoubleType": "float64",
    "DecimalType": "float64",
    "StringType": "string",
    "CharType": "string",
    "VarcharType": "string",
    "BooleanType": "boolean",
    "DateType": "date",
    "TimestampType": "timestamp('UTC')",
    "TimestampNTZType": "timestamp",
    "DayTimeIntervalType": "interval('s')",
}
"""Ibis's types for what columns are read as; no other type can be read."""
_TYPES = {"string": "string", "int64": "bigint", "float64": "double", "int32": "int"}
_BYTES = "UTF8_BINARY"
_ESCAPED = "spark.sql.parser.escapedStringLiterals"


class Spark(Server):
    """A session of Spark."""

    name = "pyspark"
    title = "Spark"
    text_end = TEXT_END

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self._session = backend._session
        self._remote = is_remote(self._session)
        self._group = f"adyton-{uuid.uuid4()}"

    def check_stored(self, name: str, catalog: str | None, database: str | None) -> None:
        """A name may stand for a view: then what it shows is looked at."""
        quoted = ".".join(identifier(part) for part in (catalog, database, name) if part)
        frame = quietly(lambda: self._session.table(quoted))
        if frame is None or quietly(lambda: frame.schema) is None:
            raise SchemaError(f"the table {name!r} cannot be found. Check its name, and that you may read it.")
        check_frame(frame, quoted)

    def plain(self, table: Any, exact: Collection[str] = ()) -> Any:
        """Texts by their bytes, decimals as doubles, times with or without a zone as Spark has them."""
        query = self.backend.compile(table)
        return self.plain_query(query, self._session.sql(query).schema, exact)

    def plain_query(self, query: str, schema: Any, exact: Collection[str]) -> Any:
        """The same for the text of a query, whose columns Spark has told."""
        import ibis

        columns, kinds = [], {}
        for field in schema.fields:
            column = own = identifier(field.name)
            kind, collation = read_as(field.dataType), getattr(field.dataType, "collation", _BYTES)
            if kind is None:
                continue
            if kind == "string" and collation != _BYTES:
                column = f"collate({column}, '{_BYTES}')"
            elif field.name in exact and hasattr(field.dataType, "scale"):
                kind = f"decimal({field.dataType.precision}, {field.dataType.scale})"
            elif kind == "float64":
                column = f"cast({column} as double)"
            columns.append(f"{column} as {own}")
            kinds[field.name] = kind
        return self.backend.sql(f"select {', '.join(columns)} from ({query}) as given", schema=ibis.schema(kinds))

    def try_out(self, table: Any) -> bool:
        """Asks for its columns, and for the one setting that changes what texts in queries mean."""
        if self._session.conf.get(_ESCAPED, "false") == "true":
            raise SchemaError(f"{_ESCAPED} is set, so that texts are not compared sign by sign. Set it to false.")

        def columns() -> Any:
            with quiet(), named(self.backend):
                return self._session.sql(plain_text(self.backend.compile(table))).schema

        return quietly(columns) is not None

    def fenced(self, table: Any) -> Any:
        """As a text of its own; Spark itself does not compute twice what costs something."""
        name = self._steps.add(self.backend.compile(table))
        return self.backend.sql(f"select * from {name}", schema=table.schema())

    def constant(self, text: str) -> Any:
        """In hexadecimal digits: settings decide what a backslash or a dollar in a query's text means."""
        raw = engine_function("`unhex`", "string", "binary")(text.encode().hex())
        return engine_function("`decode`", ("binary", "string"), "string")(raw, "UTF-8")

    def number(self, text: Any) -> Any:
        """By Spark's own conversion, of what has the shape of a number."""
        import ibis

        clean = ibis.ifelse(is_number(text), text.replace("_", "").replace("+", ""), ibis.null("string"))
        return ibis.ifelse(is_special(text, self.text_end), special(text), clean.try_cast("float64"))

    def fraction_text(self, number: Any) -> Any:
        """From Java's way of writing doubles to the usual one."""
        return usual_text(number)

    def bits(self, number: Any) -> Any:
        """From Java's exact way of writing doubles."""
        return exact_bits(number)

    def decimal_text(self, decimal: Any) -> Any:
        """In a format, because plain conversions write small ones with exponents or not, as the session is set."""
        digits = engine_function("`format_number`", (decimal.type(), "string"), "string")
        return digits(decimal, "0." + "#" * decimal.type().scale if decimal.type().scale else "0")

    def passed(self, value: Any, places: Sequence[int]) -> Any:
        """By a function over an array, which Spark does not compile: compiling would take minutes."""
        import ibis

        before = ibis.literal(list(places), "array<int64>").filter(lambda place: place <= value)
        return before.length().cast("int32")

    def seconds(self, column: Any) -> Any:
        """Days and seconds as Spark keeps them; a time without a zone is taken apart."""
        kind = column.type()
        if kind.is_timestamp() and kind.timezone is not None:
            return engine_function("`unix_seconds`", kind, "int64")(column)
        days = engine_function("`unix_date`", "date", "int32")  # unquoted it would be written as a difference
        if kind.is_date():
            return days(column).cast("int64") * 86_400
        parts = {"hour": 3600, "minute": 60, "second": 1}
        clock = [
            engine_function(f"`{part}`", kind, "int32")(column).cast("int64") * size for part, size in parts.items()
        ]
        day = engine_function("`to_date`", kind, "date")(column)
        return days(day).cast("int64") * 86_400 + clock[0] + clock[1] + clock[2]

    def length(self, column: Any) -> Any:
        """From days, hours, minutes and seconds."""
        kind = column.type()
        sizes = {"day": 86_400.0, "hour": 3600.0, "minute": 60.0, "second": 1.0}
        part = engine_function("date_part", ("string", kind), "float64")
        days, hours, minutes, seconds = (part(name, column).cast("float64") * size for name, size in sizes.items())
        return days + hours + minutes + seconds

    def total(self, column: Any) -> Any:
        """As a decimal: sums of whole numbers would overflow."""
        return column.cast("decimal(20, 0)").sum()

    def lookup(self, columns: Mapping[str, Sequence[Any] | Array], kinds: Mapping[str, str]) -> Any:
        """In the query's text, as JSON in hexadecimal digits: no sign in it can be taken for another."""
        import ibis

        own = {
            name: np.asarray(values).tolist() if kinds[name] != "string" else values for name, values in columns.items()
        }
        lines = [dict(zip(own, line, strict=True)) for line in zip(*own.values(), strict=True)]
        fields = ", ".join(f"{name}: {_TYPES[kinds[name]]}" for name in columns)
        text = json.dumps(lines).encode().hex()
        query = f"select inline(from_json(decode(unhex('{text}'), 'UTF-8'), 'array<struct<{fields}>>'))"
        return self.backend.sql(query, schema=ibis.schema(dict(kinds)))

    def fetched(self, expression: Any) -> dict[str, Array]:
        """Through Arrow."""
        found = self._arrow(self.backend.compile(expression))
        return {name: found.column(name).to_numpy() for name in found.column_names}

    def counted(self, rows: Any, sizes: Sequence[int]) -> list[Counted]:
        """By one group-by: every row has one key for each column, and the keys of a column follow those of the last.

        Grouping sets would group by all columns together, which takes more than twice the time.
        """
        starts = np.cumsum([0, *sizes])
        keys = [f"cast(`{name}` as bigint) + {start}" for name, start in zip(rows.columns, starts[:-1], strict=True)]
        key = f"explode(array({', '.join(keys)}))" if len(keys) > 1 else f"`{rows.columns[0]}`"
        query = f"select {key} as counted_key from ({self.backend.compile(rows)}) as coded_rows"
        found = self._arrow(f"select counted_key, count(*) from ({query}) as counted_rows group by counted_key")
        values, counts = (column.to_numpy().astype(np.int64) for column in found.columns)
        column_of = np.searchsorted(starts, values, side="right") - 1
        return [
            (values[column_of == place] - start, counts[column_of == place]) for place, start in enumerate(starts[:-1])
        ]

    def batches(self, rows: Any, rows_at_a_time: int) -> Iterator[Any]:
        """All at once."""
        return iter(self._arrow(self.backend.compile(rows)).to_batches(rows_at_a_time))

    def stopping(self) -> Callable[[], None]:
        """The jobs that carry our mark are cancelled, and no others."""
        if self._remote:
            return lambda: self._session.interruptTag(self._group)
        context = self._session.sparkContext
        return lambda: context.cancelJobGroup(self._group)

    def _arrow(self, query: str) -> Any:
        """A result as an Arrow table, under our mark."""
        if self._remote:
            self._session.addTag(self._group)
        else:
            self._session.sparkContext.setJobGroup(self._group, "adyton", interruptOnCancel=True)
        with quiet(), impatient(self._session), named(self.backend):
            return self._asked(self._steps.before(query))

    def _asked(self, query: str) -> Any:
        import pyarrow

        frame = self._session.sql(plain_text(query))
        if hasattr(frame, "toArrow"):
            return frame.toArrow().combine_chunks()
        rows = frame.collect()  # before Spark 4
        return pyarrow.table({name: [row[place] for row in rows] for place, name in enumerate(frame.columns)})


def plain_text(query: str) -> str:
    """In the text of a query Spark puts the values of variables in place of ${their names}: not here."""
    return query.replace("${", "\\u0024{")


def read_as(kind: Any) -> str | None:
    """Ibis's type for what a column of a Spark type is read as; None if it cannot be read."""
    return _IBIS_TYPES.get(type(kind).__name__)


def identifier(name: str) -> str:
    """A name as Spark quotes it."""
    return "`" + name.replace("`", "``") + "`"


def usual_text(number: Any) -> Any:
    """12345678.9 and 1e-05, not 1.23456789E7 and 1.0E-5."""
    import ibis

    text = number.cast("string").replace("4.9E-324", "5.0E-324")  # some versions of Java write one digit too many
    sign = ibis.ifelse(text.startswith("-"), "-", "")
    mantissa = text.re_replace("E.*$", "").re_replace("[.]0$", "").re_replace("^-", "")
    exponent = ibis.ifelse(text.contains("E"), text.re_replace("^.*E", ""), "0").try_cast("int64").fill_null(0)
    digits = mantissa.replace(".", "")
    point = exponent + 1  # of a mantissa that has one digit before the point
    padded = digits + "0" * 17
    large = padded.substr(0, point) + "." + digits.substr(point)
    small = "0." + ibis.literal("0000").substr(0, -point) + digits
    size = exponent.abs().cast("string")
    far = mantissa + ibis.ifelse(exponent < 0, "e-", "e+") + ibis.ifelse(size.length() < 2, "0" + size, size)
    written = ibis.cases(
        (~text.contains("E"), mantissa),
        (exponent.between(0, 15), large),
        (exponent.between(-4, -1), small),
        else_=far,
    )
    return sign + written


def exact_bits(number: Any) -> Any:
    """From Java's exact way of writing doubles, 0x1.8p3 or, for the smallest, 0x0.8p-1022."""
    import ibis

    text = engine_function("`format_string`", ("string", "float64"), "string")("%a", number)
    fraction = text.re_extract("[.]([0-9a-f]+)p", 1).rpad(13, "0")
    power = text.re_extract("p(-?[0-9]+)$", 1).try_cast("int64").fill_null(0)
    first = ibis.ifelse(text.contains("x1."), power + 1023, 0) + ibis.ifelse(text.startswith("-"), 2048, 0)
    return (engine_function("hex", "int64", "string")(first) + fraction).re_replace("^0+", "").upper()
