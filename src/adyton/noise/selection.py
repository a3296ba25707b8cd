"""Private choices in exact arithmetic: permute-and-flip, and the exponential mechanism.

*Permute-and-flip.*  McKenna and Sheldon, "Permute-and-Flip: a new mechanism for differentially private selection",
NeurIPS 2020. Take the candidates in random order; the first that passes a coin with P(heads) = exp(sharpness·(score -
largest score)) is chosen. One with the largest score passes for certain, so the choice ends. Its expected error is
never above that of the exponential mechanism with the same guarantee: ε-DP with sharpness = ε/(2Δ), or ε/Δ for scores
that all move in the same direction. The order is drawn as it is needed: the next candidate is uniform among those that
have not been tried.

*The exponential mechanism* among many candidates: number j with probability ∝ m_j·e^{−rate·gap_j}. ``m_j`` says how
many outcomes candidate j stands for, ``gap_j`` how far its score is below the best. Sums of exponentials are never
computed. A candidate is proposed with probability ∝ W_j, a whole number that is at least m_j·2^shift·e^{−rate·gap_j}
and hardly more, and accepted by a coin with P(heads) = m_j·2^shift·e^{−rate·gap_j} / W_j; else another is proposed. So
j is proposed *and* accepted with probability ∝ m_j·e^{−rate·gap_j}, and nearly every proposal is accepted: all but
about 2⁻³⁹ of them, and fewer than (candidates)·2⁻⁶⁰ more. The coin is tossed lazily (:func:`adyton.noise.bits.toss`):
only the proposed candidate ever needs more digits than a double has.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals
from adyton.compiling import compiled
from adyton.exact import Rational, positive
from adyton.noise.bits import COIN_BITS, Bounds, Tape, Words, toss, uniform_array, uniform_integer
from adyton.noise.laplace import (
    DENOMINATOR_LIMIT,
    DONE,
    NUMERATOR_LIMIT,
    RESTARTS,
    SHORT,
    Exponential,
    floor_times,
)
from adyton.noise.source import Draws, read_scores
from adyton.whole import IntegerArray


def permute_and_flip(source: Draws, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
    """The index of the chosen candidate; the randomness is ``uniform_integer`` and ``bernoulli_exp`` of *source*."""
    given = read_scores(scores)
    sharpness = positive(sharpness, "sharpness", computed=True)
    exact_scores = given.tolist() if isinstance(given, np.ndarray) else given
    best = max(exact_scores)
    untried = list(range(len(exact_scores)))
    while True:
        place = source.uniform_integer(len(untried))
        candidate = untried[place]
        if source.bernoulli_exp(sharpness * (best - exact_scores[candidate])):
            return candidate
        untried[place] = untried[-1]
        untried.pop()


class TapeDraws:
    """Uniform integers and exponential coins from one tape."""

    __slots__ = ("tape",)

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def uniform_integer(self, bound: int) -> int:
        """One of 0 … bound - 1."""
        return uniform_integer(self.tape, bound)

    def bernoulli_exp(self, gamma: Fraction) -> bool:
        """True with probability e^(-gamma) = P(E ≥ gamma) for an exponential E; gamma = 0 takes no randomness."""
        return not gamma or Exponential(self.tape).at_least(gamma.numerator, gamma.denominator)


def whole_gaps(scores: list[int | Fraction] | IntegerArray, sharpness: Fraction) -> tuple[Integers, Fraction] | None:
    """How far each score is below the largest, as machine integers, and the sharpness per unit; None if that fails.

    Fractions are brought to their common denominator: sharpness·gap = (sharpness/common)·(gap·common).
    """
    if isinstance(scores, np.ndarray):
        if int(scores.max()) - int(scores.min()) >= 1 << 63:
            return None
        wide = scores.astype(np.uint64 if scores.dtype.kind == "u" else np.int64)
        gaps = (wide.max() - wide).astype(np.int64)
    else:
        common = math.lcm(*(score.denominator for score in scores))
        best = max(scores)
        exact_gaps = [int((best - score) * common) for score in scores]
        if max(exact_gaps) >= 1 << 63:
            return None
        gaps = np.array(exact_gaps, dtype=np.int64)
        sharpness /= common
    fits = sharpness.denominator < NUMERATOR_LIMIT and sharpness.numerator < DENOMINATOR_LIMIT
    return (gaps, sharpness) if fits else None


def permute_and_flip_compiled(tape: Tape, gaps: Integers, sharpness: Fraction, *, restarts: int = RESTARTS) -> int:
    """The same choice as :func:`permute_and_flip` makes on the same tape, by the compiled sampler.

    A flip that it does not settle is made in Python, from the same words.
    """
    order = np.arange(gaps.size, dtype=np.int64)
    untried = gaps.size
    draws = TapeDraws(tape)
    # a coin with P(heads) = e^(-gap·sharpness) is ⌊E/sharpness⌋ ≥ gap
    numerator, denominator = np.uint64(sharpness.denominator), np.uint64(sharpness.numerator)
    while True:
        status, candidate, untried, tape.position = flip_from_words(
            tape.words, tape.position, gaps, order, untried, numerator, denominator, restarts
        )
        if status == DONE:
            return int(candidate)
        if status == SHORT:
            tape.lengthen()
            continue
        place = draws.uniform_integer(untried)
        candidate = int(order[place])
        if draws.bernoulli_exp(sharpness * int(gaps[candidate])):
            return candidate
        untried -= 1
        order[place] = order[untried]


def permute_and_flip_rows(
    tape: Tape, scores: IntegerArray, allowed: Flags, sharpness: Fraction, *, fast: bool
) -> Places:
    """For every row of scores a choice among the columns that are allowed there, all from one tape; −1 if none is."""
    chosen = np.full(len(scores), -1, dtype=np.int64)
    for row in np.flatnonzero(allowed.any(axis=1)).tolist():
        among = np.flatnonzero(allowed[row])
        given = read_scores(scores[row, among])
        machine = whole_gaps(given, sharpness) if fast else None
        if machine is not None:
            chosen[row] = among[permute_and_flip_compiled(tape, *machine)]
        else:
            chosen[row] = among[permute_and_flip(TapeDraws(tape), given, sharpness)]
    return chosen


@compiled
def flip_from_words(
    words: Words,
    position: int,
    gaps: Integers,
    order: Integers,
    remaining: int,
    numerator: np.uint64,
    denominator: np.uint64,
    restarts: int,
) -> tuple[int, int, int, int]:
    """Permute-and-flip: (status, the chosen candidate or -1, candidates remaining, position).

    ``order[:remaining]`` holds the candidates that have not been tried. A candidate passes with probability
    e^(-gap·denominator/numerator), that is if ⌊E·numerator/denominator⌋ ≥ gap.
    """
    while True:
        after = position
        place = np.int64(0)
        if remaining > 1:
            mask = np.uint64(remaining - 1)
            for shift in (1, 2, 4, 8, 16, 32):
                mask |= mask >> np.uint64(shift)
            while True:  # uniform without modulo bias: cut to the bits of remaining - 1, refuse what is too large
                if after >= words.size:
                    return SHORT, -1, remaining, position
                place = np.int64(words[after] & mask)
                after += 1
                if place < remaining:
                    break
        candidate = order[place]
        if gaps[candidate] == 0:
            return DONE, candidate, remaining, after
        status, value, _, after = floor_times(words, after, numerator, denominator, restarts)
        if status != DONE:
            return status, -1, remaining, position
        if value >= gaps[candidate]:
            return DONE, candidate, remaining, after
        remaining -= 1
        order[place] = order[remaining]
        position = after


_TOTAL_BITS = 61
_LARGEST_RATE = 1e300
_LARGEST_EXPONENT = 700.0
"""e⁻⁷⁰⁰·2⁶¹ is far below 2⁻⁶²; from here on doubles become imprecise."""
_LESS = 1 - 2.0**-48
_MORE = 1 + 2.0**-40
"""How much exponents are lowered and weights raised: more than the errors of doubles and of an exponential."""
_SPARE_DIGITS = 45


class ExponentialWeights:
    """The weights m_j·2^shift·e^{−rate·gap_j} of candidates, and whole numbers W_j above them that add up to less than
    2⁶². The m_j are whole numbers from 1, the gaps from 0."""

    def __init__(self, multiplicities: Integers, gaps: Integers, rate: Fraction) -> None:
        self._multiplicities, self._gaps, self._rate = multiplicities, gaps, rate
        self._shift = max(0, _TOTAL_BITS - int(multiplicities.sum()).bit_length())
        self._exponents = gaps * min(float(rate), _LARGEST_RATE)
        raised = np.exp(-self._exponents * _LESS) * _MORE * np.ldexp(multiplicities.astype(np.float64), self._shift)
        self.bounds = raised.astype(np.int64) + 1  # at least 1, also where the exponential has become 0
        self.sums = np.cumsum(self.bounds)

    def probabilities(self) -> Reals:
        """Of every candidate, in double precision."""
        weights = self._multiplicities * np.exp(-self._exponents)
        return np.asarray(weights / weights.sum())

    def coin_bounds(self, chosen: Places) -> tuple[Bounds, Bounds]:
        """Bounds in steps of 2⁻⁶² on the probability that each proposed candidate is accepted."""
        exponents = self._exponents[chosen]
        error = 2.0**-44 + exponents * 2.0**-50  # of the exponential, and of its argument
        shares = np.ldexp(self._multiplicities[chosen].astype(np.float64), self._shift) / self.bounds[chosen]
        middle = np.where(exponents < _LARGEST_EXPONENT, np.exp(-exponents), 0.0) * shares
        steps = 2.0**COIN_BITS
        lower = np.maximum(np.floor(np.minimum(middle * (1 - error), 1.0) * steps) - 1024, 0)
        upper = np.minimum(np.ceil(np.minimum(middle * (1 + error), 1.0) * steps) + 1024, steps)
        return lower.astype(np.int64), upper.astype(np.int64)

    def refine(self, candidate: int, digits: int) -> tuple[Decimal, Decimal]:
        """The weights of accepting and of refusing a candidate, each with a relative error below 10^(−digits)."""
        context = decimal.Context(prec=digits + _SPARE_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
        heads = context.multiply(
            Decimal(int(self._multiplicities[candidate]) << self._shift), self._power(candidate, context)
        )
        return heads, context.subtract(Decimal(int(self.bounds[candidate])), heads)

    def exactly(self, digits: int) -> list[Decimal]:
        """m_j·e^{−rate·gap_j} of every candidate, with a relative error below 10^(−digits): for auditors."""
        context = decimal.Context(prec=digits + _SPARE_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
        counts = self._multiplicities.tolist()
        return [context.multiply(Decimal(count), self._power(j, context)) for j, count in enumerate(counts)]

    def _power(self, candidate: int, context: decimal.Context) -> Decimal:
        exponent = self._rate * int(self._gaps[candidate])
        return context.exp(context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))


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
