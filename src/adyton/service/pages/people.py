"""The people who ask about a table, for its curators: their parts, the requests that wait for consent, and tokens."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from adyton.errors import AdytonError, BadInput
from adyton.exact import display, exact
from adyton.kernel.ledger.lines import moment
from adyton.service.pages.ledger import report_of
from adyton.service.pages.requests import STATES, Place, Row, listed, question_of, row_of
from adyton.service.pages.tables import amount_of, consent_of, frame
from adyton.service.pages.visits import Page, View, Visit, path_to, readable, redirect
from adyton.session.client import Unauthorized, Unreached

LONGEST_WORD = 500
"""The most characters of a word on a decision."""
_NOTICE = "people"
_PATIENCE = 2.0
"""For how many seconds a decision is waited for; what takes longer goes on."""
_DECIDED = re.compile(r"([A-Za-z0-9_-]{1,64}) of (.*): (begun|refused)(?:, SHA-256 [0-9a-f]{64})?", re.DOTALL)
_OTHER = "This request is another one than the one that you read. Nothing was changed: read it, and decide again."
_OPEN = ("waiting", "under way")
"""What the service says of a request while a decision on it is on its way."""
_MOST_DECISIONS, _MOST_TOKENS = 50, 200


def people(visit: Visit, table: str) -> Page:
    """Who may spend how much, which requests wait for consent, and who has a token."""
    return _page(visit, table)


def decide(visit: Visit, table: str) -> Page:
    """Grant a request that waits for consent, or refuse it."""
    id, analyst, digest, decision, word = (visit.text(name) for name in ("id", "analyst", "digest", "decision", "word"))
    if decision not in ("grant", "refuse"):
        raise BadInput("A decision is to grant or to refuse. Open the page of the people again, and press one of both.")
    row = row_of(visit, Place(table, id, analyst))
    if row is None:
        return _after(visit, table, "bad", "This request is not there any more: it was given up. Nothing was changed.")
    if row["digest"] != digest:
        return _after(visit, table, "bad", _OTHER)
    if row["status"] != "waiting":
        return _after(visit, table, "note", _decided_before(analyst, row["status"]))
    problems = {}
    if len(word) > LONGEST_WORD:
        problems["word"] = f"A word has at most {LONGEST_WORD} characters, given {len(word)}. Shorten it."
    if decision == "grant" and not visit.text("sure"):
        problems["sure"] = "Tick this to grant the request: what it spends stays spent."
    if problems:
        return _page(visit, table, status=400, tried={"key": (analyst, id), "word": word, "problems": problems})
    return _after(visit, table, *_decision(visit, table, row, grant=decision == "grant", word=word))


def revoke(visit: Visit, table: str) -> Page:
    """Revoke a token."""
    id, sure = visit.text("token"), visit.text("sure")
    known = {own["id"]: own for own in _tokens(visit)}
    own = known.get(id)
    if own is None:
        raise BadInput("There is no token of this id. Open the page of the people again, and choose one of the list.")
    if own["own"] and not sure:
        problem = "Tick this to revoke the token that you use: you are signed out, and need another to come back."
        return _page(visit, table, status=400, revoking={"id": id, "problem": problem})
    visit.ask("DELETE", path_to("v1", "tokens", id, **({"own": "true"} if own["own"] else {})))
    words = f"The token {id} of {own['name']} is revoked. Whoever has it is signed out at the next click."
    return _after(visit, table, "good", words)


# ---- decisions -------------------------------------------------------------------------------------------------------


def _decision(visit: Visit, table: str, row: Mapping[str, Any], *, grant: bool, word: str) -> tuple[str, str]:
    """Send a decision, and say what became of it."""
    id, analyst = str(row["id"]), str(row["analyst"])
    body = {"grant": grant, "analyst": analyst, "digest": row["digest"]} | ({"word": word} if word else {})
    problem: AdytonError | None = None
    try:
        visit.ask("POST", path_to("v1", "datasets", table, "requests", id, "consent"), body)
    except (Unauthorized, Unreached):
        raise
    except AdytonError as trouble:
        problem = trouble
    status = _settled(visit, Place(table, id, analyst))
    return _said(f"“{question_of(row['request'])}” of {analyst}", analyst, status, problem, grant=grant)


def _said(what: str, analyst: str, status: str | None, problem: AdytonError | None, *, grant: bool) -> tuple[str, str]:
    """What became of a decision. That a request is refused, the service says with an error, too."""
    if status is None:
        why = f" {problem}" if problem else ""
        return "bad", f"{what} could not be carried out, and is not there any more.{why} Nothing was spent."
    if not grant and status in _OPEN:
        return "note", f"Your decision on {what} was sent. Load this page again in a moment to see what became of it."
    if isinstance(problem, BadInput) or (status == "refused") == grant:  # another curator was faster
        return "note", _decided_before(analyst, status)
    if not grant:
        return "good", f"Refused: {what}. Nothing was spent."
    ends = {
        "done": f"The result is there, and {analyst} sees it.",
        "ended": "It was charged, and ended without a complete result.",
    }
    return "good", f"Granted: {what}. {ends.get(status, 'It is carried out now.')}"


def _settled(visit: Visit, place: Place) -> str | None:
    """The status of a request after a decision, as far as it is known soon; None if the request was forgotten."""
    end = time.monotonic() + _PATIENCE
    while True:
        row = row_of(visit, place)
        if row is None or row["status"] not in _OPEN or time.monotonic() > end:
            return None if row is None else str(row["status"])
        time.sleep(0.05)


def _decided_before(analyst: str, status: str) -> str:
    state = STATES.get(status, status)
    return f"Nothing was changed: this request of {analyst} was decided before, and is {state}."


def _after(visit: Visit, table: str, kind: str, words: str) -> Page:
    """Back to the page, which says once what was done."""
    visit.person.kept[_NOTICE] = (kind, words)
    return redirect(path_to("tables", table, "people"))


# ---- the page --------------------------------------------------------------------------------------------------------


def _page(
    visit: Visit,
    table: str,
    *,
    status: int = 200,
    tried: Mapping[str, Any] | None = None,
    revoking: Mapping[str, Any] | None = None,
) -> Page:
    session, rows, tokens = visit.session(table), listed(visit, table), _tokens(visit)
    analysts = visit.ask("GET", path_to("v1", "datasets", table, "analysts"))
    valid = {own["name"] for own in tokens if own["state"] == "valid" and own["role"] != "metrics"}
    left = {own["name"]: exact(own["left"], "left", computed=True) for own in analysts}
    waiting = [row for row in reversed(rows) if row["status"] == "waiting"]
    return visit.page(
        "people.html.j2",
        status=status,
        **frame(session, table) | {"waiting": len(waiting)},
        notice=visit.person.kept.pop(_NOTICE, None),
        requests=[_waiting(row, left, tried or {}) for row in waiting],
        analysts=[_analyst(own, own["name"] in valid) for own in analysts],
        decisions=_decisions(visit, table, rows) if any(map(consent_of, analysts)) else [],
        tokens=[own for own in tokens if own["state"] == "valid"],
        ended=[own for own in reversed(tokens) if own["state"] != "valid"][:_MOST_TOKENS],
        revoking=revoking or {"id": "", "problem": ""},
        longest=LONGEST_WORD,
    )


def _waiting(row: Mapping[str, Any], left: Mapping[str, Fraction], tried: Mapping[str, Any]) -> dict[str, Any]:
    """A request that waits, with its price, and what its analyst would have left."""
    question, analyst = question_of(row["request"]), str(row["analyst"])
    has = left.get(analyst, Fraction(0))
    price = question.request.epsilon if question.request else Fraction(0)
    mine = tried if tried.get("key") == (analyst, row["id"]) else {}
    return {
        "id": row["id"],
        "digest": row["digest"],
        "analyst": analyst,
        "question": question,
        "made": moment(str(row["made"])),
        "json": json.dumps(row["request"], indent=2, ensure_ascii=False),
        "left": readable(has),
        "after": readable(max(Fraction(0), has - price)),
        "enough": price <= has,
        "word": mine.get("word", ""),
        "problems": {"word": "", "sure": "", **mine.get("problems", {})},
    }


def _analyst(own: Mapping[str, Any], has_token: bool) -> dict[str, Any]:
    part = amount_of(own, "part")
    return {
        "name": own["name"],
        "part": "" if part is None else display(part),
        "aside": own["aside"],
        "spent": readable(amount_of(own, "spent") or Fraction(0)),
        "left": readable(amount_of(own, "left") or Fraction(0)),
        "expires": own["expires"] or "",
        "consent": consent_of(own),
        "granted": own["granted"],
        "has_token": has_token,
    }


def _decisions(visit: Visit, table: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What curators have granted and refused, the latest first, as the ledger has it."""
    asked = {(row["analyst"], row["id"]): row for row in rows}
    found = []
    for event in reversed(report_of(visit, table).events):
        said = _DECIDED.fullmatch(event.new) if event.changed == "request" else None
        row = None if said is None else asked.get((said[2], said[1]))
        if said is None or row is None or event.dataset not in (None, table):
            continue
        found.append(
            {
                "time": moment(event.time),
                "analyst": said[2],
                "question": question_of(row["request"]),
                "path": Place(table, row["id"], row["analyst"]).path(),
                "granted": said[3] == "begun",
                "word": event.consent or "",
            }
        )
    return found[:_MOST_DECISIONS]


def _tokens(visit: Visit) -> list[dict[str, Any]]:
    """All tokens, without their secrets."""
    listed = visit.ask("GET", "/v1/tokens")["tokens"]
    return [
        {
            **own,
            "made": moment(str(own["made"]))[:16],
            "expires": moment(str(own["expires"]))[:16] if own["expires"] else "",
        }
        for own in listed
    ]


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/tables/{table}/people"): people,
    ("POST", "/tables/{table}/people/consent"): decide,
    ("POST", "/tables/{table}/people/tokens"): revoke,
}
