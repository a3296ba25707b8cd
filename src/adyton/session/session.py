"""A session: one table, one budget, as many releases as fit."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from adyton import odds
from adyton.errors import LedgerError
from adyton.exact import Rational, budget, display
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger, Tally
from adyton.kernel.ledger.records import Account, Budgeted
from adyton.kernel.sources import TableSource
from adyton.kernel.tables.locations import table_at
from adyton.marginals.tables_release import TablesRelease
from adyton.noise.source import NoiseSource
from adyton.queries import Measurement
from adyton.result import Release
from adyton.result.cut_off import CutOff, measured_cut_off, unit_sizes
from adyton.result.pending import Measurements, Pending, carry_out
from adyton.result.receipt import RowsCounted
from adyton.schema import Schema
from adyton.session.epsilon import Epsilon
from adyton.session.numbers_outlook import NumbersOutlook, NumbersPreview
from adyton.session.opening import declared_schema, total_budget
from adyton.session.outlook import AUTO, Outlook
from adyton.session.preview import Preview
from adyton.session.releasing_counts import planned_misfits, release_counts
from adyton.session.releasing_numbers import asked_of, release_numbers
from adyton.session.releasing_tables import measures_tables, release_tables
from adyton.session.tables_outlook import TablesOutlook, outlook_of
from adyton.statistics.numbers_release import NumbersRelease
from adyton.tasks import NumbersTask, Task, as_task

if TYPE_CHECKING:
    from adyton.learning.classifier import Classifier
    from adyton.learning.fitted_classifier import FittedClassifier

    Paid: TypeAlias = Release | TablesRelease | NumbersRelease | FittedClassifier | Measurement | Measurements | None


class Session(Budgeted):
    """A private table with a budget. Releases come out of it, and what they cost is written into a ledger.

    *data* is a CSV, Parquet or DuckDB file, a pandas, polars, Arrow, Spark or Ibis table, or the address of a database
    (``postgresql://…``) with the name of a *table* in it; *schema* says what is public about it. *epsilon* is all that
    may ever be spent; it can be left out where a *ledger* exists. *unit* is what is protected. Where it names a column,
    here or in the schema, of each value only *rows_per_unit* rows are kept, and whatever comes out protects all of its
    rows together. Any other word is for explanations: then *rows_per_unit* is what you know about the table, and
    nothing enforces it.

    A ledger remembers unit, rows_per_unit and schema, and refuses others: what was spent would no longer mean the same.
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
        self._last: Pending[Any] | Paid = None
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

    @property
    def last(self) -> Paid:
        """What was paid for last: should an interrupt come before it has a name, it is not lost.

        A request that was interrupted in its arithmetic is finished now, from what was measured: nothing more is spent.
        One that lacks measurements is :class:`~adyton.result.pending.Measurements`: what was measured, as it is.
        """
        if isinstance(self._last, Pending):
            self._last = self._last.finish()
        return self._last

    @last.setter
    def last(self, kept: Paid) -> None:
        self._last = kept

    @property
    def measurements(self) -> Measurements | None:
        """What was measured for a request that has no result yet, as it is; None where there is none."""
        return self._last.measurements(self._last.cause) if isinstance(self._last, Pending) else None

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
    ) -> Preview | NumbersPreview:
        """What a release would cost, which algorithms could run, and the error to expect. Spends nothing."""
        outlook, amount = self._outlook(task, algorithm, where, misfits, options), budget(epsilon, "epsilon")
        if isinstance(outlook, NumbersOutlook):
            return outlook.preview(amount, self.remaining, self._said(task))
        return Preview(
            task=str(task),
            cells=outlook.cells,
            queries=outlook.queries,
            epsilon=amount,
            remaining=self.remaining,
            candidates=outlook.errors(amount),
            chosen=outlook.chooses,
            misfits=outlook.misfits.of(amount),
            notes=(*self._said(task), *outlook.notes(self.schema), *outlook.misfits.notes(amount)),
        )

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
        return Epsilon(self._outlook(task, algorithm, where, misfits, options).epsilon_for(error))

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
    ) -> Release | TablesRelease | NumbersRelease:
        """Release a task, spending *epsilon*: ``session.release(ad.Ranges("age"), epsilon="0.5")``.

        With ``algorithm="auto"`` the algorithm is chosen privately, within the same budget; or name one, with its
        options. *where* keeps the rows that satisfy a predicate, such as ``"age >= 65 and sex = 'F'"``. A request that
        cannot be carried out to its end is refused before anything is spent.

        From a CSV file, 1/50 of *epsilon* counts the rows that do not fit the schema: ``release.misfits`` has them. It
        is left out where it could not show 5% of the rows that the schema says there are (of 10,000 if it does not).
        ``misfits=False`` leaves it out, ``misfits=True`` counts them in any table, and a number is the part of
        *epsilon* to take for it.

        Marginals are measured one by one, never over the whole domain, with ``algorithm="all-pairs"``,
        ``"select-pairs"``, ``"privbayes"`` or ``"privbayes-ls"``; ``"auto"`` does so from five attributes on, and where
        the domain cannot be held. Should such a release end early, what was measured until then is released; of any
        other request it is kept in :attr:`last`.
        """
        self._last = None
        asked = (epsilon, algorithm, where, misfits, options, self._keep)
        if isinstance(task, NumbersTask):
            return release_numbers(self._kernel, task, *asked)
        if measures_tables(task := as_task(task), self.schema, algorithm):
            return release_tables(self._kernel, task, *asked)
        return release_counts(self._kernel, task, *asked)

    def fit(self, classifier: Classifier, epsilon: Rational, *, where: str | None = None) -> FittedClassifier:
        """Learn a classifier, spending *epsilon*: ``session.fit(ad.Classifier("department"), epsilon=1)``.

        *where* keeps the rows that satisfy a predicate. A request that cannot be carried out to its end is refused
        before anything is spent. Two methods may need less than *epsilon* and are charged less, friedman-schuster and
        patil-singh: ``asked`` of the result then says what was asked for. The result is public: predicting is free.
        """
        self._last = None
        from adyton.learning.fitted_classifier import fit_classifier

        return fit_classifier(self._kernel, classifier, epsilon, where, self._keep)

    def count(self, epsilon: Rational, *, where: str | None = None) -> Measurement:
        """A noisy number of rows, spending *epsilon*.

        Where the schema names a unit, at most ``rows_per_unit`` rows of each are counted, and ``.counted`` says so.
        Misfits are not counted: a row whose value *where* cannot read satisfies no comparison and is missing silently.
        """
        source, amount = self._source(where), budget(epsilon, "epsilon")
        self.budget.afford(amount, self.ledger.path)
        odds.warn(amount, "a count", self.unit)
        counted, own = self.counted.rows(where), amount / source.stability
        return carry_out(self._kernel, lambda _: replace(source.count(own), counted=counted), self._keep, amount)

    def count_units(self, epsilon: Rational, *, where: str | None = None) -> Measurement:
        """A noisy number of units that have rows, spending *epsilon*: how many people there are.

        With *where*, of those that have at least one row which satisfies it. The schema must name a unit.
        """
        source, amount = self._source(where).units(most=1), budget(epsilon, "epsilon")
        self.budget.afford(amount, self.ledger.path)
        odds.warn(amount, "a count", self.unit)
        counted = RowsCounted.once(self.unit).rows(where)
        return carry_out(self._kernel, lambda _: replace(source.count(amount), counted=counted), self._keep, amount)

    def cut_off(self, epsilon: Rational, *, most: int) -> CutOff:
        """What the limit on the rows of a unit leaves out, spending *epsilon* once, however many rows a unit has.

        How many units have more rows than ``rows_per_unit``, and how many of their rows are left out, counting *most*
        rows of each at the most: ``session.cut_off("0.1", most=100)``. All that is left out cannot be measured, since
        one unit may have any number of rows, so that this number is "at least". A larger *most* makes it noisier.
        """
        sizes, amount = unit_sizes(self._kernel.root, most), budget(epsilon, "epsilon")
        self.budget.afford(amount, self.ledger.path)
        odds.warn(amount, "a count", self.unit)
        limit = self.schema.rows_per_unit
        return carry_out(self._kernel, lambda _: measured_cut_off(sizes, limit, amount), self._keep, amount)

    def close(self) -> None:
        """Let go of the ledger's file, if the session opened it. At its end a ``with`` block does the same."""
        if self._own_ledger and isinstance(self.ledger, Ledger):
            self.ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _keep(self, paid: Any) -> None:
        self._last = paid

    def _said(self, task: Task) -> tuple[str, ...]:
        """Which rows of each unit a task would count, where that is not all of them."""
        counted = RowsCounted.asked(task, self.unit if self.schema.unit else None, self.schema.rows_per_unit)
        return (counted.sentence,) if counted else ()

    def _source(self, where: str | None) -> TableSource:
        return self._kernel.root if where is None else self._kernel.root.where(where)

    def _outlook(
        self,
        task: Task,
        algorithm: str,
        where: str | None,
        misfits: Rational | bool | None,
        options: Mapping[str, Any],
    ) -> Outlook | TablesOutlook | NumbersOutlook:
        """It refuses a predicate that could not be released either."""
        selected = as_task(task).select(self.schema)
        planned = planned_misfits(self._kernel.root, task, selected, where, misfits)
        if isinstance(task, NumbersTask):
            return NumbersOutlook(asked_of(task, self.schema, options), algorithm, planned.shares)
        return outlook_of(task, self.schema, algorithm, options, planned.shares)

    def __repr__(self) -> str:
        try:
            left = f"{self.ledger.dataset}; ε = {display(self.remaining)} of {display(self.total)} left"
        except LedgerError:
            left = "its ledger is closed"
        return f"<session: {', '.join(self.schema.names)}; {left}>"
