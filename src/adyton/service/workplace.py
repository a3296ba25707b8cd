"""The workplace of one person: the tables of a folder, and what it takes to open one while the service runs.

The pages ask here, through a socket that only this user can reach: which tables there are, what is public about their
columns, whether a schema fits, and to open a table. The supervisor answers. It has paths and no rows: columns are found
by a process that ends afterwards (:mod:`~adyton.service.columns`), and rows are with workers alone. A table is named by
its key, the name of its file, and a key leads only to tables that were listed or picked: a forged one leads nowhere.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hmac
import inspect
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from adyton import odds
from adyton.drafts import replaced
from adyton.errors import AdytonError, BadInput, LedgerMismatch
from adyton.exact import budget, display
from adyton.kernel.counting.opening import address_name, is_address
from adyton.kernel.ledger import Ledger, LedgerReport, Terms
from adyton.kernel.ledger.ledger import OTHERS
from adyton.kernel.ledger.records import checked_total
from adyton.kernel.ledger.terms import declared_differences
from adyton.kernel.reading.files import kind_of_file
from adyton.messages import shorten
from adyton.schema import Schema
from adyton.schema.files import read_toml
from adyton.schema.look_up_files import public_text
from adyton.service import columns
from adyton.service.channel import Message, NotFound
from adyton.service.config import DataSet, is_name, name_for
from adyton.service.supervisor import Service

_MOST = 1000
"""How many tables of a folder are listed."""
_LONGEST_CONSENT = 500
_SECONDS_FOR_WRONG = 1
_LONGEST_NAME = 200
_MOST_LEDGERS = 200
_COMPRESSED = (".gz", ".zst", ".bz2", ".zip")


PERSON = "person"
"""The word for what is protected where every row is another one."""


class SchemaExists(AdytonError):
    """A schema file that would be replaced by another one."""


class Unconfirmed(AdytonError):
    """What cannot be undone, and lacks the word of the terminal."""


class OtherLedger(AdytonError):
    """A table on which something was spent with another ledger."""


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

    def __init__(self, folder: Path, word: str) -> None:
        """*word* confirms what cannot be undone: the terminal shows it, and no browser knows it."""
        self.folder, self._word = folder, word
        self._confirming = asyncio.Lock()
        self._picked: dict[str, Place] = {}
        self._totals: dict[str, str] = {}
        """The totals that were given with tables, by their keys."""
        self._opened: dict[str, str] = {}
        """The name of the data set of each open table, by its key."""
        self._opening = asyncio.Lock()

    def pick(self, place: Place, total: str | None = None) -> str:
        """Make a table known that may be elsewhere; its key. Its form begins with the *total*, if one is given."""
        key, number = place.key, 1
        listed = self._listed()
        while (known := self._picked.get(key) or listed.get(key)) is not None and known.data != place.data:
            number += 1
            key = f"{place.key} ({number})"
        self._picked[key] = place
        self._totals |= {} if total is None else {key: total}
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
        """One table, with the text of its schema if it has one, and what was spent on it."""
        place, account = self._place(file), self._account(service, file)
        text, others = _text(place.schema), others_of(place, account, self._ledgers(service, place))
        said = await standing(place, account)
        asks = needs_consent(place, account, others)
        spent = [{"ledger": name, "spent": str(own.spent), "total": str(own.total)} for name, own in others.items()]
        own = {"text": text, "folder": str(place.schema.parent), "standing": said, "others": spent if asks else []}
        own["given"] = self._totals.get(file, "")
        return {**self._described(file, place), **own, "ledger": account.name, "has_ledger": account.is_file()}

    async def elsewhere(self, service: Service, path: str) -> Message:
        """Pick a table by its path on this machine."""
        return {"file": self.pick(found(path, self.folder))}

    def _account(self, service: Service, file: str) -> Path:
        """The ledger of a table: the one with which it is open, or that beside it."""
        dataset = service.datasets.get(self._opened.get(file, ""))
        return self._place(file).ledger if dataset is None else Path(dataset.ledger)

    @staticmethod
    def _ledgers(service: Service, place: Place) -> list[Path]:
        """The ledgers with which a table is open."""
        return [Path(own.ledger) for own in service.datasets.values() if own.data == place.data]

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
        another: bool = False,
        restore: bool = False,
        word: str = "",
    ) -> Message:
        """Open a table, with the text of a schema or the one that lies beside it; the name of its data set.

        *replace* allows another schema to replace that beside the table; *another* says that the data owner agrees to
        a ledger that adds to others. With *restore* the schema is that for which the ledger was made. All that can be
        refused is refused before anything is written; then neither a schema nor a ledger is left behind, and a table
        that is open stays open as it is.
        """
        async with self._opening:
            place = self._place(file)
            account = self._account(service, file) if ledger is None else _ledger(ledger, place)
            dataset = DataSet(
                name=await self._name(service, file, place, account),
                data=place.data,
                schema=str(place.schema),
                ledger=str(account),
                total=_total(total, account),
            )
            for other in service.datasets.values():
                if other.place_of_ledger == dataset.place_of_ledger and other.name != dataset.name:
                    raise BadInput(f"{account.name} is the ledger of {other.name}. Each table has one of its own.")
            others = others_of(place, account, self._ledgers(service, place))
            asks = needs_consent(place, account, others)
            if asks and not another:
                raise OtherLedger(f"{in_words(others)}. Tick that the data owner agrees to another ledger.")
            if asks:
                await self._confirm(word)
            if restore:
                schema = (await standing(place, account))["own"] or None
            text = _text(place.schema) if schema is None else schema
            if text is None:
                raise BadInput(f"{place.schema.name} does not exist. Write the schema first.")
            dataset = dataclasses.replace(dataset, unit=await agreed(place, account, dataset, text))
            before = _written(place.schema, schema, replace=replace, copy=restore)
            try:
                await service.open(dataset)
            except BaseException:
                _restored(place.schema, schema, before)
                raise
            self._opened[file] = dataset.name
            if asks:
                await asyncio.to_thread(_noted, dataset, in_words(others))
            return {"name": dataset.name}

    async def _confirm(self, word: str) -> None:
        """Refuse what cannot be undone without the word of the terminal: a browser that was left open, or a cookie that
        somebody else got, does not have it. A wrong word takes a second, one at a time."""
        async with self._confirming:
            if not hmac.compare_digest(word.strip().lower().encode(), self._word.encode()):
                await asyncio.sleep(_SECONDS_FOR_WRONG)
                raise Unconfirmed("Type the word that the terminal shows for this, where adyton open runs.")

    async def raise_total(
        self, service: Service, name: str, total: str, consent: str, large: bool = False, word: str = ""
    ) -> Message:
        """Raise the total of an open table with the data owner's consent, which the ledger records."""
        if name not in service.datasets:
            raise NotFound(f"There is no open table {shorten(name)}.")
        allowed = checked_total(budget(total, "The total"), "The total")
        held = (await asyncio.to_thread(Ledger.read, service.datasets[name].ledger)).total
        if allowed <= held:
            raise BadInput(
                f"A total can only be raised: it is {display(held)} now, given {display(allowed)}. Write a number "
                f"above {display(held)}."
            )
        if allowed > odds.VERY_LARGE and not large:
            raise BadInput(f"{odds.remark(allowed, 'A total')} Type less, or tick that this is intended.")
        if not consent.strip():
            raise BadInput("Say who consents for the data owner: a total is raised with consent, and it is recorded.")
        if len(consent) > _LONGEST_CONSENT:
            raise BadInput(f"Say who consents in at most {_LONGEST_CONSENT} characters, given {len(consent):,}.")
        await self._confirm(word)
        try:
            await asyncio.to_thread(service.raise_total, name, allowed, consent.strip())
        except LedgerMismatch as problem:
            raise BadInput(problem.plain) from None
        return {"total": str(allowed)}

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
    name: getattr(Workplace, name)
    for name in ("tables", "table", "elsewhere", "columns", "check", "open", "raise_total")
}
"""What the pages may ask."""


