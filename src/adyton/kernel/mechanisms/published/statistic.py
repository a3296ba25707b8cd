"""Statistics: single numbers about a vector, with the noise that their sensitivity requires.

Some are functions for which the curator is responsible: a kernel runs only those that it was opened with.
"""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.errors import BadInput
from adyton.exact import positive
from adyton.kernel.counts import PrivateVector
from adyton.kernel.operators import AuditCase, Mechanism
from adyton.kernel.shapes import SourceShape, VectorShape
from adyton.messages import listing, shorten
from adyton.noise.simulated import discrete_laplace_variance
from adyton.noise.source import NoiseSource
from adyton.queries import NoisyValue
from adyton.whole import SAFE, IntegerArray, absolute_sum, add, largest, whole_array, widen

_MOST_STEPS = 1 << 40
_LONGEST_NAME = 100


class Statistic(Mechanism):
    """A mechanism whose output is one whole number of public steps, plus discrete Laplace noise.

    Subclasses define the statistic in steps (:meth:`steps_in`), the most steps by which one row can change it
    (:meth:`sensitivity`), and the size of a step (:meth:`step`).
    """

    takes = VectorShape

    @abstractmethod
    def steps_in(self, values: IntegerArray) -> int:
        """The statistic of these counts, in steps, exactly."""

    @abstractmethod
    def sensitivity(self, cells: int) -> int:
        """The most steps by which one row more or less changes it."""

    def step(self, cells: int) -> Fraction:
        """The size of a step: 1 by default."""
        return Fraction(1)

    def check(self, source: VectorShape) -> None:
        """Every vector has a statistic."""

    def draw(self, data: PrivateVector, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """The statistic + DLap(Δ/ε), with Δ at least 1, even if no row changes the statistic."""
        values = data.values()
        return add(
            whole_array([self.steps_in(values)], (1,)),
            noise.discrete_laplace((trials, 1), self._scale(values.size, epsilon)),
        )

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> NoisyValue:
        """The noisy statistic in its own unit."""
        assert isinstance(source, VectorShape)
        if output.size != 1:
            raise BadInput("a statistic is measured once. Simulate trials one by one.")
        unit = self.step(source.cells)
        variance = float(discrete_laplace_variance([self._scale(source.cells, epsilon)])[0])
        return NoisyValue(float(int(output.reshape(-1)[0]) * unit), float(np.sqrt(variance)) * float(unit), private)

    def _scale(self, cells: int, epsilon: Fraction) -> Fraction:
        return max(1, self.sensitivity(cells)) / epsilon


@dataclass(frozen=True)
class NonZeros(Statistic):
    """The number of cells whose count is not 0, plus discrete Laplace noise.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  One row changes one cell, which becomes empty, or stops being empty, or neither: the number changes by at
    most 1, and DLap(1/ε) by a factor of at most e^ε when it is shifted by 1.  ∎
    """

    def steps_in(self, values: IntegerArray) -> int:
        """Cells that are not 0."""
        return int(np.count_nonzero(values))

    def sensitivity(self, cells: int) -> int:
        """One."""
        return 1

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A short line."""
        return [AuditCase("non-zeros", cls(), (4,))]

    def __str__(self) -> str:
        return "number of cells that are not empty"


@dataclass(frozen=True)
class TotalVariation(Statistic):
    """How many rows would have to move to make all d cells equal, ½ Σ |x_i − N/d|, plus discrete Laplace noise.

    In steps of 1/2d row it is a whole number, Σ |d·x_i − N|.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  One row more in cell i adds d to d·x_i and 1 to N: |d·x_i − N| moves by at most d − 1, and each of the d − 1
    other terms by at most 1. The sum moves by at most Δ = 2(d − 1) steps, and DLap(Δ/ε) by a factor of at most e^ε when
    it is shifted by Δ.  ∎
    """

    def steps_in(self, values: IntegerArray) -> int:
        """Σ |d·x_i − N|."""
        most = max(1, largest(values))
        roomy = widen(values, 2 * values.size * max(1, absolute_sum(values)) // most + 1)
        return int(np.abs(values.size * roomy - roomy.sum()).sum())

    def sensitivity(self, cells: int) -> int:
        """2(d − 1)."""
        return 2 * (cells - 1)

    def step(self, cells: int) -> Fraction:
        """1/2d row."""
        return Fraction(1, 2 * cells)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A short line."""
        return [AuditCase("total variation", cls(), (4,))]

    def __str__(self) -> str:
        return "total variation to even counts"


@dataclass(frozen=True, eq=False)
class Declared:
    """A function of an array of counts, and the most by which one row can change its value.

    The declaration is not checked: the person who opens a kernel with it is responsible for it. Without a *step* the
    value is a whole number; with a step it is rounded to whole steps. If the function fails, or returns anything else,
    its value is 0. The declared sensitivity must hold with that 0 too, and for negative counts, which linear maps can
    produce.
    """

    name: str
    function: Callable[[IntegerArray], Any]
    sensitivity: Fraction
    step: Fraction | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= _LONGEST_NAME or not callable(self.function):
            raise BadInput(f"a declared function must have a name and be callable, given {shorten(self.name)}.")
        object.__setattr__(self, "sensitivity", positive(self.sensitivity, f"the sensitivity of {self.name}"))
        if self.step is not None:
            object.__setattr__(self, "step", positive(self.step, f"the step of {self.name}"))
        if self.changes > _MOST_STEPS:
            raise BadInput(f"{self.name} changes by more than 2^40 steps with one row. Declare a larger step.")

    @property
    def changes(self) -> int:
        """The most steps by which one row changes it: one more than declared if values are rounded."""
        return math.ceil(self.sensitivity) if self.step is None else math.ceil(self.sensitivity / self.step) + 1

    def steps(self, counts: IntegerArray) -> int:
        """The value, in whole steps; 0 if it is not a number. Clipping never moves two values further apart."""
        try:
            value = self.function(counts)
            if self.step is None:
                steps = operator.index(value)
            else:
                steps = round(Fraction(float(value)) / self.step) if np.isfinite(float(value)) else 0
        except Exception:  # the failure may depend on the counts
            return 0
        return max(-SAFE, min(SAFE, steps))


@dataclass(frozen=True)
class DeclaredFunction(Statistic):
    """The value of a function with which the kernel was opened, plus discrete Laplace noise; only its name is sent.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell), if the value of the function
    changes by no more than was declared when the kernel was opened.
    Proof.  Let Δ be the declared sensitivity. Without a step the value is a whole number, which changes by at most ⌈Δ⌉.
    With a step s it is rounded to whole steps, each value by at most half a step, so that it changes by at most
    ⌈Δ/s⌉ + 1 of them. Clipping it to ±2⁶² never moves two values further apart. DLap(⌈Δ⌉/ε), or DLap((⌈Δ/s⌉ + 1)/ε) in
    steps, changes by a factor of at most e^ε when it is shifted by that amount.  ∎
    """

    name: str

    def bound(self, trusted: Mapping[str, Declared], source: VectorShape) -> BoundFunction:
        """The function of this name, to be run on counts of this shape."""
        if self.name not in trusted:
            raise self._unknown(listing(trusted))
        return BoundFunction(self.name, trusted[self.name], source.shape)

    @property
    def declaration(self) -> Declared:
        """The declaration: known once a kernel that was opened with the function has bound it."""
        raise self._unknown("")

    def _unknown(self, known: str) -> BadInput:
        return BadInput(
            f"this kernel was not opened with the function {shorten(self.name)}. The functions that it was opened "
            f"with: {known or 'none'}. To allow it, open the kernel with trusted=[…]."
        )

    def check(self, source: VectorShape) -> None:
        """Every vector has a value, once the declaration is known."""
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
        """A function with whole values, and one with real values that are rounded."""
        declared = (
            Declared("largest count", lambda counts: counts.max(), Fraction(1)),
            Declared("mean count", lambda counts: counts.mean(), Fraction(1, 4), Fraction(1, 400)),
        )
        bound = [BoundFunction(function.name, function, (4,)) for function in declared]
        return [AuditCase(str(function), function, (4,)) for function in bound]

    def __str__(self) -> str:
        return f"declared function {self.name}"


@dataclass(frozen=True)
class BoundFunction(DeclaredFunction):
    """A declared function with the declaration of the kernel that runs it. Only that kernel makes it.

    Claim.  ε-DP for vectors at L1 distance 1, if the value changes by no more than was declared.
    Proof.  That of :class:`DeclaredFunction`.  ∎
    """

    declared: Declared
    shape: tuple[int, ...]

    @property
    def declaration(self) -> Declared:
        """The kernel's declaration."""
        return self.declared

    def steps_in(self, values: IntegerArray) -> int:
        """As declared, for an array of the shape that the function expects."""
        return super().steps_in(values.reshape(self.shape))


def by_name(given: Collection[Declared]) -> dict[str, Declared]:
    """The functions by name, or an error if one is not declared or two have the same name."""
    if not isinstance(given, Collection) or not all(isinstance(function, Declared) for function in given):
        raise BadInput("trusted must be a list of functions with a declared sensitivity.")
    functions = {function.name: function for function in given}
    if len(functions) < len(given):
        raise BadInput("two trusted functions have the same name. Name each differently.")
    return functions
