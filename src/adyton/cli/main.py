"""The command ``adyton``.

Each command is a function named ``command`` in a file of its own, listed in :data:`COMMANDS` or, like those of the
laboratory, in an entry point ``adyton.commands``, and imported only when it is needed. A command's file must be light
to import, because ``adyton --help`` reads the docstrings of all of them: whatever is heavy is imported inside the
function.
"""

from __future__ import annotations

import gc
import sys
from functools import cache
from importlib import import_module
from inspect import getdoc
from typing import Annotated, Any

from adyton.cli.leaving import leave  # isort: split

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import adyton
from adyton.cli.asked import with_tasks
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
    "check": "adyton.cli.check:command",
    "ledger": "adyton.cli.ledger:command",
    "combine": "adyton.cli.combine:command",
    "explain": "adyton.cli.explain:command",
}


@cache
def every_command() -> dict[str, str]:
    """All commands and where they are, those of entry points included."""
    from importlib.metadata import entry_points

    return COMMANDS | {found.name: found.value for found in entry_points(group="adyton.commands")}


_NEW_OBJECTS = 50_000
"""How many new objects it takes to look for unreachable ones. Loading libraries makes a million that all stay."""


class Commands(TyperGroup):
    """The group of all commands: imports them one by one, and ends each of them in the same way."""

    _listed = False
    """Whether all of them are being listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        return list(every_command())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, imported now."""
        place = COMMANDS.get(cmd_name) or every_command().get(cmd_name)
        if place is None:
            return None
        if cmd_name not in self.commands:
            module, name = place.split(":")
            function = getattr(import_module(module), name)
            if self._listed:  # its options are not asked for, and some take long to find
                return TyperCommand(cmd_name, help=getdoc(function))
            single = typer.Typer(add_completion=False)
            single.command(cmd_name)(with_tasks(function))
            self.commands[cmd_name] = get_command(single)
        return self.commands[cmd_name]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help of the whole, with a line for each command."""
        self._listed = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listed = False

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; for a name that does not exist, say which do."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS and args[0] not in every_command():
            ctx.fail(no_such("command", args[0], every_command()))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command. Typer would take a request to end for Ctrl-C, whose exit code is another."""
        try:
            return super().invoke(ctx)
        except Terminated as interrupt:
            raise InterruptedRelease("interrupted.", interrupt) from None

    def main(self, *args: Any, **options: Any) -> Any:
        """Run, and exit with the code that the outcome deserves."""
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
