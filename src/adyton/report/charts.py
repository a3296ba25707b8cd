"""Which picture suits which attributes, and its description in words; ``pictures.py`` draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.report import svg
from adyton.report.axes import DisplayAxis, Ticks, display_axis, ground_of, middle_of
from adyton.report.svg import figure, people, reach
from adyton.schema import Identifier, Latitude, Longitude, Schema
from adyton.schema.attributes import Attribute, CelledAttribute
from adyton.schema.numbers import axes_of
from adyton.schema.times import Times

if TYPE_CHECKING:
    from adyton.result.receipt import RowsCounted

Kind: TypeAlias = Literal["bars", "line", "trend", "map", "pyramid", "multiples", "dots"]
"""The form of a picture. A trend is a line over dates."""
MOST_BARS, MOST_SQUARES, MOST_STEPS = 60, 64, 512
"""How many bars a picture has at most (more are drawn as a line), and how many squares and steps from left to right."""
_BARS, _STEPS, _MOST_LEVELS = 24, 64, 12
"""How many bars a pyramid has, how many steps each small multiple has, and how many small multiples there are."""
_FEWEST_STEPS = 4.0
"""How many whole numbers an axis of dots spans, at least, if all of them are whole."""
_FEW = 12
"""Up to this many cells are drawn as bars even if they are ordered, unless they are dates."""
_VISIBLE = {
    **dict.fromkeys(("line", "trend"), (220.0, 3.0)),
    "multiples": (104.0, 3.0),
    "pyramid": (280.0, 3.0),
    "bars": (540.0, 3.0),
    "dots": (540.0, 9.0),
}
"""The length of the axis of values in pixels, about, and the least width of an interval that can be seen behind a line,
at the end of a bar, or behind a dot."""
_MARKS = {"bars": "bar", "map": "square", "pyramid": "bar", "dots": "dot", "trend": "point"}


@dataclass(frozen=True, eq=False)
class Panel:
    """The content of one picture."""

    kind: Kind
    title: str
    axes: tuple[DisplayAxis, ...]
    labels: tuple[str, ...]
    values: Reals
    lower: Reals | None
    upper: Reals | None
    """The bounds; for a map, those of some squares only."""
    confidence: float = 0.95
    """The confidence of the bounds."""
    unit: str = "rows"
    """What the values are."""
    about: str | None = None
    """A remark that replaces the one on bounds; None if there is none."""
    approximate: bool = False
    """Whether the confidence is not a promise."""
    series: tuple[str, ...] = ()
    """The names of the columns, if the values have several."""
    zero: bool = True
    """Whether the axis of values includes zero."""
    within: tuple[float, float] | None = None
    """The ends of the axis of values, if some intervals are so wide that they are cut at its edge."""
    along: tuple[str, Ticks] | None = None
    """The name and the ticks of the horizontal axis, if it is not an attribute."""
    more: str = ""
    """A sentence on what is left out of the picture."""
    years: bool = False
    """Whether the values are years, which are written without commas."""

    def written(self, value: float) -> str:
        """A value for people: whole if it counts them."""
        return people(value) if self.people else svg.plain(value) if self.years else figure(value)

    @property
    def people(self) -> bool:
        """Whether the values are numbers of rows, which are written as whole numbers."""
        return self.unit.startswith(("rows", "units"))

    @property
    def whole(self) -> bool:
        """Whether everything that is drawn is a whole number."""
        return all(part.size and bool((np.isnan(part) | (part == np.rint(part))).all()) for part in self.drawn)

    def of(self, counted: RowsCounted) -> Panel:
        """The same, saying which rows were counted."""
        if not self.people or not counted:
            return self
        title = self.title.replace("Rows ", f"{counted.noun.capitalize()} ", 1)
        return replace(self, unit=counted.what(self.unit), title=title)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the axis of values."""
        if self.within is not None:
            return self.within
        known = [part[np.isfinite(part)] for part in self.drawn]
        found = [float(end) for part in known if part.size for end in (part.min(), part.max())]
        if self.kind == "dots" and self.whole:  # neighbouring whole numbers must not look far apart
            room = max(0.0, (_FEWEST_STEPS - max(found) + min(found)) / 2)
            found += [min(found) - room, max(found) + room]
        return reach(found, zero=self.zero and self.kind != "dots")

    @property
    def drawn(self) -> list[Reals]:
        """The values and, if there are any, their bounds, without those that this form of picture leaves out."""
        if self.lower is None or self.upper is None or self.kind == "map":
            parts = [self.values]
        else:
            parts = [self.values, self.lower, self.upper]
        if self.kind == "pyramid":
            return [part[:, :2] for part in parts]
        return [part[: len(part) - self.axes[0].apart] for part in parts] if self.kind == "multiples" else parts

    @property
    def outside(self) -> Flags:
        """Which of the drawn values are outside the picture."""
        low, high = self.ends
        return (self.drawn[0] < low) | (self.drawn[0] > high)

    @property
    def rate(self) -> str:
        """The name of the bounds: "95% interval", or "approximate 95% interval"."""
        return f"{'approximate ' * self.approximate}{100 * self.confidence:g}% interval"


