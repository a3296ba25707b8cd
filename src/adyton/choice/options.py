"""Options of a choice maker, and metafeatures: noisy numbers about private data that inform the choice.

There are three kinds of metafeatures. The first is built from the kernel's own operators: a function of a source and an
ε that measures with exactly that ε. The kernel guarantees its privacy; nothing is declared. The second is a plain
function of counts with a declared sensitivity. A kernel runs such a function only if it was opened with it
(``trusted=[…]``): the person who opens it answers for the declaration, and the kernel adds the noise. The third is
public: it measures nothing, uses only public properties of the handle and the whole ε, and costs nothing.

The predictions of the options' programmers, which are functions of features, are a model too.
"""

from __future__ import annotations

import inspect
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np

from adyton.arrays import Reals
from adyton.choice.decision import Bought
from adyton.choice.formulas import below_best, names_in, parsed, shown, value_of
from adyton.choice.models import Lessons, Look, Model, OutsideError
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
    function: Callable[..., Any]
    free: ClassVar[bool] = False
    """Whether it is public, and costs nothing."""

    @abstractmethod
    def measured(self, source: Source, epsilon: Fraction) -> Any:
        """The noisy number, for exactly ε."""

    def buy(self, source: Source, epsilon: Fraction) -> Bought:
        """The noisy number with its price."""
        answer = self.measured(source, epsilon)
        value = seen(self.name, answer)
        if isinstance(value, str):
            raise BadInput(f"the metafeature {self.name!r} returned a text, but a metafeature is a number.")
        deviation = answer.deviation if isinstance(answer, Noisy) else float("nan")  # computed from measurements
        return Bought(self.name, self.words, value, deviation, epsilon)

    @property
    def words(self) -> str:
        """What it is, for people: the first line of its docstring, or its name."""
        return (inspect.getdoc(self.function) or self.name).strip().splitlines()[0].rstrip(".")


@dataclass(frozen=True, eq=False)
class Measured(Metafeature):
    """A metafeature that is built from the kernel's operators."""

    name: str
    function: Callable[[Any, Fraction], Any]

    def measured(self, source: Source, epsilon: Fraction) -> Any:
        """As the function measures it."""
        return self.function(source, epsilon)


@dataclass(frozen=True, eq=False)
class DeclaredMetafeature(Declared, Metafeature):
    """A metafeature that is a function of counts, with a declared sensitivity."""

    def measured(self, source: Source, epsilon: Fraction) -> Any:
        """By the kernel, if it was opened with this function."""
        if not isinstance(source, VectorSource):
            raise BadInput(f"the metafeature {self.name!r} is a function of counts. Give a vector, not a table.")
        return source.statistic(DeclaredFunction(self.name), epsilon)


