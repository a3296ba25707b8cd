"""The parts of what is shown of a release, and the questions whose answers fill them in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from adyton.arrays import Reals
from adyton.queries import Queries, Ranges
from adyton.report.display_axis import DisplayAxis

if TYPE_CHECKING:
    from adyton.result import Release
    from adyton.result.receipt import RowsCounted

Boxes: TypeAlias = tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]
"""The first and the last cell, along every axis, of some boxes of cells."""
Kind: TypeAlias = Literal["bars", "line", "trend", "map", "pyramid", "multiples", "dots"]
"""What a picture looks like. A trend is a line of dates."""
Numbers: TypeAlias = tuple[Reals, Reals | None, Reals | None]
"""Answers and, where there are any, their lower and upper bounds."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture."""

    kind: Kind
    title: str
    axes: tuple[DisplayAxis, ...]
    labels: tuple[str, ...]
    values: Reals
    lower: Reals | None
    upper: Reals | None
    """The bounds; for a map, those of some squares only."""
    confidence: float = 0.95
    """That of the bounds."""
    unit: str = "rows"
    """What the values are."""
    about: str | None = None
    """What has to be said about the picture where that is not about bounds."""
    approximate: bool = False
    """Whether the confidence is not a promise."""
    series: tuple[str, ...] = ()
    """The names of the columns, where the values have several."""
    zero: bool = True
    """Whether the values are drawn from zero on."""
    within: tuple[float, float] | None = None
    """The ends of the axis of values, where some are drawn at its edge because too little is known of them."""

    @property
    def people(self) -> bool:
        """Whether the values are numbers of rows, which are told as whole numbers."""
        return self.unit.startswith(("rows", "units"))

    def of(self, counted: RowsCounted) -> Panel:
        """The same, saying which rows were counted."""
        if not self.people or not counted:
            return self
        title = self.title.replace("Rows ", f"{counted.noun.capitalize()} ", 1)
        return replace(self, unit=counted.what(self.unit), title=title)

    @property
    def rate(self) -> str:
        """What the bounds are: "95% interval", or "approximate 95% interval"."""
        return f"{'approximate ' * self.approximate}{100 * self.confidence:g}% interval"


@dataclass(frozen=True, eq=False)
class Table:
    """The first lines of all there are: the labels of each, the answer and its bounds."""

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    values: Reals
    lower: Reals | None
    upper: Reals | None
    of: int
    """How many lines there are in all."""
    what: str = "rows"
    """What the values are."""


NumbersOf: TypeAlias = Callable[[slice], Numbers]
"""The answers at some places, once all questions are answered."""
LaterPanel: TypeAlias = Callable[[NumbersOf], Panel]
LaterTable: TypeAlias = Callable[[NumbersOf], Table]


class Asked:
    """The queries so far, in the order in which they were asked."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._lower: list[Sequence[int]] = []
        self._upper: list[Sequence[int]] = []
        self._other: Queries | None = None

    def boxes(self, boxes: Boxes) -> slice:
        """Ask for boxes; says where their answers will be."""
        start = len(self._lower)
        self._lower += boxes[0]
        self._upper += boxes[1]
        return slice(start, len(self._lower))

    def other(self, queries: Queries) -> slice:
        """Ask these queries and no boxes: whether bounds are exact depends on all that is asked with them."""
        self._other = queries
        return slice(0, queries.count)

    def queries(self) -> Queries:
        """All that was asked."""
        return self._other or Ranges(self._release.estimate.shape, self._lower, self._upper)


def boxes(shape: tuple[int, ...], spans: dict[int, tuple[Sequence[int], Sequence[int]]]) -> Boxes:
    """Boxes with these spans along some axes, and all cells along the others."""
    count = len(next(iter(spans.values()))[0])
    ends = [spans.get(axis, ([0] * count, [side - 1] * count)) for axis, side in enumerate(shape)]
    return tuple([list(box) for box in zip(*(end[which] for end in ends), strict=True)] for which in (0, 1))  # type: ignore[return-value]
