"""Options that several commands have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SchemaFile = Annotated[Path, typer.Option(help="The schema file: what is public about the table.")]
SchemaOrNone = Annotated[
    Path | None, typer.Option("--schema", help="The schema file: what is public about the table.", show_default=False)
]
Trials = Annotated[int, typer.Option(min=1, help="How many runs each error is averaged over.")]
FiguresAsJson = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
NoBar = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar and no remarks.")]

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, Parquet, Excel, DuckDB or SQLite file (city.sqlite#trips, book.xlsx#Sheet1); a folder or a pattern "
        "for several: 'week-*.csv'; or the address of a database: postgresql://host/name, sc://host (Spark Connect).",
    ),
]
_TABLES = typer.Argument(
    metavar="DATA…",
    help="CSV, Parquet, Excel, DuckDB or SQLite file (city.sqlite#trips, book.xlsx#Sheet1); several files, a "
    "folder or a pattern such as 'week-*.csv' are one table; or the address of a database: postgresql://host/name, "
    "sc://host (Spark Connect).",
)
Tables = Annotated[list[str], _TABLES]
TablesOrNone = Annotated[list[str] | None, _TABLES]
Table = Annotated[
    str | None, typer.Option("--table", metavar="NAME", help="The table, if DATA is a database with several.")
]
Where = Annotated[str | None, typer.Option(metavar="PREDICATE", help='Only these rows: "age >= 65".')]
LedgerFile = Annotated[
    str | None,
    typer.Option(metavar="FILE|ADDRESS", help="The file, or postgresql://…, that records what was spent."),
]
Total = Annotated[
    str | None, typer.Option(help="The total budget of a new ledger; without a ledger, by default EPSILON.")
]
Dataset = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The name of the data set in the ledger; by default that of the file."),
]
Accept = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD",
        help="With the data owner's consent, accept a change of the ledger's unit, rows_per_unit or schema; or terms, "
        "for all of them, if it has none recorded.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Accept a budget above 10.")]


Connect = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Ask a service (https://host:8472 or unix:/path) instead of DATA and --schema. --dataset names its data "
        "set; the environment variable ADYTON_TOKEN has the token.",
    ),
]
TokenFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="For --connect: the file that has the token.", show_default=False)
]


def table_of(given: list[str]) -> str | list[str]:
    """One file, or the list of several."""
    return given[0] if len(given) == 1 else given


def files_of(given: list[str] | None) -> list[str]:
    """The paths of the table, with and without the name of a table in a database."""
    return [path for word in given or () for path in (word, word.rpartition("#")[0])]
