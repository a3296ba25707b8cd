"""The supervisor: starts a keeper for each data set and the process that speaks HTTP, and starts again what ends.

Only keepers know where data are, and with which credentials. The HTTP process gets the paths of their sockets, an
environment without anything that was set for the data, and, if the service was started as root, a user of its own.

A service for one person (:mod:`~adyton.service.workplace`) may begin without a data set, and open some while it runs.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from adyton.errors import AdytonError, BadInput
from adyton.exact import Rational, as_number
from adyton.kernel.ledger import Ledger, Limits
from adyton.kernel.ledger.terms import ADD
from adyton.service import channel
from adyton.service.access import Access
from adyton.service.channel import Message, Refused
from adyton.service.config import Config, DataSet
from adyton.service.receipts import signing_key

_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONPATH", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""The variables of the environment that the HTTP process gets."""
_LONGEST_PAUSE = 10.0
_LONGEST_SOCKET = 100
"""The bytes of the path of a socket that every system allows."""
_LONGEST_STEM = 24
_LONGEST_LINE = 2**24
_SECONDS_TO_END = 90.0
_INNER = "http"
"""The folder in which the HTTP process and that of the pages have their sockets."""
_READABLE = (
    "import os, sys; print(*(file + chr(0) for file in sys.argv[1:] if os.access(file, os.R_OK)), sep='', end='')"
)
_OWN = 0o077
"""The umask of keepers and workers: a new ledger is for their user alone."""


@dataclass
class Part:
    """A process of the service: how to start it, and whether it has been told everything."""

    name: str
    module: str
    settings: Mapping[str, Any]
    how: Mapping[str, Any]
    process: asyncio.subprocess.Process | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    """What it said when it was ready."""
    listens: bool = False
    """Whether it reads further settings, which replace the first."""
    wanted: bool = True
    """Whether it is started again when it ends."""
    talking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def start(self) -> None:
        """Start it, and wait until it is ready; what it refuses is raised."""
        async with self.talking:
            await self._start()

    async def change(self, settings: Mapping[str, Any]) -> None:
        """Give it other settings, and wait until they hold; if it has just ended, it starts again with them."""
        self.settings = settings
        async with self.talking:
            if self.process is not None and self.process.returncode is None:
                await self._say()
                await self._read()

    async def _start(self) -> None:
        try:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                self.module,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=_LONGEST_LINE,
                **self.how,
            )
        except OSError as problem:  # such as a user that may not run this Python
            why = f"its user cannot run {sys.executable} ({problem.strerror})."
            raise NotReady(self.name, {"message": why}) from None
        await self._say()
        self.told = await self._read()
        if "ready" not in self.told:
            await self.process.wait()
            raise NotReady(self.name, self.told.get("error", {"message": "It ended before it was ready."}))

    async def _say(self) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(ConnectionError):
            self.process.stdin.write(json.dumps(self.settings).encode() + b"\n")
            await self.process.stdin.drain()
            if not self.listens:
                self.process.stdin.close()

    async def _read(self) -> Mapping[str, Any]:
        assert self.process is not None
        assert self.process.stdout is not None
        said = await self.process.stdout.readline()
        return json.loads(said) if said else {}

    async def end(self) -> None:
        """Ask it to end, and wait; after a while, kill it."""
        if self.process is None or self.process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), _SECONDS_TO_END)
        except TimeoutError:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()


class NotReady(AdytonError):
    """A part of the service could not be started, with the error that it replied with."""

    def __init__(self, name: str, error: Mapping[str, Any]) -> None:
        super().__init__(f"{name}: {error['message']}")
        self.error = Refused(error)


@dataclass(frozen=True)
class LocalCalls:
    """What a service for one person has beside the others: calls of its pages that the supervisor itself answers."""

    answer: Callable[[Service, Message], Awaitable[object]]
    pages: Mapping[str, Any]
    """Settings for the process of the pages."""


