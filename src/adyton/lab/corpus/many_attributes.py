"""Public tables of many attributes: files in a folder, with declared schemas."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.lab.corpus import labelled_tables
from adyton.lab.corpus.confirmed import confirm_public
from adyton.learning.coding import codes_of
from adyton.messages import no_such
from adyton.schema import Attribute, Categorical, Integer, Numeric, Schema


@dataclass(frozen=True, eq=False)
class PublicTable:
    """Public rows as numbers of cells."""

    name: str
    schema: Schema
    codes: Integers
    """A column for each attribute."""


def public_table(name: str, folder: str | os.PathLike[str], *, public: bool) -> PublicTable:
    """One of :data:`TABLES`, from a folder; rows with a value that its schema has no cell for are left out."""
    confirm_public(public, "a benchmark of many attributes", "It is made for tables that were published.")
    if name not in TABLES:
        raise BadInput(no_such("table", name, TABLES))
    file, attributes = TABLES[name]
    path, schema = Path(folder) / file, Schema(attributes)
    if not path.is_file():
        raise BadInput(f"there is no {file} in {folder}. Give the folder that holds the table {name!r}.")
    codes = codes_of(path, schema)
    return PublicTable(name, schema, codes[(codes >= 0).all(axis=1)])


def tables_in(folder: str | os.PathLike[str]) -> list[str]:
    """Those of :data:`TABLES` that a folder holds."""
    return [name for name, (file, _) in TABLES.items() if (Path(folder) / file).is_file()]


def _levels(text: str) -> Categorical:
    return Categorical(text.split())


def _between(*edges: float) -> Numeric:
    return Numeric(edges=edges, outside="clamp")


_ADULT: dict[str, Attribute] = {
    "age": Integer(17, 90),
    "workclass": _levels(
        "? Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov Without-pay"
    ),
    "fnlwgt": Integer(0, 1_499_999, step=15_000),
    "education": _levels(
        "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate HS-grad "
        "Masters Preschool Prof-school Some-college"
    ),
    "marital-status": _levels(
        "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married Separated Widowed"
    ),
    "occupation": _levels(
        "? Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing Handlers-cleaners "
        "Machine-op-inspct Other-service Priv-house-serv Prof-specialty Protective-serv Sales "
        "Tech-support Transport-moving"
    ),
    "relationship": _levels("Husband Not-in-family Other-relative Own-child Unmarried Wife"),
    "race": _levels("Amer-Indian-Eskimo Asian-Pac-Islander Black Other White"),
    "sex": _levels("Female Male"),
    "capital-gain": Integer(0, 99_999, step=1000),
    "capital-loss": Integer(0, 4399, step=44),
    "hours-per-week": Integer(1, 99),
    "native-country": _levels(
        "? Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France "
        "Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran Ireland "
        "Italy Jamaica Japan Laos Mexico Nicaragua Outlying-US(Guam-USVI-etc) Peru Philippines Poland "
        "Portugal Puerto-Rico Scotland South Taiwan Thailand Trinadad&Tobago United-States Vietnam "
        "Yugoslavia"
    ),
    "income": _levels("<=50K >50K"),
}
_BILLS = (-400_000, -1, 1, 1000, 2500, 5000, 10_000, 20_000, 30_000, 40_000, 50_000, 70_000, 100_000, 150_000, 200_000)
_PAID = (0, 1, 500, 1000, 1500, 2000, 3000, 4000, 5000, 7500, 10_000, 20_000, 30_000, 50_000, 100_000, 200_000)
_CREDIT: dict[str, Attribute] = {
    "LIMIT_BAL": Integer(0, 799_999, step=25_000, outside="clamp"),
    "SEX": Integer(1, 2),
    "EDUCATION": Categorical(list(range(7))),
    "MARRIAGE": Categorical(list(range(4))),
    "AGE": Numeric(20, 80, 24),
    **{name: Integer(-2, 8) for name in ("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")},
    **{f"BILL_AMT{month}": _between(*_BILLS, 300_000, 2_000_000) for month in range(1, 7)},
    **{f"PAY_AMT{month}": _between(*_PAID, 2_000_000) for month in range(1, 7)},
    "default_payment_next_month": Integer(0, 1),
}
_STROKE: dict[str, Attribute] = {
    "age": Integer(16, 99, step=3),
    "sex": _levels("F M"),
    "rsbp": Integer(70, 299, step=7),
    "rdelay": Integer(0, 49, step=2),
    "rconsc": _levels("D F U"),
    **{name: _levels("N Y") for name in ("rsleep", "rct", "rvisinf", "rxasp")},
    "ratrial": Categorical(["N", "Y"], nulls="level"),
    "stype": _levels("LACS OTH PACS POCS TACS"),
    "rxhep": _levels("H L M N"),
    "occode": Categorical([0, 1, 2, 3, 4, 9]),
}

TABLES: Mapping[str, tuple[str, dict[str, Attribute]]] = {
    "adult": ("adult.csv.gz", _ADULT),
    "credit": ("credit_default.csv.gz", _CREDIT),
    "stroke": ("stroke.csv.gz", _STROKE),
    **{
        name: (labelled_tables.TABLES[name][0], labelled_tables.TABLES[name][2])
        for name in ("nursery", "contraceptive", "hiv-1")
    },
}
"""The file and the declared attributes of every table, by name."""
