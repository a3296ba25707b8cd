"""One HTML file with all tables and pictures of an evaluation; it needs no other file and no network."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from adyton_lab.pages import rendered
from adyton_lab.reproduce.tables import Sheet


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
    """Write tables and SVG files into one page; a picture belongs to the chapter that its name begins with.

    *chapters* have their headings; the tables of *main* ones are shown at once, those of the others unfold.
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
    filled = [one for one in parts if one["pictures"] or one["sheets"]]
    page = rendered(Path(__file__).with_name("report.html.j2"), title=title, about=about, chapters=filled)
    Path(path).write_text(page + "\n", encoding="utf-8")


def _inlined(picture: Path) -> str:
    """The SVG element alone, without the lines that stand before it in a file."""
    text = picture.read_text(encoding="utf-8")
    return re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
