"""What every release can do, whatever its kind of estimate: tables, answers, rows, and figures at no further cost."""

from __future__ import annotations

import itertools
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias, overload

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import Rational, share
from adyton.messages import listing, path_of
from adyton.plans.base import ExpectedError
from adyton.queries import Cells, Explicit, Kronecker, Product, Queries, Ranges, Total
from adyton.result import figures
from adyton.result.comparing import Combinable, Comparable
from adyton.result.figures import CellNumbers, Figure, Lines, numbered
from adyton.result.intervals import Interval
from adyton.result.result import Result
from adyton.result.rows import RowsMade, RowSource, sampled_table, write_rows
from adyton.result.sheets import CONFIDENCE, Column, Sheet, cell_labels, free_name, rate_of, to_pandas, to_polars
from adyton.schema import Schema
from adyton.tasks.questions import Cells as Places
from adyton.tasks.questions import as_boxes, one_question
from adyton.whole import whole

if TYPE_CHECKING:
    import pyarrow as pa

_Several: TypeAlias = list[Any] | tuple[Any, ...]


class Released(Result, Comparable, Combinable):
    """A release: an estimate that answers queries. One kind holds the count of every cell, another only tables.

    Quantiles, means, sums, the distribution and the largest cells are computed from released counts: post-processing,
    which costs no privacy. The attribute may be left out if only one is numeric. *among* restricts the rows, in the
    form of a query: ``release.median("age", among={"sex": "F"})``. Rows whose value is missing or out of bounds have
    no number and are not counted. Each figure has bounds (``.lower``, ``.upper``) and says whether these are exact
    (``.kind``) and what they mean (``.meaning``). Where a cell covers several numbers, the bounds allow for any of
    them.
    """

    # ---- tables -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def table(self, *attributes: str) -> Table:
        """The table of some attributes, with the least error known: ``release.table("age", "sex")``."""

    @abstractmethod
    def unbiased(self, *attributes: str) -> Table:
        """The same without bias, with the exact standard error of each count; refused if there is no such table."""

    @abstractmethod
    def error_lines(self) -> pa.Table:
        """The lines of :meth:`errors`, as an Arrow table."""

    def errors(self) -> Any:
        """A frame with a line for each requested table: its number of cells, the expected error (the total variation,
        which is the part of all rows in a wrong cell; empty if unknown), and how the table was obtained."""
        return to_pandas(self.error_lines())

    @abstractmethod
    def answer(self, queries: object) -> Reals:
        """The estimated answers to any queries, at no cost."""

    @abstractmethod
    def covariances(self, queries: object) -> Reals:
        """The covariances of the errors of the answers to some queries, by which comparisons know their bounds.

        They are exact where intervals are, and follow from the release alone, also after it was read from a file.
        """

    def each_question(self) -> list[object]:
        """The queries of the task, or all cells of its table; of several tables, every value of each attribute."""
        if asked := self.task.questions():
            return list(asked)
        group = self.ranked_by
        if not group:
            return [{name: label} for name in self.schema.names for label in self.labels((name,))[0]]
        return [dict(zip(group, labels, strict=True)) for labels in itertools.product(*self.labels(group))]

    def holds_within(self, part: object, whole: object) -> bool:
        """Whether all rows that one query counts are counted by another, too."""
        inner, outer = as_boxes(self.schema, [one_question(self.schema, asked) for asked in (part, whole)])
        every = {name: np.arange(attribute.size) for name, attribute in self.schema.attributes.items()}
        return all(bool(np.isin(inner.get(name, every[name]), cells).all()) for name, cells in outer.items())

    @property
    @abstractmethod
    def expected_error(self) -> ExpectedError:
        """The expected error of the answers."""

    @cached_property
    def known_error(self) -> ExpectedError | None:
        """The expected error; None where it cannot be computed, for whatever reason."""
        try:
            return self.expected_error
        except Exception:  # a failure here must not lose what was paid for
            return None

    @property
    def typical_errors(self) -> Mapping[str, float]:
        """The expected error of one answer, by the name ``count``."""
        return {} if self.known_error is None else {"count": self.known_error.per_query}

    # ---- figures at no cost -----------------------------------------------------------------------------------------

    @abstractmethod
    def slice_counts(self, part: Slice) -> Reals:
        """The estimated counts of some cells of one attribute."""

    @abstractmethod
    def slice_bounds(self, queries: Queries, confidence: float, *, part: Slice) -> Interval:
        """Bounds on the true answers to queries about these cells, symmetric about unbiased answers."""

    @abstractmethod
    def bounds_together(self, group: tuple[str, ...], confidence: float) -> Interval:
        """Bounds on all cells of a table that hold at the same time, in its shape."""

    @abstractmethod
    def errors_together(self, group: tuple[str, ...]) -> Reals:
        """Errors of all cells of a table as they might be, flat, a row for each of many simulated releases; infinite if
        they are not known."""

    @property
    @abstractmethod
    def ranked_by(self) -> tuple[str, ...]:
        """The attributes whose cells are ranked by default; empty if they must be named."""

    @overload
    def quantile(
        self, q: Rational, attribute: str | None = None, *, among: object = None, confidence: float = 0.95
    ) -> Figure: ...

    @overload
    def quantile(
        self, q: _Several, attribute: str | None = None, *, among: object = None, confidence: float = 0.95
    ) -> list[Figure]: ...

    def quantile(
        self, q: Rational | _Several, attribute: str | None = None, *, among: object = None, confidence: float = 0.95
    ) -> Figure | list[Figure]:
        """The least number that a part *q* of the rows does not exceed; for a list of parts, a list of such numbers.

        >>> import pandas, adyton as ad
        >>> table = pandas.DataFrame({"age": [34, 51, 51, 77] * 5000})
        >>> session = ad.Session(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
        >>> release = session.release(ad.Histogram("age"), epsilon=1, algorithm="identity")
        >>> [float(age) for age in release.quantile([0.1, 0.5, 0.9])], release.median().kind
        ([34.0, 51.0, 77.0], 'exact')
        """
        several = isinstance(q, list | tuple)
        parts = [share(part, "q") for part in (q if isinstance(q, list | tuple) else [q])]
        counts, numbers, bounds = self._sliced(attribute, among, confidence, "quantiles")
        quantiles = [self._said(figures.quantile_of(counts, numbers, Fraction(part), bounds)) for part in parts]
        return quantiles if several else quantiles[0]

    def median(self, attribute: str | None = None, *, among: object = None, confidence: float = 0.95) -> Figure:
        """The number in the middle: half of the rows do not exceed it."""
        return self.quantile(Fraction(1, 2), attribute, among=among, confidence=confidence)

    def mean(self, attribute: str | None = None, *, among: object = None, confidence: float = 0.95) -> Figure:
        """The average; each row counts as the middle of its cell."""
        return self._said(figures.mean_of(*self._sliced(attribute, among, confidence, "mean")))

    def sum(self, attribute: str | None = None, *, among: object = None, confidence: float = 0.95) -> Figure:
        """The sum over all counted rows; each row counts as the middle of its cell."""
        return self._said(figures.sum_of(*self._sliced(attribute, among, confidence, "sum")))

    def cdf(self, attribute: str | None = None, *, among: object = None, confidence: float = 0.95) -> Lines:
        """How many rows have at most each value, with separate bounds for each line, and the part of all rows.

        The counts never decrease. ``.to_frame()`` returns them as a frame.
        """
        name = numbered(self.schema, attribute, "distribution")
        part, numbers = self._slice(name, among)
        curve, cells = figures.cumulated(self.slice_counts(part)), numbers.least.size
        queries = Ranges(cells, np.zeros((cells, 1), dtype=np.int64), np.arange(cells)[:, None])
        interval = self.slice_bounds(queries, confidence, part=part)
        endless = np.full(cells, np.inf) if interval.missing else 0.0
        labels = cell_labels([self.axes[name]])[0][part.cells]
        columns: dict[str, Any] = {
            "cumulative_count": curve,
            "lower": np.minimum(np.maximum(interval.lower, 0.0) - endless, curve),
            "upper": np.maximum(interval.upper + endless, curve),
            "share": curve / max(float(curve[-1]), 1e-300),
        }
        named = {free_name(key, {name}): column for key, column in columns.items()}
        meaning, counted = interval.missing or interval.meaning, self.counted_rows
        return Lines({name: labels, **named}, interval.confidence, interval.kind, meaning, counted)

    def top(self, number: int = 10, *attributes: str, confidence: float = 0.95) -> Lines:
        """The cells with the largest counts, of all attributes or of some: ``release.top(10, "department")``.

        The bounds hold for all cells at once: the largest of many noisy counts tend to be those that noise increased,
        and bounds that hold for each cell separately would be wrong too often among them. A cell is ``certain`` to be
        among the *number* largest, with that confidence, if fewer than *number* others may have as many rows. Its
        ``chance`` to be among them is how often it would be, if the noise were drawn again and taken from the counts.
        """
        most = whole(number, "number", 1)
        group = self.schema.check_names(attributes) if attributes else self.ranked_by
        if not group:
            raise BadInput(f'name the attributes whose cells are ranked, like top({most}, "{self.schema.names[0]}").')
        table = self.table(*group)
        counts = table.counts.ravel()
        order = np.argsort(-counts, kind="stable")[:most]
        interval = self.bounds_together(group, float(share(confidence, "confidence")))
        lower, upper = np.minimum(interval.lower.ravel(), counts), np.maximum(interval.upper.ravel(), counts)
        if interval.missing:
            lower, upper = np.full(counts.shape, -np.inf), np.full(counts.shape, np.inf)
        rivals = counts.size - np.searchsorted(np.sort(upper), lower[order]) - 1  # whose upper bound reaches it
        errors = np.full((1, counts.size), np.inf) if interval.missing else self.errors_together(group)
        columns = dict(zip(group, (column[order] for column in cell_labels(table.labels)), strict=True))
        values = {"count": counts[order], "lower": lower[order], "upper": upper[order], "certain": rivals < most}
        values["chance"] = _chances(counts, errors, order)
        named = columns | {free_name(name, columns): value for name, value in values.items()}
        rate, what = (
            f"{100 * interval.confidence:g}",
            f"all true counts of {listing(group)} inside their bounds at once",
        )
        promise = (
            f"Of all releases made in this way, at least {rate} in 100 have {what}."
            if interval.kind == "exact"
            else f"The bounds are meant to have {what} in {rate} of 100 releases, without a formal guarantee: how far "
            "off the counts are depends on the data, and was estimated."
        )
        return Lines(named, interval.confidence, interval.kind, interval.missing or promise, self.counted_rows)

    def _said(self, figure: Figure) -> Figure:
        """The figure, with the words for the rows that were counted."""
        figure.counted = self.counted_rows
        return figure

    def _slice(self, name: str, among: object) -> tuple[Slice, CellNumbers]:
        numbers = CellNumbers.of(self.schema.attributes[name])  # type: ignore[arg-type]  # it has numbers
        part = Slice.asked(self.schema, name, numbers.least.size, among)
        return part, numbers.some(part.cells)

    def _sliced(
        self, attribute: str | None, among: object, confidence: float, what: str
    ) -> tuple[Reals, CellNumbers, figures.Bounds]:
        part, numbers = self._slice(numbered(self.schema, attribute, what), among)
        rate = float(share(confidence, "confidence"))
        return self.slice_counts(part), numbers, partial(self.slice_bounds, confidence=rate, part=part)

    # ---- rows -------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def row_source(self) -> RowSource:
        """What synthetic rows are made from."""

    @property
    @abstractmethod
    def rows_estimated(self) -> int:
        """About how many rows there are."""

    def missing_in_rows(self) -> str:
        """What synthetic rows cannot say because it was not measured, in a sentence or two; empty if nothing is
        missing."""
        return ""

    @property
    def head_of_rows(self) -> tuple[str, ...]:
        """What everybody has to know who reads synthetic rows."""
        return tuple(said for said in (self.missing_in_rows(), self.which_rows) if said)

    def sample(self, rows: int, *, seed: int | None = None) -> Any:
        """Synthetic rows that match the schema, as a pandas DataFrame: their tables resemble those of the release.

        No row belongs to a real person. ``frame.attrs["synthetic"]`` says so, and how far the tables of pairs are from
        the released ones. The same *seed* gives the same rows. For very many rows, :meth:`write_rows` writes a file.
        """
        table, made = sampled_table(self.row_source, self.schema, rows, seed, self.head_of_rows)
        frame = to_pandas(table)
        frame.attrs["synthetic"] = made.to_plain()
        return frame

    def write_rows(self, file: str | os.PathLike[str], rows: int, *, seed: int | None = None) -> RowsMade:
        """Write synthetic rows to a ``.csv`` or ``.parquet`` file, a part at a time: memory use does not grow.

        A second file, whose name ends in ``.synthetic.json``, says that the rows are synthetic, and how far their
        tables of pairs are from the released ones. In a CSV file, texts that a spreadsheet would run get an apostrophe.
        """
        return write_rows(self.row_source, self.schema, path_of(file), rows, seed, self.head_of_rows)

    # ---- several of them --------------------------------------------------------------------------------------------

    @abstractmethod
    def combined_with(self, others: Sequence[Self]) -> Self:
        """One release out of this and others of the same attributes and rows; see :func:`adyton.combine`."""

    @abstractmethod
    def same_noise(self, other: Released) -> bool:
        """Whether both hold the same noise: one is the other, perhaps read from a file, or a part of it."""

    # ---- labels and the receipt -------------------------------------------------------------------------------------

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The labels of the cells along each axis, by attribute."""
        return self.task.axes(self.schema)

    def labels(self, group: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
        """The labels of the cells along the axes of some attributes."""
        return tuple(self.axes[name] for name in group)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """The estimated counts of a group of attributes, and how they were obtained."""

    group: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    """The labels of the cells along each axis."""
    counts: Reals
    how: str
    """``measured`` and ``least squares`` use the table's own measurements; other words say what was assumed."""
    errors: float | Reals | None = None
    """The standard error of each count, where it is known exactly: one for all, or one for each."""

    counted: str = ""
    """Which rows were counted, in a few words, where that is not all of them."""
    bounds: Callable[[float], Interval] | None = None
    """From a confidence to bounds on each count, in the shape of the table."""

    def sheet(self, confidence: float | None) -> Sheet:
        """One line per cell: the labels, the count with its bounds, its standard error if known, and how it was
        obtained. A note says why there are no bounds."""
        lower = upper = errors = None
        interval = None if confidence is None or self.bounds is None else self.bounds(confidence)
        if interval is not None and not interval.missing:
            lower = np.minimum(interval.lower, self.counts).ravel()
            upper = np.maximum(interval.upper, self.counts).ravel()
        if self.errors is not None:
            errors = np.broadcast_to(self.errors, self.counts.shape).ravel()
        labels = dict(zip(self.group, cell_labels(self.labels), strict=True))
        note = "" if interval is None else interval.missing or interval.note
        columns = (Column("count", self.counts.ravel(), lower, upper, errors),)
        return Sheet(labels, columns, note=note, counted=self.counted, how=self.how)

    def to_arrow(self, *, confidence: float | None = CONFIDENCE) -> pa.Table:
        """One line per cell: the labels, the count with its bounds, its standard error if known, and how it was
        obtained. Where there are no bounds, the column ``note`` and a warning say why."""
        sheet = self.sheet(rate_of(confidence))
        if sheet.note:
            warnings.warn(sheet.note, stacklevel=3)
        return sheet.to_arrow()

    def to_frame(self, *, confidence: float | None = CONFIDENCE) -> Any:
        """The same as a pandas DataFrame."""
        return to_pandas(self.to_arrow(confidence=confidence))

    def to_polars(self, *, confidence: float | None = CONFIDENCE) -> Any:
        """The same as a polars DataFrame."""
        return to_polars(self.to_arrow(confidence=confidence))

    def __repr__(self) -> str:
        counted = f"; {self.counted}" if self.counted else ""
        return f"<table of {' × '.join(self.group)}, {self.counts.size:,} cells, {self.how}{counted}>"


