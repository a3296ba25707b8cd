"""Results in files: one kind of folder, whose JSON file says which kind of result it holds.

First what was paid for is written down, which cannot wait; then what is computed from it, which may fail.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from adyton.arrays import arrow_column
from adyton.choice.checked_file import WRONG, FileKind, digest_of
from adyton.drafts import replaced
from adyton.errors import AdytonError, BadInput
from adyton.exact import as_number
from adyton.interrupts import deferred
from adyton.messages import harmless, path_of, shorten
from adyton.result.receipt import read_misfits, read_receipt
from adyton.result.result import AS_IT_IS, Look, Result
from adyton.result.sheets import Sheets
from adyton.result.staging import (
    EARLIER,
    ENDING,
    FORMAT,
    JSON,
    REPORT,
    Place,
    brought_up_to_date,
    file_in,
    is_earlier,
    staged,
    whole,
)
from adyton.schema import Schema
from adyton.schema.plain_values import as_amount, as_plain, as_text, of_kind, part_of
from adyton.tasks import Task, task_from_dict

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 2
PRINTED = "answers"
"""What is printed beside the parts of a file: what follows from them."""
CONFIDENCE = 0.95
_ROOM = 1 << 20
_FEW = 1 << 12
"""For so few lines, reading each is faster than loading Arrow's functions."""
_LONG = (
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
    PRINTED,
)
_T = TypeVar("_T")


@dataclass(frozen=True)
class _ResultFile(FileKind):
    """Every part stands in the digest as the checksum of its own text: there may be millions of counts."""

    @property
    def marks(self) -> set[str]:
        """Those of today, and those of earlier versions."""
        return {self.format, *EARLIER}

    def made(self, plain: Any, path: str, made: Callable[[dict[str, Any]], Any]) -> Any:
        """The same for files of earlier versions, which have digests of their own; and for what ``--json`` printed."""
        if isinstance(plain, dict) and plain.get("version") == self.version:
            plain = {name: part for name, part in plain.items() if name != PRINTED}
        if not isinstance(plain, dict) or not is_earlier(plain):
            return super().made(plain, path, made)
        try:
            if not whole(plain):
                raise BadInput(f"{path} was changed after it was written: its digest does not fit. {self.cure}")
            return made(plain)
        except BadInput:
            raise
        except WRONG:
            raise BadInput(f"{path} is not {self.holds} that can be read: parts of it are missing or wrong.") from None

    def digest(self, body: dict[str, Any]) -> str:
        """A checksum of the whole."""
        return digest_of({name: _checksum(part, _written(part)) for name, part in body.items()})


KIND = _ResultFile(
    FORMAT,
    VERSION,
    "a result",
    f"Give the folder of a saved result, or its {JSON}.",
    "Take the file as it was written.",
    _LONG,
)


# ---- writing --------------------------------------------------------------------------------------------------------


def to_dict(result: Result, *, complete: bool) -> dict[str, Any]:
    """Everything that is needed to use a result later, without the data, and to know what was done; with a digest."""
    body = body_of(result, complete=complete)
    return {"digest": KIND.digest(body), **body}


def body_of(result: Result, *, complete: bool) -> dict[str, Any]:
    """The same without a digest."""
    common = {
        **KIND.head,
        "kind": result.kind,
        "counted": result.counted.sentence or None,
        "task": result.task.to_dict(),
        "where": result.where,
        "schema": None if result.schema is None else result.schema.to_dict(),
        "algorithm": result.algorithm,
        "options": result.options,
        "epsilon": as_number(result.epsilon),
        "unfinished": result.unfinished,
        "record": result.receipt.to_plain(),
        "misfits": None if result.misfits is None else result.misfits.to_plain(),
    }
    return {**as_plain(common), **result.own_dict(complete=complete)}


def write_json(result: Result, file: Path, *, complete: bool) -> None:
    """Each part on a line of its own: a million cells are written in a second."""
    body = body_of(result, complete=complete)
    texts = {name: _written(part) for name, part in body.items()}
    digest = digest_of({name: _checksum(body[name], text) for name, text in texts.items()})
    with file.open("w", encoding="utf-8") as out:
        out.write(f'{{"digest": "{digest}"')
        for name, text in texts.items():
            out.write(f",\n {json.dumps(name)}: ")
            out.write(text)
        out.write("\n}\n")


