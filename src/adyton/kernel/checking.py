"""Whether a table matches its schema: files, header, names, types and look-ups, without reading a row.

For a *public* table, such as a public sample of a private one, also how its rows match: exact counts, examples, and
schema keys that would help. That is not private.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.counting.opening import check_type, checked_reader, reader_for
from adyton.kernel.counting.public_rows import rows_beside_codes
from adyton.kernel.reading.csv_reader import CsvReader
from adyton.kernel.reading.files import PartedReader
from adyton.kernel.reading.readers import Reader, schema_for, unit_column, wanted_columns
from adyton.kernel.reading.texts import Amounts, has_levels
from adyton.messages import listing
from adyton.schema import Attribute, FileFormat, Integer, Numeric, Reading, Schema
from adyton.schema.attributes import CelledAttribute
from adyton.schema.draft import ColumnFacts, draft
from adyton.schema.files import PLAIN, toml_value
from adyton.schema.look_up_files import look_up_values
from adyton.schema.misfits import accepts, misfits_of
from adyton.schema.reading import texts_of_levels


@dataclass(frozen=True)
class CheckedAttribute:
    """The result of the check for one attribute."""

    attribute: str
    column: str
    type: str | None
    """The column's type as its engine names it; None if there is no such column."""
    accepts: str
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """The result of a check; nothing in it comes from a row."""

    file: dict[str, Any]
    attributes: tuple[CheckedAttribute, ...]
    problems: tuple[str, ...] = ()
    """Problems of the table as a whole."""
    undeclared: tuple[str, ...] = ()
    """Columns that no attribute reads."""
    unit: str | None = None
    """Whose rows are protected together, in words; None if no column identifies units."""

    @property
    def all_problems(self) -> tuple[str, ...]:
        """All reasons why the table cannot be opened with the schema."""
        return (*self.problems, *(problem for attribute in self.attributes for problem in attribute.problems))

    def to_dict(self) -> dict[str, Any]:
        """The same in plain values."""
        return {"ok": not self.all_problems, **asdict(self)}


def draft_schema(data: Any, *, header: bool = False, file: FileFormat = PLAIN) -> str:
    """TOML that lists the columns of a table and leaves bounds and levels as comments. It never reads a value.

    *data* is anything that can be opened as a table; of a CSV file only the first line is read. If that line looks like
    a row and not like names, it is not shown, unless you say with *header* that it does name the columns. *file* says
    how CSV files are written.

    >>> import pyarrow
    >>> print(draft_schema(pyarrow.table({"age": [34], "q1": [1], "q2": [5], "q3": [2]})))  # doctest: +ELLIPSIS
    # A draft. ...
    [attributes.age]   # int64
    type = "integer"
    # min = 0   # fill in
    # max = 100   # fill in
    <BLANKLINE>
    [attributes."q*"]   # q1 … q3: int64
    type = "integer"
    # min = 0   # fill in
    # max = 100   # fill in
    <BLANKLINE>
    """
    columns, text = column_facts(data, header=header, file=file)
    if columns is None:
        raise SchemaError(
            "the first line of the file looks like a row of data, which a draft would publish. If it does name the "
            "columns, say so with --header (in Python header=True); if not, ask for a draft with --no-header."
        )
    return draft(columns, text=text, file=file)


def column_facts(data: Any, *, header: bool = False, file: FileFormat = PLAIN) -> tuple[list[ColumnFacts] | None, bool]:
    """The columns of a table, and whether all of its values are texts. No row is read.

    There are no columns where the first line of a CSV file looks like a row, unless *header* says that it is none.

    >>> import pyarrow
    >>> column_facts(pyarrow.table({"age": [34]}))
    ([ColumnFacts(name='age', type='int64', kind='integer')], False)
    """
    reader = reader_for(data, file=file)
    if reader.doubtful and not header:
        return None, reader.is_text
    columns = [ColumnFacts(column.name, column.engine_type, column.kind) for column in reader.columns]
    return columns, reader.is_text


def schema_of_table(data: Any, schema: Schema) -> Schema:
    """The schema with the table's columns in place of its patterns, if it has some; no row is read.

    >>> import pyarrow
    >>> from adyton.schema import Integer
    >>> schema_of_table(pyarrow.table({"q1": [3], "q2": [5]}), Schema({"q*": Integer(1, 5)})).names
    ('q1', 'q2')
    """
    return schema_for(checked_reader(data, schema), schema) if schema.patterns else schema


