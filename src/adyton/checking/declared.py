"""What can be told of a table and its schema without looking at a row: files, header, names, types, look-ups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.counting.locations import reader_for
from adyton.kernel.counting.opening import check_type
from adyton.kernel.reading.csv_reader import CsvReader
from adyton.kernel.reading.files import PartedReader
from adyton.kernel.reading.readers import Reader, schema_for, unit_column, wanted_columns
from adyton.messages import listing
from adyton.schema import Attribute, Categorical, FileFormat, Schema
from adyton.schema.draft import ColumnFacts, draft
from adyton.schema.file_format import PLAIN
from adyton.schema.look_up_files import look_up_values
from adyton.schema.misfits import accepts
from adyton.schema.reading import texts_of_levels


@dataclass(frozen=True)
class CheckedAttribute:
    """What is known of one attribute."""

    attribute: str
    column: str
    type: str | None
    """The column's type as its engine has it; None if there is no such column."""
    accepts: str
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """What a check has found; nothing of it comes from a row."""

    file: dict[str, Any]
    attributes: tuple[CheckedAttribute, ...]
    problems: tuple[str, ...] = ()
    """What concerns the table as a whole."""
    undeclared: tuple[str, ...] = ()
    """Columns that no attribute reads."""
    unit: str | None = None
    """Whose rows are protected together, in words; None if no column says it."""

    @property
    def all_problems(self) -> tuple[str, ...]:
        """Everything because of which the table cannot be opened with the schema."""
        return (*self.problems, *(problem for one in self.attributes for problem in one.problems))

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
    reader = reader_for(data, file=file)
    if reader.doubtful and not header:
        raise SchemaError(
            "the first line of the file looks like a row of data, which a draft would publish. If it does name the "
            "columns, say so with --header (in Python header=True); if not, ask for a draft with --no-header."
        )
    columns = [ColumnFacts(column.name, column.engine_type, column.kind) for column in reader.columns]
    return draft(columns, text=reader.is_text, file=file)


def schema_of_table(data: Any, schema: Schema) -> Schema:
    """The schema with the table's columns in place of its patterns, if it has some; no row is read.

    >>> import pyarrow
    >>> from adyton.schema import Integer
    >>> schema_of_table(pyarrow.table({"q1": [3], "q2": [5]}), Schema({"q*": Integer(1, 5)})).names
    ('q1', 'q2')
    """
    if not schema.patterns:
        return schema
    return schema_for(reader_for(data, multiline=schema.multiline, file=schema.file), schema)


def check_table(data: Any, schema: Schema) -> Check:
    """Everything that can be told without looking at a row.

    >>> import pyarrow
    >>> from adyton.schema import Integer
    >>> schema = Schema({"age": Integer(0, 119), "height": Integer(0, 250)})
    >>> check_table(pyarrow.table({"age": [34], "sex": ["F"]}), schema).all_problems[0]  # doctest: +ELLIPSIS
    "the table has no column 'height'. It has 'age', 'sex'. Correct ..."
    """
    try:
        reader = reader_for(data, multiline=schema.multiline, file=schema.file)
        schema = schema_for(reader, schema)
    except SchemaError as error:
        return Check({}, tuple(_without_table(name, one) for name, one in schema.attributes.items()), (str(error),))
    names, present = [schema.column_of(name) for name in schema.names], [column.name for column in reader.columns]
    found = [name for name in names if name in present]
    whole = _problem(lambda: wanted_columns(reader, names)) if reader.is_text and not found else None
    hidden = whole is not None or (reader.doubtful and len(found) < len(names))
    if hidden:
        whole = whole or _problem(lambda: wanted_columns(reader, names))
    attributes = tuple(
        _checked(name, one, column, reader, [*found, column], told=hidden)
        for (name, one), column in zip(schema.attributes.items(), names, strict=True)
    )
    undeclared = (
        () if hidden or reader.doubtful else tuple(name for name in present if name not in (*names, schema.unit))
    )
    unit = None if hidden else _problem(lambda: unit_column(reader, schema, None))
    problems = tuple(problem for problem in (whole, unit) if problem is not None)
    return Check(_facts(reader), attributes, problems, undeclared, _unit(schema) if unit is None else None)


def _unit(schema: Schema) -> str | None:
    """What a unit is, and how many of its rows count."""
    if schema.unit is None:
        return None
    rows = f"{schema.rows_per_unit:,} of its rows count" if schema.rows_per_unit > 1 else "one of its rows counts"
    return (
        f"each value of the column {schema.unit!r} is one unit: at most {rows}, and all of them are protected together"
    )


def _checked(
    name: str, attribute: Attribute, column: str, reader: Reader, known: list[str], *, told: bool
) -> CheckedAttribute:
    """One attribute. That its column is not there is not said where it was *told* of the whole table."""
    missing = _problem(lambda: wanted_columns(reader, known))
    problems, kind, written = [], None, True
    if missing is None:
        found = next(one for one in reader.columns if one.name == column)
        kind, written = found.engine_type, found.kind in ("text", "categorical")
        problems.append(_problem(lambda: check_type(found, attribute)))
    elif not told:
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
    """What there is to say about a look-up, and what is wrong with it."""
    lookup = attribute.reading.looked_up
    if lookup is None:
        return (), None
    values: dict[str, str] = {}
    problem = _problem(lambda: values.update(look_up_values(attribute.reading)))
    if problem is not None:
        return (), problem
    remarks = [f"{lookup.file} has {len(values):,} keys, each with one value"]
    if isinstance(attribute, Categorical) and type(attribute.levels[0]) is str:
        known = texts_of_levels(tuple(map(str, attribute.levels)), attribute.spellings, attribute.reading)
        strange = sorted({value for value in values.values() if attribute.reading.normal(value) not in known})
        if strange:
            remarks.append(f"values of {lookup.file} that are no level: {listing(strange, 6)}")
    return tuple(remarks), None


def _facts(reader: Reader) -> dict[str, Any]:
    """What is known of the file, or of the files."""
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
    """What a schema's error says, if there is one."""
    try:
        call()
    except SchemaError as error:
        return str(error)
    return None
