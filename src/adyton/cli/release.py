"""``adyton release``: what a table says, without what it says about anybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli import asked, asked_marginals, asked_numbers
from adyton.cli.asked_marginals import marginals_of
from adyton.cli.charges import allowed_total, check_words, delivered
from adyton.cli.console import notes, printable
from adyton.cli.counting import print_count, print_cut_off
from adyton.cli.delivery import deliver
from adyton.cli.folders import check_folder
from adyton.cli.numbers_delivery import deliver_numbers
from adyton.cli.options import (
    Accept,
    Dataset,
    LedgerFile,
    Quiet,
    SchemaFile,
    Table,
    Tables,
    Total,
    Where,
    Yes,
    files_of,
    table_of,
)
from adyton.cli.tables_delivery import deliver_tables, make_rows
from adyton.errors import BadInput
from adyton.exact import budget
from adyton.interrupts import termination_interrupts

if TYPE_CHECKING:
    from adyton.schema import Schema
    from adyton.tasks import Task

_LARGEST = 1_000_000
_MOST_PRINTED = 100_000
"""As many counts are printed of tables that are measured one by one."""

_Epsilon = Annotated[str, typer.Option(help="The privacy budget of this release, for example 0.5.")]
_Count = Annotated[bool, typer.Option("--count", help="Count all rows.")]
_Units = Annotated[bool, typer.Option("--units", help="Count the units, such as people, that the schema names.")]
_CutOff = Annotated[
    int | None,
    typer.Option(
        "--cut-off", metavar="M", help="What the limit on rows leaves out: of how many units, and rows up to M a unit."
    ),
]
_Integer = Annotated[bool, typer.Option("--integer", help="Show whole numbers.")]
_Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Show no negative counts.")]
_Folder = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Write the report, a CSV and a JSON file here.")
]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a release in FOLDER.")]
_Rows = Annotated[
    Path | None,
    typer.Option("--rows", metavar="FILE", help="Write synthetic rows to this .csv or .parquet file, too."),
]
_RowsCount = Annotated[
    int | None, typer.Option("--rows-count", metavar="N", help="How many; about as many as there are, if not given.")
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print the release as JSON.")]


def command(
    data: Tables,
    schema: SchemaFile,
    epsilon: _Epsilon,
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
    count: _Count = False,
    units: _Units = False,
    cut_off: _CutOff = None,
    table: Table = None,
    where: Where = None,
    algorithm: asked.Algorithm = "auto",
    option: asked.Option = None,
    misfits: asked.Misfits = None,
    integer: _Integer = False,
    nonnegative: _Nonnegative = False,
    ledger: LedgerFile = None,
    total: Total = None,
    dataset: Dataset = None,
    accept: Accept = None,
    out_folder: _Folder = None,
    overwrite: _Overwrite = False,
    rows: _Rows = None,
    rows_count: _RowsCount = None,
    yes: Yes = False,
    as_json: _AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Release counts, ranges, marginals, sums, means or quantiles under differential privacy."""
    from adyton.result.presentation import Look
    from adyton.result.staging import staged
    from adyton.session import Session
    from adyton.session.releasing_tables import measures_tables

    given = {"sum": sum_of, "mean": mean, "quantiles": quantiles, "variance": variance, "summary": summary}
    numbers = asked_numbers.numbers_of(given, at, by, group_rows)
    many_tables = marginals_of(marginals, attributes, marginal, with_ranges, with_prefixes, with_any, cells)
    task = asked.one_of(asked.task_of(histogram, ranges, cdf, many_tables, queries, rows_per_unit), numbers)
    _check_one(task, count=count, units=units, cut_off=cut_off is not None)
    options = asked.options_of(option)
    declared = asked.schema_beside(data, schema)
    if task is None:
        others = {"--misfits": misfits, "--integer": integer, "--nonnegative": nonnegative, "--option": bool(options)}
        others |= {
            "--algorithm": algorithm != "auto",
            "--out": out_folder is not None,
            "--where": cut_off is not None and where is not None,
        }
        _check_count([name for name, given in others.items() if given])
    else:
        _check_task(task, declared, algorithm, options, kept=as_json or out_folder is not None)
    many = task is not None and numbers is None and measures_tables(task, declared, algorithm)
    _check_rows(rows, rows_count, task, declared, integer=integer or nonnegative, many=many)
    check_words(accept or ())
    amount = budget(epsilon, "--epsilon")
    check_folder(out_folder, (*files_of(data), schema, queries, ledger), overwrite=overwrite)
    allowed = allowed_total(amount, total, declared, ledger, yes=yes, quiet=quiet)
    ours, replaces = _kept_in_folders(task, many=many)
    folder = staged(out_folder, replaces=replaces if overwrite else (), ours=ours) if out_folder else nullcontext()
    with termination_interrupts(), folder as place:
        session = Session(
            table_of(data),
            table=table,
            schema=declared,
            epsilon=allowed,
            ledger=ledger,
            dataset=dataset,
            accept=accept or (),
        )
        if task is None:
            print_count(session, amount, where, ledger, units=units, cut_off=cut_off, as_json=as_json, quiet=quiet)
            return
        ask: Callable[[], Any] = partial(
            session.release, task, amount, algorithm=algorithm, where=where, misfits=misfits, **options
        )

        def hand_over(found: Any, interrupt: KeyboardInterrupt | None) -> None:
            if numbers is not None:
                deliver_numbers(found, place, as_json=as_json, quiet=quiet, interrupt=interrupt)
                return
            if many:
                asked_rows = None if rows is None else (rows, rows_count)
                deliver_tables(found, place, asked_rows, as_json=as_json, quiet=quiet, interrupt=interrupt)
                return
            deliver(found, place, Look(integer, nonnegative), as_json=as_json, quiet=quiet, interrupt=interrupt)
            if rows_per_unit is not None and not (as_json or quiet):
                print_cut_off(found)
            if rows is not None:
                made = make_rows(found, float(found.estimate.sum()), rows, rows_count, quiet=quiet or as_json)
                if not (quiet or as_json):
                    notes().print(printable(made), soft_wrap=True)

        delivered(session, ask, hand_over, "releasing", place=place, quiet=quiet or as_json)


