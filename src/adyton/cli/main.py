"""The command ``adyton``.

Each command is a function, listed in :data:`COMMANDS` or, like those of the laboratory, in an entry point
``adyton.commands``. Its module is imported only when the command is used: the list of all commands reads their
first sentences from the compiled modules without running them.
"""

from __future__ import annotations

import gc
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from inspect import cleandoc, getdoc
from types import CodeType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import adyton
from adyton.cli import leave
from adyton.cli.console import InterruptedRelease, guard, open_streams
from adyton.interrupts import Terminated
from adyton.messages import no_such

COMMANDS = {
    "release": "adyton.cli.release:command",
    "plan": "adyton.cli.plan:command",
    "run": "adyton.cli.run:command",
    "fit": "adyton.cli.fit:command",
    "predict": "adyton.cli.predict:command",
    "configure": "adyton.cli.configure:command",
    "schema": "adyton.cli.schema:command",
    "check": "adyton.cli.schema:check",
    "ledger": "adyton.cli.ledger:command",
    "open": "adyton.cli.open:command",
    "serve": "adyton.cli.serve:command",
    "combine": "adyton.cli.explain:combine",
    "explain": "adyton.cli.explain:command",
    "token": "adyton.cli.token:command",
}


@cache
def every_command() -> dict[str, str]:
    """All commands and where they are, those of entry points included."""
    return COMMANDS | {entry.name: entry.value for entry in entry_points(group="adyton.commands")}


def _description(place: str) -> str | None:
    """What a command does: the docstring of its function, from the compiled module, without running it if possible."""
    module, name = place.split(":")
    spec = None if module in sys.modules else find_spec(module)
    code = getattr(spec.loader, "get_code", lambda _: None)(module) if spec else None
    for part in code.co_consts if code else ():
        if isinstance(part, CodeType) and part.co_name == name and isinstance(part.co_consts[0], str):
            return cleandoc(part.co_consts[0])  # the first constant of a function is its docstring
    return getdoc(getattr(import_module(module), name))


_NEW_OBJECTS = 50_000
"""How many new objects trigger garbage collection: many, because the million objects of libraries are never freed."""


class Commands(TyperGroup):
    """The group of all commands: imports each when it is used, and ends all of them in the same way."""

    _listed = False
    """Whether the list of all commands is being written."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of :data:`COMMANDS`."""
        return list(every_command())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, imported now."""
        place = COMMANDS.get(cmd_name) or every_command().get(cmd_name)
        if place is None:
            return None
        if cmd_name not in self.commands:
            if self._listed:
                return TyperCommand(cmd_name, help=_description(place))
            module, name = place.split(":")
            single = typer.Typer(add_completion=False)
            single.command(cmd_name)(getattr(import_module(module), name))
            self.commands[cmd_name] = get_command(single)
        return self.commands[cmd_name]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help of ``adyton`` itself, with a line for each command."""
        self._listed = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listed = False

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; if the name is unknown, say which commands exist."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS and args[0] not in every_command():
            ctx.fail(no_such("command", args[0], every_command()))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command. Typer would treat a termination request like Ctrl-C, which has another exit code."""
        try:
            return super().invoke(ctx)
        except Terminated as interrupt:
            raise InterruptedRelease("interrupted.", interrupt) from None

    def main(self, *args: Any, **options: Any) -> Any:
        """Run, and exit with the code for the outcome."""
        run = super().main
        alone = options.get("standalone_mode", True)
        options["standalone_mode"] = False
        if not alone:
            return run(*args, **options)
        sys.exit(guard(lambda: run(*args, **options)))


app = typer.Typer(
    cls=Commands,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Differentially private data release."""
    if version:
        typer.echo(f"adyton {adyton.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """The entry point of the console script."""
    open_streams()
    gc.set_threshold(_NEW_OBJECTS)
    try:
        app(prog_name="adyton")
    except SystemExit as end:
        leave(end.code if isinstance(end.code, int) else 0)
