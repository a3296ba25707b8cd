"""Writes the page on the commands from the commands themselves."""

from __future__ import annotations

import inspect
from typing import Any

from generated import filled
from typer.main import get_command
from wording import one_line

from adyton.cli.main import app, every_command

NAME = "commands"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the commands where a page asks for them."""
    return filled(markdown, NAME, commands)


def commands() -> str:
    """A section for each command: what it does, what it takes."""
    group: Any = get_command(app)
    return "\n\n".join(_section(name, group.get_command(None, name)) for name in every_command())


def _section(name: str, command: Any) -> str:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    usage = " ".join(["adyton", name, *(_argument(argument) for argument in arguments), "[OPTIONS]"])
    rows = [_row(parameter) for parameter in command.params]
    table = ["| argument or option | what it means | if not given |", "|---|---|---|", *rows]
    return "\n\n".join([f"## adyton {name}", f"`{usage}`", inspect.cleandoc(command.help or ""), "\n".join(table)])


def _argument(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper()).strip("[]")
    return name if argument.required else f"[{name}]"


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = _argument(parameter)
    else:
        name = " ".join([", ".join(parameter.opts), *([] if parameter.is_flag else [parameter.metavar or "…"])])
    return f"| `{name}` | {one_line(parameter.help or '')} | {_default(parameter)} |"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value is False or value == () or callable(value):
        return ""
    return f"`{one_line(str(value))}`"
