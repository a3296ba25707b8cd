"""The ways in which a row can fail to match the schema, and what becomes of it; and what an attribute accepts, in words
and with a made-up example. All of this is public and follows from the declaration alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from adyton.messages import listing
from adyton.schema.attributes import NULL_LABEL, OTHER_LABEL, Attribute, Boolean, Categorical, CelledAttribute
from adyton.schema.calendar import date_at, span_of
from adyton.schema.declaration import Schema
from adyton.schema.look_up_files import LevelsFile
from adyton.schema.numbers import Duration, Integer, Numeric
from adyton.schema.reading import Reading
from adyton.schema.time_formats import UNIX
from adyton.schema.times import Datetime, Times

Reason: TypeAlias = Literal["unreadable", "no time", "missing", "no level", "out of bounds"]
Fate: TypeAlias = Literal["left out", "counted as missing", "unmatched", "clamped", "counted as other"]
REASONS: tuple[Reason, ...] = get_args(Reason)
FATES: tuple[Fate, ...] = get_args(Fate)


@dataclass(frozen=True)
class Misfit:
    """A way of not matching the schema: the attribute, the reason, and what becomes of such rows."""

    attribute: str
    reason: Reason
    fate: Fate


def misfits_of(schema: Schema, counted: Sequence[str], tested: Sequence[str] = ()) -> tuple[Misfit, ...]:
    """The ways not to match, the gravest first: a row with several of them is counted under the first.

    *counted* are attributes whose cells are counted; *tested* are others that a predicate looks at; it sees numbers
    beyond the bounds as they are.

    >>> schema = Schema({"age": Integer(0, 119, outside="clamp"), "sex": Categorical(["F", "M"])})
    >>> [(misfit.attribute, misfit.reason, misfit.fate) for misfit in misfits_of(schema, ["age"], ["sex"])]
    [('age', 'unreadable', 'left out'), ('age', 'missing', 'left out'), ('sex', 'missing', 'left out'), \
('sex', 'no level', 'unmatched'), ('age', 'out of bounds', 'clamped')]
    """
    ways = [misfit for name in counted for misfit in _ways(name, schema.attributes[name], tested=False)]
    ways += [misfit for name in tested for misfit in _ways(name, schema.attributes[name], tested=True)]
    return tuple(sorted(ways, key=_gravity))


def reads_numbers(attribute: Attribute) -> bool:
    """Whether a text must be a number to be a value of the attribute."""
    return isinstance(attribute, Integer | Numeric) or (
        isinstance(attribute, Categorical) and type(attribute.levels[0]) is int
    )


def unread_as(attribute: Attribute) -> Reason | None:
    """The reason why a text cannot be read as a value; None where every text can be compared with the levels."""
    if isinstance(attribute, Times | Duration):
        return "no time"
    return "unreadable" if reads_numbers(attribute) else None


def _ways(name: str, attribute: Attribute, *, tested: bool) -> list[Misfit]:
    """The ways not to match one attribute; an identifier takes every value."""
    if not isinstance(attribute, CelledAttribute):
        return []
    ways = []
    unread = unread_as(attribute)
    if unread is not None:
        nulled: Fate = "left out" if attribute.nulls == "drop" or tested else "counted as missing"
        ways.append(Misfit(name, unread, nulled))
    if attribute.nulls == "drop":
        ways.append(Misfit(name, "missing", "left out"))
    outside: Fate = "left out"
    if attribute.outside != "drop":
        outside = "clamped" if attribute.outside == "clamp" else "counted as other"
    if isinstance(attribute, Categorical | Boolean):
        ways.append(Misfit(name, "no level", "unmatched" if tested else outside))
    elif not tested and not (isinstance(attribute, Times) and attribute.is_part):
        ways.append(Misfit(name, "out of bounds", outside))
    return ways


def _gravity(misfit: Misfit) -> tuple[int, int]:
    """Values that cannot be read, then missing ones, then others; within each, lost rows come first."""
    return min(REASONS.index(misfit.reason), REASONS.index("no level")), FATES.index(misfit.fate)


_SHOWN = 6
_DOLLARS = Reading(currency="$", thousands=",")


def accepts(attribute: Attribute, *, written: bool = True) -> str:
    """What the values of an attribute look like, what is not read, and where the rest goes.

    Without *written*: for a column that holds numbers or times, not texts.

    >>> accepts(Numeric(0, 10000, bins=50))
    'a number like 6250.5 between 0 and 10000, in 50 bins; "$6,250.50" is not read, and counts as missing; rows where \
it is missing or out of range are left out of answers about it'
    >>> accepts(Categorical(["F", "M"], nulls="level", outside="other"))
    "one of 'F', 'M', with or without spaces around it; capital letters matter: 'f' is not 'F'; other values count as \
(other); missing ones count as (null)"
    >>> accepts(Integer(0, 119), written=False)
    'a whole number like 74 between 0 and 119; rows where it is missing or out of range are left out of answers about \
it'
    """
    match attribute:
        case Times():
            return f"{_times(attribute, written)}; {_policies(attribute)}"
        case Duration():
            words = (
                f"a number of {attribute.unit}, or a text like 1:30:00 or PT1H30M, between {attribute.min:.12g} and "
            )
            words += f"{attribute.max:.12g} {attribute.unit}, in {attribute.bins} bins"
            return f"{words}; {_policies(attribute)}"
        case Integer():
            words = f"a whole number like {_example(attribute)} between {attribute.min} and {attribute.max}"
            words += f", {attribute.step} to a cell" if attribute.step > 1 else ""
        case Numeric():
            words = f"a number like {_example(attribute)} between {attribute.min:.12g} and {attribute.max:.12g}"
            words += f", in {attribute.bins} bins"
        case Categorical():
            words = f"one of {listing(attribute.levels, _SHOWN)}"
            if isinstance(attribute.levels_file, LevelsFile):
                words += f", the levels of {attribute.levels_file.name}"
            if type(attribute.levels[0]) is str:
                words += _spelled(attribute)
        case Boolean():
            words = 'true or false (as text also t, f, yes, no, y, n, 1, 0); "maybe" is neither'
        case _:
            return "any value: it can be grouped by, and has no cells"
    assert isinstance(attribute, CelledAttribute)
    if isinstance(attribute, Integer | Numeric) and attribute.reading.numeric:
        words += f"; {_amount(attribute, attribute.reading)} is read"
    elif written and reads_numbers(attribute):
        amount = _amount(attribute, _DOLLARS) if isinstance(attribute, Integer | Numeric) else '"one"'
        words += f"; {amount} is not read, and counts as missing"
    return f"{words}{_reading(attribute)}; {_policies(attribute)}"


def _spelled(attribute: Categorical) -> str:
    """How a level may be written."""
    reading, words = attribute.reading, ""
    shown = [(level, own) for level, own in zip(attribute.levels, attribute.spellings, strict=False) if own]
    for level, own in shown[:2]:
        words += f", {level!r} also as {listing(own, _SHOWN)}"
    if reading.first is not None:
        words += f", by the first {reading.first} characters of the text"
    exact = reading.trim is False or (reading.trim is None and attribute.spaced)
    words += ", to the letter" if exact else ", with or without spaces around it"
    if reading.case == "ignore":
        return f"{words}, in capitals or not"
    first = str(attribute.levels[0])
    other = next((text for text in (first.lower(), first.upper()) if text not in attribute.levels), None)
    return f"{words}; capital letters matter: {other!r} is not {first!r}" if other else words


def _reading(attribute: CelledAttribute) -> str:
    """Where values are looked up, and which mean missing."""
    reading, words = attribute.reading, ""
    if reading.looked_up is not None:
        words += (
            f"; found in {reading.looked_up.value!r} of {reading.looked_up.file!r}, looked up by the text of the column"
        )
    if reading.missing:
        words += f"; {listing(reading.missing, _SHOWN)} {'means' if len(reading.missing) == 1 else 'mean'} missing"
    return words


def _amount(attribute: Integer | Numeric, reading: Reading) -> str:
    """An example, written as this reading says."""
    number = abs(float(_example(attribute)))
    text = f"{number:,.2f}" if isinstance(attribute, Numeric) else f"{number:,.0f}"
    text = text.translate({ord(","): reading.thousands or "", ord("."): reading.decimal})
    return f'"{"".join(reading.currency[:1])}{text}"'


def _times(attribute: Times, written: bool) -> str:
    """What times look like, on which clock they are read, and what the cells are."""
    when = span_of("2024-03-01", "").first if attribute.is_part else attribute.starts[attribute.base_size * 5 // 8]
    clock = isinstance(attribute, Datetime)
    moment = date_at(int(when)).replace(hour=13, minute=30) if clock else date_at(int(when))
    formats = [form for form in attribute.format or () if form != UNIX]
    example = moment.strftime(formats[0]) if formats else moment.isoformat(sep=" ")[: 19 if clock else 10]
    words = f"a {'time' if clock else 'date'} like {example}"
    if not attribute.is_part:
        words += f" between {attribute.min} and {attribute.max}"
    words += f", by {attribute.by}" if attribute.every == 1 else f", {attribute.every} {attribute.by}s to a cell"
    words += f" on the clock of {attribute.zone}" if clock or attribute.zone != "UTC" else ""
    unread = f'; "{moment.day} {moment:%b} {moment:%y}" is not read, and counts as missing'
    return words + unread * written


def _policies(attribute: CelledAttribute) -> str:
    """Where other values go, and where missing ones go."""
    listed = isinstance(attribute, Categorical | Boolean)
    others = "other values" if listed else "values out of range"
    dropped = ["missing"] * (attribute.nulls == "drop")
    dropped += ["not one of these" if listed else "out of range"] * (attribute.outside == "drop")
    words = []
    if attribute.outside != "drop":
        place = "in the nearest cell" if attribute.outside == "clamp" else f"as {OTHER_LABEL}"
        words.append(f"{others} count {place}")
    if attribute.nulls == "level":
        words.append(f"missing ones count as {NULL_LABEL}")
    if dropped:
        words.append(f"rows where it is {' or '.join(dropped)} are left out of answers about it")
    return "; ".join(words)


def _example(attribute: Integer | Numeric) -> str:
    """A number well inside the bounds."""
    if isinstance(attribute, Integer):
        return str(attribute.min + (attribute.max - attribute.min) * 5 // 8)
    value = attribute.min + (attribute.max - attribute.min) * 0.625
    half = math.floor(value) + 0.5
    return f"{half if attribute.min <= half <= attribute.max else value:.6g}"
