"""The noisy number of rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from adyton.kernel.counting import PrivateTable, open_table
from adyton.kernel.operators import AuditCase, Mechanism
from adyton.kernel.shapes import SourceShape, TableShape
from adyton.noise.simulated import discrete_laplace_variance
from adyton.noise.source import NoiseSource
from adyton.queries import Measurement, Total
from adyton.schema import Integer, Schema
from adyton.whole import IntegerArray, add


@dataclass(frozen=True)
class NoisyCount(Mechanism):
    """The number of rows, plus discrete Laplace noise.

    Claim.  ε-DP for tables at distance 1 (one row added or removed).
    Proof.  |count(D) − count(D′)| ≤ 1, and DLap(1/ε), P(z) ∝ e^{−ε|z|}, changes by at most a factor e^ε when it is
    shifted by 1.  ∎
    """

    takes = TableShape

    def check(self, source: TableShape) -> None:
        """Every table has a count."""

    def draw(self, data: PrivateTable, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """count + DLap(1/ε)."""
        return add(np.array([data.count()]), noise.discrete_laplace((trials, 1), 1 / epsilon))

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Measurement:
        """A measurement of the total."""
        return Measurement(Total(1), output, partial(discrete_laplace_variance, [1 / epsilon]), epsilon, private)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Tables of one column that differ by one row."""
        schema = Schema({"x": Integer(0, 3)})

        def table_of(counts: IntegerArray) -> PrivateTable:
            import pyarrow

            column = np.repeat(np.arange(counts.size, dtype=np.int8), counts.reshape(-1))
            return open_table(pyarrow.table({"x": column}), schema)

        return [AuditCase("noisy count", cls(), schema.shape, table_of)]

    def __str__(self) -> str:
        return "noisy count"
