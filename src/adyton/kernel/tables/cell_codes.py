"""Cell codes: which cell of an attribute a value falls into, as an expression that no value can make fail.

For every attribute there is a *code* (the number of the cell) and a condition *keep* (the policies that drop rows).
Codes are total: an engine may evaluate them for rows that are not kept, for null, not-a-number, ±∞ and the largest
integers of every type, and gets some number, never an error. Three ways lead there, the cheapest that the public facts
(the type of the column, the schema) allow: the type is too narrow to overflow; the value is clamped to the bounds
before the arithmetic; the conversion to an integer is one that yields null instead of failing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adyton.kernel.engines import Engine
from adyton.kernel.engines.functions import engine_function
from adyton.kernel.tables.columns import holds_booleans, trimmed, value_of
from adyton.schema import Boolean, Categorical, Integer, Numeric
from adyton.schema.attributes import CelledAttribute
from adyton.schema.times import Times

_INT32 = 1 << 31
_EXACT_BINS = 10**6
_FEW_EDGES = 64


@dataclass(frozen=True)
class CellCode:
    """The cell of one attribute: the code, a bound on its magnitude for any row at all, and which rows are kept."""

    code: Any
    magnitude: int
    keep: Any | None


def _first_level(column: Any, levels: Sequence[Any]) -> Any:
    """The number of the first level that equals the value: one at most, whatever the engine calls equal."""
    import ibis

    cases = [(column == level, ibis.literal(number, "int32")) for number, level in enumerate(levels)]
    return ibis.cases(*cases, else_=ibis.null("int32"))


def base_code(column: Any, attribute: CelledAttribute, engine: Engine, level: Any | None = None) -> CellCode:
    """The cell of a value that has one before the policies are asked; ``keep`` says which values have one.

    *level* is the number of the value's level, null if it has none, where that was joined already.
    """
    if level is not None:
        return CellCode(level, attribute.size, level.notnull())
    if holds_booleans(attribute):
        return _boolean(value_of(column, attribute, engine), attribute)
    if isinstance(attribute, Categorical):
        cell = _first_level(trimmed(column, attribute), attribute.levels)
        return CellCode(cell, attribute.size, cell.notnull())
    if isinstance(attribute, Integer):
        return _integer(column, attribute.min, attribute.max, attribute.step, attribute=attribute, engine=engine)
    if isinstance(attribute, Times):
        return _time(column, attribute, engine)
    assert isinstance(attribute, Numeric)
    return _numeric(column, attribute, engine)


def plain_code(column: Any, attribute: CelledAttribute, engine: Engine) -> Any | None:
    """The cell of a value in few operations, where the schema drops all values without one; else None.

    Such a value's code is null, or a number that is no cell. There are few operations for booleans, and for whole
    numbers of which each is a cell.
    """
    if not attribute.drops_all:
        return None
    if isinstance(attribute, Boolean):
        return value_of(column, attribute, engine).cast("int32")
    if not isinstance(attribute, Integer) or attribute.step > 1 or not column.type().is_integer() or not engine.tries:
        return None
    if max(abs(attribute.min), abs(attribute.max)) >= _INT32:
        return None
    return column.try_cast("int32").cast("int64") - attribute.min if attribute.min else column


def _boolean(value: Any, attribute: CelledAttribute) -> CellCode:
    """False and true in the order of the levels; a single level leaves the other value outside."""
    import ibis

    first = attribute.levels[0] if isinstance(attribute, Categorical) else False
    inside = value.notnull() if attribute.base_size == 2 else value == first
    return CellCode(ibis.ifelse(value == first, 0, attribute.base_size - 1), attribute.size, inside)


def with_policies(attribute: CelledAttribute, base: CellCode, missing: Any) -> CellCode:
    """Send what is missing or outside to its cell, or drop it. ``base.keep`` says which values are inside."""
    import ibis

    code, inside = base.code, base.keep
    if attribute.other_cell is not None:
        code = ibis.ifelse(inside, code, attribute.other_cell)
    if attribute.null_cell is not None:
        code = ibis.ifelse(missing, attribute.null_cell, code)
    if attribute.outside == "drop":
        keep = inside if attribute.null_cell is None else inside | missing
    else:
        keep = ~missing if attribute.null_cell is None else None
    return CellCode(code, max(base.magnitude, attribute.size), keep)


def _integer(column: Any, low: int, high: int, step: int, *, attribute: CelledAttribute, engine: Engine) -> CellCode:
    """⌊(v − low) / step⌋, in integers where the column has integers."""
    import ibis

    last = attribute.base_size - 1
    kind = column.type()
    if kind.is_floating():
        # ⌊v⌋ ≤ high is v < high + 1 as long as that is a double
        upper = column < float(high + 1) if high < 2**53 else column <= float(high)
        value, safe = _clamped(column, float(low), float(high), attribute, engine)
        offset = _shifted(_floor(value), float(low))
        if step > 1:
            offset = _floor(offset / float(step))
        return CellCode(*_to_integer(offset, last, safe), (column >= float(low)) & upper)
    inside = column.between(low, high)
    if kind.nbytes <= 4 and abs(low) <= _INT32 and attribute.outside != "clamp":
        offset, magnitude = column.cast("int64"), 1 << 33
    else:
        offset, magnitude = ibis.greatest(ibis.least(column.cast("int64"), high), low), last + 1
    offset = _shifted(offset, low)
    return CellCode(offset // step if step > 1 else offset, magnitude, inside)


def _time(column: Any, attribute: Times, engine: Engine) -> CellCode:
    """Periods of equal length by arithmetic, months and years by binary search, parts as they are."""
    import ibis

    (first, last), size = attribute.span, attribute.base_size
    value = ibis.greatest(ibis.least(column, last), first)
    if attribute.is_part:
        code = value
    elif attribute.length is not None:
        code = (value - attribute.anchor) // attribute.length
    else:
        edges = (*attribute.starts.tolist(), last + 1)
        code = _among_edges(value.cast("float64"), tuple(map(float, edges)), engine)
    return CellCode(code, size, column.between(first, last))


def _numeric(column: Any, attribute: Numeric, engine: Engine) -> CellCode:
    """Bins of equal width by arithmetic, or unequal ones by binary search."""
    import ibis

    low, high, last = attribute.min, attribute.max, attribute.base_size - 1
    width = attribute.width
    if attribute.edges is not None:
        value = column.cast("float64")
        return CellCode(_among_edges(value, tuple(attribute.edges), engine), last + 1, value.between(low, high))
    whole = low.is_integer() and width.is_integer() and width <= _EXACT_BINS and attribute.bins <= _EXACT_BINS
    if column.type().is_integer() and whole:
        code = _integer(column, int(low), int(high), int(width), attribute=attribute, engine=engine)
        return CellCode(ibis.least(code.code, last), code.magnitude, code.keep)
    column = column.cast("float64")
    value, safe = _clamped(column, low, high, attribute, engine)
    offset = _floor(_above_edges(value, attribute) * (attribute.bins / (high - low)))
    return CellCode(*_to_integer(offset, last, safe), column.between(low, high))


def _above_edges(value: Any, attribute: Numeric) -> Any:
    """v − min, plus the tolerance; both in one subtraction where rounding leaves the tolerance intact."""
    tolerance = attribute.tolerance * attribute.width
    if abs(attribute.min) * 2**-52 < tolerance / 100:
        return value - (attribute.min - tolerance)
    return value - attribute.min + tolerance


def _among_edges(value: Any, edges: tuple[float, ...], engine: Engine) -> Any:
    """The bin between two of the edges that holds the value: some bin, where none does."""
    bins = len(edges) - 1
    if bins <= _FEW_EDGES:
        return _search(value, edges, 0, bins)
    found = engine.bin_of(value, edges[1:-1])
    return _search(value, edges, 0, bins) if found is None else found


def _search(value: Any, edges: Any, first: int, end: int) -> Any:
    """The bin from *first* to *end* − 1 that holds the value, by halving."""
    import ibis

    if end - first == 1:
        return ibis.literal(first, "int32")
    middle = (first + end) // 2
    return ibis.ifelse(value < edges[middle], _search(value, edges, first, middle), _search(value, edges, middle, end))


def _clamped(value: Any, low: float, high: float, attribute: CelledAttribute, engine: Engine) -> tuple[Any, bool]:
    """The value, clamped where the policy or the engine needs it; and whether it is."""
    import ibis

    if engine.tries and attribute.outside != "clamp":
        return value, False
    return ibis.greatest(ibis.least(value, high), low), True


def _to_integer(offset: Any, last: int, safe: bool) -> tuple[Any, int]:
    """A whole double as an integer of at most *last*; and a bound on its magnitude."""
    import ibis

    whole = offset.cast("int32") if safe else offset.try_cast("int32")
    return ibis.least(whole, last), _INT32


def _shifted(value: Any, low: float) -> Any:
    return value - low if low else value


def _floor(value: Any) -> Any:
    """⌊v⌋ as a double: Ibis's own floor converts to an integer and fails on large values."""
    return engine_function("floor", float, float)(value)
