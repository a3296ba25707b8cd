"""What texts stand for, where rows stay in an engine that cannot call functions of ours: in expressions of its own.

Claim.  What becomes of a row's text is what :meth:`Translation.translate` makes of it, a total function of that text.
Proof.  Texts are trimmed by a list of signs, cut, and folded by :mod:`adyton.kernel.tables.folding`, over an alphabet
that holds all signs of the texts that they are compared with. What a text is, or is read as, is looked up in tables
that were made from the schema and from public files before any row was read. Every key is there once, and every row is
kept, so that one row stays one.  ∎
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import Engine
from adyton.kernel.tables.blanks import BLANKS, stripped
from adyton.kernel.tables.columns import short_text
from adyton.kernel.tables.folding import folding, spellings_of
from adyton.kernel.tables.translating import NONE, Known, Translation
from adyton.kernel.tables.written_numbers import LETTERS
from adyton.messages import shorten
from adyton.remembered import cached_property
from adyton.schema import Attribute, Identifier

_TRUTHS = ("true", "false")
_PARTS = ("key", "whole", "found", "by_number", "by_truth", "stray")
"""The ends of the names of columns that are made on the way to an outcome."""
_OUTSIDE = "\2"
"""Stands for the text itself, where a look-up has a value that is no level."""
_FEW = 8
"""So many texts are compared one by one; more of them are joined."""
_MOST = 200_000
"""Texts are part of every query."""


@dataclass(frozen=True)
class Words:
    """A column of texts to translate."""

    text: Any
    """The column, as an expression of its table."""
    attribute: Attribute
    translation: Translation


def with_words(table: Any, words: Mapping[str, Words], engine: Engine) -> Any:
    """The table with columns of translated texts more. Step by step for all of them, so that each is computed once."""
    if not words:
        return table
    kept = table.columns
    paths = [_Path(name, one.attribute, one.translation, engine) for name, one in words.items()]
    table = engine.fenced(table.mutate(**{name: short_text(one.text) for name, one in words.items()}))
    for works in zip_longest(*(path.works() for path in paths)):
        found = [work(table) for work in works if work is not None]
        table = engine.fenced(table.mutate(**{name: column for columns in found for name, column in columns.items()}))
    for path in paths:
        for name, key, known, kind in path.tables():
            table = _found(table, f"{path.name}_{name}", table[path.name + key], known, kind, engine)
    return engine.fenced(table.select(*kept, **{path.name: path.outcome(table) for path in paths}))


@dataclass(frozen=True)
class _Path:
    """One column on its way."""

    name: str
    attribute: Attribute
    translation: Translation
    engine: Engine

    def works(self) -> Iterator[Callable[[Any], dict[str, Any]]]:
        """The columns that are made, one after the other: the text to compare, all of it, and the number that it is."""
        reading, name = self.translation.reading, self.name
        apart = reading.first is not None and self.translation.words
        columns = {f"{name}_key": reading.first, **({f"{name}_whole": None} if apart else {})}
        yield lambda table: {one: self._cut(table[name], first) for one, first in columns.items()}
        if reading.case == "ignore":
            for fold in folding(self._alphabet, self.engine):
                yield partial(_folded, fold, tuple(columns))
        if any(self._readings.values()):
            yield lambda table: {f"{name}_bare": stripped(table[f"{name}_key"], BLANKS, self.engine).lower()}
            yield lambda table: {f"{name}_number": self._number(table[f"{name}_bare"])}

    def _cut(self, text: Any, first: int | None) -> Any:
        trim = self.translation.reading.trim
        text = text if trim is False else stripped(text, BLANKS if trim else " ", self.engine)
        return text if first is None else text.left(first)

    def _number(self, bare: Any) -> Any:
        """As Python reads a number, which has no gaps and one sign."""
        import ibis

        plain = ~bare.contains("_") & ~bare.startswith("+-")
        return self.engine.number(ibis.ifelse(plain, bare, ibis.null("string")))

    @cached_property
    def _known(self) -> Known | None:
        """What texts become, by way of the look-up, if there is one."""
        values, levels, whole = self.translation.values, self.translation.levels, self.translation.whole
        if values is None or levels is None:
            return levels if values is None else values.then(lambda value: value.replace("\0", "\ufffd"))
        return values.then(lambda value: levels.get(whole.normal(value)) or _OUTSIDE)

    @property
    def _alphabet(self) -> frozenset[str] | None:
        """All signs of the texts that are compared; None where any text may come out."""
        known = self._known
        if known is None and isinstance(self.attribute, Identifier):
            return None
        signs = {*LETTERS, *"truefalse", *"".join(self.translation.words), *"".join(known.texts if known else ())}
        currency = {other for sign in "".join(self.attribute.reading.currency) for other in spellings_of(sign)}
        return frozenset(signs.union(*(sign.casefold() for sign in currency)))

    @cached_property
    def _readings(self) -> dict[str, dict[Any, str]]:
        """What numbers and booleans become; an error where dates do."""
        known = self._known
        found: dict[str, dict[Any, str]] = {"number": {}, "truth": {}}
        for reading, value in known.readings.items() if known else ():
            if reading in _TRUTHS:
                found["truth"][reading] = value
                continue
            try:
                found["number"][float(reading)] = value
            except ValueError:
                raise SchemaError(
                    f"levels or keys that are dates or times, such as {shorten(reading)}, are for files, frames and "
                    f"DuckDB, not for {self.engine.title}, because they have other spellings. Declare a date instead."
                ) from None
        return found

    @cached_property
    def _strays(self) -> dict[str, str]:
        """What becomes of the names of levels that stand for none."""
        others = self.translation.others or {}
        return {name: other for name, other in others.items() if self.translation.translate(name) == other}

    def tables(self) -> Iterator[tuple[str, str, Mapping[Any, str], str]]:
        """What is looked up: the column to make, the end of the name of the one to look up, its texts and type."""
        known = self._known
        if known is None:
            return
        yield "found", "_key", {text: value for text, value in known.texts.items() if "\0" not in text}, "string"
        readings = self._readings
        if readings["number"]:
            yield "by_number", "_number", readings["number"], "float64"
        if readings["truth"]:
            yield "by_truth", "_bare", readings["truth"], "string"
        if self._strays:
            yield "stray", "", self._strays, "string"

    def outcome(self, table: Any) -> Any:
        """The translated text."""
        import ibis

        own = {part: table[f"{self.name}_{part}"] for part in _PARTS if f"{self.name}_{part}" in table.columns}
        text, translation = table[self.name], self.translation
        if self._known is None:
            value = own["key"].left(translation.most)
        else:
            value = ibis.coalesce(*(own[part] for part in ("found", "by_number", "by_truth") if part in own))
            itself = ibis.coalesce(own["stray"], text) if "stray" in own else text
            if translation.values is None:
                value = value.fill_null(itself)
            elif translation.levels is not None:
                value = ibis.ifelse(value == self.engine.constant(_OUTSIDE), itself, value)
        gone = ibis.literal(False)
        for word in sorted(translation.words):
            gone = gone | (own.get("whole", own["key"]) == self.engine.constant(word))
        return ibis.ifelse(gone, ibis.null("string"), value).nullif(self.engine.constant(NONE))


def _folded(fold: Callable[[Any], Any], columns: Sequence[str], table: Any) -> dict[str, Any]:
    return {one: fold(table[one]) for one in columns}


def _found(table: Any, name: str, key: Any, known: Mapping[Any, str], kind: str, engine: Engine) -> Any:
    """The table with what is known of a column; null where nothing is."""
    import ibis

    if len(known) <= _FEW:
        same = [(key == (engine.constant(one) if kind == "string" else one), value) for one, value in known.items()]
        cases = [(condition, engine.constant(value)) for condition, value in same]
        return table.mutate(**{name: ibis.cases(*cases, else_=ibis.null("string"))})
    if len(known) > _MOST:
        raise SchemaError(f"a look-up on {engine.title} has at most {_MOST:,} keys, given {len(known):,}.")
    own, shown = f"{name}_k", name
    lookup = engine.lookup({own: tuple(known), shown: tuple(known.values())}, {own: kind, shown: "string"})
    return table.join(lookup, engine.same_bytes(key) == lookup[own], how="left").drop(own)
