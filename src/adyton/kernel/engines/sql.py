"""Questions about rows in SQL: expressions that never fail, by type of column and kind of attribute.

==================  ==================================  =========================================================
type of the column  requested                           expression
==================  ==================================  =========================================================
whole numbers       cells, steps, fits, comparisons     clamped to the bounds, then differences and whole quotients
of integer and      of whole numbers; bins of equal     the same; doubles are clamped first, then rounded down
numeric attributes  width, and a few unequal ones       ⌊(v − min + tolerance) · bins / width⌋, clamped before
times               the same of dates and times         the beginning of the longest period in which no requested
                                                        answer changes: read here like any other time
all others          anything                            the value itself: read here
==================  ==================================  =========================================================

Claim.  Every expression is a total function of the row: no value makes a query fail. The result for a row is the one
that :mod:`~adyton.kernel.reading.cells` gives for its value.
Proof.  Values are clamped to public bounds before anything is computed with them, so that nothing overflows; factors
of products of doubles are never so small that a server reports an underflow. Where the bounds are too wide for that,
the value itself is requested. The rest are comparisons, and CASE.  ∎
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adyton.kernel.reading.cells import (
    BEYOND,
    EXACT_BINS,
    FALSE,
    FITS,
    NOTHING,
    TRUE,
    UNKNOWN,
    Cell,
    Condition,
    Fit,
    Leaf,
    Question,
    Rule,
    Steps,
    Term,
    Truth,
    whole_literal,
)
from adyton.kernel.reading.texts import number_in
from adyton.kernel.reading.values import clock_changes
from adyton.schema import Date, Integer, Numeric
from adyton.schema.attributes import CelledAttribute
from adyton.schema.calendar import DAY, EARLIEST, LATEST
from adyton.schema.numbers import FixedPoint
from adyton.schema.predicates import And, Between, Compare, In, IsNull, Not, Or, Predicate
from adyton.schema.times import Times

_WIDE = 1 << 62
_TINY, _SMALL, _LARGE = 1e-60, 1e-50, 1e50
"""Doubles below the first are replaced by it, and are multiplied by numbers between the second and the third."""
_FEW_EDGES = 64
_FEW_RUNS = 8
_MOST_NODES = 2000
_MARGIN = 3 * DAY
_PARTS = {"hour of day": 3600, "weekday": DAY, "month of year": DAY}


@dataclass(frozen=True)
class StoredColumn:
    """A column of a server: its name in the query, and what it holds."""

    sql: str
    kind: str
    """integer, floating, boolean, string, date (days since 1970), timestamp or universal (seconds), binary."""


class Dialect:
    """The differences between the SQL of servers: functions from expressions to an expression."""

    real: Callable[[float], str]
    """A double as a literal: its shortest text, converted."""
    divided: Callable[[str, int], str]
    """The whole quotient of whole numbers, neither of them negative."""
    floor: Callable[[str], str]
    """A double within 63 bits rounded down to a whole number."""
    double: Callable[[str], str]
    """A number as a double; this is possible for every whole number."""
    is_nan: Callable[[str], str]
    """Whether a double is not a number."""
    hidden: Callable[[str], str]
    """A cryptographic digest of a text."""
    total: Callable[[str], str]
    """The sum of whole numbers over a group, of any size, as a text."""
    unrolled: Callable[[str], str]
    """One line of the result for each number in a list, for servers that count several sets of terms at once."""


@dataclass(frozen=True)
class Expressions:
    """The expressions for questions about rows with these columns."""

    dialect: Dialect
    columns: dict[str, StoredColumn]
    """By attribute."""

    def code(self, asked: Question) -> str | None:
        """The answer to a term as an expression; None where the value itself must be read."""
        own = None if isinstance(asked, Leaf) else self._number(asked)
        match asked:
            case Leaf():
                return self._leaf(asked)
            case Cell() if own is not None:
                return own.cell()
            case Steps() if own is not None:
                return own.steps()
            case Fit() if own is not None:
                return f"(case when {own.none()} then {NOTHING} when {own.inside()} then {FITS} else {BEYOND} end)"
            case Truth() if own is not None:
                true = self._truth(asked)
                return f"(case when {true} then {TRUE} when not {true} then {FALSE} else {UNKNOWN} end)"
        return None

    def _number(self, asked: Term) -> _Number | None:
        """The expressions for a column of numbers, unless its values must be read here."""
        column, attribute = self.columns[asked.name], asked.attribute
        if column.kind not in ("integer", "floating") or not isinstance(attribute, Integer | Numeric):
            return None
        reading = attribute.reading
        return _Number(self.dialect, column, attribute) if reading.lookup is None and reading.first is None else None

    def kept(self, cell: Cell) -> tuple[str, str] | None:
        """Which rows have a cell, and their cells: None where every row has one whatever its value is, or where that
        cannot be decided without reading the value."""
        own = self._number(cell)
        if own is None or not cell.attribute.drops_all or own.cell() is None:
            return None
        only = replace(own, inside_only=True)
        return f"{only.inside()}{only.exceptions()}", str(only.base())

    def value(self, asked: Term) -> str:
        """The value from which the answer to a term is read: as stored, or for a time the start of its period."""
        column = self.columns[asked.name]
        period = _period(asked, column)
        if period <= 1:
            return column.sql
        first, last = EARLIEST // period * period - period, LATEST + 1
        clamped = f"least(greatest({column.sql}, {first}), {last})"
        return f"({self.dialect.divided(f'({clamped} - ({first}))', period)} * {period} + ({first}))"

    def condition(self, condition: Condition) -> str | None:
        """Whether rows are kept; None where that cannot be decided without reading a value."""
        if isinstance(condition, Rule):
            return self._predicate(condition.predicate, condition)
        code = self.code(condition.cell)
        if code is None:
            return None
        (cells,) = (condition.labels[:-1] == condition.group).nonzero()
        runs: list[list[int]] = []
        for cell in cells.tolist():
            if runs and cell == runs[-1][1] + 1:
                runs[-1][1] = cell
            else:
                runs.append([cell, cell])
        if len(runs) > _FEW_RUNS:
            return f"{code} in ({', '.join(map(str, cells.tolist()))})"
        return " or ".join(f"{code} between {first} and {last}" for first, last in runs) or "false"

    def _predicate(self, predicate: Predicate, rule: Rule) -> str | None:
        """A predicate in the server's own logic, where unknown is null."""
        match predicate:
            case Not(part):
                own = self._predicate(part, rule)
                return None if own is None else f"(not {own})"
            case And(parts) | Or(parts):
                every = [self._predicate(part, rule) for part in parts]
                joined = " and " if isinstance(predicate, And) else " or "
                return None if None in every else f"({joined.join(map(str, every))})"
        return self._truth(rule.leaves[predicate])

    def _truth(self, truth: Truth) -> str | None:
        """Whether a comparison is true; null where that is unknown."""
        own = self._number(truth)
        if own is None:
            return None
        if isinstance(truth.part, IsNull):
            return f"({own.none()})"
        return f"(case when {own.none()} then null else {self._compared(truth.part, own.column)} end)"

    def _compared(self, part: Compare | Between | In, column: StoredColumn) -> str:
        def literal(operator: str, value: Any) -> str | None:
            if column.kind == "floating":
                return self.dialect.real(_as_double(value))
            whole = whole_literal(operator, value)
            return None if whole is None else str(_within_reach(whole))

        def compared(operator: str, value: Any) -> str:
            number = literal(operator, value)
            return "false" if number is None else f"{column.sql} {operator} {number}"

        match part:
            case Between(_, low, high):
                return f"({compared('>=', low)} and {compared('<=', high)})"
            case In(_, values):
                numbers = [number for number in (literal("=", value) for value in values) if number is not None]
                return f"({column.sql} in ({', '.join(numbers)}))" if numbers else "(false)"
            case Compare(_, "!=", value):
                return f"(not {compared('=', value)})"
        return f"({compared(part.operator, part.value)})"

    def _leaf(self, leaf: Leaf) -> str | None:
        """The leaf as nested CASE expressions, if the tree is small and all its cells are expressions."""
        tree, codes = leaf.tree, {place: self.code(cell) for place, cell in leaf.cells.items()}
        if None in codes.values() or tree.split.size > _MOST_NODES:
            return None
        numbers = {node: number for number, node in enumerate(tree.leaves.tolist())}
        sizes = tree.sizes

        def below(node: int) -> str:
            if node in numbers:
                return str(numbers[node])
            first = int(tree.first[node])
            ways = " ".join(f"when {cell} then {below(first + cell)}" for cell in range(int(sizes[node])))
            return f"(case {codes[int(tree.split[node])]} {ways} else -1 end)"

        return below(0)


