"""What a text means: a number, a truth value, a level, a length of time. All texts are read here.

Claim.  What a text means depends only on that text and the schema, and no text causes an error.
Proof.  A text is cut to a public length, stripped, folded, compared with dictionaries that were made from the schema
and from public files before any row was read, matched with regular expressions in which no run of characters can be
divided in several ways, and given to Python's ``float``, whose error is caught. All of these are functions of the
text.  ∎
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from functools import lru_cache
from typing import TypeGuard

from adyton.kernel.reading.arrow import EXACT, text_of
from adyton.kernel.sealed import quietly
from adyton.schema import Attribute, Boolean, Categorical, Duration, Identifier, Reading
from adyton.schema.look_up_files import look_up_values
from adyton.schema.reading import compared, texts_of_levels
from adyton.schema.time_formats import duration_in

KNOWN, MISSING, UNREAD, OUTSIDE = range(4)
"""The state of a value: known; missing; a text that cannot be read as the schema says; not a level."""
Read = tuple[int, float]
"""The state of a value, and the value: a number, the number of a level, or 1 for true."""
LONGEST = 1 << 16
"""In characters; whatever follows them is ignored."""
_NOTHING, _UNREAD, _OUTSIDE = (MISSING, 0.0), (UNREAD, 0.0), (OUTSIDE, 0.0)
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
WHITE = " \t\n\r\v\f"
"""White space that is ignored around numbers and the names of units."""


def reader_of(attribute: Attribute) -> Callable[[str], Read]:
    """A function that reads the texts of an attribute that is not a date or time. Look-up files are read now."""
    translation = Translation.of(attribute)
    if has_levels(attribute, str):
        return _level_reader(attribute, translation)
    own: Callable[[str], Read]
    if is_boolean(attribute):
        own = _truth
    elif isinstance(attribute, Duration):
        seconds = attribute.seconds
        own = lambda text: _read(duration_in(text, seconds), text)  # noqa: E731
    else:
        own = _number_reader(attribute.reading)
    if translation is None:
        return lambda text: own(text[:LONGEST])

    def read(text: str) -> Read:
        value = translation.translate(text[:LONGEST])
        return _NOTHING if value is None else own(value)

    return read


def has_levels(attribute: Attribute, kind: type) -> TypeGuard[Categorical]:
    """Whether an attribute has levels of this type."""
    return isinstance(attribute, Categorical) and type(attribute.levels[0]) is kind


def is_boolean(attribute: Attribute) -> bool:
    """Whether an attribute is true or false."""
    return isinstance(attribute, Boolean) or has_levels(attribute, bool)


def key_reader(attribute: Attribute) -> Callable[[str], str | None]:
    """A function from the texts of an identifier to the keys that are compared; None for a missing value."""
    translation = Translation.of(attribute) if isinstance(attribute, Identifier) else None
    return (
        (lambda text: text[:LONGEST]) if translation is None else (lambda text: translation.translate(text[:LONGEST]))
    )


# ---- numbers --------------------------------------------------------------------------------------------------------


def number_in(text: str) -> float | None:
    """The double that an ASCII text shows; None if it is not a number. Words such as inf and nan are read, too.

    >>> number_in(" 1e2 "), number_in("1_000"), number_in("0x1F"), number_in("1,5")
    (100.0, 1000.0, None, None)
    """
    if not text.isascii():
        return None
    try:
        return float(text.strip(WHITE).removeprefix("+"))
    except ValueError:
        return None


def _number_reader(reading: Reading) -> Callable[[str], Read]:
    none = {number for number in (number_in(str(word)) for word in reading.missing) if number is not None}
    plain = Amounts.of(reading).plain if reading.numeric else None

    def read(text: str) -> Read:
        written = text if plain is None else plain(text)
        number = None if written is None else number_in(written)
        return _NOTHING if number in none else _read(number, text)

    return read


def _read(number: float | None, text: str) -> Read:
    """The state and the value of a text, given the number that it shows (None for no number)."""
    if number is None:
        return _UNREAD if text.strip() else _NOTHING
    return (KNOWN, number) if number == number else _NOTHING  # noqa: PLR0124 (not-a-number differs from itself)


def _truth(text: str) -> Read:
    word = text.strip().lower()
    if word in _TRUE or word in _FALSE:
        return KNOWN, float(word in _TRUE)
    number = number_in(word)
    return (KNOWN, number) if number in (0.0, 1.0) else _OUTSIDE


_BLANKS = " \t\r\n\u00a0\u202f\u2009"
_THOUSANDS = {" ": " \u00a0\u202f\u2009", "'": "'\u2019"}
_MINUS = "\u2212"


@dataclass(frozen=True)
class Amounts:
    """Numbers as people write them: $1,250.50 or 1.250,50 €.

    >>> dollars = Amounts.of(Reading(currency="$", thousands=","))
    >>> dollars.plain(" $1,250.50 "), dollars.plain("1,25")
    ('1250.50', None)
    """

    shape: re.Pattern[str]
    money: re.Pattern[str] | None
    exchanged: Mapping[int, str]
    longest = 900

    @classmethod
    @lru_cache(64)
    def of(cls, reading: Reading) -> Amounts:
        """The notation that the schema declares."""
        point, digits, apart = re.escape(reading.decimal), "[0-9]+", ""
        if reading.thousands is not None:
            apart = _THOUSANDS.get(reading.thousands, reading.thousands)
            digits = f"(?:[0-9]{{1,3}}(?:[{apart}][0-9]{{2,3}})*[{apart}][0-9]{{3}}|[0-9]+)"
        number = f"(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]{{1,3}})?"
        blank = f"[{_BLANKS}]*"
        sign = f"(?:[+{_MINUS}-]{blank})?"
        signs = "|".join(map(re.escape, sorted(reading.currency, key=len, reverse=True)))
        money = f"(?:(?:{signs}){blank})?" if signs else ""
        amount = f"{blank}{sign}{money}{sign}{number}{blank}{money}"
        bracketed = f"|{blank}[(]{amount}[)]{blank}" if signs else ""
        exchanged = dict.fromkeys(map(ord, f"{_BLANKS}){apart}"), "") | {ord("("): "-", ord(_MINUS): "-"}
        exchanged |= {ord(reading.decimal): "."}
        flags = re.IGNORECASE
        return cls(
            re.compile(f"(?:{amount}{bracketed})", flags), re.compile(signs, flags) if signs else None, exchanged
        )

    def plain(self, text: str) -> str | None:
        """The number as programs write it; None if the text is not a number."""
        if len(text) > self.longest or self.shape.fullmatch(text) is None:
            return None
        return (text if self.money is None else self.money.sub("", text)).translate(self.exchanged)


# ---- levels ---------------------------------------------------------------------------------------------------------


def _level_reader(attribute: Categorical, translation: Translation | None) -> Callable[[str], Read]:
    numbers = {str(level): (KNOWN, float(place)) for place, level in enumerate(attribute.levels)}
    if translation is not None:

        def recoded(text: str) -> Read:
            level = translation.translate(text[:LONGEST])
            return _NOTHING if level is None else numbers.get(level) or _no_level(level)

        return recoded
    known = Meanings.of({level: level for level in numbers})
    spaced = attribute.spaced

    def read(text: str) -> Read:
        shown = text[:LONGEST] if spaced else text[:LONGEST].strip(" ")
        level = known.get(shown)
        return _no_level(shown) if level is None else numbers[level]

    return read


def _no_level(text: str) -> Read:
    """A text that is not a level, with a negative number that distinguishes such texts where they are keys."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).digest()
    return OUTSIDE, -1.0 - int.from_bytes(digest)


