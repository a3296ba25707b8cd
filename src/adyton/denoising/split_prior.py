"""How a count splits into two parts: a prior that learns from the noisy counts themselves.

A whole of n rows sends l to the left and n - l to the right with the beta-binomial probability

    p_a(l | n) = C(n, l)·B(l + a, n - l + a) / B(a, a),

the law of a binomial split whose odds were drawn from Beta(a, a). Small a puts nearly all on one side (empty halves are
the rule in real maps), large a splits evenly. The prior mixes five such laws, with weights for each level of the tree
and each power of two of n (Pólya trees; Lavine, "Some aspects of Polya tree distributions for statistical modelling",
Annals of Statistics 1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals

Table = npt.NDArray[np.float32]

SPREADS = (1e-5, 0.03, 0.3, 2.0, 30.0)
START = (0.25, 0.15, 0.2, 0.25, 0.15)
TABLE = 48
"""Splits into two parts that are both smaller than this are tabulated one by one."""
SIZES = 60
"""Powers of two that are told apart,"""
SMALLEST = 6
"""and the first of them that splits with a larger part can have."""
_OWN = 5.0
_SHARED = 5.0
_NEIGHBOURS = 0.5
_LEAST = 1e-4


@dataclass(frozen=True, eq=False)
class Components:
    """The five laws in tables: p(l | l + r) for small l and r, and by size of the whole for one small part."""

    splits: Reals
    """left × right × component, both below ``TABLE``."""
    edges: Reals
    """size × small part × component; in the last place the mean probability of a split into two large parts."""
    sizes: npt.NDArray[np.int64]
    """The power of two below each whole of the first table."""


@lru_cache(maxsize=1)
def components() -> Components:
    """The tables, computed once."""
    small = np.arange(TABLE, dtype=np.float64)
    splits = np.stack([_beta_binomial(small[:, None], small, spread) for spread in SPREADS], axis=-1)
    edges = np.zeros((SIZES, TABLE + 1, len(SPREADS)))
    for size in range(SMALLEST, SIZES):
        whole = 1.5 * 2.0**size
        for number, spread in enumerate(SPREADS):
            near = _beta_binomial(small, np.maximum(whole - small, TABLE), spread)
            inner = max(1e-12, 1 - 2 * near.sum()) / max(whole - 2 * TABLE, 1.0)
            edges[size, :, number] = np.append(near, inner)
    sizes = np.frexp(np.maximum(np.arange(2 * TABLE), 1))[1] - 1
    return Components(np.ascontiguousarray(splits), edges, sizes.astype(np.int64))


def start(levels: int) -> Reals:
    """Weights to begin with: level × size × component."""
    return np.broadcast_to(START, (levels, SIZES, len(START))).copy()


def finer(weights: Reals, halvings: int) -> Reals:
    """The weights that were found on a grid 2^halvings times as coarse."""
    shifted = np.concatenate([np.repeat(weights[:, :1], halvings, axis=1), weights], axis=1)
    return np.ascontiguousarray(shifted[:, :SIZES])


def size_of(counts: Reals) -> npt.NDArray[np.int64]:
    """The power of two below each count, among those that are told apart where one part of a split is large."""
    return np.asarray(np.clip(np.frexp(np.maximum(counts, 1))[1] - 1, SMALLEST, SIZES - 1), dtype=np.int64)


def mixed(weights: Reals) -> tuple[Table, Table]:
    """The prior of each level in the form of :class:`Components`: the laws, mixed with their weights."""
    from adyton.denoising.split_prior_compiled import mix

    laws = components()
    splits = np.empty((len(weights), TABLE, TABLE), dtype=np.float32)
    edges = np.empty((len(weights), SIZES, TABLE + 1), dtype=np.float32)
    mix(weights, laws.splits, laws.edges, laws.sizes, splits, edges)
    return splits, edges


def reweighted(weights: Reals, found: tuple[Table, ...], power: float) -> Reals:
    """New weights from the expected number of splits of each kind: one step of EM.

    Every level borrows from the other levels, and every size from its neighbours. The step from the old weights to the
    new ones is raised to *power*: EM converges below 2, and near 2 twice as fast where the laws resemble each other.
    """
    from adyton.denoising.split_prior_compiled import attribute

    laws = components()
    made = attribute(weights, laws.splits, laws.edges, laws.sizes, *found)
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


def _beta_binomial(left: Reals, right: Reals, spread: float) -> Reals:
    """C(l + r, l)·B(l + a, r + a) / B(a, a), with C(n, l) = 1 / ((n + 1)·B(l + 1, r + 1))."""
    from scipy.special import betaln

    logarithm = (
        betaln(left + spread, right + spread)
        - betaln(spread, spread)
        - betaln(left + 1, right + 1)
        - np.log(left + right + 1)
    )
    return np.asarray(np.exp(logarithm))
