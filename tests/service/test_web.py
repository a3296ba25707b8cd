"""The HTTP process over real sockets: routes, roles, errors, limits, receipts, the audit log, its end."""

import base64
import contextlib
import io
import json
import signal
import subprocess
import sys
import threading
import time

import pytest
from serving import COUNT, RESULT, Keeper, Server, within

from adyton.errors import ServiceError
from adyton.service import web
from adyton.service.access import Access
from adyton.session.remote import verified

ASK = "/v1/datasets/visits/requests"


@pytest.fixture(scope="module")
def keeper(tmp_path_factory):
    with Keeper(tmp_path_factory.mktemp("keeper") / "visits.sock") as keeper:
        yield keeper


@pytest.fixture(scope="module")
def server(tmp_path_factory, keeper):
    limits = {"body": 4096, "requests_per_minute": 100_000, "head_seconds": 1.0, "body_seconds": 1.0}
    with Server(tmp_path_factory.mktemp("web"), keeper, tls=True, limits=limits) as server:
        yield server


LOADED = """
import sys
sys.argv = ["web"]
import adyton.service.web as web
web.main()
print(sorted(set(sys.modules) & {"numpy", "pyarrow", "duckdb", "scipy", "numba", "sqlglot", "pandas"}),
      [name for name in sys.modules if name.startswith(("adyton.kernel", "adyton.session", "adyton.schema"))])
"""


def test_the_process_has_no_code_that_opens_data(tmp_path, keeper):
    """Served once, over a Unix socket, it has loaded nothing that could; and SIGTERM ends it with 0."""
    server = Server(tmp_path, keeper, listen=f"unix:{tmp_path}/http.sock")
    process = subprocess.Popen([sys.executable, "-c", LOADED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(json.dumps(server.settings) + "\n")
    process.stdin.flush()
    server.address = json.loads(process.stdout.readline())["ready"]
    assert server.ask("POST", ASK, {"id": "over-unix", "request": COUNT})[0] == 200
    assert server.ask("GET", "/v1/me")[0] == 200
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=180)[0] == "[] []\n"
    assert process.returncode == 0
    assert not (tmp_path / "http.sock").exists()


def test_a_request_and_its_receipt(server, keeper):
    status, headers, body = server.ask("POST", ASK, {"id": "first", "request": COUNT})
    assert (status, body.decode()) == (200, RESULT)
    assert headers["adyton-request"] == "first"
    public = json.loads(server.ask("GET", "/v1/key")[2])["key"]
    receipt = headers["adyton-receipt"]
    assert verified(public, receipt, body) | {"digest": ""} == {
        "dataset": "visits",
        "analyst": "mara",
        "request": "first",
        "digest": "",
        "entries": [1, 2],
        "date": "2027-01-01",
    }
    with pytest.raises(ServiceError, match="another result"):
        verified(public, receipt, body + b" ")
    forged = json.loads(base64.urlsafe_b64decode(receipt + "=="))
    forged["analyst"] = "ben"
    with pytest.raises(ServiceError, match="not signed"):
        verified(public, base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("="), body)
    again = server.ask("POST", ASK, {"id": "first", "request": COUNT})
    assert (again[0], again[2]) == (200, body)
    assert server.ask("GET", f"{ASK}/first")[2] == body
    assert keeper.runs["mara", "first"] == 1
    assert keeper.calls[-1] == {"call": "fetch", "analyst": "mara", "role": "analyst", "id": "first"}


def test_every_reply_has_headers_of_security(server):
    for method, path, who in (("GET", "/health", None), ("GET", "/v1/me", "mara"), ("GET", "/no", None)):
        headers = {name.lower(): value for name, value in server.ask(method, path, who=who)[1].items()}
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["strict-transport-security"].startswith("max-age=")
        assert not {"server", "access-control-allow-origin"} & set(headers)


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/v1/datasets/none", 404, "NotFound"),
        ("GET", f"{ASK}/none", 404, "NotFound"),
        ("GET", "/v1/", 404, "NotFound"),
        ("GET", "/v1/datasets/visits/", 404, "NotFound"),
        ("GET", "/", 404, "NotFound"),
        ("GET", "/docs", 404, "NotFound"),
        ("PUT", ASK, 405, "MethodNotAllowed"),
        ("OPTIONS", ASK, 405, "MethodNotAllowed"),
        ("BREW", "/health", 405, "MethodNotAllowed"),
        ("GET", "/v1/datasets/visits/ledger", 403, "Forbidden"),
        ("GET", "/v1/datasets/visits/analysts", 403, "Forbidden"),
        ("GET", f"{ASK}/first?analyst=mara", 403, "Forbidden"),
        ("GET", f"{ASK}/{'a' * 65}", 400, "BadInput"),
        ("GET", f"{ASK}/a%20b", 400, "BadInput"),
    ],
)
def test_errors_of_paths(server, method, path, status, kind):
    found, error = server.error(method, path)
    assert (found, error["kind"]) == (status, kind)


