"""A release of many tables: what was measured, every table that follows from it, synthetic rows, its receipt."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from adyton.arrays import Reals
from adyton.choice.decision import Bought
from adyton.compiling import cached_property
from adyton.exact import share
from adyton.marginals import tables_file
from adyton.marginals.estimating import Estimated, wider_table
from adyton.marginals.pair_model import PairModel
from adyton.marginals.program import Wanted, program_named
from adyton.marginals.refining import ModelRows
from adyton.marginals.table_answers import answered, interval_of, slice_interval, sliced, table_interval
from adyton.marginals.table_errors import errors_in_words, expected_error, table_errors, way_in_words
from adyton.marginals.tables_file import joined, share_tables
from adyton.plans.base import ExpectedError
from adyton.queries import Queries
from adyton.queries.measurement import MeasuredTable
from adyton.result.intervals import Interval
from adyton.result.release import TABLES
from adyton.result.released import Released, Slice, Table, one_by_one
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Column, Look, Sheet, Sheets, cell_labels
from adyton.solving.noise_moments import TableMoments
from adyton.tasks import Marginals

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from adyton.report.page import View
    from adyton.report.pictures import Drawing

ERRORS = "errors.csv"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TablesRelease(Released):
    """Tables of few attributes out of many: any table of them, exact errors where there are any, and synthetic rows.

    Made by :meth:`adyton.Session.release` for :class:`adyton.Marginals`; kept in a folder by :meth:`save`, and read
    back by :meth:`load`. All of it follows from what was measured: asking for more tables, or for rows, costs nothing.

    >>> import pandas, adyton as ad
    >>> rows = pandas.DataFrame({name: [0, 1, 1, 1] * 1000 for name in "abcdef"})
    >>> schema = ad.Schema({name: ad.Integer(0, 1) for name in "abcdef"})
    >>> release = ad.Session(rows, schema=schema, epsilon=1).release(ad.Marginals(way=2), epsilon=1)
    >>> release.table("a", "b").counts.round(-3).tolist(), release.sample(100).shape
    ([[1000.0, 0.0], [0.0, 3000.0]], (100, 6))
    """

    kind = "tables"
    holds = "a release of tables"
    bulky = ("measured", "model")

    task: Marginals
    measured: tuple[MeasuredTable, ...]
    """The noisy tables, as they came out, with the variance of the noise in each of their cells."""
    why: str
    """Why these tables were measured."""
    bought: tuple[Bought, ...]
    """What was looked at to decide, if anything; else the program was named."""
    kept: PairModel | None = None
    """The model as it was saved, of a release that was read from a file."""

    # ---- what follows from the measurements -------------------------------------------------------------------------

    @cached_property
    def wanted(self) -> Wanted:
        """The tables that were asked for."""
        return Wanted.by(self.task, self.schema)

    @cached_property
    def estimated(self) -> Estimated:
        """Least squares, and the model: the same measurements always give the same."""
        return program_named(self.algorithm, **self.options).estimate(self.wanted, self.measured, self.kept)

    @cached_property
    def law(self) -> TableMoments:
        """How the noise of least squares is spread in any table."""
        measured = [(one.group, one.variance) for one in self.measured]
        return TableMoments(self.wanted.sides, measured, self.estimated.squares.variances)

    @property
    def model(self) -> PairModel:
        """The single attributes, the measured pairs, and the forest that connects them."""
        return self.estimated.model

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The attributes of each table that was asked for."""
        return self.wanted.groups

    def table(self, *attributes: str) -> Table:
        """Any table, with the least error known; ``.how`` says whether it was measured, comes by a path of measured
        pairs, was fitted to them, or takes attributes for independent."""
        group = one_by_one(attributes, self.schema)
        wider = wider_table(self.estimated, group)
        if wider is not None:
            return Table(group, self.labels(group), wider, "measured", counted=self.counted_rows)
        found = self.model.table(*group)
        return Table(found.group, self.labels(found.group), found.counts, found.how, counted=self.counted_rows)

    def unbiased(self, *attributes: str) -> Table:
        """A table by least squares alone: without bias, with the exact standard error of each of its counts.

        Counts can be negative. A table of which a part was never measured is refused: :meth:`table` estimates it.
        """
        group = one_by_one(attributes, self.schema)
        counts = self.estimated.squares.table(*group)
        error = float(np.sqrt(self.estimated.squares.variance(*group)))
        return Table(group, self.labels(group), counts, "least squares", error, counted=self.counted_rows)

    def error_lines(self) -> pa.Table:
        """A line for each table that was asked for."""
        return table_errors(self)

    def answer(self, queries: object) -> Reals:
        """The estimated answers to any queries, at no cost: ``release.answer([{"age": (20, 29), "sex": "F"}])``.

        Each is a sum of cells of the table of those attributes that it names; see :meth:`table`.
        """
        return answered(self, queries)

    def interval(self, queries: object, confidence: float = 0.95) -> Interval:
        """Answers with confidence intervals, from the closed form of least squares.

        Where not all of a table was measured there are none: the bounds are infinite. ``.meaning`` of the result says
        in plain words what the intervals promise.
        """
        found = interval_of(self, queries, float(share(confidence, "confidence")))
        return replace(found, counted=self.counted_rows)

    def slice_counts(self, part: Slice) -> Reals:
        """The estimated counts of some cells of one attribute, from the table of those that are named."""
        return sliced(self.table(*part.group).counts, part)

    def slice_bounds(self, queries: Queries, confidence: float, *, part: Slice) -> Interval:
        """Bounds on sums of them, about least squares."""
        return slice_interval(self, queries, part, confidence)

    def bounds_together(self, group: tuple[str, ...], confidence: float) -> Interval:
        """Bounds on all cells of a table that hold at the same time: each for its part of the doubt."""
        cells = math.prod(self.wanted.sides[name] for name in group)
        return replace(table_interval(self, group, 1 - (1 - confidence) / cells), confidence=confidence)

    def combined_with(self, others: Sequence[Self]) -> TablesRelease:
        """All that was measured, in one least squares."""
        return joined([self, *others])

    def same_noise(self, other: Released) -> bool:
        """Whether both have the same counts of a table, from the same entries of a ledger."""
        return isinstance(other, TablesRelease) and share_tables(self, other)

    @property
    def ranked_by(self) -> tuple[str, ...]:
        """The attributes of the table, if there is one."""
        return self.groups[0] if len(self.groups) == 1 else ()

    @cached_property
    def expected_error(self) -> ExpectedError:
        """The error to expect of the cells of all tables that were asked for."""
        return expected_error(self)

    # ---- frames and rows --------------------------------------------------------------------------------------------

    def to_arrow(self, attributes: str | Sequence[str] | None = None, *, confidence: float | None = None) -> pa.Table:
        """The table of these attributes with one line per cell; without any, all tables that were asked for.

        With *confidence*, the columns ``lower`` and ``upper`` too: from least squares, and wide enough to hold the
        count. Where not all of a table was measured they are infinite, with a warning.
        """
        rate = None if confidence is None else float(share(confidence, "confidence"))
        if attributes is None:
            return self.sheets(confidence=rate).to_arrow()
        group = one_by_one((attributes,), self.schema)
        return (self.table(*group) if rate is None else self.bounded(group, rate, loud=True)).to_arrow()

    def bounded(self, group: Sequence[str], confidence: float, *, loud: bool = False) -> Table:
        """A table with bounds on each count."""
        bounds = table_interval(self, tuple(group), confidence)
        if loud and bounds.missing:
            warnings.warn(bounds.missing, stacklevel=3)
        return replace(self.table(*group), lower=bounds.lower, upper=bounds.upper)

    @cached_property
    def row_source(self) -> ModelRows:
        """The model of pairs."""
        return ModelRows(self.model)

    @property
    def rows_estimated(self) -> int:
        """As the model has them."""
        return max(0, round(self.model.total))

    # ---- for people and files ---------------------------------------------------------------------------------------

    @property
    def extent(self) -> str:
        """Its tables and attributes."""
        cells = sum(len(axis) for axis in self.axes.values())
        return f"; {len(self.groups):,} tables of {len(self.axes)} attributes with {cells:,} cells of their own"

    def own_paragraphs(self) -> tuple[str, ...]:
        """What was measured and why, and how far off the tables are."""
        return way_in_words(self), errors_in_words(self)

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """Every table that was asked for."""
        return Sheets(TABLES, tuple(self._sheet(group, confidence) for group in self.groups), confidence)

    def _sheet(self, group: Sequence[str], confidence: float | None) -> Sheet:
        """A table with its bounds, where there are any."""
        table = self.table(*group) if confidence is None else self.bounded(group, confidence)
        bounded = table.upper is not None and bool(np.isfinite(table.upper).all())
        lower, upper = (table.lower, table.upper) if bounded else (None, None)
        three = (None if one is None else one.ravel() for one in (table.counts, lower, upper))
        labels = dict(zip(table.group, cell_labels(table.labels), strict=True))
        return Sheet(labels, (Column("count", *three),), counted=self.counted_rows)  # type: ignore[arg-type]

    def more_sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> tuple[Sheets, ...]:
        """How far off each table is."""
        lines = self.error_lines()
        values = np.array([math.nan if one is None else one for one in lines.column("expected_error").to_pylist()])
        labels = {name: lines.column(name).to_pylist() for name in ("table", "cells", "how")}
        return (Sheets(ERRORS, (Sheet(labels, (Column("expected_error", values),), counted=self.counted_rows),)),)

    def explained(self) -> tuple[Sheets, ...]:
        """How far off each table is."""
        return self.more_sheets()

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """The first tables of one or two attributes that were asked for."""
        from adyton.report.tables import drawings

        return drawings(self, most)

    def view(self) -> View:
        """With a grid of pairs, and every table behind its square."""
        from adyton.report.tables import view

        return view(self)

    def glance(self, *, bounds: bool = False) -> Sheets:
        """The first table."""
        first, *others = self.groups
        rate, sides = CONFIDENCE if bounds else None, self.wanted.sides
        more = sum(math.prod(sides[name] for name in group) for group in others)
        return Sheets(TABLES, (self._sheet(first, rate),), rate, more=more)

    def plot(self, path: str | os.PathLike[str] | None = None, *, attributes: Sequence[str] = ()) -> Figure:
        """The pictures of the first tables that were asked for, or of one or two *attributes*."""
        from adyton.report.plot import plot
        from adyton.report.tables import drawing_of

        return plot(self, path, [drawing_of(self, attributes)] if attributes else None)

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """All that was measured, and the model of it."""
        return tables_file.own_dict(self, self.model if complete else self.kept)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> TablesRelease:
        """With noisy tables of few attributes, which tell of every attribute."""
        return cls(**common, **tables_file.own_parts(plain, common))
