"""``adyton ledger``: show what a ledger has recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli.console import out, plain_table, print_json, printable
from adyton.errors import BadInput
from adyton.exact import as_number, display

if TYPE_CHECKING:
    from rich.console import Console

    from adyton.kernel.ledger import Entry, LedgerReport

_NARROW = 100


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The ledger to look at; it is not changed.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with exact fractions.")] = False,
) -> None:
    """Show what was spent, on what, and how much is left."""
    from adyton.kernel.ledger import Ledger

    if not file.exists():
        raise BadInput(f"{file} does not exist. Give the path of a ledger.")
    report = Ledger.read(file)
    if as_json:
        print_json(_as_json(report))
    else:
        _print(report, out())


def _as_json(report: LedgerReport) -> dict[str, Any]:
    return {
        "path": report.path,
        "dataset": report.dataset,
        "total": as_number(report.total),
        "spent": as_number(report.spent),
        "remaining": as_number(report.remaining),
        "entries": [
            {
                "number": entry.number,
                "time": entry.time,
                "amount": as_number(entry.amount),
                "spent_after": as_number(entry.spent_after),
                "lineage": list(entry.lineage),
                "operator": entry.operator,
                "status": entry.status,
                "process": entry.process,
            }
            for entry in report.entries
        ],
        "events": [
            {"time": event.time, "changed": event.changed, "old": event.old, "new": event.new, "process": event.process}
            for event in report.events
        ],
    }


def _print(report: LedgerReport, console: Console) -> None:
    from rich.text import Text

    for label, value in (
        ("data set", printable(report.dataset)),
        ("total", display(report.total)),
        ("spent", display(report.spent)),
        ("remaining", display(report.remaining)),
    ):
        console.print(Text.assemble((f"{label:<10}", "bold"), value))
    console.print()
    if not report.entries:
        console.print("No entries yet.")
    elif console.width < _NARROW:
        for entry in report.entries:
            _print_narrow(entry, console)
    else:
        _print_table(report, console)
    for event in report.events:
        change = f"{event.changed} changed from {event.old} to {event.new}"
        console.print(Text(f"{_moment(event.time)}  {printable(change)}"))


def _print_table(report: LedgerReport, console: Console) -> None:
    from rich.text import Text

    table = plain_table()
    table.add_column("entry", justify="right", no_wrap=True)
    table.add_column("time (UTC)", no_wrap=True)
    table.add_column("amount", justify="right", overflow="fold")
    table.add_column("spent after", justify="right", overflow="fold")
    table.add_column("lineage", overflow="fold")
    table.add_column("operator", overflow="fold")
    table.add_column("status", no_wrap=True)
    for entry in report.entries:
        table.add_row(
            str(entry.number),
            _moment(entry.time),
            display(entry.amount),
            display(entry.spent_after),
            Text(_path(entry)),
            Text(printable(entry.operator)),
            entry.status,
        )
    console.print(table)


def _print_narrow(entry: Entry, console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    amounts = f"{display(entry.amount)} (spent after: {display(entry.spent_after)})"
    console.print(Text(f"{entry.number}. {amounts}", style="bold"))
    for line in (_moment(entry.time), _path(entry), f"{printable(entry.operator)}, {entry.status}"):
        if line:
            console.print(Padding(Text(line, overflow="fold"), (0, 0, 0, 3)))


def _path(entry: Entry) -> str:
    return printable(" > ".join(entry.lineage))


def _moment(time: str) -> str:
    """An ISO time to the second, as people read it."""
    return printable(time[:19].replace("T", " "))
