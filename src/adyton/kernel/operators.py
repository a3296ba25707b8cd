"""Operators: the contracts of transformations and mechanisms, and the limits on requests to a kernel.

An operator is a plain, frozen value. :meth:`Transform.plan` checks a transformation against what is public about a
source, and states the shape of the result, its stability, and how the private data are to be transformed; only the
kernel transforms them. No data are read until a mechanism has been paid for.

A request that is charged and then fails has wasted its budget. So query sets and mechanisms declare their
:class:`~adyton.queries.base.Size`, and a request beyond the limits, which are the same for everybody, is refused from
public information, before anything is spent.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from adyton.arrays import Places, Reals
from adyton.errors import BadInput
from adyton.kernel.counts import PrivateVector
from adyton.kernel.shapes import InstancesShape, SourceShape, TableShape, TablesShape, VectorShape
from adyton.noise.source import NoiseSource
from adyton.queries import Queries
from adyton.queries.base import NOTHING, Size
from adyton.whole import IntegerArray

MOST_TRANSFORMS = 100
"""The largest number of transformations between the table and a source."""
MOST_PARTS = 1 << 17
"""The largest number of parts of a split: some seconds of work."""
LARGEST_STABILITY = 1 << 64
"""The largest multiple of its ε that a measurement may cost; above it, budgets would be too long to compute with."""
MOST_BITS = 1000
"""The longest coefficient of a query; most have a few bits."""
_ADVICE = "Ask fewer queries, or about fewer cells."
_LONGEST = 300


class Operator(ABC):
    """The base of everything that a kernel runs. Every operator states a ``Claim.`` and a ``Proof.`` in its docstring;
    a class without them cannot be defined."""

    takes: ClassVar[type[TableShape] | type[VectorShape] | type[TablesShape] | type[InstancesShape]]
    _word: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        missing = [word for word in ("Claim.", "Proof.") if word not in (cls.__doc__ or "")]
        if missing and not inspect.isabstract(cls):
            raise TypeError(f"the {cls._word} {cls.__name__} has no {' and no '.join(missing)} in its docstring.")


@dataclass(frozen=True)
class Outcome:
    """The result of a transformation.

    ``step`` is a public text for the lineage; ``shapes`` is what is public about each result; ``derive`` makes the
    private results, lazily, from the private input; ``disjoint`` says that no row is in two of them; ``parts`` are
    texts for the individual results.
    """

    step: str
    shapes: tuple[SourceShape, ...]
    derive: Callable[[Any], Sequence[Any]]
    stability: int = 1
    disjoint: bool = False
    parts: tuple[str, ...] = ()
    per_unit: bool = False
    """Whether a unit has at most one row in the result, however many it had before: measurements cost their ε once."""

    def steps(self) -> tuple[str, ...]:
        """The text for each result; several results are distinguished by the names of the parts, or by number."""
        if len(self.shapes) == 1 and not self.disjoint:
            return (self.step,)
        return self.parts or tuple(f"{self.step}[{number}]" for number in range(len(self.shapes)))


class Transform(Operator):
    """A private → private operator; its claim is about its stability."""

    _word = "transformation"

    @abstractmethod
    def plan(self, source: Any) -> Outcome:
        """Check against the public shape of the source; return the outcome, with its stability."""


class Mechanism(Operator):
    """A private → public operator, which the kernel runs after it was paid for.

    It claims a privacy guarantee for certain neighbours. Its randomness comes from the noise source it is given, and
    the noise is derived from the same *epsilon* that the kernel charged.

    Claims about vectors hold for all vectors of whole numbers, including negative ones. A linear map can make cells
    negative, and one row more can then change several cells at once, up and down: vectors at L1 distance k are joined
    by k steps of one row in one cell, so the loss is at most k·ε, and the vectors in between need not be counts of any
    table.
    """

    _word = "mechanism"

    def bound(self, trusted: Mapping[str, Any], source: Any) -> Mechanism:
        """The mechanism to run on this source: itself, unless it only names a function that the kernel trusts."""
        return self

    def cost(self, epsilon: Fraction) -> Fraction:
        """What a run with *epsilon* charges its source: the ε of the claim."""
        return epsilon

    @abstractmethod
    def check(self, source: Any) -> None:
        """Refuse to run on a source that does not fit, by its public shape alone. Nothing is spent yet."""

    def size(self, source: Any, epsilon: Fraction) -> Size:
        """The most memory and work that a run takes. The kernel checks it against the limits before it charges."""
        cells = source.cells if isinstance(source, VectorShape) else 1
        return Size(8 * cells, 64 * cells)

    def parts(self, source: SourceShape) -> Places | None:
        """Numbers of the parts to which draws belong, for noise that is keyed by places: the leaves of a tree."""
        leaves = source.leaves if isinstance(source, VectorShape) else None
        return None if leaves is None else leaves.places

    @abstractmethod
    def draw(self, data: Any, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """*trials* independent outputs, along the first axis. The kernel asks for one."""

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Any:
        """The caller's result: post-processing of an output and public facts; by default the numbers themselves."""
        return tuple(output.tolist())

    @classmethod
    @abstractmethod
    def audit_cases(cls) -> list[AuditCase]:
        """The cases in which the auditor attacks this mechanism."""

    @abstractmethod
    def __str__(self) -> str:
        """A short public text for the ledger."""