def _written(part: Any) -> str:
    return json.dumps(part, ensure_ascii=False, allow_nan=False)


def _checksum(part: Any, text: str) -> str:
    """Of a part and its text; the order of keys makes no difference. Lists of numbers, which are long, have none."""
    sorted_text = json.dumps(part, ensure_ascii=False, allow_nan=False, sort_keys=True) if "{" in text else text
    return hashlib.sha256(sorted_text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, eq=False)
class Saved:
    """A result whose measurements are on the disk."""

    result: Result
    place: Place
    look: Look = AS_IT_IS

    def finish(self) -> tuple[Sheets | None, list[str]]:
        """Add what is computed from them: bounds, what takes time, the report.

        None of that can harm what is there. Returns what was asked for, with bounds if there are any, and a sentence
        for everything that is missing.
        """
        problems: list[str] = []
        asked = attempt("The numbers with their bounds", problems, self._write_asked)
        if self.place.single:
            attempt("The expected error", problems, self._complete)
            return asked, problems
        attempt("The expected error", problems, self._complete)
        attempt("The report", problems, self._write_report)
        attempt("The other tables", problems, self._write_more)
        return asked, problems

    def _write_asked(self) -> Sheets:
        asked = self.result.sheets(self.look, CONFIDENCE)
        if not self.place.single:
            write_sheets(asked, self.place.folder)
        return asked

    def _write_more(self) -> None:
        for sheets in self.result.more_sheets(self.look, CONFIDENCE):
            write_sheets(sheets, self.place.folder)

    def _complete(self) -> None:
        with replaced(self.place.json) as file:
            write_json(self.result, file, complete=True)

    def _write_report(self) -> None:
        from adyton.report.page import render

        with replaced(self.place.folder / REPORT) as file:
            file.write_text(render(self.result), encoding="utf-8")


def put_down(result: Result, place: Place, look: Look = AS_IT_IS) -> Saved:
    """Write down what was paid for, and put it in place; interrupts wait until that is done."""
    with deferred():
        write_json(result, place.json, complete=False)
        if result.at_once and not place.single:
            for sheets in (result.sheets(look, None), *result.more_sheets(look, None)):
                write_sheets(sheets, place.folder)
        place.settle()
        return Saved(result, place, look)


def save(result: Result, path: str | os.PathLike[str], look: Look, *, overwrite: bool) -> list[str]:
    """Into a folder, or a JSON file; a sentence for everything that could not be made."""
    with staged(path, overwrite=overwrite or path_of(path).suffix == ENDING) as place:
        return put_down(result, place, look).finish()[1]


def attempt(what: str, problems: list[str], step: Callable[[], _T]) -> _T | None:
    """What *step* makes of a result that is paid for. If it fails, for whatever reason, there is a sentence more."""
    try:
        return step()
    except Exception as error:
        reason = str(error) if isinstance(error, AdytonError) else getattr(error, "strerror", None)
        problems.append(f"{what} could not be made ({(reason or type(error).__name__).rstrip('.')}).")
        return None


def write_sheets(sheets: Sheets, folder: Path) -> None:
    """A CSV file that spreadsheets can open without harm."""
    from pyarrow import csv

    with replaced(folder / sheets.file) as file:
        csv.write_csv(for_spreadsheets(sheets.to_arrow()), file)


def for_spreadsheets(table: pa.Table) -> pa.Table:
    """The same table with names and labels that no spreadsheet takes for formulas."""
    import pyarrow as pa

    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        columns[harmless(name)] = harmless_column(column) if texts else column
    return pa.table(columns)


