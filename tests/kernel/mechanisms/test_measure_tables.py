"""Noisy tables for one debit: shares certified in fractions, the law of the noise, numbers beyond 64 bits."""

import itertools
from fractions import Fraction as F

import numpy as np
import pytest

from adyton.kernel.counts import CountedTables
from adyton.kernel.mechanisms import MeasureTables
from adyton.kernel.shapes import TablesShape
from adyton.noise import ExactNoise
from adyton.noise.laplace import machine_rate
from adyton.noise.simulated import discrete_laplace_variance
from adyton.schema import Integer, Schema
from adyton_lab.audit.walk import RecordingNoise
from over_cases import over

SCHEMA = Schema({"a": Integer(0, 2), "b": Integer(0, 1), "c": Integer(0, 4)})
SHAPE = TablesShape(SCHEMA, (("a", "b"), ("a",), ("b", "c"), ("c",)))


def held(*counts):
    tables = [np.full(shape, count) for shape, count in zip(SHAPE.shapes, counts, strict=True)]
    return CountedTables(lambda: tables, SHAPE.groups, SHAPE.shapes)


@over(
    [F(1), F(1, 10), F(3), F(1, 10**30), F(10**20, 3), F(12345678901234567, 10**17)],
    [[1, 1, 1, 1], [0.1, 7.3, 1e-9, 2.2], [F(1, 3), F(2, 7), F(1, 11), F(5)]],
)
def test_what_is_measured_of_a_row_costs_no_more_than_epsilon(epsilon, weights):
    """By the scales that were drawn with: a row is in one cell of each table."""
    mechanism, witness = MeasureTables.weighted(range(4), weights), RecordingNoise()
    mechanism.check(SHAPE)
    mechanism.draw(held(3, 1, 4, 1), epsilon, witness, 1)
    scales = witness.all_scales
    starts = np.cumsum([0, *SHAPE.sizes(range(4))])
    cost = sum(1 / scales[start] for start in starts[:-1])
    assert all(len(set(scales[start:end])) == 1 for start, end in itertools.pairwise(starts))
    assert F(999, 1000) * epsilon < cost <= epsilon
    assert mechanism.cost(epsilon) == epsilon


def test_shares_that_are_short_are_exact():
    mechanism = MeasureTables((0, 1, 3), (F(1, 2), F(1, 3), F(1, 6)))
    assert mechanism.rates(F(1, 10)) == [F(1, 20), F(1, 30), F(1, 60)]
    assert np.allclose(mechanism.variances(F(1, 10)), discrete_laplace_variance([20, 30, 60]))


@pytest.mark.parametrize("bits", [40, 100, 400])
def test_rates_are_never_rounded_up(bits):
    generator = np.random.default_rng(bits)
    for _ in range(300):
        above, below = (1 + int.from_bytes(generator.bytes(bits // 8)) >> int(generator.integers(bits)) for _ in "ab")
        rate = F(max(1, above), max(1, below))
        assert (1 - F(1, 4096)) * rate <= machine_rate(rate) <= rate


def test_the_noise_of_each_table_has_its_own_scale():
    """Mean and variance of 30,000 trials within 6 standard errors: 16 comparisons, false alarm below 10⁻⁶."""
    mechanism = MeasureTables((2, 0), (F(3, 4), F(1, 4)))
    outputs = mechanism.draw(held(5, 0, 1000, 0), F(2), ExactNoise(), 30_000).astype(float)
    means = np.repeat([1000, 5], [10, 6])
    variances = np.repeat(mechanism.variances(F(2)), [10, 6])
    assert (abs(outputs.mean(axis=0) - means) < 6 * np.sqrt(variances / 30_000)).all()
    spread = ((outputs - means) ** 2).std(axis=0) / np.sqrt(30_000)
    assert (abs(((outputs - means) ** 2).mean(axis=0) - variances) < 6 * spread).all()


def test_huge_counts_do_not_wrap_around():
    mechanism = MeasureTables((0,), (F(1),))
    for count in (2**31 - 1, 2**31, 2**62, 2**63 - 1):
        outputs = mechanism.draw(held(count, 1, 1, 1), F(50), ExactNoise(), 3)
        assert all(abs(int(one) - count) < 3 for one in outputs.reshape(-1))


def test_the_size_follows_the_cells_and_the_slow_draws():
    schema = Schema({"a": Integer(0, 4095), "b": Integer(0, 4095)})
    shape, mechanism = TablesShape(schema, (("a", "b"),)), MeasureTables((0,), (F(1),))
    assert mechanism.size(shape, F(1)).steps < mechanism.size(shape, F(1, 10**60)).steps
    assert mechanism.size(shape, F(1)).numbers == 8 * 4096**2
