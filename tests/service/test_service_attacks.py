"""Attacks on the whole service: what a reply says of the server and of others, races, and processes that are killed."""

import asyncio
import base64
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import AdytonError, BadInput, LedgerError, LedgerMismatch
from adyton.kernel.ledger import Ledger
from adyton.service.channel import error_of
from adyton.service.config import Config, DataSet
from adyton.service.keeper import Keeper, set_all
from adyton.service.operations import CANCELLED, Operations
from adyton.service.supervisor import NotReady, Part, Service
from service import serving
from service.whole import Served, write_data

COUNT = {"task": "count", "epsilon": "0.001"}
TWIN = """
[datasets.twin]
data = "people.parquet"
schema = "people.toml"
ledger = "./nowhere/../people.ledger"
results = "all"
[datasets.twin.analysts.mara]
part = 10
aside = true
[datasets.twin.analysts.ben]
part = 4
consent_above = 0.01
consent_total = 0.02
[datasets.twin.analysts.zoe]
"""


class Twins(Served):
    """A service with a second data set on the same ledger."""

    def __init__(self, folder, **options):
        super().__init__(folder, **options)
        self.config.write_text(self.config.read_text() + TWIN)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Twins(tmp_path_factory.mktemp("attacked")) as service:
        yield service


def error(reply):
    status, _, body = reply
    return status, json.loads(body)["error"]


def paid(served, id):
    """The entries of the ledger for a request."""
    return [entry for entry in Ledger.read(served.folder / "people.ledger").entries if entry.request == id]


def ask(served, dataset, id, request=COUNT, who="mara"):
    return served.call("POST", f"/v1/datasets/{dataset}/requests", {"id": id, "request": request}, who)


class TestOneLedgerForTwo:
    def test_the_configuration_joins_them(self, served):
        assert ask(served, "twin", "joined")[0] == 200
        report = Ledger.read(served.folder / "people.ledger")
        assert {report.dataset, *(one.name for one in report.further)} == {"people", "twin"}
        service = Service(Config.read(served.config), print)
        service._keepers = dict.fromkeys(service.datasets, SimpleNamespace(told={"ready": {}}, settings={"socket": ""}))
        assert [own["account"] for own in service._datasets().values()] == ["people", "people"]

    def test_one_part_for_both(self, served):
        budgets = json.loads(served.call("GET", "/v1/me", who="mara")[2])["datasets"]
        assert budgets["people"] == budgets["twin"]
        assert budgets["people"]["total"] == "10/1"

    def test_an_id_of_the_other_data_set(self, served):
        assert ask(served, "people", "elsewhere")[0] == 200
        status, said = error(ask(served, "twin", "elsewhere"))
        assert (status, said["kind"]) == (400, "BadInput")
        assert "another request" in said["message"]
        assert error(served.call("GET", "/v1/datasets/twin/requests/elsewhere", who="mara"))[0] == 404

    def test_results_for_all_and_for_one(self, served):
        ask(served, "twin", "shown")
        ask(served, "people", "hidden")
        assert served.call("GET", "/v1/datasets/twin/requests/shown?analyst=mara", who="zoe")[0] == 200
        assert error(served.call("GET", "/v1/datasets/people/requests/hidden?analyst=mara", who="zoe"))[0] == 403
        assert b"hidden" not in served.call("GET", "/v1/datasets/people/requests", who="zoe")[2]


def test_parts_that_contradict_each_other(tmp_path):
    service = Twins(tmp_path)
    service.config.write_text(service.config.read_text().replace("part = 10\naside", "part = 9\naside", 1))
    with pytest.raises(AdytonError, match="mara has one part"):
        Config.read(service.config)


def test_a_word_lets_a_data_set_join(tmp_path):
    data, schema = write_data(tmp_path)
    ledger = tmp_path / "people.ledger"
    with ad.Session(data, schema=schema, ledger=ledger, epsilon=1, dataset="a") as session:
        session.count("0.5")
    with pytest.raises(LedgerMismatch, match="add dataset"):
        ad.Session(data, schema=schema, ledger=ledger, dataset="b")
    with ad.Session(data, schema=schema, ledger=ledger, dataset="b", accept={"add dataset"}) as session:
        assert session.remaining == session.spent


