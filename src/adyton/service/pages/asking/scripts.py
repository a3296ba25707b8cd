"""A request as lines of Python and as a command for the shell, to copy.

Both are checked before they are shown: a command that would not be read back as the same task, because a name has a
comma in it or because the shell has no option for it, is left out.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import PurePath
from typing import Any

from adyton.errors import AdytonError
from adyton.learning.classifier import ACCURACY, Classifier
from adyton.service.pages.requests import typed
from adyton.service.pages.visits import Visit
from adyton.service.passing import HERE
from adyton.tasks import (
    Cdf,
    Count,
    Histogram,
    Marginals,
    NumbersTask,
    Quantiles,
    QueryList,
    Ranges,
    RowsLeftOut,
    RowsPerUnit,
    Task,
    Units,
)
from adyton.tasks.request import AUTO, Request, names_of, task_from_options

_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9a-fA-F:.]{2,45}\](:[0-9]{1,5})?")
_ANYWHERE = "HOST:8472"


def lines_for(visit: Visit, table: str, request: Request) -> list[tuple[str, str]]:
    """Each way to ask the same elsewhere: its name, and the text to copy."""
    local = visit.site.settings.get("workplace") is not None
    files = _files(visit, table) if local else None
    url = _url(visit)
    lines = [("In Python", in_python(request, table, url, files))] if _has_python(request.task) else []
    command = in_shell(request, table, url, files)
    return [*lines, ("In a shell", command)] if command else lines


def _files(visit: Visit, table: str) -> dict[str, Any]:
    """The files of a table of this machine, as they are opened in its folder."""
    usual: dict[str, Any] = {"file": f"{table}.csv", "schema": f"{table}.toml", "ledger": f"{table}.ledger"}
    listed = visit.local("tables")["tables"] if visit.person.is_curator else []
    known = next((own for own in listed if own["open"] == table), usual)
    return {"data": known["file"], "schema": known["schema"], "ledger": known["ledger"]}


def _url(visit: Visit) -> str:
    """The address of the service, as the browser has it; a placeholder where that is unknown."""
    host = visit.host if _HOST.fullmatch(visit.host) else _ANYWHERE
    secure = visit.secure or not HERE.fullmatch(host)
    port = "" if ":" in host.rpartition("]")[2] else ":443" if secure else ":80"
    return f"{'https' if secure else 'http'}://{host}{port}"


# ---- Python ---------------------------------------------------------------------------------------------------------


def in_python(request: Request, table: str, url: str, files: Mapping[str, Any] | None) -> str:
    """Lines that open the table, or connect to its service, ask, and print what is returned."""
    if files is None:
        opened = f"session = ad.connect({_text(url)}, dataset={_text(table)})  # ADYTON_TOKEN has your token"
    else:
        more = [f"table={_text(files['table'])}"] if files.get("table") else []
        more += [f"{name}={_text(str(files[name]))}" for name in ("schema", "ledger")]
        more += [] if _named_so(files, table) else [f"dataset={_text(table)}"]
        opened = f"session = ad.Session({', '.join([_value(files['data']), *more])})"
    return f"import adyton as ad\n\n{opened}\n{_asked(request)}"


def _asked(request: Request) -> str:
    arguments = [f'epsilon="{typed(request.epsilon)}"']
    arguments += [f"where={_text(request.where)}"] if request.where is not None else []
    if isinstance(request.task, Classifier):
        return f"model = session.fit({_task(request.task)}, {', '.join(arguments)})\nprint(model)"
    arguments += [f"algorithm={_text(request.algorithm)}"] if request.algorithm != AUTO else []
    if request.misfits is not None:
        given = request.misfits
        arguments.append(f"misfits={given if isinstance(given, bool) else _text(str(given))}")
    arguments += [f"known={request.known.to_plain()!r}"] if request.known is not None else []
    arguments += [f"{name}={_value(value)}" for name, value in request.options.items()]
    return f"release = session.release({_task(request.task)}, {', '.join(arguments)})\nprint(release)"


def _has_python(task: Task) -> bool:
    known = (Histogram, Ranges, Cdf, Marginals, QueryList, NumbersTask, Count, Classifier)
    return isinstance(task, known) and not isinstance(task, RowsLeftOut)


def _task(task: Task) -> str:
    """The expression that makes a task."""
    given: list[str] = []
    match task:
        case RowsPerUnit():
            given = [str(task.most), *map(_text, task.attributes)]
        case Histogram() | Ranges() | Cdf():
            given = [_text(name) for name in task.attributes]
        case QueryList():
            given = [repr(list(task.queries))]
        case NumbersTask():
            given = [_text(task.attribute)]
            given += [_value([str(part) for part in task.quantiles])] if isinstance(task, Quantiles) else []
            given += [f"by={_value(list(task.by))}"] if task.by else []
            given += [] if task.rows is None else [f"rows={task.rows}"]
        case Marginals():
            given = _of_tables(task)
        case Classifier():
            given = [_text(task.label)]
            given += [] if task.attributes is None else [_value(list(task.attributes))]
            given += [] if task.method == AUTO else [f"method={_text(task.method)}"]
            given += [] if task.metric == ACCURACY else [f"metric={_text(task.metric)}"]
            given += [f"{name}={_value(value)}" for name, value in task.given]
    return f"ad.{type(task).__name__}({', '.join(given)})"


def _of_tables(task: Marginals) -> list[str]:
    given = [] if task.way is None else [f"way={task.way}"]
    given += [] if task.attrs is None else [f"attrs={_value(list(task.attrs))}"]
    given += [] if task.sets is None else [f"sets={_value([tuple(group) for group in task.sets])}"]
    if task.weights is not None:
        weights: Any = task.weights  # read when the task was made: sets of names with their weights
        given.append(f"weights={{{', '.join(f'{tuple(sorted(names))!r}: {weight!r}' for names, weight in weights)}}}")
    given += [
        f"{what}={_value(list(names))}" for what in ("ranges", "prefixes", "totals") if (names := getattr(task, what))
    ]
    return given + ([] if task.cells is None else [f"cells={task.cells}"])


def _text(text: str) -> str:
    """A text as Python reads it."""
    plain = text.isprintable() and '"' not in text and "\\" not in text
    return f'"{text}"' if plain else repr(text)


def _value(value: Any) -> str:
    """Texts and lists of texts as Python reads them; anything else by its repr."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _named_so(files: Mapping[str, Any], table: str) -> bool:
    """Whether the data set has the name that its file gives it."""
    data = files["data"]
    return isinstance(data, str) and "#" not in data and PurePath(data).name == table


