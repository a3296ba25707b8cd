"""Write again whatever pages say about the code: the catalogue, commands, figures of intervals, proofs, rooms, trusted
part and reference.

    python docs/_hooks/write_pages.py

Run it after a change to a plan, a command, a mechanism, a room or a docstring. A test says when it was forgotten.
"""

from __future__ import annotations

import sys
from pathlib import Path

import catalogue
import commands
import house
import interval_figures
import proofs
import reference
import trusted_part
import words
from generated import filled

DOCS = Path(__file__).parents[1]
PARTS = {
    catalogue.NAME: catalogue.catalogue,
    commands.NAME: commands.commands,
    interval_figures.NAME: interval_figures.table,
    proofs.NAME: proofs.proofs,
    house.NAME: house.for_the_repository,
    trusted_part.NAME: trusted_part.lists,
    words.NAME: words.table,
}


def pages() -> dict[Path, str]:
    """What every file that is written from the code should hold."""
    found = {DOCS / "assets" / "house.svg": house.standing_alone()}
    for page in sorted(DOCS.rglob("*.md")):
        text = reference.described(page.read_text(encoding="utf-8"))
        for name, part in PARTS.items():
            text = filled(text, name, part)
        found[page] = text
    return found


if __name__ == "__main__":
    for page, text in pages().items():
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
            sys.stdout.write(f"Written: {page.relative_to(DOCS.parent)}\n")
