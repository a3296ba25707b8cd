"""The configuration of the service: which tables, which ledgers, who may ask, and how it listens.

It is one TOML file, read into frozen values; every wrong entry is named with its place. Paths are relative to the file.
"""

from __future__ import annotations

import os
import pwd
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from adyton.errors import BadInput
from adyton.exact import budget, exact
from adyton.kernel.ledger import Limits
from adyton.messages import listing, shorten, suggestion
from adyton.service.peers import is_peer, user_name

OWNER = "owner"
"""The curator of a service that was started for one table."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)", re.ASCII)
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Analyst:
    """What an analyst may spend on a data set."""

    part: Fraction | None = None
    """The most that they may spend; None: first come, first served."""
    aside: bool = False
    """Whether nobody else can spend their part."""
    consent_above: Fraction | None = None
    """Single requests with a larger ε wait for the curator; 0: all of them."""
    consent_total: Fraction | None = None
    """Requests that would take what they have spent of the ledger beyond this wait for the curator, however small each
    is. Who has one of both limits has no access to the door."""
    expires: date | None = None
    """The last day on which they may spend."""

    @property
    def limits(self) -> Limits:
        """Beyond what their requests need consent."""
        return Limits(self.consent_above, self.consent_total)

    def spends_as(self, other: Analyst) -> bool:
        """Whether both say the same about a ledger."""
        return (self.part, self.aside, self.expires) == (other.part, other.aside, other.expires)


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A table that is served."""

    name: str
    data: str | tuple[str, ...]
    table: str | None = None
    schema: str
    ledger: str
    total: Fraction | None = None
    """The total of the ledger; None where the ledger exists."""
    anchor: str | None = None
    """The file that holds the head of the ledger."""
    results: str = "own"
    """Who may fetch a result: ``own``, the analyst who asked, or ``all``. Curators see all of them."""
    time_limit: float = 600.0
    """The seconds after which a measurement is ended."""
    accept: tuple[str, ...] = ()
    """The terms of the ledger that may be changed, with the data owner's consent."""
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    least_epsilon: Fraction = Fraction(1, 10**6)
    """The least ε of an analyst's request."""
    storage: int = 1 << 30
    """The bytes that the ledger stores for each analyst: requests, answers and results."""
    work: int = 20_000_000
    """The cells that each analyst may ask for within an hour."""
    unit: str | None = None
    """The word for what is protected, where neither a column of the table nor the ledger says it."""

    @property
    def place_of_ledger(self) -> str:
        """The path or address of the ledger, written in one way."""
        return self.ledger if "://" in self.ledger else os.path.realpath(self.ledger)


