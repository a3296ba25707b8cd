"""The anchor of a ledger: its head in a file outside of it, which never moves back.

A copy that is put in the place of a ledger has forgotten debits, and cannot know it. The anchor knows: it is compared
before every debit, and before it is overwritten, while nobody else can write to the ledger. An anchor that is missing
is an error, because an older ledger would otherwise write it anew. Only a ledger that was just made, and that nothing
was asked of, writes its first anchor by itself.

The first line of the file is the head. The second says what was spent then, so that what a restored copy has forgotten
is debited again when somebody consents to go on with it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from adyton.drafts import replaced
from adyton.errors import BadInput, LedgerError, LedgerMismatch
from adyton.exact import display
from adyton.kernel.ledger.analysts import Balance, read_balance
from adyton.kernel.ledger.changes import ANCHORED, is_recorded, record_once
from adyton.kernel.ledger.records import Debiting, in_shell, read_name, read_terms, write_debit, write_event
from adyton.kernel.ledger.tables import (
    CHAINED,
    Connection,
    Head,
    chain_at,
    current_head,
    has_head,
    last,
    now,
    to_fraction,
    to_text,
)

EVENT = "anchor"
"""The word for going on with another ledger than the anchor's, in events."""
LOST = "earlier answers, which a restored copy of this ledger has forgotten"
"""The operator of a debit that makes up for those that were lost."""
_NEW = timedelta(hours=1)
"""How long a ledger that nothing was asked of is new."""
_LONGEST = 4096


class Anchor(NamedTuple):
    """What an anchor says."""

    head: Head
    spent: Fraction | None = None
    """What was spent then, and the total; None in the anchor of an early version."""
    total: Fraction | None = None
    chains: tuple[str, ...] = ()
    """The digests of entries, events and changes until then."""
    moved: str = ""
    """When that was; empty in the anchor of an early version."""


def name_of(path: Path) -> str:
    """A name for the place of an anchor, which does not say where it is."""
    return hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()


