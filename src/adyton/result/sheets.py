"""What a result shows and writes: sheets of labelled lines with numbers and bounds, several of them as one tidy table.

Below: how counts are shown, the labels and names of columns, and frames of other libraries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Flags, Reals, arrow_column
from adyton.errors import BadInput
from adyton.exact import exact, share
from adyton.messages import shorten
from adyton.solving.nonnegative import project_to_simplex

if TYPE_CHECKING:
    import pyarrow as pa

CONFIDENCE = 0.95
"""The default confidence of bounds."""


def rate_of(confidence: object) -> float | None:
    """A confidence that a person gave, from 0 to 1; None if bounds are not wanted."""
    return None if confidence is None else float(share(confidence, "confidence"))


@dataclass(frozen=True, eq=False)
class Column:
    """A number for each line, and what is known about its error."""

    name: str
    values: Array
    lower: Array | None = None
    upper: Array | None = None
    error: Array | None = None
    """The standard error of each number, if known."""
    kind: str | None = None
    """Whether the bounds are ``exact`` or ``approximate``, where columns differ."""
    known: bool = True
    """Whether anything is known about these numbers; if not, they are shown as blank."""
    words: str = ""
    """What people call the numbers, if not by the name of the column."""
    held: Flags | None = None
    """Which numbers are held back, if any may be."""
    years: bool = False
    """Whether the numbers are years, which people write without commas."""

    @property
    def whole(self) -> bool:
        """Whether these are numbers of rows or units, which people read as whole numbers."""
        return self.name.endswith("count") or np.asarray(self.values).dtype.kind in "iu"

    def written(self, *, prefixed: bool) -> dict[str, Any]:
        """The columns of a table: the numbers, then their bounds and errors, if any."""
        before = f"{self.name}_" if prefixed else ""
        parts = {"lower": self.lower, "upper": self.upper, "error" if prefixed else "standard_error": self.error}
        known = {self.name: self.values} | {before + name: part for name, part in parts.items() if part is not None}
        if self.held is None:
            return known
        blank = {name: _blanked(np.asarray(part).tolist(), self.held) for name, part in known.items()}
        return blank | {f"{before}held_back": self.held.tolist()}

    def to_plain(self) -> dict[str, Any]:
        """As plain values for JSON."""
        parts = {"values": self.values, "lower": self.lower, "upper": self.upper, "error": self.error}
        plain = {name: None if part is None else _plain(part) for name, part in parts.items()}
        if self.held is not None:
            plain = {name: None if part is None else _blanked(part, self.held) for name, part in plain.items()}
            plain["held_back"] = self.held.tolist()
        return {"name": self.name, **plain, **({} if self.kind is None else {"bounds": self.kind})}


@dataclass(frozen=True, eq=False)
class Sheet:
    """Lines with labels: one column for each attribute, then the numbers."""

    labels: Mapping[str, Sequence[Any]]
    """A label for each line, by attribute."""
    columns: tuple[Column, ...]
    prefixed: bool = False
    """Whether names of bounds begin with the name of their column, as there may be several columns."""
    note: str = ""
    """A remark on the bounds, if one is needed."""
    counted: str = ""
    """Which rows were counted, in a few words, if not all."""
    how: str = ""
    """Where the numbers come from, if that differs between sheets: measured, or computed in some way."""
    of: int = 0
    """How many lines there are in all, if the sheet holds only the first ones."""
    among: str = ""
    """The end of its title: which rows it has, if attributes that it does not show decide that."""

    @property
    def lines(self) -> int:
        """The number of lines."""
        return len(self.columns[0].values)

    @property
    def title(self) -> str:
        """The attributes that label the lines."""
        return " × ".join(self.labels)

    def numbers(self, taken: Collection[str]) -> dict[str, Any]:
        """All columns but the labels, under names that are not *taken*. A note has a column of its own."""
        columns: dict[str, Any] = {}
        for column in self.columns:
            for name, values in column.written(prefixed=self.prefixed).items():
                columns[free_name(name, {*columns, *taken})] = values
        if self.note:
            note = [self.note, *itertools.repeat(None, self.lines - 1)]
            columns[free_name("note", {*columns, *taken})] = note
        if self.counted:
            columns[free_name("counted", {*columns, *taken})] = [self.counted] * self.lines
        if self.how:
            columns[free_name("how", {*columns, *taken})] = [self.how] * self.lines
        return columns

    def held_by(self, rule: HoldBack | None) -> Sheet:
        """The same, with the numbers held back that the rule says: all numbers of a line whose count is too small, and
        those whose own interval is too wide."""
        if rule is None:
            return self
        few = np.zeros(self.lines, dtype=bool)
        for column in self.columns:
            if column.name.endswith("count") and column.known:
                few |= rule.few(column.values)
        held = (few | rule.wide(column.values, column.lower, column.upper) for column in self.columns)
        pairs = zip(self.columns, held, strict=True)
        return replace(self, columns=tuple(replace(column, held=flags) for column, flags in pairs))

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        import pyarrow as pa

        columns = {**self.labels, **self.numbers(self.labels)}
        return pa.table({name: arrow_column(value) for name, value in columns.items()})

    def to_plain(self) -> dict[str, Any]:
        """Column by column, as plain values for JSON; a single column of counts also under its own keys."""
        plain: dict[str, Any] = {
            "labels": {name: np.asarray(labels).tolist() for name, labels in self.labels.items()},
            "columns": [column.to_plain() for column in self.columns],
            "counted": self.counted or None,
            "note": self.note,
            **({"how": self.how} if self.how else {}),
        }
        if len(self.columns) == 1 and not self.prefixed:
            only = plain["columns"][0]
            plain |= {"what": only["name"], "counts": only["values"], "lower": only["lower"], "upper": only["upper"]}
        return plain


@dataclass(frozen=True, eq=False)
class Sheets:
    """Sheets that belong together, and the file in which they are one tidy table."""

    file: str
    sheets: tuple[Sheet, ...]
    confidence: float | None = None
    """The confidence of the bounds, if there are any."""
    look: Mapping[str, bool] | None = None
    """How counts are shown, if that can be chosen."""
    more: int = 0
    """How many lines are on sheets that are not included here."""

    @property
    def lines(self) -> int:
        """The number of lines of all sheets."""
        return sum(sheet.lines for sheet in self.sheets) + self.more

    @property
    def note(self) -> str:
        """The remark on the bounds, if there is one."""
        return self.sheets[0].note if self.sheets else ""

    def noted(self, note: str) -> Sheets:
        """The same sheets, each with a note."""
        return replace(self, sheets=tuple(replace(sheet, note=note) for sheet in self.sheets))

    def held_by(self, rule: HoldBack | None) -> Sheets:
        """The same sheets, with the numbers held back that the rule says."""
        return replace(self, sheets=tuple(sheet.held_by(rule) for sheet in self.sheets))

    def to_arrow(self) -> pa.Table:
        """One table: if there are several sheets, a column for the sheet of each line; then a column for each attribute
        (blank where it was summed over), and the numbers."""
        import pyarrow as pa

        if len(self.sheets) == 1:
            return self.sheets[0].to_arrow()
        names = list(dict.fromkeys(name for sheet in self.sheets for name in sheet.labels))
        which = free_name("table", names)
        numbers = [sheet.numbers({which, *names}) for sheet in self.sheets]
        columns = max((list(own) for own in numbers), key=len)
        parts = []
        for sheet, own in zip(self.sheets, numbers, strict=True):
            part: dict[str, Any] = {which: arrow_column([sheet.title] * sheet.lines)}
            for name in names:
                labels = sheet.labels.get(name)
                blank = pa.nulls(sheet.lines, pa.string())
                part[name] = blank if labels is None else arrow_column(labels).cast(pa.string())
            for name in columns:
                part[name] = arrow_column(own[name]) if name in own else pa.nulls(sheet.lines)
            parts.append(pa.table(part))
        return pa.concat_tables(parts, promote_options="default")

    def to_plain(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        return {
            **(self.look or {}),
            "confidence": self.confidence,
            "tables": [sheet.to_plain() for sheet in self.sheets],
        }


def _plain(numbers: Array) -> Any:
    """Numbers for JSON, which cannot represent infinite ones."""
    values = np.asarray(numbers)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return values.tolist()
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _blanked(values: Sequence[Any], held: Flags) -> list[Any]:
    """The values, with None in place of those that are held back."""
    return [None if blank else value for value, blank in zip(values, held.tolist(), strict=True)]


@dataclass(frozen=True)
class HoldBack:
    """Which published numbers are not shown: those below a public threshold, and those whose interval says nothing.

    It decides by noisy numbers and their bounds. It makes pages readable; privacy does not depend on it.

    >>> rule = HoldBack.of(below=20, wider_than="50%")
    >>> rule.few([12, 100, 40]).tolist(), rule.wide([12, 100, 40], [2, 90, 10], [22, 110, 70]).tolist()
    ([True, False, False], [True, False, True])
    >>> print(rule)
    below 20; intervals that reach farther than 50% of the number to each side
    """

    below: float | None = None
    wider_than: float | None = None
    """The largest half width of an interval, as a part of the number."""

    @classmethod
    def of(cls, *, below: object = None, wider_than: object = None) -> HoldBack:
        """From unchecked values: a number of at least 0, and a part such as 0.5, "50%" or "1/2"."""
        if below is None and wider_than is None:
            raise BadInput('say what is held back: below=20, or wider_than="50%", or both.')
        return cls(_limit(below, "below"), _limit(wider_than, "wider_than"))

    def few(self, counts: npt.ArrayLike) -> Flags:
        """Which noisy counts are below the threshold."""
        numbers = np.asarray(counts, dtype=np.float64)
        return np.zeros(numbers.shape, dtype=bool) if self.below is None else np.asarray(numbers < self.below)

    def wide(self, values: npt.ArrayLike, lower: npt.ArrayLike | None, upper: npt.ArrayLike | None) -> Flags:
        """Which numbers have intervals that are too wide; without bounds nothing is known, so all have."""
        numbers = np.asarray(values, dtype=np.float64)
        if self.wider_than is None or lower is None or upper is None:
            return np.full(numbers.shape, self.wider_than is not None)
        half = (np.asarray(upper, dtype=np.float64) - np.asarray(lower, dtype=np.float64)) / 2
        return np.asarray(~(half <= self.wider_than * np.abs(numbers)))

    def to_plain(self) -> dict[str, float | None]:
        """As plain values for JSON."""
        return {"below": self.below, "wider_than": self.wider_than}

    def __str__(self) -> str:
        wide = None if self.wider_than is None else f"{100 * self.wider_than:.4g}%"
        words = [] if self.below is None else [f"below {self.below:,.10g}"]
        words += [] if wide is None else [f"intervals that reach farther than {wide} of the number to each side"]
        return "; ".join(words)


_MOST_TIMES = 10
"""A larger part of a number is probably a percentage without its sign."""


def _limit(given: object, name: str) -> float | None:
    """A number of at least 0; texts may be percentages."""
    if given is None:
        return None
    percent = name == "wider_than" and isinstance(given, str) and given.strip().endswith("%")
    try:
        number = float(exact(str(given).strip()[:-1] if percent else given, name))
    except BadInput:
        number = -1.0
    most = math.inf if percent or name == "below" else _MOST_TIMES
    if not 0 <= number <= most or number == math.inf:
        what = "number of at least 0, such as 20" if name == "below" else 'part of a number, such as "50%" or 0.5'
        option = f"--hold-back-{name.removesuffix('_than')}"
        raise BadInput(f"{name} ({option}) is a {what}, given {shorten(given)}.")
    return number / 100 if percent else number


# ---- how counts are shown -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    """How counts are shown: as they are, as whole numbers, or without negative ones.

    >>> Look(integer=True, nonnegative=True).shown(np.array([2.4, -1.0, 0.6])).tolist()
    [2.0, 0.0, 0.0]
    """

    integer: bool = False
    nonnegative: bool = False

    def shown(self, estimate: Reals) -> Reals:
        """The estimate, made non-negative with the same total, and rounded with the same (rounded) total."""
        cells = estimate.reshape(-1)
        if self.nonnegative:
            cells = project_to_simplex(cells, np.maximum(0.0, cells.sum(axis=-1)))
        if self.integer:
            cells = _rounded(cells)
        return cells.reshape(estimate.shape)

    def numbers(self, answers: npt.ArrayLike) -> Array:
        """Answers computed from shown counts, as integers or reals."""
        return np.asarray(answers, dtype=np.float64).astype(np.int64 if self.integer else np.float64)

    def around(self, counts: Array, lower: Reals, upper: Reals) -> tuple[Array, Array]:
        """Bounds for counts that are shown in this way: no count lies outside its bounds.

        Rounding and removing negative counts move some counts a little; widening the bounds keeps their promise.

        >>> Look(integer=True, nonnegative=True).around(np.array([3, 0]), np.array([2.1, -4.5]), np.array([2.7, -0.5]))
        (array([2, 0]), array([3, 0]))
        """
        least = 0.0 if self.nonnegative else -np.inf
        low, high = np.minimum(np.maximum(lower, least), counts), np.maximum(np.maximum(upper, least), counts)
        if not self.integer or not np.isfinite(high).all():
            return low, high
        return np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)


AS_IT_IS: Look = Look()


def _rounded(cells: Reals) -> Reals:
    """Whole numbers that add up to the nearest whole number of the sum: the largest remainders are rounded up."""
    floors = np.floor(cells)
    missing = int(np.rint(cells.sum()) - floors.sum())
    if missing > 0:
        floors[np.argsort(floors - cells, kind="stable")[:missing]] += 1
    return floors


# ---- columns and frames ---------------------------------------------------------------------------------------------


def cell_labels(axes: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """The labels of every cell in row-major order, axis by axis."""
    sides = [len(along) for along in axes]
    return tuple(
        np.tile(np.repeat(_uniform(along), math.prod(sides[place + 1 :])), math.prod(sides[:place]))
        for place, along in enumerate(axes)
    )


def free_name(name: str, taken: Collection[str]) -> str:
    """The name of a column, changed until it is not *taken*."""
    while name in taken:
        name += "_"
    return name


def with_counted(columns: dict[str, Any], counted: str, lines: int) -> dict[str, Any]:
    """The columns, and one more that says in every line which rows were counted, if not all.

    It is a separate column, as statistical offices use for units of measure: files stay plain tables, the columns that
    programs read keep their names, and a line that is copied elsewhere takes the words with it.
    """
    return {**columns, free_name("counted", columns): [counted] * lines} if counted else columns


def to_pandas(table: pa.Table) -> Any:
    """As a pandas DataFrame."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise BadInput("this needs pandas. Install it: pip install pandas; or ask for to_arrow().") from None
    return table.to_pandas()


def to_polars(table: pa.Table) -> Any:
    """As a polars DataFrame."""
    try:
        import polars
    except ImportError:
        raise BadInput("this needs polars. Install it: pip install polars; or ask for to_arrow().") from None
    return polars.from_arrow(table)


def _uniform(labels: Sequence[Any]) -> Any:
    """Labels of one type: as they are if all have the same type, otherwise as texts."""
    kinds = {type(label) for label in labels}
    return np.array(labels) if kinds in ({int}, {bool}) else np.array([str(label) for label in labels], dtype=object)
