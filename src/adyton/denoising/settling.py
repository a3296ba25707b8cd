"""Keeping a noisy count where nothing better is known: what helps when every cell is judged by itself."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Reals

STEADINESS = 4.0
"""What a unit of absolute error counts beside squared error, in units of 1/ε."""
ENOUGH_CELLS = 128
"""So many cells, times ε, show what counts are like. Fewer tell less than they seem to."""


def settled(noisy: Reals, means: Reals, lean: Reals, same: Reals, epsilon: float) -> Reals:
    """The posterior means, but the measured counts y⁺ = max(y, 0) themselves where those are the better guess.

    Discrete Laplace noise leaves a count as it is with a chance of tanh(ε/2), 46% at ε = 1. A posterior mean is nearly
    never that whole number: it has the least squared error, and on detailed data a larger absolute error than no
    estimator at all. So the guess a for which E(x − a)² + 2τ·E|x − a| is least, with τ = STEADINESS/ε, is looked for:
    its slope changes sign at a = y⁺ if and only if |E[x] − y⁺ + τ·(P(x > y⁺) − P(x < y⁺))| ≤ τ·P(x = y⁺). There, y⁺ is
    kept; elsewhere the mean is. *lean* is P(x > y⁺) − P(x < y⁺) and *same* is P(x = y⁺), a posteriori.

    Sums of many settled cells are biased by a little: for queries about single cells only.
    """
    steadiness, kept = STEADINESS / epsilon, np.maximum(noisy, 0)
    slope = means - kept + steadiness * lean
    return np.asarray(np.where(np.abs(slope) <= steadiness * same, kept, means))


def cautious(noisy: Reals, denoised: Reals, epsilon: float) -> Reals:
    """A mean of what noise was taken out of and of the measured counts y⁺ themselves: the fewer the cells, the nearer
    to the latter.

    What a few cells show of the distribution of counts is mostly chance. At ε = 1 and on at most 64 cells, taking noise
    out gained nothing on average over public tables and lost up to 30% on single ones; at smaller ε it gains on fewer.

    >>> cautious(np.array([8.0, -1.0]), np.array([4.0, 0.0]), 1 / 64)
    array([4., 0.])
    >>> cautious(np.array([8.0, -1.0]), np.array([4.0, 0.0]), 1 / 32)
    array([6., 0.])
    """
    weight = min(1.0, denoised.shape[-1] / (ENOUGH_CELLS * epsilon))
    return np.asarray(weight * denoised + (1 - weight) * np.maximum(noisy, 0))
