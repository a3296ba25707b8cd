"""``adyton plan``: what error to expect for which ε, before anything is spent."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.cli.console import out, plain_table, print_json, printable, progress, remark, say_first
from adyton.cli.delivery import deliver
from adyton.cli.options import Connect, Dataset, FiguresAsJson, Quiet, SchemaOrNone, TokenFile
from adyton.cli.request import Algorithm, Known, Misfits, Option, options_of, schema_for, task_of, with_tasks
from adyton.errors import BadInput
from adyton.exact import as_number, budget, display, positive
from adyton.kernel.checking import schema_of_table
from adyton.kernel.shapes import Facts
from adyton.programs.base import Outlook, load, program_of
from adyton.programs.targets import EPSILONS, Target, plot_errors
from adyton.result.folder import staged
from adyton.result.misfits import NO_SHARE
from adyton.result.receipt import RowsCounted
from adyton.result.sheets import AS_IT_IS
from adyton.schema import Schema
from adyton.schema.misfits import accepts
from adyton.session.rehearsal import facts_of, rehearsed
from adyton.session.run import misfits_share
from adyton.tasks import Request

_BAR = 40


@with_tasks
def command(
    schema: SchemaOrNone = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="The table, if the schema has patterns for column names; no row is read."),
    ] = None,
    epsilon: Annotated[list[str] | None, typer.Option(help="A budget to show; can be given several times.")] = None,
    error: Annotated[
        str | None,
        typer.Option(
            help="Find the least ε for a target: 10, a typical error; ±20, the half-width of the 95% interval of each "
            "answer; or 5%, that half-width as a part of --of."
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|FOLDER",
            help="What --error 5% is a part of: a number, or the mean answer of the release in this folder. By default "
            "an even share of the rows in the schema.",
        ),
    ] = None,
    algorithm: Algorithm = "auto",
    option: Option = None,
    misfits: Misfits = None,
    known: Known = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw error against ε: a .svg, .png or .pdf file.")
    ] = None,
    rehearse: Annotated[
        bool,
        typer.Option("--rehearse", help="Print what a release would look like, of rows made up from the schema."),
    ] = False,
    out_folder: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="With --rehearse: write its files here.")
    ] = None,
    connect: Connect = None,
    dataset: Dataset = None,
    token_file: TokenFile = None,
    as_json: FiguresAsJson = False,
    quiet: Quiet = False,
    **asked: Any,
) -> None:
    """Show the expected error of a release for several ε. Needs only the schema: no data are read, nothing is spent."""
    task = task_of(asked, "say what you would release")
    budgets = sorted(positive(amount, "--epsilon") for amount in epsilon or EPSILONS)
    declared, facts = _schema(schema, data, connect, dataset, token_file)
    counted = RowsCounted.asked(task, declared.unit, declared.rows_per_unit)
    how: Any = {"misfits": misfits, "known": known, "options": options_of(option)}
    request = Request.of(task, 1, algorithm=algorithm, **how)
    if rehearse:
        _rehearse(request, epsilon or [], facts, out_folder, as_json=as_json, quiet=quiet)
        return
    if out_folder is not None:
        raise BadInput("--out is for the files of a rehearsal. Add --rehearse, or leave it out.")
    program = program_of(request, declared)
    program.known_totals()  # refused by programs that cannot use them
    looked_at = program.looks_at or ()
    part = misfits_share(misfits, declared, from_text=True) if looked_at else NO_SHARE  # as for a CSV file
    outlook = program.outlook(part)
    if of is not None and error is None:
        raise BadInput("--of says what --error is a part of. Give --error 5%, for example.")
    target = None
    if error is not None:
        base = load(of) if of is not None and os.path.exists(of) else of
        target = Target.of(error, outlook, base, declared.rows)
    accepted = {name: accepts(program.schema.attributes[name]) for name in looked_at}
    with progress("computing errors", quiet=quiet or as_json):
        errors = {amount: outlook.to_plain(amount) for amount in budgets}
        least = None if target is None else target.least(outlook)
        said = None if target is None or least is None else target.sentence(least, outlook)
    if picture is not None:
        amount = None if target is None else target.amount
        plot_errors(said or str(task), str(task), outlook, budgets, least, amount, picture)
    if as_json:
        print_json(
            {
                "counted": counted.sentence or None,
                "task": str(task),
                "errors": [{"epsilon": as_number(budget), **plain} for budget, plain in errors.items()],
                "target": error,
                "least_epsilon": None if least is None else as_number(least),
                "sentence": said,
                "misfits": as_number(part.of(budgets[-1])),
                "accepts": accepted,
            }
        )
        return
    say_first(filter(None, [counted.sentence]))
    _print(str(task), outlook, budgets)
    if said is not None:
        out().print(said, soft_wrap=True)
    if quiet:
        return
    remarks = [*outlook.remarks(declared, budgets), *([] if picture is None else [f"The picture is {picture}."])]
    taken = [amount for amount in budgets if part.of(amount)]
    if taken:
        since = f", here if ε is at least {display(taken[0])}" if len(taken) < len(budgets) else ""
        words = f"For a CSV file, {part.part} of ε is spent on counting rows that do not match the schema{since}"
        remarks.append(f"{words}; --no-misfits turns that off.")
    remarks += [f"ε = {display(budgets[0])}: {note}" for note in part.notes(budgets[0])]
    for line in (*remarks, *(f"{name} accepts {words}." for name, words in accepted.items())):
        remark(line)


def _schema(
    file: Path | None, data: str | None, connect: str | None, dataset: str | None, token_file: Path | None
) -> tuple[Schema, Facts]:
    """The schema in a file, or that of a service; and the facts of a table that has it."""
    if connect is not None:
        declared, remote = schema_for(connect, dataset, token_file, None if data is None else [data], file)
        assert remote is not None
        return declared, remote.kernel.root.facts
    if file is None:
        raise BadInput("name the schema, --schema FILE; or a service that has it, --connect URL.")
    declared = Schema.from_toml(file)
    if declared.patterns and data is not None:
        declared = schema_of_table(data, declared)
    elif declared.patterns:
        raise BadInput(
            f"the pattern {declared.patterns[0]!r} matches columns of a table. Name the table with --data; none of its "
            "rows are read."
        )
    return declared, facts_of(declared)


def _rehearse(
    request: Request, epsilon: list[str], facts: Facts, folder: Path | None, *, as_json: bool, quiet: bool
) -> None:
    """Print a rehearsal, or write its files."""
    if len(epsilon) != 1:
        raise BadInput("a rehearsal needs one budget. Give --epsilon once.")
    with nullcontext() if folder is None else staged(folder) as place:
        with progress("rehearsing", quiet=quiet or as_json):
            result = rehearsed(replace(request, epsilon=budget(epsilon[0], "--epsilon")), facts)
        deliver(result, None, place=place, look=AS_IT_IS, as_json=as_json, quiet=quiet)


def _print(task: str, outlook: Outlook, budgets: Sequence[Fraction]) -> None:
    """Print a line for each ε: the least error known beforehand, its algorithm, and a bar."""
    table = plain_table()
    table.title, table.title_justify = printable(f"{task}: {outlook.title}"), "left"
    lines = [outlook.line(amount) for amount in budgets]
    for title in ("ε", *lines[0], ""):
        words = title in {"", "algorithm", "what the error is"}
        table.add_column(printable(title), justify="left" if words else "right")
    lengths = [outlook.length(amount) for amount in budgets]
    for amount, line, length in zip(budgets, lines, lengths, strict=True):
        table.add_row(
            display(amount), *map(printable, line.values()), _bar(length, [length for length in lengths if length])
        )
    out().print(table)


def _bar(length: float, lengths: list[float]) -> str:
    """A bar whose length is the logarithm of the error, scaled between the smallest and the largest error."""
    if length <= 0 or len(lengths) < 3:
        return ""
    span = math.log(max(lengths) / min(lengths))
    return "█" * (1 + round(_BAR * math.log(length / min(lengths)) / span if span else 0))
