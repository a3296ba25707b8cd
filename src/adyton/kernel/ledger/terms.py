"""The terms of a ledger: whom its numbers protect. ε has no meaning without its unit.

The terms are the unit, the largest number of rows of a unit, and the schema. A ledger adopts the terms of its first
debit and refuses others: 0.1 for people with up to 100 rows and 0.9 for single rows do not add up to 1 for anybody.
They are stored as names and values, so that further terms can be added. Every debit keeps the terms under which it was
made: if a ledger adopts others, each debit is judged by its own terms.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

from adyton.errors import BadInput
from adyton.messages import listing, shorten

PARTS = ("unit", "rows_per_unit", "schema")
WORDS = (*PARTS, "terms")
"""The words that allow a change of each part; the last allows a ledger that has spent without terms to adopt some."""
ADD = "add dataset"
"""The word that allows another data set to join a ledger."""
LARGEST_ROWS = 1 << 63
_LONGEST_DECLARATION = 1 << 20
NOT_RECORDED = ""
"""In place of a column, in ledgers of earlier formats, which do not record whether a column enforced the unit."""


@dataclass(frozen=True)
class Terms:
    """Whom a budget protects."""

    rows_per_unit: int
    """The largest number of rows of a unit."""
    schema: str
    """A digest of the declaration of the table."""
    unit: str | None = None
    """A word for what is protected; None if it was never given."""
    column: str | None = None
    """The column that names the unit of each row, so that no unit ever counted for more rows than allowed. None if no
    column enforces that; empty if it is not recorded."""
    files: str = field(default="", compare=False)
    """A line for each public file from which levels were read: its digest and its name. The schema's digest covers the
    levels themselves; this line lets a refusal say which file has changed."""
    declared: str = field(default="", compare=False)
    """The declaration itself as JSON, which is public: it says what differs, and brings back a schema that was lost.
    Empty if it is too long, or if an early version wrote the ledger."""

    @classmethod
    def of(
        cls,
        declared: Mapping[str, Any],
        rows_per_unit: int,
        unit: str | None = None,
        files: Mapping[str, str] = MappingProxyType({}),
    ) -> Terms:
        """The terms for a declaration in plain values; the order of its keys does not matter. *files* has the digests
        of the files from which levels were read, by file name.

        >>> Terms.of({"age": "integer", "sex": "text"}, 1) == Terms.of({"sex": "text", "age": "integer"}, 1)
        True
        """
        column = declared.get("unit")
        unit = column if unit is None else unit
        if unit is not None and (not isinstance(unit, str) or not unit.strip() or not unit.isprintable()):
            raise BadInput(f'unit must be a word for what is protected, like "patient", given {shorten(unit)}.')
        if rows_per_unit > LARGEST_ROWS:
            raise BadInput(f"rows_per_unit must be at most 2^63, given {shorten(rows_per_unit)}.")
        apart = ("rows_per_unit", "rows", "report")  # the first is a separate term, the others change no answer
        content = {name: part for name, part in declared.items() if name not in apart}
        text = json.dumps(content, sort_keys=True, default=str, separators=(",", ":"))
        lines = "\n".join(f"{digest} {name}" for name, digest in files.items())
        kept = text if len(text) <= _LONGEST_DECLARATION else ""
        return cls(rows_per_unit, hashlib.sha256(text.encode()).hexdigest(), unit, column, lines, kept)

    @classmethod
    def from_plain(cls, plain: Any) -> Terms:
        """The terms that :meth:`to_plain` wrote; anything else is a ValueError."""
        if not isinstance(plain, dict) or plain.keys() != {"unit", "rows_per_unit", "schema", "column"}:
            raise ValueError("no terms")
        terms = cls(**plain)
        texts = isinstance(terms.schema, str) and all(
            part is None or isinstance(part, str) for part in (terms.unit, terms.column)
        )
        if not texts or type(terms.rows_per_unit) is not int or not 1 <= terms.rows_per_unit <= LARGEST_ROWS:
            raise ValueError("no terms")
        return terms

    def to_plain(self) -> dict[str, Any]:
        """As plain values for JSON, without the files and the declaration: the schema's digest covers both."""
        return {name: value for name, value in asdict(self).items() if name not in ("files", "declared")}

    @property
    def named_unit(self) -> str:
        """What is protected, in words."""
        rows = self.rows_per_unit
        return self.unit or ("row" if rows == 1 else f"person with up to {rows} rows")

    def shown(self, part: str) -> str:
        """A part of the terms as people read it."""
        return {"unit": self._shown_unit, "rows_per_unit": str(self.rows_per_unit), "schema": self.schema[:12]}[part]

    @property
    def _shown_unit(self) -> str:
        return self.named_unit if not self.column else f"{self.named_unit} (by the column {self.column})"

    def __str__(self) -> str:
        return ", ".join(f"{part} {self.shown(part)}" for part in PARTS)

    def times(self, asked: Terms) -> int:
        """The factor by which an amount spent under these terms counts for the units of the terms *asked* for.

        Claim.  An answer that cost ε under these terms is (times · ε)-private for one unit under those asked for.
        Proof.  If both cut the table by the same column, their units are the same, so ε is the cost of any change of a
        unit. Otherwise a unit asked for is counted as a change of at most k rows, its rows_per_unit. If the table was
        not cut for the answer, ε covers a change of up to rows_per_unit rows, and k rows are ⌈k/rows_per_unit⌉ such
        changes. If it was cut by another column, each of the k rows belongs to one unit of that column; the rows kept
        of this unit are removed, and those kept of it afterwards are added, for ε each: 2k.  ∎

        If the rows of the unit asked for were not yet cut to k, that answer protects units with more rows less; a
        report of the ledger says so.

        >>> Terms(2, "s").times(Terms(5, "s")), Terms(1, "s", "who", "who").times(Terms(3, "s"))
        (3, 6)
        """
        column = recorded(self, asked).column
        if column is None:
            return -(-asked.rows_per_unit // self.rows_per_unit)
        return 1 if column != NOT_RECORDED and column == asked.column else 2 * asked.rows_per_unit


def given_terms(kept: Terms | None, asked: Terms) -> Terms:
    """The terms asked for, with the ledger's own unit if they name no unit and no column enforces it."""
    if kept is None or asked.unit is not None:
        return asked
    named = replace(asked, unit=kept.unit)
    return named if recorded(kept, named).column is None else asked


def recorded(kept: Terms, asked: Terms) -> Terms:
    """Terms of an earlier format, with the column of the terms asked for if unit and schema are the same."""
    same = kept.column == NOT_RECORDED and kept.schema == asked.schema and kept.unit == asked.unit
    return replace(kept, column=asked.column) if same else kept


def differences(kept: Terms, asked: Terms) -> Iterator[str]:
    """The parts in which the terms differ. A unit that a column enforces differs from a mere word for it."""
    named = kept.unit == asked.unit or kept.named_unit == asked.named_unit
    if not named or recorded(kept, asked).column != asked.column:
        yield "unit"
    if kept.rows_per_unit != asked.rows_per_unit:
        yield "rows_per_unit"
    if kept.schema != asked.schema:
        yield "schema"


def declared_differences(kept: Terms, asked: Terms) -> list[str]:
    """What a declaration says otherwise than that of the ledger, as far as both are known.

    >>> declared_differences(Terms.of({"attributes": {"age": {"max": 9}}}, 1),
    ...                      Terms.of({"attributes": {"age": {"max": 12}, "sex": {}}}, 1))
    ['age: max was 9, now 12', 'sex was not there']
    """
    if not kept.declared or not asked.declared:
        return []
    old, new = (_flat(json.loads(terms.declared)) for terms in (kept, asked))
    lines = []
    for name in dict.fromkeys([*old, *new]):
        if name not in new or name not in old:
            lines.append(f"{name} was {'' if name in old else 'not '}there")
            continue
        before, now = old[name], new[name]
        parts = [key for key in dict.fromkeys([*before, *now]) if before.get(key) != now.get(key)]
        told = [f"{key} was {_shown(before.get(key))}, now {_shown(now.get(key))}" for key in parts]
        lines += [f"{name}: {'; '.join(told)}"] if told else []
    return lines


def _flat(declared: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A declaration by attributes; what is about the whole table comes first."""
    attributes = declared.pop("attributes", {})
    return {"the table": declared, **(attributes if isinstance(attributes, dict) else {})}


def _shown(value: Any) -> str:
    return "not given" if value is None else shorten(value)


def accepted(accept: object, words: Sequence[str]) -> frozenset[str]:
    """The given words, checked against the *words* that allow a change of a ledger's terms."""
    named = isinstance(accept, Collection) and all(isinstance(word, str) and word in words for word in accept)
    if isinstance(accept, str) or not isinstance(accept, Collection) or not named:
        raise BadInput(
            f"accept may contain the words {listing(words)}, given {shorten(accept)}. Write accept={{{words[0]!r}}}."
        )
    return frozenset(accept)


def checked_text(value: object, name: str) -> str:
    """A text that can be stored, or an error."""
    if not isinstance(value, str) or not value.strip():
        raise BadInput(
            f"{name} must be a text with at least one character that is not a space, given {shorten(value)}."
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{name} must be a text that can be written as UTF-8, given {shorten(value)}.") from None
    return str(value)
