"""The workplace of one person: the tables of a folder, and what it takes to open one while the service runs.

The pages ask here, through a socket that only this user can reach: which tables there are, what is public about their
columns, whether a schema fits, and to open a table. The supervisor answers. It has paths and no rows: columns are found
by a process that ends afterwards (:mod:`~adyton.service.columns`), and rows are with workers alone. A table is named by
its key, the name of its file, and a key leads only to tables that were listed or picked: a forged one leads nowhere.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from adyton.drafts import replaced
from adyton.errors import AdytonError, BadInput
from adyton.exact import budget
from adyton.kernel.counting.opening import address_name, is_address
from adyton.kernel.ledger import Ledger
from adyton.kernel.reading.files import kind_of_file
from adyton.messages import shorten
from adyton.schema.look_up_files import public_text
from adyton.service import columns
from adyton.service.channel import Message, NotFound
from adyton.service.config import DataSet, is_name, name_for
from adyton.service.supervisor import Service

_MOST = 1000
"""How many tables of a folder are listed."""
_LONGEST_NAME = 200
_COMPRESSED = (".gz", ".zst", ".bz2", ".zip")


class SchemaExists(AdytonError):
    """A schema file that would be replaced by another one."""


@dataclass(frozen=True)
class Place:
    """Where a table is, and where its schema and ledger are, or will be."""

    data: str
    """A path, with the name of a table after ``#`` if the file has several; or an address."""
    schema: Path
    ledger: Path

    @classmethod
    def of(cls, data: str, folder: Path, schema: Path | None = None, ledger: Path | None = None) -> Place:
        """The place of a table; its schema and its ledger lie beside it, with its name, unless others are given."""
        path, table = ("", "") if is_address(data) else _parts(data)
        stem = name_for(address_name(data)) if is_address(data) else _stem(Path(path).name)
        beside = folder if is_address(data) else Path(path).parent
        stem += f"-{name_for(table)}" * bool(table)
        return cls(data, schema or beside / f"{stem}.toml", ledger or beside / f"{stem}.ledger")

    @property
    def key(self) -> str:
        """How the pages call the table: its file's name."""
        return address_name(self.data) if is_address(self.data) else os.path.basename(self.data)

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.name_with(self.ledger)

    def name_with(self, ledger: Path) -> str:
        """The name of the data set: the one in its ledger, if that exists; else that of the file."""
        recorded = Ledger.read(ledger).dataset if ledger.is_file() else ""
        return recorded if is_name(recorded) else name_for(self.key)

    @property
    def kind(self) -> str:
        """What kind of table it is."""
        return "database" if is_address(self.data) else kind_of_file(_parts(self.data)[0]) or "table"


