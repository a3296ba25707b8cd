"""What one peer, or one analyst, can take from others: connections, time, and lines of the audit log."""

import contextlib
import json
import threading
import time

import pytest

from adyton.errors import BadInput
from adyton.service.config import Config
from adyton.service.limits import Rate
from adyton.service.observing import AuditLog
from service.serving import COUNT, Keeper, Server

ASK = "/v1/datasets/visits/requests"
ATTACKER = "127.0.0.2"
HEADS = {
    "idle": b"",
    "half-sent heads": b"GET /v1/me HTTP/1.1\r\nHost: a\r\n",
    "slow bodies": b"POST /v1/me HTTP/1.1\r\nHost: a\r\nContent-Length: 800000\r\n\r\nx",
    "slow forms": b"POST /enter HTTP/1.1\r\nHost: a\r\nContent-Length: 800000\r\n\r\nx",
}


@pytest.fixture(scope="module")
def keeper(tmp_path_factory):
    with Keeper(tmp_path_factory.mktemp("peers") / "keeper.sock") as keeper:
        yield keeper


@pytest.fixture(scope="module")
def server(tmp_path_factory, keeper):
    with Server(tmp_path_factory.mktemp("peers"), keeper) as server:
        yield server


@contextlib.contextmanager
def held(server, start, sources, number):
    """So many connections from some addresses, each of which begins with some bytes; ended ones are opened again."""
    made, ended = [], threading.Event()

    def hold(source):
        with contextlib.suppress(OSError):
            one = server.connected(source)
            one.sendall(start)
            one.setblocking(False)
            made.append((one, source))

    def go_on():
        while not ended.wait(0.1):
            for pair in list(made):
                with contextlib.suppress(BlockingIOError):
                    with contextlib.suppress(ConnectionError):
                        pair[0].sendall(b"x" * start.endswith(b"x"))
                        if pair[0].recv(1000):
                            continue
                    made.remove(pair)
                    pair[0].close()
                    hold(pair[1])

    for place in range(number):
        hold(sources[place % len(sources)])
    keeping = threading.Thread(target=go_on)
    keeping.start()
    try:
        yield made
    finally:
        ended.set()
        keeping.join()
        for one, _ in made:
            one.close()


def honest(server, number=8, **options):
    """The longest time that a call with a token takes, on a new connection each."""
    longest = 0.0
    for place in range(number):
        for call in (("GET", "/v1/me"), ("POST", ASK, {"id": f"h{place}", "request": COUNT})):
            begun = time.monotonic()
            assert server.ask(*call, **options)[0] == 200
            longest = max(longest, time.monotonic() - begun)
    return longest


@pytest.mark.parametrize("kind", HEADS)
def test_one_peer_stops_nobody(server, kind):
    with held(server, HEADS[kind], [ATTACKER], 300):
        assert honest(server) <= 2


def test_many_peers_stop_nobody(tmp_path, keeper):
    """They have all places but those in reserve; whoever shows a token gets one of them, and keeps it."""
    sources = [f"127.0.1.{place}" for place in range(1, 11)]
    with Server(tmp_path, keeper, limits={"connections": 100, "reserved": 20}) as server:
        kept = server.connected()
        with contextlib.closing(kept):
            head = f"GET /v1/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {server.tokens['mara']}\r\n\r\n".encode()
            kept.sendall(head)
            while not kept.recv(1000).endswith(b"}}}"):
                pass
            with held(server, HEADS["half-sent heads"], sources, 300):
                assert honest(server, 4) <= 2
                kept.sendall(head)
                assert kept.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_one_analyst_with_many_addresses_stops_nobody(tmp_path, keeper):
    """A token keeps as many connections as a peer has: those beyond give way, wherever they come from."""
    sources = [f"127.0.2.{place}" for place in range(1, 21)]
    with Server(tmp_path, keeper, limits={"connections": 60, "connections_each": 10, "reserved": 20}) as server:
        head = f"GET /v1/key HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {server.tokens['mara']}\r\n\r\n".encode()
        with held(server, head, sources, 120):
            time.sleep(1)
            assert honest(server, 4, who="olga") <= 2


def test_other_connections_of_the_same_peer(tmp_path, keeper):
    """Behind one address the oldest that only begin give way; a peer with tokens has as many places as others."""
    with Server(tmp_path, keeper, limits={"connections_each": 5}) as server:
        with held(server, HEADS["idle"], ["127.0.0.1"], 20):
            assert honest(server, 3) <= 2
        with contextlib.ExitStack() as open_ones:
            head = f"GET /v1/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {server.tokens['mara']}\r\n\r\n".encode()
            for _ in range(5):
                one = open_ones.enter_context(contextlib.closing(server.connected()))
                one.sendall(head)
                assert one.recv(1000).startswith(b"HTTP/1.1 200 ")
            assert server.raw(b"").startswith(b"HTTP/1.1 503 ")
            assert server.ask("GET", "/v1/me", source=ATTACKER)[0] == 200


