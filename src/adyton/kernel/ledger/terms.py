"""The terms of a ledger: whom its numbers protect. ε means nothing without the unit that it is spent on.

The terms are the unit, how many rows one unit has at most, and the schema. A ledger takes on the terms of its first
debit and refuses others: 0.1 for people with up to 100 rows and 0.9 for single rows do not add up to 1 for anybody.
They are kept as words and values, so that a further term can be added.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from adyton.errors import BadInput, LedgerMismatch
from adyton.kernel.ledger.records import DamagedError
from adyton.kernel.ledger.writing import write
from adyton.messages import shorten

PARTS = ("unit", "rows_per_unit", "schema")
WORDS = (*PARTS, "terms")
"""What allows a change of each part; the last, that a ledger takes on terms which has spent something without any."""
LARGEST_ROWS = 1 << 63


@dataclass(frozen=True)
class Terms:
    """Whom a budget protects."""

    rows_per_unit: int
    """The most rows that one unit has."""
    schema: str
    """A digest of what is declared about the table."""
    unit: str | None = None
    """What is protected, in a word; None if nobody has said it."""
    enforced: bool = field(default=False, compare=False)
    """Whether a column of the table says whose row it is, so that no unit ever counted for more rows than allowed."""

    @classmethod
    def of(cls, declared: Mapping[str, Any], rows_per_unit: int, unit: str | None = None) -> Terms:
        """The terms for a declaration in plain values; the order of its keys does not matter.

        >>> Terms.of({"age": "integer", "sex": "text"}, 1) == Terms.of({"sex": "text", "age": "integer"}, 1)
        True
        """
        column = declared.get("unit")
        unit = column if unit is None else unit
        if unit is not None and (not isinstance(unit, str) or not unit.strip() or not unit.isprintable()):
            raise BadInput(f'unit must be a word for what is protected, like "patient", given {shorten(unit)}.')
        if rows_per_unit > LARGEST_ROWS:
            raise BadInput(f"rows_per_unit must be at most 2^63, given {shorten(rows_per_unit)}.")
        apart = ("rows_per_unit", "rows", "report")  # a term of its own, a guess, and words that change nothing
        content = {name: part for name, part in declared.items() if name not in apart}
        text = json.dumps(content, sort_keys=True, default=str, separators=(",", ":"))
        return cls(rows_per_unit, hashlib.sha256(text.encode()).hexdigest(), unit, enforced=column is not None)

    @property
    def named_unit(self) -> str:
        """What is protected, in words."""
        rows = self.rows_per_unit
        return self.unit or ("row" if rows == 1 else f"person with up to {rows} rows")

    def shown(self, part: str) -> str:
        """A part of the terms as people read it."""
        return {"unit": self.named_unit, "rows_per_unit": str(self.rows_per_unit), "schema": self.schema[:12]}[part]

    def __str__(self) -> str:
        return ", ".join(f"{part} {self.shown(part)}" for part in PARTS)


def given_terms(kept: Terms | None, asked: Terms) -> Terms:
    """What is asked for, with the unit that the ledger names where the asker names none."""
    return replace(asked, unit=kept.unit) if kept is not None and asked.unit is None else asked


def read_terms(connection: sqlite3.Connection) -> Terms | None:
    """The terms that a ledger has taken on; None for one that has none yet."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'terms'").fetchone()
    parts = dict(connection.execute("SELECT part, value FROM terms").fetchall()) if found else {}
    if not parts:
        return None
    rows = parts.get("rows_per_unit", "")
    if not isinstance(rows, str) or not rows.isdecimal() or "schema" not in parts:
        raise DamagedError("its terms are incomplete")
    return Terms(int(rows), str(parts["schema"]), parts.get("unit"))


def write_terms(connection: sqlite3.Connection, terms: Terms) -> None:
    """Take on these terms."""
    values = {"unit": terms.unit, "rows_per_unit": str(terms.rows_per_unit), "schema": terms.schema}
    for part, value in values.items():
        if value is not None:
            write(connection, "INSERT OR REPLACE INTO terms (part, value) VALUES (?, ?)", (part, value))


def take_on(connection: sqlite3.Connection, name: str, terms: Terms, *, used: bool) -> None:
    """Insist that a debit is for the ledger's own terms; one that has none yet takes on those of the debit.

    One that was *used* before there were terms does not: nobody knows whom its earlier debits protect.
    """
    kept = read_terms(connection)
    if kept is None:
        if used:
            refuse_unknown(name)
        write_terms(connection, terms)
        return
    for part in differences(kept, terms):
        refuse(name, part, kept, terms)


def differences(kept: Terms, asked: Terms) -> Iterator[str]:
    """The parts in which the terms differ."""
    asked = given_terms(kept, asked)
    if kept.unit != asked.unit and kept.named_unit != asked.named_unit:
        yield "unit"
    if kept.rows_per_unit != asked.rows_per_unit:
        yield "rows_per_unit"
    if kept.schema != asked.schema:
        yield "schema"


def refuse(name: str, part: str, kept: Terms, asked: Terms) -> None:
    """The error for a part of the terms that differs and that no word accepts."""
    old, new = kept.shown(part), asked.shown(part)
    differs = {
        "unit": f"protects the unit {old!r}, and is asked to protect the unit {new!r}",
        "rows_per_unit": f"counts up to {old} row(s) for each unit, and is asked to count up to {new} (rows_per_unit)",
        "schema": f"belongs to another schema (its digest begins {old}) than the one given ({new})",
    }[part]
    raise LedgerMismatch(
        f"{name} {differs}: what it has spent would no longer mean the same. Use what it was made for, or another "
        f"ledger. (With the data owner's consent, accept={{'{part}'}} in Python or --accept {part} on the command line "
        "changes and records it.)"
    )


def refuse_unknown(name: str) -> None:
    """The error for a ledger that has spent something on units that it does not name."""
    raise LedgerMismatch(
        f"{name} was written by an early version, which did not record the unit, rows_per_unit and the schema of what "
        "it has spent. Use another ledger. (With the data owner's consent, if the earlier answers were for what is "
        "asked for now, accept={'terms'} in Python or --accept terms on the command line says so and records it.)"
    )
