"""Counts on a page: pictures and the first lines of the requested tables, with bounds for every number in them.

All numbers shown are answers to queries, which the release answers together: a step of a picture that joins four cells
has the bounds of their sum, not the sum of their bounds.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import AdytonError, BadInput
from adyton.plans.registry import plan_named
from adyton.queries import Queries, Ranges
from adyton.report import svg
from adyton.report.charts import MOST_BARS, Kind, Panel, blank, is_place, spoken, without
from adyton.report.page import (
    Block,
    Fact,
    Table,
    View,
    Words,
    filter_in_short,
    promise,
    spent,
    view_of,
    where,
)
from adyton.report.pictures import Drawing
from adyton.report.svg import figure, people
from adyton.result.coverage import known_values
from adyton.result.release import QUICK
from adyton.result.sheets import Column, HoldBack, Sheet, Sheets
from adyton.result.shown import TABLES
from adyton.schema.misfits import misfits_of
from adyton.tasks import as_queries
from adyton.tasks.questions import question_in_words

if TYPE_CHECKING:
    from adyton.result import Release
    from adyton.result.intervals import Interval

_FEW_NAMES = 2
"""How many attributes the name of a total names at most."""
_LINES, _FEWEST, _MOST_TABLES = 200, 60, 24
"""How many lines are shown, how many of each table at least if there are several, and how many tables."""
_TYPICAL = 256
"""How many squares of a map are used to find the typical width of its intervals."""
_YEAR = re.compile(r"\b(19|20)\d\d\b")
_NEGATIVE = (
    "Noise can be negative, so the count of a cell with few rows may be below zero; and estimates that must add up are "
    "averages, which are seldom whole. Setting negative counts to zero would make sums too large: they are shown "
    "as they are. Counts on this page are rounded to whole numbers; the files beside it have every digit."
)

Numbers: TypeAlias = tuple[Reals, Reals | None, Reals | None]
"""Answers and, if there are any, their lower and upper bounds."""
Whole: TypeAlias = npt.NDArray[np.int64]


def drawings(release: Release, most: int | None) -> list[Drawing]:
    """The pictures; if *most* limits them, bounds are drawn only if they take little time."""
    quick = most is None or release.estimate.size <= QUICK
    summary = summarise(release, lines=1, pictures=most, confidence=0.95 if quick else None)
    return [Drawing.of(panel) for panel in summary.panels]


def view(release: Release) -> View:
    """The content of the page of counts."""
    summary, by = summarise(release), " × ".join(spoken(release.schema))
    interval, groups = summary.interval, release.task.tables(release.schema)
    about, source = _about_algorithm(release.algorithm)
    said = f"How many {release.counted.noun} of {release.receipt.dataset} there are by {by}{where(release)}."
    if not release.receipt.private:
        made_up = f"in a {release.receipt.dataset}"
        said = f"How many made-up {release.counted.noun} there are by {by}{where(release)}, {made_up}."
    chosen = "chosen" if release.choice else "combined" if release.parts else "named"
    left = len(groups) - len(summary.panels)
    more = f"{left:,} more tables are in tables.csv beside this page." if left > 0 else ""
    if not _narrow(groups):
        more = "The requested tables are in tables.csv beside this page. Here each attribute is shown separately."
    return view_of(
        release,
        drawings=[Drawing.of(panel) for panel in summary.panels],
        sheets=summary.sheets,
        title="The estimate",
        also=(
            *((Words(more, quiet=True),) if more and release.tables_alone else ()),
            *map(Words, (*release.known_in_words(), *release.held_back_in_words())),
        ),
        lead=f"{said} {promise(release)}",
        figures=(_total(release, summary), _error(release, summary)),
        cost=(spent(release), Fact("Algorithm", release.algorithm, (chosen,))),
        how=_candidates(release, about),
        facts={"Algorithm": f"{release.algorithm}. {source}"} if source else {},
        meaning=interval.meaning if interval else "",
        confidence=interval.confidence if interval else 0.95,
        why_no_bounds=summary.why_no_interval,
        reading=(Words(_NEGATIVE, "Why counts can be negative or have fractions."),),
    )


def _total(release: Release, summary: Summary) -> Fact:
    counted = release.counted
    if summary.total is None:
        return Fact("Queries answered", f"{len(release.task.questions()):,}")
    rows = f"{counted.noun.capitalize()}{filter_in_short(release.where)}"
    what = "Rows counted" if counted and counted.noun == "rows" else f"{rows} {_known(release)}"
    value, lower, upper = summary.total
    small: tuple[str, ...] = (counted.beside,) if counted else ()
    if summary.interval is not None and lower is not None and upper is not None:
        guessed = summary.interval.kind == "approximate"
        ends = svg.span(float(lower[0]), float(upper[0]), people)
        small += (f"{' to '.join(ends)}{' (approximate)' * guessed}",)
    return Fact(f"{what}, about", people(float(value[0])), small)


def _known(release: Release) -> str:
    """Which rows the total counts: where some values leave a row out, those whose values are known."""
    ways = () if release.task.per_unit else misfits_of(release.schema, release.schema.names)
    names = list(dict.fromkeys(way.attribute for way in ways if way.fate in ("left out", "unmatched")))
    if not names:
        return "in all"
    return f"with {known_values(names)}" if len(names) <= _FEW_NAMES else "with known values"


def _error(release: Release, summary: Summary) -> Fact:
    """How far off an answer is: the half-width of its interval, as the request's page has it, and the typical error."""
    noun, error = release.counted.noun, release.known_error
    typical = "" if error is None else f"typical error ± {figure(error.per_query)}"
    columns = [own for sheet in summary.sheets.sheets for own in sheet.columns]
    bounds = [(own.lower, own.upper) for own in columns if own.lower is not None]
    if summary.interval is None or not bounds or summary.interval.missing:
        return Fact("Typical error", typical.removeprefix("typical error ") or "unknown", (f"{noun}, in one answer",))
    widths = np.concatenate([np.asarray(high - low, dtype=np.float64).ravel() for low, high in bounds]) / 2
    far = [figure(float(end)) for end in (widths.min(), widths.max())]
    half = f"± {far[1]}" if far[0] == far[1] else f"± {far[0]} to {far[1]}"
    often = f"{noun}, 19 times of 20{', approximately' * (summary.interval.kind == 'approximate')}"
    return Fact("Error of each count", half, (often, typical) if typical else (often,))