def check_table(data: Any, schema: Schema) -> Check:
    """Check a table against a schema without reading a row.

    >>> import pyarrow
    >>> from adyton.schema import Integer
    >>> schema = Schema({"age": Integer(0, 119), "height": Integer(0, 250)})
    >>> check_table(pyarrow.table({"age": [34], "sex": ["F"]}), schema).all_problems[0]  # doctest: +ELLIPSIS
    "the table has no column 'height'. It has 'age', 'sex'. Correct ..."
    """
    try:
        reader = reader_for(data, multiline=schema.multiline, file=schema.file)
        if problem := _problem(lambda: schema.check_files(reader.files)):
            return Check({}, (), (problem,))  # remarks on a look-up would show what is in the table
        schema = schema_for(reader, schema)
    except SchemaError as error:
        return Check({}, tuple(_without_table(name, own) for name, own in schema.attributes.items()), (str(error),))
    names, present = [schema.column_of(name) for name in schema.names], [column.name for column in reader.columns]
    known = [name for name in names if name in present]
    hidden = (reader.is_text and not known) or (reader.doubtful and len(known) < len(names))
    whole = _problem(lambda: wanted_columns(reader, names)) if hidden else None
    attributes = tuple(
        _checked(name, attribute, column, reader, [*known, column], hidden=hidden)
        for (name, attribute), column in zip(schema.attributes.items(), names, strict=True)
    )
    undeclared = (
        () if hidden or reader.doubtful else tuple(name for name in present if name not in (*names, schema.unit))
    )
    unit = None if hidden else _problem(lambda: unit_column(reader, schema, None))
    problems = tuple(problem for problem in (whole, unit) if problem is not None)
    return Check(_facts(reader), attributes, problems, undeclared, _unit(schema) if unit is None else None)


def _unit(schema: Schema) -> str | None:
    """What a unit is, and how many of its rows count, in words."""
    if schema.unit is None:
        return None
    rows = f"{schema.rows_per_unit:,} of its rows count" if schema.rows_per_unit > 1 else "one of its rows counts"
    return (
        f"each value of the column {schema.unit!r} is one unit: at most {rows}, and all of them are protected together"
    )


def _checked(
    name: str, attribute: Attribute, column: str, reader: Reader, known: list[str], *, hidden: bool
) -> CheckedAttribute:
    """Check one attribute. With *hidden*, a missing column was reported for the table and is not reported again."""
    missing = _problem(lambda: wanted_columns(reader, known))
    problems, kind, written = [], None, True
    if missing is None:
        own = next(known for known in reader.columns if known.name == column)
        kind, written = own.engine_type, own.kind in ("text", "categorical")
        problems.append(_problem(lambda: check_type(own, attribute)))
    elif not hidden:
        problems.append(missing)
    remarks, looked_up = _look_up(attribute)
    problems.append(looked_up)
    said = tuple(problem for problem in problems if problem is not None)
    return CheckedAttribute(name, column, kind, accepts(attribute, written=written), said, remarks)


def _without_table(name: str, attribute: Attribute) -> CheckedAttribute:
    remarks, problem = _look_up(attribute)
    problems = () if problem is None else (problem,)
    return CheckedAttribute(name, attribute.reading.column or name, None, accepts(attribute), problems, remarks)


def _look_up(attribute: Attribute) -> tuple[tuple[str, ...], str | None]:
    """Remarks on a look-up, and the problem with it, if any."""
    lookup = attribute.reading.looked_up
    if lookup is None:
        return (), None
    values: dict[str, str] = {}
    problem = _problem(lambda: values.update(look_up_values(attribute.reading)))
    if problem is not None:
        return (), problem
    remarks = [f"{lookup.file} has {len(values):,} keys, each with one value"]
    if has_levels(attribute, str):
        known = texts_of_levels(tuple(map(str, attribute.levels)), attribute.spellings, attribute.reading)
        strange = sorted({value for value in values.values() if attribute.reading.normal(value) not in known})
        if strange:
            remarks.append(f"values of {lookup.file} that are not levels: {listing(strange, 6)}")
    return tuple(remarks), None


