"""Asking: choose a question, see what to expect of it, rehearse it free of charge, release it.

Nothing is spent before the last step. A form has the id of the request that it makes, so that a second click, a reload
or the back button never pays twice; and its button carries the price that it showed, so that nobody pays another.
"""

from __future__ import annotations

import json
import math
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from fractions import Fraction
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread
from typing import Any, NamedTuple

from adyton.errors import AdytonError, BadInput, BudgetExceeded, KernelFailure, Unfinished
from adyton.exact import budget, display, positive
from adyton.kernel.ledger import Limits
from adyton.marginals.program import what_it_does
from adyton.messages import shorten
from adyton.report.page import sentence
from adyton.schema import Schema
from adyton.schema.predicates import parse_predicate
from adyton.service.pages.asking import outlooks
from adyton.service.pages.asking.drafts import Draft, instead_of_too_much, read_draft
from adyton.service.pages.asking.fields import Form, Inputs
from adyton.service.pages.asking.filters import COMPARISONS, Condition, levels_of, with_conditions
from adyton.service.pages.asking.questions import GIVEN, QUESTIONS, Question, fields_of
from adyton.service.pages.asking.scripts import lines_for
from adyton.service.pages.requests import Place, listed, question_of, remember
from adyton.service.pages.results.views import show_rehearsal
from adyton.service.pages.tables import budget_of, consent_of, frame
from adyton.service.pages.visits import Page, View, Visit, path_to, plain_ratio, readable, redirect
from adyton.session.client import Unreached
from adyton.session.remote import RemoteSession
from adyton.statistics.programs import PROGRAMS
from adyton.tasks.request import AUTO, Request, sent_request

_ID = re.compile(r"[0-9a-f]{32}")
_SECONDS_KEPT = 15.0
"""How long a form that is being filled in uses the same description of its table."""
_SECONDS_TO_SEE = 2.0
"""How long a page waits for a request; after that, the page of its result shows how far it is."""
_SECONDS_HELD = 120
_MOST_REFUSED, _MOST_LEVELS, _MOST_BEFORE = 50, 200, 200
_STEPS = tuple(Fraction(step) * Fraction(10) ** power for power in range(-3, 4) for step in (1, 2, 3, 5, 7))
"""The steps of the slider, as far as the budget goes."""
_OFTEN = {"": "19 times of 20 (95%)", "typically": "typically"}
"""How often an answer must be as exact as somebody wants it."""
_REHEARSALS = BoundedSemaphore(2)
"""How many rehearsals run at once."""


# ---- the pages ------------------------------------------------------------------------------------------------------


def ask(visit: Visit, table: str) -> Page:
    """The questions that the table can be asked; or the form of one of them."""
    session, fields = _session(visit, table, fresh=True), dict(visit.query)
    if "request" in fields:
        fields = _again(visit.text("request"), session.schema)
    if not fields.get("question"):
        return _choices(visit, session, table)
    form = Form(_with_usual(fields, session))
    return _page(visit, session, table, read_draft(form, session))


def outlook(visit: Visit, table: str) -> Page:
    """What to expect of the form as it is: a part of the page."""
    session = _session(visit, table)
    draft = read_draft(Form(visit.query), session)
    shown = {"unfinished": draft.unfinished, "table": table} | _expectation(visit, session, table, draft)
    return visit.page("outlook.html.j2", **shown)


def rehearse(visit: Visit, table: str) -> Page:
    """The result of the form on made-up rows."""
    session = _session(visit, table, fresh=True)
    draft = read_draft(Form(visit.form), session)
    if draft.request is None:
        return _page(visit, session, table, draft, status=400)
    asked = draft.request
    how: Any = {"algorithm": asked.algorithm, "misfits": asked.misfits, "known": asked.known, **asked.options}
    with _REHEARSALS:
        try:
            result = session.rehearse(asked.task, asked.epsilon, where=asked.where, **how)
        except BadInput as problem:
            draft.problems[""] = str(problem)
            return _page(visit, session, table, draft, status=400)
    return show_rehearsal(visit, session, table, result, asked.to_dict(), dict(visit.form))


