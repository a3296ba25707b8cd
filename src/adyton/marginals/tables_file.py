"""Releases of many tables in files: JSON with a digest. A file is checked as a stranger's would be."""

from __future__ import annotations

import math
import os
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Integers
from adyton.choice.checked_file import digest_of
from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.marginals.pair_model import PairModel
from adyton.marginals.registry import program_named
from adyton.marginals.wanted import Wanted
from adyton.messages import shorten
from adyton.result.folder_kind import FolderKind
from adyton.result.plain_values import as_amount, as_plain, as_real, as_text, of_kind, part_of
from adyton.result.reading import read_misfits
from adyton.result.receipt_reading import read_bought, read_receipt
from adyton.schema import Schema
from adyton.solving.residuals import MeasuredTable, in_order
from adyton.tasks import Marginals, task_from_dict
from adyton.whole import SAFE

if TYPE_CHECKING:
    from adyton.marginals.tables_release import TablesRelease

KIND = FolderKind.of("tables.json", "adyton tables", "a release of tables", "measured", "model")

_MOST_CELLS = 1 << 25
"""As many as the kernel counts at once."""
_MOST_ATTRIBUTES = 5
"""In one measured table."""


def to_dict(release: TablesRelease, model: PairModel | None) -> dict[str, Any]:
    """All that was measured, and the model of it if there is one yet; with a digest."""
    body = {
        **KIND.file.head,
        "counted": release.counted.sentence or None,
        "task": release.task.to_dict(),
        "where": release.where,
        "schema": as_plain(release.schema.to_dict()),
        "algorithm": release.algorithm,
        "options": as_plain(release.options),
        "epsilon": as_number(release.epsilon),
        "why": release.why,
        "unfinished": release.unfinished,
        "bought": [one.to_plain() for one in release.bought],
        "record": release.receipt.to_plain(),
        "misfits": None if release.misfits is None else as_plain(release.misfits.to_plain()),
        "measured": [
            {"group": list(one.group), "variance": one.variance, "counts": np.asarray(one.counts).ravel().tolist()}
            for one in release.measured
        ],
        "model": None if model is None else model.to_dict(),
    }
    return {"digest": digest_of(body), **body}


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The parts of the release in a folder or a file, by name."""
    return KIND.read(path, _parts)


def _parts(plain: dict[str, Any]) -> dict[str, Any]:
    schema, task = Schema.from_dict(part_of(plain, "schema")), task_from_dict(part_of(plain, "task"))
    if not isinstance(task, Marginals) or task.select(schema) != schema:
        raise BadInput("the task is about other attributes than the schema")
    wanted = Wanted.by(task, schema)
    wanted.check()
    receipt = read_receipt(part_of(plain, "record"), schema.rows_per_unit, enforced=schema.unit is not None)
    epsilon = as_amount(part_of(plain, "epsilon"), "epsilon", most=receipt.total)
    where, algorithm = part_of(plain, "where"), as_text(part_of(plain, "algorithm"), "algorithm")
    options = {
        as_text(name, "an option"): value for name, value in of_kind(dict, plain.get("options"), "options").items()
    }
    program_named(algorithm, **options)
    return {
        "schema": schema,
        "task": task,
        "where": None if where is None else as_text(where, "where"),
        "algorithm": algorithm,
        "options": options,
        "epsilon": epsilon,
        "measured": _measured(part_of(plain, "measured"), wanted),
        "why": as_text(part_of(plain, "why"), "why"),
        "unfinished": None if plain.get("unfinished") is None else as_text(plain["unfinished"], "unfinished"),
        "bought": tuple(read_bought(one, epsilon) for one in of_kind(list, part_of(plain, "bought"), "bought")),
        "receipt": receipt,
        "misfits": read_misfits(plain.get("misfits"), epsilon),
        "kept": _model(part_of(plain, "model"), wanted),
    }


def _measured(plain: object, wanted: Wanted) -> tuple[MeasuredTable, ...]:
    """Noisy tables of few attributes, which tell of every attribute."""
    found, cells, allowed = [], 0, set(wanted.counted)
    for one in of_kind(list, plain, "measured"):
        group = tuple(as_text(name, "an attribute") for name in of_kind(list, part_of(one, "group"), "a group"))
        few = 0 < len(group) <= _MOST_ATTRIBUTES and all(name in wanted.sides for name in group)
        if group not in allowed and not (few and in_order(group, wanted.sides) == group):
            raise BadInput(f"{shorten(group)} is no table that is measured for this task")
        cells += math.prod(wanted.sides[name] for name in group)
        if cells > _MOST_CELLS:
            raise BadInput(f"the measured tables have more than {_MOST_CELLS:,} cells")
        variance = as_real(part_of(one, "variance"), "a variance")
        if not variance > 0:
            raise BadInput(f"a variance must be above 0, given {variance}")
        shape = tuple(wanted.sides[name] for name in group)
        found.append(MeasuredTable(group, _counts(part_of(one, "counts"), shape), variance))
    lacking = set(wanted.sides) - set(chain.from_iterable(one.group for one in found))
    if lacking:
        raise BadInput(f"nothing was measured of {shorten(min(lacking))}")
    return tuple(found)


def _counts(plain: object, shape: tuple[int, ...]) -> Integers:
    cells = of_kind(list, plain, "counts")
    if len(cells) != int(np.prod(shape)) or not all(type(cell) is int and -SAFE <= cell <= SAFE for cell in cells):
        raise BadInput(f"counts must be whole numbers in the shape {shape}, none of them beyond ±2^62")
    return np.array(cells, dtype=np.int64).reshape(shape)


def _model(plain: object, wanted: Wanted) -> PairModel | None:
    """The model as it was saved: of these attributes, with the pairs in their order."""
    if plain is None:
        return None
    model = PairModel.from_dict(of_kind(dict, plain, "model"))
    sides = wanted.sides
    if model.sides != sides or list(model.sides) != list(sides):
        raise BadInput("the model is about other attributes than the schema")
    for group in (*model.pairs, *model.fitted, *model.errors):
        if tuple(in_order(group, sides)) != tuple(group):
            raise BadInput("the tables of the model are not in the order of the schema")
    if not all(0 <= error <= float(SAFE) for error in model.errors.values()):
        raise BadInput("the errors of the model must be numbers of at least 0")
    return model
