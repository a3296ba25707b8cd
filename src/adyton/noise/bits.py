"""Random bits, uniform integers and coins: the inputs of all exact samplers.

*Bits.*  AES-256 in counter mode with a separate key for every call. Every top-level draw opens a fresh stream keyed by
the operating system's generator. Nothing is shared between calls, so nothing can be repeated: not after a fork, not
between threads, not from one call to the next.

*Uniform integers* below any bound, without modulo bias. Cut a uniform word to the bits of bound - 1 and reject it if it
is not below the bound (with probability at most one half). Accepted values are uniform, because all values of that many
bits are equally likely and each value is either always or never rejected.

*Coins* whose probability is a real number that can only be enclosed: heads with probability p exactly. A uniform number
U in [0, 1) is below p with probability p. The binary digits of U and p are computed only as far as needed to compare
them: first 62 digits, with bounds that the caller has computed for many coins at once; if those do not decide, more
digits of U are drawn and the caller computes p to more digits. No rounding affects the outcome.
"""

from __future__ import annotations

import decimal
import math
import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Flags, Integers
from adyton.whole import IntegerArray

Words: TypeAlias = npt.NDArray[np.uint64]
"""Independent uniform 64-bit words."""

WORD_BITS = 64
SMALLEST_CHUNK = 16
LARGEST_CHUNK = 1 << 14  # 128 KiB: stays in the processor's cache between the cipher and the sampler


def cipher_words(chunk: int) -> Callable[[], Words]:
    """A function that returns the next *chunk* words of a fresh AES-256-CTR stream each time it is called."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    encryptor = Cipher(AES256(os.urandom(32)), CTR(os.urandom(16))).encryptor()
    zeros = bytes(chunk * WORD_BITS // 8)  # the ciphertext of zeros is the key stream itself

    def following() -> Words:
        return np.frombuffer(encryptor.update(zeros), dtype=np.uint64)

    return following


class Tape:
    """A stream of words that is read forwards, one sampler at a time.

    If the buffer is too short, a sampler lengthens it and starts its draw again *from the same words*: the words that
    it has read stay in the buffer. (Discarding them would make long draws rarer than they should be.) So the draws are
    a function of one infinite stream, however it is cut into chunks.
    """

    __slots__ = ("_following", "position", "words")

    def __init__(self, following: Callable[[], Words]) -> None:
        self._following = following
        self.words: Words = np.empty(0, dtype=np.uint64)
        self.position = 0

    def lengthen(self) -> None:
        """Append the next chunk to the unused words."""
        self.words = np.concatenate((self.words[self.position :], self._following()))
        self.position = 0

    def word(self) -> int:
        """The next 64 bits."""
        while self.position >= self.words.size:
            self.lengthen()
        word = int(self.words[self.position])
        self.position += 1
        return word

    def integer(self, bits: int) -> int:
        """A uniform integer of this many bits: whole words, the last cut to its lower bits."""
        value = 0
        for _ in range(bits // WORD_BITS):
            value = value << WORD_BITS | self.word()
        rest = bits % WORD_BITS
        return value << rest | self.word() & ((1 << rest) - 1) if rest else value


def fresh_tape(words: int) -> Tape:
    """A tape on a fresh stream, with chunks for a call that will read about this many words."""
    return Tape(cipher_words(min(max(words, SMALLEST_CHUNK), LARGEST_CHUNK)))


def uniform_integer(tape: Tape, bound: int) -> int:
    """One of 0 … bound - 1; a bound of 1 uses no randomness."""
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


Bounds: TypeAlias = Integers
Refine: TypeAlias = Callable[[int, int], tuple[Decimal, Decimal]]
"""For coin number i, the weights of heads and of tails, each with a relative error below 10^(-digits)."""

COIN_BITS = 62
_SPARE_DIGITS = 5


def toss(tape: Tape, lower: Bounds, upper: Bounds, refine: Refine) -> Flags:
    """One toss of each coin: lower/2⁶² ≤ p ≤ upper/2⁶²."""
    digits = uniform_array(tape, lower.size, 1 << COIN_BITS)
    heads = digits < lower  # U < (digits + 1)/2⁶² ≤ lower/2⁶²
    for coin in np.flatnonzero(~heads & (digits < upper)):
        heads[coin] = _settle(tape, int(digits[coin]), int(coin), refine)
    return heads


def _settle(tape: Tape, digits: int, coin: int, refine: Refine) -> bool:
    bits = COIN_BITS
    while True:
        digits, bits = digits << WORD_BITS | tape.word(), bits + WORD_BITS
        lower, upper = enclose(*refine(coin, decimals(bits)), bits)
        if digits < lower:
            return True
        if digits >= upper:
            return False


def decimals(bits: int) -> int:
    """The number of decimal digits of two weights that enclose their shares to this many bits."""
    return math.ceil(bits * math.log10(2)) + _SPARE_DIGITS


def enclose(heads: Decimal, tails: Decimal, bits: int) -> tuple[int, int]:
    """Whole numbers with lower/2^bits ≤ heads/(heads + tails) ≤ upper/2^bits, for weights of enough digits.

    >>> enclose(Decimal(1), Decimal(2), 10)  # 2^10/3 is 341.3
    (340, 343)
    """
    context = long_decimals(decimals(bits))
    share = context.divide(heads, context.add(heads, tails))
    middle = int(context.multiply(share, Decimal(1 << bits)))
    return max(0, middle - 1), min(1 << bits, middle + 2)


def long_decimals(precision: int) -> decimal.Context:
    """Decimals with this many digits and the largest possible range of exponents."""
    return decimal.Context(prec=precision, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


def negative_power(exponent: Fraction, context: decimal.Context) -> Decimal:
    """e^(−exponent)."""
    return context.exp(context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))
