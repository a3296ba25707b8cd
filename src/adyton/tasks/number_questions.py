"""Questions about numbers, "from 20 to 29", as cells: ranges are made of whole cells."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import pairwise
from typing import Any

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.schema import Integer, Numeric

_ROUNDING = 4
"""How many units in the last place a computed edge may be off."""


def border_at(name: str, attribute: Integer | Numeric, end: Any, word: str) -> int:
    """The cell that begins (or ends) at a value; refused where no cell does."""
    if isinstance(end, bool | str):
        raise BadInput(
            f"a range of {name} {word} at a number, or is open with None (null in JSON), given {shorten(end)}."
        )
    size, after = attribute.base_size, word == "ends"

    def border(place: int) -> float:
        return _last(attribute, place) if after else _first(attribute, place)

    found = bisect_left(range(size), end, key=border)
    for place in (found, found - 1):
        if 0 <= place < size:
            slack = _slack(attribute, place + after)
            if border(place) - slack <= end <= border(place) + slack:
                return place
    if not border(0) <= end <= border(size - 1):
        raise BadInput(
            f"a range of {name} {word} between {_text(border(0))} and {_text(border(size - 1))}, given {shorten(end)}. "
            "Write None (null in JSON) for an open end."
        )
    near = ", ".join(_text(border(place)) for place in range(max(0, found - 2), min(size, found + 2)))
    raise BadInput(f"no cell of {name} {word} at {shorten(end)}: ranges are made of whole cells. Near are {near}.")


def _first(attribute: Integer | Numeric, place: int) -> float:
    """Where a cell begins; the cell after the last begins where the last ends."""
    if isinstance(attribute, Integer):
        return attribute.min + attribute.step * place
    if attribute.edges:
        return attribute.edges[place]
    return attribute.max if place == attribute.bins else attribute.min + place * attribute.width


def _last(attribute: Integer | Numeric, place: int) -> float:
    """Where a cell ends: the last whole number of it, the right edge of a bin."""
    if isinstance(attribute, Integer):
        return min(_first(attribute, place + 1) - 1, attribute.max)
    return _first(attribute, place + 1)


def _slack(attribute: Integer | Numeric, edge: int) -> float:
    """How far from an edge still counts as on it: nothing for whole numbers; rounding, and in equal bins what the
    schema allows, but never more than a quarter of the way to the next edge."""
    if isinstance(attribute, Integer):
        return 0
    if attribute.edges is None:
        rounding = _ROUNDING * math.ulp(max(abs(attribute.min), abs(attribute.max)))
        return min(max(attribute.tolerance * attribute.width, rounding), attribute.width / 4)
    around = attribute.edges[max(0, edge - 1) : edge + 2]
    narrowest = min(right - left for left, right in pairwise(around))
    return min(_ROUNDING * math.ulp(attribute.edges[edge]), narrowest / 4)


def _text(border: float) -> str:
    return str(border) if isinstance(border, int) else f"{border:.15g}"
