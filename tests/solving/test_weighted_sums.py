"""Noise of weighted sums over tables by least squares: cumulants as every measured cell has them, added up."""

import numpy as np
import pytest

from adyton.queries.measurement import MeasuredTable
from adyton.result.intervals import radius
from adyton.solving.noise_moments import Moments, TableMoments, laplace_excess
from adyton.solving.residuals import residuals

SIDES = {"a": 5, "b": 3, "c": 4}
MEASURED = [(("a", "b"), 8.0), (("b", "c"), 20.0), (("c",), 3.0), (("a", "c"), 50.0)]


def tables(counts):
    return [MeasuredTable(group, one, noise) for (group, noise), one in zip(MEASURED, counts, strict=True)]


def shape(group):
    return tuple(SIDES[name] for name in group)


LAW = TableMoments(SIDES, MEASURED, residuals(SIDES, tables([np.zeros(shape(g)) for g, _ in MEASURED])).variances)


@pytest.mark.parametrize("group", [("a",), ("b",), ("a", "b"), ("c", "b"), ("c", "a")])
def test_cumulants_are_those_of_each_cell_added_up(group):
    random = np.random.default_rng(1)
    weights = {name: random.normal(size=SIDES[name]) for name in group}
    two = four = 0.0
    for place, (own, noise) in enumerate(MEASURED):
        cells = np.prod(shape(own))
        single = [np.zeros((cells, *shape(other))) for other, _ in MEASURED]
        single[place] = np.eye(cells).reshape(cells, *shape(own))
        parts = residuals(SIDES, tables(single)).table(*group)
        for name in reversed(group):
            parts = parts @ weights[name]
        two += noise * np.square(parts).sum()
        four += noise**2 * float(laplace_excess(noise)) * (parts**4).sum()
    first, *others = group
    found = LAW.of_sums(first, weights[first][None], {name: weights[name] for name in others})
    assert found[0] == pytest.approx([two])
    assert found[1] == pytest.approx([four])


def test_what_is_known_to_be_at_most_is_never_too_near():
    """Below 85% or so the normal law is the wider one, above it Laplace's."""
    variances, fourths = np.array([400.0]), np.array([3 * 400.0**2])
    for confidence in (0.7, 0.8, 0.9, 0.95):
        bounds = [radius(Moments(variances, part * fourths), confidence) for part in (0.0, 0.3, 1.0)]
        assert radius(Moments(variances, fourths, at_most=True), confidence) == pytest.approx(max(bounds), rel=0.01)
