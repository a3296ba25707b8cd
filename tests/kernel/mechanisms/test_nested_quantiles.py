"""Several private quantiles at once: their exact loss, mutants that lose more, dealing, many lines, bad input."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import NestedQuantiles, nested_quantiles
from adyton.session.wire import decode, encode
from adyton_lab.audit.enumeration import selection_loss
from adyton_lab.audit.pairs import vector_pairs

QUARTERS = (F(1, 4), F(1, 2), F(3, 4))


def loss_of(kind, parts, places, count, epsilon=F(1)):
    cells = len(places)
    case = kind(cells, cells, parts, np.array(places)).case("", (cells,))
    return selection_loss(case, epsilon, vector_pairs((cells,), count=count))[0]


@pytest.mark.parametrize(
    ("parts", "places", "epsilon"),
    [
        ((F(1, 2),), [2, 1, 3], F(3)),
        (QUARTERS, [1, 1, 1], F(1, 2)),
        ((F(0), F(9, 10)), [1, 2, 1], F(2)),
        ((F(1, 10),), [2, 1, 1], F(1)),
        ((F(1, 10), F(9, 10)), [1, 1, 2], F(1)),
    ],
)
def test_the_loss_is_at_most_epsilon(parts, places, epsilon):
    assert loss_of(NestedQuantiles, parts, places, 12, epsilon) <= float(epsilon) + 1e-9


class EveryLevelHasAll(NestedQuantiles):
    """Claim. A mutant. Proof. As if levels did not add up. ∎"""

    def _nested(self, rows, cells, each, noise):
        return super()._nested(rows, cells, each * self.levels, noise)


class BothSidesHaveIt(NestedQuantiles):
    """Claim. A mutant. Proof. The rows of a chosen place are on both sides. ∎"""

    def _nested(self, rows, cells, each, noise):
        return super()._nested(2 * rows, cells, each, noise)


@pytest.mark.parametrize("mutant", [EveryLevelHasAll, BothSidesHaveIt])
def test_mutants_lose_more(mutant):
    assert loss_of(mutant, QUARTERS, [1, 1, 1], 14) > 1.01


def test_rows_are_dealt_one_by_one():
    """One row more is one row more in one place, for negative numbers too; few rows are spread over their cell."""
    places = np.array([1, 5, 64])
    turns, cells = nested_quantiles._turns(places), np.repeat(np.arange(3), places)
    dealt = [(np.full(70, rows) + turns) // places[cells] for rows in range(-70, 200)]
    for cell in range(3):
        steps = np.diff([one[cells == cell] for one in dealt], axis=0)
        assert (np.sort(steps, axis=1)[:, -1] == 1).all()
        assert (steps.sum(axis=1) == 1).all()
    eight = np.flatnonzero(dealt[70 + 8][cells == 2])
    assert np.diff(eight).max() <= 16


def test_many_lines_for_one_debit():
    x = np.zeros((3, 101), dtype=int)
    x[0, 10], x[1, 70], x[2, 20] = 900, 900, 900
    x[:2, 90] = 100
    x[:, 100] = 10_000  # a cell that is not counted
    kernel = Kernel.simulated(x, epsilon=2, seed=2)
    found = kernel.root.select(NestedQuantiles(101, 100, (F(1, 4), F(1, 2), F(19, 20)), np.full(100, 9)), 2)
    assert found == (10, 10, 90, 70, 70, 90, 20, 20, 20)
    assert kernel.spent == 2


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_equal_rows_have_all_quantiles_in_their_cell(count):
    """However many quantiles are nested in one another, and though a place has all rows on both sides of a choice."""
    parts = tuple(F(part, count + 1) for part in range(1, count + 1))
    kernel = Kernel.simulated(np.where(np.arange(9) == 1, 4000, 0), epsilon=2, seed=count)
    assert kernel.root.select(NestedQuantiles(9, 9, parts, np.ones(9, dtype=int)), 2) == (1,) * count


def test_wire_and_bad_input():
    one = NestedQuantiles(4, 3, QUARTERS, np.array([2, 1, 1]))
    assert encode(decode(encode(one))) == encode(one)
    kernel = Kernel.simulated(np.ones(4, dtype=int), epsilon=1, seed=0)
    ones = np.ones(4, dtype=int)
    for wrong in (
        (3, 3, QUARTERS, ones[:3]),
        (4, 5, QUARTERS, ones),
        (4, 4, (), ones),
        (4, 4, QUARTERS[::-1], ones),
        (4, 4, (F(3, 2),), ones),
        (4, 4, (F(1, 10**7),), ones),
        (4, 4, QUARTERS, ones[:3]),
        (4, 4, QUARTERS, ones - 1),
        (4, 4, QUARTERS, ones * 2**22),
    ):
        with pytest.raises(BadInput):
            kernel.root.select(NestedQuantiles(*wrong), 1)
    assert kernel.spent == 0
