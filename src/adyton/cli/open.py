"""``adyton open``: from a table to a publication in the browser, for the person who owns it."""

from __future__ import annotations

import asyncio
import html
import os
import secrets
import sys
import tempfile
import threading
import time
import webbrowser
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from adyton.cli.console import accept_large, remark, say
from adyton.cli.options import Table, Yes
from adyton.cli.serve import check_installed
from adyton.errors import BadInput
from adyton.exact import budget
from adyton.kernel.counting.opening import is_address, table_at
from adyton.kernel.reading.files import kind_of_file
from adyton.messages import listing, shorten
from adyton.schema import Schema
from adyton.service import access, columns, config, supervisor
from adyton.service.channel import Refused
from adyton.service.pages.signing_in import Links
from adyton.service.pages.visits import path_to
from adyton.service.workplace import (
    Place,
    Workplace,
    agreed,
    found,
    in_words,
    needs_consent,
    others_of,
    standing,
)

_LARGEST_FORM = 1 << 24
"""In bytes: a form may hold long lists of levels."""
_SECONDS_TO_SHOW = 60
_CALLS = 100_000
"""Calls a minute: one person asks, and nobody is kept waiting."""


def command(
    given: Annotated[
        str,
        typer.Argument(
            metavar="DATA|SCHEMA|FOLDER",
            help="A table: a CSV, Parquet, Excel, DuckDB or SQLite file (city.duckdb#trips) or the address of a "
            "database; the schema beside a table, FILE.toml; or a folder with tables, by default this one.",
        ),
    ] = ".",
    table: Table = None,
    schema: Annotated[
        Path | None,
        typer.Option(help="The schema of the table; by default the file of its name that ends with .toml."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="The file that records what was spent; by default that of its name with .ledger."),
    ] = None,
    total: Annotated[
        str | None, typer.Option(help="The total budget, if the ledger is new. Without one, the browser asks for it.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port of this machine to use; by default one that is free.")
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the link, and open no browser.")] = False,
    yes: Yes = False,
) -> None:
    """Open a table in the browser: write its schema, ask, see what it costs, and download the results.

    The pages are served on this machine, for you alone: the command prints a link that signs you in once, and opens
    it. Press Enter for a new link, and Ctrl-C to end. A table that has a schema and a ledger beside it, or is given
    --total, can be asked about at once; for any other, the browser first asks what is public about its columns. Rows
    are read only to answer a request, and never leave this machine; what is published are answers with noise.
    """
    check_installed()
    folder, place = _place(given, table, schema, ledger)
    if place is None and (option := next((name for name, own in _given(schema, ledger, total) if own), None)):
        raise BadInput(f"{option} belongs to one table. Name it: adyton open DATA {option} …")
    allowed = None if total is None else budget(total, "total")
    if allowed is not None:
        accept_large(allowed, "a total", "person", yes=yes)
    word = secrets.token_hex(5)
    workplace = Workplace(folder, word)
    datasets, first = dict[str, config.DataSet](), "/new"
    if sys.stdout.isatty():
        say(f"Opening {given} …" if place is not None else "Starting …")  # this takes some seconds
    if place is not None:
        key = workplace.pick(place, total)
        dataset = _dataset(place, allowed)
        if dataset is None:
            first = path_to("new", key)
        else:
            datasets[dataset.name], first = dataset, path_to("tables", dataset.name)
            workplace.opened(key, dataset.name)
    with tempfile.TemporaryDirectory(prefix="adyton-open-") as private:
        _serve(workplace, datasets, first, Path(private), port, word, browser=not no_browser)


def _serve(
    workplace: Workplace,
    datasets: dict[str, config.DataSet],
    first: str,
    private: Path,
    port: int,
    word: str,
    *,
    browser: bool,
) -> None:
    """Serve until Ctrl-C. What signs somebody in is made in a *private* folder, which is deleted at the end."""
    key, base = secrets.token_hex(32), f"/{secrets.token_urlsafe(16)}"
    links, tokens = Links(key), access.Access(private / "access.sqlite")
    settings = config.Config(
        datasets=datasets,
        curators=(config.OWNER,),
        http=config.Http(
            listen=f"127.0.0.1:{port}",
            access=str(tokens.path),
            receipts=str(private / "receipts.key"),
            audit=os.devnull,  # the terminal is for links; what was asked is in the ledger
            body=_LARGEST_FORM,
            requests_per_minute=_CALLS,
        ),
        timing=config.Timing(on=False),  # whoever looks owns the file
    )
    pages = {
        "links": key,
        "base": base,
        "local_token": tokens.make(config.OWNER, role="curator"),
        "folder": str(workplace.folder),
    }
    service = supervisor.Service(settings, remark, supervisor.LocalCalls(workplace.answer, pages))

    def link() -> str:
        return f"{service.address}{base}{path_to('enter', link=links.make(), to=first)}"

    def ready() -> None:
        opened = f"{', '.join(datasets)} is open" if datasets else f"The tables in {workplace.folder} can be opened"
        say(f"{opened} at {service.address}, on this machine alone. Ctrl-C ends it.")
        say(f"This link signs you in, once and within ten minutes: {link()}")
        say(f"To raise a total, or to open a second ledger for a table, the browser asks for this word: {word}")
        if sys.stdin is not None and sys.stdin.isatty():
            say("Press Enter for a new link.")
        with suppress(OSError, ValueError):  # standard input is a file, or closed
            asyncio.get_running_loop().add_reader(0, entered)
        if browser and _has_display():
            threading.Thread(target=_show, args=(private, link()), daemon=True).start()

    def entered() -> None:
        if os.read(0, 1024):
            say(f"A new link: {link()}")
        else:
            asyncio.get_running_loop().remove_reader(0)

    try:
        asyncio.run(service.run(ready))
    except supervisor.NotReady as problem:
        if problem.error.kind in ("LedgerError", "LedgerMismatch"):
            raise
        raise BadInput(str(problem)) from None


def _given(schema: Path | None, ledger: Path | None, total: str | None) -> list[tuple[str, object]]:
    return [("--schema", schema), ("--ledger", ledger), ("--total", total)]


def _place(given: str, table: str | None, schema: Path | None, ledger: Path | None) -> tuple[Path, Place | None]:
    """The folder to show, and the table to begin with, if one is named."""
    here = Path.cwd()
    beside = [None if path is None else path.absolute() for path in (schema, ledger)]
    if is_address(given):
        address = str(table_at(given, table))
        try:
            asyncio.run(columns.ask("columns", data=address, file={}, header=False))
        except Refused as problem:
            raise BadInput(str(problem)) from None
        return here, Place.of(address, here, *beside)
    if Path(given).is_dir() and table is None:
        return Path(given).absolute(), None
    if given.lower().endswith(".toml"):
        if schema is not None:
            raise BadInput("a schema is given twice. Give the table, and its schema with --schema.")
        given, beside[0] = _table_of(Path(given)), Path(given).absolute()
    place = found(str(table_at(given, table)), here, *beside)
    if schema is not None and not schema.is_file():
        raise BadInput(f"there is no file {shorten(str(schema))}. Give --schema a schema, or leave it out.")
    return Path(place.data).parent, place


def _table_of(schema: Path) -> str:
    """The table beside a schema, with the same name."""
    if not schema.is_file():
        raise BadInput(f"there is no file {shorten(str(schema))}. Check its name and its folder.")
    Schema.from_toml(schema)
    tables = sorted(
        path
        for path in schema.absolute().parent.iterdir()
        if path.is_file()
        and path != schema.absolute()
        and kind_of_file(path.name)
        and Place.of(str(path), path.parent).schema == schema.absolute()
    )
    if not tables:
        raise BadInput(
            f"{schema.name} is a schema, and there is no table {schema.stem}.csv or .parquet beside it. Name the "
            f"table: adyton open DATA --schema {schema.name}. To plan without a table: adyton plan --schema "
            f"{schema.name}."
        )
    if len(tables) > 1:
        raise BadInput(f"{schema.name} is the schema of {listing(path.name for path in tables)}. Name one of them.")
    return str(tables[0])


def _dataset(place: Place, total: Fraction | None) -> config.DataSet | None:
    """The data set to open at once; None where its schema or its total is not given yet."""
    if not place.schema.is_file():
        if total is not None:
            remark(f"There is no schema {place.schema.name} yet: the browser asks for it, and for the total.")
        return None
    Schema.from_toml(place.schema)
    if total is None and not place.ledger.is_file():
        return None
    dataset = config.DataSet(
        name=place.name, data=place.data, schema=str(place.schema), ledger=str(place.ledger), total=total
    )
    others = others_of(place, place.ledger)
    if needs_consent(place, place.ledger, others):
        remark(f"{in_words(others)}. The browser asks whether the data owner agrees to another ledger.")
        return None
    if problem := asyncio.run(standing(place, place.ledger))["problem"]:
        remark(f"{problem} The browser shows what differs.")
        return None
    unit = asyncio.run(agreed(place, place.ledger, dataset, place.schema.read_text(encoding="utf-8")))
    return replace(dataset, unit=unit)


def _show(private: Path, link: str) -> None:
    """Open the browser at a page of this user alone that leads to the link: others can read command lines."""
    page = private / "open.html"
    page.touch(0o600)
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={html.escape(link)}">', encoding="utf-8")
    webbrowser.open(page.as_uri())
    time.sleep(_SECONDS_TO_SHOW)
    page.unlink(missing_ok=True)


def _has_display() -> bool:
    """Whether a browser can show something here; one that takes over the terminal is not opened."""
    return sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
