"""The report of a release: one HTML file that opens anywhere, with no script and nothing to fetch."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.exact import display
from adyton.plans.registry import plan_named
from adyton.report.charts import caption, draw
from adyton.report.lines import apart
from adyton.report.own_words import example, word_facts
from adyton.report.paid import paid_facts
from adyton.report.pairs import spoken
from adyton.report.scales import figure, number, people
from adyton.report.shown import Table
from adyton.report.summary import Summary, summarise
from adyton.report.templates import templates
from adyton.result.explanation import error_in_words
from adyton.result.tables import MOST_TABLES
from adyton.tasks import Marginals

if TYPE_CHECKING:
    from adyton.result import Release

WIDE, NARROW = 720, 358
"""The pixels of a picture on a screen and on a telephone; the page shows the one that fits."""
_CANDIDATES = 8
_YEAR = re.compile(r"\b(19|20)\d\d\b")


def render(release: Release) -> str:
    """The whole page."""
    from markupsafe import Markup

    def price(epsilon: Fraction) -> str:
        """What it costs a person's budget."""
        return display(epsilon * release.rows_per_unit)

    summary = summarise(release)
    tables = [lines(table) for table in summary.tables]
    beside = len(tables) > 1 and isinstance(release.task, Marginals) and release.task.widest(release.schema) <= 2
    pictures = [
        {
            "title": panel.title,
            "caption": caption(panel),
            "wide": Markup(draw(panel, WIDE)),
            "narrow": Markup(draw(panel, NARROW)),
            "table": tables[place] if beside else None,
        }
        for place, panel in enumerate(summary.panels)
    ]
    choice = release.choice
    candidates = [] if choice is None else choice.ranked()
    about, source = _about_algorithm(release.algorithm)
    return (
        templates()
        .get_template("page.html.j2")
        .render(
            **facts(release, summary),
            pictures=pictures,
            tables=[] if beside else tables,
            example=example(summary.panels[0], summary.rate) if summary.panels else "",
            error=error_in_words(release.known_error),
            typical=figure(release.known_error.per_query) if release.known_error else None,
            looks=[] if choice is None else choice.bought,
            looks_price=None if choice is None else price(choice.spent),
            candidates=candidates[:_CANDIDATES],
            more_candidates=candidates[_CANDIDATES:],
            figure=figure,
            price=price,
            about=about,
            source=source,
            schema=release.schema.to_toml().strip(),
        )
    )


def facts(release: Release, summary: Summary) -> dict[str, Any]:
    """What every view of a release says."""
    task = str(release.task)
    return {
        "release": release,
        "task": task,
        "heading": task[:1].upper() + task[1:],
        "by": _in_a_row(spoken(release.schema)),
        "summary": summary,
        "table": lines(summary.table)["lines"],
        "bounds_meaning": summary.interval.meaning if summary.interval else "",
        "misses": f"{100 - 100 * summary.interval.confidence:.0f}" if summary.interval else None,
        "more_tables": _more_tables(release, summary),
        "number": number,
        **word_facts(release.schema, summary.panels),
        **paid_facts(release.receipt, release.epsilon, "release"),
        "counted": release.counted,
    }


def _about_algorithm(name: str) -> tuple[str, str]:
    """What an algorithm does and where it was published, from its own description; empty where there is none."""
    try:
        paragraphs = (inspect.getdoc(type(plan_named(name))) or "").split("\n\n")
    except BadInput:
        return "", ""
    texts = [" ".join(paragraph.split()) for paragraph in paragraphs if not paragraph.lstrip().startswith(">>>")]
    source = next((text for text in reversed(texts[1:]) if _YEAR.search(text)), "")
    return texts[0], source


def _more_tables(release: Release, summary: Summary) -> str | None:
    """What is said of tables that were asked for and are not drawn."""
    if not apart(release):
        return None
    assert isinstance(release.task, Marginals)
    every = len(release.task.groups(release.schema))
    kept = min(every, MOST_TABLES)
    more = f" Of the {every - kept:,} others, release.to_frame(attributes) makes each." if every > kept else ""
    if release.task.widest(release.schema) > 2:
        told = f"{kept:,} of the {every:,}" if more else f"The {every:,}"
        return (
            f"{told} tables that were asked for are in the files beside this page.{more} Here is each attribute alone."
        )
    left = kept - len(summary.panels)
    return f"{left:,} more tables are in the files beside this page.{more}" if left else None


def _in_a_row(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def lines(table: Table) -> dict[str, Any]:
    """A table in the words in which it is shown."""
    bounds = [table.values] if table.lower is None or table.upper is None else [table.values, table.lower, table.upper]
    columns = [[people(float(value)) for value in column] for column in bounds]
    shown = [
        {"labels": labels, "numbers": row} for labels, row in zip(table.labels, zip(*columns, strict=True), strict=True)
    ]
    return {"names": table.names, "what": table.what, "of": table.of, "lines": shown}