@dataclass(frozen=True)
class _Number:
    """The expressions for numbers of one column."""

    dialect: Dialect
    column: StoredColumn
    attribute: Integer | Numeric
    inside_only: bool = False
    """Whether all values lie between the bounds, because the others were left out before."""

    @property
    def _is_whole(self) -> bool:
        return self.column.kind == "integer"

    def none(self) -> str:
        """Whether there is no value."""
        parts = [] if self._is_whole else [self.dialect.is_nan(self.column.sql)]
        return " or ".join([f"{self.column.sql} is null", *parts, *self._words()])

    def exceptions(self) -> str:
        """Further conditions that leave out the numbers that mean missing."""
        return "".join(f" and not {word}" for word in self._words())

    def _words(self) -> list[str]:
        words = [number_in(str(word)) for word in self.attribute.reading.missing]
        numbers = [word for word in words if word is not None]
        if not self._is_whole:
            return [f"{self.column.sql} = {self.dialect.real(float(number))}" for number in numbers]
        whole = [int(number) for number in numbers if float(number).is_integer() and abs(number) < _WIDE]
        return [f"{self.column.sql} = {number}" for number in whole]

    def inside(self) -> str:
        """Whether a value lies between the bounds."""
        value, own = self.column.sql, self.attribute
        if self._is_whole:
            least, most = max(math.ceil(own.min), -(1 << 63)), min(math.floor(own.max), (1 << 63) - 1)
            return f"({value} between {least} and {most})" if least <= most else "false"
        low, high, real = float(own.min), float(own.max), self.dialect.real
        if isinstance(own, Integer) and own.max < 1 << 53:
            return f"({value} >= {real(low)} and {value} < {real(high + 1)})"
        return f"({value} between {real(low)} and {real(high)})"

    def cell(self) -> str | None:
        """The cell by the schema's policies, −1 for none; None where the value itself must be read."""
        own, base = self.attribute, self.base()
        if base is None:
            return None
        if own.drops_all:
            known = replace(self, inside_only=True).base()
            return f"(case when {self.inside()}{self.exceptions()} then {known} else -1 end)"
        null = -1 if own.null_cell is None else own.null_cell
        outside = f"when not {self.inside()} then {-1 if own.other_cell is None else own.other_cell}"
        beyond = "" if own.outside == "clamp" else f" {outside}"
        return f"(case when {self.none()} then {null}{beyond} else {base} end)"

    def base(self) -> str | None:
        """The cell of a value between the bounds; for any other value, the cell of the nearer bound."""
        own, last = self.attribute, self.attribute.base_size - 1
        if isinstance(own, Integer):
            return self._offset(own.min, own.max, own.step, last)
        low, high, width = own.min, own.max, own.width
        if own.edges is not None:
            return self._search(own.edges[1:-1], 0) if len(own.edges) <= _FEW_EDGES else None
        whole = low.is_integer() and width.is_integer() and width <= EXACT_BINS and own.bins <= EXACT_BINS
        if self._is_whole and whole:
            return self._offset(int(low), int(high), int(width), last)
        factor, tolerance = own.bins / (high - low), own.tolerance * width
        if not (_SMALL <= factor <= _LARGE and max(abs(low), abs(high)) <= _LARGE):
            return None
        real = self.dialect.real
        at_once = abs(low) * 2**-52 < tolerance / 100
        above = f"{self._near()} - {real(low - tolerance)}"
        above = above if at_once else f"{self._near()} - {real(low)} + {real(tolerance)}"
        return f"least({self.dialect.floor(f'greatest({above}, {real(_TINY)}) * {real(factor)}')}, {last})"

    def _near(self) -> str:
        """The value as a double between the bounds."""
        real = self.dialect.real
        value = self.dialect.double(self.column.sql) if self._is_whole else self.column.sql
        if self.inside_only:
            return value
        return f"least(greatest({value}, {real(float(self.attribute.min))}), {real(float(self.attribute.max))})"

    def _whole(self, low: int, high: int) -> str | None:
        """The value rounded down to a whole number and clamped to two bounds; None if these are too large."""
        if not (-_WIDE < low <= high < _WIDE):
            return None
        if self._is_whole or self.inside_only:
            value = self.column.sql if self._is_whole else self.dialect.floor(self.column.sql)
            return value if self.inside_only else f"least(greatest({value}, {low}), {high})"
        return f"least(greatest({self.dialect.floor(self._near())}, {low}), {high})"

    def _offset(self, low: int, high: int, step: int, last: int) -> str | None:
        """⌊(v − low) / step⌋."""
        whole = self._whole(low, high)
        if whole is None:
            return None
        whole = f"cast({whole} as bigint)" if high - low >= 1 << 31 else whole  # some columns have 32 bits
        offset = f"({whole} - ({low}))" if low else whole
        cell = self.dialect.divided(offset, step) if step > 1 else offset
        return cell if (high - low) // step <= last else f"least({cell}, {last})"

    def _search(self, edges: Sequence[float], first: int) -> str:
        """How many of the edges lie at or below the value, by binary search."""
        if not edges:
            return str(first)
        middle = len(edges) // 2
        low, high = self._search(edges[:middle], first), self._search(edges[middle + 1 :], first + middle + 1)
        return f"(case when {self._near()} < {self.dialect.real(edges[middle])} then {low} else {high} end)"

    def steps(self) -> str | None:
        """How many steps of the public grid a value lies above the lower bound, rounded; −1 for none."""
        own, grid, real = self.attribute, FixedPoint.of(self.attribute), self.dialect.real
        if isinstance(own, Integer):
            whole = self._whole(own.min, own.max)
            ahead = 0 if grid.step == 1 else own.min - grid.low * int(grid.step) + int(grid.step) // 2
            offset = f"(cast({whole} as bigint) - ({own.min - ahead}))"
            count = None if whole is None else self.dialect.divided(offset, int(grid.step)) if grid.step > 1 else offset
        elif _SMALL <= float(grid.step) <= _LARGE and max(abs(own.min), abs(own.max)) <= _LARGE:
            offset = f"{self._near()} - {real(grid.lower)}" if grid.low else self._near()
            half = float(grid.step / 2)
            if grid.step > 1:
                scaled = f"({offset} + {real(half)}) / {real(float(grid.step))}"
            else:
                scaled = f"greatest({offset}, {real(_TINY)}) * {real(float(1 / grid.step))} + {real(0.5)}"
            count = self.dialect.floor(scaled)
        else:
            count = None
        if count is None:
            return None
        count = f"cast({count} as bigint)"
        kept = f"({self.none()})" if own.outside == "clamp" else f"({self.none()} or not {self.inside()})"
        return f"(case when {kept} then -1 else least(greatest({count}, 0), {grid.span}) end)"