def test_a_data_set_that_cannot_be_opened_stands_in_nobodys_way(tmp_path):
    """Here the folder of the sockets is too deep; the one before stays what is served."""
    service = Service(Config(datasets={}), print)
    service._runtime = tmp_path / ("deep" * 30)
    dataset = DataSet(name="visits", data="visits.csv", schema="visits.toml", ledger="visits.ledger")
    with pytest.raises(AdytonError, match="too long for sockets"):
        asyncio.run(service.open(dataset))
    assert not service.datasets
    assert len(service._socket(Path("/run/adyton"), replace(dataset, name="n" * 64), 1)) < 48


class TestConsent:
    """Whoever has no consent to exactly this request spends nothing."""

    PLACE = "/v1/datasets/twin/requests"

    def consent(self, served, id, digest):
        body = {"grant": True, "analyst": "ben", "digest": digest, "word": "a count at 0.011 is fine"}
        return served.call("POST", f"{self.PLACE}/{id}/consent", body, "olga")

    def digest(self, served, id):
        rows = json.loads(served.call("GET", self.PLACE)[2])["requests"]
        return next(row["digest"] for row in rows if (row["analyst"], row["id"]) == ("ben", id))

    def test_many_small_requests_are_counted_together(self, served):
        said = [ask(served, "twin", f"split-{turn}", COUNT | {"epsilon": "0.007"}, "ben")[0] for turn in range(4)]
        assert said == [200, 200, 202, 202]
        assert served.connect("ben").spent == Fraction(14, 1000)

    def test_a_request_is_not_exchanged_under_the_curators_eyes(self, served):
        before = served.connect("ben").spent
        assert ask(served, "twin", "swap", COUNT | {"epsilon": "0.011"}, "ben")[0] == 202
        read = self.digest(served, "swap")
        assert served.call("DELETE", f"{self.PLACE}/swap", who="ben")[0] == 200
        dear = {"task": "histogram", "attributes": ["age"], "epsilon": "2.9"}
        assert error(ask(served, "twin", "swap", dear, "ben"))[0] == 400
        assert ask(served, "twin", "dear", dear, "ben")[0] == 202
        assert error(self.consent(served, "swap", read)) == (404, {"kind": "NotFound", "message": CANCELLED})
        status, said = error(self.consent(served, "dear", read))
        assert (status, said["kind"], "another one" in said["message"]) == (400, "BadInput", True)
        assert error(self.consent(served, "dear", self.digest(served, "dear").upper()))[0] == 400
        assert served.connect("ben").spent == before

    def test_asked_again_and_cancelled_at_once(self, served):
        before = served.connect("ben").spent
        for turn in range(10):
            id = f"at-once-{turn}"
            assert ask(served, "twin", id, COUNT | {"epsilon": "0.5"}, "ben")[0] == 202
            with ThreadPoolExecutor(2) as pool:
                again = pool.submit(ask, served, "twin", id, COUNT | {"epsilon": "0.5"}, "ben")
                assert pool.submit(served.call, "DELETE", f"{self.PLACE}/{id}", who="ben").result()[0] == 200
                assert again.result()[0] in (202, 400, 404)
        assert served.connect("ben").spent == before

    def test_nobody_is_the_curator_by_an_empty_name(self, served):
        """Where results are for all analysts, those of the curators are not; and receipts name who asked."""
        assert ask(served, "twin", "secret", who="olga")[0] == 200
        for name, status in (("", 400), ("%20", 400), ("%09", 400), ("None", 404), ("olga", 404), ("Mara", 404)):
            assert error(served.call("GET", f"{self.PLACE}/secret?analyst={name}", who="zoe"))[0] == status
        assert error(served.call("GET", f"{self.PLACE}/secret", who="zoe"))[0] == 404
        ask(served, "twin", "told")
        whose = {"secret": ("olga", None), "told?analyst=mara": ("zoe", "mara"), "told": ("mara", "mara")}
        for id, (who, owner) in whose.items():
            receipt = served.call("GET", f"{self.PLACE}/{id}", who=who)[1]["adyton-receipt"]
            assert json.loads(base64.urlsafe_b64decode(receipt + "=="))["analyst"] == owner


