"""Small tables of hostile values on every source: all that can be made of a few units' rows, by leaving some out.

A :class:`Draw` is a handful of rows of a few units, over columns of one source, with a schema that reads them somehow.
Of its units every subset makes a table, so that m units make 2^m tables, of which m·2^(m−1) pairs are neighbours.
"""

import gc
import sqlite3
import struct
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from pathlib import Path

import hostile_values as hostile
import numpy as np

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting.opening import check_type, reader_for
from adyton.kernel.reading.readers import unit_column
from adyton.schema import Reading, Schema

LEVEL, CLAMP, DROP = {"nulls": "level", "outside": "other"}, {"outside": "clamp"}, {}
MANY = [f"level {number}" for number in range(80)]
WHITE = " \t\n\r\v\f"
UNIT = "whose"
RARE = 1000
"""Texts of more characters are drawn rarely: they take their time."""
CHARACTERS = [
    *"0123456789+-.,eE_:/TZ $€()'\"\\#%;xXtrufalsNnoyPMHD",
    "\u00a0",
    "\u2009",
    "\u202f",
    "\u2212",
    "\u0663",
    "ß",
]
CHARACTERS += [
    "\uff11",
    "ſ",
    "\u212a",
    "İ",
    "\t",
    "\x1c",
    "\x85",
    "\u2028",
    "\ufeff",
    "\U0001f600",
    "e\u0301",
    "inf",
    "nan",
]
NAMES = ["a", "A", " a", "a\t", "é", "e\u0301", "ß", "ss", "7", "07", "7.0", "+7", "\u0663", "7e0", "nan", "null", ""]
NAMES += [
    " ",
    "\u00a0",
    "\u2028a",
    "a\x1c",
    "\x1f",
    "İ",
    "i̇",
    "\ufeffa",
    "\ufffd",
    "?",
    "it's",
    "\\",
    "%s",
    "x" * 70_000,
]
NAMES += ["x" * 65_536 + "y", "x" * 65_536 + "z", None]
"""Units that are easily taken for one another."""


def attributes(column, policy):
    """Every kind of attribute, for a column."""
    own = {"reading": Reading(column=column)}
    sorted_out = {key: value for key, value in policy.items() if value != "clamp"}
    yield "integer", ad.Integer(0, 10, step=3, **own, **policy)
    yield "single", ad.Integer(0, 10, **own, **policy)
    yield "far", ad.Integer(-(2**52), 2**52 - 1, step=2**49 + 1, **own, **policy)
    yield "numeric", ad.Numeric(0, 10, bins=7, **own, **policy)
    yield "billion", ad.Numeric(0, 1e9, bins=10, **own, **policy)
    yield "widest", ad.Numeric(-(2**53), 2**53, bins=4, **own, **policy)
    yield "narrow", ad.Numeric(0, 1e-299, bins=3, **own, **policy)
    yield "edges", ad.Numeric(edges=[0, 0.1, 5, 10], **own, **policy)
    yield "many edges", ad.Numeric(edges=[*np.linspace(-5, 12, 70)], **own, **policy)
    yield "money", ad.Numeric(0, 10, bins=3, reading=Reading(column=column, currency="$", thousands=","), **policy)
    yield "longitude", ad.Longitude(-5, 5, bins=4, column=column, **policy)
    yield "levels", ad.Categorical(["1", "b"], **own, **sorted_out)
    yield "many levels", ad.Categorical(["1", "b", *MANY], **own, **sorted_out)
    yield "numbers", ad.Categorical([1, 5], **own, **sorted_out)
    words = Reading(column=column, missing=["7", "x"], case="ignore", first=3)
    yield "words", ad.Categorical({"1": ["One"], "b": []}, reading=words, **sorted_out)
    yield "boolean", ad.Boolean(**own, **sorted_out)
    yield "month", ad.Date("2024-01-01", "2024-12-31", by="month", column=column, **policy)
    yield "part", ad.Date(by="month of year", column=column, **{"nulls": "level"} if "nulls" in policy else {})
    berlin = {"zone": "Europe/Berlin", "column": column}
    yield "hours", ad.Datetime("2024-01-01", "2024-12-31", by="hour", every=24, **berlin, **policy)
    yield "clock", ad.Datetime(by="hour of day", **berlin)
    yield "written", ad.Date("2024-01-01", "2024-12-31", by="month", column=column, format=["%d.%m.%y"], **policy)
    yield "unix", ad.Datetime("1970-01-01", "1970-01-02", by="hour", column=column, format=["unix"], **policy)
    yield "duration", ad.Duration(0, 10, bins=4, column=column, **policy)
    yield "hourly", ad.Duration(0, 1e-3, bins=4, unit="weeks", column=column, **policy)


