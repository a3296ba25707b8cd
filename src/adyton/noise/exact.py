"""Exact noise from a cryptographic generator: what every private answer uses."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.arrays import Flags, Integers, Places
from adyton.exact import Rational, positive
from adyton.noise.bits import WORD_BITS, Bounds, Refine, fresh_tape, toss, uniform_array
from adyton.noise.laplace import WORDS_PER_DRAW, laplace_compiled, laplace_in_python
from adyton.noise.selection import (
    TapeDraws,
    permute_and_flip,
    permute_and_flip_compiled,
    permute_and_flip_rows,
    whole_gaps,
)
from adyton.noise.source import Scale, Size, read_gamma, read_scales, read_scores, read_size
from adyton.whole import IntegerArray, whole


class ExactNoise:
    """Draws with exactly the stated probabilities, from AES-256-CTR keyed anew by the operating system for each call.

    No floating-point number takes part between the arguments and the result. There is no state, hence nothing to
    seed, to lock or to copy into a forked process; all instances are alike.
    """

    private = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Integers with P(z) proportional to exp(-|z| / scale); the scales broadcast to *size* from the right."""
        shape = read_size(size)
        scales = read_scales(scale, shape)
        count = math.prod(shape)
        if not count:
            return np.empty(shape, dtype=np.int64)
        draw = laplace_compiled if compiled_pays(count) else laplace_in_python
        return draw(fresh_tape(WORDS_PER_DRAW * count), count, scales).reshape(shape)

    def uniform_integers(self, size: Size, bound: int) -> IntegerArray:
        """Integers that take each value of 0 … bound - 1 with the same probability."""
        shape, bound = read_size(size), whole(bound, "bound", 1)
        count = math.prod(shape)
        tape = fresh_tape(2 * count * (1 + bound.bit_length() // WORD_BITS))
        return uniform_array(tape, count, bound).reshape(shape)

    def uniform_integer(self, bound: int) -> int:
        """One of 0 … bound - 1, each with the same probability."""
        return TapeDraws(fresh_tape(1)).uniform_integer(whole(bound, "bound", 1))

    def bernoulli_exp(self, gamma: Rational) -> bool:
        """True with probability exp(-gamma), for gamma at least 0."""
        return TapeDraws(fresh_tape(1)).bernoulli_exp(read_gamma(gamma))

    def coins(self, lower: Bounds, upper: Bounds, refine: Refine) -> Flags:
        """Coins with real probabilities lower/2⁶² ≤ p ≤ upper/2⁶²; refine(i, digits) has more of the i-th."""
        return toss(fresh_tape(lower.size), lower, upper, refine)

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """The index of a large score: candidates in random order, the first to pass exp(sharpness·(score - max))."""
        given, sharpness = read_scores(scores), positive(sharpness, "sharpness", computed=True)
        tape = fresh_tape(WORDS_PER_DRAW * len(given))
        if compiled_pays(len(given)):
            machine = whole_gaps(given, sharpness)
            if machine is not None:
                return permute_and_flip_compiled(tape, *machine)
        return permute_and_flip(TapeDraws(tape), given, sharpness)

    def permute_and_flips(self, scores: IntegerArray, allowed: Flags, sharpness: Rational) -> Places:
        """For every row of scores an independent choice among the columns that are allowed there; −1 if none is."""
        sharpness, count = positive(sharpness, "sharpness", computed=True), int(allowed.sum())
        tape = fresh_tape(WORDS_PER_DRAW * count)
        return permute_and_flip_rows(tape, scores, allowed, sharpness, fast=compiled_pays(count))

    def exponential_choices(self, count: int, multiplicities: Integers, gaps: Integers, rate: Rational) -> Places:
        """*count* independent choices of j with probability ∝ multiplicities[j]·exp(−rate·gaps[j])."""
        from adyton.noise.exponential import ExponentialWeights, exponential_choices

        weights = ExponentialWeights(multiplicities, gaps, positive(rate, "rate", computed=True))
        return exponential_choices(fresh_tape(4 * count), count, weights)


DRAWS_BEFORE_NUMBA = 50_000
DRAWS_BEFORE_COMPILING = 5_000
"""So many draws in Python, 10 µs each, take as long as to load Numba, or only the samplers where it is loaded."""

SMALLEST_COMPILED_SAMPLE = 4
"""Below this, preparing arrays for a compiled sampler takes longer than to draw in Python."""

_drawn_in_python = 0


def compiled_pays(draws: int) -> bool:
    """Whether to draw this many numbers with the compiled sampler. Only sizes decide, and sizes are public.

    A single noisy count never waits for a compiler; a program that draws little at a time, but often, gets it in the
    end.
    """
    global _drawn_in_python
    if draws < SMALLEST_COMPILED_SAMPLE:
        return False
    most = DRAWS_BEFORE_COMPILING if "numba" in sys.modules else DRAWS_BEFORE_NUMBA
    if _drawn_in_python <= most:
        _drawn_in_python += draws
    return _drawn_in_python > most
