"""The rows of a unit that are kept: as many in files as on servers, and on servers those of plain Python."""

import datetime as dt
import math
import random
import struct
from decimal import Decimal

import numpy as np
import pytest
from hard_rows import insert_into_postgres, write_parquet

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.engines.postgres import Postgres

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


def owners(unit):
    """In plain Python: for each unit the places of its rows."""
    found = {}
    for place, name in enumerate(ROWS[UNITS[unit]]):
        if name is not None or unit == "one":
            found.setdefault(name, []).append(place)
    return found


def without(name, unit):
    """The rows of all others."""
    places = [place for place, own in enumerate(ROWS[UNITS[unit]]) if own != name]
    return {column: [values[place] for place in places] for column, values in ROWS.items()}


NAMES = ["double", "single", "exact"]


def counted(data, unit):
    return open_table(data, schema(unit)).select(NAMES).vectorize()


def check(data, units):
    """Of each unit as many rows as are allowed, the same ones each time, whatever is asked for besides."""
    for unit in units:
        people = owners(unit)
        sizes = [len(own) for own in people.values()]
        table = open_table(data, schema(unit))
        counts = table.select(NAMES).vectorize()
        assert table.count() == counts.sum() == sum(min(size, LIMIT) for size in sizes), unit
        assert np.array_equal(table.tables([NAMES, ["moment"]])[0], counts), unit
        before, after = (table.by_unit("rows", 99, cut=cut).select("rows").vectorize() for cut in (False, True))
        assert before.tolist() == np.bincount(sizes, minlength=100).tolist()[1:], unit
        assert after.tolist() == np.bincount(np.minimum(sizes, LIMIT), minlength=100).tolist()[1:], unit
    for unit in FLOATS:
        with pytest.raises(SchemaError, match="which cannot tell units apart, because it rounds"):
            open_table(data, ad.Schema(ATTRIBUTES, LIMIT, unit=unit))


def check_one_unit_less(data, store, units, people=3):
    """A unit that goes takes its own rows along, and changes nothing about others'."""
    for unit in units:
        counts = counted(data, unit)
        named = sorted(owners(unit).items(), key=lambda one: -len(one[1]))
        for name, own in named[:people]:
            assert abs(counted(store(without(name, unit)), unit) - counts).sum() == min(len(own), LIMIT), (unit, name)


def test_in_files(files, tmp_path):
    check(files, UNITS)

    def store(rows):
        write_parquet(tmp_path / "fewer.parquet", rows, KINDS)
        return tmp_path / "fewer.parquet"

    check_one_unit_less(files, store, UNITS)


def test_in_postgres(postgres, monkeypatch):
    connection, address = postgres
    insert_into_postgres(connection, "people", ROWS, KINDS)
    connection.execute("alter role adyton set extra_float_digits = -5")  # writes doubles with few digits

    def store(rows):
        connection.execute("drop table if exists fewer_people")
        insert_into_postgres(connection, "fewer_people", rows, KINDS)
        return f"{address}#fewer_people"

    try:
        check(f"{address}#people", UNITS)
        check_one_unit_less(f"{address}#people", store, UNITS)
        monkeypatch.setattr(Postgres, "digest", lambda self, columns: "md5('')")  # as if every digest collided
        check(f"{address}#people", UNITS)
        check_one_unit_less(f"{address}#people", store, ["decimal"])
    finally:
        connection.execute("alter role adyton reset extra_float_digits")


def test_the_name_of_a_whole_number_is_its_digits_in_postgres(postgres):
    connection, address = postgres
    rows = ", ".join(f"({place // 4}, {place % 7})" for place in range(120))
    counts = []
    for kind in ("smallint", "bigint", "text", "numeric(9, 2)"):
        connection.execute(f"create table numbered (who {kind}, x integer); insert into numbered values {rows}")
        counts.append(open_table(f"{address}#numbered", ad.Schema({"x": ad.Integer(0, 6)}, unit="who")).vectorize())
        connection.execute("drop table numbered")
    assert counts[0].sum() == 30
    assert all((own == counts[0]).all() for own in counts)


@pytest.mark.full
def test_in_spark_and_connect(files, spark, remote, tmp_path):
    for session in (spark[0], remote):
        check(session.read.parquet(str(files)), UNITS)

        def store(rows, session=session):
            path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
            write_parquet(path, rows, KINDS)
            return session.read.parquet(str(path))

        check_one_unit_less(session.read.parquet(str(files)), store, UNITS, people=1)
