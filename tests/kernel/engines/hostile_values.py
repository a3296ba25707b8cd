"""Values at the ends of their types, and the tables that hold them on every source: ordinary rows, and hostile ones."""

import datetime as dt
import math
import sqlite3
import uuid
from decimal import Decimal
from pathlib import Path

import numpy as np

from workbooks import DATE, LENGTH, MOMENT, Raw, write_workbook

INF, NAN = math.inf, math.nan
DOUBLES = [INF, -INF, NAN, 5e-324, -5e-324, 1e-323, 2.2250738585072014e-308, 1.7976931348623157e308]
DOUBLES += [-1.7976931348623157e308, 0.0, -0.0, 1e300, 2.0**63, -(2.0**63), 2.0**53 + 2, 1e-310, 0.1, None]
SINGLES = [INF, -INF, NAN, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38, -3.4028235e38, -0.0, None]
FAR_DAYS = [2**31 - 1, -(2**31), -(2**31) + 1, 0, -719_163, 2_932_897, 99_999_999, None]
FAR_TIMES = [2**63 - 1, -(2**63) + 1, -(2**63) + 2, 0, 2**62, -62_135_596_800_000_001, 253_402_300_800_000_000, None]
DECIMALS = [Decimal(text) for text in ("9" * 28 + "." + "9" * 10, "-" + "9" * 28, "1e-10", "-1e-10", "0")] + [None]
FAR_DECIMALS = ["1e-16383", "-1e-16383", "1e131071", "-1e131071", "9" * 131_072, "0." + "9" * 16_383, "NaN", "Infinity"]
FAR_DECIMALS += ["-Infinity", "1.7976931348623157e308", "1.7976931348623158e308", "1.797693134862315807e308", "1.8e308"]
FAR_DECIMALS += ["2.4703282292062327e-324", "2.4703282292062328e-324", "2.5e-324", "4.9e-324", "1e-310", "-0.0", None]
UUIDS = [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), None]
RAW = [b"", b"\xff\xfe", b"\0", b"7", b"x" * 100_000, None]
TEXTS = [
    "",
    " ",
    "\t",
    "7",
    "007",
    "7.0",
    "7e0",
    "+7",
    "1e400",
    "-1e400",
    "1e-400",
    "4.9e-324",
    "1e-323",
    "inf",
    "-Infinity",
]
TEXTS += [
    "NaN",
    "infinity",
    "9" * 400,
    "0." + "0" * 400 + "1",
    "1e99999999999",
    "1e-99999999999",
    "x" * 200_000,
    "1" * 70_000,
]
TEXTS += [
    "2024-02-30",
    "0000-00-00",
    "9999-12-31T23:59:59.999999Z",
    "0001-01-01",
    "-0044-03-15",
    "infinity",
    "24:00:00",
]
TEXTS += [
    "PT1e400S",
    "PT9999999999999999999H",
    "1:99:99",
    "true",
    "\ufeff7",
    "٣",
    "\U0010ffff",
    "a'b\"c\\",
    "$(1,000)",
    None,
]
OBJECTS = [
    *TEXTS[:8],
    7,
    7.0,
    True,
    10**400,
    -(10**400),
    2**63,
    1e308,
    NAN,
    INF,
    3 + 4j,
    Decimal("sNaN"),
    Decimal("1e99999"),
]
OBJECTS += [
    dt.date(1, 1, 1),
    dt.datetime(9999, 12, 31),
    dt.time(23),
    dt.timedelta.max,
    b"\xff",
    b"7",
    "\ud800",
    object(),
    [1],
]
OBJECTS += [
    {"a": 1},
    (),
    None,
    np.float64(5e-324),
    np.datetime64("NaT"),
    np.int8(-128),
    uuid.UUID(int=7),
    range(3),
    type,
]

