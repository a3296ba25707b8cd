"""``adyton token``: make, list and revoke the tokens with which analysts and curators ask a service."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from adyton.cli.console import out, plain_table, print_json, printable, remark, say
from adyton.errors import BadInput
from adyton.messages import no_such, shorten
from adyton.service.access import Access, TokenEntry
from adyton.service.config import Config

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60}
_SPAN = re.compile(r"([1-9][0-9]{0,4})([dhm])", re.ASCII)
_NEVER = "never"


def command(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="The configuration of the service, a TOML file.")],
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An analyst or curator of the configuration.")
    ] = None,
    expires: Annotated[
        str, typer.Option(metavar="WHEN", help="Until when it is valid: 90d, 12h, a date, or never.")
    ] = "90d",
    role: Annotated[
        str | None,
        typer.Option(metavar="ROLE", help="analyst, curator or metrics; by default as configured."),
    ] = None,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Revoke all tokens of NAME; or NAME is the id of a token.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the tokens, without their secrets.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --list: print JSON.")] = False,
) -> None:
    """Make a token of a service, which is shown once; or list tokens, or revoke them.

    The file of tokens stores hashes only. A running service notices at the next call.
    """
    if as_json and not listed:
        raise BadInput("--json belongs to --list.")
    if listed + revoke > 1 or (role is not None and (listed or revoke)):
        raise BadInput("--list, --revoke and --role are for different things. Give one of them.")
    settings = Config.read(config)
    access = Access(Path(settings.http.access))
    if listed:
        _print([entry for entry in access.entries() if name in (None, entry.name)], as_json=as_json)
        return
    if name is None:
        raise BadInput(f"say for whom: adyton token {config} NAME.")
    if revoke:
        count = access.revoke(name)
        if not count:
            raise BadInput(f"{shorten(name)} has no token that could be revoked. See adyton token {config} --list.")
        remark(f"Revoked: {count} token{'s' if count > 1 else ''} of {name}.")
        return
    role = role or ("curator" if name in settings.curators else "analyst")
    _check_name(settings, name, role)
    say(access.make(name, role, expires=_until(expires)))
    remark(f"The token of {printable(name)} is shown this once. Hand it over safely: whoever has it may spend budget.")


def _check_name(config: Config, name: str, role: str) -> None:
    """Refuse a name that the configuration grants nothing: probably it is misspelt."""
    known = {"curator": config.curators, "analyst": config.analysts}.get(role)
    if known is not None and not known:
        raise BadInput(f"the configuration names no {role}. Write one into it first.")
    if known is not None and name not in known:
        raise BadInput(no_such(role, name, sorted(known)))


def _until(text: str) -> int | None:
    """When a token ends, in seconds since 1970."""
    if text == _NEVER:
        return None
    if match := _SPAN.fullmatch(text):
        return int(time.time()) + int(match[1]) * _SECONDS[match[2]]
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise BadInput(f"--expires is 90d, 12h, 30m, a date (2027-01-31) or never; given {shorten(text)}.") from None
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _print(entries: list[TokenEntry], *, as_json: bool) -> None:
    rows = [
        {"id": entry.id, "name": entry.name, "role": entry.role, "made": _day(entry.made), **_validity(entry)}
        for entry in entries
    ]
    if as_json:
        print_json(rows)
        return
    table = plain_table()
    for column in ("id", "name", "role", "made", "expires", "state"):
        table.add_column(column)
    for row in rows:
        table.add_row(*(printable(str(value or _NEVER)) for value in row.values()))
    out().print(table)


def _validity(entry: TokenEntry) -> dict[str, str | None]:
    return {"expires": None if entry.expires is None else _day(entry.expires), "state": entry.state}


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
