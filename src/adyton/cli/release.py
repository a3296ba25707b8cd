"""``adyton release``: what a table says, without what it says about anybody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli import asked
from adyton.cli.charges import allowed_total, charged
from adyton.cli.console import progress
from adyton.cli.counting import print_count
from adyton.cli.delivery import deliver
from adyton.cli.options import Quiet, SchemaFile
from adyton.errors import BadInput
from adyton.exact import budget
from adyton.interrupts import termination_interrupts
from adyton.messages import listing, shorten

if TYPE_CHECKING:
    from adyton.release import Release
    from adyton.schema import Schema
    from adyton.session import Session
    from adyton.tasks import Task

_LARGEST = 1_000_000

_Data = Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or DuckDB file (file.duckdb#table).")]
_Epsilon = Annotated[str, typer.Option(help="The privacy budget of this release, for example 0.5.")]
_Count = Annotated[bool, typer.Option("--count", help="Count all rows.")]
_Where = Annotated[str | None, typer.Option(metavar="PREDICATE", help='Only these rows: "age >= 65".')]
_Integer = Annotated[bool, typer.Option("--integer", help="Show whole numbers.")]
_Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Show no negative counts.")]
_LedgerFile = Annotated[Path | None, typer.Option(help="The file that remembers what was spent.")]
_Total = Annotated[str | None, typer.Option(help="The total budget of a new ledger; as EPSILON if not given.")]
_Dataset = Annotated[
    str | None, typer.Option(metavar="NAME", help="The data set's name in the ledger; as the file's if not given.")
]
_Accept = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD",
        help="Let the ledger take on another unit, rows_per_unit or schema than it has, or (terms) all of them "
        "where it has none, with the owner's consent.",
    ),
]
_Folder = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Write the report, a CSV and a JSON file here.")
]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a release in FOLDER.")]
_Yes = Annotated[bool, typer.Option("--yes", help="Accept a budget above 10.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print the release as JSON.")]


def command(
    data: _Data,
    schema: SchemaFile,
    epsilon: _Epsilon,
    histogram: asked.Histogram = None,
    ranges: asked.Ranges = None,
    cdf: asked.Cdf = None,
    marginals: asked.Marginals = None,
    attributes: asked.Attributes = None,
    queries: asked.QueryFile = None,
    count: _Count = False,
    where: _Where = None,
    algorithm: asked.Algorithm = "auto",
    option: asked.Option = None,
    misfits: asked.Misfits = None,
    integer: _Integer = False,
    nonnegative: _Nonnegative = False,
    ledger: _LedgerFile = None,
    total: _Total = None,
    dataset: _Dataset = None,
    accept: _Accept = None,
    out_folder: _Folder = None,
    overwrite: _Overwrite = False,
    yes: _Yes = False,
    as_json: _AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Release a histogram, ranges, a cumulative distribution, marginals or queries under differential privacy."""
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
    _check_words(accept or ())
    amount = budget(epsilon, "--epsilon")
    _check_folder(out_folder, (data, data.rpartition("#")[0], schema, queries, ledger), overwrite=overwrite)
    allowed = allowed_total(amount, total, declared, ledger, yes=yes, quiet=quiet)
    replaces = REPLACEABLE if overwrite else ()
    with termination_interrupts(), staged(out_folder, replaces=replaces) if out_folder else nullcontext() as place:
        words = accept or ()
        session = Session(data, schema=declared, epsilon=allowed, ledger=ledger, dataset=dataset, accept=words)
        if task is None:
            print_count(session, amount, where, ledger, as_json=as_json, quiet=quiet)
            return
        ask = partial(session.release, task, amount, algorithm=algorithm, where=where, misfits=misfits, **options)
        release, interrupt = _released(session, ask, quiet=quiet or as_json)
        deliver(release, place, Look(integer, nonnegative), as_json=as_json, quiet=quiet, interrupt=interrupt)


def _released(session: Session, ask: Callable[[], Release], *, quiet: bool) -> tuple[Release, KeyboardInterrupt | None]:
    """What was released, and the interrupt that came once it was paid for."""
    with charged(session, session.spent):
        try:
            with progress("releasing", quiet=quiet):
                return ask(), None
        except KeyboardInterrupt as came:
            if session.last is None:
                raise
            return session.last, came


def _check_words(accept: Iterable[str]) -> None:
    from adyton.kernel.ledger.terms import PARTS

    for word in accept:
        if word not in PARTS:
            raise BadInput(f"--accept takes one of the words {listing(PARTS)}, given {shorten(word)}.")


def _check_count(others: Sequence[str]) -> None:
    if others:
        raise BadInput(f"not for a count: {', '.join(others)}. Leave that out; --json prints all there is to know.")


def _check_folder(folder: Path | None, used: Iterable[str | Path | None], *, overwrite: bool) -> None:
    """Refuse to write where a file lies that the release is made with."""
    if folder is None:
        if overwrite:
            raise BadInput("--overwrite belongs to --out. Name the folder that may be overwritten.")
        return
    for file in used:
        if file and folder.resolve() in Path(file).resolve().parents:
            raise BadInput(f"{file} lies in {folder}, which is to be written whole. Give --out another folder.")


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
