"""The program that measures every pair of attributes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.kernel.sources import TableSource
from adyton.marginals.program import Outcome, TablesProgram, measured
from adyton.marginals.wanted import Wanted


@dataclass(frozen=True, kw_only=True)
class AllPairs(TablesProgram):
    """Every pair of attributes, with the shares of the budget that make the sum of all errors least.

    Least squares on the parts of tables makes them consistent (Xiao et al., "An optimal and scalable matrix mechanism
    for noisy marginals under convex loss functions", NeurIPS 2023); the least squares are free of bias.
    """

    name = "all-pairs"

    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """One measurement of everything."""
        shares = wanted.shares()
        tables = source.tables(tuple(shares))
        return Outcome(self.name, tuple(measured(tables, shares, epsilon)), f"all {len(wanted.pairs):,} pairs")
