"""``adyton schema``: draft a schema for a table, or show what a schema accepts; ``adyton check``: check whether a table
matches its schema, before anything is requested or spent."""

from __future__ import annotations

from typing import Annotated

import typer

from adyton.cli.console import print_json, say
from adyton.cli.options import SchemaFile, Table, Tables, table_of
from adyton.errors import BadInput
from adyton.kernel.checking import Check, Fit, check_table, draft_schema, look_at_public_rows
from adyton.kernel.counting.opening import table_at
from adyton.messages import listing
from adyton.schema import FileFormat, Schema
from adyton.schema.draft import headless_draft, listed, preset, schema_from
from adyton.schema.misfits import accepts

_DATA = "CSV, Parquet or DuckDB file (file.duckdb#table), the address of a database; or a schema, FILE.toml."


def command(
    data: Annotated[str | None, typer.Argument(metavar="DATA", help=_DATA)] = None,
    table: Table = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="The first line of the CSV file names the columns, even if it looks like data; or it is a row.",
            show_default=False,
        ),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="The character between the fields of the CSV file.")] = None,
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

    Values are never read: a person has to say what is public about a table. Of a CSV file only the first line is read;
    if it looks like a row, nothing of it is shown. For a schema that exists already, the command says what each
    attribute accepts, with a made-up example. With --like, it prints attributes that many tables have. With --from, it
    writes the schema from a dictionary: a code book with a line for each variable or for each of its codes, or a
    Frictionless table schema or data package.
    """
    if dictionary is not None and (data is not None or like is not None):
        raise BadInput("--from writes a schema from a dictionary alone. Leave out DATA and --like.")
    if like is not None and data is not None:
        raise BadInput("--like prints attributes to paste, without a table. Leave out DATA, or --like.")
    if like is None and data is None and dictionary is None:
        raise BadInput(
            "name a table to draft a schema for, a dictionary to write it from (--from), or a preset to print: --like "
            "ages, --like list."
        )
    if data is not None and data.lower().endswith(".toml"):
        schema = Schema.from_toml(data)
        for name, attribute in schema.attributes.items():
            every = " (every column that matches and has no entry of its own)" if name in schema.patterns else ""
            say(f"{name}{every}: {accepts(attribute)}.")
        return
    given = {"delimiter": delimiter and delimiter.replace("\\t", "\t"), "encoding": encoding}
    file = FileFormat(**{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]
    if like is not None:
        text = listed() if like == "list" else preset(like)
    elif dictionary is not None:
        text = schema_from(dictionary, table=table, file=file)
    elif header is False:
        text = headless_draft(file)
    else:
        text = draft_schema(table_at(data, table), header=bool(header), file=file)
    typer.echo(text, nl=False)


def check(
    data: Tables,
    schema: SchemaFile,
    table: Table = None,
    public: Annotated[
        bool,
        typer.Option("--public", help="The table is public: read its rows too, and report exactly how they fit."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check a table against its schema. Without --public no row is read, and nothing is spent.

    It reports the file's header, delimiter and encoding, the columns and their types, what each attribute accepts, and
    whether public look-up tables have one value for each key. With --public every row is read: how many do not match
    the schema and why, with examples, and the keys that would help. Never use --public for a private table.
    """
    declared = Schema.from_toml(schema)
    checked = check_table(rows := table_at(table_of(data), table), declared)
    problems = checked.all_problems
    fits = look_at_public_rows(rows, declared) if public and not problems else None
    if as_json:
        print_json({**checked.to_dict(), "rows": None if fits is None else [fit.to_dict() for fit in fits]})
    elif checked.file:  # otherwise the table cannot be opened, and the error below says why
        for line in _lines(checked, {fit.attribute: fit for fit in fits or ()}):
            say(line)
    if problems:
        more = f" ({len(problems)} problems in all.)" if len(problems) > 1 else ""
        raise BadInput(f"{problems[0]}{more}")


def _lines(checked: Check, fits: dict[str, Fit]) -> list[str]:
    """A line for the file, and one or more for each attribute."""
    lines = ["; ".join(f"{key} {_shown(value)}" for key, value in checked.file.items()) + "."]
    if checked.file["kind"] == "typed columns":
        lines = [f"{checked.file['columns']} columns, which have types."]
    if checked.unit:
        lines.append(f"{checked.unit}.")
    for attribute in checked.attributes:
        name = attribute.attribute
        column = "" if attribute.column == name else f", column {attribute.column!r}"
        lines.append(f"{name}{column} ({attribute.type or 'no column'}): {attribute.accepts}.")
        lines += [f"  problem: {problem}" for problem in attribute.problems]
        lines += [f"  {remark}." for remark in attribute.remarks]
        if (fit := fits.get(name)) is not None:
            lines.append(f"  {fit.fitting:,} of {fit.rows:,} rows fit.")
            lines += [f"  {rows:,} rows: {reason}, {fate}." for reason, fate, rows in fit.misfits]
            lines += [f"  without a cell: {', '.join(map(repr, fit.examples))}."] if fit.examples else []
            lines += [f"  this would help: {fit.advice}."] if fit.advice else []
    lines += [f"problem: {problem}" for problem in checked.problems]
    if checked.undeclared:
        lines.append(f"Columns that the schema does not name: {listing(checked.undeclared)}.")
    return lines if checked.all_problems else [*lines, "The table can be opened with this schema."]


def _shown(value: object) -> str:
    """A fact about a file, in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "tab" if value == "\t" else str(value)
