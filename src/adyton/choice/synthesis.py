"""Synthesis: of all small formulas over the features, the simplest that predicts an option's score nearly best.

Formulas are enumerated from the smallest up; of those that have the same values, the smallest one stays. What is
predicted is by how much an option's score is above the mean of all options, as a + b·formula by least squares. The loss
of a formula is its mean squared error on data sets that a and b were not fitted to, each held out in turn; of the
formulas within 5% of the least loss, the smallest is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from adyton.arrays import Reals
from adyton.choice.formulas import (
    BINARY,
    LARGEST,
    SYMMETRIC,
    UNARY,
    Applied,
    Formula,
    FormulaModel,
    Name,
    Number,
    shown,
    value_of,
)
from adyton.choice.model import Lessons

SIZE = 5
MOST = 6000
CONSTANTS = (1.0, 2.0, 3.0, 1.5)
_TRIED = ("log2", "sqrt")
_DIGITS = 9
_AT_ONCE = 1 << 21
"""How many numbers are computed at a time."""
TOLERANCE = 0.05
_FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class Difference:
    """How the formula of one option changes, with the held-out loss of both."""

    option: str
    old: str | None
    """None if the programmer wrote none."""
    new: Formula
    old_loss: float | None
    """None where the old one has no value on some rows."""
    new_loss: float

    def __str__(self) -> str:
        known = f"held-out loss {self.old_loss:.4g}" if self.old_loss is not None else "without a value on some rows"
        old = [] if self.old is None else [f"- {self.old}    ({known})"]
        return "\n".join([f"{self.option}:", *old, f"+ {shown(self.new)}    (held-out loss {self.new_loss:.4g})"])


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The least squares of many formulas at once, on all lessons and with each data set held out."""

    intercepts: Reals
    slopes: Reals
    losses: Reals


class Synthesiser:
    """Enumerates once, and fits on any part of the lessons.

    >>> x = np.linspace(0, 1, 40)
    >>> scores = np.stack([0.9 - x**1.5, np.zeros(40)], axis=1)
    >>> lessons = Lessons(("sparsity",), ("mwem", "dawa"), x[:, None], scores, scores, tuple("abcd") * 10, np.ones(40))
    >>> shown(Synthesiser(lessons).best(lessons, "mwem")[0])
    '0.45 - 0.5 * sparsity ^ 1.5'
    """

    def __init__(self, lessons: Lessons, *, size: int = SIZE, most: int = MOST) -> None:
        self.lessons = lessons
        columns = dict(zip(lessons.features, lessons.values.T, strict=True))
        self.formulas, self.sizes, values = enumerated(columns, size=size, most=most).all()
        self.centres = values.mean(axis=1, keepdims=True)
        spread = values.std(axis=1, keepdims=True)
        self.spreads = np.where(spread > _FLAT * np.maximum(1.0, np.abs(self.centres)), spread, np.inf)
        self.values = (values - self.centres) / self.spreads  # so that squares stay exact enough

    def fit(self, lessons: Lessons) -> FormulaModel | None:
        """The best formulas for some of the lessons that were enumerated on."""
        return FormulaModel({option: self.best(lessons, option)[0] for option in lessons.options})

    def best(self, lessons: Lessons, option: str) -> tuple[Formula, float]:
        """The simplest formula whose held-out loss is near the least, calibrated, and that loss."""
        target = lessons.advantages[:, lessons.options.index(option)]
        found = _least_squares(self.values[:, lessons.places], target, lessons)
        near = np.flatnonzero(found.losses <= (1 + TOLERANCE) * found.losses.min() + _FLAT)
        place = min(near.tolist(), key=lambda one: (self.sizes[one], found.losses[one]))
        slope = float(found.slopes[place] / self.spreads[place, 0])
        intercept = float(found.intercepts[place] - slope * self.centres[place, 0])
        return calibrated(self.formulas[place], intercept, slope), float(found.losses[place])

    def difference(self, option: str, old: str | None, predicted: Reals | None) -> Difference:
        """What the programmer predicted, on the same rows, beside the best formula. Both are calibrated."""
        new, loss = self.best(self.lessons, option)
        if old is None or predicted is None or not np.isfinite(predicted).all():
            return Difference(option, old, new, None, loss)
        spread = float(predicted.std()) or 1.0
        table = ((predicted - predicted.mean()) / spread)[None]
        target = self.lessons.advantages[:, self.lessons.options.index(option)]
        return Difference(option, old, new, float(_least_squares(table, target, self.lessons).losses[0]), loss)


def calibrated(formula: Formula, intercept: float, slope: float) -> Formula:
    """intercept + slope·formula, with few digits, and without what is zero."""
    first, second = (float(f"{value:.4g}") for value in (intercept, slope))
    if second == 0 or isinstance(formula, Number):
        return Number(float(f"{intercept + slope * value_of(formula, lambda _: 0.0):.4g}"))
    part: Formula = formula if abs(second) == 1 else Applied("*", (Number(abs(second)), formula))
    if second > 0 and first <= 0:
        return Applied("-", (part, Number(-first))) if first else part
    return Applied("+" if second > 0 else "-", (Number(first), part))


def _least_squares(values: Reals, target: Reals, lessons: Lessons) -> _Fitted:
    """Fit target ≈ a + b·values by weighted least squares, each data set counting as one.

    From the sums over each data set follow those over all others, and so all held-out fits at once.
    """
    weights = np.zeros((len(target), len(lessons.names)))
    for column, source in enumerate(lessons.names):
        own = lessons.of(source)
        weights[own, column] = lessons.weights[own] / lessons.weights[own].sum()
    one, v, y = weights.sum(axis=0), values @ weights, target @ weights
    vv, vy, yy = np.square(values) @ weights, (values * target) @ weights, np.square(target) @ weights

    def line(n: Reals, v: Reals, y: Reals, vv: Reals, vy: Reals) -> tuple[Reals, Reals]:
        variance = vv - np.square(v) / n
        slope = np.where(variance > _FLAT * np.maximum(1.0, vv), (vy - v * y / n), 0.0) / np.maximum(variance, _FLAT)
        return (y - slope * v) / n, slope

    a, b = line(one.sum(), v.sum(axis=1), y.sum(), vv.sum(axis=1), vy.sum(axis=1))
    if len(lessons.names) > 1:
        rest = [np.asarray(part.sum(axis=-1, keepdims=True) - part) for part in (one, v, y, vv, vy)]
        held_a, held_b = line(*rest)
    else:
        held_a, held_b = a[:, None], b[:, None]
    squares = yy + held_a**2 * one + held_b**2 * vv - 2 * held_a * y - 2 * held_b * vy + 2 * held_a * held_b * v
    return _Fitted(a, b, np.maximum(squares, 0.0).mean(axis=1))


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
