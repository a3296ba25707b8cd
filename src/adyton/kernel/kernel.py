"""The kernel: keeps the data, lets operators in through one door, charges before it looks.

It is longer than other files because there is one door: who checks its order of steps should not have to turn pages.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Collection, Hashable
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput, BudgetExceeded, KernelFailure, LedgerError, RowsChanged
from adyton.exact import Rational, display, positive, rounded_down
from adyton.interrupts import deferred, noticed
from adyton.kernel.admission import admit, is_one_of
from adyton.kernel.budget import ROOT, Budget
from adyton.kernel.counting import PrivateTable, open_table
from adyton.kernel.counting.opening import address_name, is_address
from adyton.kernel.counts import PrivateVector, checked_counts
from adyton.kernel.ledger import Ledger, Tally, Terms
from adyton.kernel.ledger.ledger import ledger_for
from adyton.kernel.ledger.records import Account, Budgeted, checked_total
from adyton.kernel.ledger.terms import WORDS, accepted
from adyton.kernel.ledger.words import refusal
from adyton.kernel.mechanisms import Mechanism, trusted_functions
from adyton.kernel.operators import check_depth, check_request, check_stability, described
from adyton.kernel.recorder import CHANGED, Debit, Recorded, Recorder, Recorders
from adyton.kernel.roots import SimulatedRoots
from adyton.kernel.sealed import Sealed, alone, this_process, under_way
from adyton.kernel.shapes import Facts, InstancesShape, SourceShape, TableShape, TablesShape, VectorShape
from adyton.kernel.sources import KINDS, Source, TableSource, VectorSource, handle
from adyton.kernel.transforms import Transform
from adyton.messages import shorten
from adyton.noise import ExactNoise, KeyedNoise
from adyton.noise.source import NoiseSource, checked_noise
from adyton.schema import Schema
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.kernel.mechanisms.published.declared_function import Declared

Root = TypeVar("Root", bound=Source)
_WORDS = {
    TableShape: "a table",
    VectorShape: "a vector",
    TablesShape: "many tables",
    InstancesShape: "instances of a problem",
}
_NUMBERS = re.compile(r"\d+(?:, \d+)*(?: and \d+ more)?")


class Kernel(SimulatedRoots, Sealed, Budgeted, Generic[Root]):
    """A table, a total budget and a ledger. Answers come out through measurements, and nothing else does.

    *unit* says what is protected: where the table has a column of that name, its rows are cut to ``rows_per_unit`` for
    each value, as the schema's key ``unit`` has it; any other word is a name for people to read. The words in *accept*
    let a ledger take on another unit, ``rows_per_unit`` or schema than it was used with. *trusted* are functions of
    counts whose sensitivity whoever opens the kernel answers for.

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
    """The moment of the rows when they were last looked at; None where nobody can tell."""
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
            raise BadInput("a table in memory has no name of its own. Say whose ledger it is with dataset='…'.")
        self._terms = Terms.of(schema.to_dict(), schema.rows_per_unit, unit, schema.level_files)
        functions = trusted_functions(trusted)
        self._open(total, ledger, dataset, name_of(data), noise, accept)
        self._trusted = functions
        shape = TableShape(schema, table.from_text, by_unit=schema.unit is not None, steady=table.steady)
        self._start(shape, table, schema.rows_per_unit)
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
        """A kernel over a vector of counts that somebody has made already; its root is a vector.

        Its shape takes the place of a schema in the terms of the ledger.
        """
        counts, total = checked_counts(x), checked_total(epsilon)
        stability, functions = whole(rows_per_unit, "rows_per_unit", 1), trusted_functions(trusted)
        kernel = cls.__new__(cls)
        kernel._terms = Terms.of({"vector": counts.shape}, stability, unit)
        kernel._open(total, ledger, dataset, "vector", noise, accept)
        kernel._trusted = functions
        kernel._start(VectorShape(counts.shape), PrivateVector.of(counts), stability)
        return cast("Kernel[VectorSource]", kernel)

    def _open(
        self,
        total: Fraction,
        ledger: Ledger | str | os.PathLike[str] | None,
        dataset: str | None,
        otherwise: str,
        noise: NoiseSource | None,
        accept: Collection[str],
    ) -> None:
        """Start with a ledger, and leave it as it was found if it does not agree to the terms."""
        accepted(accept, WORDS)
        noise = ExactNoise() if noise is None else checked_noise(noise)
        opened = ledger_for(ledger, total, dataset, otherwise, private=noise.private)
        self._begin(opened, noise)
        if isinstance(opened, Ledger):
            try:
                self._terms = opened.agree(self._terms, accept)
            except BaseException:
                if opened is not ledger:
                    opened.close()
                raise

    def _begin(self, ledger: Ledger | Tally, noise: NoiseSource, trials: int | None = None) -> None:
        self._ledger = ledger
        self._noise = noise
        self._trials = trials
        self._lock = threading.RLock()
        self._process = this_process()
        self._recorders = Recorders()
        self._accounts = Budget()
        self._kept: dict[int, Kept] = {}
        self._trusted = {}

    def _start(self, shape: SourceShape, data: Any, stability: int) -> None:
        facts = Facts(self._accounts.add_source(ROOT, stability), shape, (self._ledger.dataset,), stability)
        self._kept[facts.node] = Kept(facts, data)
        self._first = facts

    @property
    def root(self) -> Root:
        """The source that everything else is derived from.

        A new handle each time: handles hold their kernel, and if the kernel held one too, its data would stay in memory
        until Python looks for circles.
        """
        return cast(Root, handle(self, self._first))

    # ---- the budget -------------------------------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger | Tally:
        """The durable record of every debit; a plain tally in a simulation."""
        return self._ledger

    @property
    def terms(self) -> Terms:
        """Whom the budget protects: the unit, how many rows it has at most, and the schema."""
        return self._terms

    @property
    def budget(self) -> Account:
        """The account as it is now: what everybody who shares the ledger has spent of the total."""
        return self._ledger.budget

    @property
    def private(self) -> bool:
        """Whether the noise is real. Answers with simulated noise protect nobody."""
        return self._noise.private

    # ---- the door ---------------------------------------------------------------------------------------------------

    def transform(self, source: Source, operator: Transform) -> tuple[Source, ...]:
        """Derive sources: one, or one per part for a split. Costs nothing and reads nothing."""
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
                untold = of_rows and self._table is not None and self._moment is None
                disjoint = outcome.disjoint and not untold
                parent = self._accounts.add_partition(origin, of_rows=of_rows) if disjoint else origin
                handles = []
                for step, shape, part in zip(outcome.steps(), outcome.shapes, parts, strict=True):
                    node = self._accounts.add_source(parent, outcome.stability)
                    handles.append(self._keep(Facts(node, shape, (*facts.lineage, step), stability), part))
                return tuple(handles)

    def measure(self, source: Source, operator: Mechanism, epsilon: Rational) -> Any:
        """Run a mechanism with *epsilon* on a source.

        The debit is durable before the data are touched. What is charged and what drives the noise is the same number.
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
                except BaseException as second:  # a second interruption, while the first was being dealt with
                    problem = type(second)
                with self._uninterrupted():
                    self._settle(debit.number, "answered" if answers else "failed")
            del kept
            self._check_process()  # a fork in the middle of a measurement would give two answers for one debit
        if problem is not None:
            raise problem()
        return answers[0]

    def afford(self, source: Source, epsilon: Rational) -> None:
        """Refuse a request of *epsilon* in all, made of several measurements, if there is not enough left for all.

        In a replay there is nothing to refuse: it was paid for.
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
        """Whether a request is under way in this very thread, or is being finished."""
        return self._recorders.within

    def recording(self, limit: Fraction | None = None) -> AbstractContextManager[Recorder]:
        """What this thread pays for and receives within a block, in lists that grow; no debit goes beyond *limit*."""
        return self._recorders.recording(limit)

    def replaying(self, recorder: Recorder, cause: BaseException) -> AbstractContextManager[None]:
        """Measurements of this thread within a block are answered again from what was recorded; nothing is charged."""
        return self._recorders.replaying(recorder, cause)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _turn(self) -> AbstractContextManager[bool]:
        """Wait for other threads, unless that would be for ever: in a forked copy, where they do not exist, or in a
        signal handler that interrupts an operator, for which they may be waiting in turn."""
        self._check_process()
        if under_way():
            raise BadInput("an operator of a kernel is under way in this very thread. Wait until it has ended.")
        return self._lock

    def _find(self, source: Source, operator: Any, kind: type) -> Kept:
        """The kept data of a source, once it is sure that this operator may be tried on it."""
        known = is_one_of(source, KINDS.values())
        if not known or source.kernel is not self:
            given = "a source of another kernel" if known else shorten(source)
            raise BadInput(f"an operator needs a source of this kernel, given {given}. Start from kernel.root.")
        if not isinstance(admit(operator), kind):
            raise BadInput(f"{type(operator).__name__} is not a {kind.__name__.lower()}.")
        kept = self._kept[source.node]
        if not isinstance(kept.facts.shape, operator.takes):
            raise BadInput(f"{type(operator).__name__} works on {_WORDS[operator.takes]}, given {source!r}.")
        return kept

    def _look(self, node: int = ROOT) -> None:
        """See whether the rows have changed. If so, what was split before is disjoint no more, and all that follows
        says so; a source within parts that are disjoint is counted as the rows are now, or not at all."""
        if self._table is None:
            return
        now, before = self._table.moment(), self._moment
        self._moment = now
        changed = before is not None and now != before
        if changed:
            self._accounts.mix()
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
        """Keep data behind a new handle; they go when the handle goes."""
        self._kept[facts.node] = Kept(facts, data)
        source = handle(self, facts)
        weakref.finalize(source, self._kept.pop, facts.node, None)
        return source

    def _uninterrupted(self) -> AbstractContextManager[None]:
        """A short block that a person who ends the program does not cut in two; simulations have nothing to lose."""
        return deferred() if isinstance(self._ledger, Ledger) else nullcontext()

    def _recorded(self, debit: Debit, answers: list[Any]) -> Callable[[Any], None]:
        """Takes the answer to a debit. Once it is taken, no interrupt and no failure loses it."""
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
        raise refusal(refused.asked, refused.left, refused.total, self._ledger.path, stability=facts.stability)

    def _settle(self, entry: int, status: Literal["answered", "failed"]) -> None:
        try:
            self._ledger.settle(entry, status)
        except LedgerError:
            return  # the debit stands and is durable; its entry stays "debited", which means: paid, outcome unknown

    def __repr__(self) -> str:
        try:
            return f"<kernel: {self._ledger.dataset}; ε = {display(self.remaining)} of {display(self.total)} left>"
        except (AttributeError, LedgerError):
            return "<kernel: its ledger is not open>"


