"""Releases of numbers in files: JSON with a digest. A file is checked as a stranger's would be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from adyton.choice.checked_file import digest_of
from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.result.folder_kind import FolderKind
from adyton.result.plain_values import as_amount, as_plain, as_text, of_kind, part_of
from adyton.result.reading import read_misfits
from adyton.result.receipt_reading import read_receipt
from adyton.schema import Schema
from adyton.statistics.asked import Asked
from adyton.statistics.parts import Part
from adyton.statistics.programs import PROGRAMS
from adyton.tasks import NumbersTask, task_from_dict

if TYPE_CHECKING:
    from adyton.statistics.numbers_release import NumbersRelease

KIND = FolderKind.of("numbers.json", "adyton numbers", "a release of numbers", "measured")


def to_dict(release: NumbersRelease) -> dict[str, Any]:
    """All that was measured, with a digest: everything else follows from it."""
    body = {
        **KIND.file.head,
        "counted": release.counted.sentence or None,
        "task": release.task.to_dict(),
        "where": release.where,
        "schema": as_plain(release.schema.to_dict()),
        "algorithm": release.algorithm,
        "epsilon": as_number(release.epsilon),
        "why": release.why,
        "unfinished": release.unfinished,
        "record": release.receipt.to_plain(),
        "misfits": None if release.misfits is None else as_plain(release.misfits.to_plain()),
        "measured": [part.to_plain() for part in release.parts],
    }
    return {"digest": digest_of(body), **body}


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The parts of the release in a folder or a file, by name."""
    return KIND.read(path, _parts)


def _parts(plain: dict[str, Any]) -> dict[str, Any]:
    schema, task = Schema.from_dict(part_of(plain, "schema")), task_from_dict(part_of(plain, "task"))
    if not isinstance(task, NumbersTask) or task.select(schema) != schema:
        raise BadInput("the task is about other attributes than the schema")
    asked = Asked(task, schema)
    receipt = read_receipt(part_of(plain, "record"), schema.rows_per_unit, enforced=schema.unit is not None)
    epsilon = as_amount(part_of(plain, "epsilon"), "epsilon", most=receipt.total)
    where, algorithm = part_of(plain, "where"), as_text(part_of(plain, "algorithm"), "algorithm")
    if algorithm not in PROGRAMS:
        raise BadInput("it names an algorithm for numbers that does not exist")
    measured = of_kind(list, part_of(plain, "measured"), "measured")
    return {
        "schema": schema,
        "task": task,
        "where": None if where is None else as_text(where, "where"),
        "algorithm": algorithm,
        "epsilon": epsilon,
        "parts": tuple(Part.from_plain(one, asked, epsilon) for one in measured),
        "why": as_text(part_of(plain, "why"), "why"),
        "unfinished": None if plain.get("unfinished") is None else as_text(plain["unfinished"], "unfinished"),
        "receipt": receipt,
        "misfits": read_misfits(plain.get("misfits"), epsilon),
    }
