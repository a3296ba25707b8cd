"""What a person asks for on the command line, as a task: the options that releasing and planning share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli.instead import COMMAS
from adyton.errors import BadInput
from adyton.messages import shorten

if TYPE_CHECKING:
    from adyton.schema import Schema
    from adyton.tasks import Marginals, Task

Histogram = Annotated[str | None, typer.Option(metavar="A[,B…]", help="Count the rows of every cell.")]
Ranges = Annotated[str | None, typer.Option(metavar="A[,B…]", help="Counts between any two bounds.")]
Cdf = Annotated[str | None, typer.Option(metavar="A", help="Counts up to every value.")]
RowsPerUnit = Annotated[
    int | None,
    typer.Option(
        "--rows-per-unit", metavar="M", help="Units by their number of rows, up to M or more: what a limit cuts off."
    ),
]
QueryFile = Annotated[
    Path | None, typer.Option("--queries", metavar="FILE", help="A JSON list of queries, one by one.")
]


def _algorithms() -> list[str]:
    from adyton.plans import algorithms
    from adyton.session.releasing_tables import NAMED
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
        help="Count the rows that do not fit the schema, for 1/50 of the budget; by default for CSV files, if 5% show.",
        show_default=False,
    ),
]

TASKS = "--histogram, --ranges, --cdf, --marginals, --marginal, --rows-per-unit or --queries"


def task_of(
    histogram: str | None,
    ranges: str | None,
    cdf: str | None,
    marginals: Marginals | None,
    queries: Path | None,
    rows_per_unit: int | None = None,
) -> Task | None:
    """The one task that was asked for; None for none."""
    from adyton import tasks

    given = [one for one in (histogram, ranges, cdf, marginals, queries, rows_per_unit) if one is not None]
    if len(given) > 1:
        raise BadInput(f"ask for one thing at a time: {TASKS}.")
    if histogram is not None:
        return tasks.Histogram(*names_of(histogram))
    if ranges is not None:
        return tasks.Ranges(*names_of(ranges))
    if cdf is not None:
        return tasks.Cdf(cdf.strip())
    if marginals is not None:
        return marginals
    if rows_per_unit is not None:
        return tasks.RowsPerUnit(rows_per_unit)
    return None if queries is None else tasks.QueryList(_read(queries))


def one_of(task: Task | None, other: Task | None) -> Task | None:
    """The one that was asked for; refused where both were."""
    if task is not None and other is not None:
        raise BadInput(f"ask for one thing at a time: {task}, or {other}.")
    return other if task is None else task


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


def names_of(text: str) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in text.split(",")]


def schema_beside(data: list[str], file: Path) -> Schema:
    """The schema in a file, for a table in other files; the name of an attribute among them means a missing comma."""
    from adyton.schema import Schema
    from adyton.schema.places import axes_of

    schema = Schema.from_toml(file)
    for word in data:
        names = axes_of(word.strip(" ,"), schema.attributes)
        if all(name in schema.attributes for name in names) and not Path(word).exists():
            raise BadInput(f"there is no file {shorten(word)}, but an attribute of that name: {COMMAS}.")
    return schema


def _read(path: Path) -> Any:
    problem = "cannot be read"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        problem = "does not exist"
    except (ValueError, RecursionError):
        problem = "is not JSON"
    except OSError:
        pass
    raise BadInput(f'{path} {problem}. Give a JSON list of queries, like [{{"age": {{"from": 20, "to": 29}}}}].')
