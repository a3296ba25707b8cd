"""The whole service over a real socket: requests, ids, budgets of several people, consent, the door, processes."""

import json
import os
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

import adyton as ad
from adyton.errors import AdytonError, BudgetExceeded, Waiting
from adyton.kernel.ledger import Ledger
from adyton.plans import plan_named
from adyton.service.access import Access
from service.whole import ROWS, Served

COUNT = {"task": "count", "epsilon": "0.001"}


FOREIGN = """
from adyton.plans import Plan, Tasks

with open({mark!r}, "a") as file:
    file.write("imported")

class Foreign(Plan):
    name, serves = "foreign", Tasks(dimensions=(1,))
"""
"""A plan of another package, which says so when it is imported."""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """With a package in its path that declares a plan."""
    folder, package = tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("foreign")
    about = package / "foreign_plans-1.dist-info"
    about.mkdir()
    (package / "foreign_plans.py").write_text(FOREIGN.format(mark=str(folder / "imported")))
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-plans\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[adyton.plans]\nforeign = foreign_plans:Foreign\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")]))
        with Served(folder) as service:
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
    grant = {"grant": True, "analyst": "ben", "digest": served.digest(waiting.value.id), "word": "fine"}
    assert error(served.call("POST", f"{place}/consent", grant, "mara"))[0] == 403
    for wrong in ({"digest": "0" * 64}, {"digest": ""}, {"analyst": ""}, {"analyst": " "}, {"analyst": "Ben"}):
        assert error(served.call("POST", f"{place}/consent", grant | wrong, "olga"))[0] in (400, 404)
    del grant["digest"]
    assert error(served.call("POST", f"{place}/consent", grant, "olga"))[0] == 400
    grant["digest"] = served.digest(waiting.value.id)
    status, _, _ = served.call("POST", f"{place}/consent", grant, "olga")
    assert status in (200, 202)
    assert ben.fetch(waiting.value.id).epsilon == ben.spent == 2
    with pytest.raises(Waiting) as second:
        ben.release(ad.Histogram("ward"), epsilon="1.5")
    place = f"/v1/datasets/people/requests/{second.value.id}"
    refusal = {"grant": False, "analyst": "ben", "digest": served.digest(second.value.id), "word": "too much"}
    served.call("POST", f"{place}/consent", refusal, "olga")
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


REQUESTS = "/v1/datasets/people/requests"
BAD = [
    ("", {"request": COUNT}, "nobody", 401, "Unauthorized"),
    ("", {"request": COUNT}, "expired", 401, "Unauthorized"),
    ("", {"request": COUNT}, "revoked", 401, "Unauthorized"),
    ("", {"request": COUNT}, "foreign", 401, "Unauthorized"),
    ("", {"request": COUNT}, "pat", 403, "Forbidden"),
    ("", {"request": {"task": "count", "epsilon": 0}}, "mara", 400, "BadInput"),
    ("", {"request": {"task": "count", "epsilon": "nan"}}, "mara", 400, "BadInput"),
    ("", {"request": {"task": "histogram", "attributes": ["name"], "epsilon": 1}}, "mara", 400, "SchemaError"),
    ("", {"request": {"task": "os:system", "epsilon": 1}}, "mara", 400, "BadInput"),
    ("", {"request": {"task": "foreign_plans:Foreign", "epsilon": 1}}, "mara", 400, "BadInput"),
    *(
        ("", {"request": {"task": "histogram", "attributes": ["age"], "algorithm": name, "epsilon": "0.1"}},
         "mara", 400, "BadInput")
        for name in ("os:system", "foreign", "foreign_plans:Foreign", "foreign_plans.Foreign")
    ),
    ("", {"request": {"task": "histogram", "attributes": ["sex"], "known": "/etc/passwd", "epsilon": "0.1"}},
     "mara", 400, "BadInput"),
    ("", {"request": COUNT, "id": "no way"}, "mara", 400, "BadInput"),
    ("", {"request": COUNT | {"where": "name = 'a'"}}, "mara", 400, "PredicateError"),
    ("", {"request": COUNT | {"epsilon": "9.9999"}}, "mara", 409, "BudgetExceeded"),
    ("", {"request": COUNT, "more": "x" * 2**20}, "mara", 413, "TooLarge"),
    ("/none", None, "mara", 404, "NotFound"),
    ("/hers", None, "zoe", 404, "NotFound"),
    ("/hers?analyst=mara", None, "zoe", 403, "Forbidden"),
    ("/none/consent", {"grant": True, "analyst": "mara", "digest": "0" * 64}, "mara", 403, "Forbidden"),
    *((f"/hers?analyst={name}", None, who, 400, "BadInput") for name in ("", "%20", "%09") for who in ("zoe", "olga")),
    ("/hers?analyst=Mara", None, "olga", 404, "NotFound"),
    *(
        ("/../door/{door}/measure", {"source": source, "operator": operator, "epsilon": "1/100"}, who, status, kind)
        for source, operator, who, status, kind in [
            (1, "NoisyCount", "zoe", 410, "Gone"),
            (1, "NoisyCount", "ben", 403, "Forbidden"),
            (999, "NoisyCount", "mara", 410, "Gone"),
            (1, "Popen", "mara", 400, "BadInput"),
            (1, "os:system", "mara", 400, "BadInput"),
            (1, "foreign_plans:Foreign", "mara", 400, "BadInput"),
        ]
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def strangers(served, tmp_path_factory):
    """Tokens that are not valid here, and a door of mara."""
    access = Access(served.folder / "access.sqlite")
    expired, revoked = access.make("mara", expires=int(time.time()) + 1), access.make("mara")
    access.revoke_token(revoked.split("_")[1])
    foreign = Access(tmp_path_factory.mktemp("elsewhere") / "access.sqlite").make("mara")
    served.tokens |= {"expired": expired, "revoked": revoked, "foreign": foreign}
    served.ask("hers", COUNT)
    time.sleep(1.1)
    return json.loads(served.call("POST", "/v1/datasets/people/door", who="mara")[2])["door"]


@pytest.mark.parametrize(("path", "body", "who", "status", "kind"), BAD, ids=lambda value: str(value)[:40])
def test_bad_requests_spend_nothing(served, strangers, path, body, who, status, kind):
    """The right status, one sentence, no debit, an entry in the audit log, and nothing that was named is imported."""
    before = Ledger.read(served.folder / "people.ledger").entries
    place = f"{REQUESTS}{path}".replace("/requests/..", "").format(door=strangers)
    if body and "operator" in body:
        body = body | {"operator": json.dumps({body["operator"]: {}})}
    found, said = error(served.call("GET" if body is None else "POST", place, body, who))
    assert (found, said["kind"]) == (status, kind)
    assert "\n" not in said["message"]
    assert said["message"][-1] in ".?)'"
    assert str(served.folder) not in said["message"]
    assert Ledger.read(served.folder / "people.ledger").entries == before
    entry = [json.loads(line) for line in (served.folder / "audit.log").read_text().splitlines()][-1]
    known = None if status == 401 else who
    assert (entry["status"], entry["kind"], entry.get("who")) == (status, kind, known)
    assert not (served.folder / "imported").exists()


def test_curators_fetch_results_of_analysts(served, strangers):
    assert served.call("GET", f"{REQUESTS}/hers?analyst=mara", who="olga")[0] == 200


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
