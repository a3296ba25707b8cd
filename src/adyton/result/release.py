"""A release of counts: the estimated count of every cell, what follows from it, and its form in files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from adyton.arrays import Reals
from adyton.choice.decision import Choice
from adyton.choice.pythia import Chosen
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import exact
from adyton.kernel.kernel import Kernel
from adyton.messages import shorten
from adyton.plans.base import ExpectedError, Plan
from adyton.plans.registry import plan_named
from adyton.queries import Identity, Marginals, Queries
from adyton.result.combining import COMBINED, MOST, averaged, check_same, combined_noise, share_noise
from adyton.result.combining import in_words as combined_in_words
from adyton.result.folder import body_of, from_plain
from adyton.result.intervals import Interval, NoiseModel
from adyton.result.number import cut_off
from adyton.result.receipt import read_bought, read_figures
from adyton.result.released import Released, Slice, Table, one_by_one
from adyton.result.result import AS_IT_IS, CONFIDENCE, Look, choice_in_words, error_in_words
from adyton.result.rows import CellRows
from adyton.result.sheets import Sheets
from adyton.result.tables import (
    CELLS,
    asked_sheets,
    cell_errors,
    cell_sheets,
    cell_table,
    together,
    unbiased_table,
    within,
)
from adyton.schema.plain_values import as_amount, as_plain, as_real, as_text, of_kind, part_of
from adyton.tasks import as_queries
from adyton.whole import SAFE

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.report.pictures import Drawing
    from adyton.report.view import View

QUICK = 1 << 12
"""Up to so many cells bounds and errors take little time; beyond, a notebook should not have to wait for them."""


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
            return combined_noise(self)
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

    @property
    def rows_estimated(self) -> int:
        """The sum of all cells."""
        return max(0, round(float(self.estimate.sum())))

    def slice_counts(self, part: Slice) -> Reals:
        """The estimated counts of some cells of one attribute: sums of the estimate."""
        sums = part.widened(Identity(part.cells.stop - part.cells.start), self.schema) @ self.estimate
        return np.asarray(sums, dtype=np.float64)

    def slice_bounds(self, queries: Queries, confidence: float, *, part: Slice) -> Interval:
        """Bounds on sums of them."""
        return self.noise.interval(part.widened(queries, self.schema), confidence)

    def bounds_together(self, group: tuple[str, ...], confidence: float) -> Interval:
        """Bounds on all cells of a table that hold at the same time."""
        return together(self, group, confidence)

    @property
    def ranked_by(self) -> tuple[str, ...]:
        """All attributes, if the task is about their cells; those of its table, if it has one."""
        groups = self.task.tables(self.schema) or (self.schema.names,)
        return groups[0] if len(groups) == 1 else ()

    @property
    def together(self) -> str:
        """How it was put together from several releases, in words; empty if it was not."""
        return combined_in_words(self) if self.parts else ""

    def combined_with(self, others: Sequence[Self]) -> Release:
        """The weighted average with others of the same thing."""
        return averaged([self, *others])

    def same_noise(self, other: Released) -> bool:
        """Whether one of its parts has the counts of one of the other's, from the same entries of a ledger."""
        return isinstance(other, Release) and share_noise(self, other)

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
        error, known = self.known_error if complete else None, None
        if error is not None:
            known = {name: getattr(error, name) for name in ("per_query", "total", "queries", "kind", "runs")}
        described: dict[str, Any] = {
            "axes": self.axes,
            "expected_error": known,
            "choice": None if self.choice is None else self.choice.to_plain(),
        }
        if self.parts:
            parts = [body_of(part, complete=False) for part in self.parts]
            described |= {"weights": list(self.weights), "parts": parts}
        return {**as_plain(described), "estimate": self.estimate.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> Release:
        """With counts in the shape of the schema."""
        if common["algorithm"] == COMBINED:
            return _combined(plain)
        schema, algorithm, epsilon, misfits = (common[name] for name in ("schema", "algorithm", "epsilon", "misfits"))
        estimate = _estimate(part_of(plain, "estimate"), schema.shape)
        if common["task"].select(schema) != schema:
            raise BadInput("the task is about other attributes than the schema.")
        choice = part_of(plain, "choice")
        counting = (epsilon - (misfits.epsilon if misfits else 0)) / schema.rows_per_unit
        try:
            release = cls(
                **{**common, "options": _options(common["options"], algorithm)},
                estimate=estimate,
                choice=None if choice is None else _choice(choice, algorithm, counting),
            )
            _rehearse(release.noise)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError) as error:
            raise BadInput(
                f"a part of it is missing or malformed ({type(error).__name__}: {shorten(str(error))})."
            ) from None
        return release


