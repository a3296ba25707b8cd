"""Folders that are made ready before anything is paid, and that appear with what was paid for."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from adyton import drafts
from adyton.choice.checked_file import digest_of, named_format
from adyton.errors import AdytonError, BadInput
from adyton.interrupts import deferred
from adyton.messages import path_of
from adyton.schema.plain_values import part_of

LONG = ("axes", "estimate")


class Earlier(NamedTuple):
    """A format of before: the name of its file, and the kind of result that it holds."""

    file: str
    kind: str


EARLIER = {
    "adyton release": Earlier("release.json", "counts"),
    "adyton tables": Earlier("tables.json", "tables"),
    "adyton numbers": Earlier("numbers.json", "numbers"),
    "adyton classifier": Earlier("classifier.json", "classifier"),
    "adyton configuration": Earlier("configuration.json", "tuning"),
}
"""All of them have version 1."""


def is_earlier(plain: Mapping[str, Any]) -> bool:
    """Whether a file has one of these formats."""
    return plain.get("format") in EARLIER and plain.get("version") == 1


def whole(plain: dict[str, Any]) -> bool:
    """Whether its digest fits; the oldest releases have none."""
    body = dict(plain)
    digest = body.pop("digest", None)
    if body["format"] != "adyton release":
        return bool(digest == digest_of(body))
    texts = {name: json.dumps(body[name], ensure_ascii=False, allow_nan=False) for name in LONG if name in body}
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    return digest is None or digest == digest_of({**body, **sums})


def brought_up_to_date(plain: dict[str, Any]) -> dict[str, Any]:
    """The same result in the words of today's files."""
    kind = EARLIER[plain["format"]].kind
    now = {"options": {}, "unfinished": None, "misfits": None, **plain, "kind": kind}
    if kind == "counts" and "parts" in plain:
        parts = plain["parts"]
        if not isinstance(parts, list) or not all(isinstance(one, dict) and is_earlier(one) for one in parts):
            raise BadInput("its parts must be releases.")
        now["parts"] = [brought_up_to_date(one) for one in parts]
    if kind == "classifier":
        model = part_of(plain, "model")
        now["task"] = {"task": "classifier", **dict(part_of(plain, "classifier"))}
        now |= {"algorithm": part_of(plain, "learner"), "schema": part_of(model, "schema")}
    if kind == "tuning":
        default, points = plain.get("default"), plain.get("points")
        asked = {name: part_of(plain, name) for name in ("family", "intervals", "neighbours", "utility")}
        now["task"] = {"task": "tuning", **asked, "default": default, "points": points}
        now |= {"algorithm": asked["family"], "where": None, "schema": None}
    return now


ENDING = ".json"
JSON, REPORT, FORMAT = "release.json", "report.html", "adyton release"
FILES = (JSON, *(one.file for one in EARLIER.values()), REPORT, "*.csv", "tables", "tables/*.csv")
"""What a saved result can consist of: what may be overwritten by another one."""


@dataclass
class Place:
    """Where to write: a hidden folder at first, and after :meth:`settle` the folder that was named."""

    given: Path
    goal: Path
    folder: Path
    """Where the files are now."""
    overwrite: bool = False
    """Whether a result that is there may be replaced."""
    settled: bool = False
    """Whether what was paid for is to stay."""

    @property
    def single(self) -> bool:
        """Whether it is one JSON file, and no folder."""
        return self.goal.suffix == ENDING

    @property
    def json(self) -> Path:
        """Where the JSON file is now."""
        return self.goal if self.single and self.folder == self.goal.parent else self.folder / JSON

    @property
    def there(self) -> Path:
        """Where what was settled is: where it was to be or, if that failed, in the hidden folder."""
        return self.given if self.folder in (self.goal, self.goal.parent) else self.folder

    def settle(self) -> None:
        """Put the hidden folder in place, in one step: what is in it now is there for good.

        If that fails, the hidden folder stays: it holds what was paid for.
        """
        with deferred():
            _write_through(self.folder)
            self.settled = True
            old: Path | None = None
            try:
                if self.single:
                    next(self.folder.glob(f"*{ENDING}")).replace(self.goal)
                    shutil.rmtree(self.folder, ignore_errors=True)
                    self.folder = self.goal.parent
                    return
                if self.overwrite and self.goal.is_dir() and any(self.goal.iterdir()) and _lost(self.goal) is None:
                    old = self.goal.rename(drafts.hidden(self.goal))
                self.folder = self.folder.rename(self.goal)  # takes the place of an empty folder too
            except OSError as error:
                if old is not None:
                    with suppress(OSError):
                        old.rename(self.goal)
                raise AdytonError(
                    f"{self.given} could not be put in place ({error.strerror}). All of it is in {self.folder}."
                ) from None
            if old is not None:
                shutil.rmtree(old, ignore_errors=True)