def _within_reach(number: float) -> int:
    """A whole or infinite number, clamped to the range of 64 bits extended by one at both ends."""
    if number in (math.inf, -math.inf):
        return 1 << 63 if number > 0 else -(1 << 63) - 1
    return min(max(int(number), -(1 << 63) - 1), 1 << 63)


def _as_double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _period(asked: Term, column: StoredColumn) -> int:
    """The longest period, in seconds, within which the answer for a time stays the same; 1 for anything but a time.

    Every number at which the answer changes is a multiple of it: the borders of cells, the literals of a comparison,
    the moments at which the clock of a zone changes, and its offsets.
    """
    attribute = asked.attribute
    if not isinstance(attribute, Times) or column.kind not in ("timestamp", "universal"):
        return 1
    if not isinstance(asked, Cell | Fit | Truth):
        return 1
    borders: list[int] = [_PARTS[attribute.by]] if attribute.is_part else []
    spanned = (EARLIEST, LATEST)
    if isinstance(attribute, Date):
        borders.append(DAY)
    if isinstance(asked, Truth):
        if not attribute.is_part:
            borders += _literals(asked.part, DAY if isinstance(attribute, Date) else 1)
    elif not attribute.is_part:
        assert isinstance(attribute, CelledAttribute)
        spanned = attribute.span
        borders += [attribute.span[0], attribute.span[1] + 1]
        if attribute.length is not None:
            borders += [attribute.length, attribute.anchor]
        else:
            borders += attribute.starts.tolist()
    if column.kind == "universal" and attribute.zone != "UTC":
        moments, ahead = clock_changes(attribute.zone)
        near = (moments >= spanned[0] - _MARGIN) & (moments <= spanned[1] + _MARGIN)
        first = int((moments < spanned[0] - _MARGIN).sum())
        borders += moments[near].tolist() + ahead[first : first + int(near.sum()) + 1].tolist()
    return math.gcd(*borders) or DAY


def _literals(part: Compare | Between | In | IsNull, day: int) -> list[int]:
    """The seconds at which a comparison changes."""
    starts: Sequence[Any] = ()
    ends: Sequence[Any] = ()
    match part:
        case Between(_, low, high):
            starts, ends = (low,), (high,)
        case In(_, values):
            starts = ends = values
        case Compare(_, operator, value):
            starts, ends = (value,) * (operator not in (">", "<=")), (value,) * (operator not in ("<", ">="))
    borders = [*starts, *(end + day for end in ends)]
    return [math.floor(border) for border in borders] if all(float(border).is_integer() for border in borders) else [1]
