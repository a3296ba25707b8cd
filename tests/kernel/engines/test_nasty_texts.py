"""Fourteen thousand nasty texts, each as every kind of attribute that reads texts: the cell of every single row, on
every source, is that of plain Python."""

import datetime as dt
import functools
import sqlite3

import nasty_texts as nasty
import pytest
from plain_oracle import OUTSIDE, inside, on_clock, time_of

import adyton as ad
from adyton.kernel.counting import open_table
from adyton.schema import Reading, Schema

KEEP = {"nulls": "level", "outside": "other"}

every_text = functools.cache(nasty.texts)
BERLIN = {"zone": "Europe/Berlin", "column": "t", **KEEP}


def own(**keys):
    return {"reading": Reading(column="t", **keys), **KEEP}


ATTRIBUTES = {
    "integer": (ad.Integer(-5, 40, step=4, **own()), nasty.number_of),
    "numeric": (ad.Numeric(-5, 1000, bins=60, **own()), nasty.number_of),
    "edges": (ad.Numeric(edges=[0, 0.5, 3, 77.7, 1e6], **own()), nasty.number_of),
    "numbers": (ad.Categorical([1, 5, 24, 0], **own()), nasty.number_of),
    "money": (ad.Numeric(-1000, 10_000, bins=44, **own(currency=["$", "USD"], thousands=",")), nasty.amount_of),
    "boolean": (ad.Boolean(**own()), nasty.truth_of),
    "levels": (ad.Categorical(nasty.LEVELS, **own()), nasty.exact_level_of),
    "words": (ad.Categorical(nasty.LEVELS, **own(case="ignore", trim=True, missing=nasty.MISSING)), nasty.level_of),
    "day": (ad.Date("1990-01-01", "2024-12-31", by="month", column="t", **KEEP), None),
    "clock": (ad.Datetime(by="hour of day", zone="America/New_York", column="t", nulls="level"), None),
    "moment": (ad.Datetime("2024-01-01", "2024-12-31", by="hour", every=6, **BERLIN), None),
    "stamp": (ad.Datetime("1960-01-01", "2070-12-31", by="month", format=nasty.FORMATS, **BERLIN), nasty.stamp_of),
    "unix": (ad.Datetime("1970-01-01", "1970-01-08", by="hour", format="unix", **BERLIN), nasty.unix_of),
    "duration": (ad.Duration(0, 120, bins=12, unit="minutes", column="t", **KEEP), None),
}


def expected(name, text):
    """The cell of a text."""
    attribute, reading = ATTRIBUTES[name]
    if text is None:
        return attribute.null_cell
    text = text[: 1 << 16]
    if name == "duration":
        value = nasty.duration_of(text, 60)
    elif reading is None:
        value = time_of(attribute, text)
    else:
        value = reading(text)
    if name in ("levels", "words"):
        return attribute.null_cell if value is None else attribute.other_cell if value is OUTSIDE else value
    if isinstance(value, dt.datetime):
        value = seconds(value, attribute)
    if value is None or value != value:  # noqa: PLR0124 (not-a-number differs from itself)
        return attribute.null_cell
    found = inside(attribute, value)
    return attribute.other_cell if found is None else found


def seconds(value, attribute):
    if value.tzinfo is not None:
        try:
            value = on_clock(value, attribute.zone)
        except OverflowError:
            return None
    return (value - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1)


def check(data, texts, names=tuple(ATTRIBUTES), **options):
    """Row by row: every row has a number, and is counted by it and its cell."""
    rows = ad.Integer(0, len(texts) - 1, reading=Reading(column="n"))
    schema = Schema({"row": rows, **{name: ATTRIBUTES[name][0] for name in names}}, **options)
    tables = open_table(data, schema).tables([("row", name) for name in names])
    wrong = []
    for name, counts in zip(names, tables, strict=True):
        assert (counts.sum(axis=1) == 1).all(), name
        found = counts.argmax(axis=1).tolist()
        wanted = [expected(name, text) for text in texts]
        wrong += [
            (name, text and text[:60], one, other)
            for text, one, other in zip(texts, found, wanted, strict=True)
            if one != other
        ]
    assert not wrong, (len(wrong), wrong[:20])


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def stored(source, texts, request, folder):
    """A table of the texts and the numbers of their rows."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"n": range(len(texts)), "t": pa.array(texts, pa.string())})
    path = folder / f"texts.{source}"
    match source:
        case "csv":
            lines = [f"{place},{quoted(text)}\n" for place, text in enumerate(texts)]
            path.write_bytes("".join(["n,t\n", *lines]).encode())
        case "parquet" | "spark" | "connect":
            parquet.write_table(table, path)
        case "pandas" | "object":
            import pandas as pd

            return pd.DataFrame(
                {"n": range(len(texts)), "t": pd.Series(texts, dtype="str" if source == "pandas" else object)}
            )
        case "polars":
            import polars as pl

            return pl.from_arrow(table)
        case "duckdb":
            import duckdb

            with duckdb.connect(str(path)) as connection:
                connection.register("texts", table)
                connection.execute("create table stored as select * from texts")
        case "sqlite":
            with sqlite3.connect(path) as connection:
                connection.execute("create table stored (n, t)")
                connection.executemany("insert into stored values (?, ?)", list(enumerate(texts)))
        case "postgres":
            connection, address = request.getfixturevalue("postgres")
            connection.execute("drop table if exists nasty")
            connection.execute("create table nasty (n integer, t text)")
            with connection.cursor() as cursor:
                cursor.executemany("insert into nasty values (%s, %s)", list(enumerate(texts)))
            return f"{address}#nasty"
        case _:
            return table
    if source in ("spark", "connect"):
        session = request.getfixturevalue("spark")[0] if source == "spark" else request.getfixturevalue("remote")
        return session.read.parquet(str(path))
    return path


LOCAL = ["arrow", "csv", "parquet", "pandas", "object", "polars", "duckdb", "sqlite"]


@pytest.mark.parametrize("source", [*LOCAL, "postgres"])
def test_nasty_texts(source, request, tmp_path):
    check_stored(source, every_text()[::28], request, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("source", [*LOCAL, "postgres", "spark", "connect"])
def test_fourteen_thousand_nasty_texts(source, request, tmp_path):
    assert len(every_text()) >= 14_000
    check_stored(source, every_text(), request, tmp_path)


def check_stored(source, texts, request, folder):
    data = stored(source, texts, request, folder)
    if source == "csv":  # where an empty field is missing
        texts = [text or None for text in texts]
    check(data, texts, multiline=source == "csv")
