"""Made-up graphs for max-cut: public, seeded, of the kinds that papers use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.arrays import Reals
from adyton.configuration.cut_graph import CutGraph
from adyton.errors import BadInput
from adyton.messages import no_such
from adyton.whole import whole

CUT_KINDS = ("gnp", "spins", "gaussian", "communities")


def cut_graph(kind: str, vertices: int = 50, seed: int | Sequence[int] = 0) -> CutGraph:
    """A random graph for max-cut.

    ``gnp`` has each edge with probability 0.2, of weight 1. ``spins`` is a spin glass: every edge, of weight 1 or −1.
    ``gaussian`` has every edge with a normal weight. ``communities`` has five groups of vertices, with weights 1 for
    most edges between groups and for few inside.

    >>> cut_graph("spins", vertices=3, seed=1).weights.tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -1.0, 0.0]]
    """
    if kind not in CUT_KINDS:
        raise BadInput(no_such("kind of graph", kind, CUT_KINDS))
    size = whole(vertices, "vertices", 0)
    upper = np.triu(_weights(kind, size, np.random.default_rng(seed)), 1)
    return CutGraph(upper + upper.T)


def _weights(kind: str, size: int, chance: np.random.Generator) -> Reals:
    if kind == "gaussian":
        return chance.standard_normal((size, size))
    if kind == "spins":
        return chance.choice([-1.0, 1.0], (size, size))
    odds = np.full((size, size), 0.2)
    if kind == "communities":
        groups = chance.integers(0, 5, size)
        odds = np.where(groups[:, None] == groups, 0.05, 0.5)
    return (chance.random((size, size)) < odds).astype(np.float64)
