"""Where the values of a row fall: cells, misfits and steps, as expressions that no value can make fail.

For every attribute there is a *code* (the number of the cell) and a condition *keep* (the policies that drop rows).
Codes are total: an engine may evaluate them for rows that are not kept, for null, not-a-number, ±∞ and the largest
integers of every type, and gets some number, never an error. Two ways lead there, the cheapest that the public facts
(the type of the column, the schema) allow: the type is too narrow to overflow; the value is clamped to the bounds
before the arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arrays import Array, Integers
from adyton.kernel.engines import Engine
from adyton.kernel.engines.engine import Counted, engine_function
from adyton.kernel.tables.columns import holds_booleans, holds_levels, is_missing, trimmed, value_of
from adyton.schema import Categorical, Integer, Numeric, Schema
from adyton.schema.attributes import CelledAttribute
from adyton.schema.misfits import Misfit, Reason
from adyton.schema.numbers import FixedPoint
from adyton.schema.times import Times
from adyton.whole import IntegerArray, whole_array

_SAFE = 1 << 62
_FEW_RUNS = 8
_INT32 = 1 << 31
_EXACT_BINS = 10**6
_FEW_EDGES = 64
_BITS = 27
"""Squares are added up in two parts of so many bits, by shifting and masking: engines divide in doubles."""


def cell_table(
    table: Any, schema: Schema, columns: Mapping[str, str], *, engine: Engine, carry: Sequence[str] = ()
) -> Any:
    """The kept rows with a column ``cell``, the row-major number of the cell in the domain, and the columns to carry.

    *columns* names the column of every attribute.
    """
    import ibis

    table, levels = join_levels(table, schema, columns, engine)
    codes = []
    for name, attribute in schema.attributes.items():
        assert isinstance(attribute, CelledAttribute)
        column, cell = table[columns[name]], table[levels[name]] if name in levels else None
        if cell is not None and attribute.drops_all:
            codes.append(CellCode(cell, attribute.size, None))  # the join has dropped them
            continue
        base = base_code(column, attribute, engine, level=cell)
        codes.append(with_policies(attribute, base, is_missing(column)))
    shape = schema.shape
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    fits = sum(code.magnitude * stride for code, stride in zip(codes, strides, strict=True)) < _SAFE
    total = None
    for code, stride, size in zip(codes, strides, shape, strict=True):
        term = code.code if fits else ibis.greatest(ibis.least(code.code, size - 1), 0)
        term = term.cast("int64") * stride if stride > 1 else term.cast("int64")
        total = term if total is None else total + term
    for code in codes:
        if code.keep is not None:
            table = table.filter(code.keep)
    return table.select(*carry, cell=total)


def join_levels(
    table: Any, schema: Schema, columns: Mapping[str, str], engine: Engine, *, keep: bool = False
) -> tuple[Any, dict[str, str]]:
    """Join the number of the level for categorical attributes: for many levels a hash table is faster than any CASE.

    Levels are distinct, so that a row meets at most one of them: one row stays one row, or none; with *keep*, every row
    stays. Texts are compared by their bytes, because under a collation two levels can be equal.
    """
    found: dict[str, str] = {}
    for name, attribute in schema.attributes.items():
        if not isinstance(attribute, Categorical) or holds_booleans(attribute):
            continue
        if len(attribute.levels) <= engine.few_levels:
            continue
        key, cell = f"level_{len(found)}", f"cell_{len(found)}"
        column = trimmed(table[columns[name]], attribute)
        kind = "float64" if column.type().is_floating() else "int64" if column.type().is_integer() else "string"
        numbers = np.arange(len(attribute.levels), dtype=np.int32)
        lookup = engine.lookup({key: attribute.levels, cell: numbers}, {key: kind, cell: "int32"})
        how = "inner" if attribute.drops_all and not keep else "left"
        table = table.join(lookup, engine.same_bytes(column) == lookup[key], how=how)
        found[name] = cell
    return table, found


def among(cell: Any, cells: Sequence[int]) -> Any:
    """Whether a cell is one of some: by intervals if they are few, by a list if they are many."""
    import ibis

    runs: list[list[int]] = []
    for number in cells:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    if len(runs) > _FEW_RUNS:
        return cell.isin(cells)
    condition = ibis.literal(False)
    for first, last in runs:
        condition = condition | cell.between(first, last)
    return condition


@dataclass(frozen=True)
class CellCode:
    """The cell of one attribute: the code, a bound on its magnitude for any row at all, and which rows are kept."""

    code: Any
    magnitude: int
    keep: Any | None


def base_code(column: Any, attribute: CelledAttribute, engine: Engine, level: Any | None = None) -> CellCode:
    """The cell of a value that has one before the policies are asked; ``keep`` says which values have one.

    *level* is the number of the value's level, null if it has none, where that was joined already.
    """
    import ibis

    if level is not None:
        return CellCode(level, attribute.size, level.notnull())
    if holds_booleans(attribute):
        return _boolean(value_of(column, attribute, engine), attribute)
    if isinstance(attribute, Categorical):  # the first level that is equal: one at most, whatever the engine calls so
        value = trimmed(column, attribute)
        cases = [(value == own, ibis.literal(number, "int32")) for number, own in enumerate(attribute.levels)]
        cell = ibis.cases(*cases, else_=ibis.null("int32"))
        return CellCode(cell, attribute.size, cell.notnull())
    if isinstance(attribute, Integer):
        return _integer(column, attribute.min, attribute.max, attribute.step, attribute=attribute, engine=engine)
    if isinstance(attribute, Times):
        return _time(column, attribute, engine)
    assert isinstance(attribute, Numeric)
    return _numeric(column, attribute, engine)


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
        value = ibis.greatest(ibis.least(column, float(high)), float(low))
        offset = _shifted(_floor(value), float(low))
        if step > 1:
            offset = _floor(offset / float(step))
        return CellCode(*_to_integer(offset, last), (column >= float(low)) & upper)
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
    value = ibis.greatest(ibis.least(column, high), low)
    offset = _floor(_above_edges(value, attribute) * (attribute.bins / (high - low)))
    return CellCode(*_to_integer(offset, last), column.between(low, high))


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


def _to_integer(offset: Any, last: int) -> tuple[Any, int]:
    """A whole double as an integer of at most *last*; and a bound on its magnitude."""
    import ibis

    return ibis.least(offset.cast("int32"), last), _INT32


def _shifted(value: Any, low: float) -> Any:
    return value - low if low else value


def _floor(value: Any) -> Any:
    """⌊v⌋ as a double: Ibis's own floor converts to an integer and fails on large values."""
    return engine_function("floor", float, float)(value)


