"""Least squares on groups inside groups, against dense solves and the solver for trees."""

import math

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.queries import Hierarchy
from adyton.solving.nested_groups import Layer, nested_least_squares
from adyton.solving.trees import TreeSolver


def random_layers(seed, trials=()):
    random = np.random.default_rng(seed)
    cells, groups, blocks = 12, 5, 2
    inside = np.append(np.arange(groups), random.integers(0, groups, cells - groups))
    above = np.append(np.arange(blocks), random.integers(0, blocks, groups - blocks))
    return [
        Layer(random.normal(0, 5, (*trials, cells)), random.uniform(0.5, 4, cells), inside),
        Layer(random.normal(0, 5, (*trials, groups)), random.uniform(0.5, 4, groups), above),
        Layer(random.normal(0, 5, (*trials, blocks)), random.uniform(0.5, 4, blocks), np.zeros(blocks, dtype=int)),
        Layer(random.normal(0, 5, (*trials, 1)), 2.0),
    ]


def dense(layers):
    matrix, rows = np.eye(len(layers[0].inside)), []
    for layer in layers:
        rows.append(matrix)
        if layer.inside is not None:
            matrix = np.eye(int(layer.inside.max()) + 1)[layer.inside].T @ matrix
    queries = np.concatenate(rows)
    noise = np.concatenate([np.broadcast_to(layer.variances, np.asarray(layer.answers).shape[-1:]) for layer in layers])
    answers = np.concatenate([layer.answers for layer in layers], axis=-1)
    measured = np.isfinite(noise)
    scaled = queries[measured] / np.sqrt(noise[measured])[:, None]
    return (answers[..., measured] / np.sqrt(noise[measured])) @ np.linalg.pinv(scaled).T


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("trials", [(), (3,), (2, 2)])
def test_dense_least_squares(depth, trials):
    for seed in range(5):
        layers = random_layers(seed, trials)[:depth]
        np.testing.assert_allclose(nested_least_squares(*layers), dense(layers), atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_what_is_not_measured(seed):
    """Cells, groups and blocks without answers; the smallest norm shares equally, as dense least squares do."""
    random = np.random.default_rng(seed)
    layers = []
    for number, layer in enumerate(random_layers(seed)):
        noise = np.broadcast_to(layer.variances, np.asarray(layer.answers).shape).copy()
        if number < 3:
            noise[random.random(noise.size) < 0.4] = math.inf
        layers.append(layer._replace(variances=noise, answers=np.where(np.isinf(noise), np.nan, layer.answers)))
    layers[0] = layers[0]._replace(variances=np.where(layers[0].inside < 3, math.inf, layers[0].variances))
    order = np.lexsort([layers[0].inside, layers[1].inside[layers[0].inside]])
    ends = [np.array([0, 12])]
    for key in (layers[1].inside[layers[0].inside], layers[0].inside):
        ends.append(np.append(np.flatnonzero(np.diff(key[order], prepend=-1)), 12))
    ends.append(np.arange(13))
    tree = Hierarchy(12, ends, order)
    ranks = [np.zeros(1, dtype=int), np.arange(2), layers[0].inside[order][ends[2][:-1]], order]
    noise = np.concatenate(
        [np.broadcast_to(layer.variances, place.shape)[place] for layer, place in zip(layers[::-1], ranks, strict=True)]
    )
    answers = np.concatenate([layer.answers[place] for layer, place in zip(layers[::-1], ranks, strict=True)])
    measured = np.flatnonzero(np.isfinite(noise))
    known = Hierarchy(12, ends, order, measured)
    expected = TreeSolver(known, noise[measured]).solve(answers[measured])
    assert tree.blocks == noise.size
    np.testing.assert_allclose(nested_least_squares(*layers), expected, atol=1e-9)


def test_bad_input():
    with pytest.raises(BadInput):
        nested_least_squares()
    with pytest.raises(BadInput):
        nested_least_squares(Layer([1.0], 1.0), Layer([1.0], 1.0))
