"""Small formulas over features: trees of operations with a text that can be read back, and never run as code.

A model has one for each option, which says how good it is; the option of the largest value is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.choice.model import Look, Model, OutsideError
from adyton.errors import BadInput
from adyton.messages import no_such, shorten

_SMALLEST, _LARGEST_POWER = 1e-9, 3.0
LARGEST = 1e12
"""Beyond this a formula has no value."""
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
    """The value, for numbers or for arrays of them; NaN where it has none.

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
    """The features that it asks for."""
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
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|([^\W\d]\w*)|`([^`]+)`|([-+*/^(),]))")


def parsed(text: str) -> Formula:
    """The formula of a text: numbers, names, + - * / ^, log2, sqrt, min and max.

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
    found, place = [], 0
    while text[place:].strip():
        token = _TOKEN.match(text, place)
        if token is None:
            raise BadInput(f"{shorten(text)} is no formula: it cannot be read from {shorten(text[place:].strip())} on.")
        place = token.end()
        kind = ("number", "name", "name", "sign")[(token.lastindex or 1) - 1]
        found.append((kind, token[token.lastindex or 1]))
    return found


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
    """Expects of each option what its formula says; the regret is how far that is below the largest."""

    kind = "formula"

    formulas: Mapping[str, Formula]

    def regrets(self, look: Look) -> dict[str, float]:
        """All features of the formulas are looked at."""
        values = {name: float(value_of(formula, look)) for name, formula in self.formulas.items()}
        return below_best(values)

    def most(self, free: frozenset[str] = frozenset()) -> int:
        """All of them."""
        return len(self.asked - free)

    @property
    def asked(self) -> frozenset[str]:
        """Those of all formulas."""
        return frozenset().union(*map(names_in, self.formulas.values()))

    def learnt(self) -> Any:
        """The texts."""
        return {name: shown(formula) for name, formula in self.formulas.items()}

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> FormulaModel:
        """From the texts."""
        if not isinstance(learnt, Mapping) or learnt.keys() != set(options):
            raise BadInput("a model of formulas has one formula for each option.")
        return cls({name: parsed(learnt[name]) for name in options})

    def in_words(self) -> str:
        """One formula a line."""
        return "\n".join(f"  {name}: {shown(formula)}" for name, formula in self.formulas.items())


def below_best(values: Mapping[str, float]) -> dict[str, float]:
    """How far each value is below the largest."""
    if not all(np.isfinite(value) for value in values.values()):
        raise OutsideError("a formula has no value here")
    best = max(values.values())
    return {name: best - value for name, value in values.items()}
