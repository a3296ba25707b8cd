"""From the numbers of cells to values that fit a schema: levels, whole numbers within a cell, points of a bin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Flags, Places, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.schema import Schema
from adyton.schema.attributes import OTHER_LABEL, Boolean, Categorical, CelledAttribute
from adyton.schema.calendar import DAY, LATEST
from adyton.schema.numbers import Integer, Numeric
from adyton.schema.times import Date, Times

if TYPE_CHECKING:
    import pyarrow as pa

Codes = npt.NDArray[np.int32]
"""Rows as the numbers of their cells: a row for each row, a column for each attribute."""


def arrow_rows(schema: Schema, codes: Codes, random: np.random.Generator) -> pa.Table:
    """Rows as an Arrow table: a column for each attribute of the schema, in its order.

    A whole number is drawn evenly from its cell, a real one is an even point of its bin, a time
    an even second of its cell. Missing values are null. What
    lies outside is written so that it is read as such again: the text ``(other)``, or a number beyond the largest.

    >>> from adyton.schema import Integer
    >>> schema = Schema({"sex": Categorical(["F", "M"]), "age": Integer(0, 99, step=50)})
    >>> rows = arrow_rows(schema, np.array([[0, 1], [1, 0]], dtype=np.int32), np.random.default_rng(1))
    >>> rows.column("sex").to_pylist(), [age // 50 for age in rows.column("age").to_pylist()]
    (['F', 'M'], [1, 0])
    """
    import pyarrow

    if codes.ndim != 2 or codes.shape[1] != len(schema.names):
        raise BadInput(f"the schema has {len(schema.names)} attributes, given codes of shape {shorten(codes.shape)}.")
    columns = []
    for attribute, cells in zip(schema.attributes.values(), codes.T, strict=True):
        assert isinstance(attribute, CelledAttribute)
        if cells.size and not 0 <= int(cells.min()) <= int(cells.max()) < attribute.size:
            raise BadInput(f"a code must be a cell, from 0 to {attribute.size - 1}, given {shorten(int(cells.max()))}.")
        columns.append(_column(attribute, cells.astype(np.int64), random))
    return pyarrow.table(dict(zip(schema.names, columns, strict=True)))


def _column(attribute: CelledAttribute, cells: Places, random: np.random.Generator) -> Any:
    import pyarrow

    missing = cells == (-1 if attribute.null_cell is None else attribute.null_cell)
    other = cells == (-1 if attribute.other_cell is None else attribute.other_cell)
    match attribute:
        case Integer():
            return pyarrow.array(_whole_numbers(attribute, cells, other, random), mask=missing)
        case Numeric():
            return pyarrow.array(_real_numbers(attribute, cells, other, random), mask=missing)
        case Times():
            return _times(attribute, cells, missing, other, random)
        case Boolean() | Categorical():
            return _levels(attribute, cells, missing, other)
        case _:
            raise BadInput(f"rows cannot be made for an attribute of kind {attribute.kind!r}. Leave it out.")


def _levels(attribute: Boolean | Categorical, cells: Places, missing: Flags, other: Flags) -> Any:
    """By a dictionary of the levels; where other values have a cell, they need a level too."""
    import pyarrow

    levels: list[Any] = [False, True] if isinstance(attribute, Boolean) else list(attribute.levels)
    if attribute.other_cell is not None:
        numbers = isinstance(levels[0], int) and not isinstance(levels[0], bool)
        levels = [*levels, max(levels) + 1] if numbers else [*map(_text, levels), OTHER_LABEL]
    places = pyarrow.array(np.where(missing, 0, cells), mask=missing)
    return pyarrow.array(levels).take(places)


def _text(level: Any) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def _whole_numbers(attribute: Integer, cells: Places, other: Flags, random: np.random.Generator) -> Array:
    place = np.minimum(cells, attribute.base_size - 1)
    first = attribute.min + place * attribute.step
    last = np.minimum(first + attribute.step - 1, attribute.max)
    return np.where(other, attribute.max + 1, random.integers(first, last, endpoint=True))


def _times(attribute: Times, cells: Places, missing: Flags, other: Flags, random: np.random.Generator) -> Any:
    """An even second of each cell on the attribute's clock, as a date or a time; parts by their names."""
    import pyarrow

    place = np.minimum(cells, attribute.base_size - 1)
    if attribute.is_part:
        names = attribute.labels[: attribute.base_size]
        return pyarrow.array(list(names)).take(pyarrow.array(np.where(missing, 0, place), mask=missing))
    first, last = attribute.span
    ends = np.append(attribute.starts[1:] - 1, last)
    outside = last + 1 if last < LATEST else first - 1
    seconds = np.where(other, outside, random.integers(attribute.starts[place], ends[place], endpoint=True))
    if isinstance(attribute, Date):
        return pyarrow.array((seconds // DAY).astype(np.int32), mask=missing).cast(pyarrow.date32())
    return pyarrow.array(seconds, mask=missing).cast(pyarrow.timestamp("s"))


def _real_numbers(attribute: Numeric, cells: Places, other: Flags, random: np.random.Generator) -> Reals:
    """Points well inside their bins: none is moved to another by rounding."""
    if attribute.edges is not None:
        edges: Reals = np.asarray(attribute.edges, dtype=np.float64)
    else:
        edges = np.asarray(attribute.min + np.arange(attribute.bins + 1) * attribute.width, dtype=np.float64)
        edges[-1] = attribute.max
    place = np.minimum(cells, attribute.base_size - 1)
    low, high = edges[place], edges[place + 1]
    points = low + (high - low) * (0.001 + 0.998 * random.random(cells.size))
    points = np.where((points > low) & (points < high), points, low)  # a bin of no more than a few doubles
    return np.where(other, attribute.max + (attribute.max - attribute.min), points)
