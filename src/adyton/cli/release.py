"""``adyton release``: what a table says, without what it says about anybody."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli import asked
from adyton.cli.charges import allowed_total, answered, check_words
from adyton.cli.counting import print_count
from adyton.cli.delivery import deliver
from adyton.cli.folders import check_folder
from adyton.cli.options import Accept, Data, Dataset, LedgerFile, Quiet, SchemaFile, Total, Where, Yes
from adyton.errors import BadInput
from adyton.exact import budget
from adyton.interrupts import termination_interrupts

if TYPE_CHECKING:
    from adyton.schema import Schema
    from adyton.tasks import Task

_LARGEST = 1_000_000

_Epsilon = Annotated[str, typer.Option(help="The privacy budget of this release, for example 0.5.")]
_Count = Annotated[bool, typer.Option("--count", help="Count all rows.")]
_Integer = Annotated[bool, typer.Option("--integer", help="Show whole numbers.")]
_Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Show no negative counts.")]
_Folder = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Write the report, a CSV and a JSON file here.")
]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a release in FOLDER.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print the release as JSON.")]


def command(
    data: Data,
    schema: SchemaFile,
    epsilon: _Epsilon,
    histogram: asked.Histogram = None,
    ranges: asked.Ranges = None,
    cdf: asked.Cdf = None,
    marginals: asked.Marginals = None,
    attributes: asked.Attributes = None,
    queries: asked.QueryFile = None,
    count: _Count = False,
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
    yes: Yes = False,
    as_json: _AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Release a histogram, ranges, a cumulative distribution, marginals or queries under differential privacy."""
    from adyton.release import Release
    from adyton.release.presentation import Look
    from adyton.release.saving import REPLACEABLE
    from adyton.release.staging import staged
    from adyton.schema import Schema
    from adyton.session import Session

    task = asked.task_of(histogram, ranges, cdf, marginals, attributes, queries)
    options = asked.options_of(option)
    declared = Schema.from_toml(schema)
    if count is (task is not None):
        raise BadInput(f"ask for one thing: {asked.TASKS} with what to count by, or --count.")
    if task is None:
        others = {"--misfits": misfits, "--integer": integer, "--nonnegative": nonnegative, "--option": bool(options)}
        others |= {"--algorithm": algorithm != "auto", "--out": out_folder is not None}
        _check_count([name for name, given in others.items() if given])
    else:
        _check_task(task, declared, algorithm, options, kept=as_json or out_folder is not None)
    check_words(accept or ())
    amount = budget(epsilon, "--epsilon")
    check_folder(out_folder, (data, data.rpartition("#")[0], schema, queries, ledger), overwrite=overwrite)
    allowed = allowed_total(amount, total, declared, ledger, yes=yes, quiet=quiet)
    replaces = REPLACEABLE if overwrite else ()
    with termination_interrupts(), staged(out_folder, replaces=replaces) if out_folder else nullcontext() as place:
        words = accept or ()
        session = Session(data, schema=declared, epsilon=allowed, ledger=ledger, dataset=dataset, accept=words)
        if task is None:
            print_count(session, amount, where, ledger, as_json=as_json, quiet=quiet)
            return
        ask = partial(session.release, task, amount, algorithm=algorithm, where=where, misfits=misfits, **options)
        release, interrupt = answered(session, ask, Release, "releasing", quiet=quiet or as_json)
        deliver(release, place, Look(integer, nonnegative), as_json=as_json, quiet=quiet, interrupt=interrupt)


def _check_count(others: Sequence[str]) -> None:
    if others:
        raise BadInput(f"not for a count: {', '.join(others)}. Leave that out; --json prints all there is to know.")


def _check_task(task: Task, schema: Schema, algorithm: str, options: dict[str, Any], *, kept: bool) -> None:
    """Refuse what cannot be released before the data are opened."""
    from adyton.release.tables import MOST_TABLES
    from adyton.session import Outlook
    from adyton.tasks import Marginals

    cells = task.select(schema).cells
    if cells > _LARGEST:
        raise BadInput(
            f"this release has {cells:,} cells, allowed are {_LARGEST:,}. Choose fewer attributes, or declare fewer "
            "levels or bins; from Python there is no such limit."
        )
    tables = comb(len(task.select(schema).names), task.way) if isinstance(task, Marginals) else 1
    if tables > MOST_TABLES and not kept:
        raise BadInput(
            f"this release has {tables:,} tables, of which {MOST_TABLES:,} are printed. Give --out FOLDER or --json, "
            "which keep what all of them follow from, or ask for fewer attributes."
        )
    Outlook.of(task, schema, algorithm, options)
