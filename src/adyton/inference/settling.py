"""Keeping a noisy count where nothing better is known: what helps when every cell is judged by itself."""

from __future__ import annotations

import numpy as np

from adyton.inference.intensities import Reals

STEADINESS = 4.0
"""What a unit of absolute error counts beside squared error, in units of 1/ε."""


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
