"""The report of numbers: one HTML file that opens anywhere, with a picture of each statistic and all numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adyton.exact import display
from adyton.report.charts import caption, draw
from adyton.report.number_panels import MOST_GROUPS, group_names, number_panels
from adyton.report.own_words import word_facts
from adyton.report.page import NARROW, WIDE
from adyton.report.paid import paid_facts
from adyton.report.scales import figure, people
from adyton.report.templates import templates

if TYPE_CHECKING:
    from adyton.report.shown import Panel
    from adyton.statistics.figures import Figures
    from adyton.statistics.numbers_release import NumbersRelease

_LISTED = 2000
_EXACT = "Of all releases made in this way, 95 in 100 have the true number inside its interval."
_GUESSED = "An approximate one is meant to hold the true number in 95 of 100 releases, but nobody guarantees it."


def render(release: NumbersRelease) -> str:
    """The whole page."""
    asked, *told = release.explain().paragraphs
    figures = [one for one in release.figures() if one.known]
    names = group_names(release)
    panels = number_panels(release)
    kinds = {one.kind for one in figures}
    task = str(release.task)
    meaning = [_EXACT] * ("exact" in kinds) + [_GUESSED] * ("approximate" in kinds)
    return (
        templates()
        .get_template("numbers.html.j2")
        .render(
            release=release,
            heading=task[:1].upper() + task[1:],
            asked=asked.removeprefix("Released: "),
            told=told,
            pictures=[_drawn(panel) for panel in panels],
            undrawn=max(0, len(names) - MOST_GROUPS) if any(panel.kind == "dots" for panel in panels) else 0,
            figures=figures,
            lines=_lines(figures, names[:_LISTED]),
            more=max(0, len(names) - _LISTED),
            example=_example(release, figures, names),
            groups=" × ".join(release.task.by) or "group",
            cost=display(release.epsilon),
            schema=release.schema.to_toml().strip(),
            bounds_meaning=" ".join(meaning),
            **word_facts(release.schema),
            **paid_facts(release.receipt, release.epsilon, "release"),
        )
    )


def _drawn(panel: Panel) -> dict[str, Any]:
    from markupsafe import Markup

    wide, narrow = (Markup(draw(panel, width)) for width in (WIDE, NARROW))
    return {"title": panel.title, "caption": caption(panel), "wide": wide, "narrow": narrow}


def _lines(figures: list[Figures], names: list[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """For each group its name, and every number with its bounds."""
    return [(name, [_told(one, line) for one in figures]) for line, name in enumerate(names)]


def _told(one: Figures, line: int) -> tuple[str, str]:
    """A number and its bounds; counts are whole."""
    written = people if one.name == "count" else figure
    low, high = written(float(one.lower[line])), written(float(one.upper[line]))
    return written(float(one.estimate[line])), f"{low} to {high}"


def _example(release: NumbersRelease, figures: list[Figures], names: list[str]) -> str:
    """What one number says, in a sentence."""
    if not figures:
        return ""
    one = next((found for found in figures if found.name not in ("count", "variance")), figures[0])
    value, bounds = _told(one, 0)
    of = f" of {' × '.join(release.task.by)} {names[0]}" if release.task.by else ""
    rate = f"{'approximate ' * (one.kind == 'approximate')}95% interval"
    name = {"50%": "median"}.get(one.name, f"{one.name} quantile" if one.name.endswith("%") else one.name)
    return f"The {name} of {release.task.attribute}{of} is about {value}; the {rate} reaches from {bounds}."