def release(visit: Visit, table: str) -> Page:
    """Send the request of the form; or show the form with its expected error, or with the ε for an error."""
    session, form, step = _session(visit, table, fresh=True), Form(visit.form), visit.text("do")
    if step == "fit":
        return _fitted(visit, session, table, form)
    draft = read_draft(form, session)
    if step in ("look", "condition"):
        return _page(visit, session, table, draft)
    if draft.request is not None:
        _check_price(draft, session)
    id = form.text("id")
    if draft.request is not None and not draft.problems and not _ID.fullmatch(id):
        draft.problems[""] = "This form has no id of a request, so nothing was sent. Look at it again, then release."
    if draft.request is None or draft.problems:
        return _page(visit, session, table, draft, status=400)
    problem = _sent(visit, table, id, draft.request)
    for kept in ("sessions", "asked"):
        visit.person.kept.get(kept, {}).pop(table, None)  # its budget is another now
    if problem is None or isinstance(problem, KernelFailure | Unfinished):  # these were charged: the ledger has them
        remember(visit, Place(table, id), draft.request.to_dict())
        return redirect(path_to("tables", table, "results", id))
    return _refused(visit, table, draft, id, problem)


# ---- what the pages show --------------------------------------------------------------------------------------------


def _choices(visit: Visit, session: RemoteSession, table: str) -> Page:
    outlooks.warm_up()
    groups: dict[str, list[dict[str, str]]] = {}
    for question in QUESTIONS.values():
        to = path_to("tables", table, "ask", question=question.key)
        own = {"words": question.words, "about": question.about, "to": to, "missing": question.missing(session.schema)}
        groups.setdefault(question.group, []).append(own)
    return visit.page("questions.html.j2", **frame(session, table), groups=groups)


def _page(
    visit: Visit, session: RemoteSession, table: str, draft: Draft, *, status: int = 200, notice: str = "", id: str = ""
) -> Page:
    """The form, with what to expect of it."""
    form, question = draft.form, draft.question
    left = session.kernel.known_budget.remaining
    expectation = _expectation(visit, session, table, draft)
    values = {
        "question": question,
        "inputs": question.inputs(Inputs(form, session.schema)),
        "form": form,
        "conditions": draft.conditions + [Condition()] * (form.text("do") == "condition"),
        "unfinished": draft.unfinished if visit.method == "GET" else (),
        "levels": _levels(session.schema),
        "names": list(session.schema.names),
        "algorithms": _algorithms(question, session.schema),
        "certain": outlooks.certain(session, draft.request),
        "steps": [display(step) for step in _steps(left)],
        "id": id or uuid.uuid4().hex,
        "notice": notice,
        "rows": session.schema.rows,
        "counts_misfits": session.kernel.root.from_text,
        "given": draft.task if question is GIVEN else None,
        "comparisons": COMPARISONS,
        "often": _OFTEN,
        "earlier": draft.earlier,
    }
    return visit.page("ask.html.j2", status=status, **frame(session, table), **expectation, **values)


def _algorithms(question: Question, schema: Schema) -> dict[str, str]:
    """The algorithms that can be chosen, each with what it does."""
    names = question.algorithms(schema)
    numbers = set(names) <= set(PROGRAMS)
    known = {name: PROGRAMS[name].words if numbers else what_it_does(name) for name in names}
    return {AUTO: "the best one for the table, within the same budget", **known} if names else {}


def _levels(schema: Schema) -> dict[str, tuple[str, list[str]]]:
    """The levels that a value of the filter can have, where there are not too many: by attribute, with an id."""
    known = {name: levels_of(attribute) for name, attribute in schema.attributes.items()}
    listed = {name: levels for name, levels in known.items() if 0 < len(levels) <= _MOST_LEVELS}
    return {name: (f"levels-{place}", levels) for place, (name, levels) in enumerate(listed.items())}


def _expectation(visit: Visit, session: RemoteSession, table: str, draft: Draft) -> dict[str, Any]:
    """What the part of the page says that follows every change of the form."""
    asked, account = draft.request, session.kernel.known_budget
    problems = {name: sentence(said) for name, said in draft.problems.items()}
    shown: dict[str, Any] = {"expected": None, "problems": problems, "left": account.remaining, "notes": draft.notes}
    if asked is None:
        return shown
    shown["expected"] = outlooks.expected(session, asked)
    shown["before"] = _asked_before(visit, session, table, asked)
    waits = Limits(session.consent_above, session.consent_total).demand(asked.epsilon, account.spent)
    return shown | {
        "price": display(asked.epsilon),
        "cost": budget_of(account.total, account.spent, asked.epsilon, left=account.remaining),
        "after": readable(max(Fraction(0), account.remaining - asked.epsilon)),
        "affordable": asked.epsilon <= account.remaining,
        "consent": consent_of(session.about["grant"]).capitalize() if waits else "",
        "sure": draft.form.text("sure") == display(asked.epsilon),
        "lines": lines_for(visit, table, asked),
    }