class Kept(NamedTuple):
    """What a kernel keeps behind a handle: the public facts, and the data."""

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
    """Give *take* what is published of one output; the kind of failure or interrupt, if there was one. No exception
    from here may travel on: it could carry data with it.

    Many outputs for one debit are there in simulations only: noise that is private is drawn once.
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
        return came[0] if came else KernelFailure  # an engine may make an error of its own of an interrupt
    return came[0] if came else None


def _placed(noise: NoiseSource, operator: Mechanism, facts: Facts) -> NoiseSource:
    """Noise that is keyed by places, at this one: the way to the source, and the operator's words without numbers,
    which count things that may lie elsewhere."""
    if not isinstance(noise, KeyedNoise):
        return noise
    return noise.at("\n".join((*facts.lineage, _NUMBERS.sub("", str(operator)))), operator.parts(facts.shape))


def is_path(data: Any) -> bool:
    """Whether the data are a file, which has a name."""
    return isinstance(data, str | os.PathLike) or bool(_files(data))


def _files(data: Any) -> list[str]:
    """The paths in a list of files; none of anything else."""
    listed = isinstance(data, list | tuple) and all(isinstance(path, str | os.PathLike) for path in data)
    return [os.fsdecode(path) for path in data] if listed else []


def name_of(data: Any) -> str:
    """A public name for a data set: a file's own name, else the kind of table. Never anything from its rows."""
    if files := _files(data):
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        return f"{name_of(files[0])}{more}"
    if is_address(data):
        return address_name(data)
    if is_path(data):
        return os.path.basename(os.fspath(data).rstrip("/")) or "table"
    return f"{type(data).__module__.split('.')[0]} {type(data).__name__}"
