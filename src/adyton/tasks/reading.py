"""Tasks by their kinds: from plain values in a file, or from an argument that should be a task."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from adyton.errors import BadInput
from adyton.messages import no_such, shorten
from adyton.tasks.base import Task

_PLACES = {
    "histogram": "tasks.named:Histogram",
    "ranges": "tasks.named:Ranges",
    "cdf": "tasks.named:Cdf",
    "rows per unit": "tasks.units:RowsPerUnit",
    "count": "tasks.units:Count",
    "units": "tasks.units:Units",
    "rows left out": "tasks.units:RowsLeftOut",
    "marginals": "tasks.marginals:Marginals",
    "queries": "tasks.query_list:QueryList",
    "sum": "tasks.numbers:Sum",
    "mean": "tasks.numbers:Mean",
    "variance": "tasks.numbers:Variance",
    "quantiles": "tasks.numbers:Quantiles",
    "summary": "tasks.numbers:Summary",
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
