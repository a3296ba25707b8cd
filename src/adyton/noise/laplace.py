"""Exact noise: the exponential variable, and the discrete Laplace variable made from it.

The discrete Laplace distribution is P(z) ∝ e^(-|z|/s) on the integers, drawn exactly for a rational scale s. With E
exponential, |z| = ⌊s·E⌋ is geometric with ratio a = e^(-1/s). Give it the sign of a fair coin, and draw again if zero
gets a minus sign: z > 0 and -z then have the weight a^z/2 each, and 0 has 1/2, which is a^|z| up to a constant.  ∎

E itself is drawn by von Neumann's method (1951), on real numbers whose binary digits are drawn as needed, as in Karney,
"Sampling exactly from the normal distribution" (2016). It uses no arithmetic and no constant, only comparisons of
uniform numbers:

    Draw U₁ and challengers U₂, U₃, … while U₁ > U₂ > U₃ > ….  Given U₁ = u, the run has at least k members with
    probability u^(k-1)/(k-1)!, so its length is odd with probability 1 - u + u²/2! - … = e^(-u). Accept U₁ if it is
    odd; else start again. A start fails with probability 1 - ∫e^(-u)du = 1/e, independently of the others. The number
    of failures V is geometric with ratio 1/e, the accepted U has density ∝ e^(-u) on [0, 1), and so E = V + U has
    density e^(-x) on [0, ∞).  ∎

From E it follows exactly, for rational s and γ: ⌊s·E⌋ is geometric, P(⌊s·E⌋ ≥ k) = P(E ≥ k/s) = e^(-k/s); and E ≥ γ has
probability e^(-γ). A comparison with E uses the digits known so far if they decide it, and draws more digits otherwise.

How words become numbers: a candidate U₁ takes a word, 63 bits for its first digits and the lowest bit for an
independent coin; each later word holds the first 32 digits of two challengers, upper half first. So the length of the
run is odd exactly when the challenger that breaks it is an upper half.

The compiled loops, here and in ``exact``, are shortcuts for the Python code: from the same words they compute the same
draws, in 64-bit integers. If 64 bits do not decide a draw, they return to *its first word*, and the Python code draws
that element from the same words. The result is the same function of the same stream, so its distribution does not
depend on the limits of the compiled loops (``NUMERATOR_LIMIT`` and others), and a test can lower them to check this.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from adyton.arrays import Integers
from adyton.compiling import compiled
from adyton.noise.bits import WORD_BITS, Tape, Words
from adyton.noise.source import Scales
from adyton.whole import IntegerArray, whole_array

CANDIDATE_BITS = 63
CHALLENGER_BITS = 32
_LOWER_HALF = (1 << CHALLENGER_BITS) - 1

DONE, SHORT, UNSETTLED = 0, 1, 2
"""The status of a compiled loop: all drawn; the words ran out during a draw; 64 bits do not decide this draw."""

NUMERATOR_LIMIT = 1 << 57
DENOMINATOR_LIMIT = 1 << 63
RESTARTS = 32
"""The limits of the compiled loops: E < 33 and numerator < 2^57, so E·numerator < 2^63. Lower limits work as well."""

ZERO, ONE = np.uint64(0), np.uint64(1)
_HALF_WORD = np.uint64(CHALLENGER_BITS)
_LOWER_MASK = np.uint64(_LOWER_HALF)
_NOTHING = np.int64(0)

MOST_BITS = 56
"""Rates with a numerator or denominator above 2⁵⁶ are rounded down to a grid, whose step is at least 2⁻⁵⁶."""
_DIGITS = 36
_FINE = 1 << 12
"""A rate is rounded only if it is at least this many steps of the grid: it then loses less than 1/4096 of itself."""

WORDS_PER_DRAW = 4
"""An exponential takes about 3.4 words on average."""


def laplace_integer(tape: Tape, numerator: int, denominator: int) -> int:
    """One draw with scale numerator / denominator, in Python integers."""
    while True:
        exponential = Exponential(tape)
        magnitude = exponential.floor_times(numerator, denominator)
        if magnitude or not exponential.coin:
            return -magnitude if exponential.coin else magnitude


def laplace_in_python(tape: Tape, count: int, scales: Scales) -> IntegerArray:
    """*count* draws without Numba: for small samples, and as the reference."""
    return whole_array([laplace_integer(tape, *scales.pair(element)) for element in range(count)], (count,))


def geometric(draws: IntegerArray) -> IntegerArray:
    """Geometric numbers, P(k) = (1 - a)·a^k for k ≥ 0 with a = e^(-1/s), from discrete Laplace draws of scale s.

    A draw z stands for itself, or for -z - 1 if it is negative: P(k) = (1 - a)/(1 + a)·(a^k + a^(k+1)) = (1 - a)·a^k.
    Their mean is 1/(e^(1/s) - 1), which lies between s - 1/2 and s.

    >>> geometric(np.array([-3, -1, 0, 2])).tolist()
    [2, 0, 0, 2]
    """
    return np.where(draws < 0, ~draws, draws)


def laplace_compiled(
    tape: Tape,
    count: int,
    scales: Scales,
    *,
    numerator_limit: int = NUMERATOR_LIMIT,
    denominator_limit: int = DENOMINATOR_LIMIT,
    restarts: int = RESTARTS,
) -> IntegerArray:
    """*count* draws, equal to those of :func:`laplace_in_python` on the same tape, by the compiled sampler.

    A draw that it cannot decide is drawn in Python from the same words. The limits change the speed, never a result.
    """
    numerators, denominators = scales.within(numerator_limit, denominator_limit)
    output = np.empty(count, dtype=np.int64)
    large: dict[int, int] = {}
    element = 0
    while True:
        status, element, tape.position = draw_from_words(
            tape.words, tape.position, output, element, numerators, denominators, restarts
        )
        if status == DONE:
            break
        if status == SHORT:
            tape.lengthen()
            continue
        value = laplace_integer(tape, *scales.pair(element))
        if -(1 << 63) <= value < 1 << 63:
            output[element] = value
        else:
            large[element] = value
        element += 1
    if not large:
        return output
    boxed = output.astype(object)
    for place, value in large.items():
        boxed[place] = value
    return boxed


@compiled
def draw_from_words(
    words: Words,
    position: int,
    output: Integers,
    element: int,
    numerators: Integers,
    denominators: Integers,
    restarts: int,
) -> tuple[int, int, int]:
    """Fill *output* from *element* on: (status, the element it stopped at, the position of that element's first word).

    The scales repeat with their own length; a numerator of 0 stands for a scale that does not fit and is never drawn
    here.
    """
    period = numerators.size
    index = element % period
    for here in range(element, output.size):
        numerator, denominator = np.uint64(numerators[index]), np.uint64(denominators[index])
        if numerator == ZERO:
            return UNSETTLED, here, position
        after = position
        while True:
            status, value, coin, after = floor_times(words, after, numerator, denominator, restarts)
            if status != DONE:
                return status, here, position
            if value != 0 or not coin:  # zero must count once: draw again after -0
                break
        output[here] = -value if coin else value
        position = after
        index += 1
        if index == period:
            index = 0
    return DONE, output.size, position


class Uniform:
    """A uniform real number in [0, 1) whose first *bits* binary digits are known."""

    __slots__ = ("bits", "digits")

    def __init__(self, digits: int, bits: int) -> None:
        self.digits = digits
        self.bits = bits

    def extend(self, tape: Tape) -> None:
        """Draw 64 more digits."""
        self.digits = self.digits << WORD_BITS | tape.word()
        self.bits += WORD_BITS

    def below(self, other: Uniform, tape: Tape) -> bool:
        """Whether this number is less than the other; digits are drawn until they differ."""
        while True:
            shared = min(self.bits, other.bits)
            mine, theirs = self.digits >> self.bits - shared, other.digits >> other.bits - shared
            if mine != theirs:
                return mine < theirs
            for number in (self, other):
                if number.bits == shared:
                    number.extend(tape)


class Exponential:
    """One draw E = whole + fraction of the unit exponential, with an independent fair coin."""

    __slots__ = ("_fraction", "_tape", "_whole", "coin")

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._whole = 0
        while True:
            word = tape.word()
            self.coin = bool(word & 1)
            self._fraction = Uniform(word >> 1, CANDIDATE_BITS)
            if _odd_run(self._fraction, tape):
                return
            self._whole += 1

    def floor_times(self, numerator: int, denominator: int) -> int:
        """⌊E · numerator / denominator⌋."""
        while True:
            first, bits = self._prefix()
            # first/2^bits ≤ E < (first + 1)/2^bits
            lowest = first * numerator // (denominator << bits)
            highest = ((first + 1) * numerator - 1) // (denominator << bits)
            if lowest == highest:
                return lowest
            self._fraction.extend(self._tape)

    def at_least(self, numerator: int, denominator: int) -> bool:
        """Whether E ≥ numerator / denominator."""
        while True:
            first, bits = self._prefix()
            threshold = numerator << bits
            if first * denominator >= threshold:
                return True
            if (first + 1) * denominator <= threshold:
                return False
            self._fraction.extend(self._tape)

    def _prefix(self) -> tuple[int, int]:
        fraction = self._fraction
        return (self._whole << fraction.bits) + fraction.digits, fraction.bits


def _odd_run(first: Uniform, tape: Tape) -> bool:
    """Whether the decreasing run that starts with *first* has an odd number of members."""
    last = first
    while True:
        word = tape.word()
        upper = Uniform(word >> CHALLENGER_BITS, CHALLENGER_BITS)
        if not upper.below(last, tape):
            return True
        lower = Uniform(word & _LOWER_HALF, CHALLENGER_BITS)
        if not lower.below(upper, tape):
            return False
        last = lower


@compiled
def upper_word(first: np.uint64, second: np.uint64) -> np.uint64:
    """⌊first · second / 2^64⌋, computed by halves."""
    a, b = first >> _HALF_WORD, first & _LOWER_MASK
    c, d = second >> _HALF_WORD, second & _LOWER_MASK
    middle = a * d + ((b * d) >> _HALF_WORD)  # ≤ (2^32 - 1)² + 2^32 - 1 < 2^64
    return a * c + (middle >> _HALF_WORD) + (((middle & _LOWER_MASK) + b * c) >> _HALF_WORD)


@compiled
def odd_run_in_words(words: Words, position: int, last: np.uint64) -> tuple[int, bool, int]:
    """Whether the decreasing run from *last* on has an odd number of members: (status, answer, position after it)."""
    while True:
        if position >= words.size:
            return SHORT, False, position
        word = words[position]
        position += 1
        upper, lower = word >> _HALF_WORD, word & _LOWER_MASK
        if upper > last:
            return DONE, True, position
        if upper in (last, lower):
            return UNSETTLED, False, position
        if lower > upper:
            return DONE, False, position
        last = lower


@compiled
def floor_times(
    words: Words, position: int, numerator: np.uint64, denominator: np.uint64, restarts: int
) -> tuple[int, np.int64, bool, int]:
    """⌊E · numerator / denominator⌋ for an exponential E: (status, value, coin, position after it).

    UNSETTLED means: two uniforms agree in their first 32 digits; or the digits after the 63rd could carry the product
    over to the next multiple of the denominator; or there were too many restarts (the product could exceed 64 bits).
    """
    whole = 0
    candidate = ZERO
    accepted = False
    while not accepted:
        if position >= words.size:
            return SHORT, _NOTHING, False, position
        candidate = words[position]
        status, accepted, position = odd_run_in_words(words, position + 1, candidate >> _HALF_WORD)
        if status != DONE:
            return status, _NOTHING, False, position
        if not accepted:
            whole += 1
            if whole > restarts:
                return UNSETTLED, _NOTHING, False, position
    digits = candidate & ~ONE  # the fraction of E lies in [digits/2^64, (digits + 2)/2^64): 63 digits, then the coin
    product = np.uint64(whole) * numerator + upper_word(numerator, digits)  # ⌊E·numerator⌋, or one less than it
    settled = digits * numerator <= ZERO - (numerator << ONE)  # remainder (mod 2^64) + 2·numerator ≤ 2^64: no carry
    if denominator == ONE:
        value = product
    else:
        value = product // denominator
        settled = settled or (product + ONE) % denominator != ZERO
    return DONE if settled else UNSETTLED, np.int64(value), bool(candidate & ONE), position


def machine_rate(rate: Fraction) -> Fraction:
    """The rate itself if its numbers are short, else the rate rounded down to about 37 binary digits.

    A rate that is too small or too large for that is left unchanged: noise is then drawn in Python integers. A lower
    rate means more noise, so that whatever is private at the given rate is private at this rate.

    >>> machine_rate(Fraction(1, 3)), machine_rate(Fraction(10**30, 3 * 10**30 + 1))
    (Fraction(1, 3), Fraction(91625968981, 274877906944))
    """
    if max(rate.numerator, rate.denominator) <= 1 << MOST_BITS:
        return rate
    bits = _DIGITS - (rate.numerator.bit_length() - rate.denominator.bit_length())
    bits = max(0, min(bits, MOST_BITS))
    steps = (rate.numerator << bits) // rate.denominator
    return Fraction(steps, 1 << bits) if _FINE <= steps <= 1 << MOST_BITS else rate


def is_long(rate: Fraction) -> bool:
    """Whether draws at this rate need Python integers.

    >>> is_long(Fraction(1, 3)), is_long(Fraction(1, 1 << 90))
    (False, True)
    """
    return max(rate.numerator, rate.denominator) > 1 << MOST_BITS
