"""The rows of a unit that are kept: as many in files as on servers, and on servers those of plain Python."""

import datetime as dt
import hashlib
import math
import random
import struct
from decimal import Decimal

import numpy as np
import pytest
from hard_rows import insert_into_postgres, write_parquet
from servers import host_and_port

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table

CALENDAR = ad.Datetime("2024-01-01", "2024-12-31", by="month", zone="Europe/Berlin", nulls="level", outside="other")
ATTRIBUTES = {
    "double": ad.Numeric(0, 1, bins=16, nulls="level", outside="clamp"),
    "single": ad.Numeric(0, 1, bins=4, nulls="level", outside="clamp"),
    "exact": ad.Numeric(0, 1, bins=2, nulls="level", outside="clamp"),
    "moment": CALENDAR,
}
UNITS = {"decimal": "id", "digits": "long_id", "one": "id"}
"""Units of several types; rows without one are left out, or are one unit."""
FLOATS = ("double_id", "single_id")
LIMIT = 2


def single(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def doubles(count, seed):
    """Fractions of all lengths, some of every size, and what is special."""
    draw = random.Random(seed)
    bits = [struct.unpack("d", struct.pack("Q", draw.getrandbits(64)))[0] for _ in range(count // 3)]
    found = [
        *(draw.random() for _ in range(count // 3)),
        *(draw.randrange(-64, 64) / 8 for _ in range(count // 3)),
        *bits,
    ]
    return [
        *found,
        2e23,
        2.0**-44,
        5e-324,
        -5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        -0.0,
        9007199254740993.0,
    ]


def rows():
    draw = random.Random(5)
    numbers = [number for number in doubles(130, 6) if math.isfinite(number)]
    numbers += [math.inf, -math.inf, math.nan, None]
    count = len(numbers)
    ids = [Decimal(2**53 + draw.randrange(12)) + Decimal(draw.randrange(3)) / 4 for _ in range(count - 4)]
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    return {
        "id": [*ids, None, Decimal("-0.0000000001"), Decimal("-0.0000000001"), None],
        "long_id": [Decimal(2**64 + place // 4 * 10) for place in range(count)],
        "double_id": [draw.choice([0.1, 0.25, 2e23, 2.0**-44, -0.0, 0.0, math.inf, math.nan, None]) for _ in numbers],
        "single_id": [draw.choice([single(0.1), 0.25, single(1e30), 7.0, math.nan, None]) for _ in numbers],
        "double": numbers,
        "single": [single(draw.random()) for _ in numbers],
        "exact": [Decimal(draw.randrange(10**6)) / 10**6 for _ in numbers],
        "moment": [start + dt.timedelta(microseconds=draw.randrange(10**14)) for _ in numbers],
    }


ROWS = rows()
KINDS = {
    "id": ("decimal128(38, 10)", "numeric"),
    "long_id": ("decimal128(20, 0)", "numeric(20)"),
    "double_id": ("float64", "double precision"),
    "single_id": ("float32", "real"),
    "double": ("float64", "double precision"),
    "single": ("float32", "real"),
    "exact": ("decimal128(38, 10)", "numeric(38, 10)"),
    "moment": ("timestamp[us, tz=UTC]", "timestamptz"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    write_parquet(path, ROWS, KINDS)
    return path


def schema(unit):
    return ad.Schema(ATTRIBUTES, LIMIT, unit=UNITS[unit], no_unit="one" if unit == "one" else "drop")


def text(value):
    """Digits of whole numbers and of decimals, bits of others."""
    if value is None or value != value:  # noqa: PLR0124 (only not-a-number differs from itself)
        return None
    if isinstance(value, Decimal):
        return f"{value:f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))
    if isinstance(value, dt.datetime):
        from zoneinfo import ZoneInfo

        clock = value.astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=dt.UTC, microsecond=0)
        return str(int(clock.timestamp()))
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if value.is_integer() and abs(value) <= 2**53 else " " + bits(value)


def bits(value):
    return f"{struct.unpack('Q', struct.pack('d', value))[0]:X}"


def kept(unit):
    """In plain Python: which rows stay."""
    by_unit = {}
    for place in range(len(ROWS["id"])):
        name = text(ROWS[UNITS[unit]][place])
        if name is not None or unit == "one":
            told = {column: ROWS[column][place] for column in ATTRIBUTES}
            texts = [name, *(text(float(value) if isinstance(value, Decimal) else value) for value in told.values())]
            joined = "".join("-" if one is None else f"{len(one)}:{one}" for one in texts)
            by_unit.setdefault(name, []).append((hashlib.md5(joined.encode()).hexdigest(), place))
    return [place for own in by_unit.values() for _, place in sorted(own)[:LIMIT]]


def expected(unit):
    counts = np.zeros((17, 5, 3), dtype=int)
    for place in kept(unit):
        cells = []
        for name, bins in (("double", 16), ("single", 4), ("exact", 2)):
            value = ROWS[name][place]
            missing = value is None or value != value  # noqa: PLR0124
            cells.append(bins if missing else int(min(max(float(value), 0.0) * bins, bins - 1)))
        counts[tuple(cells)] += 1
    return counts


NAMES = ["double", "single", "exact"]


def check(data, units):
    for unit in units:
        assert np.array_equal(open_table(data, schema(unit)).select(NAMES).vectorize(), expected(unit)), unit
    for unit in FLOATS:
        with pytest.raises(SchemaError, match="which cannot tell units apart, because it rounds"):
            open_table(data, ad.Schema(ATTRIBUTES, LIMIT, unit=unit))


def test_in_files(files):
    for unit in UNITS:
        assert open_table(files, schema(unit)).count() == len(kept(unit)), unit
    for unit in FLOATS:
        with pytest.raises(SchemaError, match="which cannot tell units apart, because it rounds"):
            open_table(files, ad.Schema(ATTRIBUTES, LIMIT, unit=unit))


def test_in_postgres(postgres):
    connection, address = postgres
    insert_into_postgres(connection, "people", ROWS, KINDS)
    connection.execute("alter role adyton set extra_float_digits = -5")  # writes doubles with few digits
    try:
        check(f"{address}#people", UNITS)
    finally:
        connection.execute("alter role adyton reset extra_float_digits")


@pytest.mark.full
def test_in_spark_and_connect(files, spark, remote):
    for session in (spark[0], remote):
        check(session.read.parquet(str(files)), UNITS)


def engine_texts(engine, numbers):
    table = engine.lookup({"place": range(len(numbers)), "number": numbers}, {"place": "int64", "number": "float64"})
    found = engine.fetched(table.select("place", told=engine.exact_text(table["number"])))
    return dict(zip(found["place"].tolist(), found["told"].tolist(), strict=True))


@pytest.mark.full
def test_the_bits_of_many_doubles(postgres, spark, remote):
    import ibis

    from adyton.kernel.engines import ENGINES
    from adyton.kernel.tables.spark_reader import backend_of

    numbers = [number for number in doubles(3000, 8) if math.isfinite(number)]
    wanted = dict(enumerate(map(text, numbers)))
    host, port = host_and_port(postgres[1])
    backends = [
        ibis.postgres.connect(host=host, port=int(port), user="adyton", database="postgres"),
    ]
    for backend in (*backends, *map(backend_of, (spark[0], remote))):
        assert engine_texts(ENGINES[backend.name](backend), numbers) == wanted, backend.name
