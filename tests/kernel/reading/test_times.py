"""Dates, times, durations and places: read the same from every source, and as plain Python reads them."""

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import adyton as ad
from adyton.errors import PredicateError, SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.counting.public_rows import row_codes
from adyton.schema.calendar import MONTHS, WEEKDAYS
from adyton.schema.cell_groups import coarsened, merged_cells
from adyton.schema.misfits import misfits_of
from adyton.schema.predicates import parse_predicate

MIN, MAX = "2011-12-01", "2024-12-31 12:00"
BERLIN, NEW_YORK, LORD_HOWE, APIA = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"
BOUNDED = [
    ("hour", BERLIN, ad.Datetime),
    ("hour", LORD_HOWE, ad.Datetime),
    ("day", APIA, ad.Datetime),
    ("day", "UTC", ad.Date),
    ("week", NEW_YORK, ad.Date),
    ("month", BERLIN, ad.Datetime),
    ("quarter", "Asia/Kathmandu", ad.Date),
    ("year", APIA, ad.Date),
]
PARTS = [("hour of day", BERLIN, ad.Datetime), ("weekday", APIA, ad.Date), ("month of year", LORD_HOWE, ad.Datetime)]
ALL = BOUNDED + PARTS
HARD = [
    # leap days, and days that no calendar has
    "2024-02-29", "2023-02-29", "2000-02-29", "1900-02-29", "2024-02-30", "2024-13-01", "2024-00-10", "2024-04-31",
    # the clocks change: Berlin, New York, Lord Howe by half an hour, Apia without the 30th of December
    "2024-03-31 00:59:59Z", "2024-03-31T01:00:00Z", "2024-03-31 02:30", "2024-10-27 00:30Z", "2024-10-27 01:30+00:00",
    "2024-10-27 02:30:00", "2024-03-10T06:59:59.999-00", "2024-03-10T07:00Z", "2024-11-03 05:59:59Z",
    "2024-04-06 15:00Z", "2024-04-06 14:59:59Z", "2011-12-30 09:59:59Z", "2011-12-30 10:00:00Z",
    "2011-12-30", "2023-12-31 23:30:00-0130",
    # ends of weeks and years
    "2020-12-31", "2021-01-01", "2021-01-03", "2021-01-04", "2024-12-30", "2023-12-31 23:59:59.999999999",
    "2024-01-01 00:00:00.000000001", "2024-06-30T24:00:00", "2016-12-31 23:59:60", "2024-12-31 12:00:59.9",
    "2024-12-31 12:01", "2011-11-30 23:59:59", "2011-12-01",
    # spellings
    " 2024-05-06 ", "2024-05-06t10:00", "2024-05-06  10:00", "2024-05-06 10:00 +02:00", "2024-05-06 10:00:00,5Z",
    "2024-05-06T10:00+2", "2024-05-06T10:00+25:00", "2024-05-06T10:00+23:59", "2024-5-6", "20240506", "06.05.2024",
    "2024-05-06 25:00", "2024-05-06 10:60", "2024-05-06Z", "2024-05-06+01:00", "2024-05", "2024-05-06 10", "٢٠٢٤-05-06",
    "2024-05-06 10:00:00 Z", "2024-05-06 10:00:00z", "\t2024-05-06T10:00:00.123456Z",
    # extremes and no dates at all
    "0001-01-01", "0000-12-31", "9999-12-31 23:59:59.999", "10000-01-01", "-2024-05-06", "9999-12-31 23:59-12:00",
    "0001-01-01 00:00+12:00", "1677-09-21", "2262-04-12", "infinity", "epoch", "today", "now", "NaT", "null", "1e9",
    "2024-05-06; drop table", "17", "7", "Monday", "monday ", "JUNE", "x" * 300,
]  # fmt: skip
_TEXT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?: ?([Zz]|[+-]\d\d(?::?\d\d)?))?)?", re.ASCII
)
SCHEMA = ad.Schema(
    {f"b{place}": kind(MIN, MAX, by, zone=zone, outside="other", nulls="level", column="when")
     for place, (by, zone, kind) in enumerate(BOUNDED)}
    | {f"p{place}": kind(by=by, zone=zone, nulls="level", column="when")
       for place, (by, zone, kind) in enumerate(PARTS)}
)  # fmt: skip


