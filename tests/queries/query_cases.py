"""Query sets of every class, each beside its matrix, written out from the definition and not from the code."""

import itertools
import math

import numpy as np
from scipy import sparse

from adyton.queries import (
    AllRange,
    Cells,
    Explicit,
    Grid,
    Haar,
    Hierarchy,
    Identity,
    Kronecker,
    Marginals,
    OnGroups,
    Partition,
    Prefix,
    Product,
    RandomRanges,
    Ranges,
    Reduction,
    Stack,
    Total,
    Weighted,
)
from adyton.queries.cosines import Cosines
from adyton.queries.domain_trees import boxes_in_boxes, hilbert_order
from adyton.queries.ranges import KINDS

RANDOM = np.random.default_rng(20)
MIXED = RANDOM.integers(-5, 6, (6, 12))
HUGE = np.array([[2**62, 0, -(2**63), 1], [0, -(2**62) + 1, 2**61, 0], [0, 0, 0, 0]])


def cells_of(domain):
    """The coordinates of every cell, in row-major order."""
    return list(itertools.product(*(range(side) for side in domain)))


def from_predicates(domain, predicates):
    """One row per predicate on the coordinates of a cell."""
    return np.array([[int(bool(holds(cell))) for cell in cells_of(domain)] for holds in predicates], dtype=np.int64)


def from_sets(cells, sets):
    """One row per set of cell numbers; a cell that is listed twice counts twice."""
    matrix = np.zeros((len(sets), cells), dtype=np.int64)
    for row, chosen in enumerate(sets):
        for cell in chosen:
            matrix[row, cell] += 1
    return matrix


def boxes(domain, lower, upper):
    pairs = [(np.ravel(low).tolist(), np.ravel(high).tolist()) for low, high in zip(lower, upper, strict=True)]
    return from_predicates(
        domain,
        [
            lambda cell, low=low, high=high: all(a <= c <= b for a, c, b in zip(low, cell, high, strict=True))
            for low, high in pairs
        ],
    )


def ranges(domain, lower, upper):
    queries = Ranges(domain, lower, upper)
    return queries, boxes(queries.domain, lower, upper)


def random_ranges(domain, kind):
    queries = RandomRanges(domain, 11, seed=3, kind=kind)
    return queries, boxes(queries.domain, queries.lower, queries.upper)


