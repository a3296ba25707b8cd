"""``adyton schema``: start a schema for a table, or see what a schema accepts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adyton.cli.options import Table
from adyton.errors import BadInput

if TYPE_CHECKING:
    from adyton.schema import FileFormat

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
    dictionary: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DICTIONARY",
            help="Write a schema from a code book (CSV) or a Frictionless schema (JSON).",
        ),
    ] = None,
) -> None:
    """Draft a schema: the table's columns and types, with bounds and levels left for you to fill in.

    Values are never read: what is public about a table is for a person to say. Of a CSV file only the first line is
    read; if it looks like a row, nothing is shown. Of a schema that is there already, say what each attribute accepts,
    with a made-up example. With --like, offer attributes that many tables have. With --from, write the schema from a
    dictionary: a code book with a line for each variable or for each of its codes, or a Frictionless table schema or
    data package.
    """
    if dictionary is not None and (data is not None or like is not None):
        raise BadInput("--from writes a schema from a dictionary alone. Leave out DATA and --like.")
    if like is not None:
        if data is not None:
            raise BadInput("--like offers attributes to paste, without a table. Leave out DATA, or --like.")
        from adyton.schema.draft import listed, preset

        typer.echo(listed() if like == "list" else preset(like), nl=False)
        return
    if data is None and dictionary is None:
        raise BadInput(
            "say which table a schema is drafted for, from which dictionary it is written (--from), or which preset is "
            "printed: --like ages, --like list."
        )
    if data is not None and data.lower().endswith(".toml"):
        _show(Path(data))
        return
    from adyton.schema import FileFormat

    given = {"delimiter": delimiter and delimiter.replace("\\t", "\t"), "encoding": encoding}
    file = FileFormat(**{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]
    typer.echo(_drafted(data, dictionary, table, header, file), nl=False)


def _drafted(data: str | None, dictionary: str | None, table: str | None, header: bool | None, file: FileFormat) -> str:
    """The text of a schema: from a dictionary, or for a table."""
    if dictionary is not None:
        from adyton.schema.draft import schema_from

        return schema_from(dictionary, table=table, file=file)
    from adyton.kernel.checking import draft_schema
    from adyton.kernel.counting.opening import table_at
    from adyton.schema.draft import headless_draft

    if header is False:
        return headless_draft(file)
    return draft_schema(table_at(data, table), header=bool(header), file=file)


def _show(path: Path) -> None:
    from adyton.cli.console import out, printable
    from adyton.schema import Schema
    from adyton.schema.misfits import accepts

    schema = Schema.from_toml(path)
    for name, attribute in schema.attributes.items():
        every = " (every column that matches and has no entry of its own)" if name in schema.patterns else ""
        out().print(printable(f"{name}{every}: {accepts(attribute)}."), soft_wrap=True)
