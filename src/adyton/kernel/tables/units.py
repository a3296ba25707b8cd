"""The rows of each unit, cut to what the schema allows: at the root, before anything else looks at them.

Claim.  Of each unit at most ``rows_per_unit`` rows are kept, and which ones depends on that unit's rows alone. So two
tables that differ by one unit differ by at most so many rows, whatever is done to the rows afterwards, one by one.
Proof.  Every row has one unit, which is a function of that row; rows without one are left out, or are together one unit
like any other. The rows of a unit are put in an order: by a digest of the unit and the row's content, rows of the same
digest by the content itself. The first ``rows_per_unit`` stay. Nothing in the order depends on another unit's rows, on
where a row stands, in which file or block it came, or how many threads there are. Rows with the same content cannot be
told apart by anything that follows, so that it does not matter which of them stay.  ∎

The content is what the schema declares of a row. In a frame a library infers the type of a column from all rows; there,
a value's content is what it is read as, which is the same for each type that the column may have been given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from adyton.kernel.tables.columns import (
    LONGEST_TEXT,
    engine_function,
    holds_booleans,
    holds_levels,
    is_missing,
    number_text,
    trimmed,
    value_of,
)
from adyton.kernel.tables.opened_rows import OpenedRows
from adyton.schema import Attribute, Categorical
from adyton.schema.units import DROP

UNIT = "unit"
"""The name of the column that tells units apart: bytes, which no collation takes for equal."""
_EXACT = float(1 << 53)


@dataclass(frozen=True)
class Units:
    """Rows that say whose they are, before they are cut."""

    rows: Any
    """With the unit, and the content to put a unit's rows in order by."""
    texts: tuple[str, ...]
    """The names of the columns of content."""
    limit: int
    ours: bool

    @classmethod
    def of(cls, opened: OpenedRows) -> Units:
        """The rows of an opened table; what has no unit is left out, or is one unit, as the schema says."""
        name = _name(opened.rows[opened.unit], opened.inferred)
        told = list(_told(opened))
        ties = [exact for _, exact in told if exact is not None]
        keys = {"content": _joined([name, *(text for text, _ in told)])}
        keys |= {"ties": _joined(ties)} if ties else {}
        rows = opened.rows.mutate(**{UNIT: _bytes(name)}, **keys).drop(opened.unit)
        rows = rows.filter(rows[UNIT].notnull()) if opened.schema.no_unit == DROP else rows
        return cls(_short(rows, "told", opened.ours), tuple(keys), opened.schema.rows_per_unit, opened.ours)

    def cut(self) -> Any:
        """The rows that stay."""
        import ibis

        rows = self.rows
        placed = rows.mutate(place=ibis.row_number().over(group_by=rows[UNIT], order_by=self.order()))
        return _short(placed.filter(placed["place"] < self.limit).drop("place", *self.texts), "cut", self.ours)

    def order(self) -> list[Any]:
        """What a unit's rows are put in order by: the digest of their content, then the content."""
        digest = engine_function("md5", str, str)(self.rows["content"])
        return [digest, *(_bytes(self.rows[text]) for text in self.texts)]

    def where(self, kept: Callable[[Any], Any]) -> Units:
        """Some of the rows."""
        return replace(self, rows=kept(self.rows))

    @staticmethod
    def sizes(rows: Any) -> Any:
        """One row for each unit: the unit, and how many of these rows it has."""
        return rows.group_by(c0=rows[UNIT]).aggregate(c1=rows.count().cast("int64")).select("c0", "c1")


def _short(rows: Any, name: str, ours: bool) -> Any:
    """The same rows as a view, where the engine is our own: then not every query has to spell out what they are."""
    if not ours:
        return rows
    (backend,), _ = rows._find_backends()
    backend._run_pre_execute_hooks(rows)  # makes the functions known that it calls
    backend.con.execute(f"create temp view {name} as {backend.compile(rows)}")
    return backend.table(name)


def _name(column: Any, inferred: bool) -> Any:
    """The text of a unit; null for what is missing or blank. Spaces around it do not count."""
    if not column.type().is_string():
        return _text(column)
    text = column.strip().nullif("")
    return _reread(text) if inferred else text


def _reread(text: Any) -> Any:
    """A text as the number that it can be read as would be written; as it is, if there is none up to 2^53."""
    import ibis

    number = text.try_cast("float64")
    return ibis.ifelse(number.between(-_EXACT, _EXACT).fill_null(False), number_text(number), text)


def _text(column: Any) -> Any:
    kind = column.type()
    return number_text(column) if kind.is_floating() else column if kind.is_string() else column.cast("string")


def _told(opened: OpenedRows) -> Iterator[tuple[Any, Any | None]]:
    """For each value of a row the text that says what it is read as, and one more where that leaves something open."""
    names = {column: name for name, column in opened.columns.items()}
    for column in opened.rows.columns:
        value = opened.rows[column]
        if column in names:
            text, exact = _content(value, opened.schema.attributes[names[column]], opened.inferred)
            if names[column] in opened.texts:  # what could not be read is told from what is missing
                unread = opened.rows[opened.texts[names[column]]].strip().nullif("")
                text = text.fill_null("!" + unread)
            yield text, exact
        elif column != opened.unit and column not in opened.texts.values():
            yield _text(value), None


def _content(column: Any, attribute: Attribute, inferred: bool) -> tuple[Any, Any | None]:
    import ibis

    if holds_booleans(attribute):
        value = value_of(column, attribute)
        return ibis.cases((value, "t"), (~value, "f"), (~is_missing(column), "?"), else_=ibis.null("string")), None
    kind = column.type()
    if not inferred:
        return _text(column), None
    if kind.is_string() and isinstance(attribute, Categorical) and holds_levels(attribute, str):
        value = trimmed(column, attribute)
        known = ibis.ifelse(value.isin([str(level) for level in attribute.levels]), value, "?")
        return ibis.ifelse(column.isnull(), ibis.null("string"), known), column
    if kind.is_string():
        return _reread(column), column
    if kind.is_integer():
        return number_text(column.cast("float64")), column.cast("string")
    return _text(column), None


def _joined(texts: list[Any]) -> Any:
    """Texts as one, from which each of them can be told: its length stands before it. Of a very long text there is a
    digest, so that the texts of a row fit into one whatever they are."""
    import ibis

    size, digest = engine_function("strlen", str, int), engine_function("sha256", str, str)
    known = [ibis.ifelse(size(text) > LONGEST_TEXT, "sha256 " + digest(text), text) for text in texts]
    parts = [ibis.ifelse(text.isnull(), "-", text.length().cast("string") + ":" + text) for text in known]
    return ibis.literal("").join(parts)


def _bytes(text: Any) -> Any:
    return engine_function("encode", str, bytes)(text)
