"""Killed processes and lost connections, in a file and on a server: nothing is overspent, and no debit is lost."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from ledger_spending import change, spend

from adyton.errors import BadInput, LedgerError
from adyton.kernel.ledger import Ledger, store

TENTH = Fraction(1, 10)
HAMMER = """
import sys
from fractions import Fraction
from adyton.errors import BudgetExceeded
from adyton.kernel.ledger import Ledger

place, worker, aim = sys.argv[1], int(sys.argv[2]), Fraction(sys.argv[3])
analyst = (None, "mara", "ben")[worker % 3]
with Ledger.open(place, total=aim, dataset="visits") as ledger:
    print("ready", flush=True)
    turn = 0
    while True:
        turn += 1
        name, amount = f"{worker}-{sys.argv[4]}-{turn}", Fraction(3 + worker, 1000)
        ledger.begin_request(analyst, name, body="{}")
        with ledger.on_behalf(analyst, name, str):
            try:
                entry = ledger.debit(amount, lineage=["visits"], operator="laplace")
            except BudgetExceeded:
                break
            ledger.settle(entry, "answered", turn)
        print(entry, amount, flush=True)
"""
PARTS = {"mara": (Fraction(1, 10), True), "ben": (Fraction(3, 20), False)}


def hammer(place: str, total: Fraction, workers: int, kills: int, seed: int) -> None:
    """Processes spend until nothing is left, while some of them are killed and replaced; then everything is checked."""
    chance = random.Random(seed)
    with Ledger.open(place, total=total, dataset="visits") as ledger:
        for name, (share, aside) in PARTS.items():
            ledger.set_analyst(name, part=share * total, aside=aside)

    def start(worker: int, life: int) -> subprocess.Popen[str]:
        arguments = [sys.executable, "-c", HAMMER, place, str(worker), str(total), str(life)]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)

    running, printed = {worker: start(worker, 0) for worker in range(workers)}, []
    for life in range(1, kills + 1):
        worker = chance.randrange(workers)
        printed.append(running[worker].stdout.readline())
        time.sleep(chance.uniform(0, 0.2))
        running[worker].kill()
        printed.append(running[worker].communicate()[0])
        running[worker] = start(worker, life)
    printed += [process.communicate(timeout=300)[0] for process in running.values()]
    assert {process.returncode for process in running.values()} == {0}
    lines = [line.split() for text in printed for line in text.splitlines() if text.endswith("\n") or line]
    known = {int(line[0]): Fraction(line[1]) for line in lines if len(line) == 2}
    report = Ledger.read(place)  # adds everything up again
    entries = {entry.number: entry for entry in report.entries}
    assert all(entries[number].amount == amount for number, amount in known.items())
    assert all(entries[number].status == "answered" for number in known)
    assert len(entries) - len(known) <= kills
    for own in report.analysts:
        assert own.spent <= own.part
        assert own.part - own.spent < Fraction(3 + workers, 1000) or not own.aside
    with Ledger.open(place, total=total, dataset="visits") as ledger:
        assert ledger.remaining < Fraction(3 + workers, 1000)
        for number in known:
            entry = entries[number]
            assert entry.request is not None
            assert [answer for _, answer in ledger.answers(entry.analyst, entry.request)] == [
                entry.request.rpartition("-")[2]
            ]


def test_killed_processes_lose_at_most_an_answer(place: str):
    hammer(place, Fraction(1, 4), workers=3, kills=2, seed=7)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_many_killed_processes_lose_at_most_an_answer(place: str, seed: int):
    hammer(place, Fraction(8), workers=6, kills=40, seed=seed)


def test_two_that_create_one_ledger_get_one(address: str):
    opened: list[Ledger] = []
    threads = [
        threading.Thread(target=lambda: opened.append(Ledger.open(address, total=1, dataset="visits")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [spend(ledger, TENTH) for ledger in opened] == [1, 2, 3, 4]
    assert len({ledger.head() for ledger in opened}) == 1


# ---- lost connections ------------------------------------------------------------------------------------------------


class Proxy:
    """A socket before a server's, which can be cut when something is sent through it."""

    def __init__(self, server: Path, folder: Path, port: int) -> None:
        self.server, self.folder = server, folder
        self.cut_at = b""
        """What is in a message with which the connection is cut."""
        self.passed_on = True
        """Whether the server still gets that message."""
        self.cuts = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / f".s.PGSQL.{port}"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self.server))
            for source, target, watched in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pass, args=(source, target, watched), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, watched: bool) -> None:
        try:
            while data := source.recv(65536):
                if watched and self.cut_at and self.cut_at in data:
                    self.cut_at = b""
                    self.cuts += 1
                    source.shutdown(socket.SHUT_RDWR)
                    if self.passed_on:
                        target.sendall(data)
                        time.sleep(0.1)
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def proxy(ledger_server, tmp_path_factory):
    folder, port = ledger_server
    between = Proxy(folder / f".s.PGSQL.{port}", tmp_path_factory.mktemp("p"), port)
    yield between
    between.close()


