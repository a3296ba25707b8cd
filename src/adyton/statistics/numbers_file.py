"""Releases of numbers in files: JSON with a digest. A file is checked as a stranger's would be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.choice.checked_file import FileKind, digest_of
from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.release.files import named_format
from adyton.release.plain_values import as_amount, as_plain, as_text, of_kind, part_of
from adyton.release.reading import read_misfits
from adyton.release.receipt_reading import read_receipt
from adyton.schema import Schema
from adyton.statistics.asked import Asked
from adyton.statistics.parts import Part
from adyton.statistics.programs import PROGRAMS
from adyton.tasks import NumbersTask, task_from_dict

if TYPE_CHECKING:
    from adyton.statistics.numbers_release import NumbersRelease

JSON = "numbers.json"
KIND = FileKind(
    "adyton numbers",
    1,
    "a release of numbers",
    f"Give the folder of a saved release of numbers, or its {JSON}.",
    "Take the file as it was written.",
)


def to_dict(release: NumbersRelease) -> dict[str, Any]:
    """All that was measured, with a digest: everything else follows from it."""
    body = {
        **KIND.head,
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


def says_so(path: Path) -> bool:
    """Whether a folder, or a file, holds a release of numbers by its own words."""
    return named_format(path / JSON if path.is_dir() else path) == KIND.format


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The parts of the release in a folder or a file, by name."""
    place = Path(path)
    file = place / JSON if place.is_dir() else place
    return KIND.read(file, lambda plain: _usable(plain, file))


def _usable(plain: dict[str, Any], file: Path) -> dict[str, Any]:
    try:
        return _parts(plain)
    except BadInput as problem:
        why = str(problem).rstrip(".")
        raise BadInput(f"{file} is not a release of numbers that can be used: {why}. {KIND.writer}") from None


def _parts(plain: dict[str, Any]) -> dict[str, Any]:
    schema, task = Schema.from_dict(part_of(plain, "schema")), task_from_dict(part_of(plain, "task"))
    if not isinstance(task, NumbersTask) or task.select(schema) != schema:
        raise BadInput("the task is about other attributes than the schema")
    asked = Asked(task, schema)
    receipt = read_receipt(part_of(plain, "record"), schema.rows_per_unit)
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
