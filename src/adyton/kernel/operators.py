"""Operators: the contracts of transformations and mechanisms, and what a kernel can be asked for at all.

An operator is a plain, frozen value. :meth:`Transform.plan` checks a transformation against what is public about a
source, and says what the result is, how stable it is, and how the private data are to be transformed; only the kernel
does that. Nothing is read from the data until a mechanism has been paid for.

A request that is charged and then fails has wasted its budget. So query sets and mechanisms declare their
:class:`~adyton.queries.base.Size`, and what is beyond the limits, which are the same for everybody, is refused by
public facts alone, before anything is spent.
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
"""How many transformations there can be between the table and a source."""
MOST_PARTS = 1 << 17
"""How many parts a split can have: some seconds of work."""
LARGEST_STABILITY = 1 << 64
"""How many times its ε a measurement may cost; beyond, budgets would be numbers too long to compute with."""
MOST_BITS = 1000
"""How long a coefficient of a query can be: usual ones have a few bits."""
_ADVICE = "Ask fewer queries, or about fewer cells."
_LONGEST = 300


class Operator(ABC):
    """What a kernel runs. Every operator states in its docstring a ``Claim.`` and a ``Proof.``; a class without them
    cannot be defined."""

    takes: ClassVar[type[TableShape] | type[VectorShape] | type[TablesShape] | type[InstancesShape]]
    _word: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        missing = [word for word in ("Claim.", "Proof.") if word not in (cls.__doc__ or "")]
        if missing and not inspect.isabstract(cls):
            raise TypeError(f"the {cls._word} {cls.__name__} has no {' and no '.join(missing)} in its docstring.")


@dataclass(frozen=True)
class Outcome:
    """What a transformation yields.

    ``step`` is a public text for the lineage; ``shapes`` what is public about each result; ``derive`` makes the private
    results, lazily, from the private input; ``disjoint`` says that no row is in two of them; ``parts`` are texts for
    the single results.
    """

    step: str
    shapes: tuple[SourceShape, ...]
    derive: Callable[[Any], Sequence[Any]]
    stability: int = 1
    disjoint: bool = False
    parts: tuple[str, ...] = ()
    per_unit: bool = False
    """Whether a unit has at most one row in the result, whatever it had before: measurements cost their ε once."""

    def steps(self) -> tuple[str, ...]:
        """The text for each result; several are distinguished by the names of the parts, or by number."""
        if len(self.shapes) == 1 and not self.disjoint:
            return (self.step,)
        return self.parts or tuple(f"{self.step}[{number}]" for number in range(len(self.shapes)))


class Transform(Operator):
    """A private → private operator; what it claims is its stability."""

    _word = "transformation"

    @abstractmethod
    def plan(self, source: Any) -> Outcome:
        """Check against the public shape of the source; say what the result is, and with what stability."""


class Mechanism(Operator):
    """A private → public operator, which the kernel runs after it was paid for.

    It claims what is private, for which neighbours. Its randomness comes from the noise source it is handed, and the
    noise is derived from the same *epsilon* that the kernel charged.

    Claims about vectors hold for all vectors of whole numbers, negative ones too. A linear map can make cells negative,
    and one row more can then change several cells at once, up and down: vectors at the L1 distance k are joined by k
    steps of one row in one cell, so the loss is at most k·ε, and the vectors in between need not be counts of anything.
    """

    _word = "mechanism"

    def bound(self, trusted: Mapping[str, Any], source: Any) -> Mechanism:
        """What is run on this source: itself, unless it only names one of the functions that a kernel trusts."""
        return self

    def cost(self, epsilon: Fraction) -> Fraction:
        """What a run with *epsilon* charges its source: the ε of the claim."""
        return epsilon

    @abstractmethod
    def check(self, source: Any) -> None:
        """Refuse, with the public shape of the source alone, what cannot be run. Nothing is spent yet."""

    def size(self, source: Any, epsilon: Fraction) -> Size:
        """What a run takes at most. The kernel compares it with what is allowed, before anything is spent."""
        cells = source.cells if isinstance(source, VectorShape) else 1
        return Size(8 * cells, 64 * cells)

    def parts(self, source: SourceShape) -> Places | None:
        """Numbers for the parts that draws fall into, for noise that is keyed by places: the leaves of a tree."""
        leaves = source.leaves if isinstance(source, VectorShape) else None
        return None if leaves is None else leaves.places

    @abstractmethod
    def draw(self, data: Any, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """*trials* independent outputs, along the first axis. The kernel asks for one."""

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Any:
        """What the caller gets: post-processing of one output and of public facts; else the numbers as they are."""
        return tuple(output.tolist())

    @classmethod
    @abstractmethod
    def audit_cases(cls) -> list[AuditCase]:
        """How to attack this mechanism."""

    @abstractmethod
    def __str__(self) -> str:
        """A short public text for the ledger."""


def check_request(operator: Mechanism, source: Any, epsilon: Fraction) -> None:
    """Refuse a measurement that is not allowed on this source, or that could not be carried out to its end."""
    operator.check(source)
    pending: Size = getattr(source, "pending", NOTHING)
    needed = operator.size(source, epsilon)
    needed = needed if pending is NOTHING else pending.then(needed)
    needed.check(lambda: f"a measurement ({described(operator)})", _ADVICE)


def check_queries(queries: Queries) -> None:
    """Refuse queries that cannot be answered in the memory and the time allowed, or whose numbers are too long."""
    queries.size().check(lambda: f"the answer to {described(queries)}", _ADVICE)
    bits = queries.largest_coefficient().bit_length()
    if bits > MOST_BITS:
        raise BadInput(
            f"these queries have coefficients of up to {bits:,} bits; the limit is {MOST_BITS:,}. Use smaller ones."
        )


def check_depth(lineage: Sequence[str], more: int = 1) -> None:
    """Refuse *more* transformations where there are as many already as can be followed."""
    if len(lineage) - 1 + more > MOST_TRANSFORMS:
        raise BadInput(
            f"this source was derived in {len(lineage) - 1} steps; the limit is {MOST_TRANSFORMS - more} here. Join "
            "some of them, for example several filters into one."
        )


def check_parts(parts: int) -> None:
    """Refuse a split into more parts than can be counted in the time allowed."""
    if parts > MOST_PARTS:
        raise BadInput(
            f"a split into {parts:,} parts; at most {MOST_PARTS:,} are allowed. Group the cells with a Partition, or "
            "count all of them at once: vectorize() has every cell."
        )


def check_stability(stability: int) -> None:
    """Refuse a source whose measurements would cost too large a multiple of what they ask for."""
    if stability > LARGEST_STABILITY:
        raise BadInput(
            "measurements of this source would cost more than 2^64 times what they ask for. Use smaller coefficients, "
            "or fewer maps in a row."
        )


def described(operator: object) -> str:
    """An operator or query set in its own words, cut where there are too many of them.

    >>> described("noisy total" + " and noisy total" * 100)[-30:]
    'd noisy total and noisy total…'
    """
    text = str(operator)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


@dataclass(frozen=True)
class AuditCase:
    """How to attack a mechanism.

    The auditor makes neighbouring vectors over *domain*, turns each into what the kernel would hold with *prepare*,
    draws many outputs of *mechanism*, and looks at them and at *statistic* (outputs, left, right, ε): a function of an
    output that separates the two neighbours well.
    """

    name: str
    mechanism: Mechanism
    domain: tuple[int, ...]
    prepare: Callable[[Any], Any] = PrivateVector.of
    statistic: Callable[[IntegerArray, IntegerArray, IntegerArray, Fraction], Reals] | None = None
    reaches_epsilon: bool = True
    """Whether some pair loses all of ε, so that an audit which certifies much less has no power."""
    enumerable: bool = False
    """Whether the auditor can follow every way in which the random choices fall, and so find the exact loss."""
    searched: tuple[tuple[IntegerArray, IntegerArray], ...] = ()
    """Pairs of neighbours that are easy to distinguish, besides those that the auditor makes."""


def claim(mechanism: Mechanism | type[Mechanism]) -> str:
    """What a mechanism promises."""
    return section(mechanism, "Claim.", "Proof.")


def section(owner: object, start: str, end: str) -> str:
    """The text of a docstring from *start* to *end*, in one line."""
    text = inspect.cleandoc(owner.__doc__ or "")
    return " ".join(text.split(start, 1)[1].split(end, 1)[0].split())