def read(text, zone):
    """The time that a text shows on the clock of a zone, whole seconds; None if it is none. Written without ours."""
    found = _TEXT.fullmatch(text.strip(" \t\n\r"))
    if found is None:
        return None
    *numbers, offset = found.groups()
    try:
        shown = datetime(*(int(number or 0) for number in numbers))
        if offset is None:
            return shown
        sign, digits = offset[0], re.sub(r"\D", "", offset).ljust(4, "0")
        ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        if ahead >= timedelta(days=1) or int(digits[2:]) > 59:
            return None
        return on_clock(shown + (ahead if sign == "-" else -ahead), zone)
    except (ValueError, OverflowError):
        return None


def on_clock(universal, zone):
    try:
        return universal.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None, microsecond=0)
    except OverflowError:
        return None


def label(shown, by, text=""):  # noqa: PLR0911
    """What the cell of a time is called."""
    if by in ("hour of day", "weekday", "month of year") and shown is None:
        named = text.strip().lower()
        if by == "hour of day":
            return int(named) if re.fullmatch(r"\d|[01]\d|2[0-3]", named, re.ASCII) else "(null)"
        names = WEEKDAYS if by == "weekday" else MONTHS
        return named.capitalize() if named.capitalize() in names else "(null)"
    if shown is None:
        return "(null)"
    match by:
        case "hour of day":
            return shown.hour
        case "weekday":
            return WEEKDAYS[shown.weekday()]
        case "month of year":
            return MONTHS[shown.month - 1]
    if not datetime(2011, 12, 1) <= shown < datetime(2024, 12, 31, 12, 1):
        return "(other)"
    match by:
        case "hour":
            return f"{shown:%Y-%m-%d %H}:00"
        case "day":
            return f"{shown:%Y-%m-%d}"
        case "week":
            return f"{shown:%G-W%V}"
        case "month":
            return f"{shown:%Y-%m}"
        case "quarter":
            return f"{shown.year}-Q{(shown.month + 2) // 3}"
    return str(shown.year)


def expected(times, texts):
    """The labels of all attributes; a date is bounded by days."""
    rows = []
    for own, text in zip(times, texts, strict=True):
        row = []
        for by, zone, kind in ALL:
            shown = own(zone)
            if kind is ad.Date and shown is not None:
                shown = shown.replace(hour=0, minute=0, second=0)
            row.append(label(shown, by, text))
        rows.append(row)
    return rows


def labels(data, schema=SCHEMA):
    codes = np.concatenate(list(row_codes(data, schema)))
    names = [attribute.labels for attribute in schema.attributes.values()]
    return [[own[code] if code >= 0 else None for own, code in zip(names, row, strict=True)] for row in codes.tolist()]


def sources(column, tmp_path, *, csv):
    """The same column as CSV, Parquet, Arrow, pandas and polars."""
    table = pa.table({"when": column})
    pq.write_table(table, tmp_path / "times.parquet")
    found = {"parquet": str(tmp_path / "times.parquet"), "arrow": table, "polars": pl.from_arrow(table)}
    found["pandas"] = table.to_pandas()
    if csv:
        lines = ['"' + value.replace('"', '""') + '"' for value in column.to_pylist()]
        (tmp_path / "times.csv").write_text("when\n" + "\n".join(lines) + "\n", encoding="utf-8")
        found["csv"] = str(tmp_path / "times.csv")
    return found


def check(found, wanted, texts):
    for name, data in found.items():
        for text, own, right in zip(texts, labels(data), wanted, strict=True):
            assert own == right, (name, text)


def test_texts_are_read_as_python_reads_them_from_every_source(tmp_path):
    times = [lambda zone, text=text: read(text, zone) for text in HARD]
    wanted = expected(times, HARD)
    assert sum(row[3] not in ("(null)", "(other)") for row in wanted) > 30  # the oracle does read
    check(sources(pa.array(HARD), tmp_path, csv=True), wanted, HARD)


