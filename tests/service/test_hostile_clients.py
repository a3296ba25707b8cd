"""Whatever is sent, there is one JSON reply or none, no defect, nothing runs twice, and the next caller is served."""

import contextlib
import json
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import COUNT, RESULT, Keeper, Server

ASK = "/v1/datasets/visits/requests"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
STARTS = [b"{", b'{"request":', b"[" * 3000, b"9" * 3000, b'"\\u', b"\xff\xfe", b""]
FUZZ = settings(max_examples=50)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    limits = {"requests_per_minute": 10**6, "head_seconds": 0.2, "body_seconds": 0.2, "body": 65_536}
    with Keeper(folder / "k") as keeper, Server(folder, keeper, limits=limits) as server:
        yield server
        _, said = server.stop()
        assert said == ""  # no traceback of any of these calls


def is_reply(status, body):
    assert status in (200, 202) or json.loads(body)["error"]["kind"] != "Defect"
    assert status < 500


@FUZZ
@given(JSON)
def test_any_json(server, body):
    status, _, reply = server.ask("POST", ASK, json.dumps(body).encode())
    assert status == 400
    is_reply(status, reply)


@FUZZ
@given(
    st.fixed_dictionaries(
        {"request": st.fixed_dictionaries({"task": JSON, "epsilon": JSON})},
        optional={"id": JSON | st.from_regex(r"[a-z0-9_-]{1,64}", fullmatch=True), "wait": JSON, "": JSON},
    )
)
def test_requests_that_are_almost_right(server, body):
    status, _, reply = server.ask("POST", ASK, json.dumps(body).encode())
    is_reply(status, reply)
    assert status != 200 or reply.decode() == RESULT


@FUZZ
@given(st.binary(max_size=60), st.sampled_from(STARTS))
def test_any_bytes(server, data, start):
    status, _, reply = server.ask("POST", ASK, start + data)
    assert status == 400
    is_reply(status, reply)


@FUZZ
@given(st.text(max_size=30), st.sampled_from(["", "/requests", "/door/d/measure", "/ledger"]))
def test_any_path(server, name, rest):
    path = f"/v1/datasets/{''.join(f'%{byte:02x}' for byte in name.encode('utf-8', 'surrogatepass'))}{rest}"
    status, _, reply = server.ask("GET", path)
    assert status in (400, 403, 404, 405)
    is_reply(status, reply)


@FUZZ
@given(st.data())
def test_truncated_and_damaged_requests(server, data):
    body = json.dumps({"id": "cut", "request": COUNT}).encode()
    head = f"POST {ASK} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {server.tokens['mara']}\r\nConnection: close\r\n"
    whole = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    place = data.draw(st.integers(0, len(whole) - 1))
    sent = whole[:place]
    if data.draw(st.booleans()):
        sent += bytes([whole[place] ^ 1 << data.draw(st.integers(0, 7))]) + whole[place + 1 :]
    reply = server.raw(sent, close=data.draw(st.booleans()))
    head, _, body = reply.partition(b"\r\n\r\n")
    if reply:
        is_reply(int(head.split()[1]), body)
    assert server.keeper.runs["mara", "cut"] <= 1


def test_the_same_request_from_many_at_once(server):
    replies = []
    body = {"id": "replay", "request": {**COUNT, "seconds": 0.2}}
    threads = [threading.Thread(target=lambda: replies.append(server.ask("POST", ASK, body))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(status, body) for status, _, body in replies} == {(200, RESULT.encode())}
    assert server.keeper.runs["mara", "replay"] == 1


def test_connections_that_only_begin(server):
    with contextlib.ExitStack() as held:
        for number in range(50):
            made = held.enter_context(contextlib.closing(server.connected()))
            made.sendall(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n"[: number % 40])
        assert server.ask("GET", "/v1/me")[0] == 200