# ---- which picture suits which attributes ---------------------------------------------------------------------------


def kind_of(axis: DisplayAxis) -> Kind:
    """How the counts along an axis are drawn: dates as a trend, few cells or names as bars, others as steps."""
    if axis.dated:
        return "trend"
    few = axis.size <= _FEW or (not axis.ordered and axis.size <= MOST_BARS)
    return "bars" if few else "line"


def spoken(schema: Schema) -> list[str]:
    """The names of the attributes; longitude and latitude of a point together by its own name."""
    names = list(schema.names)
    for first, second in pairwise(schema.names):
        name = first.removesuffix("_longitude")
        if axes_of(name, schema.attributes) == (first, second):
            names[names.index(first) : names.index(second) + 1] = [name]
    return names


def kind_of_pair(first: Attribute, second: Attribute) -> tuple[Kind, bool]:
    """How two attributes are drawn, and whether the second comes first: an ordered attribute does."""
    if {type(first), type(second)} == {Longitude, Latitude}:
        return "map", False
    for along, levels, turned in ((first, second, False), (second, first, True)):
        if not along.ordered or _base(along) <= 2 or (levels.ordered and _base(levels) > 2):
            continue
        dated = isinstance(along, Times) and not along.is_part
        if _base(levels) == 2 and not dated:
            return "pyramid", turned
        if 2 <= levels.size <= _MOST_LEVELS:
            return "multiples", turned
    return "map", False


def without(panel: Panel, gone: Flags, why: str = "") -> Panel | None:
    """A panel without some values, with a sentence on why, or on how many are held back: bars and dots without their
    lines, others with gaps. None if nothing would be left, and of maps, where a gap looks like a count of 0."""
    gone = np.asarray(gone).reshape(panel.values.shape)
    if not gone.any():
        return panel
    if panel.kind == "map" or gone.all():
        return None
    lower, upper = (None if part is None else np.where(gone, np.nan, part) for part in (panel.lower, panel.upper))
    values = np.where(gone, np.nan, panel.values)
    more = f"{panel.more} {why or f'Held back: {int(gone.sum()):,}.'}".strip()
    panel = replace(panel, values=values, lower=lower, upper=upper, more=more)
    return _rows_with_values(panel) if panel.kind in ("bars", "dots") else panel


def _rows_with_values(panel: Panel) -> Panel:
    """Bars and dots without those of which no value is shown."""
    kept = ~np.isnan(panel.values.reshape(len(panel.values), -1)).all(axis=1)
    lower, upper = (None if part is None else part[kept] for part in (panel.lower, panel.upper))
    labels = tuple(panel.labels[place] for place in np.flatnonzero(kept).tolist())
    return replace(panel, axes=(), labels=labels, values=panel.values[kept], lower=lower, upper=upper)


def _base(attribute: Attribute) -> int:
    return attribute.base_size if isinstance(attribute, CelledAttribute) else attribute.size


