"""Ticks that fit: as many as there is room for, and no two of them collide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from adyton.report import svg
from adyton.report.display_axis import DisplayAxis

Ticks = Sequence[tuple[float, str]]
GAP = 9.0
"""So many pixels lie between the words of neighbours, at least."""
_COUNTS = (14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
_MOST_BESIDE = _COUNTS.index(7)
_LEAST, _UPRIGHT_MOST = 46.0, 96.0
"""Names are not cut shorter than this to stand side by side, and not longer where they are read upwards."""


@dataclass(frozen=True)
class Row:
    """Ticks below an axis: where each is, its words, and where they stand so that they stay between two edges."""

    marks: tuple[tuple[float, float, str], ...]
    """The place of the tick, the middle of its words, the words."""
    turned: bool = False
    """Whether the words are read upwards."""

    @property
    def depth(self) -> float:
        """How many pixels the words take downwards."""
        if self.turned:
            return svg.width_of(words for *_, words in self.marks) + 4
        return svg.LINE * max((words.count("\n") + 1 for *_, words in self.marks), default=1)

    def draw(self, bottom: float, right: float = 0.0) -> list[str]:
        """Short lines and words below them, moved to the *right* by so much."""
        parts = [svg.line(at + right, bottom, at + right, bottom + 4, 0.6) for at, _, _ in self.marks]
        if self.turned:
            return parts + [svg.upright(middle + right, bottom + 8, words) for _, middle, words in self.marks]
        return parts + [svg.text(middle + right, bottom + 15, words, "middle") for _, middle, words in self.marks]


def below(axis: DisplayAxis, x: Callable[[float], float], edges: tuple[float, float], *, whole: bool = False) -> Row:
    """The most ticks of an axis whose words fit side by side between two edges.

    Names of categories are all told: side by side, if need be in short or in two lines, or else upwards.
    """
    if not axis.numbered:
        return _names(axis, x, edges, whole)
    for count in _COUNTS:
        row = side_by_side(axis.ticks(count, whole=whole), x, edges)
        if row is not None:
            return row
    return Row(())


def fitted(ticks: Ticks | DisplayAxis, x: Callable[[float], float], edges: tuple[float, float]) -> Row:
    """The ticks of an axis, or as many of these as fit."""
    if isinstance(ticks, DisplayAxis):
        return below(ticks, x, edges)
    rows = (side_by_side(ticks[::every], x, edges) for every in range(1, len(ticks) + 1))
    return next((row for row in rows if row is not None), Row(()))


def side_by_side(ticks: Ticks, x: Callable[[float], float], edges: tuple[float, float]) -> Row | None:
    """Ticks with their words, moved inwards at the edges; None if words collide."""
    marks = []
    for place, words in ticks:
        half = svg.length(words) / 2
        middle = min(max(x(place), edges[0] + half), edges[1] - half)
        marks.append((x(place), middle, words))
    spans = [(middle - svg.length(words) / 2, middle + svg.length(words) / 2) for _, middle, words in marks]
    close = any(left[1] + GAP > right[0] for left, right in pairwise(spans))
    if close or any(low < edges[0] - 0.1 for low, _ in spans):
        return None
    return Row(tuple(marks))


def _names(axis: DisplayAxis, x: Callable[[float], float], edges: tuple[float, float], whole: bool) -> Row:
    size = axis.size if whole else axis.size - axis.apart
    room = x(1) - x(0) - GAP
    names = axis.short_names(room)[:size]
    if room >= _LEAST or svg.width_of(names) <= room:
        lines = ["\n".join(svg.wrapped(name, room, 2)) for name in names]
        return Row(tuple((x(place + 0.5), x(place + 0.5), words) for place, words in enumerate(lines)))
    every = max(1, -int(-15.0 // (x(1) - x(0))))
    found = ((x(place + 0.5), svg.cut(names[place], _UPRIGHT_MOST)) for place in range(0, size, every))
    return Row(tuple((at, at, words) for at, words in found), turned=True)


def beside(axis: DisplayAxis, height: float, *, whole: bool = True) -> Ticks:
    """The most ticks of an axis from top to bottom that do not collide."""
    if not axis.numbered:
        every = max(1, -int(-15.0 * axis.size // height))
        return [(place + 0.5, axis.labels[place]) for place in range(0, axis.size, every)]
    for count in _COUNTS[_MOST_BESIDE:]:
        ticks = [(place, words.replace("\n", " ")) for place, words in axis.ticks(count, whole=whole)]
        places = sorted(place / axis.size * height for place, _ in ticks)
        if all(after - before >= 15.0 for before, after in pairwise(places)):
            return ticks
    return ticks