@dataclass(frozen=True, eq=False)
class PublicFact(Measured):
    """A metafeature of public facts only: public properties of the handle, and the whole ε."""

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
    """Mark a function as a metafeature: ``(source, epsilon)``, which measures with exactly ε; or ``(counts)``, with a
    *sensitivity*, the most that one row can change its value, and a *step* to which values that are not whole numbers
    are rounded. A *public* metafeature measures nothing, and is given the whole ε.

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
            f"a metafeature needs a name that can be used in a formula, given {shorten(own)}. Write it with def."
        )
    if sensitivity is not None:
        given = None if step is None else positive(step, f"the step of {own}")
        return DeclaredMetafeature(own, function, positive(sensitivity, f"the sensitivity of {own}"), given)
    if _arguments(function) < 2:
        raise BadInput(
            f"the metafeature {own!r} is a function of counts without a sensitivity. Declare by how much one row can "
            "change it, sensitivity=…, or measure with the kernel's operators in a function (source, epsilon)."
        )
    return PublicFact(own, function) if public else Measured(own, function)


def _arguments(function: Callable[..., Any]) -> int:
    """How many arguments it takes by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        return sum(parameter.kind in kinds for parameter in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return 1


Seen: TypeAlias = float | str


def seen(name: str, given: Any) -> Seen:
    """A value as a choice sees it: a number or a word; a handle of private data is refused.

    >>> seen("depth", 3), seen("last", True), seen("kind", "leaf")
    (3.0, 1.0, 'leaf')
    """
    if isinstance(given, Sealed):
        raise BadInput(
            f"{name} leads to private data, and a choice may use only public numbers and measured answers. "
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
        f"{name} is {what}. A choice sees single numbers, words, and measurements of one answer: give one of these."
    )


def _number(given: Any) -> float:
    """The number in double precision; infinite if it is too large, which is outside every range that was trained on."""
    try:
        return float(given)
    except OverflowError:
        return float("inf") if given > 0 else float("-inf")


def features_of(values: Mapping[str, Seen]) -> dict[str, float]:
    """Numbers as they are; for a word, the feature ``name is word`` with the value 1.

    >>> features_of({"depth": 3.0, "kind": "leaf"})
    {'depth': 3.0, 'kind is leaf': 1.0}
    """
    pairs = values.items()
    return dict((name, value) if isinstance(value, float) else (f"{name} is {value}", 1.0) for name, value in pairs)


Predict = str | Callable[[Any], float]


class Features:
    """The features as ``predict`` sees them: ``F.sparsity`` is requested when it is read.

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
    """A function ``(source, *arguments, epsilon=…)`` that spends exactly ε, perhaps with a prediction.

    *predict* maps features to a valuation (higher is better): it is a function, or the text of a formula.
    """

    name: str
    function: Callable[..., Any]
    predict: Predict | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise BadInput(f"an option is a function (source, …, epsilon=…), given {shorten(self.function)}.")
        if not isinstance(self.name, str) or not self.name or "<" in self.name:
            raise BadInput(f"an option needs a name, given {shorten(self.name)}. Write it with def.")
        if isinstance(self.predict, str):
            parsed(self.predict)
        elif self.predict is not None and not callable(self.predict):
            raise BadInput(f"predict is a function of features or a formula, given {shorten(self.predict)}.")

    def __call__(self, source: Any, *arguments: Any, epsilon: Any) -> Any:
        """Run the option."""
        return self.function(source, *arguments, epsilon=epsilon)

    def valuation(self, look: Look) -> float:
        """The valuation that its programmer predicts; features are read one by one."""
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
    """The programmers' own predictions: the option with the largest valuation is chosen. A feature is requested when a
    prediction reads it."""

    kind = "written"

    options: tuple[Option, ...]
    features: tuple[str, ...]
    """All features that a function could read."""

    @classmethod
    def of(cls, options: Sequence[Option], features: Sequence[str]) -> Written | None:
        """The model of these options, if each of them predicts."""
        if any(option.predict is None for option in options):
            return None
        return cls(tuple(options), tuple(features))

    def regrets(self, look: Look) -> dict[str, float]:
        """How far each valuation is below the largest; OutsideError if a valuation cannot be computed."""
        try:
            return below_best({option.name: option.valuation(look) for option in self.options})
        except ArithmeticError:
            raise OutsideError("a prediction cannot be computed here") from None

    @property
    def asked(self) -> frozenset[str]:
        """The features in the formulas; all features if a prediction is a function."""
        if all(isinstance(option.predict, str) for option in self.options):
            return frozenset().union(*(names_in(parsed(str(option.predict))) for option in self.options))
        return frozenset(self.features)

    def learnt(self) -> Any:
        """Nothing: the predictions are in the program."""
        return None

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> Written:
        """Refused: predictions are not saved in files."""
        raise BadInput("predictions that were written in a program are not in a file. Give the options that predict.")

    def in_words(self) -> str:
        """The predictions as they were written."""
        return "\n".join(f"  {option.name}: {option.predicts}" for option in self.options)


def valuations(option: Option, lessons: Lessons) -> Reals | None:
    """What an option's programmer predicts on each row, if anything."""
    if option.predict is None:
        return None
    predicted = []
    for row in lessons.values.tolist():
        try:
            predicted.append(option.valuation(dict(zip(lessons.features, row, strict=True)).__getitem__))
        except ArithmeticError:
            predicted.append(np.nan)
    return np.array(predicted)
