"""Noise in double precision: the simulated counterpart of the exact noise, and the variance of noise.

Simulated noise has the same distributions, from a seeded generator: fast, repeatable, not private. :class:`KeyedNoise`
depends on its place in a program, and not on draws elsewhere.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals
from adyton.exact import Rational, positive
from adyton.noise.bits import COIN_BITS, Bounds, Refine, Words
from adyton.noise.exact import whole_gaps
from adyton.noise.exponential import ExponentialWeights
from adyton.noise.source import (
    Ratio,
    Scale,
    Scales,
    Size,
    read_gamma,
    read_ratio,
    read_scales,
    read_scores,
    read_size,
)
from adyton.whole import IntegerArray, whole, whole_array

_LARGEST_MACHINE_SCALE = 2.0**56  # times 45, which a double-precision exponential hardly ever exceeds, is below 2^62
_LARGEST_EXPONENT = Fraction(10**6)  # e^(-10^6) is 0 in double precision
_DIGITS = 53
_STEPS, _FAR, _NARROW = 200, 40, 0.25
"""Of a law on a grid: steps for each standard deviation, deviations on either side, and the least deviation."""
_SIGNS = 1 - 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)
"""For each octet, a sign for each of its bits: multiplying by them is faster than negating selected elements."""


class SimulatedNoise:
    """Noise for experiments on public data. Answers with this noise are not private, and are marked so.

    >>> SimulatedNoise(7).discrete_laplace(5, "2.5").tolist() == SimulatedNoise(7).discrete_laplace(5, "2.5").tolist()
    True
    """

    private = False

    def __init__(self, seed: int | np.random.SeedSequence | None) -> None:
        if not isinstance(seed, np.random.SeedSequence) and seed is not None:
            seed = whole(seed, "seed", 0)
        self._draw_from(np.random.default_rng(seed))

    def _draw_from(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._raw = self._generator.bit_generator.random_raw
        self._left = b""

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Integers with P(z) proportional to exp(-|z| / scale), in double precision; scales broadcast from the right.

        With a = e^(-1/s): P(|z| ≥ k) = 2a^k/(1 + a) = P(E ≥ k/s - c) for c = ln(2/(1 + a)) and k ≥ 1, so that
        |z| = ⌊s·(E + c)⌋ for an exponential E.
        """
        shape = read_size(size)
        scales = read_scales(scale, shape)
        count = math.prod(shape)
        if not count:
            return np.empty(shape, dtype=np.int64)
        if scales.largest_real > _LARGEST_MACHINE_SCALE:
            return self._large_laplace(count, scales).reshape(shape)
        values = self._exponentials((count // len(scales), len(scales)))
        values += scales.shifts
        values *= scales.reals
        values = values.reshape(shape)
        values *= self._signs(count).reshape(shape)
        return values.astype(np.int64)  # rounds towards 0, so the sign can be applied before the floor

    def uniform_integers(self, size: Size, bound: int) -> IntegerArray:
        """Integers that take each value of 0 … bound - 1 with the same probability."""
        shape, bound = read_size(size), whole(bound, "bound", 1)
        if bound <= 1 << 63:
            return self._generator.integers(0, bound - 1, shape, dtype=np.int64, endpoint=True)
        array = np.empty(math.prod(shape), dtype=object)
        array[:] = [self._uniform_integer(bound) for _ in range(array.size)]
        return array.reshape(shape)

    def _uniform_integer(self, bound: int) -> int:
        bits = (bound - 1).bit_length()
        while True:
            value = int.from_bytes(self._octets((bits + 7) // 8)) >> -bits % 8
            if value < bound:
                return value

    def bernoulli_exp(self, gamma: Rational) -> bool:
        """True with probability exp(-gamma), for gamma at least 0."""
        return self._generator.standard_exponential() >= float(min(read_gamma(gamma), _LARGEST_EXPONENT))

    def coins(self, lower: Bounds, upper: Bounds, refine: Refine) -> Flags:
        """Coins with probabilities between lower/2⁶² and upper/2⁶², in double precision."""
        return np.asarray(self._generator.random(lower.size) < (lower / 2 + upper / 2) / 2.0**COIN_BITS)

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """The index of a large score, with the probabilities of permute-and-flip.

        It is the index of the largest sharpness·score + E with exponential noise E (Ding, Kifer et al., "The
        permute-and-flip mechanism is identical to report-noisy-max with exponential noise", 2021), which NumPy draws
        in one call.
        """
        given, exact_sharpness = read_scores(scores), positive(sharpness, "sharpness", computed=True)
        machine = whole_gaps(given, exact_sharpness)
        if machine is not None:
            gaps, unit = machine
            losses = gaps * float(min(unit, Fraction(10) ** 300))
        else:
            exact_scores = given.tolist() if isinstance(given, np.ndarray) else given
            best = max(exact_scores)
            losses = np.array(
                [float(min(exact_sharpness * Fraction(best - score), _LARGEST_EXPONENT)) for score in exact_scores]
            )
        return int(np.argmax(self._generator.standard_exponential(len(given)) - losses))

    def permute_and_flips(self, scores: IntegerArray, allowed: Flags, sharpness: Rational) -> Places:
        """For every row of scores, an independent choice among its allowed columns; −1 if no column is allowed."""
        exact_sharpness = float(min(positive(sharpness, "sharpness", computed=True), _LARGEST_EXPONENT))
        losses = (
            np.where(allowed, scores, scores.min(initial=0)).max(axis=1, keepdims=True) - scores
        ) * exact_sharpness
        races = np.where(allowed, self._exponentials(scores.shape) - losses.astype(np.float64), -np.inf)
        return np.where(allowed.any(axis=1), races.argmax(axis=1), -1)

    def exponential_choices(self, count: int, multiplicities: Integers, gaps: Integers, rate: Rational) -> Places:
        """*count* independent choices of j with probability ∝ multiplicities[j]·exp(−rate·gaps[j])."""
        weights = ExponentialWeights(multiplicities, gaps, positive(rate, "rate", computed=True))
        sums = np.cumsum(weights.probabilities())
        return np.asarray(np.searchsorted(sums, self._generator.random(count) * sums[-1], "right"))

    def _exponentials(self, shape: tuple[int, ...]) -> Reals:
        return self._generator.standard_exponential(shape)

    def _signs(self, count: int) -> Reals:
        octets = np.frombuffer(self._octets((count + 7) // 8), dtype=np.uint8)
        return np.asarray(_SIGNS.take(octets, axis=0).reshape(-1)[:count])

    def _octets(self, length: int) -> bytes:
        """The octets of ``Generator.bytes`` in a tenth of the time: whole groups of four from words of eight octets."""
        groups = -(-length // 4) * 4
        missing = groups - len(self._left)
        octets = self._left + self._raw(-(-missing // 8)).tobytes() if missing > 0 else self._left
        self._left = octets[groups:]
        return octets[:length]

    def _large_laplace(self, count: int, scales: Scales) -> IntegerArray:
        """Scales beyond 64 bits: the difference of two geometric variables ⌊s·E⌋, in Python integers."""
        digits = np.floor(self._generator.standard_exponential((count, 2)) * 2.0**_DIGITS).astype(np.int64).tolist()
        values = []
        for element, (first, second) in enumerate(digits):
            numerator, denominator = scales.pair(element)
            denominator <<= _DIGITS
            values.append(first * numerator // denominator - second * numerator // denominator)
        return whole_array(values, (count,))


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class KeyedNoise(SimulatedNoise):
    """Simulated noise for replays: a program that changes in one place draws the same noise in all other places.

    A kernel gets the noise of every measurement from :meth:`at`: by the lineage of its source and by its text, and, if
    it measures the leaves of a tree, by the path to each leaf. A second measurement in the same place gets fresh noise.
    Noise in different places is independent, up to collisions of 64-bit keys.

    >>> noise = KeyedNoise(7)
    >>> first = noise.at("root").discrete_laplace(3, 10)
    >>> other = KeyedNoise(7)
    >>> _ = other.at("elsewhere").discrete_laplace(100, 10)
    >>> first.tolist() == other.at("root").discrete_laplace(3, 10).tolist()
    True
    """

    def __init__(self, seed: int) -> None:
        self._seed = whole(seed, "seed", 0)
        self._calls: dict[tuple[int, int], int] = {}
        self._move("", None)

    def at(self, place: str, parts: Places | None = None) -> KeyedNoise:
        """The noise of a place. With *parts*, the numbers of its parts, every draw has an equal piece for each part."""
        there = KeyedNoise.__new__(KeyedNoise)
        there._seed, there._calls = self._seed, self._calls
        there._move(place, parts)
        return there

    def _move(self, place: str, parts: Places | None) -> None:
        mark = hashlib.sha256(f"{self._seed}\n{place}".encode()).digest()
        self._key = int.from_bytes(mark[:8])
        self._parts = parts
        self._draw_from(np.random.Generator(np.random.Philox(key=[self._key, self._next(0)])))

    def _next(self, part: int) -> int:
        """How many times this part of the place has been drawn before."""
        times = self._calls.get((self._key, part), 0)
        self._calls[self._key, part] = times + 1
        return times

    def _words(self, count: int) -> Words | None:
        """Words keyed by the parts; None if there are no parts, or if the draw cannot be divided equally among them."""
        if self._parts is None or not self._parts.size or count % self._parts.size:
            return None
        times = np.array([self._next(part) for part in self._parts.tolist()], dtype=np.uint64)
        start = _mixed(_mixed(self._parts.astype(np.uint64) ^ np.uint64(self._key)) + times)
        steps = np.arange(1, count // self._parts.size + 1, dtype=np.uint64) * _GOLDEN
        return _mixed(start[:, None] + steps).reshape(-1)

    def _exponentials(self, shape: tuple[int, ...]) -> Reals:
        words = self._words(math.prod(shape))
        if words is None:
            return super()._exponentials(shape)
        return np.asarray(-np.log(((words >> np.uint64(11)) + 0.5) * 2.0**-53)).reshape(shape)

    def _signs(self, count: int) -> Reals:
        words = self._words(count)
        return super()._signs(count) if words is None else 1.0 - 2.0 * (words >> np.uint64(63)).astype(np.float64)


def _mixed(words: Words) -> Words:
    """The output function of SplitMix64 (Steele, Lea and Flood, 2014)."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))


def discrete_laplace_variance(scale: Scale) -> Reals:
    """The variance 2a/(1 - a)² with a = e^(-1/scale), in the shape of the scales.

    >>> discrete_laplace_variance([1, 1000]).round(4).tolist()
    [1.8413, 1999999.8333]
    """
    rate = _inverse(read_ratio(scale))
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(2 * np.exp(-rate) / np.expm1(-rate) ** 2)


def discrete_laplace_radius(scale: Rational, confidence: float) -> int:
    """The smallest k with P(|Z| ≤ k) ≥ confidence, where P(|Z| > k) = 2·a^(k+1)/(1 + a).

    >>> discrete_laplace_radius(10, 0.95)
    30
    """
    exactly = positive(scale, "scale", computed=True)
    outside = (1 - confidence) * (1 + math.exp(-min(float(1 / exactly), 700.0))) / 2  # a^(k+1) must not exceed this
    return max(0, math.ceil(exactly * Fraction(-math.log(outside))) - 1)


def mixed_laplace_radius(scales: Sequence[Rational], weights: Reals, confidence: float) -> int:
    """A k such that the weighted sum of noises, rounded to a whole number, is at most k away from 0 with at least this
    confidence; the smallest one, or the next.

    The laws are convolved on a grid, on which each noise is at most half a step from where it is: the steps of all
    noises together, and ties in rounding, count as outside.

    >>> halves = np.array([0.5, 0.5])
    >>> mixed_laplace_radius([10, 10], halves, 0.95), mixed_laplace_radius([0.5, 0.5], halves, 0.9)
    (21, 1)
    """
    from scipy import fft  # loaded only for what is combined

    scale = np.array([float(positive(one, "scale", computed=True)) for one in scales])
    wide = max(float(np.sqrt(np.square(weights) @ discrete_laplace_variance(list(scales)))), _NARROW)
    step = wide / (_STEPS * math.sqrt(len(scale)))
    half = math.ceil(_FAR * wide / step)
    size = fft.next_fast_len(2 * half + 1)
    edges = (np.arange(-half, half + 2) - 0.5) * step
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for (one, weight), times in Counter(zip(scale.tolist(), weights.tolist(), strict=True)).items():
        law = np.zeros(size)
        law[: 2 * half + 1] = np.diff(_laplace_cdf(np.floor(edges / weight), one))
        spectrum *= fft.rfft(np.roll(law, -half)) ** times
    both = np.maximum(np.roll(fft.irfft(spectrum, size), half)[: 2 * half + 1], 0.0)
    within = np.cumsum(np.concatenate((both[half : half + 1], both[half + 1 :] + both[half - 1 :: -1])))
    far = int(np.searchsorted(within, confidence)) * step + len(scale) * step / 2
    return max(0, math.floor(far - 0.5 + step / 2) + 1)


def _laplace_cdf(whole: Reals, scale: float) -> Reals:
    """P(Z ≤ k) for discrete Laplace noise."""
    tail = np.exp(-np.where(whole < 0, -whole, whole + 1) / scale) / (1 + math.exp(-1 / scale))
    return np.where(whole < 0, tail, 1 - tail)


def _inverse(ratio: Ratio) -> Reals:
    """The reciprocals as doubles, clipped to the range from 10⁻¹⁵⁰ to 10¹⁵⁰ for long numbers."""
    if object not in (ratio.numerator.dtype, ratio.denominator.dtype):
        return np.asarray(ratio.denominator / ratio.numerator, dtype=np.float64)
    lowest, highest = Fraction(1, 10**150), Fraction(10) ** 150
    pairs = zip(ratio.numerator.ravel().tolist(), ratio.denominator.ravel().tolist(), strict=True)
    rates = [float(min(max(Fraction(below, above), lowest), highest)) for above, below in pairs]
    return np.array(rates).reshape(ratio.numerator.shape)
