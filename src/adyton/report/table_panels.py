"""Single tables on the page of many: one for each pair, hidden until somebody clicks on its square in the grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adyton.marginals.table_errors import total_variation
from adyton.report.display_axis import DisplayAxis, display_axis
from adyton.report.heat_map import heat_map

if TYPE_CHECKING:
    from markupsafe import Markup

    from adyton.arrays import Reals
    from adyton.marginals.tables_release import TablesRelease

MOST_PANELS = 800
_SHOWN, _WRITTEN = 24, 64
"""How many cells of an attribute are drawn, and up to how many cells of a table are written out."""
_WIDTH = 440.0
_CONFIDENCE = 0.95
Cell = tuple[str, str]
"""A count and its bounds, which may be empty."""


@dataclass(frozen=True)
class Panel:
    """One table: a picture, what it rests on, and its counts where they are few."""

    anchor: str
    title: str
    told: str
    picture: Markup
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]
    """Label and counts of each row, if the table is small."""


def anchor_of(one: int, other: int) -> str:
    """The place of a pair on the page, by the numbers of its attributes."""
    return f"table-{one}-{other}"


def panels(release: TablesRelease, names: Sequence[str]) -> list[Panel]:
    """For the pairs of some attributes, in the order of the grid."""
    pairs = itertools.islice(itertools.combinations(range(len(names)), 2), MOST_PANELS)
    return [_panel(release, anchor_of(*pair), (names[pair[0]], names[pair[1]])) for pair in pairs]


def _panel(release: TablesRelease, anchor: str, pair: tuple[str, str]) -> Panel:
    from markupsafe import Markup

    table = release.table(*pair)
    axes = [display_axis(name, release.schema.attributes[name], _SHOWN) for name in pair]
    shown = _joined(table.counts, axes)
    error = total_variation(release.model, pair)
    words = " × ".join(pair)
    picture = heat_map(
        shown,
        *axes,
        title=f"The table of {words}",
        description=f"{shown.size} squares, the largest count is {shown.max():,.0f}",
        unit="rows",
        width=_WIDTH,
    )
    off = "" if error is None else f" About {100 * error:.2g}% of all rows are expected in a wrong cell, at most."
    joined = " Neighbouring cells are joined in the picture." if max(axis.joined for axis in axes) > 1 else ""
    columns, lines = _written(release, pair) if table.counts.size <= _WRITTEN else ((), ())
    told = f"{_HOW.get(table.how, table.how)}.{off}{joined}"
    return Panel(anchor, words, told, Markup(picture), columns, lines)


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
    release: TablesRelease, pair: tuple[str, str]
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[Cell, ...]], ...]]:
    """Counts with their bounds, a line for each cell of the first attribute."""
    table = release.bounded(pair, _CONFIDENCE)
    rows, columns = release.labels(pair)
    assert table.lower is not None
    assert table.upper is not None
    cells = [
        [_cell(*three) for three in zip(*lines, strict=True)]
        for lines in zip(table.counts.tolist(), table.lower.tolist(), table.upper.tolist(), strict=True)
    ]
    return tuple(map(str, columns)), tuple((str(label), tuple(line)) for label, line in zip(rows, cells, strict=True))


def _cell(count: float, lower: float, upper: float) -> Cell:
    return f"{count:,.0f}", f"{lower:,.0f} – {upper:,.0f}" if np.isfinite(upper) else ""
