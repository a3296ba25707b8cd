"""``adyton plan``: what error to expect for which ε, before anything is spent."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli import asked, asked_marginals, asked_numbers
from adyton.cli.asked_marginals import marginals_of
from adyton.cli.console import notes, out, plain_table, print_json, printable, progress, say_counted
from adyton.cli.numbers_plan import show_plan
from adyton.cli.options import FiguresAsJson, Quiet, SchemaFile
from adyton.errors import BadInput
from adyton.exact import as_number, display, positive

if TYPE_CHECKING:
    from adyton.plans.expected_error import ExpectedError

_EPSILONS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5")
_BAR = 40


def command(
    schema: SchemaFile,
    histogram: asked.Histogram = None,
    ranges: asked.Ranges = None,
    cdf: asked.Cdf = None,
    marginals: asked_marginals.Way = None,
    attributes: asked_marginals.Attributes = None,
    marginal: asked_marginals.Tables = None,
    with_ranges: asked_marginals.WithRanges = None,
    with_prefixes: asked_marginals.WithPrefixes = None,
    with_any: asked_marginals.WithAny = None,
    cells: asked_marginals.Cells = None,
    queries: asked.QueryFile = None,
    sum_of: asked_numbers.Sum = None,
    mean: asked_numbers.Mean = None,
    quantiles: asked_numbers.Quantiles = None,
    at: asked_numbers.At = None,
    variance: asked_numbers.Variance = None,
    summary: asked_numbers.Summary = None,
    by: asked_numbers.By = None,
    group_rows: asked_numbers.GroupRows = None,
    rows_per_unit: asked.RowsPerUnit = None,
    epsilon: Annotated[list[str] | None, typer.Option(help="A budget to look at; can be given again.")] = None,
    error: Annotated[
        str | None, typer.Option(help="Find the least ε whose typical error of an answer is at most this.")
    ] = None,
    algorithm: asked.Algorithm = "auto",
    option: asked.Option = None,
    misfits: asked.Misfits = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw error against ε: a .svg, .png or .pdf file.")
    ] = None,
    as_json: FiguresAsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show the error to expect of a release against ε. Needs the schema only: no data are read, nothing is spent."""
    from adyton.result.receipt import RowsCounted
    from adyton.schema import Schema
    from adyton.schema.accepting import accepts
    from adyton.session.misfits import misfits_share
    from adyton.session.numbers_outlook import NumbersOutlook
    from adyton.session.releasing_numbers import asked_of
    from adyton.session.tables_outlook import outlook_of

    given = {"sum": sum_of, "mean": mean, "quantiles": quantiles, "variance": variance, "summary": summary}
    numbers = asked_numbers.numbers_of(given, at, by, group_rows)
    many_tables = marginals_of(marginals, attributes, marginal, with_ranges, with_prefixes, with_any, cells)
    task = asked.one_of(asked.task_of(histogram, ranges, cdf, many_tables, queries, rows_per_unit), numbers)
    if task is None:
        raise BadInput(f"say what you would release: {asked.TASKS}; or {asked_numbers.TASKS}.")
    budgets = sorted(positive(one, "--epsilon") for one in epsilon or _EPSILONS)
    declared = Schema.from_toml(schema)
    counted = RowsCounted.asked(task, declared.unit, declared.rows_per_unit)
    part = misfits_share(misfits, declared, from_text=True)  # the data are not known: as for a CSV file
    if numbers is not None:
        if picture is not None:
            raise BadInput("--picture is not for sums, means and quantiles. Leave it out; --json has all figures.")
        asked_for = asked_of(numbers, declared, asked.options_of(option))
        show_plan(NumbersOutlook(asked_for, algorithm, part), budgets, error, counted, as_json=as_json, quiet=quiet)
        return
    outlook = outlook_of(task, declared, algorithm, asked.options_of(option), part)
    accepted = {name: accepts(one) for name, one in outlook.schema.attributes.items()}
    with progress("computing errors", quiet=quiet or as_json):
        found = {budget: outlook.errors(budget) for budget in budgets}
        least = None if error is None else outlook.epsilon_for(error)
    if picture is not None:
        from adyton.report.outlook import draw

        draw(str(task), found, picture)
    if as_json:
        about = {"misfits": as_number(part.of(budgets[-1])), "accepts": accepted}
        print_json({"counted": counted.sentence or None, **_as_json(str(task), found, error, least), **about})
        return
    say_counted(counted.sentence)
    _print(str(task), found)
    if least is not None:
        out().print(f"The least ε with a typical error of at most {error} is {display(least)}.")
    if not quiet:
        _remark(found, picture)
        taken = [budget for budget in budgets if part.of(budget)]
        if taken:
            since = f", here from ε = {display(taken[0])} on" if len(taken) < len(budgets) else ""
            words = f"Of a CSV file, {part.part} of ε counts the rows that do not fit the schema{since}"
            notes().print(f"{words}; --no-misfits leaves that out.", soft_wrap=True)
        for note in part.notes(budgets[0]):
            notes().print(f"ε = {display(budgets[0])}: {note}", soft_wrap=True)
        for name, words in accepted.items():
            notes().print(printable(f"{name} takes {words}."), soft_wrap=True)


