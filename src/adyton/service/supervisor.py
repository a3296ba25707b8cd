"""The supervisor: starts a keeper for each data set and the process that speaks HTTP, and starts again what ends.

Only keepers know where data are, and with which credentials. The HTTP process gets the paths of their sockets, an
environment without anything that was set for the data, and, if the service was started as root, a user of its own.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from adyton.errors import AdytonError, BadInput
from adyton.exact import as_number
from adyton.kernel.ledger.terms import ADD
from adyton.service.access import Access
from adyton.service.config import Config, DataSet
from adyton.service.receipts import signing_key

_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONPATH", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""The variables of the environment that the HTTP process gets."""
_LONGEST_PAUSE = 10.0
_LONGEST_SOCKET = 100
"""The bytes of the path of a socket that every system allows."""
_SECONDS_TO_END = 90.0
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

    async def start(self) -> None:
        """Start it, and wait until it is ready; what it refuses is raised."""
        try:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                self.module,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                **self.how,
            )
        except OSError as problem:  # such as a user that may not run this Python
            raise NotReady(f"{self.name}: its user cannot run {sys.executable} ({problem.strerror}).") from None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(ConnectionError):
            self.process.stdin.write(json.dumps(self.settings).encode() + b"\n")
            await self.process.stdin.drain()
            self.process.stdin.close()
        said = await self.process.stdout.readline()
        self.told = json.loads(said) if said else {}
        if "ready" not in self.told:
            await self.process.wait()
            error = self.told.get("error", {"message": "It ended before it was ready."})
            raise NotReady(f"{self.name}: {error['message']}")

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
    """A part of the service could not be started."""


class Service:
    """All processes of a service."""

    def __init__(self, config: Config, say: Callable[[str], None]) -> None:
        self._config, self._say = config, say
        self._runtime: Path | None = None
        self.parts: list[Part] = []

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until the process is asked to end."""
        ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        folder = self._folder()
        watching: list[asyncio.Task[None]] = []
        try:
            keepers = [self._keeper(dataset, folder) for dataset in self._config.datasets.values()]
            self.parts = keepers
            await asyncio.gather(*(part.start() for part in keepers))
            web = self._web(folder, keepers)
            self.parts = [*keepers, web]
            await web.start()
            ready()
            watching = [asyncio.create_task(self._watch(part, ended)) for part in self.parts]
            await ended.wait()
        finally:
            ended.set()
            for part in reversed(self.parts):  # first the one that takes requests
                await part.end()
            for task in watching:
                task.cancel()
            if self._config.runtime is None:
                shutil.rmtree(folder, ignore_errors=True)

    async def _watch(self, part: Part, ended: asyncio.Event) -> None:
        """Start a part again whenever it ends."""
        pause = 0.1
        while not ended.is_set():
            assert part.process is not None
            code = await part.process.wait()
            if ended.is_set():
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
        longest = max(len(os.fsencode(self._socket(folder, one))) for one in self._config.datasets.values())
        if longest > _LONGEST_SOCKET:
            raise BadInput(f"the path {folder} is too long for sockets. Give a shorter one as runtime.")
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

    def _keeper(self, dataset: DataSet, folder: Path) -> Part:
        user = self._user
        consent = {
            name: str(one.consent_above) for name, one in dataset.analysts.items() if one.consent_above is not None
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
        settings = {
            "name": dataset.name,
            "parent": os.getpid(),
            "socket": self._socket(folder, dataset),
            "socket_user": None if user is None else user.pw_uid,
            "time_limit": dataset.time_limit,
            "results": dataset.results,
            "anchor": dataset.anchor,
            "consent_above": consent,
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
    def _socket(folder: Path, dataset: DataSet) -> str:
        return str(folder / f"{dataset.name}.sock")

    def _web(self, folder: Path, keepers: Sequence[Part]) -> Part:
        user, http = self._user, self._config.http
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        how: dict[str, Any] = {"env": environment, "start_new_session": True, "cwd": folder}
        if user is not None:
            how |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            self._hand_over(user)
        timing, openid = self._config.timing, self._config.openid
        datasets = {
            one.name: {
                "socket": self._socket(folder, one),
                "analysts": list(one.analysts),
                "results": one.results,
                "cells": keeper.told["ready"],
            }
            for one, keeper in zip(self._config.datasets.values(), keepers, strict=True)
        }
        limits = {"body": http.body, "requests_per_minute": http.requests_per_minute, "under_way": http.under_way}
        limits["shutdown_seconds"] = math.ceil(timing.large) + 10
        settings = {
            "listen": http.listen,
            "certificate": http.certificate,
            "certificate_key": http.key,
            "datasets": datasets,
            "curators": list(self._config.curators),
            "access": http.access,
            "audit": http.audit,
            "receipts": http.receipts,
            "parent": os.getpid(),
            "limits": limits,
            "timing": {**asdict(timing), "on": self._config.protects_timing},
            "openid": None if openid is None else asdict(openid),
        }
        return Part("the HTTP process", "adyton.service.web", settings, how)