def fits(column, attribute):
    try:
        check_type(column, attribute)
    except SchemaError:
        return False
    return True


# ---- values ---------------------------------------------------------------------------------------------------------

BROKEN = [b"\xff", b"\xfe", b"a\xc3", b"a\xc3\x28"]
"""Bytes that are no text, in columns of texts."""
ANY = [*hostile.OBJECTS[:19], *hostile.TEXTS, 7, -(2**63), 2**63 - 1, 1e308, -0.0, b"7", b"\xff", None, True]
ANY = [
    value
    for value in ANY
    if value is None or type(value) in (bool, float, str, bytes) or (type(value) is int and -(2**63) <= value < 2**63)
]
WIDTHS = {"tiny": 8, "whole": 32, "long": 64, "day": 32, "moment": 64, "instant": 64, "fine": 64, "length": 64}
POOLS = {name: [*values, *odd] for name, (_, _, values, odd) in hostile.ARROW.items()}
POOLS |= {"object": hostile.OBJECTS, "any": ANY, "coded": POOLS["text"], "str": POOLS["text"]}


def odd_text(draw):
    return "".join(draw.choice(CHARACTERS) for _ in range(draw.randrange(9)))


def value(draw, kind, pool, *, broken=False):  # noqa: PLR0911
    """One out of the pool, or any that the type has."""
    if draw.random() < 0.25:
        if kind in WIDTHS:
            return draw.getrandbits(WIDTHS[kind]) - (1 << (WIDTHS[kind] - 1))
        if kind == "double":
            return struct.unpack("d", struct.pack("Q", draw.getrandbits(64)))[0]
        if kind == "single":
            return struct.unpack("f", struct.pack("I", draw.getrandbits(32)))[0]
        if kind == "unsigned":
            return draw.getrandbits(64)
        if kind == "decimal":
            return Decimal(f"{draw.randrange(-(10**37), 10**37) >> draw.randrange(120)}e-10")
        if kind == "raw":
            return draw.randbytes(draw.randrange(5))
        if kind in ("text", "coded", "str", "object", "any"):
            return draw.choice(BROKEN) if broken and draw.random() < 0.1 else odd_text(draw)
    drawn = draw.choice(pool)
    while isinstance(drawn, str | bytes) and len(drawn) > RARE and draw.random() < 0.99:
        drawn = draw.choice(pool)
    return drawn


def name(draw, kind, *, broken=False):
    """Whose a row is."""
    if kind in ("text", "coded", "str"):
        return value(draw, "none", [*NAMES, *(BROKEN if broken else [])])
    if kind in ("object", "any"):
        return value(
            draw, "none", [*NAMES, 7, 7.0, True, b"7", "\ud800", "a\udcff", 10**400 if kind == "object" else 1, 0.5]
        )
    return value(draw, kind, POOLS[kind])


def key(own, kind):
    """By what a unit is told from others, in plain Python; None for none."""
    if isinstance(own, Broken):
        return own.raw
    if kind == "any" and isinstance(own, int):
        return str(int(own)).encode()  # the name of a whole number is its decimal text
    if kind in ("object", "any") and not isinstance(own, str):
        return None
    if isinstance(own, str):
        own = own.encode("utf-8", "surrogatepass")
        if kind == "object" and own.decode("utf-8", "replace").encode() != own:
            return None  # half of a character, which no text has
    own = own.strip(WHITE.encode()) if isinstance(own, bytes) and kind != "raw" else own
    return None if own == b"" else own


@dataclass(frozen=True)
class Broken:
    """A text of SQLite that is none."""

    raw: bytes


# ---- sources --------------------------------------------------------------------------------------------------------


class Source:
    """Where small tables are stored. Rows are tuples: the values of some columns, and whose the row is."""

    kinds: tuple[str, ...]
    """Of columns."""
    broken = False

    def __init__(self, folder):
        self.folder = Path(folder)

    def tables(self, kinds, rows, parts):
        """Opened for each part of the rows, which is a list of places: what can be given to the kernel."""
        raise NotImplementedError

    def value(self, draw, kind):
        return value(draw, kind, POOLS[kind], broken=self.broken)

    def name(self, draw, kind):
        return name(draw, kind, broken=self.broken)

    def key(self, own, kind):
        return key(own, kind)

    def path(self, ending):
        return self.folder / f"{uuid.uuid4().hex}{ending}"

    def columns(self):
        """What the kernel says of a column of each kind."""
        for kind in self.kinds:
            with self.tables([kind, self.kinds[0]], [], [[]]) as (data,):
                yield kind, reader_for(data)


