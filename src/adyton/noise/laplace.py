"""The discrete Laplace distribution, P(z) ∝ e^(-|z|/s) on the integers, drawn exactly for a rational scale s.

With E exponential, |z| = ⌊s·E⌋ is geometric with ratio a = e^(-1/s). Give it the sign of a fair coin, and draw again
when zero comes with a minus: z > 0 and -z then have the weight a^z/2 each, and 0 has 1/2, which is a^|z| up to a
constant.  ∎
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Integers
from adyton.compiling import compiled
from adyton.noise.bits import Tape, Words
from adyton.noise.exponential import (
    DENOMINATOR_LIMIT,
    DONE,
    NUMERATOR_LIMIT,
    RESTARTS,
    SHORT,
    UNSETTLED,
    ZERO,
    Exponential,
    floor_times,
)
from adyton.noise.scales import Scales
from adyton.whole import IntegerArray, whole_array

WORDS_PER_DRAW = 4
"""About 3.4 words for an exponential on average."""


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
    """Geometric numbers, P(k) = (1 - a)·a^k for k ≥ 0 with a = e^(-1/s), from discrete Laplace ones of the scale s.

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

    A draw that it does not settle is drawn in Python from the same words. The limits change the speed, never a result.
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
            status, value, coin, after = floor_times(words, after, numerator, denominator, restarts)
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
