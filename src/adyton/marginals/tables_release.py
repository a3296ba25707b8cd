"""A release of many tables: the measurements, every table that follows from them, synthetic rows, its receipt.

Answers and intervals come from the tables of the attributes that a query names, never from the whole domain.
"""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.choice.decision import Bought
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import display, share
from adyton.marginals.estimating import Estimates, wider_table
from adyton.marginals.pair_model import Expected, Pair, PairModel, expected_errors, total_variation
from adyton.marginals.program import DEPENDENCE, DISTANCE, IN_GROUPS, TableSet, program_named
from adyton.marginals.refining import ModelRows
from adyton.marginals.resolution import Maps, maps_of, merged, plain_maps
from adyton.messages import joined, listing, percent, shorten
from adyton.plans.base import ErrorKind, ExpectedError
from adyton.queries import Queries
from adyton.queries.measurement import Group, MeasuredTable
from adyton.result.combining import joint_receipt
from adyton.result.coverage import Coverage, Note, Total
from adyton.result.intervals import Interval, radius
from adyton.result.joint_law import JointLaw, is_whole, radius_of_sums
from adyton.result.receipt import read_bought
from adyton.result.released import Released, Slice, Table, one_by_one
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Column, Look, Sheet, Sheets, with_counted
from adyton.result.shown import TABLES
from adyton.schema.plain_values import as_real, as_text, of_kind, part_of
from adyton.solving.noise_moments import Moments, TableMoments, laplace_excess
from adyton.solving.residuals import in_order, residuals
from adyton.tasks import Marginals
from adyton.tasks.questions import Cells, as_boxes, one_question, question_in_words
from adyton.whole import SAFE

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from adyton.report.page import View
    from adyton.report.pictures import Drawing

