"""The kernel: keeps the data, accepts operators at a single door, and charges before it reads the data.

The file is longer than others so that the order of all steps at the door can be checked in one place.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Collection, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.errors import BadInput, BudgetExceeded, KernelFailure, LedgerError, RowsChanged
from adyton.exact import Rational, display, positive, rounded_down
from adyton.interrupts import deferred, noticed
from adyton.kernel.admission import admit, is_one_of
from adyton.kernel.budget import ROOT, Budget
from adyton.kernel.counting import PrivateTable, open_table
from adyton.kernel.counting.opening import address_name, is_address
from adyton.kernel.counting.public_rows import CodedTable, MadeUpTable
from adyton.kernel.counts import PrivateVector, checked_counts
from adyton.kernel.ledger import Ledger, Tally, Terms
from adyton.kernel.ledger.ledger import ledger_for
from adyton.kernel.ledger.records import Account, Budgeted, checked_total
from adyton.kernel.ledger.terms import ADD, WORDS, accepted
from adyton.kernel.mechanisms import Mechanism, trusted_functions
from adyton.kernel.operators import Transform, check_depth, check_request, check_stability, described
from adyton.kernel.recorder import CHANGED, Debit, Recorded, Recorder, Recorders
from adyton.kernel.sealed import Sealed, alone, this_process, under_way
from adyton.kernel.shapes import Facts, InstancesShape, SourceShape, TableShape, TablesShape, VectorShape
from adyton.kernel.sources import KINDS, Source, TableSource, VectorSource, handle
from adyton.messages import shorten
from adyton.noise import ExactNoise, KeyedNoise, SimulatedNoise
from adyton.noise.source import NoiseSource, checked_noise
from adyton.schema import Schema
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.kernel.mechanisms.published.statistic import Declared

Root = TypeVar("Root", bound=Source)
_SHAPE_WORDS = {
    TableShape: "a table",
    VectorShape: "a vector",
    TablesShape: "many tables",
    InstancesShape: "instances of a problem",
}
_NUMBERS = re.compile(r"\d+(?:, \d+)*(?: and \d+ more)?")


class Kernel(Sealed, Budgeted, Generic[Root]):
    """A table, a total budget and a ledger. Measurements are the only way to answers.

    *unit* says what is protected: if the table has a column of that name, its rows are cut to ``rows_per_unit`` for
    each value, as with the schema's key ``unit``; any other word is only a name for people to read. The words in
    *accept* allow a ledger to be used with another unit, ``rows_per_unit`` or schema than before. *trusted* are
    functions of counts with a declared sensitivity, for which the person who opens the kernel is responsible.

    >>> import pandas, adyton as ad
    >>> table = pandas.DataFrame({"age": [34, 51, 77]})
    >>> kernel = ad.Kernel(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
    >>> ages = kernel.root.where("age >= 18").select("age").vectorize()
    >>> ages.measure(ad.workloads.Identity(ages.shape), epsilon="0.25").answers.shape
    (120,)
    >>> kernel.remaining
    Fraction(3, 4)
    """

    _table: PrivateTable | None = None
    """The rows at the root, if there are any."""
    _moment: Hashable = None
    """The state of the rows when last checked, as :meth:`PrivateTable.moment` returns it; None if unknown."""
    _changed = ""

    def __init__(
        self: Kernel[TableSource],
        data: Any,
        *,
        schema: Schema | str | os.PathLike[str],
        epsilon: Rational,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        unit: str | None = None,
        accept: Collection[str] = (),
        noise: NoiseSource | None = None,
        trusted: Collection[Declared] = (),
    ) -> None:
        schema = Schema.of(schema)
        total = checked_total(epsilon)
        table = open_table(data, schema, unit)
        schema = table.schema
        if dataset is None and ledger is not None and not isinstance(ledger, Ledger) and not is_path(data):
            raise BadInput("a table in memory has no name. Name the data set of the ledger with dataset='…'.")
        terms = Terms.of(schema.to_dict(), schema.rows_per_unit, unit, schema.level_files)
        functions = trusted_functions(trusted)
        account = opened(terms, total, ledger, dataset, name_of(data), noise, accept)
        shape = TableShape(schema, table.from_text, by_unit=schema.unit is not None, steady=table.steady)
        self._begin(shape, table, *account, stability=schema.rows_per_unit, trusted=functions)
        self._table, self._moment = table, table.moment()

    @classmethod
    def on_vector(
        cls,
        x: npt.ArrayLike,
        *,
        epsilon: Rational,
        rows_per_unit: int = 1,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        unit: str | None = None,
        accept: Collection[str] = (),
        noise: NoiseSource | None = None,
        trusted: Collection[Declared] = (),
    ) -> Kernel[VectorSource]:
        """A kernel over a given vector of counts; its root is a vector.

        In the terms of the ledger, the shape of the vector takes the place of a schema.
        """
        counts, total = checked_counts(x), checked_total(epsilon)
        stability, functions = whole(rows_per_unit, "rows_per_unit", 1), trusted_functions(trusted)
        terms = Terms.of({"vector": counts.shape}, stability, unit)
        account = opened(terms, total, ledger, dataset, "vector", noise, accept)
        shape, data = VectorShape(counts.shape), PrivateVector.of(counts)
        return cls._over(shape, data, *account, stability=stability, trusted=functions)

    @classmethod
    def simulated(
        cls,
        x: npt.ArrayLike,
        *,
        epsilon: Rational,
        seed: int | np.random.SeedSequence | None = None,
        trials: int | None = None,
        noise: NoiseSource | None = None,
        trusted: Collection[Declared] = (),
    ) -> Kernel[VectorSource]:
        """A kernel over a *public* vector of counts, with fast seeded noise. Its answers are marked as not private.

        With *trials*, each measurement returns that many independent answers, along the first axis. Instead of a seed,
        *noise* can be a noise source of your own that is not private.
        """
        counts = checked_counts(x)
        account = simulated_account(_simulated_terms(counts.shape), epsilon, noise, seed)
        many, functions = None if trials is None else whole(trials, "trials", 1), trusted_functions(trusted)
        shape, data = VectorShape(counts.shape), PrivateVector.of(counts)
        return cls._over(shape, data, *account, trials=many, trusted=functions)

    @classmethod
    def simulated_table(
        cls,
        codes: npt.ArrayLike,
        schema: Schema,
        *,
        epsilon: Rational,
        seed: int | np.random.SeedSequence | None = None,
        noise: NoiseSource | None = None,
    ) -> Kernel[TableSource]:
        """A kernel over *public* rows, given as the number of the cell for each attribute (−1: dropped).

        Its noise is simulated, from *seed* or from a noise source of your own, so its answers are not private.
        """
        table = CodedTable.checked(codes, schema)
        account = simulated_account(_simulated_terms(schema.shape), epsilon, noise, seed)
        return cls._over(TableShape(schema), table, *account)

    @classmethod
    def rehearsal(
        cls, codes: Integers, times: Integers, like: Facts, terms: Terms, *, epsilon: Rational, seed: int, dataset: str
    ) -> Kernel[TableSource]:
        """A kernel over *public* made-up rows: a request costs as much as at a root with these facts and terms."""
        assert isinstance(like.shape, TableShape)
        table = MadeUpTable.of(codes, like.shape.schema, times)
        tally = Tally(positive(epsilon, "epsilon", computed=True), dataset)
        return cls._over(like.shape, table, terms, tally, SimulatedNoise(seed), stability=like.stability)

    @classmethod
    def _over(cls, shape: SourceShape, data: Any, *account: Any, **options: Any) -> Kernel[Any]:
        """A kernel over given data; the arguments are those of :meth:`_begin`."""
        kernel: Kernel[Any] = cls.__new__(cls)
        kernel._begin(shape, data, *account, **options)
        return kernel

    def _begin(
        self,
        shape: SourceShape,
        data: Any,
        terms: Terms,
        ledger: Ledger | Tally,
        noise: NoiseSource,
        *,
        stability: int = 1,
        trials: int | None = None,
        trusted: Mapping[str, Declared] = MappingProxyType({}),
    ) -> None:
        self._terms, self._ledger, self._noise = terms, ledger, noise
        self._trials, self._trusted = trials, trusted
        self._lock = threading.RLock()
        self._process = this_process()
        self._recorders = Recorders()
        self._accounts = Budget()
        self._first = Facts(self._accounts.add_source(ROOT, stability), shape, (ledger.dataset,), stability)
        self._kept = {self._first.node: Kept(self._first, data)}

    @property
    def root(self) -> Root:
        """The source that everything else is derived from.

        A new handle each time: handles refer to their kernel, and if the kernel also referred to a handle, its data
        would stay in memory until Python collects cyclic garbage.
        """
        return cast(Root, handle(self, self._first))

    # ---- the budget -------------------------------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger | Tally:
        """The durable record of every debit; a plain tally in a simulation."""
        return self._ledger

    @property
    def terms(self) -> Terms:
        """Whom the budget protects: the unit, its largest number of rows, and the schema."""
        return self._terms

    @property
    def budget(self) -> Account:
        """The current account: what all users of the ledger have spent of the total."""
        return self._ledger.budget

    @property
    def private(self) -> bool:
        """Whether the noise is real. Answers with simulated noise are not private."""
        return self._noise.private

    # ---- the door ---------------------------------------------------------------------------------------------------

    def transform(self, source: Source, operator: Transform) -> tuple[Source, ...]:
        """Derive a source, or one per part for a split. Costs nothing and reads no data."""
        with self._turn():
            facts, data = self._find(source, operator, Transform)
            check_depth(facts.lineage)
            with alone():
                outcome = operator.plan(facts.shape)
                stability = outcome.stability if outcome.per_unit else facts.stability * outcome.stability
                check_stability(stability)
                parts = outcome.derive(data)
                self._look()
                origin, of_rows = ROOT if outcome.per_unit else facts.node, isinstance(facts.shape, TableShape)
                unknown = of_rows and self._table is not None and self._moment is None
                disjoint = outcome.disjoint and not unknown
                parent = self._accounts.add_partition(origin, of_rows=of_rows) if disjoint else origin
                handles = []
                for step, shape, part in zip(outcome.steps(), outcome.shapes, parts, strict=True):
                    node = self._accounts.add_source(parent, outcome.stability)
                    handles.append(self._keep(Facts(node, shape, (*facts.lineage, step), stability), part))
                return tuple(handles)

    def measure(self, source: Source, operator: Mechanism, epsilon: Rational) -> Any:
        """Run a mechanism with *epsilon* on a source.

        The debit is durable before the data are read. The charge and the noise are computed from the same number.
        """
        given = positive(epsilon, "epsilon", computed=True)
        with self._turn():
            kept = self._find(source, operator, Mechanism)
            amount = rounded_down(given, kept.facts.stability)
            if not amount:
                raise BadInput(f"epsilon must be at least 10^-73, given {shorten(epsilon)}.")
            operator = operator.bound(self._trusted, kept.facts.shape)
            check_request(operator, kept.facts.shape, amount)
            times = f" × {kept.facts.stability:,}" if kept.facts.stability > 1 else ""
            asked = f"{described(operator)}, ε = {display(amount)}{times}"
            if self._recorders.replay is not None:
                return self._recorders.replay(asked, kept.facts.lineage)
            answers: list[Any] = []
            with alone():
                self._look(kept.facts.node)
                quote = self._accounts.quote(kept.facts.node, operator.cost(amount))
                with self._uninterrupted():
                    debit = self._debit(quote.at_root, kept.facts, asked + self._changed)
                    self._accounts.commit(quote)
                problem: type[BaseException] | None = None
                try:
                    problem = run(operator, kept, amount, self._noise, self._trials, self._recorded(debit, answers))
                except BaseException as second:  # a second interrupt, while the first was being handled
                    problem = type(second)
                with self._uninterrupted():
                    self._settle(debit.number, "answered" if answers else "failed", answers[0] if answers else None)
            del kept
            self._check_process()  # a fork in the middle of a measurement would give two answers for one debit
        if problem is not None:
            raise problem()
        return answers[0]

    def afford(self, source: Source, epsilon: Rational) -> None:
        """Refuse a request for several measurements of *epsilon* in total, if not enough budget is left for all.

        A replay is never refused: it is already paid for.
        """
        amount = rounded_down(positive(epsilon, "epsilon", computed=True), source.stability)
        with self._turn():
            if source.kernel is not self:
                raise BadInput("an operator needs a source of this kernel. Start from kernel.root.")
            asked, account = self._accounts.quote(source.node, amount).at_root, self.budget
        if self._recorders.replay is None:
            account.afford(asked, self._ledger.path, stability=source.stability)

    @property
    def answering(self) -> bool:
        """Whether a request is under way in this thread, or is being finished."""
        return self._recorders.within

    def recording(self, limit: Fraction | None = None) -> AbstractContextManager[Recorder]:
        """Record the debits and answers of this thread within a block; the debits add up to at most *limit*."""
        return self._recorders.recording(limit)

    def replaying(self, recorder: Recorder, cause: BaseException) -> AbstractContextManager[None]:
        """Within a block, answer measurements of this thread from recorded answers; nothing is charged."""
        return self._recorders.replaying(recorder, cause)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _turn(self) -> AbstractContextManager[bool]:
        """The lock that keeps other threads out. It is an error to ask for it where waiting might never end: in a
        forked process, which lacks the thread that holds it, or in a signal handler that interrupts an operator of this
        thread, because other threads may be waiting for that operator."""
        self._check_process()
        if under_way():
            raise BadInput("an operator of a kernel is already under way in this thread. Wait until it has ended.")
        return self._lock

    def _find(self, source: Source, operator: Any, kind: type) -> Kept:
        """The data of a source, after checking that this operator may be run on it."""
        known = is_one_of(source, KINDS.values())
        if not known or source.kernel is not self:
            given = "a source of another kernel" if known else shorten(source)
            raise BadInput(f"an operator needs a source of this kernel, given {given}. Start from kernel.root.")
        if not isinstance(admit(operator), kind):
            raise BadInput(f"{type(operator).__name__} is not a {kind.__name__.lower()}.")
        kept = self._kept[source.node]
        if not isinstance(kept.facts.shape, operator.takes):
            raise BadInput(f"{type(operator).__name__} works on {_SHAPE_WORDS[operator.takes]}, given {source!r}.")
        return kept

    def _look(self, node: int = ROOT) -> None:
        """Check whether the rows have changed. If so, earlier parts no longer count as disjoint, and all later entries
        of the ledger say so; a source within disjoint parts is counted only if the rows stay as they are now."""
        if self._table is None:
            return
        now, before = self._table.moment(), self._moment
        self._moment = now
        changed = before is not None and now != before
        if changed:
            self._accounts.rows_changed()
            self._changed = f", {CHANGED}"
        self._table.expect(now if self._accounts.is_part(node) else None)
        if changed:
            words = f"{self._ledger.dataset}: {CHANGED}. Answers before and after are about different rows."
            warnings.warn(words, RowsChanged, stacklevel=4)

    def _check_process(self) -> None:
        if self._process != this_process():
            raise BadInput(
                "this kernel was made in another process, whose accounts it cannot see. Open the table and the ledger "
                "again in this process."
            )

    def _keep(self, facts: Facts, data: Any) -> Source:
        """Keep data behind a new handle; they are deleted with the handle."""
        self._kept[facts.node] = Kept(facts, data)
        source = handle(self, facts)
        weakref.finalize(source, self._kept.pop, facts.node, None)
        return source

    def _uninterrupted(self) -> AbstractContextManager[None]:
        """A short block that interrupts do not split; simulations do not need that."""
        return deferred() if isinstance(self._ledger, Ledger) else nullcontext()

    def _recorded(self, debit: Debit, answers: list[Any]) -> Callable[[Any], None]:
        """A function that records the answer to a debit, so that no later interrupt or failure loses it."""
        recorder = self._recorders.current

        def take(answer: Any) -> None:
            if recorder is not None:
                recorder.answers.append(Recorded(debit, answer))
            answers.append(answer)

        return take

    def _debit(self, amount: Fraction, facts: Facts, operator: str) -> Debit:
        recorder, refused = self._recorders.current, cast("BudgetExceeded | None", None)
        if recorder is not None:
            recorder.admit(amount)
        try:
            entry = self._ledger.debit(amount, lineage=facts.lineage, operator=operator, terms=self._terms)
        except BudgetExceeded as error:
            refused = error
        else:
            debit = Debit(entry, amount, operator, facts.lineage)
            if recorder is not None:
                recorder.debits.append(debit)
            return debit
        if facts.stability <= 1:
            raise refused
        self.budget.afford(refused.asked, self._ledger.path, stability=facts.stability)
        raise refused

    def _settle(self, entry: int, status: Literal["answered", "failed"], answer: Any) -> None:
        try:
            self._ledger.settle(entry, status, answer)
        except LedgerError:
            return  # the debit is durable; its entry stays "debited", which means: paid, outcome unknown

    def __repr__(self) -> str:
        try:
            return f"<kernel: {self._ledger.dataset}; ε = {display(self.remaining)} of {display(self.total)} left>"
        except (AttributeError, LedgerError):
            return "<kernel: its ledger is not open>"


class Kept(NamedTuple):
    """What a kernel keeps for a handle: the public facts and the data."""

    facts: Facts
    data: Any


def run(
    operator: Mechanism,
    kept: Kept,
    epsilon: Fraction,
    noise: NoiseSource,
    trials: int | None,
    take: Callable[[Any], None],
) -> type[BaseException] | None:
    """Draw an output and pass the published form to *take*; return the class of the failure or interrupt, if any. No
    exception leaves this function, because it could contain data.

    Only simulations have several outputs for one debit: private noise is drawn once.
    """
    came: list[type[BaseException]] = []
    try:
        with noticed(came) if noise.private else nullcontext(), np.errstate(all="ignore"):
            noise = _placed(noise, operator, kept.facts)
            outputs = operator.draw(kept.data, epsilon, noise, 1 if trials is None or noise.private else trials)
            output = outputs[0] if trials is None or noise.private else outputs
            take(operator.publish(output, kept.facts.shape, epsilon, noise.private))
    except (KeyboardInterrupt, SystemExit) as interruption:
        return type(interruption)
    except BaseException:
        return came[0] if came else KernelFailure  # an engine may turn an interrupt into its own error
    return came[0] if came else None


def _placed(noise: NoiseSource, operator: Mechanism, facts: Facts) -> NoiseSource:
    """Keyed noise at the place of this measurement; any other noise as it is. A place is the source's lineage and the
    operator's text, without the numbers in it: they may change with data or settings although the place is the same."""
    if not isinstance(noise, KeyedNoise):
        return noise
    return noise.at("\n".join((*facts.lineage, _NUMBERS.sub("", str(operator)))), operator.parts(facts.shape))


def opened(
    terms: Terms,
    total: Fraction,
    ledger: Ledger | str | os.PathLike[str] | None,
    dataset: str | None,
    default_name: str,
    noise: NoiseSource | None,
    accept: Collection[str],
) -> tuple[Terms, Ledger | Tally, NoiseSource]:
    """The terms in force, the ledger and the noise. A ledger that does not agree to the terms is left unchanged."""
    words = accepted(accept, (*WORDS, ADD))
    noise = ExactNoise() if noise is None else checked_noise(noise)
    account = ledger_for(ledger, total, dataset, default_name, words & {ADD}, private=noise.private)
    if isinstance(account, Ledger):
        try:
            terms = account.agree(terms, words - {ADD})
        except BaseException:
            if account is not ledger:
                account.close()
            raise
    return terms, account, noise


def simulated_account(
    terms: Terms, epsilon: Rational, noise: NoiseSource | None, seed: int | np.random.SeedSequence | None
) -> tuple[Terms, Tally, NoiseSource]:
    """Terms, ledger and noise for public data: nothing is recorded, and the noise is simulated."""
    tally = Tally(checked_total(epsilon, simulated=True), "simulation")
    if noise is None:
        return terms, tally, SimulatedNoise(seed)
    if checked_noise(noise).private:
        raise BadInput("public data are measured with simulated noise. Give SimulatedNoise or KeyedNoise.")
    return terms, tally, noise


@lru_cache(maxsize=256)
def _simulated_terms(shape: tuple[int, ...]) -> Terms:
    """The terms of a simulation on public counts of this shape."""
    return Terms.of({"vector": shape}, 1)


def is_path(data: Any) -> bool:
    """Whether the data are given as the path of a file, or as a list of paths."""
    return isinstance(data, str | os.PathLike) or bool(_files(data))


def _files(data: Any) -> list[str]:
    """The paths in a list of files; an empty list for anything else."""
    listed = isinstance(data, list | tuple) and all(isinstance(path, str | os.PathLike) for path in data)
    return [os.fsdecode(path) for path in data] if listed else []


def name_of(data: Any) -> str:
    """A public name for a data set: the file name, else the kind of table. Never anything from its rows."""
    if files := _files(data):
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        return f"{name_of(files[0])}{more}"
    if is_address(data):
        return address_name(data)
    if is_path(data):
        return os.path.basename(os.fspath(data).rstrip("/")) or "table"
    return f"{type(data).__module__.split('.')[0]} {type(data).__name__}"