def axes_of_pair(names: Sequence[str], schema: Schema, kind: Kind) -> tuple[DisplayAxis, DisplayAxis]:
    """The two axes of a picture of this kind, the one along the picture first."""
    along, levels = {"pyramid": (_BARS, _MOST_LEVELS), "multiples": (_STEPS, _MOST_LEVELS)}.get(
        kind, (MOST_SQUARES, MOST_SQUARES)
    )
    first, second = (schema.attributes[name] for name in names)
    return display_axis(names[0], first, along), display_axis(names[1], second, levels)


def blank(schema: Schema, names: Sequence[str], labels: Mapping[str, Sequence[Any]]) -> Panel:
    """The picture of the rows by one or two attributes, without the numbers."""
    if len(names) == 1:
        axes: tuple[DisplayAxis, ...] = (display_axis(names[0], schema.attributes[names[0]], MOST_STEPS),)
        kind = kind_of(axes[0])
    else:
        kind, turned = kind_of_pair(*(schema.attributes[name] for name in names))
        axes = axes_of_pair(names[::-1] if turned else names, schema, kind)
    own = {axis.name: tuple(map(str, labels[axis.name])) for axis in axes if axis.joined == 1}
    axes = tuple(replace(axis, labels=own.get(axis.name, axis.labels)) for axis in axes)
    title = f"Rows by {' and '.join(spoken(schema.select(names)))}"
    return Panel(kind, title, axes, axes[0].labels if len(axes) == 1 else (), np.empty(0), None, None)


# ---- in words -------------------------------------------------------------------------------------------------------


def describe(panel: Panel) -> str:
    """A picture in words."""
    values = panel.values[~np.isnan(panel.values)]
    low, high = panel.written(float(values.min())), panel.written(float(values.max()))
    return f"{values.size} values from {low} to {high} {panel.unit}; the greatest is at {peak(panel)}. {caption(panel)}"


def peak(panel: Panel) -> str:
    """The name of the cell with the greatest value."""
    return _cell(panel, int(np.nanargmax(panel.values)))


def _cell(panel: Panel, place: int) -> str:
    """The name of a cell."""
    if len(panel.axes) == 2:
        (across, up), (column, row) = panel.axes, divmod(place, panel.axes[1].size)
        if ground_of(across, up):
            return f"{' and '.join(middle_of(axis, cell) for axis, cell in ((across, column), (up, row)))}"
        return f"{across.name} {across.labels[column]} and {up.name} {up.labels[row]}"
    row, column = divmod(place, len(panel.series) or 1)
    label = panel.labels[row] + (f", {panel.series[column]}" if panel.series else "")
    return f"{panel.axes[0].name} {label}" if panel.axes else label


def caption(panel: Panel) -> str:
    """The caption: which cells were joined, what was left out, and how the interval is shown."""
    words = []
    mark = _MARKS.get(panel.kind, "step")
    for axis in panel.axes:
        if axis.joined > 1:
            words.append(f"Each {mark} adds up {axis.joined} neighbouring cells of {axis.name}.")
        if panel.kind == "map" and axis.ordered and axis.apart:
            words.append(f"At the end of {axis.name}: {' and '.join(axis.labels[-axis.apart :])}.")
    for name, label, cells in _left_out(panel):
        known = "held back" if np.isnan(cells).all() else f"about {people(float(np.nansum(cells)))} rows"
        words.append(f"Not drawn: {name} {label}, {known}.")
    if panel.about is not None:
        return " ".join([*words, panel.about])
    if panel.lower is None or panel.upper is None:
        words.append("Shown without intervals.")
    elif panel.kind == "map":
        radius = max(1, round(float((panel.upper - panel.lower).mean() / 2)))
        rows = f"{radius:,} row{'s' * (radius > 1)}"
        words.append(f"The {panel.rate} of a square extends about {rows} to either side.")
    else:
        words.append(_intervals_in_words(panel, mark))
    if panel.outside.any():
        words.append("A filled arrow at the edge, with its number, is a value outside the picture.")
    if panel.zero and (panel.values < 0).any():
        words.append("Values below zero are noise, shown as they are.")
    return " ".join([*words, panel.more]).strip()


