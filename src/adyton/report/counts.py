"""Counts on a page: pictures and the first lines of what was asked for, with bounds for every number in them.

What is shown is asked of the release as queries, all of them at once: a step of a picture that joins four cells has the
bounds of their sum, not the sum of their bounds.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.errors import AdytonError, BadInput
from adyton.exact import display
from adyton.plans.registry import plan_named
from adyton.queries import Queries, Ranges
from adyton.report.axes import DisplayAxis, display_axis
from adyton.report.bars import MOST as MOST_BARS
from adyton.report.charts import (
    Panel,
    axes_of_pair,
    in_common,
    is_map,
    kind_of,
    kind_of_pair,
    spoken,
)  # fmt: skip
from adyton.report.drawing import Drawing
from adyton.report.scales import figure, people
from adyton.report.view import (
    Block,
    Fact,
    Heading,
    Picture,
    Section,
    Table,
    View,
    Words,
    algorithm,
    facts_of,
    promise,
    reading_example,
    spent,
    table_of,
    view_of,
)  # fmt: skip
from adyton.result.release import QUICK
from adyton.result.sheets import Column, Sheet
from adyton.result.tables import parts_alone, table_places
from adyton.tasks import as_queries
from adyton.tasks.questions import question_in_words

if TYPE_CHECKING:
    from adyton.result import Release
    from adyton.result.intervals import Interval

_ROWS, _MOST_STEPS = 200, 512
_MOST_TABLES, _FEWEST = 24, 60
"""So many tables are shown, and so many lines of each at the least."""
_TYPICAL = 256
"""So many squares of a map show how wide its intervals are."""
_CANDIDATES = 8
_YEAR = re.compile(r"\b(19|20)\d\d\b")
_NEGATIVE = (
    "Noise goes both ways, so that a cell with few rows may be below zero; and estimates that must fit together are "
    "averages, which are seldom whole. Cutting them off would make sums wrong in one direction, so that negative ones "
    "are shown as they are. Counts on this page are rounded to whole numbers; the files beside it have every digit."
)

Boxes: TypeAlias = tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]
"""The first and the last cell, along every axis, of some boxes of cells."""
Numbers: TypeAlias = tuple[Reals, Reals | None, Reals | None]
"""Answers and, where there are any, their lower and upper bounds."""
NumbersOf: TypeAlias = Callable[[slice], Numbers]
"""The answers at some places, once all questions are answered."""
LaterPanel: TypeAlias = Callable[[NumbersOf], Panel]


class Lines(NamedTuple):
    """The first lines of a table, out of so many."""

    sheet: Sheet
    of: int


LaterLines: TypeAlias = Callable[[NumbersOf], Lines]


@dataclass(frozen=True, eq=False)
class Summary:
    """All that is shown."""

    panels: tuple[Panel, ...]
    tables: tuple[Lines, ...]
    """One, or one for each marginal."""
    total: tuple[float, float | None, float | None] | None
    """The number of rows in all, and its bounds; None where single queries were asked."""
    queries: Queries
    """What was asked to show this."""
    interval: Interval | None
    why_no_interval: str

    @property
    def rate(self) -> str:
        """What the bounds are called."""
        if self.interval is None:
            return ""
        return f"{'approximate ' * self.approximate}{100 * self.interval.confidence:g}% interval"

    @property
    def approximate(self) -> bool:
        """Whether there are bounds whose confidence is not a promise."""
        return self.interval is not None and self.interval.kind == "approximate"


def drawings(release: Release, most: int | None) -> list[Drawing]:
    """The pictures; of few, bounds are drawn only where they take little time."""
    quick = most is None or release.estimate.size <= QUICK
    summary = summarise(release, rows=1, pictures=most, confidence=0.95 if quick else None)
    return [Drawing.of(panel) for panel in summary.panels]


def view(release: Release) -> View:
    """What the page of counts says."""
    summary, receipt, counted = summarise(release), release.receipt, release.counted
    about, source = _about_algorithm(release.algorithm)
    facts = facts_of(release)
    only = f", counting only rows where {release.where}" if release.where else ""
    by = _in_a_row(spoken(release.schema))
    said = f"How many {counted.noun} of {receipt.dataset} there are by {by}{counted.aside}{only}."
    meaning = summary.interval.meaning if summary.interval else ""
    return view_of(
        release,
        lead=f"{said} {promise(release)}",
        figures=(
            _total(release, summary),
            _typical(release),
            spent(release),
            algorithm(release, "chosen" if release.choice else "combined" if release.parts else "named"),
        ),
        short=(Section("estimate", "The estimate", tuple(_shown(release, summary))),),
        long=(
            Section("errors", "How far off it is", tuple(map(Words, release.own_paragraphs()[1:]))),
            Section("choice", "The choice, and why", tuple(_choice(release, about))),
        ),
        facts=facts | {"Algorithm": f"{release.algorithm}. {source}" if source else release.algorithm},
        meaning=meaning,
        confidence=summary.interval.confidence if summary.interval else 0.95,
        why_no_bounds=summary.why_no_interval,
        reading=(Heading("Why counts can be negative or have fractions"), Words(_NEGATIVE)),
        common=in_common(release.schema, summary.panels),
    )


def _in_a_row(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _total(release: Release, summary: Summary) -> Fact:
    counted = release.counted
    if summary.total is None:
        return Fact("Queries answered", f"{summary.tables[0].of:,}")
    what = "Rows counted" if counted and counted.noun == "rows" else f"{counted.noun.capitalize()} in all"
    value, low, high = summary.total
    small: tuple[str, ...] = (counted.beside,) if counted else ()
    if low is not None and high is not None:
        small += (f"{people(low)} to {people(high)}{' (approximate)' * summary.approximate}",)
    return Fact(f"{what}, about", people(value), small)


def _typical(release: Release) -> Fact:
    error = release.known_error
    if error is None:
        return Fact("Typical error", "unknown")
    return Fact("Typical error", f"± {figure(error.per_query)}", (f"{release.counted.noun}, in one answer",))


def _shown(release: Release, summary: Summary) -> Iterable[Block]:
    """Pictures, each with its table where there is one for each; an example; what has to be said; other tables."""
    groups = release.task.tables(release.schema)
    tables = [_folded(lines, summary) for lines in summary.tables]
    beside = len(tables) > 1 and _narrow(groups)
    if len(tables) == 1:
        tables = [replace(tables[0], fold="The values as a table")]
    for place, panel in enumerate(summary.panels):
        yield Picture.of(Drawing.of(panel))
        if beside:
            yield tables[place]
    yield from reading_example(summary.panels[0]) if summary.panels else ()
    if summary.why_no_interval:
        yield Words(f"Without intervals: {summary.why_no_interval}", quiet=True)
    if summary.interval and summary.interval.note:
        yield Words(summary.interval.note, quiet=True)
    if said := _more_tables(release, len(summary.panels)):
        yield Words(said, quiet=True)
    yield from () if beside else tables


def _folded(lines: Lines, summary: Summary) -> Table:
    return table_of(lines.sheet, summary.rate, of=lines.of, fold=f"{lines.sheet.title} as a table")


def _narrow(groups: Sequence[Sequence[str]]) -> bool:
    """Whether tables are asked for that can all be drawn."""
    return bool(groups) and max(map(len, groups)) <= 2


def _more_tables(release: Release, drawn: int) -> str:
    """What is said of tables that were asked for and are not drawn."""
    groups = release.task.tables(release.schema)
    if not parts_alone(release):
        return ""
    if not _narrow(groups):
        which = "table that was asked for is" if len(groups) == 1 else f"{len(groups):,} tables that were asked for are"
        return f"The {which} in tables.csv beside this page. Here is each attribute alone."
    left = len(groups) - drawn
    return f"{left:,} more tables are in tables.csv beside this page." if left > 0 else ""


def _choice(release: Release, about: str) -> Iterable[Block]:
    """Why this algorithm ran: what was looked at, and what was expected of each."""
    choice = release.choice
    if choice is None:
        named = f"The algorithm was named: {release.algorithm}. Nothing was spent on choosing one."
        yield Words(release.together or named)
    else:
        looks, candidates = choice.bought, choice.ranked()
        price = display(choice.spent * release.rows_per_unit)
        misfits = " and to counting misfits" if release.misfits else ""
        paid = (
            f"Before choosing, Adyton looked at the data through noise and paid for it: ε = {price} out of "
            f"{display(release.epsilon)}. The rest went to the algorithm{misfits}."
        )
        free = "Nothing about the data was needed for it, and nothing was spent on it: public facts were enough."
        chosen = (
            f"was chosen among {len(candidates):,} algorithms, for this task, this budget and a table of this size."
        )
        yield Words(f"{chosen} {paid if looks else free}", release.algorithm)
        if looks:
            prices = [f"ε = {display(one.spent * release.rows_per_unit)}" for one in looks]
            lines = [
                ((one.words,), ((f"{figure(one.value)} ± {figure(one.deviation)}", ""), (cost, "")))
                for one, cost in zip(looks, prices, strict=True)
            ]
            heads = ("noisy value", ""), ("price", "")
            yield Table(("feature",), heads, lines, "What was looked at. Nothing else was.")
        said = "What was expected of each algorithm before any ran, from public data like these. Less is better."
        yield _ranked(candidates[:_CANDIDATES], release.algorithm, caption=said)
        if more := candidates[_CANDIDATES:]:
            fold = f"{len(more)} more algorithms"
            yield _ranked(more, release.algorithm, caption="Those that promised less.", fold=fold)
        yield from (Words(f"Note: {note}", quiet=True) for note in choice.notes)
    if about:
        yield Words(about, "What it does.")


def _ranked(candidates: Sequence[tuple[str, object]], chosen: str, *, caption: str, fold: str = "") -> Table:
    label = f"{chosen} (chosen)"
    lines = [((label if name == chosen else name,), ((str(regret), ""),)) for name, regret in candidates]
    heads = (("expected error, relative to the best", ""),)
    return Table(("algorithm",), heads, lines, caption, fold, chosen=label)


def _about_algorithm(name: str) -> tuple[str, str]:
    """What an algorithm does and where it was published, from its own description; empty where there is none."""
    try:
        paragraphs = (inspect.getdoc(type(plan_named(name))) or "").split("\n\n")
    except BadInput:
        return "", ""
    texts = [" ".join(paragraph.split()) for paragraph in paragraphs if not paragraph.lstrip().startswith(">>>")]
    source = next((text for text in reversed(texts[1:]) if _YEAR.search(text)), "")
    return texts[0], source


# ---- what is shown, and the questions whose answers fill it in ------------------------------------------------------


def summarise(
    release: Release, *, rows: int = _ROWS, pictures: int | None = None, confidence: float | None = 0.95
) -> Summary:
    """What to show of a release: *rows* lines of the table, the first *pictures* of all there are, and intervals unless
    *confidence* is None."""
    asked = Asked(release)
    whole = None
    if release.task.questions():
        panels, tables = _answers(release, asked, rows)
    else:
        whole = asked.boxes(([[0] * release.estimate.ndim], [[side - 1 for side in release.estimate.shape]]))
        panels, tables = _panels(release, asked, pictures), _tables(release, asked, rows)
    queries = asked.queries()
    interval, problem = _interval(release, queries, confidence)
    answers = np.asarray(queries @ release.estimate.reshape(-1), dtype=np.float64)

    def numbers(part: slice) -> Numbers:
        if interval is None:
            return answers[part], None, None
        return answers[part], np.asarray(interval.lower)[part], np.asarray(interval.upper)[part]

    total = None if whole is None else _first(*numbers(whole))
    drawn = tuple(panel(numbers).of(release.counted) for panel in panels)
    if interval is not None:
        rate, guessed = interval.confidence, interval.kind == "approximate"
        drawn = tuple(replace(panel, confidence=rate, approximate=guessed) for panel in drawn)
    return Summary(drawn, tuple(lines(numbers) for lines in tables), total, queries, interval, problem)


def _first(values: Reals, lower: Reals | None, upper: Reals | None) -> tuple[float, float | None, float | None]:
    low, high = (None if bound is None else float(bound[0]) for bound in (lower, upper))
    return float(values[0]), low, high


def _interval(release: Release, queries: Queries, confidence: float | None) -> tuple[Interval | None, str]:
    """The bounds; if there are none, for whatever reason, that reason: the page is made all the same."""
    if confidence is None:
        return None, "none were asked for."
    try:
        found = release.interval(queries, confidence)
    except Exception as error:
        known = isinstance(error, AdytonError)
        return None, str(error) if known else f"they could not be computed ({type(error).__name__})."
    return (None, found.missing.removeprefix("No bounds: ")) if found.missing else (found, "")


class Asked:
    """The queries so far, in the order in which they were asked."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._lower: list[Sequence[int]] = []
        self._upper: list[Sequence[int]] = []
        self._other: Queries | None = None

    def boxes(self, boxes: Boxes) -> slice:
        """Ask for boxes; says where their answers will be."""
        start = len(self._lower)
        self._lower += boxes[0]
        self._upper += boxes[1]
        return slice(start, len(self._lower))

    def other(self, queries: Queries) -> slice:
        """Ask these queries and no boxes: whether bounds are exact depends on all that is asked with them."""
        self._other = queries
        return slice(0, queries.count)

    def queries(self) -> Queries:
        """All that was asked."""
        return self._other or Ranges(self._release.estimate.shape, self._lower, self._upper)


