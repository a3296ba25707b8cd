"""Least squares for queries that are asked of every stripe: the stripes share no cell, so each is solved for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.queries import Identity, Kronecker, Queries
from adyton.queries.stripes import stripe_parts, stripes_of, whole_of

if TYPE_CHECKING:
    from adyton.solving.solvers import Solver

_NEARLY = 1e-12


def striped_axis(queries: Queries) -> int | None:
    """The axis of a product that asks the same of every stripe along it: all other factors are single cells."""
    if not isinstance(queries, Kronecker) or any(len(factor.domain) > 1 for factor in queries.factors):
        return None
    others = [axis for axis, factor in enumerate(queries.factors) if not isinstance(factor, Identity)]
    return others[0] if len(others) == 1 else None


class StripedSolver:
    """One solver for one stripe, used for all of them at once."""

    def __init__(self, queries: Kronecker, axis: int, inner: Solver) -> None:
        self._axis, self._inner = axis, inner
        self._asked = tuple(factor.count for factor in queries.factors)
        self._domain = queries.domain

    @classmethod
    def of(
        cls, queries: Queries, noise: Reals, prepare: Callable[[Queries, npt.ArrayLike], Solver]
    ) -> StripedSolver | None:
        """For queries of this kind whose noise is the same in every stripe; None for others."""
        axis = striped_axis(queries)
        if axis is None:
            return None
        assert isinstance(queries, Kronecker)
        by_stripe = stripes_of(noise, tuple(factor.count for factor in queries.factors), axis)
        own = by_stripe[0]
        if (np.abs(by_stripe - own) > _NEARLY * own).any():
            return None
        return cls(queries, axis, prepare(queries.factors[axis], own))

    @property
    def complete(self) -> bool:
        """Whether a stripe is determined."""
        return self._inner.complete

    @property
    def exact(self) -> bool:
        """As for one stripe."""
        return self._inner.exact

    def solve(self, answers: Array) -> Reals:
        """Stripe by stripe, all at once."""
        cells = self._inner.solve(stripes_of(answers, self._asked, self._axis))
        return whole_of(cells, self._domain, self._axis)

    def variances(self, rows: Reals) -> Reals:
        """The variances of what is asked of the stripes, added up."""
        parts = stripes_of(np.asarray(rows), self._domain, self._axis)
        flat = parts.reshape(-1, parts.shape[-1])
        return np.asarray(self._inner.variances(flat).reshape(parts.shape[:-1]).sum(axis=-1))

    def total_variance(self, workload: Queries) -> float:
        """By what is asked of single stripes, where that is known."""
        parts = stripe_parts(workload, self._axis) if workload.domain == self._domain else None
        if parts is None:
            return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        return float(sum(number * self._inner.total_variance(queries) for number, queries in parts))
