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
from adyton.kernel.ledger.records import Account, Budgeted
from adyton.kernel.sources import TableSource
from adyton.messages import path_of
from adyton.noise.source import NoiseSource
from adyton.programs.base import Outlook, program_of
from adyton.programs.targets import Epsilon, Target
from adyton.result.coverage import Total
from adyton.result.folder import Place
from adyton.result.number import CutOff, Number, RowsCut
from adyton.result.pending import Keeper, Measurements
from adyton.result.receipt import RowsCounted
from adyton.result.result import Result
from adyton.schema import Schema
from adyton.session.batch import Admitted, Batch
from adyton.session.rehearsal import rehearsed
from adyton.session.run import MisfitCount, Preview, admitted
from adyton.tasks import Count, RowsLeftOut, Task, Units
from adyton.tasks.request import AUTO, Request
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.learning.classifier import Classifier, FittedClassifier


class Session(Budgeted, Keeper):
    """A private table with a budget. It answers requests, and their cost is recorded in a ledger.

    *data* is a CSV, Parquet or DuckDB file, a pandas, polars, Arrow, Spark or Ibis table, or the address of a database
    (``postgresql://…``) with the name of a *table* in it; *schema* says what is public about it. *epsilon* is the total
    that may ever be spent; it can be left out where a *ledger* exists. *unit* is what is protected. Where it names a
    column, here or in the schema, only *rows_per_unit* rows with each value of it are kept, and every result protects
    all rows with the same value together. Any other word is used only in explanations: then *rows_per_unit* is what you
    know about the table, and nothing enforces it.

    A ledger records unit, rows_per_unit and schema, and refuses others: earlier debits would no longer mean the same.
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
        """The results of the last :meth:`run` so far, in the order of the requests."""
        self._totals: list[Total] = []
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
        """Which rows of each unit are counted; empty where no column names a unit."""
        return RowsCounted.of(self.unit if self.schema.unit else None, self.schema.rows_per_unit)

    # ---- the budget -------------------------------------------------------------------------------------------------

    @property
    def budget(self) -> Account:
        """The current account: the total, and what all users of the ledger together have spent of it."""
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
        known: object = None,
        **options: Any,
    ) -> Preview:
        """What a request would cost, the algorithms that could run, and their expected errors. Spends nothing."""
        how: Any = {"algorithm": algorithm, "misfits": misfits, "known": known, "options": options}
        request = Request.of(task, epsilon, where=where, **how)
        return self._previewed(request, self._outlook(request), self.remaining)

    def _previewed(self, request: Request, outlook: Outlook, left: Fraction) -> Preview:
        counted = RowsCounted.asked(request.task, self.unit if self.schema.unit else None, self.schema.rows_per_unit)
        said = (counted.sentence,) if counted else ()
        rows = self.schema.rows if request.where is None else None
        return Preview(str(request.task), request.epsilon, left, outlook, self.schema, said, rows)

    def epsilon_for(
        self,
        task: Task,
        error: Rational,
        *,
        of: Rational | Result | None = None,
        algorithm: str = AUTO,
        where: str | None = None,
        misfits: Rational | bool | None = None,
        known: object = None,
        **options: Any,
    ) -> Epsilon:
        """The smallest ε whose expected error meets a target. Spends nothing, and reads no row.

        A number is a typical error: the root mean square error of one answer. ``"±20"`` is the half-width of the 95%
        interval of each answer, and ``"5%"`` is that half-width as a part of *of*: a number, or an earlier release,
        whose mean answer counts. Without *of*, it is a part of an even share of the rows, if the schema says how many
        there are.

        The error is computed in closed form. With ``algorithm="auto"`` it is the smallest error of the algorithms that
        have a closed form; the chosen algorithm is expected to do at least as well. The result is an exact fraction,
        printed as a decimal; its ``sentence`` says what it buys, and ``plot()`` draws the error against ε.

        >>> import pandas, adyton as ad
        >>> schema = ad.Schema({"age": ad.Integer(0, 99, step=20)}, rows=2000)
        >>> session = ad.Session(pandas.DataFrame({"age": [20, 41, 67] * 700}), schema=schema, epsilon=1)
        >>> print(session.epsilon_for(ad.Histogram("age"), error="5%", algorithm="identity").sentence)
        ε = 0.1461 makes each of these 5 counts good to ± 20, or 5% of 400, 19 times of 20.
        """
        how: Any = {"algorithm": algorithm, "misfits": misfits, "known": known, "options": options}
        request = Request.of(task, 1, where=where, **how)
        outlook = self._outlook(request)
        target = Target.of(error, outlook, of, self.schema.rows if where is None else None)
        return Epsilon.reaching(target, outlook, str(request.task))

    def _outlook(self, request: Request) -> Outlook:
        """What can be known of a request beforehand; refused if its release would be refused."""
        program = program_of(request, self.schema)
        program.known_totals()  # refused by programs that cannot use them
        if request.where is not None:
            self._check_where(request.where)
        return program.outlook(MisfitCount.planned(self._root, program.looks_at, request).shares)

    def rehearse(
        self,
        task: Task,
        epsilon: Rational,
        *,
        algorithm: str = AUTO,
        where: str | None = None,
        misfits: Rational | bool | None = None,
        known: object = None,
        rows: int | None = None,
        seed: int = 0,
        **options: Any,
    ) -> Any:
        """The same request on rows that are made up from the schema alone. Spends nothing, and writes to no ledger.

        The result has the form, the sizes and the noise of a real one, so that code for it can be written and tried
        before anything is spent; its numbers say nothing about the table, and it is marked as simulated everywhere. A
        classifier is rehearsed in the same way. There are *rows* rows: by default as many as the schema says, or
        10,000; if the task says how many rows a group has, every group has so many. Only their cells are made up, from
        *seed*: of a filter, the conditions are checked, and every other row is kept.

        >>> import pandas, adyton as ad
        >>> table = pandas.DataFrame({"age": [34, 51, 77]})
        >>> session = ad.Session(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
        >>> session.rehearse(ad.Histogram("age"), epsilon="0.5", algorithm="hb"), session.spent
        (<release: histogram of age, by hb, ε = 0.5; simulated, NOT private>, Fraction(0, 1))
        """
        how: Any = {"algorithm": algorithm, "misfits": misfits, "known": known, "options": options}
        request = Request.of(task, epsilon, where=where, **how)
        if where is not None:
            self._check_where(where)
        return rehearsed(request, self._root.facts, self.unit, rows, seed)

    # ---- spending ---------------------------------------------------------------------------------------------------

    def release(
        self,
        task: Task,
        epsilon: Rational,
        *,
        algorithm: str = AUTO,
        where: str | None = None,
        misfits: Rational | bool | None = None,
        known: object = None,
        **options: Any,
    ) -> Any:
        """Release a task, spending *epsilon*: ``session.release(ad.Ranges("age"), epsilon="0.5")``.

        With ``algorithm="auto"`` the algorithm is chosen privately, within the same budget; or name one, with its
        options. *where* keeps the rows that satisfy a predicate, such as ``"age >= 65 and sex = 'F'"``. A request that
        cannot be completed is refused before anything is spent.

        For a CSV file, 1/50 of *epsilon* is spent on counting rows that do not match the schema; ``release.misfits``
        has the counts. They are left out where they could not show 5% of the rows: of the number in the schema, or of
        10,000 if it gives none. ``misfits=False`` leaves them out, ``misfits=True`` counts such rows in any table, and
        a number is the share of *epsilon* to spend on it.

        *known* has counts that are public already, exact or with an error, which the estimates then agree with:
        ``known={"district": ["North", "South"], "count": [5000, 4000]}``, a frame, a CSV file, a number of rows, or a
        list of these; see :meth:`adyton.Release.with_known`. They are checked before anything is spent, and ε does not
        cover them.

        Marginals are measured one by one, never over the whole domain, with ``algorithm="all-pairs"``,
        ``"select-pairs"``, ``"privbayes"`` or ``"privbayes-ls"``; ``"auto"`` does so from five attributes on, and where
        the domain is too large. If such a release ends early, what was measured until then is released; for any other
        request it is kept in :attr:`last`.
        """
        how: Any = {"algorithm": algorithm, "misfits": misfits, "known": known, "options": options}
        return self._ask(Request.of(task, epsilon, where=where, **how))

    def fit(self, classifier: Classifier, epsilon: Rational, *, where: str | None = None) -> FittedClassifier:
        """Learn a classifier, spending *epsilon*: ``session.fit(ad.Classifier("department"), epsilon=1)``.

        *where* keeps the rows that satisfy a predicate. A request that cannot be completed is refused before anything
        is spent. Two methods, friedman-schuster and patil-singh, may need less than *epsilon* and are charged less:
        ``asked`` of the result then has the requested ε. The result is public: predictions cost no privacy.
        """
        from adyton.learning.classifier import as_classifier  # learners are loaded only where one is fitted

        return cast("FittedClassifier", self._ask(Request.of(as_classifier(classifier), epsilon, where=where)))

    def count(self, epsilon: Rational, *, where: str | None = None) -> Number:
        """A noisy number of rows, spending *epsilon*; the same as releasing :class:`adyton.Count`.

        Where the schema names a unit, at most ``rows_per_unit`` rows of each are counted, and ``.counted`` says so.
        Rows that do not match the schema are not counted separately: a row with a value that *where* cannot read
        satisfies no comparison; how many such rows there are is not measured, and the result says so.
        """
        return cast("Number", self._ask(Request.of(Count(), epsilon, where=where)))

    def count_units(self, epsilon: Rational, *, where: str | None = None) -> Number:
        """A noisy number of units that have rows, spending *epsilon*: how many people there are.

        With *where*, only units with at least one row that satisfies it are counted. The schema must name a unit.
        """
        return cast("Number", self._ask(Request.of(Units(), epsilon, where=where)))

    def cut_off(self, epsilon: Rational, *, most: int) -> CutOff:
        """What the limit on rows per unit leaves out, spending *epsilon* once, however many rows a unit has.

        Counts the units with more rows than ``rows_per_unit``, and the rows of theirs that are left out, counting at
        most *most* rows of each unit: ``session.cut_off("0.1", most=100)``. One unit may have any number of rows, so
        the total cannot be measured and this number is a lower bound. A larger *most* makes it noisier.
        """
        return cast("RowsCut", self._ask(Request.of(RowsLeftOut(most), epsilon))).cut_off

    def run(
        self, requests: Sequence[Any], epsilon: Rational | None = None, *, out: str | os.PathLike[str] | None = None
    ) -> list[Result]:
        """Carry out several requests with one budget: ``session.run([ad.Histogram("age"), ad.Count()], epsilon=1)``.

        A request is a task, an :class:`adyton.Request`, or a mapping such as ``{"task": "mean", "attribute": "cost",
        "share": 2, "name": "costs"}``. A request with its own ε gets it; the others split the rest by their shares, 1
        by default. All requests are checked, and the budget for all of them, before the first debit.

        With *out*, every result is saved immediately in a subfolder with its name, and a result that an earlier call
        with the same requests saved there is not paid for again. :attr:`results` has the results so far.
        """
        batch, folder = Batch.of(requests, epsilon), None if out is None else path_of(out)
        done = batch.answered(folder)
        self.results = list(done.values())
        with batch.opened(self, folder, done) as steps:
            for step in steps:
                self._last = None
                try:
                    done[step.name] = step.run(self.keep)
                finally:
                    self._save_last(step.place)
                self.results = [done[name] for name in batch.requests if name in done]
        return self.results

    def _save_last(self, place: Place | None) -> None:
        """Save what was last paid for, whatever ended it; a warning says what could not be computed from it."""
        if place is None or self._last is None:
            return
        bare = self.measurements
        try:
            last = self.last
        except KeyboardInterrupt:  # the second interrupt: the measurements are kept as they are
            last = bare
        with deferred():
            if isinstance(last, Measurements) and last.answers:
                last.save_in(place)
            saved = last.save_in(place) if isinstance(last, Result) else None
        for problem in () if saved is None else saved.finish()[1]:
            warnings.warn(f"{place.given}: {problem} Everything else is there.", stacklevel=3)

    def _ask(self, request: Request) -> Result:
        if not self._answering:  # else a handler asks, and is refused: the interrupted request stays
            self._last = None
        return self._admitted(request)(self.keep)

    # ---- what a session elsewhere does otherwise ---------------------------------------------------------------------

    @property
    def _root(self) -> TableSource:
        return self._kernel.root

    @property
    def _answering(self) -> bool:
        return self._kernel.answering

    def _check_where(self, where: str) -> None:
        self._root.where(where)

    def _afford(self, epsilon: Fraction) -> None:
        self.budget.afford(epsilon, self._kernel.ledger.path)

    def _admitted(self, request: Request) -> Admitted:
        return admitted(self._kernel, request, totals=self._totals)

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
    """The schema, read from its file if needed, with the number of rows per unit from the schema or the argument."""
    schema = Schema.of(schema)
    if rows_per_unit is None:
        return schema
    rows = whole(rows_per_unit, "rows_per_unit", 1)
    if schema.rows_per_unit not in (1, rows):
        raise BadInput(
            f"the schema says rows_per_unit = {schema.rows_per_unit}, but the session was given {rows}. Say it once."
        )
    return schema.with_attributes(schema.attributes, rows)


def total_budget(epsilon: Rational | None, ledger: Ledger | str | os.PathLike[str] | None) -> Fraction:
    """The total budget: the given one, or that of the ledger."""
    if epsilon is not None:
        return budget(epsilon, "epsilon")
    if isinstance(ledger, Ledger):
        return ledger.total
    if ledger is None or not Ledger.exists(ledger):
        raise BadInput("give the total budget, for example epsilon=1; it may be left out only where a ledger exists.")
    return Ledger.read(ledger).total