# ---- the shell ------------------------------------------------------------------------------------------------------


def in_shell(request: Request, table: str, url: str, files: Mapping[str, Any] | None) -> str:
    """The command; empty where the shell cannot ask this."""
    words = _words(request)
    if words is None:
        return ""
    verb = "fit" if isinstance(request.task, Classifier) else "release"
    if files is None:
        place = [("--connect", url), ("--dataset", table)]
        data: Sequence[str] = ()
    else:
        named = [files["data"]] if isinstance(files["data"], str) else list(files["data"])
        data = [f"./{name}" if name.startswith("-") else name for name in named]
        place = [("--schema", str(files["schema"])), *([("--table", files["table"])] if files.get("table") else [])]
        words += [("--ledger", str(files["ledger"])), *([] if _named_so(files, table) else [("--dataset", table)])]
    words = [*place, *words, *([("--out", "model")] if verb == "fit" else [])]
    plain = all(word.isprintable() for option in [data, *words] for word in option)  # a terminal obeys other letters
    return _joined(["adyton", verb, *data], words) if plain else ""


def _joined(command: Sequence[str], words: Sequence[tuple[str, ...]]) -> str:
    """A command on lines that fit, quoted for the shell."""
    lines = [shlex.join(command)]
    for name, *values in words:
        option = f"{name}={values[0]}" if values and values[0].startswith("-") else None
        part = shlex.quote(option) if option else shlex.join([name, *values])
        if len(lines[-1]) + len(part) > 96:
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return " \\\n".join(lines)


def _words(request: Request) -> list[tuple[str, ...]] | None:
    """The options for the task, the budget and the rest; None where there is none for a part of it."""
    task = _options(request.task)
    if task is None or request.known is not None or isinstance(request.misfits, Fraction | str):
        return None
    words = [*task, ("--epsilon", typed(request.epsilon))]
    words += [("--where", request.where)] if request.where is not None else []
    if request.algorithm != AUTO:
        words.append(("--algorithm", request.algorithm))
    if request.misfits is not None:
        words.append(("--misfits" if request.misfits else "--no-misfits",))
    return words + [("--option", f"{name}={_json(value)}") for name, value in request.options.items()]


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _options(task: Task) -> list[tuple[str, ...]] | None:
    """The options that ask for a task; None where the command line would read another one."""
    if isinstance(task, Classifier):
        listed = [] if task.attributes is None else [("--attributes", ",".join(task.attributes))]
        if task.attributes is not None and names_of(listed[0][1]) != list(task.attributes):
            return None
        options = [("--option", f"{name}={_json(value)}") for name, value in task.given]
        return [
            ("--label", task.label),
            *listed,
            *([] if task.method == AUTO else [("--method", task.method)]),
            *options,
        ]
    plain: dict[str, Any] = {}
    match task:
        case RowsPerUnit() if task == RowsPerUnit(task.most):
            plain = {"rows_per_unit": task.most}
        case RowsLeftOut():
            plain = {"cut_off": task.most}
        case Units():
            plain = {"units": True}
        case Count():
            plain = {"count": True}
        case Histogram() | Ranges() | Cdf():
            plain = {task.kind: ",".join(task.attributes)}
        case NumbersTask():
            plain = {task.kind: task.attribute, "by": ",".join(task.by) or None, "group_rows": task.rows}
            plain |= {"at": ", ".join(map(str, task.quantiles))} if isinstance(task, Quantiles) else {}
        case Marginals(weights=None):
            plain = {
                "marginals": task.way,
                "attributes": None if task.attrs is None else ",".join(task.attrs),
                "marginal": [",".join(group) for group in task.sets or ()],
                "cells": task.cells,
            }
            along = {"ranges": "with_ranges", "prefixes": "with_prefixes", "totals": "with_any"}
            plain |= {key: ",".join(getattr(task, what)) or None for what, key in along.items()}
    given = {key: value for key, value in plain.items() if value not in (None, [])}
    try:
        if not given or task_from_options(given) != task:
            return None
    except AdytonError:
        return None
    words: list[tuple[str, ...]] = []
    for key, value in given.items():
        name = f"--{key.replace('_', '-')}"
        values = value if isinstance(value, list) else [value]
        words += [(name,) if own is True else (name, str(own)) for own in values]
    return words
