"""Is the noise of every plan's measurements large enough for its ε? Recomputed exactly, query by query.

A plan is run on public data with a noise source that records the scales requested from it. The coefficients of each
measurement are read row by row, and Σ_q |q_i| / scale_q is added up in fractions for every cell: that is what one row
in cell i costs, whatever sensitivity the query sets claim. The ε of every selection on a source that holds the cell is
added (selections are audited separately). What a plan measures may depend on earlier answers: the sum is taken along
the run, as in adaptive composition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.exact import Rational, positive
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import Mechanism
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import Source, VectorSource
from adyton.plans import algorithms, plan_named
from adyton.plans.base import Plan
from adyton.queries import Identity, Measurement, Prefix, Queries, RandomRanges
from adyton_lab.audit.pairs import Finding
from adyton_lab.audit.walk import RecordingNoise

EPSILONS = (Fraction(1), Fraction(1, 10), Fraction(123_456_789_012_345_677, 10**18))
"""The last has a long numerator and denominator, so the cost of each query is rounded."""
DOMAINS: tuple[tuple[int, ...], ...] = ((1,), (7,), (16,), (33,), (4, 4), (5, 3))


class Listener(Kernel[VectorSource]):
    """A kernel that adds up what the measurements cost a row in each cell of its root, by the noise scales drawn."""

    witness: RecordingNoise
    costs: list[Fraction]

    def measure(self, source: Source, operator: Mechanism, epsilon: Rational) -> Any:
        """Measure, and add up the cost."""
        drawn = len(self.witness.all_scales)
        answer = super().measure(source, operator, epsilon)
        scales = self.witness.all_scales[drawn:]
        if isinstance(answer, Measurement):
            self._add(answer.on_first_vector(), scales)
        else:
            asked = source.facts.shape
            assert isinstance(asked, VectorShape)
            cells = asked.mapping or Identity(len(self.costs))
            self._add(cells, [1 / positive(epsilon, "epsilon", computed=True)] * cells.count)
        return answer

    def _add(self, queries: Queries, scales: list[Fraction]) -> None:
        rows = (row for chunk in queries.rows() for row in chunk)
        for row, scale in zip(rows, scales, strict=True):
            for cell in np.flatnonzero(row).tolist():
                self.costs[cell] += abs(Fraction(row[cell])) / scale


def audit_certificates(
    advance: Callable[[], None] = lambda: None,
    names: Sequence[str] | None = None,
    epsilons: Sequence[Fraction] = EPSILONS,
) -> Finding:
    """Check every plan, or those named, on small domains, workloads and budgets."""
    checked, tightest = 0, Fraction(0)
    for plan, workload in cases(names):
        for epsilon in epsilons:
            cost = cost_of(plan, workload, epsilon)
            checked += 1
            if cost > epsilon:
                detail = f"{plan.name} on {workload} costs {float(cost / epsilon):.6f} times its ε = {epsilon}."
                return Finding("plans", "certificates", False, detail)
            tightest = max(tightest, cost / epsilon)
        advance()
    figures = {"runs": checked, "largest cost/ε": float(tightest)}
    return Finding("plans", "certificates", True, f"{checked} runs, none above its ε.", figures)


def cases(names: Sequence[str] | None = None) -> Iterator[tuple[Plan, Queries]]:
    """Every plan, or those named, with every small workload that it serves."""
    for name in names or algorithms():
        plan = plan_named(name)
        for domain in DOMAINS:
            if plan.serves.serves(len(domain)):
                yield plan, Identity(domain)
                yield plan, RandomRanges(domain, 9, seed=1)
                if len(domain) == 1:
                    yield plan, Prefix(domain)


def cost_of(plan: Plan, workload: Queries, epsilon: Fraction) -> Fraction:
    """The cost of the measurements of one run for the row that they reveal most about."""
    x = np.random.default_rng(0).poisson(np.linspace(0, 9, workload.cells)).reshape(workload.domain)
    witness = RecordingNoise()
    kernel = Listener.on_vector(x, epsilon=epsilon, dataset="certificate", noise=witness)
    assert isinstance(kernel, Listener)
    kernel.witness, kernel.costs = witness, [Fraction(0)] * workload.cells
    plan.estimate(kernel.root, workload, epsilon)
    return max(kernel.costs)