def _facts(reader: Reader) -> dict[str, Any]:
    """Public facts about the file or files."""
    first = reader.parts[0].reader if isinstance(reader, PartedReader) else reader
    if not isinstance(first, CsvReader):
        return {"kind": "text" if reader.is_text else "typed columns", "columns": len(reader.columns)}
    return {
        "kind": "CSV",
        "files": len(reader.files),
        "columns": len(reader.columns),
        "header": first.file.header,
        "delimiter": first.header.delimiter,
        "encoding": first.file.encoding,
        "compression": first.compression,
        "line_end": first.header.line_end,
    }


def _problem(call: Callable[[], object]) -> str | None:
    """The message of a schema error, if the call raises one."""
    try:
        call()
    except SchemaError as error:
        return str(error)
    return None


# ---- public rows -----------------------------------------------------------------------------------------------------

_EXAMPLES = 5
_KEPT = 10_000
_SIGNS = ("$", "€", "£", "¥", "%", "USD", "EUR", "CHF", "GBP")
_WAYS = ((None, "."), (",", "."), (".", ","), (None, ","), (" ", "."), (" ", ","), ("'", "."))


@dataclass(frozen=True)
class Fit:
    """How the rows of a public table match one attribute."""

    attribute: str
    rows: int
    fitting: int
    misfits: tuple[tuple[str, str, int], ...]
    """For each reason not to match: the reason, what happens to such rows, and how many there are."""
    examples: tuple[str, ...]
    """Values without a cell, most frequent first."""
    advice: str | None
    """Schema keys with which they could be read."""

    def to_dict(self) -> dict[str, Any]:
        """The same in plain values."""
        plain = asdict(self)
        plain["misfits"] = [{"reason": reason, "fate": fate, "rows": rows} for reason, fate, rows in self.misfits]
        return plain


def look_at_public_rows(data: Any, schema: Schema) -> tuple[Fit, ...]:
    """Read every row; report for each attribute with cells how many rows match, which do not, and what would help."""
    table = open_table(data, schema)
    celled = {name: own for name, own in table.schema.attributes.items() if isinstance(own, CelledAttribute)}
    if not celled:
        return ()
    schema = schema.with_attributes(celled)
    strange, fits = _without_cells(data, schema, celled), []
    for name, attribute in celled.items():
        misfits = misfits_of(schema, [name])
        fitting, *others = table.misfits(misfits).tolist()
        counts = tuple((way.reason, way.fate, rows) for way, rows in zip(misfits, others, strict=True) if rows)
        examples = tuple(text for text, _ in strange[name].most_common(_EXAMPLES))
        advice = _advice(attribute, list(strange[name])) if examples else None
        fits.append(Fit(name, fitting + sum(others), fitting, counts, examples, advice))
    return tuple(fits)


def _without_cells(data: Any, schema: Schema, celled: Mapping[str, CelledAttribute]) -> dict[str, Counter[str]]:
    """For each attribute, the values without a cell, as texts, and how often they occur."""
    strict = {name: replace(attribute, nulls="drop", outside="drop") for name, attribute in celled.items()}
    strange = {name: Counter[str]() for name in celled}
    names, batches = rows_beside_codes(data, schema.with_attributes(strict), keep=True)
    for codes, rows in batches:
        for place, name in enumerate(celled):
            left_out = codes[:, place] < 0
            if len(strange[name]) < _KEPT and left_out.any():
                values = rows.column(names.index(schema.column_of(name))).filter(left_out).to_pylist()
                strange[name].update(str(value) for value in values if value is not None and str(value).strip())
    return strange


def _advice(attribute: CelledAttribute, texts: list[str]) -> str | None:
    """Schema keys with which at least half of these texts could be read."""
    if isinstance(attribute, Integer | Numeric):
        unread = [text for text in texts if Amounts.of(attribute.reading).plain(text) is None]
        signs = tuple(sign for sign in _SIGNS if any(sign in text for text in unread))
        ways = [Reading(currency=signs, thousands=thousands, decimal=decimal) for thousands, decimal in _WAYS]
        best = max(ways, key=lambda reading: _share(unread, reading))
        if _share(unread, best) >= 0.5:
            return ", ".join(f"{key} = {toml_value(value)}" for key, value in best.to_dict().items()) or None
        return None
    if has_levels(attribute, str):
        folded = {str(level).casefold().strip() for level in attribute.levels}
        if sum(text.casefold().strip() in folded for text in texts) * 2 >= len(texts):
            return 'case = "ignore", trim = true'
    return None


def _share(texts: list[str], reading: Reading) -> float:
    return sum(Amounts.of(reading).plain(text) is not None for text in texts) / max(1, len(texts))