class _Before(NamedTuple):
    """The same request, asked before by the same person."""

    made: str
    price: str
    path: str
    together: str


def _asked_before(visit: Visit, session: RemoteSession, table: str, request: Request) -> _Before | None:
    """The last time that the visitor has asked this, if ever; at whatever price, and by whichever algorithm."""
    kept: dict[str, tuple[float, list[tuple[Request, str, Place]]]] = visit.person.kept.setdefault("asked", {})
    since, known = kept.get(table, (-math.inf, []))
    if time.monotonic() - since > _SECONDS_KEPT:
        known = list(_own_requests(visit, table))
        kept[table] = (time.monotonic(), known)
    where = _read(request.where, session.schema)
    for old, made, place in known:
        if old.task == request.task and _read(old.where, session.schema) == where:
            together = outlooks.together(session, request, old.epsilon)
            return _Before(made, display(old.epsilon), place.path(), together)
    return None


def _own_requests(visit: Visit, table: str) -> Iterator[tuple[Request, str, Place]]:
    """What the visitor has asked and got, newest first."""
    own = None if visit.person.is_curator else visit.person.name
    for row in listed(visit, table)[:_MOST_BEFORE]:
        request = question_of(row["request"]).request
        if row["status"] == "done" and row["analyst"] == own and request is not None:
            yield request, str(row["made"])[:10], Place.of_row(visit, table, row)


def _read(where: str | None, schema: Schema) -> object:
    """A filter, so that two that are written in different ways can be compared."""
    try:
        return parse_predicate(where, schema) if where else None
    except BadInput:
        return where


def _fitted(visit: Visit, session: RemoteSession, table: str, form: Form) -> Page:
    """The form with the least ε for the error that somebody wants."""
    draft, error, of = read_draft(form.with_field("epsilon", "1"), session), form.text("error"), form.text("of")
    found, part = None, error.endswith("%")
    number = error.removesuffix("%").removeprefix("±").removeprefix("+/-").removeprefix("+-").strip()
    draft.problems |= _problems_of_error(number, of)
    if form.text("often") not in _OFTEN:
        draft.problems["often"] = f"Choose how often the error must hold, given {shorten(form.text('often'))}."
    if draft.request is not None and not draft.problems:
        exactly = f"{number}%" if part else number if form.text("often") == "typically" else f"±{number}"
        try:
            found = outlooks.least_epsilon(session, draft.request, exactly, of)
        except BadInput as problem:
            said = f"Give the number that {error} is a part of, such as 400: what the answers will be is not public."
            draft.problems["of" if part and not of else "error"] = said if part and not of else str(problem)
    if found is None:
        problems = draft.problems
        draft = read_draft(form, session)
        draft.problems |= problems
        return _page(visit, session, table, draft, status=400)
    draft = read_draft(form.with_field("epsilon", str(found)), session)
    return _page(visit, session, table, draft, notice=found.sentence)


def _problems_of_error(error: str, of: str) -> dict[str, str]:
    """What is wrong with an error, and with the number that it is a part of."""
    if not error:
        return {"error": "Give the error that you can live with, such as 20."}
    problems = {}
    for name, text, what in (("error", error, "The error"), ("of", of or "1", "The number that a percentage is of")):
        try:
            positive(text, what)
        except BadInput as problem:
            problems[name] = plain_ratio(str(problem))
    return problems


def _check_price(draft: Draft, session: RemoteSession) -> None:
    """Refuse to send a request at another price than the button said, or one of a large budget without a tick."""
    asked, form = draft.request, draft.form
    assert asked is not None
    try:
        agreed = budget(form.text("price"), "the price") == asked.epsilon
    except BadInput:
        agreed = False
    if not agreed:
        draft.problems[""] = (
            f"Nothing was sent yet: the form now asks for ε = {display(asked.epsilon)}. Look at what to expect, then "
            "release."
        )
    elif outlooks.expected(session, asked).large and form.text("sure") != display(asked.epsilon):
        draft.problems["sure"] = "Nothing was sent yet: tick that you accept this large budget, or ask for less."