def _narrow(groups: Sequence[Sequence[str]]) -> bool:
    """Whether there are requested tables, and all of them can be drawn."""
    return bool(groups) and max(map(len, groups)) <= 2


def _candidates(release: Release, about: str) -> Iterable[Block]:
    """The expected error of each algorithm, and what the chosen one does."""
    if release.choice is not None:
        names = {release.algorithm: f"{release.algorithm} (chosen)"}
        yield Table.plain(
            ("algorithm", "expected error, relative to the best"),
            [(names.get(name, name), str(error)) for name, error in release.choice.ranked()],
            "The error expected of each algorithm before any ran, from public data like these. Lower is better.",
            chosen=names[release.algorithm],
        )
    if about:
        yield Words(about, "What it does.")


def _about_algorithm(name: str) -> tuple[str, str]:
    """What an algorithm does and where it was published, from its docstring; empty if there is none."""
    try:
        paragraphs = (inspect.getdoc(type(plan_named(name))) or "").split("\n\n")
    except BadInput:
        return "", ""
    texts = [" ".join(paragraph.split()) for paragraph in paragraphs if not paragraph.lstrip().startswith(">>>")]
    source = next((text for text in reversed(texts[1:]) if _YEAR.search(text)), "")
    return texts[0], source


# ---- what is shown, and the queries whose answers are shown ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Summary:
    """Everything that is shown of a release."""

    panels: tuple[Panel, ...]
    sheets: Sheets
    """The first lines of one table, or of each marginal."""
    total: Numbers | None
    """The total number of rows, and its bounds; None if the task consists of single queries."""
    queries: Queries
    """The queries whose answers are shown."""
    interval: Interval | None
    why_no_interval: str


