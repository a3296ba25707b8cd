"""What an evaluation yields: one record for each method on each input, kept as a file of JSON lines."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton_lab.training.delphi import USUAL_WORKLOADS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

GROUPS = tuple(f"{axes}-D {workload}" for axes, workloads in USUAL_WORKLOADS.items() for workload in workloads)
"""The workloads of the Pythia paper, in its order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """How a method did on an input."""

    experiment: str
    """Which algorithms could be chosen: ``paper``, those of the paper's Table 1, or ``library``, all contenders."""
    epsilon: str
    group: str
    """The workload, one of :data:`GROUPS`."""
    method: str
    """An algorithm, used for every input, or a way to choose one."""
    source: str
    """The data set, which no selector of the record was trained on."""
    cells: int
    scale: int
    regret: float
    """The error to expect divided by that of the best algorithm at the full budget."""
    error: float
    """The error to expect: ‖W·x̂ − W·x‖₂."""

    def __post_init__(self) -> None:
        for name in ("regret", "error"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise BadInput(f"the {name} of {self.method} on {self.source} must be finite, given {shorten(value)}.")


def write_records(records: Iterable[DataclassInstance], path: str | os.PathLike[str]) -> None:
    """Write one JSON object a line."""
    lines = (json.dumps(asdict(record), ensure_ascii=False, separators=(",", ":")) for record in records)
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_spreadsheet(records: Sequence[DataclassInstance], path: str | os.PathLike[str]) -> None:
    """Write a CSV file: a column for each field of the records."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(records[0])], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(record) for record in records)
