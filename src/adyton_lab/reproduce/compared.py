"""Our figures beside a paper's: by which factor they differ, and one sentence where that is more than a quarter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adyton_lab.reproduce.outcomes import MeanOutcome
from adyton_lab.reproduce.tables import Sheet

FAR = 1.25
"""Differences by a larger factor are explained."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One figure of a paper, ours, and what is known to differ."""

    part: str
    place: str
    method: str
    paper: float
    here: float
    why: str
    """Empty where they differ by a quarter or less."""


def compared(part: str, place: str, method: str, paper: float, here: float, reason: str) -> Compared:
    """The reason is told only where it is needed."""
    ratio = here / paper if paper else float("inf")
    return Compared(
        part=part, place=place, method=method, paper=paper, here=here, why="" if 1 / FAR <= ratio <= FAR else reason
    )


def beside(part: str, title: str, found: Sequence[Compared], note: str = "") -> Sheet:
    """A table: the paper's figure, ours, their ratio, and why."""
    rows = tuple(
        (one.place, one.method, f"{one.paper:.4g}", f"{one.here:.4g}", f"{one.here / one.paper:.2f}", one.why)
        for one in found
    )
    return Sheet(part, title, ("where", "method", "paper", "here", "ratio", "what differs"), rows, list(found), note)


def grid_sheet(
    part: str,
    title: str,
    found: Sequence[MeanOutcome],
    column: Callable[[MeanOutcome], str],
    note: str = "",
    *,
    marks: Mapping[str, str] | None = None,
) -> Sheet:
    """A line for each method, a column for each of what *column* tells apart: mean ± standard error."""
    columns = list(dict.fromkeys(map(column, found)))
    cells = {(one.method, column(one)): one for one in found}
    methods = list(dict.fromkeys(one.method for one in found))
    rows = tuple(
        ((marks or {}).get(name, name), *(_shown(cells.get((name, place))) for place in columns)) for name in methods
    )
    return Sheet(part, title, ("method", *columns), rows, list(found), note)


def _shown(one: MeanOutcome | None) -> str:
    if one is None:
        return "–"
    return f"{one.mean:.4g} ± {one.deviation:.2g}" if one.trials > 1 else f"{one.mean:.4g}"
