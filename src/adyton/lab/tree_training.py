"""Growing decision trees that choose an algorithm, and pruning what does not pay for its features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.lab.criteria import Criterion
from adyton.lab.measured import Measured
from adyton.selection.decision_tree import Leaf, Split, Tree, most_features
from adyton.selection.features import CELLS, FEATURES
from adyton.whole import whole

DEPTH = 5
_DRAWS = 4
"""How often each training input is seen, with other noise each time."""
_ROUNDS = 4
_MARGIN = 0.005
"""How much mean regret a question must save on the training inputs, apart from its price."""
LEAST = 5
"""A leaf stands for at least so many training inputs."""
_THRESHOLDS = 128
"""At most so many thresholds of a feature are tried: more would only fit the noise."""


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


def grow(
    features: npt.ArrayLike,
    regrets: npt.ArrayLike,
    names: Sequence[str],
    algorithms: Sequence[str],
    *,
    criterion: Criterion,
    depth: int,
    least: int = LEAST,
) -> Tree:
    """A tree of at most *depth* questions, split where the criterion falls most (CART: Breiman et al., 1984).

    *features* is inputs × features, *regrets* inputs × algorithms. A leaf chooses the algorithm of least mean regret.

    >>> from adyton.lab.criteria import criterion_named
    >>> tree = grow([[1], [2], [8], [9]], [[1, 2], [1, 2], [3, 1], [3, 1]], ["scale"], ["hb", "dawa"],
    ...             criterion=criterion_named("best-algorithm"), depth=3, least=1)
    >>> tree.threshold, tree.left.algorithm, tree.right.algorithm
    (5.0, 'hb', 'dawa')
    """
    table, errors = np.asarray(features, dtype=np.float64), np.asarray(regrets, dtype=np.float64)
    if table.ndim != 2 or errors.ndim != 2 or len(table) != len(errors) or not len(table):
        raise BadInput(f"features and regrets are tables of as many rows, given {table.shape} and {errors.shape}.")
    if table.shape[1] != len(names) or errors.shape[1] != len(algorithms):
        raise BadInput(f"there are {len(names)} features and {len(algorithms)} algorithms, given other tables.")
    if not (np.isfinite(table).all() and np.isfinite(errors).all() and errors.min() >= 1):
        raise BadInput("features must be finite numbers, and regrets finite numbers of at least 1.")
    numbers = criterion.numbers(errors)
    grower = _Grower(tuple(names), tuple(algorithms), criterion, whole(least, "least", 1), table, errors, numbers)
    return grower.grow(np.arange(len(table)), whole(depth, "depth", 0))


@dataclass(frozen=True, eq=False)
class _Grower:
    names: tuple[str, ...]
    algorithms: tuple[str, ...]
    criterion: Criterion
    least: int
    features: Reals
    regrets: Reals
    numbers: Reals
    """What the criterion takes means of."""

    def grow(self, rows: npt.NDArray[np.int64], depth: int) -> Tree:
        cut = self._cut(rows) if depth else None
        if cut is None:
            means = self.regrets[rows].mean(axis=0)
            return Leaf(
                self.algorithms[int(np.argmin(means))],
                dict(zip(self.algorithms, means.tolist(), strict=True)),
                int(rows.size),
            )
        feature, threshold = cut
        below = self.features[rows, feature] <= threshold
        sides = (self.grow(rows[side], depth - 1) for side in (below, ~below))
        return Split(self.names[feature], threshold, *sides)

    def _cut(self, rows: npt.NDArray[np.int64]) -> tuple[int, float] | None:
        """The feature and the threshold after which the weighted criterion is least, if it falls at all."""
        lowest, found = float(self.criterion.impurity(self.numbers[rows].mean(axis=0))) - 1e-12, None
        for feature in range(len(self.names)):
            order = rows[np.argsort(self.features[rows, feature], kind="stable")]
            values = self.features[order, feature]
            sizes = self._sizes(values)
            if not sizes.size:
                continue
            scores = np.zeros(sizes.size)
            for side, count in ((order, sizes), (order[::-1], order.size - sizes)):
                means = np.cumsum(self.numbers[side], axis=0)[count - 1] / count[:, None]
                scores += count / order.size * self.criterion.impurity(means)
            place = int(np.argmin(scores))
            if scores[place] < lowest:
                size = sizes[place]
                lowest, found = float(scores[place]), (feature, float((values[size - 1] + values[size]) / 2))
        return found

    def _sizes(self, values: Reals) -> npt.NDArray[np.int64]:
        """How many of the ordered values may lie below a threshold: some places, evenly spread, between unlike ones."""
        sizes = np.arange(self.least, values.size - self.least + 1)
        if sizes.size:
            sizes = sizes[values[sizes - 1] < values[np.minimum(sizes, values.size - 1)]]
        if sizes.size > _THRESHOLDS:
            sizes = sizes[np.linspace(0, sizes.size - 1, _THRESHOLDS).astype(np.int64)]
        return sizes


def prune(tree: Tree, price: float, free: frozenset[str] = frozenset(), margin: float = 0.0) -> Tree:
    """The tree without questions that do not pay.

    A question lowers the mean regret of the inputs that reach it, on the training inputs. If it asks for a feature that
    was not bought before, and is not *free*, it also takes a part *price* of the budget from the algorithm, which makes
    errors 1/(1 − price) times as large. From the leaves up, a question stays if what it saves is more than that, and
    more than a *margin* for what is seen only in the training inputs.

    >>> same = Leaf("hb", {"hb": 1.0, "dawa": 1.5}, 7)
    >>> prune(Split("scale", 5.0, same, same), price=0.01).algorithm
    'hb'
    """
    return _pruned(tree, price, free, margin)[0]


def _pruned(tree: Tree, price: float, bought: frozenset[str], margin: float) -> tuple[Tree, float, Leaf]:
    """The pruned tree, its mean regret, and the leaf that would stand in its place."""
    if isinstance(tree, Leaf):
        return tree, tree.regrets[tree.algorithm], tree
    known = bought | {tree.feature}
    sides = [_pruned(side, price, known, margin) for side in (tree.left, tree.right)]
    leaf = _merged(*(alone for _, _, alone in sides))
    mean = sum(regret * alone.inputs for _, regret, alone in sides) / leaf.inputs
    mean /= 1.0 if tree.feature in bought else 1 - price
    if mean + margin >= leaf.regrets[leaf.algorithm]:
        return leaf, leaf.regrets[leaf.algorithm], leaf
    return Split(tree.feature, tree.threshold, sides[0][0], sides[1][0]), mean, leaf


def _merged(left: Leaf, right: Leaf) -> Leaf:
    """One leaf for the inputs of two."""
    inputs = left.inputs + right.inputs
    means = {
        name: (regret * left.inputs + right.regrets[name] * right.inputs) / inputs
        for name, regret in left.regrets.items()
    }
    return Leaf(min(means, key=means.__getitem__), means, inputs)