@dataclass(frozen=True)
class Meanings:
    """A dictionary of texts that also finds other spellings of the same number, truth value, date or time."""

    texts: Mapping[str, str]
    readings: Mapping[str, str]

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Meanings:
        """With the readings of all texts; where several texts have the same reading, the first one counts."""
        readings: dict[str, str] = {}
        for text, value in texts.items():
            shown = reading_of(text)
            if shown is not None:
                readings.setdefault(shown, value)
        return cls(texts, readings)

    def get(self, text: str) -> str | None:
        """What a text means; None if it is unknown."""
        value = self.texts.get(text)
        if value is not None or not self.readings:
            return value
        return self.readings.get(reading_of(text) or "")


@dataclass(frozen=True)
class Translation:
    """How texts are changed before they are read: trimmed, in lower case, looked up, recoded to their level."""

    reading: Reading
    whole: Reading
    """The same reading, but of all characters of a text."""
    words: frozenset[str]
    """The texts that mean missing."""
    values: Meanings | None = None
    """The value of each key of the look-up, if there is one."""
    levels: Meanings | None = None
    """The level of each text, if the attribute has levels of text."""

    @classmethod
    def of(cls, attribute: Attribute) -> Translation | None:
        """The translation of an attribute; None if texts stay as they are."""
        reading = attribute.reading
        spellings = attribute.spellings if has_levels(attribute, str) else ()
        if not reading.textual and not spellings:
            return None
        values = None if reading.lookup is None else Meanings.of(look_up_values(reading))
        levels = None
        if has_levels(attribute, str):
            names = tuple(map(str, attribute.levels))
            reading = compared(names, spellings, reading)
            levels = Meanings.of(texts_of_levels(names, spellings, reading))
        whole = replace(reading, first=None)
        words = frozenset(whole.normal(str(text_of(word))) for word in reading.missing)
        return cls(reading, whole, words, values, levels)

    def translate(self, text: str) -> str | None:
        """What a text means; None if it is missing. A text that means no level becomes one that equals no level."""
        if self.words and self.whole.normal(text) in self.words:
            return None
        shown = self.reading.normal(text)
        if shown == "\1":  # as on servers, where it means missing
            return None
        if self.values is not None:
            value = self.values.get(shown)
            if value is None:
                return None
            shown = value if self.levels is None else self.whole.normal(value)
        if self.levels is None:
            return shown
        level = self.levels.get(shown)
        return "\0" + text if level is None else level


_CLOCK = r"\d\d:\d\d(:\d\d(\.\d{1,6}0*)?)?"
_TIME = re.compile(_CLOCK, re.ASCII)
_MOMENT = re.compile(rf"\d{{4}}-\d\d-\d\d([T ]{_CLOCK}(Z|[+-]\d\d(:?\d\d)?)?)?", re.ASCII)


def reading_of(text: str) -> str | None:
    """One text for all spellings of a truth value, a number up to 2^53, a date or a time; None for any other text.

    >>> [reading_of(text) for text in ("TRUE", "007", "1.50", "2020-01-31", "2020-01-31T11:00+01:00", "10:00", "A7")]
    ['true', '7', '1.5', '2020-01-31 00:00:00', '2020-01-31 10:00:00+00:00', '10:00:00', None]
    """
    return quietly(lambda: _reading(text.strip()))


def _reading(text: str) -> str | None:
    if text.lower() in ("true", "false"):
        return text.lower()
    if _TIME.fullmatch(text):
        return str(time.fromisoformat(text))
    if _MOMENT.fullmatch(text):
        moment = datetime.fromisoformat(text)
        return str(moment if moment.tzinfo is None else moment.astimezone(UTC))
    if "_" in text or not text.isascii():
        return None
    number = float(text)
    return text_of(number) if abs(number) <= EXACT or number in (float("inf"), float("-inf")) else None