MOMENTS = [
    datetime(2024, 2, 29, 12), datetime(2024, 3, 31, 0, 59, 59, 999_999), datetime(2024, 3, 31, 1),
    datetime(1969, 12, 31),
    datetime(2024, 10, 27, 0, 30), datetime(2024, 10, 27, 1, 30), datetime(2011, 12, 30, 10), datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59, 999_999), datetime(1969, 12, 31, 23, 59, 59, 500_000), datetime(2024,
    12, 31, 12), None,
]  # fmt: skip


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_columns_of_times_are_read_as_texts_are(zone, tmp_path):
    moments = [when for when in MOMENTS if not zone or when is None or 1900 < when.year < 2100]
    column = pa.array(moments, pa.timestamp("us", zone))
    times = [
        (lambda zone: None)
        if when is None
        else (lambda own, when=when: on_clock(when, own) if zone else when.replace(microsecond=0))
        for when in moments
    ]
    check(sources(column, tmp_path, csv=False), expected(times, [""] * len(moments)), moments)


def test_columns_of_dates_and_the_far_ends_of_types(tmp_path):
    days = [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), None]
    times = [lambda _, day=day: day and datetime(day.year, day.month, day.day) for day in days]
    check(sources(pa.array(days, pa.date32()), tmp_path, csv=False), expected(times, [""] * 4), days)
    few, lost = SCHEMA.select(["b1", "b3", "p0"]), [["(null)"] * 3] * 2
    ends = [-(2**63) + 1, 2**63 - 1]
    for kind, far in (
        (pa.timestamp("us"), ends),
        (pa.timestamp("us", "UTC"), ends),
        (pa.timestamp("s"), [-(10**12), 10**15]),
        (pa.date32(), [-(2**31), 2**31 - 1]),
    ):
        table = pa.table({"when": pa.array(far, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)})
        pq.write_table(table, tmp_path / "far.parquet")
        assert labels(table, few) == lost, kind
        assert kind == pa.timestamp("s") or labels(str(tmp_path / "far.parquet"), few) == lost, kind


def test_nanoseconds_are_cut_off_and_never_rounded():
    schema = ad.Schema({"when": ad.Datetime("2024-01-01", "2024-01-02", by="day", nulls="level")})
    times = pd.to_datetime(["2024-01-01 23:59:59.999999999", "1969-12-31 23:59:59.999999999", None])
    assert labels(pd.DataFrame({"when": times}), schema) == [["2024-01-01"], [None], ["(null)"]]


def test_formats(tmp_path):
    schema = ad.Schema(
        {
            "us": ad.Datetime("2024", "2024", "hour", format="%m/%d/%Y %I:%M:%S %p", nulls="level", column="when"),
            "eu": ad.Date("2024", "2024", format=["%d.%m.%Y", "%d %b %y", "%Y%m%d"], nulls="level", column="when"),
            "unix": ad.Datetime("2024", "2024", "hour", format="unix", zone=BERLIN, nulls="level", column="when"),
            "odd": ad.Date("2024", "2024", format="%Y-%d-%m", nulls="level", column="when"),
        }
    )  # fmt: skip
    wanted = {
        "03/01/2024 12:30:00 PM": ["2024-03-01 12:00", "(null)", "(null)", "(null)"],
        "3/1/2024 12:05:00 am": ["2024-03-01 00:00", "(null)", "(null)", "(null)"],
        "13/01/2024 01:00:00 AM": ["(null)"] * 4,
        "29.2.2024": ["(null)", "2024-02-29", "(null)", "(null)"],
        "29.02.2023": ["(null)"] * 4,
        "9 Mar 24": ["(null)", "2024-03-09", "(null)", "(null)"],
        "20240309": ["(null)", "2024-03-09", None, "(null)"],  # as seconds, that is in August 1970
        "1711846800": ["(null)", "(null)", "2024-03-31 03:00", "(null)"],
        "1711846799.9": ["(null)", "(null)", "2024-03-31 01:00", "(null)"],
        "2024-03-09": ["2024-03-09 00:00", "2024-03-09", "2024-03-09 00:00", "2024-09-03"],
        "infinity": ["(null)"] * 4,
        "inf": ["(null)"] * 4,
    }
    for name, data in sources(pa.array(list(wanted)), tmp_path, csv=True).items():
        assert labels(data, schema) == list(wanted.values()), name
    numbers = pd.DataFrame({"when": [20240309.0, 20240309.5, float("nan"), 1711846800]})
    found = labels(numbers, schema)
    assert [row[1] for row in found] == ["2024-03-09", "(null)", "(null)", "(null)"]
    assert found[3][2] == "2024-03-31 03:00"


