"""``adyton run``: several requests with one budget, from a file."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.cli.console import out, plain_table, print_json, printable, remark
from adyton.cli.delivery import PaidResult, delivered
from adyton.cli.options import (
    Accept,
    Dataset,
    LedgerFile,
    Quiet,
    Table,
    Total,
    Yes,
    files_of,
    table_of,
)
from adyton.cli.request import allowed_total, check_accepted, schema_beside
from adyton.errors import AdytonError, BadInput
from adyton.exact import as_number, display
from adyton.interrupts import termination_interrupts
from adyton.programs.base import program_of
from adyton.result.folder import Place
from adyton.result.result import Result
from adyton.session import Session
from adyton.session.batch import Batch, read_file

_Epsilon = Annotated[
    str | None, typer.Option(help="The privacy budget of all requests together; by default as in the file.")
]
_Data = Annotated[
    list[str] | None,
    typer.Argument(metavar="[DATA…]", help="The table, as for adyton release; by default as in the file."),
]
_Schema = Annotated[
    Path | None, typer.Option("--schema", help="The schema file; by default as in the file of requests.")
]
_Folder = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Write a folder for each request into this one.")
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: what each request cost, and its expected errors.")]


def command(
    requests: Annotated[Path, typer.Argument(metavar="REQUESTS", help="A TOML file with [[request]] tables.")],
    data: _Data = None,
    schema: _Schema = None,
    out_folder: _Folder = None,
    epsilon: _Epsilon = None,
    table: Table = None,
    ledger: LedgerFile = None,
    total: Total = None,
    dataset: Dataset = None,
    accept: Accept = None,
    yes: Yes = False,
    as_json: _AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Carry out several requests with one budget, each into a folder of its own.

    All requests are checked before anything is spent. After an interruption, the same command continues: a result that
    exists in its folder is not paid for again.
    """
    listed, said = read_file(requests)
    batch = Batch.of(listed, said.get("epsilon") if epsilon is None else epsilon)
    data = data or said.get("data")
    schema, out_folder = (
        Path(said[name][0]) if given is None and name in said else given
        for name, given in (("schema", schema), ("out", out_folder))
    )
    ledger = said["ledger"][0] if ledger is None and "ledger" in said else ledger
    if not data or schema is None or out_folder is None:
        raise BadInput("name the table, its schema and a folder for the results: DATA --schema FILE --out FOLDER.")
    declared = schema_beside(data, schema, table)
    _check(batch, declared)
    check_accepted(accept or ())
    for file in (*files_of(data), schema, ledger, requests):
        above = Path(file).resolve().parents if file and "://" not in str(file) else ()
        if any(out_folder.resolve() / name in above for name in batch.requests):
            raise BadInput(f"{file} lies in a folder of {out_folder} that would be written. Give --out another folder.")
    before = batch.answered(out_folder)
    results = dict(before)
    left = sum((asked.epsilon for name, asked in batch.requests.items() if name not in results), 0 * batch.epsilon)
    if left:
        allowed = allowed_total(left, total, declared, ledger, yes=yes, quiet=quiet, what="all requests together")
        with termination_interrupts():
            session = Session(
                table_of(data),
                table=table,
                schema=declared,
                epsilon=allowed,
                ledger=ledger,
                dataset=dataset,
                accept=accept or (),
            )
            _carry_out(session, batch, out_folder, results, quiet=quiet or as_json)
    now = sum((result.epsilon for name, result in results.items() if name not in before), 0 * batch.epsilon)
    _report(batch, out_folder, results, now, as_json=as_json, quiet=quiet)


def _check(batch: Batch, schema: Any) -> None:
    """Refuse requests that cannot be answered, before the data are opened."""
    for name, request in batch.requests.items():
        try:
            program_of(request, schema).outlook()
        except BadInput as problem:
            raise BadInput(f"{name}: {problem}") from None


def _carry_out(session: Session, batch: Batch, folder: Path, results: dict[str, Result], *, quiet: bool) -> None:
    """Carry out the requests in turn; each result is in its folder before the next request begins."""
    with batch.opened(session, folder, results) as steps:
        for step in steps:
            place = step.place
            assert place is not None

            def hand_over(
                result: Result, interrupt: KeyboardInterrupt | None, name: str = step.name, place: Place = place
            ) -> None:
                results[name] = result
                _save(result, place, interrupt)

            session.last = None
            try:
                ask = partial(step.run, session.keep)
                delivered(session, ask, hand_over, step.name, place=place, quiet=quiet)
            except AdytonError:
                remark("Later requests were not carried out: run the same command again to continue.")
                raise


def _save(result: Result, place: Place, interrupt: KeyboardInterrupt | None) -> None:
    """Write what was paid for into its folder, then what is computed from it; after an interrupt, only the first."""
    paid = PaidResult(result.noun, result.epsilon, place, lambda: result.to_dict(complete=False))
    saved = paid.save(lambda: result.save_in(place))
    try:
        if interrupt is not None:
            raise interrupt
        for problem in saved.finish()[1]:
            remark(f"{place.given}: {problem}")
    except KeyboardInterrupt as came:
        raise paid.interrupted(came) from None
    if result.unfinished is not None:
        raise AdytonError(f"{result.unfinished} {paid.kept()}")


def _report(
    batch: Batch, folder: Path, results: Mapping[str, Result], charged: Fraction, *, as_json: bool, quiet: bool
) -> None:
    """Print what each request cost, and its expected error."""
    lines = [(name, request, results[name]) for name, request in batch.requests.items()]
    if as_json:
        print_json(
            {
                "epsilon": as_number(batch.epsilon),
                "charged_now": as_number(charged),
                "results": [
                    {
                        "name": name,
                        "folder": str(folder / name),
                        "request": request.to_dict(),
                        "algorithm": result.algorithm,
                        "epsilon": as_number(result.epsilon),
                        "expected_errors": dict(result.typical_errors),
                    }
                    for name, request, result in lines
                ],
            }
        )
        return
    table = plain_table()
    for title in ("name", "what", "ε", "expected error", "algorithm"):
        table.add_column(title, justify="right" if title == "ε" else "left")
    for name, request, result in lines:
        errors = ", ".join(f"{what} ± {error:.3g}" for what, error in result.typical_errors.items())
        cells = (name, str(request), display(result.epsilon), errors or "depends on the data", result.algorithm)
        table.add_row(*map(printable, cells))
    out().print(table)
    if quiet:
        return
    for _, _, result in lines:
        for paragraph in result.paragraphs():
            if paragraph.startswith("WARNING"):
                remark(paragraph)
        for advice in result.advice():
            remark(advice)
    said = "Nothing was charged: all results exist already." if not charged else f"Charged now: ε = {display(charged)}."
    remark(f"{said} Each result is in the folder of its name in {folder}.")
