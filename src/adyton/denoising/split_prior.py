"""How a count splits into two parts: a prior that learns from the noisy counts themselves.

A whole of n rows sends l to the left and n - l to the right with the beta-binomial probability

    p_a(l | n) = C(n, l)·B(l + a, n - l + a) / B(a, a),

the law of a binomial split whose odds were drawn from Beta(a, a). Small a puts nearly all on one side (empty halves are
the rule in real maps), large a splits evenly. The prior mixes five such laws, with weights for each level of the tree
and each power of two of n (Pólya trees; Lavine, "Some aspects of Polya tree distributions for statistical modelling",
Annals of Statistics 1992).
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np

from adyton.arrays import Places, Reals, Singles
from adyton.compiling import compiled

SPREADS = (1e-5, 0.03, 0.3, 2.0, 30.0)
"""The a of the laws."""
START = (0.25, 0.15, 0.2, 0.25, 0.15)
"""The weights that they begin with."""
TABLE = 48
"""Splits into two parts that are both smaller than this are tabulated one by one."""
SIZES = 60
"""Powers of two that are told apart, at most,"""
SMALLEST = 6
"""and the first of them that splits with a larger part can have."""
_LAWS = len(SPREADS)
_SPLITS = TABLE * TABLE
_EDGE = TABLE + 1
_OWN = 5.0
"""Splits' worth of belief in the weights of all levels,"""
_SHARED = 5.0
"""and of those in the weights of all sizes,"""
_NEIGHBOURS = 0.5
"""and what a split counts for the sizes next to its own."""
_LEAST = 1e-4
"""The least weight of a law."""
_FEW = 1e-7
"""Fewer splits than this are none."""


@lru_cache(maxsize=1)
def _laws() -> tuple[Reals, Places]:
    """The laws in a table, with a column for each, and the power of two below the whole of every row.

    It has p(l | l + r) for small l and r; then, for every size of the whole, the same for each small part beside a
    large one, and the mean probability of a split into two large parts. The table is a file, which the test of it can
    make again: to compute it takes the third of a second that SciPy's special functions take to load.
    """
    with (files("adyton.denoising") / "split_laws.npy").open("rb") as file:
        laws = np.load(file, allow_pickle=False)
    small = np.arange(TABLE)
    sizes = np.frexp(np.maximum(small[:, None] + small, 1))[1].reshape(-1) - 1
    return laws, np.concatenate([sizes, np.repeat(np.arange(SMALLEST, SIZES), _EDGE)]).astype(np.int64)


def parts(tables: Reals, sizes: int) -> tuple[Reals, Reals]:
    """The tables of all levels as two arrays: by left and right part, and by size of the whole and small part."""
    rows = tables.reshape(-1, _width(sizes))
    return rows[:, :_SPLITS].reshape(-1, TABLE, TABLE), rows[:, _SPLITS:].reshape(len(rows), -1, _EDGE)


def _width(sizes: int) -> int:
    """How long the table of a level is."""
    return _SPLITS + (sizes - SMALLEST) * _EDGE


def start(levels: int, sizes: int = SIZES) -> Reals:
    """Weights to begin with: level × size × law."""
    return np.broadcast_to(START, (levels, sizes, len(START))).copy()


def finer(weights: Reals, halvings: int, sizes: int) -> Reals:
    """The weights that were found on a grid 2^halvings times as coarse."""
    return np.concatenate([np.repeat(weights[:, :1], halvings, axis=1), weights], axis=1)[:, :sizes]


def size_of(counts: Reals) -> Places:
    """The power of two below each count, among those that are told apart where one part of a split is large."""
    return np.asarray(np.clip(np.frexp(np.maximum(counts, 1))[1] - 1, SMALLEST, SIZES - 1), dtype=np.int64)


def table_places(levels: Places, means: Reals, sizes: int) -> tuple[Places, Places]:
    """Where the splits of nodes stand in the tables of all levels, and those with one large part."""
    tables = levels * _width(sizes)
    return tables, tables + _SPLITS + (size_of(means) - SMALLEST) * _EDGE


def mixed(weights: Reals) -> Singles:
    """The prior: the laws, mixed with the weights, in one table for each level, one after the other."""
    entries = len(weights) * _width(weights.shape[1])
    prior, nothing_found = np.empty(entries, dtype=np.float32), np.zeros(entries, dtype=np.float32)
    _weigh(weights, *_laws(), nothing_found, prior, np.empty_like(weights))
    return prior


def reweighted(weights: Reals, found: Singles, power: float) -> Reals:
    """New weights from the expected number of splits of each kind: one step of EM.

    Every level borrows from the other levels, and every size from its neighbours. The step from the old weights to the
    new ones is raised to *power*: EM converges below 2, and near 2 twice as fast where the laws resemble each other.
    """
    found.reshape(len(weights), -1)[:, [0, 1, TABLE]] = 0  # wholes of 0 and 1 split alike under all laws
    made = np.zeros_like(weights)
    _weigh(weights, *_laws(), found, np.empty_like(found), made)
    if not np.isfinite(made).all():  # likelihoods beyond single precision: nothing was learnt
        return weights
    across = made.sum(axis=0)
    near = across.copy()
    near[1:] += _NEIGHBOURS * across[:-1]
    near[:-1] += _NEIGHBOURS * across[1:]
    everywhere = across.sum(axis=0) + 1.0
    near += _SHARED * everywhere / everywhere.sum()
    pooled = made + _OWN * near / near.sum(axis=-1, keepdims=True)
    pooled /= pooled.sum(axis=-1, keepdims=True)
    stepped = np.maximum(weights * (pooled / weights) ** power, _LEAST)
    return np.asarray(stepped / stepped.sum(axis=-1, keepdims=True))


@compiled
def _weigh(weights: Reals, laws: Reals, sizes: Places, found: Singles, mixed: Singles, made: Reals) -> None:
    """Mix the laws; add to *made* how many of the splits that were found each law has made, by level and size."""
    width = len(found) // len(weights)
    for level in range(len(weights)):
        for place in range(width):
            size, entry, total = sizes[place], level * width + place, 0.0
            for law in range(_LAWS):
                total += weights[level, size, law] * laws[place, law]
            mixed[entry] = total
            if found[entry] > _FEW:
                for law in range(_LAWS):
                    made[level, size, law] += found[entry] * (weights[level, size, law] * laws[place, law]) / total
