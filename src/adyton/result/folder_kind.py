"""A kind of folders: one JSON file in each holds all that was paid for, and everything else follows from it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adyton.choice.checked_file import Content, FileKind, named_format
from adyton.errors import BadInput
from adyton.messages import path_of


@dataclass(frozen=True)
class FolderKind:
    """Folders with one JSON file of a kind, such as those of “a release of numbers”."""

    json: str
    """The name of the file."""
    file: FileKind

    @classmethod
    def of(cls, json: str, mark: str, holds: str, *long: str) -> FolderKind:
        """The first version of what a folder holds; *long* are its own parts that may be long."""
        writer = f"Give the folder of {holds.replace('a ', 'a saved ', 1)}, or its {json}."
        parts = ("schema", "task", "record", "misfits", *long)
        return cls(json, FileKind(mark, 1, holds, writer, "Take the file as it was written.", parts))

    def says_so(self, path: Path) -> bool:
        """Whether a folder, or a file, holds such a thing by its own words."""
        return named_format(self._inside(path)) == self.file.format

    def read(self, path: str | os.PathLike[str], parts: Callable[[dict[str, Any]], Content]) -> Content:
        """What *parts* makes of the JSON file of a folder, or of the file itself; what is wrong is one sentence."""
        given = path_of(path)
        file = self._inside(given)
        if not file.exists() and (other := self.file.other(given)):
            raise BadInput(f"{path} is not {self.file.holds}. {other}")

        def usable(plain: dict[str, Any]) -> Content:
            try:
                return parts(plain)
            except BadInput as problem:
                why = str(problem).rstrip(".")
                raise BadInput(f"{file} is not {self.file.holds} that can be used: {why}. {self.file.writer}") from None

        return self.file.read(file, usable)

    def _inside(self, path: Path) -> Path:
        return path / self.json if path.is_dir() else path
