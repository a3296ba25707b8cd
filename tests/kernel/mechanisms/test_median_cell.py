"""The private median: its law, its exact loss, the mutants that lose more, counts that would wrap around."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from selection_laws import ONE_EPSILON

from adyton.errors import BadInput
from adyton.kernel.counts import PrivateVector
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import AuditCase, MedianCell
from adyton.session.wire import decode, encode
from adyton_lab.audit.enumeration import EnumeratingSource, enumerate_distribution, selection_loss
from adyton_lab.audit.pairs import vector_pairs
from exact_laws import loses_more, permute_and_flip_probabilities

EPSILONS = [F(1, 10), F(1), F(3)]


def case(mechanism, cells):
    return AuditCase("median", mechanism, (cells,), PrivateVector.of)


@pytest.mark.parametrize("epsilon", ONE_EPSILON)
@pytest.mark.parametrize("cells", [2, 3, 5, 8])
def test_the_loss_is_at_most_epsilon(cells, epsilon):
    loss, _ = selection_loss(case(MedianCell(), cells), epsilon, vector_pairs((cells,), count=120))
    assert loss <= float(epsilon) + 1e-9


def test_some_pair_loses_all_of_epsilon():
    """So there is no factor to save, and the check above has power."""
    loss, _ = selection_loss(case(MedianCell(), 5), F(1), vector_pairs((5,), count=200))
    assert loss > 0.999


class WithoutTheTwo(MedianCell):
    """Claim. A mutant. Proof. Sharpness ε as if all scores moved alike. ∎"""

    def choose(self, values, epsilon, noise):
        return super().choose(values, 2 * epsilon, noise)


class HalfTheSensitivity(MedianCell):
    """Claim. A mutant. Proof. Scores twice the rank error with the sensitivity of the rank error. ∎"""

    def choose(self, values, epsilon, noise):
        sums = np.cumsum(values)
        return np.array([1 + noise.permute_and_flip(-np.abs(4 * sums[:-1] - 2 * sums[-1]), epsilon / 2)])


@pytest.mark.parametrize("mutant", [WithoutTheTwo, HalfTheSensitivity])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_mutants_lose_more(mutant, epsilon):
    assert loses_more(case(mutant(), 8), epsilon, vector_pairs((8,), count=120), float(epsilon) + 1e-3)


@pytest.mark.parametrize(
    "counts",
    [
        [0, 0, 0],
        [5, 0, 1, 3],
        [1, 1, 1, 1, 1, 1],
        [2**53, 2**53 + 1, 1, 2],
        [2**62, 2**62 - 1, 2**62, 5],
        [2**62, 0, 0, 2**62 + 1],
    ],
)
def test_the_law(counts):
    """Against the closed form, with scores in Python integers: floats or wrapped sums would show."""
    scores = [-abs(sum(counts[:cut]) - sum(counts[cut:])) for cut in range(1, len(counts))]
    epsilon = F(1) if max(counts) < 100 else F(1, max(counts))
    expected = permute_and_flip_probabilities(scores, epsilon / 2)

    def run(source: EnumeratingSource) -> int:
        return int(MedianCell().choose(np.array(counts), epsilon, source)[0])

    found = enumerate_distribution(run)
    assert set(found) == set(range(1, len(counts)))
    for cut, probability in enumerate(expected, 1):
        assert found[cut] == pytest.approx(float(probability), rel=1e-9)


def test_one_row_decides_among_huge_counts():
    values = np.array([2**62, 3, 5, 2**62], dtype=np.int64)
    kernel = Kernel.simulated(values, epsilon=1000, seed=0)
    assert {kernel.root.select(MedianCell(), 90) for _ in range(10)} == {2}


@pytest.mark.parametrize("power", range(54, 63))
def test_many_huge_counts_do_not_wrap_around(power):
    """Sums of 64 cells would come back to 0 elsewhere."""
    kernel = Kernel.simulated(np.full(64, (1 << power) - 1), epsilon=1, seed=0)
    assert {kernel.root.select(MedianCell(), F(1, 1 << 40)) for _ in range(10)} == {32}


def test_in_the_kernel():
    x = np.array([9, 1, 0, 0, 10])
    kernel = Kernel.on_vector(x, epsilon=100)
    assert kernel.root.select(MedianCell(), 99) in (2, 3, 4)
    assert kernel.spent == 99


def test_wire():
    assert decode(encode(MedianCell())) == MedianCell()


@pytest.mark.parametrize("shape", [(1,), (2, 2)])
def test_only_lines_of_two_cells_or_more(shape):
    kernel = Kernel.simulated(np.ones(shape, dtype=int), epsilon=1, seed=0)
    with pytest.raises(BadInput, match="at least two cells"):
        kernel.root.select(MedianCell(), 1)
    assert kernel.spent == 0


def test_the_median_is_near_with_enough_rows():
    """P(cut) falls by e^(-ε·rows/2·…): a cut 100 ranks off is out of reach at ε = 1."""
    x = np.ones(1000, dtype=int)
    cuts = [Kernel.simulated(x, epsilon=1, seed=seed).root.select(MedianCell(), 1) for seed in range(50)]
    assert max(abs(cut - 500) for cut in cuts) < 40  # 2·ε/2·40 = 40 nats, times 50 draws of 1000 cuts
    assert math.isclose(np.mean(cuts), 500, abs_tol=5)