class Service:
    """All processes of a service."""

    def __init__(self, config: Config, say: Callable[[str], None], local: LocalCalls | None = None) -> None:
        self._config, self._tell, self._local = config, say, local
        self._runtime = Path()
        self._ended = asyncio.Event()
        self._keepers: dict[str, Part] = {}
        self._openings = 0
        self._watching: set[asyncio.Task[None]] = set()
        self.parts: list[Part] = []

    def _say(self, text: str) -> None:
        """Say what happens. Where that cannot be written, such as on a full disk, the service goes on."""
        with suppress(OSError):
            self._tell(text)

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until the process is asked to end."""
        ended, local = self._ended, None
        for number in (signal.SIGTERM, signal.SIGINT, *([] if self._local is None else [signal.SIGHUP])):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        folder = self._runtime = self._folder()
        try:
            self._keepers = {one.name: self._keeper(one, folder) for one in self._config.datasets.values()}
            self.parts = [*self._keepers.values()]
            await asyncio.gather(*(part.start() for part in self.parts))
            if self._local is not None:
                local = await channel.serve(self._local_socket(folder), partial(self._local.answer, self))
            web = self._web(folder)
            front = [self._pages(folder), web] if self._config.http.pages else [web]
            self.parts += front
            await asyncio.gather(*(part.start() for part in front))
            self._stay(web)
            for part in self.parts:
                self._watch(part)
            ready()
            await ended.wait()
        finally:
            ended.set()
            if local is not None:
                local.close()
            for part in reversed(self.parts):  # first the one that takes requests
                await part.end()
            for task in self._watching:
                task.cancel()
            if self._config.runtime is None:
                shutil.rmtree(folder, ignore_errors=True)

    @property
    def address(self) -> str:
        """Where the service listens, with the port that it was given."""
        return str(self.parts[-1].told["ready"])

    @property
    def datasets(self) -> Mapping[str, DataSet]:
        """The data sets that are served."""
        return self._config.datasets

    async def open(self, dataset: DataSet) -> None:
        """Serve one more data set, or another of the same name instead; if it cannot be opened, nothing changes.

        One that is served already answers until the other is ready: a socket belongs to one keeper. From then on the
        ledger has the total, which may be raised.
        """
        served, before = self._config, self._keepers.get(dataset.name)
        self._openings += 1
        self._config = replace(served, datasets={**served.datasets, dataset.name: dataset})
        try:
            part = self._keeper(dataset, self._runtime, self._openings)
        except AdytonError:
            self._config = served
            raise
        self.parts.insert(0, part)
        try:
            await part.start()
        except NotReady as problem:
            self._config = served
            self.parts.remove(part)
            raise problem.error from None
        self._keepers[dataset.name] = part
        self._total_in_ledger(dataset.name)
        self._watch(part)
        await self.parts[-1].change({**self.parts[-1].settings, "datasets": self._datasets()})
        if before is not None:
            before.wanted = False
            self.parts.remove(before)
            await before.end()

    def raise_total(self, name: str, total: Rational, consent: str) -> None:
        """Raise the total of a data set, with the data owner's consent, which its ledger records."""
        self._total_in_ledger(name)
        path = self._config.datasets[name].ledger
        held = Ledger.read(path)
        with Ledger.open(path, total=held.total, dataset=held.dataset) as ledger:
            ledger.raise_total(total, consent=consent)

    def _total_in_ledger(self, name: str) -> None:
        """A keeper that starts again takes the total that the ledger has then."""
        part, dataset = self._keepers[name], replace(self._config.datasets[name], total=None)
        self._config = replace(self._config, datasets={**self._config.datasets, name: dataset})
        part.settings = {**part.settings, "worker": {**part.settings["worker"], "total": None}}

    @staticmethod
    def _stay(web: Part) -> None:
        """A port that the system chose is kept, should the HTTP process start again."""
        listen = str(web.settings["listen"])
        if listen.endswith(":0"):
            web.settings = {**web.settings, "listen": str(web.told["ready"]).partition("://")[2]}

    def _watch(self, part: Part) -> None:
        task = asyncio.create_task(self._watched(part))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)

    async def _watched(self, part: Part) -> None:
        """Start a part again whenever it ends."""
        ended, pause = self._ended, 0.1
        while not ended.is_set():
            assert part.process is not None
            code = await part.process.wait()
            if ended.is_set() or not part.wanted:
                return
            self._say(f"{part.name} ended ({code}) and is started again.")
            try:
                await part.start()
                pause = 0.1
            except AdytonError as problem:
                self._say(f"{problem} It is tried again in {pause:g} seconds.")
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _folder(self) -> Path:
        """The folder of the sockets; only this user and that of the HTTP process can reach them."""
        given = self._config.runtime
        if given is None:
            folder = Path(tempfile.mkdtemp(prefix="adyton-"))
        else:
            folder = Path(given)
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise BadInput(f"{folder} cannot be made ({error.strerror}). Give another folder as runtime.") from None
        folder.chmod(0o700 if self._user is None else 0o711)
        inner = folder / _INNER
        inner.mkdir(mode=0o700, exist_ok=True)
        if self._user is not None:
            os.chown(inner, self._user.pw_uid, self._user.pw_gid)
        for one in self._config.datasets.values():
            self._socket(folder, one)
        return folder

    @property
    def _user(self) -> pwd.struct_passwd | None:
        name = self._config.http.user
        if name is None:
            return None
        if os.geteuid() != 0:
            raise BadInput("http.user can be given only where the service is started as root. Leave it out.")
        try:
            return pwd.getpwnam(name)
        except KeyError:
            raise BadInput(f"there is no user {name!r}. Make one, or leave http.user out.") from None

    def _keeper(self, dataset: DataSet, folder: Path, opening: int = 0) -> Part:
        user = self._user
        consent = {
            name: {field: None if limit is None else str(limit) for field, limit in one.limits._asdict().items()}
            for name, one in dataset.analysts.items()
            if one.limits != Limits()
        }
        analysts = {
            name: {
                "part": None if one.part is None else str(one.part),
                "aside": one.aside,
                "expires": None if one.expires is None else one.expires.isoformat(),
            }
            for name, one in dataset.analysts.items()
        }
        shared = self._config.sharing(dataset)
        joins = [ADD] if len(shared) > 1 and ADD not in dataset.accept else []
        total = next((one.total for one in shared if one.total is not None), None)
        quota = {"storage": dataset.storage, "work": dataset.work, "least_epsilon": str(dataset.least_epsilon)}
        settings = {
            "name": dataset.name,
            "parent": os.getpid(),
            "socket": self._socket(folder, dataset, opening),
            "socket_user": None if user is None else user.pw_uid,
            "time_limit": dataset.time_limit,
            "results": dataset.results,
            "anchor": dataset.anchor,
            "consent": consent,
            "analysts": analysts,
            "granted": [name for one in shared for name in one.analysts] if dataset is shared[0] else None,
            "worker": {
                "name": dataset.name,
                "data": dataset.data,
                "table": dataset.table,
                "schema": dataset.schema,
                "ledger": dataset.ledger,
                "total": None if total is None else as_number(total)["exact"],
                "accept": [*dataset.accept, *joins],
                "unit": dataset.unit,
                "anchor": dataset.anchor,
                "quota": quota,
            },
        }
        return Part(
            f"the data set {dataset.name}",
            "adyton.service.keeper",
            settings,
            {"start_new_session": True, "umask": _OWN},
        )

    def _hand_over(self, user: pwd.struct_passwd) -> None:
        """Make the files of the HTTP process, which may not do so in a folder of root, and give them to its user.

        A link is refused: that user must not choose which file of root it becomes the owner of.
        """
        http = self._config.http
        files = [file for file in (http.access, http.receipts, http.audit) if file is not None]
        if links := [file for file in files if Path(file).is_symlink()]:
            raise BadInput(f"{links[0]} is a link, and cannot be given to {user.pw_name}. Name the file itself.")
        try:
            Access(Path(http.access)).create()
            signing_key(Path(http.receipts))
            for file in files:
                descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                try:
                    if os.fstat(descriptor).st_nlink > 1:
                        raise BadInput(f"{file} has several names, and cannot be given to {user.pw_name}. Copy it.")
                    os.fchown(descriptor, user.pw_uid, user.pw_gid)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise BadInput(f"{error.filename} cannot be given to {user.pw_name} ({error.strerror}).") from None
        self._say_what_is_open(user)

    def _say_what_is_open(self, user: pwd.struct_passwd) -> None:
        """Tell the curator which data and ledgers the user of the HTTP process could read."""
        files = [
            file
            for one in self._config.datasets.values()
            for file in (*((one.data,) if isinstance(one.data, str) else one.data), one.ledger)
            if "://" not in file
        ]
        how: dict[str, Any] = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}
        try:
            command = [sys.executable, "-c", _READABLE, *dict.fromkeys(files)]
            said = subprocess.run(command, check=False, capture_output=True, text=True, **how).stdout
        except OSError:  # a user that may not run this Python cannot be started either
            return
        for file in said.split("\0")[:-1]:
            self._say(f"{user.pw_name} can read {file}. Take it away from others: chmod o-r.")

    @staticmethod
    def _socket(folder: Path, dataset: DataSet, opening: int = 0) -> str:
        name = f"{dataset.name}-{opening}" if opening else dataset.name
        if len(name) > _LONGEST_STEM:  # folders of macOS for what is temporary have long names, too
            name = hashlib.sha256(name.encode()).hexdigest()[:_LONGEST_STEM]
        path = str(folder / f"{name}.sock")
        if len(os.fsencode(path)) > _LONGEST_SOCKET:
            raise BadInput(f"the path {folder} is too long for sockets. Give a shorter one as runtime.")
        return path

    @staticmethod
    def _local_socket(folder: Path) -> str:
        return str(folder / _INNER / "local.sock")

    def _apart(self, folder: Path) -> dict[str, Any]:
        """How a process is started that may know nothing of the data."""
        user, environment = self._user, {name: os.environ[name] for name in _KEPT if name in os.environ}
        how: dict[str, Any] = {"env": environment, "start_new_session": True, "cwd": folder}
        return how | ({} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []})

    def _pages(self, folder: Path) -> Part:
        settings: dict[str, Any] = {
            "socket": str(folder / _INNER / "pages.sock"),
            "api": str(folder / _INNER / "api.sock"),
            "parent": os.getpid(),
        }
        if self._local is not None:
            settings |= {**self._local.pages, "workplace": self._local_socket(folder)}
        return Part("the process of the pages", "adyton.service.pages.site", settings, self._apart(folder))

    def _datasets(self) -> dict[str, Any]:
        """What the HTTP process knows of the data sets."""
        return {
            one.name: {
                "socket": self._keepers[one.name].settings["socket"],
                "analysts": list(one.analysts),
                "results": one.results,
                "cells": self._keepers[one.name].told["ready"],
                "account": self._config.sharing(one)[0].name,
            }
            for one in self._config.datasets.values()
        }

    def _web(self, folder: Path) -> Part:
        user, http, how = self._user, self._config.http, self._apart(folder)
        if user is not None:
            self._hand_over(user)
        timing, openid = self._config.timing, self._config.openid
        same = "body requests_per_minute under_way under_way_each connections connections_each reserved audit_files"
        limits = {name: getattr(http, name) for name in same.split()} | {
            "head_seconds": http.head_time,
            "body_seconds": http.body_time,
            "audit_bytes": http.audit_size,
            "shutdown_seconds": math.ceil(timing.large) + 10,
        }
        settings = {
            "listen": http.listen,
            "certificate": http.certificate,
            "certificate_key": http.key,
            "datasets": self._datasets(),
            "curators": list(self._config.curators),
            "access": http.access,
            "audit": http.audit,
            "receipts": http.receipts,
            "parent": os.getpid(),
            "pages": str(folder / _INNER / "pages.sock") if http.pages else None,
            "api": str(folder / _INNER / "api.sock"),
            "proxies": list(http.proxies),
            "metrics": list(http.metrics),
            "limits": limits,
            "timing": {**asdict(timing), "on": self._config.protects_timing},
            "openid": None if openid is None else asdict(openid),
        }
        return Part("the HTTP process", "adyton.service.web", settings, how, listens=True)
