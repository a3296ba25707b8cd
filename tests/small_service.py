"""A service for tests: the routes of one data set over HTTP, carried out by a session in this process.

It stores results and answers by id, as a service does, and can be told to lose replies, to be busy and to end the
process behind its doors.
"""

import base64
import json
import socket
import threading
from collections import deque
from contextlib import contextmanager
from fractions import Fraction
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from adyton.errors import AdytonError, BudgetExceeded
from adyton.session.run import run
from adyton.session.wire import decode, encode_facts, encode_result
from adyton.tasks.request import Request

TOKEN = "token-of-mara"
STATUSES = {"BudgetExceeded": 409, "LedgerMismatch": 409, "KernelFailure": 500}


class Failed(Exception):
    """A reply that is an error."""

    def __init__(self, status, kind, message, **more):
        super().__init__(message)
        self.status, self.plain = status, {"error": {"kind": kind, "message": message, **more}}


def plainly(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class SmallService:
    """What the routes do. *kernel* has the table; replies go wrong as *troubles* say, one for each call."""

    def __init__(self, kernel, name="visits"):
        self.kernel, self.name, self.key = kernel, name, Ed25519PrivateKey.generate()
        self.doors, self.stored, self.results, self.calls = {}, {}, {}, []
        self.troubles, self.consent, self.names = deque(), set(), [name]
        self.lock = threading.Lock()

    def reply(self, method, path, token, body):
        """The status, headers and text of a reply; None where the connection is cut instead."""
        trouble = self.troubles.popleft() if self.troubles else None
        try:
            if trouble == "busy":
                raise Failed(503, "Busy", "The data set is starting. Try again later.")
            if token != f"Bearer {TOKEN}":
                raise Failed(401, "Unauthorized", "This token is not valid.")
            with self.lock:
                status, headers, text = self._answer(method, unquote(urlsplit(path).path), body)
        except Failed as failed:
            status, headers, text = failed.status, {}, json.dumps(failed.plain)
        except AdytonError as error:
            kind, more = type(error).__name__, {}
            if isinstance(error, BudgetExceeded):
                more = {name: str(getattr(error, name)) for name in ("asked", "left", "total")}
            status, headers = STATUSES.get(kind, 400), {}
            text = json.dumps({"error": {"kind": kind, "message": str(error), **more}})
        if status == 503:
            headers = {"Retry-After": "0"}
        return None if trouble == "lost" else (status, headers, text)

    def _answer(self, method, path, body):
        call = path.removeprefix(f"/v1/datasets/{self.name}")
        self.calls.append(f"{method} {call}")
        match method, *call.split("/")[1:]:
            case "GET", "v1", "datasets":
                return _json([{"dataset": name} for name in self.names])
            case "GET", "v1", "key":
                return _json({"key": plainly(self.key.public_key().public_bytes_raw())})
            case "GET", "requests", id:
                return self._result(id)
            case "POST", "requests":
                return self._asked(body["id"], body["request"])
            case _, *names if "v1" not in names:
                return _json(self._said(method, names, body))
        raise Failed(404, "NotFound", "There is no such data set.")

    def _said(self, method, names, body):
        match method, *names:
            case ["GET"]:
                return self._described()
            case "GET", "requests":
                return [{"id": id, "status": "done", "request": asked} for id, asked in self.stored.items()]
            case "POST", "door":
                door, root = f"door {len(self.calls)}", self.kernel.root
                self.doors = {door: {root.node: root}}
                return {"door": door, "facts": encode_facts(root.facts)}
            case "DELETE", "door", door:
                return {"closed": self.doors.pop(door, None) is not None}
            case "POST", "door", door, what if door in self.doors:
                return getattr(self, f"_{what}")(self.doors[door], **body)
        raise Failed(410, "Gone", "This door is closed. Open another.")

    def _described(self):
        root, terms, budget = self.kernel.root, self.kernel.terms, self.kernel.budget
        return {
            "dataset": self.name,
            "schema": root.schema.to_dict(),
            "unit": terms.named_unit,
            "rows_per_unit": terms.rows_per_unit,
            "terms": terms.to_plain(),
            "facts": encode_facts(root.facts),
            "private": self.kernel.private,
            "budget": {name: str(getattr(budget, name)) for name in ("total", "spent", "remaining")},
        }

    def _asked(self, id, request):
        if self.stored.setdefault(id, request) != request:
            raise Failed(400, "BadInput", "the id belongs to another request.")
        if id in self.consent or "consent" in self.consent:
            self.consent.add(id)
        elif id not in self.results:
            try:
                self.results[id] = json.dumps(run(self.kernel, Request.from_dict(request), lambda paid: None).to_dict())
            except AdytonError:
                del self.stored[id]
                raise
        return self._result(id)

    def _result(self, id):
        if id in self.consent:
            return 202, {}, json.dumps({"id": id, "status": "waiting"})
        if id in self.stored and id not in self.results:  # consent was given
            return self._asked(id, self.stored[id])
        if id not in self.results:
            raise Failed(404, "NotFound", "There is no request of this id.")
        fields = {"request": id, "digest": sha256(self.results[id].encode()).hexdigest(), "entries": [1]}
        signed = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
        receipt = json.dumps({**fields, "signature": plainly(self.key.sign(signed))}).encode()
        return 200, {"Adyton-Request": id, "Adyton-Receipt": plainly(receipt)}, self.results[id]

    def _transform(self, sources, source, operator):
        derived = self.kernel.transform(sources[source], decode(operator))
        sources.update({own.node: own for own in derived})
        return {"facts": [encode_facts(own.facts) for own in derived]}

    def _measure(self, sources, id, source, operator, epsilon):
        if id not in self.results:
            answer = self.kernel.measure(sources[source], decode(operator), Fraction(epsilon))
            self.results[id] = encode_result(answer)
        return {"status": "done", "result": self.results[id], "budget": self._described()["budget"]}

    def _afford(self, sources, source, epsilon):
        self.kernel.afford(sources[source], Fraction(epsilon))
        return {}

    def _forget(self, known, sources):
        for node in sources:
            del known[node]
        return {}


def _json(plain):
    return 200, {}, json.dumps(plain)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _do(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        token = self.headers.get("Authorization")
        answer = self.server.service.reply(self.command, self.path, token, json.loads(body) if body else None)
        if answer is None:
            self.close_connection = True
            return
        status, headers, text = answer
        content = text.encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _do  # noqa: N815


class _UnixServer(ThreadingHTTPServer):
    address_family = socket.AF_UNIX

    def server_bind(self):
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "localhost", 0

    def get_request(self):
        connected, _ = self.socket.accept()
        return connected, ("localhost", 0)


@contextmanager
def listening(service, socket_path=None, context=None):
    """The address of a server of this service: of a Unix socket, or of a port, with TLS if there is a context."""
    server = _UnixServer(str(socket_path), Handler) if socket_path else ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.service = True, service
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    scheme = "http" if context is None else "https"
    try:
        yield f"unix:{socket_path}" if socket_path else f"{scheme}://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
