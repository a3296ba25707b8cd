"""The semidefinite relaxation of max-cut, solved in few dimensions: unit vectors in place of signs."""

from __future__ import annotations

import math

import numpy as np

from adyton.arrays import Reals
from adyton.compiling import compiled

SWEEPS = 5000
"""After so many sweeps the solver stops wherever it is."""
TOLERANCE = 1e-9
"""It stops once a whole sweep gains no more than this part of Σ|weights|; those of a spin glass add up to about 0."""


def rank_for(vertices: int) -> int:
    """In so many dimensions a maximum that is only local is a rare accident: above √(2n).

    Boumal, Voroninski and Bandeira, "The non-convex Burer–Monteiro approach works on smooth semidefinite programs",
    NIPS 2016.

    >>> rank_for(50)
    11
    """
    return math.isqrt(2 * vertices) + 1


def unit_vectors(weights: Reals, start: Reals) -> Reals:
    """Unit vectors v, a row a vertex, for which Σ weights[i,j]·(1 − ⟨v_i, v_j⟩)/2 over all edges is largest.

    *weights* is symmetric with a diagonal of zeros; *start* holds the vectors to begin with, of any length. Burer and
    Monteiro's factorisation, one vector at a time: v_i goes to where it is best for the others as they are, −g/‖g‖
    with g = Σ_j weights[i,j]·v_j. Every step gains, and nothing is to be tuned.

    The result depends on the arguments alone: one thread, sums in a fixed order, limits in sweeps and not in seconds.

    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> vectors = unit_vectors(triangle, np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 1]]))
    >>> (vectors @ vectors.T).round(3).tolist()[0]
    [1.0, -0.5, -0.5]
    """
    largest = float(np.abs(weights).max(initial=0.0))
    scaled = np.ldexp(weights, -math.frexp(largest)[1])  # by a power of two: squares neither overflow nor vanish
    lengths = np.sqrt((start * start).sum(axis=1, keepdims=True))
    vectors: Reals = np.divide(start, lengths, out=np.full(start.shape, start.shape[1] ** -0.5), where=lengths > 0)
    _ascend(scaled, vectors, np.empty(vectors.shape[1]), SWEEPS, TOLERANCE * float(np.abs(scaled).sum()) / 2)
    return vectors


def relaxed_cut(weights: Reals, vectors: Reals) -> float:
    """What :func:`unit_vectors` makes large: at its maximum, no cut weighs more.

    >>> round(relaxed_cut(np.array([[0.0, 5], [5, 0]]), np.array([[1.0, 0], [-1, 0]])), 9)
    5.0
    """
    return float((weights * (1 - vectors @ vectors.T)).sum() / 4)


@compiled
def _ascend(weights: Reals, vectors: Reals, pull: Reals, sweeps: int, enough: float) -> int:
    """Sweeps over all vertices until one gains no more than *enough*; how many there were."""
    vertices, rank = vectors.shape
    for sweep in range(sweeps):
        gained = 0.0
        for i in range(vertices):
            pull[:] = 0.0
            for j in range(vertices):
                weight = weights[i, j]
                if weight != 0.0:
                    for c in range(rank):
                        pull[c] += weight * vectors[j, c]
            square = 0.0
            along = 0.0
            for c in range(rank):
                square += pull[c] * pull[c]
                along += pull[c] * vectors[i, c]
            length = math.sqrt(square)
            if length > 0.0:
                gained += (length + along) / 2  # Σ w(1 − ⟨v_i, v_j⟩)/2 over the edges at i, after and before
                for c in range(rank):
                    vectors[i, c] = -pull[c] / length
        if not gained > enough:
            return sweep + 1
    return sweeps
