"""All files of an evaluation: records, tables as JSON and as text, pictures and a report."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

from adyton_lab.reproduce.evaluation import Evaluation, Given
from adyton_lab.reproduce.records import write_records, write_spreadsheet
from adyton_lab.reproduce.report import write_report
from adyton_lab.reproduce.tables import Sheet, as_rich

_WIDTH = 140


def write_all(evaluation: Evaluation, records: Sequence[Any], given: Given) -> list[Sheet]:
    """Write records.jsonl, tables.json, tables.txt, the pictures and report.html; returns all tables."""
    from adyton import __version__

    folder = given.folder
    write_records(records, folder / "records.jsonl")
    if evaluation.csv:
        write_spreadsheet(records, folder / "records.csv")
    sheets = evaluation.sheets(records)
    plain = [{"title": one.title, "chapter": one.chapter, "note": one.note, "figures": one.figures} for one in sheets]
    (folder / "tables.json").write_text(json.dumps(plain, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (folder / "tables.txt").write_text(_as_text(sheets), encoding="utf-8")
    command = f"adyton reproduce {evaluation.name}{' --quick' * given.quick}"
    write_report(
        folder / "report.html",
        evaluation.title,
        (f"Adyton {__version__}; {len(records):,} records. Written by: {command}.", *evaluation.about),
        sheets,
        evaluation.pictures(records, given),
        chapters=evaluation.chapters,
        main=evaluation.main,
    )
    return sheets


def _as_text(sheets: Sequence[Sheet]) -> str:
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=_WIDTH, highlight=False)
    for sheet in sheets:
        console.print(as_rich(sheet))
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n"))
