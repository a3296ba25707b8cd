"""The exponential mechanism among many candidates, in exact arithmetic.

Candidate j is chosen with probability ∝ m_j·e^{−rate·gap_j}: m_j is the number of outcomes that it stands for, gap_j
the distance of its score from the best. Sums of exponentials are never computed. A candidate is proposed with
probability ∝ W_j, a whole number that is at least m_j·2^shift·e^{−rate·gap_j} and hardly more, and accepted by a coin
with P(heads) = m_j·2^shift·e^{−rate·gap_j} / W_j; otherwise another is proposed. So j is proposed *and* accepted with
probability ∝ m_j·e^{−rate·gap_j}, and nearly every proposal is accepted: all but about 2⁻³⁹ of them, and fewer than
(candidates)·2⁻⁶⁰ more. The coin is tossed lazily (:func:`adyton.noise.bits.toss`): only the proposed candidate ever
needs more digits than a double has.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np

from adyton.arrays import Integers, Places, Reals
from adyton.noise.bits import COIN_BITS, Bounds, Tape, long_decimals, negative_power, toss, uniform_array

_TOTAL_BITS = 61
_LARGEST_RATE = 1e300
_LARGEST_EXPONENT = 700.0
"""e⁻⁷⁰⁰·2⁶¹ is far below 2⁻⁶²; from here on doubles become imprecise."""
_LESS = 1 - 2.0**-48
_MORE = 1 + 2.0**-40
"""The factors that lower exponents and raise weights, by more than the errors of doubles and of an exponential."""
_SPARE_DIGITS = 45


class ExponentialWeights:
    """The weights m_j·2^shift·e^{−rate·gap_j} of candidates, and whole numbers W_j above them that add up to less than
    2⁶². The m_j are whole numbers from 1, the gaps from 0."""

    def __init__(self, multiplicities: Integers, gaps: Integers, rate: Fraction) -> None:
        self._multiplicities, self._gaps, self._rate = multiplicities, gaps, rate
        self._shift = max(0, _TOTAL_BITS - int(multiplicities.sum()).bit_length())
        self._exponents = gaps * min(float(rate), _LARGEST_RATE)
        raised = np.exp(-self._exponents * _LESS) * _MORE * np.ldexp(multiplicities.astype(np.float64), self._shift)
        self.bounds = raised.astype(np.int64) + 1  # at least 1, even if the exponential underflows to 0
        self.sums = np.cumsum(self.bounds)

    def probabilities(self) -> Reals:
        """The probability of every candidate, in double precision."""
        weights = self._multiplicities * np.exp(-self._exponents)
        return np.asarray(weights / weights.sum())

    def coin_bounds(self, chosen: Places) -> tuple[Bounds, Bounds]:
        """Bounds in steps of 2⁻⁶² on the probability that each proposed candidate is accepted."""
        exponents = self._exponents[chosen]
        error = 2.0**-44 + exponents * 2.0**-50  # the error of the exponential, and of its argument
        shares = np.ldexp(self._multiplicities[chosen].astype(np.float64), self._shift) / self.bounds[chosen]
        middle = np.where(exponents < _LARGEST_EXPONENT, np.exp(-exponents), 0.0) * shares
        steps = 2.0**COIN_BITS
        lower = np.maximum(np.floor(np.minimum(middle * (1 - error), 1.0) * steps) - 1024, 0)
        upper = np.minimum(np.ceil(np.minimum(middle * (1 + error), 1.0) * steps) + 1024, steps)
        return lower.astype(np.int64), upper.astype(np.int64)

    def refine(self, candidate: int, digits: int) -> tuple[Decimal, Decimal]:
        """The weights of accepting and of refusing a candidate, each with a relative error below 10^(−digits)."""
        context = long_decimals(digits + _SPARE_DIGITS)
        weight = Decimal(int(self._multiplicities[candidate]) << self._shift)
        heads = context.multiply(weight, self._power(candidate, context))
        return heads, context.subtract(Decimal(int(self.bounds[candidate])), heads)

    def exactly(self, digits: int) -> list[Decimal]:
        """m_j·e^{−rate·gap_j} of every candidate, with a relative error below 10^(−digits): for auditors."""
        context = long_decimals(digits + _SPARE_DIGITS)
        counts = self._multiplicities.tolist()
        return [context.multiply(Decimal(count), self._power(j, context)) for j, count in enumerate(counts)]

    def _power(self, candidate: int, context: decimal.Context) -> Decimal:
        return negative_power(self._rate * int(self._gaps[candidate]), context)


def exponential_choices(tape: Tape, count: int, weights: ExponentialWeights) -> Places:
    """*count* independent choices."""
    chosen = np.empty(count, dtype=np.int64)
    left = np.arange(count)
    while left.size:
        proposals = uniform_array(tape, left.size, int(weights.sums[-1]))
        proposed = np.searchsorted(weights.sums, proposals, "right")
        accepted = toss(tape, *weights.coin_bounds(proposed), partial(_refined, weights, proposed))
        chosen[left[accepted]] = proposed[accepted]
        left = left[~accepted]
    return chosen


def _refined(weights: ExponentialWeights, proposed: Places, coin: int, digits: int) -> tuple[Decimal, Decimal]:
    return weights.refine(int(proposed[coin]), digits)