def test_a_proxy_is_believed_if_it_is_named(tmp_path, keeper):
    limits = {"refused_per_minute": 3, "connections_each": 4}
    with Server(tmp_path, keeper, proxies=["127.0.0.2"], limits=limits, metrics=["192.0.2.9", "graph"]) as server:
        for address, source in (("192.0.2.9", ATTACKER), ("192.0.2.9", "127.0.0.1")):
            server.ask("GET", "/v1/me", who="wrong", source=source, headers={"X-Forwarded-For": f"10.0.0.1, {address}"})
        assert [line["peer"] for line in server.audit()] == ["192.0.2.9", "127.0.0.1"]
        at = {"X-Forwarded-For": "192.0.2.9"}
        assert server.ask("GET", "/metrics", who=None, source=ATTACKER, headers=at)[0] == 200
        assert server.error("GET", "/metrics", who=None, headers=at)[0] == 401
        assert server.error("GET", "/metrics", who=None)[0] == 401
        with held(server, HEADS["idle"], [ATTACKER], 12) as made:  # a proxy has more connections than a peer
            assert len(made) == 12
            assert server.ask("GET", "/v1/me", source=ATTACKER)[0] == 200


def test_users_of_a_unix_socket(tmp_path, keeper):
    path = tmp_path / "http.sock"
    with Server(tmp_path, keeper, listen=f"unix:{path}", limits={"connections_each": 5}, metrics=[]) as server:
        with contextlib.ExitStack() as open_ones:
            first = [open_ones.enter_context(contextlib.closing(server.connected())) for _ in range(6)]
            assert first[0].recv(1000).startswith(b"HTTP/1.1 503 ")
            assert server.ask("GET", "/v1/me")[0] == 200
        assert server.error("GET", "/metrics", who=None)[0] == 401
        assert server.error("GET", "/metrics", who="graph")[0] == 403
        assert server.audit()[0]["peer"].startswith("uid:")


def test_a_flood_of_wrong_tokens_and_of_no_http(tmp_path, keeper):
    """The audit log gets a few lines a minute of each peer; who has a token has a line for each call."""
    wrong = "adyton_" + "0" * 16 + "_" + "A" * 43
    with Server(tmp_path, keeper, limits={"refused_per_minute": 5}) as server:
        for _ in range(20):
            with contextlib.closing(server.connected(ATTACKER)) as one:
                one.sendall(b"X\r\n\r\n")
                assert one.recv(100).startswith(b"HTTP/1.1 400 ")
        begun = time.monotonic()
        assert [server.ask("GET", "/v1/me", who=wrong, source="127.0.0.3")[0] for _ in range(6)] == [401] * 6
        assert time.monotonic() - begun >= 1
        assert honest(server, 3) <= 2
        lines = server.audit()
        assert sum(line.get("who") is None for line in lines) == 10
        assert sum(line.get("who") == "mara" for line in lines) == 6
        assert b"adyton_audit_unwritten 16.0" in server.ask("GET", "/metrics", who="graph")[2]


class TestTheAuditLog:
    def log(self, path, **options):
        return AuditLog(path, **{"most": 5_000, "files": 3, "strangers": Rate(60, time.monotonic_ns), **options})

    def test_it_has_a_bound(self, tmp_path):
        log = self.log(tmp_path / "audit.log")
        for number in range(1000):
            log.write(who="mara", request=f"r{number}")
        files = sorted(tmp_path.iterdir())
        assert [path.name for path in files] == ["audit.log", "audit.log.1", "audit.log.2", "audit.log.3"]
        assert all(path.stat().st_size <= 5_000 for path in files)
        lines = [json.loads(line)["request"] for path in (files[1], files[0]) for line in path.open()]
        assert lines == [f"r{number}" for number in range(1000 - len(lines), 1000)]

    def test_where_no_file_can_be_begun_nothing_more_is_written(self, tmp_path, monkeypatch):
        log = self.log(tmp_path / "audit.log")
        monkeypatch.setattr("pathlib.Path.rename", lambda *_: (_ for _ in ()).throw(PermissionError()))
        for _ in range(1000):
            log.write(who="mara")
        assert (tmp_path / "audit.log").stat().st_size <= 5_000
        assert log.failures > 500


def test_what_the_configuration_may_say(tmp_path):
    def read(**http):
        dataset = {"data": "a.csv", "schema": "a.toml", "ledger": "a.ledger"}
        return Config.of({"datasets": {"a": dataset}, "http": http}, tmp_path).http

    assert read(proxies=["10.0.0.0/8", "user:root", "::1"]).proxies == ("10.0.0.0/8", "uid:0", "::1")
    assert read(metrics=["graph", "127.0.0.1", "user:root"]).metrics == ("graph", "127.0.0.1", "uid:0")
    assert read(head_time="2 s", audit_size="1 MiB").head_time == 2
    for wrong in ({"proxies": ["nginx"]}, {"proxies": ["user:nobody here"]}, {"metrics": ["a b"]}, {"reserved": 512}):
        with pytest.raises(BadInput):
            read(**wrong)