def summarise(
    release: Release, *, lines: int = _LINES, pictures: int | None = None, confidence: float | None = 0.95
) -> Summary:
    """What to show of a release: *lines* lines of the table, the first *pictures* pictures, and intervals unless
    *confidence* is None."""
    queries: Queries
    if questions := release.task.questions():
        asked = list(questions[: max(lines, MOST_BARS)])
        queries, words = as_queries(release.schema, asked), tuple(map(question_in_words, asked))
        drawn = Panel("bars", "Answers to the queries", (), words, np.empty(len(words)), None, None)
        sheet = _sheet({"query": words[:lines]}, release.counted.what(), len(questions))
        shown = [(slice(0, lines), sheet), *([(slice(0, len(words)), drawn)] if len(questions) <= MOST_BARS else [])]
    else:
        parts = [*_panels(release, pictures), *_tables(release, lines)]
        boxes = [_boxes(release, (), np.empty((1, 0), int), np.empty((1, 0), int)), *(part for _, part in parts)]
        ends = np.cumsum([part.shape[1] for part in boxes]).tolist()
        shown = [(slice(*span), part) for span, (part, _) in zip(pairwise(ends), parts, strict=True)]
        queries = Ranges(release.estimate.shape, *np.concatenate(boxes, axis=1))
    interval, problem = _interval(release, queries, confidence)
    answers = np.asarray(queries @ release.estimate.reshape(-1), dtype=np.float64)

    def numbers(part: slice) -> Numbers:
        if interval is None:
            return answers[part], None, None
        return answers[part], np.asarray(interval.lower)[part], np.asarray(interval.upper)[part]

    rate, kind, note = (None, None, f"Without intervals: {problem}")
    if interval is not None:
        rate, kind, note = interval.confidence, interval.kind, interval.note
    filled = [_drawn(part, *numbers(span)).of(release.counted) for span, part in shown if isinstance(part, Panel)]
    panels = [panel for full in filled if (panel := _allowed(full, release.hold)) is not None]
    sheets = []
    for span, part in shown:
        if isinstance(part, Sheet):
            values, lower, upper = numbers(span)
            column = replace(part.columns[0], values=values, lower=lower, upper=upper, kind=kind)
            sheets.append(replace(part, columns=(column,), note=note).held_by(release.hold))
    return Summary(
        tuple(replace(panel, confidence=rate or 0.95, approximate=kind == "approximate") for panel in panels),
        Sheets(TABLES, tuple(sheets), rate),
        None if questions else numbers(slice(0, 1)),
        queries,
        interval,
        problem,
    )


def _drawn(panel: Panel, values: Reals, lower: Reals | None, upper: Reals | None) -> Panel:
    """A panel with its numbers; a map gets only the bounds of some squares."""
    if panel.kind == "map":
        return replace(panel, lower=lower, upper=upper)
    sizes = [axis.size for axis in panel.axes] or [len(values)]
    low, high = (None if part is None else part.reshape(sizes) for part in (lower, upper))
    return replace(panel, values=values.reshape(sizes), lower=low, upper=high)


def _allowed(panel: Panel, rule: HoldBack | None) -> Panel | None:
    """The panel without the counts that are held back; None if it cannot be drawn without them."""
    if rule is None:
        return panel
    bounds = (None, None) if panel.kind == "map" else (panel.lower, panel.upper)
    return without(panel, rule.few(panel.values) | rule.wide(panel.values, *bounds))


def _sheet(labels: Mapping[str, Sequence[str]], words: str, of: int) -> Sheet:
    """The first lines of a table, without the numbers."""
    return Sheet(labels, (Column("count", np.empty(0), words=words),), of=of)


