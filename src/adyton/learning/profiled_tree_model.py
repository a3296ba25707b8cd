"""The model of a profiled tree: a decision tree, and for further attributes how each cell speaks for the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Flags, Integers, Reals
from adyton.errors import BadInput
from adyton.learning.model import real_array
from adyton.learning.node_profiles import unused
from adyton.learning.target import Target
from adyton.learning.tree_model import TreeModel
from adyton.messages import listing
from adyton.remembered import cached_property

_LEAST = 1e-12
_LITTLE = 1e-9
_HALF = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class ProfiledTreeModel(TreeModel):
    """P(class | row) ∝ P(class | leaf) · ∏ P(value of attribute j | class)^w_j, over attributes that the path to the
    leaf has not split on. The powers w_j, at most 1, are part of the profiles.

    A row without a cell where a node asks for one stays at that node; without a cell in a profile it has no factor.
    """

    kind = "profiled-tree"

    profiles: tuple[Reals, ...]
    """For each attribute the factors P(cell | class)^w, of shape (cells, classes); 1 where nothing was measured."""

    @cached_property
    def _tables(self) -> list[Reals]:
        """The logarithms, with a last cell of zeros: it is what the code −1 points at."""
        nothing = np.zeros((1, len(self.classes)))
        return [np.concatenate([np.log(np.maximum(one, _LEAST)), nothing]) for one in self.profiles]

    @cached_property
    def _unused(self) -> Flags:
        return unused(self.tree)

    def _probabilities(self, codes: Integers) -> Reals:
        nodes = self.tree.node_of(codes)
        scores = np.log(np.maximum(self.shares[nodes], _LEAST))
        for place, table in enumerate(self._tables):
            if table.any():
                scores += table[codes[:, place]] * self._unused[nodes, place, None]
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return np.asarray(scores)

    def learnt(self) -> dict[str, Any]:
        """The tree, and the profiles."""
        return {**super().learnt(), "profiles": [one.tolist() for one in self.profiles]}

    @classmethod
    def from_learnt(cls, target: Target, learnt: Any) -> ProfiledTreeModel:
        """With a tree that splits as the attributes do, and a profile for each of them."""
        if learnt.keys() != {"split", "first", "counts", "shares", "profiles"}:
            raise BadInput("a profiled tree has the keys 'split', 'first', 'counts', 'shares', 'profiles'.")
        if len(learnt["profiles"]) != len(target.schema.names):
            raise BadInput(f"a profiled tree has a profile for each of {listing(target.schema.names)}.")
        tree = TreeModel.from_learnt(target, {name: learnt[name] for name in ("split", "first", "counts", "shares")})
        profiles = tuple(
            real_array(plain, (size, len(target.classes)), "profiles")
            for plain, size in zip(learnt["profiles"], target.schema.shape, strict=True)
        )
        if any((one < 0).any() or (one > 1 + 1e-6).any() for one in profiles):
            raise BadInput("profiles must be from 0 to 1.")
        return cls(target=target, tree=tree.tree, counts=tree.counts, shares=tree.shares, profiles=profiles)

    def explain(self) -> str:
        """The tree, and which attributes have profiles."""
        told = [name for name, one in zip(self.schema.names, self._tables, strict=True) if one.any()]
        words = f"Profiles of {listing(told)} speak in its leaves too." if told else "No attribute has a profile."
        return f"{words} {super().explain()}"


def weighed_profile(table: Reals, prior: Reals, scale: float, weight: float) -> Reals:
    """The factors of one attribute: P(cell | class), to the power of what its table tells beyond noise and chance.

    P is as in naive Bayes: q = max(z, 0) + b·π_c + ½ for noise of scale b, normalised over the cells of a class. Let S
    be the sum of (z_vc − z_v·π_c)², by which the table differs from one that tells nothing, and V what it would be by
    noise of variance 2b² in each count and by chance alone. The power is *weight*·max(0, 1 − V/S) (after James and
    Stein, 1961).
    """
    classes = len(prior)
    differs = table - table.sum(axis=1, keepdims=True) * prior
    rows = np.maximum(table, 0.0).sum()
    noise = 2 * scale**2 * ((1 - prior) ** 2 + prior**2 * (classes - 1)).sum() * len(table)
    likely = noise + rows * float((prior * (1 - prior)).sum())
    kept = max(0.0, 1 - likely / max(float((differs**2).sum()), _LITTLE))
    q = np.maximum(table, 0.0) + scale * prior + _HALF
    return np.asarray((q / q.sum(axis=0)) ** (weight * kept))