def arrow_column(kind, values):
    import pyarrow as pa

    special = {"decimal128(38, 10)": pa.decimal128(38, 10), "uuid": pa.uuid(), "date32": pa.date32()}
    special |= {"timestamp[us, tz=UTC]": pa.timestamp("us", "UTC")}
    own, storage = hostile.ARROW[kind][:2]
    target = special.get(own) or pa.type_for_alias(own)
    if target == pa.string():
        raw = [value if value is None or isinstance(value, bytes) else value.encode() for value in values]
        return pa.array(raw, pa.binary()).view(target)
    if target == pa.float16():
        values = [None if value is None else np.float16(value) for value in values]
    return pa.array(values, pa.type_for_alias(storage)).view(target) if storage else pa.array(values, target)


def arrow_rows(kinds, rows):
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    named = [f"c{place}" for place in range(len(kinds) - 1)] + [UNIT]
    return pa.table([arrow_column(kind, own) for kind, own in zip(kinds, columns, strict=True)], named)


@contextmanager
def at_hand(tables):
    yield tables


class Arrow(Source):
    kinds = tuple(hostile.ARROW)
    broken = True

    def tables(self, kinds, rows, parts):
        table = arrow_rows(kinds, rows)
        return at_hand([table.take(np.array(part, np.int64)) for part in parts])


class Polars(Source):
    """Texts that are none would end polars itself."""

    kinds = (*(kind for kind in hostile.ARROW if kind not in ("half", "uuid", "clock")), "coded", "object")

    def tables(self, kinds, rows, parts):
        import polars as pl

        columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
        series_list = []
        for place, (kind, own) in enumerate(zip(kinds, columns, strict=True)):
            named = UNIT if place == len(kinds) - 1 else f"c{place}"
            if kind == "object":
                series_list.append(pl.Series(named, list(own), dtype=pl.Object))
                continue
            series = pl.from_arrow(arrow_column("text" if kind == "coded" else kind, own)).rename(named)
            series_list.append(series.cast(pl.Categorical) if kind == "coded" else series)
        frame = pl.DataFrame(series_list)
        return at_hand([frame[np.array(part, np.int64)] for part in parts])


class Pandas(Source):
    """In types of Arrow's, and a few of NumPy's and pandas's own."""

    kinds = (*(kind for kind in hostile.ARROW if kind not in ("uuid", "half")), "object", "coded", "str")

    def tables(self, kinds, rows, parts):
        import pandas as pd

        columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
        series = {}
        for place, (kind, own) in enumerate(zip(kinds, columns, strict=True)):
            named = UNIT if place == len(kinds) - 1 else f"c{place}"
            if kind == "object":
                series[named] = pd.Series(list(own), dtype=object)
            elif kind == "coded":
                series[named] = pd.Series(list(own), dtype="str").astype("category")
            elif kind == "str":
                series[named] = pd.Series(list(own), dtype="string[python]")
            elif kind == "double" and len(rows) % 2:
                series[named] = pd.Series(list(own), dtype="float64")
            elif kind == "long" and len(rows) % 2:
                series[named] = pd.Series(list(own), dtype="Int64")
            else:
                series[named] = pd.Series(pd.arrays.ArrowExtensionArray(arrow_column(kind, own)))
        frame = pd.DataFrame(series)
        return at_hand([frame.iloc[part] for part in parts])


class Parquet(Arrow):
    """In row groups of two rows."""

    @contextmanager
    def tables(self, kinds, rows, parts):
        from pyarrow import parquet

        table, paths = arrow_rows(kinds, rows), []
        for part in parts:
            paths.append(self.path(".parquet"))
            parquet.write_table(
                table.take(np.array(part, np.int64)), paths[-1], row_group_size=2, use_dictionary=bool(len(rows) % 2)
            )
        yield paths
        for path in paths:
            path.unlink()


