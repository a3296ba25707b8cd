"""A session at a service: the table and its ledger are elsewhere, and requests are carried out there.

:func:`connect` returns a :class:`RemoteSession`, which looks like any other session. A request goes to the service
under an id that is chosen here, and its result comes back as the content of ``release.json``, which is read with all
the checks of a saved file. Whatever is lost on the way is fetched again by its id; nothing is paid for twice.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
import uuid
import warnings
from binascii import Error
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from adyton import odds
from adyton.errors import AdytonError, BadInput, ServiceError, Unfinished, UnfinishedRelease, Waiting
from adyton.exact import display, exact
from adyton.kernel.ledger import Tally
from adyton.kernel.ledger.records import Account
from adyton.kernel.sources import TableSource
from adyton.messages import listing, shorten
from adyton.programs.base import program_of, result_in
from adyton.result.pending import FORMAT as MEASUREMENTS
from adyton.result.pending import Measurements, Pending, in_short
from adyton.result.result import Result
from adyton.schema.plain_values import as_text, of_kind, part_of
from adyton.schema.predicates import check_predicate, parse_predicate
from adyton.session.batch import Admitted
from adyton.session.client import PATIENCE, Address, Client, Reply, Unreached
from adyton.session.remote_kernel import RemoteKernel
from adyton.session.session import Session
from adyton.tasks.request import Request

TOKEN = "ADYTON_TOKEN"
"""The environment variable that holds the token."""
_WAIT = 20
"""For how many seconds the service holds a call back while a request is under way."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_HEAD = 200
"""In how many characters a reply says what it holds."""
_SHORT = 4096
"""The most characters of a reply that is not a result."""


def connect(
    url: str,
    *,
    token: str | None = None,
    dataset: str | None = None,
    certificate: str | os.PathLike[str] | None = None,
    patience: float = PATIENCE,
) -> RemoteSession:
    """A session at a service: ``ad.connect("https://host:8472", dataset="visits")``, or ``"unix:/path/to.sock"``.

    *token* says who asks; without it, the environment variable ADYTON_TOKEN has it. *dataset* may be left out if you
    may ask about one data set only. The service's certificate is verified; *certificate* is the file of the authority
    that signed it, where the system does not know that authority. While the service is not reached, everything is tried
    again for *patience* seconds.
    """
    token = os.environ.get(TOKEN, "") if token is None else token
    if not isinstance(token, str) or not token:
        raise BadInput(f"give your token: token=…, or the environment variable {TOKEN}. The curator makes tokens.")
    if certificate is not None and not isinstance(certificate, str | os.PathLike):
        raise BadInput(f"certificate is the path of a file, given {shorten(certificate)}.")
    client = Client(Address.of(url, certificate), token.strip(), float(patience))
    if dataset is not None:
        return RemoteSession(client, dataset)
    names = _datasets(client)
    if len(names) != 1:
        which = f"one of {listing(names)} with dataset=…" if names else "the curator to grant you one"
        raise BadInput(f"you may ask about {len(names)} data sets at {client.address.text}. Name {which}.")
    return RemoteSession(client, names[0])


def _datasets(client: Client) -> list[str]:
    """The names of all data sets that may be asked about."""
    plain = client.call("GET", "/v1/datasets").plain()
    listed = of_kind(list, plain.get("datasets") if isinstance(plain, dict) else plain, "the list of data sets")
    return [as_text(own["dataset"] if isinstance(own, dict) else own, "the name of a data set") for own in listed]


