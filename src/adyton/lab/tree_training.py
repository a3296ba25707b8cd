"""Growing a tree for each workload, on features as noisy as those that it will see."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.lab.criteria import Criterion
from adyton.lab.measured import Measured
from adyton.lab.tree_growing import LEAST, grow, prune
from adyton.selection.decision_tree import Tree, most_features
from adyton.selection.features import CELLS, FEATURES

DEPTH = 5
_DRAWS = 4
"""How often each training input is seen, with other noise each time."""
_ROUNDS = 4
_MARGIN = 0.005
"""How much mean regret a question must save on the training inputs, apart from its price."""


def grow_trees(
    measured: Measured,
    workloads: Sequence[str],
    share: Fraction,
    *,
    criterion: Criterion,
    depth: int = DEPTH,
    seed: int = 0,
) -> dict[str, Tree]:
    """One tree for each workload."""
    return {name: _grow_noisy(measured, name, share, criterion, depth, seed) for name in workloads}


def _grow_noisy(
    measured: Measured, workload: str, share: Fraction, criterion: Criterion, depth: int, seed: int
) -> Tree:
    """The price of a feature follows from the most features on a path of the tree, and the tree from their noise:
    it is grown until the two agree, or the price is on the safe side."""
    regrets = np.tile(measured.regrets(workload), (_DRAWS, 1))
    names = (CELLS, *(feature.name for feature in FEATURES))
    most = 1
    for _ in range(_ROUNDS):
        features = measured.noisy_features(share / most, _DRAWS, seed)
        grown = grow(
            features, regrets, names, measured.algorithms, criterion=criterion, depth=depth, least=LEAST * _DRAWS
        )
        tree = prune(grown, float(share / most), frozenset([CELLS]), _MARGIN)
        needed = max(1, most_features(tree, frozenset([CELLS])))
        if needed <= most:
            break
        most = needed
    return tree