def _kept_in_folders(task: Task | None, *, many: bool) -> tuple[Callable[[Path], bool], tuple[str, ...]]:
    """How to know a folder with a release of this kind, and the files that are in it."""
    from adyton.marginals import tables_file, tables_saving
    from adyton.result import files, saving
    from adyton.statistics import numbers_file, numbers_saving
    from adyton.tasks import NumbersTask

    if isinstance(task, NumbersTask):
        return numbers_file.KIND.says_so, numbers_saving.REPLACEABLE
    return (tables_file.KIND.says_so, tables_saving.REPLACEABLE) if many else (files.says_so, saving.REPLACEABLE)


def _check_one(task: Task | None, *, count: bool, units: bool, cut_off: bool) -> None:
    if count + units + cut_off + (task is not None) != 1:
        raise BadInput(
            f"ask for one thing: {asked.TASKS} with what to count by, {asked_numbers.TASKS}, --count, --units or "
            "--cut-off."
        )


def _check_count(others: Sequence[str]) -> None:
    if others:
        raise BadInput(f"not for a count: {', '.join(others)}. Leave that out; --json prints all there is to know.")


def _check_task(task: Task, schema: Schema, algorithm: str, options: dict[str, Any], *, kept: bool) -> None:
    """Refuse what cannot be released before the data are opened."""
    from adyton.marginals.registry import program_named
    from adyton.result.tables import MOST_TABLES
    from adyton.session import Outlook
    from adyton.session.releasing_numbers import asked_of
    from adyton.session.releasing_tables import in_words, measures_tables, wanted_of
    from adyton.statistics.choosing import weigh
    from adyton.tasks import Marginals, NumbersTask

    if isinstance(task, NumbersTask):
        weigh(asked_of(task, schema, options), Fraction(1), algorithm)
        return
    if measures_tables(task, schema, algorithm):
        wanted = wanted_of(task, schema)
        program_named(algorithm, **options)
        if wanted.cells > _MOST_PRINTED and not kept:
            raise BadInput(
                f"these tables have {wanted.cells:,} cells, of which {_MOST_PRINTED:,} can be printed. Give --out "
                "FOLDER or --json, which keep them all."
            )
        return
    cells = task.select(schema).cells
    if cells > _LARGEST:
        raise BadInput(
            f"this release has {in_words(cells)} cells, allowed are {_LARGEST:,}. Choose fewer attributes, or declare "
            "fewer levels or bins; or ask for --marginals 2, whose tables are measured one by one."
        )
    tables = len(task.groups(task.select(schema))) if isinstance(task, Marginals) else 1
    if tables > MOST_TABLES and not kept:
        raise BadInput(
            f"this release has {tables:,} tables, of which {MOST_TABLES:,} are printed. Give --out FOLDER or --json, "
            "which keep what all of them follow from, or ask for fewer attributes."
        )
    Outlook.of(task, schema, algorithm, options)


def _check_rows(
    rows: Path | None, count: int | None, task: Task | None, schema: Schema, *, integer: bool, many: bool
) -> None:
    """Refuse rows that cannot be made, and options that are not for many tables."""
    from adyton.result.row_files import check_rows
    from adyton.tasks import NumbersTask

    if isinstance(task, NumbersTask) and (integer or rows is not None or count is not None):
        raise BadInput("--integer, --nonnegative and --rows are not for sums, means and quantiles. Leave them out.")
    if count is not None and rows is None:
        raise BadInput("--rows-count belongs to --rows FILE. Name a .csv or .parquet file for the rows.")
    if many and integer:
        raise BadInput("--integer and --nonnegative are not for tables that are measured one by one. Leave them out.")
    if rows is None:
        return
    if task is None:
        raise BadInput("--rows is not for a count: rows are made from tables. Ask for --marginals 2, for example.")
    check_rows(rows, 0 if count is None else count, task.select(schema))
