"""Attributes: what is public about one column, and the cells into which its values fall.

Every attribute numbers its cells in the same way: first the base cells (levels, integers, bins), then one cell for
values outside if ``outside="other"``, then one cell for missing values if ``nulls="level"``. A group is a name for
several levels or groups.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, ClassVar, TypeAlias

from adyton.compiling import cached_property
from adyton.errors import SchemaError
from adyton.messages import listing, no_such, shorten, suggestion
from adyton.schema.look_up_files import LevelsFile
from adyton.schema.reading import (
    EVERY_KEY,
    PLAIN,
    LookUp,
    Reading,
    Spellings,
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


@dataclass(frozen=True)
class Attribute(ABC):
    """What is public about one column. The same keys as in a schema file say which column that is, and how its values
    are written; *reading* holds them all, and can be given instead.
    """

    kind: ClassVar[str]
    ordered: ClassVar[bool] = False
    """Whether neighbouring cells hold neighbouring values, so that ranges make sense."""

    _: KW_ONLY
    column: str | None = field(default=None, repr=False)
    missing: str | Sequence[str | int | float] = field(default=(), repr=False)
    reading: Reading = field(default=PLAIN, repr=False, compare=False)

    def _read_keys(self) -> None:
        """Make the reading from the keys, or the keys from a reading that was given instead."""
        if not isinstance(self.reading, Reading):
            raise SchemaError(f"reading must be a Reading, given {shorten(self.reading)}.")
        own = tuple(key.name for key in fields(self) if key.name in EVERY_KEY)
        reading = Reading(**{key: getattr(self, key) for key in own})
        if self.reading != PLAIN:
            strange = next((key for key in self.reading.to_dict() if key not in own), None)
            if strange is not None:
                words = f"{self.kind} takes no {strange}. The keys about reading that it takes are {listing(own)}."
                raise SchemaError(words + suggestion(strange, own))
            if reading not in (PLAIN, self.reading):
                raise SchemaError(f"a reading is given together with {listing(reading.to_dict())}. Give only one.")
            reading = self.reading
        for key in own:
            object.__setattr__(self, key, getattr(reading, key))
        object.__setattr__(self, "reading", reading)

    @property
    def years(self) -> bool:
        """Whether its values can be years, which are written without commas: all of them are from 1000 to 2999."""
        return False

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
    """A column that names people or things: it can be a group-by key or tested for null, but has no cells."""

    kind: ClassVar[str] = "identifier"

    _: KW_ONLY
    trim: bool | None = field(default=None, repr=False)
    case: str = field(default="exact", repr=False)

    def __post_init__(self) -> None:
        self._read_keys()

    @property
    def size(self) -> int:
        """Always an error: an identifier has no cells."""
        raise SchemaError("an identifier has no cells. Select the other attributes, or group by the identifier first.")

    @property
    def labels(self) -> tuple[Label, ...]:
        """Always an error: an identifier has no labels."""
        raise SchemaError("an identifier has no labels. Select the other attributes, or group by the identifier first.")


@dataclass(frozen=True)
class CelledAttribute(Attribute):
    """An attribute with cells, and the policies for values that are missing or lie outside."""

    policies: ClassVar[tuple[str, ...]] = ("drop", "other")

    _: KW_ONLY
    nulls: str = "drop"
    outside: str = "drop"

    def _check_policies(self) -> None:
        self._read_keys()
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
        """The number of cells without those for other and missing values."""

    @abstractmethod
    def _base_labels(self) -> tuple[Label, ...]: ...

    @property
    def size(self) -> int:
        """The base cells, plus one for other values and one for missing values, where declared."""
        return self.base_size + (self.outside == "other") + (self.nulls == "level")

    @property
    def other_cell(self) -> int | None:
        """The cell of values that lie outside, if there is one."""
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
    """One of a list of levels: all texts, all whole numbers or all booleans.

    For levels that are written in several ways, give a mapping from each level to its *spellings*; its own name is
    always one of them. Many levels can be read from a public *levels_file*: one per line, or ``{"file": "zips.csv",
    "column": "zip"}``. *groups* are names for several levels or groups, for use in queries and predicates.

    >>> Categorical(["F", "M"], nulls="level").labels
    ('F', 'M', '(null)')
    >>> boroughs = Categorical({"north": ["BX", "MN"], "south": ["BK", "QN", "SI"]}, groups={"all": ["north", "south"]})
    >>> boroughs.levels, boroughs.members("all")
    (('north', 'south'), ('north', 'south'))
    """

    kind: ClassVar[str] = "categorical"

    levels: Sequence[Level] = ()  # the constructor also takes a mapping to spellings
    _: KW_ONLY
    levels_file: str | Mapping[str, str] | LevelsFile | None = field(default=None, repr=False, compare=False)
    spellings: Spellings = field(default=(), repr=False)
    groups: Mapping[str, Sequence[Level]] | Groups = field(default=(), repr=False)
    trim: bool | None = field(default=None, repr=False)
    case: str = field(default="exact", repr=False)
    first: int | None = field(default=None, repr=False)
    lookup: LookUp | Mapping[str, str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._check_policies()
        if self.levels_file is not None:
            self._read_levels(LevelsFile.of(self.levels_file))
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
                raise SchemaError(f"the level {reserved!r} is the name of an added cell here. Rename the level.")
        check_spellings(levels, self.spellings, self.reading)
        object.__setattr__(self, "groups", checked_groups(self.groups, levels, self.labels))

    def _read_levels(self, file: LevelsFile) -> None:
        """Read the levels of a file once: the attribute holds them, and later changes of the file have no effect."""
        if not file.digest:
            if self.levels:
                raise SchemaError("levels and a levels_file are given. Give one of them.")
            object.__setattr__(self, "levels", file.levels())
            file = file.read(self.levels)
        object.__setattr__(self, "levels_file", file)

    def members(self, group: str) -> tuple[Level, ...]:
        """The levels of a group."""
        return members(dict(self.groups), group)

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
        """Whether a level has spaces around it; only then are values compared with their spaces."""
        return has_spaces(self.levels, self.spellings)

    @property
    def base_size(self) -> int:
        """One cell per level."""
        return len(self.levels)

    def _base_labels(self) -> tuple[Label, ...]:
        return tuple(self.levels)


@dataclass(frozen=True)
class Boolean(CelledAttribute):
    """False or true. A value that cannot be read as either, such as a 7, lies outside.

    >>> Boolean(outside="other").labels
    (False, True, '(other)')
    """

    kind: ClassVar[str] = "boolean"

    _: KW_ONLY
    lookup: LookUp | Mapping[str, str] | None = field(default=None, repr=False)

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
    """The groups by name. An error unless all have levels or groups, and none contains itself or is named like a cell.

    >>> checked_groups({"west": ["CA", "OR"], "coast": ["west", "NY"]}, ["CA", "OR", "NY"])
    (('west', ('CA', 'OR')), ('coast', ('west', 'NY')))
    """
    if not isinstance(given, Mapping):
        if not isinstance(given, tuple) or not all(isinstance(own, tuple) and len(own) == 2 for own in given):
            raise SchemaError(f'groups are named levels, like {{"west": ["CA", "OR"]}}, given {shorten(given)}.')
        given = dict(given)
    groups: dict[str, tuple[Any, ...]] = {}
    for name, own in given.items():
        if not isinstance(name, str) or not name or name in (*levels, *labels):
            raise SchemaError(f"a group needs a name that no level has, given {shorten(name)}. Rename it.")
        writable(name, "the name of a group")
        if isinstance(own, str) or not isinstance(own, Sequence) or not own:
            raise SchemaError(f"the group {shorten(name)} must list levels, given {shorten(own)}.")
        groups[name] = tuple(own)
    for name, own in groups.items():
        for member in own:
            if member not in levels and member not in groups:
                raise SchemaError(f"in the group {shorten(name)}, {no_such('level', member, [*levels, *groups])}")
    for name in groups:
        members(groups, name)
    return tuple(groups.items())


def members(groups: Mapping[str, Sequence[Any]], name: str) -> tuple[Any, ...]:
    """All levels of a group, each once, in the order in which they are named."""
    levels: dict[Any, None] = {}
    _walk(groups, name, levels, ())
    return tuple(levels)


def _walk(groups: Mapping[str, Sequence[Any]], name: Any, levels: dict[Any, None], above: tuple[Any, ...]) -> None:
    if name in above:
        raise SchemaError(f"the groups {listing(above)} contain one another. A group is made of smaller groups.")
    if not isinstance(name, str) or name not in groups:
        levels[name] = None
        return
    for member in groups[name]:
        _walk(groups, member, levels, (*above, name))