def counted_by_values(engine: Engine, rows: Any, schema: Schema, columns: Mapping[str, str]) -> Counted | None:
    """How many rows have each cell; None unless the schema is one attribute of texts.

    The column is counted by itself: first how many rows have each text, then which cell each text falls into. Engines
    group texts faster than they look them up.

    Claim.  The counts are those of the cells of all rows.
    Proof.  Rows with the same bytes have the same cell, and the numbers of rows are added up.  ∎
    """
    (name, attribute), *others = schema.attributes.items()
    column = rows[columns[name]]
    if others or not holds_levels(attribute, str) or not column.type().is_string():
        return None
    grouped = rows.group_by(value=engine.same_bytes(column)).aggregate(times=rows.count())
    values = grouped.mutate(value=engine.text_of(grouped["value"]))
    cells = cell_table(values, schema, {name: "value"}, engine=engine, carry=["times"])
    sums = cells.group_by("cell").aggregate(rows=cells["times"].sum().cast("int64"))
    found = engine.run(lambda: engine.fetched(sums))
    return found["cell"], found["rows"]


def vector_of(length: int, counted: Counted) -> Integers:
    """The number of rows of every value below *length*."""
    vector = np.zeros(length, dtype=np.int64)
    values, counts = counted
    vector[values] = counts
    return vector


def misfit_table(
    table: Any,
    schema: Schema,
    columns: Mapping[str, str],
    texts: Mapping[str, str],
    misfits: Sequence[Misfit],
    *,
    engine: Engine,
) -> Any:
    """All rows with a column ``cell``: 0 for a row that fits, k for one whose first misfit is number k.

    *columns* names the column of every attribute, *texts* the text that it was read from, where there is one. Every
    row is there once.
    """
    import ibis

    concerned = schema.select(tuple(dict.fromkeys(misfit.attribute for misfit in misfits)))
    table, levels = join_levels(table, concerned, columns, engine, keep=True)

    def holds(name: str, reason: Reason) -> Any:
        attribute, column = concerned.attributes[name], table[columns[name]]
        assert isinstance(attribute, CelledAttribute)
        if reason == "missing":
            return is_missing(column)
        if reason in ("unreadable", "no time"):
            if name not in texts:
                return ibis.literal(False)
            unread = ~column.isnan().fill_null(False) if column.type().is_floating() else ibis.literal(True)
            return column.isnull() & unread & (table[texts[name]].strip() != "")  # an engine may take both for null
        inside: Any = table[levels[name]].notnull() if name in levels else base_code(column, attribute, engine).keep
        return ~is_missing(column) & ~inside

    cases = [(holds(misfit.attribute, misfit.reason), number) for number, misfit in enumerate(misfits, start=1)]
    return table.select(cell=ibis.cases(*cases, else_=0).cast("int64"))


