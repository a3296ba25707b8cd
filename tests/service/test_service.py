"""The whole service over a real socket: requests, ids, budgets of several people, consent, the door, processes."""

import json
import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import adyton as ad
from adyton.errors import AdytonError, BudgetExceeded, Waiting
from adyton.kernel.ledger import Ledger
from adyton.plans import plan_named
from service.whole import CANARY, ROWS, Served

COUNT = {"task": "count", "epsilon": "0.001"}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("served")) as service:
        yield service


def error(reply):
    status, _, body = reply
    return status, json.loads(body)["error"]


def spent(served, who="mara"):
    return served.connect(who).spent


def test_what_comes_back_is_what_would_be_saved(served, tmp_path):
    session = served.connect()
    release = session.release(ad.Histogram("ward"), epsilon="0.5")
    assert abs(release.estimate.sum() - ROWS) < 200
    release.save(tmp_path / "there")
    with ad.Session(served.folder / "people.parquet", schema=served.folder / "people.toml", epsilon=1) as near:
        near.release(ad.Histogram("ward"), epsilon="0.5").save(tmp_path / "here")
    there, here = (json.loads((tmp_path / one / "release.json").read_text()) for one in ("there", "here"))
    assert there.keys() == here.keys()
    assert there["record"].keys() == here["record"].keys()
    assert ad.load(tmp_path / "there").estimate.tolist() == release.estimate.tolist()
    (receipt,) = session.receipts.values()
    assert (receipt["dataset"], receipt["analyst"]) == ("people", "mara")


def test_every_kind_of_request(served):
    session = served.connect()
    assert abs(session.count("0.5").value - ROWS) < 100
    fitted = session.fit(ad.Classifier("ward", ["age", "sex"]), epsilon="0.5")
    assert set(fitted.predict({"age": [30], "sex": ["F"]})) <= {"eye", "ear", "heart", "hand"}
    tables = session.release(ad.Marginals(way=2), epsilon="0.5")
    assert abs(tables.table("sex", "ward").counts.sum() - ROWS) < 300
    means = session.release(ad.Mean("age", by="sex"), epsilon="0.5").to_frame()
    assert len(means) == 2


def test_a_repeated_id_costs_nothing_and_returns_the_same_bytes(served):
    first = served.ask("twice", COUNT)
    paid = spent(served)
    again = served.ask("twice", COUNT)
    fetched = served.call("GET", "/v1/datasets/people/requests/twice", who="mara")
    assert first[0] == again[0] == fetched[0] == 200
    assert first[2] == again[2] == fetched[2]
    assert spent(served) == paid
    status, other = error(served.ask("twice", COUNT | {"epsilon": "0.002"}))
    assert (status, other["kind"]) == (400, "BadInput")


def test_everybody_has_a_part(served):
    zoe = served.connect("zoe")
    with pytest.raises(BudgetExceeded, match="zoe") as refused:
        zoe.count(91)
    assert refused.value.left == zoe.remaining == 90 - served.connect("olga").spent + served.connect("mara").spent
    with pytest.raises(BudgetExceeded, match="ask the curator"):
        served.connect().count("9.99")


def test_a_request_that_waits_for_consent(served):
    ben = served.connect("ben")
    with pytest.raises(Waiting) as waiting:
        ben.release(ad.Histogram("sex"), epsilon=2)
    place = f"/v1/datasets/people/requests/{waiting.value.id}"
    assert ben.spent == 0
    assert error(served.call("POST", f"{place}/consent", {"grant": True, "analyst": "ben"}, "mara"))[0] == 403
    status, _, _ = served.call("POST", f"{place}/consent", {"grant": True, "analyst": "ben", "word": "fine"}, "olga")
    assert status in (200, 202)
    assert ben.fetch(waiting.value.id).epsilon == ben.spent == 2
    with pytest.raises(Waiting) as second:
        ben.release(ad.Histogram("ward"), epsilon="1.5")
    place = f"/v1/datasets/people/requests/{second.value.id}"
    served.call("POST", f"{place}/consent", {"grant": False, "analyst": "ben", "word": "too much"}, "olga")
    with pytest.raises(AdytonError, match="refused"):
        ben.fetch(second.value.id)
    assert ben.count(1).epsilon == 1  # not above the limit
    status, refused = error(served.call("POST", "/v1/datasets/people/door", who="ben"))
    assert (status, refused["kind"]) == (403, "Forbidden")


