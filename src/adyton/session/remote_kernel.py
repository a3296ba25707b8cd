"""The door of a service: what plans ask of a kernel, over HTTP.

A :class:`RemoteKernel` has the requests of :class:`~adyton.kernel.sources.Door`, so a plan, a choice maker or a learner
runs on its sources as on those of a kernel in this process: only operators, public facts and noisy answers travel.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast
from urllib.parse import quote

from adyton.errors import BadInput, ServiceError
from adyton.exact import Rational, display, exact, positive, rounded_down
from adyton.kernel.admission import is_one_of
from adyton.kernel.ledger.analysts import Analyst
from adyton.kernel.ledger.records import Account, Budgeted
from adyton.kernel.ledger.tables import to_text
from adyton.kernel.ledger.terms import Terms
from adyton.kernel.operators import Mechanism, Transform
from adyton.kernel.sealed import Sealed
from adyton.kernel.shapes import Facts, VectorShape
from adyton.kernel.sources import KINDS, Source, TableSource, handle
from adyton.messages import shorten
from adyton.queries import Measurement
from adyton.schema import Schema
from adyton.schema.plain_values import as_text, of_kind, part_of
from adyton.session.client import Client, Gone
from adyton.session.wire import decode_facts, decode_result, encode, encode_facts
from adyton.whole import whole

_MOST_DOORS = 5
"""How many doors in a row may close before a call gets through."""
_FORGOTTEN_AT_ONCE = 64


def account_of(dataset: str, plain: object) -> Account:
    """An analyst's account, from what a service says of it: part of what is left of the total may be for others."""
    total, spent, left = (
        exact(part_of(plain, name), f"the {name} budget", computed=True) for name in ("total", "spent", "remaining")
    )
    return Account(dataset, total, spent, left=left, analyst=Analyst("you"))


class _Step:
    """A transformation that was asked for: how to repeat it, and the numbers of its sources behind the present door."""

    __slots__ = ("door", "facts", "forgotten", "nodes", "operator", "parent")

    def __init__(self, parent: _Place | None, operator: str, facts: tuple[Facts, ...], door: str | None) -> None:
        self.parent, self.operator, self.facts, self.door = parent, operator, facts, door
        self.nodes = tuple(own.node for own in facts)
        self.forgotten: set[int] = set()
        """The parts that nothing here refers to any more."""

    def repeated(self, facts: tuple[Facts, ...], door: str | None) -> None:
        """The same sources behind another door; refused where they are others."""
        if [_without_node(own) for own in facts] != [_without_node(own) for own in self.facts]:
            raise ServiceError("the data set has changed at the service: its schema is another. Connect again.")
        self.nodes, self.door = tuple(own.node for own in facts), door


class _Place:
    """One source of a step. It lives as long as its handle, and as long as anything that is derived from it."""

    __slots__ = ("__weakref__", "part", "step")

    def __init__(self, step: _Step, part: int) -> None:
        self.step, self.part = step, part

    @property
    def node(self) -> int:
        """Its number behind the present door."""
        return self.step.nodes[self.part]


