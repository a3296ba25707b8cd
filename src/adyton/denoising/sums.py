"""Sums of denoised cells, moved towards what was measured: totals, margins and blocks of a histogram.

A posterior mean is shrunk towards what cells have in common. That is right for one cell, but what is removed adds up
over many, whose sum is also known from their noisy counts. So for each family of groups of cells (the places of an
axis, blocks of the longest axis, phases of a period, all cells) the sums of the noisy counts are compared with those of
the denoised cells, which are moved towards the former as far as the distances in the family show more than noise.

This is post-processing of answers that are already private. The families follow from the domain alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Places, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.whole import as_shape

SCALES = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8])
"""By how much sums of denoised cells may be wrong, relative to the sums of what is unsure in them (:func:`_unsure`)."""
LIKELY = np.exp(-0.5 * np.square(np.log(SCALES / 0.12) / 1.2))
"""How likely each of them is, relative to each other."""
RATIOS = np.array([0.1, 0.3, 1.0, 3.0, 10.0])
"""Or by how much, as variances relative to those of the noisy sums: equally likely, for groups of equal rank only."""
RIGHT, TOTAL_RIGHT, NO_RHYTHM = 0.2, 0.02, 0.8
"""The chance that all sums of a family are right: the total hardly is; on several axes, most periods are no rhythm."""
SHARED, LEAST_NOISE = 1.1, 1e-3
"""How much of a cell's noise is also in the denoised cell, relative to what is unsure; and the least part that is not.
Found on public data, like the other constants."""
MOST_REMOVED = 0.95
"""Cells lose rows in proportion to what is unsure in them, up to this part of it; a group that loses more is scaled."""
PARTS, FEWEST = (2, 4, 8, 16), 4
"""The numbers of blocks into which the longest axis is cut, and the fewest places of a block."""
PERIODS, ROUNDS = (7, 12, 24, 168), 3
"""After how many places a rhythm may repeat (days, months and hours do), and the fewest times that it must."""
_NO_NOISE = 1e-9
_TOGETHER = 1 << 20
"""How many cells are processed at a time."""


def with_sums(estimate: npt.ArrayLike, noisy: npt.ArrayLike, variance: float, domain: tuple[int, ...]) -> Reals:
    """Denoised counts, of which the sums over many cells are moved towards the sums of the noisy counts.

    Every cell was measured, with noise of the given *variance* v. The last axis has the cells of *domain* in row-major
    order; leading axes are independent trials.

    Let R_B be the noisy sum of group B minus its denoised sum, U_B the sum of what is unsure in its n_B cells, and
    N_B = n_B·v − SHARED·U_B the variance of the noise in R_B. The denoised sums of a family are either right or wrong
    by N(0, P_B), where P_B is (τ·U_B)² for one of SCALES or κ·n_B·v for one of RATIOS, the same for all its groups.
    The likelihoods of R_B ~ N(0, P_B + N_B) give the chances of these, and each sum moves by the posterior mean of its
    error, E[P_B/(P_B + N_B)]·R_B (empirical Bayes: Efron and Morris, "Data analysis using Stein's estimator and its
    generalizations", 1975). A group's gain or loss is divided among its cells so that exact counts hardly change and
    none becomes negative.

    >>> moved = with_sums(np.full(100, 5.0), np.full(100, 7.0), 8.0, (100,))
    >>> float(moved.sum().round())
    696.0
    """
    shape = as_shape(domain)
    cells, measured = np.asarray(estimate, dtype=np.float64), np.asarray(noisy, dtype=np.float64)
    if cells.shape != measured.shape or cells.shape[-1:] != (math.prod(shape),):
        raise BadInput(
            f"estimate and noisy must have the {math.prod(shape)} cells of the domain {shape} in their last axis, "
            f"given arrays of shapes {cells.shape} and {measured.shape}."
        )
    moved, targets = np.maximum(cells, 0.0).reshape(-1, *shape), measured.reshape(-1, *shape)
    some = max(1, _TOGETHER // math.prod(shape))
    if variance > _NO_NOISE:
        for trials in (slice(start, start + some) for start in range(0, len(moved), some)):
            moved[trials] = _moved(moved[trials], targets[trials], variance)
    return moved.reshape(cells.shape)


def _moved(cells: Reals, measured: Reals, variance: float) -> Reals:
    """The cells after the sums of all families were moved, one family after the other; the first axis are trials.

    The total is estimated from the cells as they were and as they are after the moves; the mean of the two is used.
    """
    *families, everything = _families(cells.shape[1:])
    total = everything.sums(cells) + _errors(cells, measured, variance, everything)
    for family in families:
        cells = _divided(cells, _errors(cells, measured, variance, family), variance, family)
    shift = (total - everything.sums(cells) + _errors(cells, measured, variance, everything)) / 2
    return _divided(cells, shift, variance, everything)


@dataclass(frozen=True, eq=False)
class _Family:
    """Groups of cells: those whose places have the same numbers along every axis, numbered from 0."""

    numbers: tuple[Places, ...]
    right: float = RIGHT
    """The chance that all sums are right."""
    ranked: bool = False
    """Whether the groups are of equal rank, as the places of an axis are."""
    phases: bool = False
    """Whether the groups are the phases of a period: a rhythm multiplies, and puts no rows where none are known of."""

    @cached_property
    def sizes(self) -> Reals:
        """The number of cells of each group, with an axis for trials."""
        return self.sums(np.ones((1, *(axis.size for axis in self.numbers))))

    @cached_property
    def _steps(self) -> list[tuple[Places, Places]]:
        """For each axis, its places in the order of their numbers, and where each number begins."""
        orders = [np.argsort(axis, kind="stable") for axis in self.numbers]
        return [
            (order, np.searchsorted(axis[order], np.arange(axis.max() + 1)))
            for order, axis in zip(orders, self.numbers, strict=True)
        ]

    def sums(self, values: Reals) -> Reals:
        """The sums over the groups; the first axis of *values* are trials."""
        for place, (order, starts) in enumerate(self._steps, 1):
            if starts.size == 1:
                values = values.sum(axis=place, keepdims=True)
            elif starts.size < order.size:
                values = np.add.reduceat(
                    np.take(values, order, axis=place) if self.phases else values, starts, axis=place
                )
        return values

    def spread(self, values: Array) -> Array:
        """The value of its group for each cell; along axes that have one group, one value stands for all."""
        for place, axis in enumerate(self.numbers, 1):
            if axis.any():
                values = np.take(values, axis, axis=place)
        return values


@lru_cache(maxsize=64)
def _families(shape: tuple[int, ...]) -> tuple[_Family, ...]:
    """The families in order: places of axes and of pairs of axes, blocks, phases, places of axes once more, all cells.

    What comes later is estimated best, so the sums over most cells come last.
    """
    one, own = [np.zeros(side, dtype=np.int64) for side in shape], [np.arange(side) for side in shape]

    def kept(axes: tuple[int, ...]) -> tuple[Places, ...]:
        return tuple(own[axis] if axis in axes else one[axis] for axis in range(len(shape)))

    margins = [_Family(kept(axes), ranked=True) for axes in combinations(range(len(shape)), 1) if len(shape) > 1]
    pairs = [_Family(kept(axes), ranked=True) for axes in combinations(range(len(shape)), 2) if len(shape) > 2]
    longest = int(np.argmax(shape))
    cuts = [own[longest] * parts // shape[longest] for parts in PARTS if shape[longest] >= FEWEST * parts]
    blocks = [
        _Family((*others[:longest], cut, *others[longest + 1 :]))
        for others in ([one, own] if len(shape) > 1 else [one])
        for cut in cuts
    ]
    phases = [
        _phases(shape, axis, period) for axis, side in enumerate(shape) for period in PERIODS if side >= ROUNDS * period
    ]
    return (*margins, *pairs, *blocks, *phases, *margins, _Family(tuple(one), right=TOTAL_RIGHT))


def _phases(shape: tuple[int, ...], along: int, period: int) -> _Family:
    """The phases of a period along an axis: places that are whole periods apart."""
    axes = [
        np.arange(side) % period if axis == along else np.zeros(side, dtype=np.int64) for axis, side in enumerate(shape)
    ]
    return _Family(tuple(axes), right=NO_RHYTHM if len(shape) > 1 else RIGHT, phases=True)


def _unsure(cells: Reals, variance: float) -> Reals:
    """The variance of a cell's count x given a noisy count of this variance, if x ~ N(e, e): e·v/(e + v)."""
    return cells * variance / (cells + variance)


def _errors(cells: Reals, measured: Reals, variance: float, family: _Family) -> Reals:
    """The posterior means of the errors of a family's sums."""
    sizes = family.sizes * variance
    room, apart = family.sums(_unsure(cells, variance)), family.sums(measured - cells)
    noise = np.maximum(sizes - SHARED * room, LEAST_NOISE * sizes)
    squares, axes = np.square(apart), tuple(range(1, apart.ndim))
    ratios = RATIOS if family.ranked and sizes.size > 2 else RATIOS[:0]
    wrong = [np.square(scale * room) for scale in SCALES] + [ratio * sizes for ratio in ratios]
    prior = np.concatenate([LIKELY / LIKELY.sum(), np.full(len(ratios), 1 / max(1, len(ratios)))])
    prior = np.concatenate([[family.right], (1 - family.right) * prior / prior.sum()])
    logs = [-0.5 * (np.log(noise + each) + squares / (noise + each)).sum(axis=axes) for each in (0.0, *wrong)]
    odds = np.stack(logs) + np.log(prior)[:, None]
    chances = np.exp(odds - odds.max(axis=0))
    chances /= chances.sum(axis=0)
    weights = np.zeros_like(apart)
    for chance, each in zip(chances[1:], wrong, strict=True):
        weights += np.expand_dims(chance, axes) * (each / (noise + each))
    return weights * apart


def _divided(cells: Reals, shift: Reals, variance: float, family: _Family) -> Reals:
    """The cells after each group gained or lost so many rows."""
    share = _unsure(cells, variance)
    if not family.phases:  # gains also go where no rows are known of
        share = np.where(family.spread(shift > 0), _unsure(cells + math.sqrt(variance), variance), share)
    part = shift / np.maximum(family.sums(share), 1e-300)
    scaled = np.maximum(1 + shift / np.maximum(family.sums(cells), 1e-300), 0.0)
    kept = cells + family.spread(part) * share
    return np.where(family.spread(part < -MOST_REMOVED), cells * family.spread(scaled), kept)