def test_a_head_request_has_no_body(server):
    status, _, body = server.ask("HEAD", "/v1/me")
    assert (status, body) == (405, b"")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"\xff"',
        b"{}",
        b'{"request": 1}',
        b'{"request": {}, "wait": -1}',
        b'{"request": {}, "wait": "1"}',
        b'{"request": {}, "wait": NaN}',
        b'{"request": {}, "wait": 1e999}',
        b'{"request": {}, "id": ""}',
        b'{"request": {}, "id": "a b"}',
        b'{"request": {}, "id": "a\\n"}',
        b'{"request": {}, "id": "\\u0000"}',
        b'{"request": {}, "who": 1}',
        b'{"request": {}, "request": {}}',
        b'{"request": {"epsilon": ' + b"9" * 101 + b"}}",
        b'{"request": {"where": "\\ud800"}}',
        b'{"request": ' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"request": ' + b'{"a":' * 64 + b"1" + b"}" * 64 + b"}",
    ],
)
def test_bodies_that_are_refused(server, keeper, body):
    before = len(keeper.calls)
    status, error = server.error("POST", ASK, body)
    assert (status, error["kind"]) == (400, "BadInput")
    assert error["message"].endswith(".")
    assert len(keeper.calls) == before


def test_a_body_at_each_limit(server):
    deep = json.loads("[" * 61 + "]" * 61)
    body = {"id": "limits", "request": {**COUNT, "deep": deep, "digits": int("9" * 100)}}
    assert server.ask("POST", ASK, body)[0] == 200
    assert server.keeper.results["mara", "limits"] == body["request"]


def test_another_content_type(server):
    status, error = server.error("POST", ASK, {"request": COUNT}, headers={"Content-Type": "text/plain"})
    assert (status, error["kind"]) == (400, "BadInput")


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("BadInput", 400),
        ("PredicateError", 400),
        ("Forbidden", 403),
        ("NotFound", 404),
        ("BudgetExceeded", 409),
        ("LedgerMismatch", 409),
        ("UnderWay", 409),
        ("Gone", 410),
        ("KernelFailure", 500),
        ("Unfinished", 500),
        ("LedgerError", 503),
        ("Busy", 503),
    ],
)
def test_errors_of_a_keeper(server, kind, status):
    said = {"kind": kind, "message": "In words.", "asked": "1/2", "left": "1/3", "total": "1", "secret": "7"}
    found, headers, body = server.ask("POST", ASK, {"request": {"error": said}})
    assert (found, json.loads(body)["error"]) == (status, {name: said[name] for name in said if name != "secret"})
    assert ("retry-after" in headers) == (status == 503)
    assert server.audit()[-1]["kind"] == kind


def test_a_keeper_with_a_defect(server):
    status, error = server.error("POST", ASK, {"request": {"error": {"kind": "ZeroDivisionError", "message": "row 7"}}})
    assert (status, error["kind"]) == (500, "Defect")
    assert "row 7" not in error["message"]