# ---- what was spent on a table ---------------------------------------------------------------------------------------


async def standing(place: Place, account: Path) -> Message:
    """What was spent on a table with a ledger, and whether the schema beside the table is that of the ledger.

    Where it is not: what differs, and the text of the ledger's schema if the ledger has it.
    """
    said: dict[str, Any] = {"spent": "", "total": "", "problem": "", "differs": [], "own": "", "unit": ""}
    if not account.is_file():
        return said
    report = Ledger.read(account)
    kept = _terms_in(report, place.name_with(account))
    said |= {"total": str(report.total), "spent": str(report.spent) if report.spent else ""}
    text = _text(place.schema)
    if kept is None or not report.spent:
        return said
    said["unit"] = kept.named_unit
    if (own := _schema_in(kept)) is not None:
        said["own"] = own.to_toml()
    if text is None:
        return {**said, "problem": f"{place.schema.name} is not there any more. {_MADE_FOR.format(account.name)}"}
    try:
        terms = await _terms(place, text)
        Ledger.check(account, total=None, dataset=place.name_with(account), terms=terms)
    except LedgerMismatch as problem:
        return {**said, "problem": problem.plain, "differs": declared_differences(kept, terms)}
    except AdytonError as problem:
        return {**said, "problem": f"{place.schema.name}: {problem}"}
    return said


_MADE_FOR = "{} was made for it, and a schema does not change once something was spent."


