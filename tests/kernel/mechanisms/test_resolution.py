"""How fine to look: the exact loss, the biases in whole numbers, and what goes wrong without them."""

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from selection_laws import ONE_EPSILON

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import Resolution
from adyton.kernel.mechanisms.published.resolution import GRID, LARGEST_COST, spread, squared_biases
from adyton.noise import SimulatedNoise
from adyton.session.wire import decode, encode
from adyton_lab.audit.enumeration import selection_loss
from adyton_lab.audit.pairs import vector_pairs
from exact_laws import loses_more, permute_and_flip_probabilities
from over_cases import over

CASES = Resolution.audit_cases()
TOLERANCE = 1e-9


def slow_biases(x, sizes):
    """Σ over all prefixes of (prefix sum − prefix sum with every block spread evenly)², in fractions."""
    found = []
    for size in sizes:
        total = F(0)
        for start in range(0, len(x), size):
            block = [int(one) for one in x[start : start + size]]
            total += sum((F(sum(block[:s])) - F(s * sum(block), len(block))) ** 2 for s in range(1, len(block) + 1))
        found.append(total)
    return found


def all_sizes(cells):
    return [1 << level for level in range((cells - 1).bit_length() + 1)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("epsilon", ONE_EPSILON)
def test_exact_loss(case, epsilon):
    loss, pair = selection_loss(case, epsilon, vector_pairs(case.domain, count=120))
    assert loss <= float(epsilon) + TOLERANCE, pair
    assert loss > 0.5 * float(epsilon)


def test_two_sizes_lose_all_of_epsilon():
    """Between cells, whose bias is 0, and blocks, the bound on the move is reached: no budget is wasted."""
    loss, _ = selection_loss(CASES[1], F(1), vector_pairs(CASES[1].domain, count=120))
    assert loss > 0.999


class Sharp(Resolution):
    """Twice as sharp as it may be.

    Claim.  None.
    Proof.  None.  ∎
    """

    def sharpness(self, cells, epsilon):
        return 2 * super().sharpness(cells, epsilon)


class OffTheGrid(Resolution):
    """The sensitivity in rows, with scores in steps of the grid.

    Claim.  None.
    Proof.  None.  ∎
    """

    def sharpness(self, cells, epsilon):
        return super().sharpness(cells, epsilon) * GRID


class SecondLargest(Resolution):
    """The sensitivity of the second largest block only.

    Claim.  None.
    Proof.  None.  ∎
    """

    def sharpness(self, cells, epsilon):
        return epsilon / (spread(cells, self.sizes[:1]) + 1)


class TrueRows(Resolution):
    """Costs that know the true number of rows.

    Claim.  None.
    Proof.  None.  ∎
    """

    def scores(self, values):
        return [score - place * int(values.sum()) * GRID for place, score in enumerate(super().scores(values))]


@pytest.mark.parametrize("mutant", [Sharp, OffTheGrid, SecondLargest, TrueRows])
def test_mutants_are_caught(mutant):
    honest = CASES[1].mechanism
    case = replace(CASES[1], mechanism=mutant(honest.sizes, honest.costs))
    assert loses_more(case, F(1), vector_pairs(case.domain, count=60), 1.05)


# ---- biases and bounds -----------------------------------------------------------------------------------------------


@over([1, 2, 3, 5, 7, 8, 12, 16, 37], [1, 1000, 10**9, 2**53 + 1, 2**62, 2**90])
def test_biases_are_exact(cells, largest):
    random = np.random.default_rng(cells)
    for share in (1.0, 0.3):
        values = [largest - int(one) if keep < share else 0 for one, keep in random.random((cells, 2))]
        x = np.array(values, dtype=np.int64 if largest < 2**62 else object)
        sizes = all_sizes(cells)
        assert list(squared_biases(x, len(sizes))) == slow_biases(values, sizes)
        assert list(squared_biases(-x, len(sizes))) == slow_biases(values, sizes)


@pytest.mark.parametrize("rows", [2**24, 2**25, 2**26, 2**31])
def test_biases_at_the_edge_of_64_bits(rows):
    x = np.zeros(64, dtype=np.int64)
    x[[0, 31, 63]] = rows, rows - 1, rows // 2
    assert list(squared_biases(x, 7)) == slow_biases(x.tolist(), all_sizes(64))


@pytest.mark.parametrize("cells", [2, 3, 6, 7, 8, 13, 16])
def test_one_row_moves_the_bias_by_what_the_formula_says(cells):
    """The largest over all cells, by brute force; also where the last block is cut."""
    units = np.eye(cells, dtype=np.int64)
    for size in all_sizes(cells)[1:]:
        most = max(slow_biases(unit.tolist(), [size])[0] for unit in units)
        block = min(cells, size)
        assert most == F((block - 1) * (2 * block - 1), 6 * block)
        exactly = GRID * math.sqrt(most / cells)
        assert exactly <= spread(cells, (size,)) <= exactly + 1
        assert Resolution((1, size), (0, 0)).sharpness(cells, F(1)) == F(1, spread(cells, (1, size)) + 1)
    assert spread(cells, (1,)) == 0
    assert spread(8, (1, 4, 8)) == spread(8, (4,)) + spread(8, (8,))


def test_the_bound_of_a_very_long_line_is_rounded_up_to_the_next_step():
    for cells in range(10**8, 2**27, 10**5):
        square = F(GRID**2, 4 * cells)
        assert (spread(cells, (2,)) - 1) ** 2 < square <= spread(cells, (2,)) ** 2


def test_scores_are_rounded_roots():
    x = np.array([0, 2**53 - 1, 5, 0, 0, 1, 7])
    selection = Resolution((1, 2, 8), (3 * GRID, 5, 0))
    for score, bias, cost in zip(selection.scores(x), slow_biases(x.tolist(), (1, 2, 8)), selection.costs, strict=True):
        squared = bias * GRID**2 / 7 + cost**2
        assert score**2 <= squared < (1 - score) ** 2


def test_the_sampler_has_the_law_of_permute_and_flip():
    x, selection = np.array([0, 0, 9, 11, 4, 0, 1, 0]), CASES[0].mechanism
    law = permute_and_flip_probabilities(selection.scores(x), selection.sharpness(8, F(1, 2)))
    noise, trials = SimulatedNoise(3), 4000
    drawn = np.array([selection.choose(x, F(1, 2), noise)[0] for _ in range(trials)])
    for size, chance in zip(selection.sizes, law, strict=True):
        p = float(chance)
        assert abs((drawn == size).mean() - p) <= 6 * math.sqrt(p * (1 - p) / trials) + 6 / trials


# ---- as an operator --------------------------------------------------------------------------------------------------


def test_the_kernel_runs_it():
    kernel = Kernel.on_vector(np.arange(64), epsilon=2)
    assert kernel.root.select(Resolution((1, 8), (GRID, 0)), 1) in (1, 8)
    assert kernel.spent == 1


def test_it_travels_as_text():
    selection = Resolution((1, 4, 64), (7, 5, LARGEST_COST))
    assert decode(encode(selection)) == selection
    assert str(selection) == "one of 3 block sizes"


@pytest.mark.parametrize(
    ("sizes", "costs"),
    [
        ((), ()),
        ((1, 2), (1,)),
        ((2, 1), (1, 1)),
        ((1, 1), (1, 1)),
        ((1, 3), (1, 1)),
        ((0, 1), (1, 1)),
        ((1, 16), (1, 1)),
        ((1, 2), (-1, 1)),
        ((1, 2), (1, LARGEST_COST + 1)),
        ((1, 2), (1.0, 1)),
        ((1, True), (1, 1)),
        ([1, 2], (1, 1)),
        ((1, 2), [1, 1]),
        ("12", (1, 1)),
    ],
)
def test_bad_fields_are_refused_before_anything_is_spent(sizes, costs):
    kernel = Kernel.on_vector(np.arange(8), epsilon=1)
    with pytest.raises(BadInput):
        kernel.root.select(Resolution(sizes, costs), "0.5")
    assert kernel.spent == 0


def test_one_dimension_only():
    kernel = Kernel.on_vector([[1, 2], [3, 4]], epsilon=1)
    with pytest.raises(BadInput, match="one dimension"):
        kernel.root.select(Resolution((1,), (0,)), "0.5")
    assert kernel.spent == 0
