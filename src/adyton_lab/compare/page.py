"""The page: one HTML file with all figures and pictures inside. It needs no other file and no network."""

from __future__ import annotations

import json
from pathlib import Path

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