def check_request(operator: Mechanism, source: Any, epsilon: Fraction) -> None:
    """Refuse a measurement that is not allowed on this source, or that could not be completed."""
    operator.check(source)
    pending: Size = getattr(source, "pending", NOTHING)
    needed = operator.size(source, epsilon)
    needed = needed if pending is NOTHING else pending.then(needed)
    needed.check(lambda: f"a measurement ({described(operator)})", _ADVICE)


def check_queries(queries: Queries) -> None:
    """Refuse queries that cannot be answered within the limits of memory and time, or whose numbers are too long."""
    queries.size().check(lambda: f"the answer to {described(queries)}", _ADVICE)
    bits = queries.largest_coefficient().bit_length()
    if bits > MOST_BITS:
        raise BadInput(
            f"these queries have coefficients of up to {bits:,} bits; the limit is {MOST_BITS:,}. Use smaller ones."
        )


def check_depth(lineage: Sequence[str], more: int = 1) -> None:
    """Refuse *more* transformations if the total would exceed the limit."""
    if len(lineage) - 1 + more > MOST_TRANSFORMS:
        raise BadInput(
            f"this source was derived in {len(lineage) - 1} steps; the limit is {MOST_TRANSFORMS - more} here. "
            "Combine some of them, for example several filters into one."
        )


def check_parts(parts: int) -> None:
    """Refuse a split into more parts than can be counted within the time limit."""
    if parts > MOST_PARTS:
        raise BadInput(
            f"this split has {parts:,} parts; at most {MOST_PARTS:,} are allowed. Group the cells with a Partition, or "
            "count all of them at once: vectorize() has every cell."
        )


def check_stability(stability: int) -> None:
    """Refuse a source whose measurements would cost too large a multiple of their ε."""
    if stability > LARGEST_STABILITY:
        raise BadInput(
            "measurements of this source would cost more than 2^64 times their ε. Use smaller coefficients, or fewer "
            "maps in a row."
        )


def described(operator: object) -> str:
    """The text of an operator or query set, cut to a readable length.

    >>> described("noisy total" + " and noisy total" * 100)[-30:]
    'd noisy total and noisy total…'
    """
    text = str(operator)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


@dataclass(frozen=True)
class AuditCase:
    """How to attack a mechanism.

    The auditor makes neighbouring vectors over *domain*, turns each into the kernel's private data with *prepare*,
    draws many outputs of *mechanism*, and examines them and their *statistic* (outputs, left, right, ε): a function of
    an output that separates the two neighbours well.
    """

    name: str
    mechanism: Mechanism
    domain: tuple[int, ...]
    prepare: Callable[[Any], Any] = PrivateVector.of
    statistic: Callable[[IntegerArray, IntegerArray, IntegerArray, Fraction], Reals] | None = None
    reaches_epsilon: bool = True
    """Whether the loss for some pair is all of ε, so that an audit that certifies much less lacks power."""
    enumerable: bool = False
    """Whether the auditor can enumerate all random choices, and so compute the exact loss."""
    searched: tuple[tuple[IntegerArray, IntegerArray], ...] = ()
    """Pairs of neighbours that are easy to distinguish, in addition to those that the auditor makes."""


def claim(mechanism: Mechanism | type[Mechanism]) -> str:
    """The text of a mechanism's claim."""
    return section(mechanism, "Claim.", "Proof.")


def section(owner: object, start: str, end: str) -> str:
    """The text of a docstring from *start* to *end*, in one line."""
    text = inspect.cleandoc(owner.__doc__ or "")
    return " ".join(text.split(start, 1)[1].split(end, 1)[0].split())
