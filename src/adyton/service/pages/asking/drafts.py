"""A request that is being written: the fields of the form, what is wrong with each, and the request once nothing is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from adyton.errors import BadInput
from adyton.exact import budget, display, exact
from adyton.messages import shorten
from adyton.service.pages.asking import outlooks
from adyton.service.pages.asking.fields import Form, Wrong
from adyton.service.pages.asking.filters import Condition, read_filter
from adyton.service.pages.asking.questions import GIVEN, QUESTIONS, Question, given_request
from adyton.service.pages.visits import plain_ratio
from adyton.session.remote import RemoteSession
from adyton.tasks import Task
from adyton.tasks.request import AUTO, Request


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
    """The fields among the problems in which nothing is chosen yet, and the conditions that lack a value: somebody may
    still be typing it."""
    notes: list[str] = field(default_factory=list)
    """What is odd about it, and allowed."""
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
        options = {"options": question.options(form, schema)}
        if question is GIVEN:
            given = given_request(form)
            options = {"options": given.options, "known": given.known}
    except Wrong as problem:
        draft.problems[problem.field] = str(problem)
        draft.unfinished += [problem.field] * problem.missing
    except BadInput as problem:
        draft.problems[question.field] = str(problem)
    rows, epsilon = read_filter(form, schema), _epsilon(draft)
    draft.problems |= rows.problems
    draft.conditions, draft.notes = rows.conditions, rows.notes
    draft.unfinished += rows.unfinished
    algorithm = form.text("algorithm", AUTO) or AUTO
    misfits = _misfits(draft) if question.misfits else None
    if draft.problems or draft.task is None or epsilon is None:
        return draft
    if not question.algorithms(schema):
        algorithm = AUTO
    try:
        request = Request.of(draft.task, epsilon, where=rows.where, algorithm=algorithm, misfits=misfits, **options)
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
    if draft.question is not GIVEN:
        others |= {name: replace(request, options={}) for name in request.options}
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
        draft.problems["epsilon"] = plain_ratio(str(problem))
        return None


def _misfits(draft: Draft) -> bool | Fraction | None:
    """Whether rows that do not match the schema are counted, or the share of the budget for it."""
    text = draft.form.text("misfits")
    if text in ("", "yes", "no"):
        return {"": None, "yes": True, "no": False}[text]
    try:
        return exact(text, "the share")
    except BadInput as problem:
        draft.problems["misfits"] = plain_ratio(str(problem))
        return None
