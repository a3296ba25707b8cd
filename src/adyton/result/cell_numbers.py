"""The numbers that the cells of an attribute stand for: the least and the greatest that a row in the cell can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.messages import listing
from adyton.result.forms import Form
from adyton.schema import Date, Duration, Integer, Numeric, Schema
from adyton.schema.attributes import Attribute
from adyton.schema.calendar import DAY
from adyton.schema.times import Times


@dataclass(frozen=True, eq=False)
class CellNumbers:
    """For each cell with numbers (not those of other and missing values) the least and the greatest of them.

    >>> both = CellNumbers.of(Integer(0, 99, step=25))
    >>> both.least.tolist(), both.greatest.tolist(), both.middle.tolist()
    ([0.0, 25.0, 50.0, 75.0], [24.0, 49.0, 74.0, 99.0], [12.0, 37.0, 62.0, 87.0])
    """

    least: Reals
    greatest: Reals
    whole: bool
    """Whether they are whole numbers."""
    form: Form | None = None
    """What they stand for, if it is something else."""

    @classmethod
    def of(cls, attribute: Integer | Numeric | Times) -> CellNumbers:
        """Of whole numbers, of numbers in bins, of dates as days since 1970, or of times as seconds since then.

        >>> CellNumbers.of(Date("2024-02-28", "2024-03-02", by="month")).greatest - 19_781
        array([1., 3.])
        """
        if isinstance(attribute, Times):
            starts, ends = attribute.starts, np.append(attribute.starts[1:], attribute.span.last + 1)
            if isinstance(attribute, Date):
                return cls((starts // DAY).astype(float), ((ends - 1) // DAY).astype(float), True, Form("date"))
            return cls(starts.astype(float), ends.astype(float), False, Form("datetime"))
        if isinstance(attribute, Integer):
            least = np.arange(attribute.min, attribute.max + 1, attribute.step, dtype=np.float64)
            return cls(least, np.minimum(least + attribute.step - 1, attribute.max), True)
        edges = np.linspace(attribute.min, attribute.max, attribute.bins + 1)
        edges = np.array(attribute.edges, dtype=np.float64) if attribute.edges else edges
        form = Form("duration", attribute.unit) if isinstance(attribute, Duration) else None
        return cls(edges[:-1], edges[1:], False, form)

    @property
    def middle(self) -> Reals:
        """What a row is taken for, if only its cell is known."""
        return np.asarray((self.least + self.greatest) / 2)

    @property
    def single(self) -> bool:
        """Whether every cell has one number only, so that nothing is lost by counting cells."""
        return bool((self.least == self.greatest).all())

    def some(self, cells: slice) -> CellNumbers:
        """Those of some cells."""
        return CellNumbers(self.least[cells], self.greatest[cells], self.whole, self.form)

    def inside(self, cell: int, part: float) -> float:
        """The number in a cell below which this part of its rows lie, if they are spread evenly.

        >>> CellNumbers.of(Integer(0, 99, step=25)).inside(1, 0.5), CellNumbers.of(Numeric(0, 1, bins=2)).inside(1, 0.5)
        (37.0, 0.75)
        """
        least, greatest, kept = float(self.least[cell]), float(self.greatest[cell]), min(1.0, max(0.0, part))
        if not self.whole:
            return least + kept * (greatest - least)
        return min(greatest, least + float(np.floor(kept * (greatest - least + 1))))


def numbered(schema: Schema, asked: str | None, what: str) -> str:
    """The attribute that is asked about: it has numbers, or there is only one that has.

    >>> numbered(Schema({"age": Integer(0, 99)}), None, "mean")
    'age'
    """
    having = [name for name, attribute in schema.attributes.items() if has_numbers(attribute, summed=what == "sum")]
    if asked is not None:
        (name,) = schema.check_names(asked)
        if what == "sum" and isinstance(schema.attributes[name], Times):
            raise BadInput(f"{name} has dates or times, which have no sum. Ask for its mean or its median.")
        if name not in having:
            raise BadInput(f"{name} has no numbers, so that it has no {what}. {_instead(having)}")
        return name
    if len(having) != 1:
        of = f"{listing(having)} have numbers" if having else f"none of {listing(schema.names)} has numbers"
        raise BadInput(f"of which attribute is the {what} asked? Here {of}. {_instead(having)}")
    return having[0]


def has_numbers(attribute: Attribute, *, summed: bool = False) -> bool:
    """Whether its cells stand for numbers: dates and times do, too, unless they are *summed* or come round again."""
    if isinstance(attribute, Times):
        return not (summed or attribute.is_part)
    return isinstance(attribute, Integer | Numeric)


def _instead(having: list[str]) -> str:
    return f"Name one that has, like {having[0]!r}." if having else "Ask for release.top(10), or for its counts."
