"""Rows that are hard to count alike: nulls, not-a-number, infinities, extremes, odd texts, times around changes."""

import datetime as dt
import math
import sqlite3
import struct
from decimal import Decimal

UTC = dt.UTC
LEVELS = ["a", "A", "é", "it's", 'say "so"', "back\\slash", "line\nend", "%s", "{0}", "null", "ß"]
"""Collations take some of them for equal; quotes and backslashes must come through."""
TEXTS = [*LEVELS, " a ", "e\u0301", "", "  ", "AA", "ss", "É", "a\t", None, "NULL", "\U0001f600"]
NUMBERS = {
    **{text: float(text) for text in ("1", "-3", "5.", ".5", "1e2", "007", "1E-2", "12.75", "99.99999", "0e99999")},
    **{"+5": 5.0, "+-5": -5.0, "1_0": 10.0, "1_0.2_5e0_1": 102.5, " 8 ": 8.0, "\t9\n": 9.0},
    **{
        "inf": math.inf,
        "-Infinity": -math.inf,
        "1e400": math.inf,
        "-1e99999": -math.inf,
        "1e-400": 0.0,
        "9" * 400: math.inf,
    },
    **{"0." + "0" * 400 + "1": 0.0, "0e99999999999": 0.0, "5e-324": 5e-324, "1e-99999": 0.0},
    **dict.fromkeys(
        ("nan", "-NaN", "", " ", "x", "1__0", "_1", "1e", "e5", "0x1F", "1d", "--5", "1,5", "1 2", "٣"), None
    ),
}
"""What a text is read as."""
TRUTHS = {
    **dict.fromkeys(("t", "TRUE", "yes", "Y", "1", " true ", "1.0", "1e0"), True),
    **dict.fromkeys(("f", "False", "NO", "n", "0", "-0", "0.0"), False),
    **dict.fromkeys(("maybe", "2", "tr", "on", "nan"), "outside"),
    **dict.fromkeys(("", None), None),
}
"""A text that is neither is outside; blank ones are, too."""
DOUBLES = [
    0.0,
    -0.0,
    0.1,
    0.3,
    0.7,
    1.0,
    9.999999999,
    10.0,
    10.000000001,
    2.5,
    -1e-300,
    5e-324,
    1e308,
    -1e308,
    2.0**53,
    2.0**63,
]
DOUBLES += [-(2.0**63), 1e19, math.inf, -math.inf, math.nan, None, 3.0, 4.999999999999999, -3.0, 5.0]
SINGLES = [
    v if v is None else struct.unpack("f", struct.pack("f", v))[0] for v in DOUBLES if v is None or abs(v) != 1e308
]
WHOLE = [0, 1, -1, 9, 10, 11, 5, 2**15 - 1, -(2**15), 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), None]
DECIMALS = [
    None,
    *map(Decimal, ("0", "0.1", "9.9999999999", "10", "-0.0000000001", "9999999999999999999999999999", "2.5")),
]
DAYS = [dt.date(2024, 2, 29), dt.date(2024, 3, 31), dt.date(2023, 12, 31), dt.date(2024, 12, 31), dt.date(1, 1, 1)]
DAYS += [dt.date(9999, 12, 31), dt.date(1969, 12, 31), dt.date(1900, 2, 28), dt.date(2024, 1, 1), None]
MOMENTS = [
    dt.datetime(2024, 3, 31, 2, 30),
    dt.datetime(2024, 10, 27, 2, 30),
    dt.datetime(2024, 2, 29, 23, 59, 59, 999999),
]
MOMENTS += [
    dt.datetime(1, 1, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1969, 12, 31, 23, 59, 59, 500000),
]
MOMENTS += [dt.datetime(2024, 3, 10, 2, 30), dt.datetime(2024, 12, 31, 23), None, dt.datetime(2025, 1, 1)]
INSTANTS = [dt.datetime(2024, 3, 31, hour, 59, 59, 999999, tzinfo=UTC) for hour in (0, 1, 22, 23)]
INSTANTS += [dt.datetime(2024, 10, 27, hour, 30, tzinfo=UTC) for hour in (0, 1)]
INSTANTS += [dt.datetime(2023, 12, 31, 22, 59, 59, tzinfo=UTC), dt.datetime(2023, 12, 31, 23, tzinfo=UTC)]
INSTANTS += [dt.datetime(1901, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31, 23, 30, tzinfo=UTC), None]
ISO = [
    "2024-03-31",
    "2024-02-30",
    "2023-02-29",
    "2024-02-29",
    "1900-02-29",
    "2000-02-29",
    "2024-13-01",
    "2024-00-10",
    "0000-01-01",
]
ISO += [
    "2024-03-31 02:30",
    "2024-03-31T00:59:59Z",
    "2024-03-31T01:00:00Z",
    "2024-10-27 00:30:00.5+00:00",
    "2024-10-27T03:30+0200",
]
ISO += [
    "2024-12-31T23:30:00-05",
    "2024-06-01 24:00",
    "2024-06-01 12:60",
    "2024-06-01 12:00:60",
    "2024-06-01 12:00:00 +01:00",
]
ISO += [
    "2024-06-01 12:00,5",
    "2024-06-01 12:00:00,25",
    " 2024-06-01 ",
    "2024-6-1",
    "20240601",
    "",
    "x",
    None,
    "Monday",
    "07",
    "23",
    "5",
]
ISO += [
    "2024-06-01T12:00:00+24:00",
    "2024-06-01T12:00:00+01:60",
    "2024-06-01x",
    "2024-06-01 12:00 Z",
    "1969-12-31 23:59:59",
    "9999-12-31",
]
PEOPLE = ["p1", "p2", "P1", " p1", None, "", "p3", "é", "p1", "p2"]

