"""Private choices in exact arithmetic: permute-and-flip.

McKenna and Sheldon, "Permute-and-Flip: a new mechanism for differentially private selection",
NeurIPS 2020. Take the candidates in random order; the first that passes a coin with P(heads) = exp(sharpness·(score -
largest score)) is chosen. One with the largest score passes for certain, so the choice ends. Its expected error is
never above that of the exponential mechanism with the same guarantee: ε-DP with sharpness = ε/(2Δ), or ε/Δ for scores
that all move in the same direction. The order is drawn as it is needed: the next candidate is uniform among those that
have not been tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.arrays import Flags, Integers, Places
from adyton.compiling import compiled
from adyton.exact import Rational, positive
from adyton.noise.bits import Tape, Words, uniform_integer
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
