"""What a learned conditional may see: public numbers and words, and values that were measured already. Nothing else."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.sealed import Sealed
from adyton.queries import Noisy

Seen: TypeAlias = float | str


def seen(name: str, given: Any) -> Seen:
    """A value as a choice sees it: a number or a word; a handle of private data is refused.

    >>> seen("depth", 3), seen("last", True), seen("kind", "leaf")
    (3.0, 1.0, 'leaf')
    """
    if isinstance(given, Sealed):
        raise BadInput(
            f"{name} leads to private data, and a choice sees only public numbers and what was measured already. "
            "Measure it first, and give the answer."
        )
    if isinstance(given, Noisy):
        if given.answers.size == 1:
            return _number(given.value)
        what = f"a measurement of {given.answers.size} answers"
    elif isinstance(given, str):
        return str(given)
    elif isinstance(given, bool | np.bool_):
        return float(given)
    elif isinstance(given, numbers.Real | Decimal):
        return _number(given)
    else:
        what = f"an array of shape {given.shape}" if isinstance(given, np.ndarray) else f"a {type(given).__name__}"
    raise BadInput(
        f"{name} is {what}, and a choice sees single numbers, words, and measurements of one answer. Give such a one."
    )


def _number(given: Any) -> float:
    """In double precision; what is beyond it lies outside of all that can be trained on."""
    try:
        return float(given)
    except OverflowError:
        return float("inf") if given > 0 else float("-inf")


def indicator(name: str, word: str) -> str:
    """The feature that is 1 where a value is this word, else 0."""
    return f"{name} is {word}"


def features_of(values: Mapping[str, Seen]) -> dict[str, float]:
    """Numbers as they are, and 1 for the word that each other value is."""
    return {
        name if isinstance(value, float) else indicator(name, value): value if isinstance(value, float) else 1.0
        for name, value in values.items()
    }
