"""What an evaluation yields: one record for each method on each input, kept as a file of JSON lines."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from adyton.errors import BadInput
from adyton.messages import shorten

GROUPS = ("1-D identity", "1-D prefix", "2-D short", "2-D medium", "2-D long", "2-D mixed")
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


_TYPES: dict[str, type[str] | type[int] | type[float]] = {
    "experiment": str,
    "epsilon": str,
    "group": str,
    "method": str,
    "source": str,
    "cells": int,
    "scale": int,
    "regret": float,
    "error": float,
}


def write_records(records: Iterable[Record], path: str | os.PathLike[str]) -> None:
    """Write one JSON object a line."""
    with Path(path).open("w", encoding="utf-8") as file:
        for record in records:
            plain = {name: kind(getattr(record, name)) for name, kind in _TYPES.items()}
            file.write(json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """The records in a file that :func:`write_records` wrote."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    return [_record(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line]


def _record(line: str, place: str) -> Record:
    try:
        plain = json.loads(line)
    except ValueError:
        raise BadInput(f"{place} is no JSON. `adyton reproduce` writes such files.") from None
    if not isinstance(plain, dict) or set(plain) != set(_TYPES):
        raise BadInput(f"{place} is not a record of {', '.join(_TYPES)}. `adyton reproduce` writes such files.")
    for name, kind in _TYPES.items():
        if isinstance(plain[name], bool) or not isinstance(plain[name], int | float if kind is float else kind):
            raise BadInput(f"{place}: {name} must be of type {kind.__name__}, given {shorten(plain[name])}.")
    return Record(**plain)
