"""Numbers on a page: dots with intervals for groups, lines for groups that are dates, and all numbers in a table."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from adyton.arrays import Reals
from adyton.report.axes import display_axis
from adyton.report.charts import Kind, Panel, in_common, kind_of
from adyton.report.drawing import Drawing
from adyton.report.scales import figure, people, reach
from adyton.report.view import (
    Fact,
    Picture,
    Section,
    View,
    Words,
    algorithm,
    first_figure,
    meaning_of,
    paragraphs,
    promise,
    spent,
    tables_of,
    view_of,
)  # fmt: skip
from adyton.schema import Duration

if TYPE_CHECKING:
    from adyton.result.number import Number
    from adyton.statistics.asked import Figures
    from adyton.statistics.numbers_release import NumbersRelease

_MOST_GROUPS, _LISTED = 60, 2000
_MOST_PICTURES, _MOST_STEPS = 6, 512
_TOO_WIDE = 0.4
"""Of an interval that spans more of what is possible than this, nothing else is told than that it does."""
_QUIET = ("count", "variance")
"""These are told in the table, and drawn only if nothing else is there."""


def drawings(release: NumbersRelease) -> list[Drawing]:
    """At most six pictures."""
    return [Drawing.of(panel) for panel in _panels(release)]


def drawing_of_number(number: Number) -> Drawing:
    """A dot with its interval."""
    found, of = number.interval(), "units" if number.task.per_unit else "rows"
    value, lower, upper = (np.array([one], dtype=np.float64) for one in (found, found.lower, found.upper))
    label = number.counted.what(of)
    panel = Panel("dots", f"Number of {of}", (), (label,), value, lower, upper, unit=of, zero=False)
    return Drawing.of(panel)


def view_of_number(number: Number) -> View:
    """What the page of a single number says."""
    said, *others = number.own_paragraphs()
    blocks = (
        *(Picture.of(drawing) for drawing in number.drawings()),
        Words(said, "How to read it."),
        *(Words(text, quiet=True) for text in others),
        *tables_of(number.sheets()),
    )
    sheets = number.sheets()
    return view_of(
        number,
        figures=(*first_figure(sheets), spent(number), algorithm(number)),
        short=(Section("numbers", "The number", blocks),),
        meaning=meaning_of(sheets),
        common=in_common(number.schema, ()),
    )


def view(release: NumbersRelease) -> View:
    """What the page of numbers says."""
    panels, sheets, by = _panels(release), release.sheets(), " × ".join(release.task.by)
    undrawn = len(release.groups) - _MOST_GROUPS
    also = (
        f"{undrawn} more groups are in the table." if undrawn > 0 and any(one.kind == "dots" for one in panels) else ""
    )
    groups = (Fact("Groups", f"{len(release.groups):,}", (f"by {by}",)),) if by else first_figure(sheets)
    only = (Fact("Only rows where", "", (release.where,)),) if release.where else ()
    blocks = (
        *(Picture.of(Drawing.of(panel), also) for panel in panels),
        *_example(release),
        *tables_of(sheets, _LISTED, release.task.attribute),
    )
    return view_of(
        release,
        kicker=f"Private numbers from {release.receipt.dataset}",
        lead=promise(release),
        figures=(*groups, *only, spent(release), algorithm(release)),
        short=(Section("numbers", "The numbers", blocks),),
        long=(Section("how", "How it was measured", paragraphs(release)),),
        meaning=meaning_of(sheets),
        common=in_common(release.schema, ()),
    )


def _example(release: NumbersRelease) -> tuple[Words, ...]:
    """What one number says, in a sentence."""
    figures = [one for one in release.figures() if one.known]
    if not figures:
        return ()
    one = next((found for found in figures if found.name not in _QUIET), figures[0])
    write = people if one.name == "count" else figure
    value, low, high = (write(float(part[0])) for part in (one.estimate, one.lower, one.upper))
    of = f" of {' × '.join(release.task.by)} {_group_names(release)[0]}" if release.task.by else ""
    rate = f"{'approximate ' * (one.kind == 'approximate')}95% interval"
    name = {"50%": "median"}.get(one.name, f"{one.name} quantile" if one.name.endswith("%") else one.name)
    said = f"The {name} of {release.task.attribute}{of} is about {value}; the {rate} reaches from {low} to {high}."
    return (Words(said, "How to read it."),)


def _panels(release: NumbersRelease) -> list[Panel]:
    """At most six pictures. Quantiles of the same kind share one, and so does all that is known of a single group."""
    figures = [one for one in release.figures() if one.known]
    drawn = [one for one in figures if one.name not in _QUIET] or figures
    if not release.task.by:
        drawn = [one for one in drawn if one.name not in ("sum", "deviation")] or drawn
        return [_single(release, list(some)) for _, some in groupby(drawn, lambda one: one.kind)][:_MOST_PICTURES]
    panels = []
    for (quantiles, _), some in groupby(drawn, lambda one: (one.name.endswith("%"), one.kind)):
        found = list(some)
        panels += [_by_group(release, found)] if quantiles else [_by_group(release, [one]) for one in found]
    return panels[:_MOST_PICTURES]


def _group_names(release: NumbersRelease) -> list[str]:
    """What each group is called."""
    every = "all counted rows" if release.counted else "all rows"
    return [" × ".join(map(str, group)) or every for group in release.groups]


def _unit(release: NumbersRelease) -> str:
    attribute = release.schema.attributes[release.task.attribute]
    return f"{release.task.attribute} ({attribute.unit})" if isinstance(attribute, Duration) else release.task.attribute


def _single(release: NumbersRelease, figures: list[Figures]) -> Panel:
    """A line for each statistic."""
    title = f"{_title(figures)} of {release.task.attribute}"
    return _panel(release, "dots", title, tuple(one.name for one in figures), [figures], ())


def _by_group(release: NumbersRelease, figures: list[Figures]) -> Panel:
    by = release.task.by
    title = f"{_title(figures)} of {release.task.attribute} by {' and '.join(by)}"
    names = _group_names(release)
    if len(by) == 1 and len(figures) == 1:
        axis = display_axis(by[0], release.schema.attributes[by[0]], _MOST_STEPS)
        if axis.joined == 1 and axis.ordered and kind_of(axis) != "bars":
            shown = _panel(release, kind_of(axis), title, axis.labels, [figures], ())
            flat = [np.asarray(one).reshape(-1) for one in (shown.values, shown.lower, shown.upper)]
            return replace(shown, axes=(axis,), values=flat[0], lower=flat[1], upper=flat[2])
    return _panel(release, "dots", title, tuple(names[:_MOST_GROUPS]), [[one] for one in figures], _series(figures))


def _series(figures: list[Figures]) -> tuple[str, ...]:
    return tuple(one.name for one in figures) if len(figures) > 1 else ()


def _panel(
    release: NumbersRelease,
    kind: Kind,
    title: str,
    labels: tuple[str, ...],
    columns: list[list[Figures]],
    series: tuple[str, ...],
) -> Panel:
    """Each column is made of some figures, one below the other; groups beyond the labels are left out."""
    values, lower, upper = (
        np.stack(
            [np.concatenate([_within(release, one, part) for one in column])[: len(labels)] for column in columns],
            axis=1,
        )
        for part in ("estimate", "lower", "upper")
    )
    return Panel(
        kind,
        title,
        (),
        labels,
        values,
        lower,
        upper,
        unit=_unit(release),
        approximate=columns[0][0].kind == "approximate",
        series=series,
        zero=False,
        within=_ends(release, columns[0][0].name, lower, upper),
    )


def _ends(release: NumbersRelease, name: str, lower: Reals, upper: Reals) -> tuple[float, float] | None:
    """The ends of the axis, if intervals of small groups would leave no room for the others."""
    known = upper - lower <= _TOO_WIDE * float(release.asked.grid.width)
    if name in ("sum", "count", "variance", "deviation") or known.all() or not known.any():
        return None
    return reach([float(lower[known].min()), float(upper[known].max())], zero=False)


def _within(release: NumbersRelease, one: Figures, part: str) -> Reals:
    """A part of a statistic, without what cannot be drawn: nothing known is drawn as all that is possible."""
    grid = release.asked.grid
    ends = (float(grid.lower), float(grid.upper))
    middle = np.nan_to_num(one.estimate, nan=sum(ends) / 2)
    if part == "estimate":
        return np.asarray(middle)
    found = np.asarray(getattr(one, part), dtype=np.float64)
    edge = np.full(found.shape, ends[part == "upper"])
    return np.where(np.isfinite(found), found, edge)


def _title(figures: list[Figures]) -> str:
    names = [one.name for one in figures]
    if len(names) > 1 and all(name.endswith("%") for name in names):
        return "Quantiles"
    return {"50%": "Median"}.get(names[0], names[0].capitalize()) if len(names) == 1 else "Statistics"
