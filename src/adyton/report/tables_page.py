"""The report of many tables: one HTML file that opens anywhere, with a grid of pairs and the graph of measured ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from adyton.marginals.table_errors import how_got, total_variation
from adyton.report import svg
from adyton.report.charts import caption, draw
from adyton.report.own_words import example, word_facts
from adyton.report.page import NARROW, WIDE
from adyton.report.paid import paid_facts
from adyton.report.palette import BLUE, ORANGE
from adyton.report.shown import Panel
from adyton.report.table_panels import panels, picture_of, shown_groups
from adyton.report.templates import templates

if TYPE_CHECKING:
    from adyton.marginals.tables_release import TablesRelease

_MOST_ATTRIBUTES, _LISTED, _ALONE = 40, 500, 12
_CELL, _LABEL, _CIRCLE = 22.0, 130.0, 170.0


def render(release: TablesRelease) -> str:
    """The whole page."""
    from markupsafe import Markup

    names = list(release.axes)[:_MOST_ATTRIBUTES]
    told = release.explain().paragraphs
    alone = [picture_of(release, (name,)) for name in names[:_ALONE]]
    bounded = next((one for one in alone if one.lower is not None), None)
    lines = [(group, how_got(release.model, group), total_variation(release.model, group)) for group in release.groups]
    return (
        templates()
        .get_template("tables.html.j2")
        .render(
            release=release,
            heading=_heading(release),
            told=told,
            alone=[_drawn(panel) for panel in alone],
            example=example(bounded, bounded.rate) if bounded else "",
            typical=_typical([error for *_, error in lines if error is not None]),
            schema=release.schema.to_toml().strip(),
            bounds_meaning=_meaning(bounded),
            grid=Markup(_grid(release, names)),
            graph=Markup(_graph(release, names)),
            left=len(release.axes) - len(names),
            panels=panels(release, names),
            places=shown_groups(release, names),
            lines=lines[:_LISTED],
            more=max(0, len(lines) - _LISTED),
            **_facts(release),
        )
    )


def _heading(release: TablesRelease) -> str:
    task = str(release.task)
    return task[:1].upper() + task[1:]


def _typical(errors: list[float]) -> str:
    return f"{100 * sum(errors) / len(errors):.2g}%" if errors else ""


def _meaning(bounded: Panel | None) -> str:
    """What intervals promise."""
    if bounded is None:
        return ""
    if bounded.approximate:
        return "It is meant to hold the true count in 95 of 100 releases, but nobody guarantees it."
    return "Of all releases made in this way, 95 in 100 have the true count inside its interval."


def _drawn(panel: Panel) -> dict[str, Any]:
    from markupsafe import Markup

    wide, narrow = (Markup(draw(panel, width)) for width in (WIDE, NARROW))
    return {"title": panel.title, "caption": caption(panel), "wide": wide, "narrow": narrow}


def _facts(release: TablesRelease) -> dict[str, Any]:
    return word_facts(release.schema) | paid_facts(release.receipt, release.epsilon, "release")


def _grid(release: TablesRelease, names: list[str]) -> str:
    """A square for each pair: blue where it was measured, the darker the larger its error; pale where it was not."""
    model = release.model
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    errors = {pair: total_variation(model, pair) for pair in pairs}
    largest = max((error for error in errors.values() if error is not None), default=1.0) or 1.0
    parts, places = [], shown_groups(release, names)
    for row, name in enumerate(names):
        parts.append(svg.text(_LABEL - 6, (row + 0.5) * _CELL, svg.cut(name, _LABEL - 10), anchor="end"))
    for one, other in pairs:
        x, y = _LABEL + names.index(one) * _CELL, names.index(other) * _CELL
        error = errors[one, other]
        strength = 0.35 if error is None else 0.25 + 0.75 * error / largest
        said = model.pair((one, other))[1] + ("" if error is None else f", expected error {error:.4f}")
        square = svg.box(x, y, _CELL - 2, _CELL - 2, ORANGE if error is None else BLUE, strength)
        named = f"<title>{_escaped(f'{one} × {other}: {said}')}</title>{square}"
        place = places.get((one, other))
        parts.append(f"<g>{named}</g>" if place is None else f'<a href="#{place}">{named}</a>')
    side = len(names) * _CELL
    words = "Every pair of attributes, by its expected error"
    return svg.drawing(
        _LABEL + side, side, words, f"{len(pairs)} pairs; the largest expected error is {largest:.4f}", parts
    )


def _graph(release: TablesRelease, names: list[str]) -> str:
    """The attributes in a circle, with a line for each measured pair; those of the forest are strong."""
    model, middle = release.model, _CIRCLE + _LABEL
    places = {
        name: (middle + _CIRCLE * math.cos(angle), _CIRCLE + 20 + _CIRCLE * math.sin(angle))
        for number, name in enumerate(names)
        for angle in [2 * math.pi * number / len(names)]
    }
    forest = set(model.forest.pairs)
    parts = [
        svg.line(
            *places[one], *places[other], 0.9 if (one, other) in forest else 0.15, 2 if (one, other) in forest else 1
        )
        for one, other in model.pairs
        if one in places and other in places
    ]
    for name, (x, y) in places.items():
        right = x >= middle
        parts.append(svg.box(x - 3, y - 3, 6, 6, BLUE))
        parts.append(svg.text(x + (7 if right else -7), y, svg.cut(name, _LABEL - 10), "start" if right else "end"))
    words = "The measured pairs of attributes"
    return svg.drawing(2 * middle, 2 * _CIRCLE + 40, words, f"{len(model.pairs)} measured pairs", parts)


def _escaped(words: str) -> str:
    from html import escape

    return escape(words)
