"""Attributes: what is public about one column, and the cells into which its values fall.

Every attribute numbers its cells alike: first the base cells (levels, integers, bins), then one cell for what lies
outside if ``outside="other"``, then one cell for missing values if ``nulls="level"``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

from adyton.errors import SchemaError
from adyton.messages import listing, shorten
from adyton.remembered import cached_property
from adyton.schema.checks import real_number, whole_number, writable

Level: TypeAlias = str | int | bool
Label: TypeAlias = str | int | bool

OTHER_LABEL = "(other)"
NULL_LABEL = "(null)"
NULLS = ("drop", "level")


class Attribute(ABC):
    """What is public about one column."""

    kind: ClassVar[str]
    ordered: ClassVar[bool] = False
    """Whether neighbouring cells hold neighbouring values: a range of them makes sense."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many cells the attribute has."""

    @property
    @abstractmethod
    def labels(self) -> tuple[Label, ...]:
        """One label per cell, in the order of the cells."""


@dataclass(frozen=True)
class Identifier(Attribute):
    """A column that names people or things: it can be a group-by key or tested for null, and has no cells."""

    kind: ClassVar[str] = "identifier"

    @property
    def size(self) -> int:
        """An identifier has none: asking is an error."""
        raise SchemaError("an identifier has no cells. Select the other attributes, or group by the identifier first.")

    @property
    def labels(self) -> tuple[Label, ...]:
        """An identifier has none: asking is an error."""
        raise SchemaError("an identifier has no labels. Select the other attributes, or group by the identifier first.")