@dataclass(frozen=True, kw_only=True)
class Http:
    """How the service listens."""

    listen: str = "127.0.0.1:8472"
    """A host and a port, or ``unix:PATH``."""
    certificate: str | None = None
    key: str | None = None
    user: str | None = None
    """The user that the process changes to, where the service is started as root."""
    access: str = "access.sqlite"
    audit: str | None = None
    receipts: str = "receipts.key"
    body: int = 1 << 20
    """The largest body of a request, in bytes."""
    requests_per_minute: int = 600
    """How many requests each analyst may make in a minute."""
    under_way: int = 64
    """How many requests may be under way at once."""
    under_way_each: int = 16
    """How many of them may be an analyst's."""
    connections: int = 512
    """How many connections may be open at once."""
    connections_each: int = 64
    """How many of them may be a peer's: of an address, or of a user at a Unix socket."""
    reserved: int = 128
    """How many of them are for those that have shown a valid token."""
    head_time: float = 10.0
    body_time: float = 30.0
    """The seconds within which the head and the body of a request must arrive."""
    proxies: tuple[str, ...] = ()
    """The peers that connect for others, and whose ``X-Forwarded-For`` is believed."""
    metrics: tuple[str, ...] = ()
    """Who may read ``/metrics``: names of tokens of that role, addresses, or users of this machine."""
    audit_size: int = 64 << 20
    """The bytes of the audit log at which a new file is begun."""
    audit_files: int = 15
    """How many earlier files of it are kept."""
    pages: bool = True
    """Whether browsers get pages."""

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it, through a file."""
        return self.listen.startswith("unix:")


@dataclass(frozen=True, kw_only=True)
class Timing:
    """When replies leave: after the public duration of their class, or a multiple of it."""

    on: bool | None = None
    """None: on, unless the service listens on a unix socket."""
    count: float = 0.5
    small: float = 2.0
    large: float = 30.0


@dataclass(frozen=True, kw_only=True)
class OpenId:
    """Where tokens of OpenID Connect come from."""

    issuer: str
    audience: str
    claim: str = "sub"
    """The claim that has the analyst's name: one that users cannot change themselves, and that no two have."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that ``adyton serve`` needs to know."""

    datasets: Mapping[str, DataSet]
    curators: tuple[str, ...] = ()
    http: Http = field(default_factory=Http)
    timing: Timing = field(default_factory=Timing)
    openid: OpenId | None = None
    runtime: str | None = None
    """The folder of the sockets; None: a temporary one."""

    @classmethod
    def read(cls, file: Path) -> Config:
        """The configuration in a TOML file."""
        try:
            plain = tomllib.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BadInput(f"{file} does not exist. Give the configuration of the service, a TOML file.") from None
        except (OSError, ValueError, RecursionError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise BadInput(f"{file} is not a readable TOML file ({why}).") from None
        try:
            return cls.of(plain, file.resolve().parent)
        except BadInput as problem:
            raise BadInput(f"{file}: {problem}") from None

    @classmethod
    def of(cls, plain: Mapping[str, Any], folder: Path) -> Config:
        """From unchecked values; paths are relative to *folder*."""
        top = _Table("the file", plain)
        path = _in(folder)
        datasets = {
            _name(name, "a data set"): _dataset(name, _Table(f"datasets.{name}", part), path)
            for name, part in top.tables("datasets")
        }
        if not datasets:
            raise BadInput('there is no data set. Write a table [datasets.NAME] with data = "…" and schema = "…".')
        curators = _Table("curators", top.take("curators", _mapping, {}))
        names = tuple(_name(name, "a curator") for name in curators.take("names", _listed, ()))
        curators.end()
        config = cls(
            datasets=datasets,
            curators=names,
            http=_http(_Table("http", top.take("http", _mapping, {})), path),
            timing=_timing(_Table("timing", top.take("timing", _mapping, {}))),
            openid=_openid(top.take("openid", _mapping, None)),
            runtime=top.take("runtime", path, None),
        )
        top.end()
        config.check()
        return config

    def check(self) -> None:
        """Refuse parts that contradict each other."""
        for dataset in self.datasets.values():
            shared = self.sharing(dataset)
            names = listing(one.name for one in shared)
            if both := sorted(set(dataset.analysts) & set(self.curators)):
                raise BadInput(f"{listing(both)} of {dataset.name} is a curator and an analyst. Name them once.")
            if len({one.total for one in shared} - {None}) > 1:
                raise BadInput(f"{names} have one ledger and different totals. Give one total.")
            analysts = dict[str, Analyst]()
            for one in shared:
                for name, own in one.analysts.items():
                    if not own.spends_as(analysts.setdefault(name, own)):
                        raise BadInput(
                            f"{names} have one ledger, where {name} has one part of the total. Write the same part, "
                            "aside and expires in each."
                        )
            aside = sum((own.part for own in analysts.values() if own.aside and own.part), Fraction(0))
            if dataset.total is not None and aside > dataset.total:
                raise BadInput(f"the parts set aside in {names} add up to more than the total.")
        if (self.http.certificate is None) != (self.http.key is None):
            raise BadInput("http.certificate and http.key belong together. Give both, or neither.")

    def sharing(self, dataset: DataSet) -> list[DataSet]:
        """The data sets that have the ledger of *dataset*, with itself."""
        return [one for one in self.datasets.values() if one.place_of_ledger == dataset.place_of_ledger]

    @property
    def protects_timing(self) -> bool:
        """Whether replies leave at public times."""
        return not self.http.is_local if self.timing.on is None else self.timing.on

    @property
    def analysts(self) -> tuple[str, ...]:
        """Everybody who may ask, beside the curators."""
        return tuple(dict.fromkeys(name for dataset in self.datasets.values() for name in dataset.analysts))


class _Table:
    """A TOML table whose entries are taken one by one; what is left at the end is refused."""

    def __init__(self, place: str, plain: Mapping[str, Any]) -> None:
        self.place, self._plain, self._known = place, dict(plain), list[str]()

    def take(self, key: str, read: Callable[[Any], _T], otherwise: Any = ...) -> Any:
        """The value of a key as *read* returns it; without *otherwise* it is required."""
        self._known.append(key)
        if key not in self._plain:
            if otherwise is ...:
                raise BadInput(f"{self.place} has no {key}. Add it.")
            return otherwise
        try:
            return read(self._plain.pop(key))
        except BadInput as problem:
            raise BadInput(f"{key} in {self.place}: {problem}") from None

    def tables(self, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The tables below a key, by name."""
        for name, part in self.take(key, _mapping, {}).items():
            yield name, _mapping(part)

    def end(self) -> None:
        """Refuse entries that nobody took."""
        if self._plain:
            unknown = next(iter(self._plain))
            raise BadInput(
                f"{self.place} has no entry {shorten(unknown)}. It may have {listing(self._known)}."
                f"{suggestion(unknown, self._known)}"
            )


def _dataset(name: str, given: _Table, path: Callable[[Any], str]) -> DataSet:
    analysts = {
        _name(who, "an analyst"): _analyst(_Table(f"{given.place}.analysts.{who}", part))
        for who, part in given.tables("analysts")
    }
    least = DataSet.least_epsilon
    dataset = DataSet(
        name=name,
        data=given.take("data", lambda data: tuple(map(path, data)) if isinstance(data, list) else path(data)),
        table=given.take("table", _text, None),
        schema=given.take("schema", path),
        ledger=given.take("ledger", path),
        total=given.take("total", lambda total: budget(_number(total), "total"), None),
        anchor=given.take("anchor", path, None),
        results=given.take("results", _one_of("own", "all"), "own"),
        time_limit=given.take("time_limit", duration, 600.0),
        accept=tuple(given.take("accept", _listed, ())),
        least_epsilon=given.take("least_epsilon", lambda least: budget(_number(least), "least_epsilon"), least),
        storage=given.take("storage", size, DataSet.storage),
        work=given.take("work", _whole, DataSet.work),
        analysts=analysts,
    )
    given.end()
    return dataset


def _analyst(given: _Table) -> Analyst:
    analyst = Analyst(
        part=given.take("part", lambda part: budget(_number(part), "part"), None),
        aside=given.take("aside", _flag, False),
        consent_above=given.take("consent_above", _amount, None),
        consent_total=given.take("consent_total", _amount, None),
        expires=given.take("expires", _day, None),
    )
    given.end()
    if analyst.aside and analyst.part is None:
        raise BadInput(f"{given.place} sets a part aside, but has no part. Add part.")
    return analyst


def _http(given: _Table, path: Callable[[Any], str]) -> Http:
    default = Http()
    http = Http(
        listen=given.take("listen", lambda place: _place(place, path), default.listen),
        certificate=given.take("certificate", path, None),
        key=given.take("key", path, None),
        user=given.take("user", _text, None),
        access=given.take("access", path, path(default.access)),
        audit=given.take("audit", path, None),
        receipts=given.take("receipts", path, path(default.receipts)),
        body=given.take("body", size, default.body),
        requests_per_minute=given.take("requests_per_minute", _whole, default.requests_per_minute),
        under_way=given.take("under_way", _whole, default.under_way),
        under_way_each=given.take("under_way_each", _whole, default.under_way_each),
        connections=given.take("connections", _whole, default.connections),
        connections_each=given.take("connections_each", _whole, default.connections_each),
        reserved=given.take("reserved", _whole, default.reserved),
        head_time=given.take("head_time", duration, default.head_time),
        body_time=given.take("body_time", duration, default.body_time),
        proxies=tuple(given.take("proxies", lambda names: [_peer(name) for name in _listed(names)], ())),
        metrics=tuple(given.take("metrics", lambda names: [_reader(name) for name in _listed(names)], ())),
        audit_size=given.take("audit_size", size, default.audit_size),
        audit_files=given.take("audit_files", _whole, default.audit_files),
        pages=given.take("pages", _flag, default.pages),
    )
    given.end()
    if http.reserved >= http.connections:
        raise BadInput(f"http.reserved must be less than http.connections, {http.connections}. Give fewer.")
    return http


def _peer(text: str) -> str:
    """A peer: an address, a network, or ``user:NAME``, as its number."""
    if text.startswith("user:"):
        try:
            return user_name(pwd.getpwnam(text.removeprefix("user:")).pw_uid)
        except KeyError:
            raise BadInput(f"there is no user {shorten(text.removeprefix('user:'))} on this machine.") from None
    if not is_peer(text):
        raise BadInput(f'it must be an address, "10.0.0.0/8" or "user:NAME", given {shorten(text)}.')
    return text


def _reader(text: str) -> str:
    """A peer, or the name in a token."""
    return _name(text, "a reader of metrics") if is_name(text) and not is_peer(text) else _peer(text)


def _timing(given: _Table) -> Timing:
    default = Timing()
    classes = ("count", "small", "large")
    durations = {name: given.take(name, duration, getattr(default, name)) for name in classes}
    timing = Timing(on=given.take("on", _flag, None), **durations)
    given.end()
    return timing


def _openid(plain: Mapping[str, Any] | None) -> OpenId | None:
    if plain is None:
        return None
    given = _Table("openid", plain)
    openid = OpenId(
        issuer=given.take("issuer", _text),
        audience=given.take("audience", _text),
        claim=given.take("claim", _text, OpenId.claim),
    )
    given.end()
    return openid


def duration(value: object) -> float:
    """Seconds, from a number or a text such as ``10 min``.

    >>> duration("500 ms"), duration(3)
    (0.5, 3.0)
    """
    return _measured(value, _UNITS, "a duration", '"500 ms", "30 s" or "10 min"')


def size(value: object) -> int:
    """Bytes, from a number or a text such as ``1 MiB``.

    >>> size("2 KiB")
    2048
    """
    return int(_measured(value, _SIZES, "a size", '"64 KiB" or "1 MiB"'))


def _measured(value: object, units: Mapping[str, float], what: str, such: str) -> float:
    number = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and (parts := _AMOUNT.fullmatch(value)) and parts[2] in units:
        number = float(parts[1]) * units[parts[2]]
    if number is None or not 0 < number < (1e12 if units is _SIZES else 1e9):
        raise BadInput(f"{what} is a number above 0, or a text such as {such}, given {shorten(value)}.")
    return float(number)


def _in(folder: Path) -> Callable[[Any], str]:
    """A function that makes paths absolute; addresses stay as they are."""

    def path(value: object) -> str:
        text = _text(value)
        return text if "://" in text else str(folder / text)

    return path


def listening(place: object) -> str:
    """Where to listen, checked: a host and a port, or ``unix:PATH``."""
    return _place(place, _in(Path.cwd()))


def _place(value: object, path: Callable[[Any], str]) -> str:
    text = _text(value)
    if text.startswith("unix:"):
        return f"unix:{path(text.removeprefix('unix:'))}"
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 1 << 16):
        raise BadInput(f'it must be a host and a port, "127.0.0.1:8472", or "unix:PATH", given {shorten(value)}.')
    return text


def _name(value: object, what: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise BadInput(f"the name of {what} has up to 64 letters, digits and . _ -, given {shorten(value)}.")
    return value


def name_for(text: str) -> str:
    """A name for a data set, made of that of its file or table.

    >>> name_for("My visits (2024).csv")
    'My-visits-2024-.csv'
    """
    return _NOT_IN_NAMES.sub("-", text).strip("-._")[:64] or "table"


def is_name(text: str) -> bool:
    """Whether a data set can have this name."""
    return _NAME.fullmatch(text) is not None


def _text(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise BadInput(f"it must be a text, given {shorten(value)}.")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"it must be true or false, given {shorten(value)}.")
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**9:
        raise BadInput(f"it must be a whole number of at least 1, given {shorten(value)}.")
    return value


def _number(value: object) -> Any:
    return str(value) if isinstance(value, float) else value


def _amount(value: object) -> Fraction:
    number = exact(_number(value), "it")
    if number < 0:
        raise BadInput(f"it must be at least 0, given {shorten(value)}.")
    return number


def _day(value: object) -> date:
    if type(value) is not date:
        raise BadInput(f"it must be a day such as 2027-01-31 without quotes, given {shorten(value)}.")
    return value


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadInput(f"it must be a table, given {shorten(value)}.")
    return value


def _listed(value: object) -> list[str]:
    if not isinstance(value, list):
        raise BadInput(f"it must be a list of texts, given {shorten(value)}.")
    return [_text(one) for one in value]


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def read(value: object) -> str:
        if value not in allowed:
            raise BadInput(f"it must be one of {listing(allowed)}, given {shorten(value)}.")
        return str(value)

    return read
