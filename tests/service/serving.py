"""A keeper that answers from a table, the real HTTP process in front of it, and a client of plain sockets."""

import asyncio
import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from adyton.service import channel
from adyton.service.access import Access
from adyton.service.channel import NotFound, Refused

RESULT = json.dumps({"release": "counts", "values": [1, 2, 3]})
COUNT = {"task": {"task": "count"}, "epsilon": 0.1}


class Keeper:
    """The only thing that is not real: it remembers results by analyst and id, and counts what it ran."""

    def __init__(self, path):
        self.path, self.runs, self.calls, self.results = path, Counter(), [], {}
        self.seconds = 0.0
        self.loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._ready.wait(60)
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    def _run(self):
        async def serve():
            self._end = asyncio.Event()
            server = await channel.serve(self.path, self.answer)
            self._ready.set()
            await self._end.wait()
            server.close()

        self.loop.run_until_complete(serve())

    async def answer(self, call):
        self.calls.append(call)
        who, identifier = call.get("analyst_of") or call["analyst"], call.get("id")
        match call["call"]:
            case "ask":
                return await self._ask(who, identifier, call["request"])
            case "fetch":
                if (who, identifier) not in self.results:
                    raise NotFound("There is no such request.")
                return await self._ask(who, identifier, self.results[who, identifier])
            case "list":
                return [{"id": one, "analyst": of, "status": "done"} for of, one in self.results]
            case "cancel" if (who, identifier) not in self.results and "request" not in call:
                raise NotFound("There is no such request.")
            case "measure":
                self.runs[who, identifier] += 1
                self.results[who, identifier] = {}
        budget = {"total": "3", "spent": str(sum(self.runs.values()))}
        return {"call": call["call"], "dataset": "visits", "door": "d1", "budget": budget}

    async def _ask(self, who, identifier, request):
        if error := request.get("error"):
            raise Refused(error)
        if self.results.setdefault((who, identifier), request) != request:
            raise Refused({"kind": "BadInput", "message": "Another request has this id."})
        if request.get("consent"):
            return {"status": "waiting"}
        if not self.runs[who, identifier]:
            self.runs[who, identifier] += 1
            await asyncio.sleep(request.get("seconds", 0))
        result = request.get("result", RESULT)
        return {"status": "done", "result": result, "receipt": {"entries": [1, 2], "date": "2027-01-01"}}


def certificate(folder):
    """A certificate for 127.0.0.1 signed by itself, and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "tls.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "tls.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "tls.crt", folder / "tls.key"


class Server:
    """The HTTP process, with tokens for mara and ben (analysts; ben without a data set) and olga (a curator)."""

    def __init__(self, folder, keeper, *, tls=False, listen="127.0.0.1:0", **settings):
        self.folder, self.keeper, self.tls = folder, keeper, tls
        access = Access(folder / "access.sqlite")
        roles = {"mara": "analyst", "ben": "analyst", "olga": "curator", "graph": "metrics"}
        self.tokens = {name: access.make(name, role) for name, role in roles.items()}
        self.settings = {
            "listen": listen,
            "datasets": {"visits": {"socket": str(keeper.path), "analysts": ["mara"], "cells": {"age": 100}}},
            "curators": ["olga"],
            "access": str(folder / "access.sqlite"),
            "audit": str(folder / "audit.log"),
            "receipts": str(folder / "receipts.key"),
            "timing": {"on": False},
            "metrics": ["graph", "127.0.0.1"],
            **settings,
        }
        if tls:
            crt, key = certificate(folder)
            self.settings |= {"certificate": str(crt), "certificate_key": str(key)}

    def __enter__(self):
        command = [sys.executable, "-m", "adyton.service.web"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.process.stdin.write(json.dumps(self.settings) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.address = json.loads(line)["ready"]
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """End it by SIGTERM: its exit code, and what it wrote to standard error."""
        if self.process.poll() is None:
            self.process.terminate()
        _, said = self.process.communicate(timeout=180)
        return self.process.returncode, said

    def connected(self, source="127.0.0.1"):
        """A socket of a new connection, from an address."""
        if self.address.startswith("unix:"):
            made = socket.socket(socket.AF_UNIX)
            made.connect(self.address.removeprefix("unix:"))
        else:
            made = socket.create_connection(("127.0.0.1", int(self.address.rsplit(":", 1)[1])), None, (source, 0))
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.settimeout(120)
        if self.tls:
            context = ssl.create_default_context(cafile=self.folder / "tls.crt")
            made = context.wrap_socket(made, server_hostname="127.0.0.1")
        return made

    def ask(self, method, path, body=None, who="mara", headers=None, source="127.0.0.1"):
        """(status, headers, body) of a reply; a body that is not bytes is sent as JSON."""
        given = {} if who is None else {"Authorization": f"Bearer {self.tokens.get(who, who)}"}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            given["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection("localhost")
        connection.sock = self.connected(source)
        with contextlib.closing(connection):
            connection.request(method, path, body, given | (headers or {}))
            reply = connection.getresponse()
            return reply.status, dict(reply.headers), reply.read()

    def error(self, *arguments, **options):
        """(status, error) of a reply that is one."""
        status, headers, body = self.ask(*arguments, **options)
        assert headers["content-type"] == "application/json"
        assert "Traceback" not in body.decode()
        return status, json.loads(body)["error"]

    def raw(self, data, *, close=False):
        """What comes back for these bytes, until the other side closes."""
        with contextlib.closing(self.connected()) as made:
            with contextlib.suppress(OSError):
                made.sendall(data)
                if close:
                    made.shutdown(socket.SHUT_WR)
            parts = []
            with contextlib.suppress(ConnectionResetError):
                while part := made.recv(65536):
                    parts.append(part)
        return b"".join(parts)

    def audit(self):
        """The entries of the audit log."""
        return [json.loads(line) for line in (self.folder / "audit.log").read_text().splitlines()]


def within(seconds, condition):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
