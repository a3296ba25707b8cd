"""What the curator sees of the service: an audit log of who asked what, and metrics.

The audit log has a line of JSON for each call. What a client chose freely is never written into it, but for the id of a
request, and JSON escapes that. It has exact times, which depend on rows: it is the curator's, like the ledger.

Metrics count calls and replies. They carry no durations; their labels are names of routes and data sets from the
configuration, and statuses.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest


class AuditLog:
    """Lines of JSON, appended to a file that its owner alone reads, or on standard error."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file = self._open()
        self.failures = 0

    def _open(self) -> int:
        if self._path is None:
            return sys.stderr.fileno()
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

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
        """Append a line; fields without a value are left out. A full disk ends no call: it is counted."""
        known = {name: value for name, value in fields.items() if value is not None}
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **known}) + "\n"
        try:
            os.write(self._file, line.encode("ascii"))
        except OSError:
            self.failures += 1


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

    def text(self) -> bytes:
        """All of them, in the text format."""
        return generate_latest(self._registry)
