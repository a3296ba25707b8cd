"""What audits share: neighbouring data, the budgets to test, and the report of a check.

Neighbours are vectors of counts, or single counts, that differ by a given number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput

Counts: TypeAlias = npt.NDArray[np.int64]

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(3))
REACH = 0.95
"""For a mechanism whose loss reaches its claim, the audit must certify at least this fraction of ε; else it is too
weak."""
_LARGE = 10**6


@dataclass(frozen=True)
class Finding:
    """One check, whether it passed, and what it found."""

    room: str
    check: str
    passed: bool
    detail: str
    figures: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two vectors of counts whose rows differ by a known number of additions and removals."""

    name: str
    left: Counts
    right: Counts

    @property
    def distance(self) -> int:
        """Σ |left - right|: how many rows must be added or removed to turn one side into the other."""
        return int(np.abs(self.left - self.right).sum())


def vector_pairs(shape: int | tuple[int, ...], count: int = 40, seed: int = 0, *, distance: int = 1) -> list[Pair]:
    """*count* different pairs of vectors, or of arrays of the given shape, *distance* rows apart.

    The known bad cases come first: no rows against one row, in the first, middle and last cell; a spike that grows or
    shrinks; alternating and equal cells; large counts; a single row in a corner of a full vector. Random pairs follow,
    which at a distance above 1 also spread the rows over several cells and mix additions with removals.
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(shape)
    if size < 1 or count < 1:
        raise BadInput(f"Ask for at least one cell and one pair, given shape {shape} and count {count}.")
    if distance < 1:
        raise BadInput(f"distance must be at least 1, given {distance}.")
    chosen: dict[tuple[bytes, ...], Pair] = {}
    for pair in _known(size, distance):
        chosen.setdefault(_key(pair), pair)
    searched = _random(size, distance, np.random.default_rng(seed))
    while len(chosen) < count:
        pair = next(searched)
        chosen.setdefault(_key(pair), pair)
    return [Pair(pair.name, pair.left.reshape(shape), pair.right.reshape(shape)) for pair in chosen.values()][:count]


def signed_pairs(shape: int | tuple[int, ...], count: int = 10, seed: int = 0) -> list[Pair]:
    """Pairs one row apart whose vectors can be negative, as a linear map of counts can be.

    They are the pairs of :func:`vector_pairs` minus a vector, with the signs of every other pair reversed.
    """
    generator = np.random.default_rng(seed)
    pairs = []
    for number, pair in enumerate(vector_pairs(shape, count, seed)):
        less, sign = generator.integers(0, 12, pair.left.shape), 1 - 2 * (number % 2)
        pairs.append(Pair(f"{pair.name}, below zero", sign * (pair.left - less), sign * (pair.right - less)))
    return pairs


def _known(size: int, distance: int) -> Iterator[Pair]:
    places = {"first": 0, "middle": size // 2, "last": size - 1}
    cells = np.arange(size)
    spike = np.zeros(size, dtype=np.int64)
    spike[size // 2] = 50 + distance
    hole = np.full(size, 10 + distance, dtype=np.int64)
    hole[size // 2] = 0
    backgrounds = {
        "empty": np.zeros(size, dtype=np.int64),
        "spike": spike,
        "hole": hole,
        "alternating": np.where(cells % 2 == 0, 10 + distance, 0),
        "all equal": np.full(size, 5 + distance),
        "large counts": np.full(size, _LARGE),
        "one step": np.where(cells < size // 2, 0, 20 + distance),
        "staircase": cells + distance,
    }
    for name, background in backgrounds.items():
        for place, cell in places.items():
            yield _changed(f"{name}, {distance} more in the {place} cell", background, cell, distance)
    for name, background in backgrounds.items():
        cell = int(np.argmax(background))
        if background[cell] >= distance:
            yield _changed(f"{name}, {distance} fewer in its largest cell", background, cell, -distance)


def _random(size: int, distance: int, generator: np.random.Generator) -> Iterator[Pair]:
    number = 0
    while True:
        largest = int(generator.choice([1, 3, 10, 100, 10_000]))
        left = generator.integers(0, largest + 1, size) * (generator.random(size) < generator.choice([0.1, 0.5, 1.0]))
        change = np.zeros(size, dtype=np.int64)
        sign = generator.choice([-1, 1], size)  # one sign per cell, so changes do not cancel
        rows = generator.choice(size, distance) if number % 2 else np.full(distance, generator.integers(size))
        np.add.at(change, rows, sign[rows])
        left = np.maximum(left, -change)
        number += 1
        yield Pair(f"random {number}, counts up to {largest}", left, left + change)


def _changed(name: str, background: npt.NDArray[Any], cell: int, change: int) -> Pair:
    left = background.astype(np.int64)
    right = left.copy()
    right[cell] += change
    return Pair(name, left, right)


def _key(pair: Pair) -> tuple[bytes, ...]:
    """The same key for a pair and its mirror image: audits test both directions anyway."""
    return tuple(sorted((pair.left.tobytes(), pair.right.tobytes())))