def _intervals_in_words(panel: Panel, mark: str) -> str:
    """How intervals are shown, where they can be seen."""
    (low, high), (pixels, least) = panel.ends, _VISIBLE[panel.kind]
    lower, upper = (part[~np.isnan(part)] for part in panel.drawn[1:])
    seen = (upper - lower) / (high - low) * pixels >= least
    if not seen.any():
        radius = float((upper - lower).max(initial=0.0)) / 2
        wide = f", at most ± {figure(radius)}" if radius else ""
        return f"The {panel.rate} of each {mark} is too narrow to be seen{wide}."
    banded = panel.kind in ("line", "trend", "multiples")
    words = f"The {'shaded band is' if banded else 'thin lines are'} the {panel.rate} of each {mark}"
    words += "." if seen.all() else ", where it is wide enough to be seen."
    if (lower < low).any() or (upper > high).any():
        marked = "a band at the edge" if banded else "an open arrow at the edge"
        words += f" Some intervals are wider than the picture, because little is known: {marked} goes on beyond it."
    return words


def _left_out(panel: Panel) -> list[tuple[str, str, Reals]]:
    """Other and missing values, which pyramids and small multiples do not show."""
    if panel.kind not in ("pyramid", "multiples"):
        return []
    along, levels = panel.axes
    if panel.kind == "pyramid":
        return [(levels.name, levels.labels[place], panel.values[:, place]) for place in range(2, levels.size)]
    left = range(along.size - along.apart, along.size)
    return [(along.name, along.labels[place], panel.values[place]) for place in left]


def example(panel: Panel) -> str:
    """An example of how to read a picture, in a sentence: its greatest number of rows, or a number of another kind
    with the median interval."""
    place, write = int(np.nanargmax(panel.values)), panel.written
    if not panel.people:
        if panel.lower is None or panel.upper is None:
            return ""
        widths = (panel.upper - panel.lower).reshape(-1)
        place = int(np.argsort(widths, kind="stable")[(widths.size - int(np.isnan(widths).sum())) // 2])
    value = write(float(panel.values.reshape(-1)[place]))
    if not panel.people:
        said = f"{panel.title}, {_cell(panel, place)}: about {value}"
    elif panel.values.size == 1:
        said = f"There are about {value} {panel.unit}"
    else:
        of = "Up to" if " up to each " in panel.title else "Around" if is_place(panel) else "Of"
        said = f"{of} {peak(panel)} there are about {value} {panel.unit}"
    if panel.lower is None or panel.upper is None or panel.kind == "map":
        return f"{said}."
    low, high = svg.span(float(panel.lower.reshape(-1)[place]), float(panel.upper.reshape(-1)[place]), write)
    if low == high:
        return f"{said}; the {panel.rate} contains no other number."
    return f"{said}; the {panel.rate} reaches from {low} to {high}, and the true number is most likely between the two."


def is_place(panel: Panel) -> bool:
    """Whether a picture is a map of places."""
    return len(panel.axes) == 2 and ground_of(*panel.axes) is not None


def in_common(schema: Schema | None, panels: Sequence[Panel]) -> str:
    """A sentence on what the counts say about people who are not in the data."""
    says = "that says something about everybody to whom it applies, in the data or not."
    shown = next((panel for panel in panels if panel.people and panel.values.size > 1), None)
    if shown is not None:
        fact = f"many are around {peak(shown)}" if is_place(shown) else f"{peak(shown)} is common"
        return f"If the counts show that {fact}, {says}"
    attributes = {} if schema is None else schema.attributes
    names = [name for name, attribute in attributes.items() if not isinstance(attribute, Identifier)]
    if not names:
        return f"Whatever is common in the data, {says}"
    return f"If the numbers show that {names[0]} {attributes[names[0]].labels[0]} is common, {says}"
