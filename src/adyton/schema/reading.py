"""How the values of one column are written: what a text must look like to be a value, and what means none.

All of it is public, and says what is read from one row's own text. Formats of dates are keys of dates themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from adyton.errors import SchemaError
from adyton.messages import listing, shorten, suggestion
from adyton.schema.checks import whole_number, writable

THOUSANDS = (",", ".", " ", "'", "_")
DECIMALS = (".", ",")
CASES = ("exact", "ignore")
_LONGEST_SIGN = 20


@dataclass(frozen=True)
class LookUp:
    """A public table beside the private one: a text is looked up in its column *key*, and *value* stands for it.

    *file* is a CSV or Parquet file, beside the schema's own. Every key has one value, or the file is refused.
    """

    file: str
    key: str
    value: str
    folder: str = field(default="", compare=False, repr=False)
    """Where the schema's file is."""

    KEYS: ClassVar[tuple[str, ...]] = ("file", "key", "value")

    def __post_init__(self) -> None:
        for name in self.KEYS:
            given = getattr(self, name)
            if not isinstance(given, str) or not given:
                raise SchemaError(f"the {name} of a look-up must be a text, given {shorten(given)}. {_LOOK_UP}")
            writable(given, f"the {name} of a look-up")

    @classmethod
    def of(cls, given: object) -> LookUp:
        """From a table of a schema file."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping) or set(given) != set(cls.KEYS):
            shown = listing(given) if isinstance(given, Mapping) else shorten(given)
            raise SchemaError(f"a look-up has a file, a key and a value, given {shown}. {_LOOK_UP}")
        return cls(**given)


_LOOK_UP = 'Write lookup = {file = "zips.csv", key = "zip", value = "region"}.'


@dataclass(frozen=True)
class Reading:
    """How the values of an attribute are written in its column.

    >>> Reading(currency="$", thousands=",").currency
    ('$',)
    """

    column: str | None = None
    """The name of the column, if it is not the attribute's own."""
    currency: str | Sequence[str] = ()
    """Signs or words that may stand before or after a number."""
    thousands: str | None = None
    """The sign between groups of digits."""
    decimal: str = "."
    """The sign before the fraction."""
    trim: bool | None = None
    """Whether all kinds of blanks around a text are left out. Left open, spaces are, unless a level has some itself."""
    case: str = "exact"
    """Whether capitals count: ``"exact"`` or ``"ignore"``."""
    first: int | None = None
    """How many characters of a text count."""
    missing: str | Sequence[str | int | float] = ()
    """Words and numbers that mean that there is no value."""
    lookup: LookUp | Mapping[str, str] | None = None
    """A public table in which the text is looked up first."""

    def __post_init__(self) -> None:
        if self.column is not None:
            if not isinstance(self.column, str) or not self.column:
                raise SchemaError(f"column must be the name of a column, given {shorten(self.column)}.")
            writable(self.column, "the name of a column")
        object.__setattr__(self, "currency", tuple(_sign(one) for one in _several(self.currency, "currency")))
        object.__setattr__(self, "missing", tuple(_word(one) for one in _several(self.missing, "missing")))
        for name, allowed in (("thousands", (None, *THOUSANDS)), ("decimal", DECIMALS), ("case", CASES)):
            if not isinstance(getattr(self, name), str | None) or getattr(self, name) not in allowed:
                shown = listing(one for one in allowed if one is not None)
                raise SchemaError(f"{name} must be one of {shown}, given {shorten(getattr(self, name))}.")
        if self.thousands == self.decimal:
            raise SchemaError(
                f"thousands and decimal are both {self.decimal!r}, so that 1{self.decimal}234 could be two numbers. "
                f"Write decimal = {next(sign for sign in DECIMALS if sign != self.decimal)!r} too."
            )
        if self.trim is not None and not isinstance(self.trim, bool):
            raise SchemaError(f"trim must be true or false, given {shorten(self.trim)}.")
        if self.first is not None and whole_number(self.first, "first") < 1:
            raise SchemaError(f"first must be at least 1 character, given {self.first}.")
        if self.lookup is not None:
            object.__setattr__(self, "lookup", LookUp.of(self.lookup))

    @property
    def numeric(self) -> bool:
        """Whether numbers are written in another way than 1250.5."""
        return bool(self.currency) or self.thousands is not None or self.decimal != "."

    @property
    def textual(self) -> bool:
        """Whether texts are changed before they are compared."""
        return any(
            (self.trim is not None, self.case != "exact", self.first is not None, self.missing, self.lookup is not None)
        )

    @property
    def looked_up(self) -> LookUp | None:
        """The look-up, if there is one."""
        return self.lookup if isinstance(self.lookup, LookUp) else None

    def normal(self, text: str) -> str:
        """The text by which a value is compared.

        >>> Reading(trim=True, case="ignore", first=2).normal("  I21.9")
        'i2'
        """
        if self.trim:
            text = text.strip()
        elif self.trim is None:
            text = text.strip(" ")
        text = text if self.first is None else text[: self.first]
        return text.casefold() if self.case == "ignore" else text

    def to_dict(self) -> dict[str, Any]:
        """What a schema file says, without what is left out."""
        entries: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value == getattr(PLAIN, one.name):
                continue
            if isinstance(value, LookUp):
                entries[one.name] = {name: getattr(value, name) for name in LookUp.KEYS}
            elif isinstance(value, tuple):
                entries[one.name] = value[0] if one.name == "currency" and len(value) == 1 else list(value)
            else:
                entries[one.name] = value
        return entries

    def beside(self, folder: str) -> Reading:
        """The same, with the look-up's file in that folder."""
        found = self.looked_up
        return self if found is None else replace(self, lookup=replace(found, folder=folder))


