"""``adyton release``: what a table says, without what it says about anybody."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli import asked
from adyton.cli.console import (
    InterruptedRelease,
    accept_large,
    notes,
    out,
    plain_table,
    print_json,
    printable,
    progress,
)
from adyton.errors import BadInput
from adyton.exact import as_number, budget, display

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.queries import Measurement
    from adyton.release import Release
    from adyton.schema import Schema
    from adyton.session import Session
    from adyton.tasks import Task

_CONFIDENCE = 0.95
_ROWS_SHOWN = 60
_LARGEST = 1_000_000


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or DuckDB file (file.duckdb#table).")],
    schema: Annotated[Path, typer.Option(help="The schema file: what is public about the table.")],
    epsilon: Annotated[str, typer.Option(help="The privacy budget of this release, for example 0.5.")],
    histogram: asked.Histogram = None,
    ranges: asked.Ranges = None,
    cdf: asked.Cdf = None,
    marginals: asked.Marginals = None,
    attributes: asked.Attributes = None,
    queries: asked.QueryFile = None,
    count: Annotated[bool, typer.Option("--count", help="Count all rows.")] = False,
    where: Annotated[str | None, typer.Option(metavar="PREDICATE", help='Only these rows: "age >= 65".')] = None,
    algorithm: asked.Algorithm = "auto",
    option: asked.Option = None,
    misfits: asked.Misfits = None,
    integer: Annotated[bool, typer.Option("--integer", help="Show whole numbers.")] = False,
    nonnegative: Annotated[bool, typer.Option("--nonnegative", help="Show no negative counts.")] = False,
    ledger: Annotated[Path | None, typer.Option(help="The file that remembers what was spent.")] = None,
    total: Annotated[
        str | None, typer.Option(help="The total budget of a new ledger; as EPSILON if not given.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", help="The data set's name in the ledger; as the file's if not given.")
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help="Let the ledger take on another unit, rows_per_unit or schema than it has, with the owner's consent.",
        ),
    ] = None,
    out_folder: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Write the report, a CSV and a JSON file here.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Accept a budget above 10.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the release as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar and no remarks.")] = False,
) -> None:
    """Release a histogram, ranges, a cumulative distribution, marginals or queries under differential privacy."""
    from adyton.kernel.opening import checked_total
    from adyton.release.staging import staged
    from adyton.schema import Schema
    from adyton.session import Session

    task = asked.task_of(histogram, ranges, cdf, marginals, attributes, queries)
    options = asked.options_of(option)
    declared = Schema.from_toml(schema)
    if task is None:
        _check_count(out_folder, count=count, plain=algorithm == "auto" and not options)
    else:
        _check_task(task, declared, algorithm, options, count=count)
    amount = budget(epsilon, "--epsilon")
    if out_folder and ledger and out_folder.resolve() in ledger.resolve().parents:
        raise BadInput(f"{ledger} lies in {out_folder}, which is to be written whole. Keep the ledger elsewhere.")
    allowed = checked_total(_total(amount, total, ledger))
    accept_large(amount, "a release", yes=yes, quiet=quiet)
    if total is not None and allowed > amount:
        accept_large(allowed, "a total", yes=yes, quiet=quiet)
    with staged(out_folder) if out_folder else nullcontext(None) as place:
        session = Session(
            data,
            schema=declared,
            epsilon=allowed,
            ledger=ledger,
            dataset=dataset,
            accept=accept or (),
        )
        before = session.spent
        try:
            with progress("releasing", quiet=quiet or as_json):
                if task is None:
                    answer = session.count(amount, where=where)
                else:
                    release = session.release(
                        task, amount, algorithm=algorithm, where=where, misfits=misfits, **options
                    )
                    if place is not None:
                        release.write(place, integer=integer, nonnegative=nonnegative)
        except KeyboardInterrupt:
            charged = session.spent - before
            kept = f"; ε = {display(charged)} was charged already and stays spent" if charged else ""
            raise InterruptedRelease(f"interrupted{kept}.") from None
    if task is None:
        _show_count(session, answer, amount, as_json=as_json, quiet=quiet, ledger=ledger)
        return
    if as_json:
        print_json(release.to_dict())
    else:
        with progress("estimating the error", quiet=quiet):
            tables = _tables(release, integer=integer, nonnegative=nonnegative)
        _print(tables)
    _remark(release, out_folder, quiet=quiet or as_json)


def _check_count(folder: Path | None, *, count: bool, plain: bool) -> None:
    if not count:
        raise BadInput(f"ask for one thing: {asked.TASKS} with what to count by, or --count.")
    if not plain:
        raise BadInput("--algorithm and --option are not for a count. Leave them out.")
    if folder is not None:
        raise BadInput("--out is not for a count. Leave it out; --json prints all there is to know.")


def _check_task(task: Task, schema: Schema, algorithm: str, options: dict[str, Any], *, count: bool) -> None:
    """Refuse what cannot be released before the data are opened."""
    from adyton.session import Outlook

    if count:
        raise BadInput(f"ask for one thing: {asked.TASKS} with what to count by, or --count.")
    cells = task.select(schema).cells
    if cells > _LARGEST:
        raise BadInput(
            f"this release has {cells:,} cells, allowed are {_LARGEST:,}. Choose fewer attributes, or declare fewer "
            "levels or bins; from Python there is no such limit."
        )
    Outlook.of(task, schema, algorithm, options)


def _total(asked_for: Fraction, total: str | None, ledger: Path | None) -> Fraction:
    """What may be spent in all: what the ledger holds; for a new one, what was asked for; without one, this release."""
    given = None if total is None else budget(total, "--total")
    if given is not None and asked_for > given:
        raise BadInput(f"--epsilon {display(asked_for)} is more than --total {total}. Ask for less, or allow more.")
    if ledger is None:
        return given or asked_for
    if ledger.is_file():
        from adyton.kernel.ledger import Ledger

        held = Ledger.read(ledger).total
        if given not in (None, held):
            raise BadInput(
                f"{ledger} has a total of {display(held)}, given --total {total}. Leave --total out; with the data "
                f"owner's consent, adyton ledger raise {ledger} --total … raises it."
            )
        return held
    if given is None and not ledger.exists():
        raise BadInput(f"{ledger} does not exist yet. Say what may be spent in all, for example --total 1.")
    return given or asked_for


@dataclass(frozen=True)
class _Lines:
    """What is printed as one table: the labels of each line, its count and, if there are any, its bounds."""

    names: Sequence[str]
    labels: Sequence[Sequence[Any]]
    counts: Sequence[float]
    bounds: Sequence[tuple[float, float]] | None = None


def _tables(release: Release, *, integer: bool, nonnegative: bool) -> list[_Lines]:
    """The marginals that were asked for, cumulative counts, or the cells."""
    from adyton.queries import Identity, Queries
    from adyton.release.intervals import MOST_QUERIES
    from adyton.tasks import Cdf, Marginals

    options: dict[str, Any] = {"integer": integer, "nonnegative": nonnegative}
    if isinstance(release.task, Marginals):
        sets = list(itertools.combinations(release.schema.names, release.task.way))
        tables = [_lines(release.to_arrow(names, **options), names) for names in sets]
    else:
        tables = [_lines(release.to_arrow(**options), release.schema.names)]
    queries: Queries = Identity(release.schema.shape)
    if isinstance(release.task, Cdf):
        counts = release.answer(release.workload, **options)
        tables = [replace(tables[0], counts=(counts.astype(int) if integer else counts).tolist())]
    if isinstance(release.task, Cdf | Marginals):
        queries = release.workload
    if queries.count > MOST_QUERIES:
        return tables
    found = release.interval(queries, _CONFIDENCE)  # all at once: the algorithm is run again for it
    least = 0.0 if nonnegative else -math.inf
    bounds = iter([(max(low, least), max(high, least)) for low, high in zip(found.lower, found.upper, strict=True)])
    return [replace(lines, bounds=list(itertools.islice(bounds, len(lines.counts)))) for lines in tables]


def _lines(table: pa.Table, names: Sequence[str]) -> _Lines:
    """A table whose columns are the attributes and the count, in this order."""
    *labels, counts = (column.to_pylist() for column in table.columns)
    return _Lines(names, list(zip(*labels, strict=True)), counts)


def _print(tables: Sequence[_Lines]) -> None:
    left = _ROWS_SHOWN
    for lines in tables:
        rows = min(len(lines.counts), left)
        left -= rows
        if not rows:
            continue
        table = plain_table()
        for name in lines.names:
            table.add_column(printable(name))
        table.add_column("count", justify="right")
        if lines.bounds is not None:
            table.add_column(f"{100 * _CONFIDENCE:g}% interval", justify="right")
        for place in range(rows):
            labels = (printable(str(label)) for label in lines.labels[place])
            count = lines.counts[place]
            words = "{:,.0f} to {:,.0f}" if isinstance(count, int) else "{:,.1f} to {:,.1f}"
            bounds = [] if lines.bounds is None else [words.format(*lines.bounds[place])]
            table.add_row(*labels, _number(count), *bounds)
        out().print(table)
    hidden = sum(len(lines.counts) for lines in tables) - (_ROWS_SHOWN - left)
    if hidden:
        out().print(f"… and {hidden:,} more lines: --json or --out has them all.")


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _remark(release: Release, folder: Path | None, *, quiet: bool) -> None:
    """On standard error: what nobody should overlook and, unless *quiet*, everything else there is to say."""
    from adyton.release.explanation import misfits_in_words

    warnings, _ = misfits_in_words(release)
    for paragraph in warnings if quiet else release.explain().paragraphs[1:]:
        notes().print(printable(paragraph), soft_wrap=True, style="bold red" if paragraph in warnings else None)
    if folder is not None and not quiet:
        notes().print(printable(f"Everything is in {folder}; begin with report.html."), soft_wrap=True)


def _show_count(
    session: Session, answer: Measurement, amount: Fraction, *, as_json: bool, quiet: bool, ledger: Path | None
) -> None:
    from adyton.noise.probabilities import discrete_laplace_radius

    radius = discrete_laplace_radius(1 / answer.epsilon, _CONFIDENCE)
    if as_json:
        print_json(
            {
                "dataset": session.ledger.dataset,
                "count": answer.value,
                "private": answer.private,
                "variance": float(answer.variances[0]),
                "within": {"confidence": _CONFIDENCE, "radius": radius},
                "epsilon": as_number(amount),
                "total": as_number(session.total),
                "spent": as_number(session.spent),
                "remaining": as_number(session.remaining),
            }
        )
        return
    out().print(f"{answer.value}")
    if quiet:
        return
    spent = f"Spent ε = {display(session.spent)} of {display(session.total)}"
    kept = f", recorded in {ledger}." if ledger else ". Nothing remembers it: give --ledger FILE to keep count."
    apart = f"at most {radius} apart" if radius else "equal"
    notes().print(f"The count is the true one plus noise; in 95 of 100 cases the two are {apart}. {spent}{kept}")
