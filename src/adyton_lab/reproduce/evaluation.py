"""An evaluation that can be run again: what it needs, how it runs, and the files it writes."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from adyton import __version__
from adyton.errors import BadInput
from adyton.messages import no_such
from adyton_lab.pages import rendered
from adyton_lab.reproduce.sheets import Sheet, as_rich
from adyton_lab.training.engine import Advance

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MODULES = {
    "pythia": "pythia",
    "jostle": "jostle",
    "naive-bayes": "naive_bayes",
    "configuration": "configuration_report",
    "census": "census",
    "dawa": "dawa_report",
    "ektelo": "ektelo",
}
"""The module of every evaluation in this room; it is imported on request."""
_WIDTH = 140


@dataclass(frozen=True)
class Given:
    """What a user asked for."""

    data: Path
    """The folder with the public data; ignored by evaluations that need none."""
    folder: Path
    """The folder to write to."""
    public: bool
    """Whether the user has confirmed that the data are public."""
    quick: bool
    kept: Path | None
    """The file that keeps measurements, for evaluations that keep them."""


Started: TypeAlias = tuple[int, Callable[[Advance], Sequence[Any]]]
"""The approximate number of steps, and a function that runs them and returns a dataclass record for each result."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """An evaluation of a paper, or of several."""

    name: str
    title: str
    """The title of the report."""
    needs: str
    """What the folder with the data must hold; empty if nothing is needed."""
    about: tuple[str, ...]
    """Paragraphs that a reader of the figures must know."""
    chapters: Mapping[str, str]
    """The chapters of the report with their headings; tables and pictures name their chapter."""
    main: tuple[str, ...]
    """The chapters that are printed, and whose tables are not folded in the report."""
    start: Callable[[Given], Started]
    """Refuses a folder with missing files, before any work."""
    sheets: Callable[[Sequence[Any]], list[Sheet]]
    pictures: Callable[[Sequence[Any], Given], list[Path]]
    """Draws SVG files, each with a PNG file next to it, and returns their paths."""
    keeps: bool = False
    """Whether measurements are kept in a file, from which a later run continues."""
    csv: bool = False
    """Whether the records are also written as a CSV file."""


def evaluations() -> tuple[str, ...]:
    """The names of all evaluations.

    >>> evaluations()
    ('pythia', 'jostle', 'naive-bayes', 'configuration', 'census', 'dawa', 'ektelo')
    """
    return tuple(_MODULES)


def evaluation_named(name: str) -> Evaluation:
    """The evaluation of that name."""
    if name not in _MODULES:
        raise BadInput(no_such("paper to reproduce", name, evaluations()))
    evaluation = import_module(f"adyton_lab.reproduce.{_MODULES[name]}").EVALUATION
    assert isinstance(evaluation, Evaluation)
    return evaluation


def write_all(evaluation: Evaluation, records: Sequence[Any], given: Given) -> list[Sheet]:
    """Write records.jsonl, tables.json, tables.txt, the pictures and report.html; returns all tables."""
    folder = given.folder
    write_records(records, folder / "records.jsonl")
    if evaluation.csv:
        with (folder / "records.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(records[0])], lineterminator="\n")
            writer.writeheader()
            writer.writerows(map(asdict, records))
    sheets = evaluation.sheets(records)
    plain = [
        {"title": sheet.title, "chapter": sheet.chapter, "note": sheet.note, "figures": sheet.figures}
        for sheet in sheets
    ]
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


def write_records(records: Iterable[DataclassInstance], path: str | os.PathLike[str]) -> None:
    """Write one JSON object per line."""
    lines = (json.dumps(asdict(record), ensure_ascii=False, separators=(",", ":")) for record in records)
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _as_text(sheets: Sequence[Sheet]) -> str:
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=_WIDTH, highlight=False)
    for sheet in sheets:
        console.print(as_rich(sheet))
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n"))


def write_report(
    path: str | os.PathLike[str],
    title: str,
    about: Iterable[str],
    sheets: Sequence[Sheet],
    pictures: Sequence[Path],
    *,
    chapters: Mapping[str, str],
    main: Collection[str],
) -> None:
    """Write tables and SVG files into one page, which needs no other file and no network.

    A picture belongs to the chapter that its name begins with. *chapters* maps chapters to headings; the tables of
    *main* chapters are shown, the others are folded.
    """
    parts = [
        {
            "key": key,
            "heading": heading,
            "pictures": [_inlined(picture) for picture in pictures if picture.stem.split("-")[0] == key],
            "sheets": (tables := [sheet for sheet in sheets if sheet.chapter == key]),
            "folded": tables and key not in main,
        }
        for key, heading in chapters.items()
    ]
    filled = [part for part in parts if part["pictures"] or part["sheets"]]
    page = rendered(Path(__file__).with_name("report.html.j2"), title=title, about=about, chapters=filled)
    Path(path).write_text(page + "\n", encoding="utf-8")


def _inlined(picture: Path) -> str:
    """The SVG element, without the lines before it in the file."""
    text = picture.read_text(encoding="utf-8")
    return re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