def test_who_may_do_what(server, keeper):
    assert [about["dataset"] for about in json.loads(server.ask("GET", "/v1/datasets")[2])["datasets"]] == ["visits"]
    assert json.loads(server.ask("GET", "/v1/datasets", who="ben")[2]) == {"datasets": []}
    assert server.error("POST", ASK, {"request": COUNT}, who="ben")[0] == 403
    assert server.error("GET", "/v1/datasets/visits", who="graph")[0] == 403
    assert server.ask("GET", "/v1/datasets/visits/ledger", who="olga")[0] == 200
    server.ask("POST", ASK, {"id": "hers", "request": COUNT})
    assert server.ask("GET", f"{ASK}/hers?analyst=mara", who="olga")[2].decode() == RESULT
    body = {"grant": True, "analyst": "mara", "digest": "0" * 64, "word": "ok"}
    assert server.error("POST", f"{ASK}/hers/consent", body)[0] == 403
    server.ask("POST", f"{ASK}/hers/consent", body, who="olga")
    assert keeper.calls[-1] == {
        "call": "consent",
        "analyst": "olga",
        "role": "curator",
        "id": "hers",
        "analyst_of": "mara",
        "digest": "0" * 64,
        "grant": True,
        "word": "ok",
    }


def test_tokens(server):
    access = Access(server.folder / "access.sqlite")
    assert server.error("GET", "/v1/me", who=None)[0] == 401
    bad = [
        server.error("GET", "/v1/me", who=token)
        for token in ("x", "adyton_" + "0" * 16 + "_" + "a" * 43, server.tokens["mara"][:-1] + "~", "a.b.c", "é" * 99)
    ]
    token = access.make("mara")
    assert json.loads(server.ask("GET", "/v1/me", who=token)[2])["name"] == "mara"
    assert access.revoke(token.split("_")[1]) == 1
    revoked = server.error("GET", "/v1/me", who=token)
    short = access.make("mara", expires=int(time.time()) + 1)
    within(60, lambda: server.ask("GET", "/v1/me", who=short)[0] == 401)
    bad.append(server.error("GET", "/v1/me", who=short))
    assert all(found == revoked for found in bad)
    assert revoked[0] == 401
    assert server.tokens["mara"].encode() not in (server.folder / "access.sqlite").read_bytes()
    false = access.make("mara", "curator")
    assert json.loads(server.ask("GET", "/v1/me", who=false)[2])["role"] == "analyst"


@pytest.mark.parametrize("content", [None, b"", b"no database" * 100])
def test_a_file_of_tokens_that_is_gone(server, content):
    """Its disk failed: nobody comes in, nothing is said of it, and all goes on when it is back."""
    file, away = server.folder / "access.sqlite", server.folder / "away.sqlite"
    file.rename(away)
    try:
        if content is not None:
            file.write_bytes(content)
        status, error = server.error("GET", "/v1/me")
    finally:
        away.replace(file)
    assert (status, error["kind"]) == (503, "Busy")
    assert "sqlite" not in error["message"]
    assert server.ask("GET", "/v1/me")[0] == 200


def request_bytes(token, head, body=b""):
    return f"POST {ASK} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n{head}\r\n\r\n".encode() + body


JSON = "Content-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("head", "body", "status"),
    [
        ("Content-Length: 5000", b"a" * 5000, 413),
        ("Content-Length: 99999999999", b"", 413),
        ("Content-Length: 100", b"{}", 408),
        ("Content-Length: -1", b"", 400),
        ("Content-Length: " + "9" * 5000, b"", 400),
        ("Transfer-Encoding: chunked", b"1000\r\n" + b"a" * 4096 + b"\r\n10\r\n" + b"a" * 16 + b"\r\n0\r\n\r\n", 413),
        ("Transfer-Encoding: chunked", (b"1000\r\n" + b"a" * 4096 + b"\r\n") * 20, 413),
        ("Transfer-Encoding: chunked", b"zz\r\n", 400),
        ("Content-Length: 2\r\nContent-Length: 3", b"{}", 400),
    ],
)
def test_lengths_that_lie(server, head, body, status):
    reply = server.raw(request_bytes(server.tokens["mara"], JSON + head, body))
    assert reply.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["error"]["message"]


