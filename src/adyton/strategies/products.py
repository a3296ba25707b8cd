"""OPT_⊗: one strategy for each axis, optimised in turn for a union of products.

McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical queries under differential
privacy", PVLDB 2018. With a strategy of norm 1 along each axis, a product of queries has the product of their
variances, so that the squared error is Σ_j w_j²·Π_i v_ij for v_ij the error of axis i on its factor in part j. As a
function of one axis alone that is the error on its factors, each weighted with what the other axes leave.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from adyton.arrays import Reals
from adyton.queries import Identity, Kronecker, Queries, Stack, Weighted
from adyton.queries.product_parts import ProductPart
from adyton.solving.solvers import solver
from adyton.strategies.base import Strategy

MOST_PARTS = 128
_ROUNDS = 4
_ENOUGH = 0.999


def best_product(parts: Sequence[ProductPart], along: Callable[[Queries], Strategy]) -> tuple[Strategy, float]:
    """The product of one strategy for each axis, which *along* finds; and the squared error, with variance 1 at weight
    1. Starts from single cells, and stays there if nothing is better."""
    sides = [factor.cells for factor in parts[0].factors]
    weights = np.square([part.weight for part in parts])
    errors = np.array([[factor.squared_norm() for factor in part.factors] for part in parts])
    best, least = Strategy(Identity(tuple(sides))), float(weights @ errors.prod(axis=1))
    chosen = [Strategy(Identity(side)) for side in sides]
    for _ in range(_ROUNDS if len(parts) > 1 else 1):
        for axis in range(len(sides)):
            others = weights * np.delete(errors, axis, axis=1).prod(axis=1)
            factors = [part.factors[axis] for part in parts]
            chosen[axis] = along(_line(factors, others))
            errors[:, axis] = _errors(chosen[axis], factors)
        error = float(weights @ errors.prod(axis=1))
        if error >= _ENOUGH * least:
            break
        best, least = product(chosen), error
    return best, least


def product(strategies: Sequence[Strategy]) -> Strategy:
    """Every combination of one query per factor; weights multiply."""
    queries = Kronecker([strategy.queries for strategy in strategies])
    if all(strategy.weights is None for strategy in strategies):
        return Strategy(queries)
    each = [np.ones(s.queries.count) if s.weights is None else s.weights for s in strategies]
    return Strategy(queries, functools.reduce(lambda left, right: np.outer(left, right).reshape(-1), each))


def _line(factors: Sequence[Queries], importance: Reals) -> Queries:
    """The different factors of one axis, each with the root of all that it counts."""
    counted: dict[Queries, float] = {}
    for factor, own in zip(factors, importance, strict=True):
        counted[factor] = counted.get(factor, 0.0) + float(own)
    if len(counted) == 1:
        return factors[0]
    largest = max(counted.values())
    return Stack([Weighted(factor, max(1e-6, np.sqrt(own / largest))) for factor, own in counted.items()])


def _errors(strategy: Strategy, factors: Sequence[Queries]) -> list[float]:
    """The squared error of each factor, with variance 1 at weight 1 and sensitivity 1."""
    weights = np.ones(strategy.queries.count) if strategy.weights is None else strategy.weights
    scale = float(strategy.queries._absolute_transpose(weights).max())
    prepared = solver(strategy.queries, np.square(scale / weights))
    found = {factor: prepared.total_variance(factor) for factor in dict.fromkeys(factors)}
    return [found[factor] for factor in factors]
