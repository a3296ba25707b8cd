"""Coins whose probability is a real number that can only be enclosed: heads with probability p exactly.

A uniform number U in [0, 1) is below p with probability p. Its binary digits and the digits of p are looked at only as
far as it takes to tell: first 62 of them, with bounds that the caller has computed for many coins at once; where those
leave it open, more digits of U are drawn and the caller is asked for p to more digits. No rounding enters the outcome.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

import numpy as np

from adyton.arrays import Flags, Integers
from adyton.noise.bits import WORD_BITS, Tape
from adyton.noise.uniform import uniform_array

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
    """How many decimal digits of two weights enclose their shares to this many bits."""
    return math.ceil(bits * math.log10(2)) + _SPARE_DIGITS


def enclose(heads: Decimal, tails: Decimal, bits: int) -> tuple[int, int]:
    """Whole numbers with lower/2^bits ≤ heads/(heads + tails) ≤ upper/2^bits, for weights of enough digits.

    >>> enclose(Decimal(1), Decimal(2), 10)  # 2^10/3 is 341.3
    (340, 343)
    """
    context = decimal.Context(prec=decimals(bits), Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    share = context.divide(heads, context.add(heads, tails))
    middle = int(context.multiply(share, Decimal(1 << bits)))
    return max(0, middle - 1), min(1 << bits, middle + 2)