@pytest.mark.parametrize("data", [b"", b"GET /", b"GET / HTTP/1.1\r\nHost: a\r\n"])
def test_a_head_that_does_not_arrive(server, data):
    started = time.monotonic()
    assert server.raw(data).startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - started < 40


def test_dribbled_bytes_do_not_keep_a_connection(server):
    """The second request of a connection is limited like the first."""
    with contextlib.closing(server.connected()) as made:
        made.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        made.recv(65536)
        started = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - started < 60:
                made.sendall(b"G")
                time.sleep(0.05)
        assert time.monotonic() - started < 40


@pytest.mark.parametrize("data", [b"\x16\x03\x01", b"none", b"GET /a b HTTP/1.1", b"\0"])
def test_what_is_no_request(server, data):
    reply = server.raw(data + b"\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["error"]["kind"] == "BadInput"


def test_a_client_who_hangs_up_finds_the_result_later(server, keeper):
    body = json.dumps({"id": "left", "request": {**COUNT, "seconds": 0.3}}).encode()
    with contextlib.closing(server.connected()) as made:
        made.sendall(request_bytes(server.tokens["mara"], f"{JSON}Content-Length: {len(body)}", body))
        within(60, lambda: ("mara", "left") in keeper.results)
    assert server.ask("GET", f"{ASK}/left")[0] == 202
    within(60, lambda: server.ask("GET", f"{ASK}/left")[0] == 200)
    assert keeper.runs["mara", "left"] == 1


def test_requests_that_are_under_way(server, keeper):
    slow = {"id": "slow", "request": {**COUNT, "seconds": 0.5}}
    status, _, body = server.ask("POST", ASK, {**slow, "wait": 0})
    assert (status, json.loads(body)) == (202, {"id": "slow", "status": "under way"})
    listed = json.loads(server.ask("GET", ASK)[2])["requests"]
    assert {"id": "slow", "analyst": "mara", "status": "under way"} in listed
    other = server.error("POST", ASK, {"id": "slow", "request": COUNT})
    assert other[0] == 400
    assert server.ask("POST", ASK, slow)[0] == 200
    assert server.error("POST", ASK, {"id": "slow", "request": COUNT})[0] == 400
    assert keeper.runs["mara", "slow"] == 1
    assert server.ask("POST", ASK, {"request": {**COUNT, "consent": True}})[0] == 202


def test_the_door(server, keeper):
    door = json.loads(server.ask("POST", "/v1/datasets/visits/door")[2])["door"]
    place = f"/v1/datasets/visits/door/{door}"
    measure = {"source": 1, "operator": '{"Count": {}}', "epsilon": "1/10", "id": "m1"}
    assert server.ask("POST", f"{place}/measure", measure)[0] == 200
    assert keeper.calls[-1] == {"call": "measure", "analyst": "mara", "role": "analyst", "door": door, **measure}
    for change in ({"epsilon": "-1"}, {"epsilon": "1e9"}, {"epsilon": 0.1}, {"operator": "[" * 200}, {"source": 1.5}):
        assert server.error("POST", f"{place}/measure", {**measure, **change})[0] == 400
    assert server.ask("POST", f"{place}/forget", {"sources": [1, 2]})[0] == 200
    assert server.ask("POST", f"{place}/afford", {"source": 1, "epsilon": "1/10"})[0] == 200
    assert server.ask("DELETE", place)[0] == 200


def test_the_audit_log_has_no_text_of_a_client(server):
    server.ask("POST", ASK, {"id": "in-log", "request": {**COUNT, "where": "injected\n{}"}})
    entry = server.audit()[-1]
    assert {**entry, "time": "", "milliseconds": 0, "peer": ""} == {
        "time": "",
        "who": "mara",
        "role": "analyst",
        "peer": "",
        "method": "POST",
        "route": "/v1/datasets/{name}/requests",
        "dataset": "visits",
        "request": "in-log",
        "status": 200,
        "milliseconds": 0,
    }
    server.ask("GET", "/v1/datasets/injected%0A%7B%7D", headers={"X-A": "injected"})
    server.ask("GET", "/injected%0A", who="injected")
    server.ask("POST", ASK, {"id": "injected\n", "request": COUNT})
    server.ask("INJECTED", "/health")
    assert "injected" not in (server.folder / "audit.log").read_text().lower()


def test_metrics(server):
    status, _, body = server.ask("GET", "/metrics", who="graph")
    assert status == 200
    assert server.ask("GET", "/metrics", who=None)[0] == 200
    assert server.error("GET", "/metrics", who=None, headers={"X-Forwarded-For": "10.0.0.1"})[0] == 401
    assert server.error("GET", "/metrics")[0] == 403
    assert b'dataset="visits",route="/v1/datasets/{name}/requests",status="200"' in body
    assert not [word for word in (b"mara", b"process_", b"seconds", b"injected") if word in body]


def test_the_description_of_the_service(server):
    described = json.loads(server.ask("GET", "/openapi.json", who=None)[2])
    for path, methods in described["paths"].items():
        for about in methods.values():
            if path.startswith("/v1"):
                assert about["security"]
                assert about["responses"]["400"]["content"]["application/json"]["schema"] == {
                    "$ref": "#/components/schemas/ErrorBody"
                }
    assert described["components"]["schemas"]["Ask"]["required"] == ["request"]


def test_too_many(tmp_path, keeper):
    """What is under way, connections; and SIGTERM lets a call end that has begun."""
    limits = {"under_way_each": 2, "connections": 6, "reserved": 0}
    with Server(tmp_path, keeper, limits=limits) as server:
        slow = {**COUNT, "seconds": 2}
        for number in range(2):
            assert server.ask("POST", ASK, {"id": f"s{number}", "wait": 0, "request": slow})[0] == 202
        status, headers, _ = server.ask("POST", ASK, {"id": "s2", "wait": 0, "request": COUNT})
        assert (status, headers["retry-after"]) == (503, "2")
        held = [server.connected() for _ in range(7)]
        assert held[0].recv(1000).startswith(b"HTTP/1.1 503 ")
        for made in held:
            made.close()
        within(60, lambda: not server.raw(b"no\r\n\r\n").startswith(b"HTTP/1.1 503 "))
        ended = []
        asked = threading.Thread(target=lambda: ended.append(server.ask("POST", ASK, {"id": "s1", "request": slow})))
        asked.start()
        within(60, lambda: b"under_way 2.0" in server.ask("GET", "/metrics", who=None)[2])
        assert server.stop() == (0, "")
        asked.join(120)
        assert ended[0][0] == 200
        assert keeper.runs["mara", "s1"] == 1


def test_calls_a_minute(tmp_path, keeper):
    with Server(tmp_path, keeper, limits={"requests_per_minute": 10}) as server:
        found = [server.ask("GET", "/v1/key") for _ in range(12)]
        assert [status for status, *_ in found].count(429) == 2
        assert 1 <= int(found[-1][1]["retry-after"]) <= 6
        assert server.ask("GET", "/v1/key", who="olga")[0] == 200


@pytest.mark.parametrize(
    "change", [{"listen": "nowhere"}, {"data": "visits.csv"}, {"limits": {"body": 1}}, {"receipts": "/no/folder/key"}]
)
def test_settings_that_are_refused(tmp_path, keeper, change, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({**Server(tmp_path, keeper).settings, **change})))
    with pytest.raises(SystemExit) as ended:
        web.main()
    said = capsys.readouterr()
    assert (ended.value.code, said.err) == (2, "")
    assert list(json.loads(said.out)["error"]) == ["message"]


def test_the_process_says_why_it_does_not_start():
    command = [sys.executable, "-m", "adyton.service.web"]
    done = subprocess.run(command, input="{}", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "")
    assert list(json.loads(done.stdout)["error"]) == ["message"]
