"""An algorithm: anything that can be run on a source, with its options and the checks before it runs.

Plans, programs for many tables, programs for numbers and learners differ in their requests and results, not in how they
are checked. Memory and time are checked before the first measurement, because spent budget cannot be recovered.

Options are fields, and a field's type says which values are allowed. All are read once, when an algorithm is created:
``partition_share: Share = Fraction(1, 4)`` takes ``0.25``, ``"1/4"`` or ``Decimal("0.25")`` and is a fraction from then
on; ``longest: Whole | None = None`` may be left out. Anything else is an error that names the option.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache, partial
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from adyton.errors import BadInput
from adyton.exact import Rational, positive, share
from adyton.kernel.operators import check_depth
from adyton.kernel.sources import Source
from adyton.messages import shorten
from adyton.whole import whole

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MOST_CELLS = 1 << 22
"""The most cells for a plan that processes its answers cell by cell: minutes of work."""
MOST_LONG_CELLS = 1 << 24
"""The most cells for a plan that processes its answers block by block."""
MOST_PLAIN_CELLS = 1 << 25
"""The most cells for a plan that only adds noise and solves for the cells."""
MOST_STRIPES = 1 << 12
"""The most stripes that are measured one after the other: each takes some hundredths of a second."""
STEPS_INSIDE = 24
"""How many successive transformations a plan may make."""
SMALLEST_EPSILON = Fraction(1, 1 << 40)
_MOST_BITS = 1000

Input = TypeVar("Input", bound=Source)
Question = TypeVar("Question")


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC, Generic[Input, Question]):
    """A frozen value whose fields are the options. :meth:`check_run` returns the function to run.

    An algorithm cannot see whether a source is private, with exact noise, or public, with simulated noise: the same
    code serves both. *epsilon* is for one row, as everywhere below a session; a source of stability s is charged s
    times as much.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        read_options(self)  # a subclass that checks more does so after this

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """The names of its options. A chosen algorithm may have only some of the options given to the choice."""
        return tuple(option.name for option in fields(cls))

    def prepared(self, source: Input, asked: Question, epsilon: Fraction, /) -> Callable[[], Any]:
        """Make sure that it can run to completion with this budget; otherwise nothing is spent.

        Returns the function that runs it, now and in a replay: it does not depend on the remaining budget.
        """
        check_reach(epsilon)
        self.check_asked(source, asked)
        source.kernel.afford(source, epsilon)
        check_depth(source.lineage, STEPS_INSIDE)
        return self.check_run(source, asked, epsilon)

    def admit(self, source: Input, asked: Question, epsilon: Fraction, /) -> None:
        """Make sure that it can run to completion with this budget; otherwise nothing is spent."""
        self.prepared(source, asked, epsilon)

    def admitted(self, source: Input, asked: Question, epsilon: Rational, /) -> Fraction:
        """The budget as an exact number, after :meth:`admit`."""
        amount = positive(epsilon, "epsilon", computed=True)
        self.admit(source, asked, amount)
        return amount

    @abstractmethod
    def check_asked(self, source: Input, asked: Question, /) -> None:
        """Raise an error if the request does not fit the source or is not supported, whatever the budget."""

    @abstractmethod
    def check_run(self, source: Input, asked: Question, epsilon: Fraction, /) -> Callable[[], Any]:
        """Raise an error if the run could not be completed. Sources may be derived for this, but nothing is measured.

        Returns the function that runs it.
        """


def check_reach(epsilon: Fraction) -> None:
    """Raise an error for a budget with which a plan that divides it further could fail halfway."""
    if epsilon < SMALLEST_EPSILON:
        raise BadInput(
            "epsilon must be at least 2^-40 for every row of a person: below that, answers are nothing but noise."
        )
    if max(epsilon.numerator.bit_length(), epsilon.denominator.bit_length()) > _MOST_BITS:
        raise BadInput(f"epsilon has more than {_MOST_BITS} bits. Write it with fewer digits.")


Reader: TypeAlias = Callable[[object, str], Any]
"""A function from the given value and the name of the option to the option's value, or an error."""


@dataclass(frozen=True)
class Within:
    """Reads a number by *read*; an error if it is below *least*, or above *most* if there is such a bound."""

    read: Reader
    least: Fraction | int
    most: Fraction | int | None = None

    def __call__(self, given: object, name: str) -> Any:
        """The number, or an error."""
        value = self.read(given, name)
        if value < self.least or (self.most is not None and value > self.most):
            bounds = f"at least {self.least}" if self.most is None else f"from {self.least} to {self.most:,}"
            raise BadInput(f"{name} must be {bounds}, given {shorten(given)}.")
        return value


def whole_number(given: object, name: str) -> int:
    """A whole number of at least 0."""
    return whole(given, name, 0)


Share: TypeAlias = Annotated[Fraction, share]
"""A share of a budget: greater than 0 and less than 1."""
Positive: TypeAlias = Annotated[Fraction, positive]
"""A number greater than 0."""
Whole: TypeAlias = Annotated[int, Within(whole_number, 1)]
"""A whole number of at least 1."""


def read_options(plan: DataclassInstance) -> None:
    """Replace the given value of each option, or its default, by the value read from it."""
    readers = _readers(type(plan))
    for field in fields(plan):
        given = getattr(plan, field.name)
        if getattr(type(given), "__hash__", None) is None:
            raise BadInput(f"{field.name} must be a single value, given {shorten(given)}.")
        if field.name in readers:
            object.__setattr__(plan, field.name, readers[field.name](given, field.name))


@lru_cache(maxsize=256)
def _readers(plan: type[DataclassInstance]) -> dict[str, Reader]:
    """The readers of options by name, for the options whose types define one."""
    readers = {name: _reader(hint) for name, hint in _hints(plan).items()}
    return {name: reader for name, reader in readers.items() if reader is not None}


def _hints(plan: type) -> dict[str, Any]:
    """The types of all fields; for a class whose types only a type checker can resolve, those of its base class."""
    try:
        return get_type_hints(plan, include_extras=True)
    except NameError:
        return _hints(plan.__mro__[1])


def _reader(kind: Any) -> Reader | None:
    """The reader for the type of a field: a flag, one of some words, a type with its own reader, or one of these or
    None."""
    if kind is bool:
        return _flag
    if get_origin(kind) is Literal:
        return partial(_one_of, get_args(kind))
    if NoneType in get_args(kind):
        inner = _reader(next(part for part in get_args(kind) if part is not NoneType))
        return inner and (lambda given, name: None if given is None else inner(given, name))
    return next(filter(callable, getattr(kind, "__metadata__", ())), None)


def _flag(given: object, name: str) -> bool:
    if not isinstance(given, bool | np.bool_):
        raise BadInput(f"{name} must be true or false, given {shorten(given)}.")
    return bool(given)


def _one_of(words: tuple[object, ...], given: object, name: str) -> object:
    if given not in words:
        raise BadInput(f"{name} must be {' or '.join(map(repr, words))}, given {shorten(given)}.")
    return given
