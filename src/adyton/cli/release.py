"""``adyton release``: publish statistics of a table under differential privacy."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.cli.delivery import Rows, deliver, delivered
from adyton.cli.options import (
    Accept,
    Connect,
    Dataset,
    LedgerFile,
    Quiet,
    SchemaOrNone,
    Table,
    TablesOrNone,
    TokenFile,
    Total,
    Where,
    Yes,
    files_of,
    table_of,
)
from adyton.cli.request import (
    Algorithm,
    Known,
    Misfits,
    Option,
    allowed_total,
    check_accepted,
    check_folder,
    options_of,
    schema_for,
    task_of,
    with_tasks,
)
from adyton.errors import BadInput
from adyton.exact import budget
from adyton.interrupts import termination_interrupts
from adyton.programs.base import Program, program_of
from adyton.result.folder import staged
from adyton.result.rows import check_rows
from adyton.result.sheets import HoldBack, Look
from adyton.schema import Schema
from adyton.session import Session
from adyton.tasks import NumbersTask, Request, Task
from adyton.tasks.known import KnownTotals

_MOST_PRINTED = 1_000_000
"""How many lines are printed at most if they are not saved in a folder."""

_Epsilon = Annotated[str, typer.Option(help="The privacy budget of this release, for example 0.5.")]
_Integer = Annotated[bool, typer.Option("--integer", help="Show whole numbers.")]
_Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Show no negative counts.")]
_Folder = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Write the report, a CSV and a JSON file here.")
]
_Below = Annotated[
    str | None,
    typer.Option("--hold-back-below", metavar="N", help="Hold back numbers below N: the noisy ones, as published."),
]
_Wider = Annotated[
    str | None,
    typer.Option(
        "--hold-back-wider",
        metavar="SHARE",
        help="Hold back numbers whose 95% interval reaches farther than this part of them, such as 50%. Both are for "
        "readers; privacy does not depend on them.",
    ),
]
_Shrink = Annotated[
    bool,
    typer.Option("--shrink", help="Shrink means of small groups towards the mean of all groups, for a smaller error."),
]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a release in FOLDER.")]
_Rows = Annotated[
    Path | None,
    typer.Option("--rows", metavar="FILE", help="Also write synthetic rows to this .csv or .parquet file."),
]
_RowsCount = Annotated[
    int | None,
    typer.Option(
        "--rows-count", metavar="N", help="How many synthetic rows; by default about as many as the table has."
    ),
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print the release as JSON.")]


@with_tasks
def command(
    epsilon: _Epsilon,
    data: TablesOrNone = None,
    schema: SchemaOrNone = None,
    table: Table = None,
    where: Where = None,
    algorithm: Algorithm = "auto",
    option: Option = None,
    misfits: Misfits = None,
    known: Known = None,
    integer: _Integer = False,
    nonnegative: _Nonnegative = False,
    shrink: _Shrink = False,
    hold_back_below: _Below = None,
    hold_back_wider: _Wider = None,
    ledger: LedgerFile = None,
    total: Total = None,
    dataset: Dataset = None,
    accept: Accept = None,
    connect: Connect = None,
    token_file: TokenFile = None,
    out_folder: _Folder = None,
    overwrite: _Overwrite = False,
    rows: _Rows = None,
    rows_count: _RowsCount = None,
    yes: Yes = False,
    as_json: _AsJson = False,
    quiet: Quiet = False,
    **asked: Any,
) -> None:
    """Release counts, ranges, marginals, sums, means or quantiles under differential privacy."""
    task = task_of(asked, "ask for one thing")
    options = options_of(option)
    at_service = {"ledger": ledger, "total": total, "accept": accept}
    declared, remote = schema_for(connect, dataset, token_file, data, schema, table, **at_service)
    amount = budget(epsilon, "--epsilon")
    totals = None if known is None else KnownTotals.of(known)
    how: Any = {"algorithm": algorithm, "misfits": misfits, "known": totals}
    program = program_of(Request.of(task, amount, where=where, **how, options=options), declared)
    program.known_totals()
    program.outlook()  # refuses tasks that cannot be answered, before the data are opened
    if shrink:
        if not isinstance(task, NumbersTask):
            raise BadInput(f"--shrink is for means by groups, and this is {task}. Leave it out.")
        task.check_shrinking(program.lines)
    hold = {"below": hold_back_below, "wider_than": hold_back_wider}
    if any(given is not None for given in hold.values()):
        HoldBack.of(**hold)
        if isinstance(task, NumbersTask):
            task.check_threshold(hold_back_below)
        if not program.result.holds_back:
            raise BadInput(f"numbers of {program.result.holds} cannot be held back. Leave --hold-back-… out.")
    looks = {"--integer": integer, "--nonnegative": nonnegative}
    _check(program, [name for name, given in looks.items() if given], kept=as_json or out_folder is not None)
    _check_rows(program, rows, rows_count, task, declared)
    check_accepted(accept or ())
    check_folder(out_folder, (*files_of(data), schema, *_files(asked), *(known or ()), ledger), overwrite=overwrite)
    allowed = allowed_total(amount, total, declared, ledger, yes=yes, quiet=quiet, remote=remote)
    folder = staged(out_folder, overwrite=overwrite) if out_folder else nullcontext()
    with termination_interrupts(), folder as place:
        session = remote or Session(
            table_of(data or []),
            table=table,
            schema=declared,
            epsilon=allowed,
            ledger=ledger,
            dataset=dataset,
            accept=accept or (),
        )
        ask = partial(session.release, task, amount, where=where, **how, **options)
        look, made = Look(integer, nonnegative), None if rows is None else Rows(rows, rows_count)

        def hand_over(result: Any, interrupt: KeyboardInterrupt | None) -> None:
            shown = result.shrunk() if shrink else result
            shown = shown.held_back(**hold) if shown.holds_back else shown
            deliver(shown, interrupt, place=place, look=look, as_json=as_json, quiet=quiet, rows=made)

        delivered(session, ask, hand_over, "releasing", place=place, quiet=quiet or as_json)


def _check(program: Program, looks: list[str], *, kept: bool) -> None:
    """Refuse results that cannot be shown, or not in the requested way, before anything is paid."""
    if looks and not program.result.looks:
        raise BadInput(f"{', '.join(looks)} cannot be used for {program.result.holds}. Leave that out.")
    if program.lines > _MOST_PRINTED and not kept:
        raise BadInput(
            f"this release has {program.lines:,} lines; at most {_MOST_PRINTED:,} can be printed. Give --out FOLDER "
            "or --json, which have no limit."
        )


def _files(asked: dict[str, Any]) -> list[Path]:
    """The files among the values of the task's options."""
    return [given for given in asked.values() if isinstance(given, Path)]


def _check_rows(program: Program, rows: Path | None, count: int | None, task: Task, schema: Schema) -> None:
    """Refuse synthetic rows that cannot be made."""
    if count is not None and rows is None:
        raise BadInput("--rows-count belongs to --rows FILE. Name a .csv or .parquet file for the rows.")
    if rows is None:
        return
    if not hasattr(program.result, "row_source"):
        raise BadInput(
            f"--rows cannot be used for {program.result.holds}: rows are made from tables. Ask for --marginals 2, for "
            "example."
        )
    check_rows(rows, 0 if count is None else count, task.select(schema))
