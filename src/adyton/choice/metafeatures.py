"""Metafeatures: noisy numbers about private data that inform a choice, each measured under budget.

One is built from the kernel's own operators: a function of a source and an ε that measures with exactly that ε. Its
privacy is the kernel's affair, and nothing is declared. Another is a plain function of counts with a declared
sensitivity. A kernel runs such a function only if it was opened with it (``trusted=[…]``): whoever opens it answers for
the declaration, and the noise is the kernel's. A third is public: it measures nothing, sees what a handle says of
itself and the whole ε, and costs nothing.

A learned conditional sees public numbers and words, and values that were measured already. Nothing else.
"""

from __future__ import annotations

import inspect
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np

from adyton.choice.decision import Bought
from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.mechanisms.published.statistic import Declared, DeclaredFunction
from adyton.kernel.sealed import Sealed
from adyton.kernel.sources import Source, VectorSource
from adyton.messages import shorten
from adyton.queries import Noisy


class Metafeature(ABC):
    """A number about private data, bought when it is first asked for."""

    name: str
    free: ClassVar[bool] = False
    """Whether it is public, and costs nothing."""

    @abstractmethod
    def measured(self, source: Source, epsilon: Fraction) -> Any:
        """The noisy number, for exactly ε."""

    def buy(self, source: Source, epsilon: Fraction) -> Bought:
        """The noisy number with its price."""
        found = self.measured(source, epsilon)
        value = seen(self.name, found)
        if isinstance(value, str):
            raise BadInput(f"the metafeature {self.name!r} gave a text, and a metafeature is a number.")
        deviation = found.deviation if isinstance(found, Noisy) else float("nan")  # computed from measurements
        return Bought(self.name, self.words, value, deviation, epsilon)

    @property
    @abstractmethod
    def words(self) -> str:
        """What it is, for people."""


@dataclass(frozen=True, eq=False)
class Measured(Metafeature):
    """A metafeature that is built from the kernel's operators."""

    name: str
    function: Callable[[Any, Fraction], Any]

    def measured(self, source: Source, epsilon: Fraction) -> Any:
        """As the function measures it."""
        return self.function(source, epsilon)

    @property
    def words(self) -> str:
        """The first line of its docstring, or its name."""
        return _first_line(self.function, self.name)


@dataclass(frozen=True, eq=False)
class DeclaredMetafeature(Declared, Metafeature):
    """A metafeature that is a function of counts, with a declared sensitivity."""

    def measured(self, source: Source, epsilon: Fraction) -> Any:
        """By the kernel, if it was opened with this function."""
        if not isinstance(source, VectorSource):
            raise BadInput(f"the metafeature {self.name!r} is a function of counts. Give a vector, not a table.")
        return source.statistic(DeclaredFunction(self.name), epsilon)

    @property
    def words(self) -> str:
        """The first line of its docstring, or its name."""
        return _first_line(self.function, self.name)


@dataclass(frozen=True, eq=False)
class PublicFact(Measured):
    """A metafeature of public facts alone: what a handle says of itself, and the whole ε."""

    free = True


@overload
def metafeature(function: Callable[..., Any], /) -> Metafeature: ...
@overload
def metafeature(
    *,
    sensitivity: Rational | None = None,
    step: Rational | None = None,
    public: bool = False,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Metafeature]: ...
def metafeature(
    function: Callable[..., Any] | None = None,
    /,
    *,
    sensitivity: Rational | None = None,
    step: Rational | None = None,
    public: bool = False,
    name: str | None = None,
) -> Any:
    """Mark a function as a metafeature: ``(source, epsilon)``, which measures with exactly ε; or ``(counts)``, with the
    most that one row can change its value, and the step that a value which is no whole number is rounded to. One that
    is *public* measures nothing, and is told the whole ε.

    >>> import adyton as ad
    >>> @ad.metafeature
    ... def rows(source, epsilon):
    ...     return source.measure(ad.workloads.Total(source.shape), epsilon)
    >>> @ad.metafeature(sensitivity=1)
    ... def largest(counts):
    ...     return counts.max()
    """
    if function is None:
        return lambda inner: metafeature_of(inner, sensitivity, step, name, public=public)
    return metafeature_of(function, sensitivity, step, name, public=public)


def metafeature_of(
    function: Callable[..., Any],
    sensitivity: Rational | None = None,
    step: Rational | None = None,
    name: str | None = None,
    *,
    public: bool = False,
) -> Metafeature:
    """The metafeature of a function, or the metafeature itself."""
    if isinstance(function, Metafeature):
        return function
    if not callable(function):
        raise BadInput(f"a metafeature is a function, given {shorten(function)}.")
    own = name or str(getattr(function, "__name__", ""))
    if not own.isidentifier():
        raise BadInput(
            f"a metafeature has a name that can stand in a formula, given {shorten(own)}. Write it with def."
        )
    taken = _arguments(function)
    if sensitivity is not None:
        given = None if step is None else positive(step, f"the step of {own}")
        return DeclaredMetafeature(own, function, positive(sensitivity, f"the sensitivity of {own}"), given)
    if taken < 2:
        raise BadInput(
            f"the metafeature {own!r} is a function of counts without a sensitivity. Declare by how much one row can "
            "change it, sensitivity=…, or measure with the kernel's operators in a function (source, epsilon)."
        )
    return PublicFact(own, function) if public else Measured(own, function)


def _arguments(function: Callable[..., Any]) -> int:
    """How many arguments it takes by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        return sum(one.kind in kinds for one in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return 1


def _first_line(function: Callable[..., Any], otherwise: str) -> str:
    text = inspect.getdoc(function) or otherwise
    return text.strip().splitlines()[0].rstrip(".")


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
