"""``adyton schema``: start a schema for a table."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or DuckDB file (file.duckdb#table).")],
    header: Annotated[
        bool,
        typer.Option("--header", help="The first line of the CSV file names the columns, although it looks like data."),
    ] = False,
) -> None:
    """Draft a schema: the table's columns and types, with bounds and levels left for you to fill in.

    Values are never read: what is public about a table is for a person to say. Of a CSV file only the first line is
    read; if it looks like a row, nothing is shown.
    """
    from adyton.kernel.tables.draft import draft_schema

    typer.echo(draft_schema(data, header=header), nl=False)
