"""A public table of six attributes with a chain of dependence, one circle and one attribute that stands alone."""

import itertools
import math

import numpy as np

from adyton.queries.measurement import MeasuredTable

SIDES = {"a": 4, "b": 6, "c": 3, "d": 8, "e": 2, "f": 5}
PAIRS = tuple(itertools.combinations(SIDES, 2))


def rows(count=20_000, seed=7):
    """b follows a, c follows b, d follows a and c together, e follows d, f follows nothing."""
    random = np.random.default_rng(seed)
    a = random.choice(4, count, p=[0.4, 0.3, 0.2, 0.1])
    b = (a + random.choice(3, count, p=[0.7, 0.2, 0.1])) % 6
    c = np.where(random.random(count) < 0.8, b // 2, random.integers(3, size=count))
    d = (2 * c + a + random.choice(2, count, p=[0.8, 0.2])) % 8
    e = (random.random(count) < np.where(d > 3, 0.8, 0.1)).astype(int)
    f = random.choice(5, count, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    return np.stack([a, b, c, d, e, f], axis=1)


def table(data, group):
    """The counts of a group."""
    places = [list(SIDES).index(name) for name in group]
    shape = [SIDES[name] for name in group]
    cells = np.ravel_multi_index([data[:, place] for place in places], shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(float)


def measured(data, groups, epsilon, seed=3):
    """Laplace noise with an equal share for each group."""
    random, scale = np.random.default_rng(seed), len(groups) / epsilon
    return [
        MeasuredTable(
            group, (truth := table(data, group)) + random.laplace(scale=scale, size=truth.shape), 2 * scale**2
        )
        for group in groups
    ]


def distance(tables, data):
    """The mean total variation over all pairs."""
    return float(np.mean([np.abs(tables[pair] - table(data, pair)).sum() / (2 * len(data)) for pair in PAIRS]))
