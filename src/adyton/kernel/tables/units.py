"""The rows of each unit, cut to what the schema allows: at the root, before anything else looks at them.

Claim.  Of each unit at most ``rows_per_unit`` rows are kept, and which ones depends on that unit's rows alone. So two
tables that differ by one unit differ by at most so many rows, whatever is done to the rows afterwards, one by one.
Proof.  Every row has one unit, which is a function of that row; rows without one are left out, or are together one unit
like any other. The rows of a unit are put in an order: by a digest of the unit and the row's content, rows of the same
digest by the content itself. The first ``rows_per_unit`` stay. Nothing in the order depends on another unit's rows, on
where a row stands, in which file or block it came, or how many threads there are. Rows with the same content cannot be
told apart by anything that follows, so that it does not matter which of them stay.  ∎

Every unit has a text of its own, with all digits of a decimal and all bits of a double. Contents are written so, too,
in the same way on every engine: all of them keep the same rows.

The content is what the schema declares of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from adyton.kernel.engines import Engine
from adyton.kernel.tables.columns import LONGEST_TEXT, holds_booleans, is_missing, value_of
from adyton.kernel.tables.opened_rows import OpenedRows
from adyton.schema.declaration import DROP

UNIT = "unit"
"""The name of the column that tells units apart: bytes, which no collation takes for equal."""
DIGEST = "digest"
_EXACT = float(1 << 53)


@dataclass(frozen=True)
class Units:
    """Rows that say whose they are, before they are cut."""

    rows: Any
    """With the unit, and the digest to put a unit's rows in order by."""
    content: Callable[[Any], Any]
    """What rows of the same digest are put in order by."""
    limit: int

    @classmethod
    def of(cls, opened: OpenedRows) -> Units:
        """The rows of an opened table; what has no unit is left out, or is one unit, as the schema says."""
        engine = opened.engine
        name = _name(opened.rows[opened.unit], engine)
        digest = engine.digest(_joined([name, *_told(opened, opened.rows)]))
        rows = opened.rows.mutate(**{UNIT: engine.same_bytes(name), DIGEST: digest}).drop(opened.unit)
        rows = rows.filter(rows[UNIT].notnull()) if opened.schema.no_unit == DROP else rows

        def content(rows: Any) -> Any:
            return engine.same_bytes(_joined(list(_told(opened, rows))))

        return cls(rows, content, opened.schema.rows_per_unit)

    def cut(self) -> Any:
        """The rows that stay.

        Most are found by their digests alone: those up to whose digest there are no more than the limit. Only where the
        limit falls among rows of the same digest does their content decide; they are nearly always the same rows.
        """
        import ibis

        rows = self.rows
        before = ibis.rank().over(group_by=rows[UNIT], order_by=rows[DIGEST])
        placed = rows.mutate(before=before, alike=rows.count().over(group_by=[rows[UNIT], rows[DIGEST]]))
        near = placed.filter(placed["before"] < self.limit)
        place = ibis.row_number().over(group_by=near[UNIT], order_by=self.order(near))
        kept = near.mutate(place=place)
        kept = kept.filter(kept["place"] < self.limit)
        return kept.drop("before", "alike", "place", DIGEST)

    def order(self, rows: Any) -> list[Any]:
        """What a unit's rows are put in order by: their digest; then, where that does not decide, their content."""
        import ibis

        undecided = rows["before"] + rows["alike"] > self.limit
        return [rows[DIGEST], ibis.ifelse(undecided, self.content(rows), None)]

    def where(self, kept: Callable[[Any], Any]) -> Units:
        """Some of the rows."""
        return replace(self, rows=kept(self.rows))

    @staticmethod
    def sizes(rows: Any) -> Any:
        """One row for each unit: the unit, and how many of these rows it has."""
        return rows.group_by(c0=rows[UNIT]).aggregate(c1=rows.count().cast("int64")).select("c0", "c1")


def _name(column: Any, engine: Engine) -> Any:
    """The text of a unit; null for what is missing or blank. Spaces around it do not count.

    Texts are compared as texts: 7 and 007 are two units.
    """
    kind = column.type()
    if kind.is_binary():
        return engine.hexadecimal(column)
    return column.strip().nullif("") if kind.is_string() else _text(column, engine)


def _text(column: Any, engine: Engine) -> Any:
    """The text of a value."""
    kind = column.type()
    if kind.is_string():
        return _bounded(column, engine)
    if not kind.is_floating():
        return engine.decimal_text(column) if kind.is_decimal() else column.cast("string")
    return engine.exact_text(column.cast("float64"))


def _told(opened: OpenedRows, rows: Any) -> Iterator[Any]:
    """For each value of a row the text that says what it is read as."""
    import ibis

    names, engine = {column: name for name, column in opened.columns.items()}, opened.engine
    for column in opened.rows.columns:
        if column not in names:
            if column != opened.unit and column not in opened.texts.values():
                yield _text(rows[column], engine)
            continue
        attribute, own = opened.schema.attributes[names[column]], rows[column]
        if holds_booleans(attribute):
            value = value_of(own, attribute, engine)
            text = ibis.cases((value, "t"), (~value, "f"), (~is_missing(own), "?"), else_=ibis.null("string"))
        else:
            text = _text(own, engine)
        if names[column] in opened.texts:  # what could not be read is told from what is missing
            unread = rows[opened.texts[names[column]]].strip().nullif("")
            text = text.fill_null("!" + _bounded(unread, engine))
        yield text


def _joined(texts: list[Any]) -> Any:
    """Texts as one, from which each of them can be told: its length stands before it."""
    import ibis

    parts = [ibis.ifelse(text.isnull(), "-", text.length().cast("string") + ":" + text) for text in texts]
    return ibis.literal("").join(parts)


def _bounded(text: Any, engine: Engine) -> Any:
    """A text, or the digest of a very long one, so that the texts of a row fit into one whatever they are."""
    import ibis

    return ibis.ifelse(text.length() > LONGEST_TEXT, "digest " + engine.digest(text), text)
