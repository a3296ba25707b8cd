"""What the curator sees of the service: an audit log of who asked what, and metrics.

The audit log has a line of JSON for each call. What a client chose freely is never written into it, but for the id of a
request, and JSON escapes that. It has exact times, which depend on rows: it is the curator's, like the ledger.

Metrics count calls and replies. They carry no durations; their labels are names of routes and data sets from the
configuration, and statuses.
"""

from __future__ import annotations

import itertools
import json
import os
import stat
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from adyton.service.limits import Rate, TooMany
from adyton.service.peers import place_of


class AuditLog:
    """Lines of JSON, appended to a file that its owner alone reads, or on standard error.

    The log is bounded: at *most* bytes its file is renamed to ``NAME.1``, and of those before *files* are kept. So that
    nobody who has no token can push out what others did, :class:`~adyton.service.limits.Rate` *strangers* limits lines
    of each peer without one.
    """

    _size: int | None = None

    def __init__(self, path: Path | None, *, most: int, files: int, strangers: Rate) -> None:
        self._path, self._most, self._files, self._strangers = path, most, files, strangers
        self.failures = self.unwritten = 0
        self._file = self._open()

    def _open(self) -> int:
        if self._path is None:
            return sys.stderr.fileno()
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        about = os.fstat(file)
        self._size = about.st_size if stat.S_ISREG(about.st_mode) else None
        return file

    def reopen(self) -> None:
        """Go on in a new file, after the old one was renamed; in the old one, where none can be made."""
        if self._path is not None:
            try:
                old, self._file = self._file, self._open()
            except OSError:
                self.failures += 1
                return
            os.close(old)

    def write(self, **fields: Any) -> None:
        """Append a line; fields without a value are left out. A full disk ends no call: it is counted.

        Who has shown no valid token gets a few lines a minute; how many there were beyond those, the metrics say.
        """
        if fields.get("who") is None:
            try:
                self._strangers.take(place_of(fields.get("peer")))
            except TooMany:
                self.unwritten += 1
                return
        known = {name: value for name, value in fields.items() if value is not None}
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **known}) + "\n"
        try:
            if self._size is not None:
                if self._size + len(line) > self._most:
                    self._rotate()
                self._size += len(line)
            os.write(self._file, line.encode("ascii"))
        except OSError:
            self.failures += 1

    def _rotate(self) -> None:
        """Begin a new file, and rename the earlier ones; the oldest is deleted. Where that is not possible, such as in
        a folder of another user, nothing more is written: the log never grows beyond its bound."""
        assert self._path is not None
        names = [self._path, *(Path(f"{self._path}.{number}") for number in range(1, self._files + 1))]
        names[-1].unlink(missing_ok=True)
        for older, newer in reversed(list(itertools.pairwise(names))):
            with suppress(FileNotFoundError):
                older.rename(newer)
        old, self._file = self._file, self._open()
        os.close(old)


class Metrics:
    """Counters for Prometheus, in a registry of their own: the usual ones tell of processor time and memory."""

    def __init__(self, audit: AuditLog) -> None:
        self._registry = CollectorRegistry()
        self.replies = Counter(
            "adyton_replies",
            "Replies, by route, data set and status.",
            ("route", "dataset", "status"),
            registry=self._registry,
        )
        self.refused = Counter(
            "adyton_refused", "Calls refused before they were read, by reason.", ("reason",), registry=self._registry
        )
        self.under_way = Gauge("adyton_under_way", "Calls whose reply has not left.", registry=self._registry)
        failures = Gauge(
            "adyton_audit_failures", "Lines of the audit log that could not be written.", registry=self._registry
        )
        failures.set_function(lambda: audit.failures)
        unwritten = Gauge(
            "adyton_audit_unwritten",
            "Calls without a valid token that have no line of the audit log, because their peer has many.",
            registry=self._registry,
        )
        unwritten.set_function(lambda: audit.unwritten)

    def text(self) -> bytes:
        """All of them, in the text format."""
        return generate_latest(self._registry)
