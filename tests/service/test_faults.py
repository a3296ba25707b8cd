"""Disks that fail, clocks that jump, a ledger on a server that is restarted, and two services on one ledger.

In all of them: what was paid for can be fetched, nothing is paid for twice, and no more is spent than was charged.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from adyton.kernel.ledger import Ledger
from adyton.service.access import Access
from kernel.engines.servers import restart_postgres, running_postgres
from service.whole import Served

pytestmark = pytest.mark.full
COUNT = {"task": "count", "epsilon": "0.001"}
EACH = Fraction(1, 1000)
PLACE = "/v1/datasets/people/requests"


def fetched(service, id, who="mara"):
    status, _, body = service.call("GET", f"{PLACE}/{id}", who=who)
    return status, body


def until_answered(service, id, who="mara", seconds=60):
    """Like a client that does not give up: the same id again."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            reply = service.ask(id, COUNT, who)
            if reply[0] not in (202, 503):
                return reply
        time.sleep(0.1)
    raise TimeoutError(id)


def paid(ledger):
    """What was paid for each request."""
    found = {}
    for entry in Ledger.read(ledger).entries:
        found[entry.analyst, entry.request] = found.get((entry.analyst, entry.request), 0) + entry.amount
    return found


@contextlib.contextmanager
def full(folder):
    """A disk without a free byte."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (2**16, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
    try:
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def read_only(folder):
    """Files that nobody can write to, whoever has opened them already."""
    files = [str(file) for file in (folder, *folder.iterdir()) if not file.is_socket()]
    try:
        done = subprocess.run(["chattr", "+i", *files], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("this file system has no files that are immutable")
        yield
    finally:
        subprocess.run(["chattr", "-i", *files], check=True, capture_output=True)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "adyton", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mounting needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def check_a_failing_disk(service, failing):
    """Requests during and after *failing*, a context in which nothing can be written."""
    before = until_answered(service, "before")
    with failing:
        assert fetched(service, "before") == (200, before[2])
        for number in range(6):
            status, _, body = service.ask(f"during-{number}", COUNT)
            if status != 200:  # what still fits may be written
                said = json.loads(body)["error"]
                assert (status, "/" in said["message"]) == (503, False), said
        assert status == 503
        assert service.ask("before", COUNT)[2] == before[2]
        assert service.call("GET", "/v1/me", who="mara")[0] == 200
    replies = {f"during-{number}": until_answered(service, f"during-{number}") for number in range(6)}
    replies["before"] = before
    assert {status for status, *_ in replies.values()} == {200}
    assert paid(service.folder / "people.ledger") == {("mara", id): EACH for id in replies}
    assert all(fetched(service, id) == (200, reply[2]) for id, reply in replies.items())
    for module in ("worker", "keeper", "web"):
        service.kill(module)
    service.wait()
    assert all(fetched(service, id) == (200, reply[2]) for id, reply in replies.items())


def test_a_full_disk(small_disk):
    """Of the ledger, its anchor, the tokens and the audit log at once."""
    with Served(small_disk) as service:
        check_a_failing_disk(service, full(small_disk))


def test_a_disk_that_becomes_read_only(tmp_path):
    with Served(tmp_path) as service:
        check_a_failing_disk(service, read_only(tmp_path))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_what_it_says_cannot_be_written(tmp_path):
    """Its words go to a full disk: it serves, and starts again what ended."""
    with Served(tmp_path) as service:
        service.process.terminate()
        service.process.wait(60)
        with open("/dev/full", "w") as nowhere:
            command = [sys.executable, "-m", "adyton", "serve", str(service.config)]
            service.process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)
        service.wait()
        for part in ("keeper", "web", "worker"):
            assert service.kill(part)
            assert until_answered(service, f"after-{part}")[0] == 200
        assert service.process.poll() is None


@pytest.mark.parametrize("name", ["people.anchor", "audit.log"])
def test_one_file_that_cannot_be_written(tmp_path, name):
    """What is only noted elsewhere stops nobody: what was asked is paid for, and is answered."""
    with Served(tmp_path) as service:
        until_answered(service, "before")
        file = tmp_path / name
        if subprocess.run(["chattr", "+i", str(file)], capture_output=True, check=False).returncode:
            pytest.skip("this file system has no files that are immutable")
        try:
            assert service.ask("during", COUNT)[0] == 200
        finally:
            subprocess.run(["chattr", "-i", str(file)], check=True)
        assert service.ask("after", COUNT)[0] == 200
        told = (tmp_path / "serve.log").read_text() + service.call("GET", "/metrics")[2].decode()
        assert "anchor" in told if name == "people.anchor" else "adyton_audit_failures 0.0" not in told
    with service:  # the anchor of before is one of this ledger
        assert fetched(service, "during")[0] == 200


CLOCK = """
import os, time
_real, _place = time.time, {place!r}

def _moved():
    with open(_place) as file:
        return _real() + float(file.read() or 0)

