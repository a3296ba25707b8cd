"""Writes the table of how often intervals contain the truth, from the figures that a benchmark has measured.

adyton bench intervals --data FOLDER --public --json > docs/assets/intervals.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from generated import filled

NAME = "coverage"
FIGURES = Path(__file__).parents[1] / "assets" / "intervals.json"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table where a page asks for it."""
    return filled(markdown, NAME, table)


def table() -> str:
    """A line for each record of the benchmark."""
    head = (
        "| answers | data | ε | intervals | contain the truth | in the worst data set | width ÷ needed | "
        "expected ÷ true error |\n|---|---|---:|---:|---:|---:|---:|---:|"
    )
    return "\n".join([head, *map(_line, json.loads(FIGURES.read_text(encoding="utf-8")))])


def _line(record: dict[str, Any]) -> str:
    shares = (_shown(record[name], ".1f", "%") for name in ("holds", "worst"))
    ratios = (_shown(record[name], ".2f") for name in ("width", "expected"))
    cells = (record["kind"], record["data"], record["epsilon"], f"{record['intervals']:,}", *shares, *ratios)
    return f"| {' | '.join(cells)} |"


def _shown(value: float | None, form: str, unit: str = "") -> str:
    return "–" if value is None else f"{value:{form}}{unit}"
