"""How the noise of an estimated answer is spread: its variance and its fourth cumulant, in closed form.

An answer by least squares is off by Σ_j a_j·L_j, with independent discrete Laplace noises L_j and coefficients a_j that
follow from what was measured. Cumulants add up: the second is Σ a_j²·v_j, the variance, and the fourth Σ a_j⁴·v_j²·k_j,
where k is the excess kurtosis of the noise: 3, or a little more where the noise is so small that most of it is 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.queries import Identity, Marginals, Queries, Stack
from adyton.solving.marginals_solver import MarginalsSolver
from adyton.solving.product_solver import KroneckerSolver
from adyton.solving.residuals import Group
from adyton.solving.solvers import CellSolver, Solver

_MOST_WRITTEN = 1 << 28
"""How many coefficients of queries are looked at one by one."""


@dataclass(frozen=True, eq=False)
class Moments:
    """The variance and the fourth cumulant of the error of each answer."""

    variances: Reals
    fourths: Reals

    @property
    def excess(self) -> Reals:
        """The excess kurtosis: 0 for a normal law, 3 for Laplace's."""
        safe = np.maximum(np.square(self.variances), 1e-300)
        return np.asarray(np.where(self.variances > 0, self.fourths / safe, 0.0))


def laplace_excess(variance: npt.ArrayLike) -> Reals:
    """The excess kurtosis of discrete Laplace noise: (1 + 4a + a²)/2a, with the variance 2a/(1 − a)².

    >>> laplace_excess([1e6, 2.0]).round(3).tolist()
    [3.0, 3.118]
    """
    v = np.maximum(np.asarray(variance, dtype=np.float64), 1e-12)
    a = v / (v + 1 + np.sqrt(2 * v + 1))
    return np.asarray((1 + 4 * a + a * a) / (2 * a))


def noise_moments(solver: Solver, queries: Queries) -> Moments | None:
    """Of the answers to some queries; None where no closed form is known, or too many coefficients had to be read."""
    if isinstance(queries, Stack):
        parts = [noise_moments(solver, part) for part in queries.parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return Moments(*(np.concatenate([getattr(part, of) for part in known]) for of in ("variances", "fourths")))
    match solver, queries:
        case MarginalsSolver(), Marginals():
            return _of_marginals(solver, queries)
        case KroneckerSolver(), Marginals():
            excess = _largest(laplace_excess(solver.least_noise))
            tables = [solver.table_moments(axes) for axes in queries.axes]
            two, four = (np.concatenate([one[place] for one in tables]) for place in (0, 1))
            return Moments(two, excess * four)
        case CellSolver(), Marginals() if solver.noise.min() == solver.noise.max():
            noise, sizes = float(solver.noise[0]), np.array(queries.sizes)
            summed = np.repeat(queries.cells / sizes, sizes)
            return Moments(summed * noise, summed * noise**2 * float(laplace_excess(noise)))
        case CellSolver(), Identity():
            return Moments(solver.noise, np.square(solver.noise) * laplace_excess(solver.noise))
        case CellSolver(), _ if queries.count * queries.cells <= _MOST_WRITTEN:
            four = np.square(solver.noise) * laplace_excess(solver.noise)
            pieces = [(np.square(rows) @ solver.noise, np.square(np.square(rows)) @ four) for rows in queries.rows()]
            return Moments(*(np.concatenate([piece[place] for piece in pieces]) for place in (0, 1)))
    return None


def _largest(values: Reals) -> float:
    return float(np.max(values))


def _of_marginals(solver: MarginalsSolver, queries: Marginals) -> Moments:
    found = [
        table_moments(solver.sides, solver.measured, solver.parts, tuple(map(str, axes))) for axes in queries.axes
    ]
    two, four = (np.repeat([one[place] for one in found], queries.sizes) for place in (0, 1))
    return Moments(two, four)


def table_moments(
    sides: Mapping[str, int], measured: Iterable[tuple[Group, float]], parts: Mapping[Group, float], asked: Group
) -> tuple[float, float]:
    """Of a cell of the table *asked*, by residual least squares from tables that were measured with some variances.

    *parts* are the variances V_T of the parts. The cell c of a measured table S has the coefficient

        Σ_{T ⊆ S∩Q} V_T/(v_S·Π_{S∖T} n_i·Π_{Q∖T} n_i) · Π_{i ∈ T} (1[c_i = q_i] − 1/n_i),

    which depends only on where c and the asked cell q agree: one number for each subset of S∩Q. Parts that nothing was
    measured of count as 0.

    >>> table_moments({"a": 2, "b": 3}, [(("a", "b"), 200.0)], {(): 1200.0, ("a",): 600.0}, ("a",))[0]
    600.0
    """
    variance = fourth = 0.0
    for group, noise in measured:
        shared = tuple(name for name in group if name in asked)
        here = np.array([_gain(sides, group, asked, part, noise, parts) for part in _bit_subsets(shared)])
        agree = here.reshape((2,) * len(shared))
        count = np.full(agree.shape, float(math.prod(sides[name] for name in group if name not in asked)))
        for axis, name in enumerate(shared):
            none, own = np.take(agree, 0, axis), np.take(agree, 1, axis)
            agree = np.stack([none - own / sides[name], none + own * (1 - 1 / sides[name])], axis)
            shape = [2 if place == axis else 1 for place in range(len(shared))]
            count = count * np.reshape([sides[name] - 1.0, 1.0], shape)
        variance += float((count * agree**2).sum()) * noise
        fourth += float((count * agree**4).sum()) * noise**2 * float(laplace_excess(noise))
    return variance, fourth


def _gain(
    sides: Mapping[str, int], group: Group, asked: Group, part: Group, noise: float, parts: Mapping[Group, float]
) -> float:
    if part not in parts:
        return 0.0
    others = [sides[name] for name in (*group, *asked) if name not in part]
    return parts[part] / (noise * functools.reduce(lambda product, side: product * side, others, 1.0))


def _bit_subsets(names: Group) -> list[Group]:
    """All subsets, in the order of an array with an axis of two places for each name."""
    found: list[Group] = [()]
    for name in names:
        found = [subset for one in found for subset in (one, (*one, name))]
    return found
