"""Discrete Laplace noise against its exact probabilities and against OpenDP. False alarm 10⁻⁹ for each comparison."""

from fractions import Fraction

import numpy as np
import pytest
from noise_tapes import tape_of

from adyton import noise
from adyton.noise import ExactNoise, OpenDPNoise, Ratio, SimulatedNoise
from adyton.noise.bits import fresh_tape
from adyton.noise.laplace import laplace_compiled, laplace_in_python
from adyton.noise.source import read_scales
from adyton_lab.audit.statistical import laplace_fit, same_law

FALSE_ALARM = 1e-9
SCALES = [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(100), Fraction(10**6)]


@pytest.mark.parametrize("scale", SCALES)
def test_compiled_draws_fit(scale):
    sample = laplace_compiled(fresh_tape(10**6), 10**6, read_scales(scale, (10**6,)))
    assert laplace_fit(sample, scale) > FALSE_ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_python_draws_fit(scale):
    sample = laplace_in_python(fresh_tape(10**5), 30_000, read_scales(scale, (30_000,)))
    assert laplace_fit(sample, scale) > FALSE_ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_simulated_draws_fit(scale):
    assert laplace_fit(SimulatedNoise(11).discrete_laplace(10**6, scale), scale) > FALSE_ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_exact_draws_and_opendp_agree(scale):
    pytest.importorskip("opendp")
    theirs = OpenDPNoise().discrete_laplace(30_000, scale)
    ours = ExactNoise().discrete_laplace(300_000, scale)
    assert laplace_fit(theirs, scale) > FALSE_ALARM
    assert same_law(ours, theirs) > FALSE_ALARM


@pytest.mark.parametrize("factor", [Fraction(98, 100), Fraction(102, 100)])
def test_the_fit_notices_a_scale_that_is_two_percent_off(factor):
    sample = SimulatedNoise(3).discrete_laplace(10**6, 100 * factor)
    assert laplace_fit(sample, 100) < FALSE_ALARM
    assert same_law(sample, SimulatedNoise(4).discrete_laplace(10**6, 100)) < FALSE_ALARM


@pytest.mark.parametrize("source", [ExactNoise(), SimulatedNoise(5)], ids=["exact", "simulated"])
@pytest.mark.parametrize(
    "scale",
    [["1/2", 3, 40], Ratio(np.array([1, 3, 40]), np.array([2, 1, 1])), Ratio(np.array([2, 12, 160]), np.array(4))],
    ids=["sequence", "ratio", "reducible"],
)
def test_a_scale_for_each_column(source, scale):
    sample = source.discrete_laplace((100_000, 3), scale)
    assert sample.shape == (100_000, 3)
    for column, own in enumerate([Fraction(1, 2), 3, 40]):
        assert laplace_fit(sample[:, column], own) > FALSE_ALARM


def test_a_scale_for_each_row():
    sample = ExactNoise().discrete_laplace((2, 100_000), Ratio(np.array([[2], [50]]), np.array(1)))
    assert laplace_fit(sample[0], 2) > FALSE_ALARM
    assert laplace_fit(sample[1], 50) > FALSE_ALARM


def test_opendp_with_a_scale_for_each_column():
    pytest.importorskip("opendp")
    sample = OpenDPNoise().discrete_laplace((8_000, 3), [30, "1/2", 30])
    assert OpenDPNoise().private
    assert laplace_fit(sample[:, [0, 2]], 30) > FALSE_ALARM
    assert laplace_fit(sample[:, 1], "1/2") > FALSE_ALARM


@pytest.mark.parametrize("source", [ExactNoise(), SimulatedNoise(5)], ids=["exact", "simulated"])
def test_huge_scales_give_python_integers(source):
    scale = Fraction(2**300 + 1, 2**100 - 1)
    sample = source.discrete_laplace((50, 40), scale)
    assert sample.dtype == object
    assert sample.shape == (50, 40)
    assert all(type(value) is int for value in sample.ravel())
    sizes = np.array([float(abs(value) / scale) for value in sample.ravel()])
    assert abs(sizes.mean() - 1) < 0.15  # E|z|/scale = 1, and 0.15 is over six standard deviations
    assert len({value % 2**40 for value in sample.ravel().tolist()}) > 1900 or not source.private  # all digits random


def test_mixed_scales_some_beyond_the_compiled_range():
    """The decision to draw in Python is made for each element by its public scale."""
    scales = read_scales([2, 2**80, Fraction(2**90, 2**89 + 1)], (3000, 3))
    fast = laplace_compiled(tape_of([]), 9000, scales)
    slow = laplace_in_python(tape_of([]), 9000, scales)
    assert fast.dtype == slow.dtype == object
    assert fast.tolist() == slow.tolist()
    columns = fast.reshape(-1, 3)
    assert laplace_fit(columns[:, 0].astype(np.int64), 2) > FALSE_ALARM
    assert np.median([abs(value) for value in columns[:, 1]]) > 2**78


def test_long_fractions_that_fit_in_the_result():
    sample = ExactNoise().discrete_laplace(3000, Fraction(7 * 2**200 + 1, 3 * 2**200))
    assert sample.dtype == np.int64
    assert laplace_fit(sample, Fraction(7, 3)) > FALSE_ALARM


@pytest.mark.parametrize("source", [ExactNoise(), SimulatedNoise(5)], ids=["exact", "simulated"])
def test_tiny_scales_give_zeros(source):
    for scale in ("0.001", Fraction(1, 2**1500), 1e-300):
        assert not source.discrete_laplace(500, scale).any()


def test_decimals_are_read_as_written():
    assert read_scales(0.1, ()).fractions() == [Fraction(1, 10)]
    assert read_scales(np.array([0.1, 2.5]), (2,)).fractions() == [Fraction(1, 10), Fraction(5, 2)]


@pytest.mark.parametrize("source", [ExactNoise(), SimulatedNoise(5), noise], ids=["exact", "simulated", "functions"])
def test_shapes(source):
    for size, shape in [(0, (0,)), (3, (3,)), ((2, 0), (2, 0)), ((), ()), ((2, 3, 4), (2, 3, 4)), (np.int64(5), (5,))]:
        sample = source.discrete_laplace(size, 2)
        assert (sample.shape, sample.dtype) == (shape, np.int64)
        assert source.uniform_integers(size, 7).shape == shape


def test_simulation_repeats_with_its_seed_and_is_not_private():
    first, second, other = (SimulatedNoise(seed).discrete_laplace(50, 1000).tolist() for seed in (1, 1, 2))
    assert first == second != other
    sequence = np.random.SeedSequence(9)
    assert SimulatedNoise(sequence).uniform_integers(9, 2**70).tolist()
    assert SimulatedNoise(None).discrete_laplace(50, 1000).tolist() != first
    assert not SimulatedNoise(1).private
    assert ExactNoise().private


def test_opendp_scale_is_rounded_up():
    from adyton.noise.opendp import rounded_up

    for scale in (Fraction(1, 10), Fraction(1, 3), Fraction(2**60 - 1, 2**10), Fraction(5, 2)):
        double = Fraction(rounded_up(scale))
        assert scale <= double <= scale * (1 + Fraction(1, 2**52))
    assert rounded_up(Fraction(5, 2)) == 2.5