ERRORS = "errors.csv"
LIMIT = "upper 90% limit"
"""What is reported of a pair that was not measured, after a noisy look at how far all pairs are from independence."""
NO_BOUNDS = (
    "No bounds: not all of this was measured cell by cell, and the dependence of attributes that were not measured "
    "together, or only in groups of cells, is not known."
)
NO_LOWER = (
    "Measured in groups of cells: a cell has at most what its group has. How the rows of a group are spread over its "
    "cells is estimated."
)
APPROXIMATE = (
    "The intervals come from the noise of least squares and are meant to hold the true count in {rate} of 100 "
    "releases, without a formal guarantee: they do not account for the fact that noisy tables decided what to measure."
)
_MOST_CELLS = 1 << 25
"""The largest number of cells of all measured tables: the number that the kernel counts at once."""
_DRAWN = 1000
"""How many times the noise is drawn to rank the cells of a table."""
_MOST_ATTRIBUTES = 5
"""The largest number of attributes in one measured table."""
_NAMED = 3
"""How many of the pairs that were not measured are named."""
_ALONE = (
    "A pair that matters can be measured: ask for its table by itself, or for tables of fewer attributes. Publish "
    "nothing about pairs that were not measured, such as the average of one attribute by the other."
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TablesRelease(Released):
    """Tables of few attributes out of many: any table of them, exact errors where they are known, and synthetic rows.

    Made by :meth:`adyton.Session.release` for :class:`adyton.Marginals`; saved to a folder by :meth:`save`, and read
    back by :meth:`load`. All of it follows from the measurements: more tables, or rows, cost no privacy.

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
    """The noisy tables, as they were measured, with the variance of the noise in each of their cells."""
    why: str
    """Why these tables were measured."""
    bought: tuple[Bought, ...]
    """The measurements that informed the choice of program, or of pairs."""
    kept: PairModel | None = None
    """The saved model, if the release was read from a file."""

    # ---- what follows from the measurements -------------------------------------------------------------------------

    @cached_property
    def wanted(self) -> TableSet:
        """The requested tables."""
        return TableSet.by(self.task, self.schema)

    @cached_property
    def estimated(self) -> Estimates:
        """Least squares, and the model; the same measurements always give the same estimates."""
        if self.kept is not None:
            whole = [table for table in self.measured if not any(table.maps)]
            return Estimates(residuals(self.wanted.sides, whole), self.kept)
        return program_named(self.algorithm, **self.options).estimate(self.wanted, self.measured)

    @cached_property
    def law(self) -> TableMoments:
        """The distribution of the noise of least squares in any table."""
        measured = [(table.group, table.variance) for table in self.measured if not any(table.maps)]
        return TableMoments(self.wanted.sides, measured, self.estimated.squares.variances)

    @property
    def model(self) -> PairModel:
        """The single attributes, the measured pairs, and the forest that connects them."""
        return self.estimated.model

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The attributes of each requested table."""
        return self.wanted.groups

    def table(self, *attributes: str) -> Table:
        """Any table, with the smallest error known; ``.how`` says whether it was measured, follows from a path of
        measured pairs, was fitted to them, or assumes that attributes are independent."""
        group = one_by_one(attributes, self.schema)
        counts, how = wider_table(self.estimated, group), "measured"
        if counts is None:
            table = self.model.table(*group)
            counts, how = table.counts, table.how
        bounds = partial(table_interval, self, group)
        return Table(group, self.labels(group), counts, how, counted=self.counted_rows, bounds=bounds)

    def unbiased(self, *attributes: str) -> Table:
        """A table by least squares alone: unbiased, with the exact standard error of each of its counts.

        Counts can be negative. A table that was not completely measured is refused: :meth:`table` estimates it.
        """
        group = one_by_one(attributes, self.schema)
        counts = self.estimated.squares.table(*group)
        error, bounds = float(np.sqrt(self.estimated.squares.variance(*group))), partial(table_interval, self, group)
        return Table(
            group, self.labels(group), counts, "least squares", error, counted=self.counted_rows, bounds=bounds
        )

    @cached_property
    def expected_pairs(self) -> dict[Group, Expected]:
        """The expected error of every pair of attributes that the request is about, where something is known of it."""
        return expected_of(self.model, self.wanted, self.bought)

    def wrong(self, group: Group) -> float | None:
        """The part of all rows that is expected in a wrong cell of a table: its expected total variation. For a pair
        that was not measured, after a look at all pairs: the upper 90% limit of that look, see :meth:`is_limit`.

        None for tables of three or more attributes that were not measured, for pairs that were not measured where no
        look said how far they are from independence, and for pairs that the request is not about.
        """
        names = in_order(group, self.wanted.sides)
        pair = self.expected_pairs.get(names)
        return total_variation(self.model, names) if pair is None else pair.total_variation

    def is_limit(self, group: Group) -> bool:
        """Whether :meth:`wrong` is no expectation but an upper limit."""
        pair = self.expected_pairs.get(in_order(group, self.wanted.sides))
        return pair is not None and pair.limit

    def finest_groups(self, group: Group) -> MeasuredTable | None:
        """The finest table of a pair in groups of cells, with its axes in the order of *group*; None without one."""
        tables = [table for table in self.measured if any(table.maps) and {*table.group} == {*group}]
        if not tables:
            return None
        finest = max(tables, key=lambda table: np.size(table.counts))
        if finest.group == tuple(group):
            return finest
        return MeasuredTable(tuple(group), np.transpose(finest.counts), finest.variance, finest.maps[::-1])

    def measured_in(self, group: Group) -> str:
        """The number of groups of cells along each attribute in which a table was measured, such as ``16 × 3``; empty
        if it was not measured, or cell by cell."""
        names = in_order(group, self.wanted.sides)
        maps = self.model.maps.get((names[0], names[-1])) if len(names) == 2 else None
        if maps is None:
            return ""
        counts = {
            name: self.wanted.sides[name] if groups is None else groups.groups
            for name, groups in zip(names, maps, strict=True)
        }
        return " × ".join(str(counts[name]) for name in group)

    def _error_columns(self) -> dict[str, list[Any]]:
        """For each requested table: its cells, its expected total variation or the limit of it, which of the two, and
        where it comes from."""
        return {
            "table": [" × ".join(group) for group in self.groups],
            "cells": [self.wanted.size(group) for group in self.groups],
            "expected_error": [self.wrong(group) for group in self.groups],
            "error_is": [
                "" if self.wrong(group) is None else LIMIT if self.is_limit(group) else "expected"
                for group in self.groups
            ],
            "how": [self.model.how(group) for group in self.groups],
            "measured_in": [self.measured_in(group) for group in self.groups],
        }

    def _error_list(self) -> list[dict[str, Any]]:
        columns = self._error_columns()
        three = columns["table"], columns["expected_error"], columns["error_is"]
        return [{"table": table, "error": error, "error_is": kind} for table, error, kind in zip(*three, strict=True)]

    @property
    def typical_errors(self) -> Mapping[str, float]:
        """The expected error of one count; its name says if it rests on upper limits."""
        error = self.known_error
        if error is None:
            return {}
        return {f"count ({LIMIT}s where not measured)" if error.kind == "upper limit" else "count": error.per_query}

    def error_lines(self) -> pa.Table:
        """A line for each requested table."""
        import pyarrow as pa

        columns: dict[str, Any] = self._error_columns()
        columns["expected_error"] = pa.array(columns["expected_error"], type=pa.float64())
        return pa.table(with_counted(columns, self.counted_rows, len(self.groups)))

    def _boxes(self, queries: object) -> list[tuple[Group, dict[str, Cells]]]:
        """The attributes that each query names, in the order of the schema, and the cells that it counts."""
        return [(in_order(tuple(box), self.wanted.sides), box) for box in as_boxes(self.schema, queries)]

    def answer(self, queries: object) -> Reals:
        """The estimated answers to any queries, at no cost: ``release.answer([{"age": (20, 29), "sex": "F"}])``.

        Each answer is a sum of cells of the table of the attributes that the query names; see :meth:`table`.
        """
        boxes, total = self._boxes(queries), np.array(self.model.total)
        tables = {group: self.table(*group).counts if group else total for group in {group for group, _ in boxes}}
        return np.array([_inside(tables[group], group, box) for group, box in boxes])

    def interval(self, queries: object, confidence: float = 0.95) -> Interval:
        """Answers with confidence intervals, from the closed form of least squares.

        Where a table was not completely measured, the bounds are infinite. ``.meaning`` of the result says in plain
        words what the intervals promise.
        """
        rate, squares, lines = float(share(confidence, "confidence")), self.estimated.squares, []
        for group, box in self._boxes(queries):
            if squares.missing(*group):
                lines.append((0.0, math.inf, 0.0))
                continue
            weights = {name: self._weights(name, box[name]) for name in group}
            law = self.law.of(())
            if group:
                two, four = self.law.of_sums(group[0], weights.pop(group[0])[None], weights)
                law = float(two[0]), float(four[0])
            lines.append((_inside(squares.table(*group), group, box), *law))
        centres, variances, fourths = np.array(lines).T
        bounds = self._around(self.answer(queries), centres, Moments(variances, fourths), rate)
        return replace(bounds, counted=self.counted_rows)

    def covariances(self, queries: object) -> Reals:
        """The covariances of the errors of least squares; infinite if a table was not completely measured."""
        many = len(boxes := as_boxes(self.schema, queries))
        law = TableLaw(release=self, boxes=boxes, words=(), confidence=CONFIDENCE)
        pairs = np.eye(many)[:, None] + np.eye(many)[None]
        moments = law.moments(np.concatenate([np.eye(many), pairs.reshape(-1, many)]))
        if moments is None:
            return np.full((many, many), np.inf)
        own, both = moments.variances[:many], moments.variances[many:].reshape(many, many)
        return np.asarray((both - own - own[:, None]) / 2)

    def joint_law(self, asked: Sequence[object], confidence: float) -> JointLaw:
        """The law of least squares."""
        questions = [one_question(self.schema, question) for question in asked]
        words, counted = tuple(map(question_in_words, questions)), self.counted_rows
        boxes = as_boxes(self.schema, questions)
        return TableLaw(release=self, boxes=boxes, words=words, confidence=confidence, counted=counted)

    def _weights(self, name: str, cells: Cells) -> Reals:
        """1 for each of these cells of an attribute, 0 for the others."""
        return np.isin(np.arange(self.wanted.sides[name]), cells).astype(float)

    def _around(self, counts: Reals, centres: Reals, moments: Moments, confidence: float) -> Interval:
        """The bounds of least squares, widened to include the counts; infinite where the variance is infinite."""
        known = np.isfinite(moments.variances)
        finite = Moments(np.where(known, moments.variances, 1.0), moments.fourths)
        far = np.where(known, radius(finite, confidence), np.inf)
        lower, upper = np.minimum(centres - far, counts), np.maximum(centres + far, counts)
        lower = np.where(known, np.maximum(lower, np.minimum(counts, 0.0)), lower)  # no true count is below 0
        return self._interval(counts, lower, upper, confidence, "" if known.all() else NO_BOUNDS)

    def _interval(self, counts: Reals, lower: Reals, upper: Reals, confidence: float, note: str = "") -> Interval:
        """Exact where the choice of measurements does not depend on the data: the noise then has the same law on all
        data."""
        if self.algorithm in ("all-pairs", "all-tables") and not self.bought:
            return Interval(counts, lower, upper, confidence, "exact", note=note)
        means = APPROXIMATE.format(rate=f"{100 * confidence:g}")
        return Interval(counts, lower, upper, confidence, "approximate", note=note, means=means)

    def slice_counts(self, part: Slice) -> Reals:
        """The estimated counts of some cells of one attribute, from the table of the attributes in the slice."""
        return _sliced(self.table(*part.group).counts, part)

    def slice_bounds(self, queries: Queries, confidence: float, *, part: Slice) -> Interval:
        """Bounds on sums of these counts, around least squares: unbiased, so that bounds derived from them hold too."""
        squares = self.estimated.squares
        if squares.missing(*part.group):
            endless = np.full(queries.count, np.inf)
            return self._interval(0 * endless, -endless, endless, confidence, NO_BOUNDS)
        others = {name: self._weights(name, cells) for name, cells in part.others.items()}
        laws = []
        for rows in queries.rows():
            weights = np.zeros((len(rows), self.wanted.sides[part.attribute]))
            weights[:, part.cells] = rows
            laws.append(self.law.of_sums(part.attribute, weights, others))
        centres = np.asarray(queries @ _sliced(squares.table(*part.group), part), dtype=np.float64)
        variances, fourths = map(np.concatenate, zip(*laws, strict=True))
        far = radius(Moments(variances, fourths), confidence)
        return self._interval(centres, centres - far, centres + far, confidence)

    def bounds_together(self, group: tuple[str, ...], confidence: float) -> Interval:
        """Bounds on all cells of a table that hold simultaneously: the error probability is divided over the cells."""
        cells = self.wanted.size(group)
        return replace(table_interval(self, group, 1 - (1 - confidence) / cells), confidence=confidence)

    def errors_together(self, group: tuple[str, ...]) -> Reals:
        """Normal errors with the covariances of least squares: each part of the table is independent of the others, and
        adds up to 0 along each of its attributes."""
        squares, shape = self.estimated.squares, tuple(self.wanted.sides[name] for name in group)
        if squares.missing(*group):
            return np.full((1, math.prod(shape)), np.inf)
        random, errors = np.random.default_rng(0), np.zeros((_DRAWN, *shape))
        for kept in itertools.product((False, True), repeat=len(group)):
            names = in_order(tuple(name for name, own in zip(group, kept, strict=True) if own), self.wanted.sides)
            sides = [side if own else 1 for side, own in zip(shape, kept, strict=True)]
            part = random.standard_normal((_DRAWN, *sides)) * math.sqrt(squares.variances.get(names, 0.0))
            for axis, own in enumerate(kept, start=1):
                part = part - part.mean(axis=axis, keepdims=True) if own else part / shape[axis - 1]
            errors += part
        return errors.reshape(_DRAWN, -1)

    def combined_with(self, others: Sequence[Self]) -> TablesRelease:
        """One release with the measurements of all: least squares weights each by its noise."""
        releases = [self, *others]
        for what in ("task", "algorithm", "options"):
            different = [release for release in others if getattr(release, what) != getattr(self, what)]
            if different:
                both = listing([str(getattr(release, what)) for release in (self, different[0])])
                raise BadInput(f"releases of tables are combined if they have the same {what}; these have {both}.")
        return replace(
            self,
            epsilon=sum((release.epsilon for release in releases), Fraction(0)),
            measured=tuple(table for release in releases for table in release.measured),
            why=f"{self.why}; put together from {len(releases)} releases",
            bought=tuple(look for release in releases for look in release.bought),
            receipt=joint_receipt([release.receipt for release in releases]),
            misfits=None,
            unfinished=next((release.unfinished for release in releases if release.unfinished), None),
            kept=None,
        )

    def same_noise(self, other: Released) -> bool:
        """Whether both have the same counts of a table, from the same entries of a ledger."""
        if not isinstance(other, TablesRelease) or set(self.receipt.entries).isdisjoint(other.receipt.entries):
            return False
        return any(
            own.group == its.group and np.array_equal(own.counts, its.counts)
            for own, its in itertools.product(self.measured, other.measured)
        )

    @property
    def ranked_by(self) -> tuple[str, ...]:
        """The attributes of the table, if there is only one table."""
        return self.groups[0] if len(self.groups) == 1 else ()

    @cached_property
    def expected_error(self) -> ExpectedError:
        """The expected error of the cells of all requested tables, from the variances of least squares.

        Where the measurements determine all tables, denoising is meant to improve on it. Otherwise the error of pairs
        that were not measured is an upper limit; see :func:`adyton.marginals.pair_model.expected_errors`. For other
        tables that were not measured it is the noise alone.
        """
        wanted, squares, total = self.wanted, self.estimated.squares, 0.0
        kind: ErrorKind = "upper mark"
        for group in self.groups:
            variance = wanted.summed_variance(squares, group)
            if not math.isfinite(variance):
                pair = self.expected_pairs.get(in_order(group, wanted.sides))
                of_pair: ErrorKind = "noise only" if pair is None else "upper limit"
                kind = "noise only" if kind == "noise only" else of_pair
                each = self._noise(group) if pair is None else pair.squared
                variance = wanted.asked_of(group) * each / wanted.size(group)
            total += variance
        return ExpectedError(math.sqrt(total), wanted.queries, kind)

    def _noise(self, group: Group) -> float:
        """Σ of the variances of all cells of a product of single attributes: Σ_i n_i·Var_i·Π_{j≠i} Σ p_j²."""
        model, squares = self.model, self.estimated.squares
        shares = {name: float(((model.singles[name] / max(model.total, 1e-9)) ** 2).sum()) for name in group}
        return sum(
            model.singles[name].size
            * squares.variance(name)
            * math.prod(shares[other] for other in group if other != name)
            for name in group
        )

    # ---- frames and rows --------------------------------------------------------------------------------------------

    def to_arrow(
        self, attributes: str | Sequence[str] | None = None, *, confidence: float | None = CONFIDENCE
    ) -> pa.Table:
        """The lines of its CSV file as an Arrow table: all requested tables, with ``lower`` and ``upper``.

        With *attributes*, the table of these only. Bounds come from least squares, widened to include the count; a
        table that was not completely measured has none, and a single one says so in the column ``note`` and a warning.
        """
        if attributes is None:
            return super().to_arrow(confidence=confidence)
        return self.table(*one_by_one((attributes,), self.schema)).to_arrow(confidence=confidence)

    @cached_property
    def row_source(self) -> ModelRows:
        """The model of pairs."""
        return ModelRows(self.model)

    @property
    def rows_estimated(self) -> int:
        """The number of rows in the model, rounded."""
        return max(0, round(self.model.total))

    # ---- for people and files ---------------------------------------------------------------------------------------

    def unmeasured(self, *, complete: bool = True) -> str:
        """How many pairs were not measured of those that the request is about, and which of them may be farthest off;
        the latter only if *complete*."""
        return self._unmeasured_of(list(self.wanted.pairs), complete=complete)

    def missing_in_rows(self) -> str:
        """The same of all pairs of attributes."""
        return self._unmeasured_of(list(itertools.combinations(self.wanted.sides, 2)))

    def _unmeasured_of(self, every: Sequence[Pair], *, complete: bool = True) -> str:
        groups = (in_order(table.group, self.wanted.sides) for table in self.measured)
        together = {pair for group in groups for pair in itertools.combinations(group, 2)}
        missing = [pair for pair in every if pair not in together]
        if not missing:
            return ""
        if len(missing) == len(every):
            nothing = "these tables, and rows made from them, say nothing about how attributes depend on each other"
            return f"No pair of attributes was measured: {nothing}.{self._too_few() if complete else ''}"
        said = (
            f"{len(missing):,} of {len(every):,} pairs of attributes were not measured: in these tables, and in rows "
            "made from them, such attributes depend on each other only as far as it follows from measured pairs."
        )
        errors = {pair: self.expected_pairs.get(pair) for pair in missing} if complete else {}
        limits = {pair: error.total_variation for pair, error in errors.items() if error is not None and error.limit}
        if not limits:
            return said
        largest = sorted(limits, key=lambda pair: -limits[pair])[:_NAMED]
        named = [f"{' × '.join(pair)} ({percent(limits[pair])})" for pair in largest]
        more = [f"{len(limits) - len(named):,} more"] * (len(limits) > len(named))
        return f"{said} Up to so many of all rows may be in a wrong cell ({LIMIT}): {joined([*named, *more])}."

    def _too_few(self) -> str:
        """Why no pair was measured, although a look may have found that attributes depend on each other."""
        looks = {look.name.removesuffix(IN_GROUPS): look for look in self.bought}
        look = looks.get(DEPENDENCE, looks.get(DISTANCE))
        if look is None or self.unfinished is not None:
            return ""
        rows, pairs = max(self.model.total, 1.0), self.wanted.pairs
        epsilon, cells = self.epsilon / self.rows_per_unit, sum(map(self.wanted.size, pairs))
        part, off = (number / (2 * rows) for number in (look.value, look.deviation))
        found = " A noisy look could not tell whether they do."
        if part > 2 * off:
            about = f"{percent(min(part, 1.0))} (± {percent(off)})"
            found = f" A noisy look found about {about} of all rows in other cells than independence would put them, "
            found += "with the noise in tables of single attributes."
        return (
            f"{found} About {rows:,.0f} rows times ε = {display(epsilon)} are {rows * float(epsilon):,.3g}, for "
            f"{len(pairs):,} pairs of {cells:,} cells: measuring some would have added more error than it removes."
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """Those of every result, and what to do about pairs that were not measured."""
        return (*super().notes, *([Note(_ALONE, "producer")] if self.unmeasured(complete=False) else []))

    @property
    def coverage(self) -> Coverage:
        """Which rows are in it: each table was measured on those whose values are known in its own attributes."""
        return self._covered(self.schema, place="are in these tables", apart=True)

    def total(self) -> Total:
        """The number of rows of the model."""
        return Total(self.model.total, float(np.sqrt(self.law.of(())[0])))

    @property
    def extent(self) -> str:
        """The numbers of tables, attributes and cells."""
        cells = sum(len(axis) for axis in self.axes.values())
        return f"; {len(self.groups):,} tables of {len(self.axes)} attributes with {cells:,} cells of their own"

    def own_paragraphs(self) -> tuple[str, ...]:
        """What was measured and why, and the expected errors of the tables."""
        return self._way_in_words(), self._errors_in_words()

    def _way_in_words(self) -> str:
        looks = [look for look in self.bought if look.name in (DEPENDENCE, DEPENDENCE + IN_GROUPS)]
        if looks:
            look, price = looks[0], display(looks[0].spent * self.rows_per_unit)
            return (
                f"Algorithm: {self.algorithm}, chosen by the tables of single attributes and by {look.words} "
                f"({look.value:,.6g} ± {look.deviation:,.3g}, noisy), for ε = {price}: {self.why}."
            )
        about = ""
        if self.bought:
            rows = self.bought[0]
            about = f", for about {rows.value:,.0f} rows (± {rows.deviation:,.3g}, noisy)"
        return f"Algorithm: {self.algorithm}, as asked: {self.why}{about}."

    def _errors_in_words(self) -> str:
        """As total variation, relative to the number of rows, so that tables can be compared."""
        columns = self._error_columns()
        known = [error for error in columns["expected_error"] if error is not None]
        ways = ", ".join(f"{number:,} {how}" for how, number in Counter(columns["how"]).most_common())
        if not known:
            return f"Tables: {ways}. Their errors depend on the data and have no closed form."
        every = len(known) == len(self.groups)
        rest = "" if every else f" ({len(known):,} of them; the errors of the others depend on what was not measured)"
        sentences = [f"Tables: {ways}."]
        of = {
            kind: [
                error for error, its in zip(columns["expected_error"], columns["error_is"], strict=True) if its == kind
            ]
            for kind in ("expected", LIMIT)
        }
        if of["expected"]:
            tables = f" of {len(of['expected']):,} tables" if of[LIMIT] else ""
            sentences.append(
                f"Expected error{tables}{rest}: about {percent(float(np.mean(of['expected'])))} of all rows are in a "
                f"wrong cell, on average (total variation)."
            )
        if of[LIMIT]:
            groups = any(look.name.endswith(IN_GROUPS) for look in self.bought)
            chance = ", with what single cells differ by chance" if groups else ""
            sentences.append(
                f"Of {len(of[LIMIT]):,} pairs that were not measured, up to about "
                f"{percent(float(np.mean(of[LIMIT])))} of all rows are in a wrong cell, on average: the {LIMIT} of "
                f"the noisy look at how far pairs are from independence{chance}."
            )
        return " ".join((*sentences, "errors() lists it."))

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """All requested tables."""
        return Sheets(TABLES, tuple(self._sheet(group, confidence) for group in self.groups), confidence)

    def _sheet(self, group: Sequence[str], confidence: float | None) -> Sheet:
        """A table with its bounds, where they are finite."""
        return replace(self.table(*group).sheet(confidence), note="")

    def more_sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> tuple[Sheets, ...]:
        """The expected error of each table."""
        labels = self._error_columns()
        values = np.array(labels.pop("expected_error"), dtype=np.float64)
        return (Sheets(ERRORS, (Sheet(labels, (Column("expected_error", values),), counted=self.counted_rows),)),)

    def explained(self) -> tuple[Sheets, ...]:
        """The expected error of each table."""
        return self.more_sheets()

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """The first requested tables of one or two attributes."""
        from adyton.report.tables import drawings  # loaded only where something is drawn

        return drawings(self, most)

    def view(self) -> View:
        """A page with a grid of pairs, and a table for every square."""
        from adyton.report.tables import view  # loaded only where a page is made

        return view(self)

    def glance(self, *, bounds: bool = False) -> Sheets:
        """The first table."""
        first, *others = self.groups
        rate = CONFIDENCE if bounds else None
        more = sum(map(self.wanted.size, others))
        return Sheets(TABLES, (self._sheet(first, rate),), rate, more=more)

    def plot(self, path: str | os.PathLike[str] | None = None, *, attributes: Sequence[str] = ()) -> Figure:
        """Pictures of the first requested tables, or of one or two *attributes*."""
        from adyton.report.plot import plot  # loads matplotlib
        from adyton.report.tables import drawing_of

        return plot(self, path, [drawing_of(self, attributes)] if attributes else None)

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """All measurements, and the model: computed if *complete*, else only if it was read from a file."""
        model = self.model if complete else self.kept
        tables = [
            {
                "group": list(table.group),
                "variance": table.variance,
                "counts": np.asarray(table.counts).ravel().tolist(),
                **({"maps": plain_maps(table.maps)} if any(table.maps) else {}),
            }
            for table in self.measured
        ]
        return {
            "why": self.why,
            "bought": [look.to_plain() for look in self.bought],
            "measured": tables,
            **({"expected_errors": self._error_list()} if complete else {}),
            "model": None if model is None else model.to_dict(),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> TablesRelease:
        """A release from its saved form: noisy tables of few attributes, at least one for every attribute."""
        schema, task, epsilon = common["schema"], common["task"], common["epsilon"]
        if not isinstance(task, Marginals) or task.select(schema) != schema:
            raise BadInput("the task is about other attributes than the schema")
        wanted = TableSet.by(task, schema)
        wanted.check()
        program_named(common["algorithm"], **common["options"])
        return cls(
            **common,
            measured=_measured(part_of(plain, "measured"), wanted),
            why=as_text(part_of(plain, "why"), "why"),
            bought=tuple(read_bought(look, epsilon) for look in of_kind(list, part_of(plain, "bought"), "bought")),
            kept=_model(part_of(plain, "model"), wanted),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class TableLaw(JointLaw):
    """Answers from tables: the released ones from the model, bounds around those of least squares."""

    release: TablesRelease
    boxes: Sequence[dict[str, Cells]]

    @cached_property
    def answers(self) -> Reals:
        """As :meth:`TablesRelease.answer` has them."""
        return np.array([self._counted(box, self._table) for box in self.boxes])

    def _table(self, *group: str) -> Reals:
        return self.release.table(*group).counts if group else np.array(self.release.model.total)

    def _counted(self, box: dict[str, Cells], table: Callable[..., Reals]) -> float:
        group = in_order(tuple(box), self.release.wanted.sides)
        return _inside(table(*group), group, box)

    def interval(self, weights: Reals) -> Interval:
        """Around least squares, which is unbiased; without bounds where not all was measured."""
        moments, endless = self.moments(weights), np.full(len(weights), np.inf)
        if moments is None:
            return self.release._interval(weights @ self.answers, -endless, endless, self.confidence, NO_BOUNDS)
        squares = self.release.estimated.squares
        middle = np.asarray(weights @ np.array([self._counted(box, squares.table) for box in self.boxes]))
        far = radius_of_sums(moments, self.confidence, whole=is_whole(weights))
        return self.release._interval(middle, middle - far, middle + far, self.confidence)

    def moments(self, weights: Reals) -> Moments | None:
        """The moments of least squares; None where not all was measured."""
        release = self.release
        if any(release.estimated.squares.missing(*box) for box in self.boxes):
            return None
        boxes = [{name: release._weights(name, cells) for name, cells in box.items()} for box in self.boxes]
        return Moments(*release.law.of_boxes(boxes, weights))


def expected_of(model: PairModel, wanted: TableSet, bought: Iterable[Bought]) -> dict[Group, Expected]:
    """The expected error of every pair, given the looks that were *bought*, where something is known of it."""
    looks = [look for look in bought if look.name.removesuffix(IN_GROUPS) in (DEPENDENCE, DISTANCE)]
    of_groups = any(look.name.endswith(IN_GROUPS) for look in looks)
    known = [look for look in looks if look.name.endswith(IN_GROUPS) == of_groups and math.isfinite(look.deviation)]
    distance = None
    if known:
        values, deviations = ([getattr(look, name) for look in known] for name in ("value", "deviation"))
        distance = float(np.mean(values)), math.hypot(*deviations) / len(known)
    return dict(expected_errors(model, wanted.pairs, distance, in_groups=of_groups).items())


def table_interval(release: TablesRelease, group: Group, confidence: float) -> Interval:
    """Bounds for every cell of a table, in its shape. Of cells that were measured in groups: at most what their group
    has."""
    counts, squares = release.table(*group).counts, release.estimated.squares
    lacking = squares.missing(*group)
    in_groups = release.finest_groups(group) if lacking else None
    if in_groups is not None:
        return _bounds_of_groups(release, counts, in_groups, confidence)
    centres = np.zeros(counts.shape) if lacking else squares.table(*group)
    variance, fourth = (math.inf, 0.0) if lacking else release.law.of(group)
    moments = Moments(np.full(counts.shape, variance), np.full(counts.shape, fourth))
    return release._around(counts, centres, moments, confidence)


def _bounds_of_groups(release: TablesRelease, counts: Reals, measured: MeasuredTable, confidence: float) -> Interval:
    """A cell has at most the rows of its group, and all of them if it is alone there."""
    noisy = np.asarray(measured.counts, dtype=np.float64)
    variances = np.full(noisy.shape, measured.variance)
    far = radius(Moments(variances, laplace_excess(measured.variance) * variances**2), confidence)
    low, high = noisy - far, np.maximum(noisy + far, 0.0)
    alone = merged(np.ones(counts.shape), measured.maps) == 1
    low = np.where(alone, np.maximum(low, 0.0), 0.0)
    lower, upper = (_spread_out(bounds, measured.maps) for bounds in (low, high))
    note = NO_LOWER if not alone.all() else ""
    return release._interval(counts, np.minimum(lower, counts), np.maximum(upper, counts), confidence, note)


def _spread_out(table: Reals, maps: Maps) -> Reals:
    """For each cell what the table has for its group."""
    for axis, groups in enumerate(maps):
        if groups is not None:
            table = table.take(groups.labels, axis)
    return table


def _inside(table: Reals, group: Group, box: Mapping[str, Cells]) -> float:
    """The sum of a box of cells."""
    return float(table[np.ix_(*(box[name] for name in group))].sum()) if group else float(table)


def _sliced(table: Reals, part: Slice) -> Reals:
    """The counts of a slice out of the table of its attributes."""
    chosen = table[part.cells]
    for cells in part.others.values():
        chosen = chosen[:, cells].sum(axis=1)
    return np.asarray(chosen)


# ---- from a file ----------------------------------------------------------------------------------------------------


def _measured(plain: object, wanted: TableSet) -> tuple[MeasuredTable, ...]:
    """Noisy tables of few attributes, at least one for every attribute."""
    tables, cells, allowed = [], 0, set(wanted.counted)
    for entry in of_kind(list, plain, "measured"):
        group = tuple(as_text(name, "an attribute") for name in of_kind(list, part_of(entry, "group"), "a group"))
        few = 0 < len(group) <= _MOST_ATTRIBUTES and all(name in wanted.sides for name in group)
        if group not in allowed and not (few and in_order(group, wanted.sides) == group):
            raise BadInput(f"{shorten(group)} is not a table that is measured for this task")
        maps = _maps(entry, group, wanted)
        shape = tuple(
            wanted.sides[name] if groups is None else groups.groups for name, groups in zip(group, maps, strict=True)
        )
        cells += math.prod(shape)
        if cells > _MOST_CELLS:
            raise BadInput(f"the measured tables have more than {_MOST_CELLS:,} cells")
        variance = as_real(part_of(entry, "variance"), "a variance")
        if not variance > 0:
            raise BadInput(f"a variance must be above 0, given {variance}")
        counts = _counts(part_of(entry, "counts"), shape)
        tables.append(MeasuredTable(group, counts, variance, maps if any(maps) else ()))
    lacking = set(wanted.sides).difference(*(table.group for table in tables if not any(table.maps)))
    if lacking:
        raise BadInput(f"no measured table has the attribute {shorten(min(lacking))}")
    return tuple(tables)


def _maps(entry: Mapping[str, Any], group: Group, wanted: TableSet) -> Maps:
    """The groups of cells that were counted together; of pairs only."""
    if entry.get("maps") is None:
        return (None,) * len(group)
    try:
        maps = maps_of(entry["maps"], [wanted.sides[name] for name in group])
    except ValueError:
        maps = ()
    if len(maps) != 2:
        raise BadInput(
            f"the groups of cells of {shorten(group)} must be, for each of two attributes, null or the number of the "
            "group of each of its cells, 0, 1, 2 … without gaps"
        )
    return maps


def _counts(plain: object, shape: tuple[int, ...]) -> Integers:
    cells = of_kind(list, plain, "counts")
    if len(cells) != math.prod(shape) or not all(type(cell) is int and -SAFE <= cell <= SAFE for cell in cells):
        raise BadInput(f"counts must be whole numbers in the shape {shape}, none of them beyond ±2^62")
    return np.array(cells, dtype=np.int64).reshape(shape)


def _model(plain: object, wanted: TableSet) -> PairModel | None:
    """The saved model: of these attributes, with the pairs in their order."""
    if plain is None:
        return None
    model = PairModel.from_dict(of_kind(dict, plain, "model"))
    sides = wanted.sides
    if model.sides != sides or list(model.sides) != list(sides):
        raise BadInput("the model is about other attributes than the schema")
    for group in (*model.pairs, *model.fitted, *model.errors):
        if tuple(in_order(group, sides)) != tuple(group):
            raise BadInput("the tables of the model are not in the order of the schema")
    if not all(0 <= error <= float(SAFE) for error in model.errors.values()):
        raise BadInput("the errors of the model must be at least 0")
    return model
