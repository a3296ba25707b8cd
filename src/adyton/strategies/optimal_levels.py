"""Which levels of a binary tree to measure, and how precisely: the best choice for a workload, in closed form.

Let H_j sum the blocks of 2^j cells. All the H_jᵀH_j are diagonal in the Haar basis: H_jᵀH_j has the value 2^j on what
is constant on the blocks of 2^j cells, and 0 on the rest. So measuring level j with weight w_j (noise of scale
Σw/(ε·w_j)) determines each Haar coefficient between the levels l and l + 1 with precision λ_l = Σ_{j≤l} w_j²·2^j, and

    total squared error = 2·(Σw)²/ε² · Σ_l T_l/λ_l,

where T_l is the part of the trace of WᵀW that lies between the levels l and l + 1. (Li et al., "Optimizing linear
counting queries under differential privacy", PODS 2010, for this one family of strategies.)
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.queries import Prefix, Queries
from adyton.queries.block_tree import BlockTree
from adyton.solving.energies import held_energies
from adyton.strategies.level_weights import LevelWeights
from adyton.whole import halvings, whole

_NOTHING = 1e-12
"""Levels below which less than this part of the energy lies need not be told apart."""
_STEPS, _LAST_STEPS, _FINALISTS, _CLOSE = 8, 300, 8, 1e-13
"""Steps for every set of levels, further ones for this many of the best, until an error falls by less than this part.

