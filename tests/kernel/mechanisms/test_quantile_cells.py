"""Private quantiles: their exact loss, mutants that lose more, their law, many lines at once."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.audit.enumeration import enumerate_distribution
from adyton.audit.pairs import vector_pairs
from adyton.audit.selections import selection_loss
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import QuantileCells
from adyton.kernel.wire import decode, encode
from exact_laws import permute_and_flip_probabilities


@pytest.mark.parametrize("epsilon", [F(1, 10), F(3)])
@pytest.mark.parametrize("part", [F(0), F(1, 4), F(1, 2), F(9, 10), F(1)])
def test_the_loss_is_at_most_epsilon(part, epsilon):
    case = QuantileCells(5, 5, part.numerator, part.denominator).case("", (5,))
    loss, _ = selection_loss(case, epsilon, vector_pairs((5,), count=40))
    assert loss <= float(epsilon) + 1e-9


class WithoutTheTwo(QuantileCells):
    """Claim. A mutant. Proof. As if scores moved in one direction. ∎"""

    def choose(self, values, epsilon, noise):
        return super().choose(values, 2 * epsilon, noise)


class TheSmallerSide(QuantileCells):
    """Claim. A mutant. Proof. min(a, b − a) for max. ∎"""

    @property
    def spread(self):
        return 2 * min(self.above, self.below - self.above)


@pytest.mark.parametrize(("mutant", "part"), [(WithoutTheTwo, F(1, 2)), (TheSmallerSide, F(9, 10))])
def test_mutants_lose_more(mutant, part):
    case = mutant(5, 5, part.numerator, part.denominator).case("", (5,))
    loss, _ = selection_loss(case, F(1), vector_pairs((5,), count=60))
    assert loss > 1.01


@pytest.mark.parametrize("counts", [[5, 0, 1, 3], [0, 0, 0, 0], [2**62, 2**62 - 1, 2**62, 5]])
def test_the_law(counts):
    """Against the closed form, with scores in Python integers: wrapped sums would show."""
    total, scores = sum(counts), []
    for cell, own in enumerate(counts):
        before = sum(counts[:cell])
        scores.append(-max(0, 3 * total - 4 * (before + own), 4 * before - 3 * total))
    epsilon = F(1) if total < 100 else F(1, 2**62)
    found = enumerate_distribution(
        lambda source: int(QuantileCells(4, 4, 3, 4).choose(np.array(counts), epsilon, source)[0])
    )
    for cell, probability in enumerate(permute_and_flip_probabilities(scores, epsilon / 6)):
        assert found.get(cell, 0) == pytest.approx(float(probability), rel=1e-9)


def test_many_lines_for_one_debit():
    x = np.zeros((3, 101), dtype=int)
    x[0, 10], x[1, 70], x[2, 20] = 500, 500, 500
    x[:, 100] = 10_000  # a cell that is not counted
    kernel = Kernel.simulated(x, epsilon=1, seed=2)
    assert kernel.root.select(QuantileCells(101, 100, 1, 2), 1) == (10, 70, 20)
    assert kernel.spent == 1


def test_wire_and_bad_input():
    one = QuantileCells(4, 3, 1, 4)
    assert encode(decode(encode(one))) == encode(one)
    kernel = Kernel.simulated(np.ones(4, dtype=int), epsilon=1, seed=0)
    for wrong in ((3, 3, 1, 2), (4, 5, 1, 2), (4, 4, 3, 2), (4, 4, 0, 0)):
        with pytest.raises(BadInput):
            kernel.root.select(QuantileCells(*wrong), 1)
    assert kernel.spent == 0