class TestRaces:
    def test_one_id_and_different_bodies(self, served):
        """One of them is carried out; the other never gets its result."""
        bodies = [COUNT | {"epsilon": f"0.00{number}"} for number in range(1, 9)]
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda body: ask(served, "people", "raced", body), bodies))
        done = [json.loads(reply[2])["epsilon"]["exact"] for reply in replies if reply[0] == 200]
        assert len(done) == 1
        assert all(error(reply)[1]["kind"] == "BadInput" for reply in replies if reply[0] != 200)

    def test_one_request_from_many(self, served):
        """Over both data sets of the ledger: it is paid for once, by one of them, and all get the same bytes."""
        places = ["people", "twin"] * 8
        with ThreadPoolExecutor(16) as pool:
            replies = list(pool.map(lambda place: ask(served, place, "shared"), places))
        for name in ("people", "twin"):
            found = {(status, body) for (status, _, body), place in zip(replies, places, strict=True) if place == name}
            assert len(found) == 1, found
        assert sorted(status for status, *_ in replies) == [200] * 8 + [400] * 8
        assert [entry.amount for entry in paid(served, "shared")] == [Fraction(1, 1000)]

    def test_the_other_data_set_is_faster(self, tmp_path):
        """Who loses the race for an id is not given the result of the other data set."""
        data, schema = write_data(tmp_path)
        for name in ("people", "twin"):
            ad.Session(data, schema=schema, ledger=tmp_path / "l", epsilon=1, dataset=name, accept={"add dataset"})
        own, other = (Ledger.open(tmp_path / "l", total=1, dataset=name) for name in ("twin", "people"))

        class Overtaken:
            async def call(self, asked, seconds):
                other.begin_request(None, "r", body="{}", holder="elsewhere")
                with other.on_behalf(None, "r", holder="elsewhere"):
                    other.finish_request(None, "r", "done", "a result about people")
                raise BadInput("the id r was used for another request. Choose a new id.")

        operations = Operations("twin", own, Overtaken(), time_limit=60, anchor=None, limits=lambda who: None)
        with own, other, pytest.raises(BadInput, match="another request"):
            asyncio.run(operations.ask((None, "r"), "{}", 60))

    def test_consent_and_cancel(self, served):
        """What is said to be cancelled has cost nothing, and what has cost something was not."""
        for number in range(6):
            id = f"torn-{number}"
            place = f"/v1/datasets/people/requests/{id}"
            assert ask(served, "people", id, COUNT | {"epsilon": "1.0001"}, "ben")[0] == 202
            before = served.connect("ben").spent
            with ThreadPoolExecutor(2) as pool:
                consent = {"grant": True, "analyst": "ben", "digest": served.digest(id)}
                granted = pool.submit(served.call, "POST", f"{place}/consent", consent, "olga")
                cancelled = pool.submit(served.call, "DELETE", place, who="ben").result()
                granted.result()
            time.sleep(0.3)
            if cancelled[0] == 200:
                assert served.connect("ben").spent == before
                assert error(served.call("GET", place, who="ben"))[0] == 404
            else:
                assert error(cancelled)[1]["kind"] == "UnderWay"
                assert served.connect("ben").fetch(id).epsilon == served.connect("ben").spent - before
                break


