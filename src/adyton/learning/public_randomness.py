"""Random choices that have nothing to do with rows: which attribute a node of a random tree splits on."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import numpy as np

from adyton.arrays import Flags, Places
from adyton.plans.algorithm import Within, whole_number

Seed: TypeAlias = Annotated[int, Within(whole_number, 0)]
"""A whole number, for random choices that can be repeated."""

_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


_AGAIN: ContextVar[Callable[[], int] | None] = ContextVar("again", default=None)


@contextmanager
def repeated(keys: list[int]) -> Iterator[None]:
    """Within the block, keys that the operating system draws are those in the list, in their order, and are added to
    it after the last: what runs again with the same list makes the same choices."""
    before = iter(tuple(keys))

    def draw() -> int:
        key = next(before, None)
        if key is None:
            key = secrets.randbits(64)
            keys.append(key)
        return key

    token = _AGAIN.set(draw)
    try:
        yield
    finally:
        _AGAIN.reset(token)


@dataclass(frozen=True)
class PublicRandomness:
    """Draws that depend on a key and a place alone: a node of a tree, which has a number of its own, draws the same
    whatever happens elsewhere. The draws are public; nobody is protected by them.

    >>> random = PublicRandomness(7)
    >>> allowed = np.array([[True, False, True], [False, False, False]])
    >>> random.picks(np.array([11, 12]), allowed)[1]
    np.int64(-1)
    """

    key: int

    @classmethod
    def of(cls, seed: int | None) -> PublicRandomness:
        """With this seed; without one, with a key that the operating system draws (or drew: :func:`repeated`)."""
        if seed is None:
            again = _AGAIN.get()
            seed = secrets.randbits(64) if again is None else again()
        return cls(seed)

    def part(self, number: int) -> PublicRandomness:
        """Randomness of its own for one of several parts, such as a tree of a forest."""
        return PublicRandomness(int(self._mixed(np.array([number]))[0]))

    def picks(self, places: Places, allowed: Flags) -> Places:
        """For every place one of the columns that are allowed there, each as probable; −1 where none is."""
        options = allowed.sum(axis=1)
        number = (self._mixed(places) >> np.uint64(11)).astype(np.float64) / 2.0**53 * options
        wanted = np.minimum(number.astype(np.int64), options - 1)
        found = (np.cumsum(allowed, axis=1) > wanted[:, None]).argmax(axis=1)
        return np.where(options > 0, found, -1)

    def order(self, count: int) -> Places:
        """The numbers below *count*, in random order."""
        return np.argsort(self._mixed(np.arange(count)), kind="stable")

    def _mixed(self, places: Places) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
        """64 bits for each place, by Steele, Lea and Flood's SplitMix64 (OOPSLA 2014), twice."""
        with np.errstate(over="ignore"):
            state = np.asarray(places).astype(np.uint64) + np.uint64(self.key * _GOLDEN % 2**64)
            for _ in range(2):
                state = state + np.uint64(_GOLDEN)
                state = (state ^ (state >> np.uint64(30))) * np.uint64(_FIRST)
                state = (state ^ (state >> np.uint64(27))) * np.uint64(_SECOND)
                state = state ^ (state >> np.uint64(31))
        return state