@dataclass(frozen=True)
class CelledAttribute(Attribute):
    """An attribute with cells, and the policies for what is missing or lies outside."""

    policies: ClassVar[tuple[str, ...]] = ("drop", "other")

    _: KW_ONLY
    nulls: str = "drop"
    outside: str = "drop"

    def _check_policies(self) -> None:
        if self.nulls not in NULLS:
            raise SchemaError(f"nulls must be one of {listing(NULLS)}, given {shorten(self.nulls)}.")
        if self.outside not in self.policies:
            hint = " There is no order to clamp to." if self.outside == "clamp" else ""
            raise SchemaError(
                f"outside must be one of {listing(self.policies)} for {self.kind}, given {shorten(self.outside)}.{hint}"
            )

    @property
    @abstractmethod
    def base_size(self) -> int:
        """How many cells there are before those for other and missing values."""

    @abstractmethod
    def _base_labels(self) -> tuple[Label, ...]: ...

    @property
    def size(self) -> int:
        """Base cells, plus one for other values, plus one for missing ones, where declared."""
        return self.base_size + (self.outside == "other") + (self.nulls == "level")

    @property
    def other_cell(self) -> int | None:
        """The cell of what lies outside, if there is one."""
        return self.base_size if self.outside == "other" else None

    @property
    def null_cell(self) -> int | None:
        """The cell of missing values, if there is one."""
        return self.size - 1 if self.nulls == "level" else None

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Levels and single integers as they are, intervals as text, then ``(other)`` and ``(null)``."""
        extra = [OTHER_LABEL] * (self.outside == "other") + [NULL_LABEL] * (self.nulls == "level")
        return (*self._base_labels(), *extra)


@dataclass(frozen=True)
class Categorical(CelledAttribute):
    """One of some levels: all texts, all whole numbers or all booleans.

    >>> Categorical(["F", "M"], nulls="level").labels
    ('F', 'M', '(null)')
    """

    kind: ClassVar[str] = "categorical"

    levels: Sequence[Level]

    def __post_init__(self) -> None:
        self._check_policies()
        if isinstance(self.levels, str | bytes | dict) or not hasattr(self.levels, "__iter__"):
            raise SchemaError(f'levels must be a list, given {shorten(self.levels)}. Write levels = ["a", "b"].')
        levels = tuple(self._level(level) for level in self.levels)
        object.__setattr__(self, "levels", levels)
        if not levels:
            raise SchemaError("levels is empty. List every value the column may take.")
        if len({type(level) for level in levels}) > 1:
            raise SchemaError(f"levels must be all texts, all whole numbers or all booleans, given {listing(levels)}.")
        if len(set(levels)) < len(levels):
            seen: set[Level] = set()
            twice = [level for level in levels if level in seen or seen.add(level)]  # type: ignore[func-returns-value]
            raise SchemaError(f"levels must differ, given twice: {listing(twice)}. Write each level once.")
        for reserved, used in ((OTHER_LABEL, self.outside == "other"), (NULL_LABEL, self.nulls == "level")):
            if used and reserved in levels:
                raise SchemaError(f"the level {reserved!r} is the name of a cell of its own here. Rename the level.")

    @staticmethod
    def _level(level: object) -> Level:
        if isinstance(level, bool):
            return level
        if isinstance(level, str):
            return writable(str(level), "a level")
        if hasattr(level, "__index__"):
            return whole_number(level, "a level")
        raise SchemaError(f"a level must be a text, a whole number or a boolean, given {shorten(level)}.")

    @property
    def base_size(self) -> int:
        """One cell per level."""
        return len(self.levels)

    def _base_labels(self) -> tuple[Label, ...]:
        return tuple(self.levels)


@dataclass(frozen=True)
class Boolean(CelledAttribute):
    """False or true. What lies outside is what cannot be read as either, such as a 7.

    >>> Boolean(outside="other").labels
    (False, True, '(other)')
    """

    kind: ClassVar[str] = "boolean"

    def __post_init__(self) -> None:
        self._check_policies()

    @property
    def base_size(self) -> int:
        """Two."""
        return 2

    def _base_labels(self) -> tuple[Label, ...]:
        return (False, True)


@dataclass(frozen=True)
class Integer(CelledAttribute):
    """Whole numbers from *min* to *max*, both included, in cells of *step* numbers each.

    A number with a fraction falls in the cell of the whole number below it.

    >>> Integer(0, 99, step=25).labels
    ('[0, 24]', '[25, 49]', '[50, 74]', '[75, 99]')
    """

    kind: ClassVar[str] = "integer"
    ordered: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = ("drop", "clamp", "other")

    min: int
    max: int
    step: int = 1

    def __post_init__(self) -> None:
        self._check_policies()
        for name in ("min", "max", "step"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name))
        if self.min > self.max:
            raise SchemaError(f"min is {self.min} and max is {self.max}: min must not exceed max. Swap them?")
        if self.max - self.min >= 2**53:
            raise SchemaError(f"max − min must be below 2^53, given {self.min} to {self.max}. Write tighter bounds.")
        if self.step < 1:
            raise SchemaError(f"step must be at least 1, given {self.step}.")

    @property
    def base_size(self) -> int:
        """One cell per *step* numbers; the last may be shorter."""
        return (self.max - self.min) // self.step + 1

    def _base_labels(self) -> tuple[Label, ...]:
        starts = range(self.min, self.max + 1, self.step)
        if self.step == 1:
            return tuple(starts)
        return tuple(f"[{start}, {min(start + self.step - 1, self.max)}]" for start in starts)


@dataclass(frozen=True)
class Numeric(CelledAttribute):
    """Real numbers from *min* to *max* in *bins* cells of equal width, or in the cells between given *edges*.

    Cells hold their left edge and not their right one, except the last, which holds both. Among bins of equal width,
    what lies less than a billionth of a bin below an edge counts as on it: 0.29 is in [0.29, 0.3), although the nearest
    doubles say otherwise. Given edges are compared exactly.

    >>> Numeric(0, 1, bins=2).labels
    ('[0, 0.5)', '[0.5, 1]')
    >>> Numeric(edges=[0, 1, 10]).size
    2
    """

    kind: ClassVar[str] = "numeric"
    ordered: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = ("drop", "clamp", "other")

    min: float = field(default=None)  # type: ignore[assignment]
    max: float = field(default=None)  # type: ignore[assignment]
    bins: int = field(default=None)  # type: ignore[assignment]
    edges: Sequence[float] | None = None

    def __post_init__(self) -> None:
        self._check_policies()
        if self.edges is not None:
            self._check_edges()
            return
        missing = [name for name in ("min", "max", "bins") if getattr(self, name) is None]
        if missing:
            raise SchemaError(f"{' and '.join(missing)} missing: numeric needs min, max and bins, or edges.")
        object.__setattr__(self, "min", real_number(self.min, "min"))
        object.__setattr__(self, "max", real_number(self.max, "max"))
        object.__setattr__(self, "bins", whole_number(self.bins, "bins"))
        if self.min >= self.max:
            raise SchemaError(f"min is {self.min} and max is {self.max}: min must be below max. Swap them?")
        if self.bins < 1:
            raise SchemaError(f"bins must be at least 1, given {self.bins}.")
        largest = max(abs(self.min), abs(self.max))
        if self.width < largest * 2**-52 or self.width < 1e-300:
            raise SchemaError(f"{self.bins} bins between {self.min} and {self.max} are too narrow. Ask for fewer bins.")

    def _check_edges(self) -> None:
        given: Any = self.edges
        if isinstance(given, str | bytes | dict) or not hasattr(given, "__iter__"):
            raise SchemaError(f"edges must be a list of numbers, given {shorten(given)}. Write edges = [0, 10, 100].")
        edges = tuple(real_number(edge, "an edge") for edge in given)
        if len(edges) < 2:
            raise SchemaError(f"edges needs at least two numbers, given {shorten(list(edges))}.")
        for left, right in pairwise(edges):
            if left >= right:
                raise SchemaError(f"edges must increase, given {left} before {right}. Sort them; write each once.")
        derived = {"min": edges[0], "max": edges[-1], "bins": len(edges) - 1}
        for name, value in derived.items():
            if getattr(self, name) not in (None, value):
                raise SchemaError(f"give either edges or {name}, not both: the edges already say {name} = {value}.")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "edges", edges)

    @property
    def width(self) -> float:
        """The width of a cell, where all are equal."""
        return (self.max - self.min) / self.bins

    @property
    def tolerance(self) -> float:
        """The part of a bin's width that counts as on the edge above it; it exceeds the rounding of doubles."""
        return max(1e-9, 1e-15 * self.bins)

    @property
    def base_size(self) -> int:
        """One cell per bin."""
        return self.bins

    def _base_labels(self) -> tuple[Label, ...]:
        edges = self.edges or [*(self.min + i * self.width for i in range(self.bins)), self.max]
        texts = [_number_text(edge) for edge in edges]
        closing = [")"] * (self.bins - 1) + ["]"]
        return tuple(f"[{a}, {b}{close}" for a, b, close in zip(texts, texts[1:], closing, strict=False))


def _number_text(number: float) -> str:
    """A number for a label: without the noise of the last digits, and whole numbers without a point."""
    text = f"{number:.12g}"
    return text if "e" not in text or abs(number) >= 2**53 or number % 1 else str(int(number))
