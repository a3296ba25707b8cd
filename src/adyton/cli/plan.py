"""``adyton plan``: what error to expect for which ε, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli import asked as asking
from adyton.cli.console import notes, out, plain_table, print_json, printable, progress, say_counted
from adyton.cli.options import FiguresAsJson, Quiet, SchemaFile
from adyton.errors import BadInput
from adyton.exact import as_number, display, positive

if TYPE_CHECKING:
    from adyton.programs.base import Outlook

_EPSILONS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5")
_BAR = 40


def command(
    schema: SchemaFile,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA", help="A table whose columns the patterns of the schema stand for; no row is read."
        ),
    ] = None,
    epsilon: Annotated[list[str] | None, typer.Option(help="A budget to look at; can be given again.")] = None,
    error: Annotated[
        str | None, typer.Option(help="Find the least ε whose typical error of an answer is at most this.")
    ] = None,
    algorithm: asking.Algorithm = "auto",
    option: asking.Option = None,
    misfits: asking.Misfits = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw error against ε: a .svg, .png or .pdf file.")
    ] = None,
    as_json: FiguresAsJson = False,
    quiet: Quiet = False,
    **asked: Any,
) -> None:
    """Show the error to expect of a release against ε. Needs the schema only: no data are read, nothing is spent."""
    from adyton.programs.base import program_of
    from adyton.result.misfits import NO_SHARE
    from adyton.result.receipt import RowsCounted
    from adyton.schema import Schema
    from adyton.schema.misfits import accepts
    from adyton.session.run import misfits_share
    from adyton.tasks import Request

    task = asking.task_of(asked, "say what you would release")
    budgets = sorted(positive(one, "--epsilon") for one in epsilon or _EPSILONS)
    declared = Schema.from_toml(schema)
    if declared.patterns and data is not None:
        from adyton.kernel.checking import schema_of_table

        declared = schema_of_table(data, declared)
    elif declared.patterns:
        raise BadInput(
            f"the pattern {declared.patterns[0]!r} stands for columns that only a table has. Name one with --data: no "
            "row of it is read."
        )
    counted = RowsCounted.asked(task, declared.unit, declared.rows_per_unit)
    request = Request.of(task, 1, algorithm=algorithm, misfits=misfits, options=asking.options_of(option))
    program = program_of(request, declared)
    looked_at = program.looks_at or ()
    part = misfits_share(misfits, declared, from_text=True) if looked_at else NO_SHARE  # as for a CSV file
    outlook = program.outlook(part)
    if picture is not None and not outlook.pictured:
        raise BadInput(f"--picture is not for {program.result.holds}. Leave it out; --json has all figures.")
    accepted = {name: accepts(program.schema.attributes[name]) for name in looked_at}
    with progress("computing errors", quiet=quiet or as_json):
        found = {budget: outlook.to_plain(budget) for budget in budgets}
        least = None if error is None else outlook.epsilon_for(error)
    if picture is not None:
        from adyton.report.plot import plot_errors

        plot_errors(str(task), {budget: outlook.errors(budget) for budget in budgets}, picture)
    if as_json:
        print_json(
            {
                "counted": counted.sentence or None,
                "task": str(task),
                "errors": [{"epsilon": as_number(budget), **plain} for budget, plain in found.items()],
                "target": error,
                "least_epsilon": None if least is None else as_number(least),
                "misfits": as_number(part.of(budgets[-1])),
                "accepts": accepted,
            }
        )
        return
    say_counted(counted.sentence)
    _print(str(task), outlook, budgets)
    if least is not None:
        out().print(f"The least ε with a {outlook.word} of at most {error} is {display(least)}.")
    if quiet:
        return
    remarks = [*outlook.remarks(declared, budgets), *([] if picture is None else [f"Drawn in {picture}."])]
    taken = [budget for budget in budgets if part.of(budget)]
    if taken:
        since = f", here from ε = {display(taken[0])} on" if len(taken) < len(budgets) else ""
        words = f"Of a CSV file, {part.part} of ε counts the rows that do not match the schema{since}"
        remarks.append(f"{words}; --no-misfits leaves that out.")
    remarks += [f"ε = {display(budgets[0])}: {note}" for note in part.notes(budgets[0])]
    for remark in (*remarks, *(f"{name} takes {words}." for name, words in accepted.items())):
        notes().print(printable(remark), soft_wrap=True)


def _print(task: str, outlook: Outlook, budgets: Sequence[Fraction]) -> None:
    """A line for each ε: the least error that is known beforehand, by which algorithm, and a bar."""
    table = plain_table()
    table.title, table.title_justify = printable(f"{task}: {outlook.title}"), "left"
    lines = [outlook.line(budget) for budget in budgets]
    for title in ("ε", *lines[0], ""):
        words = title in {"", "algorithm", "what the error is"}
        table.add_column(printable(title), justify="left" if words else "right")
    lengths = [outlook.length(budget) for budget in budgets]
    for budget, line, length in zip(budgets, lines, lengths, strict=True):
        table.add_row(display(budget), *map(printable, line.values()), _bar(length, [one for one in lengths if one]))
    out().print(table)


def _bar(length: float, lengths: list[float]) -> str:
    """A bar as long as the logarithm of the error, from the least of all to the largest."""
    if length <= 0 or len(lengths) < 3:
        return ""
    span = math.log(max(lengths) / min(lengths))
    return "█" * (1 + round(_BAR * math.log(length / min(lengths)) / span if span else 0))
