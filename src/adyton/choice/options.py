"""Options: ways to do the same thing, of which a choice maker runs one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

from adyton.choice.formulas import parsed, shown, value_of
from adyton.choice.model import Look
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
