"""Decision trees that choose an algorithm by features, and look at no more features than they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from adyton.errors import BadInput


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
    """The leaf that an input leads to, and the features that were looked at on the way, each once.

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
    """The most different features that any path looks at, those that are *free* not counted."""
    if isinstance(tree, Leaf):
        return 0
    own = frozenset() if tree.feature in free else frozenset([tree.feature])
    return len(own) + max(most_features(side, free | own) for side in (tree.left, tree.right))


def all_features(tree: Tree) -> frozenset[str]:
    """The features that some path looks at."""
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
