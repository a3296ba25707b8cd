"""Saving a release of numbers: first what was measured, which cannot wait; then all that follows from it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adyton.drafts import replaced
from adyton.interrupts import deferred
from adyton.result.saving import REPORT, attempt, write_table
from adyton.result.staging import Place
from adyton.statistics.numbers_file import KIND, to_dict

if TYPE_CHECKING:
    from adyton.statistics.numbers_release import NumbersRelease

CSV = "numbers.csv"
REPLACEABLE = (KIND.json, CSV, REPORT)
"""The files of a release of numbers: what may be overwritten by another one."""


@dataclass(frozen=True, eq=False)
class SavedNumbers:
    """A release whose measurements are on the disk."""

    release: NumbersRelease
    place: Place

    def finish(self) -> list[str]:
        """Add the table and the report. It cannot harm what is there; sentences say what is missing."""
        problems: list[str] = []
        attempt("The table", problems, self._write_table)
        attempt("The report", problems, self._write_report)
        return problems

    def _write_table(self) -> None:
        with replaced(self.place.folder / CSV) as draft:
            write_table(self.release.to_arrow(), draft)

    def _write_report(self) -> None:
        from adyton.report.numbers_page import render

        with replaced(self.place.folder / REPORT) as draft:
            draft.write_text(render(self.release), encoding="utf-8")


def save(release: NumbersRelease, place: Place) -> SavedNumbers:
    """Write down what was paid for, and put it in place; interrupts wait until that is done."""
    with deferred():
        text = json.dumps(to_dict(release), ensure_ascii=False, allow_nan=False)
        (place.folder / KIND.json).write_text(text + "\n", encoding="utf-8")
        place.settle()
        return SavedNumbers(release, place)


def answers(release: NumbersRelease) -> list[dict[str, Any]]:
    """All groups with their statistics, as plain values for JSON."""
    figures = release.figures()
    return [
        {
            "group": dict(zip(release.task.by, group, strict=True)),
            **{
                one.name: {
                    "estimate": _plain(one.estimate[line]),
                    "lower": _plain(one.lower[line]),
                    "upper": _plain(one.upper[line]),
                    "error": _plain(one.error[line]),
                    "bounds": one.kind,
                }
                for one in figures
            },
        }
        for line, group in enumerate(release.groups)
    ]


def _plain(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