def _interval(release: Release, queries: Queries, confidence: float | None) -> tuple[Interval | None, str]:
    """The bounds or, if there are none, the reason; the page is made in any case."""
    if confidence is None:
        return None, "none were asked for."
    try:
        interval = release.interval(queries, confidence)
    except Exception as error:
        known = isinstance(error, AdytonError)
        return None, str(error) if known else f"they could not be computed ({type(error).__name__})."
    return (None, interval.missing.removeprefix("No bounds: ")) if interval.missing else (interval, "")


def _boxes(release: Release, places: Sequence[int], first: Whole, last: Whole) -> Whole:
    """Boxes of the domain, as first and last cells: as given along some axes, and all cells along the others."""
    shape = release.estimate.shape
    ends = np.stack([np.zeros((len(first), len(shape)), int), np.tile(np.array(shape) - 1, (len(first), 1))])
    ends[0][:, places], ends[1][:, places] = first, last
    return ends


def _tables(release: Release, most: int) -> list[tuple[Sheet, Whole]]:
    """The first lines of the requested tables, about the same number of each; or of the cells of all attributes."""
    if not release.tables_alone:
        return [_table(release, tuple(range(release.estimate.ndim)), most)]
    every = min(len(release.task.tables(release.schema)), _MOST_TABLES)
    some = max(_FEWEST, most // every) if most >= _FEWEST else most
    return [_table(release, places, some) for places in release.table_places[:every]]


def _table(release: Release, places: tuple[int, ...], most: int) -> tuple[Sheet, Whole]:
    sides, cumulative = [release.estimate.shape[place] for place in places], release.task.cumulative
    cells = np.stack(np.unravel_index(np.arange(min(most, math.prod(sides))), sides), axis=1)
    names, columns = [release.schema.names[place] for place in places], cells.T.tolist()
    labels = {name: [str(release.axes[name][cell]) for cell in some] for name, some in zip(names, columns, strict=True)}
    words = release.counted.what("rows up to here" if cumulative else "rows")
    boxes = _boxes(release, places, np.zeros_like(cells) if cumulative else cells, cells)
    return replace(_sheet(labels, words, math.prod(sides)), among=release.coverage.among(names)), boxes


def _panels(release: Release, most: int | None) -> list[tuple[Panel, Whole]]:
    """The requested tables that can be drawn; otherwise a joint picture if there are two attributes, and a picture of
    each attribute, unless the two are places on a map."""
    names, groups = release.schema.names, release.task.tables(release.schema)
    panels = [blank(release.schema, tuple(group), release.axes) for group in groups[:_MOST_TABLES] if len(group) <= 2]
    if not _narrow(groups):
        panels = [blank(release.schema, names, release.axes)] if len(names) == 2 else []
        if not panels or not is_place(panels[0]):
            panels += [blank(release.schema, (name,), release.axes) for name in names]
        if release.task.cumulative:
            kind: Kind = "line" if panels[0].kind == "bars" else panels[0].kind
            panels.insert(0, replace(panels[0], kind=kind, title=f"Rows up to each {names[0]}"))
    coverage = release.coverage
    ends = [coverage.among([axis.name for axis in panel.axes]) for panel in panels[:most]]
    titled = (replace(panel, title=f"{panel.title}{end}") for panel, end in zip(panels, ends, strict=False))
    return [_panel(release, panel) for panel in titled]


def _panel(release: Release, panel: Panel) -> tuple[Panel, Whole]:
    """The counts along one or two attributes, summed over all others; a map gets its values now."""
    places = [release.schema.names.index(axis.name) for axis in panel.axes]
    first, last = (
        np.array(list(product(*(axis.last if end else axis.first for axis in panel.axes)))) for end in (0, 1)
    )
    boxes = _boxes(release, places, 0 * first if panel.title.startswith("Rows up to each ") else first, last)
    if panel.kind != "map":
        return panel, boxes
    values = np.asarray(Ranges(release.estimate.shape, *boxes) @ release.estimate.reshape(-1), dtype=np.float64)
    some = np.unique(np.linspace(0, len(first) - 1, min(_TYPICAL, len(first))).astype(int))
    return replace(panel, values=values.reshape([axis.size for axis in panel.axes])), boxes[:, some]
