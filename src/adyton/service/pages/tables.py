"""The tables that a visitor may ask about, and what is public about each."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from adyton import odds
from adyton.exact import display, exact
from adyton.schema import Schema
from adyton.schema.misfits import accepts
from adyton.service.pages.requests import STATES, Place, listed, own_name, question_of
from adyton.service.pages.visits import Page, View, Visit, readable
from adyton.session.remote import RemoteSession

_LAST = 5


def home(visit: Visit) -> Page:
    """All tables, each with its budget."""
    shown = [_card(described) for described in visit.tables()] if visit.person else []
    return visit.page("home.html.j2", tables=shown)


def table(visit: Visit, table: str) -> Page:
    """What is public about a table, what may be spent on it, and what can be asked."""
    session = visit.session(table)
    return visit.page(
        "table.html.j2",
        **frame(session, table),
        attributes=_attributes(session.schema),
        counts_misfits=session.kernel.root.from_text,
        odds=_odds(session) if visit.person.is_curator else "",
        own=_own(visit, session, table),
    )


def _odds(session: RemoteSession) -> str:
    """What all answers of the ledger together can tell, so far and at the end."""
    account = session.kernel.known_budget
    so_far = f"{odds.often(account.spent)} from all answers of this ledger so far, and " if account.spent else ""
    start = f"An attacker who starts at 50% on whether a certain {session.unit} is in the table"
    return f"{start} {so_far}{odds.often(account.total)} when all of its total is spent."


def frame(session: RemoteSession, table: str) -> dict[str, Any]:
    """What every page about a table shows: its name and its budget."""
    account, waiting = session.kernel.known_budget, session.about.get("waiting", 0)  # as the session began
    budget = budget_of(account.total, account.spent, left=account.remaining)
    return {"table": table, "budget": budget, "unit": session.unit, "waiting": waiting}


def budget_of(
    total: Fraction, spent: Fraction, cost: Fraction = Fraction(0), *, left: Fraction | None = None
) -> dict[str, Any]:
    """A budget in words, and as parts of its bar; *cost* is what the next request would spend. Less may be *left* than
    was not spent: *others* have spent the rest, or it is set aside for them."""
    left = total - spent if left is None else left
    usable = max(Fraction(0), left)
    others = max(Fraction(0), total - spent - usable)
    share = {
        name: float(100 * min(Fraction(1), amount / total)) if total else 0.0
        for name, amount in {"spent_share": spent, "others_share": others, "cost_share": min(cost, usable)}.items()
    }
    amounts = {"total": total, "spent": spent, "others": others, "left": left, "cost": cost}
    return {name: readable(amount) for name, amount in amounts.items()} | share


def amount_of(plain: Mapping[str, Any], name: str) -> Fraction | None:
    """An exact amount, if there is one."""
    value = plain.get(name)
    return None if value is None else exact(value, name, computed=True)


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


def _own(visit: Visit, session: RemoteSession, table: str) -> dict[str, Any]:
    """Under which terms the visitor asks, and their last requests, the latest first."""
    grant = session.about.get("grant") or {}
    part = amount_of(grant, "part")
    rows = [row for row in listed(visit, table) if row["analyst"] == own_name(visit)]
    return {
        "part": "" if part is None else display(part),
        "aside": bool(grant.get("aside")),
        "expires": grant.get("expires") or "",
        "consent": consent_of(grant),
        "asked": len(rows),
        "waiting": sum(row["status"] == "waiting" for row in rows),
        "last": [
            {
                "question": question_of(row["request"]),
                "status": row["status"],
                "state": STATES.get(row["status"], row["status"]),
                "made": str(row["made"])[:10],
                "path": Place.of_row(visit, table, row).path(),
            }
            for row in rows[:_LAST]
        ],
    }


def consent_of(grant: Mapping[str, Any]) -> str:
    """Which requests of an analyst wait for a curator's consent, in words; empty if none does.

    >>> consent_of({"consent_above": "1/10", "consent_total": "1/2"})
    'above ε = 0.1, or beyond ε = 0.5 in all'
    """
    above, total = amount_of(grant, "consent_above"), amount_of(grant, "consent_total")
    each = [] if above is None else [f"above ε = {display(above)}"]
    return ", or ".join(each if total is None else [*each, f"beyond ε = {display(total)} in all"])


def _attributes(schema: Schema) -> list[dict[str, str]]:
    return [
        {"name": name, "kind": attribute.kind, "accepts": accepts(attribute)}
        for name, attribute in schema.attributes.items()
    ]


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/"): home,
    ("GET", "/tables/{table}"): table,
}
