"""The ways in which a level may be written, and which text stands for which level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from adyton.errors import SchemaError
from adyton.messages import shorten
from adyton.schema.checks import whole_number, writable
from adyton.schema.reading import Reading

Spellings: TypeAlias = tuple[tuple[str, ...], ...]


def checked_spellings(levels: Mapping[Any, Any]) -> Spellings:
    """For each level how else it is written, from a mapping; or an error.

    >>> checked_spellings({"north": ["BX", "MN"], "south": 3, "(rest)": []})
    (('BX', 'MN'), ('3',), ())
    """
    found = []
    for level, own in levels.items():
        if not isinstance(level, str):
            raise SchemaError(f"levels with spellings must be texts, given {shorten(level)}.")
        several = [own] if isinstance(own, str | int) else own
        if not isinstance(several, list | tuple):
            raise SchemaError(
                f'the spellings of {shorten(level)} must be a list, given {shorten(own)}. Write {{"a" = ["b", "c"]}}.'
            )
        found.append(tuple(_spelling(one, level) for one in several))
    return tuple(found)


def _spelling(given: object, level: str) -> str:
    if isinstance(given, str):
        return writable(given, "a spelling")
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise SchemaError(f"a spelling of {shorten(level)} must be a text or a whole number, given {shorten(given)}.")
    return str(whole_number(given, "a spelling"))


def check_spellings(levels: Sequence[Any], spellings: Spellings, reading: Reading) -> None:
    """An error if one text stands for two levels, or a level can never be met."""
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
    """Whether a text has spaces around it that stands for a level."""
    texts = [*map(str, levels), *(text for own in spellings for text in own)]
    return any(text != text.strip(" ") for text in texts)


def compared(levels: Sequence[Any], spellings: Spellings, reading: Reading) -> Reading:
    """The reading by which texts are compared: with their spaces, where the levels have some and nothing else is said.

    >>> compared(["a", " b"], (), Reading()).trim
    False
    """
    left_open = reading.trim is None and reading.lookup is None
    return replace(reading, trim=False) if left_open and has_spaces(levels, spellings) else reading


def texts_of_levels(levels: Sequence[str], spellings: Spellings, reading: Reading) -> dict[str, str]:
    """The level that a text stands for, by the text in the form in which it is compared.

    A level's own name stands for it too, unless it is given as a spelling of another one, or only the first characters
    of a text count.

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
                raise SchemaError(f"{shorten(text)} stands for both {shorten(other)} and {shorten(level)}. Choose one.")
    given = dict(known)
    if after.first is None or not spellings:
        for level in levels:
            text = _normal(level, after)
            other = known.setdefault(text, level)
            if other != level and text not in given:
                raise SchemaError(
                    f"the levels {shorten(other)} and {shorten(level)} are the same as texts are read here. Write one "
                    "of them, with the other as its spelling."
                )
    return known


def _normal(text: str, reading: Reading) -> str:
    """A text as it is compared; one that is longer than what counts of a text would never be met."""
    if reading.first is not None and len(text) > reading.first:
        raise SchemaError(f"only the first {reading.first} characters count, and {shorten(text)} has more. Shorten it.")
    return reading.normal(text)
