"""A tree as a text, a line for each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from adyton.learning.leaf_profiles import LeafProfiles
    from adyton.learning.tree_model import TreeModel


def drawn(model: TreeModel | LeafProfiles, most: int | None = None) -> str:
    """Every node below the one that it was split from; at most so many lines, those near the root first.

    A line says the noisy number of rows, the most probable class, and how probable it is.
    """
    tree = model.tree
    shown = shown_nodes(model, most)
    above, sizes = tree.parents(), tree.sizes
    lines: list[str] = []
    stack = [(0, "", "")]
    while stack:
        node, head, indent = stack.pop()
        lines.append(head + _line(model, node, int(above[node])))
        children = [
            child for child in range(int(tree.first[node]), int(tree.first[node] + sizes[node])) if shown[child]
        ]
        if sizes[node] and not children:
            lines[-1] += f" … {int(sizes[node])} branches by {tree.attributes[tree.split[node]]}"
        for child in reversed(children):
            last = child == children[-1]
            stack.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
    return "\n".join(lines)


def shown_nodes(model: TreeModel | LeafProfiles, most: int | None) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which nodes are shown: whole families, from the root down."""
    tree = model.tree
    shown = np.zeros(tree.split.size, dtype=bool)
    shown[0], left = True, tree.split.size if most is None else most - 1
    sizes = tree.sizes
    for level in tree.levels():
        for node in level[(tree.split[level] >= 0) & shown[level]]:
            if sizes[node] <= left:
                shown[tree.first[node] : tree.first[node] + sizes[node]] = True
                left -= int(sizes[node])
    return shown


def _line(model: TreeModel | LeafProfiles, node: int, above: int) -> str:
    tree = model.tree
    what = "all rows"
    if node:
        name = tree.attributes[tree.split[above]]
        what = f"{name} = {model.schema.attributes[name].labels[node - tree.first[above]]}"
    place = int(model.shares[node].argmax())
    rows = round(float(model.counts[node].sum()))
    return f"{what}: {model.classes[place]} ({model.shares[node, place]:.0%}; about {max(rows, 0):,} rows)"