COLUMNS = {
    "short": ("int16", "smallint", [value for value in WHOLE if value is None or abs(value) < 2**15]),
    "whole": ("int32", "integer", [value for value in WHOLE if value is None or abs(value) <= 2**31 - 1]),
    "long": ("int64", "bigint", WHOLE),
    "single": ("float32", "real", SINGLES),
    "double": ("float64", "double precision", DOUBLES),
    "decimal": ("decimal128(38, 10)", "numeric", DECIMALS),
    "text": ("string", "text collate blind", TEXTS),
    "number": ("string", "varchar", list(NUMBERS)),
    "flag": ("bool", "boolean", [True, False, None]),
    "truth": ("string", "text", list(TRUTHS)),
    "day": ("date32", "date", DAYS),
    "moment": ("timestamp[us]", "timestamp", MOMENTS),
    "instant": ("timestamp[us, tz=UTC]", "timestamptz", INSTANTS),
    "iso": ("string", "text", ISO),
    "person": ("string", "text collate blind", PEOPLE),
}
"""For each column its type in Arrow and in PostgreSQL, and its values, which repeat until all columns are as long."""
LENGTH = 97
ROWS = {name: [values[place % len(values)] for place in range(LENGTH)] for name, (_, _, values) in COLUMNS.items()}


def write_parquet(path, rows, columns=COLUMNS):
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {"decimal128(38, 10)": pa.decimal128(38, 10), "timestamp[us]": pa.timestamp("us"), "date32": pa.date32()}
    kinds |= {"timestamp[us, tz=UTC]": pa.timestamp("us", tz="UTC"), "decimal128(20, 0)": pa.decimal128(20, 0)}
    table = {name: pa.array(values, kinds.get(columns[name][0], columns[name][0])) for name, values in rows.items()}
    parquet.write_table(pa.table(table), path)


def insert_into_postgres(connection, table, rows, columns=COLUMNS):
    """In a collation that takes texts for equal which differ in case or accents."""
    connection.execute(
        "create collation if not exists blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
    )
    kinds = ", ".join(f"{name} {columns[name][1]}" for name in rows)
    connection.execute(f"create table {table} ({kinds})")
    marks = ", ".join(["%s"] * len(rows))
    with connection.cursor() as cursor:
        cursor.executemany(f"insert into {table} values ({marks})", list(zip(*rows.values(), strict=True)))


def write_sqlite(path, rows):
    """Without types: numbers as they are, all else as text."""
    numbers = (bool, int, float, str, type(None))
    columns = [[value if isinstance(value, numbers) else str(value) for value in values] for values in rows.values()]
    with sqlite3.connect(path) as connection:
        connection.execute(f"create table hard ({', '.join(rows)})")
        connection.executemany(f"insert into hard values ({', '.join('?' * len(rows))})", zip(*columns, strict=True))
    return path
