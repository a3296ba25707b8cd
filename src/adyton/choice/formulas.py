"""Small formulas over features: trees of operations with a text that can be parsed again and is never run as code.

A model has a formula for each option, which says how good the option is; the option with the largest value is chosen.

Among all small formulas over the features, synthesis finds the simplest that predicts an option's score nearly best.
Formulas are enumerated from the smallest up; of formulas with the same values, the smallest is kept. The target is the
difference between an option's score and the mean of all options, predicted as a + b·formula by least squares. The loss
of a formula is its mean squared error on data sets that a and b were not fitted to, each held out in turn; of the
formulas within 5% of the least loss, the smallest is chosen.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.choice.models import Lessons, Look, Model, OutsideError
from adyton.errors import BadInput
from adyton.messages import no_such, shorten

_SMALLEST, _LARGEST_POWER = 1e-9, 3.0
LARGEST = 1e12
"""Beyond this magnitude a formula is undefined."""
_LONGEST, _DEEPEST = 1000, 40


def _divided(a: Reals, b: Reals) -> Reals:
    return np.asarray(a / np.where(np.abs(b) < _SMALLEST, np.nan, b))


def _power(a: Reals, b: Reals) -> Reals:
    allowed = ((a >= 0) | (b == np.rint(b))) & (np.abs(b) <= _LARGEST_POWER)
    return np.asarray(np.where(allowed, np.power(np.where(allowed, a, 1.0), np.where(allowed, b, 1.0)), np.nan))


UNARY: dict[str, Callable[[Any], Any]] = {
    "log2": lambda a: np.log2(np.where(a < _SMALLEST, np.nan, a)),
    "sqrt": lambda a: np.sqrt(np.where(a < 0, np.nan, a)),
    "-": np.negative,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divided,
    "^": _power,
    "min": np.minimum,
    "max": np.maximum,
}
SYMMETRIC = frozenset(["+", "*", "min", "max"])
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 4}
_NEGATED = 3


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True)
class Name:
    """A feature."""

    name: str


@dataclass(frozen=True)
class Applied:
    """An operation on one or two formulas."""

    operation: str
    parts: tuple[Formula, ...]


Formula: TypeAlias = Number | Name | Applied


def value_of(formula: Formula, look: Callable[[str], Any]) -> Any:
    """The value of a formula, for numbers or arrays; NaN where it is undefined.

    >>> float(value_of(parsed("1 - x ^ 2"), {"x": np.float64(0.5)}.__getitem__))
    0.75
    """
    if isinstance(formula, Number):
        return np.float64(formula.value)
    if isinstance(formula, Name):
        return np.asarray(look(formula.name), dtype=np.float64)
    parts = [value_of(part, look) for part in formula.parts]
    with np.errstate(all="ignore"):
        return (UNARY if len(parts) == 1 else BINARY)[formula.operation](*parts)


def names_in(formula: Formula) -> frozenset[str]:
    """The features that a formula uses."""
    if isinstance(formula, Name):
        return frozenset([formula.name])
    return frozenset() if isinstance(formula, Number) else frozenset().union(*map(names_in, formula.parts))


def size_of(formula: Formula) -> int:
    """How many features, constants and operations it has."""
    return 1 + sum(map(size_of, formula.parts)) if isinstance(formula, Applied) else 1


def shown(formula: Formula) -> str:
    """The text of a formula, which :func:`parsed` reads back.

    >>> shown(parsed("(1-sparsity)*min(uniformity, 2)^1.5"))
    '(1 - sparsity) * min(uniformity, 2) ^ 1.5'
    """
    return _text(formula, 0)


def _text(formula: Formula, outside: int) -> str:
    if isinstance(formula, Number):
        text = f"{formula.value:.6g}"
        return f"({text})" if outside and text.startswith("-") else text
    if isinstance(formula, Name):
        return formula.name if _PLAIN_NAME.fullmatch(formula.name) else f"`{formula.name}`"
    name, parts = formula.operation, formula.parts
    if name == "-" and len(parts) == 1:
        text, strength = f"-{_text(parts[0], _NEGATED + 1)}", _NEGATED
    elif name in _STRENGTH:
        strength = _STRENGTH[name]
        left, right = (strength + 1, strength) if name == "^" else (strength, strength + 1)
        text = f"{_text(parts[0], left)} {name} {_text(parts[1], right)}"
    else:
        return f"{name}({', '.join(_text(part, 0) for part in parts)})"
    return f"({text})" if strength < outside else text


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|([^\W\d]\w*)|`([^`]+)`|([-+*/^(),]))")


def parsed(text: str) -> Formula:
    """The formula that a text describes: numbers, names, + - * / ^, log2, sqrt, min and max.

    >>> names_in(parsed("uniformity * (1 - sparsity)")) == {"uniformity", "sparsity"}
    True
    >>> parsed("__import__('os')")
    Traceback (most recent call last):
    adyton.errors.BadInput: "__import__('os')" is no formula: it cannot be read from "'os')" on.
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise BadInput(f"a formula is a text of at most {_LONGEST} characters, given {shorten(text)}.")
    reader = _Reader(text, _tokens(text))
    formula = reader.sum(0)
    if reader.ahead != ("", ""):
        raise BadInput(f"{shorten(text)} is no formula: there is {reader.ahead[1]!r} where it should end.")
    return formula


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, place = [], 0
    while text[place:].strip():
        token = _TOKEN.match(text, place)
        if token is None:
            raise BadInput(f"{shorten(text)} is no formula: it cannot be read from {shorten(text[place:].strip())} on.")
        place = token.end()
        kind = ("number", "name", "name", "sign")[(token.lastindex or 1) - 1]
        tokens.append((kind, token[token.lastindex or 1]))
    return tokens


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, text: str, tokens: list[tuple[str, str]]) -> None:
        self.text, self.tokens, self.place = text, tokens, 0

    @property
    def ahead(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("", "")

    def taken(self, *signs: str) -> str | None:
        kind, word = self.ahead
        if kind != "sign" or word not in signs:
            return None
        self.place += 1
        return word

    def need(self, sign: str) -> None:
        if self.taken(sign) is None:
            given = self.ahead[1] or "nothing"
            raise BadInput(f"{shorten(self.text)} is no formula: there is {given!r} where a {sign!r} should be.")

    def sum(self, depth: int) -> Formula:
        return self._chain(depth, ("+", "-"), lambda: self._chain(depth, ("*", "/"), lambda: self.negated(depth)))

    def _chain(self, depth: int, signs: tuple[str, ...], part: Callable[[], Formula]) -> Formula:
        formula = part()
        while (sign := self.taken(*signs)) is not None:
            formula = Applied(sign, (formula, part()))
        return formula

    def negated(self, depth: int) -> Formula:
        if depth > _DEEPEST:
            raise BadInput(f"{shorten(self.text)} is no formula that can be read: it is nested too deeply.")
        if self.taken("-") is not None:
            inner = self.negated(depth + 1)
            return Number(-inner.value) if isinstance(inner, Number) else Applied("-", (inner,))
        base = self.atom(depth)
        return Applied("^", (base, self.negated(depth + 1))) if self.taken("^") is not None else base

    def atom(self, depth: int) -> Formula:
        kind, word = self.ahead
        self.place += 1
        if kind == "number":
            return Number(float(word))
        if kind == "name":
            return self._call(word, depth) if self.taken("(") is not None else Name(word)
        if word == "(":
            formula = self.sum(depth + 1)
            self.need(")")
            return formula
        raise BadInput(f"{shorten(self.text)} is no formula: there is {word or 'nothing'!r} where a value should be.")

    def _call(self, name: str, depth: int) -> Formula:
        wanted = {"log2": 1, "sqrt": 1, "min": 2, "max": 2}
        if name not in wanted:
            raise BadInput(no_such("function of formulas", name, wanted))
        parts = [self.sum(depth + 1)]
        while len(parts) < wanted[name]:
            self.need(",")
            parts.append(self.sum(depth + 1))
        self.need(")")
        return Applied(name, tuple(parts))


@dataclass(frozen=True, eq=False)
class FormulaModel(Model):
    """Predicts each option by its formula; the regret is how far the value is below the largest."""

    kind = "formula"

    formulas: Mapping[str, Formula]

    def regrets(self, look: Look) -> dict[str, float]:
        """Reads all features of the formulas."""
        values = {name: float(value_of(formula, look)) for name, formula in self.formulas.items()}
        return below_best(values)

    @property
    def asked(self) -> frozenset[str]:
        """The features of all formulas."""
        return frozenset().union(*map(names_in, self.formulas.values()))

    def learnt(self) -> Any:
        """The texts of the formulas."""
        return {name: shown(formula) for name, formula in self.formulas.items()}

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> FormulaModel:
        """The model with formulas of these texts."""
        if not isinstance(learnt, Mapping) or learnt.keys() != set(options):
            raise BadInput("a model of formulas has one formula for each option.")
        return cls({name: parsed(learnt[name]) for name in options})

    def in_words(self) -> str:
        """One formula per line."""
        return "\n".join(f"  {name}: {shown(formula)}" for name, formula in self.formulas.items())


def below_best(values: Mapping[str, float]) -> dict[str, float]:
    """How far each value is below the largest."""
    if not all(np.isfinite(value) for value in values.values()):
        raise OutsideError("a formula has no value here")
    best = max(values.values())
    return {name: best - value for name, value in values.items()}


SIZE = 5
MOST = 6000
CONSTANTS = (1.0, 2.0, 3.0, 1.5)
_UNARY_TRIED = ("log2", "sqrt")
_DIGITS = 9
_AT_ONCE = 1 << 21
"""The most numbers that are computed at a time."""
TOLERANCE = 0.05
_FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class Difference:
    """How the formula of one option changes, with the held-out loss of both."""

    option: str
    old: str | None
    """None if the programmer wrote no prediction."""
    new: Formula
    old_loss: float | None
    """None if the old prediction is undefined on some rows."""
    new_loss: float

    def __str__(self) -> str:
        known = f"held-out loss {self.old_loss:.4g}" if self.old_loss is not None else "without a value on some rows"
        old = [] if self.old is None else [f"- {self.old}    ({known})"]
        return "\n".join([f"{self.option}:", *old, f"+ {shown(self.new)}    (held-out loss {self.new_loss:.4g})"])


class Synthesiser:
    """Enumerates formulas once, and fits them to any part of the lessons.

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
        """The best formula for each option, from a part of the lessons."""
        return FormulaModel({option: self.best(lessons, option)[0] for option in lessons.options})

    def best(self, lessons: Lessons, option: str) -> tuple[Formula, float]:
        """The simplest formula whose held-out loss is nearly the least, calibrated, and its loss."""
        target = lessons.advantages[:, lessons.options.index(option)]
        intercepts, slopes, losses = _least_squares(self.values[:, lessons.places], target, lessons)
        near = np.flatnonzero(losses <= (1 + TOLERANCE) * losses.min() + _FLAT)
        place = min(near.tolist(), key=lambda number: (self.sizes[number], losses[number]))
        slope = float(slopes[place] / self.spreads[place, 0])
        intercept = float(intercepts[place] - slope * self.centres[place, 0])
        return _calibrated(self.formulas[place], intercept, slope), float(losses[place])

    def difference(self, option: str, old: str | None, predicted: Reals | None) -> Difference:
        """The programmer's prediction compared with the best formula on the same rows. Both are calibrated."""
        new, loss = self.best(self.lessons, option)
        if old is None or predicted is None or not np.isfinite(predicted).all():
            return Difference(option, old, new, None, loss)
        spread = float(predicted.std()) or 1.0
        table = ((predicted - predicted.mean()) / spread)[None]
        target = self.lessons.advantages[:, self.lessons.options.index(option)]
        return Difference(option, old, new, float(_least_squares(table, target, self.lessons)[2][0]), loss)


def _calibrated(formula: Formula, intercept: float, slope: float) -> Formula:
    """intercept + slope·formula, with few digits and without terms that are zero."""
    first, second = (float(f"{value:.4g}") for value in (intercept, slope))
    if second == 0 or isinstance(formula, Number):
        return Number(float(f"{intercept + slope * value_of(formula, lambda _: 0.0):.4g}"))
    part: Formula = formula if abs(second) == 1 else Applied("*", (Number(abs(second)), formula))
    if second > 0 and first <= 0:
        return Applied("-", (part, Number(-first))) if first else part
    return Applied("+" if second > 0 else "-", (Number(first), part))


def _least_squares(values: Reals, target: Reals, lessons: Lessons) -> tuple[Reals, Reals, Reals]:
    """Fit target ≈ a + b·values for many formulas at once, by weighted least squares, each data set with weight 1.
    Returns all a, all b, and the losses with each data set held out.

    The sums over all other data sets follow from those over each data set, which gives all held-out fits at once.
    """
    weights = np.zeros((len(target), len(lessons.names)))
    for column, source in enumerate(lessons.names):
        own = lessons.of(source)
        weights[own, column] = lessons.weights[own] / lessons.weights[own].sum()
    n, v, y = weights.sum(axis=0), values @ weights, target @ weights
    vv, vy, yy = np.square(values) @ weights, (values * target) @ weights, np.square(target) @ weights

    def line(n: Reals, v: Reals, y: Reals, vv: Reals, vy: Reals) -> tuple[Reals, Reals]:
        variance = vv - np.square(v) / n
        slope = np.where(variance > _FLAT * np.maximum(1.0, vv), (vy - v * y / n), 0.0) / np.maximum(variance, _FLAT)
        return (y - slope * v) / n, slope

    a, b = line(n.sum(), v.sum(axis=1), y.sum(), vv.sum(axis=1), vy.sum(axis=1))
    if len(lessons.names) > 1:
        rest = [np.asarray(part.sum(axis=-1, keepdims=True) - part) for part in (n, v, y, vv, vy)]
        held_a, held_b = line(*rest)
    else:
        held_a, held_b = a[:, None], b[:, None]
    squares = yy + held_a**2 * n + held_b**2 * vv - 2 * held_a * y - 2 * held_b * vy + 2 * held_a * held_b * v
    return a, b, np.maximum(squares, 0.0).mean(axis=1)


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
        """Whether there are *most* formulas."""
        return len(self._known) >= self.most

    def add(self, size: int, formulas: Sequence[Formula], values: Reals) -> None:
        """Keep the formulas that are defined on all rows, unless a formula with the same values is kept already."""
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
        """The formulas of a size, and their values."""
        return self.formulas.get(size, []), self._table([size] if size in self.values else [])


def _of_constants(formula: Formula) -> bool:
    """Whether it is an operation on constants only, which a single constant could replace."""
    return isinstance(formula, Applied) and all(isinstance(part, Number) for part in formula.parts)


def enumerated(features: Mapping[str, Reals], *, size: int = SIZE, most: int = MOST) -> Enumerated:
    """All formulas of at most this size, or the smallest *most* of them.

    >>> formulas = enumerated({"x": np.array([0.5, 1.0, 4.0])}, size=3).formulas
    >>> [shown(formula) for formula in formulas[2]]
    ['log2(x)', 'sqrt(x)']
    """
    rows = len(next(iter(features.values())))
    known = Enumerated(rows, most)
    known.add(1, list(map(Name, features)), np.array(list(features.values()), dtype=np.float64).reshape(-1, rows))
    known.add(1, list(map(Number, CONSTANTS)), np.repeat(np.array(CONSTANTS)[:, None], rows, axis=1))
    with np.errstate(all="ignore"):
        for whole in range(2, size + 1):
            inner, values = known.of_size(whole - 1)
            for operation in _UNARY_TRIED:
                known.add(whole, [Applied(operation, (formula,)) for formula in inner], UNARY[operation](values))
            for first in range(1, whole - 1):
                for operation in BINARY:
                    if not (operation in SYMMETRIC and first > whole - 1 - first) and not known.full:
                        _combine(known, operation, first, whole - 1 - first)
    return known


def _combine(known: Enumerated, operation: str, first: int, second: int) -> None:
    """Every formula of one size with every formula of another."""
    lefts, left = known.of_size(first)
    rights, right = known.of_size(second)
    if not (lefts and rights):
        return
    step = max(1, _AT_ONCE // max(1, right.size))
    for start in range(0, len(lefts), step):
        some = lefts[start : start + step]
        values = BINARY[operation](left[start : start + step, None], right[None]).reshape(-1, known.rows)
        formulas = [Applied(operation, pair) for pair in itertools.product(some, rights)]
        known.add(first + second + 1, formulas, values)
