"""What is no query set, no vector and no weight is refused, with a message that says what to give."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from adyton.errors import BadInput
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
from adyton.queries.domain_trees import boxes_in_boxes, hilbert_order

HALVES = np.array([Fraction(1, 2)] * 3, dtype=object)

REFUSED = {
    # domains
    "no cells": (lambda: Identity(0), "whole number of at least 1, given 0"),
    "no axes": (lambda: Identity(()), "at least one axis"),
    "negative side": (lambda: Total((3, -1)), "given -1"),
    "a truth value": (lambda: Identity(True), "given True"),
    "half a cell": (lambda: Prefix(2.5), "given 2.5"),
    "nothing": (lambda: Haar(None), "given None"),
    "a text": (lambda: AllRange("3"), "given '3'"),
    "prefix 2-D": (lambda: Prefix((2, 2)), "one dimension"),
    "intervals 2-D": (lambda: AllRange((2, 2)), "one dimension"),
    "haar 2-D": (lambda: Haar((2, 2)), "Use Kronecker"),
    # vectors
    "too short": (lambda: Identity(3) @ [1, 2], r"shape \(3,\), given an array of \(2,\)"),
    "another shape": (lambda: Identity((2, 3)) @ np.ones((3, 2)), r"shape \(2, 3\)"),
    "a number": (lambda: Identity(3) @ 1, "shape"),
    "texts": (lambda: Identity(3) @ ["a", "b", "c"], "whole numbers or floats"),
    "complex numbers": (lambda: Identity(3) @ [1j, 2, 3], "whole numbers or floats"),
    "fractions": (lambda: Identity(3) @ HALVES, "whole numbers or floats"),
    "mixed objects": (lambda: Prefix(2) @ np.array([2**80, 0.5], dtype=object), "whole numbers or floats"),
    "answers too short": (lambda: Prefix(3).transpose([1, 2]), "there are 3 queries"),
    "one answer": (lambda: Prefix(3).transpose(1), "there are 3 queries"),
    "answers of text": (lambda: Prefix(3).transpose(["a", "b", "c"]), "answers must be"),
    "answers of fractions": (lambda: Prefix(3).transpose(HALVES), "answers must be"),
    "weights too short": (lambda: Identity(3).column_sums(np.ones(2, dtype=int)), "there are 3 queries"),
    "fractional weights": (lambda: Identity(3).column_sums(np.array([0.5, 1, 2])), "Scale fractions up"),
    "fractional weights as objects": (lambda: Identity(3).sensitivity(HALVES), "whole numbers"),
    "negative weights": (lambda: Prefix(2).sensitivity(np.array([3, -1])), "at least 0"),
    "no such query": (lambda: Prefix(3).row(3), "there are 3 queries, numbered from 0, given 3"),
    "no such cell": (lambda: Total(3).column(3), "there are 3 cells, numbered from 0, given 3"),
    "query -1": (lambda: Prefix(3).row(-1), "at least 0, given -1"),
    "gram too large": (lambda: Prefix(2**15).gram(), "too large"),
    # ranges
    "no ranges": (lambda: Ranges(8, [], []), "one row per range"),
    "flat bounds 2-D": (lambda: Ranges((4, 4), [0, 0], [1, 1]), "with 2 bounds, one per axis"),
    "one bound": (lambda: Ranges(8, 1, 2), "one row per range"),
    "one upper bound missing": (lambda: Ranges(8, [0, 1], [3]), "2 lower and 1 upper"),
    "upside down": (lambda: Ranges(8, [0, 3], [7, 2]), r"range 1 goes from \[3\] to \[2\]"),
    "outside": (lambda: Ranges((4, 4), [(0, 0)], [(0, 4)]), "range 0 goes"),
    "negative bound": (lambda: Ranges(8, [-1], [2]), "range 0 goes"),
    "fractional bounds": (lambda: Ranges(8, [0.5], [2.0]), "lower must be whole numbers"),
    "unknown kind": (lambda: RandomRanges(8, 3, kind="shrot"), "Did you mean 'short'"),
    "no random ranges": (lambda: RandomRanges(8, 0), "count must be a whole number of at least 1"),
    "spread of nothing": (lambda: RandomRanges(8, 3, kind="short", spread=2), "spread is only for clustered"),
    "spread 0": (lambda: RandomRanges(8, 3, kind="clustered", spread=0), "greater than 0"),
    "fractional seed": (lambda: RandomRanges(8, 3, seed=0.5), "seed must be a whole number"),
    # hierarchies
    "no levels": (lambda: Hierarchy(4, []), "at least one level"),
    "gap at the start": (lambda: Hierarchy(4, [[1, 4]]), "rise from 0"),
    "gap at the end": (lambda: Hierarchy(4, [[0, 3]]), "rise from 0"),
    "empty block": (lambda: Hierarchy(4, [[0, 2, 2, 4]]), "rise from 0"),
    "no block": (lambda: Hierarchy(4, [[0]]), "rise from 0"),
    "blocks across": (lambda: Hierarchy(4, [[0, 2, 4], [0, 1, 4]]), "boundary of the levels below"),
    "coarser below": (lambda: Hierarchy(4, [[0, 2, 4], [0, 4]]), "boundary of the levels below"),
    "fractional boundaries": (lambda: Hierarchy(4, [[0, 1.5, 4]]), "boundaries must be whole numbers"),
    "order with a cell twice": (lambda: Hierarchy(3, [[0, 3]], [0, 1, 1]), "each of the 3 cells once"),
    "order too short": (lambda: Hierarchy(3, [[0, 3]], [0, 1]), "each of the 3 cells once"),
    "no block measured": (lambda: Hierarchy(3, [[0, 3]], None, []), "at least one of the 1 blocks"),
    "no such block": (lambda: Hierarchy(3, [[0, 3]], None, [1]), "at least one of the 1 blocks"),
    "blocks out of order": (lambda: Hierarchy(3, [[0, 1, 3]], None, [1, 0]), "ascending"),
    "blocks twice": (lambda: Hierarchy(3, [[0, 1, 3]], None, [1, 1]), "ascending"),
    "blocks of nothing": (lambda: Hierarchy.of_blocks(4, [0]), "sizes must be"),
    "blocks that do not fit": (lambda: Hierarchy.of_blocks(12, [3, 2]), "boundary of the levels below"),
    "blocks of no cells": (lambda: Hierarchy.of_blocks(0, [1]), "cells must be"),
    "no level chosen": (lambda: Hierarchy.of_tree(Hierarchy.of_blocks(4, [1]), []), r"0 … 1, given \[\]"),
    "no such level": (lambda: Hierarchy.of_tree(Hierarchy.of_blocks(4, [1]), [2]), r"0 … 1, given \[2\]"),
    "one branch": (lambda: boxes_in_boxes((4, 4), branching=1), "branching must be a whole number of at least 2"),
    "curve 1-D": (lambda: hilbert_order(4), "two dimensions"),
    "curve 3-D": (lambda: hilbert_order((4, 4, 4)), "two dimensions"),
    # marginals and grids
    "which marginals": (lambda: Marginals((2, 2)), "say which"),
    "both ways": (lambda: Marginals((2, 2), [(0,)], way=1), "say which"),
    "too many ways": (lambda: Marginals((2, 2), way=3), "has 2 axes, given way = 3"),
    "no marginals": (lambda: Marginals((2, 2), []), "at least one set of axes"),
    "no such axis": (lambda: Marginals((2, 2), [(0, 2)]), "numbered 0 … 1"),
    "axes backwards": (lambda: Marginals((2, 2), [(1, 0)]), "ascending"),
    "axis twice": (lambda: Marginals((2, 2), [(1, 1)]), "ascending"),
    "axes not in sets": (lambda: Marginals((2, 2), [0, 1]), "list of sets"),
    "edges of one axis": (lambda: Grid((2, 2), [[0, 2]]), "edges must rise"),
    "edges that fall": (lambda: Grid((2, 2), [[0, 2], [0, 2, 1]]), "edges must rise"),
    "blocks of one axis": (lambda: Grid.of_blocks((2, 2), 2), "one number of blocks per axis"),
    "no blocks": (lambda: Grid.of_blocks((2, 2), (0, 1)), "blocks must be"),
    # combinations
    "empty stack": (lambda: Stack([]), "parts must be query sets, at least one"),
    "a set that is no list": (lambda: Stack(Identity(3)), "parts must be query sets"),
    "stack of two domains": (lambda: Stack([Identity(4), Identity((2, 2))]), "the same domain"),
    "kronecker of numbers": (lambda: Kronecker([2, 3]), "factors must be query sets"),
    "a factor that is no list": (lambda: Kronecker(Identity(3)), "factors must be query sets"),
    "weighted number": (lambda: Weighted(3, 1.0), "queries must be query sets"),
    "too few weights": (lambda: Weighted(Identity(3), [1, 2]), "3 finite numbers"),
    "infinite weights": (lambda: Weighted(Identity(2), [1, np.inf]), "2 finite numbers"),
    "weights of text": (lambda: Weighted(Identity(2), ["a", "b"]), "2 finite numbers"),
    "product of unequal": (lambda: Product(Prefix(3), Identity(4)), "ask about 3 cells; there are 4 inner"),
    "product with a partition": (lambda: Product(Prefix(3), Partition([0, 1, 2])), "query sets"),
    "reduction by labels": (lambda: Reduction([0, 1]), "needs a Partition"),
    "reduction of another domain": (lambda: Reduction(Partition([0, 1]), 3), "labels 2 cells; the domain has 3"),
    "no cells chosen": (lambda: Cells(3, []), "0 … 2"),
    "no such cell chosen": (lambda: Cells(3, [3]), "0 … 2"),
    "groups of other cells": (
        lambda: OnGroups(Prefix(3), Partition([0, 1])),
        "labels 2 cells; the queries ask about 3",
    ),
    "groups by labels": (lambda: OnGroups(Prefix(2), [0, 1]), "must be a Partition"),
    "group without a cell": (lambda: OnGroups(Prefix(2), Partition([1, 1])), "every group needs a cell"),
    "groups of no queries": (lambda: OnGroups([1, 2], Partition([0, 1])), "query sets"),
    # explicit coefficients
    "fractional coefficients": (lambda: Explicit.from_rows([[0.5, 1.0]]), "Scale fractions up"),
    "sparse fractions": (lambda: Explicit.from_rows(sparse.csr_array([[0.5, 1.0]])), "coefficients must be whole"),
    "one row": (lambda: Explicit.from_rows([1, 2]), "one row per query"),
    "no rows": (lambda: Explicit.from_rows(np.zeros((0, 3), dtype=int)), "one row per query"),
    "coefficients beyond 64 bits": (
        lambda: Explicit.from_rows(np.array([[2**64 - 1]], dtype=np.uint64)),
        "fit 64 bits",
    ),
    "row outside": (lambda: Explicit(3, [1], [0], [1], 1), "places must lie in 0 … 0"),
    "column outside": (lambda: Explicit(3, [0], [3], [1], 1), "columns must lie in 0 … 2"),
    "coefficient twice": (lambda: Explicit(3, [0, 1, 0], [1, 1, 1], [1, 2, 3], 2), "given twice"),
    "unequal lists": (lambda: Explicit(3, [0], [0, 1], [1], 1), "same length"),
    "lists in two dimensions": (lambda: Explicit(3, [[0]], [[0]], [[1]], 1), "same length"),
    "length in a pair": (lambda: Explicit(3, [0], [0], [1], (2, 5)), "length must be"),
    # partitions
    "no labels": (lambda: Partition([]), "at least one cell"),
    "label -2": (lambda: Partition([-2, 0]), "must lie in -1"),
    "label too large": (lambda: Partition([0, 5], groups=2), "must lie in -1 … 1"),
    "everything left out": (lambda: Partition([-1, -1]), "at least one group"),
    "more groups than cells": (lambda: Partition([0, 1], groups=3), "at most one group per cell"),
    "fractional labels": (lambda: Partition([0.5, 1]), "labels must be whole numbers"),
    "fractional groups": (lambda: Partition([0, 1], groups=2.7), "groups must be"),
    "groups in text": (lambda: Partition([0, 1], groups="2"), "groups must be"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    make, message = REFUSED[name]
    with pytest.raises(BadInput, match=message):
        make()
