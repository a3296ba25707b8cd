"""Query sets made of others: products over several axes, one below the other, reweighted."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Array, Queries, Reals


@dataclass(frozen=True, eq=False)
class Kronecker(Queries):
    """Every combination of one query per factor, each about its own axes: coefficients multiply.

    >>> from adyton.queries import Identity, Total
    >>> Kronecker([Total(2), Identity(3)]) @ [[1, 2, 3], [4, 5, 6]]
    array([5, 7, 9])
    """

    domain: tuple[int, ...]
    factors: tuple[Queries, ...]

    def __init__(self, factors: Sequence[Queries]) -> None:
        object.__setattr__(self, "factors", check_queries(factors, "factors"))
        object.__setattr__(self, "domain", tuple(itertools.chain(*(factor.domain for factor in self.factors))))

    @property
    def count(self) -> int:
        """The product of the factors' numbers."""
        return math.prod(factor.count for factor in self.factors)

    def _apply(self, cells: Array) -> Array:
        return self._along([factor.cells for factor in self.factors], cells, [f._apply for f in self.factors])

    def _transpose(self, answers: Array) -> Array:
        return self._along([factor.count for factor in self.factors], answers, [f._transpose for f in self.factors])

    def _absolute_transpose(self, weights: Array) -> Array:
        steps = [factor._absolute_transpose for factor in self.factors]
        return self._along([factor.count for factor in self.factors], weights, steps)

    @staticmethod
    def _along(sides: list[int], values: Array, steps: Sequence[Callable[[Array], Array]]) -> Array:
        """Each step along its own axis, the last axis first."""
        table = values.reshape(*values.shape[:-1], *sides)
        leading = values.ndim - 1
        for axis, step in enumerate(steps, start=leading):
            table = np.moveaxis(step(np.ascontiguousarray(np.moveaxis(table, axis, -1))), -1, axis)
        return np.ascontiguousarray(table).reshape(*values.shape[:-1], -1)

    def __str__(self) -> str:
        return " × ".join(str(factor) for factor in self.factors)

    def largest_row_sum(self) -> int:
        """Products of sums of absolute values."""
        return math.prod(factor.largest_row_sum() for factor in self.factors)

    def largest_coefficient(self) -> int:
        """The product of the factors' largest."""
        return math.prod(factor.largest_coefficient() for factor in self.factors)

    def _gram(self) -> Reals:
        return functools.reduce(lambda left, right: np.asarray(np.kron(left, right)), [f.gram() for f in self.factors])

    def squared_norm(self) -> float:
        """The product of the factors' norms."""
        return math.prod(factor.squared_norm() for factor in self.factors)


@dataclass(frozen=True, eq=False)
class Stack(Queries):
    """The queries of several sets about the same cells, one set after the other.

    >>> from adyton.queries import Identity, Total
    >>> Stack([Total(2), Identity(2)]) @ [3, 4]
    array([7, 3, 4])
    """

    domain: tuple[int, ...]
    parts: tuple[Queries, ...]

    def __init__(self, parts: Sequence[Queries]) -> None:
        object.__setattr__(self, "parts", check_queries(parts, "parts"))
        domains = {part.domain for part in self.parts}
        if len(domains) > 1:
            raise BadInput(f"query sets can be stacked that ask about one domain, given {sorted(domains)}.")
        object.__setattr__(self, "domain", self.parts[0].domain)

    @property
    def count(self) -> int:
        """The sum of the parts' numbers."""
        return sum(part.count for part in self.parts)

    def _apply(self, cells: Array) -> Array:
        return np.concatenate([part._apply(cells) for part in self.parts], axis=-1)

    def _transpose(self, answers: Array) -> Array:
        pieces = self.split(answers)
        return np.asarray(sum(part._transpose(piece) for part, piece in zip(self.parts, pieces, strict=True)))

    def _absolute_transpose(self, weights: Array) -> Array:
        pieces = self.split(weights)
        return np.asarray(sum(part._absolute_transpose(piece) for part, piece in zip(self.parts, pieces, strict=True)))

    def split(self, answers: Array) -> list[Array]:
        """The answers of each part."""
        ends = list(itertools.accumulate(part.count for part in self.parts))
        return np.split(answers, ends[:-1], axis=-1)

    def __str__(self) -> str:
        return " and ".join(str(part) for part in self.parts)

    def largest_row_sum(self) -> int:
        """The largest of the parts'."""
        return max(part.largest_row_sum() for part in self.parts)

    def largest_coefficient(self) -> int:
        """The largest of the parts'."""
        return max(part.largest_coefficient() for part in self.parts)

    def _gram(self) -> Reals:
        return np.asarray(sum(part.gram() for part in self.parts))

    def squared_norm(self) -> float:
        """The sum of the parts' norms."""
        return sum(part.squared_norm() for part in self.parts)


@dataclass(frozen=True, eq=False)
class Weighted(Queries):
    """The same queries, each multiplied by a weight: for workloads in which some queries matter more.

    Weights can be any finite numbers, so such a set is answered from an estimate and is never measured itself.

    >>> from adyton.queries import Identity
    >>> Weighted(Identity(2), [0.5, 2]) @ [4, 5]
    array([ 2., 10.])
    """

    domain: tuple[int, ...]
    queries: Queries
    weights: Reals

    def __init__(self, queries: Queries, weights: npt.ArrayLike) -> None:
        (inner,) = check_queries([queries], "queries")
        values = np.array(weights, dtype=np.float64)
        if values.shape not in ((), (inner.count,)) or not np.isfinite(values).all():
            raise BadInput(f"weights must be {inner.count} finite numbers, one per query, or one number for all.")
        values = np.broadcast_to(values, (inner.count,)).copy()
        values.flags.writeable = False
        object.__setattr__(self, "domain", inner.domain)
        object.__setattr__(self, "queries", inner)
        object.__setattr__(self, "weights", values)

    @property
    def count(self) -> int:
        """As many as there were."""
        return self.queries.count

    def _apply(self, cells: Array) -> Array:
        return np.asarray(self.queries._apply(cells) * self.weights, dtype=np.float64)

    def _transpose(self, answers: Array) -> Array:
        return self.queries._transpose(np.asarray(answers * self.weights, dtype=np.float64))

    def _absolute_transpose(self, weights: Array) -> Array:
        return self.queries._absolute_transpose(np.asarray(weights * np.abs(self.weights), dtype=np.float64))

    def sensitivity(self, weights: Array | None = None) -> int:
        """Not known exactly: weights are rounded numbers."""
        raise BadInput("weighted queries are answered from an estimate. Measure the queries, with the weights beside.")

    def __str__(self) -> str:
        return f"weighted {self.queries}"

    def largest_row_sum(self) -> int:
        """A bound."""
        return self.queries.largest_row_sum() * math.ceil(float(np.abs(self.weights).max()))

    def largest_coefficient(self) -> int:
        """A bound."""
        return self.queries.largest_coefficient() * math.ceil(float(np.abs(self.weights).max()))

    def _hash_columns(self, words: Array) -> Array:
        """A query of weight 0 tells nothing apart; any other tells as much as with weight 1."""
        return self.queries._hash_columns(words * (self.weights != 0).astype(np.uint64))


def check_queries(given: Sequence[Queries], name: str) -> tuple[Queries, ...]:
    """Query sets, at least one, or an error."""
    parts = tuple(given)
    if not parts or not all(isinstance(part, Queries) for part in parts):
        raise BadInput(f"{name} must be query sets, at least one, given {shorten(given)}.")
    return parts
