"""The pictures of numbers: dots with intervals for groups, lines for groups that are dates."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from adyton.arrays import Reals
from adyton.report.display_axis import display_axis
from adyton.report.panels import kind_of
from adyton.report.scales import reach
from adyton.report.shown import Kind, Panel
from adyton.schema import Duration

if TYPE_CHECKING:
    from adyton.statistics.figures import Figures
    from adyton.statistics.numbers_release import NumbersRelease

MOST_GROUPS = 60
_MOST_PICTURES, _MOST_STEPS = 6, 512
_TOO_WIDE = 0.4
"""Of an interval that spans more of what is possible than this, nothing else is told than that it does."""
_QUIET = ("count", "variance")
"""These are told in the table, and drawn only if nothing else is there."""


def number_panels(release: NumbersRelease) -> list[Panel]:
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


def group_names(release: NumbersRelease) -> list[str]:
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
    names = group_names(release)
    if len(by) == 1 and len(figures) == 1:
        axis = display_axis(by[0], release.schema.attributes[by[0]], _MOST_STEPS)
        if axis.joined == 1 and axis.ordered and kind_of(axis) != "bars":
            shown = _panel(release, kind_of(axis), title, axis.labels, [figures], ())
            flat = [np.asarray(one).reshape(-1) for one in (shown.values, shown.lower, shown.upper)]
            return replace(shown, axes=(axis,), values=flat[0], lower=flat[1], upper=flat[2])
    return _panel(release, "dots", title, tuple(names[:MOST_GROUPS]), [[one] for one in figures], _series(figures))


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
