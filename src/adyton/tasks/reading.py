"""Tasks from what somebody gave: plain values from a file, or an argument that should be a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adyton.errors import BadInput
from adyton.messages import no_such, shorten
from adyton.tasks.base import Task
from adyton.tasks.marginals import Marginals
from adyton.tasks.named import Cdf, Histogram, Ranges
from adyton.tasks.numbers import KINDS, numbers_from_dict
from adyton.tasks.query_list import QueryList
from adyton.tasks.units import RowsPerUnit


def task_from_dict(plain: object) -> Task:
    """The task that :meth:`Task.to_dict` describes."""
    if not isinstance(plain, Mapping):
        raise BadInput(f"a task must be a mapping, given {shorten(plain)}.")
    kind, names = plain.get("task"), plain.get("attributes")
    named = {one.kind: one for one in (Histogram, Ranges, Cdf)}
    if kind in named:
        if not isinstance(names, list) or not names:
            raise BadInput(f"the task {kind!r} needs a list of attributes, given {shorten(names)}.")
        return named[kind](*names)
    if kind == RowsPerUnit.kind:
        if not isinstance(names, list) or len(names) != 1:
            raise BadInput(f"the task {kind!r} needs one name, given {shorten(names)}.")
        most: Any = plain.get("most")
        return RowsPerUnit(most, *names)
    if kind == Marginals.kind:
        return Marginals.from_dict(plain)
    if kind == QueryList.kind:
        return QueryList(plain.get("queries", ()))
    numbers = [one.kind for one in KINDS]
    if kind in numbers:
        return numbers_from_dict(plain)
    raise BadInput(no_such("task", kind, [*named, RowsPerUnit.kind, Marginals.kind, QueryList.kind, *numbers]))


def as_task(given: object) -> Task:
    """The task, or an error that says what one is."""
    if isinstance(given, Task):
        return given
    raise BadInput(
        f'a task is ad.Histogram("age"), ad.Ranges("age"), ad.Cdf("age"), ad.Marginals(way=2), ad.QueryList([…]), '
        f"ad.RowsPerUnit(), or "
        f'ad.Sum, ad.Mean, ad.Quantiles, ad.Variance or ad.Summary("age", by="sex"), given {shorten(given)}.'
    )