class Csv(Source):
    """Texts that begin and end in quotes or not, with line ends or not."""

    kinds = ("text",)
    multiline = False

    def value(self, draw, kind):
        return self.spelled(draw, super().value(draw, kind))

    def name(self, draw, kind):
        return self.spelled(draw, super().name(draw, kind))

    def spelled(self, draw, text):
        """A field, with or without quotes."""
        text = (text or "").replace("\r", "")
        text = text if self.multiline else text.replace("\n", "")
        if self.multiline or draw.random() < 0.5:
            return '"' + text.replace('"', '""') + '"'
        return text.replace('"', "").replace(",", "")

    def key(self, own, kind):
        return key(own[1:-1].replace('""', '"') if own.startswith('"') else own, kind)

    @contextmanager
    def tables(self, kinds, rows, parts):
        names = [f"c{place}" for place in range(len(kinds) - 1)] + [UNIT]
        lines, paths = [",".join(row) for row in rows], []
        for part in parts:
            paths.append(self.path(".csv"))
            paths[-1].write_bytes("\n".join([",".join(names), *(lines[place] for place in part), ""]).encode())
        yield paths
        for path in paths:
            path.unlink()


class Lines(Csv):
    """With line ends inside the quotes."""

    multiline = True


class Sqlite(Source):
    """Any value in any column, and one file for all tables."""

    kinds = ("any",)

    def value(self, draw, kind):
        return Broken(draw.choice(BROKEN)) if draw.random() < 0.02 else super().value(draw, kind)

    def name(self, draw, kind):
        if draw.random() < 0.1:
            return Broken(draw.choice(BROKEN))
        drawn = super().name(draw, kind)
        return "b" if isinstance(drawn, str) and key(drawn, "object") is None and drawn.strip(WHITE) else drawn

    @contextmanager
    def tables(self, kinds, rows, parts):
        names, path = [f"c{place}" for place in range(len(kinds) - 1)] + [UNIT], self.path(".sqlite")
        connection = sqlite3.connect(path)
        for number, part in enumerate(parts):
            connection.execute(f"create table t{number} ({', '.join(names)})")
            for place in part:
                marks = ", ".join("cast(? as text)" if isinstance(value, Broken) else "?" for value in rows[place])
                plain = [value.raw if isinstance(value, Broken) else value for value in rows[place]]
                connection.execute(f"insert into t{number} values ({marks})", plain)
        connection.commit()
        connection.close()
        yield [f"{path}#t{number}" for number in range(len(parts))]
        path.unlink()


class DuckDb(Source):
    """One file for all tables."""

    kinds = tuple(kind for kind in hostile.ARROW if kind not in ("clock", "half", "uuid"))

    @contextmanager
    def tables(self, kinds, rows, parts):
        import duckdb
        import pyarrow as pa

        path, table = self.path(".duckdb"), arrow_rows(kinds, rows)
        table = table.append_column("place", pa.array(range(len(table)), pa.int32()))
        with duckdb.connect(str(path)) as connection:
            connection.execute("set timezone = 'UTC'")
            connection.register("every", table)
            for number, part in enumerate(parts):
                chosen = f"place in ({', '.join(map(str, part))})" if part else "false"
                connection.execute(f"create table t{number} as select * exclude (place) from every where {chosen}")
        yield [f"{path}#t{number}" for number in range(len(parts))]
        path.unlink()


class Postgres(Source):
    """A table for each part."""

    kinds = tuple(hostile.POSTGRES)

    def __init__(self, folder, connection, address):
        super().__init__(folder)
        self.connection, self.address = connection, address

    def value(self, draw, kind):
        return self.written(value(draw, self.family(kind), self.pool(kind)))

    def name(self, draw, kind):
        names = [text for text in NAMES if kind == "text" or text is None or len(text) < 6]
        return self.written(value(draw, "none", names if kind in ("text", "fixed") else self.pool(kind)))

    def key(self, own, kind):
        if own is None or kind in ("text", "fixed"):
            return key(own, kind)
        if kind == "decimal":
            return None if own == "NaN" else Decimal(own).normalize() if len(own) < RARE else own
        return None if own == "\\x" else own

    @staticmethod
    def family(kind):
        return kind if kind in ("whole", "long", "double", "text") else "none"

    @staticmethod
    def pool(kind):
        _, values, odd = hostile.POSTGRES[kind]
        return [*values, *odd]

    @staticmethod
    def written(value):
        value = value.replace("\0", "") if isinstance(value, str) else value
        return value if value is None or isinstance(value, str) else repr(value)

    @contextmanager
    def tables(self, kinds, rows, parts):
        types = [hostile.POSTGRES[kind][0] for kind in kinds]
        names = [f"c{place}" for place in range(len(kinds) - 1)] + [UNIT]
        fields = ", ".join(f"{own} {kind}" for own, kind in zip(names, types, strict=True))
        marks, made = ", ".join(f"%s::text::{kind}" for kind in types), []
        for part in parts:
            made.append(f"small_{uuid.uuid4().hex}")
            self.connection.execute(f"create table {made[-1]} ({fields})")
            with self.connection.cursor() as cursor:
                cursor.executemany(f"insert into {made[-1]} values ({marks})", [rows[place] for place in part])
        yield [f"{self.address}#{table}" for table in made]
        gc.collect()  # connections with a transaction that is open
        for table in made:
            self.connection.execute(f"drop table {table}")


