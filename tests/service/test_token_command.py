"""``adyton token``, and tokens of an OpenID Connect issuer."""

import asyncio
import base64
import contextlib
import hmac
import http.server
import json
import stat
import threading
import time
from types import SimpleNamespace

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton.errors import BadInput
from adyton.service.access import Access, Doorkeeper, OpenId, Person, Unauthorized

CONFIG = """
[http]
access = "tokens.sqlite"
[datasets.visits]
data = "visits.csv"
schema = "visits.toml"
ledger = "visits.ledger"
[datasets.visits.analysts.mara]
part = 1
[curators]
names = ["olga"]
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "service.toml"
    path.write_text(CONFIG)
    return path


def run(*words):
    done = CliRunner().invoke(app, ["token", *map(str, words)], standalone_mode=False)
    if isinstance(done.exception, BadInput):
        raise done.exception
    assert done.exception is None
    return done.stdout


def test_a_token_is_made_listed_and_revoked(config):
    token = run(config, "mara").strip()
    access = Access(config.parent / "tokens.sqlite")
    assert access.person(token) == Person("mara", "analyst")
    assert stat.S_IMODE(access.path.stat().st_mode) == 0o600
    assert token.encode() not in access.path.read_bytes()
    assert token.split("_", 2)[2].encode() not in access.path.read_bytes()
    (entry,) = json.loads(run(config, "--list", "--json"))
    assert (entry["name"], entry["state"]) == ("mara", "valid")
    assert "mara" in run(config, "--list")
    assert abs(access.entries()[0].expires - time.time() - 90 * 86_400) < 100
    run(config, "mara", "--revoke")
    assert access.person(token) is None
    assert json.loads(run(config, "--list", "--json"))[0]["state"] == "revoked"
    curator = run(config, "olga", "--role", "curator", "--expires", "never").strip()
    assert access.person(curator) == Person("olga", "curator")
    assert access.revoke(curator.split("_")[1]) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["nobody"],
        ["mara", "--role", "curator"],
        ["mara", "--role", "king"],
        ["mara", "--expires", "soon"],
        ["mara", "--expires", "2020-01-01"],
        ["mara", "--revoke"],
        ["mara", "--revoke", "--list"],
        ["mara", "--json"],
        [],
    ],
)
def test_words_that_are_refused(config, words):
    with pytest.raises(BadInput):
        run(config, *words)
    assert not Access(config.parent / "tokens.sqlite").entries()


def test_a_configuration_that_is_none(tmp_path):
    with pytest.raises(BadInput, match="does not exist"):
        run(tmp_path / "none.toml", "mara")


def part(data):
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@pytest.fixture
def issuer():
    """An issuer of tokens: what it publishes over HTTP, and how often it was asked."""
    key = ECKey.generate_key("P-256", {"kid": "one"})
    issued = SimpleNamespace(key=key, asked=0)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            issued.asked += 1
            about = {"issuer": issued.address, "jwks_uri": f"{issued.address}/keys"}
            body = {"keys": [issued.key.as_dict(private=False)]} if self.path == "/keys" else about
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            pass

    with contextlib.closing(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        server.close = server.server_close
        issued.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield issued
        server.shutdown()
        thread.join()


def test_tokens_of_an_issuer(tmp_path, issuer):
    access = Access(tmp_path / "tokens.sqlite")
    access.create()

    def token(key=issuer.key, header=None, **claims):
        now = int(time.time())
        usual = {"iss": issuer.address, "aud": "adyton", "exp": now + 60, "iat": now, "sub": "7", "email": "mara@a.org"}
        chosen = {name: value for name, value in (usual | claims).items() if value is not None}
        return jwt.encode({"alg": "ES256", "kid": "one"} | (header or {}), chosen, key)

    def signed_with_the_public_key():
        """What a careless reader takes for a token signed with a shared secret."""
        text = f"{part({'alg': 'HS256', 'kid': 'one'})}.{token().split('.')[1]}"
        secret = issuer.key.as_pem(private=False)
        return f"{text}.{part(hmac.digest(secret, text.encode(), 'sha256'))}"

    other = ECKey.generate_key("P-256", {"kid": "one"})
    bad = {
        "another key": token(other),
        "expired": token(exp=int(time.time()) - 60),
        "without an end": token(exp=None),
        "another audience": token(aud="other"),
        "another issuer": token(iss="https://a.org"),
        "no name": token(email=None),
        "a list of names": token(email=["mara@a.org"]),
        **{f"the name {name!r}": token(email=name) for name in ("", " ", " mara@a.org")},
        "not yet": token(nbf=int(time.time()) + 600),
        "the public key as a secret": signed_with_the_public_key(),
        "no algorithm": f"{part({'alg': 'none'})}.{token().split('.')[1]}.",
        "no token": "a.b.c",
    }

    async def checked():
        doors = Doorkeeper(access, OpenId(issuer.address, "adyton", "email"), frozenset({"olga@a.org"}))
        assert await doors.person(f"Bearer {token()}") == Person("mara@a.org", "analyst")
        assert await doors.person(f"bearer {token(email='olga@a.org')}") == Person("olga@a.org", "curator")
        for name, text in bad.items():
            with pytest.raises(Unauthorized):
                raise AssertionError(name, await doors.person(f"Bearer {text}"))
        assert issuer.asked == 2

    asyncio.run(checked())


def test_an_issuer_without_tls():
    with pytest.raises(BadInput, match="https"):
        OpenId("http://a.org", "adyton")
