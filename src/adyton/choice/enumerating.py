"""All small formulas over some features, from the smallest up; of those that have the same values, the smallest one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from adyton.arrays import Reals
from adyton.choice.formulas import BINARY, LARGEST, SYMMETRIC, UNARY, Applied, Formula, Name, Number

SIZE = 5
MOST = 6000
CONSTANTS = (1.0, 2.0, 3.0, 1.5)
_TRIED = ("log2", "sqrt")
_DIGITS = 9
_AT_ONCE = 1 << 21
"""How many numbers are computed at a time."""


@dataclass(eq=False)
class Enumerated:
    """Formulas with their values on the same rows, by size."""

    rows: int
    most: int
    formulas: dict[int, list[Formula]] = field(default_factory=dict)
    values: dict[int, list[Reals]] = field(default_factory=dict)
    _known: set[bytes] = field(default_factory=set)

    @property
    def full(self) -> bool:
        """Whether there are as many as are wanted."""
        return len(self._known) >= self.most

    def add(self, size: int, formulas: Sequence[Formula], values: Reals) -> None:
        """Keep those that have values, other ones than all before."""
        magnitude = np.abs(values).max(axis=1, initial=0.0)
        usable = np.flatnonzero(np.isfinite(magnitude) & (magnitude <= LARGEST))
        scale = np.maximum(magnitude[usable, None], 1 / LARGEST)
        alike = np.round(np.hstack([values[usable] / scale, np.log2(scale)]), _DIGITS) + 0.0  # no −0
        for key, place in zip(alike, usable.tolist(), strict=True):
            if self.full:
                return
            digest = key.tobytes()
            if digest not in self._known and not _of_constants(formulas[place]):
                self._known.add(digest)
                self.formulas.setdefault(size, []).append(formulas[place])
                self.values.setdefault(size, []).append(values[place])

    def all(self) -> tuple[list[Formula], list[int], Reals]:
        """Every formula, its size and its values."""
        sizes = sorted(self.formulas)
        formulas = [formula for size in sizes for formula in self.formulas[size]]
        return formulas, [size for size in sizes for _ in self.formulas[size]], self._table(sizes)

    def _table(self, sizes: Sequence[int]) -> Reals:
        return np.array([value for size in sizes for value in self.values[size]]).reshape(-1, self.rows)

    def of_size(self, size: int) -> tuple[list[Formula], Reals]:
        """Those of one size."""
        return self.formulas.get(size, []), self._table([size] if size in self.values else [])


def _of_constants(formula: Formula) -> bool:
    """Whether it is an operation on constants alone, which another constant could stand for."""
    return isinstance(formula, Applied) and all(isinstance(part, Number) for part in formula.parts)


def enumerated(features: Mapping[str, Reals], *, size: int = SIZE, most: int = MOST) -> Enumerated:
    """All formulas of at most this size, or the smallest *most* of them.

    >>> found = enumerated({"x": np.array([0.5, 1.0, 4.0])}, size=3)
    >>> from adyton.choice.formulas import shown
    >>> [shown(one) for one in found.formulas[2]]
    ['log2(x)', 'sqrt(x)']
    """
    rows = len(next(iter(features.values())))
    found = Enumerated(rows, most)
    found.add(1, list(map(Name, features)), np.array(list(features.values()), dtype=np.float64).reshape(-1, rows))
    found.add(1, list(map(Number, CONSTANTS)), np.repeat(np.array(CONSTANTS)[:, None], rows, axis=1))
    with np.errstate(all="ignore"):
        for whole in range(2, size + 1):
            inner, values = found.of_size(whole - 1)
            for operation in _TRIED:
                found.add(whole, [Applied(operation, (one,)) for one in inner], UNARY[operation](values))
            for first in range(1, whole - 1):
                for operation in BINARY:
                    if not (operation in SYMMETRIC and first > whole - 1 - first) and not found.full:
                        _combine(found, operation, first, whole - 1 - first)
    return found


def _combine(found: Enumerated, operation: str, first: int, second: int) -> None:
    """Each formula of one size with each of another."""
    lefts, left = found.of_size(first)
    rights, right = found.of_size(second)
    if not (lefts and rights):
        return
    step = max(1, _AT_ONCE // max(1, right.size))
    for start in range(0, len(lefts), step):
        some = lefts[start : start + step]
        values = BINARY[operation](left[start : start + step, None], right[None]).reshape(-1, found.rows)
        formulas = [Applied(operation, (one, other)) for one in some for other in rights]
        found.add(first + second + 1, formulas, values)
