"""Analysts: who may spend how much of one total.

An analyst may have a *part*, which is the most that they may spend; a part may be *set aside*, and then nobody else can
spend it. The curator is one without a part.

Claim.  What was spent never exceeds the total, and whoever has a part set aside can always spend the rest of it.
Proof.  Let *committed* be what was spent, plus the rest of each part that is set aside. At the start, and after a
change of a part or of the total, it is at most the total: other changes are refused. A debit from a part that is set
aside moves a sum from that rest to what was spent, and is at most that rest, so that *committed* stays. Any other debit
is at most the total less *committed*, and increases *committed* by as much. What was spent is at most *committed*.  ∎
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import NamedTuple

from adyton.errors import BadInput, LedgerMismatch
from adyton.exact import Rational, budget, display, exact
from adyton.kernel.ledger.changes import read_total, record
from adyton.kernel.ledger.tables import Connection, DamagedError, to_fraction, to_text, write
from adyton.messages import shorten

_LONGEST_NAME = 64


@dataclass(frozen=True)
class Analyst:
    """Somebody who asks, and what they may spend."""

    name: str
    part: Fraction | None = None
    """The most that they may spend; None: whatever is left for all."""
    aside: bool = False
    """Whether nobody else can spend their part."""
    spent: Fraction = Fraction(0)
    expires: str | None = None
    """The last day, in UTC, on which they may spend."""

    @property
    def rest(self) -> Fraction:
        """What is left of their part; 0 if they have none."""
        return max(Fraction(0), (self.part or Fraction(0)) - self.spent)

    @property
    def expired(self) -> bool:
        """Whether their last day is over."""
        return self.expires is not None and datetime.now(UTC).date().isoformat() > self.expires

    def __str__(self) -> str:
        part = "no part of their own" if self.part is None else f"a part of {display(self.part)}"
        return f"{self.name}: {part}{', set aside' * self.aside}{f', until {self.expires}' if self.expires else ''}"


class Balance(NamedTuple):
    """The numbers that a debit reads and rewrites."""

    total: Fraction
    spent: Fraction
    analysts: Mapping[str, Analyst]

    @property
    def committed(self) -> Fraction:
        """What was spent, and what is set aside beyond that."""
        return self.spent + sum((own.rest for own in self.analysts.values() if own.aside), Fraction(0))

    def left(self, analyst: Analyst | None) -> Fraction:
        """What an analyst may still spend; None is the curator."""
        common = max(Fraction(0), self.total - self.committed)
        if analyst is None:
            return common
        if analyst.expired:
            return Fraction(0)
        if analyst.part is None:
            return common
        return analyst.rest if analyst.aside else min(analyst.rest, common)


def read_balance(connection: Connection) -> Balance:
    """The total, what was spent of it, and the analysts."""
    total = read_total(connection)
    (text,) = connection.execute("SELECT spent FROM ledger").fetchone()
    row = connection.execute("SELECT spent_after FROM entries ORDER BY number DESC LIMIT 1").fetchone()
    spent = to_fraction(text)
    if spent != (to_fraction(row[0]) if row else 0):
        raise DamagedError("the sum of the debits differs from the amount spent in the account")
    return Balance(total, spent, {own.name: own for own in read_analysts(connection)})


def read_analysts(connection: Connection) -> tuple[Analyst, ...]:
    """All analysts, by name."""
    rows = connection.execute("SELECT name, part, aside, spent, expires FROM analysts").fetchall()
    found = []
    for name, part, aside, spent, expires in rows:
        texts = isinstance(name, str) and isinstance(expires, str | None)
        if not texts or aside not in (0, 1) or (aside and part is None):
            raise DamagedError("an analyst has a value of the wrong type")
        own = None if part is None else to_fraction(part)
        found.append(Analyst(name, own, bool(aside), to_fraction(spent), expires))
    return tuple(sorted(found, key=lambda analyst: analyst.name))


def known_analyst(analysts: Mapping[str, Analyst], name: str | None, ledger: str) -> Analyst | None:
    """The analyst of that name, or an error; None is the curator."""
    if name is not None and name not in analysts:
        raise BadInput(f"{ledger} has no analyst {shorten(name)}. The curator adds one with ledger.set_analyst.")
    return None if name is None else analysts[name]


def stored_name(analyst: str | None) -> str:
    """The name of an analyst as the requests of a ledger have it: empty for the curator, who is None, and for nobody
    else.

    >>> stored_name(None)
    ''
    """
    if analyst is not None and (not isinstance(analyst, str) or not analyst.strip()):
        raise BadInput(f"an analyst has a name, and the curator is None, given {shorten(analyst)}.")
    return "" if analyst is None else analyst


def checked_analyst(name: object, part: object, aside: object, expires: object) -> Analyst:
    """An analyst with these values, or an error."""
    if (
        not isinstance(name, str)
        or not name
        or name != name.strip()
        or not name.isprintable()
        or len(name) > _LONGEST_NAME
        or ":" in name
    ):
        raise BadInput(
            f"an analyst has a name of 1 to {_LONGEST_NAME} characters, without a colon and without spaces around it, "
            f"given {shorten(name)}."
        )
    if not isinstance(aside, bool) or (aside and part is None):
        raise BadInput(f"aside is True to set a part aside, and then part says how much, given {shorten(aside)}.")
    if isinstance(expires, str):
        with suppress(ValueError):
            expires = date.fromisoformat(expires)
    if expires is not None and (not isinstance(expires, date) or isinstance(expires, datetime)):
        raise BadInput(f"expires is the last day on which they may spend, like 2027-01-31, given {shorten(expires)}.")
    own = None if part is None else checked_part(part)
    return Analyst(name, own, aside, expires=None if expires is None else expires.isoformat())


def checked_part(part: object) -> Fraction:
    """The most that somebody may spend; 0 is allowed, and means nothing more."""
    given: Rational = part  # type: ignore[assignment]
    return Fraction(0) if not exact(given, "part") else budget(given, "part")


def write_analyst(connection: Connection, name: str, asked: Analyst) -> tuple[str, str] | None:
    """Add an analyst or change what they may spend; returns what it was and is, in words, or None if it was so before.
    *name* is the ledger's."""
    balance = read_balance(connection)
    before = balance.analysts.get(asked.name)
    after = Analyst(asked.name, asked.part, asked.aside, before.spent if before else Fraction(0), asked.expires)
    if after == before:
        return None
    if after.aside and after.part is not None and after.part < after.spent:
        raise LedgerMismatch(
            f"{after.name} has spent {display(after.spent)} of {name}, more than a part of {display(after.part)}. Set "
            "aside at least as much."
        )
    others = {**balance.analysts, after.name: after}
    if Balance(balance.total, balance.spent, others).committed > balance.total:
        free = Balance(balance.total, balance.spent, {**others, after.name: Analyst(after.name)})
        most = free.left(None) + after.spent
        raise LedgerMismatch(
            f"{name} cannot set aside {display(after.part or Fraction(0))} for {after.name}: of its total of "
            f"{display(balance.total)}, at most {display(most)} is neither spent by others nor set aside for them."
        )
    write(
        connection,
        "INSERT INTO analysts (name, part, aside, spent, expires) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE"
        " SET part = excluded.part, aside = excluded.aside, expires = excluded.expires",
        (after.name, None if after.part is None else to_text(after.part), int(after.aside), "0/1", after.expires),
    )
    record(connection, "analyst", after.name)
    return str(before) if before else f"{after.name}: not an analyst", str(after)
