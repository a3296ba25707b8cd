"""What can be had of every release for nothing: quantiles, means, sums, the distribution, the largest cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias, overload

import numpy as np

from adyton.arrays import Reals
from adyton.exact import Rational, share
from adyton.queries import Queries, Ranges
from adyton.result import figures, frames
from adyton.result.cell_numbers import CellNumbers, numbered
from adyton.result.figure import Figure
from adyton.result.interval import Interval
from adyton.result.largest_cells import largest_cells
from adyton.result.lines import Lines
from adyton.result.one_slice import Slice
from adyton.result.one_table import Table
from adyton.result.receipt import RowsCounted
from adyton.schema import Schema

_Several: TypeAlias = list[Any] | tuple[Any, ...]


class FreeFigures(ABC):
    """Statistics of one attribute, computed from released counts: post-processing, so that they cost no budget.

    The attribute may be left out where only one has numbers. *among* narrows the rows, in the words of a query:
    ``release.median("age", among={"sex": "F"})``. Rows whose value is missing or lies outside have no number and do not
    count. Each figure has bounds (``.lower``, ``.upper``), says whether these are exact (``.kind``), and what they mean
    (``.meaning``). Where cells hold several numbers, the bounds allow for any of them.
    """

    schema: Schema

    @abstractmethod
    def slice_counts(self, part: Slice) -> Reals:
        """The estimated counts of some cells of one attribute."""

    @abstractmethod
    def slice_bounds(self, queries: Queries, confidence: float, *, part: Slice) -> Interval:
        """Bounds on the true answers to queries about these cells, symmetric about unbiased ones."""

    @abstractmethod
    def table(self, *attributes: str) -> Table:
        """The table of some attributes."""

    @abstractmethod
    def bounds_together(self, group: tuple[str, ...], confidence: float) -> Interval:
        """Bounds on all cells of a table that hold at the same time, in its shape."""

    @property
    @abstractmethod
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The labels of the cells along each axis, by attribute."""

    @property
    @abstractmethod
    def counted(self) -> RowsCounted:
        """Which rows of each unit were counted."""

    @property
    @abstractmethod
    def counted_rows(self) -> str:
        """Which rows of the table were counted, in a few words."""

    @property
    @abstractmethod
    def ranked_by(self) -> tuple[str, ...]:
        """The attributes whose cells are ranked if none are named; none if they must be."""

    @overload
    def quantile(
        self, q: Rational, attribute: str | None = None, *, among: object = None, confidence: float = 0.95
    ) -> Figure: ...

    @overload
    def quantile(
        self, q: _Several, attribute: str | None = None, *, among: object = None, confidence: float = 0.95
    ) -> list[Figure]: ...

    def quantile(
        self,
        q: Rational | _Several,
        attribute: str | None = None,
        *,
        among: object = None,
        confidence: float = 0.95,
    ) -> Figure | list[Figure]:
        """The least number that a part *q* of the rows does not exceed; for a list of parts, a list of numbers.

        >>> import pandas, adyton as ad
        >>> table = pandas.DataFrame({"age": [34, 51, 51, 77] * 5000})
        >>> session = ad.Session(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
        >>> release = session.release(ad.Histogram("age"), epsilon=1, algorithm="identity")
        >>> [float(age) for age in release.quantile([0.1, 0.5, 0.9])], release.median().kind
        ([34.0, 51.0, 77.0], 'exact')
        """
        several = isinstance(q, list | tuple)
        parts = [share(one, "q") for one in (q if isinstance(q, list | tuple) else [q])]
        counts, numbers, bounds = self._sliced(attribute, among, confidence, "quantiles")
        found = [self._said(figures.quantile_of(counts, numbers, Fraction(part), bounds)) for part in parts]
        return found if several else found[0]

    def median(self, attribute: str | None = None, *, among: object = None, confidence: float = 0.95) -> Figure:
        """The number in the middle: half of the rows do not exceed it."""
        return self.quantile(Fraction(1, 2), attribute, among=among, confidence=confidence)

    def mean(self, attribute: str | None = None, *, among: object = None, confidence: float = 0.95) -> Figure:
        """The average; the middle of each cell stands for its rows."""
        return self._said(figures.mean_of(*self._sliced(attribute, among, confidence, "mean")))

    def sum(self, attribute: str | None = None, *, among: object = None, confidence: float = 0.95) -> Figure:
        """The sum over all counted rows; the middle of each cell stands for its rows."""
        return self._said(figures.sum_of(*self._sliced(attribute, among, confidence, "sum")))

    def cdf(self, attribute: str | None = None, *, among: object = None, confidence: float = 0.95) -> Lines:
        """How many rows have at most each value, with bounds for each line by itself, and their part of all rows.

        The counts do not fall. ``.to_frame()`` makes a frame of them.
        """
        name = numbered(self.schema, attribute, "distribution")
        part, numbers = self._slice(name, among)
        curve, cells = figures.cumulated(self.slice_counts(part)), numbers.least.size
        queries = Ranges(cells, np.zeros((cells, 1), dtype=np.int64), np.arange(cells)[:, None])
        found = self.slice_bounds(queries, confidence, part=part)
        endless = np.full(cells, np.inf) if found.missing else 0.0
        labels = frames.labels([self.axes[name]])[0][part.cells]
        columns: dict[str, Any] = {
            "cumulative_count": curve,
            "lower": np.minimum(np.maximum(found.lower, 0.0) - endless, curve),
            "upper": np.maximum(found.upper + endless, curve),
            "share": curve / max(float(curve[-1]), 1e-300),
        }
        named = {frames.free(key, {name}): column for key, column in columns.items()}
        meaning, counted = found.missing or found.meaning, self.counted_rows
        return Lines({name: labels, **named}, found.confidence, found.kind, meaning, counted)

    def top(self, number: int = 10, *attributes: str, confidence: float = 0.95) -> Lines:
        """The cells with the largest counts, of all attributes or of some: ``release.top(10, "department")``.

        The bounds hold for all cells at once, so that they stay right although these cells were picked out. With that
        confidence a cell with ``certain`` is among the largest in truth, too.
        """
        found = largest_cells(self, number, attributes, float(share(confidence, "confidence")))
        return replace(found, counted=self.counted_rows)

    def _said(self, figure: Figure) -> Figure:
        """The figure, which says which rows it is of."""
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
