"""``adyton schema``: start a schema for a table, or see what a schema accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_DATA = "CSV, Parquet or DuckDB file (file.duckdb#table); or a schema, FILE.toml."


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help=_DATA)],
    header: Annotated[
        bool,
        typer.Option("--header", help="The first line of the CSV file names the columns, although it looks like data."),
    ] = False,
) -> None:
    """Draft a schema: the table's columns and types, with bounds and levels left for you to fill in.

    Values are never read: what is public about a table is for a person to say. Of a CSV file only the first line is
    read; if it looks like a row, nothing is shown. Of a schema that is there already, say what each attribute accepts,
    with a made-up example.
    """
    if data.lower().endswith(".toml"):
        _show(Path(data))
        return
    from adyton.kernel.tables.draft import draft_schema

    typer.echo(draft_schema(data, header=header), nl=False)


def _show(path: Path) -> None:
    from adyton.cli.console import out, printable
    from adyton.schema import Schema
    from adyton.schema.accepting import accepts

    for name, attribute in Schema.from_toml(path).attributes.items():
        out().print(printable(f"{name}: {accepts(attribute)}."), soft_wrap=True)
