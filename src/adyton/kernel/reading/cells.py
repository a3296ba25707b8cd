"""From values to whole numbers: cells, steps of sums, truth of predicates, and why a value does not match.

Claim.  Each number depends only on the row's own value and the schema, and no value causes an error.
Proof.  Values are compared with public bounds first; a value that is not between them, or is missing, is replaced by a
bound before anything is computed. What follows are differences, quotients and floors of numbers, in 64 bits. A schema
supplies only public numbers for them, and sees no value. Wherever numbers are counted or looked up, those outside their
public range are moved into it: so whatever a schema says, a row is counted once in each table.  ∎
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Array, Flags, Integers, nodes_reached, within
from adyton.kernel.reading.texts import KNOWN, UNREAD, has_levels, is_boolean
from adyton.kernel.reading.values import ListedValues, Values, by_value
from adyton.schema import Boolean, Categorical, Integer, Numeric, RowTree
from adyton.schema.attributes import Attribute, CelledAttribute
from adyton.schema.numbers import FixedPoint
from adyton.schema.predicates import And, Between, Compare, In, IsNull, Not, Or, Predicate, comparisons_in
from adyton.schema.times import Times

EXACT_BINS = 10**6
_EXACT_CELLS = 1 << 31


@by_value
def cells(values: Values, attribute: CelledAttribute) -> Integers:
    """The cell of each value by the schema's policies; −1 for a value that is left out."""
    cell, inside = base_cells(values, attribute)
    if attribute.drops_all:
        return (cell if inside.all() else np.where(inside, cell, -1)).astype(np.int64, copy=False)
    if attribute.outside == "clamp":
        inside = values.state == KNOWN
    cell = np.where(inside, cell, -1 if attribute.other_cell is None else attribute.other_cell)
    cell = np.where(values.missing, -1 if attribute.null_cell is None else attribute.null_cell, cell)
    return cell.astype(np.int64, copy=False)


def kept_cells(values: Values, attribute: CelledAttribute) -> tuple[Array, Flags]:
    """The cell of each value, and which values are kept; the cell of a value that is left out is not used."""
    offsets = _offsets(values, attribute)
    if offsets is not None:
        return offsets.view(values.data.dtype), offsets < attribute.size
    if attribute.drops_all and not isinstance(values, ListedValues):
        return base_cells(values, attribute)
    cell = cells(values, attribute)
    return cell, cell >= 0


@by_value
def codes(values: Values, attribute: CelledAttribute) -> Array:
    """The cell of each value; the number of cells, or more, for a value that is left out."""
    offsets = _offsets(values, attribute)
    if offsets is not None:
        return offsets
    cell = cells(values, attribute)
    return np.where(cell < 0, attribute.size, cell)


def _offsets(values: Values, attribute: CelledAttribute) -> Array | None:
    """How far whole numbers lie above the lower bound, modulo 2^32 or 2^64: less than the number of cells exactly for
    those between the bounds. None where cells are not simply such offsets."""
    if not isinstance(attribute, Integer) or attribute.step > 1 or not attribute.drops_all:
        return None
    if isinstance(values, ListedValues) or values.states is not None or values.data.dtype.kind != "i":
        return None
    ends = np.iinfo(values.data.dtype)
    if not ends.min <= attribute.min <= attribute.max <= ends.max or attribute.size > _EXACT_CELLS:
        return None
    above = values.data - values.data.dtype.type(attribute.min)
    return np.asarray(above.view(f"u{above.dtype.itemsize}"))


def base_cells(values: Values, attribute: CelledAttribute) -> tuple[Integers, Flags]:
    """The cell before the policies (the nearest one for a value beyond the bounds), and which values are inside."""
    data = values.data
    if isinstance(attribute, Numeric) and attribute.outside == "drop" and attribute.edges is None:
        return _bins(data, values.known, attribute)
    known = values.state == KNOWN
    if isinstance(attribute, Boolean):
        return data.astype(np.int64), known
    if isinstance(attribute, Categorical):
        return _levels(data, known, attribute)
    if isinstance(attribute, Times):
        return _times(data, known, attribute)
    if isinstance(attribute, Integer):
        return _integers(data, known, attribute.min, attribute.max, attribute.step)
    assert isinstance(attribute, Numeric)
    return _bins(data, known, attribute)


