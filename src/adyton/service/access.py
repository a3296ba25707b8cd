"""Who is calling: tokens, which are shown once and stored hashed, and OpenID Connect.

A token is ``adyton_ID_SECRET``: 8 random bytes to find it by, and 32 that prove who has it. The file has the SHA-256 of
the secret: a slow hash is for passwords that people choose, and nobody tries 2²⁵⁶ secrets. Comparisons take the same
time for every secret, and an id that does not exist is compared too.

The file is SQLite, and is read for each call: a token that was revoked is refused from the next call on.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import re
import secrets
import sqlite3
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adyton.errors import AdytonError, BadInput
from adyton.messages import no_such, shorten
from adyton.service.channel import Busy, report

ROLES = ("analyst", "curator", "metrics")
_TOKEN = re.compile(r"adyton_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@|-]{0,99}", re.ASCII)
_TABLE = (
    "create table if not exists tokens (id text primary key, name text not null, role text not null, "
    "hash blob not null, made integer not null, expires integer, revoked integer)"
)
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
_FETCH_SECONDS, _FETCH_BYTES, _FETCH_AGAIN = 5, 2**20, 60
_LEEWAY = 30
_LONGEST_TOKEN = 16_384


class Unauthorized(AdytonError):
    """A call without a valid token."""


@dataclass(frozen=True)
class Person:
    """Who is calling, and in which role."""

    name: str
    role: str
    token: str | None = field(default=None, compare=False)
    """The id of the token that said so, if it is one of the file."""


@dataclass(frozen=True)
class TokenEntry:
    """What is known of a token; times in seconds."""

    id: str
    name: str
    role: str
    made: int
    expires: int | None
    revoked: int | None

    @property
    def state(self) -> str:
        """Whether it is valid, revoked or expired."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= time.time() else "valid"


class Access:
    """The file of tokens."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self, name: str, role: str = "analyst", *, expires: int | None = None) -> str:
        """A new token, which is stored nowhere: only its hash is. *expires* in seconds since 1970."""
        if not _NAME.fullmatch(name):
            raise BadInput(
                f"a name has up to 100 letters, digits and any of . _ - @ |, and begins with a letter or digit, "
                f"given {shorten(name)}."
            )
        if role not in ROLES:
            raise BadInput(no_such("role", role, ROLES))
        if expires is not None and expires <= time.time():
            raise BadInput("a token must expire in the future.")
        identifier, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        with self._changed() as database:
            database.execute(
                "insert into tokens values (?, ?, ?, ?, ?, ?, null)",
                (identifier, name, role, _hashed(secret), int(time.time()), expires),
            )
        return f"adyton_{identifier}_{secret}"

    def revoke(self, name: str) -> int:
        """Revoke all tokens of a name, or the one with this id; how many were valid until now."""
        with self._changed() as database:
            return database.execute(
                "update tokens set revoked = ? where (name = ? or id = ?) and revoked is null",
                (int(time.time()), name, name),
            ).rowcount

    def revoke_token(self, identifier: str) -> TokenEntry | None:
        """Revoke the token with this id, if there is one, and say what is known of it now."""
        with self._changed() as database:
            statement = "update tokens set revoked = ? where id = ? and revoked is null"
            database.execute(statement, (int(time.time()), identifier))
        return next((entry for entry in self.entries() if entry.id == identifier), None)

    def entries(self) -> list[TokenEntry]:
        """All tokens, the oldest first."""
        with self._changed() as database:
            rows = database.execute("select id, name, role, made, expires, revoked from tokens order by made, id")
            return [TokenEntry(*row) for row in rows]

    def person(self, token: str) -> Person | None:
        """Whose token this is; None if it is no valid one."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            row = database.execute(
                "select name, role, hash, expires, revoked from tokens where id = ?", (match[1],)
            ).fetchone()
        name, role, stored, expires, revoked = row or ("", "", bytes(32), None, 0)
        same = hmac.compare_digest(_hashed(match[2]), stored)
        if not same or revoked is not None or (expires is not None and expires <= time.time()):
            return None
        return Person(name, role, match[1])

    def create(self) -> None:
        """Make the file, if there is none."""
        with self._changed():
            pass

    @contextmanager
    def _changed(self) -> Iterator[sqlite3.Connection]:
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            with closing(sqlite3.connect(self.path, timeout=10)) as database, database:
                database.execute(_TABLE)
                yield database
        except (OSError, sqlite3.Error) as error:
            raise BadInput(f"{self.path} cannot be used as the file of tokens ({error}).") from None


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("ascii")).digest()


