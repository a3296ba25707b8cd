"""What a person asks for on the command line: the options of all tasks, which releasing and planning share.

Every kind of task has options that ask for it (:attr:`adyton.tasks.Task.command_options`): a command that takes
``**asked`` gets all of them, those of kinds that somebody has registered too.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli.instead import COMMAS
from adyton.cli.options import table_of
from adyton.errors import BadInput
from adyton.messages import shorten

if TYPE_CHECKING:
    from adyton.schema import Schema
    from adyton.tasks import Task


def _algorithms() -> list[str]:
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
        help="Count rows that do not match the schema, for 1/50 of the budget; by default for CSV files, if 5% show.",
        show_default=False,
    ),
]


def with_tasks(function: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of all tasks, behind what it must be given, if it takes ``**asked``."""
    vars(function).pop("__signature__", None)  # of an earlier time: more tasks may be there now
    own = inspect.signature(function, eval_str=True)
    parameters = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    if len(parameters) < len(own.parameters):
        from adyton.tasks.request import command_options

        needed = [one for one in parameters if one.default is one.empty]
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
        rest = [one.replace(kind=one.KEYWORD_ONLY) for one in parameters if one not in needed]
        function.__signature__ = own.replace(parameters=[*needed, *more, *rest])  # type: ignore[attr-defined]
    return function


def task_of(asked: Mapping[str, Any], otherwise: str) -> Task:
    """The one task that was asked for; *otherwise* begins the sentence that says how to ask."""
    from adyton.tasks.request import task_from_options, ways_to_ask

    found = task_from_options(asked)
    if found is None:
        raise BadInput(f"{otherwise}: {ways_to_ask()}.")
    return found


def options_of(given: list[str] | None) -> dict[str, Any]:
    """The options of an algorithm: values as in JSON, or else texts.

    >>> options_of(["rounds=10", "share=1/4"])
    {'rounds': 10, 'share': '1/4'}
    """
    options: dict[str, Any] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise BadInput(f"--option is written KEY=VALUE, given {shorten(text)}.")
        try:
            read = json.loads(value.lower() if value in ("True", "False") else value)
        except (ValueError, RecursionError):
            read = value
        options[name.strip()] = value if isinstance(read, float) else read
    return options


def schema_beside(data: list[str], file: Path, table: str | None) -> Schema:
    """The schema in a file, for a table in other files; the name of an attribute among them means a missing comma."""
    from adyton.schema import Schema
    from adyton.schema.numbers import axes_of

    schema = Schema.from_toml(file)
    for word in data:
        names = axes_of(word.strip(" ,"), schema.attributes)
        if all(name in schema.attributes for name in names) and not Path(word).exists():
            raise BadInput(f"there is no file {shorten(word)}, but an attribute of that name: {COMMAS}.")
    if not schema.patterns:
        return schema
    from adyton.kernel.checking import schema_of_table
    from adyton.kernel.counting.opening import table_at

    return schema_of_table(table_at(table_of(data), table), schema)