ARROW = {
    "tiny": ("int8", None, [1, 5, 9], [127, -128, 0, None]),
    "whole": ("int32", None, [1, 5, 9], [2**31 - 1, -(2**31), None]),
    "long": ("int64", None, [1, 5, 9], [2**63 - 1, -(2**63), 2**53 + 1, None]),
    "unsigned": ("uint64", None, [1, 5, 9], [2**64 - 1, 2**63, None]),
    "half": ("float16", None, [1.0, 5.0, 9.0], [INF, NAN, 6e-8, 65504.0, None]),
    "single": ("float32", None, [1.0, 5.0, 9.0], SINGLES),
    "double": ("float64", None, [1.0, 5.0, 9.0], DOUBLES),
    "decimal": ("decimal128(38, 10)", None, [Decimal(1), Decimal(5)], DECIMALS),
    "flag": ("bool", None, [True, False], [None]),
    "text": ("string", None, ["1", "b", "2024-01-31"], TEXTS),
    "day": ("date32", "int32", [19_753, 19_800], FAR_DAYS),
    "moment": ("timestamp[us]", "int64", [1_706_659_200_000_000, 1_717_200_000_000_000], FAR_TIMES),
    "instant": ("timestamp[us, tz=UTC]", "int64", [1_706_659_200_000_000, 1_717_200_000_000_000], FAR_TIMES),
    "fine": ("timestamp[ns]", "int64", [1_706_659_200_000_000_000], FAR_TIMES),
    "clock": ("time64[us]", "int64", [0, 3_600_000_000], [86_399_999_999, 86_400_000_000, 2**62, -1, None]),
    "length": ("duration[us]", "int64", [1_000_000, 5_000_000], FAR_TIMES),
    "raw": ("binary", None, [b"a", b"b"], RAW),
    "uuid": (
        "uuid",
        None,
        [uuid.UUID(int=5).bytes, uuid.UUID(int=9).bytes],
        [value and value.bytes for value in UUIDS],
    ),
}
"""Of each column its Arrow type, that of its numbers where Python has no such value, ordinary values, hostile ones."""
ORDINARY = 12
HOSTILE = max(len(hostile) for _, _, _, hostile in ARROW.values())
NOT_IN_SPARK = {"unsigned", "half", "fine", "clock", "length", "raw", "uuid"}