def haar(cells):
    """The total, then left half minus right half of every dyadic block that holds a cell, largest blocks first."""
    padded = 1
    while padded < cells:
        padded *= 2
    rows = [[1] * padded]
    size = padded
    while size > 1:
        for start in range(0, cells, size):
            row = [0] * padded
            row[start : start + size // 2] = [1] * (size // 2)
            row[start + size // 2 : start + size] = [-1] * (size // 2)
            rows.append(row)
        size //= 2
    return Haar(cells), np.array(rows, dtype=np.int64)[:, :cells]


def cosines(cells, count):
    """Rounded cosine waves: the first quarter from its formula, the rest by its symmetries."""
    queries = Cosines(cells, count)
    scale = 2.0**queries.bits * math.sqrt(2 / cells)
    quarter = [round(scale * math.cos(math.pi * m / (2 * cells))) for m in range(cells)] + [0]

    def entry(angle):
        angle %= 4 * cells
        angle = min(angle, 4 * cells - angle)
        return quarter[angle] if angle <= cells else -quarter[2 * cells - angle]

    rows = [[entry((2 * j + 1) * k) for j in range(cells)] for k in range(count)]
    rows[0] = [round(2.0**queries.bits * math.sqrt(1 / cells))] * cells
    return queries, np.array(rows, dtype=np.int64)


def tree(domain, boundaries, order=None, measured=None):
    queries = Hierarchy(domain, boundaries, order, measured)
    cells = math.prod(queries.domain)
    places = list(range(cells)) if order is None else list(order)
    sets = [places[a:b] for level in boundaries for a, b in itertools.pairwise(np.asarray(level).tolist())]
    matrix = from_sets(cells, sets)
    return queries, matrix if measured is None else matrix[list(measured)]


def blocks(cells, sizes, *, root=True):
    levels = [[range(start, min(start + size, cells)) for start in range(0, cells, size)] for size in sizes]
    if root and (not levels or len(levels[0]) > 1):
        levels.insert(0, [range(cells)])
    return Hierarchy.of_blocks(cells, sizes, root=root), from_sets(
        cells, [block for level in levels for block in level]
    )


def levels_of(cells, sizes, levels):
    queries, matrix = blocks(cells, sizes)
    chosen = queries.query_levels()
    return Hierarchy.of_tree(queries, levels), np.concatenate([matrix[chosen == level] for level in sorted(levels)])


def marginals(domain, axes):
    predicates = [
        lambda cell, chosen=chosen, values=values: all(cell[a] == v for a, v in zip(chosen, values, strict=True))
        for chosen in axes
        for values in itertools.product(*(range(domain[axis]) for axis in chosen))
    ]
    return from_predicates(domain, predicates)


def grid(domain, edges):
    lower = list(itertools.product(*(axis[:-1] for axis in edges)))
    upper = [tuple(end - 1 for end in ends) for ends in itertools.product(*(axis[1:] for axis in edges))]
    return boxes(domain, lower, upper)


def kronecker(*factors):
    matrix = np.ones((1, 1), dtype=np.int64)
    for _, factor in factors:
        matrix = np.kron(matrix, factor)
    return Kronecker([queries for queries, _ in factors]), matrix


def stack(*parts):
    return Stack([queries for queries, _ in parts]), np.concatenate([matrix for _, matrix in parts])


def weighted(part, weights):
    queries, matrix = part
    return Weighted(queries, weights), np.broadcast_to(weights, len(matrix))[:, None] * matrix.astype(np.float64)


def product(outer, inner):
    return Product(outer[0], inner[0]), outer[1] @ inner[1]


def reduction(labels, groups=None, domain=None):
    partition = Partition(labels, groups)
    sets = [[cell for cell, label in enumerate(labels) if label == group] for group in range(partition.groups)]
    return Reduction(partition, domain), from_sets(len(labels), sets)


def chosen_cells(domain, places):
    queries = Cells(domain, places)
    return queries, from_sets(queries.cells, [[place] for place in np.ravel(places)])


def explicit(matrix, domain=None):
    return Explicit.from_rows(matrix, domain), np.asarray(matrix)


def on_groups(part, labels):
    queries, matrix = part
    partition = Partition(labels)
    return OnGroups(queries, partition), matrix[:, [labels.index(group) for group in range(partition.groups)]]


IDENTITY = (Identity(5), np.eye(5, dtype=np.int64))
TOTAL = (Total(4), np.ones((1, 4), dtype=np.int64))
PREFIX = (Prefix(4), np.tril(np.ones((4, 4), dtype=np.int64)))
INTERVALS = (AllRange(4), boxes((4,), *zip(*[(a, b) for a in range(4) for b in range(a, 4)], strict=True)))
PREFIX_12 = (Prefix(12), np.tril(np.ones((12, 12), dtype=np.int64)))
SMALL = explicit(np.array([[1, -2, 0], [0, 3, 3]]))
QUADS, ODD, THIRDS = boxes_in_boxes((4, 4)), boxes_in_boxes((3, 5)), boxes_in_boxes((2, 3, 4), branching=3)

CASES = {
    "identity of one cell": (Identity(1), np.eye(1, dtype=np.int64)),
    "identity": IDENTITY,
    "identity 2-D": (Identity((3, 4)), np.eye(12, dtype=np.int64)),
    "total": TOTAL,
    "total 3-D": (Total((2, 3, 2)), np.ones((1, 12), dtype=np.int64)),
    "prefix of one cell": (Prefix(1), np.ones((1, 1), dtype=np.int64)),
    "prefix": PREFIX,
    "intervals of one cell": (AllRange(1), np.ones((1, 1), dtype=np.int64)),
    "intervals": INTERVALS,
    "ranges 1-D": ranges(13, [0, 0, 3, 12, 4, 4], [0, 12, 9, 12, 8, 8]),
    "ranges 1-D as a column": ranges(6, [[1], [0]], [[4], [5]]),
    "ranges 2-D": ranges((4, 5), [(0, 0), (1, 2), (3, 4), (2, 0)], [(3, 4), (2, 3), (3, 4), (2, 4)]),
    "ranges 3-D": ranges((2, 3, 4), [(0, 0, 0), (1, 1, 1), (0, 2, 3)], [(1, 2, 3), (1, 2, 2), (1, 2, 3)]),
    "ranges on six short axes": ranges(
        (2,) * 6,
        [(0,) * 6, (1, 0, 1, 0, 1, 0), (0, 1, 1, 0, 0, 1)],
        [(1,) * 6, (1, 1, 1, 0, 1, 1), (0, 1, 1, 0, 0, 1)],
    ),
    **{f"{kind} ranges 1-D": random_ranges(40, kind) for kind in KINDS},
    **{f"{kind} ranges 2-D": random_ranges((9, 5), kind) for kind in KINDS},
    **{f"haar of {cells}": haar(cells) for cells in (1, 2, 3, 5, 7, 8, 13, 16)},
    **{
        f"{count} cosine waves of {cells}": cosines(cells, count)
        for cells, count in ((1, 1), (2, 2), (7, 5), (8, 8), (12, 7), (33, 20))
    },
    "hierarchy of one block": tree(6, [[0, 6]]),
    "hierarchy of cells": tree(5, [[0, 1, 2, 3, 4, 5]]),
    "hierarchy, regular": tree(8, [[0, 8], [0, 4, 8], [0, 2, 4, 6, 8]]),
    "hierarchy, irregular": tree(10, [[0, 10], [0, 3, 10], [0, 1, 3, 9, 10]]),
    "hierarchy, levels repeated": tree(6, [[0, 2, 6], [0, 2, 6], [0, 2, 3, 6]]),
    "hierarchy, wide": tree(40, [[0, 20, 40], [0, 10, 20, 30, 40]]),
    "hierarchy in an order": tree(6, [[0, 2, 6], [0, 2, 3, 6]], [5, 0, 3, 1, 4, 2]),
    "hierarchy, some blocks": tree(8, [[0, 8], [0, 3, 8], [0, 3, 5, 8]], None, [0, 2, 4]),
    "hierarchy, some blocks in an order": tree(6, [[0, 6], [0, 1, 6]], [2, 1, 0, 5, 4, 3], [1, 2]),
    "quadtree": tree((4, 4), QUADS.boundaries, QUADS.order),
    "quadtree, odd": tree((3, 5), ODD.boundaries, ODD.order),
    "3-D tree of thirds": tree((2, 3, 4), THIRDS.boundaries, THIRDS.order),
    "hierarchy on a Hilbert curve": tree((3, 4), [[0, 6, 12], [0, 4, 6, 12]], hilbert_order((3, 4))),
    "blocks of 2 and 1 on 5": blocks(5, [2, 1]),
    "blocks of 6, 3 and 1 on 13": blocks(13, [6, 3, 1]),
    "blocks of 12 on 50": blocks(50, [24, 12]),
    "blocks of 4 on 10": blocks(10, [4]),
    "blocks of 3 and 1 on 7, no root": blocks(7, [3, 1], root=False),
    "only a root": blocks(7, []),
    "levels 0 and 2": levels_of(13, [6, 3, 1], [2, 0]),
    "marginals, total": (Marginals((2, 3, 4), way=0), marginals((2, 3, 4), [()])),
    "marginals, 1-way": (Marginals((2, 3, 4), way=1), marginals((2, 3, 4), [(0,), (1,), (2,)])),
    "marginals, 2-way": (Marginals((2, 3, 4), way=2), marginals((2, 3, 4), [(0, 1), (0, 2), (1, 2)])),
    "marginals, 3-way": (Marginals((2, 3, 4), way=3), marginals((2, 3, 4), [(0, 1, 2)])),
    "marginals, chosen": (Marginals((2, 3, 4), [(1,), (0, 2), (1,)]), marginals((2, 3, 4), [(1,), (0, 2), (1,)])),
    "marginals, one summed out": (Marginals((2, 5), [(1,)]), marginals((2, 5), [(1,)])),
    "grid": (Grid((4, 6), [[0, 1, 4], [0, 2, 3, 6]]), grid((4, 6), [[0, 1, 4], [0, 2, 3, 6]])),
    "grid of equal blocks": (Grid.of_blocks((5, 7), (2, 3)), grid((5, 7), [[0, 2, 5], [0, 2, 4, 7]])),
    "grid 1-D": (Grid.of_blocks(5, 2), grid((5,), [[0, 2, 5]])),
    "grid finer than the cells": (Grid.of_blocks((2, 3), (9, 9)), np.eye(6, dtype=np.int64)),
    "kronecker of one": kronecker(PREFIX),
    "kronecker of identities": kronecker(IDENTITY, (Identity(2), np.eye(2, dtype=np.int64))),
    "kronecker": kronecker(PREFIX, IDENTITY),
    "kronecker of three": kronecker(TOTAL, SMALL, PREFIX),
    "kronecker, negative": kronecker(SMALL, haar(5)),
    "kronecker of 2-D": kronecker(ranges((2, 3), [(0, 1), (0, 0)], [(1, 2), (0, 0)]), TOTAL),
    "kronecker, nested": kronecker(kronecker(SMALL, PREFIX), kronecker(haar(3), TOTAL)),
    "stack": stack(TOTAL, PREFIX, INTERVALS),
    "stack with negatives": stack(PREFIX_12, explicit(MIXED)),
    "stack, nested": stack(stack(TOTAL, haar(4)), PREFIX),
    "weighted": weighted(PREFIX, [0.5, -2.0, 0.0, 1 / 3]),
    "weighted alike": weighted(INTERVALS, 2.5),
    "weighted with nothing": weighted(PREFIX, 0.0),
    "weighted with negatives": weighted(explicit(MIXED), [1.0, 0.0, 0.25, 0.0, -3.0, 2.0]),
    "stack of weighted": stack(weighted(ranges(4, [1], [3]), 0.3), weighted(TOTAL, 0.7)),
    "kronecker of weighted": kronecker(weighted(ranges(4, [1, 0], [3, 2]), [0.3, 0.0]), TOTAL),
    "product of weighted": product(weighted(PREFIX, 0.1), reduction([1, 0, 2, 0, 3])),
    "weighted twice": weighted(weighted(ranges(4, [1, 0], [3, 2]), [0.3, 0.5]), 2.0),
    "reduction": reduction([1, 0, 2, 1]),
    "reduction with cells left out": reduction([1, -1, 2, 1, -1, 0], domain=(2, 3)),
    "reduction with an empty group": reduction([2, 0, 2, -1], groups=4),
    "cells": chosen_cells((2, 3), [4, 0, 4]),
    "product after a reduction": product(PREFIX, reduction([1, 0, 2, 1, -1, 3])),
    "product after cells": product(SMALL, chosen_cells(5, [4, 0, 1])),
    "product with cancellation": product(SMALL, explicit(np.array([[2, 1, 0], [1, 1, 1], [0, -1, 1]]))),
    "product of products": product(product(SMALL, reduction([0, 1, 2, 1])), PREFIX),
    "explicit": explicit(MIXED),
    "explicit in a shape": explicit(MIXED, (3, 4)),
    "explicit with an empty row": explicit(np.vstack([MIXED, 0 * MIXED[:1]])),
    "explicit with nothing": explicit(np.zeros((2, 3), dtype=np.int64)),
    "explicit of booleans": (Explicit.from_rows(MIXED > 0), (MIXED > 0).astype(np.int64)),
    "explicit of a sparse matrix": (Explicit.from_rows(sparse.csc_array(MIXED)), MIXED),
    "explicit, out of order": (
        Explicit(3, [1, 0, 1, 0], [2, 1, 0, 0], [5, -6, 7, 8], 2),
        np.array([[8, -6, 0], [7, 0, 5]]),
    ),
    "explicit, huge": explicit(HUGE),
    "on groups": on_groups(ranges(6, [1, 1], [4, 5]), [0, 1, 1, 1, 1, 2]),
    "on groups, out of order": on_groups(haar(5), [2, 0, 1, 0, 2]),
    "on groups, cells left out": on_groups(SMALL, [1, 0, -1]),
    "on groups, weighted": on_groups(weighted(PREFIX, 0.5), [0, 1, 2, 3]),
}

FINER_GROUPS = {
    "product of weighted inside": product(explicit(np.array([[1, 1]])), weighted(chosen_cells(2, [0, 1]), 0.5))
}
"""Column groups may be smaller than the equal columns here, because the coefficients are not known to be whole."""

CASES |= FINER_GROUPS
