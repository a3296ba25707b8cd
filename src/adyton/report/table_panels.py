"""Single tables on the page of many: one for each pair, hidden until somebody clicks on its square in the grid, and one
for each other table that was asked for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adyton.marginals.table_answers import table_interval
from adyton.marginals.table_errors import total_variation
from adyton.report.bars import MOST as MOST_BARS
from adyton.report.charts import caption, draw
from adyton.report.display_axis import DisplayAxis, display_axis
from adyton.report.pairs import axes_of_pair, kind_of_pair
from adyton.report.panels import kind_of
from adyton.report.scales import people
from adyton.report.shown import Panel

if TYPE_CHECKING:
    from markupsafe import Markup

    from adyton.arrays import Reals
    from adyton.marginals.tables_release import TablesRelease

MOST_PANELS = 800
_WRITTEN, _MOST_STEPS = 240, 256
"""Up to how many cells a table is written out, and how many steps the picture of one attribute has at most."""
_WIDTHS, _BOTH = (560.0, 358.0), 120
"""How wide pictures are, on a screen and on a telephone; beyond so many tables there is only the narrow one."""
_COLUMNS = 8
"""So many cells of an attribute stand side by side at most."""
_FIRST = 12
"""So many of the tables that were asked for are shown at once."""
_CONFIDENCE = 0.95
Cell = tuple[str, str]
"""A count and its bounds, which may be empty."""


@dataclass(frozen=True)
class TablePanel:
    """One table: a picture, what it rests on, and its counts where they are few."""

    anchor: str
    title: str
    told: str
    pictures: tuple[Markup, ...]
    """For wide and for narrow windows; or one for both; none of more than two attributes."""
    approximate: bool
    """Whether there are bounds whose rate is not a promise."""
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]
    """Label and counts of each row, if the table is small."""
    first: bool
    """Whether it is shown at once, and not only when somebody asks for it."""


def anchor_of(*places: int) -> str:
    """The place of a table on the page, by the numbers of its attributes."""
    return f"table-{'-'.join(map(str, places))}"


def shown_groups(release: TablesRelease, names: Sequence[str]) -> dict[tuple[str, ...], str]:
    """The tables on the page, and where each is: all pairs of some attributes in the order of the grid, then the others
    that were asked for."""
    places = {name: number for number, name in enumerate(names)}
    others = (group for group in release.groups if len(group) != 2 and places.keys() >= set(group))
    every = itertools.islice(itertools.chain(itertools.combinations(names, 2), others), MOST_PANELS)
    return {group: anchor_of(*(places[name] for name in group)) for group in every}


def panels(release: TablesRelease, names: Sequence[str]) -> list[TablePanel]:
    """For all tables that are shown."""
    groups = shown_groups(release, names)
    widths = _WIDTHS if len(groups) <= _BOTH else _WIDTHS[1:]
    first = set(release.groups[:_FIRST])
    return [_panel(release, anchor, group, widths, group in first) for group, anchor in groups.items()]


def picture_of(release: TablesRelease, group: tuple[str, ...]) -> Panel:
    """The picture of one or two attributes, with bounds where every cell is drawn by itself."""
    attributes = [release.schema.attributes[name] for name in group]
    if len(group) == 1:
        axes: tuple[DisplayAxis, ...] = (display_axis(group[0], attributes[0], _MOST_STEPS),)
        kind, turned = kind_of(axes[0]), False
    else:
        kind, turned = kind_of_pair(*attributes)
        axes = axes_of_pair((group[turned], group[not turned]), release.schema, kind)
    bounds = table_interval(release, group, _CONFIDENCE)
    counts = release.table(*group).counts
    whole = not bounds.missing and kind != "map" and max(axis.joined for axis in axes) == 1
    three = [counts, bounds.lower, bounds.upper] if whole else [counts]
    shown = [_joined(one.reshape(counts.shape).T if turned else one.reshape(counts.shape), axes) for one in three]
    lower, upper = (shown[1], shown[2]) if whole else (None, None)
    labels = axes[0].labels if len(axes) == 1 else ()
    about = None if whole else ""
    title = f"Rows by {' and '.join(group)}"
    approximate = bounds.kind != "exact"
    panel = Panel(kind, title, axes, labels, shown[0], lower, upper, about=about, approximate=approximate)
    return panel.of(release.counted)


def _panel(
    release: TablesRelease, anchor: str, group: tuple[str, ...], widths: Sequence[float], first: bool
) -> TablePanel:
    from markupsafe import Markup

    error = total_variation(release.model, group)
    drawable = len(group) == 2 or (len(group) == 1 and release.schema.attributes[group[0]].size <= MOST_BARS**2)
    picture = picture_of(release, group) if drawable else None
    rows = "counted rows" if release.counted else "rows"
    off = "" if error is None else f" About {100 * error:.2g}% of all {rows} are expected in a wrong cell, at most."
    how = release.table(*group).how
    said = f"{_HOW.get(how, how)}.{off}{'' if picture is None else ' ' + caption(picture)}"
    small = math.prod(release.schema.attributes[name].size for name in group) <= _WRITTEN
    columns, lines, approximate = _written(release, group) if small else ((), (), False)
    drawn = () if picture is None else tuple(Markup(draw(picture, width)) for width in widths)
    return TablePanel(anchor, " × ".join(group), said.strip(), drawn, approximate, columns, lines, first)


_HOW = {
    "measured": "Measured",
    "by a path": "Not measured: by a path of measured pairs",
    "independent": "Not measured: the two attributes are taken for independent",
    "fitted to pairs": "Not measured: fitted to the measured pairs",
}


def _joined(counts: Reals, axes: Sequence[DisplayAxis]) -> Reals:
    found = counts
    for place, axis in enumerate(axes):
        found = np.add.reduceat(found, axis.first, axis=place)
    return np.asarray(found)


def _written(
    release: TablesRelease, group: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[Cell, ...]], ...], bool]:
    """Counts with their bounds: the cells of one attribute side by side if they are few, those of others below."""
    bounds = table_interval(release, group, _CONFIDENCE)
    known = not bounds.missing
    three = [np.asarray(one).reshape(release.table(*group).counts.shape) for one in (bounds.lower, bounds.upper)]
    three.insert(0, release.table(*group).counts)
    *rows, columns = release.labels(group)
    if len(group) == 2 and len(columns) > _COLUMNS >= len(rows[0]):
        three, rows, columns = [one.T for one in three], [columns], rows[0]
    elif len(group) == 1 or len(columns) > _COLUMNS:
        rows, columns = [*rows, columns], (release.counted.what(),)
    flat = [one.reshape(-1, len(columns)).tolist() for one in three]
    cells = [[_cell(a, b, c, known) for a, b, c in zip(*line, strict=True)] for line in zip(*flat, strict=True)]
    names = [" × ".join(map(str, labels)) for labels in itertools.product(*rows)]
    lines = tuple((name, tuple(line)) for name, line in zip(names, cells, strict=True))
    return tuple(map(str, columns)), lines, known and bounds.kind == "approximate"


def _cell(count: float, lower: float, upper: float, known: bool) -> Cell:
    return people(count), f"{people(lower)} to {people(upper)}" if known else ""
