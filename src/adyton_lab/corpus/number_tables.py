"""Public tables with numbers, by groups: files in a folder, with bounds that are known without looking at rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.learning.coding import codes_of
from adyton.schema import Attribute, Categorical, Integer, Numeric, Schema
from adyton.statistics.grouped import GroupedNumbers
from adyton.tasks import Mean
from adyton_lab.corpus.many_attributes import TABLES
from adyton_lab.corpus.public_files import confirm_public


@dataclass(frozen=True)
class NumbersCase:
    """Numbers of an attribute of a public table, and what they are grouped by."""

    name: str
    file: str
    attribute: str
    numbers: Integer | Numeric
    by: tuple[tuple[str, Attribute], ...]

    @property
    def schema(self) -> Schema:
        """The groups, then the numbers."""
        return Schema({**dict(self.by), self.attribute: self.numbers})

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of what it is grouped by."""
        return tuple(name for name, _ in self.by)

    def __str__(self) -> str:
        return f"{self.name} {self.attribute}"


@dataclass(frozen=True, eq=False)
class NumberRows:
    """The rows of a case as numbers of cells."""

    case: NumbersCase
    codes: Integers

    @cached_property
    def values(self) -> Reals:
        """The number of every row: the middle of its cell."""
        return np.asarray(GroupedNumbers.of(Mean(self.case.attribute), self.case.schema).middles[self.codes[:, -1]])

    @cached_property
    def lines(self) -> Integers:
        """The group of every row."""
        shape = [one.size for _, one in self.case.by]
        return np.asarray(np.ravel_multi_index(tuple(self.codes[:, :-1].T), shape), dtype=np.int64)

    def grouped(self, by: bool) -> list[Reals]:
        """The sorted numbers of every group, or of all rows."""
        if not by:
            return [np.sort(self.values)]
        groups = int(np.prod([one.size for _, one in self.case.by]))
        return [np.sort(self.values[self.lines == line]) for line in range(groups)]


def number_rows(case: NumbersCase, folder: str | os.PathLike[str], *, public: bool) -> NumberRows:
    """The rows of a case that have a number and a group."""
    confirm_public(public, "a benchmark of numbers", "It is made for tables that were published.")
    path = Path(folder) / case.file
    if not path.is_file():
        raise BadInput(f"there is no {case.file} in {folder}. Give the folder that holds the public tables.")
    codes = codes_of(path, case.schema)
    return NumberRows(case, codes[(codes >= 0).all(axis=1)])


def cases_in(folder: str | os.PathLike[str], cases: tuple[NumbersCase, ...]) -> list[NumbersCase]:
    """Those cases whose table is in a folder."""
    return [one for one in cases if (Path(folder) / one.file).is_file()]


def _levels(name: str, text: str) -> tuple[str, Attribute]:
    return name, Categorical(text.split())


def _adult(name: str) -> tuple[str, Attribute]:
    return name, TABLES["adult"][1][name]


_DIAMONDS, _FLIGHTS, _BIKES, _ADULT = (
    "diamonds.csv.gz",
    "nyc_flights.csv.gz",
    "bike_sharing_hour.csv.gz",
    "adult.csv.gz",
)
JUDGED = (
    NumbersCase(
        "diamonds", _DIAMONDS, "price", Integer(0, 19_999), (_levels("clarity", "I1 SI2 SI1 VS2 VS1 VVS2 VVS1 IF"),)
    ),
    NumbersCase(
        "diamonds",
        _DIAMONDS,
        "carat",
        Numeric(0, 6, bins=600, outside="clamp"),
        (("cut", Categorical(["Fair", "Good", "Very Good", "Premium", "Ideal"])), _levels("color", "D E F G H I J")),
    ),
    NumbersCase(
        "flights",
        _FLIGHTS,
        "dep_delay",
        Integer(-60, 1439, outside="clamp"),
        (_levels("carrier", "9E AA AS B6 DL EV F9 FL HA MQ OO UA US VX WN YV"),),
    ),
    NumbersCase(
        "flights",
        _FLIGHTS,
        "air_time",
        Integer(0, 719, outside="clamp"),
        (_levels("origin", "EWR JFK LGA"), ("month", Integer(1, 12))),
    ),
    NumbersCase("bikes", _BIKES, "cnt", Integer(0, 999, outside="clamp"), (("hr", Integer(0, 23)),)),
    NumbersCase(
        "bikes",
        _BIKES,
        "casual",
        Integer(0, 399, outside="clamp"),
        (("season", Integer(1, 4)), ("weekday", Integer(0, 6))),
    ),
    NumbersCase("adult", _ADULT, "hours-per-week", Integer(1, 99, outside="clamp"), (_adult("education"),)),
    NumbersCase(
        "adult", _ADULT, "age", Integer(17, 90, outside="clamp"), (_adult("occupation"), _levels("sex", "Female Male"))
    ),
)
"""On these the product is measured. No constant was fitted to them; which score chooses quantiles was settled with
them in view."""
FRESH = (
    NumbersCase(
        "cps",
        "cps2000.csv.gz",
        "income",
        Integer(0, 499_999, step=100, outside="clamp"),
        (("marital", Integer(1, 7)), ("sex", Integer(1, 2))),
    ),
    NumbersCase("cps", "cps2000.csv.gz", "age", Integer(0, 99, outside="clamp"), (("race", Integer(1, 4)),)),
    NumbersCase(
        "credit",
        "credit_default.csv.gz",
        "LIMIT_BAL",
        Integer(0, 999_999, step=1000, outside="clamp"),
        (("EDUCATION", Integer(0, 6)), ("MARRIAGE", Integer(0, 3))),
    ),
    NumbersCase(
        "credit",
        "credit_default.csv.gz",
        "BILL_AMT1",
        Integer(0, 499_999, step=50, outside="clamp"),
        (("AGE", Integer(20, 79, step=5)),),
    ),
    NumbersCase(
        "stroke",
        "stroke.csv.gz",
        "rsbp",
        Integer(50, 299, outside="clamp"),
        (_levels("stype", "PACS LACS POCS TACS OTH"), _levels("sex", "M F")),
    ),
    NumbersCase("skin", "skin.csv.gz", "B", Integer(0, 255), (("G", Integer(0, 255, step=32)),)),
)
"""Other tables, on which what is approximate was looked at while it was made."""