class Workplace:
    """The tables of a folder, and those that were picked elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._picked: dict[str, Place] = {}
        self._opened: dict[str, str] = {}
        """The name of the data set of each open table, by its key."""
        self._opening = asyncio.Lock()

    def pick(self, place: Place) -> str:
        """Make a table known that may be elsewhere; its key."""
        key, number = place.key, 1
        listed = self._listed()
        while (known := self._picked.get(key) or listed.get(key)) is not None and known.data != place.data:
            number += 1
            key = f"{place.key} ({number})"
        self._picked[key] = place
        return key

    def opened(self, key: str, name: str) -> None:
        """Remember that a table is open from the start."""
        self._opened[key] = name

    async def answer(self, service: Service, message: Message) -> object:
        """The reply to a call of the pages."""
        given = dict(message)
        call = _CALLS.get(str(given.pop("call", "")))
        if call is None:
            raise BadInput("this is not a call of the workplace.")
        try:
            bound = inspect.signature(call).bind(self, service, **given)
        except TypeError:
            raise BadInput("this call of the workplace lacks an argument, or has one too many.") from None
        return await call(*bound.args, **bound.kwargs)

    # ---- what there is ----------------------------------------------------------------------------------------------

    async def tables(self, service: Service) -> Message:
        """All tables, by name: neither their sizes nor their dates are said."""
        places = self._listed() | self._picked
        return {"folder": str(self.folder), "tables": [self._described(key, places[key]) for key in sorted(places)]}

    async def table(self, service: Service, file: str) -> Message:
        """One table, with the text of its schema if it has one."""
        place = self._place(file)
        text = None
        if place.schema.is_file():
            text = public_text(str(place.schema), place.schema.name, "Give a schema, a TOML file")
        return {**self._described(file, place), "text": text, "folder": str(place.schema.parent)}

    async def elsewhere(self, service: Service, path: str) -> Message:
        """Pick a table by its path on this machine."""
        return {"file": self.pick(found(path, self.folder))}

    def _described(self, key: str, place: Place) -> Message:
        return {
            "file": key,
            "kind": place.kind,
            "open": self._opened.get(key),
            "schema": place.schema.name,
            "has_schema": place.schema.is_file(),
            "ledger": place.ledger.name,
            "has_ledger": place.ledger.is_file(),
        }

    def _listed(self) -> dict[str, Place]:
        """The tables in the folder, by key."""
        with suppress(OSError), os.scandir(self.folder) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith(".") and entry.is_file())
            places = [Place.of(str(self.folder / name), self.folder) for name in names if _is_table(name)]
            texts = [place for place in places if not place.key.endswith(".txt") or place.schema.is_file()]
            return {place.key: place for place in texts[:_MOST]}
        return {}

    def _place(self, key: str) -> Place:
        place = self._picked.get(key) or self._listed().get(key)
        if place is None:
            raise NotFound(f"There is no table {shorten(key)} here. Pick one of the list, or give its path.")
        return place

    # ---- its columns ------------------------------------------------------------------------------------------------

    async def columns(self, service: Service, file: str, written: Mapping[str, Any], header: bool) -> Message:
        """What is public about the columns of a table."""
        return await columns.ask("columns", data=self._place(file).data, file=dict(written), header=header)

    async def check(self, service: Service, file: str, schema: str) -> Message:
        """Whether a schema fits the columns of a table."""
        place = self._place(file)
        return await columns.ask("check", data=place.data, schema=schema, folder=str(place.schema.parent))

    # ---- opening ----------------------------------------------------------------------------------------------------

    async def open(
        self,
        service: Service,
        file: str,
        schema: str | None = None,
        total: str | None = None,
        ledger: str | None = None,
        replace: bool = False,
    ) -> Message:
        """Open a table, with the text of a schema or the one that lies beside it; the name of its data set.

        If it cannot be opened, neither a schema nor a ledger is left behind.
        """
        async with self._opening:
            place = self._place(file)
            account = place.ledger if ledger is None else _ledger(ledger, place)
            dataset = DataSet(
                name=await self._name(service, file, place, account),
                data=place.data,
                schema=str(place.schema),
                ledger=str(account),
                total=_total(total, account),
            )
            for other in service.datasets.values():
                if other.place_of_ledger == dataset.place_of_ledger and other.name != dataset.name:
                    raise BadInput(f"{account.name} is the ledger of {other.name}. Give this table another one.")
            before = _written(place.schema, schema, replace=replace)
            try:
                await service.open(dataset)
            except BaseException:
                _restored(place.schema, schema, before)
                raise
            self._opened[file] = dataset.name
            return {"name": dataset.name}

    async def _name(self, service: Service, file: str, place: Place, ledger: Path) -> str:
        """The name of the data set; another one if it is taken."""
        if file in self._opened:
            return self._opened[file]
        plain = name = await asyncio.to_thread(place.name_with, ledger)
        number = 1
        while name in service.datasets:
            number += 1
            name = f"{plain[:60]}-{number}"
        return name


_CALLS: Mapping[str, Any] = {
    name: getattr(Workplace, name) for name in ("tables", "table", "elsewhere", "columns", "check", "open")
}
"""What the pages may ask."""


def found(path: str, folder: Path, schema: Path | None = None, ledger: Path | None = None) -> Place:
    """The place of the table at a path, which is relative to a folder; an error unless it is a file of a known kind."""
    if is_address(path):
        raise BadInput("An address may have a password. Give it in the terminal: adyton open ADDRESS.")
    if not path or not path.isprintable():
        raise BadInput(f"Give the path of a table, such as /home/ann/visits.csv, given {shorten(path)}.")
    whole = os.path.abspath(folder / os.path.expanduser(path))
    file, _ = _parts(whole)
    if os.path.isdir(file):
        raise BadInput(f"{shorten(path)} is a folder. Give the path of a table in it, or: adyton open {path}.")
    if not os.path.isfile(file):
        raise BadInput(f"there is no file {shorten(path)}. Check its name and its folder.")
    if kind_of_file(file) is None:
        raise BadInput(
            f"{shorten(path)} is not a kind of file that can be opened. Give a CSV, Parquet, Excel, DuckDB or SQLite "
            "file; write file.duckdb#table if the file has several tables."
        )
    return Place.of(whole, folder, schema, ledger)


def _parts(data: str) -> tuple[str, str]:
    """The path of a file, and the name of the table in it that comes after a #."""
    if os.path.exists(data):
        return data, ""
    path, _, table = data.rpartition("#")
    return (path, table) if path else (data, "")


