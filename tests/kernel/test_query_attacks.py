"""Attacks through query sets and strange operators that once worked, or nearly: each must fail for good."""

import copy
import pickle
from abc import ABCMeta

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import VectorLaplace
from adyton.queries import (
    Cells,
    Explicit,
    Grid,
    Haar,
    Hierarchy,
    Identity,
    Marginals,
    OnGroups,
    Partition,
    Prefix,
    Product,
    Reduction,
    Stack,
    Total,
)  # fmt: skip
from adyton.whole import is_frozen


def test_a_total_of_large_numbers_does_not_wrap_around_inside_another_query():
    """The sum of all cells is one number, which NumPy would put back into 64 bits before it is multiplied."""
    rows = 1000
    factor = 2**63 // (rows + 1) + 1
    queries = Product(Explicit(1, [0], [0], [factor], 1), Marginals(4, [()]))
    for x in ([400, 300, 200, 100], [401, 300, 200, 100]):
        assert (queries @ np.array(x)).tolist() == [factor * sum(x)]


def random_queries(random, cells, depth):  # noqa: PLR0911
    """A query set about so many cells, made of others."""
    kinds = ["identity", "total", "prefix", "explicit", "marginals", "cells", "haar", "hierarchy", "grid", "reduction"]
    kind = random.choice(kinds if depth == 0 else [*kinds, "stack", "product", "product", "groups"])
    match kind:
        case "identity" | "total" | "prefix" | "haar":
            return {"identity": Identity, "total": Total, "prefix": Prefix, "haar": Haar}[kind](cells)
        case "explicit":
            large = int(random.choice([3, 2**31, 2**62]))
            return Explicit.from_rows(random.integers(-large, large, (int(random.integers(1, 4)), cells)))
        case "marginals":
            return Marginals(cells, [[()], [(0,)], [(), (0,)]][random.integers(3)])
        case "cells":
            return Cells(cells, random.integers(0, cells, int(random.integers(1, 5))))
        case "hierarchy":
            tree = Hierarchy.of_blocks(cells, [4, 2, 1])
            return Hierarchy.of_tree(tree, sorted(set(random.integers(0, len(tree.boundaries), 2).tolist())))
        case "grid":
            return Grid.of_blocks(cells, [int(random.integers(1, cells + 1))])
        case "reduction":
            return Reduction(Partition(random.integers(-1, cells, cells), cells))
        case "stack":
            return Stack([random_queries(random, cells, depth - 1) for _ in range(2)])
        case "product":
            inner = random_queries(random, cells, depth - 1)
            return Product(random_queries(random, inner.count, depth - 1), inner)
        case "groups":
            labels = np.append(np.arange(cells), random.integers(0, cells, 2))
            return OnGroups(random_queries(random, cells + 2, depth - 1), Partition(labels))


def test_no_query_set_moves_further_than_it_says():
    """Query sets in query sets, with huge coefficients and counts: answers are exact, and so is what they promise."""
    random = np.random.default_rng(0)
    for _ in range(1500):
        cells = int(random.integers(1, 7))
        queries = random_queries(random, cells, 2)
        x = random.integers(0, int(random.choice([5, 2**40, 2**62])), cells)
        columns = []
        for cell in range(cells):
            more = x.astype(object)
            more[cell] += 1
            columns.append([int(b) - int(a) for a, b in zip(queries @ x, queries @ more, strict=True)])
        pairs = [(int(count), column) for count, column in zip(x, columns, strict=True)]
        expected = [sum(count * column[row] for count, column in pairs) for row in range(queries.count)]
        assert [int(answer) for answer in queries @ x] == expected, queries
        for norm, column in zip(queries.column_sums().tolist(), columns, strict=True):
            assert norm >= sum(map(abs, column)), queries
        assert queries.sensitivity() == max(queries.column_sums().tolist())


@pytest.mark.parametrize(
    "make",
    [
        lambda edges: Grid(4, [edges]),
        lambda edges: Hierarchy(4, [edges]),
        lambda edges: Hierarchy(4, [[0, 4], [0, 1, 2, 3, 4]], None, edges),
    ],
)
def test_edges_whose_differences_wrap_around_do_not_rise(make):
    with pytest.raises(BadInput, match="rise|ascending"):
        make(np.array([0, 2**63 - 1, -(2**63), -1, 4]))


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_are_frozen_too(copied):
    for value in (
        Explicit(2, [0], [0], [1], 1),
        Stack([Hierarchy(4, [[0, 2, 4]])]),
        Partition([0, 1, 1]),
        OnGroups(Identity(2), Partition([0, 1])),
    ):
        again = copied(value)
        arrays = [part for part in vars(again).values() if isinstance(part, np.ndarray)]
        assert all(is_frozen(array) for array in arrays)
    queries = copied(Explicit(2, [0], [0], [1], 1))
    with pytest.raises(ValueError, match="read-only"):
        queries.coefficients[0] = 10**9


def test_arrays_that_can_still_be_changed_are_refused():
    queries = Explicit(2, [0], [0], [1], 1)
    object.__setattr__(queries, "coefficients", np.array([1]))
    kernel = Kernel.on_vector([1234, 5], epsilon=1)
    for ask in (lambda: kernel.root.map(queries), lambda: kernel.root.measure(queries, 1)):
        with pytest.raises(BadInput, match="copied"):
            ask()
    assert kernel.spent == 0


def test_a_class_that_equals_every_other_is_a_stranger():
    class Chameleon(ABCMeta):
        __hash__ = ABCMeta.__hash__

        def __eq__(cls, other):
            return True

    class Evil(VectorLaplace, metaclass=Chameleon):
        """Claim. None.  Proof. None. ∎"""

        def draw(self, data, epsilon, noise, trials):
            return data.values()[None]

    kernel = Kernel.on_vector([1, 2], epsilon=1)
    with pytest.raises(BadInput, match="does not accept the operator Evil"):
        kernel.measure(kernel.root, Evil(Identity(2)), 1)


def test_the_tally_of_a_simulation_is_no_ledger():
    with pytest.raises(BadInput, match="not a ledger"):
        Kernel.on_vector([1], epsilon=1, ledger=Kernel.simulated([1], epsilon=1).ledger)


@pytest.mark.parametrize("make", [lambda: Marginals((2,) * 40, way=20), lambda: Hierarchy(10**12, [[0, 10**12]], [0])])
def test_small_texts_do_not_ask_for_much_work(make):
    with pytest.raises(BadInput):
        make()