def step_table(
    table: Any, schema: Schema, columns: Mapping[str, str], attribute: str, by: Sequence[str], *, engine: Engine
) -> Any:
    """The rows that have a group and a number, with the columns ``cell``, the number of the group, and ``steps``, how
    many steps of its public grid the value of the attribute lies above the lower bound.

    Claim.  The number of steps of a row is a function of that row's own value, lies in 0 … span whatever the value is,
    and no value makes the engine fail.
    Proof.  The value is clamped to the bounds of the schema before anything is computed with it; what follows is one
    subtraction, one product or quotient, one sum and one rounding of numbers within the bounds, and the result is
    clamped again, as a whole number. Nothing overflows there; and nothing below half a step is divided, so that no
    quotient is too small for a double, which PostgreSQL would refuse. Rows without a number between the bounds (missing
    ones, and others that the schema does not clamp) are left out by the same conditions that decide about cells.  ∎
    """
    import ibis

    column = columns[attribute]
    if by:
        table = cell_table(table, schema.select(by), columns, engine=engine, carry=[column])
    else:
        table = table.select(table[column], cell=ibis.literal(0, "int64"))
    declared = schema.attributes[attribute]
    assert isinstance(declared, Integer | Numeric)
    value = table[column]
    inside = base_code(value, declared, engine).keep
    kept = ~is_missing(value) if declared.outside == "clamp" else inside & ~is_missing(value)
    return table.filter(kept).select("cell", steps=_steps(value, declared))


def _steps(column: Any, attribute: Integer | Numeric) -> Any:
    """How many steps a value lies above the lower bound, rounded to the next one."""
    import ibis

    grid = FixedPoint.of(attribute)
    if isinstance(attribute, Integer) and column.type().is_integer():
        clamped = ibis.greatest(ibis.least(column.cast("int64"), attribute.max), attribute.min)
        steps = clamped - attribute.min
        if grid.step > 1:  # rounded: the lower bound need not be a multiple of the step
            ahead = attribute.min - grid.low * int(grid.step) + int(grid.step) // 2
            steps = (steps + ahead) // int(grid.step)
        return ibis.greatest(ibis.least(steps, grid.span), 0).cast("int64")
    value = column.cast("float64")
    value = _floor(value) if isinstance(attribute, Integer) else value
    value = ibis.greatest(ibis.least(value, float(attribute.max)), float(attribute.min))
    offset = value - grid.lower if grid.low else value
    if grid.step > 1:  # half a step first: the quotient of a very small number would be too small for some engines
        scaled = (offset + float(grid.step / 2)) / float(grid.step)
    else:
        scaled = offset * float(1 / grid.step) + 0.5
    return ibis.greatest(ibis.least(_floor(scaled).cast("int64"), grid.span), 0)


def sums_by_cell(rows: Any, squares: bool, engine: Engine) -> Any:
    """For each group the number of rows and the sums, as texts: no engine's integer is long enough for all of them."""
    steps = rows["steps"]
    sums = {"steps": engine.total(steps)}
    if squares:
        square = steps * steps
        sums |= {"high": engine.total(square >> _BITS), "low": engine.total(square & ((1 << _BITS) - 1))}
    return rows.group_by("cell").aggregate(
        rows=rows.count().cast("string"), **{name: total.cast("string") for name, total in sums.items()}
    )


def power_sums(fetched: Mapping[str, Array], cells: int, squares: bool) -> list[IntegerArray]:
    """Σ 1, Σ k and, if asked for, Σ k² over the rows of every group, exactly."""
    names = ("rows", "steps", "high", "low") if squares else ("rows", "steps")
    sums = {name: [0] * cells for name in names}
    for name in names:
        for cell, total in zip(np.asarray(fetched["cell"]).tolist(), fetched[name], strict=True):
            sums[name][int(cell)] = int(Fraction(str(total)))
    columns = [sums["rows"], sums["steps"]]
    if squares:
        columns.append([(high << _BITS) + low for high, low in zip(sums["high"], sums["low"], strict=True)])
    return [whole_array(column, (cells,)) for column in columns]