def read_anchor(path: Path) -> Anchor | None:
    """The anchor in a file; None if there is none."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LONGEST)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise LedgerError(f"the anchor {path} cannot be read ({reason}). Check its disk and permissions.") from None
    first, _, second = text.strip().partition("\n")
    try:
        head = Head.parse(first)
        if not second:
            return Anchor(head)
        plain = json.loads(second)
        chains = tuple(str(plain[table]) for table in CHAINED)
        moved = str(plain.get("moved", ""))
        return Anchor(head, to_fraction(plain["spent"]), to_fraction(plain["total"]), chains, moved)
    except Exception:
        raise LedgerError(f"{path} is not the anchor of a ledger. Put the anchor back in its place.") from None


def insist_anchor(connection: Connection, ledger: str, path: Path) -> Anchor:
    """Refuse a ledger that does not have all that its anchor has noted, or whose anchor is missing."""
    anchor, command = read_anchor(path), f"adyton ledger anchor {in_shell(ledger)} {path}"
    if anchor is None:
        way = f"If it is lost, the data owner can consent to go on without it: {command} --accept --consent WHO"
        if not is_recorded(connection, ANCHORED, name_of(path)):
            way = f"Only if {ledger} never had an anchor, write the first: {command}"
        raise LedgerError(f"the anchor {path} of {ledger} is missing. Mount its disk, or put it back. {way}")
    if not has_head(connection, anchor.head):
        found = "; ".join(differences(connection, anchor, read_balance(connection)))
        raise LedgerError(
            f"{ledger} was rolled back or replaced: compared with the anchor {path}, {found}. Nothing is spent. "
            "Restore the ledger that has them, or go on with this one, with the data owner's consent: "
            f"{command} --accept --consent WHO"
        )
    return anchor


def begin_anchor(connection: Connection, ledger: str, path: Path, *, first: bool) -> None:
    """Write an anchor where there is none, unless the ledger had one, or may be an older copy. A person who says that
    it is the *first* is believed."""
    (asked,) = connection.execute("SELECT count(*) FROM requests").fetchone()
    (made,) = connection.execute("SELECT created FROM ledger").fetchone()
    try:
        age = datetime.now(UTC) - datetime.fromisoformat(made)
    except (ValueError, TypeError):
        age = -_NEW
    new = not asked and not last(connection, "entries") and timedelta(0) <= age <= _NEW
    if read_anchor(path) is None and not is_recorded(connection, ANCHORED, name_of(path)) and (new or first):
        write_anchor(connection, path)
    insist_anchor(connection, ledger, path)


def write_anchor(connection: Connection, path: Path) -> Head:
    """Write the head of the ledger into the file, in one step; call it while nobody else can write to the ledger."""
    head, balance = current_head(connection), read_balance(connection)
    numbers = {table: chain_at(connection, table, last(connection, table)) for table in CHAINED}
    spent = {"spent": to_text(balance.spent), "total": to_text(balance.total), "moved": now()}
    more = json.dumps({**spent, **numbers})
    with replaced(path) as draft, draft.open("w", encoding="utf-8") as file:
        file.write(f"{head}\n{more}\n")
        file.flush()
        os.fsync(file.fileno())
    return head


def differences(connection: Connection, anchor: Anchor, balance: Balance) -> Iterator[str]:
    """In which way the ledger is not the one of the anchor, in words."""
    whole = True
    for place, (table, number) in enumerate(zip(CHAINED, anchor.head[:3], strict=True)):
        have = last(connection, table)
        if have < (number or 0):
            whole = False
            yield f"{(number or 0) - have} of its {number} {table} are missing"
        elif anchor.chains and chain_at(connection, table, number or 0) != anchor.chains[place]:
            whole = False
            yield f"its first {number} {table} are others"
    if whole and not has_head(connection, anchor.head):
        yield "its entries and events are others"
    for word, then, here in (("spent", anchor.spent, balance.spent), ("the total", anchor.total, balance.total)):
        if then is None and not has_head(connection, anchor.head):
            yield f"what was {word} then is not known" if word == "spent" else f"{word} then is not known"
        elif then is not None and (here < then or (word != "spent" and here != then)):
            yield f"ε = {display(then)} was {word} then, and {display(here)} is now"


def _shared(connection: Connection, anchor: Anchor) -> Fraction:
    """What the ledger says was spent before its anchor moved last; all of it, where that is not known."""
    later = "SELECT min(number) FROM entries WHERE time > ?"
    query = f"SELECT spent_after FROM entries WHERE number < coalesce(({later}), {2**62}) ORDER BY number DESC LIMIT 1"
    row = connection.execute(query, (anchor.moved or "9",)).fetchone()
    return to_fraction(row[0]) if row else Fraction(0)


def go_on(connection: Connection, ledger: str, number: int, path: Path, consent: str) -> list[str]:
    """Record that somebody consents to go on with this ledger, whatever its anchor says; returns the differences. What
    was spent according to the anchor, and not according to the ledger, is debited: what was spent from the restored
    copy meanwhile is no part of what it has forgotten."""
    anchor, balance = read_anchor(path), read_balance(connection)
    found = ["the anchor is missing"] if anchor is None else list(differences(connection, anchor, balance))
    if anchor is not None and has_head(connection, anchor.head):
        raise BadInput(f"{ledger} has all that the anchor {path} has noted: there is nothing to accept.")
    lost = Fraction(0)
    if anchor is not None and anchor.spent is not None:
        lost = anchor.spent - _shared(connection, anchor)
    if lost > 0:
        if lost > balance.left(None):
            raise LedgerMismatch(
                f"{ledger} has forgotten debits of ε = {display(lost)}, which are debited again, and only "
                f"{display(balance.left(None))} is neither spent nor set aside. Raise the total first, or let analysts "
                f"give up parts: adyton ledger raise {in_shell(ledger)} --total …"
            )
        names = [read_name(connection, number)]
        write_debit(connection, balance, lost, names, LOST, Debiting(number), read_terms(connection, number))
        found.append(f"ε = {display(lost)} is debited again")
    record_once(connection, ANCHORED, name_of(path))
    noted = "none" if anchor is None else f"the head {anchor.head}"
    write_event(connection, EVENT, noted, f"this ledger; {'; '.join(found)}", consent)
    return found
