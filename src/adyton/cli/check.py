"""``adyton check``: whether a table has what a schema declares, before anything is asked or spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli.options import SchemaFile, Table, Tables, table_of
from adyton.errors import BadInput

if TYPE_CHECKING:
    from adyton.kernel.checking import Check, Fit


def command(
    data: Tables,
    schema: SchemaFile,
    table: Table = None,
    public: Annotated[
        bool,
        typer.Option("--public", help="The table is public: read its rows too, and tell how they fit, exactly."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Check a table against its schema. Without --public no row is looked at, and nothing is spent.

    Told are the file's header, delimiter and encoding, the columns and their types, what each attribute accepts, and
    whether public look-up tables have one value for each key. With --public every row is read: how many do not fit and
    why, with examples, and the keys that would help. Never say --public of a private table.
    """
    from adyton.cli.console import print_json
    from adyton.kernel.checking import check_table, look_at_public_rows
    from adyton.kernel.counting.opening import table_at
    from adyton.schema import Schema

    declared = Schema.from_toml(schema)
    found = check_table(rows := table_at(table_of(data), table), declared)
    problems = found.all_problems
    fits = look_at_public_rows(rows, declared) if public and not problems else None
    if as_json:
        print_json({**found.to_dict(), "rows": None if fits is None else [fit.to_dict() for fit in fits]})
    else:
        _print(found, fits)
    if problems:
        more = f" ({len(problems)} problems in all.)" if len(problems) > 1 else ""
        raise BadInput(f"{problems[0]}{more}")


def _print(found: Check, fits: tuple[Fit, ...] | None) -> None:
    """A line for the file, and some for each attribute."""
    from adyton.cli.console import out, printable

    def say(text: str) -> None:
        out().print(printable(text), soft_wrap=True)

    if not found.file:  # the table cannot be opened: why is said at the end
        return
    if found.file["kind"] == "typed columns":
        say(f"{found.file['columns']} columns, which have types.")
    else:
        say("; ".join(f"{key} {_shown(value)}" for key, value in found.file.items()) + ".")
    if found.unit:
        say(f"{found.unit}.")
    by_name = {fit.attribute: fit for fit in fits or ()}
    for one in found.attributes:
        column = "" if one.column == one.attribute else f", column {one.column!r}"
        say(f"{one.attribute}{column} ({one.type or 'no column'}): {one.accepts}.")
        for problem in one.problems:
            say(f"  problem: {problem}")
        for remark in one.remarks:
            say(f"  {remark}.")
        if one.attribute in by_name:
            for line in _fit(by_name[one.attribute]):
                say(f"  {line}.")
    for problem in found.problems:
        say(f"problem: {problem}")
    if found.undeclared:
        from adyton.messages import listing

        say(f"Columns that the schema leaves out: {listing(found.undeclared)}.")
    if not found.all_problems:
        say("The table can be opened with this schema.")


def _fit(fit: Fit) -> list[str]:
    lines = [f"{fit.fitting:,} of {fit.rows:,} rows fit"]
    lines += [f"{rows:,} rows: {reason}, {fate}" for reason, fate, rows in fit.misfits]
    if fit.examples:
        lines.append(f"without a cell: {', '.join(map(repr, fit.examples))}")
    if fit.advice:
        lines.append(f"this would help: {fit.advice}")
    return lines


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return {"\t": "tab"}.get(value, str(value)) if isinstance(value, str) else str(value)
