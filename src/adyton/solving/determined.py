"""Whether answers follow from what was measured: only then is their noise all that is wrong with them.

Queries lie in the row space of the measured ones if W = M·A for some M. Then W·x̂ − W·x is noise, of one law on all
data. If not, a bias comes on top that depends on the data, and that no noise accounts for.
"""

from __future__ import annotations

import numpy as np

from adyton.queries import Marginals, Queries, Ranges, Stack, Weighted
from adyton.solving.solvers import Solver

_PROBES = 2
_SEED = 20180610
TOLERANCE = 1e-9
"""A count of a billion may be off by one."""


def determined(measured: Queries, solver: Solver, asked: Queries) -> bool:
    """Whether least squares return the true answers to *asked* from true answers to *measured*, whatever the data.

    By structure where it is known. Otherwise by trial: true answers about cells drawn from a normal law are solved, and
    the answers to *asked* compared. Let x̂ = G·x be the solution, in which all rows of G lie in the row space of what
    was measured. A query q that does not lie there has q·G ≠ q, so that q·x̂ − q·x has a normal law of deviation
    ‖q·G − q‖: two trials that are right to nine digits by chance are as good as impossible. A solver that
    stops before it has nine digits fails too: what it returns depends on the data by more than that.

    >>> from adyton.solving.solvers import solver
    >>> from adyton.queries import Ranges, Total
    >>> halves = Ranges(4, [[0], [2]], [[1], [3]])
    >>> known = solver(halves, 1.0)
    >>> determined(halves, known, Total(4)), determined(halves, known, Ranges(4, [[0]], [[0]]))
    (True, False)
    """
    if solver.complete or (solver.exact and among(measured, asked)):
        return True
    cells = np.random.default_rng(_SEED).standard_normal((_PROBES, measured.cells))
    mistakes, sizes = np.abs(asked @ (solver.solve(measured @ cells) - cells)), np.abs(asked @ cells)
    return bool((mistakes.max(axis=0) <= TOLERANCE * sizes.max(axis=0)).all())


def narrowed(asked: Ranges) -> list[tuple[int, ...]]:
    """For each range the axes along which it does not count everything.

    >>> narrowed(Ranges((2, 3), [[0, 0], [1, 0]], [[1, 1], [1, 2]]))
    [(1,), (0,)]
    """
    less = (asked.lower > 0) | (asked.upper < np.array(asked.domain) - 1)
    return [tuple(np.flatnonzero(line).tolist()) for line in less]


def among(measured: Queries, asked: Queries) -> bool:
    """Whether it shows that each of the queries is a sum of measured ones, or a multiple of one."""
    if asked is measured:
        return True
    match asked:
        case Weighted():
            return among(measured, asked.queries)
        case Stack():
            return all(among(measured, part) for part in asked.parts)
        case Marginals() if isinstance(measured, Marginals) and measured.domain == asked.domain:
            return all(any(set(few) <= set(many) for many in measured.axes) for few in asked.axes)
        case Ranges() if isinstance(measured, Marginals) and measured.domain == asked.domain:
            return all(any(set(few) <= set(many) for many in measured.axes) for few in set(narrowed(asked)))
    return False
