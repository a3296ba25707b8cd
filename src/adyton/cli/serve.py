"""``adyton serve``: a kernel in processes of its own, which analysts reach over HTTP."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.cli.console import remark, say
from adyton.cli.options import LedgerFile, Table, Total
from adyton.errors import BadInput
from adyton.messages import listing
from adyton.service import access, config, supervisor


def command(
    given: Annotated[
        list[str],
        typer.Argument(metavar="CONFIG|DATA…", help="The configuration, a TOML file; or one table, with --schema."),
    ],
    schema: Annotated[Path | None, typer.Option("--schema", help="The schema of the table.")] = None,
    table: Table = None,
    ledger: LedgerFile = None,
    total: Total = None,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where to listen; or unix:PATH. By default 127.0.0.1:8472.")
    ] = None,
    no_timing: Annotated[
        bool, typer.Option("--no-timing", help="Send replies when they are ready: their time may say something.")
    ] = False,
) -> None:
    """Serve private tables: analysts with budgets of their own ask over HTTP, and nobody gets to the rows.

    With a configuration, all of its data sets. With one table, only you can ask: the command prints a token, and
    ad.connect("http://127.0.0.1:8472", token=…) opens a session. Pages for you alone are those of adyton open.
    """
    check_installed()
    single = schema is not None
    with tempfile.TemporaryDirectory(prefix="adyton-serve-") as folder:
        if single:
            plain: dict[str, Any] = {"data": given, "schema": str(schema), "ledger": str(ledger or "")}
            if ledger is None:
                raise BadInput("a service needs a ledger. Give --ledger FILE and, if it is new, --total.")
            plain |= {} if table is None else {"table": table}
            plain |= {} if total is None else {"total": total}
            stem = (table or "") if "://" in given[0] else Path(given[0]).stem  # an address may have a password
            name = config.name_for(stem)
            files = {"access": str(Path(folder) / "access.sqlite"), "receipts": str(Path(folder) / "receipts.key")}
            # browsers send the cookie of pages with fixed paths to every port of this machine: adyton open has others
            everything = {
                "datasets": {name: plain},
                "curators": {"names": [config.OWNER]},
                "http": {**files, "pages": False},
            }
            settings = config.Config.of(everything, Path.cwd())
        else:
            if len(given) > 1 or ledger is not None or total is not None or table is not None:
                raise BadInput("give one configuration, or a table with --schema, --ledger and --total.")
            if Path(given[0]).suffix.lower() != ".toml":
                raise BadInput(
                    f"{given[0]} is no configuration, which is a TOML file. To serve one table, give its --schema."
                )
            settings = config.Config.read(Path(given[0]))
        if listen is not None:
            settings = replace(settings, http=replace(settings.http, listen=config.listening(listen)))
        if no_timing:
            settings = replace(settings, timing=replace(settings.timing, on=False))

        http = settings.http
        here = http.is_local or http.listen.startswith(("127.", "localhost:", "[::1]:"))
        if not here and http.certificate is None:
            remark(f"{http.listen} is open to others without a certificate: tokens and results can be read on the way.")

        def ready() -> None:
            place = settings.http.listen
            address = place if settings.http.is_local else f"http{'s' if settings.http.certificate else ''}://{place}"
            serving = f"Serving {listing(settings.datasets)} at {address}. Ctrl-C ends it."
            if single:
                say(serving)
                token = access.Access(Path(settings.http.access)).make(config.OWNER, role="curator")
                say(f"Your token, for this run: {token}")
            else:
                with suppress(OSError):  # a log on a full disk ends no service
                    say(serving)
                    remark(f"Tokens for analysts: adyton token {given[0]} NAME")

        service = supervisor.Service(settings, remark)
        asyncio.run(service.run(ready))


def check_installed() -> None:
    """Refuse to start a service without the libraries that it needs."""
    if missing := [name for name in ("fastapi", "uvicorn", "joserfc", "prometheus_client") if find_spec(name) is None]:
        raise BadInput(f"the service needs {missing[0]}, which is not installed. Run pip install 'adyton[service]'.")