Near an optimum a step takes the error nine tenths of the way; slow are only sets with a level too many."""
_LEAST = 1e-3
"""Levels of less weight than this are left out."""


@lru_cache(maxsize=64)
def _prefix_energy(cells: int) -> tuple[float, ...]:
    held = []
    for level in range(halvings(cells) + 1):
        size = 1 << level
        blocks, rest = divmod(cells, size)
        inside = blocks * (size + 1) * (2 * size + 1) / 6  # Σ_{k≤B} k²/B for the prefixes that end in a block of B
        after = size * (blocks * cells - size * (blocks * (blocks + 1) // 2))  # B for each prefix that ends after it
        held.append(inside + after + (rest + 1) * (2 * rest + 1) / 6 * (rest > 0))
    return tuple(max(0.0, own - above) for own, above in itertools.pairwise([*held, 0.0]))


def prefix_energy(cells: int) -> Reals:
    """T_l of all prefix sums of this many cells.

    >>> prefix_energy(2)
    array([0.5, 2.5])
    """
    return np.array(_prefix_energy(whole(cells, "cells", 1)))


@lru_cache(maxsize=16)
def level_energy_of(workload: Queries) -> tuple[float, ...]:
    """T_l of any workload on one dimension.

    >>> level_energy_of(Prefix(2))
    (0.5, 2.5)
    """
    if isinstance(workload, Prefix):
        return _prefix_energy(workload.cells)
    held = held_energies(workload, BlockTree.of_halves(workload.cells))
    return tuple(np.maximum(0.0, held - np.append(held[1:], 0.0)).tolist())


def squared_error(levels: LevelWeights, level_energy: npt.ArrayLike) -> float:
    """The total squared error Σ_q E(ŷ_q − y_q)² of least squares at ε = 1; divide by ε² for others.

    >>> thirds = LevelWeights((1, 16, 256), (1 / 3, 1 / 3, 1 / 3))
    >>> round(math.sqrt(squared_error(thirds, prefix_energy(4096)) / 4096), 2)
    14.91
    """
    energy = np.asarray(level_energy, dtype=np.float64)
    own = np.zeros(energy.size)
    for size, weight in zip(levels.block_sizes, levels.weights, strict=True):
        own[size.bit_length() - 1] = weight**2 * size
    precision = np.cumsum(own)
    asked = energy > _NOTHING * energy.sum()
    if (precision[asked] == 0).any():
        return math.inf
    return float(2 * math.fsum(levels.weights) ** 2 * (energy[asked] / precision[asked]).sum())


def optimal_levels(cells: int, level_energy: npt.ArrayLike, most: int = 5) -> LevelWeights:
    """The levels, at most *most*, and weights with the least total squared error for a workload of these energies.

    There are many local optima, so all sets of levels are tried at once. For a set, with G_i the energy between a
    measured level and the next, 1/λ_i ≤ Σ_k (p_k²/(w_k²·2^k)) with p_k the part that level k has in λ_i now; the bound
    touches at the present weights and is least where w_k³ ∝ w_k⁴·2^k·Σ_{i≥k} G_i/λ_i². Each step thus lowers the error.

    >>> best = optimal_levels(4096, prefix_energy(4096))
    >>> best.block_sizes, [round(weight, 3) for weight in best.weights]
    ((1, 16, 128, 1024), [0.311, 0.222, 0.218, 0.249])
    """
    energy = np.asarray(level_energy, dtype=np.float64).reshape(-1)
    height = halvings(cells)
    if energy.size != height + 1 or not np.isfinite(energy).all() or (energy < 0).any():
        raise BadInput(f"level_energy must be {height + 1} finite numbers of at least 0, one per level of the tree.")
    return _optimal_levels(tuple(energy.tolist()), whole(most, "most", 1))


@lru_cache(maxsize=64)
def _optimal_levels(given: tuple[float, ...], most: int) -> LevelWeights:
    energy = np.array(given)
    if not energy.any():
        return LevelWeights((1,), (1.0,))
    energy = energy / energy.sum()
    finest = int(np.argmax(energy > _NOTHING))
    above = range(finest + 1, energy.size)
    best = min(
        (_best_of_size(energy, finest, above, size) for size in range(1, min(most, len(above) + 1) + 1)),
        key=lambda found: found[0],
    )
    kept = best[2] >= _LEAST
    weights = best[2][kept] / best[2][kept].sum()
    return LevelWeights(tuple((1 << best[1][kept]).tolist()), tuple(weights.tolist()))


def _best_of_size(energy: Reals, finest: int, above: range, size: int) -> tuple[float, npt.NDArray[np.int64], Reals]:
    """The least error, the levels and the weights over all sets of this many levels that hold the finest."""
    chosen = np.array([(finest, *others) for others in itertools.combinations(above, size - 1)], dtype=np.int64).T
    reach = np.concatenate([[0.0], np.cumsum(energy)])
    ends = np.concatenate([chosen[1:], np.full((1, chosen.shape[1]), energy.size)])
    groups = reach[ends] - reach[chosen]  # the energy between each measured level and the next
    weights = np.full(chosen.shape, 1.0 / size)
    sizes = np.exp2(chosen.astype(np.float64))
    errors, weights = _descend(groups, sizes, weights, _STEPS)
    first = np.argsort(errors)[:_FINALISTS]
    errors, weights = _descend(groups[:, first], sizes[:, first], weights[:, first], _LAST_STEPS)
    winner = int(np.argmin(errors))
    return float(errors[winner]), chosen[:, first[winner]], weights[:, winner]


def _descend(groups: Reals, sizes: Reals, weights: Reals, steps: int) -> tuple[Reals, Reals]:
    """Lower the errors of many sets of levels (columns) together."""
    errors = np.full(weights.shape[1], math.inf)
    for _ in range(steps):
        precision = np.cumsum(np.square(weights) * sizes, axis=0)
        ratios = groups / precision
        before, errors = errors, ratios.sum(axis=0)  # with Σw = 1
        if (before - errors <= _CLOSE * errors).all():
            break
        pull = np.cumsum((ratios / precision)[::-1], axis=0)[::-1]  # Σ_{i≥k} G_i/λ_i²
        weights = np.cbrt(np.square(np.square(weights)) * sizes * pull)
        weights /= weights.sum(axis=0)
    return errors, weights
