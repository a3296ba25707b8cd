"""The rows of each unit, cut to what the schema allows: at the root, before anything else looks at them.

Claim.  Of each unit at most ``rows_per_unit`` rows are kept, and which ones depends on that unit's rows alone. So two
tables that differ by one unit differ by at most so many rows, whatever is done to the rows afterwards, one by one.
Proof.  Every row has one unit, which is a function of that row; rows without one are left out, or are together one unit
like any other. The rows of a unit are put in an order: by a digest of the unit and the row's values, rows of the same
digest by their content. The first ``rows_per_unit`` stay. Nothing in the order depends on another unit's rows, on
where a row stands, in which file or block it came, or how many threads there are. Rows with the same content cannot be
told apart by anything that follows, so that it does not matter which of them stay.  ∎

The content is what the schema declares of a row. In a frame a library infers the type of a column from all rows; there,
a value's content is what it is read as, which is the same for each type that the column may have been given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
DIGEST = "digest"
_EXACT = float(1 << 53)


@dataclass(frozen=True)
class Units:
    """Rows that say whose they are, before they are cut."""

    rows: Any
    """With the unit, and the digest to put a unit's rows in order by."""
    content: Callable[[Any], list[Any]]
    """What rows of the same digest are put in order by."""
    limit: int
    ours: bool

    @classmethod
    def of(cls, opened: OpenedRows) -> Units:
        """The rows of an opened table; what has no unit is left out, or is one unit, as the schema says."""
        import ibis

        name = _bytes(_name(opened.rows[opened.unit], opened.inferred))
        values = {"unit": name} | {f"v{place}": one.quick for place, one in enumerate(_told(opened, opened.rows))}
        rows = opened.rows.mutate(**{UNIT: name, DIGEST: ibis.struct(values).hash()}).drop(opened.unit)
        rows = rows.filter(rows[UNIT].notnull()) if opened.schema.no_unit == DROP else rows

        def content(rows: Any) -> list[Any]:
            told = list(_told(opened, rows))
            exact = [one.exact for one in told if one.exact is not None]
            return [_bytes(_joined(texts)) for texts in ([one.text for one in told], exact) if texts]

        return cls(_short(rows, "told", opened.ours), content, opened.schema.rows_per_unit, opened.ours)

    def cut(self) -> Any:
        """The rows that stay.

        Most are found by their digests alone: those up to whose digest there are no more than the limit. Only where the
        limit falls among rows of the same digest does their content decide; they are nearly always the same rows.
        """
        import ibis

        rows, dropped = self.rows, ["before", "upto", "place"]
        before = ibis.rank().over(group_by=rows[UNIT], order_by=rows[DIGEST])
        upto = rows.count().over(ibis.range_window(following=0, group_by=rows[UNIT], order_by=rows[DIGEST]))
        placed = rows.mutate(before=before, upto=upto)
        near = placed.filter(placed["before"] < self.limit)
        place = ibis.row_number().over(group_by=near[UNIT], order_by=self.order(near))
        kept = near.mutate(place=place)
        kept = kept.filter(kept["place"] < self.limit)
        return _short(kept.drop(*dropped, DIGEST), "cut", self.ours)

    def order(self, rows: Any) -> list[Any]:
        """What a unit's rows are put in order by: their digest; then, where that does not decide, their content."""
        import ibis

        undecided = rows["upto"] > self.limit
        return [rows[DIGEST], *(ibis.ifelse(undecided, text, None) for text in self.content(rows))]

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


class _Told(NamedTuple):
    """What one value of a row is read as."""

    quick: Any
    """For the digest."""
    text: Any
    exact: Any | None = None
    """One more text, where the first leaves something open."""


def _told(opened: OpenedRows, rows: Any) -> Iterator[_Told]:
    """For each value of a row what it is read as."""
    names = {column: name for name, column in opened.columns.items()}
    for column in opened.rows.columns:
        value = rows[column] if column != opened.unit else None
        if column in names:
            told = _content(value, opened.schema.attributes[names[column]], opened.inferred)
            if names[column] in opened.texts:  # what could not be read is told from what is missing
                unread = rows[opened.texts[names[column]]].strip().nullif("")
                told = told._replace(text=told.text.fill_null("!" + _bounded(unread)))
            yield told
        elif value is not None and column not in opened.texts.values():
            text = _bounded(_text(value))
            yield _Told(text, text)


def _content(column: Any, attribute: Attribute, inferred: bool) -> _Told:
    import ibis

    if holds_booleans(attribute):
        value = value_of(column, attribute)
        text = ibis.cases((value, "t"), (~value, "f"), (~is_missing(column), "?"), else_=ibis.null("string"))
        return _Told(text, text)
    kind = column.type()
    if kind.is_integer() or kind.is_floating():
        number = column.cast("float64")
        quick = ibis.ifelse(is_missing(number), ibis.null("float64"), number + 0)
        exact = column.cast("string") if inferred and kind.is_integer() else None
        return _Told(quick, number_text(number) if exact is not None else _text(column), exact)
    text = _bounded(_text(column))
    if not inferred or not kind.is_string():
        return _Told(text, text)
    if isinstance(attribute, Categorical) and holds_levels(attribute, str):
        value = trimmed(column, attribute)
        known = ibis.ifelse(value.isin([str(level) for level in attribute.levels]), value, "?")
        text = ibis.ifelse(column.isnull(), ibis.null("string"), known)
    else:
        text = _bounded(_reread(column))
    return _Told(text, text, _bounded(column))


def _joined(texts: list[Any]) -> Any:
    """Texts as one, from which each of them can be told: its length stands before it."""
    import ibis

    parts = [ibis.ifelse(text.isnull(), "-", text.length().cast("string") + ":" + text) for text in texts]
    return ibis.literal("").join(parts)


def _bounded(text: Any) -> Any:
    """A text, or the digest of a very long one, so that the texts of a row fit into one whatever they are."""
    import ibis

    size, digest = engine_function("strlen", str, int), engine_function("sha256", str, str)
    return ibis.ifelse(size(text) > LONGEST_TEXT, "sha256 " + digest(text), text)


def _bytes(text: Any) -> Any:
    return engine_function("encode", str, bytes)(text)
