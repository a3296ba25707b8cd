"""Statistics of a vector: what they count, how far one row moves them, and the noise that they get."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import DawaPartition, NonZeros, Partitionality, TotalVariation
from adyton.noise.simulated import discrete_laplace_variance
from adyton_lab.audit.pairs import vector_pairs
from adyton_lab.audit.statistical import audit_mechanism
from over_cases import over

ALL = [NonZeros(), TotalVariation(), Partitionality(F(3, 2))]
SIZES = [1, 2, 3, 4, 7, 8, 13]


def deviation(values):
    return sum(abs(value - F(sum(values), len(values))) for value in values)


def least_cost(values, cost):
    """Over all partitions into intervals of 1, 2, 4, … cells, in fractions."""
    best = [F(0)]
    for end in range(1, len(values) + 1):
        lengths = [1 << power for power in range(end.bit_length()) if 1 << power <= end]
        best.append(min(best[end - length] + deviation(values[end - length : end]) + cost for length in lengths))
    return best[-1]


@over(SIZES, [2, 50, 2**53 + 1, 2**62])
def test_they_count_what_they_say(size, largest):
    values = np.random.default_rng(size).integers(0, largest, size, dtype=np.int64)
    values[::3] = 0
    counts = values.tolist()
    assert NonZeros().steps_in(values) * NonZeros().step(size) == sum(count != 0 for count in counts)
    even = sum(abs(count - F(sum(counts), size)) for count in counts) / 2
    assert TotalVariation().steps_in(values) * TotalVariation().step(size) == even
    statistic = Partitionality(F(3, 2))
    sizes = DawaPartition().sizes(size)
    most = (2**62 - 1) // (2 * max(2 * DawaPartition().grid(sizes), int(sizes[-1])) * size)  # counts beyond are cut off
    seen = [min(most, count) for count in counts]
    assert statistic.steps_in(values) * statistic.step(size) == least_cost(seen, F(3, 2))


@pytest.mark.parametrize("size", [2, 64])
def test_the_total_variation_is_exact_on_both_sides_of_64_bits(size):
    """Of a line with all rows in one cell, which is as far from even as a line can be."""
    for power in range(40, 63):
        values = np.zeros(size, dtype=np.int64)
        values[0] = count = (1 << power) - 1
        assert TotalVariation().steps_in(values) == 2 * (size - 1) * count


@over(ALL, SIZES)
def test_one_row_moves_them_by_the_sensitivity_at_most_and_sometimes_by_all_of_it(statistic, size):
    moves = [
        abs(statistic.steps_in(pair.left) - statistic.steps_in(pair.right)) for pair in vector_pairs(size, count=200)
    ]
    assert max(moves) <= statistic.sensitivity(size)
    if not isinstance(statistic, Partitionality):
        assert max(moves) == statistic.sensitivity(size)
    elif size > 1:
        assert max(moves) > 0.4 * statistic.sensitivity(size)


@pytest.mark.parametrize("statistic", ALL, ids=str)
def test_on_a_kernel(statistic):
    x = np.array([0, 3, 3, 9, 0, 0, 0, 1])
    kernel = Kernel.on_vector(x, epsilon=1000)
    found = kernel.root.statistic(statistic, 900)
    unit = statistic.step(8)
    variance = discrete_laplace_variance([F(statistic.sensitivity(8), 900)])[0]
    assert found.deviation == pytest.approx(float(np.sqrt(variance) * float(unit)))
    assert abs(found.value - float(statistic.steps_in(x) * unit)) <= 40 * found.deviation + 1e-9
    assert found.private
    assert kernel.spent == 900


@pytest.mark.parametrize("statistic", ALL, ids=str)
def test_a_vector_of_one_cell_gets_noise_too(statistic):
    kernel = Kernel.simulated([5], epsilon=1, seed=0)
    assert np.isfinite(kernel.root.statistic(statistic, 1).value)


def test_a_sensitivity_that_forgets_the_other_cells_is_caught(monkeypatch):
    """Half of it: what the changed cell alone contributes."""
    monkeypatch.setattr(TotalVariation, "sensitivity", lambda self, cells: cells - 1)
    (case,) = TotalVariation.audit_cases()
    assert not audit_mechanism(case, pairs=12, draws=8_000, strong_draws=100_000).passed


def test_a_feature_of_the_data_times_epsilon_with_the_noise_for_the_data_is_caught(monkeypatch):
    """At ε = 4 the feature of 4·x moves four times as far as that of x."""
    plain = TotalVariation.steps_in
    monkeypatch.setattr(TotalVariation, "steps_in", lambda self, values: 4 * plain(self, values))
    pairs = vector_pairs(4, count=50)
    moves = [abs(TotalVariation().steps_in(one.left) - TotalVariation().steps_in(one.right)) for one in pairs]
    assert max(moves) > TotalVariation().sensitivity(4)
    (case,) = TotalVariation.audit_cases()
    assert not audit_mechanism(case, pairs=12, draws=8_000, strong_draws=100_000).passed


@pytest.mark.parametrize(
    ("shape", "statistic", "message"),
    [((2, 4), Partitionality(), "line"), ((8,), Partitionality(F(-1)), "cost"), ((8,), Partitionality(0.5), "cost")],
)
def test_bad_input_costs_nothing(shape, statistic, message):
    kernel = Kernel.on_vector(np.ones(shape, dtype=int), epsilon=1)
    with pytest.raises(BadInput, match=message):
        kernel.root.statistic(statistic, 1)
    assert kernel.spent == 0
