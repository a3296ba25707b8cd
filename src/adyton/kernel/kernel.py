"""The kernel: keeps the data, lets operators in through one door, charges before it looks."""

from __future__ import annotations

import os
import threading
import weakref
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput, KernelFailure, LedgerError
from adyton.exact import Rational, display, positive
from adyton.kernel.budget import ROOT, Budget
from adyton.kernel.ledger import Ledger
from adyton.kernel.mechanisms import Mechanism
from adyton.kernel.sealed import Sealed
from adyton.kernel.sources import Source, TableSource, VectorSource
from adyton.kernel.tables import open_table
from adyton.kernel.transforms import SourceShape, TableShape, Transform, VectorShape
from adyton.kernel.vectors import PrivateVector
from adyton.kernel.wire import admit
from adyton.noise import ExactNoise, SimulatedNoise
from adyton.noise.source import NoiseSource
from adyton.schema import Schema
from adyton.whole import as_shape

LARGEST_TOTAL = 1000


class _Kept(NamedTuple):
    shape: SourceShape
    data: Any
    lineage: tuple[str, ...]
    stability: int


class Kernel(Sealed):
    """A table, a total budget and a ledger. Answers come out through measurements, and nothing else does.

    >>> import pandas, adyton as ad
    >>> table = pandas.DataFrame({"age": [34, 51, 77]})
    >>> kernel = ad.Kernel(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
    >>> ages = kernel.root.where("age >= 18").select("age").vectorize()
    >>> ages.measure(ad.workloads.Identity(ages.shape), epsilon="0.25").answers.shape
    (120,)
    >>> kernel.remaining
    Fraction(3, 4)
    """

    def __init__(
        self,
        data: Any,
        *,
        schema: Schema | str | os.PathLike[str],
        epsilon: Rational,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        name: str | None = None,
        noise: NoiseSource | None = None,
    ) -> None:
        schema = schema if isinstance(schema, Schema) else Schema.from_toml(os.fspath(schema))
        total = _check_total(epsilon)
        table = open_table(data, schema)
        self._open(total, name or _name_of(data), ledger, noise or ExactNoise())
        node = self._budget.add_source(ROOT, schema.rows_per_unit)
        kept = _Kept(TableShape(schema), table, (self._ledger.dataset,), schema.rows_per_unit)
        self.root: Any = self._keep(node, kept)

    @classmethod
    def on_vector(
        cls,
        x: npt.ArrayLike,
        *,
        epsilon: Rational,
        rows_per_unit: int = 1,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        name: str = "vector",
        noise: NoiseSource | None = None,
    ) -> Self:
        """A kernel over a vector of counts that somebody has made already; its root is a vector."""
        kernel = cls.__new__(cls)
        counts = _check_counts(x)
        kernel._open(_check_total(epsilon), name, ledger, noise or ExactNoise())
        stability = as_shape(rows_per_unit, "rows_per_unit")[0]
        kept = _Kept(VectorShape(counts.shape), PrivateVector.of(counts), (kernel._ledger.dataset,), stability)
        kernel.root = kernel._keep(kernel._budget.add_source(ROOT, stability), kept)
        return kernel

    @classmethod
    def simulated(cls, x: npt.ArrayLike, *, epsilon: Rational, seed: int | None = None) -> Self:
        """A kernel over a *public* vector of counts, with fast seeded noise. Its answers are marked as not private."""
        return cls.on_vector(x, epsilon=epsilon, name="simulation", noise=SimulatedNoise(seed))

    def _open(
        self, total: Fraction, dataset: str, ledger: Ledger | str | os.PathLike[str] | None, noise: NoiseSource
    ) -> None:
        self._lock = threading.RLock()
        self._budget = Budget()
        self._kept: dict[int, _Kept] = {}
        self._noise = noise
        self._ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger, total=total, dataset=dataset)
        if self._ledger.total != total:
            raise BadInput(
                f"the ledger holds a total of ε = {display(self._ledger.total)}, the kernel was asked to open with "
                f"{display(total)}. Give the same total to both."
            )

    # ---- the budget -------------------------------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        """The durable record of every debit."""
        return self._ledger

    @property
    def total(self) -> Fraction:
        """The total budget."""
        return self._ledger.total

    @property
    def spent(self) -> Fraction:
        """What has been spent of it, by everybody who shares the ledger."""
        return self._ledger.spent

    @property
    def remaining(self) -> Fraction:
        """What is left of it."""
        return self._ledger.remaining

    # ---- the door ---------------------------------------------------------------------------------------------------

    def transform(self, source: Source, operator: Transform) -> tuple[Source, ...]:
        """Derive sources: one, or one per part for a split. Costs nothing and reads nothing."""
        with self._lock:
            kept = self._find(source, operator, Transform)
            outcome = operator.plan(kept.shape)
            parent = source.node
            if outcome.disjoint:
                parent = self._budget.add_partition(parent)
            parts = operator.apply(kept.shape, kept.data)
            handles = []
            for number, (shape, data) in enumerate(zip(outcome.shapes, parts, strict=True)):
                step = f"{operator}[{number}]" if outcome.disjoint else str(operator)
                node = self._budget.add_source(parent, outcome.stability)
                stability = kept.stability * outcome.stability
                handles.append(self._keep(node, _Kept(shape, data, (*kept.lineage, step), stability)))
            return tuple(handles)

    def measure(self, source: Source, operator: Mechanism, epsilon: Rational) -> Any:
        """Run a mechanism with *epsilon* on a source.

        The debit is durable before the data are touched. What is charged and what drives the noise is the same number.
        """
        amount = positive(epsilon, "epsilon")
        with self._lock:
            kept = self._find(source, operator, Mechanism)
            operator.check(kept.shape)
            quote = self._budget.quote(source.node, operator.cost(amount))
            entry = self._ledger.debit(
                quote.at_root, lineage=kept.lineage, operator=f"{operator}, ε = {display(amount)}"
            )
            self._budget.commit(quote)
            output, problem = _run(operator, kept.data, amount, self._noise)
            self._settle(entry, "answered" if problem is None else "failed")
            shape = kept.shape
            del kept
        if problem is not None:
            raise problem()
        return operator.publish(output, shape, amount, self._noise.private)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _find(self, source: Source, operator: Any, kind: type) -> _Kept:
        if not isinstance(source, Source) or source.kernel is not self:
            raise BadInput("this source belongs to another kernel.")
        if not isinstance(admit(operator), kind):
            raise BadInput(f"{type(operator).__name__} is not a {kind.__name__.lower()}.")
        kept = self._kept[source.node]
        if not isinstance(kept.shape, operator.takes):
            wanted = "table" if operator.takes is TableShape else "vector"
            raise BadInput(f"{operator} works on a {wanted}, given {source!r}.")
        return kept

    def _keep(self, node: int, kept: _Kept) -> Source:
        """Keep data behind a new handle; they go when the handle goes."""
        self._kept[node] = kept
        handle = (TableSource if isinstance(kept.shape, TableShape) else VectorSource)(
            self, node, kept.shape, kept.lineage, kept.stability
        )
        weakref.finalize(handle, self._kept.pop, node, None)
        return handle

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