@dataclass(frozen=True, eq=False)
class Slice:
    """Neighbouring cells of one attribute, and the cells of other attributes that are counted."""

    attribute: str
    cells: slice
    others: dict[str, Places] = field(default_factory=dict)

    @classmethod
    def asked(cls, schema: Schema, attribute: str, size: int, among: object) -> Slice:
        """The first *size* cells of an attribute among the rows that a query counts, or among all."""
        if among is None:
            return cls(attribute, slice(0, size))
        box, *more = as_boxes(schema, among)
        if more:
            raise BadInput(f"among takes one query, like {{{schema.names[-1]!r}: …}}, given a list of {len(more) + 1}.")
        own = box.pop(attribute, np.arange(size))
        if own[-1] - own[0] + 1 > own.size or own[-1] >= size:
            raise BadInput(f"among must name a range (from, to) of {attribute}, because its numbers are requested.")
        return cls(attribute, slice(int(own[0]), int(own[-1]) + 1), box)

    @property
    def group(self) -> tuple[str, ...]:
        """The attributes involved, the sliced one first."""
        return (self.attribute, *self.others)

    def whole(self, schema: Schema) -> bool:
        """Whether it covers all cells of a release of one attribute."""
        return len(schema.names) == 1 and self.cells == slice(0, schema.cells)

    def widened(self, queries: Queries, schema: Schema) -> Queries:
        """Queries about these cells as queries about all cells of the schema; ranges stay ranges where they can."""
        if self.whole(schema):
            return queries
        sides = dict(zip(schema.names, schema.shape, strict=True))
        if isinstance(queries, Ranges) and all(np.ptp(cells) + 1 == cells.size for cells in self.others.values()):
            ends = {name: (int(cells[0]), int(cells[-1])) for name, cells in self.others.items()}
            columns = [
                (queries.lower[:, 0] + self.cells.start, queries.upper[:, 0] + self.cells.start)
                if name == self.attribute
                else tuple(np.full(queries.count, end) for end in ends.get(name, (0, side - 1)))
                for name, side in sides.items()
            ]
            return Ranges(schema.shape, *(np.column_stack([column[end] for column in columns]) for end in (0, 1)))
        along = Product(queries, Cells(sides[self.attribute], np.arange(self.cells.start, self.cells.stop)))
        factors = [along if name == self.attribute else self._counted(name, side) for name, side in sides.items()]
        return factors[0] if len(factors) == 1 else Kronecker(factors)

    def _counted(self, name: str, side: int) -> Queries:
        """One query about another attribute: the sum of its counted cells."""
        if name not in self.others:
            return Total(side)
        cells = self.others[name]
        return Explicit(side, np.zeros(cells.size, dtype=np.int64), cells, np.ones(cells.size, dtype=np.int64), 1)


def _chances(counts: Reals, errors: Reals, order: Integers) -> Reals:
    """How often each of these cells is among as many largest, over counts without the drawn errors; unknown where the
    errors are."""
    if order.size == counts.size or not np.isfinite(errors).all():
        return np.full(order.size, 1.0 if order.size == counts.size else np.nan)
    drawn = counts - errors
    least = np.partition(drawn, counts.size - order.size, axis=1)[:, [counts.size - order.size]]
    return np.asarray((drawn[:, order] >= least).mean(axis=0))


def one_by_one(attributes: tuple[Any, ...], schema: Schema) -> tuple[str, ...]:
    """Names given one by one, or as one list; an error if there are none, or if a name is unknown or repeated."""
    names = attributes[0] if len(attributes) == 1 and isinstance(attributes[0], list | tuple) else attributes
    if not names or not all(isinstance(name, str) for name in names):
        raise BadInput(f'name the attributes of the table, like table("age", "sex"), given {listing(names)}.')
    return schema.check_names(tuple(names))