def _boxes(shape: tuple[int, ...], spans: dict[int, tuple[Sequence[int], Sequence[int]]]) -> Boxes:
    """Boxes with these spans along some axes, and all cells along the others."""
    count = len(next(iter(spans.values()))[0])
    ends = [spans.get(axis, ([0] * count, [side - 1] * count)) for axis, side in enumerate(shape)]
    return tuple([list(box) for box in zip(*(end[which] for end in ends), strict=True)] for which in (0, 1))  # type: ignore[return-value]


def _tables(release: Release, asked: Asked, rows: int) -> list[LaterLines]:
    """The first lines of what was asked for: of every table, as far as they are shown, about as many; or of the cells
    of all attributes."""
    if not parts_alone(release):
        return [_table(release, asked, tuple(range(release.estimate.ndim)), rows)]
    every = min(len(release.task.tables(release.schema)), _MOST_TABLES)
    some = max(_FEWEST, rows // every) if rows >= _FEWEST else rows
    return [_table(release, asked, places, some) for places in islice(table_places(release), every)]


def _table(release: Release, asked: Asked, axes: tuple[int, ...], most: int) -> LaterLines:
    shape, cumulative = release.estimate.shape, release.task.cumulative
    sides = [shape[axis] for axis in axes]
    size = math.prod(sides)
    cells = np.stack(np.unravel_index(np.arange(min(most, size)), sides), axis=1)
    first = np.zeros_like(cells) if cumulative else cells
    spans = {axis: (first[:, place].tolist(), cells[:, place].tolist()) for place, axis in enumerate(axes)}
    where, names = asked.boxes(_boxes(shape, spans)), tuple(release.axes)
    labels = {
        names[axis]: [str(release.axes[names[axis]][cell]) for cell in cells[:, place].tolist()]
        for place, axis in enumerate(axes)
    }
    words = release.counted.what("rows up to here" if cumulative else "rows")
    return lambda numbers: Lines(Sheet(labels, (_column(numbers(where), words),)), size)


def _column(numbers: Numbers, words: str) -> Column:
    values, lower, upper = numbers
    return Column("count", values, lower, upper, words=words)


def _answers(release: Release, asked: Asked, rows: int) -> tuple[list[LaterPanel], list[LaterLines]]:
    """The answers to the queries that were asked, and no others: cells by themselves may mean little."""
    questions = release.task.questions()
    first = list(questions[: max(rows, MOST_BARS)])
    where = asked.other(as_queries(release.schema, first))
    top = slice(where.start, where.start + min(rows, len(first)))
    words = tuple(question_in_words(query) for query in first)
    panels: list[LaterPanel] = []
    if len(questions) <= MOST_BARS:
        panels.append(lambda numbers: Panel("bars", "Answers to the queries", (), words, *numbers(where)))
    rows_of = release.counted.what()
    labels = {"query": words[:rows]}
    return panels, [lambda numbers: Lines(Sheet(labels, (_column(numbers(top), rows_of),)), len(questions))]


def _panels(release: Release, asked: Asked, most: int | None) -> list[LaterPanel]:
    """The tables that were asked for, as far as they can be drawn; else the joint picture of two attributes, and of
    more than one also each by itself, unless together they are places on a map."""
    names, ndim = tuple(release.axes), release.estimate.ndim
    if _narrow(release.task.tables(release.schema)):
        every = islice(table_places(release), _MOST_TABLES if most is None else most)
        return [_pair(release, asked, places) if places[1:] else _along(release, asked, *places) for places in every]
    panels: list[Callable[[], LaterPanel]] = []
    if release.task.cumulative:
        panels.append(lambda: _along(release, asked, 0, cumulative=True))
    if ndim == 2:
        panels.append(lambda: _pair(release, asked, (0, 1)))
    if not is_map(release.schema):
        panels += [partial(_along, release, asked, place) for place in range(len(names))]
    return [panel() for panel in panels[:most]]


def _along(release: Release, asked: Asked, place: int, *, cumulative: bool = False) -> LaterPanel:
    """The counts along one attribute, summed over all others."""
    name = tuple(release.axes)[place]
    axis = display_axis(name, release.schema.attributes[name], _MOST_STEPS)
    if axis.joined == 1:
        axis = replace(axis, labels=tuple(map(str, release.axes[name])))
    first = [0] * axis.size if cumulative else axis.first
    where = asked.boxes(_boxes(release.estimate.shape, {place: (first, axis.last)}))
    title = f"Rows up to each {name}" if cumulative else f"Rows by {name}"
    kind = kind_of(axis)
    kind = "line" if cumulative and kind == "bars" else kind
    return lambda numbers: Panel(kind, title, (axis,), axis.labels, *numbers(where))


def _pair(release: Release, asked: Asked, places: tuple[int, ...]) -> LaterPanel:
    """The counts of two attributes together, summed over all others."""
    names = [tuple(release.axes)[place] for place in places]
    kind, turned = kind_of_pair(*(release.schema.attributes[name] for name in names))
    order = (1, 0) if turned else (0, 1)
    axes = axes_of_pair((names[order[0]], names[order[1]]), release.schema, kind)
    first, last = _squares(release.estimate.shape, (places[order[0]], places[order[1]]), axes)
    title = f"Rows by {' and '.join(spoken(release.schema.select(names)))}"
    sides = axes[0].size, axes[1].size
    if kind != "map":
        where = asked.boxes((first, last))

        def whole(numbers: NumbersOf) -> Panel:
            three = (None if one is None else one.reshape(sides) for one in numbers(where))
            return Panel(kind, title, axes, (), *three)  # type: ignore[arg-type]

        return whole
    values = np.asarray(Ranges(release.estimate.shape, first, last) @ release.estimate.reshape(-1), dtype=np.float64)
    some = np.unique(np.linspace(0, len(first) - 1, min(_TYPICAL, len(first))).astype(int)).tolist()
    part = asked.boxes(([first[one] for one in some], [last[one] for one in some]))

    def panel(numbers: NumbersOf) -> Panel:
        _, lower, upper = numbers(part)
        return Panel("map", title, axes, (), values.reshape(sides), lower, upper)

    return panel


def _squares(shape: tuple[int, ...], places: tuple[int, int], axes: tuple[DisplayAxis, DisplayAxis]) -> Boxes:
    """Every shown cell of two axes, as a box of the domain."""
    spans = [
        tuple(zip(*((a, b) for a in one for b in other), strict=True))
        for one, other in ((axes[0].first, axes[1].first), (axes[0].last, axes[1].last))
    ]
    return _boxes(shape, {place: (spans[0][at], spans[1][at]) for at, place in enumerate(places)})
