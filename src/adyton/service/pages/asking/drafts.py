"""A request that is being written: the fields of the form, what is wrong with each, and the request once nothing is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from adyton.errors import BadInput
from adyton.exact import budget, display, exact
from adyton.messages import shorten
from adyton.schema import Boolean, Categorical, Schema
from adyton.schema.attributes import Attribute
from adyton.schema.predicates import Between, Compare, IsNull, Not, Predicate, Scalar, check_predicate, parse_predicate
from adyton.schema.times import Times
from adyton.service.pages.asking import outlooks
from adyton.service.pages.asking.fields import Form, Wrong
from adyton.service.pages.asking.questions import GIVEN, QUESTIONS, Question, given_request
from adyton.session.remote import RemoteSession
from adyton.tasks import Task
from adyton.tasks.request import AUTO, Request

COMPARISONS: Mapping[str, str] = {
    "=": "is",
    "!=": "is not",
    ">=": "is at least",
    "<=": "is at most",
    ">": "is more than",
    "<": "is less than",
    "between": "is between",
    "missing": "is missing",
    "there": "is not missing",
}
"""The comparisons of a condition, in words."""
_ENDS = re.compile(r"\s*(.+?)(?:\s+(?:to|and)\s+|\s*(?:–|…|\.\.+)\s*|(?<=\d)\s*-\s*(?=\d+\s*$))(.+?)\s*")
"""Both ends of "is between": 20 to 29, 20–29, 2024-01 to 2024-03."""
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"([A-Za-z_]\w*)\"""")
"""A text, or a plain name in quotes."""
_FEWEST, _MOST = 2, 50
"""How many conditions a form shows at least, and how many it takes."""


@dataclass
class Condition:
    """A line of the filter: an attribute, a comparison, a value."""

    name: str = ""
    comparison: str = "="
    value: str = ""


@dataclass
class Draft:
    """What is in a form."""

    form: Form
    question: Question
    problems: dict[str, str] = field(default_factory=dict)
    """What is wrong, by field; under an empty name, what is wrong with the whole."""
    task: Task | None = None
    request: Request | None = None
    """The request, if every field is right; it may cost more than is left."""
    conditions: list[Condition] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    """The conditions among the problems that lack a value: somebody may still be typing it."""
    earlier: str = ""
    """The path of the result for which the form was sent before."""


def read_draft(form: Form, session: RemoteSession) -> Draft:
    """Read a form. What is wrong with it is found without a row, and without the service."""
    schema, key = session.schema, form.text("question")
    question = QUESTIONS.get(key, GIVEN)
    draft = Draft(form, question)
    options: dict[str, Any] = {}
    try:
        if question is GIVEN and key != GIVEN.key:
            raise BadInput(f"There is no question {shorten(key)}. Choose one of the list.")
        draft.task = question.task(form, schema)
        draft.task.select(schema)
        if question is GIVEN:
            given = given_request(form)
            options = {"options": given.options, "known": given.known}
    except Wrong as problem:
        draft.problems[problem.field] = str(problem)
    except BadInput as problem:
        draft.problems[question.field] = str(problem)
    where, epsilon = _where(draft, schema), _epsilon(draft)
    algorithm = form.text("algorithm", AUTO) or AUTO
    misfits = _misfits(draft) if question.misfits else None
    if draft.problems or draft.task is None or epsilon is None:
        return draft
    if not question.algorithms(schema):
        algorithm = AUTO
    try:
        request = Request.of(draft.task, epsilon, where=where, algorithm=algorithm, misfits=misfits, **options)
        _check(draft, session, request)
    except BadInput as problem:
        draft.problems[question.field] = str(problem)
    if draft.problems:
        return draft
    draft.request, left = request, session.kernel.known_budget.remaining
    if epsilon > left > 0:  # with nothing left, the page says so, and a rehearsal is still possible
        draft.problems["epsilon"] = (
            f"This asks for ε = {display(epsilon)}, but {display(left)} is left. {instead_of_too_much(left)}"
        )
    return draft


def instead_of_too_much(left: Fraction) -> str:
    """What somebody can do who asked for more than is left."""
    return f"Ask for at most {display(left)}." if left > 0 else "The budget is used up."


def _check(draft: Draft, session: RemoteSession, request: Request) -> None:
    """Make all checks of a request, and find the field that is wrong: the one without which the rest is right."""
    try:
        outlooks.check(session, request)
        return
    except BadInput as problem:
        said = str(problem)
    others = {"algorithm": replace(request, algorithm=AUTO), "misfits": replace(request, misfits=None)}
    for name, other in others.items():
        if other != request:
            try:
                outlooks.check(session, other)
            except BadInput:
                continue
            draft.problems[name] = said
            return
    draft.problems[draft.question.field] = said


