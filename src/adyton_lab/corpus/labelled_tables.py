"""Public tables with a label, on which published classifiers were judged: files in a folder, with declared schemas."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.learning.coding import codes_of
from adyton.learning.model import Target
from adyton.schema import Attribute, Categorical, Integer, Numeric, Schema
from adyton_lab.corpus.public_files import confirm_public


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Public rows as numbers of cells, and what is to be predicted."""

    name: str
    target: Target
    codes: Integers
    """A column for each attribute, then one for the label."""

    @property
    def schema(self) -> Schema:
        """The attributes, then the label."""
        return self.target.whole

    @property
    def inputs(self) -> Integers:
        """What is predicted from."""
        return self.codes[:, :-1]

    @property
    def classes(self) -> Integers:
        """The number of the class of each row."""
        return self.codes[:, -1]


def labelled_table(name: str, folder: str | os.PathLike[str], *, public: bool) -> LabelledTable:
    """One of :data:`TABLES`, from a folder; rows that have no class are left out."""
    confirm_public(public, "judging classifiers", "It is made for tables that were published for this purpose.")
    _, label, attributes = TABLES[name]
    path = table_file(name, folder)
    target = Target.of(Schema(attributes), label)
    codes = codes_of(path, target.whole)
    return LabelledTable(name, target, codes[codes[:, -1] >= 0])


def table_file(name: str, folder: str | os.PathLike[str]) -> Path:
    """Where one of :data:`TABLES` is; a folder without it is refused."""
    file = TABLES[name][0]
    path = Path(folder) / file
    if not path.is_file():
        raise BadInput(f"there is no {file} in {folder}. Give the folder that holds the table {name!r}.")
    return path


def _levels(**levels: str) -> dict[str, Attribute]:
    """Categorical attributes, their levels separated by spaces."""
    return {name: Categorical(text.split()) for name, text in levels.items()}


def _numbers(first: int, last: int) -> Categorical:
    return Categorical(list(range(first, last + 1)))


def _amount(low: int, high: int) -> Integer:
    """Money in a hundred cells; what is beyond counts in the outermost."""
    return Integer(low, high - 1, step=(high - low) // 100, outside="clamp")


_PAYMENTS = ("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")
_DEFAULT = "default_payment_next_month"

TABLES: Mapping[str, tuple[str, str, dict[str, Attribute]]] = {
    "skin": (
        "skin.csv.gz",
        "label",
        {**{colour: Integer(0, 255) for colour in "BGR"}, "label": _numbers(1, 2)},
    ),
    "credit": (  # the variables X3 to X6 of εKTELO's evaluation: 17,248 cells
        "credit_default.csv.gz",
        _DEFAULT,
        {
            "EDUCATION": _numbers(0, 6),
            "MARRIAGE": _numbers(0, 3),
            "AGE": Integer(21, 76, outside="clamp"),
            "PAY_0": Integer(-2, 8),
            _DEFAULT: _numbers(0, 1),
        },
    ),
    "credit-16": (  # sixteen of its 23 variables; the Pythia paper does not say which ones it kept
        "credit_default.csv.gz",
        _DEFAULT,
        {
            "LIMIT_BAL": _amount(0, 1_000_000),
            **{name: Integer(-2, 8) for name in _PAYMENTS},
            **{f"BILL_AMT{month}": _amount(0, 500_000) for month in (1, 2, 3)},
            **{f"PAY_AMT{month}": _amount(0, 50_000) for month in range(1, 7)},
            _DEFAULT: _numbers(0, 1),
        },
    ),
    "nursery": (
        "nursery.csv.gz",
        "class",
        _levels(
            parents="usual pretentious great_pret",
            has_nurs="proper less_proper improper critical very_crit",
            form="complete completed incomplete foster",
            children="1 2 3 more",
            housing="convenient less_conv critical",
            finance="convenient inconv",
            social="nonprob slightly_prob problematic",
            health="recommended priority not_recom",
            **{"class": "not_recom recommend very_recom priority spec_prior"},
        ),
    ),
    "contraceptive": (
        "cmc.csv",
        "method",
        {
            "wife_age": Numeric(edges=[15, 20, 25, 30, 35, 40, 45, 50]),
            "wife_education": _numbers(1, 4),
            "husband_education": _numbers(1, 4),
            "num_children": Numeric(edges=[0, 1, 2, 3, 4, 5, 6, 8, 20], outside="clamp"),
            "wife_religion": _numbers(0, 1),
            "wife_working": _numbers(0, 1),
            "husband_occupation": _numbers(1, 4),
            "sol_index": _numbers(1, 4),
            "media_exposure": _numbers(0, 1),
            "method": _numbers(1, 3),
        },
    ),
    "hiv-1": (
        "hiv1_protease.csv",
        "cleaved",
        {
            **{f"p{place}": Categorical(list("ACDEFGHIKLMNPQRSTVWY")) for place in range(1, 9)},
            "cleaved": Categorical([-1, 1]),
        },
    ),
}
"""The file, the label and the declared attributes of every table, by name."""


def split(rows: int, part: float, *seed: int) -> tuple[Integers, Integers]:
    """Row numbers to learn from and to judge by: a random part of them, and the rest."""
    order = np.random.default_rng(seed).permutation(rows)
    cut = int(part * rows)
    return order[:cut], order[cut:]
