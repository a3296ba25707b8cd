"""Questions in words: which a table can be asked, and the task that the fields of each mean.

A question is shown where the schema has what it needs. :func:`fields_of` is the way back: from a request to the fields
that ask it, so that every request can be asked again. One that no question has fields for, such as one with options of
an algorithm, is kept as it is: then only its budget, its filter and the algorithm can be changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.errors import BadInput
from adyton.exact import display
from adyton.learning.classifier import ACCURACY, METRICS, Classifier
from adyton.learning.registry import MERGED, learners
from adyton.marginals.program import NAMED
from adyton.messages import shorten
from adyton.plans.registry import algorithms
from adyton.schema import Integer, Numeric, Schema
from adyton.schema.numbers import axes_of
from adyton.service.pages.asking.fields import (
    AXES,
    Form,
    Input,
    Inputs,
    Wrong,
    labels_of,
    lines_of,
    names_of,
    numbers_of,
    ordered_of,
)
from adyton.service.pages.requests import typed
from adyton.service.pages.visits import Fields
from adyton.statistics.programs import PROGRAMS
from adyton.tasks import (
    Cdf,
    Count,
    Histogram,
    Marginals,
    Mean,
    NumbersTask,
    Quantiles,
    Ranges,
    RowsPerUnit,
    Sum,
    Summary,
    Task,
    Units,
    Variance,
)
from adyton.tasks.numbers import parts_in
from adyton.tasks.request import AUTO, Request, sent_request

_LARGEST = 10**12
_MOST_CELLS, _USUAL_CELLS = 10**6, 10
DECLARED = "as declared"
"""What somebody types for the cells of the schema."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A kind of question: its words, the fields that it needs, and what they mean."""

    key: str
    group: str
    words: str
    """As it is chosen: "How many rows of each …"."""
    about: str
    """What it is good for, in a sentence."""
    field: str
    """The field that a problem with the whole task belongs to."""
    inputs: Callable[[Inputs], list[Input]] = lambda own: []
    task: Callable[[Form, Schema], Task]
    fields: Callable[[Any, Schema], Fields | None] = lambda task, schema: {}
    """The fields that ask for a task; None if they cannot."""
    options: Callable[[Form, Schema], dict[str, Any]] = lambda form, schema: {}
    """The options of the algorithm, each of which is the text of the field with its name."""
    kinds: tuple[type[Task], ...]
    algorithms: Callable[[Schema], Sequence[str]] = lambda schema: ()
    missing: Callable[[Schema], str] = lambda schema: ""
    """Why the table cannot be asked this; empty if it can."""
    misfits: bool = True
    """Whether rows that do not match the schema can be counted."""


def _lacks(names: Callable[[Schema], list[str]], what: str) -> Callable[[Schema], str]:
    return lambda schema: "" if names(schema) else f"The schema has no attribute {what}."


_UNNAMED = (
    "The schema does not say which column names the person or thing behind a row. If each row is a different one, "
    "count the rows."
)


def _no_unit(schema: Schema) -> str:
    return "" if schema.unit else _UNNAMED


# ---- counts ---------------------------------------------------------------------------------------------------------


def _histogram(form: Form, schema: Schema) -> Task:
    known = names_of(schema)
    first = form.chosen("first", known, "an attribute: the rows of each of its values are counted")
    return Histogram(first, *_further(form, known, [first]))


def _further(form: Form, known: Sequence[str], names: list[str], fields: Sequence[str] = AXES[1:]) -> list[str]:
    """The attributes of further fields, which may be empty."""
    further: list[str] = []
    for field in fields:
        if name := form.name(field, known):
            if name in (*names, *further):
                raise Wrong(field, f"You have chosen {name} already. Choose another attribute, or “nothing else”.")
            further.append(name)
    return further


def _named(task: Histogram | Ranges | Cdf, schema: Schema) -> Fields | None:
    """The fields of up to three attributes; the axes of a point are the point."""
    names, spoken_names = list(task.attributes), names_of(schema)
    for name in spoken_names:
        axes = list(axes_of(name, schema.attributes))
        if len(axes) > 1 and names[: len(axes)] == axes:
            names[: len(axes)] = [name]
    fit = len(names) <= len(AXES) and all(name in spoken_names for name in names)
    return {field: [name] for field, name in zip(AXES, names, strict=False)} if fit else None


def _ranges(form: Form, schema: Schema) -> Task:
    first = form.chosen("first", ordered_of(schema), "an attribute with an order")
    return Ranges(first, *_further(form, names_of(schema), [first]))


def _ordered_first(task: Ranges, schema: Schema) -> Fields | None:
    fields = _named(task, schema)
    return fields if fields and fields["first"][0] in ordered_of(schema) else None


def _up_to(form: Form, schema: Schema) -> Task:
    return Cdf(form.chosen("first", lines_of(schema), "an attribute with an order"))


