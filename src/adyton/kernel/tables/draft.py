"""A first draft of a schema file: the columns are listed, the rest is left for a person to fill in."""

from __future__ import annotations

from typing import Any

from adyton.errors import SchemaError
from adyton.messages import listing
from adyton.schema.files import toml_key

_HEADER = """\
# A draft. What stands here is public: fill it in from what is known about the table in general (a code book, a form,
# common sense), never by looking at the rows. Delete the attributes that nobody will ask about.
#
# In a CSV file, numbers are read like 1250.5, -3 or 2e6. "$1,250.50", "12,5" or "10/24/1979" are no numbers: they count
# as missing. Levels are written as they are in the file; spaces around them do not matter, capitals do. Once this is
# filled in, `adyton schema FILE.toml` says what each attribute accepts.

rows_per_unit = 1   # the most rows that one person has in this table
# unit = "person_id"   # the column that says whose row it is: of each, so many rows are kept
"""

_BODIES = {
    "integer": ['type = "integer"', "# min = 0      # fill in", "# max = 100    # fill in"],
    "numeric": ['type = "numeric"', "# min = 0      # fill in", "# max = 100    # fill in", "# bins = 20    # fill in"],
    "categorical": ['type = "categorical"', '# levels = ["a", "b"]   # fill in; or type = "identifier" for a name'],
    "boolean": ['type = "boolean"'],
    "text": [
        '# type = "integer"       # fill in: integer (min, max), numeric (min, max, bins), categorical (levels),',
        "#                        # boolean or identifier",
    ],
    "unusable": ['type = "identifier"     # this type has no cells; turn it into a number or a text to count it'],
}


def draft_schema(data: Any, *, header: bool = False) -> str:
    """TOML that lists the columns of a table and leaves bounds and levels as comments. It never reads a value.

    *data* is anything that can be opened as a table; of a CSV file only the first line is read. If that line looks like
    a row and not like names, it is not shown, unless you say with *header* that it does name the columns.

    >>> import pyarrow
    >>> print(draft_schema(pyarrow.table({"age": [34]})))  # doctest: +ELLIPSIS
    # A draft. ...
    [attributes.age]   # int64
    type = "integer"
    # min = 0      # fill in
    # max = 100    # fill in
    <BLANKLINE>
    """
    from adyton.kernel.tables.origins import reader_for

    reader = reader_for(data)
    if reader.doubtful and not header:
        raise SchemaError(
            "the first line of the file looks like a row of data, which a draft would publish. If it does name the "
            "columns, say so with --header (in Python header=True); if not, write such a line at the top of the file."
        )
    columns = reader.columns
    names = [column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"the table has several columns called {listing(twice)}. Rename all but one.")
    parts = [_HEADER]
    for column in columns:
        lines = [f"[attributes.{toml_key(column.name)}]   # {' '.join(column.engine_type.split())}"]
        parts.append("\n".join([*lines, *_BODIES[column.kind]]) + "\n")
    return "\n".join(parts)
