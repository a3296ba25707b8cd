"""Least squares for products over the axes of a domain, axis by axis, and for a tree with some additional queries: the
strategies of HDMM.

Let C be the covariance of the estimate x from the tree alone, and let the additional queries R have answers y with
variances S. By Woodbury's identity the estimate from both is x + CRᵀ(S + RCRᵀ)⁻¹(y − Rx), and its covariance is
C − CRᵀ(S + RCRᵀ)⁻¹RC. This is exact and takes time linear in the cells times the number of additional queries.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.queries import AllRange, Haar, Hierarchy, Identity, Kronecker, Marginals, Queries, Ranges, Stack
from adyton.queries.axes import product_parts
from adyton.queries.hierarchy import block_sums, spread
from adyton.solving.trees import TreeSolver

LARGEST_FACTOR, LARGEST_SOLVED = 4096, 8192
"""The longest axis whose inverse is written out: from all coefficients, and by a solver that takes linear time."""
_NEARLY = 1e-3


def noise_by_axis(queries: Kronecker, noise: Reals) -> list[Reals] | None:
    """One factor per axis whose products are the variances of the answers.

    None if the variances are not products, or if an axis is too long for its inverse to be written out.
    """
    if any(factor.cells > (LARGEST_SOLVED if _solved(factor) else LARGEST_FACTOR) for factor in queries.factors):
        return None
    table = noise.reshape([factor.count for factor in queries.factors])
    corner = (0,) * table.ndim
    factors = []
    for axis in range(table.ndim):
        line = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)[:, 0]
        factors.append(line if axis == 0 else line / table[corner])
    product = functools.reduce(np.multiply.outer, factors)
    return factors if (np.abs(product - table) <= _NEARLY * table).all() else None


class KroneckerSolver:
    """A product over axes whose noise is a product too: (A₁ ⊗ A₂)⁺ = A₁⁺ ⊗ A₂⁺, so each axis is solved separately."""

    exact = True

    def __init__(self, queries: Kronecker, noise: list[Reals]) -> None:
        self._queries = queries
        solved = [_inverse(factor, own) for factor, own in zip(queries.factors, noise, strict=True)]
        self._inverses = [inverse for inverse, _ in solved]
        self._known = [complete for _, complete in solved]
        pairs = zip(self._inverses, noise, strict=True)
        self._spreads = [inverse * np.sqrt(own) for inverse, own in pairs]  # times its transpose: the covariance
        self._sides = [factor.cells for factor in queries.factors]
        self.least_noise = math.prod(float(own.min()) for own in noise)

    @cached_property
    def complete(self) -> bool:
        """Whether every axis is determined."""
        pairs = zip(self._inverses, self._known, strict=True)
        return all(
            np.linalg.matrix_rank(inverse) == inverse.shape[0] if known is None else known for inverse, known in pairs
        )

    def solve(self, answers: Array) -> Reals:
        """One step per axis."""
        table = np.asarray(answers, dtype=np.float64)
        table = table.reshape(*table.shape[:-1], *(factor.count for factor in self._queries.factors))
        pairs = zip(self._queries.factors, self._inverses, strict=True)
        for axis, (factor, inverse) in enumerate(pairs, start=answers.ndim - 1):
            along = np.ascontiguousarray(np.moveaxis(table, axis, -1))
            along = factor.inverse(along) if isinstance(factor, Haar) else along @ inverse.T
            table = np.moveaxis(along, -1, axis)
        return np.ascontiguousarray(table).reshape(*answers.shape[:-1], -1)

    def variances(self, rows: Reals) -> Reals:
        """‖(A⁺·D)ᵀ·q‖², for D the standard deviations of the noise."""
        table = rows.reshape(*rows.shape[:-1], *self._sides)
        for axis, inverse in enumerate(self._spreads, start=rows.ndim - 1):
            table = np.moveaxis(np.moveaxis(table, axis, -1) @ inverse, -1, axis)
        axes = tuple(range(rows.ndim - 1, table.ndim))
        return np.asarray(np.square(table).sum(axis=axes))

    def table_moments(self, axes: Collection[int]) -> tuple[Reals, Reals]:
        """For every cell of a marginal over some axes, Σ (a_j·σ_j)² and Σ (a_j·σ_j)⁴ over the noises: also products."""
        rows = [
            inverse if axis in axes else inverse.sum(axis=0, keepdims=True)
            for axis, inverse in enumerate(self._spreads)
        ]
        two, four = (
            functools.reduce(np.multiply.outer, [(row**power).sum(axis=1) for row in rows]).reshape(-1)
            for power in (2, 4)
        )
        return two, four

    def total_variance(self, workload: Queries) -> float:
        """The variance of a query that is a product over axes is a product too."""
        match workload:
            case Identity():
                return math.prod(float(np.square(spread).sum()) for spread in self._spreads)
            case Marginals() if list(workload.domain) == self._sides:
                return math.fsum(float(self.table_moments(axes)[0].sum()) for axes in workload.axes)
            case Ranges() if list(workload.domain) == self._sides:
                sides = [workload.side(axis) for axis in range(len(self._sides))]
            case Kronecker() if [factor.cells for factor in workload.factors] == self._sides:
                return self._product_variance(workload.factors)
            case _:
                parts = product_parts(workload) or []
                if parts and [factor.cells for factor in parts[0].factors] == self._sides:
                    return float(sum(part.weight**2 * self._product_variance(part.factors) for part in parts))
                return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        norms = [np.square(side @ spread.T).sum(axis=0) for side, spread in zip(sides, self._spreads, strict=True)]
        return float(functools.reduce(np.multiply, norms).sum())

    def _product_variance(self, factors: Sequence[Queries]) -> float:
        axes = zip(factors, self._spreads, strict=True)
        return math.prod(float(np.square(factor @ spread.T).sum()) for factor, spread in axes)


def _solved(factor: Queries) -> bool:
    """Whether there is a solver that takes linear time."""
    return isinstance(factor, Identity | Haar | Hierarchy) or AugmentedSolver.suits(factor)


def _inverse(factor: Queries, noise: Reals) -> tuple[Reals, bool | None]:
    """The weighted A⁺ as a table, cells × answers; and whether it determines every cell (None if not known)."""
    if isinstance(factor, Haar):
        return np.asarray(factor.inverse(np.eye(factor.count)).T), True
    if isinstance(factor, Identity):
        return np.eye(factor.cells), True
    if AugmentedSolver.suits(factor) or isinstance(factor, Hierarchy):
        own = TreeSolver(factor, noise) if isinstance(factor, Hierarchy) else AugmentedSolver(factor, noise)
        return np.asarray(own.solve(np.eye(factor.count)).T), own.complete
    deviations = np.sqrt(noise)
    return np.asarray(np.linalg.pinv((factor @ np.eye(factor.cells)).T / deviations[:, None]) / deviations), None


LARGEST_ADDITION = 512
_CHUNK = 1 << 22


class AugmentedSolver:
    """Least squares for a stack of two parts: a hierarchy or all cells, and at most 512 additional queries.

    Cells that the hierarchy does not distinguish must not be distinguished by the additional queries either.
    """

    exact = True

    @staticmethod
    def suits(queries: Queries) -> bool:
        """Whether the queries are such a stack."""
        return (
            isinstance(queries, Stack)
            and len(queries.parts) == 2
            and isinstance(queries.parts[0], Identity | Hierarchy)
            and queries.parts[1].count <= LARGEST_ADDITION
        )

    def __init__(self, queries: Queries, variances: npt.ArrayLike) -> None:
        if not self.suits(queries) or not isinstance(queries, Stack):
            raise BadInput("this solver needs a stack of a hierarchy or all cells, and at most 512 additional queries.")
        self._queries = queries
        base, self._more = queries.parts
        noise = np.broadcast_to(np.asarray(variances, dtype=np.float64), (queries.count,))
        if isinstance(base, Identity):
            base = Hierarchy(base.domain, [np.arange(base.cells + 1)])
        assert isinstance(base, Hierarchy)
        self._base = TreeSolver(base, noise[: base.count])
        rows = np.concatenate(list(self._more.rows()))
        covariances = self._base.solve(_answers_for(base, noise[: base.count], rows))  # RC
        middle = np.diag(noise[base.count :]) + rows @ covariances.T
        root = np.linalg.inv(np.linalg.cholesky((middle + middle.T) / 2))
        self._factor = root @ covariances  # its square is the reduction of the covariance by the additional queries
        self._gain = root.T @ self._factor

    @property
    def complete(self) -> bool:
        """Whether the hierarchy alone determines every cell."""
        return self._base.complete

    def solve(self, answers: Array) -> Reals:
        """The estimate of the cells, in row-major order; leading axes are independent trials."""
        first, more = self._queries.split(np.asarray(answers, dtype=np.float64))
        cells = self._base.solve(first)
        return np.asarray(cells + (more - self._more._apply(cells)) @ self._gain)

    def variances(self, rows: Reals) -> Reals:
        """The variance of the estimated answer to each of these queries (rows of coefficients)."""
        return np.asarray(self._base.variances(rows) - np.square(rows @ self._factor.T).sum(axis=-1))

    def total_variance(self, workload: Queries) -> float:
        """The sum of the variances of the workload's answers."""
        return self._base.total_variance(workload) - _squared_answers(workload, self._factor)


