"""Engines: DuckDB and SQLite, whose rows are read here, and servers, where rows stay and are grouped.

Begin with :mod:`~adyton.kernel.engines.server`. The file of an engine is loaded when one of its tables is opened.
"""

LONGEST_NAME = 1 << 18
"""In bytes: a longer text is not the name of a unit."""


def sql_text(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str, quote: str = '"') -> str:
    """A name as SQL quotes it."""
    return quote + name.replace(quote, quote * 2) + quote
