"""A session: one table, one budget, as many releases as fit."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Sequence
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from adyton import odds
from adyton.errors import BadInput, LedgerError
from adyton.exact import Rational, budget, display
from adyton.interrupts import deferred
from adyton.kernel.counting.opening import table_at
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger, Tally
from adyton.kernel.ledger.file import file_name
from adyton.kernel.ledger.records import Account, Budgeted
from adyton.kernel.sources import TableSource
from adyton.messages import path_of
from adyton.noise.source import NoiseSource
from adyton.programs.base import Epsilon, Outlook, program_of
from adyton.result.folder import Place
from adyton.result.number import CutOff, Number, RowsCut
from adyton.result.pending import Keeper, Measurements
from adyton.result.receipt import RowsCounted
from adyton.result.result import Result
from adyton.schema import Schema
from adyton.session.batch import Batch
from adyton.session.run import MisfitCount, Preview, run
from adyton.tasks import Count, RowsLeftOut, Task, Units
from adyton.tasks.request import AUTO, Request
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.learning.classifier import Classifier, FittedClassifier


class Session(Budgeted, Keeper):
    """A private table with a budget. It answers requests, and what they cost is written into a ledger.

    *data* is a CSV, Parquet or DuckDB file, a pandas, polars, Arrow, Spark or Ibis table, or the address of a database
    (``postgresql://…``) with the name of a *table* in it; *schema* says what is public about it. *epsilon* is all that
    may ever be spent; it can be left out where a *ledger* exists. *unit* is what is protected. Where it names a column,
    here or in the schema, of each value only *rows_per_unit* rows are kept, and every result protects all of its
    rows together. Any other word is for explanations: then *rows_per_unit* is what you know about the table, and
    nothing enforces it.

    A ledger keeps unit, rows_per_unit and schema, and refuses others: what was spent would no longer mean the same.
    With the data owner's consent, the words ``"unit"``, ``"rows_per_unit"`` and ``"schema"`` in *accept* change them;
    each change is an event in the ledger.

    >>> import pandas, adyton as ad
    >>> table = pandas.DataFrame({"age": [34, 51, 77]})
    >>> with ad.Session(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1) as session:
    ...     release = session.release(ad.Cdf("age"), epsilon="0.25", algorithm="hb")
    ...     print(session.remaining)
    3/4
    """

    def __init__(
        self,
        data: Any,
        *,
        table: str | None = None,
        schema: Schema | str | os.PathLike[str],
        epsilon: Rational | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        unit: str | None = None,
        rows_per_unit: int | None = None,
        dataset: str | None = None,
        accept: Collection[str] = (),
        noise: NoiseSource | None = None,
    ) -> None:
        self.schema = declared_schema(schema, rows_per_unit)
        self.results: list[Result] = []
        """The results of the last :meth:`run`, as far as it came, in the order of the requests."""
        self._own_ledger = not isinstance(ledger, Ledger)
        total = total_budget(epsilon, ledger)
        self._kernel: Kernel[TableSource] = Kernel(
            table_at(data, table),
            schema=self.schema,
            epsilon=total,
            ledger=ledger,
            dataset=dataset,
            unit=unit,
            accept=accept,
            noise=noise,
        )
        self.schema = self._kernel.root.schema  # with the unit, where the word for it is a column
        odds.warn(total, "a total", self.unit)

    @property
    def unit(self) -> str:
        """What is protected, in words."""
        return self._kernel.terms.named_unit

    @property
    def counted(self) -> RowsCounted:
        """Which rows of each unit are counted; nothing is said where no column names a unit."""
        return RowsCounted.of(self.unit if self.schema.unit else None, self.schema.rows_per_unit)

    # ---- the budget -------------------------------------------------------------------------------------------------

    @property
    def budget(self) -> Account:
        """The account as it is now: what everybody who shares the ledger has spent of the total."""
        return self._kernel.budget

    @property
    def ledger(self) -> Ledger | Tally:
        """The record of every debit."""
        return self._kernel.ledger

    # ---- before spending --------------------------------------------------------------------------------------------

    def preview(
        self,
        task: Task,
        epsilon: Rational,
        *,
        algorithm: str = AUTO,
        where: str | None = None,
        misfits: Rational | bool | None = None,
        **options: Any,
    ) -> Preview:
        """What a request would cost, what could run, and the error to expect. Spends nothing."""
        request = Request.of(task, epsilon, where=where, algorithm=algorithm, misfits=misfits, options=options)
        counted = RowsCounted.asked(request.task, self.unit if self.schema.unit else None, self.schema.rows_per_unit)
        said = (counted.sentence,) if counted else ()
        return Preview(str(request.task), request.epsilon, self.remaining, self._outlook(request), self.schema, said)

    def epsilon_for(
        self,
        task: Task,
        error: Rational,
        *,
        algorithm: str = AUTO,
        where: str | None = None,
        misfits: Rational | bool | None = None,
        **options: Any,
    ) -> Fraction:
        """The least ε whose expected error meets a target: the root mean square error of one answer. Spends nothing.

        The error is computed in closed form. With ``algorithm="auto"`` it is the least error of those algorithms that
        have one; what is chosen then is expected to do at least as well. It is an exact fraction, printed as a decimal.
        """
        request = Request.of(task, 1, where=where, algorithm=algorithm, misfits=misfits, options=options)
        return Epsilon(self._outlook(request).epsilon_for(error))

    def _outlook(self, request: Request) -> Outlook:
        """What can be known of a request; refused where it could not be released either."""
        program = program_of(request, self.schema)
        if request.where is not None:
            self._kernel.root.where(request.where)
        return program.outlook(MisfitCount.planned(self._kernel.root, program.looks_at, request).shares)

    # ---- spending ---------------------------------------------------------------------------------------------------

    def release(
        self,
        task: Task,
        epsilon: Rational,
        *,
        algorithm: str = AUTO,
        where: str | None = None,
        misfits: Rational | bool | None = None,
        **options: Any,
    ) -> Any:
        """Release a task, spending *epsilon*: ``session.release(ad.Ranges("age"), epsilon="0.5")``.

        With ``algorithm="auto"`` the algorithm is chosen privately, within the same budget; or name one, with its
        options. *where* keeps the rows that satisfy a predicate, such as ``"age >= 65 and sex = 'F'"``. A request that
        cannot be carried out to its end is refused before anything is spent.

        From a CSV file, 1/50 of *epsilon* counts rows that do not match the schema: ``release.misfits`` has them. It
        is left out where it could not show 5% of the rows that the schema says there are (of 10,000 if it does not).
        ``misfits=False`` leaves it out, ``misfits=True`` counts them in any table, and a number is the part of
        *epsilon* to take for it.

        Marginals are measured one by one, never over the whole domain, with ``algorithm="all-pairs"``,
        ``"select-pairs"``, ``"privbayes"`` or ``"privbayes-ls"``; ``"auto"`` does so from five attributes on, and where
        the domain cannot be held. Should such a release end early, what was measured until then is released; of any
        other request it is kept in :attr:`last`.
        """
        return self._ask(Request.of(task, epsilon, where=where, algorithm=algorithm, misfits=misfits, options=options))

    def fit(self, classifier: Classifier, epsilon: Rational, *, where: str | None = None) -> FittedClassifier:
        """Learn a classifier, spending *epsilon*: ``session.fit(ad.Classifier("department"), epsilon=1)``.

        *where* keeps the rows that satisfy a predicate. A request that cannot be carried out to its end is refused
        before anything is spent. Two methods may need less than *epsilon* and are charged less, friedman-schuster and
        patil-singh: ``asked`` of the result then says what was asked for. The result is public: predicting is free.
        """
        from adyton.learning.classifier import as_classifier  # learners are loaded only where one is fitted

        return cast("FittedClassifier", self._ask(Request.of(as_classifier(classifier), epsilon, where=where)))

    def count(self, epsilon: Rational, *, where: str | None = None) -> Number:
        """A noisy number of rows, spending *epsilon*; the same as releasing :class:`adyton.Count`.

        Where the schema names a unit, at most ``rows_per_unit`` rows of each are counted, and ``.counted`` says so.
        Misfits are not counted: a row whose value *where* cannot read satisfies no comparison and is missing silently.
        """
        return cast("Number", self._ask(Request.of(Count(), epsilon, where=where)))

    def count_units(self, epsilon: Rational, *, where: str | None = None) -> Number:
        """A noisy number of units that have rows, spending *epsilon*: how many people there are.

        With *where*, of those that have at least one row which satisfies it. The schema must name a unit.
        """
        return cast("Number", self._ask(Request.of(Units(), epsilon, where=where)))

    def cut_off(self, epsilon: Rational, *, most: int) -> CutOff:
        """What the limit on the rows of a unit leaves out, spending *epsilon* once, however many rows a unit has.

        How many units have more rows than ``rows_per_unit``, and how many of their rows are left out, counting at most
        *most* rows of each: ``session.cut_off("0.1", most=100)``. The total cannot be measured, since one unit may have
        any number of rows, so that this number is "at least". A larger *most* makes it noisier.
        """
        return cast("RowsCut", self._ask(Request.of(RowsLeftOut(most), epsilon))).cut_off

    def run(
        self, requests: Sequence[Any], epsilon: Rational | None = None, *, out: str | os.PathLike[str] | None = None
    ) -> list[Result]:
        """Carry out several requests with one budget: ``session.run([ad.Histogram("age"), ad.Count()], epsilon=1)``.

        A request is a task, an :class:`adyton.Request`, or a mapping such as ``{"task": "mean", "attribute": "cost",
        "share": 2, "name": "costs"}``. What they name of the budget themselves is theirs, and the rest is split by
        their shares, evenly if none is stated. All of them are checked, and afforded together, before the first debit.

        With *out*, every result is saved in a folder of its name there as soon as it is there, and what an earlier call
        with the same requests has saved there is not paid for again. :attr:`results` has what there is so far.
        """
        batch, folder = Batch.of(requests, epsilon), None if out is None else path_of(out)
        done = batch.answered(folder)
        self.results = list(done.values())
        with batch.opened(self._kernel, folder, done) as steps:
            for step in steps:
                self._last = None
                try:
                    done[step.name] = step.run(self.keep)
                finally:
                    self._save_last(step.place)
                self.results = [done[name] for name in batch.requests if name in done]
        return self.results

    def _save_last(self, place: Place | None) -> None:
        """Save what was paid for last, whatever ended it; a warning says what could not be computed from it."""
        if place is None or self._last is None:
            return
        bare = self.measurements
        try:
            last = self.last
        except KeyboardInterrupt:  # the second: what was measured is kept as it is
            last = bare
        with deferred():
            if isinstance(last, Measurements) and last.answers:
                last.save_in(place)
            saved = last.save_in(place) if isinstance(last, Result) else None
        for problem in () if saved is None else saved.finish()[1]:
            warnings.warn(f"{place.given}: {problem} Everything else is there.", stacklevel=3)

    def _ask(self, request: Request) -> Result:
        if not self._kernel.answering:  # else a handler asks, and is refused: what it has interrupted stays
            self._last = None
        return run(self._kernel, request, self.keep)

    def close(self) -> None:
        """Close the ledger's file, if the session opened it. A ``with`` block does the same at its end."""
        if self._own_ledger and isinstance(self.ledger, Ledger):
            self.ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            left = f"{self.ledger.dataset}; ε = {display(self.remaining)} of {display(self.total)} left"
        except LedgerError:
            left = "its ledger is closed"
        return f"<session: {', '.join(self.schema.names)}; {left}>"


def declared_schema(schema: Schema | str | os.PathLike[str], rows_per_unit: int | None) -> Schema:
    """The schema, from its file if need be, with the number of rows per unit from whichever of the two states it."""
    schema = Schema.of(schema)
    if rows_per_unit is None:
        return schema
    rows = whole(rows_per_unit, "rows_per_unit", 1)
    if schema.rows_per_unit not in (1, rows):
        raise BadInput(
            f"the schema says rows_per_unit = {schema.rows_per_unit}, the session was given {rows}. Say it once."
        )
    return schema.with_attributes(schema.attributes, rows)


def total_budget(epsilon: Rational | None, ledger: Ledger | str | os.PathLike[str] | None) -> Fraction:
    """What may be spent in all: what was given, or what the ledger holds."""
    if epsilon is not None:
        return budget(epsilon, "epsilon")
    if isinstance(ledger, Ledger):
        return ledger.total
    if ledger is None or not os.path.exists(file_name(ledger)):
        raise BadInput("say what may be spent in all, for example epsilon=1; only an existing ledger knows it already.")
    return Ledger.read(ledger).total
