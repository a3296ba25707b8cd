"""Folders and files of results: prepared before anything is paid, and moved into place with what was paid for.

A folder has one JSON file, which says what it holds and has a digest, CSV files and a page. Their contents are made in
``result.py``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adyton import drafts
from adyton.arrays import arrow_column
from adyton.choice.checked_file import WRONG, FileKind, digest_of, named_format
from adyton.errors import AdytonError, BadInput
from adyton.interrupts import deferred
from adyton.messages import harmless, path_of
from adyton.result.sheets import Sheets
from adyton.schema.plain_values import part_of

if TYPE_CHECKING:
    import pyarrow as pa

ENDING = ".json"
JSON, REPORT, FORMAT = "release.json", "report.html", "adyton release"
_PRINTED = "answers"
"""The part that ``--json`` adds when it prints a result; it follows from the other parts."""
_FEW = 1 << 12
"""Up to this many lines, processing them one by one is faster than loading Arrow's functions."""


class Earlier(NamedTuple):
    """An earlier format: the name of its file, and the kind of result that it holds."""

    file: str
    kind: str


EARLIER = {
    "adyton release": Earlier("release.json", "counts"),
    "adyton tables": Earlier("tables.json", "tables"),
    "adyton numbers": Earlier("numbers.json", "numbers"),
    "adyton classifier": Earlier("classifier.json", "classifier"),
    "adyton configuration": Earlier("configuration.json", "tuning"),
}
"""The formats before the current one; all of them have version 1."""


FILES = (JSON, *(earlier.file for earlier in EARLIER.values()), REPORT, "*.csv", "tables", "tables/*.csv")
"""The files of a saved result: what another result may overwrite."""


