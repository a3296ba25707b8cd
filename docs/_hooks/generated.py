"""Parts of pages that are written from the code. They stand in the repository, too, between two marks.

``python docs/_hooks/write_pages.py`` writes them again; when the site is built, they are made anew in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable


def filled(markdown: str, name: str, text: Callable[[], str]) -> str:
    """The page with that part made anew; the page itself if it has no such part.

    >>> filled("<!-- rooms --> old <!-- /rooms -->", "rooms", lambda: "new")
    '<!-- rooms -->\\n\\nnew\\n\\n<!-- /rooms -->'
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if begin not in markdown:
        return markdown
    part = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    return part.sub(lambda _: f"{begin}\n\n{text().strip()}\n\n{end}", markdown)
