"""Requests, as pages show them: in words, with their state, and where the page of each is.

The service lists them as plain values, each in a *row*. What it does not list, such as since when a request has been
under way, is what the visitor's own pages remember.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlencode

from adyton.exact import display
from adyton.service.pages.visits import Fields, Visit, path_to
from adyton.tasks.request import AUTO, Request

Row: TypeAlias = Mapping[str, Any]
"""A request in the list of the service: its id, its analyst (None for curators), its status, and what it asks."""
STATES = {
    "waiting": "waits for consent",
    "refused": "refused",
    "begun": "under way",
    "under way": "under way",
    "done": "done",
    "ended": "ended early",
}
"""The status of a request, in words."""
OF_ONE_SENDING = ("form_key", "id", "sure", "price", "do")
"""The fields of a form that belong to one sending of it, and are not kept."""
_MOST_REMEMBERED = 200


# ---- in words --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """What a request asks, in words; *request* is None where it asks through a door, measurement by measurement, or
    cannot be read."""

    words: str
    request: Request | None = None

    @property
    def price(self) -> str:
        """Its ε, if it is known."""
        return "" if self.request is None else display(self.request.epsilon)

    @property
    def where(self) -> str:
        """Its filter; empty if it has none."""
        return (self.request and self.request.where) or ""

    @property
    def algorithm(self) -> str:
        """The algorithm, if one was named."""
        return "" if self.request is None or self.request.algorithm == AUTO else self.request.algorithm

    def __str__(self) -> str:
        return f"{self.words}{f' where {self.where}' if self.where else ''}"


def question_of(plain: Any) -> Question:
    """What a request asks, from the plain values that the service has stored.

    >>> question = question_of({"task": {"task": "count"}, "epsilon": {"exact": "1/2"}, "where": "age >= 65"})
    >>> str(question), question.price
    ('Number of rows where age >= 65', '0.5')
    """
    if isinstance(plain, Mapping) and "measure" in plain:
        return Question("A measurement of a program that runs at the analyst")
    try:
        request = Request.from_dict(plain)
        return Question(request.task.title, request)
    except Exception:  # an old or foreign request must not break a list
        return Question("A request that this version cannot put into words")


def typed(epsilon: Fraction) -> str:
    """A budget as it is typed: exactly, however long it is."""
    shown = display(epsilon)
    return str(epsilon) if shown.startswith("≈") else shown


def again_path(table: str, plain: Any) -> str:
    """Where the same request can be made again."""
    return path_to("tables", table, "ask", request=json.dumps(plain, ensure_ascii=False))


def form_path(table: str, fields: Fields) -> str:
    """The page of a form as it is: the way back to it, which the address bar shows, too."""
    kept = {name: values for name, values in fields.items() if name not in OF_ONE_SENDING}
    return f"{path_to('tables', table, 'ask')}?{urlencode(kept, doseq=True)}"


# ---- where they are --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a request and its result are: the table, the id and, if it is somebody else's, whose."""

    table: str
    id: str
    owner: str | None = None
    """Empty for the curators, where an analyst looks."""

    @classmethod
    def asked(cls, visit: Visit, table: str, id: str) -> Place:
        """The place that a path and the field ``analyst`` name."""
        owner = visit.text("analyst") or None
        return cls(table, id, None if owner == own_name(visit) else owner)

    @classmethod
    def of_row(cls, visit: Visit, table: str, row: Row) -> Place:
        """The place of a request in the list."""
        owner = row.get("analyst")
        return cls(table, str(row.get("id")), None if owner == own_name(visit) else str(owner or ""))

    @classmethod
    def of_key(cls, table: str, key: str) -> Place:
        """The place that a :attr:`key` names."""
        id, _, owner = key.partition(":")
        return cls(table, id, owner or None)

    @property
    def key(self) -> str:
        """The result as one text: its id and, if it is somebody else's, whose."""
        return self.id if self.owner is None else f"{self.id}:{self.owner}"

    def path(self, *more: str, **query: str) -> str:
        """The path of its page, or of something below it."""
        return path_to("tables", self.table, "results", self.id, *more, **query, **self._of)

    @property
    def call(self) -> str:
        """Its path at the service."""
        return path_to("v1", "datasets", self.table, "requests", self.id, **self._of)

    @property
    def _of(self) -> dict[str, str]:
        return {} if self.owner is None else {"analyst": self.owner}


def own_name(visit: Visit) -> str | None:
    """The visitor's name in the list of requests; curators have none."""
    return None if visit.person.is_curator else visit.person.name


# ---- what the service lists ------------------------------------------------------------------------------------------


def made_at(visit: Visit, row: Row) -> str:
    """When a request was made, as this visitor may see it: analysts see the day."""
    return str(row.get("made", ""))[: 16 if visit.person.is_curator else 10].replace("T", " ")


def listed(visit: Visit, table: str) -> list[dict[str, Any]]:
    """The requests that this visitor may see, newest first."""
    rows: list[dict[str, Any]] = visit.ask("GET", path_to("v1", "datasets", table, "requests"))["requests"]
    return rows[::-1]


def row_of(visit: Visit, place: Place) -> dict[str, Any] | None:
    """The row of a request in the list, if there is one."""
    owner = own_name(visit) if place.owner is None else place.owner
    rows = listed(visit, place.table)
    return next((row for row in rows if (row["analyst"], row["id"]) == (owner, place.id)), None)


# ---- what the visitor's pages remember -------------------------------------------------------------------------------


class Remembered(NamedTuple):
    """A request that a visitor's pages know of, and since when."""

    since: float
    request: Any


def remembered(visit: Visit, place: Place, name: str = "sent") -> Remembered | None:
    """What the visitor's pages know of a request that was sent, or cancelled."""
    known: dict[Place, Remembered] = visit.person.kept.get(name, {})
    return known.get(place)


def remember(visit: Visit, place: Place, request: Any, name: str = "sent") -> None:
    """Remember for the visitor what was asked, and since when it has been under way; or that it was cancelled."""
    known: dict[Place, Remembered] = visit.person.kept.setdefault(name, {})
    old = known.get(place)
    known[place] = (
        Remembered(time.monotonic(), request) if old is None else old._replace(request=old.request or request)
    )
    while len(known) > _MOST_REMEMBERED:
        del known[next(iter(known))]


def asked_for(visit: Visit, place: Place) -> Any:
    """What was asked, as plain values; None if that is not known."""
    known = remembered(visit, place)
    if known is not None and known.request is not None:
        return known.request
    row = row_of(visit, place)
    return None if row is None else row["request"]
