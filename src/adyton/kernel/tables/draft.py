"""A first draft of a schema file: the columns are listed, the rest is left for a person to fill in."""

from __future__ import annotations

from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.reading.readers import Reader
from adyton.messages import listing
from adyton.schema import FileFormat
from adyton.schema.file_format import PLAIN
from adyton.schema.files import toml_key, toml_value

_HEADER = """\
# A draft. What stands here is public: fill it in from what is known about the table in general (a code book, a form,
# common sense), never by looking at the rows. Delete the attributes that nobody will ask about.
#
# In a CSV file, numbers are read like 1250.5, -3 or 2e6, and levels as they are written here: spaces around them do not
# matter, capitals do. Dates are read like 2024-03-01, or as format = "%m/%d/%Y" says. The keys in comments say that a
# column is written otherwise. Once this is filled in,
# `adyton schema FILE.toml` says what each attribute accepts, and `adyton check DATA --schema FILE.toml` whether the
# table has it all; `adyton schema --like NAME` offers attributes that many tables have, to be pasted.

rows_per_unit = 1   # the most rows that one person has in this table
# unit = "person_id"   # the column that says whose row it is: of each, so many rows are kept
"""

_FILE = """\
# [file]                          # how CSV files are written, where that is not as usual
# delimiter = ";"                 # the sign that the header has most of, if left out
# encoding = "latin-1"            # utf-8 if left out; also cp1252, utf-16, …
# header = false                  # the first line is a row; then columns = ["…", "…"] names all columns in their order
# compression = "gzip"            # none, gzip, zstd, bz2 or zip; told by the file's name if left out
# line_end = "cr"                 # lines end with a carriage return alone; told by the header if left out

# [attributes.place]              # two columns that are a place on the earth, for maps, in place of two attributes:
# type = "point"                  # longitude = "lng", latitude = "lat", box = [west, south, east, north], grid = 20

# [report]                        # what every report says besides the numbers
# title = "…"                     # its heading; office, contact and notes = ["…"] are shown, too
"""

_NUMBERS = [
    '# currency = "$"         # signs before or after the number, one or a list',
    '# thousands = ","        # 1,250,000; also ".", " " and "\'"',
    '# decimal = ","          # 12,5 is twelve and a half',
    '# missing = ["NA", -99]  # words and numbers that mean that there is no value',
]
_LEVELS = [
    '# to recode: levels = {"north" = ["BX", "MN"], "south" = ["BK"]}; groups = {"city" = ["north", "south"]}',
    '# case = "ignore"        # capitals do not matter; trim = true: nor does any white space around',
    '# missing = ["NA", "?"]  # words that mean that there is no value',
    "# first = 2              # only so many characters of the text count",
    '# lookup = {file = "zips.csv", key = "zip", value = "region"}   # a public table in which the text is looked up',
]
_BODIES = {
    "integer": ['type = "integer"', "# min = 0      # fill in", "# max = 100    # fill in", _NUMBERS[-1]],
    "numeric": [
        'type = "numeric"',
        "# min = 0      # fill in",
        "# max = 100    # fill in",
        "# bins = 20    # fill in",
        _NUMBERS[-1],
    ],
    "categorical": [
        'type = "categorical"',
        '# levels = ["a", "b"]   # fill in; or type = "identifier" for a name',
        *_LEVELS,
    ],
    "boolean": ['type = "boolean"'],
    "date": [
        'type = "date"',
        '# min = "2020-01-01"   # fill in',
        '# max = "2029-12-31"   # fill in',
        'by = "month"           # or day, week, quarter, year, weekday, "month of year"',
    ],
    "datetime": [
        'type = "datetime"',
        '# min = "2020-01-01"   # fill in',
        '# max = "2029-12-31"   # fill in',
        'by = "day"             # or hour, week, month, quarter, year, "hour of day", weekday, "month of year"',
        'zone = "UTC"           # the clock on which hours and days are counted, such as "Europe/Berlin"',
    ],
    "duration": [
        'type = "duration"',
        'unit = "minutes"       # or seconds, hours, days, …',
        "# min = 0      # fill in",
        "# max = 120    # fill in",
        "# bins = 24    # fill in",
    ],
    "text": [
        '# type = "integer"       # fill in: integer (min, max), numeric (min, max, bins), categorical (levels),',
        "#                        # boolean, date or datetime (min, max, by, zone), duration (min, max, bins, unit)",
        "#                        # or identifier",
    ],
    "unusable": ['type = "identifier"     # this type has no cells; turn it into a number or a text to count it'],
}
_TEXTS = """\
# Of any of these attributes a CSV file may need, each where it fits:
# column = "Pay (USD)"     # the name of the column, where it is not the attribute's
"""


def draft_schema(data: Any, *, header: bool = False, file: FileFormat = PLAIN) -> str:
    """TOML that lists the columns of a table and leaves bounds and levels as comments. It never reads a value.

    *data* is anything that can be opened as a table; of a CSV file only the first line is read. If that line looks like
    a row and not like names, it is not shown, unless you say with *header* that it does name the columns. *file* says
    how CSV files are written.

    >>> import pyarrow
    >>> print(draft_schema(pyarrow.table({"age": [34]})))  # doctest: +ELLIPSIS
    # A draft. ...
    [attributes.age]   # int64
    type = "integer"
    # min = 0      # fill in
    # max = 100    # fill in
    # missing = ["NA", -99]  # words and numbers that mean that there is no value
    <BLANKLINE>
    """
    from adyton.kernel.counting.origins import reader_for

    reader = reader_for(data, file=file)
    if reader.doubtful and not header:
        raise SchemaError(
            "the first line of the file looks like a row of data, which a draft would publish. If it does name the "
            "columns, say so with --header (in Python header=True); if not, ask for a draft with --no-header."
        )
    columns = reader.columns
    names = [column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"the table has several columns called {listing(twice)}. Rename all but one.")
    parts = [_HEADER, *_file_part(reader, file)]
    for column in columns:
        lines = [f"[attributes.{toml_key(column.name)}]   # {' '.join(column.engine_type.split())}"]
        parts.append("\n".join([*lines, *_BODIES[column.kind]]) + "\n")
    return "\n".join(parts)


def _file_part(reader: Reader, file: FileFormat) -> list[str]:
    """How the file is written: what was said, or what could be; and the keys for columns of texts."""
    if not reader.is_text:
        return []
    said = file.to_dict()
    own = "".join(f"{key} = {toml_value(value)}\n" for key, value in said.items())
    return [f"[file]\n{own}" if said else _FILE, _TEXTS + "\n".join([*_NUMBERS, *_LEVELS]) + "\n"]


def headless_draft(file: FileFormat = PLAIN) -> str:
    """A draft for a file without a header, of which nothing is read."""
    own = "".join(f"{key} = {toml_value(value)}\n" for key, value in file.to_dict().items() if key != "columns")
    if "header" not in own:
        own = f"header = false\n{own}"
    names = '# columns = ["age", "sex"]   # fill in: a name for every column, in their order'
    example = "\n".join(
        ["[attributes.age]        # one such table for every column that may be asked about", *_BODIES["text"]]
    )
    texts = _TEXTS + "\n".join([*_NUMBERS, *_LEVELS]) + "\n"
    return "\n".join([_HEADER, f"[file]\n{own}{names}\n", texts, example + "\n"])
