"""Simulated noise that depends on its place in a program, and on nothing that was drawn elsewhere."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from adyton.arrays import Places, Reals
from adyton.noise.bits import Words
from adyton.noise.simulated import SimulatedNoise
from adyton.whole import whole

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class KeyedNoise(SimulatedNoise):
    """Simulated noise for replays: a program that goes another way in one place draws the same noise in all others.

    A kernel asks with :meth:`at` for the noise of every measurement: by the steps that led to its source and by its
    own words, and, where it measures the leaves of a tree, by the path to each leaf. What is measured twice in the same
    place gets fresh noise the second time. Noise in different places is independent, as far as 64 bits go.

    >>> noise = KeyedNoise(7)
    >>> first = noise.at("root").discrete_laplace(3, 10)
    >>> other = KeyedNoise(7)
    >>> _ = other.at("elsewhere").discrete_laplace(100, 10)
    >>> first.tolist() == other.at("root").discrete_laplace(3, 10).tolist()
    True
    """

    def __init__(self, seed: int) -> None:
        self._seed = whole(seed, "seed", 0)
        self._times: dict[tuple[int, int], int] = {}
        self._move("", None)

    def at(self, place: str, parts: Places | None = None) -> KeyedNoise:
        """The noise of a place. With *parts*, numbers of its parts, every draw is cut into as many equal pieces."""
        there = KeyedNoise.__new__(KeyedNoise)
        there._seed, there._times = self._seed, self._times
        there._move(place, parts)
        return there

    def _move(self, place: str, parts: Places | None) -> None:
        mark = hashlib.sha256(f"{self._seed}\n{place}".encode()).digest()
        self._key = int.from_bytes(mark[:8])
        self._parts = parts
        self._draw_from(np.random.Generator(np.random.Philox(key=[self._key, self._next(0)])))

    def _next(self, part: int) -> int:
        """How many times this part of the place has been asked before."""
        times = self._times.get((self._key, part), 0)
        self._times[self._key, part] = times + 1
        return times

    def _words(self, count: int) -> Words | None:
        """Words keyed by the parts; None where there are no parts, or where the draw does not fall into equal ones."""
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
