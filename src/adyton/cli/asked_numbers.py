"""What a person asks about numbers on the command line: the options that releasing and planning share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from adyton.cli.asked import names_of
from adyton.errors import BadInput

if TYPE_CHECKING:
    from adyton.tasks import NumbersTask

Sum = Annotated[str | None, typer.Option("--sum", metavar="A", help="The sum of an attribute of numbers.")]
Mean = Annotated[str | None, typer.Option("--mean", metavar="A", help="Its mean, with the count.")]
Variance = Annotated[str | None, typer.Option("--variance", metavar="A", help="Its variance and deviation, too.")]
Quantiles = Annotated[
    str | None, typer.Option("--quantiles", metavar="A", help="Its quantiles: the quartiles, or those of --at.")
]
Summary = Annotated[
    str | None, typer.Option("--summary", metavar="A", help="Count, mean, deviation and quartiles at once.")
]
At = Annotated[
    str | None,
    typer.Option("--at", metavar="Q,Q…", help="For --quantiles: 0.1,0.5,0.9, or median, quartiles or deciles."),
]
By = Annotated[str | None, typer.Option("--by", metavar="B,C…", help="For numbers: by groups of these attributes.")]
GroupRows = Annotated[
    int | None,
    typer.Option("--group-rows", metavar="N", help="For numbers: how many rows a group has, if that is public."),
]
TASKS = "--sum, --mean, --quantiles, --variance or --summary"


def numbers_of(
    given: dict[str, str | None], at: str | None, by: str | None, group_rows: int | None
) -> NumbersTask | None:
    """The one task about numbers that was asked for; None for none."""
    from adyton import tasks

    kinds: dict[str, Callable[..., NumbersTask]] = {
        "sum": tasks.Sum,
        "mean": tasks.Mean,
        "variance": tasks.Variance,
        "quantiles": tasks.Quantiles,
        "summary": tasks.Summary,
    }
    named = {name: attribute.strip() for name, attribute in given.items() if attribute is not None}
    if len(named) > 1:
        raise BadInput(f"ask for one thing at a time: {TASKS}. --summary has most of them.")
    beside = {"--at": at, "--by": by, "--group-rows": group_rows}
    if at is not None and "quantiles" not in named:
        raise BadInput("--at belongs to --quantiles. Leave it out.")
    if not named:
        for option in (option for option, value in beside.items() if value is not None):
            raise BadInput(f"{option} belongs to {TASKS}. Name an attribute of numbers there.")
        return None
    ((kind, attribute),) = named.items()
    groups = () if by is None else names_of(by)
    if kind == "quantiles" and at is not None:
        parts = at.strip() if at.strip().isalpha() else names_of(at)
        return tasks.Quantiles(attribute, parts, by=groups, rows=group_rows)
    return kinds[kind](attribute, by=groups, rows=group_rows)
