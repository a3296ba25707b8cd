"""Takes the pictures of docs/how-to/page.md from the running pages.

    python docs/_hooks/pictures.py

It needs Chromium, and starts `adyton open` on a copy of the example table.
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "docs" / "assets"
EXAMPLE = ROOT / "examples" / "visits.csv"
WIDTH, HEIGHT = 1100, 780
LEVELS = "emergency, surgery, maternity, cardiology, oncology, eye"

sys.path.insert(0, str(ROOT / "tests"))

from browser import Browser  # noqa: E402  the driver of the tests
from service.pages.driving import Person  # noqa: E402
from service.pages.opened import Opened  # noqa: E402


def main() -> None:
    """Write the schema, ask, release, and take a picture of each page on the way."""
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        shutil.copy(EXAMPLE, Path(folder) / "visits.csv")
        with Opened(folder, "visits.csv") as opened:
            owner = Person(browser, opened.link.partition("/enter")[0], WIDTH, HEIGHT).goes(opened.link)
            owner.sees("Schema of visits.csv")
            owner.chooses("What it is", "a whole number").types("Smallest", "0").types("Largest", "109")
            owner.chooses("What it is", "a category from a fixed list", nth=2).types("Levels", LEVELS)
            owner.clicks("Every row is a different person").sees("one of 'emergency', 'surgery'")
            take(owner, "page-schema")
            owner.types("Total budget ε", "2").clicks("Open this table").sees("What is public about this table")
            owner.clicks("Ask a question").clicks("How many rows of each …").chooses("For each value of", "department")
            owner.types("Budget: ε", "0.5").sees("Release for ε = 0.5", "6 counts")
            take(owner, "page-ask")
            owner.clicks("Release for ε = 0.5").sees("How to read it", "1.5 of 2 left", seconds=120)
            take(owner, "page-result")
            owner.goes("/tables/visits.csv/ask?question=up-to&first=age").sees("What to expect")
            owner.types("Budget: ε", "0.25").sees("Release for ε = 0.25").clicks("Release for ε = 0.25")
            owner.sees("Files to save", "1.25 of 2 left", seconds=120)
            owner.clicks("Ledger").sees("Over time")
            take(owner, "page-ledger")


def take(person: Person, name: str) -> None:
    """A picture of what is in the window, from the top of the page."""
    person.evaluate("document.activeElement.blur(), window.scrollTo(0, 0)")
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1}
    answer = person.browser.ask("Page.captureScreenshot", format="webp", quality=82, clip=clip)
    (ASSETS / f"{name}.webp").write_bytes(base64.b64decode(answer["data"]))


if __name__ == "__main__":
    main()