def _levels(data: Array, known: Flags, attribute: Categorical) -> tuple[Integers, Flags]:
    kind = type(attribute.levels[0])
    if kind is str:
        return data.astype(np.int64), known
    if kind is bool:
        places = np.array(
            [attribute.levels.index(truth) if truth in attribute.levels else -1 for truth in (False, True)]
        )
        level = places[np.where(known, data, 0).astype(np.int64)]
        return np.maximum(level, 0), known & (level >= 0)
    order = np.argsort(np.array(attribute.levels, dtype=object), kind="stable")
    levels = np.array(
        [attribute.levels[place] for place in order], dtype=np.float64 if data.dtype.kind == "f" else None
    )
    if levels.dtype == object:  # beyond 64 bits: no value of a column equals such a level
        levels = levels.astype(np.float64)
    place = np.minimum(np.searchsorted(levels, np.where(known, data, 0)), len(levels) - 1)
    return order[place].astype(np.int64), known & (levels[place] == data)


def _integers(data: Array, known: Flags, low: int, high: int, step: int) -> tuple[Integers, Flags]:
    """⌊(v − low) / step⌋."""
    last = (high - low) // step
    if data.dtype.kind == "f":
        # ⌊v⌋ ≤ high is v < high + 1 as long as that is a double
        inside = known & (data >= float(low)) & (data < float(high + 1) if high < 2**53 else data <= float(high))
        near = np.minimum(np.maximum(np.where(known, data, float(low)), float(low)), float(high))
        offset = np.floor(near) - float(low)
        offset = np.floor(offset / step) if step > 1 else offset
        return np.minimum(offset, last).astype(np.int64), inside
    data = data.astype(np.int64, copy=False)
    least, most = max(low, -(2**63)), min(high, 2**63 - 1)
    if least > most:
        return np.full(data.shape, 0 if low > 0 else last), np.zeros(data.shape, dtype=bool)
    inside = known & (data >= least) & (data <= most)
    near = data.clip(least, most)
    offset = near - low if low else near
    return np.minimum(offset // step if step > 1 else offset, last), inside


def _times(data: Array, known: Flags, attribute: Times) -> tuple[Integers, Flags]:
    """Periods of equal length by arithmetic, months and years by binary search, parts of a date or time unchanged."""
    first, last = attribute.span
    inside = known & (data >= first) & (data <= last)
    near = data.clip(first, last)
    if attribute.is_part:
        return near, inside
    if attribute.length is not None:
        return (near - attribute.anchor) // attribute.length, inside
    return np.searchsorted(attribute.starts, near, side="right").astype(np.int64) - 1, inside


def _bins(data: Array, known: Flags | None, attribute: Numeric) -> tuple[Integers, Flags]:
    """Bins of equal width by arithmetic, others by binary search. A value that is not a number is in no bin."""
    low, high, last, width = attribute.min, attribute.max, attribute.base_size - 1, attribute.width
    whole = low.is_integer() and width.is_integer() and width <= EXACT_BINS and attribute.bins <= EXACT_BINS
    if attribute.edges is None and data.dtype.kind == "i" and whole:
        every = np.ones(len(data), dtype=bool) if known is None else known
        cell, inside = _integers(data, every, int(low), int(high), int(width))
        return np.minimum(cell, last), inside
    data = data.astype(np.float64, copy=False)
    inside = (data >= low) & (data <= high)
    inside = inside if known is None else inside & known
    with np.errstate(invalid="ignore"):  # the results for values in no bin are not used
        near = data if attribute.outside == "drop" else np.fmin(np.fmax(data, low), high)
    if attribute.edges is not None:
        return np.searchsorted(np.array(attribute.edges[1:-1]), near, side="right").astype(np.int64), inside
    tolerance = attribute.tolerance * width
    at_once = abs(low) * 2**-52 < tolerance / 100  # otherwise rounding could exceed the tolerance
    above = near - (low - tolerance) if at_once else near - low + tolerance
    with np.errstate(invalid="ignore", over="ignore"):
        cell = (above * (attribute.bins / (high - low))).astype(np.int64)  # rounds down: none is negative
    return np.minimum(cell, last), inside


@by_value
def steps(values: Values, attribute: Attribute) -> Integers:
    """How many steps of the public grid a value lies above the lower bound, rounded; −1 for a row without a number."""
    assert isinstance(attribute, Integer | Numeric)
    grid = FixedPoint.of(attribute)
    known, data = values.state == KNOWN, values.data
    _, inside = base_cells(values, attribute)
    kept = known if attribute.outside == "clamp" else inside
    if isinstance(attribute, Integer) and data.dtype.kind == "i":
        data = data.astype(np.int64, copy=False)
        least, most = max(attribute.min, -(2**63)), min(attribute.max, 2**63 - 1)
        count = np.minimum(np.maximum(data, least), most) - attribute.min if least <= most else np.zeros_like(data)
        if grid.step > 1:  # rounded: the lower bound need not be a multiple of the step
            ahead = attribute.min - grid.low * int(grid.step) + int(grid.step) // 2
            count = (count + ahead) // int(grid.step)
    else:
        near = np.where(known, data.astype(np.float64), float(attribute.min))
        near = np.floor(near) if isinstance(attribute, Integer) else near
        near = np.minimum(np.maximum(near, float(attribute.min)), float(attribute.max))
        offset = near - grid.lower if grid.low else near
        half = float(grid.step / 2)
        scaled = (offset + half) / float(grid.step) if grid.step > 1 else offset * float(1 / grid.step) + 0.5
        count = np.floor(scaled).astype(np.int64)
    return np.where(kept, np.minimum(np.maximum(count, 0), grid.span), -1)


# ---- terms ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Term:
    """A question about each row: a function of the row's value of one attribute."""

    name: str
    attribute: Attribute

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that it depends on."""
        return (self.name,)

    def of(self, values: Values) -> Any:
        """A whole number for each value; a plain term returns the values themselves."""
        return values


class Cell(Term):
    """The cell; −1 for a row without a cell."""

    attribute: CelledAttribute

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.attribute.size

    def of(self, values: Values) -> Integers:
        """By the schema's policies."""
        return cells(values, self.attribute)


@dataclass(frozen=True, eq=False)
class Leaf:
    """The leaf of a tree that a row belongs to, by its cells; −1 for a row without a leaf."""

    tree: RowTree
    cells: Mapping[int, Cell]
    """The cells that the tree depends on, by the number of their attribute."""

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that it depends on."""
        return tuple(cell.name for cell in self.cells.values())

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return len(self.tree.leaves)

    def at(self, rows: int, asked: Callable[[Term], Integers]) -> Integers:
        """The leaves of this number of rows, given their cells."""
        codes = np.full((rows, len(self.tree.attributes)), -1, dtype=np.int64)
        for place, cell in self.cells.items():
            codes[:, place] = asked(cell)
        tree, leaves = self.tree, self.tree.leaf_numbers()
        return leaves[nodes_reached(codes, tree.split, tree.first, tree.sizes)]


Question = Term | Leaf
"""A question about each row."""
Terms = Collection[Question]


class Steps(Term):
    """How many steps of the public grid a value lies above the lower bound; −1 for a row without a number."""

    def of(self, values: Values) -> Integers:
        """The rounded number of steps."""
        return steps(values, self.attribute)


FITS, NOTHING, UNREADABLE, BEYOND = range(4)


class Fit(Term):
    """Whether a value matches, and if not, why: it is missing, unreadable, not a level or beyond the bounds."""

    attribute: CelledAttribute

    def of(self, values: Values) -> Integers:
        """FITS, NOTHING, UNREADABLE or BEYOND."""
        _, inside = base_cells(values, self.attribute)
        fit = np.where(inside, FITS, BEYOND)
        return np.where(values.missing, np.where(values.state == UNREAD, UNREADABLE, NOTHING), fit)


def misfit_codes(reason: str) -> tuple[int, ...]:
    """The numbers of :class:`Fit` that correspond to a reason."""
    if reason == "missing":
        return (NOTHING, UNREADABLE)
    return (UNREADABLE,) if reason in ("unreadable", "no time") else (BEYOND,)


FALSE, TRUE, UNKNOWN = range(3)


@dataclass(frozen=True, eq=False)
class Truth(Term):
    """Whether a comparison is true."""

    part: Compare | Between | In | IsNull

    def of(self, values: Values) -> Integers:
        """FALSE, TRUE or UNKNOWN."""
        if isinstance(self.part, IsNull):
            return np.where(values.missing, TRUE, FALSE)
        # a value that is neither true nor false is unknown
        known = values.state == KNOWN if is_boolean(self.attribute) else ~values.missing
        return np.where(known, np.where(_compared(self.part, values, self.attribute), TRUE, FALSE), UNKNOWN)


@dataclass(frozen=True)
class Rule:
    """Which rows are kept: a predicate, with whole numbers in place of times and levels in place of groups."""

    predicate: Predicate
    leaves: Mapping[Predicate, Truth]

    @classmethod
    def of(cls, predicate: Predicate, attributes: Mapping[str, Attribute]) -> Rule:
        """The rule of a predicate, with a term for each comparison."""
        parts = dict.fromkeys(comparisons_in(predicate))
        return cls(predicate, {part: Truth(part.column, attributes[part.column], part) for part in parts})

    @property
    def terms(self) -> Collection[Term]:
        """The questions about each row."""
        return self.leaves.values()

    def holds(self, asked: Callable[[Term], Integers]) -> Flags:
        """The rows for which the predicate is true, given the answers to its terms."""
        return self._truth(self.predicate, {part: asked(term) for part, term in self.leaves.items()})[0]

    def _truth(self, predicate: Predicate, truths: Mapping[Predicate, Integers]) -> tuple[Flags, Flags]:
        """Where a predicate is true, and where it is false; neither where it is unknown."""
        match predicate:
            case Not(part):
                true, false = self._truth(part, truths)
                return false, true
            case And(parts) | Or(parts):
                both = [self._truth(part, truths) for part in parts]
                every, some = (0, 1) if isinstance(predicate, And) else (1, 0)
                all_of = np.logical_and.reduce([part[every] for part in both])
                any_of = np.logical_or.reduce([part[some] for part in both])
                return (all_of, any_of) if isinstance(predicate, And) else (any_of, all_of)
        return truths[predicate] == TRUE, truths[predicate] == FALSE


@dataclass(frozen=True, eq=False)
class Part:
    """The rows whose cell of an attribute is in one group of a partition."""

    cell: Cell
    labels: Integers
    """The group of each cell, followed by −1."""
    group: int

    @property
    def terms(self) -> Collection[Term]:
        """The questions about each row."""
        return (self.cell,)

    def holds(self, asked: Callable[[Term], Integers]) -> Flags:
        """The rows that are in the group."""
        return np.asarray(self.labels[within(asked(self.cell), len(self.labels) - 2, -1)] == self.group)


Condition = Rule | Part
"""Which rows are kept."""


def _compared(predicate: Compare | Between | In, own: Values, attribute: Attribute) -> Flags:
    data = own.data
    inside: Flags = np.asarray(own.state == KNOWN)  # a text that is not a level equals no literal
    match predicate:
        case Between(_, low, high):
            return inside & _order(data, ">=", low) & _order(data, "<=", high)
        case In(_, wanted):
            equal = np.zeros(len(data), dtype=bool)
            for value in wanted:
                equal |= _order(data, "=", _number(value, attribute))
            return inside & equal
        case Compare(_, "!=", value):
            return ~(inside & _order(data, "=", _number(value, attribute)))
    return inside & _order(data, predicate.operator, _number(predicate.value, attribute))


def _number(value: Any, attribute: Attribute) -> Any:
    """A literal as the number that represents it among the attribute's values."""
    if has_levels(attribute, str):
        return attribute.levels.index(value)
    return int(value) if isinstance(value, bool) else value


def _order(data: Array, operator: str, value: Any) -> Flags:
    """Numbers compared with a literal; whole numbers are compared exactly, also with a fraction."""
    value = whole_literal(operator, value) if data.dtype.kind == "i" else value
    if value is None:
        return np.zeros(len(data), dtype=bool)
    compare = {"=": operators.eq, "<": operators.lt, "<=": operators.le, ">": operators.gt, ">=": operators.ge}
    return np.asarray(compare[operator](data, value), dtype=bool)


def whole_literal(operator: str, value: Any) -> Any:
    """A whole number that compares with whole numbers as the literal does; None for a fraction, which none equals."""
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    if operator == "=":
        return int(value) if value.is_integer() else None
    return math.ceil(value) if operator in ("<", ">=") else math.floor(value)
