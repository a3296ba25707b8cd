"""Small problems of non-negative least squares, and their solution by enumeration."""

import itertools

import numpy as np


def operators(matrix):
    return lambda x: x @ matrix.T, lambda y: y @ matrix


def misfit(matrix, answers, precisions, x):
    return (precisions * (matrix @ x - answers) ** 2).sum() / 2


def by_enumeration(matrix, answers, precisions):
    """The best of the least squares solutions on every set of free cells that have no negative cell."""
    roots = np.sqrt(precisions)
    best = np.zeros(matrix.shape[1])
    for free in itertools.product([False, True], repeat=matrix.shape[1]):
        x = np.zeros(matrix.shape[1])
        x[list(free)] = np.linalg.lstsq(matrix[:, free] * roots[:, None], answers * roots, rcond=None)[0]
        if (x >= 0).all() and misfit(matrix, answers, precisions, x) < misfit(matrix, answers, precisions, best):
            best = x
    return best


def random_tree(rng, cells, height):
    """Boundaries of a random tree, and its matrix."""
    finest = np.arange(cells + 1)
    if rng.random() < 0.3:
        finest = np.unique(np.concatenate([[0, cells], rng.integers(0, cells + 1, cells)]))
    levels = [finest]
    for _ in range(height - 1):
        kept = rng.random(levels[0].size) < rng.uniform(0.2, 0.9)
        kept[[0, -1]] = True
        levels.insert(0, levels[0][kept])
    return levels, tree_matrix(levels)


def tree_matrix(levels):
    places = np.arange(levels[0][-1])
    return np.concatenate(
        [(level[:-1, None] <= places) & (places < level[1:, None]) for level in levels], axis=0
    ).astype(float)


def binary_tree(cells):
    return [np.arange(0, cells + 1, cells >> depth) for depth in range(cells.bit_length())]


def noisy_counts(rng, matrix, total=1000, noise=5.0):
    counts = rng.multinomial(total, rng.dirichlet(np.full(matrix.shape[1], 0.1)))
    return matrix @ counts + rng.laplace(0, noise, len(matrix))
