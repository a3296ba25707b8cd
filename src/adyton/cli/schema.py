"""``adyton schema``: start a schema for a table, or see what a schema accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adyton.cli.options import Table
from adyton.errors import BadInput

_DATA = "CSV, Parquet or DuckDB file (file.duckdb#table), the address of a database; or a schema, FILE.toml."


def command(
    data: Annotated[str | None, typer.Argument(metavar="DATA", help=_DATA)] = None,
    table: Table = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="The first line of the CSV file names the columns, although it looks like data; or it is a row.",
            show_default=False,
        ),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="The sign between the fields of the CSV file.")] = None,
    encoding: Annotated[str | None, typer.Option(help="The encoding of the CSV file, such as latin-1.")] = None,
    like: Annotated[
        str | None, typer.Option(metavar="NAME", help="Print a public preset to paste, such as ages; or list for all.")
    ] = None,
) -> None:
    """Draft a schema: the table's columns and types, with bounds and levels left for you to fill in.

    Values are never read: what is public about a table is for a person to say. Of a CSV file only the first line is
    read; if it looks like a row, nothing is shown. Of a schema that is there already, say what each attribute accepts,
    with a made-up example. With --like, offer attributes that many tables have.
    """
    if like is not None:
        if data is not None:
            raise BadInput("--like offers attributes to paste, without a table. Leave out DATA, or --like.")
        from adyton.schema.presets import listed, preset

        typer.echo(listed() if like == "list" else preset(like), nl=False)
        return
    if data is None:
        raise BadInput("say which table a schema is drafted for, or which preset is printed: --like ages, --like list.")
    if data.lower().endswith(".toml"):
        _show(Path(data))
        return
    from adyton.kernel.counting.locations import table_at
    from adyton.kernel.tables.draft import draft_schema, headless_draft
    from adyton.schema import FileFormat

    given = {"delimiter": delimiter and delimiter.replace("\\t", "\t"), "encoding": encoding}
    file = FileFormat(**{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]
    drafted = (
        headless_draft(file) if header is False else draft_schema(table_at(data, table), header=bool(header), file=file)
    )
    typer.echo(drafted, nl=False)


def _show(path: Path) -> None:
    from adyton.cli.console import out, printable
    from adyton.schema import Schema
    from adyton.schema.misfits import accepts

    for name, attribute in Schema.from_toml(path).attributes.items():
        out().print(printable(f"{name}: {accepts(attribute)}."), soft_wrap=True)
