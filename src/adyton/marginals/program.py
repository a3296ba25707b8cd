"""A program for many tables: from a private table to noisy tables of few attributes, in a few lines of operators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

from adyton.choice.bought import Bought
from adyton.exact import Rational
from adyton.kernel.counts import NoisyTables
from adyton.kernel.mechanisms import MeasureTables
from adyton.kernel.operators import check_request
from adyton.kernel.recorder import Ended
from adyton.kernel.shapes import TablesShape
from adyton.kernel.sources import TableSource, TablesSource
from adyton.marginals.estimating import Estimated, estimated
from adyton.marginals.pair_model import PairModel
from adyton.marginals.refining import refined
from adyton.marginals.wanted import Wanted
from adyton.plans.base import Algorithm
from adyton.queries.measurement import Group, MeasuredTable
from adyton.solving.residuals import residuals

ROWS = "rows"
"""The name of a noisy number of rows that was bought."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was measured, by which program in the end, and why by that."""

    algorithm: str
    measured: tuple[MeasuredTable, ...]
    why: str
    bought: tuple[Bought, ...] = ()
    """What was looked at to decide."""
    ended: BaseException | None = None
    """What ended the program before it came to its end, if something did."""


@dataclass(frozen=True, eq=False)
class Notes:
    """What a program under way has paid for and got: it is written down before anything else is done."""

    tables: list[MeasuredTable] = field(default_factory=list)
    bought: list[Bought] = field(default_factory=list)


_NOTES: ContextVar[Notes | None] = ContextVar("notes", default=None)


@contextmanager
def noted() -> Iterator[Notes]:
    """The notes of what is measured within the block, in this thread."""
    notes = Notes()
    before = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(before)


@dataclass(frozen=True, kw_only=True)
class TablesProgram(Algorithm[TableSource, Wanted]):
    """A way to measure many tables: :meth:`run` is its text, a short program of operators."""

    def measure(self, source: TableSource, wanted: Wanted, epsilon: Rational) -> Outcome:
        """Measure what the wanted tables follow from, spending exactly *epsilon*."""
        return self.run(source, wanted, self.admitted(source, wanted, epsilon))

    def carry_out(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """Run what was admitted.

        Should it come to its end early, because another request has spent the rest of a shared ledger, the table is no
        longer readable or, in a replay, a person has ended it, the outcome has what was measured until then.
        """
        with noted() as notes:
            try:
                return self.run(source, wanted, epsilon)
            except (Ended, Exception) as end:
                covered = {name for one in notes.tables for name in one.group}
                if not covered.issuperset(wanted.sides):
                    raise
                why = f"{len(notes.tables):,} tables, measured before the program ended early"
                cause = end.cause if isinstance(end, Ended) else end
                return Outcome(self.name, tuple(notes.tables), why, tuple(notes.bought), cause)

    def estimate(self, wanted: Wanted, measured: Iterable[MeasuredTable], kept: PairModel | None = None) -> Estimated:
        """From what was measured to all tables, or to a model that was *kept*; it costs no privacy."""
        return modelled(wanted, measured, kept)

    def check_asked(self, source: TableSource, wanted: Wanted) -> None:
        """Tables that can be worked with."""
        wanted.check()

    def check_run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Callable[[], Outcome]:
        """All that may be measured."""
        self.check(wanted, epsilon)
        return partial(self.carry_out, source, wanted, epsilon)

    def check(self, wanted: Wanted, epsilon: Fraction) -> None:
        """Refuse what the program itself cannot do; by default, measuring every table that could be measured."""
        groups = wanted.counted
        every = MeasureTables.weighted(range(len(groups)))
        check_request(every, TablesShape(wanted.schema, groups), epsilon / (1 << 10))
        wanted.shares()

    @abstractmethod
    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """The text, once it was admitted: spends exactly *epsilon*."""


def measured(tables: TablesSource, shares: Mapping[Group, Fraction], epsilon: Fraction) -> NoisyTables:
    """Noisy tables of some groups, each with its share of *epsilon*, for one debit."""
    places = {tables.place(*group): share for group, share in shares.items() if share}
    noisy = tables.measure(MeasureTables(tuple(places), tuple(places.values())), epsilon)
    notes = _NOTES.get()
    if notes is not None:
        notes.tables.extend(noisy)
    return noisy


def note(look: Bought) -> Bought:
    """Note what was bought to decide by."""
    notes = _NOTES.get()
    if notes is not None:
        notes.bought.append(look)
    return look


def modelled(wanted: Wanted, measured: Iterable[MeasuredTable], kept: PairModel | None = None) -> Estimated:
    """Least squares, the denoised pairs, and all pairs fitted together, or a model that was *kept*. It costs no
    privacy."""
    if kept is not None:
        return Estimated(residuals(wanted.sides, measured), kept)
    found = estimated(wanted.sides, measured, ordered=wanted.ordered)
    return replace(found, model=refined(found.model))