async def agreed(place: Place, account: Path, dataset: DataSet, text: str) -> str | None:
    """Refuse a table with a schema that its ledger would refuse. Returns the word for what is protected, where neither
    a column nor the ledger says it: a schema in which nobody has more than one row protects people."""
    terms, kept = await _terms(place, text), None
    if account.is_file():
        try:
            Ledger.check(account, total=dataset.total, dataset=dataset.name, terms=terms)
        except LedgerMismatch as problem:
            raise LedgerMismatch(problem.plain) from None
        kept = _terms_in(Ledger.read(account), dataset.name)
    return PERSON if kept is None and terms.column is None and terms.rows_per_unit == 1 else None


async def _terms(place: Place, text: str) -> Terms:
    """The terms of a table with the text of a schema."""
    folder = str(place.schema.parent)
    schema = Schema.from_dict(read_toml(f"{text}\n"), folder)
    if schema.patterns:
        schema = Schema.from_dict(await columns.ask("whole", data=place.data, schema=text, folder=folder), folder)
    return Terms.of(schema.to_dict(), schema.rows_per_unit, None, schema.level_files)


def _terms_in(report: LedgerReport, dataset: str) -> Terms | None:
    """The terms of a data set in its ledger."""
    return {report.dataset: report.terms, **{own.name: own.terms for own in report.further}}.get(dataset)


def _schema_in(terms: Terms) -> Schema | None:
    """The schema for which a ledger was made, if the ledger has it."""
    try:
        schema = Schema.from_dict({**json.loads(terms.declared), "rows_per_unit": terms.rows_per_unit})
    except (AdytonError, ValueError):
        return None
    again = Terms.of(schema.to_dict(), schema.rows_per_unit)
    return schema if again.schema == terms.schema else None


def others_of(place: Place, account: Path, known: Iterable[Path] = ()) -> dict[str, LedgerReport]:
    """The other ledgers with which something was spent on a table: those *known*, and those beside it that have its
    name."""
    usual = Place.of(place.data, place.schema.parent)
    paths = {os.path.realpath(path) for path in (place.ledger, usual.ledger, *known)}
    beside = [os.path.realpath(path) for path in sorted(place.ledger.parent.glob("*.ledger"))[:_MOST_LEDGERS]]
    names = {place.key, name_for(place.key)}
    found: dict[str, LedgerReport] = {}
    for path in sorted({*paths, *beside} - {os.path.realpath(account)}):
        with suppress(AdytonError, OSError):
            report = Ledger.read(path)
            own = {report.dataset, *(part.name for part in report.further)}
            if report.spent and (path in paths or own & names):
                found[os.path.basename(path)] = report
    return found


def needs_consent(place: Place, account: Path, others: Mapping[str, LedgerReport]) -> bool:
    """Whether the data owner has to agree that a ledger adds to others: not if the ledger says so already, nor for one
    in use that is the table's own."""
    if not others:
        return False
    if not account.is_file():
        return True
    report = Ledger.read(account)
    own = os.path.realpath(account) == os.path.realpath(Place.of(place.data, place.schema.parent).ledger)
    return not any(event.changed == OTHERS for event in report.events) and not (own and report.spent)


def in_words(others: Mapping[str, LedgerReport]) -> str:
    """What was spent with other ledgers."""
    spent = [f"ε = {display(own.spent)} of {display(own.total)} in {name}" for name, own in others.items()]
    return f"On this table was spent {', '.join(spent)} already"


def _noted(dataset: DataSet, others: str) -> None:
    """Record in a ledger that it adds to others."""
    held = Ledger.read(dataset.ledger)
    with Ledger.open(dataset.ledger, total=held.total, dataset=dataset.name) as ledger:
        ledger.add_to(others, consent="agreed on the page where the table was opened")


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


def _text(file: Path) -> str | None:
    """The text of a schema file, if there is one."""
    return public_text(str(file), file.name, "Give a schema, a TOML file") if file.is_file() else None


def _written(file: Path, text: str | None, *, replace: bool, copy: bool) -> str | None:
    """Write the schema beside the table; the text that it replaces, if there was one. A *copy* of that is kept."""
    before = file.read_text(encoding="utf-8") if file.is_file() else None
    if text is None or (before is not None and before.strip() == text.strip()):
        return before
    if before is not None and copy:
        _keep_copy(file, before)
    elif before is not None and not replace:
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


def _keep_copy(file: Path, text: str) -> None:
    """Write a text beside a file under a name that is free."""
    number = 1
    while (other := file.with_name(f"{file.stem}.before-{number}{file.suffix}")).exists():
        number += 1
    with replaced(other) as draft:
        draft.write_text(text, encoding="utf-8")


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