# ---- places to write to ----------------------------------------------------------------------------------------------


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
    """Whether what was paid for is saved, so that the files must stay."""

    @property
    def single(self) -> bool:
        """Whether it is a single JSON file, not a folder."""
        return self.goal.suffix == ENDING

    @property
    def json(self) -> Path:
        """Where the JSON file is now."""
        return self.goal if self.single and self.folder == self.goal.parent else self.folder / JSON

    @property
    def there(self) -> Path:
        """Where the settled files are: where they belong or, if that failed, in the hidden folder."""
        return self.given if self.folder in (self.goal, self.goal.parent) else self.folder

    def settle(self) -> None:
        """Move the hidden folder into place in one step: its files are then saved for good.

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
                self.folder = self.folder.rename(self.goal)  # also replaces an empty folder
            except OSError as error:
                if old is not None:
                    with suppress(OSError):
                        old.rename(self.goal)
                raise AdytonError(
                    f"{self.given} could not be put in place ({error.strerror}). All files are in {self.folder}."
                ) from None
            if old is not None:
                shutil.rmtree(old, ignore_errors=True)


def file_in(path: Path) -> Path:
    """The JSON file of a folder, or the file itself."""
    if not path.is_dir():
        return path
    names = (JSON, *(earlier.file for earlier in EARLIER.values()))
    return next((path / name for name in names if (path / name).exists()), path / JSON)


def says_so(path: Path) -> bool:
    """Whether the JSON file of a folder, or a file, says that it holds a result."""
    return named_format(file_in(path)) in {FORMAT, *EARLIER}


@contextmanager
def staged(folder: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Place]:
    """A place to write to: a folder, or a single file if the name ends in ``.json``. It is removed at the end of the
    block unless it was settled.

    A place that could not be written later is refused now, and so is a folder with files in it, unless it may be
    overwritten and holds only a result.
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
        for remains in left:
            warnings.warn(
                f"{remains} holds what a process had paid for when it was killed. Rename it to keep it, or remove it.",
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
                        parent.rmdir()  # fails if it is not empty


def _paid_for(draft: Path) -> bool:
    """Whether a hidden folder holds a complete JSON file in a known format: a result that was not put in place."""
    return any(named_format(file, whole=True) for file in draft.glob("*.json"))


def _check(given: Path, goal: Path, overwrite: bool) -> None:
    if goal.suffix == ENDING:
        if goal.is_dir():
            raise BadInput(f"{given} is a folder. Give the name of a file, or of a new folder.")
        if goal.exists() and not overwrite:
            raise BadInput(f"{given} exists. Give another name, or allow overwriting (--overwrite).")
        return
    if goal.exists() and not goal.is_dir():
        raise BadInput(f"{given} is a file. Name a folder to write to.")
    if goal.is_dir() and any(goal.iterdir()):
        if not overwrite:
            raise BadInput(
                f"{given} holds files already. Name a new folder, empty it, or allow overwriting the result saved in "
                "it (--overwrite, overwrite=True)."
            )
        if (other := _lost(goal)) is not None:
            raise BadInput(
                f"{given} holds {other}, which does not belong to a saved release or model and would be lost. Name "
                "a new folder, or remove it first."
            )
    if goal == Path.cwd() or os.path.ismount(goal):
        raise BadInput(f"{given} cannot be put in place in one step. Name a new folder.")


def _lost(folder: Path) -> str | None:
    """A file or folder in it that does not belong to a result; any file if the folder does not hold a result."""
    names = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")))
    patterns = (*FILES, f".*.{drafts.ENDING}") if says_so(folder) else ()
    return next((name for name in names if not any(fnmatchcase(name, pattern) for pattern in patterns)), None)


def _write_through(folder: Path) -> None:
    """Flush all files to disk before relying on them."""
    for file in folder.rglob("*"):
        if file.is_file():
            with suppress(OSError), file.open("rb") as opened:
                os.fsync(opened.fileno())


# ---- the JSON file ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ResultFile(FileKind):
    """The JSON file of a result. Its digest covers the checksums of all parts, as there may be millions of counts."""

    @property
    def marks(self) -> set[str]:
        """The current format, and the earlier ones."""
        return {self.format, *EARLIER}

    def made(self, plain: Any, path: str, made: Callable[[dict[str, Any]], Any]) -> Any:
        """The same, also for files of earlier versions, which have other digests, and for the output of ``--json``."""
        if isinstance(plain, dict) and plain.get("version") == self.version:
            plain = {name: part for name, part in plain.items() if name != _PRINTED}
        if not isinstance(plain, dict) or not is_earlier(plain):
            return super().made(plain, path, made)
        try:
            if not _is_whole(plain):
                raise BadInput(f"{path} was changed after it was written: its digest does not fit. {self.cure}")
            return made(plain)
        except BadInput:
            raise
        except WRONG:
            raise BadInput(f"{path} is not {self.holds} that can be read: parts of it are missing or wrong.") from None

    def digest(self, body: dict[str, Any]) -> str:
        """A checksum of the whole body."""
        return digest_of({name: _checksum(part, json_text(part)) for name, part in body.items()})


KIND = _ResultFile(
    FORMAT,
    2,
    "a result",
    f"Give the folder of a saved result, or its {JSON}.",
    "Take the file as it was written.",
    (
        "schema",
        "task",
        "record",
        "misfits",
        "parts",
        "axes",
        "estimate",
        "measured",
        "model",
        "classifier",
        "own",
        _PRINTED,
    ),
)


def signed(body: dict[str, Any]) -> dict[str, Any]:
    """The parts of a file with their digest."""
    return {"digest": KIND.digest(body), **body}


def write_json(body: dict[str, Any], file: Path) -> None:
    """Write the parts with their digest; a million cells take a second."""
    with file.open("w", encoding="utf-8") as out:
        out.writelines(file_text(body))


def file_text(body: dict[str, Any]) -> Iterator[str]:
    """The content of the file of a result, in pieces: the digest, then one part per line."""
    texts = {name: json_text(part) for name, part in body.items()}
    digest = digest_of({name: _checksum(body[name], text) for name, text in texts.items()})
    yield f'{{"digest": "{digest}"'
    for name, text in texts.items():
        yield f",\n {json.dumps(name)}: "
        yield text
    yield "\n}\n"


def json_text(part: Any) -> str:
    """The text of a part, as it is written."""
    return json.dumps(part, ensure_ascii=False, allow_nan=False)


def _checksum(part: Any, text: str) -> str:
    """The checksum of a part, given its text; the order of keys makes no difference. Lists of numbers have no keys."""
    sorted_text = json.dumps(part, ensure_ascii=False, allow_nan=False, sort_keys=True) if "{" in text else text
    return hashlib.sha256(sorted_text.encode("utf-8", "surrogatepass")).hexdigest()


def is_earlier(plain: Mapping[str, Any]) -> bool:
    """Whether a file has an earlier format."""
    return plain.get("format") in tuple(EARLIER) and plain.get("version") == 1  # it may be anything, also a list


def _is_whole(plain: dict[str, Any]) -> bool:
    """Whether its digest matches; the oldest releases have no digest."""
    body = dict(plain)
    digest = body.pop("digest", None)
    if body["format"] != "adyton release":
        return bool(digest == digest_of(body))
    for name in {"axes", "estimate"} & body.keys():
        body[name] = hashlib.sha256(json_text(body[name]).encode()).hexdigest()
    return digest is None or digest == digest_of(body)


def updated(plain: dict[str, Any]) -> dict[str, Any]:
    """The same result in the current format."""
    kind = EARLIER[plain["format"]].kind
    now = {"options": {}, "unfinished": None, "misfits": None, **plain, "kind": kind}
    if kind == "counts" and "parts" in plain:
        parts = plain["parts"]
        if not isinstance(parts, list) or not all(isinstance(part, dict) and is_earlier(part) for part in parts):
            raise BadInput("its parts must be releases.")
        now["parts"] = [updated(part) for part in parts]
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


# ---- CSV files -------------------------------------------------------------------------------------------------------


def write_sheets(sheets: Sheets, folder: Path) -> None:
    """Write a CSV file that spreadsheets can open safely."""
    from pyarrow import csv

    with drafts.replaced(folder / sheets.file) as file:
        csv.write_csv(for_spreadsheets(sheets.to_arrow()), file)


def for_spreadsheets(table: pa.Table) -> pa.Table:
    """The same table with names and labels that no spreadsheet treats as formulas."""
    import pyarrow as pa

    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        columns[harmless(name)] = harmless_column(column) if texts else column
    return pa.table(columns)


def harmless_column(column: pa.ChunkedArray) -> pa.Array:
    """The same column with harmless texts; each distinct text is processed once, as a million lines have few labels."""
    import pyarrow as pa

    if 0 < len(column) <= _FEW and not column.null_count and pa.types.is_string(column.type):
        return arrow_column([harmless(text) for text in column.to_pylist()])
    encoded = column.combine_chunks().dictionary_encode()
    labels = arrow_column([harmless(text) for text in encoded.dictionary.to_pylist()]).cast(column.type)
    return pa.DictionaryArray.from_arrays(encoded.indices, labels).dictionary_decode()
