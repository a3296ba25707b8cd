"""A release of counts: the estimated count of every cell, what is computed from it, and how it is saved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from adyton.arrays import Reals
from adyton.choice.decision import Choice
from adyton.choice.pythia import Chosen
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.messages import listing, shorten
from adyton.plans.base import ExpectedError, Plan
from adyton.plans.registry import plan_named
from adyton.queries import Identity, Marginals, Queries
from adyton.result.combining import COMBINED, MOST, averaged, check_same, noise_of_parts
from adyton.result.coverage import Coverage, Total
from adyton.result.intervals import Interval
from adyton.result.joint_law import CellLaw, JointLaw
from adyton.result.known import Adjustment, KnownNoise, contradicted
from adyton.result.noise_model import MOST_QUERIES, CombinedNoise, NoiseModel
from adyton.result.number import cut_off
from adyton.result.receipt import read_choice
from adyton.result.released import Released, Slice, Table, one_by_one
from adyton.result.result import result_from
from adyton.result.rows import CellRows
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Look, Sheets, rate_of, with_counted
from adyton.result.shown import (
    CELLS,
    TOO_MANY_LINES,
    arrow_of,
    cell_sheets,
    choice_in_words,
    error_in_words,
    sheets_of,
    shown_estimate,
)
from adyton.schema.plain_values import as_plain, as_real, of_kind, part_of
from adyton.tasks import as_queries
from adyton.tasks.known import KnownTotals
from adyton.tasks.questions import one_question, question_in_words
from adyton.whole import SAFE

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.report.pictures import Drawing

QUICK = 1 << 12
"""Up to this many cells, bounds and errors take little time; with more, a notebook does not wait for them."""
_SIMULATED = 1 << 17
"""How many cells are simulated in all to find errors that have no closed form."""
_FEWEST_DRAWN, _MOST_DRAWN = 50, 1 << 22
"""How many times the noise is drawn to rank cells, at least, and how many cells are drawn in all."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release(Released):
    """The estimated count of every cell of some attributes, which answers any query about them for free.

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
    at_once = looks = holds_back = True
    bulky = ("estimate", "parts", "before", "known", "measured")

    estimate: Reals
    """The estimated count of every cell, in the shape of the domain. Noise makes some fractional or negative."""
    choice: Choice | None
    """How the algorithm was chosen, if it was: the features bought, their price, and all expected errors."""

    measured: Reals | None = None
    """The noisy answers that the estimate was computed from, in the order of the algorithm's queries, if these were
    fixed beforehand and the estimate does not follow from them by linear equations. Intervals use them."""
    parts: tuple[Release, ...] = ()
    """The releases that :func:`adyton.combine` made it from, if it did; then *algorithm* is ``combined``."""
    weights: tuple[float, ...] = ()
    """The weight of each part; the weights add up to 1."""
    known: KnownTotals | None = None
    """The public totals that the estimate was adjusted to, if any; ε does not cover them."""
    before: Reals | None = None
    """The estimate before it was adjusted to known totals."""

    def __post_init__(self) -> None:
        for name in ("estimate", "before"):
            if getattr(self, name) is not None:
                frozen = np.array(getattr(self, name), dtype=np.float64)
                frozen.setflags(write=False)
                object.__setattr__(self, name, frozen)
        if self.measured is not None:
            kept = None if self.parts or self._plan.linear else np.clip(np.array(self.measured, float), -SAFE, SAFE)
            object.__setattr__(self, "measured", kept)

    @cached_property
    def workload(self) -> Queries:
        """The queries that the algorithm was run for."""
        return self.task.workload(self.schema)

    @cached_property
    def expected_error(self) -> ExpectedError:
        """The expected error on the task's queries: from a closed form or, if there is none, from running the algorithm
        again on its published estimate."""
        computed = self.noise.expected_error()
        return self.noise.resampled_error() if computed is None else computed

    @cached_property
    def noise(self) -> NoiseModel:
        """The noise model: how the answers scatter around the true ones."""
        if self.known is not None:
            return KnownNoise.adjusting(self._noise_before, self.known, self.schema, self._adjustment)
        return self._noise_before

    @property
    def _cells_before(self) -> Reals:
        """The estimate before it was adjusted to known totals."""
        return self.estimate if self.before is None else self.before

    @cached_property
    def _noise_before(self) -> NoiseModel:
        """The noise model of the estimate before it was adjusted to known totals."""
        estimate = self._cells_before
        if self.parts:
            return CombinedNoise.of(noise_of_parts(self.parts), self.weights, estimate)
        counting = self.epsilon - (self.misfits.epsilon if self.misfits else 0)
        row_epsilon = counting / self.rows_per_unit if self.choice is None else self.choice.left
        return NoiseModel(self._plan, self.workload, row_epsilon, estimate, self.measured)

    @cached_property
    def _adjustment(self) -> Adjustment:
        """How the estimate is adjusted to known totals."""
        assert self.known is not None
        return Adjustment.of(self._noise_before, self.known, self.schema)

    def with_known(self, known: object) -> Release:
        """The same release, adjusted to counts that are public: estimates agree with them, and errors shrink.

        *known* is a number of rows, or a table with a column for each attribute and the columns ``count`` and, for
        totals that are not exact, ``error`` (the standard deviation): a mapping of columns, a frame, a CSV file, or a
        list of these. Where an attribute is blank, the total is of all its values. This costs no privacy, and ε does
        not cover the totals: they must be public, and count the same rows as the release. ``with_known(None)`` is the
        release without them.

        >>> import pandas, adyton as ad
        >>> table = pandas.DataFrame({"ward": ["a", "a", "b"] * 1000, "sex": ["F", "M"] * 1500})
        >>> schema = ad.Schema({"ward": ad.Categorical(["a", "b"]), "sex": ad.Categorical(["F", "M"])})
        >>> release = ad.Session(table, schema=schema, epsilon=1).release(ad.Histogram("ward", "sex"), epsilon=1)
        >>> known = release.with_known({"ward": ["a", "b"], "count": [2000, 1000]})
        >>> known.table("ward").counts.round(6).tolist(), known.interval([{"ward": "a"}]).lower.round(6).tolist()
        ([2000.0, 1000.0], [2000.0])
        """
        if known is None:
            if self.before is None:
                return self
            return replace(self, estimate=self.before, known=None, before=None)
        totals = KnownTotals.of(known)
        if self.known is not None:
            totals = self.known.and_more(totals)
        adjusted = replace(self, known=totals.checked(self.schema), before=self._cells_before)
        release = replace(adjusted, estimate=adjusted._adjustment.estimate.reshape(self.estimate.shape))
        release.__dict__.update({name: adjusted.__dict__[name] for name in ("_noise_before", "_adjustment")})
        return release

    @property
    def _plan(self) -> Plan:
        """The plan that was run, including the steps after it."""
        if self.choice is None:
            return plan_named(self.algorithm, **self.options)
        return Chosen.named(self.algorithm, finished=self.choice.finished, **self.options)

    # ---- tables -----------------------------------------------------------------------------------------------------

    def table(self, *attributes: str) -> Table:
        """The table of some attributes, summed over the others: ``release.table("age", "sex")``.

        Its ``.how`` says whether it was measured, was estimated by an algorithm that adapts to the data, or was filled
        in evenly because the task did not ask for it.
        """
        group = one_by_one(attributes, self.schema)
        counts, how, bounds = self._summed(group), self._how_summed(group), partial(self._bounds_of, group)
        return Table(group, self.labels(group), counts, how, counted=self.counted_rows, bounds=bounds)

    def unbiased(self, *attributes: str) -> Table:
        """The same with the exact standard error of each count; refused unless the algorithm is linear and the table
        follows from its measurements."""
        group = one_by_one(attributes, self.schema)
        queries = self._marginal(group)
        if self.noise.kind(queries) != "exact":
            why = (
                "it does not follow from what was measured"
                if not self.noise.determines(queries)
                else f"{self.algorithm} is not linear, so its errors depend on the data"
            )
            raise BadInput(
                f"there is no unbiased table of {listing(group)}: {why}. table({listing(group)}) estimates it. For "
                "unbiased tables release marginals with all-pairs, identity, hdmm or another linear algorithm."
            )
        errors = self._in_order(group, np.sqrt(self.noise.variances(queries)))
        counts, counted, bounds = self._summed(group), self.counted_rows, partial(self._bounds_of, group)
        return Table(group, self.labels(group), counts, "least squares", errors, counted=counted, bounds=bounds)

    def error_lines(self) -> pa.Table:
        """A line for each requested table; for tasks without tables, one line for the table of all attributes.

        The expected total variation is ½·Σ min(E|error|, count)/N: from the variances if the algorithm is linear,
        otherwise from simulated runs on its published estimate.
        """
        import pyarrow as pa

        groups = self.task.tables(self.schema) or (self.schema.names,)
        sizes = [math.prod(len(self.axes[name]) for name in group) for group in groups]
        queries = Marginals(self.schema.shape, [sorted(self._places(group)) for group in groups])
        total, off = max(1.0, float(self.estimate.sum())), None
        if sum(sizes) <= _SIMULATED:
            off = self.noise.mean_absolute(queries)
        errors: list[float | None] = [None] * len(groups)
        if off is not None:
            parts = np.split(off, np.cumsum(queries.sizes)[:-1])
            counts = (np.maximum(self._summed(group), 0.0).ravel() for group in groups)
            errors = [float(np.minimum(*pair).sum() / (2 * total)) for pair in zip(parts, counts, strict=True)]
        columns = {
            "table": [" × ".join(group) for group in groups],
            "cells": sizes,
            "expected_error": pa.array(errors, type=pa.float64()),
            "how": [self._how_summed(group) for group in groups],
        }
        return pa.table(with_counted(columns, self.counted_rows, len(groups)))

    @property
    def table_places(self) -> list[tuple[int, ...]]:
        """The axes of each requested table, in the order of the workload."""
        return [tuple(self._places(group)) for group in self.task.tables(self.schema)]

    @property
    def tables_alone(self) -> bool:
        """Whether the task asks for tables of some attributes, so that single cells are a by-product of little
        meaning."""
        return self.task.tables(self.schema) not in ((), (self.schema.names,))

    def _how_summed(self, group: Sequence[str]) -> str:
        """How the counts of a table were obtained."""
        queries = self._marginal(group)
        if not self.noise.determines(queries):
            return "filled in evenly"
        return "measured" if self.noise.kind(queries) == "exact" else f"estimated by {self.algorithm}"

    def _places(self, group: Sequence[str]) -> list[int]:
        return [self.schema.names.index(name) for name in group]

    def _marginal(self, group: Sequence[str]) -> Marginals:
        return Marginals(self.schema.shape, [sorted(self._places(group))])

    def _summed(self, group: Sequence[str]) -> Reals:
        """The counts of some attributes, summed over the others."""
        places = self._places(group)
        others = tuple(axis for axis in range(self.estimate.ndim) if axis not in places)
        return _transposed(self.estimate.sum(axis=others), places)

    def _bounds_of(self, group: Sequence[str], confidence: float) -> Interval:
        """Bounds on each cell of a table, in its shape; none for too many cells."""
        queries = self._marginal(group)
        if queries.count > MOST_QUERIES:
            counts, endless = self._summed(group), np.inf
            lower, upper = np.full(counts.shape, -endless), np.full(counts.shape, endless)
            return Interval(counts, lower, upper, confidence, "approximate", note=TOO_MANY_LINES)
        return self.noise.interval(queries, confidence).arranged(lambda cells: self._in_order(group, cells))

    def _in_order(self, group: Sequence[str], cells: Reals) -> Reals:
        """The cells of a table, from the order of the schema to the requested order."""
        places = self._places(group)
        return _transposed(cells.reshape([self.schema.shape[place] for place in sorted(places)]), places)

    # ---- answers ----------------------------------------------------------------------------------------------------

    @cached_property
    def row_source(self) -> CellRows:
        """Synthetic rows are made from the cells."""
        return CellRows(self.schema, self.estimate)

    @property
    def rows_estimated(self) -> int:
        """The sum of all cells."""
        return max(0, round(float(self.estimate.sum())))

    def slice_counts(self, part: Slice) -> Reals:
        """The estimated counts of some cells of one attribute: sums of the estimate."""
        sums = part.widened(Identity(part.cells.stop - part.cells.start), self.schema) @ self.estimate
        return np.asarray(sums, dtype=np.float64)

    def slice_bounds(self, queries: Queries, confidence: float, *, part: Slice) -> Interval:
        """Bounds on sums of these counts."""
        return self.noise.interval(part.widened(queries, self.schema), confidence)

    def bounds_together(self, group: tuple[str, ...], confidence: float) -> Interval:
        """Bounds on all cells of a table that hold at the same time."""
        interval = self.noise.interval(self._marginal(group), confidence, together=True)
        return interval.arranged(lambda cells: self._in_order(group, cells))

    def errors_together(self, group: tuple[str, ...]) -> Reals:
        """Errors from simulated runs, fewer of them for many cells."""
        errors = self.noise.drawn(self._marginal(group), max(_FEWEST_DRAWN, _MOST_DRAWN // self.estimate.size))
        order = self._in_order(group, np.arange(errors.shape[1], dtype=np.float64))
        return errors[:, order.ravel().astype(np.int64)]

    @property
    def ranked_by(self) -> tuple[str, ...]:
        """All attributes, if the task is about their cells; those of its table, if it has one."""
        groups = self.task.tables(self.schema) or (self.schema.names,)
        return groups[0] if len(groups) == 1 else ()

    def combined_with(self, others: Sequence[Self]) -> Release:
        """The weighted average of this and other releases of the same attributes and rows."""
        if any(release.known is not None for release in (self, *others)):
            raise BadInput(
                "releases with known totals are combined without them: combine release.with_known(None) of each, then "
                "give the totals to the result, combined.with_known(…)."
            )
        return averaged([self, *others])

    def same_noise(self, other: Released) -> bool:
        """Whether a part of this and a part of the other have the same counts, from the same ledger entries."""
        return isinstance(other, Release) and any(
            left.receipt.entries == right.receipt.entries and np.array_equal(left._cells_before, right._cells_before)
            for left, right in itertools.product(self.parts or (self,), other.parts or (other,))
        )

    def answer(self, queries: object, *, integer: bool = False, nonnegative: bool = False) -> Reals:
        """The estimated answers to any queries, at no cost: ``release.answer([(20, 29), (65, None)])``.

        A query maps attributes to a value, a list of values, or (from, to) with both ends included; see
        :func:`adyton.tasks.as_queries`. With *integer* or *nonnegative* the answers are computed from such counts.
        """
        asked = as_queries(self.schema, queries)
        return np.asarray(asked @ shown_estimate(self, Look(integer, nonnegative)), dtype=np.float64)

    def interval(self, queries: object = None, confidence: float = 0.95) -> Interval:
        """Answers with confidence intervals, for *queries*, or for every cell if none are given.

        ``.meaning`` of the result says in plain words what the intervals promise.
        """
        asked = Identity(self.schema.shape) if queries is None else as_queries(self.schema, queries)
        interval = replace(self.noise.interval(asked, confidence), counted=self.counted_rows)
        return interval.arranged(lambda cells: cells.reshape(self.schema.shape)) if queries is None else interval

    def covariances(self, queries: object) -> Reals:
        """The covariances of the errors of the answers to some queries; see
        :meth:`adyton.result.noise_model.NoiseModel.covariances`."""
        return self.noise.covariances(as_queries(self.schema, queries))

    def joint_law(self, asked: Sequence[object], confidence: float) -> JointLaw:
        """The law of the noise model."""
        questions = [one_question(self.schema, question) for question in asked]
        words, counted = tuple(map(question_in_words, questions)), self.counted_rows
        queries = as_queries(self.schema, questions)
        return CellLaw(words=words, confidence=confidence, counted=counted, noise=self.noise, queries=queries)

    def to_arrow(
        self,
        attributes: str | Sequence[str] | None = None,
        *,
        confidence: float | None = CONFIDENCE,
        integer: bool = False,
        nonnegative: bool = False,
    ) -> pa.Table:
        """The lines of its CSV file as an Arrow table: what the task asked for, with ``lower`` and ``upper``.

        With *attributes*, a line for each cell of the table of these only, summed over the others. No count lies
        outside its bounds: where *integer* or *nonnegative* moved it, they are widened. Where there are no bounds, the
        column ``note`` and a warning say why. Bounds of algorithms that adapt to the data come from simulated runs:
        ``confidence=None`` does not wait for them.
        """
        return arrow_of(self, attributes, Look(integer, nonnegative), rate_of(confidence))

    # ---- what it shows and keeps ------------------------------------------------------------------------------------

    @property
    def coverage(self) -> Coverage:
        """Which rows are in it: those whose values are known in all of its attributes, in every table of it."""
        several = len(self.task.tables(self.schema)) > 1
        place = "are counted" if self.task.questions() else "are in these tables" if several else self.place
        return self._covered(None if self.task.per_unit else self.schema, place=place)

    def total(self) -> Total:
        """The sum of all cells. No algorithm has more noise in it than one count for each cell."""
        row_epsilon = float((self.epsilon - (self.misfits.epsilon if self.misfits else 0)) / self.rows_per_unit)
        noise = math.sqrt(2 * self.estimate.size) / row_epsilon
        noise = min((part.total().deviation for part in self.parts), default=noise)
        return Total(float(self._cells_before.sum()), noise)

    @property
    def extent(self) -> str:
        """The number of its cells, in words."""
        return f"; {self.estimate.size:,} cells"

    def own_paragraphs(self) -> tuple[str, ...]:
        """Why this algorithm ran, how far off the answers are, and what limits on rows per unit would leave out."""
        limits = () if self.task.last_class is None else cut_off(self)
        return (choice_in_words(self), *self.known_in_words(), error_in_words(self), *(f"{limit}." for limit in limits))

    def known_in_words(self) -> tuple[str, ...]:
        """The known totals, that ε does not cover them, and whether the measurements contradict them."""
        if self.known is None:
            return ()
        asked, model = self.known.queries(self.schema), self._noise_before
        answers = np.asarray(asked @ model.estimate, dtype=np.float64)
        warned = contradicted(self.known, self._adjustment, answers) if model.determines(asked) else ""
        limit = f" ({self.counted_rows})" if self.counted_rows else ""
        return (
            f"{warned}Known totals: {self.known}. The counts were "
            "adjusted to them. They were given as public information, and ε does not cover them. They are taken to "
            f"count the same {self.counted.noun} as this release{limit}: not those that the schema leaves out, because "
            "a value is missing or outside.",
        )

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """What the task asks for: marginals, cumulative counts, answers to queries, or the cells."""
        return sheets_of(self, look, confidence)

    def more_sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> tuple[Sheets, ...]:
        """The cells, if the task asks for something else."""
        same = self.sheets(look, None).file == CELLS
        return () if same else (cell_sheets(self, self.schema.names, look, confidence),)

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """The requested tables that can be drawn."""
        from adyton.report.counts import drawings  # the code for pictures is loaded when it is needed

        return drawings(self, most)

    def view(self) -> dict[str, Any]:
        """What its page says, with the expected error and why this algorithm was chosen."""
        from adyton.report.counts import view  # pages are loaded when one is made

        return view(self)

    def glance(self, *, bounds: bool = False) -> Sheets:
        """The sheets, with bounds if there are few cells and bounds can be computed."""
        if (bounds or self.hold is not None) and self.estimate.size <= QUICK:
            with suppress(Exception):  # the numbers are shown without bounds
                return self.sheets()
        return self.sheets(confidence=None)

    def remarks(self) -> tuple[str, ...]:
        """The algorithm, and the typical error of an answer if computing it takes no time."""
        how = f"By {self.algorithm} ({'chosen' if self.choice else 'combined' if self.parts else 'named'})"
        error = self.known_error if self.estimate.size <= QUICK else None
        adjusted = "" if self.known is None else "; adjusted to known totals, which ε does not cover"
        return (f"{how}{'' if error is None else f'; an answer is typically off by {error.per_query:.3g}'}{adjusted}.",)

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """The labels, the counts, the choice and the expected error."""
        error, known = self.known_error if complete else None, None
        if error is not None:
            known = {name: getattr(error, name) for name in ("per_query", "total", "queries", "kind", "runs")}
        described: dict[str, Any] = {
            "axes": self.axes,
            "expected_error": known,
            "choice": None if self.choice is None else self.choice.to_plain(),
        }
        if self.known is not None and self.before is not None:
            described |= {"known": self.known.to_plain(), "before": self.before.tolist()}
        if self.parts:
            parts = [part._body(complete=False) for part in self.parts]
            described |= {"weights": list(self.weights), "parts": parts}
        if self.measured is not None:
            described["measured"] = self.measured.tolist()
        return {**as_plain(described), "estimate": self.estimate.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> Release:
        """Read a release whose counts have the shape of the schema."""
        if common["algorithm"] == COMBINED:
            return _with_known(_combined(plain), plain)
        schema, algorithm, epsilon, misfits = (common[name] for name in ("schema", "algorithm", "epsilon", "misfits"))
        estimate = _estimate(part_of(plain, "estimate"), schema.shape)
        if common["task"].select(schema) != schema:
            raise BadInput("the task and the schema have different attributes.")
        choice = part_of(plain, "choice")
        counting = (epsilon - (misfits.epsilon if misfits else 0)) / schema.rows_per_unit
        try:
            release = cls(
                **{**common, "options": _options(common["options"], algorithm)},
                estimate=estimate,
                choice=None if choice is None else read_choice(choice, algorithm, counting),
                measured=_measured(plain.get("measured")),
            )
            release = _with_known(release, plain)
            _rehearse(release._noise_before)
        except BadInput:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError) as error:
            raise BadInput(
                f"a part of it is missing or malformed ({type(error).__name__}: {shorten(str(error))})."
            ) from None
        return release


def _transposed(table: Reals, places: list[int]) -> Reals:
    """A table with its axes in the order of *places*, from the order of the schema."""
    return np.ascontiguousarray(table.transpose([sorted(places).index(place) for place in places]))


# ---- reading ---------------------------------------------------------------------------------------------------------


def _combined(plain: Mapping[str, Any]) -> Release:
    """Read a combined release: each part as a release of its own, and their weights."""
    parts = of_kind(list, part_of(plain, "parts"), "parts")
    weights = [as_real(weight, "a weight") for weight in of_kind(list, part_of(plain, "weights"), "weights")]
    if not 2 <= len(parts) == len(weights) <= MOST or not all(0 <= weight <= 1 for weight in weights):
        raise BadInput(f"it must be combined from 2 to {MOST:,} parts, with a weight of 0 to 1 for each.")
    if abs(sum(weights) - 1) > 1e-9 or any(isinstance(part, Mapping) and "parts" in part for part in parts):
        raise BadInput("its weights must add up to 1, and its parts must not be combined themselves.")
    results = [result_from(part, Release._own_kind) for part in parts]
    releases = [result for result in results if isinstance(result, Release)]
    check_same(releases)
    return averaged(releases, weights)


def _with_known(release: Release, plain: Mapping[str, Any]) -> Release:
    """Read the known totals that a release was adjusted to, if any, and its estimate before."""
    if plain.get("known") is None:
        return release
    lines = of_kind(list, plain["known"], "known")
    if not all(isinstance(line, Mapping) for line in lines):
        raise BadInput("known must be a list of totals.")  # a text would be the name of a file
    known = KnownTotals.of(lines).checked(release.schema)
    before, estimate = (_estimate(part_of(plain, name), release.schema.shape) for name in ("before", "estimate"))
    return replace(release, known=known, before=before, estimate=estimate)


def _estimate(plain: object, shape: tuple[int, ...], name: str = "the estimate") -> Reals:
    """Read numbers in nested lists, one for each cell. Nothing is allocated for cells that do not exist."""
    cells: list[Any] = [plain]
    for side in shape:
        if not all(isinstance(cell, list) and len(cell) == side for cell in cells):
            raise BadInput(f"{name} must be numbers in the shape {shape}, and is not.")
        cells = list(itertools.chain.from_iterable(cells))
    numbers = set(map(type, cells)) <= {int, float}
    if not numbers or max(map(abs, cells), default=0) > SAFE or any(map(math.isnan, cells)):
        raise BadInput(f"{name} must be numbers in the shape {shape}, none of them beyond ±2^62.")
    estimate = np.array(cells, dtype=np.float64).reshape(shape)
    if np.abs(estimate).sum() > SAFE:
        raise BadInput(f"the counts of {name} must not exceed 2^62 together.")
    return estimate


def _measured(plain: object) -> Reals | None:
    """Read the noisy answers; releases of earlier versions have none."""
    return None if plain is None else _estimate(plain, (len(of_kind(list, plain, "measured")),), "measured")


def _options(options: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """Read the options of an algorithm: single values, in the types that it declares."""
    plan = plan_named(algorithm, **options)
    for name in options:
        value = getattr(plan, name)
        size = abs(Fraction(value)) if isinstance(value, int | float | Fraction) else 0
        if size and not Fraction(1, SAFE) <= size <= SAFE:
            raise BadInput(f"{name} is too large or too small, given {shorten(value)}.")
    return dict(options)


def _rehearse(model: NoiseModel) -> None:
    """Refuse a release that the algorithm itself would have refused."""
    plan, workload, epsilon = model.plan, model.workload, model.epsilon
    counts = np.zeros(workload.domain, dtype=np.int64)
    plan.admit(Kernel.simulated(counts, epsilon=epsilon, seed=0).root, workload, epsilon)