class RemoteKernel(Sealed, Budgeted):
    """The kernel of a service, as far as an analyst may use it: sources, measurements and a budget of their own.

    Each source remembers how it was derived. If the process behind a door ends, the next call opens another door and
    derives what it needs again; what was measured before and after then counts as measured twice, even on disjoint
    parts. A measurement has an id, so that a lost reply is not paid for again.
    """

    def __init__(self, client: Client, path: str, described: Mapping[str, Any]) -> None:
        self._client, self._path = client, path
        self.dataset = as_text(part_of(described, "dataset"), "the name of the data set")
        facts = decode_facts(as_text(part_of(described, "facts"), "the facts of the root"))
        root = _Step(None, "", (facts,), None)
        self._root, self._number = _Place(root, 0), 0
        self._first = replace(facts, node=0)
        self._lock, self._door = threading.RLock(), cast("str | None", None)
        self._places: dict[int, _Place] = {0: self._root}
        self._unused: list[tuple[str | None, int]] = []
        self._account = account_of(self.dataset, part_of(described, "budget"))
        self._terms = _terms(described, self.root.schema)
        self.private = of_kind(bool, described.get("private", True), "private")
        """Whether the noise is real."""

    # ---- what is public ---------------------------------------------------------------------------------------------

    @property
    def root(self) -> TableSource:
        """The source that everything else is derived from."""
        return cast(TableSource, handle(self, self._first))

    @property
    def terms(self) -> Terms:
        """Whom the budget protects: the unit, its largest number of rows, and the schema."""
        return self._terms

    @property
    def budget(self) -> Account:
        """The present account, asked for at the service."""
        self._account = account_of(self.dataset, part_of(self._client.call("GET", self._path).plain(), "budget"))
        return self._account

    @property
    def known_budget(self) -> Account:
        """The account as it was when the service last spoke of it."""
        return self._account

    # ---- the door ---------------------------------------------------------------------------------------------------

    def transform(self, source: Source, operator: Transform) -> tuple[Source, ...]:
        """Derive a source, or one per part for a split. Costs nothing and reads no data."""
        place, text = self._place(source), _written(operator, Transform)
        with self._lock:
            facts = self._derived(self._asked("transform", place, {"operator": text}))
            step = _Step(place, text, facts, self._door)
            return tuple(self._kept(step, part) for part in range(len(facts)))

    def measure(self, source: Source, operator: Mechanism, epsilon: Rational) -> Any:
        """Run a mechanism with *epsilon* on a source; it is charged before the data are read."""
        place, text = self._place(source), _written(operator, Mechanism)
        amount = rounded_down(positive(epsilon, "epsilon", computed=True), source.stability)
        if not amount:
            raise BadInput(f"epsilon must be at least 10^-73, given {shorten(epsilon)}.")
        body = {"id": uuid.uuid4().hex, "operator": text, "epsilon": to_text(amount)}
        with self._lock:
            reply = self._asked("measure", place, body)
        if (budget := reply.get("budget")) is not None:
            self._account = account_of(self.dataset, budget)
        result = decode_result(as_text(part_of(reply, "result"), "the result of a measurement"))
        shape = source.facts.shape
        if isinstance(result, Measurement) and isinstance(shape, VectorShape) and result.mapping is not None:
            return replace(result, mapping=shape.mapping)  # as here: all measurements of a source have the same one
        return result

    def afford(self, source: Source, epsilon: Rational) -> None:
        """Refuse a request for several measurements of *epsilon* in total, if not enough budget is left for all."""
        amount = rounded_down(positive(epsilon, "epsilon", computed=True), source.stability)
        with self._lock:
            self._asked("afford", self._place(source), {"epsilon": to_text(amount)})

    def close(self) -> None:
        """Close the door: the service forgets all that was derived."""
        with self._lock:
            if self._door is not None:
                door, self._door = self._door, None
                self._client.call("DELETE", f"{self._path}/door/{quote(door, safe='')}")

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _place(self, source: Source) -> _Place:
        known = is_one_of(source, KINDS.values())
        if not known or source.kernel is not self:
            given = "a source of another kernel" if known else shorten(source)
            raise BadInput(f"an operator needs a source of this kernel, given {given}. Start from kernel.root.")
        return self._places[source.node]

    def _kept(self, step: _Step, part: int) -> Source:
        """A handle on a source that was derived; the service forgets it when nothing refers to it any more."""
        self._number += 1
        place = self._places[self._number] = _Place(step, part)
        weakref.finalize(place, _unused, self._unused, step, part).atexit = False
        source = handle(self, replace(step.facts[part], node=self._number))
        weakref.finalize(source, self._places.pop, self._number, None).atexit = False
        return source

    def _asked(self, call: str, place: _Place, body: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a call about a source. Where its door is closed, everything is derived behind another."""
        for _ in range(_MOST_DOORS):
            try:
                if len(self._unused) >= _FORGOTTEN_AT_ONCE:
                    self._forget()
                return self._posted(call, {**body, "source": self._node(place)})
            except Gone:
                self._door = None
        raise ServiceError("the process behind the data set ends again and again. Ask whoever runs the service.")

    def _posted(self, call: str, body: Mapping[str, Any]) -> dict[str, Any]:
        assert self._door is not None
        reply = self._client.call("POST", f"{self._path}/door/{quote(self._door, safe='')}/{call}", body).plain()
        return of_kind(dict, reply, "a reply of the door")

    def _node(self, place: _Place) -> int:
        """The number of a source behind the present door."""
        step = place.step
        if self._door is None or step.door != self._door:
            if step.parent is None:
                self._open(step)
            else:
                node = self._node(step.parent)
                again = self._derived(self._posted("transform", {"source": node, "operator": step.operator}))
                step.repeated(again, self._door)
                self._unused += [(step.door, step.nodes[part]) for part in step.forgotten]
        return place.node

    def _open(self, root: _Step) -> None:
        """Open a door, unless one is open; the root is its first source."""
        opened = of_kind(dict, self._client.call("POST", f"{self._path}/door", {}).plain(), "an opened door")
        self._door = as_text(part_of(opened, "door"), "the name of a door")
        root.repeated(self._derived({"facts": [part_of(opened, "facts")]}), self._door)

    def _forget(self) -> None:
        """Tell the service which sources nothing refers to any more, many at a time."""
        unused = self._unused[:]
        del self._unused[: len(unused)]  # others may have been added meanwhile
        nodes = [node for door, node in unused if door == self._door]
        if nodes and self._door is not None:
            self._posted("forget", {"sources": nodes})

    @staticmethod
    def _derived(reply: Mapping[str, Any]) -> tuple[Facts, ...]:
        texts = of_kind(list, part_of(reply, "facts"), "the derived sources")
        return tuple(decode_facts(as_text(text, "the facts of a source")) for text in texts)

    def __repr__(self) -> str:
        account = self._account
        left = f"ε = {display(account.remaining)} of {display(account.total)} left"
        return f"<kernel at {self._client.address.text}: {self.dataset}; {left}>"


def _unused(unused: list[tuple[str | None, int]], step: _Step, part: int) -> None:
    step.forgotten.add(part)
    unused.append((step.door, step.nodes[part]))


def _written(operator: object, kind: type) -> str:
    """An operator as text, refused if it is not of this kind."""
    text = encode(operator)  # type: ignore[arg-type]
    if not isinstance(operator, kind):
        raise BadInput(f"{type(operator).__name__} is not a {kind.__name__.lower()}.")
    return text


def _without_node(facts: Facts) -> str:
    return encode_facts(replace(facts, node=0))


def _terms(described: Mapping[str, Any], schema: Schema) -> Terms:
    """The terms that a service names; those of the schema where it names none."""
    plain = described.get("terms")
    if plain is None:
        rows, unit = described.get("rows_per_unit", 1), described.get("unit")
        return Terms.of(schema.to_dict(), whole(rows, "rows_per_unit", 1), unit)
    try:
        return Terms.from_plain(plain)
    except (ValueError, TypeError):
        raise ServiceError("the service names no valid terms of its data set. Check its address.") from None