def _rows_per_unit(form: Form, schema: Schema) -> Task:
    most = form.whole("most", "The last class", 100_000)
    if most is None:
        raise Wrong("most", "Give the number of rows of the last class, such as 20.")
    return RowsPerUnit(most)


def _own_class(task: RowsPerUnit, schema: Schema) -> Fields | None:
    return {"most": [str(task.most)]} if task == RowsPerUnit(task.most) else None


# ---- numbers --------------------------------------------------------------------------------------------------------


def _number_task(kind: type[NumbersTask]) -> Callable[[Form, Schema], Task]:
    def task(form: Form, schema: Schema) -> Task:
        name = form.chosen("number", numbers_of(schema), "an attribute of numbers")
        by = _further(form, names_of(schema), [name], ("by", "by2"))
        rows = form.whole("rows", "The number of rows of a group", _LARGEST)
        if kind is not Quantiles:
            return kind(name, by=by, rows=rows)
        try:
            parts = parts_in(form.text("at", "median"))
        except BadInput as problem:
            raise Wrong("at", str(problem)) from None
        return Quantiles(name, parts, by=by, rows=rows)

    return task


def _of_number(task: NumbersTask, schema: Schema) -> Fields | None:
    known = names_of(schema)
    if task.attribute not in numbers_of(schema) or len(task.by) > 2 or not set(task.by) <= set(known):
        return None
    fields = {
        "number": [task.attribute],
        **{field: [name] for field, name in zip(("by", "by2"), task.by, strict=False)},
    }
    fields |= {} if task.rows is None else {"rows": [str(task.rows)]}
    if not isinstance(task, Quantiles):
        return fields
    return fields | {"at": [task.called if task.called.isalpha() else ", ".join(map(display, task.quantiles))]}


# ---- tables and classifiers -----------------------------------------------------------------------------------------


def _pairs(form: Form, schema: Schema) -> Task:
    names = form.names("attributes", names_of(schema)) or None
    if names is not None and sum(len(axes_of(name, schema.attributes)) for name in names) < 2:
        raise Wrong("attributes", "Choose at least two attributes, or none for all of them.")
    typed = form.with_field("cells", form.text("cells", _usual_cells(schema)))
    cells = typed.whole("cells", "The number of cells", _MOST_CELLS)
    return Marginals(way=2, attrs=names, cells=cells)


def _label(form: Form, schema: Schema) -> dict[str, Any]:
    """What rows are to predict, if anything."""
    label, names = form.name("label", _single(schema)), form.names("attributes", names_of(schema))
    if label and names and label not in names:
        raise Wrong("label", f"{shorten(label)} is not among the attributes that are ticked. Tick it, too.")
    return {"label": label} if label else {}


def _single(schema: Schema) -> list[str]:
    """The attributes with one axis."""
    return [name for name in names_of(schema) if name in schema.attributes]


def _usual_cells(schema: Schema) -> str:
    """In how many cells numbers are read, if nobody says otherwise: many small counts would be noise alone."""
    sizes = [own.size for own in schema.attributes.values() if isinstance(own, Integer | Numeric)]
    return str(_USUAL_CELLS) if max(sizes, default=0) > _USUAL_CELLS else ""


def _of_pairs(task: Marginals, schema: Schema) -> Fields | None:
    plain = Marginals(way=2, attrs=task.attrs, cells=task.cells)
    if task != plain or not set(task.attrs or ()) <= set(names_of(schema)):
        return None
    return {"attributes": list(task.attrs or ()), "cells": ["" if task.cells is None else str(task.cells)]}


def _classifier(form: Form, schema: Schema) -> Task:
    label = form.chosen("label", labels_of(schema), "what to predict")
    names = form.names("attributes", names_of(schema)) or None
    if names is not None and label in names:
        raise Wrong("attributes", f"{label} is what is predicted. Leave it out here.")
    method = form.text("method", AUTO) or AUTO
    if method not in (AUTO, *learners()):
        raise Wrong("method", f"There is no method {shorten(method)}. Choose one of the list, or auto.")
    metric = form.text("metric", ACCURACY) or ACCURACY
    if metric not in METRICS:
        raise Wrong("metric", f"There is no metric {shorten(metric)}. Choose one of the list.")
    try:
        return Classifier(label, names, method, metric=metric, **_merged(form, method))
    except BadInput as problem:  # everything else is right
        raise Wrong("cells", str(problem)) from None


def _merged(form: Form, method: str) -> dict[str, Any]:
    """The option of a method that says in how many cells it reads an attribute. Named methods that do not have it, or
    are not given it, read the cells of the schema."""
    text = form.text("cells", AUTO) or AUTO
    if text == AUTO:
        return {"cells": AUTO} if method in MERGED else {}
    if text == DECLARED:
        return {"cells": None} if method == AUTO else {}
    if not text.isdecimal():
        raise Wrong("cells", f"Cells are {AUTO}, a number such as 8, or “{DECLARED}”, given {shorten(text)}.")
    return {"cells": form.whole("cells", "The number of cells", _MOST_CELLS)}


