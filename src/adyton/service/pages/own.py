"""What visitors see of their own: what they may spend, what they asked last, and what of it waits for consent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.errors import BadInput
from adyton.exact import display, exact
from adyton.report.page import sentence
from adyton.service.pages.visits import Visit, path_to, readable
from adyton.session.remote import RemoteSession
from adyton.tasks.request import AUTO, Request

STATES = {
    "waiting": "waits for consent",
    "refused": "refused",
    "begun": "under way",
    "under way": "under way",
    "done": "done",
    "ended": "charged, without a complete result",
}
"""The status of a request, in words."""
_LAST = 5


@dataclass(frozen=True)
class Question:
    """A request in words; *epsilon* is None where it asks through a door, measurement by measurement."""

    words: str
    where: str = ""
    epsilon: Fraction | None = None
    algorithm: str = ""
    """The algorithm, if one was named."""

    @property
    def price(self) -> str:
        """Its ε."""
        return "" if self.epsilon is None else display(self.epsilon)

    def __str__(self) -> str:
        return f"{self.words}{f' where {self.where}' if self.where else ''}"


def question_of(plain: Any) -> Question:
    """What a request asks, from the plain values that the service has stored.

    >>> question_of({"task": {"task": "count"}, "epsilon": {"exact": "1/2"}, "where": "age >= 65"})
    Question(words='Number of rows', where='age >= 65', epsilon=Fraction(1, 2), algorithm='')
    """
    if isinstance(plain, Mapping) and set(plain) == {"measure"}:
        return Question("A measurement of a program that runs at the analyst")
    try:
        request = Request.from_dict(plain)
    except BadInput:
        return Question("A request that this version cannot put into words")
    named = "" if request.algorithm == AUTO else request.algorithm
    return Question(sentence(str(request.task)), request.where or "", request.epsilon, named)


def in_json(plain: Any) -> str:
    """A request as it was sent, to read and to copy."""
    return json.dumps(plain, indent=2, ensure_ascii=False)


def result_path(table: str, row: Mapping[str, Any], own_name: str | None) -> str:
    """Where the result of a request is; *own_name* is the visitor's own, None for curators."""
    whose = row["analyst"]
    return path_to("tables", table, "results", str(row["id"]), **({} if whose == own_name else {"analyst": str(whose)}))


def amount_of(plain: Mapping[str, Any], name: str) -> Fraction | None:
    """An exact amount, if there is one."""
    value = plain.get(name)
    return None if value is None else exact(value, name, computed=True)


def own_budget(visit: Visit, session: RemoteSession, table: str) -> dict[str, Any]:
    """What the visitor may spend on a table, under which terms, and their last requests, the latest first."""
    about, who = session.about, None if visit.person.is_curator else visit.person.name
    budget, grant = about["budget"], about.get("grant") or {}
    limit, part = amount_of(grant, "consent_above"), amount_of(grant, "part")
    rows = [row for row in reversed(session.requests()) if row["analyst"] == who]
    waiting = sum(row["status"] == "waiting" for row in rows)
    return {
        "total": readable(exact(budget["total"], "total", computed=True)),
        "spent": readable(exact(budget["spent"], "spent", computed=True)),
        "left": readable(exact(budget["remaining"], "remaining", computed=True)),
        "part": "" if part is None else display(part),
        "aside": bool(grant.get("aside")),
        "expires": grant.get("expires") or "",
        "consent_above": "" if limit is None else display(limit),
        "asked": len(rows),
        "waiting": waiting,
        "last": [
            {
                "question": question_of(row["request"]),
                "status": row["status"],
                "state": STATES.get(row["status"], row["status"]),
                "made": str(row["made"])[:10],
                "path": result_path(table, row, who),
            }
            for row in rows[:_LAST]
        ],
    }