def _is_table(name: str) -> bool:
    """Whether a file can be a table, by its name, which a page can show."""
    return name.isprintable() and kind_of_file(name) is not None


def _stem(name: str) -> str:
    """The name of a file without its endings.

    >>> _stem("visits.csv.gz"), _stem("visits")
    ('visits', 'visits')
    """
    plain = next((name.removesuffix(ending) for ending in _COMPRESSED if name.lower().endswith(ending)), name)
    return Path(plain).stem


def _total(given: str | None, ledger: Path) -> Fraction | None:
    if given is None and not ledger.is_file():
        raise BadInput(f"total is missing: {ledger.name} does not exist yet. Say what may be spent in all.")
    return None if given is None else budget(given, "total")


def _ledger(name: str, place: Place) -> Path:
    """The ledger of this name, in the folder of the table."""
    if name == place.ledger.name:
        return place.ledger
    path = place.ledger.parent / name
    plain = name.isprintable() and not name.startswith(".") and Path(name).name == name and len(name) <= _LONGEST_NAME
    if not plain or not (name.endswith(".ledger") or path.is_file()):
        raise BadInput(
            f"ledger is the name of a file beside the table, such as {place.ledger.name!r}: it has no folder and ends "
            f"with .ledger, given {shorten(name)}."
        )
    return path


def _written(file: Path, text: str | None, *, replace: bool) -> str | None:
    """Write the schema beside the table; the text that it replaces, if there was one."""
    before = file.read_text(encoding="utf-8") if file.is_file() else None
    if text is None:
        if before is None:
            raise BadInput(f"{file.name} does not exist. Write the schema first.")
        return before
    if before is not None and before.strip() == text.strip():
        return before
    if before is not None and not replace:
        raise SchemaExists(
            f"{file.name} exists already, with another schema. Say that it is to be replaced, or rename that file."
        )
    try:
        with replaced(file) as draft:
            draft.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"{file.name} cannot be written to {file.parent} ({error.strerror}). Copy the table to your own folder."
        ) from None
    return before


def _restored(file: Path, text: str | None, before: str | None) -> None:
    """Take back what was written."""
    if text is None or (before is not None and before.strip() == text.strip()):
        return
    with suppress(OSError):
        if before is None:
            file.unlink(missing_ok=True)
        else:
            with replaced(file) as draft:
                draft.write_text(before, encoding="utf-8")