def _as_json(
    task: str, found: dict[Fraction, dict[str, ExpectedError | None]], error: str | None, least: Fraction | None
) -> dict[str, Any]:
    return {
        "task": task,
        "errors": [
            {
                "epsilon": as_number(budget),
                "algorithms": {
                    name: None if one is None else {"per_query": one.per_query, "kind": one.kind}
                    for name, one in errors.items()
                },
            }
            for budget, errors in found.items()
        ],
        "target": error,
        "least_epsilon": None if least is None else as_number(least),
    }


def _print(task: str, found: dict[Fraction, dict[str, ExpectedError | None]]) -> None:
    """A line for each ε: the least error that is known beforehand, by which algorithm, and a bar."""
    from adyton.plans.expected_error import MEANINGS
    from adyton.session.preview import UNKNOWN, promised

    table = plain_table()
    table.title, table.title_justify = printable(f"{task}: typical error of an answer"), "left"
    for title in ("ε", "error", "algorithm", "what the error is"):
        table.add_column(title, justify="right" if title in {"ε", "error"} else "left")
    table.add_column("")
    best = {budget: promised(errors) for budget, errors in found.items()}
    sizes = [one[1].per_query for one in best.values() if one and one[1].per_query > 0]
    for budget, one in best.items():
        if one is None:
            table.add_row(display(budget), "–", UNKNOWN, "", "")
            continue
        name, error = one
        table.add_row(
            display(budget), f"{error.per_query:,.4g}", printable(name), MEANINGS[error.kind], _bar(error, sizes)
        )
    out().print(table)


def _bar(error: ExpectedError, sizes: list[float]) -> str:
    """A bar as long as the logarithm of the error, from the least of all to the largest."""
    if error.per_query <= 0 or len(sizes) < 3:
        return ""
    span = math.log(max(sizes) / min(sizes))
    return "█" * (1 + round(_BAR * math.log(error.per_query / min(sizes)) / span if span else 0))


def _remark(found: dict[Fraction, dict[str, ExpectedError | None]], picture: Path | None) -> None:
    from adyton.marginals.registry import what_it_does
    from adyton.session.preview import promised

    errors = next(iter(found.values()))
    for name in dict.fromkeys(best[0] for best in map(promised, found.values()) if best):
        notes().print(printable(f"{name}: {what_it_does(name)}."), soft_wrap=True)
    notes().print("The error is how far off one answer typically is, in rows.", soft_wrap=True)
    if any(error is None for error in errors.values()):
        names = [name for name, error in errors.items() if error is None or error.kind == "upper mark"]
        notes().print(
            printable(f"A choice is also among {', '.join(names)}: often better, by as much as the data allow."),
            soft_wrap=True,
        )
    if picture is not None:
        notes().print(printable(f"Drawn in {picture}."), soft_wrap=True)
