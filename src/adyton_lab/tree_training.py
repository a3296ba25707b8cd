"""Growing the trees of Pythia's selectors, on features as noisy as those that they will see."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from adyton.choice.decision_tree import LEAST, Criterion, Tree, grow, most_features, prune
from adyton.selection.selector import CELLS, FEATURES
from adyton_lab.measured import Measured

DEPTH = 5
_DRAWS = 4
"""How often each training input is seen, with other noise each time."""
_ROUNDS = 4
_MARGIN = 0.005
"""How much mean regret a question must save on the training inputs, apart from its price."""


def grow_noisy(measured: Measured, workload: str, share: Fraction, criterion: Criterion, depth: int) -> Tree:
    """The tree for a workload, grown on features as noisy as those that it will see.

    The price of a feature follows from the most features on a path of the tree, and the tree from their noise: it is
    grown until the two agree, or the price is on the safe side.
    """
    regrets = np.tile(measured.regrets(workload), (_DRAWS, 1))
    names = (CELLS, *(feature.name for feature in FEATURES))
    most = 1
    for _ in range(_ROUNDS):
        features = measured.noisy_features(share / most, _DRAWS, seed=0)
        grown = grow(
            features, regrets, names, measured.algorithms, criterion=criterion, depth=depth, least=LEAST * _DRAWS
        )
        tree = prune(grown, float(share / most), frozenset([CELLS]), _MARGIN)
        needed = max(1, most_features(tree, frozenset([CELLS])))
        if needed <= most:
            break
        most = needed
    return tree
