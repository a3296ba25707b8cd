"""Least squares for marginals of a domain that fits in memory: exact, and linear in the cells.

Let the marginal over the axes S have variance v_S. Then Aᵀ·D⁻¹·A has one eigenvalue for every set T of axes, on the
functions that depend on these axes together (:mod:`adyton.queries.axes`):

    λ_T = Σ_{S ⊇ T} (1/v_S)·Π_{i ∉ S} n_i.

So the estimate is Σ_T P_T·Aᵀ·D⁻¹·y/λ_T, and its error on a workload Σ_T tr(P_T·WᵀW)/λ_T. Along one axis, a mean in the
first place and differences from it in all others tell the two kinds of functions apart.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Array, Integers, Reals
from adyton.compiling import cached_property
from adyton.queries import Marginals, Queries, Ranges
from adyton.queries.axes import energies_by_axes
from adyton.queries.measurement import Group
from adyton.solving.residuals import part_variances

MOST_AXES = 16
_NEARLY = 1e-9


class MarginalsSolver:
    """Marginals, each with noise of its own variance."""

    exact = True

    def __init__(self, queries: Marginals, noise: Reals) -> None:
        self._queries, self._noise = queries, noise
        precision = precisions(queries.domain, queries.axes, [1 / own[0] for own in _by_marginal(queries, noise)])
        self._inverse = np.divide(1, precision, out=np.zeros_like(precision), where=precision > 0)
        self._there = _dimensions(queries.domain) > 0
        self.sides = {str(axis): side for axis, side in enumerate(queries.domain)}
        groups = [tuple(map(str, axes)) for axes in queries.axes]
        noises = [float(own[0]) for own in _by_marginal(queries, noise)]
        self.measured = list(zip(groups, noises, strict=True))
        """What was measured, in the words of :mod:`adyton.solving.residuals`: sets of axes and variances."""

    @cached_property
    def parts(self) -> dict[Group, float]:
        """The variance of each part of which something was measured."""
        return dict(part_variances(self.sides, self.measured).variances)

    @classmethod
    def of(cls, queries: Queries, noise: Reals) -> MarginalsSolver | None:
        """For marginals whose cells have equal noise; None for others."""
        if not isinstance(queries, Marginals) or len(queries.domain) > MOST_AXES:
            return None
        even = all(np.ptp(own) <= _NEARLY * own[0] for own in _by_marginal(queries, noise))
        return cls(queries, noise) if even else None

    @property
    def complete(self) -> bool:
        """Whether the marginal over all axes that have more than one value was measured."""
        return bool((self._inverse[self._there] > 0).all())

    def solve(self, answers: Array) -> Reals:
        """One step forth and one back along every axis."""
        return self._divided(self._queries.transpose(np.asarray(answers, dtype=np.float64) / self._noise))

    def variances(self, rows: Reals) -> Reals:
        """q·(Aᵀ·D⁻¹·A)⁺·q."""
        return np.asarray((rows * self._divided(np.asarray(rows, dtype=np.float64))).sum(axis=-1))

    def box_variances(self, lower: Integers, upper: Integers) -> Reals:
        """The same for sums over boxes: Σ_T V_T·Π_T k_i(1 − k_i/n_i)·Π_{∉T} (k_i/n_i)², k_i cells along each axis."""
        sides = np.array(self._queries.domain, dtype=np.float64)
        long = (upper - lower + 1).astype(np.float64)
        spread, level = long * (1 - long / sides), np.square(long / sides)
        found = np.zeros(len(long))
        for group, variance in self.parts.items():
            inside = np.array([str(axis) in group for axis in range(sides.size)])
            found += variance * np.where(inside, spread, level).prod(axis=1)
        return found

    def total_variance(self, workload: Queries) -> float:
        """By sets of axes where the energies are known, else query by query."""
        energies = energies_by_axes(workload) if workload.domain == self._queries.domain else None
        if energies is not None:
            return float(energies @ self._inverse)
        if isinstance(workload, Ranges):
            return float(self.box_variances(workload.lower, workload.upper).sum())
        return float(sum(self.variances(rows).sum() for rows in workload.rows()))

    def _divided(self, cells: Reals) -> Reals:
        """Σ_T P_T·z/λ_T."""
        domain = self._queries.domain
        leading = cells.ndim - 1
        table = cells.reshape(*cells.shape[:-1], *domain).copy()
        for axis in range(leading, table.ndim):
            mean = table.mean(axis=axis, keepdims=True)
            table -= mean
            table[_first(table.ndim, axis)] = mean
        factors = self._inverse.reshape((2,) * len(domain)).transpose()  # the first axis has the lowest bit
        table *= factors[np.ix_(*((np.arange(side) > 0).astype(np.int64) for side in domain))]
        for axis in range(leading, table.ndim):
            mean = table[_first(table.ndim, axis)].copy()
            table[_first(table.ndim, axis)] = 0
            table[_first(table.ndim, axis)] = -table.sum(axis=axis, keepdims=True)
            table += mean
        return table.reshape(cells.shape)


def precisions(domain: tuple[int, ...], sets: tuple[tuple[int, ...], ...], weights: list[float]) -> Reals:
    """λ_T for every set T of axes, numbered by its bits, from 1/v_S for the measured sets."""
    found = np.zeros(1 << len(domain))
    for axes, weight in zip(sets, weights, strict=True):
        others = np.prod([side for axis, side in enumerate(domain) if axis not in axes], dtype=np.float64)
        found[sum(1 << axis for axis in axes)] += weight * others
    return over_supersets(found)


def over_supersets(values: Reals) -> Reals:
    """For every set the sum over all sets that contain it."""
    table = values.reshape((2,) * (values.size.bit_length() - 1)).astype(np.float64)
    for axis in range(table.ndim):
        table = np.flip(np.flip(table, axis).cumsum(axis=axis), axis)
    return table.reshape(-1)


def _by_marginal(queries: Marginals, noise: Reals) -> list[Reals]:
    return np.split(noise, np.cumsum(queries.sizes)[:-1])


def _dimensions(domain: tuple[int, ...]) -> Reals:
    """Of the space of every set of axes."""
    numbers = np.arange(1 << len(domain))
    members = (numbers[:, None] >> np.arange(len(domain)) & 1).astype(bool)
    return np.asarray(np.where(members, np.array(domain, dtype=np.float64) - 1, 1.0).prod(axis=1))


def _first(dimensions: int, axis: int) -> tuple[slice, ...]:
    """The first place along an axis, which is kept."""
    return tuple(slice(0, 1) if other == axis else slice(None) for other in range(dimensions))