class OpenId:
    """Checks tokens of an OpenID Connect issuer: signed by its keys, for this audience, still valid.

    Only a name is taken from a token; what it may do, the configuration says. The issuer's keys are fetched when a
    token is not valid with those that are known, at most once a minute.
    """

    def __init__(self, issuer: str, audience: str, claim: str = "sub") -> None:
        if not _is_safe(issuer):
            raise BadInput(f"an issuer has an https address, given {shorten(issuer)}.")
        self._issuer, self._audience, self._claim = issuer, audience, claim
        self._keys: Any = {"keys": []}
        self._fetched = -float(_FETCH_AGAIN)
        self._fetching = asyncio.Lock()

    async def name(self, token: str) -> str | None:
        """The name in a token; None if it is no valid one."""
        name = self._name(token)
        if name is None and time.monotonic() - self._fetched >= _FETCH_AGAIN:
            async with self._fetching:
                if time.monotonic() - self._fetched >= _FETCH_AGAIN:
                    self._fetched = time.monotonic()
                    self._keys = await asyncio.to_thread(self._fetch)
            name = self._name(token)
        return name

    def _name(self, token: str) -> str | None:
        from joserfc import jwt  # only where OpenID Connect is configured
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        try:
            keys = KeySet.import_key_set(self._keys)
            claims = jwt.decode(token, keys, algorithms=_ALGORITHMS).claims
            jwt.JWTClaimsRegistry(
                leeway=_LEEWAY,
                iss={"essential": True, "value": self._issuer},
                aud={"essential": True, "value": self._audience},
                exp={"essential": True},
            ).validate(claims)
        except (JoseError, ValueError, TypeError, KeyError, RecursionError):
            return None
        name = claims.get(self._claim)
        return name if isinstance(name, str) and name and name == name.strip() else None

    def _fetch(self) -> Any:
        try:
            about = _get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
            keys = _get(about["jwks_uri"]) if about.get("issuer") == self._issuer else {}
        except (OSError, ValueError, KeyError, AttributeError):
            keys = {}
        return keys if isinstance(keys, dict) and isinstance(keys.get("keys"), list) else self._keys


def _is_safe(address: str) -> bool:
    """Whether nobody on the way can change what an address says."""
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost"))


def _get(address: str) -> Any:
    if not isinstance(address, str) or not _is_safe(address):
        raise ValueError("an address that is not https")
    with urllib.request.urlopen(address, timeout=_FETCH_SECONDS) as reply:  # nosec B310 # https, or this machine
        return json.loads(reply.read(_FETCH_BYTES))


class Doorkeeper:
    """Says who is calling, from the header ``Authorization``."""

    def __init__(self, access: Access, openid: OpenId | None, curators: frozenset[str]) -> None:
        self.access, self._openid, self._curators = access, openid, curators

    async def person(self, header: str | None) -> Person:
        """Who sent this header. Without a valid token: :class:`Unauthorized`, with one sentence for all other tokens.

        The role of a curator needs both: the name among the curators of the configuration, and a token of that role.
        """
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Unauthorized("This needs a token: send it in the header Authorization: Bearer TOKEN.")
        person = None
        if len(token) <= _LONGEST_TOKEN:
            try:
                person = self.access.person(token)
            except sqlite3.Error as problem:  # its disk failed, or somebody took it away
                report(problem)
                raise Busy("Tokens cannot be checked at present. Tell the curator, and try again later.") from None
            if person is None and self._openid is not None and token.count(".") == 2:
                name = await self._openid.name(token)
                role = "curator" if name in self._curators else "analyst"
                person = Person(name, role) if name is not None else None
        if person is None:
            raise Unauthorized("This token is not valid. Ask the curator for a new one: adyton token.")
        if person.role == "curator" and person.name not in self._curators:
            return Person(person.name, "analyst", person.token)
        return person
