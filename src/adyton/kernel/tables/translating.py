"""A text turned into what it stands for: trimmed, without capitals, looked up in a public table, recoded to its level.

Claim.  What becomes of a row's text depends on that text and on the schema alone, and no text makes it fail.
Proof.  ``translate`` strips, cuts and folds a text, which Python can do with every text, and finds the outcome in
dictionaries that were made from the schema and from public files before any row was read. The engine hands it the texts
of many rows at a time; each is translated by itself. A look-up has one value for a key, so that one row stays one.  ∎
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from adyton.kernel.reading.plain_columns import text_of
from adyton.kernel.reading.texts import reading_of as canonical
from adyton.kernel.tables.columns import LONGEST_TEXT
from adyton.schema import Attribute, Categorical, Reading
from adyton.schema.look_up_files import look_up_values
from adyton.schema.reading import compared, texts_of_levels

NONE = "\1"
"""Stands for a missing value on the way back to the engine, which takes no null from a function."""


@dataclass(frozen=True)
class Known:
    """What texts stand for."""

    texts: Mapping[str, str]
    readings: Mapping[str, str]
    """The same for other spellings of the number, boolean or date that a text can be read as."""

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Known:
        """With the readings of all texts: the first text has it, where several have the same."""
        readings: dict[str, str] = {}
        for text, value in texts.items():
            read = canonical(text)
            if read is not None:
                readings.setdefault(read, value)
        return cls(texts, readings)

    def get(self, text: str) -> str | None:
        """What a text stands for; None if nothing is known of it."""
        value = self.texts.get(text)
        return value if value is not None else self.readings.get(canonical(text) or "")

    def then(self, what: Callable[[str], str]) -> Known:
        """The same texts, with something else that they stand for."""
        own, other = ({text: what(value) for text, value in one.items()} for one in (self.texts, self.readings))
        return Known(own, other)


@dataclass(frozen=True)
class Translation:
    """What a column's texts become."""

    reading: Reading
    whole: Reading
    """The same with all characters of a text."""
    words: frozenset[str]
    """What means missing."""
    values: Known | None = None
    """What a look-up has for each key, if there is one."""
    levels: Known | None = None
    """The level of each text, if the attribute has levels of text."""
    others: Mapping[str, str] | None = None
    """What becomes of texts that look like a level and stand for none."""
    most: int = LONGEST_TEXT
    """So many characters are left of a text that no level stands for: more than any level has."""

    def translate(self, text: str) -> str | None:
        """What one text stands for; None if it is missing."""
        if self.words and self.whole.normal(text) in self.words:
            return None
        found = self.reading.normal(text)
        if self.values is not None:
            value = self.values.get(found)
            if value is None:
                return None
            found = value if self.levels is None else self.whole.normal(value)
        if self.levels is None:
            return found[: self.most]
        level = self.levels.get(found)
        return level if level is not None else (self.others or {}).get(text, text[: self.most])


def translation_of(attribute: Attribute) -> Translation | None:
    """What the texts of an attribute become; None if they stay. Files of look-ups are read now."""
    reading = attribute.reading
    texts = isinstance(attribute, Categorical) and type(attribute.levels[0]) is str
    if not reading.textual and not (texts and isinstance(attribute, Categorical) and attribute.spellings):
        return None
    values = None if reading.lookup is None else Known.of(look_up_values(reading))
    levels = others = None
    if isinstance(attribute, Categorical) and texts:
        names = tuple(map(str, attribute.levels))
        reading = compared(names, attribute.spellings, reading)
        levels = Known.of(texts_of_levels(names, attribute.spellings, reading))
        others = {name: _unlike(name, names) for name in names}
    whole = replace(reading, first=None)
    words = frozenset(whole.normal(str(text_of(word))) for word in reading.missing)
    most = max([LONGEST_TEXT, *(len(name) + 1 for name in others or ())])
    return Translation(reading, whole, words, values, levels, others, most)


def _unlike(name: str, names: tuple[str, ...]) -> str:
    """A text that is no level."""
    while name in names:
        name += "?"
    return name
