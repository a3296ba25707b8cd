"""How the noise of an estimated answer is spread: its variance and its fourth cumulant, in closed form.

An answer by least squares is off by Σ_j a_j·L_j, with independent discrete Laplace noises L_j and coefficients a_j that
follow from what was measured. Cumulants add up: the second is Σ a_j²·v_j, the variance, and the fourth Σ a_j⁴·v_j²·k_j,
where k is the excess kurtosis of the noise: 3, or a little more where the noise is so small that most of it is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals
from adyton.queries import Identity, Marginals, Queries, Ranges, Stack
from adyton.solving.determined import narrowed
from adyton.solving.marginals_solver import MarginalsSolver
from adyton.solving.product_solver import KroneckerSolver
from adyton.solving.solvers import CellSolver, Solver
from adyton.solving.table_moments import TableMoments, laplace_excess

_MOST_WRITTEN = 1 << 28
"""How many coefficients of queries are looked at one by one."""


@dataclass(frozen=True, eq=False)
class Moments:
    """The variance and the fourth cumulant of the error of each answer."""

    variances: Reals
    fourths: Reals
    at_most: bool = False
    """Whether the fourth cumulants are known to be at most these, and no more."""

    @property
    def excess(self) -> Reals:
        """The excess kurtosis: 0 for a normal law, 3 for Laplace's."""
        safe = np.maximum(np.square(self.variances), 1e-300)
        return np.asarray(np.where(self.variances > 0, self.fourths / safe, 0.0))


def noise_moments(solver: Solver, queries: Queries) -> Moments | None:  # noqa: PLR0911
    """Of the answers to some queries; None where no closed form is known, or too many coefficients had to be read."""
    if isinstance(queries, Stack):
        parts = [noise_moments(solver, part) for part in queries.parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        two, four = (np.concatenate([getattr(part, of) for part in known]) for of in ("variances", "fourths"))
        return Moments(two, four, any(part.at_most for part in known))
    match solver, queries:
        case MarginalsSolver(), Marginals():
            return _of_marginals(solver, queries)
        case MarginalsSolver(), Ranges():
            return _of_ranges(solver, queries)
        case KroneckerSolver(), Marginals():
            excess = _largest(laplace_excess(solver.least_noise))
            tables = [solver.table_moments(axes) for axes in queries.axes]
            two, four = (np.concatenate([one[place] for one in tables]) for place in (0, 1))
            return Moments(two, excess * four)
        case CellSolver(), Marginals() | Ranges() if solver.noise.min() == solver.noise.max():
            noise, summed = float(solver.noise[0]), _summed(queries)
            return Moments(summed * noise, summed * noise**2 * float(laplace_excess(noise)))
        case CellSolver(), Identity():
            return Moments(solver.noise, np.square(solver.noise) * laplace_excess(solver.noise))
        case CellSolver(), _ if queries.count * queries.cells <= _MOST_WRITTEN:
            four = np.square(solver.noise) * laplace_excess(solver.noise)
            pieces = [(np.square(rows) @ solver.noise, np.square(np.square(rows)) @ four) for rows in queries.rows()]
            two, four = (np.concatenate([piece[place] for piece in pieces]) for place in (0, 1))
            return Moments(two, four)
    return None


def _summed(queries: Marginals | Ranges) -> Reals:
    """How many cells each query adds up."""
    if isinstance(queries, Ranges):
        return np.asarray((queries.upper - queries.lower + 1).prod(axis=1), dtype=np.float64)
    sizes = np.array(queries.sizes)
    return np.asarray(np.repeat(queries.cells / sizes, sizes))


def _largest(values: Reals) -> float:
    return float(np.max(values))


def _of_ranges(solver: MarginalsSolver, queries: Ranges) -> Moments:
    """Of a box of cells: its variance, and at most the kurtosis of a single cell of its table."""
    law, groups = TableMoments(solver.sides, solver.measured, solver.parts), narrowed(queries)
    cells = {axes: law.of(tuple(map(str, axes))) for axes in set(groups)}
    excess = {axes: four / two**2 if two else 0.0 for axes, (two, four) in cells.items()}
    variances = solver.box_variances(queries.lower, queries.upper)
    return Moments(variances, np.square(variances) * np.array([excess[axes] for axes in groups]), at_most=True)


def _of_marginals(solver: MarginalsSolver, queries: Marginals) -> Moments:
    law = TableMoments(solver.sides, solver.measured, solver.parts)
    found = [law.of(tuple(map(str, axes))) for axes in queries.axes]
    two, four = (np.repeat([one[place] for one in found], queries.sizes) for place in (0, 1))
    return Moments(two, four)
