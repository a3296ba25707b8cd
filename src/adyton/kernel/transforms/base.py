"""The contract of a transformation.

A transformation is a plain, frozen value. :meth:`Transform.plan` checks it against what is public about a source, and
says what comes out, how stable it is, and how the private data are to be transformed; only the kernel does that.
Nothing is read from the data until a measurement has been paid for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from adyton.kernel.shapes import SourceShape, TableShape, TablesShape, VectorShape


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
        """The text for each result; several are told apart by the names of the parts, or by number."""
        if len(self.shapes) == 1 and not self.disjoint:
            return (self.step,)
        return self.parts or tuple(f"{self.step}[{number}]" for number in range(len(self.shapes)))


class Transform(ABC):
    """A private → private operator.

    As a mechanism does, every transformation states a ``Claim.``, its stability, and a ``Proof.`` in its docstring.
    """

    takes: ClassVar[type[TableShape] | type[VectorShape] | type[TablesShape]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        missing = [word for word in ("Claim.", "Proof.") if word not in (cls.__doc__ or "")]
        if missing:
            raise TypeError(f"the transformation {cls.__name__} has no {' and no '.join(missing)} in its docstring.")

    @abstractmethod
    def plan(self, source: Any) -> Outcome:
        """Check against the public shape of the source; say what comes out, and with what stability."""
