"""Receipts: the service signs which bytes it returned to whom, for which entries of the ledger.

A receipt is a JSON object {dataset, analyst, request, digest, entries, date}; *analyst* is who asked, null where a
curator did, and *digest* is the SHA-256 of the bytes of the result. It travels as one text, base64url of the object
with one more field: the Ed25519 signature of the other fields. The date is a day, because times depend on rows. Clients
verify it: :func:`adyton.session.remote.verified`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from adyton.errors import BadInput

FIELDS = ("dataset", "analyst", "request", "digest", "entries", "date")


def signing_key(path: Path) -> Ed25519PrivateKey:
    """The key in a file, which is made, readable by its owner alone, if it does not exist."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_key(path)
    key = Ed25519PrivateKey.generate()
    with os.fdopen(descriptor, "wb") as file:
        file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        file.flush()
        os.fsync(file.fileno())
    return key


def _read_key(path: Path) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput(f"{path} is no Ed25519 private key in PEM. Name the file that the service made, or a new one.")
    return key


def public_text(key: Ed25519PrivateKey) -> str:
    """The public key of a signing key, as base64url."""
    return _base64(key.public_key().public_bytes_raw())


def sign(key: Ed25519PrivateKey, receipt: Mapping[str, Any], result: bytes) -> str:
    """The text of a receipt for *result*; *receipt* has all fields but the digest."""
    fields = {**receipt, "digest": hashlib.sha256(result).hexdigest()}
    fields = {name: fields[name] for name in FIELDS}
    return _base64(_canonical({**fields, "signature": _base64(key.sign(_canonical(fields)))}))


def _canonical(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
