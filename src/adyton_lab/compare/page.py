"""The page: one HTML file with all figures and pictures inside. It needs no other file and no network."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from pathlib import Path

from adyton.errors import BadInput
from adyton.messages import harmless
from adyton_lab.compare.experiment import LOOKS
from adyton_lab.compare.results import CHOOSER, Comparison
from adyton_lab.pages import rendered

WORDS = {
    "identity": "every cell",
    "prefix": "every prefix (cumulative counts)",
    "short": "1,000 short random ranges",
    "medium": "1,000 medium random ranges",
    "long": "1,000 long random ranges",
    "mixed": "1,000 random ranges of all lengths",
}
"""The workloads as people say them."""


def render(comparison: Comparison) -> str:
    """The page as text."""
    from markupsafe import Markup

    plain = comparison.to_plain() | {"words": WORDS, "looks": LOOKS, "chooser": CHOOSER}
    return rendered(
        Path(__file__).with_name("page.html.j2"),
        comparison=comparison,
        chooser=CHOOSER,
        version=plain["adyton"],
        data=Markup(embedded(plain)),
    )


def embedded(plain: object) -> str:
    """JSON that can stand inside a script element: no text in it can end the element.

    >>> embedded({"name": "</script>"})
    '{"name":"\\\\u003c/script>"}'
    """
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


PAGE, ERRORS, EVERYTHING = "compare.html", "errors.csv", "compare.json"


def check(folder: Path) -> None:
    """Refuse a folder in which the files cannot be written, because folders have their names."""
    for name in (PAGE, ERRORS, EVERYTHING):
        if (folder / name).is_dir():
            raise BadInput(f"{folder / name} is a folder, where a file is to be written. Give --out another folder.")


def write(comparison: Comparison, folder: Path) -> None:
    """Write all files: each appears whole, in place of an older one, or not at all."""
    texts = {
        PAGE: render(comparison),
        ERRORS: _table(comparison),
        EVERYTHING: json.dumps(comparison.to_plain(), ensure_ascii=False, allow_nan=False) + "\n",
    }
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".compare-") as draft:
            for name, text in texts.items():
                (Path(draft) / name).write_text(text, encoding="utf-8", newline="")
            for name in texts:
                os.replace(Path(draft) / name, folder / name)
    except OSError as error:
        raise BadInput(f"{folder} cannot be written to: {error.strerror or error}.") from None


def _table(comparison: Comparison) -> str:
    rows = comparison.rows()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: harmless(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    )
    return text.getvalue()
