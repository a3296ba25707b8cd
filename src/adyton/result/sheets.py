"""What a result shows and writes: sheets of labelled lines with numbers and bounds, and one tidy table of several."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Array, arrow_column
from adyton.result import frames

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers, one for each line, and what is known of their error."""

    name: str
    values: Array
    lower: Array | None = None
    upper: Array | None = None
    error: Array | None = None
    """The standard error of each, where that is known."""
    kind: str | None = None
    """What the bounds are, ``exact`` or ``approximate``, where columns differ in it."""
    known: bool = True
    """Whether anything is known of these numbers; if not, they are blank."""
    words: str = ""
    """What people call the numbers, where that is not the name of the column."""

    @property
    def whole(self) -> bool:
        """Whether these are numbers of rows or units, which people read as whole numbers."""
        return self.name.endswith("count") or np.asarray(self.values).dtype.kind in "iu"

    def written(self, *, prefixed: bool) -> dict[str, Any]:
        """The columns of a table: the numbers, then their bounds and errors as far as there are any."""
        before = f"{self.name}_" if prefixed else ""
        parts = {"lower": self.lower, "upper": self.upper, "error" if prefixed else "standard_error": self.error}
        return {self.name: self.values, **{before + name: one for name, one in parts.items() if one is not None}}

    def to_plain(self) -> dict[str, Any]:
        """As plain values for JSON."""
        parts = {"values": self.values, "lower": self.lower, "upper": self.upper, "error": self.error}
        plain = {name: None if one is None else _plain(one) for name, one in parts.items()}
        return {"name": self.name, **plain, **({} if self.kind is None else {"bounds": self.kind})}


@dataclass(frozen=True, eq=False)
class Sheet:
    """Lines with labels: one column for each attribute, then the numbers."""

    labels: Mapping[str, Sequence[Any]]
    """A label for each line, by attribute."""
    columns: tuple[Column, ...]
    prefixed: bool = False
    """Whether bounds carry the name of their column: where there are several, or could be."""
    note: str = ""
    """What has to be said about the bounds."""
    counted: str = ""
    """Which rows were counted, in a few words, where that is not all of them."""
    of: int = 0
    """How many lines there are in all, where these are the first of them."""

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self.columns[0].values)

    @property
    def title(self) -> str:
        """What the lines are by."""
        return " × ".join(self.labels)

    def numbers(self, taken: Collection[str]) -> dict[str, Any]:
        """All columns but the labels, under names that are not *taken*. A note is in the first line of its own."""
        columns: dict[str, Any] = {}
        for column in self.columns:
            for name, values in column.written(prefixed=self.prefixed).items():
                columns[frames.free(name, {*columns, *taken})] = values
        if self.note:
            note = [self.note, *itertools.repeat(None, self.lines - 1)]
            columns[frames.free("note", {*columns, *taken})] = note
        if self.counted:
            columns[frames.free("counted", {*columns, *taken})] = [self.counted] * self.lines
        return columns

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        import pyarrow as pa

        columns = {**self.labels, **self.numbers(self.labels)}
        return pa.table({name: arrow_column(value) for name, value in columns.items()})

    def to_plain(self) -> dict[str, Any]:
        """Column by column, as plain values for JSON; of counts alone also under their own names."""
        plain: dict[str, Any] = {
            "labels": {name: np.asarray(one).tolist() for name, one in self.labels.items()},
            "columns": [column.to_plain() for column in self.columns],
            "counted": self.counted or None,
            "note": self.note,
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
    """How counts are shown, where that can be chosen."""
    more: int = 0
    """How many lines are on sheets that are not here."""

    @property
    def lines(self) -> int:
        """Of all sheets."""
        return sum(sheet.lines for sheet in self.sheets) + self.more

    @property
    def note(self) -> str:
        """What has to be said about the bounds."""
        return self.sheets[0].note if self.sheets else ""

    def noted(self, note: str) -> Sheets:
        """The same with a note on each."""
        return replace(self, sheets=tuple(replace(sheet, note=note) for sheet in self.sheets))

    def to_arrow(self) -> pa.Table:
        """One table: of several sheets, which of them a line belongs to, a column for each attribute (blank where it
        was summed over), and the numbers."""
        import pyarrow as pa

        if len(self.sheets) == 1:
            return self.sheets[0].to_arrow()
        names = list(dict.fromkeys(name for sheet in self.sheets for name in sheet.labels))
        which = frames.free("table", names)
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
    """Numbers for JSON, which knows no infinite ones."""
    found = np.asarray(numbers)
    if found.dtype.kind != "f" or np.isfinite(found).all():
        return found.tolist()
    return [one if math.isfinite(one) else None for one in found.tolist()]