def test_durations(tmp_path):
    schema = ad.Schema({"when": ad.Duration(0, 120, bins=12, unit="minutes", outside="other", nulls="level")})
    texts = ["90", "1:30:00", "1:30", "PT1H30M", "P1DT1H", "1 day, 0:05:00", "-0:10:00", "PT5400.5S",
             "0 days 00:09:59.99", "1:60", "P", "PT", "1 hour", "inf", "", "1e1", "P1.2.3D"]  # fmt: skip
    wanted = ["[90, 100)"] * 4 + ["(other)"] * 3 + ["[90, 100)", "[0, 10)"] + ["(null)"] * 6 + ["[10, 20)", "(null)"]
    for name, data in sources(pa.array(texts), tmp_path, csv=True).items():
        assert labels(data, schema) == [[one] for one in wanted], name
    spans = [timedelta(minutes=90), timedelta(seconds=-1), timedelta(days=999_999_999) / 4000, None]
    for unit in ("ns", "s"):
        column = pa.array([None if span is None else span // timedelta(microseconds=1) for span in spans], pa.int64())
        table = pa.table({"when": column.cast(pa.duration("us")).cast(pa.duration(unit), safe=False)})
        right = [["[90, 100)"], ["(other)"], ["(other)"], ["(null)"]]
        frames = [
            table,
            pl.from_arrow(table),
            table.to_pandas(),
            pd.DataFrame({"when": pd.Series(spans, dtype=object)}),
        ]
        assert all(labels(data, schema) == right for data in frames)


def test_cells_are_counted_and_coded_alike_and_predicates_mean_all_that_they_name():
    table = open_table(pa.table({"when": HARD}), SCHEMA)
    codes = np.concatenate(list(row_codes(pa.table({"when": HARD}), SCHEMA)))
    for place, name in ((0, "b0"), (3, "b3"), (5, "b5"), (9, "p1")):
        size = SCHEMA.attributes[name].size
        assert np.array_equal(table.select(name).vectorize(), np.bincount(codes[:, place], minlength=size))
    days = [None if (shown := read(text, "UTC")) is None else shown.date() for text in HARD]

    def rows(test):
        return sum(day is not None and test(day) for day in days)

    for predicate, right in (
        ("b3 >= '2024-03-01'", rows(lambda day: day >= date(2024, 3, 1))),
        ("b3 <= '2024-03'", rows(lambda day: day <= date(2024, 3, 31))),
        ("b3 > '2024'", rows(lambda day: day.year > 2024)),
        ("b3 < '2024-Q2'", rows(lambda day: day < date(2024, 4, 1))),
        ("b3 = '2024-02-29'", rows(lambda day: day == date(2024, 2, 29))),
        ("not b3 != '2020-W53'", rows(lambda day: date(2020, 12, 28) <= day <= date(2021, 1, 3))),
        ("b3 in ('2021', '2011-12')", rows(lambda day: day.year == 2021 or (day.year, day.month) == (2011, 12))),
        ("b3 between '2020-12-31' and '2021-01-03'", rows(lambda day: date(2020, 12, 31) <= day <= date(2021, 1, 3))),
        ("b3 is null", days.count(None)),
        ("p0 in (1, 2) and p1 = 'Sunday'", sum(code[8] in (1, 2) and code[9] == 6 for code in codes.tolist())),
    ):
        assert table.where(parse_predicate(predicate, SCHEMA)).count() == right, predicate


@pytest.mark.parametrize("literal", ["'soon'", "3", "true", "'2024-02-30'", "'2024-W54'", "''", "'10000'"])
def test_predicates_refuse_what_is_no_time(literal):
    with pytest.raises(PredicateError, match="must be a date or a time such as"):
        parse_predicate(f"b3 >= {literal}", SCHEMA)


def test_misfits_are_distinguished_from_missing_values():
    schema = ad.Schema({"when": ad.Date("2024-01-01", "2024-12-31"), "long": ad.Duration(0, 10, bins=2)})
    misfits = misfits_of(schema, ["when", "long"])
    assert [(one.attribute, one.reason) for one in misfits[:2]] == [("when", "no time"), ("long", "no time")]
    rows = {"when": ["2024-05-06", "06.05.2024", None, "2025-01-01", " "], "long": ["0:00:03", "3", "3", "3", "long"]}
    counts = open_table(pa.table(rows), schema).misfits(misfits)
    told = {(one.attribute, one.reason): int(count) for one, count in zip(misfits, counts[1:], strict=True)}
    assert counts[0] == 1
    assert (
        told["when", "no time"]
        == told["long", "no time"]
        == told["when", "missing"]
        == told["when", "out of bounds"]
        == 1
    )


def test_coarser_cells_hold_the_same_rows():
    for name in ("b0", "b5"):
        fine = SCHEMA.select(name)
        coarse = coarsened(fine, 9)
        assert coarse.attributes[name].base_size <= 9
        table = open_table(pa.table({"when": HARD}), fine)
        merged = merged_cells(fine.attributes[name], coarse.attributes[name])
        counts = np.bincount(merged, table.vectorize(), minlength=coarse.cells)
        assert np.array_equal(table.coarsened(coarse).vectorize(), counts)
    with pytest.raises(SchemaError, match="not made of whole cells"):
        merged_cells(ad.Date("2024-01-01", "2024-12-31"), ad.Date("2024-01-01", "2024-12-31", zone=BERLIN))


def test_synthetic_rows_are_read_as_the_cells_that_they_were_made_for():
    from adyton.result.rows import arrow_rows

    attributes = {name: type(one)(one.min, one.max, one.by, outside=one.outside, nulls="level", zone=one.zone)
                  for name, one in SCHEMA.attributes.items()}  # fmt: skip
    schema = ad.Schema(attributes | {"long": ad.Duration(0, 1, bins=7), "at": ad.Point((-3, -2, 3, 2), (3, 2))})
    random = np.random.default_rng(5)
    codes = np.column_stack([random.integers(size, size=60) for size in schema.shape]).astype(np.int32)
    assert np.array_equal(np.concatenate(list(row_codes(arrow_rows(schema, codes, random), schema))), codes)


def test_a_point_is_a_map():
    schema = ad.Schema({"at": ad.Point((-74.5, 40, -73.5, 41), (4, 2), longitude="x", latitude="y", outside="clamp")})
    table = pa.table({"x": [-74.4, -73.5, None, -80.0, -74.0], "y": ["40.1", "41", "40", "40.6", "north"]})
    counts = open_table(table, schema).select("at").vectorize()
    assert counts.tolist() == [[1, 1], [0, 0], [0, 0], [0, 1]]
    assert ad.Schema.from_toml(schema.to_toml()) == schema
    assert ad.Histogram("at").select(schema).shape == (4, 2)


def test_the_longest_intervals_of_an_engine_are_outside(tmp_path):
    """No interval that DuckDB can hold makes it fail, and one of ninety minutes has its cell."""
    far = ["interval '178956970 years'", "interval '-178956970 years'", "to_days(-2147483648)"]
    far += ["to_microseconds(9223372036854775807)", "null::interval", "interval '90 minutes'"]
    with duckdb.connect(str(tmp_path / "calls.duckdb")) as connection:
        connection.execute(f"create table calls as select unnest([{', '.join(far)}]) as lasted")
    minutes = ad.Schema({"lasted": ad.Duration(0, 120, bins=4, unit="minutes")})
    assert open_table(tmp_path / "calls.duckdb", minutes).vectorize().tolist() == [0, 0, 0, 1]
