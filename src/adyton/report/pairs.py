"""The picture of two attributes together: a pyramid, small multiples, or a map."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from adyton.queries import Ranges
from adyton.report.display_axis import DisplayAxis, display_axis
from adyton.report.shown import Asked, Boxes, Kind, LaterPanel, NumbersOf, Panel, boxes
from adyton.schema import Latitude, Longitude, Schema
from adyton.schema.attributes import Attribute, CelledAttribute
from adyton.schema.places import axes_of
from adyton.schema.times import Times

if TYPE_CHECKING:
    from adyton.result import Release

MOST_SQUARES = 64
_BARS, _STEPS, _MOST_LEVELS = 24, 64, 12
"""How many bars a pyramid has from top to bottom, small multiples steps from left to right, and how many there are."""
_TYPICAL = 256
"""So many squares of a map show how wide its intervals are."""


def is_map(schema: Schema) -> bool:
    """Whether the attributes are longitude and latitude."""
    return {type(one) for one in schema.attributes.values()} == {Longitude, Latitude}


def spoken(schema: Schema) -> list[str]:
    """The names of the attributes; a point by its own name."""
    names = list(schema.names)
    for one, other in pairwise(schema.names):
        name = one.removesuffix("_longitude")
        if axes_of(name, schema.attributes) == (one, other):
            names[names.index(one) : names.index(other) + 1] = [name]
    return names


def kind_of_pair(one: Attribute, other: Attribute) -> tuple[Kind, bool]:
    """How two attributes are drawn, and whether the second comes first: what is ordered does."""
    if {type(one), type(other)} == {Longitude, Latitude}:
        return "map", False
    for along, levels, turned in ((one, other, False), (other, one, True)):
        if not along.ordered or _base(along) <= 2 or (levels.ordered and _base(levels) > 2):
            continue
        dated = isinstance(along, Times) and not along.is_part
        if _base(levels) == 2 and not dated:
            return "pyramid", turned
        if 2 <= levels.size <= _MOST_LEVELS:
            return "multiples", turned
    return "map", False


def _base(attribute: Attribute) -> int:
    return attribute.base_size if isinstance(attribute, CelledAttribute) else attribute.size


def axes_of_pair(names: tuple[str, str], schema: Schema, kind: Kind) -> tuple[DisplayAxis, DisplayAxis]:
    """The two axes of a picture of this kind, what goes along first."""
    most = {"pyramid": (_BARS, _MOST_LEVELS), "multiples": (_STEPS, _MOST_LEVELS)}.get(
        kind, (MOST_SQUARES, MOST_SQUARES)
    )
    one, other = (display_axis(name, schema.attributes[name], room) for name, room in zip(names, most, strict=True))
    return one, other


def pair(release: Release, asked: Asked, places: tuple[int, ...]) -> LaterPanel:
    """The counts of two attributes together, summed over all others."""
    names = [tuple(release.axes)[place] for place in places]
    kind, turned = kind_of_pair(*(release.schema.attributes[name] for name in names))
    order = (1, 0) if turned else (0, 1)
    axes = axes_of_pair((names[order[0]], names[order[1]]), release.schema, kind)
    first, last = _boxes(release.estimate.shape, (places[order[0]], places[order[1]]), axes)
    title = f"Rows by {' and '.join(spoken(release.schema.select(names)))}"
    sides = axes[0].size, axes[1].size
    if kind != "map":
        where = asked.boxes((first, last))

        def whole(numbers: NumbersOf) -> Panel:
            three = (None if one is None else one.reshape(sides) for one in numbers(where))
            return Panel(kind, title, axes, (), *three)  # type: ignore[arg-type]

        return whole
    values = np.asarray(Ranges(release.estimate.shape, first, last) @ release.estimate.reshape(-1), dtype=np.float64)
    some = np.unique(np.linspace(0, len(first) - 1, min(_TYPICAL, len(first))).astype(int)).tolist()
    part = asked.boxes(([first[one] for one in some], [last[one] for one in some]))

    def panel(numbers: NumbersOf) -> Panel:
        _, lower, upper = numbers(part)
        return Panel("map", title, axes, (), values.reshape(sides), lower, upper)

    return panel


def _boxes(shape: tuple[int, ...], places: tuple[int, int], axes: tuple[DisplayAxis, DisplayAxis]) -> Boxes:
    """Every shown cell of two axes, as a box of the domain."""
    spans = [
        tuple(zip(*((a, b) for a in one for b in other), strict=True))
        for one, other in ((axes[0].first, axes[1].first), (axes[0].last, axes[1].last))
    ]
    return boxes(shape, {place: (spans[0][at], spans[1][at]) for at, place in enumerate(places)})