class Spark(Source):
    """Rows chosen from one file; in Connect, which does not tell conditions, a file for each part."""

    kinds = tuple(kind for kind in hostile.ARROW if kind not in hostile.NOT_IN_SPARK)
    broken = True

    def __init__(self, folder, session, *, connect=False):
        super().__init__(folder)
        self.session, self.connect = session, connect

    @contextmanager
    def tables(self, kinds, rows, parts):
        import pyarrow as pa
        from pyarrow import parquet

        table, paths = arrow_rows(kinds, rows), []
        if self.connect:
            for part in parts:
                paths.append(self.path(".parquet"))
                parquet.write_table(table.take(np.array(part, np.int64)), paths[-1])
            yield [self.session.read.parquet(str(path)) for path in paths]
        else:
            paths.append(self.path(".parquet"))
            parquet.write_table(table.append_column("place", pa.array(range(len(table)), pa.int32())), paths[0])
            frame = self.session.read.parquet(str(paths[0]))
            yield [frame.where(f"place in ({', '.join(map(str, part or [-1]))})") for part in parts]
        for path in paths:
            path.unlink()


# ---- draws ----------------------------------------------------------------------------------------------------------


class Kinds:
    """What can be made of the columns of a source: as which attributes each kind is read, and which can be units."""

    def __init__(self, source):
        self.readable, self.units = {}, []
        for kind, reader in source.columns():
            self.readable[kind] = [name for name, own in attributes("c0", LEVEL) if fits(reader.columns[0], own)]
            alone = Schema({"own": ad.Boolean()}, unit="c0")
            with suppress(SchemaError):
                unit_column(reader, alone, None)
                self.units.append(kind)
        self.readable = {kind: names for kind, names in self.readable.items() if names}


@dataclass(frozen=True)
class Draw:
    """Rows of a few units, and a schema for them."""

    kinds: list
    rows: list
    units: list
    """The places of the rows of each unit."""
    schema: Schema

    @classmethod
    def of(cls, draw, source, kinds, most=4):
        """With a unit in two of three cases; else each row is a unit."""
        chosen = [draw.choice(sorted(kinds.readable)) for _ in range(3)] + [draw.choice(kinds.units)]
        owned = draw.random() < 2 / 3
        read = {}
        for place, kind in enumerate(chosen[:-1]):
            policy = draw.choice([LEVEL, CLAMP, DROP])
            every = dict(attributes(f"c{place}", policy))
            read[f"v{place}"] = every[draw.choice(kinds.readable[kind])]
        limit = draw.choice([1, 2]) if owned else 1
        options = {"unit": UNIT, "no_unit": draw.choice(["drop", "one"])} if owned else {}
        schema = Schema(read, limit, multiline=getattr(source, "multiline", False), **options)
        names = [source.name(draw, chosen[-1]) for _ in range(most)]
        count = draw.randrange(1, 2 * most if owned else most + 1)
        rows, units = [], {}
        for place in range(count):
            own = names[place] if place < most else draw.choice(names)
            rows.append((*(source.value(draw, kind) for kind in chosen[:-1]), own))
            units.setdefault(source.key(own, chosen[-1]) if owned else place, []).append(place)
        return cls(chosen, rows, list(units.values()), schema)

    def parts(self):
        """The rows of every subset of the units; the number of a subset has a bit for each of them."""
        count = len(self.units)
        return [
            sorted(place for unit in range(count) if number >> unit & 1 for place in self.units[unit])
            for number in range(1 << count)
        ]

    def pairs(self):
        """The numbers of the subsets that differ by one unit."""
        count = len(self.units)
        subsets = product(range(1 << count), range(count))
        return [(subset, subset | 1 << unit) for subset, unit in subsets if not subset >> unit & 1]
