"""The probabilities themselves, against independent computations."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.noise import Ratio
from adyton.noise.simulated import discrete_laplace_variance
from adyton_lab.audit.statistical import counts_fit, discrete_laplace_probabilities, same_law
from adyton_lab.bench.peers import noise
from exact_laws import discrete_laplace_probability
from over_cases import over


@pytest.mark.parametrize("scale", ["1/2", 1, "7/3", 20])
def test_probabilities_sum_to_one_and_have_the_variance(scale):
    reach = 3000
    chances = {z: discrete_laplace_probability(z, scale) for z in range(reach)}
    with localcontext() as context:
        context.prec = 60
        total = chances[0] + 2 * sum(chances[z] for z in range(1, reach))
        variance = 2 * sum(chances[z] * z * z for z in range(1, reach))
        assert abs(total - 1) < Decimal(10) ** -45
    assert float(variance) == pytest.approx(float(discrete_laplace_variance(scale)), rel=1e-13)
    assert float(chances[3] / chances[2]) == pytest.approx(np.exp(-1 / float(Fraction(scale))), rel=1e-14)


@over(["1/2", "7/3", 1000], [[-5, -1, 0, 4], [2, 9], [-9, -2], [0], [-1], list(range(-4, 5))])
def test_classes_against_single_values(scale, edges):
    classes = discrete_laplace_probabilities(edges, scale)
    assert classes.sum() == pytest.approx(1, abs=1e-14)
    for place, (low, high) in enumerate(pairwise(edges)):
        exact = sum(discrete_laplace_probability(z, scale) for z in range(low + 1, high + 1))
        assert classes[place + 1] == pytest.approx(float(exact), rel=1e-11)


def test_far_tails_keep_their_precision():
    assert discrete_laplace_probabilities([600], 1)[1] == pytest.approx(
        float(discrete_laplace_probability(601, 1)) / (1 - np.exp(-1)), rel=1e-9
    )
    with localcontext() as context:
        context.prec = 60
        assert abs(discrete_laplace_probability(0, 10**40) * (2 * 10**40) - 1) < Decimal(10) ** -45


def test_variance_is_stable_and_keeps_the_shape():
    assert discrete_laplace_variance(10**9) == pytest.approx(2e18, rel=1e-12)
    assert discrete_laplace_variance("0.001") == 0
    assert discrete_laplace_variance(Fraction(2**300)) == pytest.approx(2 * 2.0**600, rel=1e-9)
    assert np.isfinite(discrete_laplace_variance(Fraction(2**2000)))
    ratio = Ratio(np.array([[1], [3]]), np.array([1, 2]))
    expected = [[discrete_laplace_variance(Fraction(n, d)) for d in (1, 2)] for n in (1, 3)]
    assert np.allclose(discrete_laplace_variance(ratio), expected, rtol=1e-14)
    with pytest.raises(BadInput):
        discrete_laplace_variance(0)


def test_the_tests_of_fit_notice():
    assert counts_fit([5000, 5000], [0.5, 0.5]) == 1
    assert counts_fit([5300, 4700], [0.5, 0.5]) < 1e-8
    numbers = np.arange(10_000)
    assert same_law(numbers, numbers) > 0.99
    assert same_law(numbers, numbers + 700) < 1e-9


def test_compare_reports_what_it_measured():
    pytest.importorskip("opendp")
    _, (record,) = noise(20_000, ["7/3"], repeats=1)
    assert (record.scale, record.draws) == ("7/3", 20_000)
    assert record.times_faster == record.opendp_seconds / record.seconds
    assert min(record.fit_p, record.opendp_fit_p, record.same_law_p) > 1e-9
    with pytest.raises(BadInput):
        noise(10)
