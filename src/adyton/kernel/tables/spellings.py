"""How a value of a frame finds its level among texts, whatever its library made of the column.

A library infers the type of a column from all of its rows: ``true`` is a boolean until one row says ``maybe``, ``007``
is a number until one says ``abc``, a date becomes a time when one row has an hour. What it read is written back as a
text that need not be the one in the file. So a text, and the number, boolean, date or time that it can be read as, are
one value here: the level that spells it.

Claim.  A row's level depends on that row alone, and is the same for each type that the column may have been given.
Proof.  All spellings of a value have the same reading, and a reading has one level. A text that is itself a level stays
what it is; only where several levels are one value, such as 7 and 007, does the type count.  ∎
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, time
from functools import cache
from typing import Any

from adyton.kernel.sealed import quietly
from adyton.kernel.tables.columns import holds_levels, short_text
from adyton.kernel.tables.plain_columns import text_of
from adyton.schema import Attribute, Categorical

_EXACT = 1 << 53
_CLOCK = r"\d\d:\d\d(:\d\d(\.\d{1,6}0*)?)?"
_TIME = re.compile(_CLOCK, re.ASCII)
_MOMENT = re.compile(rf"\d{{4}}-\d\d-\d\d([T ]{_CLOCK}(Z|[+-]\d\d(:?\d\d)?)?)?", re.ASCII)


def spelled(column: Any, attribute: Attribute) -> Any:
    """A column of texts as the levels of its attribute spell them; what is no level stays as it is."""
    if not isinstance(attribute, Categorical) or not holds_levels(attribute, str):
        return column
    levels = tuple(map(str, attribute.levels))
    return _speller(levels)(short_text(column)) if any(reading(level) is not None for level in levels) else column


@cache
def _speller(levels: tuple[str, ...]) -> Any:
    """A function of the engine, which runs on whole vectors of texts inside its pass and cannot fail."""
    import ibis
    import pyarrow

    known = {level: level for level in levels}
    for level in levels:
        read = reading(level)
        if read is not None:
            known.setdefault(f"\0{read}", level)  # behind a sign that keeps it apart from the levels

    def spell(values: Any) -> Any:
        if isinstance(values, pyarrow.ChunkedArray):
            values = values.combine_chunks()
        encoded = values.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        found = [known.get(text) or known.get(f"\0{reading(text)}", text) for text in texts]
        return pyarrow.array(found, pyarrow.string()).take(encoded.indices)

    name = f"spell_{hashlib.sha256(repr(levels).encode()).hexdigest()[:16]}"
    return ibis.udf.scalar.pyarrow(spell, name=name, signature=(("string",), "string"))


def reading(text: str) -> str | None:
    """One text for all spellings of a boolean, a number up to 2^53, a date or a time; None for every other text.

    >>> [reading(text) for text in ("TRUE", "007", "1.50", "2020-01-31", "2020-01-31T11:00+01:00", "10:00", "A7")]
    ['true', '7', '1.5', '2020-01-31 00:00:00', '2020-01-31 10:00:00+00:00', '10:00:00', None]
    """
    return quietly(lambda: _reading(text.strip()))


def _reading(text: str) -> str | None:
    if text.lower() in ("true", "false"):
        return text.lower()
    if _TIME.fullmatch(text):
        return str(time.fromisoformat(text))
    if _MOMENT.fullmatch(text):
        moment = datetime.fromisoformat(text)
        return str(moment if moment.tzinfo is None else moment.astimezone(UTC))
    if "_" in text or not text.isascii():
        return None
    number = float(text)
    return text_of(number) if abs(number) <= _EXACT or number in (float("inf"), float("-inf")) else None
