"""The programs that measure everything at once: every pair of attributes, or every table that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import BadInput
from adyton.kernel.mechanisms import MeasureTables
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import TablesShape
from adyton.kernel.sources import TableSource
from adyton.marginals.program import Outcome, TablesProgram, measured
from adyton.marginals.wanted import MOST_CELLS, Wanted
from adyton.queries.measurement import Group
from adyton.strategies.table_shares import table_shares


@dataclass(frozen=True, kw_only=True)
class AllPairs(TablesProgram):
    """Every pair of attributes, in shares of a budget that make the sum of errors least.

    Least squares on the parts of tables makes them consistent (Xiao et al., "An optimal and scalable matrix mechanism
    for noisy marginals under convex loss functions", NeurIPS 2023); the least squares are free of bias.
    """

    name = "all-pairs"

    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """One measurement of everything."""
        shares = wanted.shares()
        tables = source.tables(tuple(shares))
        return Outcome(self.name, tuple(measured(tables, shares, epsilon)), f"all {len(wanted.pairs):,} pairs")


@dataclass(frozen=True, kw_only=True)
class AllTables(TablesProgram):
    """Every table asked for, in shares of a budget that make the sum of errors least.

    As all-pairs, for tables of one, two, three or more attributes: each of them is free of bias, and has an exact
    standard error (Xiao et al., "An optimal and scalable matrix mechanism for noisy marginals under convex loss
    functions", NeurIPS 2023).
    """

    name = "all-tables"

    def check(self, wanted: Wanted, epsilon: Fraction) -> None:
        """Measuring all of them."""
        if wanted.cells > MOST_CELLS:
            raise BadInput(
                f"these {len(wanted.groups):,} tables have {wanted.cells:,} cells, allowed are {MOST_CELLS:,} in all. "
                "Name all-pairs, whose tables of more attributes follow from pairs, the tables that matter (sets), or "
                "fewer cells for attributes of numbers (cells)."
            )
        groups = tuple(direct_shares(wanted))
        check_request(MeasureTables.weighted(range(len(groups))), TablesShape(wanted.schema, groups), epsilon / 1024)

    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """One measurement of everything."""
        shares = direct_shares(wanted)
        tables = source.tables(tuple(shares))
        return Outcome(self.name, tuple(measured(tables, shares, epsilon)), f"all {len(wanted.groups):,} tables")


def direct_shares(wanted: Wanted) -> Mapping[Group, Fraction]:
    """The shares of a budget for measuring the tables themselves."""
    weights: dict[Group, float] = {}
    for group, weight in zip(wanted.groups, wanted.weights, strict=True):
        weights[group] = weights.get(group, 0.0) + weight
    return table_shares(wanted.sides, list(weights), weights=list(weights.values()), energies=wanted.energies)
