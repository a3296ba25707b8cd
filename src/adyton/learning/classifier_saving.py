"""Saving a classifier: first the model, which was paid for and cannot wait; then the report, which may fail."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adyton.drafts import replaced
from adyton.interrupts import deferred
from adyton.learning.classifier_file import KIND, to_dict
from adyton.result.saving import REPORT, attempt
from adyton.result.staging import Place

if TYPE_CHECKING:
    from adyton.learning.fitted_classifier import FittedClassifier

REPLACEABLE = (KIND.json, REPORT)
"""The files of a classifier: what may be overwritten by another one."""


@dataclass(frozen=True, eq=False)
class SavedClassifier:
    """A classifier whose model is on the disk."""

    fitted: FittedClassifier
    place: Place

    def finish(self) -> list[str]:
        """Add the report. It cannot harm what is there; a sentence says if it is missing."""
        problems: list[str] = []
        attempt("The report", problems, self._write_report)
        return problems

    def _write_report(self) -> None:
        from adyton.report.classifier_page import render

        with replaced(self.place.folder / REPORT) as file:
            file.write_text(render(self.fitted), encoding="utf-8")


def save(fitted: FittedClassifier, place: Place) -> SavedClassifier:
    """Write down what was paid for, and put it in place; interrupts wait until that is done."""
    with deferred():
        text = json.dumps(to_dict(fitted), indent=1, ensure_ascii=False, allow_nan=False)
        (place.folder / KIND.json).write_text(text + "\n", encoding="utf-8")
        place.settle()
        return SavedClassifier(fitted, place)
