"""Many tables on a page: each attribute separately, a grid of pairs with a table for each square, a list of all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.marginals.tables_release import LIMIT, table_interval
from adyton.messages import percent
from adyton.report import svg
from adyton.report.charts import MOST_BARS, Panel, blank
from adyton.report.page import (
    Block,
    Fact,
    Part,
    Picture,
    Section,
    Table,
    View,
    Words,
    meaning,
    promise,
    reading_example,
    table_of,
    view_of,
    where,
)
from adyton.report.pictures import Drawing
from adyton.report.svg import BLUE, ORANGE, people

if TYPE_CHECKING:
    from adyton.marginals.tables_release import TablesRelease

_MOST_ATTRIBUTES, _LISTED, _ALONE, _MOST_PANELS = 40, 500, 12, 800
"""How many attributes the grid has, how many tables the list, how many attributes are drawn separately, and how many
tables are on the page in all."""
_CELL, _LABEL = 22.0, 130.0
_WRITTEN = 240
"""Up to how many cells the counts of a table are listed."""
_WIDTHS, _BOTH = (560.0, 358.0), 120
"""The width of pictures, on a screen and on a telephone; and the number of tables above which only the narrow picture
is made."""
_COLUMNS = 8
"""How many cells of an attribute are side by side at most."""
_FIRST = 12
"""How many of the requested tables are shown at first."""
_CONFIDENCE = 0.95
_HOW = {
    "measured": "Measured",
    "by a path": "Not measured: computed along a path of measured pairs",
    "independent": "Not measured: the two attributes are assumed to be independent",
    "fitted to pairs": "Not measured: fitted to the measured pairs",
}


def drawings(release: TablesRelease, most: int | None) -> list[Drawing]:
    """The first requested tables of one or two attributes."""
    asked = [group for group in release.groups if len(group) <= 2]
    return [drawing_of(release, group) for group in asked[: _FIRST if most is None else min(most, _FIRST)]]


def drawing_of(release: TablesRelease, attributes: Sequence[str]) -> Drawing:
    """The picture of the table of one or two attributes."""
    group = release.schema.check_names(attributes)
    if len(group) > 2:
        raise BadInput(
            'a picture shows one or two attributes, like plot(attributes=["age", "sex"]). to_frame(…) has wider tables.'
        )
    return Drawing.of(_panel_of(release, group))


def view(release: TablesRelease) -> View:
    """The content of the page of many tables."""
    names = list(release.axes)[:_MOST_ATTRIBUTES]
    alone = [_panel_of(release, (name,)) for name in names[:_ALONE]]
    bounded = [panel for panel in alone if panel.lower is not None][:1]
    guessed = any(panel.approximate for panel in bounded)
    errors = [release.wrong(group) for group in release.groups]
    tables, attributes = f"{len(release.groups):,}", len(release.axes)
    known = [error for error in errors if error is not None]
    of = f"of all {'counted ' if release.counted else ''}rows, on average"
    measured = sum(release.model.how(group) == "measured" for group in release.groups)
    counted = f"{measured:,} of them measured" if measured < len(release.groups) else "all of them measured"
    limits = sum(map(release.is_limit, release.groups))
    most = (f"at most about this: the {LIMIT} of {limits:,} tables that were not measured is in it",) if limits else ()
    wrong = (Fact("In a wrong cell", percent(sum(known) / len(known)), (of, *most)),) if known else ()
    said = f"{tables} tables of {attributes} attributes of {release.receipt.dataset}{where(release)}."
    drawings = [Drawing.of(panel) for panel in alone]
    return view_of(
        release,
        lead=f"{said} {promise(release)}",
        figures=(Fact("Tables", tables, (f"of {attributes} attributes", counted)), *wrong),
        short=(
            Section("alone", "Each attribute separately", (*map(Picture.of, drawings), *reading_example(bounded))),
            Section("pairs", "The tables, and how far off they are", tuple(_tables(release, names))),
        ),
        drawings=drawings,
        meaning=meaning(_CONFIDENCE, exact=not guessed, guessed=guessed) if bounded else "",
    )


def _panel_of(release: TablesRelease, group: tuple[str, ...]) -> Panel:
    """The picture of one or two attributes, with bounds if every cell is drawn separately."""
    panel = blank(release.schema, group, release.axes)
    bounds, counts = table_interval(release, group, _CONFIDENCE), release.table(*group).counts
    whole = not bounds.missing and panel.kind != "map" and max(axis.joined for axis in panel.axes) == 1

    def shown(cells: Reals) -> Reals:
        turned = cells.reshape(counts.shape).transpose([group.index(axis.name) for axis in panel.axes])
        for place, axis in enumerate(panel.axes):
            turned = np.add.reduceat(turned, axis.first, axis=place)
        return turned

    filled = replace(panel, values=shown(counts), about="", approximate=bounds.kind != "exact")
    if whole:
        filled = replace(filled, lower=shown(bounds.lower), upper=shown(bounds.upper), about=None)
    return filled.of(release.counted)


# ---- the grid, and the table of each square -------------------------------------------------------------------------


def _tables(release: TablesRelease, names: list[str]) -> Iterable[Block]:
    """A square for each pair, a part for each table, hidden until somebody follows its link, and a list of all."""
    places = _places(release, names)
    if len(release.axes) > 1:
        left = len(release.axes) - len(names)
        more = f" {left} more attributes are not drawn." if left else ""
        said = (
            "A square for each pair: blue pairs were measured, orange pairs are computed from others, by way of those "
            f"with a dot. Darker means a larger expected error. Point at one to read it, click to see it.{more}"
        )
        yield _grid(release, names, places, said)
        widths = _WIDTHS if len(places) <= _BOTH else _WIDTHS[1:]
        first = set(release.groups[:_FIRST])
        for group, anchor in places.items():
            blocks = tuple(_single(release, group, widths))
            yield Part(anchor, " × ".join(group), blocks, group in first, back="pairs")
    (sheet,) = release.more_sheets()[0].sheets
    errors = replace(sheet.columns[0], values=np.round(sheet.columns[0].values, 4), words="expected error")
    yield table_of(
        replace(sheet, columns=(errors,)), "", most=_LISTED, fold="All tables",
        caption="Expected errors are total variations: the part of all rows that is in a wrong cell. Where it says so, "
        "it is the upper 90% limit of a noisy look at all pairs instead.",
        links={" × ".join(group): anchor for group, anchor in places.items()} if len(release.axes) > 1 else {},
    )  # fmt: skip


def _places(release: TablesRelease, names: Sequence[str]) -> dict[tuple[str, ...], str]:
    """The tables on the page with their anchors: all pairs of some attributes in the order of the grid, then the other
    requested tables."""
    numbers = {name: number for number, name in enumerate(names)}
    others = (group for group in release.groups if len(group) != 2 and numbers.keys() >= set(group))
    every = itertools.islice(itertools.chain(itertools.combinations(names, 2), others), _MOST_PANELS)
    return {group: f"table-{'-'.join(str(numbers[name]) for name in group)}" for group in every}


def _single(release: TablesRelease, group: tuple[str, ...], widths: Sequence[float]) -> Iterable[Block]:
    """One table: how it was obtained, a picture, and its counts if they are few."""
    error, how = release.wrong(group), release.table(*group).how
    sizes = [release.schema.attributes[name].size for name in group]
    drawable = len(group) == 2 or (len(group) == 1 and sizes[0] <= MOST_BARS**2)
    drawn = Drawing.of(_panel_of(release, group)) if drawable else None
    rows = "counted rows" if release.counted else "rows"
    off = "" if error is None else f" About {percent(error)} of all {rows} are expected in a wrong cell."
    if error is not None and release.is_limit(group):
        off = f" Up to about {percent(error)} of all {rows} may be in a wrong cell ({LIMIT} of a look at all pairs)."
    yield Words(f"{_HOW.get(how, how)}.{off} {'' if drawn is None else drawn.caption}".strip())
    if drawn is not None:
        yield replace(Picture.of(drawn, widths), caption="", title="")
    if math.prod(sizes) <= _WRITTEN:
        yield _written(release, group)
    else:
        yield Words("The counts are in the files beside this page.", quiet=True)


def _written(release: TablesRelease, group: tuple[str, ...]) -> Table:
    """Counts with their bounds: the cells of one attribute side by side if they are few, those of others in lines."""
    bounds, counts = table_interval(release, group, _CONFIDENCE), release.table(*group).counts
    three = [counts, *(np.asarray(bound).reshape(counts.shape) for bound in (bounds.lower, bounds.upper))]
    *rows, columns = release.labels(group)
    if len(group) == 2 and len(columns) > _COLUMNS >= len(rows[0]):
        three, rows, columns = [part.T for part in three], [columns], rows[0]
    elif len(group) == 1 or len(columns) > _COLUMNS:
        rows, columns = [*rows, columns], (release.counted.what(),)
    cells = [
        (people(count), "" if bounds.missing else " to ".join(svg.span(low, high, people)))
        for count, low, high in zip(*(part.flatten().tolist() for part in three), strict=True)
    ]
    names, wide = [" × ".join(map(str, labels)) for labels in itertools.product(*rows)], len(columns)
    lines = [((name,), tuple(cells[wide * line : wide * (line + 1)])) for line, name in enumerate(names)]
    guessed = "approximate " if not bounds.missing and bounds.kind == "approximate" else ""
    said = f"Counts, and below them the {guessed}95% interval if there is one."
    return Table(("",), tuple((str(column), "") for column in columns), lines, said)


def _grid(release: TablesRelease, names: list[str], places: dict[tuple[str, ...], str], said: str) -> Picture:
    """A square for each pair: blue if it was measured, darker for a larger error; orange if it was not."""
    from markupsafe import Markup

    model, side = release.model, len(names) * _CELL
    errors = {pair: release.wrong(pair) for pair in itertools.combinations(names, 2)}
    largest = max((error for error in errors.values() if error is not None), default=1.0) or 1.0
    parts = [
        svg.text(_LABEL - 6, (row + 0.5) * _CELL, svg.cut(name, _LABEL - 10), anchor="end")
        for row, name in enumerate(names)
    ]
    for pair, error in errors.items():
        x, y = _LABEL + names.index(pair[0]) * _CELL, names.index(pair[1]) * _CELL
        strength = 0.35 if error is None else 0.25 + 0.75 * error / largest
        square = svg.box(x, y, _CELL - 2, _CELL - 2, BLUE if pair in model.pairs else ORANGE, strength)
        if pair in model.forest.pairs:
            square += svg.dot(x + _CELL / 2 - 1, y + _CELL / 2 - 1, "#fff", 3)
        named_error = LIMIT if release.is_limit(pair) else "expected error"
        about = model.pair(pair)[1] + ("" if error is None else f", {named_error} {error:.4f}")
        words = escape(f"{pair[0]} × {pair[1]}: {about}")
        named = f"<title>{words}</title>{square}"
        parts.append(f'<a href="#{places[pair]}">{named}</a>' if pair in places else f"<g>{named}</g>")
    limits = any(map(release.is_limit, errors))
    words = f"Every pair of attributes, by its expected error{f' or the {LIMIT} of it' if limits else ''}"
    description = f"{len(errors)} pairs; the largest is {largest:.4f}"
    return Picture(Markup(svg.drawing(_LABEL + side, side, words, description, parts)), said)  # nosec B704 # svg escapes
