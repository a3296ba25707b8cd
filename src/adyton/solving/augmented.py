"""Least squares for a tree, or for all cells, and some further queries: the strategies of HDMM.

Let C be the covariance of the estimate x from the tree alone, and let the further queries R have answers y with
variances S. By Woodbury's identity the estimate from both is x + CRᵀ(S + RCRᵀ)⁻¹(y − Rx), and its covariance is
C − CRᵀ(S + RCRᵀ)⁻¹RC: linear in the cells times the number of further queries, and exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.queries import AllRange, Hierarchy, Identity, Queries, Stack
from adyton.queries.block_sums import block_sums, spread
from adyton.solving.trees import TreeSolver

LARGEST_ADDITION = 512
_CHUNK = 1 << 22


class AugmentedSolver:
    """Least squares for a stack of two parts: a hierarchy or all cells, and at most 512 queries more.

    Where the hierarchy does not tell cells apart, neither may the queries.
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
            raise BadInput("this solver needs a stack of a hierarchy or all cells, and at most 512 queries more.")
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
        self._factor = root @ covariances  # its square is what the further queries take off the covariance
        self._gain = root.T @ self._factor

    @property
    def complete(self) -> bool:
        """As far as the hierarchy alone determines every cell."""
        return self._base.complete

    def solve(self, answers: Array) -> Reals:
        """The estimate of the cells, in row-major order; further axes in front are independent trials."""
        first, more = self._queries.split(np.asarray(answers, dtype=np.float64))
        cells = self._base.solve(first)
        return np.asarray(cells + (more - self._more._apply(cells)) @ self._gain)

    def variances(self, rows: Reals) -> Reals:
        """The variance of the estimated answer to each of these queries (rows of coefficients)."""
        return np.asarray(self._base.variances(rows) - np.square(rows @ self._factor.T).sum(axis=-1))

    def total_variance(self, workload: Queries) -> float:
        """Σ_q of the variances of the workload's answers."""
        return self._base.total_variance(workload) - _squared_answers(workload, self._factor)


def _answers_for(tree: Hierarchy, noise: Reals, rows: Reals) -> Reals:
    """Answers y with LᵀV⁻¹y = rᵀ for each row r, for which least squares return C·rᵀ; L the tree, V its noise.

    Along the path to a cell, the y/V of its blocks must add up to the cell's coefficient: from the coarsest level down,
    each block that is the last one measured above some cell takes what is missing there.
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