def _answers_for(tree: Hierarchy, noise: Reals, rows: Reals) -> Reals:
    """Answers y with LᵀV⁻¹y = rᵀ for each row r, for which least squares returns C·rᵀ; L is the tree, V its noise.

    Along the path to a cell, the y/V of its blocks must add up to the cell's coefficient: from the coarsest level down,
    each block that is the last measured block above some cell supplies what is missing there.
    """
    wanted = tree.ordered(rows)
    numbers = np.arange(tree.blocks) if tree.measured is None else tree.measured
    position = np.full(tree.blocks, -1)
    position[numbers] = np.arange(numbers.size)
    starts = tree.level_starts
    last = np.full(tree.cells, -1)  # the last measured block above each cell
    for start, level in zip(starts, tree.boundaries, strict=False):
        block = spread(np.arange(start, start + level.size - 1), level)
        last = np.where(position[block] >= 0, block, last)
    answers = np.zeros((len(rows), numbers.size))
    reached = np.zeros_like(wanted)
    for start, level in zip(starts, tree.boundaries, strict=False):
        blocks = np.arange(start, start + level.size - 1)
        owned = (last == spread(blocks, level)).astype(np.float64)
        count = block_sums(owned, level)
        missing = block_sums((wanted - reached) * owned, level) / np.maximum(count, 1)
        reached += spread(missing, level)
        chosen = position[blocks] >= 0
        answers[:, position[blocks[chosen]]] = missing[:, chosen] * noise[position[blocks[chosen]]]
    return answers


def _squared_answers(workload: Queries, vectors: Reals) -> float:
    """Σ_q (q·v)² over all queries of the workload and all vectors."""
    if isinstance(workload, Stack):
        return sum(_squared_answers(part, vectors) for part in workload.parts)
    if isinstance(workload, AllRange):  # Σ_{a<b} (P_b − P_a)² = (n + 1)·ΣP² − (ΣP)² for the prefix sums P_0 … P_n
        sums = vectors.cumsum(axis=-1)
        return float((workload.cells + 1) * np.square(sums).sum() - np.square(sums.sum(axis=-1)).sum())
    step = max(1, _CHUNK // workload.count)
    pieces = (workload @ vectors[start : start + step] for start in range(0, len(vectors), step))
    return float(sum(np.square(piece).sum() for piece in pieces))
