"""Selections that draw more than once: what the draws cost adds up to ε, not to more."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.kernel.mechanisms import Bisections
from adyton.kernel.mechanisms.published.bisections import GRID
from adyton.noise import SimulatedNoise

COUNTS = np.array([3, 0, 9, 9, 2, 0, 0, 41, 5, 5, 5, 1])


class Written(SimulatedNoise):
    """Simulated noise that writes down how sharp each choice was, and among how many."""

    def __init__(self):
        super().__init__(0)
        self.choices = []

    def permute_and_flip(self, scores, sharpness):
        self.choices.append((len(scores), F(sharpness)))
        return super().permute_and_flip(scores, sharpness)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_bisections_of_a_level_are_on_disjoint_cells(levels):
    """A level costs what one of its cuts costs, 2Δ·sharpness; the levels and the last pick add up."""
    noise, epsilon = Written(), F(2, 3)
    Bisections(levels, F(1, 3), F(1, 4)).choose(COUNTS, epsilon, noise)
    *cuts, pick = [2 * GRID * sharpness for _, sharpness in noise.choices]
    assert pick == epsilon / 4
    assert set(cuts) == {F(3, 4) * epsilon / levels}
    cells = [size + 1 for size, _ in noise.choices[:-1]]  # m cells have m − 1 cuts
    at_level = np.add.accumulate(cells)
    assert at_level[0] == COUNTS.size
    assert len(cuts) <= 2**levels - 1


def test_two_cells_are_cut_too():
    noise = Written()
    Bisections(1, F(1, 3), F(1, 4)).choose(COUNTS[:2], F(1), noise)
    assert [size for size, _ in noise.choices] == [1, 2]
