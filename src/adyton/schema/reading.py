"""How the values of one column are written: which texts are values, and which mean that the value is missing.

All of it is public, and says how a row's own text is read. Formats of dates are keys of the date attributes themselves.
A level may be written in several ways, and each text means one level. The small checks at the end are shared by all
classes of the schema: every message says what was given and what is allowed.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

from adyton.errors import SchemaError
from adyton.messages import listing, shorten, suggestion

THOUSANDS = (",", ".", " ", "'", "_")
DECIMALS = (".", ",")
CASES = ("exact", "ignore")
_LONGEST_SIGN = 20


@dataclass(frozen=True)
class LookUp:
    """A public table next to the private one: a text is looked up in its column *key*, and replaced by its *value*.

    *file* is a CSV or Parquet file, relative to the schema's file. Every key must have one value.
    """

    file: str
    key: str
    value: str
    folder: str = field(default="", compare=False, repr=False)
    """The folder of the schema's file."""

    KEYS: ClassVar[tuple[str, ...]] = ("file", "key", "value")

    def __post_init__(self) -> None:
        for name in self.KEYS:
            given = getattr(self, name)
            if not isinstance(given, str) or not given:
                raise SchemaError(f"the {name} of a look-up must be a text, given {shorten(given)}. {_LOOK_UP}")
            writable(given, f"the {name} of a look-up")

    @classmethod
    def of(cls, given: object, folder: str = "") -> LookUp:
        """From an entry of a schema file in that folder."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping) or set(given) != set(cls.KEYS):
            shown = listing(given) if isinstance(given, Mapping) else shorten(given)
            raise SchemaError(f"a look-up has a file, a key and a value, given {shown}. {_LOOK_UP}")
        return cls(**given, folder=folder)


_LOOK_UP = 'Write lookup = {file = "zips.csv", key = "zip", value = "region"}.'


@dataclass(frozen=True)
class Reading:
    """How the values of an attribute are written in its column.

    >>> Reading(currency="$", thousands=",").currency
    ('$',)
    """

    column: str | None = None
    """The name of the column, if it differs from the attribute's."""
    currency: str | Sequence[str] = ()
    """Signs or words that may come before or after a number."""
    thousands: str | None = None
    """The character between groups of digits."""
    decimal: str = "."
    """The character before the fraction."""
    trim: bool | None = None
    """Whether all white space around a text is ignored. By default only spaces are, unless a level has some itself."""
    case: str = "exact"
    """Whether upper and lower case differ: ``"exact"`` or ``"ignore"``."""
    first: int | None = None
    """How many characters of a text count."""
    missing: str | Sequence[str | int | float] = ()
    """Words and numbers that mean that the value is missing."""
    lookup: LookUp | Mapping[str, str] | None = None
    """A public table in which the text is looked up first."""

    def __post_init__(self) -> None:
        if self.column is not None:
            column_name(self.column, "column")
        object.__setattr__(self, "currency", tuple(_sign(sign) for sign in _several(self.currency, "currency")))
        object.__setattr__(self, "missing", tuple(_word(word) for word in _several(self.missing, "missing")))
        for name, allowed in (("thousands", (None, *THOUSANDS)), ("decimal", DECIMALS), ("case", CASES)):
            if not isinstance(getattr(self, name), str | None) or getattr(self, name) not in allowed:
                shown = listing(value for value in allowed if value is not None)
                raise SchemaError(f"{name} must be one of {shown}, given {shorten(getattr(self, name))}.")
        if self.thousands == self.decimal:
            raise SchemaError(
                f"thousands and decimal are both {self.decimal!r}, so 1{self.decimal}234 could mean two numbers. "
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
        """Whether numbers are written differently from 1250.5."""
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
        """A text in the form in which texts are compared.

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
        """The keys of a schema file, without defaults."""
        entries: dict[str, Any] = {}
        for key in EVERY_KEY:
            value = getattr(self, key)
            if value == getattr(PLAIN, key):
                continue
            if isinstance(value, LookUp):
                entries[key] = {name: getattr(value, name) for name in LookUp.KEYS}
            elif isinstance(value, tuple):
                entries[key] = value[0] if key == "currency" and len(value) == 1 else list(value)
            else:
                entries[key] = value
        return entries


def _several(given: object, name: str) -> tuple[Any, ...]:
    """One value or a list of values, as a tuple."""
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
EVERY_KEY = tuple(key.name for key in fields(Reading))

Spellings: TypeAlias = tuple[tuple[str, ...], ...]


def checked_spellings(levels: Mapping[Any, Any]) -> Spellings:
    """The other spellings of each level, from a mapping; or an error.

    >>> checked_spellings({"north": ["BX", "MN"], "south": 3, "(rest)": []})
    (('BX', 'MN'), ('3',), ())
    """
    spellings = []
    for level, own in levels.items():
        if not isinstance(level, str):
            raise SchemaError(f"levels with spellings must be texts, given {shorten(level)}.")
        several = [own] if isinstance(own, str | int) else own
        if not isinstance(several, list | tuple):
            raise SchemaError(
                f'the spellings of {shorten(level)} must be a list, given {shorten(own)}. Write {{"a" = ["b", "c"]}}.'
            )
        spellings.append(tuple(_spelling(text, level) for text in several))
    return tuple(spellings)


def _spelling(given: object, level: str) -> str:
    if isinstance(given, str):
        return writable(given, "a spelling")
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise SchemaError(f"a spelling of {shorten(level)} must be a text or a whole number, given {shorten(given)}.")
    return str(whole_number(given, "a spelling"))


def check_spellings(levels: Sequence[Any], spellings: Spellings, reading: Reading) -> None:
    """Raise an error if one text means two levels, or no text can mean a level."""
    if not isinstance(spellings, tuple | list) or not all(isinstance(own, tuple | list) for own in spellings):
        raise SchemaError(f"spellings are lists of texts, one for each level, given {shorten(spellings)}.")
    if spellings and len(spellings) != len(levels):
        raise SchemaError(f"there are {len(levels)} levels, given spellings for {len(spellings)}.")
    if not spellings and not reading.textual:
        return
    if type(levels[0]) is not str:
        if reading.case != "exact" or reading.first is not None:
            raise SchemaError("case and first are for levels that are texts. Write the levels as texts.")
        return
    texts_of_levels(levels, spellings, reading)


def has_spaces(levels: Sequence[Any], spellings: Spellings) -> bool:
    """Whether any text that means a level has spaces around it."""
    texts = [*map(str, levels), *(text for own in spellings for text in own)]
    return any(text != text.strip(" ") for text in texts)


def compared(levels: Sequence[Any], spellings: Spellings, reading: Reading) -> Reading:
    """The reading by which texts are compared: with their spaces, if levels have some and *trim* is not given.

    >>> compared(["a", " b"], (), Reading()).trim
    False
    """
    left_open = reading.trim is None and reading.lookup is None
    return replace(reading, trim=False) if left_open and has_spaces(levels, spellings) else reading


def texts_of_levels(levels: Sequence[str], spellings: Spellings, reading: Reading) -> dict[str, str]:
    """The level that each text means, by the text in the form in which it is compared.

    A level's own name means it, too, unless it is given as a spelling of another level, or only the first characters of
    a text count.

    >>> texts_of_levels(["F", "M"], (("w", "female"), ()), Reading(case="ignore"))
    {'w': 'F', 'female': 'F', 'f': 'F', 'm': 'M'}
    """
    after = compared(levels, spellings, reading)
    after = replace(after, first=None) if reading.lookup is not None else after
    known: dict[str, str] = {}
    for level, own in zip(levels, spellings or [()] * len(levels), strict=True):
        for text in own:
            other = known.setdefault(_normal(text, after), level)
            if other != level:
                raise SchemaError(f"{shorten(text)} means both {shorten(other)} and {shorten(level)}. Choose one.")
    given = dict(known)
    if after.first is None or not spellings:
        for level in levels:
            text = _normal(level, after)
            other = known.setdefault(text, level)
            if other != level and text not in given:
                raise SchemaError(
                    f"the levels {shorten(other)} and {shorten(level)} are read as the same text. Write one of them, "
                    "with the other as its spelling."
                )
    return known


def _normal(text: str, reading: Reading) -> str:
    """A text in the form in which it is compared; an error if it has more characters than count."""
    if reading.first is not None and len(text) > reading.first:
        raise SchemaError(f"only the first {reading.first} characters count, and {shorten(text)} has more. Shorten it.")
    return reading.normal(text)


LARGEST_NUMBER = 2**53

Number = TypeVar("Number", int, float)


def whole_number(value: object, name: str) -> int:
    """An int (not a bool) between −2⁵³ and 2⁵³, the range in which doubles represent all integers."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise SchemaError(f"{name} must be a whole number, given {shorten(value)}. Write it without quotes or a point.")
    return _bounded(int(value), name)


def real_number(value: object, name: str) -> float:
    """A finite float between −2⁵³ and 2⁵³."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise SchemaError(f"{name} must be a number, given {shorten(value)}. Write it without quotes.")
    if isinstance(value, numbers.Integral):
        return float(_bounded(int(value), name))
    number = float(value)
    if not math.isfinite(number):
        raise SchemaError(f"{name} must be finite, given {number}. Write the widest bound that makes sense publicly.")
    return _bounded(number, name)


def _bounded(number: Number, name: str) -> Number:
    if abs(number) > LARGEST_NUMBER:
        raise SchemaError(f"{name} must lie between −2^53 and 2^53, given {shorten(number)}. Write a tighter bound.")
    return number


def writable(text: str, name: str) -> str:
    """A text that every engine and file format can hold: valid Unicode, no NUL."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise SchemaError(f"{name} contains a NUL or half a surrogate pair: {shorten(text)}. Write plain Unicode text.")
    return text


def check_keys(table: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    """Raise an error that lists the allowed keys, if a key is not among them."""
    for key in table:
        if key not in allowed:
            words = f"{where} has the unknown key {shorten(key)}. The keys are {listing(allowed)}."
            raise SchemaError(words + suggestion(key, allowed))


def column_name(given: object, name: str) -> str | None:
    """The name of a column that differs from the attribute's; None if none is given."""
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise SchemaError(f"{name} must be the name of a column, given {shorten(given)}.")
    return writable(given, f"the name in {name}")
