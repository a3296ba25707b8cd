"""Decision trees that choose an option by features, and read no more features than they need.

A criterion of how mixed a set of training inputs is decides where they split, and questions that do not pay for their
features are pruned. For each input the regret of every option is known: its error divided by the least error of all. A
criterion computes some numbers from the regrets of an input; their means over a set of inputs say how mixed the set is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.whole import whole


@dataclass(frozen=True, eq=False)
class Leaf:
    """The end of a path: an algorithm, and the mean regret of every algorithm on the training inputs that end here."""

    algorithm: str
    regrets: dict[str, float]
    inputs: int


@dataclass(frozen=True, eq=False)
class Split:
    """A question: is the feature at most the threshold? Then left, else right."""

    feature: str
    threshold: float
    left: Tree
    right: Tree


Tree: TypeAlias = Leaf | Split


def walk(tree: Tree, feature: Callable[[str], float]) -> tuple[Leaf, dict[str, float]]:
    """The leaf that an input reaches, and the features that were read on the way, each only once.

    >>> leaf = Leaf("hb", {"hb": 1.0}, 7)
    >>> walk(Split("scale", 5.0, leaf, leaf), {"scale": 3.0}.__getitem__)[1]
    {'scale': 3.0}
    """
    seen: dict[str, float] = {}
    while isinstance(tree, Split):
        if tree.feature not in seen:
            seen[tree.feature] = feature(tree.feature)
        tree = tree.left if seen[tree.feature] <= tree.threshold else tree.right
    return tree, seen


def most_features(tree: Tree, free: frozenset[str] = frozenset()) -> int:
    """The largest number of different features that a path reads, not counting *free* ones."""
    if isinstance(tree, Leaf):
        return 0
    own = frozenset() if tree.feature in free else frozenset([tree.feature])
    return len(own) + max(most_features(side, free | own) for side in (tree.left, tree.right))


def all_features(tree: Tree) -> frozenset[str]:
    """The features that at least one path reads."""
    if isinstance(tree, Leaf):
        return frozenset()
    return all_features(tree.left) | all_features(tree.right) | {tree.feature}


def to_plain(tree: Tree) -> dict[str, Any]:
    """The tree as dictionaries, for JSON."""
    if isinstance(tree, Leaf):
        return {"algorithm": tree.algorithm, "regrets": tree.regrets, "inputs": tree.inputs}
    sides = {"at_most": to_plain(tree.left), "above": to_plain(tree.right)}
    return {"feature": tree.feature, "threshold": tree.threshold, **sides}


def from_plain(plain: Any) -> Tree:
    """The tree that :func:`to_plain` wrote."""
    match plain:
        case {"algorithm": str(algorithm), "regrets": dict(regrets), "inputs": int(inputs)}:
            return Leaf(algorithm, {str(name): float(regret) for name, regret in regrets.items()}, inputs)
        case {"feature": str(feature), "threshold": int() | float() as threshold, "at_most": left, "above": right}:
            return Split(feature, float(threshold), from_plain(left), from_plain(right))
        case _:
            raise BadInput("this is not a decision tree: a part of it has neither an algorithm nor a question.")


def check_tree(tree: Tree, check_leaf: Callable[[Leaf], object], check_feature: Callable[[str], object]) -> None:
    """Refuse a tree from a file if a threshold is not a finite number, or a leaf or a feature fails its check."""
    if isinstance(tree, Leaf):
        check_leaf(tree)
        return
    check_feature(tree.feature)
    if not np.isfinite(tree.threshold):
        raise BadInput(f"a tree asks about {tree.feature} with a threshold that is not a number.")
    for side in (tree.left, tree.right):
        check_tree(side, check_leaf, check_feature)


def in_words(tree: Tree, leaf_in_words: Callable[[Leaf], str], indent: str = "") -> str:
    """The tree as text for people, one question per line."""
    if isinstance(tree, Leaf):
        return f"{indent}{leaf_in_words(tree)}"
    left, right = (in_words(side, leaf_in_words, indent + "  ") for side in (tree.left, tree.right))
    return f"{indent}{tree.feature} at most {tree.threshold:.6g}:\n{left}\n{indent}else:\n{right}"


LEAST = 5
"""The least number of training inputs in a leaf."""
_THRESHOLDS = 128
"""The most thresholds that are tried for a feature: more would only fit the noise."""


def grow(
    features: npt.ArrayLike,
    regrets: npt.ArrayLike,
    names: Sequence[str],
    algorithms: Sequence[str],
    *,
    criterion: Criterion,
    depth: int,
    least: int = LEAST,
    weights: npt.ArrayLike | None = None,
) -> Tree:
    """A tree of at most *depth* questions, split where the criterion falls most (CART: Breiman et al., 1984).

    *features* is inputs × features, *regrets* inputs × algorithms; inputs are weighted by *weights*, if given. A leaf
    chooses the algorithm of least mean regret.

    >>> tree = grow([[1], [2], [8], [9]], [[1, 2], [1, 2], [3, 1], [3, 1]], ["scale"], ["hb", "dawa"],
    ...             criterion=LEAST_REGRET, depth=3, least=1)
    >>> tree.threshold, tree.left.algorithm, tree.right.algorithm
    (5.0, 'hb', 'dawa')
    """
    table, errors = np.asarray(features, dtype=np.float64), np.asarray(regrets, dtype=np.float64)
    if table.ndim != 2 or errors.ndim != 2 or len(table) != len(errors) or not len(table):
        raise BadInput(
            f"features and regrets must be non-empty tables of the same length, given {table.shape} and {errors.shape}."
        )
    if table.shape[1] != len(names) or errors.shape[1] != len(algorithms):
        raise BadInput(f"the tables must have {len(names)} columns for features and {len(algorithms)} for algorithms.")
    if not (np.isfinite(table).all() and np.isfinite(errors).all() and errors.min() >= 1):
        raise BadInput("features must be finite numbers, and regrets finite numbers of at least 1.")
    counted = np.ones(len(table)) if weights is None else np.asarray(weights, dtype=np.float64)
    if counted.shape != (len(table),) or not (np.isfinite(counted).all() and counted.min() > 0):
        raise BadInput("weights are numbers greater than 0, one for each input.")
    numbers, fewest = criterion.numbers(errors), whole(least, "least", 1)
    grower = _Grower(tuple(names), tuple(algorithms), criterion, fewest, table, errors, numbers, counted)
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
    """The criterion's numbers for each input."""
    weights: Reals

    def grow(self, rows: npt.NDArray[np.int64], depth: int) -> Tree:
        cut = self._cut(rows) if depth else None
        if cut is None:
            means = self._mean(self.regrets, rows)
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
        """The feature and the threshold that lower the weighted criterion most, if any does."""
        lowest, cut = float(self.criterion.impurity(self._mean(self.numbers, rows))) - 1e-12, None
        total = float(self.weights[rows].sum())
        for feature in range(len(self.names)):
            order = rows[np.argsort(self.features[rows, feature], kind="stable")]
            values = self.features[order, feature]
            sizes = self._sizes(values)
            if not sizes.size:
                continue
            scores = np.zeros(sizes.size)
            for side, count in ((order, sizes), (order[::-1], order.size - sizes)):
                counted = np.cumsum(self.weights[side])[count - 1]
                means = np.cumsum(self.numbers[side] * self.weights[side, None], axis=0)[count - 1] / counted[:, None]
                scores += counted / total * self.criterion.impurity(means)
            place = int(np.argmin(scores))
            if scores[place] < lowest:
                size = sizes[place]
                lowest, cut = float(scores[place]), (feature, float((values[size - 1] + values[size]) / 2))
        return cut

    def _mean(self, table: Reals, rows: npt.NDArray[np.int64]) -> Reals:
        return np.asarray((table[rows] * self.weights[rows, None]).sum(axis=0) / self.weights[rows].sum())

    def _sizes(self, values: Reals) -> npt.NDArray[np.int64]:
        """How many of the ordered values may lie below a threshold: places between different values, evenly spread."""
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
    errors 1/(1 − price) times as large. From the leaves up, a question stays if it saves more than that plus a
    *margin*, because part of what it saves is seen only in the training inputs.

    >>> same = Leaf("hb", {"hb": 1.0, "dawa": 1.5}, 7)
    >>> prune(Split("scale", 5.0, same, same), price=0.01).algorithm
    'hb'
    """
    return _pruned(tree, price, free, margin)[0]


def _pruned(tree: Tree, price: float, bought: frozenset[str], margin: float) -> tuple[Tree, float, Leaf]:
    """The pruned tree, its mean regret, and the leaf that would replace it."""
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


@dataclass(frozen=True)
class Criterion:
    """Numbers for each input, and how mixed a set is, computed from their means: lower is better."""

    numbers: Callable[[Reals], Reals]
    """From regrets, inputs × algorithms: inputs × numbers."""
    impurity: Callable[[Reals], Reals]
    """From means of these numbers, along the last axis, for many sets at once: one number per set."""


LEAST_REGRET = Criterion(lambda regrets: regrets, lambda means: np.asarray(means.min(axis=-1)))
"""The least mean regret of an option."""
