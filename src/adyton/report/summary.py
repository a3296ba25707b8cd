"""What is shown of a release: a few pictures and the first lines of a table, with bounds for every number in them.

What is shown is asked of the release as queries, all of them at once: a step of a picture that joins four cells has the
bounds of their sum, not the sum of their bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from adyton.arrays import Reals
from adyton.errors import AdytonError
from adyton.queries import Queries
from adyton.report.lines import lines, lines_of_queries
from adyton.report.panels import panels_of
from adyton.report.shown import Asked, Numbers, Panel, Table
from adyton.tasks import QueryList

if TYPE_CHECKING:
    from adyton.result import Release
    from adyton.result.interval import Interval

ROWS = 200


@dataclass(frozen=True, eq=False)
class Summary:
    """All that is shown."""

    panels: tuple[Panel, ...]
    tables: tuple[Table, ...]
    """One, or one for each marginal."""
    total: tuple[float, float | None, float | None] | None
    """The number of rows in all, and its bounds; None where single queries were asked."""
    queries: Queries
    """What was asked to show this."""
    interval: Interval | None
    why_no_interval: str | None

    @property
    def table(self) -> Table:
        """The first of them."""
        return self.tables[0]

    @property
    def rate(self) -> str:
        """What the bounds are called."""
        if self.interval is None:
            return ""
        return f"{'approximate ' * self.approximate}{100 * self.interval.confidence:g}% interval"

    @property
    def approximate(self) -> bool:
        """Whether there are bounds whose confidence is not a promise."""
        return self.interval is not None and self.interval.kind == "approximate"


def summarise(
    release: Release, *, rows: int = ROWS, pictures: int | None = None, confidence: float | None = 0.95
) -> Summary:
    """What to show of a release: *rows* lines of the table, the first *pictures* of all there are, and intervals unless
    *confidence* is None."""
    asked = Asked(release)
    whole = None
    if isinstance(release.task, QueryList):
        panels, table = lines_of_queries(release, release.task, asked, rows)
        tables = [table]
    else:
        whole = asked.boxes(([[0] * release.estimate.ndim], [[side - 1 for side in release.estimate.shape]]))
        panels, tables = panels_of(release, asked, pictures), lines(release, asked, rows)
    queries = asked.queries()
    interval, problem = _interval(release, queries, confidence)
    answers = np.asarray(queries @ release.estimate.reshape(-1), dtype=np.float64)

    def numbers(part: slice) -> Numbers:
        if interval is None:
            return answers[part], None, None
        return answers[part], np.asarray(interval.lower)[part], np.asarray(interval.upper)[part]

    total = None if whole is None else _first(*numbers(whole))
    counted = release.counted
    drawn = tuple(panel(numbers).of(counted) for panel in panels)
    if interval is not None:
        rate, guessed = interval.confidence, interval.kind == "approximate"
        drawn = tuple(replace(panel, confidence=rate, approximate=guessed) for panel in drawn)
    told = [one(numbers) for one in tables]
    told = [replace(table, what=counted.what(table.what)) for table in told]
    return Summary(drawn, tuple(told), total, queries, interval, problem)


def _first(values: Reals, lower: Reals | None, upper: Reals | None) -> tuple[float, float | None, float | None]:
    low, high = (None if bound is None else float(bound[0]) for bound in (lower, upper))
    return float(values[0]), low, high


def _interval(release: Release, queries: Queries, confidence: float | None) -> tuple[Interval | None, str | None]:
    """The bounds; if there are none, for whatever reason, that reason: the page is made all the same."""
    if confidence is None:
        return None, "none were asked for."
    try:
        found = release.interval(queries, confidence)
    except Exception as error:
        known = isinstance(error, AdytonError)
        return None, str(error) if known else f"they could not be computed ({type(error).__name__})."
    return (None, found.missing.removeprefix("No bounds: ")) if found.missing else (found, None)