def test_a_plan_through_the_door(served):
    x = served.connect().kernel.root.where("age >= 10").select("age").vectorize()
    estimate = plan_named("hb").estimate(x, ad.workloads.Prefix(100), Fraction(1, 2))
    assert abs(np.sum(estimate) - ROWS * 0.9) < 200


def test_parts_of_a_split_cost_as_much_as_one(served):
    session = served.connect()
    before = session.spent
    for part in session.kernel.root.split("sex"):
        part.count(epsilon="0.01")
    assert session.spent - before == Fraction(1, 100)


@pytest.mark.parametrize(
    ("path", "body", "who", "status", "kind"),
    [
        ("", {"request": COUNT}, "nobody", 401, "Unauthorized"),
        ("", {"request": COUNT}, "pat", 403, "Forbidden"),
        ("", {"request": {"task": "count", "epsilon": 0}}, "mara", 400, "BadInput"),
        ("", {"request": {"task": "count", "epsilon": "nan"}}, "mara", 400, "BadInput"),
        ("", {"request": {"task": "histogram", "attributes": ["name"], "epsilon": 1}}, "mara", 400, "SchemaError"),
        ("", {"request": {"task": "os:system", "epsilon": 1}}, "mara", 400, "BadInput"),
        ("", {"request": {"task": "histogram", "attributes": ["age"], "algorithm": "os:system", "epsilon": "0.1"}},
         "mara", 400, "BadInput"),
        ("", {"request": {"task": "histogram", "attributes": ["sex"], "known": "/etc/passwd", "epsilon": "0.1"}},
         "mara", 400, "BadInput"),
        ("", {"request": COUNT, "id": "no way"}, "mara", 400, "BadInput"),
        ("", {"request": COUNT | {"where": "name = 'a'"}}, "mara", 400, "PredicateError"),
        ("", {"request": COUNT | {"epsilon": "9.9999"}}, "mara", 409, "BudgetExceeded"),
        ("/none", None, "mara", 404, "NotFound"),
        ("/none/consent", {"grant": True, "analyst": "mara"}, "mara", 403, "Forbidden"),
    ],
)  # fmt: skip
def test_bad_requests_spend_nothing(served, path, body, who, status, kind):
    before = Ledger.read(served.folder / "people.ledger").spent
    method = "GET" if body is None else "POST"
    found, said = error(served.call(method, f"/v1/datasets/people/requests{path}", body, who))
    assert (found, said["kind"]) == (status, kind)
    assert "\n" not in said["message"]
    assert said["message"][-1] in ".?)'"
    assert Ledger.read(served.folder / "people.ledger").spent == before
    entries = [json.loads(line) for line in (served.folder / "audit.log").read_text().splitlines()]
    assert entries[-1]["status"] == status


def test_another_analysts_result_is_not_there(served):
    served.ask("mine", COUNT)
    assert error(served.call("GET", "/v1/datasets/people/requests/mine", who="zoe"))[0] == 404
    assert error(served.call("GET", "/v1/datasets/people/requests/mine?analyst=mara", who="zoe"))[0] == 403
    assert served.call("GET", "/v1/datasets/people/requests/mine?analyst=mara", who="olga")[0] == 200


def test_a_source_of_another_door(served):
    door = json.loads(served.call("POST", "/v1/datasets/people/door", who="mara")[2])["door"]
    body = {"source": 1, "operator": '{"NoisyCount": {}}', "epsilon": "1/100"}
    path = f"/v1/datasets/people/door/{door}/measure"
    assert error(served.call("POST", path, body, "zoe"))[0] == 410
    assert error(served.call("POST", path, body | {"source": 999}, "mara"))[0] == 410
    bad = error(served.call("POST", path, body | {"operator": '{"Popen": {"args": "id"}}'}, "mara"))
    assert bad[0] == 400


