"""Queries: questions about a result, which cost nothing, because they are answered by what was published already.

A query comes as the fields of a form, and is answered on the page of the result, below the numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from adyton.errors import AdytonError, BadInput
from adyton.exact import exact, share
from adyton.report.page import Table, rate_of, sentence, table_of
from adyton.report.svg import people
from adyton.result.comparing import Comparison
from adyton.result.figures import Figure, has_numbers
from adyton.result.intervals import Interval
from adyton.result.released import Released
from adyton.result.result import Result
from adyton.result.sheets import Column, Sheet, Sheets
from adyton.schema import Integer, Numeric, Schema
from adyton.schema.attributes import Attribute
from adyton.schema.misfits import accepts
from adyton.schema.times import Times
from adyton.service.pages.visits import Visit, plain_ratio, whole_number
from adyton.statistics.numbers_release import NumbersRelease
from adyton.tasks.numbers import statistic_in_words
from adyton.tasks.questions import as_boxes, question_in_words

_TICKED = 12
"""Up to how many levels are ticked; more are written, one in each line."""
_MOST_GROUPS = 400
_MOST_TOP, _MOST_CELLS, _MOST_SIDES = 200, 2_000, 3
COUNTED = {
    "count": "How many there are",
    "share": "Which share they are of other rows",
    "ratio": "How many times as many as other rows",
    "difference": "How many more than other rows",
}
_STATISTICS = {"median": "Median", "mean": "Mean", "sum": "Sum", "quantile": "Quantile"}
_COMPARED = {"difference": "The difference", "ratio": "The ratio"}


@dataclass(frozen=True)
class Field:
    """The field, or the fields, in which the values of an attribute are named; with what was typed."""

    name: str
    key: str
    accepts: str
    levels: tuple[str, ...] = ()
    """The levels to tick, if they are few."""
    ordered: bool = False
    """Whether a range is named, from and to."""
    chosen: tuple[str, ...] = ()
    low: str = ""
    high: str = ""
    text: str = ""
    problem: str = ""

    @property
    def used(self) -> bool:
        """Whether something was named."""
        return bool(self.chosen or self.low or self.high or self.text or self.problem)


@dataclass(frozen=True)
class Answer:
    """An answer: a sentence, or a few lines of numbers, and what the bounds promise."""

    question: str
    said: str = ""
    table: Table | None = None
    meaning: str = ""


@dataclass
class Form:
    """Everything that can be asked of a result, with what was typed, and the answer."""

    kind: str = ""
    """Which of the questions was asked."""
    noun: str = "rows"
    fields: list[Field] = field(default_factory=list)
    others: list[Field] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    numbered: list[str] = field(default_factory=list)
    statistics: list[str] = field(default_factory=list)
    groups: list[tuple[str, str]] = field(default_factory=list)
    """The groups of numbers, by their places."""
    tables: bool = False
    typed: dict[str, str] = field(default_factory=dict)
    ticked: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    """What is wrong with a field, by its name; under the name of the question, with the question."""
    answer: Answer | None = None
    asked: bool = False
    """Whether something was asked that can be answered."""
    way: Callable[[Form, Any], Answer] | None = None

    @property
    def wrong(self) -> bool:
        """Whether something that was typed is wrong."""
        return bool(self.problems) or any(field.problem for field in (*self.fields, *self.others))


def form_of(visit: Visit, result: Result) -> Form | None:
    """What can be asked of a result, with what was typed; None if nothing can."""
    if isinstance(result, Released):
        form = _of_counts(visit, result)
    elif isinstance(result, NumbersRelease) and 1 < len(result.groups) <= _MOST_GROUPS:
        form = _of_numbers(visit, result)
    else:
        return None
    form.kind = visit.text("q")
    form.typed = {name: visit.text(name) for name in ("what", "k", "of", "statistic", "part", "one", "other")}
    form.ticked = visit.texts("by")
    ways: Mapping[str, Callable[[Form, Any], Answer]] = {"groups": _compared}
    if isinstance(result, Released):
        ways = {"count": _counted, "top": _top, "figure": _figure, "table": _tabled}
    form.asked = form.kind in ways and not form.wrong
    form.way = ways.get(form.kind)
    return form


def answered(form: Form, result: Result) -> tuple[Answer | None, dict[str, str]]:
    """The answer to what was asked, and what is wrong with the fields; it may take time to compute."""
    try:
        return (form.way(form, result) if form.way is not None else None), form.problems
    except AdytonError as problem:
        form.problems.setdefault(form.kind, sentence(str(problem)))
    except Exception as defect:  # the result itself is shown in any case
        form.problems[form.kind] = f"This could not be computed ({type(defect).__name__}). Ask something else."
    return None, form.problems


# ---- counts and tables -----------------------------------------------------------------------------------------------


def _of_counts(visit: Visit, result: Released) -> Form:
    schema = result.schema
    asked = visit.text("q") == "count"
    return Form(
        noun=result.counted.noun,
        fields=_fields(visit, schema, "a", asked=asked),
        others=_fields(visit, schema, "b", asked=asked and visit.text("what") not in ("", "count")),
        attributes=list(schema.names),
        numbered=[name for name, attribute in schema.attributes.items() if has_numbers(attribute)],
        tables=len(schema.names) > 1,
    )


def _fields(visit: Visit, schema: Schema, prefix: str, *, asked: bool) -> list[Field]:
    """A field for each attribute; with what is wrong with what was typed, if this was *asked*."""
    fields = []
    for number, (name, attribute) in enumerate(schema.attributes.items()):
        key = f"{prefix}{number}"
        ordered = isinstance(attribute, Integer | Numeric | Times) and not getattr(attribute, "is_part", False)
        labels = tuple(map(str, attribute.labels))
        known = Field(
            name,
            key,
            accepts(attribute),
            levels=() if ordered or len(labels) > _TICKED else labels,
            ordered=ordered,
            chosen=tuple(visit.texts(key)),
            low=visit.text(f"{key}.from"),
            high=visit.text(f"{key}.to"),
            text=visit.text(f"{key}.list"),
        )
        fields.append(_checked(schema, attribute, known) if asked else known)
    return fields


def _checked(schema: Schema, attribute: Attribute, known: Field) -> Field:
    try:
        part = _part(attribute, known)
        if part is not None:
            as_boxes(schema, {known.name: part})
    except AdytonError as problem:
        return replace(known, problem=sentence(str(problem)))
    return known


def _part(attribute: Attribute, known: Field) -> Any:
    """The values that a field names, as a part of a query; None if it names none."""
    if known.ordered and (known.low or known.high):
        return tuple(_end(attribute, known.name, end) if end else None for end in (known.low, known.high))
    texts = [*known.chosen, *(line.strip() for line in known.text.splitlines() if line.strip())]
    return [_value(attribute, text) for text in texts] or None


def _end(attribute: Attribute, name: str, text: str) -> Any:
    """An end of a range: a label, a date, or a number."""
    if isinstance(attribute, Times) or text in map(str, attribute.labels):
        return _value(attribute, text)
    try:
        number = exact(text, f"An end of {name}")
    except BadInput as problem:
        raise BadInput(plain_ratio(str(problem))) from None
    return int(number) if number.denominator == 1 else float(number)


def _value(attribute: Attribute, text: str) -> Any:
    """A label of the attribute, or a number, or the text as it is."""
    for label in attribute.labels:
        if str(label) == text:
            return label
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _query(schema: Schema, fields: Sequence[Field]) -> dict[str, Any]:
    parts = {known.name: _part(schema.attributes[known.name], known) for known in fields}
    return {name: part for name, part in parts.items() if part is not None}


def _counted(form: Form, result: Released) -> Answer:
    """How many rows there are, or how they compare with others."""
    asked, others = (_query(result.schema, some) for some in (form.fields, form.others))
    what, words = form.typed["what"] or "count", question_in_words(asked)
    if what not in COUNTED:
        raise BadInput(f"choose one of: {', '.join(COUNTED.values())}.")
    if what != "count":
        compared: Comparison = getattr(result, what)(asked, others)
        return _said(compared, f"{COUNTED[what]}: {words}, and {question_in_words(others)}")
    interval: Interval = result.interval([asked])  # type: ignore[attr-defined]  # both kinds have it
    return _table({"question": [words]}, interval, result, words)


def _said(compared: Comparison, question: str) -> Answer:
    """A comparison: its number and bounds, and what they mean."""
    ends = [compared.estimate, compared.lower, compared.upper]
    texts = [f"{end:,.4g}".replace("-", "−") if math.isfinite(end) else "–" for end in ends]
    heads = ((compared.what, compared.kind if compared.kind != "exact" else ""), ("from", ""), ("to", ""))
    cells = tuple((text, "") for text in texts)
    table = Table((), heads, [((), cells)], f"From and to: the {100 * compared.confidence:g}% interval.")
    note = compared.note if compared.note not in compared.meaning else ""
    return Answer(question, sentence(compared.meaning), table, note)


def _table(labels: Mapping[str, Sequence[str]], interval: Interval, result: Released, question: str) -> Answer:
    """Counts with their intervals."""
    lower, upper = (None if interval.missing else np.ravel(end) for end in (interval.lower, interval.upper))
    column = Column("count", np.ravel(interval.estimate), lower, upper, kind=interval.kind, words=result.counted.what())
    sheets = Sheets("answer.csv", (Sheet(labels, (column,)),), None if lower is None else interval.confidence)
    return Answer(question, "", table_of(sheets.sheets[0], rate_of(sheets)), interval.missing or interval.meaning)


def _top(form: Form, result: Released) -> Answer:
    """The groups with the most rows."""
    number = _at("k", form, lambda: whole_number(form.typed["k"] or "10", "The number of groups", 1, _MOST_TOP))
    _check_names(form, result.schema)
    if not form.ticked and not result.ranked_by:
        form.problems["by"] = "Tick the attributes whose groups are ranked."
        raise BadInput("Say which groups are meant.")
    lines = result.top(number, *form.ticked)
    names = list(lines.columns)[:-5]  # the count, its ends, whether it is certain, and how likely
    rows = []
    for line in lines:
        *labels, count, low, high, certain, chance = line
        ends = [people(end) if math.isfinite(end) else "–" for end in (low, high)]
        likely = "certain" if certain else "unknown" if math.isnan(chance) else f"{100 * chance:.0f}%"
        rows.append((" × ".join(map(str, labels)), people(count), *ends, likely))
    heads = (" × ".join(names), result.counted.what(), "from", "to", f"among the {number}")
    caption = f"From and to: the {100 * lines.confidence:g}% interval of all groups at once."
    return Answer(
        f"The {number} largest groups by {' × '.join(names)}", "", Table.plain(heads, rows, caption), lines.meaning
    )


def _figure(form: Form, result: Released) -> Answer:
    """The median, mean, sum or a quantile of an attribute with numbers."""
    only = form.numbered[0] if len(form.numbered) == 1 else ""
    name, statistic = form.typed["of"] or only, form.typed["statistic"] or "median"
    if statistic not in _STATISTICS:
        form.problems["statistic"] = f"Choose one of: {', '.join(_STATISTICS.values())}."
        raise BadInput("Say which number you want.")
    quantile = statistic == "quantile"
    part = _at("part", form, lambda: share(form.typed["part"], "the part of the rows")) if quantile else None
    if not name:
        _unchosen(form, "of", "Choose an attribute.")
    found: Figure = getattr(result, statistic)(name) if part is None else result.quantile(part, name)
    return Answer(f"{sentence(found.what)} of {name}", str(found), None, found.meaning)


def _tabled(form: Form, result: Released) -> Answer:
    """The table of some attributes, summed over the others."""
    _check_names(form, result.schema)
    names = tuple(form.ticked)
    labels = result.labels(names)
    cells = math.prod(map(len, labels))
    if not 1 <= len(names) <= _MOST_SIDES or cells > _MOST_CELLS:
        form.problems["by"] = (
            f"Tick 1 to {_MOST_SIDES} attributes whose table has at most {_MOST_CELLS:,} cells, "
            f"given {len(names)} with {cells:,} cells."
        )
        raise BadInput("This table cannot be shown here. In Python, result.table(…) has it.")
    table = result.table(*names)
    rows = list(itertools.product(*labels))
    queries = [{name: [label] for name, label in zip(names, row, strict=True)} for row in rows]
    interval: Interval = result.interval(queries)  # type: ignore[attr-defined]  # both kinds have it
    labelled = {name: [str(row[place]) for row in rows] for place, name in enumerate(names)}
    answer = _table(labelled, replace(interval, estimate=table.counts), result, " × ".join(names))
    return replace(answer, said=f"How it was obtained: {table.how}.")


def _check_names(form: Form, schema: Schema) -> None:
    if form.ticked:
        _at("by", form, lambda: schema.check_names(tuple(form.ticked)))


def _unchosen(form: Form, name: str, said: str) -> None:
    """Refuse a question of which something is not chosen yet."""
    form.problems[name] = said
    raise BadInput(said)


def _at(name: str, form: Form, read: Callable[[], Any]) -> Any:
    """What a field holds; what is wrong with it is said at the field."""
    try:
        return read()
    except AdytonError as problem:
        form.problems[name] = sentence(plain_ratio(str(problem)))
        raise


# ---- numbers by groups -----------------------------------------------------------------------------------------------


def _of_numbers(visit: Visit, result: NumbersRelease) -> Form:
    return Form(
        noun=result.counted.noun,
        statistics=[statistic_in_words(figures.name) for figures in result.figures() if figures.known],
        groups=[(str(place), " × ".join(map(str, group))) for place, group in enumerate(result.groups)],
    )


def _compared(form: Form, result: NumbersRelease) -> Answer:
    """A statistic of one group against that of another."""
    what, most = form.typed["what"] or "difference", len(form.groups) - 1
    if what not in _COMPARED or form.typed["statistic"] not in form.statistics:
        form.problems["statistic"] = f"Choose one of: {', '.join(form.statistics)}."
        raise BadInput("Say which number of the groups is compared.")
    for name in ("one", "other"):
        if not form.typed[name]:
            _unchosen(form, name, "Choose a group.")
    one = _at("one", form, lambda: whole_number(form.typed["one"], "The group", 0, most))
    other = _at("other", form, lambda: whole_number(form.typed["other"], "The group", 0, most))
    named = {statistic_in_words(figures.name): figures.name for figures in result.figures()}
    pair = [(named[form.typed["statistic"]], *result.groups[place]) for place in (one, other)]
    first, second = (form.groups[place][1] for place in (one, other))
    return _said(getattr(result, what)(*pair), f"{_COMPARED[what]} of {first} and {second}")
