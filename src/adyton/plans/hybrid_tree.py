"""The hybrid tree: private medians cut the plane at the top, midpoints below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, NamedTuple

import numpy as np

from adyton.arrays import Places, Reals
from adyton.exact import exact
from adyton.kernel.mechanisms import MedianCell
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Plan, Tasks
from adyton.plans.options import Share, Within, whole_number
from adyton.queries import Hierarchy, Partition, Queries
from adyton.queries.block_sums import block_sums, spread
from adyton.queries.domain_trees import boxes_in_boxes
from adyton.solving.least_squares import least_squares


class _Box(NamedTuple):
    cells: Places
    """The numbers of its cells in the whole domain, as a table."""
    source: VectorSource


@dataclass(frozen=True, kw_only=True)
class HybridTree(Plan):
    """The plane is cut at private medians a few times, each box along its longer side, and from there on into quarters
    down to cells; the counts of all boxes, more precise towards the cells, are fitted by least squares. Boxes that turn
    out nearly empty are taken for evenly filled, as the paper prunes them.

    Medians of disjoint boxes compose in parallel, one round after the other in sequence. Cormode et al.,
    "Differentially private spatial decompositions", ICDE 2012.
    """

    name = "hybrid-tree"
    serves = Tasks(dimensions=(2,), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    median_share: Share = Fraction(1, 20)
    """The part of the budget for the medians; what they do not need goes to the counts."""
    median_rounds: Annotated[int, Within(whole_number, 0, 12)] = 2
    """How often boxes are cut in two at medians. Counts are taken after every second round."""
    sparse: Annotated[Fraction, Within(exact, 0, 10**9)] = Fraction(3)
    """A box with fewer rows than this many standard deviations of a noisy cell is taken for evenly filled."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Medians, then one measurement of the tree."""
        each = self.median_share * epsilon / max(1, self.median_rounds)
        sides = x.shape if len(x.shape) == 2 else (1, x.cells)
        boxes = [_Box(np.arange(x.cells).reshape(sides), x)]
        stages, spent = [boxes], Fraction(0)
        for number in range(1, self.median_rounds + 1):
            if all(box.cells.size == 1 for box in boxes):
                break
            boxes = [half for box in boxes for half in _halve(box, each)]
            spent += each  # siblings in parallel; a box with cells to cut was cut in every round before
            if number % 2 == 0:
                stages.append(boxes)
        tree = _tree(x.shape, stages, boxes)
        weights = np.exp2(np.arange(len(tree.boundaries)) / 3)[tree.query_levels()]
        counts = x.measure(tree, epsilon - spent, weights)
        limit = float(self.sparse) * math.sqrt(float(counts.variances[-1]))
        return _pruned(least_squares(counts, local=True), tree, limit)


def _pruned(cells: Reals, tree: Hierarchy, limit: float) -> Reals:
    """The estimate with the largest boxes whose sums are below *limit* spread evenly over their cells."""
    values = tree.ordered(cells)
    fine = values.copy()
    for level in reversed(tree.boundaries):
        sums = block_sums(values, level)
        fine = np.where(spread(sums < limit, level), spread(sums / np.diff(level), level), fine)
    return np.ascontiguousarray(tree.unordered(fine))


def _halve(box: _Box, epsilon: Fraction) -> list[_Box]:
    """Two boxes, cut along the longer side where a private median says; a single cell stays as it is."""
    cells, source = box
    if cells.size == 1:
        return [box]
    axis = 0 if cells.shape[0] >= cells.shape[1] else 1
    lines = _lines(cells.shape, axis)
    cut = source.reduce(lines).select(MedianCell(), epsilon)
    parts = np.split(cells, [cut], axis=axis)
    halves = source.split(Partition((lines.labels >= cut).astype(np.int64)))
    return [_Box(part, half) for part, half in zip(parts, halves, strict=True)]


def _lines(shape: tuple[int, ...], axis: int) -> Partition:
    """The lines of a box across one axis, as groups of its cells."""
    return Partition(np.indices(shape)[axis].reshape(-1))


def _tree(domain: tuple[int, ...], stages: list[list[_Box]], boxes: list[_Box]) -> Hierarchy:
    """The boxes of the stages, and below the last ones quarters of quarters, down to cells, which all reach at once."""
    ends = [np.cumsum([0, *(box.cells.size for box in stage)]) for stage in stages]
    trees = [boxes_in_boxes(box.cells.shape) for box in boxes]
    order = np.concatenate([tree.ordered(box.cells.reshape(-1)) for box, tree in zip(boxes, trees, strict=True)])
    starts = np.cumsum([0, *(box.cells.size for box in boxes)])
    levels = [tree.boundaries for tree in trees]
    for back in range(max(map(len, levels)), 0, -1):
        cuts = [own[max(0, len(own) - back)][:-1] for own in levels]
        ends.append(np.append(np.concatenate([a + b for a, b in zip(cuts, starts, strict=False)]), starts[-1]))
    kept = [level for number, level in enumerate(ends) if number == 0 or level.size > ends[number - 1].size]
    return Hierarchy(domain, kept, order)