def _epsilon(draft: Draft) -> Fraction | None:
    text = draft.form.text("epsilon")
    try:
        if not text:
            raise BadInput("Give a budget, such as 0.5 or 1/3.")
        return budget(text, "ε")
    except BadInput as problem:
        draft.problems["epsilon"] = str(problem)
        return None


def _misfits(draft: Draft) -> bool | Fraction | None:
    """Whether rows that do not match the schema are counted, or the share of the budget for it."""
    text = draft.form.text("misfits")
    if text in ("", "yes", "no"):
        return {"": None, "yes": True, "no": False}[text]
    try:
        return exact(text, "the share")
    except BadInput as problem:
        draft.problems["misfits"] = str(problem)
        return None


# ---- the filter -----------------------------------------------------------------------------------------------------


def _where(draft: Draft, schema: Schema) -> str | None:
    """The predicate of the text and the conditions together; None if there is neither."""
    text, parts = draft.form.text("where"), []
    if text:
        try:
            parse_predicate(text, schema)
            parts.append(text)
        except BadInput as problem:
            draft.problems["where"] = str(problem)
    draft.conditions = _conditions(draft.form, schema)
    for place, condition in enumerate(draft.conditions):
        if condition.name or condition.value:
            try:
                parts.append(_written(_predicate(condition, schema), schema))
            except BadInput as problem:
                draft.problems[f"condition-{place}"] = str(problem)
                draft.unfinished += [f"condition-{place}"] * (not condition.value)
    if len(parts) < 2 or draft.problems:
        return parts[0] if parts else None
    if text:
        parts[0] = f"({text})"
    whole = " and ".join(parts)
    try:
        parse_predicate(whole, schema)
    except BadInput as problem:
        draft.problems["where"] = str(problem)
    return whole


def _written(predicate: Predicate, schema: Schema) -> str:
    """The checked predicate as a text, without quotes around names that need none."""
    check_predicate(predicate, schema)
    plain = _QUOTED.sub(lambda match: match[1] or match[0], str(predicate))
    try:
        return plain if parse_predicate(plain, schema) == predicate else str(predicate)
    except BadInput:
        return str(predicate)


def _conditions(form: Form, schema: Schema) -> list[Condition]:
    """All lines of the filter, and an empty one to go on with."""
    columns = [form.fields.get(name, [])[:_MOST] for name in ("condition", "comparison", "value")]
    columns[0] = [Form({"": [name]}).name("", schema.names) for name in columns[0]]
    lines = [
        Condition(name, comparison if comparison in COMPARISONS else "=", value)
        for name, comparison, value in zip_longest(*columns, fillvalue="")
    ]
    filled = [line for line in lines if line.name or line.value.strip()]
    return filled + [Condition()] * max(1, _FEWEST - len(filled))


def _predicate(condition: Condition, schema: Schema) -> Predicate:
    """The comparison that a line means."""
    name, value = condition.name, condition.value
    if not name:
        raise BadInput("Choose the attribute that this value is about, or leave both empty.")
    if condition.comparison in ("missing", "there"):
        return IsNull(name) if condition.comparison == "missing" else Not(IsNull(name))
    attribute = schema.attributes.get(name)
    if not value.strip():
        raise BadInput(f"Give a value to compare {name} with.")
    if condition.comparison == "between":
        ends = _ENDS.fullmatch(value)
        if ends is None:
            raise BadInput(f"Give both ends for {name}, such as 20 to 29. Both belong to it.")
        low, high = (end if attribute is None else _literal(end, attribute) for end in ends.groups())
        return Between(name, low, high)
    return Compare(name, condition.comparison, value if attribute is None else _literal(value, attribute))


def _literal(text: str, attribute: Attribute) -> Scalar:
    """A value as the attribute has it; a text that is none stays a text, and is refused with what is allowed."""
    text = text.strip() if not isinstance(attribute, Categorical) or text.strip() in _words(attribute) else text
    match attribute:
        case Categorical():
            words = _words(attribute)
            alike = [word for word in words if word.lower() == text.strip().lower()]
            return words.get(text, words[alike[0]] if len(alike) == 1 else text)
        case Boolean():
            return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
        case Times():
            return text
    try:
        number = exact(text, "a number")
    except BadInput:
        return text
    return int(number) if number.denominator == 1 else float(number)


def levels_of(attribute: Attribute) -> list[str]:
    """The values that can be typed, where there is a list of them."""
    match attribute:
        case Categorical():
            return list(_words(attribute))
        case Boolean():
            return ["true", "false"]
    return []


def _words(attribute: Categorical) -> Mapping[str, Scalar]:
    """The levels and groups, by their texts."""
    return {str(level): level for level in attribute.levels} | {name: name for name in dict(attribute.groups)}
