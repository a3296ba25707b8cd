"""Empirical Bayes of many tables: it learns how far to trust a prediction, and raking keeps the sums."""

import math

import numpy as np
import pytest

from adyton.denoising import pairs
from adyton.denoising.pairs import denoised_tables, raked
from adyton.errors import BadInput

VARIANCE = 400.0


def noisy(random, truth):
    return [table + random.normal(scale=math.sqrt(VARIANCE), size=table.shape) for table in truth]


def error(found, truth):
    return float(np.mean([np.abs(one - other).mean() for one, other in zip(found, truth, strict=True)]))


def test_right_predictions_are_believed_and_wrong_ones_are_not():
    random = np.random.default_rng(1)
    model = [random.gamma(1.0, 60.0, size=(12, 10)) for _ in range(10)]
    measured = noisy(random, model)
    assert error(denoised_tables(measured, model, [VARIANCE] * 10), model) < 0.15 * error(measured, model)
    other = [random.permutation(table.ravel()).reshape(table.shape) for table in model]  # nothing to do with it
    found = denoised_tables(noisy(random, other), model, [VARIANCE] * 10)
    assert error(found, other) < 1.05 * error(np.maximum(0, measured), model)


def test_each_table_has_its_own_tilt():
    """One table that is wrong among nineteen that are right is not pulled to its prediction."""
    random = np.random.default_rng(2)
    model = [random.gamma(1.0, 60.0, size=(12, 10)) for _ in range(20)]
    truth = [*model[:19], model[19][::-1, ::-1]]
    found = denoised_tables(noisy(random, truth), model, [VARIANCE] * 20)
    assert error(found[19:], truth[19:]) < 0.4 * error(model[19:], truth[19:])
    assert error(found[:19], truth[:19]) < 0.25 * error(noisy(random, truth[:19]), truth[:19])


def test_one_component_by_numbers():
    """The posterior mean under a normal law cut off at 0, and its evidence, against numerical integration."""
    counts, means, noise = np.array([30.0, -50.0, 3.0]), np.array([20.0, 10.0, 8.0]), np.array([100.0, 4.0, 9.0])
    odds, found = np.empty((3, 2)), np.empty((3, 2))
    laws = np.array([1.0, 0.0]), np.array([0.3, 0.0]), np.array([0.0, 5.0])
    pairs._likelihoods(counts, means, noise, *laws, odds, found)
    for cell in range(3):
        evidence, expected = [], []
        for centre, spread in ((means[cell], 0.3 * means[cell]), (0.0, 5 * math.sqrt(noise[cell] / 2))):
            step = (centre + 12 * spread) / 200_000
            grid = (np.arange(200_000) + 0.5) * step
            inside = 0.5 * math.erfc(-centre / spread / math.sqrt(2))
            density = -0.5 * ((grid - centre) / spread) ** 2 - math.log(spread * inside)
            density -= 0.5 * (counts[cell] - grid) ** 2 / noise[cell]
            weights = np.exp(density - density.max())
            evidence.append(math.log(weights.sum() * step) + density.max())
            expected.append((weights * grid).sum() / weights.sum())
        np.testing.assert_allclose(found[cell], expected, rtol=1e-3)
        assert math.log(odds[cell, 0] / odds[cell, 1]) == pytest.approx(evidence[0] - evidence[1], abs=2e-3)


def test_nothing_is_negative_and_shapes_are_kept():
    random = np.random.default_rng(3)
    tables = [random.normal(scale=1e6, size=(2, 3)), random.normal(scale=1e-3, size=(5, 4))]
    found = denoised_tables(tables, [np.zeros((2, 3)), np.full((5, 4), 1e9)], [1e12, 1e-6])
    assert [table.shape for table in found] == [(2, 3), (5, 4)]
    assert all(np.isfinite(table).all() and (table >= 0).all() for table in found)
    assert denoised_tables([], [], []) == []


def test_raking_reaches_both_sums():
    random = np.random.default_rng(4)
    rows, columns = random.uniform(1, 9, 6), random.uniform(1, 9, 5)
    found = raked(random.exponential(size=(6, 5)), rows, columns)
    np.testing.assert_allclose(found.sum(axis=1), rows, rtol=1e-4)
    np.testing.assert_allclose(found.sum(axis=0), columns * rows.sum() / columns.sum(), rtol=1e-4)


@pytest.mark.parametrize(
    ("given", "words"),
    [(([np.zeros((2, 2))], [np.zeros(4)], [1.0]), "shape"), (([np.zeros(2)], [np.zeros(2)], [0.0]), "above 0")],
)
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(BadInput, match=words):
        denoised_tables(*given)