def _of_classifier(task: Classifier, schema: Schema) -> Fields | None:
    if task.options.keys() - {"cells"} or not set(task.attributes or ()) <= set(names_of(schema)):
        return None
    cells = task.options.get("cells", AUTO if task.method == AUTO else None)
    return {
        "label": [task.label],
        "attributes": list(task.attributes or ()),
        "method": [task.method],
        "metric": [task.metric],
        "cells": [DECLARED if cells is None else str(cells)],
    }


def _two_axes(schema: Schema) -> str:
    return "" if len([name for name in schema.names if name in _axes(schema)]) > 1 else "It needs two attributes."


def _axes(schema: Schema) -> list[str]:
    return [axis for name in names_of(schema) for axis in axes_of(name, schema.attributes)]


def _predicts(schema: Schema) -> str:
    if not labels_of(schema):
        return "The schema has no attribute with levels that could be predicted."
    return "" if len(names_of(schema)) > 1 else "There is no other attribute to predict it from."


# ---- any other request ----------------------------------------------------------------------------------------------


def given_request(form: Form) -> Request:
    """The request that a form keeps as it is, without its budget, filter and algorithm."""
    try:
        plain = json.loads(form.text("given"))
        if not isinstance(plain, dict):
            raise ValueError
        return sent_request({"task": None, **plain, "epsilon": 1})
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, BadInput):
            raise
        raise BadInput("This request cannot be read. Choose a question from the list.") from None


# ---- all questions --------------------------------------------------------------------------------------------------

_COUNTS, _NUMBER, _MANY = "How many", "About a number", "Many at once"
_NO_ORDER = "with an order, such as a number or a date"


def _plans(schema: Schema) -> Sequence[str]:
    return algorithms()


def _lines(schema: Schema) -> Sequence[str]:
    return algorithms(ndim=1)


def _of_a_number(
    key: str, kind: type[NumbersTask], words: str, about: str, inputs: Callable[[Inputs], list[Input]]
) -> Question:
    return Question(
        key=key,
        group=_NUMBER,
        words=words,
        about=about,
        field="number",
        inputs=inputs,
        task=_number_task(kind),
        fields=_of_number,
        kinds=(kind,),
        algorithms=lambda schema: list(PROGRAMS),
        missing=_lacks(numbers_of, "of numbers"),
    )


