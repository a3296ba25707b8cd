"""Many clients at once while processes are killed: nobody overspends, nothing that was acknowledged is lost.

``ADYTON_REQUESTS=100000 ADYTON_KILLS=1000 pytest -m full tests/service/test_endurance.py -s`` is the long run, on a
ledger in a file and on a server; ``-k file`` is one of them, and ``ADYTON_SECONDS`` ends it earlier.
"""

import contextlib
import hashlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from adyton.kernel.ledger import Ledger
from kernel.engines.servers import restart_postgres, running_postgres
from service.whole import Served

pytestmark = pytest.mark.full
REQUESTS, KILLS = int(os.environ.get("ADYTON_REQUESTS", "2000")), int(os.environ.get("ADYTON_KILLS", "20"))
SECONDS = float(os.environ.get("ADYTON_SECONDS", "inf"))
CLIENTS, EPSILON = 32, Fraction(1, 1000)
NAMES = ("mara", "zoe", "ben")
ANALYSTS = """
[datasets.people.analysts.mara]
part = {part}
aside = true
[datasets.people.analysts.ben]
part = {part}
[datasets.people.analysts.zoe]
"""
PLACE = "/v1/datasets/people"
PARTS = ["worker", "worker", "worker", "keeper", "keeper", "web", "web", "client", "client", "all"]
"""What is killed, and how often each."""
LOST_CLIENT = """
import http.client, socket, sys
path, token, body = sys.argv[1:]
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(path)
head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
connection.request("POST", "/v1/datasets/people/requests", body, head)
print("sent", flush=True)
connection.getresponse().read()
"""


class Client(threading.Thread):
    """Asks until its share of the requests is done; remembers what was acknowledged."""

    def __init__(self, served, number, left):
        super().__init__(daemon=True)
        self.served, self.number, self.left = served, number, left
        self.random = random.Random(number)
        self.who = NAMES[number % len(NAMES)]
        self.acknowledged, self.cancelled = {}, set()
        self.refused, self.ended, self.seconds, self.problems = 0, 0, [], []

    def run(self):
        while self.left and next(self.left, None) is not None:
            try:
                self.ask()
            except Exception as problem:
                self.problems.append(repr(problem))

    def ask(self):
        lot = self.random.random()
        if lot < 0.05 and self.acknowledged:  # the same id again
            id = self.random.choice(list(self.acknowledged))
            request, digest = self.acknowledged[id]
            status, body = self.until_answered(id, request)
            assert status == 200, body
            assert hashlib.sha256(body).hexdigest() == digest, "other bytes for the same id"
            return
        request = {"task": "count", "epsilon": str(EPSILON)}
        if lot < 0.08:
            request = {"task": "histogram", "attributes": ["ward"], "algorithm": "identity", "epsilon": str(EPSILON)}
        elif lot < 0.1:
            request = {"task": "count", "epsilon": "-1"}
        elif lot < 0.12:
            request["where"] = "age >= 30"
        id = self.new_id()
        if lot > 0.99 and self.cancel(id, request):
            self.cancelled.add(id)
        else:
            self.keep(id, request)

    def new_id(self):
        return f"{self.number}-{self.random.getrandbits(64):x}"

    def cancel(self, id, request):
        """Ask, and whether it could be cancelled at once: it may have spent already, or the reply be lost."""
        with contextlib.suppress(OSError, Exception):
            self.served.ask(id, request, self.who, wait=0)
            return self.served.call("DELETE", f"{PLACE}/requests/{id}", who=self.who)[0] == 200
        return False

    def keep(self, id, request):
        """Ask, and remember what was acknowledged."""
        status, body = self.until_answered(id, request)
        if status == 200:
            self.acknowledged[id] = (request, hashlib.sha256(body).hexdigest())
        elif status in (400, 409):
            self.refused += 1
        else:
            self.problems.append((status, body[:200]))

    def until_answered(self, id, request):
        """Like a client that does not give up: the same id again, until there is an answer."""
        end = time.monotonic() + 300
        while True:
            start = time.monotonic()
            with contextlib.suppress(OSError, Exception):
                status, headers, body = self.served.ask(id, request, self.who, wait=30)
                if status not in (202, 503):
                    self.ended += headers.get("adyton-status") == "ended"
                    self.seconds.append(time.monotonic() - start)
                    return status, body
            if time.monotonic() > end:
                raise TimeoutError(id)
            time.sleep(0.25)  # asking all the time would slow down what is starting

    def lose(self):
        """Ask in a process of its own, kill it while it waits for the reply, and ask again under the same id."""
        id, request = self.new_id(), {"task": "count", "epsilon": str(EPSILON)}
        given = [str(self.served.socket), self.served.tokens[self.who], json.dumps({"id": id, "request": request})]
        command = [sys.executable, "-c", LOST_CLIENT, *given]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
            client.stdout.readline()  # it has sent its request, or could not
            time.sleep(self.random.random() / 50)
            client.kill()
        self.keep(id, request)