def test_the_process_that_speaks_http_has_no_rows(served):
    """No open file, no memory and no variable of it has anything of the table."""
    served.connect().count("0.01")
    (web,) = served.processes("web")
    files = [os.readlink(f"/proc/{web}/fd/{one}") for one in os.listdir(f"/proc/{web}/fd")]
    assert not [file for file in files if "people.parquet" in file or ".ledger" in file]
    assert b"people.parquet" not in Path(f"/proc/{web}/environ").read_bytes()
    (worker,) = served.processes("worker")
    assert not memory(web, CANARY.encode())
    if os.geteuid() == 0:  # the same search finds what is there
        assert memory(os.getpid(), b"visits-are-here")
    assert worker not in (web, *served.processes("keeper"))


def memory(process, wanted):
    """What of *wanted* is found in the memory of a process."""
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as content:
        for line in maps:
            span, rights, *_ = line.split()
            start, end = (int(number, 16) for number in span.split("-"))
            if not rights.startswith("r") or "[v" in line:
                continue
            content.seek(start)
            try:
                if wanted in content.read(end - start):
                    return wanted
            except OSError:
                continue
    return b""


@pytest.mark.skipif(os.geteuid() != 0, reason="changing the user needs root")
def test_another_user_can_ask_and_cannot_read(served):
    for folder in (served.folder, *served.folder.parents):
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(folder.stat().st_mode | 0o011)
    served.socket.chmod(0o666)
    program = f"""
import os
import adyton as ad

def ask():
    session = ad.connect("unix:{served.socket}", token={served.tokens["mara"]!r}, dataset="people")
    ages = session.release(ad.Histogram("age"), epsilon="0.1")
    session.fit(ad.Classifier("ward", ["age", "sex"]), epsilon="0.1")
    session.release(ad.Marginals(way=2), epsilon="0.1")
    return int(ages.estimate.sum())

ask()  # loads what it needs: this Python may lie where only root reads
os.setgroups([]), os.setgid(65534), os.setuid(65534)
try:
    open({str(served.folder / "people.parquet")!r}, "rb")
    print("it could read the rows")
except PermissionError:
    print(ask())
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.stdout.strip().isdecimal(), done.stderr
    assert abs(int(done.stdout) - ROWS) < 500


class TestKilled:
    """kill −9 over any of its processes: what was acknowledged is there, nothing is paid twice, and it goes on."""

    @pytest.mark.parametrize("module", ["worker", "keeper", "web"])
    def test_a_killed_process(self, served, module):
        told = served.ask(f"before-{module}", COUNT)
        paid = spent(served)
        assert served.kill(module) == 1
        served.wait()
        again = served.ask(f"before-{module}", COUNT)
        assert (again[0], again[2]) == (200, told[2])
        assert spent(served) == paid
        assert served.connect(patience=60).count("0.001").epsilon == Fraction(1, 1000)

    def test_a_door_survives_its_process(self, served):
        x = served.connect(patience=60).kernel.root.where("age >= 50").select("sex").vectorize()
        served.kill("worker")
        assert abs(x.measure(ad.workloads.Identity(x.shape), epsilon="0.5").answers.sum() - ROWS / 2) < 150

    def test_killed_in_the_middle(self, served):
        session = served.connect(patience=60)
        before = session.spent
        process = subprocess.Popen(
            [sys.executable, "-c", f"""
import adyton as ad
session = ad.connect("unix:{served.socket}", token={served.tokens["mara"]!r}, dataset="people", patience=60)
print(session.release(ad.Marginals(way=2), epsilon="0.25").epsilon)
"""], stdout=subprocess.PIPE, text=True)  # fmt: skip
        end = time.monotonic() + 120
        while session.spent == before and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        served.kill("worker")
        said, _ = process.communicate(timeout=300)
        assert session.spent - before <= Fraction(1, 4)
        assert said.strip() in ("1/4", "")


@pytest.mark.full
def test_a_ledger_that_was_rolled_back(tmp_path):
    with Served(tmp_path) as service:
        service.connect().count("0.1")
        old = (tmp_path / "people.ledger").read_bytes()
        service.connect().count("0.1")
    (tmp_path / "people.ledger").write_bytes(old)
    for ending in ("-wal", "-shm"):
        (tmp_path / f"people.ledger{ending}").unlink(missing_ok=True)
    with pytest.raises(AssertionError, match="rolled back"):
        service.__enter__()