POSTGRES = {
    "tiny": ("smallint", ["1", "5"], ["32767", "-32768", None]),
    "whole": ("integer", ["1", "5"], ["2147483647", "-2147483648", None]),
    "long": ("bigint", ["1", "5"], ["9223372036854775807", "-9223372036854775808", None]),
    "object": ("oid", ["1", "5"], ["4294967295", "0", None]),
    "single": ("real", ["1", "5"], ["Infinity", "-Infinity", "NaN", "1e-45", "3.4028235e38", "-0", None]),
    "double": ("double precision", ["1", "5"], [None if value is None else repr(value) for value in DOUBLES]),
    "decimal": (
        "numeric",
        ["1", "5"],
        FAR_DECIMALS,
    ),
    "money": ("money", ["1", "5"], ["92233720368547758.07", "-92233720368547758.08", None]),
    "flag": ("boolean", ["t", "f"], [None]),
    "text": ("text", ["1", "b", "2024-01-31"], TEXTS),
    "fixed": ("char(5)", ["1", "b"], ["", "7", "007", "inf", None]),
    "day": (
        "date",
        ["2024-01-31", "2024-06-01"],
        ["infinity", "-infinity", "4714-11-24 BC", "5874897-12-31", "0001-01-01", None],
    ),
    "moment": (
        "timestamp",
        ["2024-01-31", "2024-06-01"],
        ["infinity", "-infinity", "4714-11-24 BC", "294276-12-31 23:59:59.999999", "0001-01-01 00:00:00 BC", None],
    ),
    "instant": (
        "timestamptz",
        ["2024-01-31 00:00Z", "2024-06-01 00:00Z"],
        [
            "infinity",
            "-infinity",
            "4714-11-24 00:00:00+00 BC",
            "294276-12-31 23:59:59.999999Z",
            "9999-12-31 23:59:59Z",
            None,
        ],
    ),
    "clock": ("time", ["00:00", "01:00"], ["24:00:00", "23:59:59.999999", None]),
    "length": (
        "interval",
        ["1 second", "5 seconds"],
        [
            "178000000 years",
            "-178000000 years",
            "2147483647 days",
            "0.000001 seconds",
            "-2147483648 days",
            "2147483647 hours",
            None,
        ],
    ),
    "raw": ("bytea", ["\\x61", "\\x62"], ["\\x", "\\xfffe", "\\x00", None]),
    "uuid": ("uuid", [str(uuid.UUID(int=5))], [str(UUIDS[0]), str(UUIDS[1]), None]),
}
"""The same in PostgreSQL's own types and spellings."""
DUCKDB = {
    "huge": (
        "hugeint",
        ["1", "5"],
        ["170141183460469231731687303715884105727", "-170141183460469231731687303715884105728", None],
    ),
    "giant": ("uhugeint", ["1", "5"], ["340282366920938463463374607431768211455", "0", None]),
    "forever": (
        "timestamp",
        ["2024-01-31", "2024-06-01"],
        ["infinity", "-infinity", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806"],
    ),
    "ever": ("timestamptz", ["2024-01-31", "2024-06-01"], ["infinity", "-infinity", None]),
    "coarse": ("timestamp_s", ["2024-01-31"], ["infinity", "-infinity", "290000-01-01", None]),
    "milli": ("timestamp_ms", ["2024-01-31"], ["infinity", "-infinity", None]),
    "nano": ("timestamp_ns", ["2024-01-31"], ["infinity", "-infinity", "2262-04-11 23:47:16.854775", None]),
    "date": (
        "date",
        ["2024-01-31", "2024-06-01"],
        ["infinity", "-infinity", "5877642-06-25 (BC)", "5881580-07-10", None],
    ),
    "span": (
        "interval",
        ["1 second", "5 seconds"],
        ["178000000 years", "-178000000 years", "2147483647 days", "1 microsecond", None],
    ),
    "kind": ("enum('1', 'b', '')", ["1", "b"], ["", None]),
    "bits": ("bit", ["101", "1"], ["0", None]),
    "zoned": ("timetz", ["10:00:00+00"], ["24:00:00-15:59:59", "00:00:00+15:59:59", None]),
    "list": ("integer[]", ["[1]"], ["[]", None]),
}
"""Types that DuckDB has beside those of Parquet."""
SPARK = {
    "span": (
        "interval day to second",
        ["interval '1' second", "interval '5' second"],
        [
            "interval '106751991 04:00:54.775807' day to second",
            "interval '-106751991 04:00:54.775808' day to second",
            "null",
        ],
    ),
    "exact": (
        "decimal(38, 0)",
        ["1bd", "5bd"],
        ["99999999999999999999999999999999999999bd", "-99999999999999999999999999999999999999bd"],
    ),
    "small": ("decimal(38, 38)", ["0.1bd"], ["1e-38bd", "-1e-38bd", "null"]),
}
"""Types that Spark has beside those of Parquet, as expressions of its own."""


def column(values, hostile, rows):
    """Ordinary values, then the hostile ones of these rows."""
    return [values[place % len(values)] for place in range(ORDINARY)] + [hostile[row % len(hostile)] for row in rows]


def arrow_table(rows, without=()):
    import pyarrow as pa

    kinds = {"decimal128(38, 10)": pa.decimal128(38, 10), "uuid": pa.uuid(), "date32": pa.date32()}
    kinds |= {"timestamp[us, tz=UTC]": pa.timestamp("us", "UTC")}
    columns = {}
    for name, (kind, storage, values, hostile) in ARROW.items():
        if name not in without:
            own = kinds.get(kind) or pa.type_for_alias(kind)
            held = column(values, hostile, rows)
            if own == pa.float16():
                held = [None if value is None else np.float16(value) for value in held]
            columns[name] = pa.array(held, pa.type_for_alias(storage)).view(own) if storage else pa.array(held, own)
    return pa.table({**columns, "label": column(["a", "b"], ["b"], rows)})


def in_arrow(rows):
    """Also as dictionaries, views and runs."""
    import pyarrow as pa

    table = arrow_table(rows)
    for name in ("text", "double", "long", "decimal"):
        table = table.append_column(f"{name} coded", table[name].combine_chunks().dictionary_encode())
    table = table.append_column("text view", table["text"].cast(pa.string_view()))
    table = table.append_column("text long", table["text"].cast(pa.large_string()))
    wide = table["decimal"].cast(pa.decimal256(76, 10))
    return table.append_column("wide", wide).append_column("none", pa.nulls(len(table)))


def in_polars(rows):
    import polars as pl

    table = arrow_table(rows, without={"half", "uuid"})
    frame = pl.from_arrow(table)
    objects = pl.Series("object", column(["1", "b"], OBJECTS, rows), dtype=pl.Object)
    wide = pl.Series("huge", column([1, 5], [2**127 - 1, -(2**127), None], rows), dtype=pl.Int128)
    exact = pl.col("decimal").cast(pl.Decimal(38, 0)).alias("exact")
    return frame.with_columns(pl.col("text").cast(pl.Categorical).alias("coded"), exact, objects, wide)


def in_pandas(rows):
    """In types of NumPy's, in nullable ones and in those of Arrow; as categories, and as Python's objects."""
    import pandas as pd

    table, columns = arrow_table(rows), {}
    for name in table.column_names:
        columns[name] = pd.Series(pd.arrays.ArrowExtensionArray(table[name])) if name != "uuid" else None
    columns.pop("uuid")
    numpy = {"half": "float16", "single": "float32", "double": "float64"}
    for name, kind in numpy.items():
        columns[f"{name} numpy"] = pd.Series(column(*ARROW[name][2:], rows), dtype=kind)
    for name in ("tiny", "whole", "long", "unsigned"):
        columns[f"{name} masked"] = pd.Series(
            column(*ARROW[name][2:], rows), dtype=ARROW[name][0].title().replace("Ui", "UI")
        )
    for name in ("moment", "length"):
        raw = [-(2**63) if value is None else value for value in column(*ARROW[name][2:], rows)]
        kind = "datetime64[us]" if name == "moment" else "timedelta64[us]"
        columns[f"{name} numpy"] = pd.Series(np.array(raw, np.int64).view(kind))
    columns["str"] = pd.Series(column(*ARROW["text"][2:], rows), dtype="str")
    columns["python"] = pd.Series(column(*ARROW["text"][2:], rows), dtype="string[python]")
    columns["object"] = pd.Series(column(["1", "b"], OBJECTS, rows), dtype=object)
    named = [value for value in OBJECTS if not isinstance(value, list | dict | Decimal) and value != "\ud800"]
    columns["levels"] = pd.Series(column(["1", "b", 0.5], named, rows), dtype=object).astype("category")
    columns["coded"] = pd.Series(column(*ARROW["text"][2:], rows)).astype("category")
    columns["numbers coded"] = pd.Series(column(*ARROW["long"][2:], rows), dtype="Int64").astype("category")
    columns["doubles coded"] = pd.Series(column(*ARROW["double"][2:], rows)).astype("category")
    columns["sparse"] = pd.Series(pd.arrays.SparseArray(np.array(column([1.0, 5.0], DOUBLES, rows), float)))
    return pd.DataFrame(columns)


def in_csv(folder, rows):
    """All is text: every column has the hostile texts in another order."""
    names = [*ARROW, "label"]
    path = Path(folder) / f"{uuid.uuid4().hex}.csv"
    lines = [",".join(names)]
    ordinary = [ARROW[name][2] if name == "text" else ["1", "5", "2024-01-31"] for name in ARROW]
    for place in range(ORDINARY):
        lines.append(",".join([values[place % len(values)] for values in ordinary] + ["ab"[place % 2]]))
    for row in rows:
        texts = [TEXTS[(row + shift) % len(TEXTS)] or "" for shift in range(len(ARROW))]
        quoted = [
            '"' + text.replace('"', '""') + '"' if row % 2 else text.replace('"', "").replace(",", "") for text in texts
        ]
        lines.append(",".join([*quoted, "b"]))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def in_parquet(folder, rows, without=()):
    from pyarrow import parquet

    path = Path(folder) / f"{uuid.uuid4().hex}.parquet"
    parquet.write_table(arrow_table(rows, without), path)
    return path


def in_sqlite(folder, rows):
    """Whatever SQLite can hold, in columns without a type."""
    anything = [*OBJECTS[8:10], *TEXTS, *DOUBLES, *RAW, 2**63 - 1, -(2**63), 2**53 + 1]
    columns = {
        "text": (["1", "b"], TEXTS),
        "double": ([1.0, 5.5], DOUBLES),
        "raw": (["1"], RAW),
        "any": ([1], anything),
    }
    values = [column(*own, rows) for own in (*columns.values(), (["a", "b"], ["b"]))]
    path = Path(folder) / f"{uuid.uuid4().hex}.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute('create table t ("text", "double", "raw", "any", "label")')
        connection.executemany("insert into t values (?, ?, ?, ?, ?)", zip(*values, strict=True))
    return path


def in_excel(folder, rows):
    """Every kind of cell with every number and text in it."""
    kinds = {"double": None, "date": DATE, "length": LENGTH, "moment": MOMENT}
    odd = [repr(value) for value in DOUBLES if value is not None] + ["-1e12", "2958466", "60", "-0.5", "x", ""]
    columns = {name: ([Raw("1", style=kind), Raw("5", style=kind)], [Raw(text, style=kind) for text in odd])
             for name, kind in kinds.items()}  # fmt: skip
    columns["text"] = ["1", "b"], TEXTS
    columns["any"] = (
        [1, "b"],
        [*TEXTS[:9], True, Raw("#N/A", "e"), Raw("9", "s"), Raw("x", "zz"), *columns["date"][1], None],
    )
    values = [column(*own, rows) for own in (*columns.values(), (["a", "b"], ["b"]))]
    path = Path(folder) / f"{uuid.uuid4().hex}.xlsx"
    return write_workbook(path, {"t": [[*columns, "label"], *zip(*values, strict=True)]})


def literal(value):
    return "null" if value is None else "'" + value.replace("'", "''") + "'"


def in_duckdb(folder, rows):
    """A stored table: the types of Parquet, and DuckDB's own."""
    import duckdb

    path = Path(folder) / f"{uuid.uuid4().hex}.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("set timezone = 'UTC'")
        plain = in_parquet(folder, rows, without={"clock"})
        connection.execute(f"create table parts as select row_number() over () as place, * from '{plain}'")
        for name, (kind, values, hostile) in DUCKDB.items():
            connection.execute(f'alter table parts add column "{name}" {kind}')
            for place, value in enumerate(column(values, hostile, rows), 1):
                connection.execute(f'update parts set "{name}" = {literal(value)}::{kind} where place = {place}')
    return f"{path}#parts"


def in_postgres(connection, address, rows):
    name = f"hostile_{uuid.uuid4().hex}"
    kinds = {**{field: kind for field, (kind, _, _) in POSTGRES.items()}, "label": "text"}
    columns = [column(values, hostile, rows) for _, values, hostile in POSTGRES.values()]
    connection.execute(f"create table {name} ({', '.join(f'{field} {kind}' for field, kind in kinds.items())})")
    marks = ", ".join(f"%s::text::{kind}" for kind in kinds.values())
    with connection.cursor() as cursor:
        cursor.executemany(
            f"insert into {name} values ({marks})", [*zip(*columns, column(["a", "b"], ["b"], rows), strict=True)]
        )
    return f"{address}#{name}"


def in_spark(session, folder, rows):
    """Parquet files, and files that Spark has written itself."""
    import pyarrow as pa
    from pyarrow import parquet

    plain = arrow_table(rows, without=NOT_IN_SPARK)
    path = Path(folder) / f"{uuid.uuid4().hex}.parquet"
    parquet.write_table(plain.append_column("place", pa.array(range(len(plain)), pa.int32())), path)
    cases = []
    for name, (kind, values, hostile) in SPARK.items():
        when = " ".join(f"when {place} then {value}" for place, value in enumerate(column(values, hostile, rows)))
        cases.append(f"cast(case place {when} end as {kind}) as {name}")
    session.read.parquet(str(path)).selectExpr("*", *cases).write.parquet(f"{path}.own")
    return session.read.parquet(f"{path}.own")
