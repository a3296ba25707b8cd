"""``adyton schema``: start a schema for a table."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or DuckDB file (file.duckdb#table).")],
) -> None:
    """Draft a schema: the table's columns and types, with bounds and levels left for you to fill in.

    Values are never read: what is public about a table is for a person to say.
    """
    from adyton.kernel.tables.draft import draft_schema

    typer.echo(draft_schema(data), nl=False)