def _combined(plain: Mapping[str, Any]) -> Release:
    """Parts that were put together, each read as a release of its own, with the weights that they had."""
    parts = of_kind(list, part_of(plain, "parts"), "parts")
    weights = [as_real(one, "a weight") for one in of_kind(list, part_of(plain, "weights"), "weights")]
    if not 2 <= len(parts) == len(weights) <= MOST or not all(0 <= one <= 1 for one in weights):
        raise BadInput(f"it must be put together from 2 to {MOST:,} parts, with a weight of 0 to 1 for each.")
    if abs(sum(weights) - 1) > 1e-9 or any(isinstance(one, Mapping) and "parts" in one for one in parts):
        raise BadInput("its weights must add up to 1, and its parts must not be put together themselves.")
    read = [from_plain(one, lambda task, kind: Release if kind == Release.kind else None) for one in parts]
    counts = [one for one in read if isinstance(one, Release)]
    check_same(counts)
    return averaged(counts, weights)


def _estimate(plain: object, shape: tuple[int, ...]) -> Reals:
    """Numbers in lists of lists, as many as there are cells. Nothing is built for cells that are not there."""
    cells: list[Any] = [plain]
    for side in shape:
        if not all(isinstance(one, list) and len(one) == side for one in cells):
            raise BadInput(f"the estimate must be numbers in the shape {shape}, and is not.")
        cells = list(chain.from_iterable(cells))
    if not set(map(type, cells)) <= {int, float} or not all(-SAFE <= cell <= SAFE for cell in cells):
        raise BadInput(f"the estimate must be numbers in the shape {shape}, none of them beyond ±2^62.")
    estimate = np.array(cells, dtype=np.float64).reshape(shape)
    if np.abs(estimate).sum() > SAFE:
        raise BadInput("the counts of the estimate must not exceed 2^62 together.")
    return estimate


def _options(options: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """Single values, in the types that the algorithm's own options have."""
    plan = plan_named(algorithm, **options)
    for name in options:
        value = getattr(plan, name)
        size = abs(Fraction(value)) if isinstance(value, int | float | Fraction) else 0
        if size and not Fraction(1, SAFE) <= size <= SAFE:
            raise BadInput(f"{name} is beyond any reach, given {shorten(value)}.")
    return dict(options)


def _rehearse(model: NoiseModel) -> None:
    """Refuse what the algorithm would refuse, if it were run now."""
    plan, workload, epsilon = model.plan, model.workload, model.epsilon
    counts = np.zeros(workload.domain, dtype=np.int64)
    plan.admit(Kernel.simulated(counts, epsilon=epsilon, seed=0).root, workload, epsilon)


def _choice(given: object, algorithm: str, epsilon: Fraction) -> Choice:
    """The parts of a choice, each of its own type; what was looked at and what was left add up to *epsilon*."""
    plain = of_kind(dict, given, "the choice")
    if part_of(plain, "algorithm") != algorithm:
        raise BadInput(f"{shorten(part_of(plain, 'algorithm'))} was chosen, {shorten(algorithm)} was run.")
    left = as_amount(part_of(plain, "left"), "what was left", most=epsilon)
    bought = tuple(read_bought(one, epsilon) for one in of_kind(list, part_of(plain, "bought"), "bought"))
    paid = left
    for one in bought:
        paid = exact(paid + one.spent, "the price of the choice", computed=True)
    if paid != epsilon:
        raise BadInput(f"the parts of the choice cost {shorten(paid)} a row, not {shorten(epsilon)}.")
    return Choice(
        algorithm,
        left,
        bought,
        regrets=read_figures(part_of(plain, "regrets"), "regrets"),
        errors=read_figures(part_of(plain, "errors"), "errors"),
        notes=tuple(as_text(note, "a note") for note in of_kind(list, part_of(plain, "notes"), "notes")),
        finished=of_kind(bool, plain.get("finished", bool(bought)), "finished"),  # what does not say it may have been
    )
