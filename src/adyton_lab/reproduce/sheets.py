"""Tables of results, and two kinds that all papers share: claims and results here, the paper's figures and ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group

FAR = 1.25
"""Differences by more than this factor are explained."""


@dataclass(frozen=True)
class Sheet:
    """A table."""

    chapter: str
    """The chapter of the report: a figure of the paper such as ``fig4``, or ``gains`` or ``claims``."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    found: Sequence[Any]
    """The figures behind the table, one dataclass instance for each."""
    note: str = ""

    @property
    def figures(self) -> tuple[dict[str, Any], ...]:
        """The figures of the table, unrounded, one plain dictionary for each."""
        return tuple(map(asdict, self.found))


def as_rich(sheet: Sheet) -> Group:
    """The table for a terminal, with its title above and its note below."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(sheet.columns):
        table.add_column(Text(column), justify="left" if place == 0 or sheet.chapter == "claims" else "right")
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    note = [Text(f"{sheet.note}\n", style="dim")] if sheet.note else []
    return Group(Text(sheet.title, style="bold"), table, *note)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper, or of ours, and the result here."""

    paper: str
    here: str
    holds: str
    """``yes``, ``in part`` or ``no``."""


def claim(paper: str, here: str, *held: bool) -> Claim:
    """A claim that holds if all conditions hold, and in part if some do.

    >>> claim("It is lower on all sets.", "on 3 of 4", 3 == 4, 3 > 0).holds
    'in part'
    """
    return Claim(paper=paper, here=here, holds="yes" if all(held) else "in part" if any(held) else "no")


def claims_sheet(claims: Iterable[Claim], title: str, column: str = "claim") -> Sheet:
    """The table of claims; *column* says whose they are."""
    listed = list(claims)
    rows = tuple((entry.paper, entry.here, entry.holds) for entry in listed)
    return Sheet("claims", title, (column, "here", "holds"), rows, listed)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One figure of a paper, our figure, and known reasons for a difference."""

    part: str
    place: str
    method: str
    paper: float
    here: float
    why: str
    """Empty if they differ by a factor of at most 1.25."""


def compared(part: str, place: str, method: str, paper: float, here: float, reason: str) -> Compared:
    """A comparison of two figures; the reason is kept only if they differ by more than the factor *FAR*."""
    ratio = here / paper if paper else float("inf")
    return Compared(
        part=part, place=place, method=method, paper=paper, here=here, why="" if 1 / FAR <= ratio <= FAR else reason
    )


def beside(part: str, title: str, figures: Sequence[Compared], note: str = "") -> Sheet:
    """A table: the paper's figure, ours, their ratio, and why."""
    rows = tuple(
        (entry.place, entry.method, f"{entry.paper:.4g}", f"{entry.here:.4g}", f"{ratio:.2f}", entry.why)
        for entry in figures
        for ratio in [entry.here / entry.paper]
    )
    return Sheet(part, title, ("where", "method", "paper", "here", "ratio", "what differs"), rows, list(figures), note)
