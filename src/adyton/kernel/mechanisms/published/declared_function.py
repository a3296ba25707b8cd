"""Functions of counts that the curator vouches for: a kernel runs those that it was opened with, and no others."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.errors import BadInput
from adyton.exact import positive
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.mechanisms.published.statistic import Statistic
from adyton.kernel.shapes import VectorShape
from adyton.messages import listing, shorten
from adyton.whole import SAFE, IntegerArray

_MOST_STEPS = 1 << 40
_NAME = 100


@dataclass(frozen=True, eq=False)
class Declared:
    """A function of an array of counts, and by how much one row can change its value, at most.

    The declaration is not checked: whoever opens a kernel with it answers for it. Without a *step* the value is a whole
    number; with one it is rounded to whole steps. Where the function fails, or gives anything else, its value is 0, and
    the declared sensitivity must hold for it with that 0, and for negative counts, which linear maps can make.
    """

    name: str
    function: Callable[[IntegerArray], Any]
    sensitivity: Fraction
    step: Fraction | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= _NAME or not callable(self.function):
            raise BadInput(f"a declared function has a name and can be called, given {shorten(self.name)}.")
        object.__setattr__(self, "sensitivity", positive(self.sensitivity, f"the sensitivity of {self.name}"))
        if self.step is not None:
            object.__setattr__(self, "step", positive(self.step, f"the step of {self.name}"))
        if self.changes > _MOST_STEPS:
            raise BadInput(f"{self.name} changes by more than 2^40 steps with one row. Declare a larger step.")

    @property
    def changes(self) -> int:
        """By how many steps one row changes it, at most: one more than declared where values are rounded."""
        return math.ceil(self.sensitivity) if self.step is None else math.ceil(self.sensitivity / self.step) + 1

    def steps(self, counts: IntegerArray) -> int:
        """The value, in whole steps; 0 for what is no value. Cutting off what is huge changes no two values more."""
        try:
            value = self.function(counts)
            if self.step is None:
                found = operator.index(value)
            else:
                found = round(Fraction(float(value)) / self.step) if np.isfinite(float(value)) else 0
        except Exception:  # what failed, and why, depends on the counts
            return 0
        return max(-SAFE, min(SAFE, found))


@dataclass(frozen=True)
class DeclaredFunction(Statistic):
    """The value of a function that the kernel was opened with, plus discrete Laplace noise; only its name is sent.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell), if the value of the function
    changes by no more than was declared by whoever opened the kernel.
    Proof.  Let Δ be the declared sensitivity. Without a step the value is a whole number, which changes by at most ⌈Δ⌉.
    With a step s it is rounded to whole steps, each value by at most half a step, so that it changes by at most
    ⌈Δ/s⌉ + 1 of them. Cutting it off at ±2⁶² moves no two values further apart. DLap(⌈Δ⌉/ε), or DLap((⌈Δ/s⌉ + 1)/ε) in
    steps, changes by a factor of at most e^ε when it is shifted by that.  ∎
    """

    name: str

    def bound(self, trusted: Mapping[str, Declared], source: VectorShape) -> BoundFunction:
        """The function of this name, to be run on counts of this shape."""
        if self.name not in trusted:
            raise self._unknown(listing(trusted))
        return BoundFunction(self.name, trusted[self.name], source.shape)

    @property
    def declaration(self) -> Declared:
        """What was declared: known once a kernel that was opened with the function has bound it."""
        raise self._unknown("")

    def _unknown(self, known: str) -> BadInput:
        return BadInput(
            f"this kernel was not opened with the function {shorten(self.name)}, and runs no other such "
            f"function than {known or 'none'}. Whoever answers for it opens the kernel with trusted=[…]."
        )

    def check(self, source: VectorShape) -> None:
        """Every vector has a value, once it is known what was declared."""
        _ = self.declaration

    def steps_in(self, values: IntegerArray) -> int:
        """As declared."""
        return self.declaration.steps(values)

    def sensitivity(self, cells: int) -> int:
        """As declared."""
        return self.declaration.changes

    def step(self, cells: int) -> Fraction:
        """One, or as declared."""
        return Fraction(1) if self.declaration.step is None else self.declaration.step

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A whole number, and a real one that is rounded."""
        cases = (
            Declared("largest count", lambda counts: counts.max(), Fraction(1)),
            Declared("mean count", lambda counts: counts.mean(), Fraction(1, 4), Fraction(1, 400)),
        )
        bound = [BoundFunction(one.name, one, (4,)) for one in cases]
        return [AuditCase(str(one), one, (4,)) for one in bound]

    def __str__(self) -> str:
        return f"declared function {self.name}"


@dataclass(frozen=True)
class BoundFunction(DeclaredFunction):
    """A declared function with the declaration of the kernel that runs it. It is made by that kernel alone.

    Claim.  ε-DP for vectors at L1 distance 1, if the value changes by no more than was declared.
    Proof.  That of :class:`DeclaredFunction`.  ∎
    """

    declared: Declared
    shape: tuple[int, ...]

    @property
    def declaration(self) -> Declared:
        """The kernel's own."""
        return self.declared

    def steps_in(self, values: IntegerArray) -> int:
        """As declared, of an array of the shape that the function expects."""
        return super().steps_in(values.reshape(self.shape))


def by_name(given: Collection[Declared]) -> dict[str, Declared]:
    """By name, or an error: each is declared, and no two have one name."""
    if not isinstance(given, Collection) or not all(isinstance(one, Declared) for one in given):
        raise BadInput("trusted is a list of functions with a declared sensitivity.")
    found = {one.name: one for one in given}
    if len(found) < len(given):
        raise BadInput("two trusted functions have one name. Name each differently.")
    return found
