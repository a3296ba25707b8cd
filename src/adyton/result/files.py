"""The files of a release, and releases from files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.choice.checked_file import FileKind, digest_of
from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.result.folder_kind import FolderKind
from adyton.result.plain_values import as_plain
from adyton.result.reading import FORMAT, VERSION, from_dict

if TYPE_CHECKING:
    from adyton.plans.expected_error import ExpectedError
    from adyton.result.release import Release

JSON = "release.json"
LONG = ("axes", "estimate")
"""The labels and the counts of all cells: there may be millions."""
_ROOM = 1 << 20


@dataclass(frozen=True)
class _ReleaseFile(FileKind):
    """Releases are written with a digest; there are older ones without."""

    def digest(self, body: dict[str, Any]) -> str:
        """A checksum of the whole."""
        return digest_with(body, {name: written(body[name]) for name in LONG if name in body})


KIND = FolderKind(
    JSON,
    _ReleaseFile(
        FORMAT,
        VERSION,
        "a release",
        f"Give the folder of a saved release, or its {JSON}.",
        "Take the file as it was written.",
        ("schema", "task", "record", "misfits", "parts", *LONG),
        unsigned=True,
    ),
)


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


def digest_with(body: dict[str, Any], texts: Mapping[str, str]) -> str:
    """A checksum of the whole, in which what is long stands as the checksum of its text."""
    return digest_of({**body, **{name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}})


def written(part: Any) -> str:
    """A part of a release as it is written."""
    return json.dumps(part, ensure_ascii=False, allow_nan=False)


def is_release(path: Path) -> bool:
    """Whether a folder or a file says that it is a release."""
    return path.is_dir() or says_so(path)


says_so = KIND.says_so


def read(path: str | os.PathLike[str]) -> Release:
    """The release in a folder or in a JSON file."""
    return KIND.read(path, _without_padding)


def _without_padding(plain: dict[str, Any]) -> Release:
    """The release, unless most of the file is something else."""
    release = from_dict(plain)
    misfits = None if release.misfits is None else release.misfits.to_plain()
    own = {"schema": release.schema.to_dict(), "task": release.task.to_dict(), "record": release.receipt.to_plain()}
    for part, value in {**own, "misfits": misfits, "axes": release.axes}.items():
        if len(written(plain.get(part))) > 8 * len(written(as_plain(value))) + _ROOM:
            raise BadInput(f"its part {part!r} is longer than what it can hold.")
    return release
