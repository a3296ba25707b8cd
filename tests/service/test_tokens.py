"""The tokens of a service over HTTP: who sees them, what is shown, and what becomes of one that is revoked."""

import json
import re

import pytest
from serving import Keeper, Server

from adyton.service.access import Access

TOKENS = "/v1/tokens"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokens")
    with Keeper(folder / "visits.sock") as keeper, Server(folder, keeper) as server:
        yield server


def listed(server, who="olga"):
    status, _, body = server.ask("GET", TOKENS, who=who)
    assert status == 200
    return {entry["id"]: entry for entry in json.loads(body)["tokens"]}


def id_of(token):
    return token.split("_")[1]


def test_a_curator_sees_all_tokens_without_their_secrets(server):
    tokens = listed(server)
    own = tokens[id_of(server.tokens["olga"])]
    assert own == {
        "id": id_of(server.tokens["olga"]),
        "name": "olga",
        "role": "curator",
        "made": own["made"],
        "expires": None,
        "state": "valid",
        "own": True,
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", own["made"])
    assert {entry["name"] for entry in tokens.values()} >= {"mara", "ben", "olga", "graph"}
    assert [entry["own"] for entry in tokens.values()].count(True) == 1
    text = json.dumps(tokens)
    for token in server.tokens.values():
        assert token.split("_", 2)[2] not in text
    assert "hash" not in text


@pytest.mark.parametrize("who", ["mara", "graph"])
@pytest.mark.parametrize(("method", "path"), [("GET", TOKENS), ("DELETE", f"{TOKENS}/0123456789abcdef")])
def test_nobody_else_sees_or_revokes_tokens(server, who, method, path):
    status, error = server.error(method, path, who=who)
    assert (status, error["kind"]) == (403, "Forbidden")


def test_without_a_token_there_is_nothing_to_see(server):
    assert server.error("GET", TOKENS, who=None)[0] == 401


def test_a_revoked_token_is_refused_at_the_next_call(server):
    token = Access(server.folder / "access.sqlite").make("mara")
    assert server.ask("GET", "/v1/me", who=token)[0] == 200
    status, _, body = server.ask("DELETE", f"{TOKENS}/{id_of(token)}", who="olga")
    assert (status, json.loads(body)["state"]) == (200, "revoked")
    assert server.error("GET", "/v1/me", who=token)[0] == 401
    assert server.ask("GET", "/v1/me", who="mara")[0] == 200  # her other token stays
    again = server.ask("DELETE", f"{TOKENS}/{id_of(token)}", who="olga")
    assert (again[0], again[2]) == (200, body)
    written = server.audit()[-1]
    assert (written["who"], written["route"], written["token"]) == ("olga", "/v1/tokens/{id}", id_of(token))


def test_the_own_token_is_revoked_only_if_that_is_meant(server):
    token = Access(server.folder / "access.sqlite").make("olga", "curator")
    status, error = server.error("DELETE", f"{TOKENS}/{id_of(token)}", who=token)
    assert (status, error["kind"]) == (400, "BadInput")
    assert "own=true" in error["message"]
    assert server.ask("DELETE", f"{TOKENS}/{id_of(token)}?own=true", who=token)[0] == 200
    assert server.error("GET", "/v1/me", who=token)[0] == 401


def test_only_ids_name_tokens(server):
    """A name that looks like the id of another token revokes nothing else."""
    access = Access(server.folder / "access.sqlite")
    victim = access.make("0123456789abcdef")
    assert server.error("DELETE", f"{TOKENS}/0123456789abcdef", who="olga")[0] == 404
    assert listed(server)[id_of(victim)]["state"] == "valid"
    for path in ("mara", "0123456789ABCDEF", "a" * 17, "%27%20or%201"):
        assert server.error("DELETE", f"{TOKENS}/{path}", who="olga")[0] == 400


def test_they_are_described(server):
    described = json.loads(server.ask("GET", "/openapi.json", who=None)[2])
    token = described["components"]["schemas"]["Token"]["properties"]
    assert set(token) == {"id", "name", "role", "made", "expires", "state", "own"}
    assert "delete" in described["paths"]["/v1/tokens/{id}"]