class RemoteSession(Session):
    """A private table at a service, with a budget of your own. :func:`adyton.connect` makes it.

    It has what any :class:`adyton.Session` has, and spends only where that does. Requests are carried out by the
    service; :attr:`kernel` is its door, for plans and choice makers of your own.
    """

    def __init__(self, client: Client, dataset: str) -> None:
        self._client, self._path = client, f"/v1/datasets/{quote(_name(dataset), safe='')}"
        described = of_kind(dict, client.call("GET", self._path).plain(), "the description of a data set")
        self.about: dict[str, Any] = described
        """What the service said of the data set, and of what you may do with it, when this session began."""
        self.kernel = RemoteKernel(client, self._path, described)
        """The door of the service: :attr:`~adyton.session.remote_kernel.RemoteKernel.root` is the table."""
        self.schema = self.kernel.root.schema
        grant = of_kind(dict, described.get("grant") or {}, "what was granted to you")
        self.consent_above, self.consent_total = (_limit(grant, name) for name in ("consent_above", "consent_total"))
        """A request of yours for more than the first, or one that takes what you have spent beyond the second, waits
        for the curator's consent; None where none does."""
        self.results: list[Result] = []
        self.receipts: dict[str, dict[str, Any]] = {}
        """What the service has signed for each result, by the id of its request; verified with the service's key."""
        self._requests: dict[str, Request] = {}
        self._key: Any = None

    # ---- what is known ----------------------------------------------------------------------------------------------

    @property
    def unit(self) -> str:
        """What is protected, in words."""
        return self.kernel.terms.named_unit

    @property
    def budget(self) -> Account:
        """Your current account: what you may still spend."""
        return self.kernel.budget

    @property
    def ledger(self) -> Tally:
        """Always an error: the ledger is at the service, and only the curator sees it."""
        raise BadInput("the ledger is at the service. budget says what you may spend, requests() what you have asked.")

    def requests(self) -> list[dict[str, Any]]:
        """What you have asked so far: the id, the status and the request of each, as plain values."""
        plain = self._client.call("GET", f"{self._path}/requests").plain()
        listed = of_kind(list, plain.get("requests") if isinstance(plain, dict) else plain, "the list of requests")
        return [of_kind(dict, own, "a request") for own in listed]

    # ---- requests ---------------------------------------------------------------------------------------------------

    def fetch(self, id: str) -> Any:
        """The result of an earlier request, by its id; costs nothing.

        It waits while the request is under way. One that still waits for the curator's consent is
        :class:`adyton.errors.Waiting`; one that was refused, or that does not exist, is an error, too.
        """
        if not isinstance(id, str) or not id:
            raise BadInput(f"the id of a request is a text, as requests() shows it, given {shorten(id)}.")
        path = f"{self._path}/requests/{quote(id, safe='')}?wait={_WAIT}"
        return self._read(id, self._completed(id, lambda: self._client.call("GET", path)), self.keep)

    def _admitted(self, request: Request) -> Admitted:
        """Checks that the schema alone allows; the service makes all of them before it spends anything."""
        program = program_of(request, self.schema)
        if request.where is not None:
            self._check_where(request.where)
        odds.warn(request.epsilon, program.noun, self.unit)
        plain = request.to_dict()
        return lambda keep: self._carried_out(request, plain, keep)

    def _carried_out(self, request: Request, plain: dict[str, Any], keep: Callable[[Any], None]) -> Result:
        id = uuid.uuid4().hex
        body, path = {"id": id, "request": plain, "wait": _WAIT}, f"{self._path}/requests"
        self._requests[id] = request
        keep(_Asked(self, id))
        try:
            reply = self._completed(id, lambda: self._client.call("POST", path, body))
        except Unreached as trouble:
            raise Unreached(f"{trouble} {_later(id)}") from None
        except AdytonError:  # nothing was spent, or what was spent cannot be had
            keep(None)
            raise
        except BaseException as stop:
            stop.add_note(_later(id))
            raise
        return self._read(id, reply, keep)

    def _completed(self, id: str, call: Callable[[], Reply]) -> Reply:
        """The reply to a call that is made again while the request is under way."""
        pause = _SHORTEST_PAUSE
        while True:
            began = time.monotonic()
            reply = call()
            status = _status(reply)
            if status == "waiting":
                raise Waiting(f"The request {id} waits for the curator's consent. {_later(id)}", id=id)
            if status == "refused":
                raise BadInput(f"the curator refused the request {id}. Nothing was spent.")
            if reply.status != HTTPStatus.ACCEPTED:
                return reply
            if time.monotonic() - began < pause:  # the service did not hold the call back
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _read(self, id: str, reply: Reply, keep: Callable[[Any], None]) -> Result:
        """The result in a reply, which must be that of the request. It is paid for: even a text that cannot be read is
        kept."""
        keep(reply.text)
        self._take_receipt(id, reply)
        try:
            if f'"{MEASUREMENTS}"' in reply.text[:_HEAD]:
                plain = of_kind(dict, reply.plain(), "measurements")
                keep(plain)
                ended = as_text(part_of(plain, "ended"), "what ended the request")
                raise Unfinished(f"{ended} It was charged; session.last has what was measured.")
            result, asked = result_in(reply.text, f"the reply to the request {id}"), self._requests.get(id)
            if asked is not None and not _answers(result, asked):
                raise BadInput(f"the service answers the request {id} with the result of another one.")
        except (BadInput, ServiceError) as problem:
            raise ServiceError(f"{problem} The request may be paid for: session.last has the reply as text.") from None
        keep(result)
        if result.unfinished is not None:
            said = f"{result.unfinished} ε = {display(result.epsilon)} was charged and stays spent."
            warnings.warn(f"{said} What was measured is in the result.", UnfinishedRelease, 5)
        return result

    def _take_receipt(self, id: str, reply: Reply) -> None:
        """Keep the receipt of a reply, if it has one; a warning if it is not one of this service for this result."""
        header = reply.headers.get("adyton-receipt")
        if header is None:
            return
        try:
            if self._key is None:
                self._key = as_text(part_of(self._client.call("GET", "/v1/key").plain(), "key"), "the service's key")
            receipt = verified(self._key, header, reply.text.encode())
            if receipt.get("request") != id:
                raise ServiceError("it is that of another request.")
        except AdytonError as problem:
            with suppress(UserWarning):  # even if warnings are errors, the result is returned
                warnings.warn(f"The receipt for the request {id} is not kept: {problem}", stacklevel=6)
            return
        self.receipts[id] = receipt

    # ---- what a session elsewhere does otherwise ---------------------------------------------------------------------

    @property
    def _root(self) -> TableSource:
        return self.kernel.root

    @property
    def _answering(self) -> bool:
        return False

    def _check_where(self, where: str) -> None:
        check_predicate(parse_predicate(where, self.schema), self.schema)

    def _afford(self, epsilon: Fraction) -> None:
        self.budget.afford(epsilon, None)

    def close(self) -> None:
        """Close the door and the connection. A ``with`` block does the same at its end."""
        with suppress(AdytonError):  # the service closes doors by itself
            self.kernel.close()
        self._client.close()

    def __enter__(self) -> RemoteSession:
        return self

    def __repr__(self) -> str:
        account, names = self.kernel.known_budget, ", ".join(self.schema.names)
        left = f"ε = {display(account.remaining)} of {display(account.total)} left"
        return f"<session at {self._client.address.text}: {names}; {account.dataset}; {left}>"


