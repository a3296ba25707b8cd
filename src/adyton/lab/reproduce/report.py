"""One HTML file with all tables and pictures of an evaluation; it needs no other file and no network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from adyton.lab.pages import rendered
from adyton.lab.reproduce.tables import Sheet

CHAPTERS = {
    "gains": "What the user gets",
    "claims": "What the paper says, and what came out here",
    "fig4": "Mean regret by workload (Fig. 4)",
    "fig7": "Splitting criteria (Fig. 7)",
    "fig8": "The tree for short boxes on a plane (Fig. 8)",
    "trees": "All trees",
    "fig9": "Mean regret by data set (Fig. 9)",
    "fig10": "Mean regret by number of cells (Fig. 10)",
    "fig11": "Mean regret by number of rows (Fig. 11)",
}
_OPEN = ("gains", "claims", "fig4", "fig7")
"""The chapters whose tables are shown at once; those of the others unfold."""


def write_report(
    path: str | os.PathLike[str], title: str, about: Iterable[str], sheets: Sequence[Sheet], pictures: Sequence[Path]
) -> None:
    """Write tables and SVG files into one page; a picture belongs to the chapter that its name begins with."""
    chapters = [
        {
            "key": key,
            "heading": heading,
            "pictures": [_inlined(picture) for picture in pictures if picture.stem.split("-")[0] == key],
            "sheets": (tables := [sheet for sheet in sheets if sheet.chapter == key]),
            "folded": tables and key not in _OPEN,
        }
        for key, heading in CHAPTERS.items()
    ]
    filled = [one for one in chapters if one["pictures"] or one["sheets"]]
    page = rendered(Path(__file__).with_name("report.html.j2"), title=title, about=about, chapters=filled)
    Path(path).write_text(page + "\n", encoding="utf-8")


def _inlined(picture: Path) -> str:
    """The SVG element alone, without the lines that stand before it in a file."""
    text = picture.read_text(encoding="utf-8")
    return re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
