"""How far a public model is from private tables, on average."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.counts import CountedTables, GuessedTables
from adyton.kernel.mechanisms.measure_tables import counting
from adyton.kernel.operators import Mechanism
from adyton.kernel.shapes import SourceShape, TablesShape
from adyton.noise.laplace import machine_rate
from adyton.noise.probabilities import discrete_laplace_variance
from adyton.noise.source import NoiseSource
from adyton.queries import NoisyValue
from adyton.queries.base import Size
from adyton.schema import Integer, Schema
from adyton.whole import IntegerArray, add, whole_array


@dataclass(frozen=True, eq=False)
class MeanDistance(Mechanism):
    """The mean of ‖M − M̂‖₁ over some tables, for a public model M̂, plus discrete Laplace noise.

    What is counted are steps of 2^−bits/(number of tables): S = Σ_q 2^bits·‖M_q − M̂_q‖₁. The noise is DLap(Δ/ε) on S,
    with Δ = 2^bits·(number of tables) steps.

    Claim.  ε-DP for tables at distance 1 (one row added or removed).
    Proof.  By the lemma on distances (:class:`~adyton.kernel.counts.GuessedTables`) one row more or less moves
    each term of S by at most 2^bits, and their sum by at most Δ: the mean by at most 1. DLap(Δ/ε), or with a scale that
    is larger because the rate ε/Δ was rounded down, changes by at most a factor e^ε when it is shifted by Δ.  ∎
    """

    takes = TablesShape
    guess: GuessedTables

    @classmethod
    def of(cls, guesses: Mapping[int, npt.ArrayLike]) -> MeanDistance:
        """With tables of real numbers by their places."""
        return cls(GuessedTables.of(guesses))

    def check(self, source: TablesShape) -> None:
        """Guesses at tables of this source."""
        self.guess.check(source)

    def size(self, source: TablesShape, epsilon: Fraction) -> Size:
        """Every cell a few times."""
        return Size(10 * self.guess.numbers.size, 64 * self.guess.numbers.size)

    @property
    def steps(self) -> int:
        """Δ: how many steps make a mean of 1."""
        return self.guess.unit * len(self.guess.places)

    def scale(self, epsilon: Fraction) -> Fraction:
        """Δ/ε, or a little more."""
        return 1 / machine_rate(epsilon / self.steps)

    def draw(self, data: CountedTables, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """S + DLap(Δ/ε)."""
        total = sum(self.guess.distances(data).tolist())
        return add(whole_array([total], (1,)), noise.discrete_laplace((trials, 1), self.scale(epsilon)))

    def parts(self, source: SourceShape) -> None:
        """One draw."""

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> NoisyValue:
        """The noisy mean, in rows."""
        if output.size != 1:
            raise BadInput("a mean distance is measured once. Simulate trials one by one.")
        variance = float(discrete_laplace_variance([self.scale(epsilon)])[0])
        value = Fraction(int(output.reshape(-1)[0]), self.steps)
        return NoisyValue(float(value), math.sqrt(variance) / self.steps, private)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Two pairs of three attributes."""
        schema = Schema({name: Integer(0, 1) for name in "abc"})
        groups = (("a", "b"), ("b", "c"))
        one = cls.of({0: np.array([[8.0, 0], [0, 4]]), 1: np.array([[60, 0.25], [3, 0]])})
        return [AuditCase("mean distance", one, schema.shape, counting(schema, groups))]

    def __str__(self) -> str:
        return f"mean distance from {len(self.guess.places)} tables"