def through(proxy: Proxy, address: str) -> str:
    before, _, rest = address.partition("host=")
    return f"{before}host={proxy.folder}&{rest.partition('&')[2]}"


@pytest.mark.parametrize("passed_on", [True, False])
def test_a_commit_without_a_confirmation_is_refused_and_counts(proxy: Proxy, address: str, passed_on: bool):
    with Ledger.open(through(proxy, address), total=1, dataset="visits") as ledger:
        spend(ledger, TENTH)
        proxy.cut_at, proxy.passed_on = b"COMMIT\0", passed_on
        with pytest.raises(LedgerError, match="did not confirm what was written") as refused:
            spend(ledger, TENTH)
        assert "counts as spent" in str(refused.value)
        assert refused.value.__suppress_context__
        assert proxy.cuts == 1
        assert ledger.spent == (1 + passed_on) * TENTH  # connects again
        assert spend(ledger, TENTH) == 2 + passed_on
    assert Ledger.read(address).entries[-1].status == "debited"


@pytest.mark.parametrize("moment", [b"INSERT INTO entries", b"UPDATE ledger"])
def test_a_connection_lost_before_the_commit_leaves_nothing(proxy: Proxy, address: str, moment: bytes):
    with Ledger.open(through(proxy, address), total=1, dataset="visits") as ledger:
        spend(ledger, TENTH)
        proxy.cut_at = moment
        with pytest.raises(LedgerError, match="the connection was lost. Nothing was spent"):
            spend(ledger, TENTH)
        assert (ledger.spent, len(ledger.report().entries), proxy.cuts) == (TENTH, 1, 1)


@pytest.mark.parametrize("passed_on", [True, False])
def test_a_connection_lost_between_two_debits_is_made_again(proxy: Proxy, address: str, passed_on: bool):
    with Ledger.open(through(proxy, address), total=1, dataset="visits") as ledger:
        spend(ledger, TENTH)
        proxy.cut_at, proxy.passed_on = b"FOR UPDATE", passed_on
        assert spend(ledger, TENTH) == 2
        assert proxy.cuts == 1


def test_a_ledger_held_by_another_process_is_waited_for_once(address: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.1)
    psycopg, server = pytest.importorskip("psycopg"), pytest.importorskip("adyton.kernel.ledger.server")
    where, schema, _ = server.parsed(address)
    with Ledger.open(address, total=1, dataset="visits") as ledger, psycopg.connect(where) as other:
        spend(ledger, TENTH)
        other.execute(f"SELECT id FROM {schema}.ledger FOR UPDATE")
        before = ledger._file._connection
        with pytest.raises(LedgerError, match="held by another process"):
            spend(ledger, TENTH)
        other.rollback()
        assert spend(ledger, TENTH) == 2
        assert ledger._file._connection is before


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_connections_lost_at_any_moment(proxy: Proxy, address: str, seed: int):
    chance, released = random.Random(seed), 0
    words = [
        b"BEGIN",
        b"FOR UPDATE",
        b"ORDER BY number DESC",
        b"INSERT INTO entries",
        b"UPDATE ledger",
        b"COMMIT\0",
        b"answers",
    ]
    with Ledger.open(through(proxy, address), total=100, dataset="visits") as ledger:
        for turn in range(200):
            if chance.random() < 0.5:
                proxy.cut_at, proxy.passed_on = chance.choice(words), chance.random() < 0.5
            try:
                ledger.begin_request(None, f"r{turn}", body="{}")
                with ledger.on_behalf(None, f"r{turn}", str):
                    entry = spend(ledger, TENTH)
                    released += 1
                    ledger.settle(entry, "answered", turn)
            except (LedgerError, BadInput):
                pass
            assert Ledger.read(address).spent >= released * TENTH
    assert proxy.cuts > 50


