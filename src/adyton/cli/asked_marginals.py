"""What a person asks of tables of several attributes on the command line, for releasing and planning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from adyton.cli.asked import names_of
from adyton.errors import BadInput

if TYPE_CHECKING:
    from adyton.tasks import Marginals

Way = Annotated[int | None, typer.Option("--marginals", metavar="K", help="All tables of K attributes.")]
Attributes = Annotated[str | None, typer.Option(metavar="A,B…", help="For --marginals: out of these attributes.")]
Tables = Annotated[
    list[str] | None,
    typer.Option("--marginal", metavar="A,B…", help="The table of these attributes; can be given again for others."),
]
WithRanges = Annotated[
    str | None,
    typer.Option("--with-ranges", metavar="A,B…", help="For tables: counts between any two bounds of these, too."),
]
WithPrefixes = Annotated[
    str | None,
    typer.Option("--with-prefixes", metavar="A,B…", help="For tables: counts up to every value of these, too."),
]
WithAny = Annotated[
    str | None, typer.Option("--with-any", metavar="A,B…", help="For tables: counts of any value of these, too.")
]
Cells = Annotated[
    int | None, typer.Option("--cells", metavar="N", help="For tables: read numbers in at most so many cells each.")
]


def marginals_of(
    way: int | None,
    attributes: str | None,
    tables: list[str] | None,
    with_ranges: str | None,
    with_prefixes: str | None,
    with_any: str | None,
    cells: int | None,
) -> Marginals | None:
    """The tables that were asked for; None for none."""
    from adyton import tasks

    if way is None and not tables:
        beside: dict[str, object] = {"--attributes": attributes, "--with-ranges": with_ranges, "--cells": cells}
        beside |= {"--with-prefixes": with_prefixes, "--with-any": with_any}
        for option in (option for option, value in beside.items() if value is not None):
            raise BadInput(
                f"{option} belongs to --marginals or --marginal. Name attributes in the option of what you ask for."
            )
        return None
    if tables and attributes is not None:
        raise BadInput("--attributes belongs to --marginals: a --marginal names its own. Leave it out.")
    if tables and way is not None:
        raise BadInput("ask for one thing at a time: --marginals K for all tables, or --marginal for some.")
    return tasks.Marginals(
        way=way,
        attrs=None if attributes is None else names_of(attributes),
        sets=[names_of(one) for one in tables] if tables else None,
        ranges=_names(with_ranges),
        prefixes=_names(with_prefixes),
        totals=_names(with_any),
        cells=cells,
    )


def _names(text: str | None) -> list[str]:
    return [] if text is None else names_of(text)