def _several(given: object, name: str) -> tuple[Any, ...]:
    """One or a list of them, as a tuple."""
    if isinstance(given, str | int | float) and not isinstance(given, bool):
        return (given,)
    if isinstance(given, Mapping | bytes | bool) or not hasattr(given, "__iter__"):
        raise SchemaError(f'{name} must be a text or a list, given {shorten(given)}. Write {name} = ["a", "b"].')
    return tuple(given)


def _sign(given: object) -> str:
    if isinstance(given, str) and 0 < len(given) <= _LONGEST_SIGN and re.search(r"[\d\s+\-−()\0]", given) is None:
        return writable(given, "a currency sign")
    raise SchemaError(
        f'a currency sign must be a text like "$", "€" or "USD" without digits, blanks, signs or brackets, given '
        f"{shorten(given)}."
    )


def _word(given: object) -> str | int | float:
    if isinstance(given, str):
        return writable(given, "a word for missing")
    if isinstance(given, int | float) and not isinstance(given, bool) and abs(given) <= 2**53:
        return given
    raise SchemaError(f'missing must list texts or numbers, like ["NA", -99], given {shorten(given)}.')


PLAIN = Reading()
EVERY_KEY = tuple(one.name for one in fields(Reading))
TEXT_KEYS = ("column", "trim", "case", "first", "missing", "lookup")
NUMBER_KEYS = ("column", "currency", "thousands", "decimal", "case", "first", "missing", "lookup")
KEYS_OF: dict[str, tuple[str, ...]] = {
    "categorical": TEXT_KEYS,
    "boolean": ("column", "missing", "lookup"),
    "integer": NUMBER_KEYS,
    "numeric": NUMBER_KEYS,
    "identifier": ("column", "trim", "case", "missing"),
    **dict.fromkeys(("date", "datetime", "duration"), ("missing",)),
    **dict.fromkeys(("longitude", "latitude"), ("decimal", "missing")),
}
"""The keys that make sense for each type of attribute."""


def check_reading(reading: object, kind: str) -> None:
    """An error unless a reading suits a type of attribute."""
    if not isinstance(reading, Reading):
        raise SchemaError(f"reading must be a Reading, given {shorten(reading)}.")
    allowed = KEYS_OF.get(kind, EVERY_KEY)
    for key in reading.to_dict():
        if key not in allowed:
            raise SchemaError(
                f"{kind} takes no {key}. Of the keys about reading it takes {listing(allowed)}."
                + suggestion(key, allowed)
            )
