"""Reading what a caller gave: sizes, bounds, exponents and scores. What is not allowed is refused before any draw."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.errors import BadInput
from adyton.exact import Rational, exact
from adyton.messages import shorten
from adyton.noise.source import Size
from adyton.whole import IntegerArray, maybe_whole, whole


def read_size(size: Size) -> tuple[int, ...]:
    """The shape that *size* stands for.

    >>> read_size(3), read_size((2, 5))
    ((3,), (2, 5))
    """
    lengths = size if isinstance(size, tuple | list) else (size,)
    return tuple([whole(length, "size", 0) for length in lengths])


def read_bound(bound: int) -> int:
    """The number of values a uniform integer can take."""
    return whole(bound, "bound", 1)


def read_gamma(gamma: Rational) -> Fraction:
    """The exponent of a coin that shows heads with probability exp(-gamma)."""
    fraction = gamma if isinstance(gamma, Fraction) else exact(gamma, "gamma", computed=True)
    if fraction < 0:
        raise BadInput(f"gamma must be at least 0, given {shorten(gamma)}.")
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
    exact_scores = [score if isinstance(score, Fraction) else maybe_whole(score) for score in given]
    if any(score is None for score in exact_scores):
        raise BadInput("scores must be whole numbers or fractions. Round real scores to a public grid first.")
    return [score for score in exact_scores if score is not None]