def test_a_process_that_has_stopped_holds_nobody_up_for_ever(address: str, monkeypatch):
    monkeypatch.setattr("adyton.kernel.ledger.server._STALLED_SECONDS", 0.2)
    with (
        Ledger.open(address, total=1, dataset="visits") as ledger,
        Ledger.open(address, total=1, dataset="visits") as other,
    ):
        lost = pytest.raises(LedgerError, match="connection was lost|did not confirm")
        with lost, ledger._file.transaction(write=True):
            time.sleep(0.6)
        assert spend(other, TENTH) == 1
        assert spend(ledger, TENTH) == 2


# ---- what a server is asked, and what is shown of it -----------------------------------------------------------------


def test_a_password_is_shown_nowhere(address: str, ledger_server):
    import psycopg

    secret = "geheim-7"
    plain = address.rpartition("&schema=")[0]
    with psycopg.connect(plain, autocommit=True) as server:
        server.execute(f"DROP ROLE IF EXISTS mona; CREATE ROLE mona LOGIN PASSWORD '{secret}'")
        server.execute("GRANT CREATE ON DATABASE postgres TO mona")
        server.execute("ALTER ROLE mona SET synchronous_commit TO off")
    folder, port = ledger_server
    with_password = f"postgresql://mona:{secret}@/postgres?host={folder}&port={port}&schema=monas"
    with Ledger.open(with_password, total=1, dataset="visits") as ledger:
        spend(ledger, TENTH)
        with pytest.raises(Exception, match="Raise the total|raise the total") as refused:
            spend(ledger, 1)
        shown = [repr(ledger), ledger.path, str(refused.value), repr(ledger._file), str(vars(ledger._file))]
        with ledger._file.transaction(write=True) as connection:
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
        change(f"{plain}&schema=monas", "REVOKE INSERT ON entries FROM mona")
        with pytest.raises(LedgerError, match="cannot be written") as denied:
            spend(ledger, TENTH)
        shown.append(str(denied.value))
    for wrong in (with_password.replace(secret, f"{secret}x"), with_password.replace("postgres?", "nothing?")):
        with pytest.raises(LedgerError, match="cannot be opened") as denied:
            Ledger.open(wrong, total=1, dataset="visits")
        shown.append(str(denied.value))
    for text in shown:
        assert text is not None
        assert secret not in text
        assert "mona" in text or "Ledger" in text
    change(f"{plain}&schema=monas", "DROP SCHEMA monas CASCADE", "DROP OWNED BY mona", "DROP ROLE mona")


@pytest.mark.parametrize("schema", ["a b", "x&schema=y", "é", "a;drop", "x" * 64])
def test_the_schema_of_an_address_is_a_name(address: str, schema: str):
    with pytest.raises(BadInput, match="schema in the address"):
        Ledger.open(f"{address.rpartition('=')[0]}={schema}", total=1, dataset="visits")


def test_what_is_not_a_ledger_on_a_server(address: str):
    schema = address.rpartition("=")[2]
    change(f"{address}", f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.ledger (x INTEGER)")
    with pytest.raises(LedgerError, match="tables of other programs"):
        Ledger.open(address, total=1, dataset="visits")
    change(address, "DROP TABLE ledger")
    Ledger.open(address, total=1, dataset="visits").close()
    change(address, "UPDATE adyton_ledger SET format = 6")
    with pytest.raises(LedgerError, match="Upgrade Adyton"):
        Ledger.open(address, total=1, dataset="visits")
    change(address, "UPDATE adyton_ledger SET format = 5", "DROP TABLE requests")
    with Ledger.open(address, total=1, dataset="visits") as ledger:
        with pytest.raises(LedgerError, match="is damaged"):
            ledger.begin_request(None, "r", body="{}")
        assert spend(ledger, TENTH) == 1


def test_a_forked_process_connects_again(address: str):
    with Ledger.open(address, total=1, dataset="visits") as ledger:
        spend(ledger, TENTH)
        child = os.fork()
        if child == 0:
            os._exit(0 if spend(ledger, TENTH) == 2 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert spend(ledger, TENTH) == 3
