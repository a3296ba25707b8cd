"""Numbers on a page: a single number as a dot, numbers of groups as dots with intervals, or as lines for dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.messages import joined
from adyton.report.axes import display_axis
from adyton.report.charts import MOST_STEPS, Panel, kind_of, without
from adyton.report.page import Fact, View, Words, view_of
from adyton.report.pictures import Drawing
from adyton.report.svg import figure, reach
from adyton.schema import Duration
from adyton.tasks.numbers import statistic_in_words

if TYPE_CHECKING:
    from adyton.result.number import Number
    from adyton.statistics.grouped import Figures
    from adyton.statistics.numbers_release import NumbersRelease

_MOST_GROUPS, _MOST_PICTURES = 60, 6
_TOO_WIDE = 0.4
"""An interval that spans more than this part of the possible range is drawn to the edge of the picture."""
_FEW_OUTSIDE = 0.15
"""The largest part of the values that may be outside the picture."""
_WORTH = 0.7
"""How much of the axis must be left at most, so that cutting intervals is worth it."""
_LITTLE, _NOTHING = 0.5, 0.9
"""An interval that spans more than the first part of the possible range says little: there is a gap in the picture, if
there is something else in it; one that spans the second says nothing."""
_WIDER = 8.0
"""An interval that is so many times as wide as the median one is drawn to the edge of the picture."""
_NAMED = 5
"""The largest number of groups that are named in a caption."""
_QUIET = ("count", "variance")
"""Statistics that are in the table, but drawn only if there is nothing else."""
_AMOUNTS = ("sum", "count", "variance", "deviation")
"""Statistics that are not between the bounds of the attribute."""


def number_drawing(number: Number) -> Drawing:
    """A dot with its interval."""
    of, figure = "units" if number.task.per_unit else "rows", number.interval()
    value, lower, upper = (np.array([part], dtype=np.float64) for part in (figure, figure.lower, figure.upper))
    label = number.counted.what(of)
    return Drawing.of(Panel("dots", f"Number of {of}", (), (label,), value, lower, upper, unit=of, zero=False))


def number_view(number: Number) -> View:
    """The content of its page, with a remark on values that were not checked."""
    return view_of(number, also=[Words(text, quiet=True) for text in number.own_paragraphs()[1:]])


def groups_view(release: NumbersRelease, remarks: Sequence[str], noisy: int) -> View:
    """The page of statistics: how many groups there are, in how many of them noise says most, and how far off a number
    is."""
    also = [Words(text, quiet=True) for text in remarks]
    if not release.task.by:
        return view_of(release, also=also)
    known = [figures for figures in release.figures() if figures.known]
    first = next((figures for figures in known if figures.name != "count"), known[0])
    quantiles = [figures for figures in known if figures.name.endswith("%")]
    some = quantiles if first in quantiles else [first]
    held = np.array([release.held(own.name) for own in some])
    half = np.array([np.asarray(own.upper - own.lower, dtype=np.float64) / 2 for own in some])[~held]
    half = half[np.isfinite(half)]
    ends = list(dict.fromkeys(figure(float(end)) for end in (half.min(), half.max()))) if half.size else ["unknown"]
    often = f"19 times of 20{', approximately' * (first.kind == 'approximate')}"
    gone = int(held.any(axis=0).sum())
    little = [f"little is known of {noisy:,} of them: see their intervals"] * bool(noisy)
    little += [f"{gone:,} of them {'is' if gone == 1 else 'are'} held back"] * bool(gone)
    groups = Fact("Groups", f"{len(release.groups):,}", (f"by {joined(release.task.by)}", *little))
    far = f"{'± ' * bool(half.size)}{' to '.join(ends)}"
    what = "quantile" if len(some) > 1 else statistic_in_words(first.name)
    error = Fact(f"Error of each {what}{' quantile' * what.endswith('%')}", far, (often,))
    return view_of(release, figures=(groups, error), also=also)


def drawings(release: NumbersRelease) -> list[Drawing]:
    """At most six pictures. Quantiles of the same kind share one, and so do all statistics if there are no groups."""
    known = [part for part in release.figures() if part.known]
    drawn = [part for part in known if part.name not in _QUIET] or known
    if not release.task.by:
        drawn = [part for part in drawn if part.name not in ("sum", "deviation")] or drawn
    panels: list[Panel | None] = []
    for (share, _), some in groupby(drawn, lambda part: (not release.task.by or part.name.endswith("%"), part.kind)):
        figures = list(some)
        panels += [_panel(release, figures)] if share else [_panel(release, [part]) for part in figures]
    drawn_panels = [panel for panel in panels if panel is not None]
    return [Drawing.of(panel) for panel in drawn_panels[:_MOST_PICTURES]]


def _panel(release: NumbersRelease, figures: Sequence[Figures]) -> Panel | None:
    """Statistics of one kind: a line for each group with a column for each statistic, or a line for each statistic if
    there are no groups; along an axis if the groups of a single statistic are dates or numbers."""
    by, name, names = release.task.by, release.task.attribute, tuple(part.name for part in figures)
    called, amounts = tuple(map(statistic_in_words, names)), bool(set(names) & set(_AMOUNTS))
    attribute, parts = release.schema.attributes[name], ("estimate", "lower", "upper")
    values, lower, upper = (np.stack([_possible(release, of, part) for of in figures], axis=1) for part in parts)
    labels = tuple(" × ".join(map(str, group)) for group in release.groups[:_MOST_GROUPS]) if by else called
    axis = display_axis(by[0], release.schema.attributes[by[0]], MOST_STEPS) if len(by) == len(figures) == 1 else None
    if axis is not None and (axis.joined > 1 or not axis.ordered or kind_of(axis) == "bars"):
        axis = None
    if axis is not None:
        labels = axis.labels
        values, lower, upper = (part[:, 0] for part in (values, lower, upper))
    else:
        values, lower, upper = (part[:_MOST_GROUPS] if by else part.T for part in (values, lower, upper))
    left = len(release.groups) - len(labels)
    panel = Panel(
        "dots" if axis is None else kind_of(axis),
        f"{_title(names)} of {name}{' by ' * bool(by)}{' and '.join(by)}",
        () if axis is None else (axis,),
        labels,
        values,
        lower,
        upper,
        unit=f"{name} ({attribute.unit})" if isinstance(attribute, Duration) else name,
        approximate=figures[0].kind == "approximate",
        series=called if by and len(names) > 1 else (),
        zero=False,
        more=f"{left:,} more groups are in the table." if by and left > 0 else "",
        years=attribute.years and not amounts,
    )
    if release.hold is not None:
        held = np.stack([release.held(name) for name in names], axis=1)
        shown = without(panel, held[: len(labels)] if by else held.T)
        if shown is None:
            return None
        panel = shown
    if amounts:
        return panel
    possible = float(release.asked.grid.width)
    widths = _widths(panel) / possible
    unknown = widths > _LITTLE if (widths <= _LITTLE).any() else widths >= _NOTHING
    known = _named_without(panel, unknown, "Little is known of", ": the interval spans most of what is possible.")
    return None if known is None else _scaled(known, possible)


def _title(names: Sequence[str]) -> str:
    if len(names) > 1:
        return "Quantiles" if all(name.endswith("%") for name in names) else "Statistics"
    return statistic_in_words(names[0]).capitalize()


def _scaled(panel: Panel, possible: float) -> Panel | None:
    """The panel with a scale for most of it, if wide intervals of small groups would leave too little room for others:
    that of the other intervals and of the values, without a few values that are far away."""
    widths, values = _widths(panel), panel.values
    known = widths <= min(_TOO_WIDE * possible, _WIDER * float(np.nanmedian(widths)))
    rest = ~np.isnan(widths) & ~known
    if panel.lower is None or panel.upper is None or not rest.any() or not known.any():
        return panel
    near = [float(panel.lower[known].min()), float(panel.upper[known].max())]
    low, high = reach(near, zero=False)
    outside = (values < low) | (values > high)
    if outside.sum() > _FEW_OUTSIDE * values.size:
        low, high = reach([*near, float(np.nanmin(values)), float(np.nanmax(values))], zero=False)
        outside = np.zeros(values.shape, dtype=bool)
    if high - low > _WORTH * float(np.nanmax(panel.upper) - np.nanmin(panel.lower)):
        return panel
    panel = replace(panel, within=(low, high))
    return panel if panel.kind == "dots" else _named_without(panel, outside, "Far outside of the picture:", ".")


def _named_without(panel: Panel, gone: Flags, before: str, after: str) -> Panel | None:
    """The panel without some values, naming some of the lines that it lost."""
    lines = np.flatnonzero(gone.reshape(len(panel.values), -1).any(axis=1)).tolist()
    more = f" and {len(lines) - _NAMED:,} more" if len(lines) > _NAMED else ""
    return without(panel, gone, f"{before} {', '.join(panel.labels[line] for line in lines[:_NAMED])}{more}{after}")


def _widths(panel: Panel) -> Reals:
    """The width of each interval."""
    if panel.lower is None or panel.upper is None:
        return np.full(panel.values.shape, np.nan)
    return np.asarray(panel.upper - panel.lower)


def _possible(release: NumbersRelease, figures: Figures, part: str) -> Reals:
    """A part of a statistic that can be drawn: unknown bounds become the bounds of what is possible."""
    ends = float(release.asked.grid.lower), float(release.asked.grid.upper)
    if part == "estimate":
        return np.nan_to_num(figures.estimate, nan=sum(ends) / 2)
    bounds = np.asarray(getattr(figures, part), dtype=np.float64)
    return np.where(np.isfinite(bounds), bounds, ends[part == "upper"])
