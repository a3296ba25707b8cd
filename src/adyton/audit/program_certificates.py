"""Does the noise of every program for many tables pay for what it reveals? Recomputed exactly, table by table.

A program is run on public rows with a noise source that writes down the scales it is asked for. A row is in one cell of
each table, so that a measurement of tables costs it Σ_q 1/scale_q; to this comes the ε of every choice and every
distance, which are audited by themselves. The sum is taken in fractions, along the run, whatever the program decided.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.audit.certificates import EPSILONS, Witness
from adyton.audit.findings import Finding
from adyton.errors import AdytonError
from adyton.exact import Rational, positive
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MeasureTables, Mechanism, NoisyCount
from adyton.kernel.shapes import TablesShape
from adyton.kernel.sources import Source, TableSource
from adyton.marginals.registry import PROGRAMS, program_named
from adyton.marginals.wanted import Wanted
from adyton.schema import Integer, Schema

SIDES = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 7}
ROWS = (0, 40, 4000)
"""Few and many: programs decide by it."""


class TablesListener(Kernel[TableSource]):
    """A kernel that remembers what every measurement costs a row, by the scales drawn."""

    witness: Witness
    cost: Fraction

    def measure(self, source: Source, operator: Mechanism, epsilon: Rational) -> Any:
        """Measure, and add up what it costs."""
        drawn = len(self.witness.scales)
        answer = super().measure(source, operator, epsilon)
        scales = [scale for draw in self.witness.scales[drawn:] for scale in draw]
        if isinstance(operator, MeasureTables):
            asked = source.facts.shape
            assert isinstance(asked, TablesShape)
            self.cost += _cost(scales, asked.sizes(operator.places))
        elif isinstance(operator, NoisyCount):
            self.cost += _cost(scales, [1])
        else:
            self.cost += positive(epsilon, "epsilon", computed=True)
        return answer


def _cost(scales: Sequence[Fraction], sizes: Iterable[int]) -> Fraction:
    """Σ over tables of what the cell with the least noise costs."""
    ends = list(itertools.accumulate(sizes))
    if len(scales) != ends[-1]:
        raise AdytonError(f"{len(scales)} draws for {ends[-1]} cells: some have no noise of their own.")
    return sum((1 / min(scales[start:end]) for start, end in itertools.pairwise([0, *ends])), Fraction(0))


def audit_programs(
    advance: Callable[[], None] = lambda: None,
    names: Sequence[str] | None = None,
    epsilons: Sequence[Fraction] = EPSILONS,
) -> Finding:
    """Every program, or those named, on few and on many rows."""
    checked, tightest = 0, Fraction(0)
    for name in names or PROGRAMS:
        for epsilon, rows in itertools.product(epsilons, ROWS):
            cost = cost_of_program(name, rows, epsilon)
            checked += 1
            if cost > epsilon:
                detail = f"{name} on {rows} rows costs {float(cost / epsilon):.6f} times its ε = {epsilon}."
                return Finding("plans", "programs", False, detail)
            tightest = max(tightest, cost / epsilon)
        advance()
    figures = {"runs": checked, "largest cost/ε": float(tightest)}
    return Finding("plans", "programs", True, f"{checked} runs, none above its ε.", figures)


def cost_of_program(name: str, rows: int, epsilon: Fraction) -> Fraction:
    """What one run costs a row."""
    schema = Schema({one: Integer(0, side - 1) for one, side in SIDES.items()})
    wanted = Wanted.of(schema, list(itertools.combinations(SIDES, 2)))
    first = np.random.default_rng(1).integers(0, 7, (rows, 1))
    witness = Witness()
    kernel = TablesListener.simulated_table(first % np.array(schema.shape), schema, epsilon=epsilon, noise=witness)
    assert isinstance(kernel, TablesListener)
    kernel.witness, kernel.cost = witness, Fraction(0)
    program_named(name).measure(kernel.root, wanted, epsilon)
    return kernel.cost
