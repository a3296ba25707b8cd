"""Options: ways to do the same thing, of which a choice maker runs one.

What each option says of itself, by the features that it reads, is a model that the programmer wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from adyton.arrays import Reals
from adyton.choice.formulas import below_best, names_in, parsed, shown, value_of
from adyton.choice.model import Lessons, Look, Model, OutsideError
from adyton.errors import BadInput
from adyton.messages import shorten

Predict = str | Callable[[Any], float]


class Features:
    """The features as a ``predict`` sees them: ``F.sparsity`` is looked at when it is first read.

    >>> Features({"sparsity": 0.5}.__getitem__).sparsity
    0.5
    """

    __slots__ = ("_look",)

    def __init__(self, look: Look) -> None:
        self._look = look

    def __getattr__(self, name: str) -> float:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._look(name)


@dataclass(frozen=True, eq=False)
class Option:
    """A function ``(source, *arguments, epsilon=…)`` that spends exactly ε, and perhaps what its programmer expects.

    *predict* goes from features to a valuation, the higher the better: a function of them, or the text of a formula.
    """

    name: str
    function: Callable[..., Any]
    predict: Predict | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise BadInput(f"an option is a function (source, …, epsilon=…), given {shorten(self.function)}.")
        if not isinstance(self.name, str) or not self.name or "<" in self.name:
            raise BadInput(f"an option has a name of its own, given {shorten(self.name)}. Write it with def.")
        if isinstance(self.predict, str):
            parsed(self.predict)
        elif self.predict is not None and not callable(self.predict):
            raise BadInput(f"predict is a function of features or a formula, given {shorten(self.predict)}.")

    def __call__(self, source: Any, *arguments: Any, epsilon: Any) -> Any:
        """Run it."""
        return self.function(source, *arguments, epsilon=epsilon)

    def valuation(self, look: Look) -> float:
        """What its programmer expects of it, looking at features one by one."""
        assert self.predict is not None
        if isinstance(self.predict, str):
            return float(value_of(parsed(self.predict), look))
        return float(self.predict(Features(look)))

    @property
    def predicts(self) -> str | None:
        """How it predicts, in words."""
        if self.predict is None:
            return None
        if isinstance(self.predict, str):
            return shown(parsed(self.predict))
        name = getattr(self.predict, "__name__", "predict")
        return "as written in Python" if name == "<lambda>" else f"as written in {name}"


@overload
def option(function: Callable[..., Any], /) -> Option: ...
@overload
def option(*, predict: Predict | None = None, name: str | None = None) -> Callable[[Callable[..., Any]], Option]: ...
def option(
    function: Callable[..., Any] | None = None, /, *, predict: Predict | None = None, name: str | None = None
) -> Any:
    """Mark a function ``(source, *arguments, epsilon=…)`` as an option of a choice maker.

    >>> import adyton as ad
    >>> @ad.option(predict="1 - sparsity ^ 2")
    ... def mwem(source, queries, *, epsilon): ...
    >>> mwem.name, mwem.predicts
    ('mwem', '1 - sparsity ^ 2')
    """
    if function is None:
        return lambda inner: option_of(inner, predict, name)
    return option_of(function, predict, name)


def option_of(function: Callable[..., Any], predict: Predict | None = None, name: str | None = None) -> Option:
    """The option of a function, or the option itself."""
    if isinstance(function, Option):
        return function
    return Option(name or str(getattr(function, "__name__", "")), function, predict)


@dataclass(frozen=True, eq=False)
class Written(Model):
    """Takes the option of the largest valuation. Features are looked at as the functions read them."""

    kind = "written"

    options: tuple[Option, ...]
    features: tuple[str, ...]
    """All that a function could read."""

    @classmethod
    def of(cls, options: Sequence[Option], features: Sequence[str]) -> Written | None:
        """The model of these options, if each of them predicts."""
        if not all(one.predict is not None for one in options):
            return None
        return cls(tuple(options), tuple(features))

    def regrets(self, look: Look) -> dict[str, float]:
        """How far each valuation is below the largest. What cannot be computed is no valuation."""
        try:
            return below_best({one.name: one.valuation(look) for one in self.options})
        except ArithmeticError:
            raise OutsideError("a prediction cannot be computed here") from None

    def most(self, free: frozenset[str] = frozenset()) -> int:
        """What formulas name, or all that a function could read."""
        return len(self.asked - free)

    @property
    def asked(self) -> frozenset[str]:
        """What formulas name, or all that a function could read."""
        if all(isinstance(one.predict, str) for one in self.options):
            return frozenset().union(*(names_in(parsed(str(one.predict))) for one in self.options))
        return frozenset(self.features)

    def learnt(self) -> Any:
        """Nothing: it stands in the program."""
        return None

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> Written:
        """Not from a file."""
        raise BadInput("predictions that were written in a program are not in a file. Give the options that predict.")

    def in_words(self) -> str:
        """As they were written."""
        return "\n".join(f"  {one.name}: {one.predicts}" for one in self.options)


def valuations(option: Option, lessons: Lessons) -> Reals | None:
    """What an option's programmer predicts on each row, if anything."""
    if option.predict is None:
        return None
    rows = (dict(zip(lessons.features, row, strict=True)) for row in lessons.values.tolist())
    found = []
    for row in rows:
        try:
            found.append(option.valuation(row.__getitem__))
        except ArithmeticError:
            found.append(np.nan)
    return np.array(found)
