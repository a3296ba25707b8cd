"""``adyton release``: what a table says, without what it says about anybody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from adyton.cli import asked
from adyton.cli.console import InterruptedRelease, accept_large, notes, out, print_json, progress
from adyton.cli.delivery import deliver
from adyton.errors import AdytonError, BadInput, LedgerError
from adyton.exact import as_number, budget, display
from adyton.interrupts import termination_interrupts
from adyton.messages import listing, shorten

if TYPE_CHECKING:
    from adyton.queries import Measurement
    from adyton.schema import Schema
    from adyton.session import Session
    from adyton.tasks import Task

_CONFIDENCE = 0.95
_LARGEST = 1_000_000
_UNCHECKED = (
    "Nothing has checked whether rows fit the schema: those whose value cannot be read satisfy no comparison and are "
    "not counted. A histogram of the attribute with --misfits tells how many there are."
)


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
            help="Let the ledger take on another unit, rows_per_unit or schema than it has, or (terms) all of them "
            "where it has none, with the owner's consent.",
        ),
    ] = None,
    out_folder: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Write the report, a CSV and a JSON file here.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a release in FOLDER.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Accept a budget above 10.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the release as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar and no remarks.")] = False,
) -> None:
    """Release a histogram, ranges, a cumulative distribution, marginals or queries under differential privacy."""
    from adyton.kernel.ledger.terms import PARTS
    from adyton.kernel.opening import checked_total
    from adyton.release.presentation import Look
    from adyton.release.saving import REPLACEABLE
    from adyton.release.staging import staged
    from adyton.schema import Schema
    from adyton.session import Session

    task = asked.task_of(histogram, ranges, cdf, marginals, attributes, queries)
    options = asked.options_of(option)
    declared = Schema.from_toml(schema)
    if task is None:
        others = {"--misfits": misfits, "--integer": integer, "--nonnegative": nonnegative, "--option": bool(options)}
        others |= {"--algorithm": algorithm != "auto", "--out": out_folder is not None}
        _check_count([name for name, given in others.items() if given], count=count)
    else:
        _check_task(task, declared, algorithm, options, count=count, kept=as_json or out_folder is not None)
    for word in accept or ():
        if word not in PARTS:
            raise BadInput(f"--accept takes one of the words {listing(PARTS)}, given {shorten(word)}.")
    amount = budget(epsilon, "--epsilon")
    _check_folder(out_folder, (data, data.rpartition("#")[0], schema, queries, ledger), overwrite=overwrite)
    allowed = checked_total(_total(amount, total, ledger))
    unit = _unit(declared, ledger)
    accept_large(amount, "a release", unit, yes=yes, quiet=quiet)
    if total is not None and allowed > amount:
        accept_large(allowed, "a total", unit, yes=yes, quiet=quiet)
    replaces = REPLACEABLE if overwrite else ()
    with (
        termination_interrupts(),
        staged(out_folder, replaces=replaces) if out_folder else nullcontext(None) as place,
    ):
        session = Session(
            data,
            schema=declared,
            epsilon=allowed,
            ledger=ledger,
            dataset=dataset,
            accept=accept or (),
        )
        before = _Account(session.ledger.dataset, session.total, session.spent)
        if task is None:
            with _charged(session, before.spent):
                answer = session.count(amount, where=where)
            after = before._replace(spent=_spent(session, before.spent + amount))
            _show_count(answer, amount, after, where, as_json=as_json, quiet=quiet, ledger=ledger)
            return
        look, interrupt = Look(integer, nonnegative), None
        with _charged(session, before.spent):
            try:
                with progress("releasing", quiet=quiet or as_json):
                    release = session.release(
                        task, amount, algorithm=algorithm, where=where, misfits=misfits, **options
                    )
            except KeyboardInterrupt as came:
                if session.last is None:
                    raise
                release, interrupt = session.last, came
        deliver(release, place, look, as_json=as_json, quiet=quiet, interrupt=interrupt)


@contextmanager
def _charged(session: Session, before: Fraction) -> Iterator[None]:
    """Whatever ends the block early, the message says what was charged; and bad input is what cost nothing."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise InterruptedRelease(f"interrupted{_charge(session, before)}.", interrupt) from None
    except BadInput as error:
        charge = _charge(session, before)
        if not charge:
            raise
        raise AdytonError(f"{str(error).rstrip('.')}{charge}.") from None


def _charge(session: Session, before: Fraction) -> str:
    try:
        charged = session.spent - before
    except LedgerError:
        return "; what was charged, if anything, is in the ledger and stays spent"
    return f"; ε = {display(charged)} was charged already and stays spent" if charged else ""


class _Account(NamedTuple):
    """What is known of the ledger."""

    dataset: str
    total: Fraction
    spent: Fraction


def _spent(session: Session, known: Fraction) -> Fraction:
    """What was spent by everybody; as far as is known, if the ledger cannot be read now."""
    try:
        return session.spent
    except LedgerError:
        return known


def _check_count(others: Sequence[str], *, count: bool) -> None:
    if not count:
        raise BadInput(f"ask for one thing: {asked.TASKS} with what to count by, or --count.")
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


def _check_task(
    task: Task, schema: Schema, algorithm: str, options: dict[str, Any], *, count: bool, kept: bool
) -> None:
    """Refuse what cannot be released before the data are opened."""
    from adyton.release.tables import MOST_TABLES
    from adyton.session import Outlook
    from adyton.tasks import Marginals

    if count:
        raise BadInput(f"ask for one thing: {asked.TASKS} with what to count by, or --count.")
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


def _unit(schema: Schema, ledger: Path | None) -> str:
    """What is protected, in the words of the report."""
    from adyton.kernel.ledger import Ledger
    from adyton.kernel.ledger.terms import Terms, given_terms

    kept = Ledger.read(ledger).terms if ledger is not None and ledger.is_file() else None
    return given_terms(kept, Terms.of(schema.to_dict(), schema.rows_per_unit)).named_unit


def _show_count(
    answer: Measurement,
    amount: Fraction,
    account: _Account,
    where: str | None,
    *,
    as_json: bool,
    quiet: bool,
    ledger: Path | None,
) -> None:
    from adyton.noise.probabilities import discrete_laplace_radius

    radius = discrete_laplace_radius(1 / answer.epsilon, _CONFIDENCE)
    if as_json:
        print_json(
            {
                "dataset": account.dataset,
                "where": where,
                "count": answer.value,
                "misfits": None,
                "private": answer.private,
                "variance": float(answer.variances[0]),
                "within": {"confidence": _CONFIDENCE, "radius": radius},
                "epsilon": as_number(amount),
                "total": as_number(account.total),
                "spent": as_number(account.spent),
                "remaining": as_number(account.total - account.spent),
            }
        )
        return
    out().print(f"{answer.value}")
    if quiet:
        return
    spent = f"Spent ε = {display(account.spent)} of {display(account.total)}"
    kept = f", recorded in {ledger}." if ledger else ". Nothing remembers it: give --ledger FILE to keep count."
    apart = f"at most {radius} apart" if radius else "equal"
    notes().print(f"The count is the true one plus noise; in 95 of 100 cases the two are {apart}. {spent}{kept}")
    if where is not None:
        notes().print(_UNCHECKED, soft_wrap=True)
