"""Engines: DuckDB, whose rows are read by us, and servers, where rows stay and are grouped by what is asked of them.

Here is what all of them share; a server's own file is loaded when one of its tables is opened.
"""

LONGEST_NAME = 1 << 18
"""In bytes: a longer text is not the name of a unit."""


def sql_text(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str, quote: str = '"') -> str:
    """A name as SQL quotes it."""
    return quote + name.replace(quote, quote * 2) + quote
