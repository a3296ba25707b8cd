"""The contract of every private → public operator."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from adyton.arrays import Places, Reals
from adyton.kernel.shapes import InstancesShape, SourceShape, TableShape, TablesShape, VectorShape
from adyton.kernel.vectors import PrivateVector
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.whole import IntegerArray

Statistic = Callable[[IntegerArray, IntegerArray, IntegerArray, Fraction], Reals]


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
    statistic: Statistic | None = None
    reaches_epsilon: bool = True
    """Whether some pair loses all of ε, so that an audit which certifies much less has no power."""
    enumerable: bool = False
    """Whether the auditor can follow every way in which the random choices fall, and so find the exact loss."""
    searched: tuple[tuple[IntegerArray, IntegerArray], ...] = ()
    """Neighbours that were found to be telling, besides those that the auditor makes."""


class Mechanism(ABC):
    """A private → public operator: a plain, frozen value that the kernel runs after it was paid for.

    Every mechanism states in its docstring a ``Claim.`` (what is private, for which neighbours) and a ``Proof.``;
    a class without them cannot be defined. Its randomness comes from the noise source it is handed, and the noise is
    derived from the same *epsilon* that the kernel charged.

    Claims about vectors hold for all vectors of whole numbers, negative ones too. A linear map can make cells negative,
    and one row more can then change several cells at once, up and down: vectors at the L1 distance k are joined by k
    steps of one row in one cell, so the loss is at most k·ε, and the vectors in between need not be counts of anything.
    """

    takes: ClassVar[type[TableShape] | type[VectorShape] | type[TablesShape] | type[InstancesShape]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        missing = [word for word in ("Claim.", "Proof.") if word not in (cls.__doc__ or "")]
        if missing and not inspect.isabstract(cls):
            raise TypeError(f"the mechanism {cls.__name__} has no {' and no '.join(missing)} in its docstring.")

    @classmethod
    def claim(cls) -> str:
        """What the mechanism promises."""
        return section(cls, "Claim.", "Proof.")

    @classmethod
    def proof(cls) -> str:
        """Why it keeps the promise."""
        return section(cls, "Proof.", "∎")

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

    @abstractmethod
    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Any:
        """What the caller gets: post-processing of one output and of public facts."""

    @classmethod
    @abstractmethod
    def audit_cases(cls) -> list[AuditCase]:
        """How to attack this mechanism."""

    @abstractmethod
    def __str__(self) -> str:
        """A short public text for the ledger."""


def section(owner: object, start: str, end: str) -> str:
    """The text of a docstring from *start* to *end*, in one line."""
    text = inspect.cleandoc(owner.__doc__ or "")
    return " ".join(text.split(start, 1)[1].split(end, 1)[0].split())