class TestCapturedAndCut:
    def test_a_captured_request_with_another_token(self, served):
        """The same bytes from somebody else are a request of their own, and fetch nothing."""
        place = "/v1/datasets/people/requests/captured"
        mine = ask(served, "people", "captured", who="mara")
        assert error(served.call("GET", place, who="zoe"))[0] == 404
        assert error(served.call("DELETE", place, who="zoe"))[0] == 404
        assert ask(served, "people", "captured", who="pat")[0] == 403
        theirs = ask(served, "people", "captured", who="zoe")
        assert (mine[0], theirs[0]) == (200, 200)
        assert sorted(entry.analyst for entry in paid(served, "captured")) == ["mara", "zoe"]
        assert served.call("GET", place, who="mara")[2] == mine[2]
        assert served.call("GET", place, who="zoe")[2] == theirs[2]

    @pytest.mark.parametrize("share", [0.3, 0.99, 1])
    def test_a_connection_that_ends_within_a_request(self, served, share):
        """Half a request is none; a whole one whose client is gone is carried out once, and its result kept."""
        id = f"cut-{int(100 * share)}"
        body = json.dumps({"id": id, "request": COUNT}).encode()
        head = f"POST /v1/datasets/people/requests HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {served.tokens['mara']}"
        whole = f"{head}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(served.socket))
            connection.sendall(whole[: int(len(whole) * share)])
        end = time.monotonic() + 120
        while share == 1 and not paid(served, id) and time.monotonic() < end:
            time.sleep(0.05)
        status = served.ask(id, COUNT)[0]
        assert status == 200
        assert len(paid(served, id)) == 1


DEEP = "(" * 4000 + "age > 3" + ")" * 4000


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "1e999999999"},
        {"epsilon": "1e-999999999"},
        {"epsilon": "1/" + "9" * 5000},
        {"epsilon": {"exact": "1/" + "9" * 400_000, "float": 0.1}},
        {"epsilon": int("9" * 100)},
        {"where": DEEP},
        {"where": "not " * 2400 + "age > 3"},
        {"where": "age > 1e999999999"},
        {"task": {"task": "marginals", "way": 10**30}},
        {"task": {"task": "histogram", "attributes": ["ward"] * 10_000}},
        {"task": {"task": "quantiles", "attribute": "age", "levels": [1e-300] * 10_000}},
    ],
)
def test_numbers_and_texts_without_measure(served, change):
    """They are refused at once, in a short sentence, and the worker lives on."""
    workers = served.processes("worker")
    before = time.monotonic()
    status, said = error(served.ask("measureless", COUNT | change))
    assert time.monotonic() - before < 10
    assert (status, len(said["message"]) < 1000) == (400, True)
    assert served.processes("worker") == workers
    assert not paid(served, "measureless")


class TestWhatAnalystsAreTold:
    def test_nothing_of_the_servers_files(self, served):
        """A table that cannot be opened again: its path is in the curator's log, and in no reply."""
        data, away = served.folder / "people.parquet", served.folder / "away.parquet"
        data.rename(away)
        try:
            served.kill("worker")
            time.sleep(0.3)
            status, said = error(served.ask("homeless", COUNT))
        finally:
            away.rename(data)
        assert (status, said["kind"]) == (503, "Busy")
        assert "/" not in said["message"]
        assert str(data) in (served.folder / "serve.log").read_text()
        assert served.ask("homeless", COUNT)[0] == 200

    def test_nothing_of_the_ledgers_place(self, capsys):
        settings = {
            "name": "people",
            "time_limit": 1,
            "results": "own",
            "anchor": None,
            "consent": {},
            "analysts": {},
            "worker": {},
        }
        keeper = Keeper(settings)
        keeper.ledger = Broken()
        for role, place in (("analyst", False), ("curator", True)):
            with pytest.raises(AdytonError) as told:
                asyncio.run(keeper.answer({"call": "list", "analyst": "zoe", "role": role}))
            assert (Broken.PLACE in str(told.value)) == place
            assert error_of(told.value)["kind"] == "LedgerError"
        assert Broken.PLACE in capsys.readouterr().err


def test_nothing_shows_before_a_reply_may_leave(tmp_path):
    """Not in the list, not in a budget, not by asking for the result: neither to those who measure nor to others."""
    timing = {"on": True, "count": 0.05, "small": 2.0, "large": 4.0}
    with serving.Keeper(tmp_path / "keeper.sock") as keeper, serving.Server(tmp_path, keeper, timing=timing) as server:
        place, body = "/v1/datasets/visits", {"source": 0, "operator": "{}", "epsilon": "1/10", "id": "m1"}

        def seen(who):
            status = {one["id"]: one["status"] for one in plain("GET", f"{place}/requests", who)["requests"]}.get("m1")
            return status, plain("GET", place, who)["budget"]["spent"]

        def plain(method, path, who):
            return json.loads(server.ask(method, path, who=who)[2])

        assert [seen("mara"), seen("olga")] == [(None, "0")] * 2
        with ThreadPoolExecutor(1) as pool:
            measured = pool.submit(server.ask, "POST", f"{place}/door/d1/measure", body)
            while not keeper.runs:
                time.sleep(0.01)
            assert [seen("mara"), seen("olga")] == [("under way", "0")] * 2
            assert server.ask("GET", f"{place}/requests/m1")[0] == 202
            assert not measured.done()
            assert measured.result()[0] == 200
        assert [seen("mara"), seen("olga")] == [("done", "1")] * 2


