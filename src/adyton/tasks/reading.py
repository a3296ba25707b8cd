"""Tasks by their kinds: from plain values in a file, or from an argument that should be a task."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from adyton.errors import BadInput
from adyton.messages import no_such, shorten
from adyton.tasks.base import Option, Task

_PLACES = {
    "histogram": "tasks.named:Histogram",
    "ranges": "tasks.named:Ranges",
    "cdf": "tasks.named:Cdf",
    "marginals": "tasks.marginals:Marginals",
    "queries": "tasks.query_list:QueryList",
    "sum": "tasks.numbers:Sum",
    "mean": "tasks.numbers:Mean",
    "quantiles": "tasks.numbers:Quantiles",
    "variance": "tasks.numbers:Variance",
    "summary": "tasks.numbers:Summary",
    "rows per unit": "tasks.units:RowsPerUnit",
    "count": "tasks.units:Count",
    "units": "tasks.units:Units",
    "rows left out": "tasks.units:RowsLeftOut",
    "classifier": "learning.classifier:Classifier",
    "tuning": "configuration.asked:Tuning",
}
"""Where each kind of task stands."""
_REGISTERED: dict[str, type[Task]] = {}


def register(task: type[Task]) -> type[Task]:
    """Enter a kind of task; from then on it is read, released, saved and asked for like any other."""
    if task.kind in _PLACES or (task.kind in _REGISTERED and _REGISTERED[task.kind].__qualname__ != task.__qualname__):
        raise BadInput(f"there is a task of the kind {task.kind!r} already. Choose another name.")
    _REGISTERED[task.kind] = task
    return task


def task_kinds() -> list[str]:
    """The kinds of all tasks."""
    return [*_PLACES, *_REGISTERED]


def task_type(kind: object) -> type[Task]:
    """The tasks of a kind."""
    if not isinstance(kind, str) or kind not in {*_PLACES, *_REGISTERED}:
        raise BadInput(no_such("task", kind, task_kinds()))
    if kind in _REGISTERED:
        return _REGISTERED[kind]
    module, name = _PLACES[kind].split(":")
    found: type[Task] = getattr(import_module(f"adyton.{module}"), name)
    return found


def task_from_dict(plain: object) -> Task:
    """The task that :meth:`Task.to_dict` describes."""
    if not isinstance(plain, Mapping):
        raise BadInput(f"a task must be a mapping, given {shorten(plain)}.")
    return task_type(plain.get("task")).from_dict(plain)


def as_task(given: object) -> Task:
    """The task, or an error that says what one is."""
    if isinstance(given, Task):
        return given
    raise BadInput(
        f'a task is ad.Histogram("age"), ad.Ranges("age"), ad.Cdf("age"), ad.Marginals(way=2), ad.QueryList([…]), '
        f"ad.Count(), ad.Units(), ad.RowsPerUnit(), or "
        f'ad.Sum, ad.Mean, ad.Quantiles, ad.Variance or ad.Summary("age", by="sex"), given {shorten(given)}.'
    )


# ---- from a command line --------------------------------------------------------------------------------------------


def asking() -> list[tuple[Option, list[type[Task]]]]:
    """The options of the command line, each with the tasks that it is for; those of several stand behind the last.

    Tasks from other rooms have commands of their own.
    """
    found: dict[Option, list[type[Task]]] = {}
    for task in (task_type(kind) for kind in task_kinds() if _PLACES.get(kind, "tasks").startswith("tasks")):
        for option in vars(task).get("asked_by", ()):
            found[option] = [*found.pop(option, []), task]
    names = [option.name for option in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise BadInput(f"two kinds of task are asked for by --{twice.pop()}. Give one of them another option.")
    return list(found.items())


def asked_task(given: Mapping[str, Any]) -> Task | None:
    """The one task that was asked for by options, given by their keys; None for none."""
    known = [
        (option, tasks, given[option.key])
        for option, tasks in asking()
        if given.get(option.key) is not None and given[option.key] is not False and given[option.key] != []
    ]
    named = [(option, task) for option, (task, *_), _ in known if option.asks]
    if len(named) > 1:
        raise BadInput(f"ask for one thing at a time: {', or '.join(str(option) for option, _ in named)}.")
    asked = named[0][1] if named else None
    for option, tasks, _ in known:
        if asked not in tasks:
            those = [str(one) for one, of in asking() if one.asks and set(of) & set(tasks)]
            raise BadInput(f"{option} belongs to {' or '.join(those)}. Leave it out, or ask for that.")
    return None if asked is None else asked.from_options({option.key: value for option, _, value in known})


def ways_to_ask() -> str:
    """The options that ask for something, for messages."""
    *most, last = (str(option) for option, _ in asking() if option.asks)
    return f"{', '.join(most)} or {last}"
