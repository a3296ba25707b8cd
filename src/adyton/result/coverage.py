"""Which rows of a table are in a result and which are not: the first line of every output; and whether the total of a
result can be right, compared with what else is known of the table. All of it is post-processing: it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from adyton.messages import joined
from adyton.result.misfits import LIKELY, Misfits
from adyton.result.receipt import RowsCounted
from adyton.schema import Schema
from adyton.schema.attributes import NULL_LABEL, OTHER_LABEL, CelledAttribute
from adyton.schema.misfits import Misfit, misfits_of
from adyton.schema.numbers import Duration, Integer, Numeric
from adyton.schema.plain_values import as_real, part_of
from adyton.schema.times import Times
from adyton.whole import SAFE

Audience: TypeAlias = Literal["reader", "producer"]
_NAMED = 4
"""How many attributes are named; of others, their number is given."""
_LONG = 120
"""Longer filters are not repeated."""
_PART = 0.2
"""Totals that differ by less than this part of the larger one are not remarked on: public numbers are rough."""
_FAR = 4
"""How many standard deviations two totals must differ in addition."""
_LOST = ("left out", "unmatched")


@dataclass(frozen=True)
class Note:
    """A sentence about a result, and who it is for: everybody who reads it, or only whoever makes it and could make it
    again. Reports and saved files have no notes for the producer."""

    text: str
    audience: Audience = "reader"


@dataclass(frozen=True)
class Coverage:
    """Which rows are in a result, in words that are true whatever the rows are; and how many are missing, if that was
    measured.

    >>> from adyton.schema import Categorical
    >>> schema = Schema({"class": Categorical(["a", "b"]), "result": Categorical(["+", "-"])})
    >>> print(Coverage.of(schema).sentence)
    Only rows with known values of class and result are in this table. How many are left out because a value is \