def test_the_budget_of_a_data_set_shows_no_work_at_another_with_its_ledger(tmp_path):
    """A call that would say what is left begins when the reply about the other data set has left."""
    with serving.Keeper(tmp_path / "keeper.sock") as keeper:
        one = {"socket": str(keeper.path), "analysts": ["mara"], "account": "visits"}
        options = {"timing": {"on": True, "count": 0.3}, "datasets": {"visits": one, "twin": one}}
        with serving.Server(tmp_path, keeper, **options) as server, ThreadPoolExecutor(1) as pool:
            asked = {"request": {**serving.COUNT, "seconds": 0.5}}
            first = pool.submit(server.ask, "POST", "/v1/datasets/visits/requests", asked)
            while not keeper.runs:
                time.sleep(0.01)
            assert not first.done()
            afford = {"source": 0, "epsilon": "1"}
            assert server.ask("POST", "/v1/datasets/twin/door/d1/afford", afford)[0] == 200
            assert first.done()


def test_what_is_cancelled_in_the_queue_is_cancelled_at_the_keeper(tmp_path):
    """A consent that waits for its turn is no more than that: the request behind it would stay."""
    timing = {"on": True, "count": 3.0, "small": 3.0, "large": 3.0}
    with serving.Keeper(tmp_path / "keeper.sock") as keeper, serving.Server(tmp_path, keeper, timing=timing) as server:
        place = "/v1/datasets/visits/requests"
        keeper.results["mara", "known"] = {"consent": True}
        with ThreadPoolExecutor(5) as pool:
            first = {"id": "first", "request": serving.COUNT}
            asked = [pool.submit(server.ask, "POST", place, first)]
            while not keeper.runs:
                time.sleep(0.01)
            asked.append(pool.submit(server.ask, "POST", place, {"id": "new", "request": serving.COUNT}))
            consent = {"grant": True, "analyst": "mara", "digest": "0" * 64}
            asked.append(pool.submit(server.ask, "POST", f"{place}/known/consent", consent, "olga"))
            while b"adyton_under_way 4.0" not in server.ask("GET", "/metrics", who=None)[2]:
                time.sleep(0.01)  # with this call there are four: two of them are in the queue, or will be at once
            time.sleep(0.1)
            cancelled = list(pool.map(lambda id: server.ask("DELETE", f"{place}/{id}")[0], ("new", "known")))
            assert [reply.result()[0] for reply in asked] == [200, 404, 404]
        assert cancelled == [200, 200]
        calls = sorted((call["call"], call["id"]) for call in keeper.calls)
        assert calls == [("ask", "first"), ("cancel", "known"), ("cancel", "new")]


def test_a_part_moves_from_one_to_another(tmp_path):
    """In any order of names, although less may be set aside than both parts of old and new together."""
    with Ledger.open(tmp_path / "l", total=10, dataset="d") as ledger:
        ledger.set_analyst("ann", part=1, aside=True)
        ledger.set_analyst("bob", part=9, aside=True)
        set_all(ledger, {"ann": {"part": "9", "aside": True}, "bob": {"part": "1", "aside": True}})
        assert [one.part for one in ledger.analysts()] == [9, 1]
        with pytest.raises(LedgerMismatch, match="cannot set aside"):
            set_all(ledger, {"ann": {"part": "9", "aside": True}, "bob": {"part": "2", "aside": True}})


