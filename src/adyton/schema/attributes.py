"""Attributes: what is public about one column, and the cells into which its values fall.

Every attribute numbers its cells alike: first the base cells (levels, integers, bins), then one cell for what lies
outside if ``outside="other"``, then one cell for missing values if ``nulls="level"``. Groups are names for several
levels, or groups, at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, TypeAlias

from adyton.errors import SchemaError
from adyton.messages import listing, no_such, shorten
from adyton.remembered import cached_property
from adyton.schema.reading import (
    PLAIN,
    Reading,
    Spellings,
    check_reading,
    check_spellings,
    checked_spellings,
    has_spaces,
    whole_number,
    writable,
)

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
    reading: Reading = PLAIN
    """How its values are written in the column."""

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

    _: KW_ONLY
    reading: Reading = field(default=PLAIN, repr=False)

    def __post_init__(self) -> None:
        check_reading(self.reading, self.kind)

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
    reading: Reading = field(default=PLAIN, repr=False)

    def _check_policies(self) -> None:
        check_reading(self.reading, self.kind)
        if not isinstance(self.nulls, str) or self.nulls not in NULLS:
            raise SchemaError(f"nulls must be one of {listing(NULLS)}, given {shorten(self.nulls)}.")
        if not isinstance(self.outside, str) or self.outside not in self.policies:
            hint = " There is no order to clamp to." if str(self.outside) == "clamp" else ""
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

    @property
    def drops_all(self) -> bool:
        """Whether every value without a base cell is left out."""
        return self.outside == "drop" and self.nulls == "drop"

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Levels and single integers as they are, intervals as text, then ``(other)`` and ``(null)``."""
        extra = [OTHER_LABEL] * (self.outside == "other") + [NULL_LABEL] * (self.nulls == "level")
        return (*self._base_labels(), *extra)


@dataclass(frozen=True)
class Categorical(CelledAttribute):
    """One of some levels: all texts, all whole numbers or all booleans.

    Levels that are written in several ways map each to its *spellings*; its own name is always one of them. *groups*
    name several levels, or other groups, at once: in queries and predicates.

    >>> Categorical(["F", "M"], nulls="level").labels
    ('F', 'M', '(null)')
    >>> boroughs = Categorical({"north": ["BX", "MN"], "south": ["BK", "QN", "SI"]}, groups={"all": ["north", "south"]})
    >>> boroughs.levels, boroughs.members("all")
    (('north', 'south'), ('north', 'south'))
    """

    kind: ClassVar[str] = "categorical"

    levels: Sequence[Level]  # or, when it is made, a mapping to spellings
    _: KW_ONLY
    spellings: Spellings = field(default=(), repr=False)
    groups: Mapping[str, Sequence[Level]] | Groups = field(default=(), repr=False)

    def __post_init__(self) -> None:
        self._check_policies()
        if isinstance(self.levels, Mapping):
            object.__setattr__(self, "spellings", checked_spellings(self.levels))
            object.__setattr__(self, "levels", tuple(self.levels))
        if isinstance(self.levels, str | bytes) or not hasattr(self.levels, "__iter__"):
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
        check_spellings(levels, self.spellings, self.reading)
        object.__setattr__(self, "groups", checked_groups(self.groups, levels, self.labels))

    def members(self, group: str) -> tuple[Level, ...]:
        """The levels of a group."""
        return members(dict(self.groups), group)

    @property
    def recoded(self) -> bool:
        """Whether a text must be turned into the level that it stands for."""
        return bool(self.spellings) or self.reading.textual

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
    def spaced(self) -> bool:
        """Whether a level has spaces around it: values are then read to the letter, and else without theirs."""
        return has_spaces(self.levels, self.spellings)

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


Groups: TypeAlias = tuple[tuple[str, tuple[Any, ...]], ...]


def checked_groups(
    given: Mapping[str, Sequence[Any]] | Groups, levels: Sequence[Any], labels: Sequence[Any] = ()
) -> Groups:
    """The groups by name, or an error: each has levels or other groups, none holds itself or is called like a cell.

    >>> checked_groups({"west": ["CA", "OR"], "coast": ["west", "NY"]}, ["CA", "OR", "NY"])
    (('west', ('CA', 'OR')), ('coast', ('west', 'NY')))
    """
    if not isinstance(given, Mapping):
        if not isinstance(given, tuple) or not all(isinstance(own, tuple) and len(own) == 2 for own in given):
            raise SchemaError(f'groups are named levels, like {{"west": ["CA", "OR"]}}, given {shorten(given)}.')
        given = dict(given)
    found: dict[str, tuple[Any, ...]] = {}
    for name, own in given.items():
        if not isinstance(name, str) or not name or name in (*levels, *labels):
            raise SchemaError(f"a group needs a name that no level has, given {shorten(name)}. Rename it.")
        writable(name, "the name of a group")
        if isinstance(own, str) or not isinstance(own, Sequence) or not own:
            raise SchemaError(f"the group {shorten(name)} must list levels, given {shorten(own)}.")
        found[name] = tuple(own)
    for name, own in found.items():
        for one in own:
            if one not in levels and one not in found:
                raise SchemaError(f"in the group {shorten(name)}, {no_such('level', one, [*levels, *found])}")
    for name in found:
        members(found, name)
    return tuple(found.items())


def members(groups: Mapping[str, Sequence[Any]], name: str) -> tuple[Any, ...]:
    """All levels of a group, each once, in the order in which they are named."""
    levels: dict[Any, None] = {}
    _walk(groups, name, levels, ())
    return tuple(levels)


def _walk(groups: Mapping[str, Sequence[Any]], name: Any, levels: dict[Any, None], above: tuple[Any, ...]) -> None:
    if name in above:
        raise SchemaError(f"the groups {listing(above)} hold one another in a circle. A group is made of smaller ones.")
    if not isinstance(name, str) or name not in groups:
        levels[name] = None
        return
    for one in groups[name]:
        _walk(groups, one, levels, (*above, name))