def _run(
    operator: Mechanism, data: Any, epsilon: Fraction, noise: NoiseSource
) -> tuple[Any, type[BaseException] | None]:
    """One output, or the kind of failure. No exception from here may travel on: it could carry data with it."""
    try:
        with np.errstate(all="ignore"):
            return operator.draw(data, epsilon, noise, 1)[0], None
    except (KeyboardInterrupt, SystemExit) as interruption:
        return None, type(interruption)
    except BaseException:
        return None, KernelFailure


def _check_counts(x: npt.ArrayLike) -> npt.NDArray[np.int64]:
    counts = np.asarray(x)
    if counts.dtype.kind not in "iu" or counts.ndim == 0 or counts.size == 0:
        raise BadInput(f"a vector of counts is an array of whole numbers, given {counts.dtype} {counts.shape}.")
    return counts


def _check_total(epsilon: Rational) -> Fraction:
    total = positive(epsilon, "epsilon")
    if total > LARGEST_TOTAL:
        raise BadInput(
            f"a total of ε = {display(total)} protects nothing, allowed is at most {LARGEST_TOTAL}. "
            "Budgets that mean something are about 0.01 to 10."
        )
    return total


def _name_of(data: Any) -> str:
    """A public name for a data set: a file's own name, else the kind of table. Never anything from its rows."""
    if isinstance(data, str | os.PathLike):
        return os.path.basename(os.fspath(data).rstrip("/")) or "table"
    return f"{type(data).__module__.split('.')[0]} {type(data).__name__}"
