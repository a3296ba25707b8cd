"""How an attribute lies along an axis of a picture: neighbouring cells are joined until there are few enough to see."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adyton.report.cell_ticks import cell_ticks
from adyton.report.letters import width_of
from adyton.schema import Integer, Numeric
from adyton.schema.attributes import Attribute, CelledAttribute
from adyton.schema.times import Times

_JOINS = {
    "hour": (1, 2, 3, 6, 12, 24, 168),
    "day": (1, 7, 14, 28),
    "week": (1, 2, 4, 13, 26, 52),
    "month": (1, 3, 6, 12),
}
"""How many cells of a period are joined, so that what they make is a period, too."""
_ROUND = (1, 2, 5)
_NAMED = ("weekday", "month of year")
"""What comes round again and has names, not numbers."""


@dataclass(frozen=True)
class DisplayAxis:
    """The cells of one attribute as they are shown: each stands for a run of neighbouring cells of the domain."""

    name: str
    first: tuple[int, ...]
    """The first cell of each run."""
    last: tuple[int, ...]
    """The last cell of each run, included."""
    labels: tuple[str, ...]
    ordered: bool
    """Whether neighbours are close to each other: numbers, not categories."""
    apart: int
    """How many at the end stand for other and missing values, which are never joined with their neighbours."""
    attribute: Attribute

    @property
    def size(self) -> int:
        """How many cells are shown."""
        return len(self.first)

    @property
    def dated(self) -> bool:
        """Whether it goes on and on, as days and months do."""
        return isinstance(self.attribute, Times) and not self.attribute.is_part

    @property
    def numbered(self) -> bool:
        """Whether a few ticks tell what lies between them; the levels of others have a name each."""
        return self.ordered and not (isinstance(self.attribute, Times) and self.attribute.by in _NAMED)

    def short_names(self, room: float) -> tuple[str, ...]:
        """The labels; those of weekdays and months with three letters where there is no room for more."""
        if isinstance(self.attribute, Times) and self.attribute.by in _NAMED and width_of(self.labels) > room:
            return tuple(words if words.startswith("(") else words[:3] for words in self.labels)
        return self.labels

    @property
    def joined(self) -> int:
        """How many cells of the domain one shown cell stands for, at most."""
        return max(last - first + 1 for first, last in zip(self.first, self.last, strict=True))

    def ticks(self, count: int, *, whole: bool = False) -> list[tuple[float, str]]:
        """About *count* places with words, the left end of the first shown cell being 0 and its right end 1.

        The *whole* axis of categories includes other and missing values.
        """
        base = self.size if whole and not self.ordered else self.size - self.apart
        found = cell_ticks(self.attribute, count) if base else []
        if found:
            last = {str(self.attribute.labels[base - 1]): self.labels[base - 1]} if self.joined == 1 else {}
            return [(self._place(place), last.get(words, words)) for place, words in found]
        every = max(1, math.ceil(base / max(1, count)))
        return [(place + 0.5, self.labels[place]) for place in range(0, base, every)]

    def _place(self, cell: float) -> float:
        """Where a place among the cells of the domain is among the shown ones."""
        base = self.size - self.apart
        return float(np.interp(cell, [*self.first[:base], self.last[base - 1] + 1], range(base + 1)))


def display_axis(name: str, attribute: Attribute, most: int) -> DisplayAxis:
    """The axis of an attribute with at most *most* shown cells."""
    cells = attribute.size
    base = attribute.base_size if isinstance(attribute, CelledAttribute) else cells
    together = _together(attribute, math.ceil(base / max(1, most - (cells - base))))
    first = [*range(0, base, together), *range(base, cells)]
    last = [*(min(start + together, base) - 1 for start in range(0, base, together)), *range(base, cells)]
    words = _words(attribute)
    return DisplayAxis(
        name=name,
        first=tuple(first),
        last=tuple(last),
        labels=tuple(words(start, end) for start, end in zip(first, last, strict=True)),
        ordered=attribute.ordered,
        apart=cells - base,
        attribute=attribute,
    )


def _together(attribute: Attribute, least: int) -> int:
    """How many cells are joined: at least so many, and a number that people count by."""
    if least <= 1:
        return 1
    joins = _JOINS.get(attribute.by, ()) if isinstance(attribute, Times) else ()
    power = 10 ** math.floor(math.log10(least))
    return next((one for one in (*joins, *(step * power for step in _ROUND), 10 * power) if one >= least), least)


def _words(attribute: Attribute) -> Callable[[int, int], str]:
    """What a run of cells is called, from its first and its last cell."""
    labels = attribute.labels

    def words(first: int, last: int) -> str:
        if first == last:
            return str(labels[first])
        match attribute:
            case Integer(min=least, max=most, step=step):
                return f"{least + first * step} to {min(least + (last + 1) * step - 1, most)}"
            case Times():
                begin, end = str(labels[first]).split(" to ")[0], str(labels[last]).split(" to ")[-1]
                return f"{begin} to {end}"
            case Numeric():
                return f"{str(labels[first]).split(',')[0]},{str(labels[last]).split(',')[1]}"
        return f"{labels[first]} … {labels[last]}"

    return words