def _refused(visit: Visit, table: str, draft: Draft, id: str, problem: AdytonError) -> Page:
    """The form again, with what the service said; nothing was spent."""
    session, status, notice, kept = _session(visit, table, fresh=True), 400, "", ""
    if isinstance(problem, BudgetExceeded):
        status, left = 409, display(problem.left)
        draft.problems["epsilon"] = (
            f"This asks for ε = {display(problem.asked)}, but {left} of {display(problem.total)} is left now. Nothing "
            f"was spent. {instead_of_too_much(problem.left)}"
        )
    elif isinstance(problem, Unreached):
        status, kept = 503, id
        notice = (
            "The service did not answer, so it is not known whether the request arrived. Send this form again: it has "
            "the same id, and is never paid for twice."
        )
    elif isinstance(problem, BadInput) and _exists(visit, table, id):
        status, draft.earlier = 409, path_to("tables", table, "results", id)
        notice = "This form was sent before, with another request. Nothing was sent now: check this one, then release."
    else:
        said = str(problem).removesuffix("Nothing was spent.").rstrip()
        draft.problems[""] = f"{said} Nothing was spent."
    return _page(visit, session, table, draft, status=status, notice=notice, id=kept)


def _exists(visit: Visit, table: str, id: str) -> bool:
    try:
        visit.client.call("GET", path_to("v1", "datasets", table, "requests", id, wait="0"))
    except AdytonError:
        return False
    return True


# ---- the service ----------------------------------------------------------------------------------------------------


def _session(visit: Visit, table: str, *, fresh: bool = False) -> RemoteSession:
    """A session about the table, with the budget as it is now, or was a few seconds ago."""
    kept: dict[str, tuple[float, RemoteSession]] = visit.person.kept.setdefault("sessions", {})
    made, session = kept.get(table, (0.0, None))
    if fresh or session is None or time.monotonic() - made > _SECONDS_KEPT:
        session = visit.session(table)
        kept[table] = (time.monotonic(), session)
    return session


def _sent(visit: Visit, table: str, id: str, request: Request) -> AdytonError | None:
    """Send a request; what the service refuses at once is returned.

    The call goes on behind the page: a service that hides how long work takes lets nobody know an outcome early, and
    nothing that was paid for depends on the page.
    """
    person, client, outcome = visit.person, visit.client, SimpleQueue[AdytonError | None]()
    body = {"id": id, "request": request.to_dict(), "wait": _SECONDS_HELD}

    def call() -> None:
        try:
            client.call("POST", path_to("v1", "datasets", table, "requests"), body)
        except AdytonError as problem:
            known = {**person.kept.get("refused", {}), (table, id): problem}
            person.kept["refused"] = dict(list(known.items())[-_MOST_REFUSED:])
            outcome.put(problem)
        else:
            outcome.put(None)

    Thread(target=call, daemon=True).start()
    try:
        return outcome.get(timeout=_SECONDS_TO_SEE)
    except Empty:
        return None


# ---- the fields -----------------------------------------------------------------------------------------------------


def _again(text: str, schema: Schema) -> dict[str, list[str]]:
    """The fields of a request that is given as JSON."""
    try:
        return with_conditions(fields_of(sent_request(json.loads(text)), schema), schema)
    except (ValueError, RecursionError) as problem:
        said = str(problem) if isinstance(problem, BadInput) else "It is not JSON."
        raise BadInput(f"This request cannot be asked again: {said} Choose a question from the list.") from None


def _with_usual(fields: Mapping[str, list[str]], session: RemoteSession) -> dict[str, list[str]]:
    """The fields, with a usual value for those that a question needs."""
    left = session.kernel.known_budget.remaining
    fitting = [step for step in _steps(left) if step <= min(Fraction(1, 2), left / 5)]
    usual = {"epsilon": [display(fitting[-1] if fitting else _STEPS[0])]}
    question = QUESTIONS.get(fields["question"][0])
    form = Form(fields)
    if question is not None:
        for own in question.inputs(Inputs(form, session.schema)):
            if own.usual and own.name not in fields:
                usual[own.name] = [own.usual]
    return usual | dict(fields)


def _steps(left: Fraction) -> list[Fraction]:
    """The steps of the slider: up to what is left."""
    steps = [step for step in _STEPS if step < left]
    return [*steps, left] if left > 0 else [_STEPS[0]]


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/tables/{table}/ask"): ask,
    ("POST", "/tables/{table}/ask"): release,
    ("GET", "/tables/{table}/ask/outlook"): outlook,
    ("POST", "/tables/{table}/rehearse"): rehearse,
}
