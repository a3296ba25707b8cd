"""What an attribute accepts, in words and with a made-up example: from its declaration alone."""

from __future__ import annotations

import math

from adyton.messages import listing
from adyton.schema.attributes import NULL_LABEL, OTHER_LABEL, Attribute, Boolean, Categorical, CelledAttribute
from adyton.schema.calendar import date_at, span_of
from adyton.schema.durations import Duration
from adyton.schema.misfits import reads_numbers
from adyton.schema.numbers import Integer, Numeric
from adyton.schema.time_formats import UNIX
from adyton.schema.times import Datetime, Times

_SHOWN = 6


def accepts(attribute: Attribute, *, written: bool = True) -> str:
    """What the values of an attribute look like, what is not read, and where the rest goes.

    Not *written*: in a column of numbers or times, which nobody can write otherwise.

    >>> accepts(Numeric(0, 10000, bins=50))
    'a number like 6250.5 between 0 and 10000, in 50 bins; "$6,250.50" is not read, and counts as missing; rows with \
values outside or none are left out'
    >>> accepts(Categorical(["F", "M"], nulls="level", outside="other"))
    "one of 'F', 'M', with or without spaces around it; 'f' is none of them; other values count as (other); missing \
ones count as (null)"
    >>> accepts(Integer(0, 119), written=False)
    'a whole number like 74 between 0 and 119; rows with values outside or none are left out'
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
            if type(attribute.levels[0]) is str:
                words += _spelled(attribute)
        case Boolean():
            words = 'true or false (as text also t, f, yes, no, y, n, 1, 0); "maybe" is neither'
        case _:
            return "any value: it can be grouped by, and has no cells"
    assert isinstance(attribute, CelledAttribute)
    if isinstance(attribute, Integer | Numeric) and attribute.reading.numeric:
        words += f"; {_written(attribute)} is read"
    elif written and reads_numbers(attribute):
        words += f"; {_unread(attribute)} is not read, and counts as missing"
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
    return f"{words}; {_misspelt(attribute)!r} is none of them"


def _reading(attribute: CelledAttribute) -> str:
    """Where values are looked up, and what means that there is none."""
    reading, words = attribute.reading, ""
    if reading.looked_up is not None:
        words += (
            f"; found in {reading.looked_up.value!r} of {reading.looked_up.file!r}, looked up by the text of the column"
        )
    if reading.missing:
        words += f"; {listing(reading.missing, _SHOWN)} {'means' if len(reading.missing) == 1 else 'mean'} missing"
    return words


def _written(attribute: Integer | Numeric) -> str:
    """An example as people write it who follow the attribute's reading."""
    reading = attribute.reading
    number = abs(float(_example(attribute)))
    text = f"{number:,.2f}" if isinstance(attribute, Numeric) else f"{number:,.0f}"
    signs = {",": reading.thousands or "", ".": reading.decimal}
    text = "".join(signs.get(sign, sign) for sign in text)
    return f'"{"".join(reading.currency[:1])}{text}"'


def _times(attribute: Times, written: bool) -> str:
    """What times look like, on which clock they are read, and what the cells are."""
    when = span_of("2024-03-01", "").first if attribute.is_part else attribute.starts[attribute.base_size * 5 // 8]
    clock = isinstance(attribute, Datetime)
    moment = date_at(int(when)).replace(hour=13, minute=30) if clock else date_at(int(when))
    formats = [one for one in attribute.format or () if one != UNIX]
    example = moment.strftime(formats[0]) if formats else moment.isoformat(sep=" ")[: 19 if clock else 10]
    words = f"a {'time' if clock else 'date'} like {example}"
    if not attribute.is_part:
        words += f" between {attribute.min} and {attribute.max}"
    words += f", by {attribute.by}" if attribute.every == 1 else f", {attribute.every} {attribute.by}s to a cell"
    words += f" on the clock of {attribute.zone}"
    unread = f'; "{moment.day} {moment:%b} {moment:%y}" is not read, and counts as missing'
    return words + unread * written


def _policies(attribute: CelledAttribute) -> str:
    """Where values go that are none of these, and where missing ones go."""
    others = "other values" if isinstance(attribute, Categorical | Boolean) else "values outside"
    dropped = [others] * (attribute.outside == "drop") + ["none"] * (attribute.nulls == "drop")
    words = []
    if attribute.outside != "drop":
        place = "in the nearest cell" if attribute.outside == "clamp" else f"as {OTHER_LABEL}"
        words.append(f"{others} count {place}")
    if attribute.nulls == "level":
        words.append(f"missing ones count as {NULL_LABEL}")
    if dropped:
        words.append(f"rows with {' or '.join(dropped)} are left out")
    return "; ".join(words)


def _example(attribute: Integer | Numeric) -> str:
    """A number well inside the bounds."""
    if isinstance(attribute, Integer):
        return str(attribute.min + (attribute.max - attribute.min) * 5 // 8)
    value = attribute.min + (attribute.max - attribute.min) * 0.625
    half = math.floor(value) + 0.5
    return f"{half if attribute.min <= half <= attribute.max else value:.6g}"


def _unread(attribute: CelledAttribute) -> str:
    """The same number as people write it for people."""
    if isinstance(attribute, Integer | Numeric):
        number = abs(float(_example(attribute)))
        return f'"${number:,.2f}"' if isinstance(attribute, Numeric) else f'"${number:,.0f}"'
    return '"one"'


def _misspelt(attribute: Categorical) -> str:
    """A text that is close to a level and is none."""
    first = str(attribute.levels[0])
    return next(text for text in (first.swapcase(), f"{first}s", f"{first}?!") if text not in attribute.levels)