def file_in(path: Path) -> Path:
    """The JSON file of a folder, or the file itself."""
    if not path.is_dir():
        return path
    names = (JSON, *(one.file for one in EARLIER.values()))
    return next((path / name for name in names if (path / name).exists()), path / JSON)


def says_so(path: Path) -> bool:
    """Whether a folder, or a file, holds a result by its own words."""
    return named_format(file_in(path)) in {FORMAT, *EARLIER}


@contextmanager
def staged(folder: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Place]:
    """A place to write to, which vanishes at the end of the block if it was not settled in it: a folder, or one file
    where the name ends in ``.json``.

    What cannot be written later is refused now: a folder with files in it too, unless it may be overwritten and holds
    a result and nothing else.
    """
    given = path_of(folder)
    with ExitStack() as lock:
        try:
            goal = given.resolve()
            _check(given, goal, overwrite)
            made = [parent for parent in goal.parents if not parent.exists()]
            goal.parent.mkdir(parents=True, exist_ok=True)
            left = drafts.clear(goal, keep=_paid_for)
            draft = lock.enter_context(drafts.held(Path.mkdir, lambda: drafts.hidden(goal)))
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise BadInput(f"{given} cannot be written to ({reason}). Name a folder that you may write to.") from None
        for one in left:
            warnings.warn(
                f"{one} holds what a process had paid for when it was killed. Rename it to keep it, or remove it.",
                stacklevel=4,
            )
        place = Place(given, goal, draft, overwrite)
        try:
            yield place
        finally:
            if not place.settled:
                shutil.rmtree(draft, ignore_errors=True)
                for parent in made:
                    with suppress(OSError):
                        parent.rmdir()  # stays if there is something in it


def _paid_for(draft: Path) -> bool:
    """Whether a hidden folder holds a whole JSON file that says what it is: nobody has put it in place."""
    return any(named_format(file, whole=True) for file in draft.glob("*.json"))


def _check(given: Path, goal: Path, overwrite: bool) -> None:
    if goal.suffix == ENDING:
        if goal.is_dir():
            raise BadInput(f"{given} is a folder. Give the name of a file, or of a new folder.")
        if goal.exists() and not overwrite:
            raise BadInput(f"{given} exists. Give another name, or allow to overwrite it (--overwrite).")
        return
    if goal.exists() and not goal.is_dir():
        raise BadInput(f"{given} is a file. Name a folder to write to.")
    if goal.is_dir() and any(goal.iterdir()):
        if not overwrite:
            raise BadInput(
                f"{given} holds files already. Name a new folder, empty it, or allow to overwrite what was saved in "
                "it (--overwrite, overwrite=True)."
            )
        if (other := _lost(goal)) is not None:
            raise BadInput(
                f"{given} holds {other}, which is no file of a release or a model there and would be lost. Name a "
                "new folder, or take it away first."
            )
    if goal == Path.cwd() or os.path.ismount(goal):
        raise BadInput(f"{given} cannot be put in place in one step. Name a new folder.")


def _lost(folder: Path) -> str | None:
    """A file or folder in it that is none of a result; any of them where nothing says that it is one."""
    names = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")))
    patterns = (*FILES, f".*.{drafts.ENDING}") if says_so(folder) else ()
    return next((name for name in names if not any(fnmatchcase(name, pattern) for pattern in patterns)), None)


def _write_through(folder: Path) -> None:
    """Have the machine write all files down before they are counted on."""
    for file in folder.rglob("*"):
        if file.is_file():
            with suppress(OSError), file.open("rb") as opened:
                os.fsync(opened.fileno())
