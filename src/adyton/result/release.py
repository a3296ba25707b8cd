"""A release: what came out, with its labels, its expected error, its story and its receipt."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Reals
from adyton.exact import exact
from adyton.plans.base import Plan
from adyton.plans.expected_error import ExpectedError
from adyton.plans.registry import plan_named
from adyton.queries import Identity, Marginals, Queries
from adyton.remembered import cached_property
from adyton.result import averaging, files
from adyton.result.cell_release import CellRelease
from adyton.result.cell_rows import CellRows
from adyton.result.cell_tables import cell_errors, cell_table, unbiased_table
from adyton.result.cut_off import cut_off
from adyton.result.explanation import choice_in_words, error_in_words
from adyton.result.interval import Interval
from adyton.result.intervals import NoiseModel
from adyton.result.one_table import Table
from adyton.result.presentation import AS_IT_IS, Look
from adyton.result.released import one_by_one
from adyton.result.result import CONFIDENCE
from adyton.result.sheets import Sheets
from adyton.result.tables import CELLS, asked_sheets, cell_sheets, within
from adyton.selection.choice import Choice
from adyton.selection.chosen import Chosen
from adyton.tasks import as_queries

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.report.pictures import Drawing
    from adyton.report.view import View

QUICK = 1 << 12
"""Up to so many cells bounds and errors take little time; beyond, a notebook should not have to wait for them."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release(CellRelease):
    """The estimated count of every cell of some attributes, from which any query about them is answered for nothing.

    Made by :meth:`adyton.Session.release`; kept in a folder by :meth:`save`, and read back by :meth:`load`.

    >>> import pandas, adyton as ad
    >>> table = pandas.DataFrame({"age": [34, 51, 51, 77] * 5000})
    >>> session = ad.Session(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
    >>> release = session.release(ad.Ranges("age"), epsilon="0.5", algorithm="hb")
    >>> release.answer([(50, 59), (65, None)]).round(-3).tolist()
    [10000.0, 5000.0]
    """

    kind = "counts"
    holds = "a release"
    at_once = looks = True
    bulky = ("estimate", "parts")

    estimate: Reals
    """The estimated count of every cell, in the shape of the domain. Noise makes some fractional or negative."""
    choice: Choice | None
    """How the algorithm was chosen, if it was: what was looked at, for how much, and what the others promised."""

    parts: tuple[Release, ...] = ()
    """What it was put together from by :func:`adyton.combine`, if it was; then *algorithm* is ``combined``."""
    weights: tuple[float, ...] = ()
    """How much each of these counts: together 1."""

    def __post_init__(self) -> None:
        frozen = np.array(self.estimate, dtype=np.float64)
        frozen.setflags(write=False)
        object.__setattr__(self, "estimate", frozen)

    @cached_property
    def workload(self) -> Queries:
        """The queries that the algorithm was run for."""
        return self.task.workload(self.schema)

    @cached_property
    def expected_error(self) -> ExpectedError:
        """The error to expect on the task's queries: from a closed form or, where there is none, from running the
        algorithm again on what it published."""
        computed = self.noise.expected_error()
        return self.noise.resampled_error() if computed is None else computed

    @cached_property
    def noise(self) -> NoiseModel:
        """How the answers scatter around the true ones."""
        if self.parts:
            return averaging.combined_noise(self)
        counting = self.epsilon - (self.misfits.epsilon if self.misfits else 0)
        row_epsilon = counting / self.rows_per_unit if self.choice is None else self.choice.left
        return NoiseModel(self._plan, self.workload, row_epsilon, self.estimate)

    @property
    def _plan(self) -> Plan:
        """What was run, with all that followed it."""
        if self.choice is None:
            return plan_named(self.algorithm, **self.options)
        return Chosen.named(self.algorithm, finished=self.choice.finished, **self.options)

    def table(self, *attributes: str) -> Table:
        """The table of some attributes, summed over the others: ``release.table("age", "sex")``.

        Its ``.how`` says whether it was measured, is an estimate of an algorithm that adapts to the data, or is filled
        in evenly where the task did not ask for it.
        """
        return cell_table(self, one_by_one(attributes, self.schema))

    def unbiased(self, *attributes: str) -> Table:
        """The same with the exact standard error of each count, where the algorithm is linear and the table follows
        from what it measured; else refused."""
        return unbiased_table(self, one_by_one(attributes, self.schema))

    def error_lines(self) -> pa.Table:
        """A line for each table that was asked for; else one for the table of all attributes."""
        return cell_errors(self)

    @cached_property
    def row_source(self) -> CellRows:
        """The cells."""
        return CellRows(self.schema, self.estimate)

    def answer(self, queries: object, *, integer: bool = False, nonnegative: bool = False) -> Reals:
        """The estimated answers to any queries, at no cost: ``release.answer([(20, 29), (65, None)])``.

        A query maps attributes to a value, a list of values, or (from, to) with both ends included; see
        :func:`adyton.tasks.as_queries`. With *integer* or *nonnegative* the answers come from counts shown in that way.
        """
        asked = as_queries(self.schema, queries)
        return np.asarray(asked @ Look(integer, nonnegative).shown(self.estimate), dtype=np.float64)

    def interval(self, queries: object = None, confidence: float = 0.95) -> Interval:
        """Answers with confidence intervals: for some queries, or for every cell if none are given.

        ``.meaning`` of the result says in plain words what the intervals promise.
        """
        asked = Identity(self.schema.shape) if queries is None else as_queries(self.schema, queries)
        found = replace(self.noise.interval(asked, confidence), counted=self.counted_rows)
        if queries is not None:
            return found
        shape = self.schema.shape
        return replace(
            found,
            estimate=found.estimate.reshape(shape),
            lower=found.lower.reshape(shape),
            upper=found.upper.reshape(shape),
        )

    def to_arrow(
        self,
        attributes: str | Sequence[str] | None = None,
        *,
        confidence: float | None = None,
        integer: bool = False,
        nonnegative: bool = False,
    ) -> pa.Table:
        """An Arrow table with one line per cell; with *confidence*, the columns ``lower`` and ``upper`` too.

        With *attributes*, the table of these alone, summed over the others. No count lies outside of its bounds: where
        *integer* or *nonnegative* moved it, they are widened. Where nothing is known they are infinite, with a warning.
        """
        kept = self.schema.names if attributes is None else self.schema.check_names(attributes)
        look, places = Look(integer, nonnegative), [self.schema.names.index(name) for name in kept]
        found = cell_sheets(self, kept, look, None)
        if confidence is not None:
            bounds = self.interval(Marginals(self.schema.shape, [sorted(places)]), confidence)
            if bounds.missing or bounds.confidence < float(exact(confidence, "confidence")):
                warnings.warn(bounds.missing or bounds.note, stacklevel=2)
            if bounds.beyond:
                endless = np.full(bounds.estimate.shape, np.inf)
                bounds = replace(bounds, lower=-endless, upper=endless)
            found = within(found, replace(bounds, note=""), look)
        return found.to_arrow()

    # ---- what it shows and keeps ------------------------------------------------------------------------------------

    @property
    def extent(self) -> str:
        """Its cells."""
        return f"; {self.estimate.size:,} cells"

    def own_paragraphs(self) -> tuple[str, ...]:
        """Why this algorithm, how far off the answers are, and what limits on the rows of a unit would leave out."""
        limits = () if self.task.last_class is None else cut_off(self)
        return choice_in_words(self), error_in_words(self.known_error), *(f"{one}." for one in limits)

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """Marginals, cumulative counts, answers to queries, or the cells."""
        return asked_sheets(self, look, confidence)

    def more_sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> tuple[Sheets, ...]:
        """The cells, where something else was asked for."""
        if self.sheets(look, None).file == CELLS:
            return ()
        return (cell_sheets(self, self.schema.names, look, confidence),)

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """The tables that were asked for, as far as they can be drawn."""
        from adyton.report.counts import drawings

        return drawings(self, most)

    def view(self) -> View:
        """With the error to expect, and why this algorithm was chosen."""
        from adyton.report.counts import view

        return view(self)

    def glance(self, *, bounds: bool = False) -> Sheets:
        """With bounds where there are few cells, and where they can be computed."""
        if bounds and self.estimate.size <= QUICK:
            with suppress(Exception):  # the numbers are there without them
                return self.sheets()
        return self.sheets(confidence=None)

    def remarks(self) -> tuple[str, ...]:
        """What ran, and how far off an answer is where that takes no time."""
        how = f"By {self.algorithm} ({'chosen' if self.choice else 'combined' if self.parts else 'named'})"
        error = self.known_error if self.estimate.size <= QUICK else None
        return (f"{how}{'' if error is None else f'; an answer is typically off by {error.per_query:.3g}'}.",)

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """The labels, the counts, the choice and the expected error."""
        return files.own_dict(self, self.known_error if complete else None)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> Release:
        """With counts in the shape of the schema."""
        return files.release_of(plain, common)
