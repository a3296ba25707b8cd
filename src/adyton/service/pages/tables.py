"""The tables that a visitor may ask about, and what is public about each."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from adyton.schema import Schema
from adyton.schema.misfits import accepts
from adyton.service.pages.own import own_budget
from adyton.service.pages.visits import Page, View, Visit, readable
from adyton.session.remote import RemoteSession


def home(visit: Visit) -> Page:
    """All tables, each with its budget."""
    shown = [_card(described) for described in visit.tables()] if visit.person else []
    return visit.page("home.html.j2", tables=shown)


def table(visit: Visit, table: str) -> Page:
    """What is public about a table, what may be spent on it, and what can be asked."""
    session = visit.session(table)
    own = own_budget(visit, session, table)
    return visit.page("table.html.j2", **frame(session, table), attributes=_attributes(session.schema), own=own)


def frame(session: RemoteSession, table: str) -> dict[str, Any]:
    """What every page about a table shows: its name and its budget."""
    account, waiting = session.kernel.known_budget, session.about.get("waiting", 0)  # as the session began
    budget = budget_of(account.total, account.spent, left=account.remaining)
    return {"table": table, "budget": budget, "unit": session.unit, "waiting": waiting}


def budget_of(
    total: Fraction, spent: Fraction, cost: Fraction = Fraction(0), *, left: Fraction | None = None
) -> dict[str, Any]:
    """A budget in words, and as parts of its bar; *cost* is what the next request would spend. Less may be *left* than
    was not spent, where a part is set aside for others."""
    left = total - spent if left is None else left
    share = {
        name: float(100 * min(Fraction(1), amount / total)) if total else 0.0
        for name, amount in {"spent_share": spent, "cost_share": min(cost, max(Fraction(0), left))}.items()
    }
    amounts = {"total": total, "spent": spent, "left": left, "cost": cost}
    return {name: readable(amount) for name, amount in amounts.items()} | share | {"enough": cost <= left}


def _card(described: Mapping[str, Any]) -> dict[str, Any]:
    name = str(described["dataset"])
    if "schema" not in described:
        return {"name": name, "open": False}
    budget = described["budget"]
    names = list(described["cells"])
    return {
        "name": name,
        "open": True,
        "budget": budget_of(Fraction(budget["total"]), Fraction(budget["spent"]), left=Fraction(budget["remaining"])),
        "attributes": names,
        "unit": described["unit"],
    }


def _attributes(schema: Schema) -> list[dict[str, str]]:
    return [
        {"name": name, "kind": attribute.kind, "accepts": accepts(attribute)}
        for name, attribute in schema.attributes.items()
    ]


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/"): home,
    ("GET", "/tables/{table}"): table,
}
