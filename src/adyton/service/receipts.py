"""Receipts: the service signs which bytes it returned to whom, for which entries of the ledger.

A receipt is a JSON object {dataset, analyst, request, digest, entries, date}; *digest* is the SHA-256 of the bytes of
the result. It travels as one text, base64url of the object with one more field: the Ed25519 signature of the other
fields. The date is a day, because times depend on rows.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from binascii import Error
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from adyton.errors import AdytonError, BadInput

FIELDS = ("dataset", "analyst", "request", "digest", "entries", "date")


class BadReceipt(AdytonError):
    """A receipt that this key did not sign, or that is about other bytes."""


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


def verify(public: str, text: str, result: bytes) -> dict[str, Any]:
    """The fields of a receipt, if the owner of the public key signed it for *result*; else :class:`BadReceipt`."""
    try:
        fields = json.loads(_bytes(text))
        signature = _bytes(fields.pop("signature"))
        Ed25519PublicKey.from_public_bytes(_bytes(public)).verify(signature, _canonical(fields))
    except (ValueError, Error, KeyError, AttributeError, TypeError, RecursionError, InvalidSignature):
        raise BadReceipt("This receipt was not signed with the key of this service.") from None
    if set(fields) != set(FIELDS) or fields["digest"] != hashlib.sha256(result).hexdigest():
        raise BadReceipt("This receipt is about other bytes than these.")
    return dict(fields)


def _canonical(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _bytes(text: str) -> bytes:
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _base64(data) != text:
        raise ValueError("not written as base64url without padding")
    return data
