"""Many noisy tables of counts, with a noise scale for each table, for one debit."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.errors import BadInput
from adyton.exact import display
from adyton.kernel.counting.public_rows import CodedTable
from adyton.kernel.counts import CountedTables
from adyton.kernel.mechanisms.vector_laplace import FEW_DRAWS, LEAST_VARIANCE
from adyton.kernel.operators import AuditCase, Mechanism
from adyton.kernel.shapes import SourceShape, TablesShape
from adyton.noise.laplace import is_long, machine_rate
from adyton.noise.simulated import discrete_laplace_variance
from adyton.noise.source import NoiseSource, Ratio
from adyton.queries.base import SLOW_DRAW, Size
from adyton.queries.measurement import NoisyTables
from adyton.schema import Integer, Schema
from adyton.whole import IntegerArray, add, whole_array

Prepare: TypeAlias = Callable[[IntegerArray], CountedTables]
SHARE_BITS = 48
"""Weights become shares that are multiples of 2⁻⁴⁸."""
_SHOWN = 6
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class MeasureTables(Mechanism):
    """The counts of some tables, plus independent discrete Laplace noise: table q with its share of the budget.

    ``places`` are the numbers of the tables, ``shares`` exact fractions greater than 0 that add up to at most 1. The
    noise of table q is DLap(1/ε_q) with ε_q ≤ share_q·ε: equal if the numbers are short, else rounded down.

    Claim.  ε-DP for tables at distance 1 (one row added or removed).
    Proof.  By the lemma on rows and tables (:class:`~adyton.kernel.counts.CountedTables`) one row more or less
    changes at most one cell of each table, by 1, which costs at most ε_q for table q. The noises are independent, so
    the tables together cost Σ_q ε_q ≤ ε·Σ_q share_q ≤ ε. The shares are added up as fractions, and the sum is checked
    before anything is charged; no table is named twice.  ∎
    """

    takes = TablesShape
    places: tuple[int, ...]
    shares: tuple[Fraction, ...]

    @classmethod
    def weighted(
        cls, places: Sequence[int], weights: npt.ArrayLike | Sequence[Fraction] | None = None
    ) -> MeasureTables:
        """Shares proportional to positive weights, or equal shares without weights; rounded down to a fine grid.

        >>> MeasureTables.weighted((0, 4), [1, 3]).shares
        (Fraction(1, 4), Fraction(3, 4))
        """
        count = len(places)
        given = [1] * count if weights is None else list(np.asarray(weights).tolist())
        if len(given) != count or not all(
            isinstance(weight, int | float | Fraction) and math.isfinite(weight) and weight > 0 for weight in given
        ):
            raise BadInput(f"weights must be {count} finite numbers greater than 0, one for each table.")
        exactly, steps = [Fraction(weight) for weight in given], 1 << SHARE_BITS
        total = sum(exactly)
        shares = tuple(Fraction(math.floor(weight / total * steps), steps) for weight in exactly)
        return cls(tuple(int(place) for place in places), shares)

    def check(self, source: TablesShape) -> None:
        """Tables of this source, and shares that can be paid for."""
        source.check_places(self.places)
        if len(self.shares) != len(self.places):
            raise BadInput(f"{len(self.places)} tables need one share each, given {len(self.shares)}.")
        if min(self.shares) <= 0:
            raise BadInput("the share of a table must be greater than 0. Leave out tables that are not measured.")
        total = sum(self.shares)
        if total > 1:
            raise BadInput(f"the shares of the tables must add up to at most 1, given {display(Fraction(total))}.")

    def size(self, source: TablesShape, epsilon: Fraction) -> Size:
        """Memory and work for a draw for each cell."""
        sizes = source.sizes(self.places)
        slow = sum(size for size, rate in zip(sizes, self.rates(epsilon), strict=True) if is_long(rate))
        cells = sum(sizes)
        return Size(8 * cells, 64 * cells + (SLOW_DRAW * slow if slow > FEW_DRAWS else 0))

    def rates(self, epsilon: Fraction) -> list[Fraction]:
        """ε_q for every table."""
        return [machine_rate(share * epsilon) for share in self.shares]

    def variances(self, epsilon: Fraction) -> Reals:
        """The variance of the noise in the cells of each table: public, known before anything is measured."""
        return np.maximum(discrete_laplace_variance([1 / rate for rate in self.rates(epsilon)]), LEAST_VARIANCE)

    def draw(self, data: CountedTables, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """M_q + (DLap(1/ε_q)) for every cell of every table, one table after the other."""
        counts = data.together(self.places)
        sizes = [math.prod(data.shapes[place]) for place in self.places]
        return add(counts, noise.discrete_laplace((trials, counts.size), self._scales(epsilon, sizes)))

    def _scales(self, epsilon: Fraction, sizes: Sequence[int]) -> Ratio:
        """1/ε_q for every cell."""
        rates = self.rates(epsilon)
        above = whole_array([rate.denominator for rate in rates], (len(rates),))
        below = whole_array([rate.numerator for rate in rates], (len(rates),))
        return Ratio(np.repeat(above, sizes), np.repeat(below, sizes))

    def parts(self, source: SourceShape) -> Places:
        """A number for each cell that depends only on its group and its number in the table: a table measured together
        with others gets the same noise as without them."""
        assert isinstance(source, TablesShape)
        cells = []
        for place, size in zip(self.places, source.sizes(self.places), strict=True):
            mark = hashlib.sha256("\n".join(source.groups[place]).encode()).digest()
            steps = np.arange(size, dtype=np.uint64) * _GOLDEN
            cells.append(steps + np.uint64(int.from_bytes(mark[:8])))
        return np.concatenate(cells).view(np.int64)

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> NoisyTables:
        """The tables with their variances."""
        assert isinstance(source, TablesShape)
        groups, shapes = source.groups, source.shapes
        return NoisyTables(
            tuple(groups[place] for place in self.places),
            tuple(shapes[place] for place in self.places),
            output,
            self.variances(epsilon),
            epsilon,
            private,
        )

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A pair and both of its attributes with different shares; and two of the tables with weights."""
        schema = Schema({"a": Integer(0, 1), "b": Integer(0, 1)})
        prepare = counting(schema, (("a", "b"), ("a",), ("b",)))
        cases = {
            "a pair and its attributes": cls((0, 1, 2), (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))),
            "by weights": cls.weighted((2, 1), (0.3, 1.7)),
        }
        return [
            AuditCase(f"noisy tables, {name}", noisy, schema.shape, prepare, partial(noisy._likelihood_ratio, prepare))
            for name, noisy in cases.items()
        ]

    def _likelihood_ratio(
        self, prepare: Prepare, outputs: IntegerArray, left: IntegerArray, right: IntegerArray, epsilon: Fraction
    ) -> Reals:
        """ln P(output | left) − ln P(output | right) = Σ ε_q (|y − right| − |y − left|)."""
        before, after = prepare(left), prepare(right)
        sizes = [math.prod(before.shapes[place]) for place in self.places]
        rates = np.repeat([float(rate) for rate in self.rates(epsilon)], sizes)
        moved = np.abs(outputs - after.together(self.places)) - np.abs(outputs - before.together(self.places))
        return np.asarray((rates * moved).sum(axis=1))

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.places[:_SHOWN]))
        more = f" and {len(self.places) - _SHOWN} more" if len(self.places) > _SHOWN else ""
        return f"noisy tables number {shown}{more}"


def counting(schema: Schema, groups: tuple[tuple[str, ...], ...]) -> Prepare:
    """For an auditor: a function from the counts of all cells of a domain to the private tables of a kernel."""
    shapes = TablesShape(schema, groups).shapes

    def prepare(counts: IntegerArray) -> CountedTables:
        table = CodedTable.of_counts(np.maximum(counts, 0), schema)
        return CountedTables(lambda: table.tables(groups), groups, shapes)

    return prepare
