"""Marginals by parts are the dense least squares, and the law of their noise is what its coefficients say."""

import numpy as np
import pytest

from adyton.queries import Haar, Identity, Kronecker, Marginals, RandomRanges, Ranges
from adyton.result.intervals import radius
from adyton.solving.noise_moments import Moments, laplace_excess, noise_moments
from adyton.solving.residuals import MarginalsSolver
from adyton.solving.solvers import DenseSolver, solver

DOMAIN = (3, 4, 1, 2)
MEASURED = Marginals(DOMAIN, [(0, 1), (1, 2, 3), (3,)])
NOISE = np.repeat([50.0, 8.0, 0.5], MEASURED.sizes)


def by_coefficients(found, queries, noise, asked):
    """The moments from the coefficients of every answer, written out."""
    cells = np.array([found.solve(answer) for answer in np.eye(queries.count)])
    coefficients = np.concatenate(list(asked.rows())) @ cells.T
    return np.square(coefficients) @ noise, coefficients**4 @ (noise**2 * laplace_excess(noise))


def test_marginals_by_parts_are_dense_least_squares():
    parts, dense = solver(MEASURED, NOISE), DenseSolver(MEASURED, NOISE)
    assert isinstance(parts, MarginalsSolver)
    answers = np.random.default_rng(1).normal(size=(3, MEASURED.count))
    assert np.allclose(parts.solve(answers), dense.solve(answers), atol=1e-9)
    for asked in (MEASURED, Marginals(DOMAIN, way=2), Identity(DOMAIN), RandomRanges(DOMAIN, 9, seed=2)):
        rows = np.concatenate(list(asked.rows()))
        assert np.allclose(parts.variances(rows), dense.variances(rows), rtol=1e-9)
        assert parts.total_variance(asked) == pytest.approx(dense.total_variance(asked), rel=1e-9)
        if isinstance(asked, Ranges):
            assert np.allclose(noise_moments(parts, asked).variances, dense.variances(rows), rtol=1e-9)
    assert not parts.complete
    assert solver(Marginals((2, 3), [(0, 1), (0,)]), 1.0).complete


@pytest.mark.parametrize(
    ("queries", "noise"),
    [
        (MEASURED, NOISE),
        (Identity((3, 4)), np.full(12, 7.0)),
        (Kronecker([Haar(4), Haar(2)]), np.full(8, 7.0)),
    ],
)
def test_moments_are_those_of_the_coefficients(queries, noise):
    found = solver(queries, noise)
    asked = queries if isinstance(queries, Marginals) else Marginals(queries.domain, way=1)
    moments = noise_moments(found, asked)
    variances, fourths = by_coefficients(found, queries, noise, asked)
    assert np.allclose(moments.variances, variances, rtol=1e-9)
    assert np.allclose(moments.fourths, fourths, rtol=1e-9)
    if isinstance(queries, Identity):
        ranges = RandomRanges(queries.domain, 9, seed=3)
        found = noise_moments(found, ranges)
        variances, fourths = by_coefficients(solver(queries, noise), queries, noise, ranges)
        assert np.allclose(found.variances, variances, rtol=1e-9)
        assert np.allclose(found.fourths, fourths, rtol=1e-9)


@pytest.mark.parametrize(("decay", "noises"), [(0.99, 1), (0.99, 3), (0.9, 12), (0.5, 4), (0.05, 2)])
def test_bounds_hold_sums_of_noises_at_their_rate(decay, noises):
    """200,000 sums: a rate that is right is below this with a chance of 10^-9."""
    random = np.random.default_rng(5)
    sums = sum(random.geometric(1 - decay, 200_000) - random.geometric(1 - decay, 200_000) for _ in range(noises))
    variance = 2 * decay / (1 - decay) ** 2
    law = Moments(np.array([noises * variance]), np.array([noises * variance**2 * laplace_excess(variance)]))
    for confidence in (0.8, 0.95, 0.99):
        held = float((np.abs(sums) <= radius(law, confidence)[0] + 1e-9).mean())
        assert held > confidence - 6 * np.sqrt(confidence * (1 - confidence) / 200_000) - 0.0015
        assert held < confidence + 0.015 or decay < 0.9
