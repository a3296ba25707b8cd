"""The files of a release, and releases from files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.messages import path_of
from adyton.release.plain_values import as_plain
from adyton.release.reading import FORMAT, VERSION, from_dict

if TYPE_CHECKING:
    from adyton.plans.expected_error import ExpectedError
    from adyton.release.release import Release

JSON, MANY = "release.json", "tables.json"
"""What a release is in; and one of many tables, which is of another kind."""


def to_dict(release: Release, error: ExpectedError | None) -> dict[str, Any]:
    """Everything that is needed to answer new queries later, without the data, and to know what was done.

    The expected error is None as long as nobody has computed it.
    """
    described = {
        "format": FORMAT,
        "version": VERSION,
        "counted": release.counted.sentence or None,
        "task": release.task.to_dict(),
        "where": release.where,
        "schema": release.schema.to_dict(),
        "axes": release.axes,
        "algorithm": release.algorithm,
        "options": release.options,
        "epsilon": as_number(release.epsilon),
        "expected_error": None
        if error is None
        else {
            "per_query": error.per_query,
            "total": error.total,
            "queries": error.queries,
            "kind": error.kind,
            "runs": error.runs,
        },
        "choice": None if release.choice is None else release.choice.to_plain(),
        "record": release.receipt.to_plain(),
        "misfits": None if release.misfits is None else release.misfits.to_plain(),
    }
    if release.parts:
        described |= {"weights": list(release.weights), "parts": [to_dict(part, None) for part in release.parts]}
    return {**as_plain(described), "estimate": release.estimate.tolist()}


def says_so(path: Path) -> bool:
    """Whether a folder, or a file, holds a release by its own words."""
    return named_format(path / JSON if path.is_dir() else path) == FORMAT


def named_format(file: Path) -> object:
    """What a JSON file says that it is; None for any other file."""
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return plain.get("format") if isinstance(plain, dict) else None


def read(path: str | os.PathLike[str]) -> Release:
    """The release in a folder or in a JSON file."""
    place = path_of(path)
    file = place / JSON if place.is_dir() else place
    if place.is_dir() and not file.exists() and (place / MANY).exists():
        raise BadInput(f"{place} holds a release of many tables. Read it with ad.TablesRelease.load.")
    problem = "cannot be read"
    try:
        return from_dict(json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse))
    except FileNotFoundError:
        problem = "does not exist"
    except (OSError, UnicodeDecodeError):
        pass
    except BadInput as error:
        problem = f"is not a release that can be used: {error}"
    except (ValueError, RecursionError):
        problem = "is not JSON"
    raise BadInput(f"{file} {problem.rstrip('.')}. Give the folder of a saved release, or its {JSON}.")


def _refuse(constant: str) -> NoReturn:
    raise BadInput(f"it holds {constant}, which is no number.")
