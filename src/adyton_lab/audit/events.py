"""Events that may tell two samples of outputs apart: which numbers to look at, and which of their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy import special

from adyton.arrays import Array
from adyton.exact import Rational, exact, positive
from adyton.noise import SimulatedNoise
from adyton.noise.source import Ratio, Scale, Size
from adyton.whole import IntegerArray


class RecordingNoise(SimulatedNoise):
    """Simulated noise that remembers the scales it was asked for last, and how sharp choices were."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.scales: list[Fraction] = []
        self.sharpness = Fraction(0)
        """Of all choices among several, added up."""

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """Choose, and add the sharpness if there is a choice."""
        self.sharpness += exact(sharpness, "sharpness", computed=True) if len(scores) > 1 else 0
        return super().permute_and_flip(scores, sharpness)

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Draw, and note the scale of every element."""
        count = int(np.prod(size))
        if isinstance(scale, Ratio):
            pairs = np.broadcast_arrays(scale.numerator, scale.denominator)
            listed = [Fraction(int(a), int(b)) for a, b in zip(*(side.ravel() for side in pairs), strict=True)]
        else:
            listed = [
                positive(one, "scale", computed=True) for one in (scale if isinstance(scale, list | tuple) else [scale])
            ]
        self.scales = listed * (count // len(listed))
        return super().discrete_laplace(size, scale)


Histograms: TypeAlias = list[list[Array]]
"""One list per column: left, right."""

_CARRIED = 4
"""Events that reach the test, at most: two in each direction."""
_MOST_CUTS, _COARSE_CUTS = 4096, 64
_MOST_FEATURES, _MOST_ALL_DIFFERENCES = 32, 6


@dataclass(frozen=True, eq=False)
class Column:
    """One number per output, and the cells its values fall into: 2i + 1 is exactly cut i, 2i the gap below it."""

    name: str
    read: Callable[[Array], Array]
    cuts: Array

    def cells(self, features: Array) -> Array:
        """The number of the cell of each output."""
        values = self.read(features)
        position = np.searchsorted(self.cuts, values)
        return np.asarray(2 * position + (self.cuts[np.minimum(position, len(self.cuts) - 1)] == values))

    def histogram(self, features: Array) -> Array:
        """How many outputs fall into each cell."""
        return np.bincount(self.cells(features), minlength=2 * len(self.cuts) + 1)


@dataclass(frozen=True, eq=False)
class Event:
    """A set of cells of one column, and the side (0 is left) it should be likelier on."""

    column: Column
    members: Array
    favours: int
    words: str


def columns_of(parts: Sequence[Array]) -> list[Column]:
    """The numbers to look at: coordinates; if several, also their differences, sum, identity and joint evidence."""

    def column(name: str, read: Callable[[Array], Array], most: int = _MOST_CUTS) -> Column:
        return Column(name, read, _cuts(np.concatenate([read(part) for part in parts]), most))

    if parts[0].shape[1] == 1:
        return [column("the output", partial(_difference, 0, None))]
    kept = _telling_features(parts)
    single = [(f"coordinate {i}", partial(_difference, i, None)) for i in kept]
    reach = len(kept) if len(kept) <= _MOST_ALL_DIFFERENCES else 2  # all pairs, or only consecutive coordinates
    columns = [column(*entry) for entry in single]
    together = [(i, j) for start, j in enumerate(kept) for i in kept[start + 1 : start + reach]]
    columns += [column(f"coordinate {i} minus coordinate {j}", partial(_difference, i, j)) for i, j in together]
    columns.append(column("the sum", lambda features: np.asarray(features.sum(axis=1))))
    columns.append(column("the fingerprint of the whole output", _fingerprint))
    coarse = [column(*entry, _COARSE_CUTS) for entry in single]
    tables = [np.log((entry.histogram(parts[0]) + 10) / (entry.histogram(parts[1]) + 10)) for entry in coarse]

    def evidence(features: Array) -> Array:  # 64 · Σ_i ln P(left gives y_i) / P(right gives y_i), rounded
        terms = [table[entry.cells(features)] for entry, table in zip(coarse, tables, strict=True)]
        return np.asarray(np.rint(64 * np.sum(terms, axis=0)))

    columns.append(column("64 times the evidence summed over coordinates", evidence))
    return columns


def telling_events(
    columns: Sequence[Column], shapes: Histograms, counts: Histograms, *, trials: int, test: int, alpha: float
) -> list[Event]:
    """For each direction the event with the best bound foreseen on the test sample, and the safest one so far.

    Foreseen with Wilson's interval of half-width z deviations; z·√(trials/test) here is as wide as z on the test.
    """
    z = -float(special.ndtri(alpha / (2 * _CARRIED)))
    chosen: dict[tuple[int, str, bytes], Event] = {}
    for favours in (0, 1):
        for caution in (z * math.sqrt(trials / test), z):
            candidates: list[tuple[float, Column, str, Array]] = []
            for column, shape, count in zip(columns, shapes, counts, strict=True):
                natural = np.arange(len(count[0]))
                likeliest = np.argsort((shape[1 - favours] + 2) / (shape[favours] + 2), kind="stable")
                for kind, order in (("lower", natural), ("upper", natural[::-1]), ("set", likeliest)):
                    likely, unlikely = (np.cumsum(count[side][order]) for side in (favours, 1 - favours))
                    with np.errstate(divide="ignore"):
                        score = np.log(_wilson(likely, trials, -caution)) - np.log(_wilson(unlikely, trials, caution))
                    last = int(np.argmax(score))
                    candidates.append((float(score[last]), column, kind, order[: last + 1]))
            _, column, kind, inside = max(candidates, key=lambda candidate: candidate[0])
            words = f"{_words(column, kind, inside)}, likelier on the {('left', 'right')[favours]}"
            members = np.isin(np.arange(2 * len(column.cuts) + 1), inside)
            chosen[favours, column.name, members.tobytes()] = Event(column, members, favours, words)
    return list(chosen.values())


def _words(column: Column, kind: str, inside: Array) -> str:
    end, cuts = int(inside[-1]), column.cuts
    if kind == "set" or end in (0, 2 * len(cuts)):
        values = [f"{cuts[cell // 2]:.6g}" for cell in inside[:4] if cell % 2]
        return f"{column.name} in a set of {len(inside)} cells ({', '.join([*values, '…'])})"
    upper = kind == "upper"
    return f"{column.name} {('≤≥' if end % 2 else '<>')[upper]} {cuts[(end - upper) // 2]:.6g}"


def _wilson(hits: Array, trials: int, z: float) -> Array:
    """The end of Wilson's interval on the side of z's sign: quick, and close enough to choose by."""
    spread = np.sqrt(hits * (trials - hits) / trials + z * z / 4)
    return np.asarray(np.maximum((hits + z * z / 2 + z * spread) / (trials + z * z), 0.0))


def _cuts(values: Array, most: int) -> Array:
    """The distinct values; when there are too many, the commonest ones and evenly spaced quantiles."""
    values = np.sort(values[~np.isnan(values)])
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) > most:
        commonest = distinct[np.argsort(-counts, kind="stable")[: most // 2]]
        distinct = np.union1d(commonest, values[np.linspace(0, len(values) - 1, most // 2).astype(np.int64)])
    return distinct if len(distinct) else np.zeros(1)


def _telling_features(parts: Sequence[Array]) -> list[int]:
    """At most 32 coordinates: those whose mean or mean square differs most between the two sides."""
    score = np.zeros(parts[0].shape[1])
    for power in (1, 2) if len(score) > _MOST_FEATURES else ():
        here, there = ((part - parts[0].mean(axis=0)) ** power for part in parts)
        score = np.fmax(score, np.abs(here.mean(axis=0) - there.mean(axis=0)) / (here.std(axis=0) + 1e-9))
    return [int(i) for i in np.sort(np.argsort(-score, kind="stable")[:_MOST_FEATURES])]


def _difference(i: int, j: int | None, features: Array) -> Array:
    """Coordinate *i*, less coordinate *j* if there is one."""
    return features[:, i] if j is None else features[:, i] - features[:, j]


def _fingerprint(features: Array) -> Array:
    """A 64-bit mix of each row's bits: equal rows agree, and a rare collision only merges two outcomes."""
    mixed = np.zeros(len(features), dtype=np.uint64)
    for bits in np.ascontiguousarray(features).view(np.uint64).T:
        mixed = (mixed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed.view(np.int64)