def harmless_column(column: pa.ChunkedArray) -> pa.Array:
    """Every text once: a million lines have few labels."""
    import pyarrow as pa

    if 0 < len(column) <= _FEW and not column.null_count and pa.types.is_string(column.type):
        return arrow_column([harmless(text) for text in column.to_pylist()])
    encoded = column.combine_chunks().dictionary_encode()
    labels = arrow_column([harmless(text) for text in encoded.dictionary.to_pylist()]).cast(column.type)
    return pa.DictionaryArray.from_arrays(encoded.indices, labels).dictionary_decode()


# ---- reading --------------------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], kind_of: Callable[[Task, str], type[Result] | None], holds: str) -> Result:
    """The result in a folder or a file, of the kind that *kind_of* finds for a task and the name of a kind; *holds*
    says in messages what is looked for. What is wrong with a file is one sentence."""
    given = path_of(path)
    writer = f"Give the folder of {_saved(holds)}, or its {JSON}."
    file, reader = file_in(given), replace(KIND, holds=holds, writer=writer)
    if not file.exists() and (other := reader.other(given)):
        raise BadInput(f"{path} is not {holds}. {other}")

    def usable(plain: dict[str, Any]) -> Result:
        try:
            return from_plain(plain, kind_of)
        except OtherKindError as other:
            raise BadInput(f"{path} is not {holds}. It holds {other}: open it with ad.load.") from None
        except BadInput as problem:
            why = str(problem).rstrip(".")
            raise BadInput(f"{file} is not {holds} that can be used: {why}. {reader.writer}") from None

    return reader.read(file, usable)


def read_plain(plain: Any, kind_of: Callable[[Task, str], type[Result] | None], holds: str) -> Result:
    """The result that :meth:`Result.to_dict` described, checked as a stranger's would be."""
    return replace(KIND, holds=holds).made(plain, "this value", lambda parts: from_plain(parts, kind_of))  # type: ignore[no-any-return]


class OtherKindError(Exception):
    """A file holds another kind of result; the words say which."""


def from_plain(given: dict[str, Any], kind_of: Callable[[Task, str], type[Result] | None]) -> Result:
    """The result that plain values describe. Keys that nobody knows are left out, and padding is refused."""
    plain = brought_up_to_date(given) if is_earlier(given) else given
    task, name = task_from_dict(part_of(plain, "task")), as_text(part_of(plain, "kind"), "kind")
    kind = kind_of(task, name)
    if kind is None:
        raise OtherKindError(_WORDS.get(name, f"a result of the kind {shorten(name)}"))
    result = kind.from_plain(plain, _common(plain, task))
    own = body_of(result, complete=False)
    for part, value in plain.items():
        if part in own and part not in kind.bulky and len(_written(value)) > 8 * len(_written(own[part])) + _ROOM:
            raise BadInput(f"its part {part!r} is longer than what it can hold.")
    return result


_WORDS = {
    "counts": "a release of counts",
    "tables": "a release of tables",
    "numbers": "a release of numbers",
    "number": "a count",
    "classifier": "a classifier",
    "tuning": "a configuration",
}


def _saved(holds: str) -> str:
    return holds.replace("a ", "a saved ", 1)


def _common(plain: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """The parts of every result, each of its own type, that fit together."""
    described = part_of(plain, "schema")
    schema = None if described is None else Schema.from_dict(described)
    rows, enforced = (1, False) if schema is None else (schema.rows_per_unit, schema.unit is not None)
    receipt = read_receipt(part_of(plain, "record"), rows, enforced=enforced)
    epsilon = as_amount(part_of(plain, "epsilon"), "epsilon", most=receipt.total)
    where, unfinished = part_of(plain, "where"), plain.get("unfinished")
    options = of_kind(dict, part_of(plain, "options"), "options")
    return {
        "schema": schema,
        "task": task,
        "where": None if where is None else as_text(where, "where"),
        "algorithm": as_text(part_of(plain, "algorithm"), "algorithm"),
        "options": {as_text(name, "the name of an option"): value for name, value in options.items()},
        "epsilon": epsilon,
        "receipt": receipt,
        "misfits": read_misfits(plain.get("misfits"), epsilon),
        "unfinished": None if unfinished is None else as_text(unfinished, "unfinished"),
    }
