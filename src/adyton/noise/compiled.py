"""The exact samplers, compiled. Imported only when a large sample is asked for: Numba takes half a second to load.

Each kernel is a shortcut through the Python code in ``exponential``, ``laplace`` and ``selection``: from the same
words it computes the same draws, in 64-bit integers. Where 64 bits do not settle a draw, it gives the draw back *from
its first word*, and the Python code draws that one element from those words. The result is the same function of the
same stream, so its distribution is the same whatever the limits are, and a test can lower them to watch it happen.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Integers
from adyton.compiling import compiled
from adyton.noise.bits import Words

DONE, SHORT, UNSETTLED = 0, 1, 2
"""All drawn; the words ran out in mid-draw; 64 bits do not settle this draw."""

ONE = np.uint64(1)
HALF = np.uint64(32)
LOWER_HALF = np.uint64(0xFFFF_FFFF)
ZERO = np.uint64(0)
NOTHING = np.int64(0)


@compiled
def upper_word(first: np.uint64, second: np.uint64) -> np.uint64:
    """⌊first · second / 2^64⌋, by halves."""
    a, b = first >> HALF, first & LOWER_HALF
    c, d = second >> HALF, second & LOWER_HALF
    middle = a * d + ((b * d) >> HALF)  # ≤ (2^32 - 1)² + 2^32 - 1 < 2^64
    return a * c + (middle >> HALF) + (((middle & LOWER_HALF) + b * c) >> HALF)


@compiled
def odd_run(words: Words, position: int, last: np.uint64) -> tuple[int, bool, int]:
    """Whether the falling run from *last* on has an odd number of members: (status, answer, position after it)."""
    while True:
        if position >= words.size:
            return SHORT, False, position
        word = words[position]
        position += 1
        upper, lower = word >> HALF, word & LOWER_HALF
        if upper > last:
            return DONE, True, position
        if upper in (last, lower):
            return UNSETTLED, False, position
        if lower > upper:
            return DONE, False, position
        last = lower


@compiled
def geometric(
    words: Words, position: int, numerator: np.uint64, denominator: np.uint64, restarts: int
) -> tuple[int, np.int64, bool, int]:
    """⌊E · numerator / denominator⌋ for an exponential E: (status, value, coin, position after it).

    Unsettled: two uniforms that agree in their first 32 digits; a product that the digits after the 63rd could carry
    over to the next multiple of the denominator; more than *restarts* restarts (the product could pass 64 bits).
    """
    whole = 0
    candidate = ZERO
    accepted = False
    while not accepted:
        if position >= words.size:
            return SHORT, NOTHING, False, position
        candidate = words[position]
        status, accepted, position = odd_run(words, position + 1, candidate >> HALF)
        if status != DONE:
            return status, NOTHING, False, position
        if not accepted:
            whole += 1
            if whole > restarts:
                return UNSETTLED, NOTHING, False, position
    digits = candidate & ~ONE  # the fraction of E lies in [digits/2^64, (digits + 2)/2^64): 63 digits, then the coin
    product = np.uint64(whole) * numerator + upper_word(numerator, digits)  # ⌊E·numerator⌋, or one less than it
    settled = digits * numerator <= ZERO - (numerator << ONE)  # remainder + 2·numerator ≤ 2^64: nothing to carry
    if denominator == ONE:
        value = product
    else:
        value = product // denominator
        settled = settled or (product + ONE) % denominator != ZERO
    return DONE if settled else UNSETTLED, np.int64(value), bool(candidate & ONE), position


@compiled
def draw_laplace(
    words: Words,
    position: int,
    output: Integers,
    element: int,
    numerators: Integers,
    denominators: Integers,
    restarts: int,
) -> tuple[int, int, int]:
    """Fill *output* from *element* on: (status, the element it stopped at, the position of that element's first word).

    The scales repeat with their own length; a numerator of 0 stands for a scale that does not fit and is never
    settled here.
    """
    period = numerators.size
    index = element % period
    for here in range(element, output.size):
        numerator, denominator = np.uint64(numerators[index]), np.uint64(denominators[index])
        if numerator == ZERO:
            return UNSETTLED, here, position
        after = position
        while True:
            status, value, coin, after = geometric(words, after, numerator, denominator, restarts)
            if status != DONE:
                return status, here, position
            if value != 0 or not coin:  # zero has one sign: of +0 and -0, draw -0 again
                break
        output[here] = -value if coin else value
        position = after
        index += 1
        if index == period:
            index = 0
    return DONE, output.size, position


@compiled
def flip_in_turn(
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
        place = NOTHING
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
        status, value, _, after = geometric(words, after, numerator, denominator, restarts)
        if status != DONE:
            return status, -1, remaining, position
        if value >= gaps[candidate]:
            return DONE, candidate, remaining, after
        remaining -= 1
        order[place] = order[remaining]
        position = after
