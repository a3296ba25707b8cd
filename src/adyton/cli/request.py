"""The input of commands that spend: a task, a schema, a total, terms, and where the result goes.

All of it is checked before anything is spent. Every kind of task declares its own options (in
:attr:`adyton.tasks.Task.command_options`); a command that takes ``**asked`` gets the options of all kinds.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli.console import COMMAS, accept_large, output_is_open
from adyton.cli.options import table_of
from adyton.errors import BadInput
from adyton.exact import budget, display
from adyton.kernel.checking import schema_of_table
from adyton.kernel.counting.opening import table_at
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.ledger import store_at
from adyton.kernel.ledger.records import checked_total
from adyton.kernel.ledger.terms import PARTS, Terms, given_terms
from adyton.messages import listing, shorten
from adyton.schema import Schema
from adyton.schema.numbers import axes_of
from adyton.tasks import Task
from adyton.tasks.request import command_options, task_from_options, ways_to_ask

if TYPE_CHECKING:
    from adyton.session.remote import RemoteSession


def _algorithms() -> list[str]:
    # only shell completion needs the names of all algorithms
    from adyton.marginals.program import NAMED
    from adyton.plans import algorithms
    from adyton.statistics.programs import PROGRAMS

    return ["auto", *algorithms(), *NAMED, *PROGRAMS]


Algorithm = Annotated[
    str, typer.Option(help="An algorithm, or auto to have one chosen privately.", autocompletion=_algorithms)
]
Option = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the algorithm.")]

Misfits = Annotated[
    bool | None,
    typer.Option(
        "--misfits/--no-misfits",
        help="Count the rows that do not match the schema, for 1/50 of the budget. By default this is done for CSV "
        "files where ε is large enough to notice 5% of the rows.",
        show_default=False,
    ),
]

Known = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="A CSV file of public totals: columns of attributes, count and, unless they are exact, error. Estimates "
        "agree with them; ε does not cover them.",
    ),
]


_FIRST = ("data", "schema")
"""The parameters that help lists first: they are needed unless a service has the table."""


def with_tasks(function: Callable[..., None]) -> Callable[..., None]:
    """The command *function*, whose ``**asked`` become the options of all tasks, after its required ones."""
    own = inspect.signature(function, eval_str=True)
    parameters = [parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    needed = [parameter for parameter in parameters if parameter.default is parameter.empty or parameter.name in _FIRST]
    needed.sort(key=lambda parameter: parameter.name not in _FIRST)
    more = [
        inspect.Parameter(
            option.key,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if option.reads is bool else None,
            annotation=Annotated[
                bool if option.reads is bool else option.reads | None,
                typer.Option(str(option), metavar=option.metavar, help=option.help),
            ],
        )
        for option, _ in command_options()
    ]
    rest = [parameter for parameter in parameters if parameter not in needed]
    needed, rest = ([one.replace(kind=one.KEYWORD_ONLY) for one in group] for group in (needed, rest))
    function.__signature__ = own.replace(parameters=[*needed, *more, *rest])  # type: ignore[attr-defined]
    return function


def task_of(asked: Mapping[str, Any], otherwise: str) -> Task:
    """The requested task; if there is none, *otherwise* begins the message that says how to ask."""
    task = task_from_options(asked)
    if task is None:
        raise BadInput(f"{otherwise}: {ways_to_ask()}.")
    return task


def options_of(given: list[str] | None) -> dict[str, Any]:
    """The options of an algorithm, with values in JSON or, failing that, as texts.

    >>> options_of(["rounds=10", "share=1/4"])
    {'rounds': 10, 'share': '1/4'}
    """
    options: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadInput(f"--option is written KEY=VALUE, given {shorten(text)}.")
        try:
            read = json.loads(value.lower() if value in ("True", "False") else value)
        except (ValueError, RecursionError):
            read = value
        options[name.strip()] = value if isinstance(read, float) else read
    return options


def schema_beside(data: list[str], file: Path, table: str | None) -> Schema:
    """The schema in *file*, for the table in *data*. If a word of *data* is not a file but the name of an attribute, a
    comma is missing in an option."""
    schema = Schema.from_toml(file)
    for word in data:
        names = axes_of(word.strip(" ,"), schema.attributes)
        if all(name in schema.attributes for name in names) and not Path(word).exists():
            raise BadInput(f"there is no file {shorten(word)}, but an attribute of that name: {COMMAS}.")
    return schema_of_table(table_at(table_of(data), table), schema) if schema.patterns else schema


def schema_for(
    connect: str | None,
    dataset: str | None,
    token_file: Path | None,
    data: list[str] | None,
    schema: Path | None,
    table: str | None = None,
    **unused: Any,
) -> tuple[Schema, RemoteSession | None]:
    """The schema of the table, and the session of the service that has it; None if the table is in files."""
    if connect is None and (token_file is not None or not data or schema is None):
        raise BadInput("name the table and its schema, DATA --schema FILE; or a service that has them, --connect URL.")
    if connect is None:
        assert data is not None
        assert schema is not None
        return schema_beside(data, schema, table), None
    own = {"DATA": data, "--schema": schema, "--table": table} | {f"--{name}": given for name, given in unused.items()}
    if given := [name for name, value in own.items() if value]:
        raise BadInput(f"the service has the table, its schema and its ledger. Leave {listing(given)} out.")
    from adyton.session.remote import connect as to_service  # few commands go to a service

    try:
        token = None if token_file is None else token_file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        raise BadInput(f"{token_file} cannot be read. Give the file that has the token.") from None
    session = to_service(connect, token=token, dataset=dataset)
    return session.schema, session


# ---- what may be spent, on which terms, and where the result goes ---------------------------------------------------


def allowed_total(
    amount: Fraction,
    total: str | None,
    schema: Schema,
    ledger: str | None,
    *,
    yes: bool,
    quiet: bool,
    what: str = "a release",
    remote: RemoteSession | None = None,
) -> Fraction:
    """What may be spent in all; large budgets must be accepted. A service decides itself what may be spent."""
    if remote is not None:
        accept_large(amount, what, remote.unit, yes=yes, quiet=quiet)
        return amount
    allowed = checked_total(total_of(amount, total, ledger))
    kept = Ledger.read(ledger).terms if ledger is not None and Ledger.exists(ledger) else None
    unit = given_terms(kept, Terms.of(schema.to_dict(), schema.rows_per_unit)).named_unit
    accept_large(amount, what, unit, yes=yes, quiet=quiet)
    if total is not None and allowed > amount:
        accept_large(allowed, "a total", unit, yes=yes, quiet=quiet)
    return allowed


def total_of(amount: Fraction, total: str | None, ledger: str | None) -> Fraction:
    """What may be spent in all: the total of an existing ledger, or *total* for a new one; without a ledger and a
    total, what this request costs."""
    given = None if total is None else budget(total, "--total")
    if given is not None and amount > given:
        raise BadInput(f"--epsilon {display(amount)} is more than --total {total}. Reduce --epsilon, or raise --total.")
    if ledger is None:
        return given or amount
    name = store_at(ledger).name
    if Ledger.exists(ledger):
        held = Ledger.read(ledger).total
        if given not in (None, held):
            raise BadInput(
                f"{name} has a total of {display(held)}, given --total {total}. Leave --total out; with the data "
                f"owner's consent, adyton ledger raise {name} --total … raises it."
            )
        return held
    if given is None:
        raise BadInput(f"{name} does not exist yet. Give a total budget for it, for example --total 1.")
    return given


def check_accepted(accept: Iterable[str]) -> None:
    """Refuse words of ``--accept`` that are not terms of a ledger."""
    for word in accept:
        if word not in PARTS:
            raise BadInput(f"--accept takes one of the words {listing(PARTS)}, given {shorten(word)}.")


def check_folder(folder: Path | None, used: Iterable[str | Path | None], *, overwrite: bool) -> None:
    """Refuse a folder that holds an input of the command; without a folder, refuse a closed standard output."""
    if folder is None:
        if overwrite:
            raise BadInput("--overwrite belongs to --out. Name the folder that may be overwritten.")
        if not output_is_open():
            raise BadInput(
                "standard output is closed, so the answer would be paid for and lost. Open it, or give --out."
            )
        return
    for file in used:
        if file and "://" not in str(file) and folder.resolve() in Path(file).resolve().parents:
            raise BadInput(f"{file} lies in {folder}, which would be replaced. Give --out another folder.")