def test_a_part_of_somebody_who_was_taken_out(tmp_path, capsys):
    """It stays set aside, because another service may let them ask; the curator reads how to give it up."""
    worker = {"ledger": str(tmp_path / "l")}
    settings = {"name": "d", "time_limit": 1, "results": "own", "anchor": None, "consent": {}, "worker": worker}
    settings["analysts"] = {"bob": {"part": "2", "aside": True}}
    with Ledger.open(tmp_path / "l", total=10, dataset="d") as ledger:
        ledger.set_analyst("ann", part=7, aside=True)
        with ledger.on_behalf("ann"):
            ledger.debit(Fraction(3), lineage=["d"], operator="count")
    said = {}
    for granted in (["bob"], ["bob", "ann"], None):
        keeper = Keeper(settings | {"granted": granted})
        keeper.worker.total = Fraction(10)  # as its worker says when it has opened the table
        with keeper._opened() as ledger:
            assert ledger.budget.remaining == 10 - 7 - 2
        said[str(granted)] = capsys.readouterr().err
    assert "4 of" in said["['bob']"]
    assert "who is not in this configuration" in said["['bob']"]
    assert f"adyton ledger analyst {tmp_path / 'l'} ann --release" in said["['bob']"]
    assert said["['bob', 'ann']"] == said["None"] == ""


class Broken:
    """A ledger that cannot be read."""

    PLACE = "/srv/hidden/people.ledger"

    def requests(self):
        raise LedgerError(f"{self.PLACE} is damaged.")


def alive(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ended(numbers, seconds=120):
    """Whether all these processes end."""
    end = time.monotonic() + seconds
    while any(map(alive, numbers)) and time.monotonic() < end:
        time.sleep(0.1)
    return not any(map(alive, numbers))


@pytest.mark.full
def test_a_killed_supervisor_leaves_nothing_behind(tmp_path):
    with Served(tmp_path) as service:
        told = service.ask("before", COUNT)
        numbers = [one for module in ("keeper", "worker", "web") for one in service.processes(module)]
        assert len(numbers) == 3
        service.process.kill()
        service.process.wait()
        assert ended(numbers)
        service.__enter__()
        assert service.ask("before", COUNT)[2] == told[2]
        # asked to end, the service completes what has begun
        replies = []
        asking = threading.Thread(target=lambda: replies.append(service.ask("last", COUNT | {"epsilon": "0.5"})))
        asking.start()
        while service.process.poll() is None and not replies:
            if Ledger.read(tmp_path / "people.ledger").spent > 0.4:
                service.process.send_signal(signal.SIGTERM)
            time.sleep(0.01)
        asking.join()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(60) == 0
        ((status, _, body),) = replies
        assert status == 200
        with Ledger.open(tmp_path / "people.ledger", total=100, dataset="people") as ledger:
            assert ledger.request("mara", "last").result.encode() == body


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["people.parquet"], "is no configuration"),
        (["people.parquet", "--schema", "people.toml", "--ledger", "new.ledger"], "give the total"),
    ],
)
def test_words_that_no_service_is_started_for(tmp_path, monkeypatch, given, message):
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["serve", *given])
    assert done.exit_code in (1, 2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


def test_one_table_is_served_without_pages(tmp_path, monkeypatch):
    """A cookie for all paths of 127.0.0.1 would reach the servers of other users of the machine."""
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    served = []

    def begun(settings, _):
        served.append(settings)
        raise BadInput("enough")

    monkeypatch.setattr("adyton.cli.serve.supervisor.Service", begun)
    given = ["people.parquet", "--schema", "people.toml", "--ledger", "new.ledger", "--total", "1"]
    assert "enough" in CliRunner().invoke(app, ["serve", *given]).stderr
    assert not served[0].http.pages


def test_a_service_that_cannot_start(tmp_path):
    """One sentence, no traceback, and no process left behind."""
    write_data(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        given = ["people.parquet", "--schema", "people.toml", "--ledger", "new.ledger", "--total", "1"]
        command = [sys.executable, "-m", "adyton", "serve", *given, "--listen", place]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (1, 2)
    assert "Address already in use" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


def test_a_user_that_cannot_run_python(tmp_path):
    part = Part("the HTTP process", "adyton.service.web", {}, {"cwd": tmp_path / "none"})
    with pytest.raises(NotReady, match="cannot run"):
        asyncio.run(part.start())