missing or not as declared was not measured.
    """

    limit: str = ""
    """Which rows of each unit are counted, in a sentence; empty if all are."""
    known: tuple[str, ...] = ()
    """The attributes whose value must be known: not missing, and one that the schema declares."""
    bounds: tuple[str, ...] = ()
    """For each of these, the bounds beyond which a row is left out, in words; empty if there are none."""
    instead: str = ""
    """What values count as that would otherwise be missing or not declared, if no row is left out because of them."""
    where: str | None = None
    place: str = "are in this table"
    """What the rows are, or do: the end of the sentence."""
    apart: bool = False
    """Whether each of several tables has the rows in which its own attributes are known."""
    measured: str = ""
    """How many rows are left out, if that was measured: a sentence."""

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        numbers: str | None = None,
        limit: RowsCounted | None = None,
        where: str | None = None,
        place: str = "are in this table",
        apart: bool = False,
        misfits: Misfits | None = None,
    ) -> Coverage:
        """For a result about all attributes of a schema; a missing value of the one with the *numbers* is left out,
        whatever the schema says."""
        ways = lost_ways(schema, numbers)
        names = {way.attribute for way in ways}
        known = tuple(name for name in schema.names if name in names)
        return cls(
            _limited(schema, limit),
            known,
            tuple(_bounds(schema, name, ways) for name in known),
            "" if names else _instead(schema),
            where,
            place,
            apart and len(schema.names) > 1,
            _measured(misfits, ways, whole=where is None),
        )

    @classmethod
    def of_units(cls, schema: Schema | None, limit: RowsCounted, where: str | None, place: str) -> Coverage:
        """For a result for which no value must be known, unless the filter asks for one."""
        return cls("" if schema is None else _limited(schema, limit), where=where, place=place)

    def measured_in_parts(self) -> Coverage:
        """The same for a result that is combined from others, which say how many rows are missing."""
        return replace(self, measured=f"How many are {_MISSING} was measured for the releases it is made of.")

    def among(self, attributes: Sequence[str]) -> str:
        """What the title of a table of some attributes, summed over the others, says of its rows.

        >>> Coverage(known=("class", "result")).among(["class"])
        ', of rows with a known value of result'
        """
        others = [] if self.apart else [name for name in self.known if name not in attributes]
        return f", of rows with {known_values(others)}" if others else ""

    @property
    def sentence(self) -> str:
        """Which rows are in the result, and which are not."""
        only = [] if self.where is None else [f"where {self.where}" if len(self.where) <= _LONG else "of the filter"]
        if self.known and not self.apart:
            bounded = [f"{name}{ends}" for name, ends in zip(self.known, self.bounds, strict=True)]
            only.append(f"with {known_values(bounded)}")
        said = [self.limit] if self.limit else []
        if only:
            said.append(f"Only rows {', '.join(only)}{',' * (len(only) > 1)} {self.place}.")
        elif self.place and not self.limit and not (self.apart and self.known):
            said.append(f"All rows {self.place}{self.instead}.")
        if self.apart and self.known:
            own = "Each of these tables has only rows with known values of its own attributes"
            said.append(f"{own}. They were then made to agree: {_BETWEEN}.")
        if self.known or self.where is not None:
            said.append(self.measured or f"How many are {_MISSING} was not measured.")
        return " ".join(said)

    @property
    def details(self) -> str:
        """What it means that a value is known; empty if no row is left out because of its values."""
        if not self.known and self.where is None:
            return ""
        return (
            "A value is known if it is not missing, can be read, and is one that the description of the data (the "
            "schema) lists or has within its bounds. Rows with other values are left out"
            f"{f' where {_some(self.known)} matters' if self.known else ''}: they may differ from those that are here."
            f"{' ± is how far noise moves a number 19 times of 20.' if '±' in self.measured else ''}"
        )


_BETWEEN = "where values are missing, counts lie in between, and intervals do not account for it"
_MISSING = "left out because a value is missing or not as declared"


def lost_ways(schema: Schema, numbers: str | None = None) -> tuple[Misfit, ...]:
    """The ways in which a row is left out because of its values."""
    ways = [way for way in misfits_of(schema, schema.names) if way.fate in _LOST]
    if numbers is not None and not any((way.attribute, way.reason) == (numbers, "missing") for way in ways):
        ways.append(Misfit(numbers, "missing", "left out"))
    return tuple(ways)


def _limited(schema: Schema, limit: RowsCounted | None) -> str:
    """The limit on the rows of a unit, and what becomes of rows without one."""
    if not limit:
        return ""
    assert limit is not None
    nobody = f" Rows without a {schema.unit} are left out." if schema.unit and schema.no_unit == "drop" else ""
    return limit.sentence + nobody


def _some(names: Sequence[str]) -> str:
    """The first names, and how many there are besides."""
    left = len(names) - _NAMED
    return joined([*names[:_NAMED], f"{left} more"]) if left > 1 else joined(names)


def known_values(names: Sequence[str]) -> str:
    """*a known value of smoker*, *known values of class and result*, *known values of all 12 attributes (…)*: never *a
    known smoker*, which would be somebody who smokes.
    """
    if len(names) > _NAMED:
        return f"known values of all {len(names)} attributes ({_some(names)})"
    return f"{'known values' if len(names) > 1 else 'a known value'} of {joined(names)}"


def _bounds(schema: Schema, name: str, ways: Sequence[Misfit]) -> str:
    """The bounds of an attribute if rows beyond them are left out: what is known may well be beyond."""
    if Misfit(name, "out of bounds", "left out") not in ways:
        return ""
    match schema.attributes[name]:
        case Times(min=low, max=high):
            return f" ({low} to {high})"
        case Duration(min=low, max=high, unit=unit):
            return f" ({low:,.12g} to {high:,.12g} {unit})"
        case Integer(min=low, max=high, years=years) | Numeric(min=low, max=high, years=years):
            ends = (f"{end:.12g}" if years else f"{end:,.12g}" for end in (low, high))
            return f" ({' to '.join(ends)})".replace("-", "\N{MINUS SIGN}")
        case _:
            return ""


def _instead(schema: Schema) -> str:
    """What missing values and others count as, where no row is left out."""
    celled = [attribute for attribute in schema.attributes.values() if isinstance(attribute, CelledAttribute)]
    ways = [f"missing values count as {NULL_LABEL}"] * any(one.nulls == "level" for one in celled)
    ways += [f"undeclared values count as {OTHER_LABEL}"] * any(one.outside == "other" for one in celled)
    ways += ["values out of range are in the nearest cell"] * any(one.outside == "clamp" for one in celled)
    return f"; {joined(ways)}" if ways else ""


def _measured(misfits: Misfits | None, ways: Sequence[Misfit], *, whole: bool) -> str:
    """How many rows are left out, if each way was counted. A row that is missing from the count and one that does not
    meet the filter are counted together."""
    if misfits is None:
        return ""
    counts = {(kind.misfit.attribute, kind.misfit.reason): kind for kind in misfits.counts}
    if any((way.attribute, way.reason) not in counts for way in ways):
        return ""
    lost = [kind.count for kind in misfits.counts if kind.misfit.fate in _LOST]  # also those of which there is no sign:
    if not lost:  # several that noise hides can be many together
        return ""
    certain = sum(kind.count for kind in misfits.sure() if kind.misfit.fate in _LOST)
    count, deviation = max(sum(lost), certain), misfits.deviation * math.sqrt(len(lost))
    of = "" if whole else " before the filter"
    none = ": that may be none" if count <= LIKELY * deviation else ""
    shown, far = min(max(0, count), misfits.rows), misfits.reach * math.sqrt(len(lost))
    return f"About {shown:,} (± {far:,.0f}) of {misfits.all_rows}{of} are {_MISSING}{none}."


# ---- whether a total can be right ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Total:
    """A number of rows, and the standard deviation of its noise; 0 if it is public."""

    rows: float
    deviation: float = 0.0

    def far_below(self, other: Total) -> bool:
        """Whether it is less than another by more than a fifth of that and what noise explains."""
        return other.rows - self.rows > _PART * other.rows + _FAR * math.hypot(self.deviation, other.deviation)

    def to_plain(self) -> dict[str, float]:
        """As plain values for JSON."""
        return {"rows": self.rows, "deviation": self.deviation}

    @classmethod
    def from_plain(cls, plain: object) -> Total:
        """Read from a file."""
        rows, deviation = (as_real(part_of(plain, name), name) for name in ("rows", "deviation"))
        return cls(min(rows, float(SAFE)), max(0.0, deviation))


SAME_ROWS = (
    'With nulls = "level" and outside = "other" in the schema, all of these tables would have the same rows, and their '
    "intervals would be right."
)
_CORRECT = (
    "Compare how the rows write {} with what the schema accepts (`adyton schema SCHEMA.toml` prints it); nulls = "
    '"level" and outside = "other" count such rows, too.'
)
_ROUGH = "If the number of rows in the schema is what is wrong, correct it from public sources alone."


def not_right(
    total: Total, coverage: Coverage, public: int | None, earlier: Total | None, misfits: Misfits | None
) -> list[Note]:
    """Whether the total of a result without a filter can be right: compared with the number of rows in the schema,
    which is *public*, and with an *earlier* one of the same table, which was paid for."""
    said, notes = None if public is None else Total(public), list[Note]()
    if said is not None and said.far_below(total):
        notes += [Note(_more(total, said)), Note(_ROUGH, "producer")]
    known = [(said, "by their description")] if said is not None and not coverage.limit else []
    known += [(earlier, "by an earlier count of the same table")] if earlier is not None else []
    for other, source in known:
        if total.far_below(other) and not _explained(misfits, other):
            notes.append(Note(_less(total, other, source, coverage)))
            notes += [Note(_CORRECT.format(_some(coverage.known)), "producer")] if coverage.known else []
            notes += [Note(_ROUGH, "producer")] * (other is said)
            break
    return notes


def _explained(misfits: Misfits | None, other: Total) -> bool:
    """Whether the rows that are missing were counted, and make up the difference."""
    if misfits is None:
        return False
    kinds = 1 + sum(1 for _ in misfits.counts)
    return not Total(misfits.rows, misfits.deviation * math.sqrt(kinds)).far_below(other)


def _less(total: Total, other: Total, source: str, coverage: Coverage) -> str:
    """That rows are missing."""
    part = 100 * (1 - max(0.0, total.rows) / other.rows)
    names = " or ".join(coverage.known) if len(coverage.known) < _NAMED else "a value"
    known = f", because {names} is missing or not as declared"
    either = ", or that number is wrong" if source.endswith("description") else ""
    return (
        f"Only about {max(0.0, total.rows):,.0f} rows are counted here, and the data have about {other.rows:,.0f} "
        f"{source}: about {part:.0f}% are missing{known if coverage.known else ''}{either}."
    )


def _more(total: Total, said: Total) -> str:
    return (
        f"About {total.rows:,.0f} rows are counted here, and the description of the data says that there are about "
        f"{said.rows:,.0f}: that number is wrong."
    )
