"""One HTML file with all tables and pictures of an evaluation; it needs no other file and no network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

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

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; }}
body {{ max-width: 74rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid #ccc; }}
figure {{ margin: 1rem 0; overflow-x: auto; }} svg {{ max-width: 100%; height: auto; }}
div.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; font-weight: 600; padding: 0.3rem 0; }}
th, td {{ padding: 0.2rem 0.8rem 0.2rem 0; text-align: right; }} th {{ border-bottom: 1px solid #888; }}
th:first-child, td:first-child, table.words th, table.words td {{ text-align: left; vertical-align: top; }}
tbody tr:nth-child(even) {{ background: #f5f5f5; }} p.note {{ color: #555; font-size: 0.85rem; margin-top: -0.6rem; }}
nav a {{ margin-right: 1rem; }} summary {{ cursor: pointer; }}
</style>
</head>
<body>
<h1>{title}</h1>
{about}
<nav>{links}</nav>
{chapters}
</body>
</html>
"""


def write_report(
    path: str | os.PathLike[str], title: str, about: Iterable[str], sheets: Sequence[Sheet], pictures: Sequence[Path]
) -> None:
    """Write tables and SVG files into one page; a picture belongs to the chapter that its name begins with."""
    chapters = {}
    for key, heading in CHAPTERS.items():
        drawn = [_inlined(picture) for picture in pictures if picture.stem.split("-")[0] == key]
        tables = [_table(sheet) for sheet in sheets if sheet.chapter == key]
        if tables and key not in _OPEN:
            tables = ["<details><summary>The figures</summary>", *tables, "</details>"]
        if drawn or tables:
            chapters[key] = "\n".join([f'<h2 id="{key}">{escape(heading)}</h2>', *drawn, *tables])
    page = _PAGE.format(
        title=escape(title),
        about="\n".join(f"<p>{escape(text)}</p>" for text in about),
        links="".join(f'<a href="#{key}">{escape(CHAPTERS[key])}</a> ' for key in chapters),
        chapters="\n".join(chapters.values()),
    )
    Path(path).write_text(page, encoding="utf-8")


def _table(sheet: Sheet) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in sheet.columns)
    rows = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in sheet.rows)
    kind = ' class="words"' if sheet.chapter == "claims" else ""
    note = f'<p class="note">{escape(sheet.note)}</p>' if sheet.note else ""
    return (
        f'<div class="table"><table{kind}><caption>{escape(sheet.title)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>{note}"
    )


def _inlined(picture: Path) -> str:
    """The SVG element alone, without the lines that stand before it in a file."""
    text = picture.read_text(encoding="utf-8")
    element = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
    return f"<figure>{element}</figure>"
