"""Exact noise from a cryptographic generator, for every private answer.

Choices are made by permute-and-flip (McKenna and Sheldon, "Permute-and-Flip: a new mechanism for differentially private
selection", NeurIPS 2020). Take the candidates in random order; the first whose coin, with P(heads) =
exp(sharpness·(score - largest score)), shows heads is chosen. A candidate with the largest score is always accepted, so
the choice ends. Its expected error is never above that of the exponential mechanism with the same guarantee: ε-DP with
sharpness = ε/(2Δ), or ε/Δ for scores that all move in the same direction. The order is drawn as needed: the next
candidate is uniform among those not tried yet.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from adyton.arrays import Flags, Integers, Places
from adyton.compiling import compiled
from adyton.exact import Rational, positive
from adyton.noise.bits import (
    WORD_BITS,
    Bounds,
    Refine,
    Tape,
    Words,
    fresh_tape,
    toss,
    uniform_array,
    uniform_integer,
)
from adyton.noise.laplace import (
    DENOMINATOR_LIMIT,
    DONE,
    NUMERATOR_LIMIT,
    RESTARTS,
    SHORT,
    WORDS_PER_DRAW,
    Exponential,
    floor_times,
    laplace_compiled,
    laplace_in_python,
)
from adyton.noise.source import Scale, Size, read_gamma, read_scales, read_scores, read_size
from adyton.whole import IntegerArray, whole


class ExactNoise:
    """Draws with exactly the stated probabilities, from AES-256-CTR with a new key from the system for each call.

    No floating-point arithmetic is used between the arguments and the result. There is no state, hence nothing to seed,
    to lock or to copy into a forked process; all instances are equivalent.
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
        """Integers that take each value of 0 … bound - 1 with the same probability; the bound may be of any size."""
        shape, bound = read_size(size), whole(bound, "bound", 1)
        count = math.prod(shape)
        tape = fresh_tape(2 * count * (1 + bound.bit_length() // WORD_BITS))
        return uniform_array(tape, count, bound).reshape(shape)

    def bernoulli_exp(self, gamma: Rational) -> bool:
        """True with probability exp(-gamma), exactly, for a rational gamma of at least 0."""
        return TapeDraws(fresh_tape(1)).bernoulli_exp(read_gamma(gamma))

    def coins(self, lower: Bounds, upper: Bounds, refine: Refine) -> Flags:
        """Coins with real probabilities lower/2⁶² ≤ p ≤ upper/2⁶²; refine(i, digits) refines the i-th."""
        return toss(fresh_tape(lower.size), lower, upper, refine)

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """The index of a large score: of the candidates in random order, the first accepted by its coin."""
        given, sharpness = read_scores(scores), positive(sharpness, "sharpness", computed=True)
        return _choice(fresh_tape(WORDS_PER_DRAW * len(given)), given, sharpness, compiled_pays(len(given)))

    def permute_and_flips(self, scores: IntegerArray, allowed: Flags, sharpness: Rational) -> Places:
        """For every row of scores, an independent choice among its allowed columns; −1 if no column is allowed."""
        sharpness, count = positive(sharpness, "sharpness", computed=True), int(allowed.sum())
        tape, fast = fresh_tape(WORDS_PER_DRAW * count), compiled_pays(count)
        chosen = np.full(len(scores), -1, dtype=np.int64)
        for row in np.flatnonzero(allowed.any(axis=1)).tolist():
            among = np.flatnonzero(allowed[row])
            chosen[row] = among[_choice(tape, read_scores(scores[row, among]), sharpness, fast)]
        return chosen

    def exponential_choices(self, count: int, multiplicities: Integers, gaps: Integers, rate: Rational) -> Places:
        """*count* independent choices of j with probability ∝ multiplicities[j]·exp(−rate·gaps[j])."""
        from adyton.noise.exponential import ExponentialWeights, exponential_choices  # only configuration needs it

        weights = ExponentialWeights(multiplicities, gaps, positive(rate, "rate", computed=True))
        return exponential_choices(fresh_tape(4 * count), count, weights)


DRAWS_BEFORE_NUMBA = 50_000
DRAWS_BEFORE_COMPILING = 5_000
"""The numbers of draws in Python, 10 µs each, that take as long as loading Numba, or, if loaded, only the samplers."""

SMALLEST_COMPILED_SAMPLE = 4
"""Below this, preparing arrays for a compiled sampler takes longer than drawing in Python."""

_drawn_in_python = 0


def compiled_pays(draws: int) -> bool:
    """Whether to draw this many numbers with the compiled sampler. This depends only on sizes, which are public.

    A single noisy count never waits for a compiler; a program with many small draws eventually uses it.
    """
    global _drawn_in_python
    if draws < SMALLEST_COMPILED_SAMPLE:
        return False
    most = DRAWS_BEFORE_COMPILING if "numba" in sys.modules else DRAWS_BEFORE_NUMBA
    if _drawn_in_python <= most:
        _drawn_in_python += draws
    return _drawn_in_python > most


def _choice(tape: Tape, scores: list[int | Fraction] | IntegerArray, sharpness: Fraction, fast: bool) -> int:
    machine = whole_gaps(scores, sharpness) if fast else None
    if machine is None:
        return permute_and_flip(TapeDraws(tape), scores, sharpness)
    return permute_and_flip_compiled(tape, *machine)


class Draws(Protocol):
    """The two kinds of draws in a selection. An auditor's source can enumerate them and replay every branch."""

    def uniform_integer(self, bound: int) -> int:
        """One of 0 … bound - 1, each with the same probability."""

    def bernoulli_exp(self, gamma: Fraction) -> bool:
        """True with probability exp(-gamma)."""


def permute_and_flip(source: Draws, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
    """The index of the chosen candidate, drawn with ``uniform_integer`` and ``bernoulli_exp`` of *source*."""
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
        """True with probability e^(-gamma) = P(E ≥ gamma) for an exponential E; gamma = 0 uses no randomness."""
        return not gamma or Exponential(self.tape).at_least(gamma.numerator, gamma.denominator)


def whole_gaps(scores: list[int | Fraction] | IntegerArray, sharpness: Fraction) -> tuple[Integers, Fraction] | None:
    """The gap of each score to the largest, as machine integers, and the sharpness per unit; None if they do not fit.

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
    """The same choice as that of :func:`permute_and_flip` on the same tape, by the compiled sampler.

    A flip that it cannot decide is made in Python, from the same words.
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

    ``order[:remaining]`` has the candidates that have not been tried. A candidate is accepted with probability
    e^(-gap·denominator/numerator), that is if ⌊E·numerator/denominator⌋ ≥ gap.
    """
    while True:
        after = position
        place = np.int64(0)
        if remaining > 1:
            mask = np.uint64(remaining - 1)
            for shift in (1, 2, 4, 8, 16, 32):
                mask |= mask >> np.uint64(shift)
            while True:  # uniform without modulo bias: cut to the bits of remaining - 1, reject larger values
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
