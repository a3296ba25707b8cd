"""PrivBayes and PrivBayes-LS on public counts of a domain that fits into memory: an estimate of every cell."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.kernel.kernel import Kernel
from adyton.marginals.privbayes import BayesNetwork, PrivBayes, PrivBayesLs
from adyton.marginals.program import TableSet, program_named
from adyton.schema import Schema
from adyton.solving.residuals import residuals

NETWORKS = (PrivBayes.name, PrivBayesLs.name)


def network_estimate(name: str, counts: Integers, schema: Schema, epsilon: str, seed: int) -> Reals:
    """One run: products of the conditional tables over all cells, or least squares of smallest norm, as it comes out.

    >>> from adyton.schema import Integer
    >>> schema = Schema({"a": Integer(0, 1), "b": Integer(0, 1)})
    >>> network_estimate("privbayes", np.array([[90, 0], [0, 60]]), schema, "100", seed=1).round().tolist()
    [[90.0, 0.0], [0.0, 60.0]]
    """
    cells = np.argwhere(counts)
    rows = np.repeat(cells, counts[tuple(cells.T)], axis=0)
    wanted = TableSet.of(schema, list(itertools.combinations(schema.names, 2)))
    kernel = Kernel.simulated_table(rows, schema, epsilon=epsilon, seed=seed)
    measured = program_named(name).measure(kernel.root, wanted, Fraction(epsilon)).measured
    squares = residuals(wanted.sides, measured)
    if name == PrivBayesLs.name:
        return squares.table(*schema.names, fill=True)
    total = max(1.0, float(squares.table()))
    return total * BayesNetwork.of(wanted.sides, measured, total).table(*schema.names)
