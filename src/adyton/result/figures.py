"""Sums, means and quantiles from the counts of cells, with bounds on the true ones. They cost no budget.

All bounds come from those of weighted sums of counts, whose noise is known, by turning a test around. The true mean μ
has Σ(v_i − μ)·x_i = 0, whatever the data: a mean for which that sum is farther from 0 than its noise goes is ruled out.
The q-quantile is in the first cell j with x_0 + … + x_j − q·Σx ≥ 0: a cell is ruled out if that sum is too far below 0,
or if the one of the cell before it is too far above. Each mean and each cell is tested by itself, so that the true one
is ruled out no more often than the tests are wrong: what is exact for the sums is exact for what is made of them. Where
cells are wider than one number, the least and the greatest number of each are taken, to the safe side. Where the counts
do not tell that there are any rows, nothing is ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.denoising.shrinkage import isotonic
from adyton.errors import BadInput
from adyton.messages import listing
from adyton.queries import Explicit, Prefix, Product, Queries
from adyton.result import frames
from adyton.result.figure import Figure, Form, Lines
from adyton.result.intervals import Interval
from adyton.schema import Date, Duration, Integer, Numeric, Schema
from adyton.schema.attributes import Attribute
from adyton.schema.calendar import DAY
from adyton.schema.times import Times
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.result.released import Released


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


Bounds: TypeAlias = Callable[[Queries], Interval]
"""Bounds on sums of the counts: symmetric about an unbiased answer."""

NO_ROWS = "The released counts do not tell that there are any rows."
_LARGEST = 1 << 24
"""Weights that are no whole numbers are rounded to this part of the largest."""
_STEPS, _ROUNDS = 33, 4
"""Means are tested on a grid of so many, which is refined so often."""
_MOST_ENDS = 2048
"""In how many blocks of cells a quantile is looked for; where there are more cells, blocks have several."""


def sum_of(counts: Reals, numbers: CellNumbers, bounds: Bounds) -> Figure:
    """Σ v_i·x_i: the middle of each cell stands for its rows."""
    queries, step = _weighed(np.stack([numbers.least, numbers.greatest]))
    found = bounds(queries)
    lower, upper = float(found.lower[0]) * step, float(found.upper[1]) * step
    lower = max(lower, 0.0) if numbers.least[0] >= 0 else lower
    return Figure.within(float(numbers.middle @ counts), lower, upper, found, "sum", numbers.form)


def mean_of(counts: Reals, numbers: CellNumbers, bounds: Bounds) -> Figure:
    """The sum divided by the number of rows; bounds by Fieller's theorem (1954), within those of the schema."""
    lowest, highest, rows = float(numbers.least[0]), float(numbers.greatest[-1]), float(counts.sum())
    value = min(highest, max(lowest, float(numbers.middle @ counts) / rows)) if rows > 0 else math.nan
    grid = np.union1d(np.linspace(lowest, highest, _STEPS), [value] if rows > 0 else [])
    possible, found = _possible_means(grid, numbers, bounds)
    if found.missing or not possible.any():
        return _told(value, numbers, (lowest, highest), found, "mean")
    first, last = np.flatnonzero(possible)[[0, -1]]
    ends = [(grid[max(0, first - 1)], grid[first]), (grid[min(grid.size - 1, last + 1)], grid[last])]
    for _ in range(_ROUNDS - 1):  # the first of each pair is ruled out, or an end of the schema; the second is not
        lines = [np.linspace(*pair, _STEPS) for pair in ends]
        possible, _ = _possible_means(np.concatenate(lines), numbers, bounds)
        firsts = [int(np.argmax(np.append(some, True))) for some in np.split(possible, 2)]
        ends = [
            (line[max(0, place - 1)], line[min(place, _STEPS - 1)]) for line, place in zip(lines, firsts, strict=True)
        ]
    return _told(value, numbers, (float(ends[0][0]), float(ends[1][0])), found, "mean")


def quantile_of(counts: Reals, numbers: CellNumbers, part: Fraction, bounds: Bounds) -> Figure:
    """The least number that this part of the rows does not exceed; within a cell, rows count as spread evenly."""
    what = f"{float(part):g}-quantile" if part != Fraction(1, 2) else "median"
    cells, curve = counts.size, cumulated(counts)
    rows = float(curve[-1])
    value = math.nan
    if rows > 0:
        cell = min(int(np.searchsorted(curve, float(part) * rows)), cells - 1)
        before = float(curve[cell - 1]) if cell else 0.0
        value = numbers.inside(cell, (float(part) * rows - before) / max(float(curve[cell]) - before, 1e-300))
    ends = np.unique(np.linspace(0, cells - 1, min(cells, _MOST_ENDS)).astype(np.int64))
    found = bounds(_shifted_prefixes(ends, part.limit_denominator(10**6), cells))
    far = found.upper - found.estimate
    low, high = found.estimate < -far, found.estimate > far
    possible = np.flatnonzero(~low & ~np.append(False, high[:-1]))
    first, last = (possible[0], possible[-1]) if possible.size else (0, ends.size - 1)
    start = ends[first - 1] + 1 if first else 0
    limits = float(numbers.least[start]), float(numbers.greatest[ends[last]])
    return _told(value, numbers, limits, found, what)


