"""The whole service, as ``adyton serve`` starts it, for tests: all of its processes, on a table with canaries."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import adyton as ad
from adyton.service.access import Access

CANARY = "QUOKKA"
"""Part of a text that only rows have."""
SCHEMA = """
[attributes.age]
type = "integer"
min = 0
max = 99
[attributes.sex]
type = "categorical"
levels = ["F", "M"]
[attributes.ward]
type = "categorical"
levels = ["eye", "ear", "heart", "hand"]
"""
ROWS = 2000


def people(rows=ROWS, seed=3):
    """A table of people; names and diagnoses are not in the schema."""
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "age": draw.integers(0, 100, rows),
            "sex": draw.choice(["F", "M"], rows),
            "ward": draw.choice(["eye", "ear", "heart", "hand"], rows),
            "name": [f"{CANARY}-{number}" for number in range(rows)],
        }
    )


def write_data(folder, rows=ROWS, kind="parquet"):
    """The table and its schema, as files that only their owner can read."""
    data, schema = folder / f"people.{kind}", folder / "people.toml"
    if kind == "csv":
        people(rows).to_pandas().to_csv(data, index=False)
    else:
        pq.write_table(people(rows), data)
    schema.write_text(SCHEMA)
    data.chmod(0o600)
    return data, schema


class Served:
    """A running service with the analysts mara (10 set aside), ben (up to 4, with consent above 1) and zoe, and the
    curator olga."""

    def __init__(
        self, folder, *, more="", top="", timing=False, analysts=None, total=100, ledger=None, durations="", http=""
    ):
        self.folder = Path(folder)
        data, schema = write_data(self.folder)
        ledger = ledger or self.folder / "people.ledger"
        self.socket = self.folder / "http.sock"
        default = """
[datasets.people.analysts.mara]
part = 10
aside = true
[datasets.people.analysts.ben]
part = 4
consent_above = 1
[datasets.people.analysts.zoe]
"""
        self.config = self.folder / "service.toml"
        self.config.write_text(
            f"""{top}
[http]
listen = "unix:{self.socket}"
audit = "audit.log"
requests_per_minute = 1000000
{http}
[timing]
on = {str(timing).lower()}
{durations}
[curators]
names = ["olga"]
[datasets.people]
data = "{data}"
schema = "{schema}"
ledger = "{ledger}"
total = {total}
anchor = "people.anchor"
{more}
{default if analysts is None else analysts}
"""
        )
        access = Access(self.folder / "access.sqlite")
        analysts = ("mara", "ben", "zoe", "pat", "ida")
        names = {**dict.fromkeys(analysts, "analyst"), "olga": "curator"}
        self.tokens = {name: access.make(name, role) for name, role in names.items()}
        self.process = None

    def __enter__(self):
        with (self.folder / "serve.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "adyton", "serve", str(self.config)], stdout=log, stderr=log
            )
        try:
            self.wait()
        except BaseException:
            self.__exit__()  # or a service that is slow to start would outlive its test
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(180)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.processes("")

    def wait(self, seconds=300):
        """Until it answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError((self.folder / "serve.log").read_text())
            with contextlib.suppress(Exception):
                if self.call("GET", "/v1/datasets/people")[0] == 200:
                    return
            time.sleep(0.1)
        raise AssertionError(f"not ready: {(self.folder / 'serve.log').read_text()}")

    def connect(self, name="mara", **options):
        """A session of somebody."""
        return ad.connect(f"unix:{self.socket}", token=self.tokens[name], dataset="people", **options)

    def call(self, method, path, body=None, who="olga", headers=None):
        """A raw call: its status, headers and body."""
        connection = http.client.HTTPConnection("localhost", timeout=300)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(300)
        try:
            connection.sock.connect(str(self.socket))
            head = {"Authorization": f"Bearer {self.tokens.get(who, who)}", "Content-Type": "application/json"}
            text = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            connection.request(method, path, body=text, headers=head | (headers or {}))
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def ask(self, id, request, who="mara", wait=60):
        """POST a request with an id."""
        return self.call("POST", "/v1/datasets/people/requests", {"id": id, "request": request, "wait": wait}, who)

    def digest(self, id, analyst="ben"):
        """That of a request, as a curator reads it."""
        rows = json.loads(self.call("GET", "/v1/datasets/people/requests")[2])["requests"]
        return next(row["digest"] for row in rows if (row["analyst"], row["id"]) == (analyst, id))

    def processes(self, module):
        """The numbers of the service's processes that run a module (``keeper``, ``worker``, ``web``)."""
        children, found = [self.process.pid], []
        while children:
            parent = children.pop()
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{parent}/task").iterdir():
                    children += [int(number) for number in (task / "children").read_text().split()]
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{parent}/cmdline").read_bytes().decode(errors="replace")
                if f"adyton.service.{module}\0" in line:
                    found.append(parent)
        return found

    def kill(self, module):
        """kill −9 all processes that run a module; how many there were."""
        found = self.processes(module)
        for number in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        return len(found)
