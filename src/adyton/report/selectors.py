"""Pictures of selectors: trees line by line, and similar inputs as maps of the algorithms that win."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from adyton.choice.decision_tree import Leaf, Tree
from adyton.choice.selector import CELLS, Selector, feature_named
from adyton.choice.trained_selectors import SimilarInputs, TreeSelector, Winners, domain_in_words, winners
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.report import svg
from adyton.report.pictures import Branch, Drawing, keys, outline
from adyton.report.plot import check_ending, figure_of
from adyton.report.svg import COLOURS

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SQUARE, _ROW = 27.0, 42.0


def draw(selector: Selector, path: str | os.PathLike[str]) -> None:
    """Write a picture of a selector, one drawing for each workload; the ending of *path* says in which format."""
    check_ending(path)
    match selector:
        case TreeSelector():
            title = "Which algorithm is chosen, by noisy features of the data"
            names = _names(leaf.algorithm for tree in selector.trees.values() for leaf in _leaves(tree))
            drawn = {name: partial(_tree, name, tree, names) for name, tree in selector.trees.items()}
        case SimilarInputs():
            title, maps = "Which algorithm has the least error, by what is known about the input", winners(selector)
            names = _names(name for area in maps for name, _ in area.best.values())
            drawn = {area.workload: partial(_map, area, selector.training.dimensions, names) for area in maps}
        case _:
            raise BadInput(f"there is no picture for a selector of kind {shorten(selector.kind)}.")
    about = selector.training
    domains = "one dimension" if about.dimensions == 1 else f"{about.dimensions} dimensions"
    data = f"{len(about.corpus)} data set{'s' * (len(about.corpus) != 1)}"
    said = f"{domains}; learnt on {about.inputs:,} public inputs from {data}, {about.date}"
    figure_of([Drawing(f"Workload: {name}", "", svg_of) for name, svg_of in drawn.items()], [title, said], path)


def _names(algorithms: Iterator[str]) -> list[str]:
    """Those that occur most often first."""
    return [name for name, _ in Counter(algorithms).most_common()]


def _leaves(tree: Tree) -> Iterator[Leaf]:
    if isinstance(tree, Leaf):
        yield tree
    else:
        yield from (*_leaves(tree.left), *_leaves(tree.right))


def _tree(workload: str, tree: Tree, names: Sequence[str], width: float) -> str:
    return outline(
        workload, f"{len(list(_leaves(tree)))} leaves", names, list(_branches(tree, names)), width, left=0.66
    )


def _branches(tree: Tree, names: Sequence[str], depth: int = 0, words: str = "all inputs") -> Iterator[Branch]:
    """A line for each answer; at its end the algorithm and its expected regret."""
    if isinstance(tree, Leaf):
        shares = [float(name == tree.algorithm) for name in names]
        yield Branch(depth, words, shares, f"{tree.algorithm}, regret {tree.regrets[tree.algorithm]:.2f}")
        return
    yield Branch(depth, words, (), "")
    feature = "the number of cells" if tree.feature == CELLS else feature_named(tree.feature).words
    threshold = f"{tree.threshold:,.0f}" if abs(tree.threshold) >= 100 else f"{tree.threshold:.3g}"
    for side, how in ((tree.left, "at most"), (tree.right, "above")):
        yield from _branches(side, names, depth + 1, f"{how} {threshold.replace('-', '−')}: {feature}")


def _map(area: Winners, dimensions: int, names: Sequence[str], width: float) -> str:
    """A square for each group of training inputs, in the colour of the winner; with its number, if colours repeat."""
    many, colours = len(names) > len(COLOURS), [COLOURS[place % len(COLOURS)] for place in range(len(names))]
    parts, top = keys([f"{place + 1} {name}" for place, name in enumerate(names)] if many else names, width, colours)
    sizes = [domain_in_words(size, dimensions) for size in area.sizes]
    left, bottom = svg.width_of(sizes) + 14, top + 16 + _ROW * len(sizes)
    wide = min(_SQUARE, (width - left) / max(1, len(area.signals)))
    parts.append(svg.text(0, top, "cells of the domain", pale=True))
    for (size, signal), (name, _) in area.best.items():
        x, y = left + wide * area.signals.index(signal), bottom - _ROW * (area.sizes.index(size) + 1)
        place = names.index(name)
        parts.append(svg.box(x + 0.5, y + 0.5, wide - 1, _ROW - 1, colours[place]))
        parts += [svg.text(x + wide / 2, y + _ROW / 2, str(place + 1), "middle")] if many else []
    for row, words in enumerate(sizes):
        parts.append(svg.text(left - 8, bottom - _ROW * (row + 0.5), words, "end"))
    step = max(1, round(len(area.signals) / 9))
    for column in range(0, len(area.signals), step):
        power = f"2{str(area.signals[column]).translate(_RAISED)}"
        parts.append(svg.text(left + wide * (column + 0.5), bottom + 13, power, "middle"))
    parts.append(svg.text(left, bottom + 32, "ε times the number of rows", pale=True))
    return svg.drawing(width, bottom + 44, f"Workload: {area.workload}", f"{len(names)} algorithms", parts)