GIVEN = Question(
    key="given",
    group="",
    words="A request as it was written",
    about="Its budget, its filter and the algorithm can be changed.",
    field="",
    task=lambda form, schema: given_request(form).task,
    kinds=(),
    algorithms=lambda schema: sorted({*algorithms(), *NAMED, *PROGRAMS}),
)
_EVERY = (
    Question(
        key="each",
        group=_COUNTS,
        words="How many rows of each …",
        about="A bar for each value; with two attributes a cross table, an age pyramid or a map.",
        field="first",
        inputs=lambda own: own.named("For each value of", names_of(own.schema)),
        task=_histogram,
        fields=_named,
        kinds=(Histogram,),
        algorithms=_plans,
        missing=_lacks(names_of, "that can be counted"),
    ),
    Question(
        key="between",
        group=_COUNTS,
        words="How many from … to …",
        about="Counts between any two bounds of an attribute with an order, such as ages from 20 to 29.",
        field="first",
        inputs=lambda own: own.named("Between two values of", ordered_of(own.schema)),
        task=_ranges,
        fields=_ordered_first,
        kinds=(Ranges,),
        algorithms=_plans,
        missing=_lacks(ordered_of, _NO_ORDER),
    ),
    Question(
        key="up-to",
        group=_COUNTS,
        words="How many up to …",
        about="Counts up to every value: the median and other quantiles follow from them.",
        field="first",
        inputs=lambda own: [own.select("first", "Up to each value of", lines_of(own.schema))],
        task=_up_to,
        fields=_named,
        kinds=(Cdf,),
        algorithms=_lines,
        missing=_lacks(lines_of, _NO_ORDER),
    ),
    Question(
        key="all",
        group=_COUNTS,
        words="How many rows (all, or only some)",
        about="One number, such as the rows of people from 20 to 29 in one ward.",
        field="",
        task=lambda form, schema: Count(),
        kinds=(Count,),
        misfits=False,
    ),
    Question(
        key="people",
        group=_COUNTS,
        words="How many people",
        about="The units behind the rows, each counted once, however many rows they have.",
        field="",
        task=lambda form, schema: Units(),
        kinds=(Units,),
        missing=_no_unit,
        misfits=False,
    ),
    Question(
        key="rows-of-people",
        group=_COUNTS,
        words="People by their number of rows",
        about="How many have one row, two rows, and so on.",
        field="most",
        inputs=lambda own: [
            own.text("most", "The last class", "People with this many rows or more are one class.", "20")
        ],
        task=_rows_per_unit,
        fields=_own_class,
        kinds=(RowsPerUnit,),
        algorithms=_lines,
        missing=_no_unit,
        misfits=False,
    ),
    _of_a_number(
        "summary",
        Summary,
        "Everything about a number",
        "Count, mean, standard deviation and quartiles, from one budget.",
        lambda own: own.numbers(),
    ),
    _of_a_number(
        "mean", Mean, "The mean of …", "What is usual, with the number of rows.", lambda own: own.numbers(own.rows())
    ),
    _of_a_number("sum", Sum, "The sum of …", "All values added up, such as costs.", lambda own: own.numbers()),
    _of_a_number(
        "quantiles",
        Quantiles,
        "The median and other quantiles of …",
        "The value that half of the rows do not exceed (the median), or nine in ten.",
        lambda own: own.numbers(
            own.text("at", "Which", "median, quartiles, deciles, or parts such as 0.1, 0.5, 0.9.", "median")
        ),
    ),
    _of_a_number(
        "deviation",
        Variance,
        "The standard deviation of …",
        "How much the values vary, with mean and count.",
        lambda own: own.numbers(own.rows()),
    ),
    Question(
        key="pairs",
        group=_MANY,
        words="All tables of two attributes",
        about="How attributes depend on each other. Synthetic rows can be drawn from the result.",
        field="attributes",
        inputs=lambda own: [
            own.checks("Attributes", "None ticked: all of them."),
            own.select(
                "label",
                "Rows made from them are to predict",
                _single(own.schema),
                "nothing in particular",
                help="Its tables come first, where not all can be measured.",
            ),
            own.text(
                "cells",
                "Cells of a number, at most",
                "Numbers are read in that many wider cells: fewer cells, smaller errors. Empty: as in the schema.",
                _usual_cells(own.schema),
            ),
        ],
        task=_pairs,
        fields=_of_pairs,
        options=_label,
        kinds=(Marginals,),
        algorithms=lambda schema: [*NAMED, *algorithms()],
        missing=_two_axes,
    ),
    Question(
        key="classifier",
        group=_MANY,
        words="A classifier that predicts …",
        about="Learns one attribute from the others; predictions cost nothing.",
        field="label",
        inputs=lambda own: [
            own.select("label", "Predict", labels_of(own.schema)),
            own.checks("From", "None ticked: all others."),
            own.select(
                "metric",
                "Good at",
                METRICS[1:],
                "accuracy: as many rows right as possible",
                **{
                    "auc": "AUC: rows with a class are given a higher probability than rows without",
                    "balanced accuracy": "balanced accuracy: right in every class alike, also in rare ones",
                },
            ),
            own.select("method", "Method", learners(), "auto: the most accurate on average"),
            own.text(
                "cells",
                "Cells of an attribute, at most",
                f"{AUTO}: as many as rows and budget can bear; or a number, such as 8; or: {DECLARED}.",
                AUTO,
            ),
        ],
        task=_classifier,
        fields=_of_classifier,
        kinds=(Classifier,),
        missing=_predicts,
        misfits=False,
    ),
)
QUESTIONS: Mapping[str, Question] = {question.key: question for question in _EVERY}
"""All questions, in the order in which they are offered."""


def fields_of(request: Request, schema: Schema) -> dict[str, list[str]]:
    """The fields of the form that ask this request."""
    misfits = "" if request.misfits is None else str(request.misfits)
    if isinstance(request.misfits, bool):
        misfits = "yes" if request.misfits else "no"
    common = {"epsilon": [typed(request.epsilon)], "where": [request.where or ""]}
    common |= {"algorithm": [request.algorithm], "misfits": [misfits]}
    for question in QUESTIONS.values():
        if type(request.task) in question.kinds and request.known is None:
            fields = question.fields(request.task, schema)
            if fields is None:
                continue
            fields = {**fields, **{name: [str(value)] for name, value in request.options.items()}}
            if _asks(question, Form(fields), schema, request):
                return {"question": [question.key], **common, **{name: list(own) for name, own in fields.items()}}
    plain = request.to_dict()
    kept = {key: plain[key] for key in ("task", "options", "known") if plain.get(key)}
    return {"question": [GIVEN.key], **common, "given": [json.dumps(kept)]}


def _asks(question: Question, form: Form, schema: Schema, request: Request) -> bool:
    """Whether a form asks for the task of a request, with its options."""
    try:
        return question.task(form, schema) == request.task and question.options(form, schema) == request.options
    except Wrong:  # an option of the same name as a field
        return False
