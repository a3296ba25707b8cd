"""Releases in folders: written whole or not at all, and read back with the eyes of a stranger."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.errors import BadInput
from adyton.exact import as_number, positive
from adyton.messages import shorten
from adyton.plans.registry import plan_named
from adyton.schema import Schema
from adyton.tasks import task_from_dict

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.release.release import Release

JSON, CSV, REPORT = "release.json", "estimate.csv", "report.html"
_FORMAT, _VERSION = "adyton release", 1


@contextmanager
def staged(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A hidden folder to write into, which becomes *folder* in one step when the block ends well, and vanishes if not.

    What cannot be written later is refused now.
    """
    goal = Path(folder)
    if goal.exists() and not goal.is_dir():
        raise BadInput(f"{goal} is a file. Name a folder to write to.")
    try:
        if goal.is_dir() and any(goal.iterdir()):
            raise BadInput(f"{goal} holds files already. Name a new folder, or empty it first.")
        goal.absolute().parent.mkdir(parents=True, exist_ok=True)
        draft = goal.absolute().parent / f".{goal.name}.{secrets.token_hex(4)}.partial"
        draft.mkdir()
    except OSError as error:
        raise BadInput(
            f"{goal} cannot be written to ({error.strerror}). Name a folder that you may write to."
        ) from None
    try:
        yield draft
        if goal.is_dir():
            goal.rmdir()
        draft.rename(goal)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write(release: Release, folder: Path, table: pa.Table, report: str) -> None:
    """The three files of a release."""
    from pyarrow import csv

    text = json.dumps(to_dict(release), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / JSON).write_text(text + "\n", encoding="utf-8")
    csv.write_csv(table, folder / CSV)
    (folder / REPORT).write_text(report, encoding="utf-8")


def to_dict(release: Release) -> dict[str, Any]:
    """Everything that is needed to answer new queries later, without the data, and to know what was done."""
    error = release.expected_error
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "task": release.task.to_dict(),
        "where": release.where,
        "schema": release.schema.to_dict(),
        "axes": {name: list(labels) for name, labels in release.axes.items()},
        "algorithm": release.algorithm,
        "options": {
            name: str(value) if isinstance(value, Fraction) else value for name, value in release.options.items()
        },
        "epsilon": as_number(release.epsilon),
        "expected_error": {
            "per_query": error.per_query,
            "total": error.total,
            "queries": error.queries,
            "kind": error.kind,
        },
        "choice": None if release.choice is None else dict(release.choice),
        "record": dict(release.record),
        "estimate": release.estimate.tolist(),
    }


def is_release(path: Path) -> bool:
    """Whether a folder or a file says that it is a release."""
    file = path / JSON if path.is_dir() else path
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return path.is_dir()
    return isinstance(plain, dict) and plain.get("format") == _FORMAT


def read(path: str | os.PathLike[str]) -> Release:
    """The release in a folder or in a JSON file."""
    place = Path(path)
    file = place / JSON if place.is_dir() else place
    problem = "cannot be read"
    try:
        return from_dict(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        problem = "does not exist"
    except (OSError, UnicodeDecodeError):
        pass
    except BadInput as error:
        problem = f"is not a release that can be used: {error}"
    except (ValueError, RecursionError):
        problem = "is not JSON"
    raise BadInput(f"{file} {problem.rstrip('.')}. Give the folder of a saved release, or its {JSON}.")


def from_dict(plain: object) -> Release:
    """The release that :func:`to_dict` describes; everything is checked."""
    from adyton.release.release import Release

    if not isinstance(plain, Mapping) or plain.get("format") != _FORMAT:
        raise BadInput("it does not say that it is one.")
    if plain.get("version") != _VERSION:
        raise BadInput(f"its version is {shorten(plain.get('version'))}, this Adyton reads version {_VERSION}.")
    try:
        schema = Schema.from_dict(plain["schema"])
        task = task_from_dict(plain["task"])
        estimate = np.array(plain["estimate"], dtype=np.float64)
        options, record, choice, where = (plain[key] for key in ("options", "record", "choice", "where"))
        epsilon = positive(plain["epsilon"]["exact"], "epsilon")
        plan_named(plain["algorithm"], **options)
        choice = None if choice is None else _choice(choice)
        _ = int(record["rows_per_unit"]), Fraction(record["remaining"]["exact"]), Fraction(record["total"]["exact"])
    except BadInput:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(
            f"a part of it is missing or malformed ({type(error).__name__}: {shorten(str(error))})."
        ) from None
    if not (where is None or isinstance(where, str)):
        raise BadInput(f"where must be a text, given {shorten(where)}.")
    if estimate.shape != schema.shape or not np.isfinite(estimate).all():
        raise BadInput(f"the estimate must be numbers in the shape {schema.shape}, given {estimate.shape}.")
    if task.select(schema) != schema:
        raise BadInput("the task is about other attributes than the schema.")
    return Release(
        schema=schema,
        task=task,
        where=where,
        algorithm=str(plain["algorithm"]),
        options=options,
        epsilon=epsilon,
        estimate=estimate,
        choice=choice,
        record=record,
    )


def _choice(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a choice, each of its own type."""
    return {
        "algorithm": str(plain["algorithm"]),
        "left": as_number(positive(plain["left"]["exact"], "what was left")),
        "bought": [
            {
                "name": str(one["name"]),
                "words": str(one["words"]),
                "value": float(one["value"]),
                "deviation": float(one["deviation"]),
                "epsilon": as_number(positive(one["epsilon"]["exact"], "the price of a feature")),
            }
            for one in plain["bought"]
        ],
        "regrets": _figures(plain["regrets"]),
        "errors": _figures(plain["errors"]),
        "notes": [str(note) for note in plain["notes"]],
    }


def _figures(plain: Mapping[str, Any]) -> dict[str, float | None]:
    return {str(name): None if figure is None else float(figure) for name, figure in plain.items()}
