"""How the rows of a *public* table fit its schema: exact counts, examples, and the keys that would help.

Only for tables that anybody may see, such as a public sample of a private table: what it tells is not private.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any

from adyton.kernel.counting import open_table
from adyton.kernel.counting.row_codes import rows_beside_codes
from adyton.kernel.reading.texts import Amounts
from adyton.schema import Categorical, Integer, Numeric, Reading, Schema
from adyton.schema.attributes import CelledAttribute
from adyton.schema.misfits import misfits_of

_EXAMPLES = 5
_KEPT = 10_000
_SIGNS = ("$", "€", "£", "¥", "%", "USD", "EUR", "CHF", "GBP")
_WAYS = ((None, "."), (",", "."), (".", ","), (None, ","), (" ", "."), (" ", ","), ("'", "."))


@dataclass(frozen=True)
class Fit:
    """How the rows of a public table fit one attribute."""

    attribute: str
    rows: int
    fitting: int
    misfits: tuple[tuple[str, str, int], ...]
    """For each way not to fit: the reason, what becomes of such rows, and how many they are."""
    examples: tuple[str, ...]
    """Values without a cell, the most frequent first."""
    advice: str | None
    """Keys of the schema that would read them."""

    def to_dict(self) -> dict[str, Any]:
        """The same in plain values."""
        plain = asdict(self)
        plain["misfits"] = [{"reason": reason, "fate": fate, "rows": rows} for reason, fate, rows in self.misfits]
        return plain


def look_at_public_rows(data: Any, schema: Schema) -> tuple[Fit, ...]:
    """Read every row, and say for each attribute with cells how many fit, which do not, and what would help."""
    table = open_table(data, schema)
    celled = {name: one for name, one in table.schema.attributes.items() if isinstance(one, CelledAttribute)}
    if not celled:
        return ()
    schema = schema.with_attributes(celled)
    strange, found = _without_cells(data, schema), []
    for name, attribute in celled.items():
        misfits = misfits_of(schema, [name])
        fitting, *others = table.misfits(misfits).tolist()
        counts = tuple((one.reason, one.fate, rows) for one, rows in zip(misfits, others, strict=True) if rows)
        examples = tuple(text for text, _ in strange[name].most_common(_EXAMPLES))
        advice = _advice(attribute, list(strange[name])) if examples else None
        found.append(Fit(name, fitting + sum(others), fitting, counts, examples, advice))
    return tuple(found)


def _without_cells(data: Any, schema: Schema) -> dict[str, Counter[str]]:
    """For each attribute the values that have no cell of their own, as texts, and how often they are there."""
    attributes = {
        name: replace(one, nulls="drop", outside="drop")
        for name, one in schema.attributes.items()
        if isinstance(one, CelledAttribute)
    }
    columns, strange = (
        [schema.column_of(name) for name in schema.names],
        {name: Counter[str]() for name in schema.names},
    )
    names, batches = rows_beside_codes(data, schema.with_attributes(attributes), keep=True)
    for codes, rows in batches:
        for place, name in enumerate(schema.names):
            if len(strange[name]) < _KEPT and (codes[:, place] < 0).any():
                values = rows.column(names.index(columns[place])).filter(codes[:, place] < 0).to_pylist()
                strange[name].update(str(value) for value in values if value is not None and str(value).strip())
    return strange


def _advice(attribute: CelledAttribute, texts: list[str]) -> str | None:
    """The keys that would read at least half of these texts."""
    if isinstance(attribute, Integer | Numeric):
        unread = [text for text in texts if Amounts.of(attribute.reading).plain(text) is None]
        signs = tuple(sign for sign in _SIGNS if any(sign in text for text in unread))
        ways = [Reading(currency=signs, thousands=thousands, decimal=decimal) for thousands, decimal in _WAYS]
        best = max(ways, key=lambda reading: _share(unread, reading))
        if _share(unread, best) >= 0.5:
            return ", ".join(f"{key} = {_toml(value)}" for key, value in best.to_dict().items()) or None
        return None
    if isinstance(attribute, Categorical) and type(attribute.levels[0]) is str:
        folded = {str(level).casefold().strip() for level in attribute.levels}
        if sum(text.casefold().strip() in folded for text in texts) * 2 >= len(texts):
            return 'case = "ignore", trim = true'
    return None


def _share(texts: list[str], reading: Reading) -> float:
    return sum(Amounts.of(reading).plain(text) is not None for text in texts) / max(1, len(texts))


def _toml(value: object) -> str:
    from adyton.schema.files import toml_value

    return toml_value(value)
