"""Reading what a caller gave: sizes, bounds, exponents and scores. What is not allowed is refused before any draw."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.errors import BadInput
from adyton.exact import Rational, exact
from adyton.noise.source import Size
from adyton.whole import IntegerArray

_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1


def read_size(size: Size) -> tuple[int, ...]:
    """The shape that *size* stands for.

    >>> read_size(3), read_size((2, 5))
    ((3,), (2, 5))
    """
    lengths = size if isinstance(size, tuple | list) else (size,)
    shape = tuple(_whole(length) for length in lengths)
    if any(length is None or length < 0 for length in shape):
        raise BadInput(f"size must be a whole number of at least 0, or a tuple of such numbers, given {size!r}.")
    return tuple(length for length in shape if length is not None)


def read_bound(bound: int) -> int:
    """The number of values a uniform integer can take."""
    whole = _whole(bound)
    if whole is None or whole < 1:
        raise BadInput(f"bound must be a whole number of at least 1, given {_shown(bound)}.")
    return whole


def read_gamma(gamma: Rational) -> Fraction:
    """The exponent of a coin that shows heads with probability exp(-gamma)."""
    fraction = gamma if isinstance(gamma, Fraction) else exact(gamma, "gamma")
    if fraction < 0:
        raise BadInput(f"gamma must be at least 0, given {_shown(gamma)}.")
    return fraction


def read_scores(scores: Sequence[int | Fraction] | IntegerArray) -> list[int | Fraction] | IntegerArray:
    """Scores as an array of machine integers, or else as a list of exact numbers. Messages never show a score."""
    if isinstance(scores, np.ndarray):
        if scores.ndim != 1:
            raise BadInput(f"scores must have one dimension, given {scores.ndim}.")
        if scores.dtype.kind in "iu" and scores.size:
            return scores
        given = scores.tolist()
    elif isinstance(scores, Sequence) and not isinstance(scores, str | bytes):
        given = list(scores)
    else:
        raise BadInput(f"scores must be a sequence of whole numbers or fractions, given a {type(scores).__name__}.")
    if not given:
        raise BadInput("scores must hold at least one candidate, given none.")
    exact_scores = [score if isinstance(score, Fraction) else _whole(score) for score in given]
    if any(score is None for score in exact_scores):
        raise BadInput("scores must be whole numbers or fractions. Round real scores to a public grid first.")
    return [score for score in exact_scores if score is not None]


def whole_array(values: list[int], shape: tuple[int, ...]) -> IntegerArray:
    """Python integers as an array: int64 where all of them fit, else dtype object."""
    fits = all(_SMALLEST <= value <= _LARGEST for value in values)
    array = np.empty(len(values), dtype=np.int64 if fits else object)
    array[:] = values
    return array.reshape(shape)


def count_of(shape: tuple[int, ...]) -> int:
    """The number of elements of an array of this shape."""
    return math.prod(shape)


def _whole(value: object) -> int | None:
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _shown(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or value.bit_length() < 200 else "a very large number"
    return text if len(text) <= 60 else text[:57] + "…"
