"""Engines: DuckDB and SQLite, whose rows are read in this process, and servers, which keep and group their rows.

Begin with :mod:`~adyton.kernel.engines.server`. The module of an engine is loaded when one of its tables is opened.
"""

LONGEST_NAME = 1 << 18
"""In bytes: a longer text is not the name of a unit."""


def sql_text(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str, quote: str = '"') -> str:
    """A name as a quoted SQL identifier."""
    return quote + name.replace(quote, quote * 2) + quote