class _Asked(Pending[Result]):
    """A request that a service carries out: it is finished by fetching its result."""

    def __init__(self, session: RemoteSession, id: str) -> None:
        self._session, self._id = session, id
        self.cause = KeyboardInterrupt()

    def finish(self) -> Result | None:
        """The result; waits until the service has it."""
        result: Result | None = self._session.fetch(self._id)
        return result

    def measurements(self, cause: BaseException) -> Measurements:
        """None are here."""
        kernel = self._session.kernel
        return Measurements(kernel.dataset, (), (), kernel.private, in_short(cause), _later(self._id))


def _name(dataset: object) -> str:
    if not isinstance(dataset, str) or not dataset.strip():
        raise BadInput(f"dataset is the name of a data set of the service, given {shorten(dataset)}.")
    return dataset


def _limit(grant: dict[str, Any], name: str) -> Fraction | None:
    return None if grant.get(name) is None else exact(grant[name], name, computed=True)


def _later(id: str) -> str:
    return f"Its id is {id}: session.fetch({id!r}) returns its result once it is there, and nothing is paid for twice."


def _status(reply: Reply) -> str:
    """What a short reply says of a request that has no result; empty where it is the result."""
    if len(reply.text) > _SHORT:
        return ""
    plain = reply.plain()
    return str(plain.get("status", "")) if isinstance(plain, dict) and "format" not in plain else ""


def _answers(result: Result, asked: Request) -> bool:
    """Whether a result is one of a request."""
    same = (result.task.to_dict(), result.where) == (asked.task.to_dict(), asked.where)
    return same and result.epsilon <= asked.epsilon


# ---- receipts --------------------------------------------------------------------------------------------------------


def verified(key: str, receipt: str, result: bytes) -> dict[str, Any]:
    """The fields of a receipt that the owner of this public key (Ed25519, base64url) has signed for a result.

    A receipt is base64url of a JSON object: the fields, and the signature of the other fields in canonical JSON.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        fields = of_kind(dict, json.loads(_bytes(receipt)), "a receipt")
        signature = _bytes(fields.pop("signature"))
        signed = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
        Ed25519PublicKey.from_public_bytes(_bytes(key)).verify(signature, signed)
    except (ValueError, Error, KeyError, AttributeError, TypeError, RecursionError, InvalidSignature):
        raise ServiceError("it was not signed with the key of this service.") from None
    if fields.get("digest") != hashlib.sha256(result).hexdigest():
        raise ServiceError("it is that of another result.")
    return fields


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
