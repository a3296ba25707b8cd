"""The report of numbers: one HTML file that opens anywhere, with a picture of each statistic and all numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.report import svg
from adyton.report.paid import paid_facts
from adyton.report.palette import BLUE
from adyton.report.scales import figure, nice_ticks, tick_words
from adyton.report.templates import templates

if TYPE_CHECKING:
    from adyton.statistics.figures import Figures
    from adyton.statistics.numbers_release import NumbersRelease

_WIDTH, _ROW, _LABEL, _RIGHT = 640.0, 22.0, 170.0, 24.0
_DRAWN, _LISTED = 60, 2000
_PICTURES = 6


def render(release: NumbersRelease) -> str:
    """The whole page."""
    from markupsafe import Markup

    asked, *told = release.explain().paragraphs
    figures = [one for one in release.figures() if one.known]
    names = [" × ".join(map(str, group)) or "all rows" for group in release.groups]
    drawn = [one for one in figures if one.name not in ("count", "variance")][:_PICTURES] or figures[:1]
    pictures = [(one.name, Markup(_picture(one, names[:_DRAWN]))) for one in drawn]
    return (
        templates()
        .get_template("numbers.html.j2")
        .render(
            release=release,
            asked=asked,
            told=told,
            pictures=pictures,
            undrawn=max(0, len(names) - _DRAWN),
            figures=figures,
            lines=_lines(figures, names[:_LISTED]),
            more=max(0, len(names) - _LISTED),
            groups=" × ".join(release.task.by) or "group",
            **paid_facts(release.receipt, release.epsilon, "release"),
        )
    )


def _lines(figures: list[Figures], names: list[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """For each group its name, and every number with its bounds."""
    return [
        (
            name,
            [
                (
                    figure(float(one.estimate[line])),
                    f"{figure(float(one.lower[line]))} … {figure(float(one.upper[line]))}",
                )
                for one in figures
            ],
        )
        for line, name in enumerate(names)
    ]


def _picture(one: Figures, names: list[str]) -> str:
    """A dot for each group, and a line from the lower bound to the upper one."""
    lower, upper, dots = (np.asarray(part)[: len(names)] for part in (one.lower, one.upper, one.estimate))
    low, high = float(min(lower.min(), dots.min())), float(max(upper.max(), dots.max()))
    high = high if high > low else low + 1
    height = len(names) * _ROW

    def across(value: float) -> float:
        return _LABEL + (value - low) / (high - low) * (_WIDTH - _LABEL - _RIGHT)

    parts: list[Any] = []
    ticks = nice_ticks(low, high, 4)
    for tick, words in zip(ticks, tick_words(ticks), strict=True):
        parts.append(svg.line(across(tick), 0, across(tick), height, 0.15))
        parts.append(svg.text(across(tick), height + 12, words, "middle", pale=True))
    for line, name in enumerate(names):
        y = (line + 0.5) * _ROW
        parts.append(svg.text(_LABEL - 8, y, svg.cut(name, _LABEL - 12), "end"))
        parts.append(svg.line(across(float(lower[line])), y, across(float(upper[line])), y, 0.6, 2))
        parts.append(svg.box(across(float(dots[line])) - 4, y - 4, 8, 8, BLUE))
    words = f"{one.name} of each group, with {one.kind} 95% bounds"
    return svg.drawing(_WIDTH, height + 24, words, f"from {figure(low)} to {figure(high)}", parts)
