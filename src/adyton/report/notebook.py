"""What a notebook shows of a release: one picture, a sentence, a few lines, and what is left of the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adyton.report.charts import caption, draw
from adyton.report.page import facts
from adyton.report.scales import figure
from adyton.report.summary import summarise
from adyton.report.templates import templates

if TYPE_CHECKING:
    from adyton.result import Release

_ROWS, _WIDTH = 12, 640
_QUICK = 1 << 12
"""Up to so many cells intervals take little time; beyond, a notebook should not have to wait for them."""


def to_html(release: Release) -> str:
    """A piece of HTML that takes its colours from the notebook around it."""
    from markupsafe import Markup

    quick = release.estimate.size <= _QUICK
    summary = summarise(release, rows=_ROWS, pictures=1, confidence=0.95 if quick else None)
    pictures = [
        {"title": panel.title, "caption": caption(panel), "drawing": Markup(draw(panel, _WIDTH))}
        for panel in summary.panels
    ]
    page = templates().get_template("notebook.html.j2")
    typical = figure(release.known_error.per_query) if quick and release.known_error else None
    return page.render(**facts(release, summary), pictures=pictures, typical=typical, width=_WIDTH)