time.time = _moved
"""


def test_a_clock_that_jumps(tmp_path, monkeypatch):
    """Forwards and back: tokens expire when it says so; requests, their holders and limits go on."""
    folder = tmp_path / "clock"
    folder.mkdir()
    place = folder / "seconds"
    place.write_text("0")
    (folder / "sitecustomize.py").write_text(CLOCK.format(place=str(place)))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    with Served(tmp_path, http="under_way = 32") as service:
        access = Access(tmp_path / "access.sqlite")
        service.tokens["hour"] = access.make("mara", expires=int(time.time()) + 3600)
        first = service.ask("first", COUNT)
        for seconds, valid in ((0, 200), (7200, 401), (-86_400, 200), (10**9, 401), (-(10**9), 200), (0, 200)):
            place.write_text(f"{seconds}")
            assert service.call("GET", "/v1/me", who="hour")[0] == valid, seconds
            assert service.ask(f"at-{seconds}", COUNT)[0] == 200
            assert service.ask("first", COUNT)[2] == first[2]
            asking = threading.Thread(target=until_answered, args=(service, f"killed-{seconds}"))
            asking.start()
            time.sleep(0.02)
            service.kill("worker")
            place.write_text(f"{-seconds}")
            asking.join(60)
            assert not asking.is_alive()
        service.kill("keeper")
        service.wait()
        found = paid(tmp_path / "people.ledger")
        assert set(found.values()) == {EACH}
        assert all(fetched(service, id)[0] == 200 for _, id in found)


class Crowd(threading.Thread):
    """Somebody who asks until told to stop, and remembers what was acknowledged."""

    def __init__(self, service, number, stop, *, shared=()):
        super().__init__(daemon=True)
        self.service, self.number, self.stop, self.shared = service, number, stop, shared
        self.acknowledged, self.problems = {}, []

    def run(self):
        count = 0
        while not self.stop.is_set():
            count += 1
            id = f"{self.number}-{count}" if count % 3 or not self.shared else f"shared-{count}"
            try:
                status, _, body = until_answered(self.service, id)
            except Exception as problem:
                self.problems.append(repr(problem))
                continue
            if status == 200:
                self.acknowledged[id] = body
            else:
                self.problems.append((status, body[:200]))


def check(crowd, ledger, services):
    for one in crowd:
        one.join(90)
        assert not one.problems, one.problems[:3]
    report, found = Ledger.read(ledger), paid(ledger)
    assert report.spent <= report.total
    assert set(found.values()) == {EACH}
    known = {}
    for one in crowd:
        assert one.acknowledged
        for id, body in one.acknowledged.items():
            assert found["mara", id] == EACH
            assert known.setdefault(id, body) == body, f"other bytes for {id}"
    for service in services:
        for id in list(known)[:: max(1, len(known) // 30)]:
            assert fetched(service, id) == (200, known[id])


def test_a_ledger_on_a_server_that_is_restarted(tmp_path):
    """In the middle of requests, without notice."""
    with running_postgres() as (socket, port):
        ledger = f"postgresql://adyton@/postgres?host={socket}&port={port}&schema=restarted"
        with Served(tmp_path, ledger=ledger) as service:
            stop = threading.Event()
            crowd = [Crowd(service, number, stop) for number in range(4)]
            for one in crowd:
                one.start()
            try:
                for _ in range(4):
                    time.sleep(2)
                    restart_postgres(socket)
                time.sleep(2)
                stop.set()
                check(crowd, ledger, [service])
            finally:
                stop.set()


def test_two_services_on_one_ledger(tmp_path):
    """Of the same table, with clients who ask both for the same ids; one of them is killed again and again."""
    services = []
    with contextlib.ExitStack() as stack:
        for name in ("a", "b"):
            folder = tmp_path / name
            folder.mkdir()
            service = Served(folder, ledger=tmp_path / "people.ledger")
            if services:
                for file in ("people.parquet", "people.toml"):
                    shutil.copy(tmp_path / "a" / file, folder / file)
            services.append(stack.enter_context(service))
        stop = threading.Event()
        crowd = [Crowd(services[number % 2], number, stop, shared=True) for number in range(6)]
        for one in crowd:
            one.start()
        for module in ("worker", "keeper", "web", "worker", "worker", "keeper"):
            time.sleep(1.5)
            services[0].kill(module)
        time.sleep(1.5)
        stop.set()
        for service in services:
            service.wait()
        check(crowd, tmp_path / "people.ledger", services)
        with ThreadPoolExecutor(8) as pool:  # a race for what is left
            most = f"{Ledger.read(tmp_path / 'people.ledger').remaining / 3}"
            ask = {"task": "count", "epsilon": most}
            replies = list(pool.map(lambda number: services[number % 2].ask(f"most-{number}", ask, "zoe")[0], range(8)))
        assert set(replies) <= {200, 409}
        report = Ledger.read(tmp_path / "people.ledger")
        assert report.spent <= report.total
