"""Dates and times in questions: which cell begins or ends at what somebody wrote."""

from __future__ import annotations

from bisect import bisect_right
from datetime import date, datetime

from adyton.errors import BadInput, SchemaError
from adyton.messages import shorten
from adyton.schema.calendar import written_at
from adyton.schema.times import Times


def written(when: date) -> str:
    """A date, or a date and time, as a text.

    >>> written(date(2024, 3, 1)), written(datetime(2024, 3, 1, 12, 30))
    ('2024-03-01', '2024-03-01 12:30:00')
    """
    if not isinstance(when, datetime):
        return when.isoformat()
    if when.tzinfo is not None:
        raise BadInput(f"{shorten(when)} has a time zone. Write the time on the attribute's own clock, without one.")
    return when.isoformat(sep=" ", timespec="seconds")


def cell_at(name: str, attribute: Times, value: object, word: str) -> int:
    """The cell that begins (or ends) with what is written: a label, or a period such as ``2024-03``.

    >>> from adyton.schema import Date
    >>> month = Date("2024-01-01", "2024-12-31", by="month")
    >>> cell_at("day", month, "2024-Q2", "begins"), cell_at("day", month, "2024-Q2", "ends")
    (3, 5)
    """
    if value in attribute.labels[: attribute.base_size]:
        return attribute.labels.index(value)
    problem = ""
    try:
        span = attribute.literal(value, f"what a range of {name} {word} with")
    except SchemaError as error:
        problem = str(error)
    if problem:
        raise BadInput(f"{problem} Write None (null in JSON) for an open end.")
    first, last = attribute.span
    end = word == "ends"
    second = span.last if end else span.first
    if not first <= second <= last:
        raise BadInput(
            f"{name} goes from {attribute.min} to {attribute.max}, given a range that {word} with {shorten(value)}. "
            "Write None (null in JSON) for an open end."
        )
    cell = bisect_right(attribute.starts, second) - 1
    if second != (attribute.ends(cell) if end else int(attribute.starts[cell])):
        near = written_at(attribute.ends(cell), last=True) if end else written_at(int(attribute.starts[cell]))
        raise BadInput(
            f"no cell of {name} {word} with {shorten(value)}: ranges are made of whole cells. Near is {near}."
        )
    return cell