class Countdown:
    """A number of requests that many threads share, until the time is up."""

    def __init__(self, count):
        self.count, self._lock, self.asked, self._end = count, threading.Lock(), 0, time.monotonic() + SECONDS

    def __next__(self):
        with self._lock:
            if self.count <= 0 or time.monotonic() > self._end:
                raise StopIteration
            self.count -= 1
            self.asked += 1
            return self.count


def killing(served, left, kills, done, client, database):
    """Kill one of the processes, evenly over the requests; *database* is the folder of the ledger's server."""
    draw, first = random.Random(1), left.count
    parts = PARTS if database is None else [*PARTS, "database"]
    for number in range(kills):
        while left.count > first * (kills - number) / (kills + 1) and not done.is_set():
            time.sleep(0.01)
        if done.is_set():
            return
        module = draw.choice(parts)
        if module == "client":
            client.lose()
        elif module == "database":
            restart_postgres(database)
        elif module == "all":
            children = [process for part in ("web", "keeper", "worker") for process in served.processes(part)]
            for process in (served.process.pid, *children):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            served.process.wait()
            served.__enter__()
        elif not served.kill(module):  # it was just being started again
            time.sleep(0.5)
            served.kill(module)
        done.kills[module] += 1


@pytest.mark.parametrize("place", ["file", "server"])
def test_many_clients_and_many_kills(place, tmp_path):
    total = Fraction(REQUESTS * 9, 10_000)  # less than all of them would cost
    options = {"analysts": ANALYSTS.format(part=str(float(total / 3))), "total": float(total)}
    with contextlib.ExitStack() as stack:
        folder = tmp_path
        if Path("/dev/shm").is_dir():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        ledger, socket = folder / "people.ledger", None
        if place == "server":
            socket, port = stack.enter_context(running_postgres())
            ledger = f"postgresql://adyton@/postgres?host={socket}&port={port}&schema=endurance"
        served = stack.enter_context(Served(folder, ledger=ledger, **options))
        left, done = Countdown(REQUESTS), threading.Event()
        done.kills = Counter()
        clients, lost = [Client(served, number, left) for number in range(CLIENTS)], Client(served, CLIENTS, None)
        killer = threading.Thread(target=killing, args=(served, left, KILLS, done, lost, socket), daemon=True)
        start = time.monotonic()
        for thread in (*clients, killer):
            thread.start()
        for thread in clients:
            thread.join()
        done.set()
        killer.join(300)
        seconds = time.monotonic() - start
        served.wait()
        clients.append(lost)
        problems = [problem for client in clients for problem in client.problems]
        assert not problems, problems[:5]
        report = Ledger.read(ledger)
        assert report.spent <= report.total
        spent = Counter()
        for entry in report.entries:
            spent[entry.analyst, entry.request] += entry.amount
        assert set(spent.values()) == {EPSILON}, "something was paid twice"
        cancelled = {(client.who, id) for client in clients for id in client.cancelled}
        assert not cancelled & set(spent), "something was spent for a request that was cancelled"
        with Ledger.open(ledger, total=report.total, dataset="people") as kept:
            for client in clients:  # recorded >= released, and nothing that was acknowledged is lost
                for id, (_, digest) in client.acknowledged.items():
                    assert spent[client.who, id] == EPSILON, id
                    assert hashlib.sha256(kept.request(client.who, id).result.encode()).hexdigest() == digest, id
        for client in clients:  # the same bytes, at no cost
            for id in client.random.sample(sorted(client.acknowledged), min(20, len(client.acknowledged))):
                request, digest = client.acknowledged[id]
                for status, _, body in (
                    served.call("GET", f"{PLACE}/requests/{id}", who=client.who),
                    served.ask(id, request, client.who),
                ):
                    assert (status, hashlib.sha256(body).hexdigest()) == (200, digest)
        assert served.connect("olga").spent == report.spent
        times = sorted(second for client in clients for second in client.seconds)
        figures = {
            "ledger": place,
            "requests": left.asked,
            "acknowledged": sum(len(client.acknowledged) for client in clients),
            "without an answer": sum(client.ended for client in clients),
            "refused": sum(client.refused for client in clients),
            "cancelled": len(cancelled),
            "clients": CLIENTS,
            "kills": dict(done.kills),
            "spent": f"{float(report.spent):g} of {float(report.total):g}",
            "requests a second": round(left.asked / seconds, 1),
            "median seconds": round(statistics.median(times), 4),
            "99th percentile": round(times[int(0.99 * len(times))], 4),
        }
        sys.stdout.write(f"{json.dumps(figures)}\n")
        assert done.kills.total() >= KILLS * 0.9 * left.asked / REQUESTS
