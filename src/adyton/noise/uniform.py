"""Uniform integers below any bound, without the bias of a remainder.

Cut a uniform word to the bits of bound - 1 and refuse it if it is not below the bound (at most every second one is
refused). What is accepted is uniform, because all values of that many bits are equally likely and no value is refused
in part.
"""

from __future__ import annotations

import numpy as np

from adyton.noise.bits import WORD_BITS, Tape
from adyton.whole import IntegerArray


def uniform_integer(tape: Tape, bound: int) -> int:
    """One of 0 … bound - 1; a bound of 1 takes no randomness."""
    bits = (bound - 1).bit_length()
    while True:
        value = tape.integer(bits)
        if value < bound:
            return value


def uniform_array(tape: Tape, count: int, bound: int) -> IntegerArray:
    """*count* integers in 0 … bound - 1: int64 for bounds up to 2^63, Python integers above."""
    bits = (bound - 1).bit_length()
    if bits == WORD_BITS:
        return _words_below(tape, count, bound).astype(object)
    if bits < WORD_BITS:
        return _words_below(tape, count, bound).astype(np.int64)
    array = np.empty(count, dtype=object)
    array[:] = [uniform_integer(tape, bound) for _ in range(count)]
    return array


def _words_below(tape: Tape, count: int, bound: int) -> IntegerArray:
    output = np.zeros(count, dtype=np.uint64)
    if bound == 1:
        return output
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    filled = 0
    while filled < count:
        if tape.position >= tape.words.size:
            tape.lengthen()
        values = tape.words[tape.position :] & mask
        accepted = np.flatnonzero(values <= np.uint64(bound - 1))[: count - filled]
        output[filled : filled + accepted.size] = values[accepted]
        filled += accepted.size
        tape.position = tape.words.size if filled < count else tape.position + int(accepted[-1]) + 1
    return output