def cumulated(counts: Reals) -> Reals:
    """The number of rows up to each cell: the nearest curve that does not fall, and does not begin below 0.

    >>> cumulated(np.array([2.0, -1.0, 3.0])).tolist()
    [1.5, 1.5, 4.0]
    """
    return np.maximum(0.0, isotonic(np.cumsum(counts)))


def _told(value: float, numbers: CellNumbers, ends: tuple[float, float], found: Interval, what: str) -> Figure:
    """A figure between these ends; anywhere in the schema's bounds where there are no rows to be seen."""
    if not math.isnan(value):
        return Figure.within(value, *ends, found, what, numbers.form)
    made = Figure.within(value, float(numbers.least[0]), float(numbers.greatest[-1]), found, what, numbers.form)
    made.note = f"{NO_ROWS} {made.note}".rstrip()
    return made


def _possible_means(means: Reals, numbers: CellNumbers, bounds: Bounds) -> tuple[np.ndarray, Interval]:
    """Which of these can be the true mean: Σ(least − μ)·x is not above 0, and Σ(greatest − μ)·x not below."""
    ends = [numbers.least] if numbers.single else [numbers.least, numbers.greatest]
    queries, _ = _weighed(np.concatenate([end - means[:, None] for end in ends]))
    found = bounds(queries)
    far = (found.upper - found.estimate).reshape(len(ends), -1)
    sums = found.estimate.reshape(len(ends), -1)
    return (sums[0] <= far[0]) & (sums[-1] >= -far[-1]), found


def _weighed(rows: Reals) -> tuple[Explicit, float]:
    """Sums with these weights, as whole numbers of a step."""
    largest = float(np.abs(rows).max())
    plain = largest <= _LARGEST and bool((rows == np.rint(rows)).all())
    step = 1.0 if plain or not largest else largest / _LARGEST
    return Explicit.from_rows(np.rint(rows / step).astype(np.int64)), step


def _shifted_prefixes(ends: Integers, part: Fraction, cells: int) -> Queries:
    """For each end, (x_0 + … + x_end − part·Σx), times the denominator of the part."""
    inner = ends < cells - 1
    places, last = np.arange(ends.size), np.full(ends.size, cells - 1)
    own = np.where(inner, part.denominator, part.denominator - part.numerator)
    rest = np.full(int(inner.sum()), -part.numerator)
    outer = Explicit(
        cells,
        np.concatenate([places, places[inner]]),
        np.concatenate([ends, last[inner]]),
        np.concatenate([own, rest]),
        ends.size,
    )
    return Product(outer, Prefix(cells))


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


def largest_cells(release: Released, number: int, attributes: tuple[str, ...], confidence: float) -> Lines:
    """The cells with the largest counts, the largest first.

    Whoever looks at the largest of many noisy counts looks at those that noise made larger: intervals that hold for
    each cell by itself are wrong too often among them. So the bounds hold for all cells of the table together. Then a
    cell is certain to be among the *number* largest if fewer than *number* others may have as many rows.
    """
    most = whole(number, "number", 1)
    group = release.schema.check_names(attributes) if attributes else release.ranked_by
    if not group:
        raise BadInput(f'name the attributes whose cells are ranked, like top({most}, "{release.schema.names[0]}").')
    table = release.table(*group)
    counts = table.counts.ravel()
    order = np.argsort(-counts, kind="stable")[:most]
    found = release.bounds_together(group, confidence)
    lower, upper = np.minimum(found.lower.ravel(), counts), np.maximum(found.upper.ravel(), counts)
    if found.missing:
        lower, upper = np.full(counts.shape, -np.inf), np.full(counts.shape, np.inf)
    rivals = counts.size - np.searchsorted(np.sort(upper), lower[order]) - 1  # all whose upper bound reaches it
    labels = [column[order] for column in frames.labels(table.labels)]
    columns = dict(zip(group, labels, strict=True))
    values = {"count": counts[order], "lower": lower[order], "upper": upper[order], "certain": rivals < most}
    named = columns | {frames.free(name, columns): value for name, value in values.items()}
    return Lines(named, found.confidence, found.kind, found.missing or _meaning(found, group))


def _meaning(found: Interval, group: tuple[str, ...]) -> str:
    rate, what = f"{100 * found.confidence:g}", f"all true counts of {listing(group)} inside their bounds at once"
    if found.kind == "exact":
        return f"Of all releases made in this way, at least {rate} in 100 have {what}."
    return (
        f"The bounds are meant to have {what} in {rate} of 100 releases, without a formal guarantee: how far off the "
        "counts are depends on the data, and was estimated."
    )
