"""Entries of a ledger as lines of text, for tables that people read."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from adyton.exact import display
from adyton.kernel.ledger.records import Entry
from adyton.kernel.ledger.words import LedgerReport
from adyton.messages import printable

_FEW = 3
_NUMBERED = re.compile(r"\)\[\d+\]\Z")
"""The end of a step of a lineage that is a part of a split, by its number."""


class Line(NamedTuple):
    """What is shown of one entry, or of several together."""

    number: str
    time: str
    amount: str
    spent_after: str
    lineage: str
    operator: str
    status: str
    analyst: str
    first: Entry
    """The entry, or the first of several."""


def lines_of(entries: Sequence[Entry]) -> Iterator[Line]:
    """A line for each entry, but a single line for consecutive entries that were free because they are in further parts
    of one split: no row is in two parts, so the charge for the first part covers the others."""
    for (split, *_), some in itertools.groupby(
        entries, lambda entry: (_free_part(entry), entry.analyst, entry.request)
    ):
        group = list(some)
        if not split or len(group) < _FEW:
            yield from map(_line, group)
            continue
        first, last = group[0], group[-1]
        yield _line(first)._replace(
            number=f"{first.number}–{last.number}",
            lineage=printable(split),
            operator=f"{len(group):,} measurements in further parts, which share no row",
        )


def source_in(lineage: str, report: LedgerReport) -> str:
    """Which rows and attributes, without the name of the first data set."""
    dataset = printable(report.dataset)
    return "all rows" if lineage == dataset else lineage.removeprefix(f"{dataset} > ")


def moment(time: str) -> str:
    """An ISO time to the second, as people read it."""
    return printable(time[:19].replace("T", " "))


def statement_lines(report: LedgerReport) -> list[tuple[str, ...]]:
    """The lines of a privacy statement: number, date, rows and attributes, measurement, status, ε."""
    return [
        (line.number, line.time[:10], source_in(line.lineage, report), line.operator, line.status, line.amount)
        for line in lines_of(report.entries)
    ]


def _free_part(entry: Entry) -> str:
    """The split of an entry that was answered free of charge in one of its parts; empty for other entries."""
    if not entry.amount and entry.status == "answered":
        for place, step in enumerate(entry.lineage):
            if split := _split(step):
                return " > ".join((*entry.lineage[:place], f"{split})"))
    return ""


def _split(step: str) -> str:
    """The split of a step of a lineage that is a part of it, split(age = 3) or split(age)[3]: its beginning."""
    if not step.startswith("split("):
        return ""
    numbered = _NUMBERED.search(step)
    return step[: numbered.start()] if numbered else step.partition(" = ")[0] * (" = " in step and step.endswith(")"))


def _line(entry: Entry) -> Line:
    return Line(
        str(entry.number),
        moment(entry.time),
        display(entry.amount),
        display(entry.spent_after),
        printable(" > ".join(entry.lineage)),
        printable(entry.operator),
        entry.status,
        printable(entry.analyst or ""),
        entry,
    )
